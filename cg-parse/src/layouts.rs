//! Files of one benchmark in two layouts.
//!
//! gungraun and iai-callgrind name a single file `TOOL.FUNCTION.ID.out`. If there are several processes, threads or parts,
//! they name the files `TOOL.FUNCTION.ID.PID.tTHREAD.pPART.out`, without the elements of which there is only one. Files that
//! an earlier run wrote in the other layout are not removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Example files of one process, or of the only process.
#[derive(Default)]
struct ProcessFiles<'f> {
    /// The file without a thread or part in its name.
    plain: Option<&'f Path>,
    /// A file of one thread or part.
    thread_or_part: Option<&'f Path>,
}

/// Returns a warning for each benchmark that has files of two layouts, one of which is left from another run. The files of a
/// benchmark are in a directory of its name.
pub fn find_mixed_layouts(files: &[PathBuf]) -> Vec<String> {
    type Processes<'f> = BTreeMap<Option<&'f str>, ProcessFiles<'f>>;
    let mut benchmarks: BTreeMap<(&Path, &str, &str), Processes> = BTreeMap::new();
    for file in files {
        let Some((place, tool, process, is_thread_or_part, revision)) = parse_path(file) else {
            continue;
        };
        let processes = benchmarks.entry((place, tool, revision)).or_default();
        let process_files = processes.entry(process).or_default();
        match is_thread_or_part {
            true => process_files.thread_or_part.get_or_insert(file),
            false => process_files.plain.get_or_insert(file),
        };
    }
    benchmarks.values().filter_map(warning).collect()
}

/// Returns a warning if two of these files cannot be from the same run.
fn warning(processes: &BTreeMap<Option<&str>, ProcessFiles>) -> Option<String> {
    let any = |files: &ProcessFiles| files.plain.or(files.thread_or_part).map(Path::to_owned);
    let within = processes
        .values()
        .find_map(|files| Some((files.plain?.to_owned(), files.thread_or_part?.to_owned())));
    let (one, other) = within.or_else(|| {
        let without = processes.get(&None)?;
        let (_, with) = processes.iter().find(|(process, _)| process.is_some())?;
        Some((any(without)?, any(with)?))
    })?;
    Some(format!(
        "{} and {} are of two layouts, so one of them is left from another run of the benchmark; remove it",
        one.display(),
        other.display()
    ))
}

/// Splits a path into directory, tool, process, a flag that is true for a file of one thread or part, and the text after
/// `.out`. Returns `None` for other files.
fn parse_path(file: &Path) -> Option<(&Path, &str, Option<&str>, bool, &str)> {
    let place = file.parent()?;
    let benchmark = place.file_name()?.to_str()?;
    let (name, revision) = file.file_name()?.to_str()?.rsplit_once(".out")?;
    let (tool, rest) = name.split_once('.')?;
    let mut rest = rest.strip_prefix(benchmark)?;
    let mut process = None;
    let mut is_thread_or_part = false;
    while !rest.is_empty() {
        let words = rest.strip_prefix('.')?;
        let (word, after) = words.split_at(words.find('.').unwrap_or(words.len()));
        let number = word.strip_prefix(['t', 'p']).unwrap_or(word);
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match number == word {
            true => process = Some(word),
            false => is_thread_or_part = true,
        }
        rest = after;
    }
    Some((place, tool, process, is_thread_or_part, revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_from_one_run_are_reported() {
        let count_warnings = |names: &[&str]| {
            let files: Vec<PathBuf> = names
                .iter()
                .map(|name| Path::new("b/fib.10").join(name))
                .collect();
            find_mixed_layouts(&files).len()
        };
        for (names, count) in [
            (&["callgrind.fib.10.out"][..], 0),
            // Old and new files, and files of different tools, are separate.
            (
                &[
                    "callgrind.fib.10.out.old",
                    "callgrind.fib.10.t1.p1.out",
                    "dhat.fib.10.out",
                ],
                0,
            ),
            (
                &["callgrind.fib.10.t1.p1.out", "callgrind.fib.10.t2.p1.out"],
                0,
            ),
            // One of two processes can have several threads.
            (
                &[
                    "callgrind.fib.10.71.out",
                    "callgrind.fib.10.72.t1.out",
                    "callgrind.fib.10.72.t2.out",
                ],
                0,
            ),
            (&["callgrind.fib.10.out", "callgrind.fib.10.t1.p1.out"], 1),
            (&["callgrind.fib.10.out", "callgrind.fib.10.71.out"], 1),
            (
                &[
                    "callgrind.fib.10.t1.p1.out",
                    "callgrind.fib.10.71.t1.p1.out",
                ],
                1,
            ),
            (
                &["callgrind.fib.10.71.out", "callgrind.fib.10.71.p1.out"],
                1,
            ),
            (
                &["callgrind.fib.10.out.old", "callgrind.fib.10.p1.out.old"],
                1,
            ),
            // Benchmarks with different names are separate.
            (
                &[
                    "callgrind.fib.out",
                    "callgrind.fib.10.out",
                    "callgrind.fib.100.out",
                ],
                0,
            ),
        ] {
            assert_eq!(count_warnings(names), count, "{names:?}");
        }
    }
}
