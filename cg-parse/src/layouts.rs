//! Files of one benchmark in two layouts: gungraun and iai-callgrind name one file `TOOL.FUNCTION.ID.out`, and where there are
//! several processes, threads or parts `TOOL.FUNCTION.ID.PID.tTHREAD.pPART.out`, as far as these are several. Files of an
//! earlier run that was laid out otherwise stay beside those of the next one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of one process, or of the only one: the one that has no thread or part in its name, and one that has.
#[derive(Default)]
struct OfProcess<'f> {
    plain: Option<&'f Path>,
    told_apart: Option<&'f Path>,
}

/// A sentence on each benchmark that has files of two layouts, of which one set is left from another run. A benchmark's
/// files lie in a directory of its name.
pub fn two_layouts(files: &[PathBuf]) -> Vec<String> {
    type Processes<'f> = BTreeMap<Option<&'f str>, OfProcess<'f>>;
    let mut benchmarks: BTreeMap<(&Path, &str, &str), Processes> = BTreeMap::new();
    for file in files {
        let Some((place, tool, process, is_told_apart, revision)) = taken_apart(file) else {
            continue;
        };
        let processes = benchmarks.entry((place, tool, revision)).or_default();
        let of_process = processes.entry(process).or_default();
        match is_told_apart {
            true => of_process.told_apart.get_or_insert(file),
            false => of_process.plain.get_or_insert(file),
        };
    }
    benchmarks.values().filter_map(mixed).collect()
}

/// The sentence on two of these files that are no files of one run.
fn mixed(processes: &BTreeMap<Option<&str>, OfProcess>) -> Option<String> {
    let any = |of: &OfProcess| of.plain.or(of.told_apart).map(Path::to_owned);
    let within = processes
        .values()
        .find_map(|of| Some((of.plain?.to_owned(), of.told_apart?.to_owned())));
    let (one, other) = within.or_else(|| {
        let without = processes.get(&None)?;
        let (_, with) = processes.iter().find(|(process, _)| process.is_some())?;
        Some((any(without)?, any(with)?))
    })?;
    Some(format!(
        "{} and {} are of two layouts, so that one of them is left from another run of the benchmark; remove it",
        one.display(),
        other.display()
    ))
}

/// Directory, tool, process, whether the file is of a thread or part, and what follows `.out`; `None` of other files.
fn taken_apart(file: &Path) -> Option<(&Path, &str, Option<&str>, bool, &str)> {
    let place = file.parent()?;
    let benchmark = place.file_name()?.to_str()?;
    let (name, revision) = file.file_name()?.to_str()?.rsplit_once(".out")?;
    let (tool, rest) = name.split_once('.')?;
    let mut rest = rest.strip_prefix(benchmark)?;
    let mut process = None;
    let mut is_told_apart = false;
    while !rest.is_empty() {
        let words = rest.strip_prefix('.')?;
        let (word, after) = words.split_at(words.find('.').unwrap_or(words.len()));
        let number = word.strip_prefix(['t', 'p']).unwrap_or(word);
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match number == word {
            true => process = Some(word),
            false => is_told_apart = true,
        }
        rest = after;
    }
    Some((place, tool, process, is_told_apart, revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_no_single_run_leaves_are_told() {
        let told = |names: &[&str]| {
            let files: Vec<PathBuf> = names
                .iter()
                .map(|name| Path::new("b/fib.10").join(name))
                .collect();
            two_layouts(&files).len()
        };
        for (names, count) in [
            (&["callgrind.fib.10.out"][..], 0),
            // Old and new, and those of another tool, are apart.
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
            // Of two processes one can have several threads.
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
            // A benchmark of another name is another one.
            (
                &[
                    "callgrind.fib.out",
                    "callgrind.fib.10.out",
                    "callgrind.fib.100.out",
                ],
                0,
            ),
        ] {
            assert_eq!(told(names), count, "{names:?}");
        }
    }
}
