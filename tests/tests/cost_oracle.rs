//! A program under the real callgrind and cachegrind. Compares the costs in Valgrind's reports with cg-fmt's.
//!
//! callgrind_annotate and cg_annotate have one row per file inlined into a function, so this compares costs by function
//! name. It compares inclusive costs only if a name has one row and does not call itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use needs::needs;
use tempfile::TempDir;
use tests::data;
use tests::tools::stdout;

/// Figures by function name: the sum, and the number of rows in the sum.
type Figures = BTreeMap<String, (i128, usize)>;

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Compiles the program and runs it under one of Valgrind's tools.
fn profile(folder: &Path, tool: &str, options: &[&str]) -> PathBuf {
    let program = folder.join("wordcount");
    output(
        needs::command("rustc")
            .args(["-O", "-g", "-o"])
            .arg(&program)
            .arg(data("pair/wordcount.rs")),
    );
    let profile = folder.join(format!("{tool}.out"));
    output(
        needs::command("valgrind")
            .args(["-q", &format!("--tool={tool}")])
            .arg(format!("--{tool}-out-file={}", profile.display()))
            .args(options)
            .arg(&program),
    );
    profile
}

/// Parses the rows of cg_annotate since Valgrind 3.21: `> 1,234 (5.6%, 7.8%)  function:file`. Several files are on separate
/// lines.
fn annotated_by_function(summary: &str) -> Figures {
    let mut figures = Figures::new();
    for row in summary.lines().filter_map(|line| line.strip_prefix("> ")) {
        let count = row.split_whitespace().next().unwrap().replace(',', "");
        // Function names can contain colons, these paths cannot.
        let function = row.split_once(")  ").unwrap().1.rsplit_once(':').unwrap().0;
        let figure = figures.entry(function.to_owned()).or_default();
        figure.0 += count.parse::<i128>().unwrap();
        figure.1 += 1;
    }
    figures
}

/// Parses the rows of callgrind_annotate and cg_annotate: `1,234 (5.6%)  file:function [object]`, after the list's title.
fn annotated(text: &str) -> Figures {
    if let Some((_, summary)) = text.split_once("\n-- Function:file summary\n") {
        return annotated_by_function(summary);
    }
    let mut figures = Figures::new();
    let rows = text
        .lines()
        .skip_while(|line| !line.ends_with("file:function"))
        .skip(2)
        .take_while(|line| !line.is_empty());
    for row in rows {
        let count = row.split_whitespace().next().unwrap().replace(',', "");
        let place = row.split_once(")  ").unwrap().1;
        let place = place.rsplit_once(" [").map_or(place, |(place, _)| place);
        // Function names can contain colons, these paths (or `???`) cannot.
        let function = place.split_once(':').unwrap().1;
        let figure = figures.entry(function.to_owned()).or_default();
        figure.0 += count.parse::<i128>().unwrap();
        figure.1 += 1;
    }
    figures
}

/// Returns a column of cg-fmt by function.
fn ours(profile: &Path, column: &str) -> Figures {
    let args = [
        "-f",
        "tsv",
        "--columns",
        &format!("{column},fn"),
        profile.to_str().unwrap(),
    ];
    let text = String::from_utf8(stdout("cg-fmt", &args, b"")).unwrap();
    let mut figures = Figures::new();
    for row in text.lines().skip(1) {
        let (count, function) = row.split_once('\t').unwrap();
        let figure = figures.entry(function.to_owned()).or_default();
        figure.0 += count.parse::<i128>().unwrap();
        figure.1 += 1;
    }
    figures
}

/// Merges the recursion levels, which callgrind_annotate shows separately, and omits zeros.
fn by_name(figures: &Figures) -> BTreeMap<&str, i128> {
    let mut sums = BTreeMap::new();
    for (name, (sum, _)) in figures.iter().filter(|(_, (sum, _))| *sum != 0) {
        *sums.entry(without_level(name)).or_default() += sum;
    }
    sums
}

fn without_level(name: &str) -> &str {
    match name.rsplit_once('\'') {
        Some((base, level)) if level.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

#[test]
fn self_costs_of_callgrind_agree_with_callgrind_annotate() {
    needs!("valgrind", "annotate");
    let folder = TempDir::new().unwrap();
    for options in [
        &["--cache-sim=yes"][..],
        &["--dump-instr=yes", "--separate-recs=4"],
    ] {
        let profile = profile(folder.path(), "callgrind", options);
        let text = output(
            needs::command("callgrind_annotate")
                .args(["--threshold=100", "--show=Ir", "--auto=no"])
                .arg(&profile),
        );
        let theirs = annotated(&text);
        assert!(theirs.len() > 50, "{text}");
        assert_eq!(
            by_name(&ours(&profile, "Ir")),
            by_name(&theirs),
            "{options:?}"
        );
    }
}

#[test]
fn inclusive_costs_of_callgrind_agree_with_callgrind_annotate() {
    needs!("valgrind", "annotate");
    let folder = TempDir::new().unwrap();
    let profile = profile(folder.path(), "callgrind", &[]);
    let text = output(
        needs::command("callgrind_annotate")
            .args(["--threshold=100", "--inclusive=yes", "--auto=no"])
            .arg(&profile),
    );
    let theirs = annotated(&text);
    let ours = ours(&profile, "incl.Ir");
    let has_levels = |name: &str| theirs.contains_key(&format!("{name}'2"));
    let mut compared = 0;
    for (name, (sum, rows)) in &theirs {
        if *rows == 1 && !has_levels(name) && without_level(name) == name {
            let found = ours.get(name).map(|(sum, _)| *sum);
            assert_eq!(found, Some(*sum), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 50, "{text}");
}

#[test]
fn self_costs_of_cachegrind_agree_with_cg_annotate() {
    needs!("valgrind", "annotate");
    let folder = TempDir::new().unwrap();
    let profile = profile(folder.path(), "cachegrind", &[]);
    let text = output(
        needs::command("cg_annotate")
            .args(["--threshold=0", "--show=Ir", "--auto=no"])
            .arg(&profile),
    );
    let theirs = annotated(&text);
    assert!(theirs.len() > 50, "{text}");
    assert_eq!(by_name(&ours(&profile, "Ir")), by_name(&theirs));
}

#[test]
fn threshold_keeps_the_fewest_functions_that_reach_it() {
    let profile = data("callgrind/3.19.0-rec_default.callgrind.out");
    let args = ["-f", "tsv", "--columns", "Ir,fn", profile.to_str().unwrap()];
    let text = String::from_utf8(stdout("cg-fmt", &args, b"")).unwrap();
    let mut costs: Vec<i128> = text
        .lines()
        .skip(1)
        .map(|row| row.split('\t').next().unwrap().parse().unwrap())
        .collect();
    costs.sort_unstable_by(|left, right| right.cmp(left));
    let total: i128 = costs.iter().sum();
    for percent in [1, 50, 90, 99] {
        let mut covered = 0;
        let needed = costs
            .iter()
            .take_while(|cost| {
                let is_needed = covered * 100 < total * percent;
                covered += **cost;
                is_needed
            })
            .count();
        let threshold = percent.to_string();
        let kept = stdout(
            "cg-filter",
            &["--threshold", &threshold, "", profile.to_str().unwrap()],
            b"",
        );
        let records = kept.split(|byte| *byte == b'\n').count() - 3;
        assert_eq!(records, needed, "{percent} %");
    }
}
