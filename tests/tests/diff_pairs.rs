//! cg-diff on pairs of real and handwritten profiles with known changes.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;

use serde_json::Value;
use tests::{data, tools};

/// Compares two profiles in `tests/data/diff/pairs`. Returns the rows.
fn diff(options: &[&str], old: &str, new: &str) -> Vec<Value> {
    let path = |name: &str| data("diff/pairs").join(name).to_str().unwrap().to_owned();
    let (old, new) = (path(old), path(new));
    // stderr reports that the programs have different names.
    let run = tools::run("cg-diff", &[options, &[&old, &new]].concat(), b"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["type"] == "diff")
        .collect()
}

/// Returns true for functions of system libraries, whose costs depend on the length of the environment, and for code without
/// an object: Valgrind's own, at other addresses in each run.
fn is_of_system(record: &Value) -> bool {
    record["obj"]
        .as_str()
        .is_some_and(|obj| obj.starts_with("/usr/") || obj == "???")
}

/// Returns the rows without system libraries, sorted: status, `?` for a guess, name, and the old and new count of the first
/// event.
fn own_rows(records: &[Value]) -> Vec<String> {
    let mut rows: Vec<String> = records
        .iter()
        .filter(|record| !is_of_system(record))
        .map(|record| {
            let cost = record["cost"].as_object().unwrap();
            let counts = ["Ir", "total_bytes", "bytes"]
                .iter()
                .find_map(|event| cost.get(*event))
                .unwrap();
            let guess = if record["guess"] == true { "?" } else { "" };
            let name = record["fn"].as_str().unwrap_or("-");
            let was = record["was"]["fn"].as_str();
            let was = was.map_or(String::new(), |was| format!(" was {was}"));
            let status = record["status"].as_str().unwrap();
            format!("{status}{guess} {name}{was} {} {}", counts[0], counts[1])
        })
        .collect();
    rows.sort();
    rows
}

/// Checks the rows of a comparison that includes small changes.
fn check(old: &str, new: &str, expect: &[&str]) {
    let rows = own_rows(&diff(&["--min-change", "0"], old, new));
    assert_eq!(rows, expect, "{old} {new}");
}

#[test]
fn inserting_a_closure_does_not_rename_the_others() {
    // The caller of the new closure makes one more call. Its self cost was checked by hand.
    check(
        "closure_base.cg.gz",
        "closure_inserted.cg.gz",
        &[
            "added calc::each::<calc::main::{closure#0}> null 107",
            "changed calc::main 802 807",
        ],
    );
}

#[test]
fn small_changes_are_summarised_instead_of_listed() {
    let [old, new] = ["closure_base.cg.gz", "closure_inserted.cg.gz"];
    // A change of 5 in 5.8 million. Added functions are rows at any size.
    let rows = own_rows(&diff(&[], old, new));
    assert_eq!(
        rows,
        ["added calc::each::<calc::main::{closure#0}> null 107"]
    );
    let run = |options: &[&str]| {
        let inputs = [old, new].map(|name| format!("diff/pairs/{name}"));
        let inputs = inputs.each_ref().map(String::as_str);
        tools::run("cg-diff", &[options, &inputs].concat(), b"")
    };
    let delta = |text: &str| -> i64 {
        let records = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let row_delta = |record: Value| record["delta"]["Ir"].as_i64().unwrap_or(0);
        records.map(row_delta).sum()
    };
    let (all, most) = (run(&["--min-change", "0"]), run(&[]));
    let left_out = delta(all.text()) - delta(most.text());
    let note = format!("changed by less than 0.01% of the total ({left_out:+} Ir together)");
    assert!(most.text().contains(&note), "{note}");
    assert!(!all.text().contains("changed by less"));
    // Limits and --exit-code see every change.
    assert_eq!(run(&["--fail-if", "Ir[^calc::main$]>+4"]).status, 1);
    assert_eq!(run(&["--fail-if", "Ir[^calc::main$]>+5"]).status, 0);
    let minor =
        ["mangling_legacy.cg.gz", "mangling_v0.cg.gz"].map(|name| format!("diff/pairs/{name}"));
    let minor = minor.each_ref().map(String::as_str);
    let status = tools::run("cg-diff", &[&["--exit-code"][..], &minor].concat(), b"").status;
    assert_eq!(status, 1);
}

#[test]
fn static_functions_of_one_name_match_by_directory() {
    check(
        "static_x.cg.gz",
        "static_w.cg.gz",
        &["changed init 30006 6006", "changed init 6006 30006"],
    );
    check(
        "static_x.cg.gz",
        "static_v.cg.gz",
        &["changed init 30006 31206", "changed init 6006 6606"],
    );
}

#[test]
fn mangling_scheme_is_not_a_change() {
    check(
        "mangling_legacy.cg.gz",
        "mangling_v0.cg.gz",
        &["changed core::slice::memchr::memrchr 987 994"],
    );
    let rows = diff(&[], "mangling_legacy.cg.gz", "mangling_v0.cg.gz");
    assert_eq!(own_rows(&rows), [""; 0]);
}

#[test]
fn sum_counts_nested_calls_once() {
    let records = diff(&["--all"], "incl_a.cg", "incl_b.cg");
    let a = records.iter().find(|record| record["fn"] == "A").unwrap();
    assert_eq!(a["cost"]["Ir"], serde_json::json!([700, 700]));
    assert_eq!(a["incl"]["Ir"], serde_json::json!([700, 700]));
    assert_eq!(
        (&a["guess"], &a["merged"]),
        (&Value::Null, &serde_json::json!([2, 1]))
    );
}

#[test]
fn addresses_of_two_builds_are_not_matched() {
    let records = diff(&[], "stripped_a.cg.gz", "stripped_b.cg.gz");
    assert_eq!(own_rows(&records), ["changed 0x… 4346493 5238618"]);
    assert_eq!(
        records[0].get("incl"),
        None,
        "nobody knows who calls whom twice"
    );
}

#[test]
fn moved_functions_are_found_and_marked_as_guesses() {
    check(
        "moved_rust_base.cg.gz",
        "moved_rust_file.cg.gz",
        &["renamed? calc::hash::checksum was calc::stats::checksum 1093950 1093950"],
    );
    let rows = own_rows(&diff(
        &[],
        "moved_rust_base.cg.gz",
        "moved_rust_crate.cg.gz",
    ));
    assert_eq!(rows.len(), 16, "{rows:#?}");
    for row in rows {
        let words: Vec<&str> = row.split(' ').collect();
        let [status, new, _, old, before, after] = words[..] else {
            panic!("{row}");
        };
        assert_eq!((status, before), ("renamed?", after), "{row}");
        assert_eq!(
            new.strip_prefix("calculator::"),
            old.strip_prefix("calc::"),
            "{row}"
        );
    }
}

#[test]
fn equal_name_is_not_enough_for_a_move() {
    check(
        "moved_a.cg",
        "moved_b.cg",
        &["added init null 7", "removed init 5000 null"],
    );
}

#[test]
fn renamed_crate_is_one_line() {
    let pair = ["moved_rust_base.cg.gz", "moved_rust_crate.cg.gz"];
    let pair = pair.map(|name| data("diff/pairs").join(name).to_str().unwrap().to_owned());
    let run = tools::run("cg-diff", &[&pair[0], &pair[1]], b"");
    let summary: Value = serde_json::from_str(run.text().lines().next().unwrap()).unwrap();
    let notes: Vec<&str> = (summary["notes"].as_array().unwrap().iter())
        .filter_map(|note| note.as_str())
        .filter(|note| note.contains("was renamed to"))
        .collect();
    assert_eq!(notes, ["calc was renamed to calculator: 16 functions"]);
}

#[test]
fn renamed_functions_and_files_match_in_stacks() {
    for tool in ["dhat", "massif", "memcheck"] {
        let old = format!("stack_base.{tool}.out");
        let new = format!("stack_renamed.{tool}.out");
        check(&old, &new, &[]);
    }
    // The program allocates more, partly in a new function, and the file of every function was renamed.
    let rows = own_rows(&diff(
        &[],
        "stack_base.dhat.out",
        "stack_filemoved.dhat.out",
    ));
    let gone_and_new = |row: &&String| row.starts_with("added") || row.starts_with("removed");
    let gone_and_new: Vec<&String> = rows.iter().filter(gone_and_new).collect();
    assert_eq!(gone_and_new, ["added xmalloc null 5000"], "{rows:#?}");
}

/// All pairs of profiles of the same tool in the folder.
const PAIRS: [(&str, &str); 15] = [
    ("balance_a.cg", "balance_b.cg"),
    ("closure_base.cg.gz", "closure_inserted.cg.gz"),
    ("guess_a.cg", "guess_b.cg"),
    ("incl_a.cg", "incl_b.cg"),
    ("mangling_legacy.cg.gz", "mangling_v0.cg.gz"),
    ("moved_a.cg", "moved_b.cg"),
    ("moved_rust_base.cg.gz", "moved_rust_crate.cg.gz"),
    ("moved_rust_base.cg.gz", "moved_rust_file.cg.gz"),
    ("stack_base.dhat.out", "stack_filemoved.dhat.out"),
    ("stack_base.massif.out", "stack_renamed.massif.out"),
    ("stack_base.memcheck.out", "stack_renamed.memcheck.out"),
    ("static_x.cg.gz", "static_v.cg.gz"),
    ("static_x.cg.gz", "static_w.cg.gz"),
    ("stripped_a.cg.gz", "stripped_b.cg.gz"),
    ("zlib_O2.cg.gz", "zlib_lto.cg.gz"),
];

#[test]
fn swapping_the_sides_negates_every_delta() {
    for (old, new) in PAIRS {
        // A swap can change the names of rows, but not their changes or whether they are guesses.
        let deltas = |a, b, sign: i64| {
            let mut count: BTreeMap<(String, i64, bool), i64> = BTreeMap::new();
            for record in diff(&["--all"], a, b) {
                for (event, delta) in record["delta"].as_object().unwrap() {
                    let key = (
                        event.clone(),
                        sign * delta.as_i64().unwrap(),
                        record["guess"] == true,
                    );
                    *count.entry(key).or_default() += 1;
                }
            }
            count
        };
        assert_eq!(deltas(old, new, 1), deltas(new, old, -1), "{old} {new}");
    }
}

#[test]
fn rows_of_every_pair_add_up_to_its_totals() {
    let path = |name: &str| data("diff/pairs").join(name).to_str().unwrap().to_owned();
    for (old, new) in PAIRS {
        let total = |name: &str| {
            let stream = tools::stdout("cg-parse", &[&path(name)], b"");
            let run: Value =
                serde_json::from_slice(stream.split(|byte| *byte == b'\n').next().unwrap())
                    .unwrap();
            let first = run["events"][0].as_str().unwrap().to_owned();
            (first.clone(), run["total"][&first].as_i64().unwrap())
        };
        let records = diff(&["--all"], old, new);
        for (side, name) in [old, new].into_iter().enumerate() {
            let (event, total) = total(name);
            let counts = records.iter().map(|record| &record["cost"][&event][side]);
            let sum: i64 = counts.filter_map(Value::as_i64).sum();
            // Massif's total belongs to another snapshot.
            if !old.contains("massif") {
                assert_eq!(sum, total, "{name} {event}");
            }
        }
    }
}

/// Returns the causes of the rows, by function.
fn causes(records: &[Value]) -> BTreeMap<&str, String> {
    let with_why = records.iter().filter(|record| record.get("why").is_some());
    with_why
        .map(|record| {
            let why = &record["why"];
            let callees = why["callees"].as_array().into_iter().flatten();
            let callees = callees
                .map(|callee| format!(" {} {}", callee["fn"].as_str().unwrap(), callee["calls"]));
            let cause = why["cause"].as_str().unwrap();
            (
                record["fn"].as_str().unwrap(),
                format!("{cause}{}", callees.collect::<String>()),
            )
        })
        .collect()
}

#[test]
fn added_and_removed_callees_are_named_as_the_cause() {
    // `inflate` was inlined. The profile shows only that its calls disappeared and that there is a new callee.
    let records = diff(&[], "zlib_O2.cg.gz", "zlib_lto.cg.gz");
    let causes = causes(&records);
    let host = "uncompress2.constprop.0.isra.0";
    assert_eq!(causes[host], "callees inflate [1,0] adler32_z [0,2]");
    assert_eq!(causes.get("inflate"), None);
}

#[test]
fn no_cause_is_named_if_calls_do_not_explain_the_change() {
    // The names of `parse` and its callee were exchanged, so `parse` has ten times as many calls at the callee's cost. The
    // profile shows only that `parse` no longer has a callee.
    let records = diff(&[], "balance_a.cg", "balance_b.cg");
    let expected = BTreeMap::from([("parse", "callees parse_inner [10,0]".to_owned())]);
    assert_eq!(causes(&records), expected);
    // The caller's cost for calling a new callee is not a cost per call.
    let records = diff(&[], "closure_base.cg.gz", "closure_inserted.cg.gz");
    assert_eq!(causes(&records).get("calc::main"), None);
}

#[test]
fn guesses_are_marked_in_every_format() {
    let path = |name: &str| data("diff/pairs").join(name).to_str().unwrap().to_owned();
    let stream = tools::stdout("cg-diff", &[&path("guess_a.cg"), &path("guess_b.cg")], b"");
    for format in ["table", "markdown", "csv", "tsv"] {
        let shown = tools::stdout("cg-fmt", &["-f", format], &stream);
        let shown = String::from_utf8(shown).unwrap();
        let line = shown
            .lines()
            .find(|line| line.contains("draw_logo"))
            .unwrap();
        assert!(line.contains("guess"), "{format}: {line}");
    }
}

/// Returns the exit status of cg-diff and its standard error.
fn judge(arguments: &[&str]) -> (i32, String) {
    let run = tools::run("cg-diff", arguments, b"");
    (run.status, run.stderr)
}

fn path(name: &str) -> String {
    data("diff/pairs").join(name).to_str().unwrap().to_owned()
}

#[test]
fn hidden_leak_kinds_are_not_a_change() {
    let (default, all) = (path("k-def.log"), path("k-all.log"));
    for (old, new) in [(&default, &all), (&all, &default)] {
        let (status, stderr) = judge(&["--fail-if=bytes>+0", "--exit-code", old, new]);
        assert_eq!(status, 0, "{stderr}");
        assert!(stderr.contains("does not show reachable leaks"), "{stderr}");
    }
    // If the hidden leaks differ from the shown ones, the change cannot be judged.
    let home = tempfile::tempdir().unwrap();
    let other = home.path().join("other.log");
    let text = std::fs::read_to_string(&default).unwrap();
    let more = text.replace("still reachable: 544 bytes", "still reachable: 545 bytes");
    assert_ne!(text, more);
    std::fs::write(&other, more).unwrap();
    let other = other.to_str().unwrap();
    assert_eq!(judge(&["--fail-if=bytes>+0", other, &all]).0, 2);
    assert_eq!(judge(&["--fail-if=bytes>+0", &all, other]).0, 2);
    assert_eq!(judge(&[other, &all]).0, 0);
    // Comparisons by function do not distinguish leak kinds.
    assert_eq!(
        judge(&["--by=fn", "--fail-if=bytes>+0", &default, &all]).0,
        2
    );
}

#[test]
fn profiles_without_a_common_event_are_not_compared() {
    for (old, new) in [
        ("incl_a.cg", "stack_base.massif.out"),
        ("stack_base.dhat.out", "stack_base.massif.out"),
        ("stack_base.memcheck.out", "stack_base.massif.out"),
    ] {
        for (old, new) in [(old, new), (new, old)] {
            let run = tools::run("cg-diff", &[&path(old), &path(new)], b"");
            assert_eq!((run.status, run.text()), (2, ""), "{old} {new}");
            assert!(run.stderr.contains("nothing to compare"), "{}", run.stderr);
        }
    }
}

#[test]
fn documents_begin_with_the_errors() {
    let home = tempfile::tempdir().unwrap();
    let cut = home.path().join("cut.cg");
    let text = std::fs::read_to_string(path("incl_b.cg")).unwrap();
    std::fs::write(&cut, &text[..text.find("fn=A").unwrap() + 6]).unwrap();
    let cut = cut.to_str().unwrap().to_owned();
    let missing = home.path().join("missing.cg").to_str().unwrap().to_owned();
    let fragment = home.path().join("fragment.jsonl");
    std::fs::write(
        &fragment,
        "{\"type\":\"fn\",\"fn\":\"A\",\"calls\":1,\"cost\":{\"Ir\":3}}\n",
    )
    .unwrap();
    let fragment = fragment.to_str().unwrap().to_owned();
    for (new, status) in [(&cut, 2), (&missing, 2), (&fragment, 0)] {
        let run = tools::run("cg-diff", &[&path("incl_a.cg"), new], b"");
        assert_eq!(run.status, status, "{}", run.stderr);
        for (format, line) in [("table", 0), ("markdown", 1)] {
            let shown = tools::run("cg-fmt", &["-f", format], run.text().as_bytes());
            let shown = shown
                .text()
                .lines()
                .filter(|line| !line.is_empty())
                .nth(line);
            let shown = shown.unwrap_or_default().to_owned();
            assert!(
                shown.starts_with("incomplete comparison: "),
                "{format} {new}: {shown}"
            );
        }
    }
}

#[test]
fn misses_of_different_caches_are_not_judged() {
    let home = tempfile::tempdir().unwrap();
    let run = |name: &str, cache: &str| -> String {
        let stream = format!(
            "# callgrind format\nversion: 1\ncmd: ./p\ndesc: I1 cache: {cache}\nevents: Ir D1mr\nfl=a.c\nfn=f\n1 10 2\ntotals: 10 2\n"
        );
        let file = home.path().join(name);
        std::fs::write(&file, stream).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let small = run("small", "32768 B, 64 B, 8-way associative");
    let large = run("large", "65536 B, 64 B, 8-way associative");
    assert_eq!(judge(&["--fail-if=D1mr>+5%", &small, &large]).0, 2);
    assert_eq!(judge(&["--fail-if=D1mr[f]>+5%", &small, &large]).0, 2);
    assert_eq!(judge(&["--fail-if=Ir>+5%", &small, &large]).0, 0);
    assert_eq!(judge(&["--fail-if=D1mr>+5%", &small, &small]).0, 0);
}
