//! Real runs of Massif and DHAT. Compares all figures with `ms_print` and with DHAT's own summary.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use needs::needs;
use tempfile::TempDir;
use tests::{data, tools};

/// A folder with the compiled `tests/data/massif/shapes.c`.
struct Shapes {
    folder: TempDir,
}

impl Shapes {
    fn build() -> Shapes {
        let folder = tempfile::tempdir().unwrap();
        let output = run(needs::command("gcc")
            .args(["-g", "-O0", "-fno-builtin", "-o"])
            .arg(folder.path().join("shapes"))
            .arg(data("massif/shapes.c")));
        assert!(output.status.success());
        Shapes { folder }
    }

    /// Runs the program under a tool that writes to this file. Returns the file and standard error.
    fn run(&self, tool: &str, options: &[&str], out_option: &str, file: &str) -> (PathBuf, String) {
        let out = self.folder.path().join(file);
        let output = run(needs::command("valgrind")
            .arg(format!("--tool={tool}"))
            .arg(format!("{out_option}={}", out.display()))
            .args(options)
            .arg("./shapes")
            .current_dir(self.folder.path()));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && out.exists(), "{stderr}");
        (out, stderr)
    }
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

/// Reads cg-fmt's CSV: one map from columns to cells per row.
fn csv(file: &Path, options: &[&str]) -> Vec<BTreeMap<String, String>> {
    let args = [options, &["-f", "csv", file.to_str().unwrap()]].concat();
    let output = String::from_utf8(tools::stdout("cg-fmt", &args, b"")).unwrap();
    let mut lines = output.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            // These files contain no commas or quotes.
            let cells = line.split(',').map(str::to_owned);
            columns
                .iter()
                .map(|name| (*name).to_owned())
                .zip(cells)
                .collect()
        })
        .collect()
}

/// Removes ms_print's thousands separators.
fn ungrouped(text: &str) -> String {
    text.replace(',', "")
}

/// The output of ms_print.
struct Printed {
    /// Number, time, total, useful heap, extra heap and stacks.
    snapshots: Vec<Vec<String>>,
    /// The detailed snapshots, with the nodes of each tree by the path to them.
    trees: BTreeMap<String, Tree>,
}

/// Nodes by their path from the root, without addresses: bytes, share of the total, and the number of nodes with this path.
type Tree = BTreeMap<Vec<String>, (u64, String, usize)>;

fn ms_print(file: &Path) -> Printed {
    let output = run(needs::command("ms_print").arg("--threshold=0").arg(file));
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut printed = Printed {
        snapshots: Vec::new(),
        trees: BTreeMap::new(),
    };
    let mut path: Vec<String> = Vec::new();
    let body = text
        .lines()
        .skip_while(|line| !line.starts_with("Number of snapshots"));
    for line in body {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_number = |word: &&str| {
            word.bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b',')
        };
        if words.len() == 6 && words.iter().all(is_number) {
            printed
                .snapshots
                .push(words.into_iter().map(ungrouped).collect());
        } else if let Some((indent, share, bytes, what)) = node(line) {
            let depth = if indent == 0 && !line.starts_with("->") {
                0
            } else {
                indent / 2 + 1
            };
            path.truncate(depth);
            path.push(what);
            let number = printed.snapshots.last().unwrap()[0].clone();
            let tree = printed.trees.entry(number).or_default();
            // Leave out the root, which has a different name in each tool.
            let entry = tree.entry(path[1..].to_vec()).or_insert((0, share, 0));
            entry.0 += bytes;
            entry.2 += 1;
        }
    }
    printed
}

/// Parses `| ->99.36% (130,800B) 0x10920C: ramp (heapy.c:7)`: the width before the arrow, the share, the bytes, and the
/// frame without its address.
fn node(line: &str) -> Option<(usize, String, u64, String)> {
    let indent = line.find("->").unwrap_or(0);
    let rest = line[indent..].trim_start_matches("->");
    let (share, rest) = rest.split_once("% (")?;
    let (bytes, what) = rest.split_once("B) ")?;
    let what = match what.strip_prefix("0x") {
        Some(frame) => frame.split_once(": ")?.1.to_owned(),
        None if what.starts_with("in ") => {
            let places = what.split(' ').nth(1)?;
            format!("{places} places")
        }
        None => what.to_owned(),
    };
    Some((
        indent,
        share.to_owned(),
        ungrouped(bytes).parse().ok()?,
        what,
    ))
}

/// Returns cg-fmt's tree of a snapshot.
fn tree(file: &Path, snapshot: &str) -> Tree {
    let mut tree = Tree::new();
    let mut path: Vec<String> = Vec::new();
    for row in csv(file, &["--tree", &format!("snapshot={snapshot}")]) {
        let depth: usize = row["depth"].parse().unwrap();
        let what = match (
            row["places"].as_str(),
            row["file"].as_str(),
            row["obj"].as_str(),
        ) {
            ("", "", "") => row["fn"].clone(),
            ("", "", obj) => format!("{} (in {obj})", row["fn"]),
            ("", file, _) => format!("{} ({file}:{})", row["fn"], row["line"]),
            (places, ..) => format!("{places} places"),
        };
        path.truncate(depth);
        path.push(what);
        let share = row["bytes%"].clone();
        let before = tree.insert(
            path[1..].to_vec(),
            (row["bytes"].parse().unwrap(), share, 1),
        );
        assert!(before.is_none(), "{path:?} appears twice");
    }
    tree
}

fn check_massif(options: &[&str]) {
    let shapes = Shapes::build();
    let (file, _) = shapes.run("massif", options, "--massif-out-file", "massif.out");
    let printed = ms_print(&file);
    let snapshots: Vec<Vec<String>> = csv(&file, &["--type", "snapshot"])
        .iter()
        .map(|row| {
            let columns = [
                "snapshot",
                "time",
                "total_bytes",
                "heap_bytes",
                "extra_bytes",
                "stacks_bytes",
            ];
            columns.map(|column| row[column].clone()).into()
        })
        .collect();
    assert_eq!(snapshots, printed.snapshots);
    assert!(!printed.trees.is_empty());
    for (number, expected) in &printed.trees {
        let found = tree(&file, number);
        let bytes = |tree: &Tree| -> BTreeMap<Vec<String>, u64> {
            tree.iter()
                .map(|(path, node)| (path.clone(), node.0))
                .collect()
        };
        assert_eq!(bytes(&found), bytes(expected), "snapshot {number}");
        for (path, (_, share, nodes)) in expected {
            // ms_print rounds each node's share, and has one node per address of a line.
            if *nodes == 1 {
                let printed: f64 = share.parse().unwrap();
                // If the total is 0, ms_print prints 0 % and cg-fmt prints no share.
                let shown: f64 = match found[path].1.as_str() {
                    "" => 0.0,
                    share => share.parse().unwrap(),
                };
                assert_eq!(shown, printed, "snapshot {number}: {path:?}");
            }
        }
    }
}

#[test]
fn snapshots_and_trees_agree_with_ms_print() {
    needs!("gcc", "valgrind", "annotate");
    check_massif(&["--time-unit=B"]);
}

#[test]
fn detailed_snapshots_with_stacks_agree_with_ms_print() {
    needs!("gcc", "valgrind", "annotate");
    check_massif(&[
        "--time-unit=i",
        "--stacks=yes",
        "--detailed-freq=1",
        "--threshold=0",
        "--max-snapshots=20",
    ]);
}

#[test]
fn pages_as_heap_agree_with_ms_print() {
    needs!("gcc", "valgrind", "annotate");
    check_massif(&["--pages-as-heap=yes", "--time-unit=i", "--depth=5"]);
}

#[test]
fn heap_records_sum_to_their_snapshot() {
    needs!("gcc", "valgrind");
    let shapes = Shapes::build();
    let (massif, _) = shapes.run(
        "massif",
        &["--detailed-freq=2"],
        "--massif-out-file",
        "massif.out",
    );
    let xtree = [
        "--xtree-memory=full",
        "--leak-check=no",
        "--xtree-memory-file=xtree.ms",
    ];
    shapes.run("memcheck", &xtree, "--log-file", "log");
    for file in [massif, shapes.folder.path().join("xtree.ms")] {
        let path = file.to_str().unwrap();
        let stream = tools::stdout("cg-parse", &["--snapshots", "all", path], b"");
        let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
        let mut detailed: BTreeMap<u64, u64> = BTreeMap::new();
        for line in stream
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let record: serde_json::Value = serde_json::from_slice(line).unwrap();
            let number = || record["snapshot"].as_u64().unwrap();
            if record["type"] == "heap" {
                let costs = record["cost"].as_object().unwrap().values();
                *sums.entry(number()).or_default() +=
                    costs.map(|cost| cost.as_u64().unwrap()).sum::<u64>();
            } else if record["type"] == "snapshot" && record["detail"] != "empty" {
                detailed.insert(number(), record["heap_bytes"].as_u64().unwrap());
            }
        }
        assert!(detailed.len() > 1);
        assert_eq!(sums, detailed, "{path}");
    }
}

/// Returns DHAT's own summary, without the process number.
fn summary(stderr: &str) -> Vec<String> {
    stderr
        .lines()
        .filter_map(|line| line.split_once("== "))
        .map(|(_, line)| line.to_owned())
        .filter(|line| {
            let titles = [
                "Total: ",
                "At t-gmax: ",
                "At t-end: ",
                "Reads: ",
                "Writes: ",
            ];
            titles.iter().any(|title| line.starts_with(title))
        })
        .collect()
}

fn check_dhat(options: &[&str], lines: usize) {
    let shapes = Shapes::build();
    let (file, stderr) = shapes.run("dhat", options, "--dhat-out-file", "dhat.out");
    let expected = summary(&stderr);
    assert_eq!(expected.len(), lines, "{stderr}");
    let output = tools::stdout("cg-fmt", &[file.to_str().unwrap()], b"");
    let output = String::from_utf8(output).unwrap();
    let found: Vec<&str> = output.lines().skip(2).take(lines).collect();
    assert_eq!(found, expected);
}

#[test]
fn program_points_sum_to_the_summary_of_dhat() {
    needs!("gcc", "valgrind");
    check_dhat(&["--mode=heap"], 5);
}

#[test]
fn program_points_with_copies_sum_to_the_summary_of_dhat() {
    needs!("gcc", "valgrind");
    check_dhat(&["--mode=copy"], 1);
}
