//! Compares the listings of cg-fmt with those of callgrind_annotate for the same run.
//!
//! callgrind_annotate is wrong about recursion, and it has one row for each file whose code was inlined into a function. So
//! self costs are compared by function name, with folded recursion levels. Inclusive costs are compared only for functions
//! that do not recurse.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use needs::needs;
use tempfile::TempDir;

/// A run of `sort.c` under Callgrind, including the start-up of the C library.
struct Run {
    folder: TempDir,
    profile: PathBuf,
}

/// Returns the profile in the test data, which covers only `main`. Its `summary:` is the sum of its costs, and
/// callgrind_annotate computes percentages from the `summary:`. In every third profile of a whole run, the `summary:` is
/// slightly wrong.
fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/fmt/sort.callgrind.out")
}

fn run() -> &'static Run {
    static RUN: LazyLock<Run> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/fmt/sort.c");
        std::fs::copy(source, folder.path().join("sort.c")).unwrap();
        let profile = folder.path().join("callgrind.out");
        let outputs = format!("--callgrind-out-file={}", profile.display());
        for command in [
            &["cc", "-g", "-O0", "sort.c", "-o", "sort"][..],
            &[
                "valgrind",
                "-q",
                "--tool=callgrind",
                "--cache-sim=yes",
                &outputs,
                "./sort",
            ],
        ] {
            output(
                Command::new(command[0])
                    .args(&command[1..])
                    .current_dir(&folder),
            );
        }
        Run { folder, profile }
    });
    &RUN
}

/// Returns the figures by function name from the listing of callgrind_annotate. It runs in `/`, because it removes the
/// current directory from only some paths.
fn annotate(profile: &Path, args: &[&str]) -> Listing {
    let mut command = needs::command("callgrind_annotate");
    command
        .args(["--auto=no", "--threshold=100", "--show=Ir"])
        .args(args)
        .arg(profile)
        .current_dir("/");
    Listing::parse(&output(&mut command), |place| {
        let (_, function) = place.split_once(':').unwrap();
        let function = function.split(" [").next().unwrap();
        function.split('\'').next().unwrap().to_owned()
    })
}

fn cg_fmt(profile: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cg-fmt"));
    output(command.args(args).arg(profile).current_dir(&run().folder))
}

/// Returns the listing of cg-fmt with `--columns COUNT,PERCENT,fn`.
fn list(profile: &Path, columns: &str) -> Listing {
    let args = ["--top", "all", "--columns", columns];
    Listing::parse(&cg_fmt(profile, &args), str::to_owned)
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Rows in the form `count (percent) place`.
struct Listing {
    /// The function, the count and the printed percentage.
    rows: Vec<(String, i128, String)>,
}

impl Listing {
    fn parse(text: &str, find_function: impl Fn(&str) -> String) -> Listing {
        let mut listing = Listing { rows: Vec::new() };
        for line in text.lines() {
            let line = line.trim_start();
            let Some((count, rest)) = line.split_once(' ') else {
                continue;
            };
            let Ok(number) = count.replace(',', "").parse() else {
                continue;
            };
            // A count of 0 has no percentage.
            let (percent, place) =
                match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
                    Some((percent, place)) => (percent, place.trim_start()),
                    None => ("", rest.trim_start()),
                };
            if place != "PROGRAM TOTALS" {
                let row = (find_function(place), number, percent.to_owned());
                listing.rows.push(row);
            }
        }
        listing
    }

    fn counts(&self, function: &str) -> Vec<i128> {
        let rows = self.rows.iter().filter(|row| row.0 == function);
        rows.map(|row| row.1).collect()
    }

    fn sums(&self) -> BTreeMap<&str, i128> {
        let mut sums = BTreeMap::new();
        for (function, count, _) in &self.rows {
            *sums.entry(function.as_str()).or_insert(0) += count;
        }
        sums
    }
}

#[test]
fn self_costs_by_function_are_as_in_callgrind_annotate() {
    needs!("valgrind", "annotate");
    let theirs = annotate(&run().profile, &[]);
    let ours = list(&run().profile, "Ir,Ir%,fn");
    assert!(ours.rows.len() > 100);
    let (our_sums, mut their_sums) = (ours.sums(), theirs.sums());
    // callgrind_annotate has no row for a function without self cost.
    for function in our_sums.keys() {
        their_sums.entry(function).or_insert(0);
    }
    assert_eq!(our_sums, their_sums);
}

#[test]
fn inclusive_costs_are_as_in_callgrind_annotate() {
    needs!("valgrind", "annotate");
    let theirs = annotate(&run().profile, &["--inclusive=yes"]);
    let ours = list(&run().profile, "incl.Ir,incl.Ir%,fn");
    for function in ["main", "bubble_sort", "less", "swap", "fill"] {
        assert_eq!(ours.counts(function).len(), 1, "{function}");
        assert_eq!(ours.counts(function), theirs.counts(function));
    }
}

#[test]
fn figures_are_printed_as_callgrind_annotate_prints_them() {
    needs!("valgrind", "annotate");
    for (columns, option) in [
        ("Ir,Ir%,fn", "--inclusive=no"),
        ("incl.Ir,incl.Ir%,fn", "--inclusive=yes"),
    ] {
        let theirs = annotate(&bundled(), &[option]);
        let ours = list(&bundled(), columns);
        let rows = |listing: &Listing| -> BTreeSet<(String, i128, String)> {
            let is_comparable = |row: &&(String, i128, String)| {
                row.1 > 0 && row.0 != "quick_sort" && row.0 != "(below main)"
            };
            listing.rows.iter().filter(is_comparable).cloned().collect()
        };
        assert!(rows(&ours).len() >= 5, "{:?}", rows(&ours));
        assert_eq!(rows(&ours), rows(&theirs));
    }
}

#[test]
fn callers_and_callees_are_as_in_callgrind_annotate() {
    needs!("valgrind", "annotate");
    /// Returns the arcs around some functions as `COUNT MARK NAME (Nx)`.
    fn arcs(text: &str) -> BTreeSet<String> {
        let mut arcs = BTreeSet::new();
        for block in text.split("\n\n") {
            let rows: Vec<(&str, &str, &str)> = block.lines().filter_map(row).collect();
            let is_compared = |name: &str| ["bubble_sort", "fill", "main"].contains(&name);
            if rows
                .iter()
                .any(|(_, mark, name)| *mark == "*" && is_compared(name))
            {
                let around = rows.iter().filter(|(_, mark, _)| *mark != "*");
                arcs.extend(around.map(|(count, mark, name)| format!("{count} {mark} {name}")));
            }
        }
        arcs
    }
    /// Returns the count, the mark, and the name with the number of calls.
    fn row(line: &str) -> Option<(&str, &str, &str)> {
        let mark = ["<", "*", ">"]
            .into_iter()
            .find(|mark| line.contains(&format!(" {mark} ")))?;
        let (figures, place) = line.split_once(&format!(" {mark} "))?;
        let place = place.split(" [").next()?.trim();
        let name = place.rsplit_once(':').map_or(place, |(_, name)| name);
        Some((figures.trim().split(' ').next()?, mark, name))
    }
    let theirs = output(
        needs::command("callgrind_annotate")
            .args([
                "--auto=no",
                "--threshold=100",
                "--tree=both",
                "--inclusive=yes",
            ])
            .arg(bundled())
            .current_dir("/"),
    );
    let args = [
        "--tree",
        "both",
        "--top",
        "all",
        "--columns",
        "incl.Ir,role,fn",
    ];
    let ours = cg_fmt(&bundled(), &args);
    assert_eq!(arcs(&ours).len(), 8, "{:?}", arcs(&ours));
    assert_eq!(arcs(&ours), arcs(&theirs));
}

#[test]
fn csv_read_back_sums_to_the_total() {
    needs!("valgrind");
    let text = cg_fmt(&run().profile, &["-f", "csv"]);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    let profile = std::fs::read_to_string(&run().profile).unwrap();
    let header_value = |key: &str| {
        profile
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap()
    };
    let events = header_value("events: ").split(' ');
    let totals = header_value("totals: ").split(' ');
    for (event, total) in events.zip(totals) {
        let sum: u64 = rows
            .iter()
            .map(|row| row[column(event)].parse::<u64>().unwrap())
            .sum();
        assert_eq!(sum.to_string(), total, "{event}");
    }
}

#[test]
fn annotated_lines_are_as_in_callgrind_annotate() {
    needs!("valgrind", "annotate");
    let theirs = output(
        needs::command("callgrind_annotate")
            .args(["--threshold=100", "--show=Ir", "--context=0"])
            .arg(bundled())
            .current_dir(&run().folder),
    );
    let ours = cg_fmt(
        &bundled(),
        &["--source", "--events", "Ir", "--context", "0"],
    );
    let source = std::fs::read_to_string(run().folder.path().join("sort.c")).unwrap();
    let mut compared = 0;
    for line in source.lines().filter(|line| line.trim().len() > 12) {
        let figures = |text: &str| -> Option<String> {
            let row = text.lines().find(|row| row.ends_with(line))?;
            let figures = row.split_once(')')?.0.trim().to_owned();
            figures.contains('%').then_some(figures)
        };
        assert_eq!(figures(&ours), figures(&theirs), "{line}");
        compared += usize::from(figures(&ours).is_some());
    }
    assert!(compared >= 15, "{compared}");
}
