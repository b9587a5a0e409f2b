//! Suites of benchmarks: in a directory, or in one stream. Laws about their comparison, and about histories.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::Path;

use serde_json::Value;
use tests::{data, tools};

/// The benchmarks, each with its old and its new profile.
const BENCHMARKS: [(&str, [&str; 2]); 3] = [
    (
        "words",
        ["pair/before.callgrind.out", "pair/after.callgrind.out"],
    ),
    (
        "parse \"x\"",
        [
            "diff/pairs/closure_base.cg.gz",
            "diff/pairs/closure_inserted.cg.gz",
        ],
    ),
    (
        "static",
        ["diff/pairs/static_x.cg.gz", "diff/pairs/static_w.cg.gz"],
    ),
];

/// The arguments for the sum over all benchmarks.
const SUM: [&str; 6] = [
    "--statistic",
    "sum",
    "--before",
    "old.jsonl",
    "--after",
    "new.jsonl",
];

/// A folder with the directories `old` and `new`, which have a stream for each benchmark, and with the concatenated streams
/// `old.jsonl` and `new.jsonl`.
struct Suite(tempfile::TempDir);

impl Suite {
    fn with(benchmarks: &[(&str, [&str; 2])]) -> Suite {
        let root = tempfile::tempdir().unwrap();
        for (side, name) in ["old", "new"].into_iter().enumerate() {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            let mut together = Vec::new();
            for (position, (bench, files)) in benchmarks.iter().enumerate() {
                let label = format!("bench={bench}");
                let file = data(files[side]);
                let args = ["--calls", "--label", &label, file.to_str().unwrap()];
                let stream = tools::run("cg-parse", &args, b"");
                assert_eq!(stream.status, 0, "{}", stream.stderr);
                fs::write(folder.join(format!("{position}.jsonl")), &stream.stdout).unwrap();
                together.extend(stream.stdout);
            }
            fs::write(root.path().join(format!("{name}.jsonl")), together).unwrap();
        }
        Suite(root)
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    /// Runs a tool in the folder.
    fn run(&self, tool: &str, args: &[&str], input: &[u8]) -> tools::Run {
        let mut command = tools::command(tool);
        command.args(args).current_dir(self.root());
        tools::run_command(command, input)
    }

    /// Compares two inputs, and returns all differences.
    fn diff(&self, args: &[&str]) -> String {
        let args = [&["--min-change", "0"], args].concat();
        let diff = self.run("cg-diff", &args, b"");
        assert_eq!(diff.status, 0, "{}", diff.stderr);
        diff.text().to_owned()
    }
}

/// Returns the records of a type.
fn records(stream: &str, kind: &str) -> Vec<Value> {
    let all = stream
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    all.filter(|record: &Value| record["type"] == kind)
        .collect()
}

/// Returns the values of columns in each row, from CSV without quotes.
fn table(suite: &Suite, diff: &str, args: &[&str]) -> Vec<Vec<String>> {
    let args = [&["-f", "tsv"], args].concat();
    let table = suite.run("cg-fmt", &args, diff.as_bytes());
    assert_eq!(table.status, 0, "{}", table.stderr);
    let rows = table.text().lines().skip(1);
    rows.map(|row| row.split('\t').map(str::to_owned).collect())
        .collect()
}

fn number(text: &str) -> i64 {
    text.parse().unwrap()
}

#[test]
fn stream_of_several_benchmarks_is_compared_like_a_directory() {
    let suite = Suite::with(&BENCHMARKS);
    let of_directories = suite.diff(&["--causes", "old", "new"]);
    let of_streams = suite.diff(&["--causes", "old.jsonl", "new.jsonl"]);
    for kind in ["diff", "cause"] {
        let (expected, found) = (records(&of_directories, kind), records(&of_streams, kind));
        assert!(expected.len() > 3, "{kind}");
        assert_eq!(expected, found, "{kind}");
        let has_name = |record: &Value| {
            let mut benches = BENCHMARKS.iter().map(|(bench, _)| bench);
            benches.any(|bench| record["bench"] == *bench)
        };
        assert!(found.iter().all(has_name), "{kind}");
    }
    // The order of the benchmarks in the streams does not matter, and each can have several sections.
    let new = fs::read_to_string(suite.root().join("new.jsonl")).unwrap();
    let sections: Vec<&str> = new.split_inclusive("\"type\":\"end\"").collect();
    assert_eq!(sections.len(), BENCHMARKS.len() + 1);
    let parts: Vec<String> = (["2", "0", "1"].iter())
        .map(|name| fs::read_to_string(suite.root().join(format!("new/{name}.jsonl"))).unwrap())
        .collect();
    let empty = parts[0].lines().next().unwrap();
    let run: Value = serde_json::from_str(empty).unwrap();
    let mut run = run.as_object().unwrap().clone();
    run.insert("total".to_owned(), serde_json::json!({}));
    let again = format!(
        "{}{}\n{{\"type\":\"end\",\"records\":0}}\n",
        parts.concat(),
        Value::Object(run)
    );
    fs::write(suite.root().join("shuffled.jsonl"), again).unwrap();
    let of_shuffled = suite.diff(&["--causes", "old.jsonl", "shuffled.jsonl"]);
    assert_eq!(records(&of_streams, "diff"), records(&of_shuffled, "diff"));
    // The benchmarks of several files are medians of the same benchmark.
    let of_files = suite.diff(&[
        "--before",
        "old.jsonl",
        "old.jsonl",
        "--after",
        "new.jsonl",
        "shuffled.jsonl",
    ]);
    for (position, (bench, _)) in BENCHMARKS.iter().enumerate() {
        let [old, new] = ["old", "new"].map(|side| format!("{side}/{position}.jsonl"));
        let expected = suite.diff(&["--before", &old, &old, "--after", &new, &new]);
        let mut found = records(&of_files, "diff");
        found.retain(|record| record["bench"] == *bench);
        assert_eq!(records(&expected, "diff"), found);
    }
}

#[test]
fn limit_is_judged_for_each_benchmark_of_a_stream() {
    let suite = Suite::with(&BENCHMARKS);
    let gate = |limit: &str, inputs: [&str; 2]| {
        let [old, new] = inputs;
        suite.run("cg-diff", &["--fail-if", limit, old, new], b"")
    };
    for limit in ["Ir>+0.1%", "Ir<-0.1%", "Ir>+1000%"] {
        let (files, streams) = (
            gate(limit, ["old", "new"]),
            gate(limit, ["old.jsonl", "new.jsonl"]),
        );
        assert_eq!(files.status, streams.status, "{limit}");
        assert_eq!(files.stderr, streams.stderr, "{limit}");
    }
    // The runs of all benchmarks have the same names, so the report names the benchmark.
    let broken = gate("Ir<-0.1%", ["old.jsonl", "new.jsonl"]);
    let report = suite.run("cg-fmt", &[], &broken.stdout);
    let sentence = "limit broken: words: Ir<-0.1%";
    assert!(report.text().contains(sentence), "{}", report.text());
}

#[test]
fn benchmark_that_only_one_stream_has_is_an_error() {
    let suite = Suite::with(&BENCHMARKS);
    let args = ["old.jsonl", "new/0.jsonl"];
    let refused = suite.run("cg-diff", &args, b"");
    assert_eq!(refused.status, 2);
    for bench in ["parse \"x\"", "static"] {
        let message = format!("new/0.jsonl: there is no result for {bench}; --allow-missing");
        assert!(refused.stderr.contains(&message), "{}", refused.stderr);
    }
    let diff = suite.diff(&["--allow-missing", "old.jsonl", "new/0.jsonl"]);
    let expected = suite.diff(&["old/0.jsonl", "new/0.jsonl"]);
    assert_eq!(records(&diff, "diff"), records(&expected, "diff"));
}

#[test]
fn sum_of_benchmarks_is_called_a_sum() {
    let suite = Suite::with(&BENCHMARKS);
    let sum = suite.diff(&SUM);
    let note = "sums over several benchmarks (3 in before, 3 in after)";
    assert_eq!(records(&sum, "run").len(), 1);
    let table = suite.run("cg-fmt", &[], sum.as_bytes());
    assert!(table.text().contains(note), "{}", table.text());
    // A profile of several benchmarks is a sum, too.
    for (input, name) in [
        ("old.jsonl", "SUM OF ALL BENCHMARKS"),
        ("old/0.jsonl", "PROGRAM TOTALS"),
    ] {
        let table = suite.run("cg-fmt", &[input], b"");
        assert!(table.text().contains(name), "{}", table.text());
    }
}

#[test]
fn swapped_suites_have_negated_rows() {
    let suite = Suite::with(&BENCHMARKS);
    for inputs in [["old", "new"], ["old.jsonl", "new.jsonl"]] {
        let [old, new] = inputs;
        let columns = ["--columns", "bench,Ir.delta,calls.old,calls.new"];
        let mut forward = table(&suite, &suite.diff(&[old, new]), &columns);
        let mut backward = table(&suite, &suite.diff(&[new, old]), &columns);
        for row in &mut backward {
            row[1] = (-number(&row[1])).to_string();
            row.swap(2, 3);
        }
        forward.sort();
        backward.sort();
        assert!(forward.len() > 10);
        assert_eq!(forward, backward);
        let columns = ["--group-by", "bench", "--columns", "bench,Ir.old,Ir.new"];
        let forward = table(&suite, &suite.diff(&[old, new]), &columns);
        let mut backward = table(&suite, &suite.diff(&[new, old]), &columns);
        backward.iter_mut().for_each(|row| row.swap(1, 2));
        assert_eq!(forward.len(), BENCHMARKS.len());
        assert_eq!(forward, backward);
    }
}

#[test]
fn benchmarks_add_up_to_their_sum() {
    let suite = Suite::with(&BENCHMARKS);
    let columns = ["--group-by", "bench", "--columns", "bench,Ir.old,Ir.new"];
    let rows = table(&suite, &suite.diff(&["old.jsonl", "new.jsonl"]), &columns);
    let sum = suite.diff(&SUM);
    let totals = &records(&sum, "run")[0]["total"]["Ir"];
    for (side, column) in [1, 2].into_iter().enumerate() {
        let of_rows: i64 = rows.iter().map(|row| number(&row[column])).sum();
        assert_eq!(totals[side].as_i64(), Some(of_rows));
    }
    // All rows of a benchmark add up to the change of its total.
    let all = table(
        &suite,
        &suite.diff(&["old.jsonl", "new.jsonl"]),
        &["--columns", "bench,Ir.delta"],
    );
    for row in &rows {
        let of_bench = all.iter().filter(|other| other[0] == row[0]);
        let sum: i64 = of_bench.map(|other| number(&other[1])).sum();
        assert_eq!(sum, number(&row[2]) - number(&row[1]), "{}", row[0]);
    }
}

#[test]
fn suite_of_one_benchmark_is_a_plain_comparison() {
    let suite = Suite::with(&BENCHMARKS[..1]);
    let of_suite = suite.diff(&["--causes", "old", "new"]);
    let plain = suite.diff(&["--causes", "old/0.jsonl", "new/0.jsonl"]);
    assert_eq!(of_suite, plain);
    // Without a label, only the name of the benchmark is added.
    for (side, file) in ["old", "new"].into_iter().zip(BENCHMARKS[0].1) {
        let folder = suite.root().join(format!("raw-{side}"));
        fs::create_dir(&folder).unwrap();
        fs::copy(data(file), folder.join("words.out")).unwrap();
    }
    let plain = suite.diff(&["raw-old/words.out", "raw-new/words.out"]);
    let of_suite = suite.diff(&["raw-old", "raw-new"]);
    let unnamed = of_suite.replace(",\"bench\":\"words\"", "");
    let unnamed = unnamed.replace(",\"labels\":{\"bench\":\"words\"}", "");
    assert_ne!(of_suite, unnamed);
    assert_eq!(unnamed, plain);
    for format in ["table", "csv", "markdown"] {
        let [one, other] =
            [&of_suite, &plain].map(|diff| suite.run("cg-fmt", &["-f", format], diff.as_bytes()));
        assert_eq!(one.text(), other.text(), "{format}");
    }
}

#[test]
fn reversed_history_has_negated_steps() {
    let suite = Suite::with(&BENCHMARKS);
    // Half of the differences between neighbours are 0, so each of the other three is a step.
    let files = [0, 1, 1, 0, 0, 0, 1].map(|side| ["old/1.jsonl", "new/1.jsonl"][side]);
    let names = ["v1", "v2", "v3", "v4", "v5", "v6", "v7"];
    let steps = |is_reversed: bool| -> Vec<String> {
        let mut order: Vec<usize> = (0..files.len()).collect();
        if is_reversed {
            order.reverse();
        }
        let mut args = vec!["--history"];
        args.extend(order.iter().map(|position| files[*position]));
        for position in &order {
            args.extend(["--name", names[*position]]);
        }
        let history = suite.run("cg-diff", &args, b"");
        assert_eq!(history.status, 0, "{}", history.stderr);
        let step = |step: Value| -> String {
            let texts = |keys: [&str; 2]| keys.map(|key| step[key].to_string());
            let ([at, before], [old, new]) = (texts(["at", "before"]), texts(["old", "new"]));
            let delta = step["delta"].as_i64().unwrap();
            let name = &step["fn"];
            match is_reversed {
                false => format!("{name} {before} {at} {old} {new} {delta}"),
                true => format!("{name} {at} {before} {new} {old} {}", -delta),
            }
        };
        let mut steps: Vec<String> = records(history.text(), "step")
            .into_iter()
            .map(step)
            .collect();
        steps.sort();
        steps
    };
    let forward = steps(false);
    // The total and at least one function change three times.
    assert!(forward.len() >= 6, "{forward:?}");
    assert_eq!(forward, steps(true));
}

#[test]
fn history_of_streams_with_several_benchmarks_has_a_series_for_each() {
    let suite = Suite::with(&BENCHMARKS);
    let names = ["--name", "v1", "--name", "v2"];
    let together = [&["--history", "old.jsonl", "new.jsonl"], &names[..]].concat();
    let together = suite.run("cg-diff", &together, b"");
    assert_eq!(together.status, 0, "{}", together.stderr);
    let mut separate = String::new();
    for position in 0..BENCHMARKS.len() {
        let [old, new] = ["old", "new"].map(|side| format!("{side}/{position}.jsonl"));
        let args = [&["--history", &old, &new], &names[..]].concat();
        separate += suite.run("cg-diff", &args, b"").text();
    }
    for kind in ["step", "series"] {
        let expected = records(&separate, kind);
        assert!(expected.len() > 3, "{kind}");
        assert_eq!(records(together.text(), kind), expected, "{kind}");
    }
}
