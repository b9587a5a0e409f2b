//! A directory of benchmark results, as gungraun, iai-callgrind and CodSpeed leave it.
//!
//! gungraun keeps `PACKAGE/FILE/GROUP/FUNCTION.ID/TOOL.FUNCTION.ID.out`, with process, part and thread in the name where
//! there are several files, beside it `….out.old` of the run before and `….out.base@NAME` of saved ones. CodSpeed keeps
//! `PID.out`. What lies in one directory and is of one tool is one benchmark's; a file of no tool's name is a benchmark
//! by itself.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cg_reader::Revision;

/// Tools that file names begin with.
const TOOLS: [&str; 5] = ["callgrind", "cachegrind", "dhat", "massif", "bbv"];

/// Tools whose results are logs.
const LOGGING_TOOLS: [&str; 3] = ["memcheck", "helgrind", "drd"];

/// The results of one tool for one benchmark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Results {
    /// `bench` and `tool`.
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) files: Vec<PathBuf>,
}

/// What is in a directory and those below it, sorted by name.
///
/// # Errors
/// Where a directory cannot be read.
pub(crate) fn results(directory: &Path, revision: &Revision) -> io::Result<Vec<Results>> {
    let mut files = Vec::new();
    find(directory, &mut files)?;
    files.sort();
    let suffix = revision.suffix();
    let mut found: BTreeMap<(String, String), Vec<PathBuf>> = BTreeMap::new();
    for file in &files {
        if let Some(key) = benchmark_of(directory, file, &suffix) {
            found.entry(key).or_default().push(file.clone());
        }
    }
    if found.is_empty() {
        // Only what was summed up was kept, in which the old figures stand beside the new.
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

/// The benchmark and tool that a file is of; `None` where it is no result of the wanted revision.
fn benchmark_of(directory: &Path, file: &Path, suffix: &str) -> Option<(String, String)> {
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

/// Links are not followed, so a directory that links to itself ends.
fn find(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            find(&entry.path(), files)?;
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
    fn results_are_those_of_the_revision_by_benchmark_and_tool() {
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
        let of = |revision: &Revision| -> Vec<String> {
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
            of(&Revision::New),
            [
                "4242 1",
                "b/g/even.long callgrind 1",
                "b/g/even.long dhat 2",
                "b/g/even.long memcheck 1",
            ]
        );
        assert_eq!(of(&Revision::Old), ["b/g/even.long callgrind 1"]);
        assert_eq!(
            of(&Revision::Base("main".to_owned())),
            ["b/g/even.long callgrind 1"]
        );
        // Nothing but the summary: it has the figures.
        assert_eq!(of(&Revision::Base("other".to_owned())), [" 1"]);
    }
}
