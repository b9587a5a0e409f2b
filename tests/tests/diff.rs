//! The command cg-diff: laws over real profiles, verdicts, runs and sides, pairs in a directory.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tests::{data, tools};

/// Runs cg-diff. Returns its records, its exit status and its standard error.
fn diff(args: &[&str]) -> (Vec<Value>, i32, String) {
    let run = tools::run("cg-diff", args, b"");
    let records = run
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (records, run.status, run.stderr)
}

/// A function's name, call count and cost.
type Function<'a> = (&'a str, u64, u64);

/// Streams in the files of a temporary directory.
struct Streams {
    home: TempDir,
}

impl Streams {
    /// Writes one stream of functions per name.
    fn new(streams: &[(&str, &[Function])]) -> Streams {
        let home = TempDir::new().unwrap();
        for (name, functions) in streams {
            let total: u64 = functions.iter().map(|(_, _, ir)| ir).sum();
            let mut text = format!(
                "{{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"events\":[\"Ir\"],\"total\":{{\"Ir\":{total}}}}}\n"
            );
            for (function, calls, ir) in *functions {
                text += &format!(
                    "{{\"type\":\"fn\",\"fn\":\"{function}\",\"file\":\"a.rs\",\"calls\":{calls},\"cost\":{{\"Ir\":{ir}}},\"incl\":{{\"Ir\":{ir}}}}}\n"
                );
            }
            text += &format!("{{\"type\":\"end\",\"records\":{}}}\n", functions.len());
            fs::write(home.path().join(name), text).unwrap();
        }
        Streams { home }
    }

    fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }
}

/// Writes two runs: the cost of `slow` rises by half, `gone` is removed and `new` is added.
fn before_and_after() -> Streams {
    Streams::new(&[
        (
            "before",
            &[("main", 1, 100), ("slow", 10, 1000), ("gone", 2, 50)],
        ),
        (
            "after",
            &[("main", 1, 100), ("slow", 10, 1500), ("new", 3, 9)],
        ),
    ])
}

/// Returns the small real profiles of the test data.
fn profiles() -> Vec<PathBuf> {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let is_bad = path.ends_with("bad");
            if path.is_dir() && !is_bad {
                collect(&path, found);
            } else if path.metadata().unwrap().len() < 100_000 {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for format in ["callgrind", "cachegrind", "massif", "dhat", "memcheck"] {
        let folder = data(format);
        if folder.is_dir() {
            collect(&folder, &mut found);
        }
    }
    found.sort();
    // The laws do not apply to inputs that cg-parse rejects.
    found.retain(|path| tools::run("cg-parse", &[path.to_str().unwrap()], b"").status == 0);
    found
}

#[test]
fn profile_has_no_diff_with_itself() {
    let profiles = profiles();
    assert!(profiles.len() >= 5, "{profiles:?}");
    for path in profiles {
        let path = path.to_str().unwrap();
        let (records, status, _) = diff(&["--exit-code", "--allow-fragment", path, path]);
        let rows = records.iter().filter(|record| record["type"] == "diff");
        assert_eq!((rows.count(), status), (0, 0), "{path}");
    }
}

/// Reads a count. Valgrind's own counts can underflow and then exceed `i64`.
fn count(value: &Value) -> Option<i128> {
    let signed = value.as_i64().map(i128::from);
    signed.or_else(|| value.as_u64().map(i128::from))
}

#[test]
fn rows_add_up_to_the_totals_of_every_run() {
    let mut checked = 0;
    let profiles = profiles();
    // Compare only profiles of the same tool: leaks and heap records both count bytes, but different ones.
    let have_same_tool = |pair: &&[PathBuf]| pair[0].parent() == pair[1].parent();
    for pair in profiles.windows(2).filter(have_same_tool) {
        let paths = [pair[0].to_str().unwrap(), pair[1].to_str().unwrap()];
        let (records, status, stderr) = diff(&["--all", paths[0], paths[1]]);
        // Profiles without a common event cannot be compared.
        if stderr.contains("nothing to compare") {
            assert_eq!((status, records.len()), (2, 0), "{paths:?}");
            continue;
        }
        assert_eq!(status, 0, "{paths:?}");
        let kind = |record: &Value| record["of"].as_str().map(str::to_owned);
        let mut sums: BTreeMap<(String, String, usize), i128> = BTreeMap::new();
        for record in records.iter().filter(|record| record["type"] == "diff") {
            for (event, entries) in record["cost"].as_object().unwrap() {
                for (run, entry) in entries.as_array().unwrap().iter().enumerate() {
                    *sums
                        .entry((kind(record).unwrap(), event.clone(), run))
                        .or_default() += count(entry).unwrap_or(0);
                }
            }
        }
        for ((kind, event, run), sum) in sums {
            let total = count(&records[0]["total"][&event][run]);
            assert_eq!(total.unwrap_or(0), sum, "{paths:?} {kind} {event}");
            checked += 1;
        }
    }
    assert!(checked >= 10, "{checked}");
}

#[test]
fn rows_have_a_status_and_are_sorted_by_change() {
    let streams = before_and_after();
    let (records, status, stderr) = diff(&[&streams.path("before"), &streams.path("after")]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    let rows: Vec<String> = records
        .iter()
        .filter(|record| record["type"] == "diff")
        .map(|record| {
            format!(
                "{} {} {} {}",
                record["fn"].as_str().unwrap(),
                record["status"].as_str().unwrap(),
                record["cost"]["Ir"],
                record["delta"]["Ir"]
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "slow changed [1000,1500] 500",
            "gone removed [50,null] -50",
            "new added [null,9] 9"
        ]
    );
    assert_eq!(records[0]["total"]["Ir"], serde_json::json!([1150, 1609]));
    assert_eq!(
        records[0]["rows"],
        serde_json::json!({"added": 1, "changed": 1, "removed": 1, "same": 1})
    );
}

/// Returns the exit status of a gate and its standard error.
fn verdict(streams: &Streams, args: &[&str]) -> (i32, String) {
    let (before, after) = (streams.path("before"), streams.path("after"));
    let (_, status, stderr) = diff(&[args, &[before.as_str(), after.as_str()]].concat());
    (status, stderr)
}

#[test]
fn every_broken_limit_is_reported() {
    let streams = before_and_after();
    let (status, stderr) = verdict(
        &streams,
        &[
            "--fail-if=Ir>+5%",
            "--fail-if=Ir>+1000",
            "--fail-if=incl.Ir[^slow$]>+499",
            "--fail-if=worst.Ir>+50%",
            "--fail-if=calls[.]>+100%",
        ],
    );
    assert_eq!(status, 1);
    assert_eq!(
        stderr.lines().collect::<Vec<_>>(),
        [
            "cg-diff: Ir>+5%: the total rose from 1,150 to 1,609 (+459, +39.91%)",
            "cg-diff: incl.Ir[^slow$]>+499: slow rose from 1,000 to 1,500 (+500, +50.00%)",
            "cg-diff: worst.Ir>+50%: new is new with 9",
            "cg-diff: calls[.]>+100%: new is new with 3",
        ]
    );
    assert_eq!(
        verdict(&streams, &["--fail-if=Ir>+50%"]),
        (0, String::new())
    );
    assert_eq!(verdict(&streams, &["--exit-code"]).0, 1);
}

#[test]
fn limits_can_be_in_a_file() {
    let streams = before_and_after();
    let limits = streams.path("limits");
    fs::write(
        &limits,
        "# agreed with the team\nIr>+50%\nIr[^slow$]>+10%\n",
    )
    .unwrap();
    let (status, stderr) = verdict(&streams, &["--limits", &limits]);
    assert_eq!(status, 1);
    assert!(
        stderr.starts_with("cg-diff: Ir[^slow$]>+10%: slow rose"),
        "{stderr}"
    );
    fs::write(&limits, "Ir>+50%\nIr>>5\n").unwrap();
    let (status, stderr) = verdict(&streams, &["--limits", &limits]);
    assert_eq!(status, 2);
    assert!(stderr.contains("limits:2: expected a number"), "{stderr}");
}

#[test]
fn undecidable_comparison_exits_with_2() {
    let streams = before_and_after();
    let before = streams.path("before");
    let gate = "--fail-if=Ir>+5%";
    // A limit on an event that neither run counts.
    assert_eq!(verdict(&streams, &["--fail-if=D1mr>+5%"]).0, 2);
    for (name, text) in [
        ("empty", String::new()),
        (
            "fragment",
            "{\"type\":\"fn\",\"fn\":\"main\",\"cost\":{\"Ir\":1}}\n".to_owned(),
        ),
        (
            "cut",
            fs::read_to_string(&before)
                .unwrap()
                .replace("{\"type\":\"end\",\"records\":3}\n", ""),
        ),
    ] {
        let path = streams.path(name);
        fs::write(&path, text).unwrap();
        let (_, status, stderr) = diff(&[gate, &before, &path]);
        assert_eq!(status, 2, "{name}");
        assert_eq!(stderr.lines().count(), 1, "{name}: {stderr}");
    }
    let (_, status, _) = diff(&[gate, &before, &streams.path("missing")]);
    assert_eq!(status, 2);
    let fragment = streams.path("fragment");
    let (_, status, _) = diff(&[gate, "--allow-fragment", &fragment, &fragment]);
    assert_eq!(status, 0);
}

#[test]
fn closed_output_does_not_change_the_verdict() {
    let streams = before_and_after();
    let mut child = tools::command("cg-diff")
        .args([
            "--fail-if=Ir>+5%",
            &streams.path("before"),
            &streams.path("after"),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn three_runs_are_three_columns_relative_to_any_of_them() {
    let streams = Streams::new(&[
        ("main", &[("f", 1, 100), ("g", 1, 5)]),
        ("regression", &[("f", 1, 300), ("g", 1, 5)]),
        ("fix", &[("f", 1, 100), ("g", 1, 5), ("h", 1, 1)]),
    ]);
    let paths = ["main", "regression", "fix"].map(|name| streams.path(name));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let names = ["--name=main", "--name=regression", "--name=fix"];
    let rows = |relative_to: &str| -> Vec<String> {
        let option = format!("--relative-to={relative_to}");
        let (records, status, _) = diff(&[&names[..], &[&option], &paths].concat());
        assert_eq!(status, 0);
        assert_eq!(
            records[0]["runs"],
            serde_json::json!(["main", "regression", "fix"])
        );
        records[1..records.len() - 1]
            .iter()
            .map(|record| {
                let field = |name: &str| record[name].as_str().unwrap().to_owned();
                format!(
                    "{} {} {} {}",
                    field("fn"),
                    field("status"),
                    record["cost"]["Ir"],
                    record["delta"]["Ir"]
                )
            })
            .collect()
    };
    assert_eq!(
        rows("first"),
        ["f changed [100,300,100] 0", "h added [null,null,1] 1"]
    );
    assert_eq!(
        rows("previous"),
        ["f changed [100,300,100] -200", "h added [null,null,1] 1"]
    );
    assert_eq!(rows("regression"), rows("previous"));
    let (_, status, stderr) = diff(&[&["--relative-to=other"], &paths[..]].concat());
    assert_eq!(status, 2);
    assert!(
        stderr.contains("expected first, previous or one of"),
        "{stderr}"
    );
}

#[test]
fn changed_rows_exceed_the_noise_of_both_sides() {
    let streams = Streams::new(&[
        ("a1", &[("hash", 1, 500), ("work", 1, 1000)]),
        ("a2", &[("hash", 1, 520), ("work", 1, 1000)]),
        ("a3", &[("hash", 1, 510), ("work", 1, 1000)]),
        ("b1", &[("hash", 1, 515), ("work", 1, 1001)]),
        ("b2", &[("hash", 1, 505), ("work", 1, 1001)]),
        ("b3", &[("hash", 1, 530), ("work", 1, 1001)]),
    ]);
    let paths = ["a1", "a2", "a3", "b1", "b2", "b3"].map(|name| streams.path(name));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let args = [&["--before"], &paths[..3], &["--after"], &paths[3..]].concat();
    let (records, _, _) = diff(&args);
    assert_eq!(records.len(), 3, "{records:?}");
    assert_eq!(records[1]["fn"], "work");
    assert_eq!(records[1]["spread"]["Ir"], serde_json::json!([0, 0]));
    let (records, _, _) = diff(&[&["--all"], &args[..]].concat());
    let hash = &records[2];
    assert_eq!(hash["status"], "same");
    assert_eq!(hash["cost"]["Ir"], serde_json::json!([510, 515]));
    assert_eq!(hash["min"]["Ir"], serde_json::json!([500, 505]));
    assert_eq!(hash["spread"]["Ir"], serde_json::json!([20, 25]));
    assert_eq!(hash["noise"]["Ir"], 25);
}

#[test]
fn only_a_change_above_the_noise_breaks_a_limit() {
    let streams = Streams::new(&[
        ("a1", &[("hash", 1, 500), ("work", 1, 1000)]),
        ("a2", &[("hash", 1, 520), ("work", 1, 1000)]),
        ("b1", &[("hash", 1, 515), ("work", 1, 1001)]),
        ("b2", &[("hash", 1, 505), ("work", 1, 1001)]),
    ]);
    let paths = ["a1", "a2", "b1", "b2"].map(|name| streams.path(name));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let sides = [&["--before"], &paths[..2], &["--after"], &paths[2..]].concat();
    // The medians of hash and of the total rise by 5, but the runs of one side differ by 20.
    for (limit, status) in [
        ("Ir[hash]>+0.5%", 0),
        ("Ir>+0.1%", 0),
        ("calls>+0", 0),
        ("Ir[work]>+0.05%", 1),
        ("worst.Ir>+0", 1),
        ("Ir[hash]>504", 1),
    ] {
        let (_, found, stderr) = diff(&[&["--fail-if", limit], &sides[..]].concat());
        assert_eq!(found, status, "{limit}: {stderr}");
        assert!(
            !stderr.contains("hash") || limit.contains("hash"),
            "{stderr}"
        );
    }
    let (_, _, stderr) = diff(&[&["--fail-if", "Ir[work]>+0"], &sides[..]].concat());
    assert!(
        stderr.contains("(+1, +0.10%); noise can reach 0"),
        "{stderr}"
    );
}

/// Checks these runs of one function against a limit of +20 %. Returns the status, standard error and the records.
fn judged_over_20_percent(old: &[u64], new: &[u64]) -> (i32, String, Vec<Value>) {
    let sides = [("a", old), ("b", new)];
    let named = sides.iter().flat_map(|(side, counts)| {
        let counts = counts.iter().enumerate();
        counts.map(move |(file, count)| (format!("{side}{file}"), [("f", 1, *count)]))
    });
    let named: Vec<(String, [Function; 1])> = named.collect();
    let streams: Vec<(&str, &[Function])> = named
        .iter()
        .map(|(name, functions)| (name.as_str(), &functions[..]))
        .collect();
    let streams = Streams::new(&streams);
    let pattern = |side: &str| streams.path(&format!("{side}*"));
    let (old, new) = (pattern("a"), pattern("b"));
    let args = [
        "--all",
        "--fail-if=Ir>+20%",
        "--before",
        &old,
        "--after",
        &new,
    ];
    let (records, status, stderr) = diff(&args);
    (status, stderr, records)
}

#[test]
fn few_outliers_do_not_widen_the_noise() {
    let base: Vec<u64> = (0..10).map(|run| 10_000 + run).collect();
    let risen: Vec<u64> = base.iter().map(|count| count * 1286 / 1000).collect();
    let with = |side: &[u64], outliers: &[u64]| [&side[outliers.len()..], outliers].concat();
    for (claim, old, new, status, row_status) in [
        ("a rise", base.clone(), risen.clone(), 1, "changed"),
        (
            "one outlier before",
            with(&base, &[40_000]),
            risen.clone(),
            1,
            "changed",
        ),
        (
            "two outliers before",
            with(&base, &[40_000, 1_000_000]),
            risen.clone(),
            1,
            "changed",
        ),
        (
            "outliers after",
            base.clone(),
            with(&risen, &[1, 40_000]),
            1,
            "changed",
        ),
        (
            "one on each side",
            with(&base, &[90_000]),
            with(&risen, &[100]),
            1,
            "changed",
        ),
        (
            "half of the runs before",
            with(&base, &[90_000; 5]),
            risen.clone(),
            0,
            "same",
        ),
        ("equal sides", base.clone(), base.clone(), 0, "same"),
        (
            "only outliers",
            base.clone(),
            with(&base, &[40_000, 40_000]),
            0,
            "same",
        ),
        (
            "a new function with an outlier",
            vec![0; 10],
            with(&base, &[90_000]),
            1,
            "changed",
        ),
        (
            "exact counts",
            vec![10_000; 10],
            vec![10_010; 10],
            0,
            "changed",
        ),
        (
            "one file against ten with an outlier",
            vec![10_000],
            with(&risen, &[90_000]),
            1,
            "changed",
        ),
        (
            "three files with an outlier",
            with(&base[..3], &[40_000]),
            risen[..3].to_vec(),
            0,
            "same",
        ),
    ] {
        let (found, stderr, records) = judged_over_20_percent(&old, &new);
        assert_eq!(found, status, "{claim}: {stderr}");
        assert_eq!(records[1]["status"], row_status, "{claim}: {records:?}");
        let [change, noise] =
            ["delta", "noise"].map(|field| records[1][field]["Ir"].as_i64().unwrap());
        assert_eq!(
            change.abs() > noise,
            row_status == "changed",
            "{claim}: {change} {noise}"
        );
        assert_eq!(
            stderr.contains("Ir>+20%: the total rose"),
            status == 1,
            "{claim}: {stderr}"
        );
        // A rise within the noise is reported.
        let is_within_noise = row_status == "same" && change > 2000;
        let is_reported = stderr
            .contains("Ir>+20%: not broken, the change is within noise: the total rose from ");
        assert_eq!(is_reported, is_within_noise, "{claim}: {stderr}");
    }
}

#[test]
fn limits_can_apply_to_any_run() {
    let streams = Streams::new(&[
        ("a", &[("f", 1, 100)]),
        ("b", &[("f", 1, 150)]),
        ("c", &[("f", 1, 110)]),
        ("d", &[("f", 1, 100)]),
    ]);
    let paths = ["a", "b", "c", "d"].map(|name| streams.path(name));
    let judge = |options: &[&str]| {
        let paths = paths.iter().map(String::as_str);
        let args: Vec<&str> = options.iter().copied().chain(paths).collect();
        let (_, status, stderr) = diff(&args);
        (status, stderr)
    };
    assert_eq!(judge(&["--fail-if=Ir>+20%"]).0, 0);
    let (status, stderr) = judge(&["--fail-if=any.Ir>+20%"]);
    assert_eq!(status, 1);
    let run = &paths[1];
    assert!(
        stderr.contains(&format!("rose from 100 to 150 (+50, +50.00%), in {run}")),
        "{stderr}"
    );
    // Relative to the previous run, only the second run rose.
    assert_eq!(
        judge(&["--fail-if=any.Ir[f]>+5%", "--relative-to=previous"])
            .1
            .matches("rose")
            .count(),
        1
    );
    assert_eq!(
        judge(&["--fail-if=any.Ir>+5%", "--relative-to", &paths[1]]).0,
        0
    );
}

#[test]
fn benchmark_without_baseline_or_result_is_an_error() {
    let streams = before_and_after();
    let home = streams.home.path().join("results");
    fs::create_dir_all(&home).unwrap();
    for (from, to) in [
        ("before", "x.out.old"),
        ("after", "x.out"),
        ("after", "new.out"),
    ] {
        fs::copy(streams.path(from), home.join(to)).unwrap();
    }
    let home = home.to_str().unwrap();
    let (_, status, stderr) = diff(&["--fail-if=Ir>+500%", home]);
    assert_eq!(status, 2);
    assert!(
        stderr.contains("new.out: there is no baseline "),
        "{stderr}"
    );
    let (_, status, stderr) = diff(&["--fail-if=Ir>+500%", "--allow-missing", home]);
    assert_eq!((status, stderr.contains("new.out")), (0, true));
    fs::rename(
        Path::new(home).join("new.out"),
        Path::new(home).join("gone.out.old"),
    )
    .unwrap();
    let (_, status, stderr) = diff(&["--fail-if=Ir>+500%", home]);
    assert_eq!(status, 2);
    assert!(
        stderr.contains("gone.out.old: there is no result "),
        "{stderr}"
    );
}

#[test]
fn report_begins_with_the_totals_of_benchmarks() {
    let streams = before_and_after();
    let home = streams.home.path().join("results");
    fs::create_dir_all(&home).unwrap();
    for (from, to) in [
        ("before", "x.out.old"),
        ("after", "x.out"),
        ("after", "y.out.old"),
        ("after", "y.out"),
    ] {
        fs::copy(streams.path(from), home.join(to)).unwrap();
    }
    let stream = tools::stdout("cg-diff", &[home.to_str().unwrap()], b"");
    let shown = tools::stdout("cg-fmt", &["-f", "markdown"], &stream);
    let shown = String::from_utf8(shown).unwrap();
    let row = |name: &str| {
        let line = shown
            .lines()
            .find(|line| line.contains(name) && line.starts_with('|'));
        line.unwrap_or_else(|| panic!("{name}: {shown}")).to_owned()
    };
    assert!(
        row("`x`").ends_with("| `Ir` | 1,150 | 1,609 | +459 | +39.91% |"),
        "{shown}"
    );
    assert!(
        row("`y`").ends_with("| `Ir` | 1,609 | 1,609 | 0 | 0.00% |"),
        "{shown}"
    );
}

#[test]
fn rows_can_be_filtered_by_the_size_of_the_change() {
    let streams = before_and_after();
    let stream = tools::stdout(
        "cg-diff",
        &["--all", &streams.path("before"), &streams.path("after")],
        b"",
    );
    for (change, names) in [
        ("Ir=50%", &["slow", "gone", "new"][..]),
        ("Ir=51%", &["gone", "new"]),
        ("Ir=100", &["slow"]),
        ("calls=1", &["gone", "new"]),
    ] {
        let kept = tools::stdout("cg-filter", &["--min-change", change, ""], &stream);
        let kept = String::from_utf8(kept).unwrap();
        let functions: Vec<String> = kept
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter_map(|record| Some(record["fn"].as_str()?.to_owned()))
            .collect();
        assert_eq!(functions, names, "{change}");
    }
}

#[test]
fn directory_is_compared_pair_by_pair() {
    let streams = before_and_after();
    let inner = streams.home.path().join("bench/case");
    fs::create_dir_all(&inner).unwrap();
    for (from, to) in [
        ("before", "x.out.old"),
        ("after", "x.out"),
        ("before", "y.out.old"),
        ("before", "y.out"),
    ] {
        fs::copy(streams.path(from), inner.join(to)).unwrap();
    }
    // Another tool's results next to them do not count the limited event.
    for name in ["dhat.out.old", "dhat.out"] {
        let heapy = data("dhat").join("3.19.0-heapy.dhat.json");
        fs::copy(heapy, inner.join(name)).unwrap();
    }
    let home = streams.home.path().to_str().unwrap();
    let (records, status, stderr) = diff(&["--fail-if=Ir>+5%", home]);
    let types: Vec<&str> = records
        .iter()
        .map(|record| record["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        [
            "run", "end", "run", "diff", "diff", "diff", "end", "run", "end"
        ]
    );
    assert_eq!(status, 1);
    assert_eq!(stderr.lines().count(), 1);
    assert!(
        stderr.contains("case/x: Ir>+5%: the total rose"),
        "{stderr}"
    );
}

#[test]
fn different_measurements_are_noted() {
    let home = TempDir::new().unwrap();
    let write = |name: &str, run: &str, cost: &str| {
        let path = home.path().join(name).to_str().unwrap().to_owned();
        let text = format!(
            "{{\"type\":\"run\",\"stream\":1,{run}}}\n{{\"type\":\"fn\",\"fn\":\"f\",\"calls\":1,\"cost\":{cost}}}\n{{\"type\":\"end\",\"records\":1}}\n"
        );
        fs::write(&path, text).unwrap();
        path
    };
    let old = write(
        "old",
        r#""tool":"callgrind","command":"/a/demo 5","events":["Ir"],"total":{"Ir":7},"desc":{"D1 cache":"32768 B"}"#,
        r#"{"Ir":7}"#,
    );
    let new = write(
        "new",
        r#""tool":"cachegrind","command":"/b/demo 6","events":["Ir","Dr"],"total":{"Ir":7,"Dr":2},"desc":{"D1 cache":"65536 B"}"#,
        r#"{"Ir":7,"Dr":2}"#,
    );
    let (records, _, stderr) = diff(&["--all", &old, &new]);
    assert_eq!(records[0]["notes"].as_array().unwrap().len(), 4, "{stderr}");
    // Viewers show the notes. A gate prints them on stderr, because its output may not be shown.
    assert_eq!(stderr, "");
    let gate = diff(&["--exit-code", &old, &new]).2;
    assert_eq!(gate.lines().count(), 4, "{gate}");
    assert_eq!(records[1]["status"], "same");
    assert_eq!(records[1]["cost"]["Dr"], serde_json::json!([null, 2]));
    let elsewhere = write(
        "elsewhere",
        r#""tool":"callgrind","command":"/b/demo 5","events":["Ir"],"total":{"Ir":7},"desc":{"D1 cache":"32768 B"}"#,
        r#"{"Ir":7}"#,
    );
    assert_eq!(diff(&[&old, &elsewhere]).2, "");
}

#[test]
fn limits_can_apply_to_massif_peaks() {
    let home = TempDir::new().unwrap();
    let write = |name: &str, peak: u64| {
        let path = home.path().join(name).to_str().unwrap().to_owned();
        let snapshot = |number: u64, bytes: u64, detail: &str| {
            format!(
                "{{\"type\":\"snapshot\",\"snapshot\":{number},\"time\":{number},\"heap_bytes\":{bytes},\"extra_bytes\":8,\"stacks_bytes\":0,\"detail\":\"{detail}\"}}\n"
            )
        };
        let heap = format!(
            "{{\"type\":\"heap\",\"fn\":\"grow\",\"file\":\"h.c\",\"line\":8,\"snapshot\":{peak},\"peak\":true,\"cost\":{{\"bytes\":{peak}}},\"stack\":[{{\"fn\":\"grow\",\"file\":\"h.c\",\"line\":8,\"addr\":\"0x{peak}\"}}]}}\n"
        );
        let text = format!(
            "{{\"type\":\"run\",\"stream\":1,\"tool\":\"massif\",\"events\":[\"bytes\"],\"total\":{{\"bytes\":{peak}}}}}\n{}{}{heap}{}{{\"type\":\"end\",\"records\":4}}\n",
            snapshot(0, 0, "empty"),
            snapshot(peak, peak, "peak"),
            snapshot(peak + 1, 5, "empty"),
        );
        fs::write(&path, text).unwrap();
        path
    };
    let (old, new) = (write("old", 1000), write("new", 1060));
    let (records, status, stderr) = diff(&["--fail-if=heap_bytes>+5%", &old, &new]);
    assert_eq!(status, 1);
    assert!(
        stderr.contains("rose from 1,000 to 1,060 (+60, +6.00%)"),
        "{stderr}"
    );
    assert_eq!(records[1]["of"], "heap");
    assert_eq!(records[1]["cost"]["bytes"], serde_json::json!([1000, 1060]));
    assert_eq!(diff(&["--fail-if=heap_bytes>+6%", &old, &new]).1, 0);
    assert_eq!(diff(&["--fail-if=bytes>2000", &old, &new]).1, 0);
    let first = diff(&["--snapshot=0", "--fail-if=heap_bytes>+0", &old, &new]);
    assert_eq!(first.0[0]["broken_limits"], serde_json::json!([]));
    assert_eq!(first.1, 0);
    let (_, status, stderr) = diff(&["--snapshot=7", "--fail-if=bytes>2000", &old, &new]);
    assert_eq!(status, 2);
    assert!(stderr.contains("no heap records of snapshot 7"), "{stderr}");
}

/// A program under Callgrind and under Cachegrind, which does not record objects.
#[test]
fn stacks_are_compared_by_function_with_any_event() {
    // One recording has only waits for locks, and the other one also has samples.
    let samples = concat!(
        r#"{"type":"run","stream":1,"tool":"jfr","events":["samples","monitor_waits"],"total":{"samples":5,"monitor_waits":3}}"#,
        "\n",
        r#"{"type":"stack","fn":"Other.wait","cost":{"monitor_waits":3},"stack":[{"fn":"Other.wait"},{"fn":"Locks.main"}]}"#,
        "\n",
        r#"{"type":"stack","fn":"Locks.main","cost":{"samples":5},"stack":[{"fn":"Locks.main"}]}"#,
        "\n",
        r#"{"type":"end","records":2}"#,
        "\n",
    );
    let home = TempDir::new().unwrap();
    let new = home.path().join("new.jsonl");
    fs::write(&new, samples).unwrap();
    let locks = data("jfr/locks.jfr.gz");
    let (records, status, stderr) = diff(&[locks.to_str().unwrap(), new.to_str().unwrap()]);
    assert_eq!(status, 0, "{stderr}");
    let waits: Vec<_> = records
        .iter()
        .filter(|record| record["fn"] == "Other.wait")
        .map(|record| {
            (
                &record["of"],
                &record["status"],
                &record["cost"]["monitor_waits"],
            )
        })
        .collect();
    assert_eq!(
        waits,
        [(&"fn".into(), &"added".into(), &serde_json::json!([null, 3]))]
    );
    assert_eq!(
        records[0]["total"]["monitor_waits"],
        serde_json::json!([10, 3])
    );
}

#[test]
fn callgrind_and_cachegrind_of_one_program_match_by_row() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let callgrind = write(
        "callgrind.out",
        "version: 1\nevents: Ir\nob=/bin/demo\nfl=demo.c\nfn=main\n1 10\nfn=helper\n9 30\nob=/lib/other.so\nfl=init.c\nfn=init\n1 3\nob=/bin/demo\nfl=init.c\nfn=init\n1 4\n",
    );
    let cachegrind = write(
        "cachegrind.out",
        "desc: I1 cache: none\ncmd: demo\nevents: Ir\nfl=demo.c\nfn=main\n1 10\nfn=helper\n9 35\nfl=init.c\nfn=init\n1 7\nsummary: 52\n",
    );
    let (records, _, stderr) = diff(&["--all", "--min-change", "0", &callgrind, &cachegrind]);
    let rows: Vec<String> = records
        .iter()
        .filter(|record| record["type"] == "diff")
        .map(|record| {
            format!(
                "{} {} {}",
                record["fn"], record["status"], record["cost"]["Ir"]
            )
        })
        .collect();
    let expected = [
        "\"helper\" \"changed\" [30,35]",
        "\"init\" \"same\" [7,7]",
        "\"main\" \"same\" [10,10]",
    ];
    assert_eq!(rows, expected, "{stderr}");
    // With --exact, rows of different files or objects do not match, even if their names are equal.
    let (records, _, _) = diff(&["--exact", &callgrind, &cachegrind]);
    assert!(
        records
            .iter()
            .all(|record| record["status"] != "same" && record["status"] != "changed")
    );
    // A real program: few functions are missing in one of the profiles.
    let (records, _, stderr) = diff(&[
        "--min-change=0",
        "callgrind/3.19.0-rec_default.callgrind.out",
        "cachegrind/3.19.0-rec_nocache.cachegrind.out",
    ]);
    let count = |status: &str| {
        records
            .iter()
            .filter(|record| record["status"] == status)
            .count()
    };
    assert!(
        count("removed") < 25,
        "{} removed: {stderr}",
        count("removed")
    );
}
