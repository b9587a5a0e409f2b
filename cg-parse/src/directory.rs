//! A directory of benchmark results, as gungraun, iai-callgrind and CodSpeed write it.
//!
//! gungraun writes `PACKAGE/FILE/GROUP/FUNCTION.ID/TOOL.FUNCTION.ID.out`. If there are several files, their names contain
//! the process, part and thread. `….out.old` is from the previous run, and `….out.base@NAME` is a saved run. CodSpeed
//! writes `PID.out`.
//!
//! The files of one tool in one directory form one benchmark. Each file without a tool's name is a separate benchmark.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cg_reader::Revision;

/// Tools whose names are at the beginning of file names.
const TOOLS: [&str; 5] = ["callgrind", "cachegrind", "dhat", "massif", "bbv"];

/// Tools whose results are logs.
const LOGGING_TOOLS: [&str; 3] = ["memcheck", "helgrind", "drd"];

/// The results of one tool for one benchmark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Results {
    /// The labels `bench` and `tool`.
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) files: Vec<PathBuf>,
}

/// Returns the results in a directory and its subdirectories, sorted by name.
///
/// # Errors
/// Returns an error if a directory cannot be read.
pub(crate) fn results(directory: &Path, revision: &Revision) -> io::Result<Vec<Results>> {
    let mut files = Vec::new();
    collect_files(directory, &mut files)?;
    files.sort();
    let estimates = criterion_results(&files, revision);
    if !estimates.is_empty() {
        return Ok(estimates);
    }
    let suffix = revision.suffix();
    let mut found: BTreeMap<(String, String), Vec<PathBuf>> = BTreeMap::new();
    for file in &files {
        if let Some(key) = benchmark_and_tool(directory, file, &suffix) {
            found.entry(key).or_default().push(file.clone());
        }
    }
    if found.is_empty() {
        // Only summaries were kept. They contain both old and new figures.
        let is_summary =
            |file: &&PathBuf| file.file_name().is_some_and(|name| name == "summary.json");
        let summaries = files.iter().filter(is_summary);
        return Ok(summaries
            .map(|file| Results {
                labels: BTreeMap::new(),
                files: vec![file.clone()],
            })
            .collect());
    }
    Ok(found
        .into_iter()
        .map(|((bench, tool), files)| {
            let labels = [("bench", bench), ("tool", tool)].into_iter();
            Results {
                labels: labels
                    .filter(|(_, text)| !text.is_empty())
                    .map(|(key, text)| (key.to_owned(), text))
                    .collect(),
                files,
            }
        })
        .collect())
}

/// Returns the results of Criterion among files: `ID/new/estimates.json`, with the name of the benchmark in `benchmark.json`
/// beside it. `base/` has the previous run, and `NAME/` a saved one.
fn criterion_results(files: &[PathBuf], revision: &Revision) -> Vec<Results> {
    let folder = match revision {
        Revision::New => "new",
        Revision::Old => "base",
        Revision::Base(name) => name.as_str(),
    };
    let estimates = files.iter().filter(|file| {
        let parent = file.parent().and_then(Path::file_name);
        file.file_name()
            .is_some_and(|name| name == "estimates.json")
            && parent.is_some_and(|parent| parent == folder)
    });
    let results = estimates.filter_map(|file| {
        let text = fs::read(file.with_file_name("benchmark.json")).ok()?;
        let benchmark: serde_json::Value = serde_json::from_slice(&text).ok()?;
        let name = benchmark["full_id"].as_str()?.to_owned();
        Some(Results {
            labels: BTreeMap::from([("bench".to_owned(), name)]),
            files: vec![file.clone()],
        })
    });
    results.collect()
}

/// Finds the results of Criterion in a directory, sorted by path: the name of each benchmark, and its file.
///
/// # Errors
/// Returns an error if a directory cannot be read.
pub fn find_criterion(directory: &Path, revision: &Revision) -> io::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    collect_files(directory, &mut files)?;
    files.sort();
    let results = criterion_results(&files, revision).into_iter();
    let named = results.filter_map(|mut results| {
        let name = results.labels.remove("bench")?;
        Some((name, results.files.pop()?))
    });
    Ok(named.collect())
}

/// Returns the benchmark of a result below a directory, and its tool, which is empty if the file does not name it. Returns
/// `None` if the file is not a result (`NAME.out`).
pub fn find_benchmark(directory: &Path, file: &Path) -> Option<(String, String)> {
    benchmark_and_tool(directory, file, "")
}

/// Returns the benchmark and the tool of a file; `None` if it is not a result of the requested revision.
fn benchmark_and_tool(directory: &Path, file: &Path, suffix: &str) -> Option<(String, String)> {
    let name = file.file_name()?.to_string_lossy();
    let name = name.strip_suffix(suffix)?;
    let tool = name.split('.').next().unwrap_or_default();
    let is_result = match LOGGING_TOOLS.contains(&tool) {
        true => name.ends_with(".log") || name.ends_with(".out"),
        false => name.ends_with(".out"),
    };
    if !is_result {
        return None;
    }
    let place = file.parent()?.strip_prefix(directory).ok()?;
    let place = place.display().to_string();
    if TOOLS.contains(&tool) || LOGGING_TOOLS.contains(&tool) {
        return Some((place, tool.to_owned()));
    }
    let stem = name.strip_suffix(".out").unwrap_or(name);
    let bench = match place.is_empty() {
        true => stem.to_owned(),
        false => format!("{place}/{stem}"),
    };
    Some((bench, String::new()))
}

/// Collects the files in a directory and its subdirectories. Does not follow links, so a directory that links to itself is
/// not a problem.
fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect_files(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_benchmark_are_in_the_order_of_their_names() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("b/g/even.long");
        fs::create_dir_all(&folder).unwrap();
        // 7 and 31 have no common factor, so these are the numbers 10 to 40 in another order.
        for step in 0..31 {
            let number = 10 + step * 7 % 31;
            fs::write(folder.join(format!("dhat.even.long.{number}.out")), "").unwrap();
        }
        let results = results(root.path(), &Revision::New).unwrap();
        let expected: Vec<PathBuf> = (10..41)
            .map(|number| folder.join(format!("dhat.even.long.{number}.out")))
            .collect();
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].files, expected);
    }

    #[test]
    fn results_of_the_requested_revision_are_grouped_by_benchmark_and_tool() {
        let root = tempfile::tempdir().unwrap();
        let long = root.path().join("b/g/even.long");
        fs::create_dir_all(&long).unwrap();
        for file in [
            long.join("callgrind.even.long.out"),
            long.join("callgrind.even.long.out.old"),
            long.join("callgrind.even.long.out.base@main"),
            long.join("callgrind.even.long.log"),
            long.join("dhat.even.long.p1.out"),
            long.join("dhat.even.long.p2.out"),
            long.join("memcheck.even.long.log"),
            long.join("summary.json"),
            long.join("callgrind.even.long.flamegraph.Ir.total.svg"),
            root.path().join("4242.out"),
        ] {
            fs::write(file, "").unwrap();
        }
        let summary = |revision: &Revision| -> Vec<String> {
            let results = results(root.path(), revision).unwrap();
            let results = results.iter();
            results
                .map(|results| {
                    let labels: Vec<&str> = results.labels.values().map(String::as_str).collect();
                    format!("{} {}", labels.join(" "), results.files.len())
                })
                .collect()
        };
        assert_eq!(
            summary(&Revision::New),
            [
                "4242 1",
                "b/g/even.long callgrind 1",
                "b/g/even.long dhat 2",
                "b/g/even.long memcheck 1",
            ]
        );
        assert_eq!(summary(&Revision::Old), ["b/g/even.long callgrind 1"]);
        assert_eq!(
            summary(&Revision::Base("main".to_owned())),
            ["b/g/even.long callgrind 1"]
        );
        // Without result files, the summary is used.
        assert_eq!(summary(&Revision::Base("other".to_owned())), [" 1"]);
    }

    #[test]
    fn results_of_criterion_have_the_name_in_their_description() {
        let root = tempfile::tempdir().unwrap();
        for folder in [
            "chunk/size/new",
            "chunk/size/base",
            "chunk/size/main",
            "chunk/size/change",
        ] {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("estimates.json"), "{}").unwrap();
            if !folder.ends_with("change") {
                let description = r#"{"group_id":"chunk","full_id":"chunk/size 8"}"#;
                fs::write(folder.join("benchmark.json"), description).unwrap();
            }
        }
        let found = |revision: Revision| find_criterion(root.path(), &revision).unwrap();
        for (revision, folder) in [
            (Revision::New, "new"),
            (Revision::Old, "base"),
            (Revision::Base("main".to_owned()), "main"),
        ] {
            let file = root
                .path()
                .join("chunk/size")
                .join(folder)
                .join("estimates.json");
            assert_eq!(found(revision), [("chunk/size 8".to_owned(), file)]);
        }
        assert_eq!(found(Revision::Base("change".to_owned())), []);
    }
}
