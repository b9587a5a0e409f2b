//! Pairs of files to compare, from a directory of benchmark results or from two directories with the same relative paths.
//!
//! In one directory, gungraun leaves the old results (`NAME.out.old`) and saved baselines (`NAME.out.base@BASE`) beside the
//! new ones (`NAME.out`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cg_parse::{Revision, Snapshots};

use crate::runs::{ComparedSides, Side};

/// The benchmarks in a directory, found recursively.
#[derive(Debug, Default)]
pub(crate) struct Benchmarks {
    /// The pairs, sorted by name.
    pub(crate) pairs: Vec<ComparedSides>,
    /// A message for each file without a counterpart.
    pub(crate) missing: Vec<String>,
    /// A message for each benchmark that also has files of another run.
    pub(crate) mixed_layouts: Vec<String>,
}

/// Expands each pattern that is not an existing file to the matching files, sorted by path. Users quote patterns if a
/// command line cannot hold all the files.
///
/// # Errors
/// Returns an error if a pattern is invalid or matches no file.
pub(crate) fn matching(files: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for file in files {
        let Some(pattern) = file.to_str().filter(|text| text.contains(['*', '?', '['])) else {
            all.push(file.clone());
            continue;
        };
        if file.exists() {
            all.push(file.clone());
            continue;
        }
        let before = all.len();
        for path in glob::glob(pattern).with_context(|| format!("\"{pattern}\""))? {
            let path = path?;
            if path.is_file() {
                all.push(path);
            }
        }
        anyhow::ensure!(
            all.len() > before,
            "{pattern}: No such file matches this pattern"
        );
    }
    Ok(all)
}

/// Finds the pairs in a directory, recursively.
///
/// # Errors
/// Returns an error if a directory cannot be read or there are no pairs.
pub(crate) fn in_directory(directory: &Path, base: Option<&str>) -> anyhow::Result<Benchmarks> {
    let criterion = criterion_pairs([directory, directory], base)?;
    if !criterion.pairs.is_empty() || !criterion.missing.is_empty() {
        return Ok(criterion);
    }
    let suffix = base.map_or_else(|| ".old".to_owned(), |base| format!(".base@{base}"));
    let old_ending = format!(".out{suffix}");
    let is_old = |file: &Path| file.to_string_lossy().ends_with(&old_ending);
    let mut files = BTreeSet::new();
    find(directory, &is_old, &mut files)?;
    let mut benchmarks = Benchmarks {
        mixed_layouts: cg_parse::find_mixed_layouts(&Vec::from_iter(files.iter().cloned())),
        ..Benchmarks::default()
    };
    let mut pairs = Vec::new();
    for file in &files {
        if is_old(file) {
            let name = file.to_string_lossy();
            let new = PathBuf::from(name.strip_suffix(&suffix).unwrap_or(&name));
            if files.contains(&new) {
                pairs.push([file.clone(), new]);
            } else {
                benchmarks.missing.push(format!(
                    "{}: there is no result {}; --allow-missing accepts this",
                    file.display(),
                    new.display()
                ));
            }
        } else {
            let mut old = file.clone().into_os_string();
            old.push(&suffix);
            let old = PathBuf::from(old);
            if !files.contains(&old) {
                benchmarks.missing.push(format!(
                    "{}: there is no baseline {}; --allow-missing accepts this",
                    file.display(),
                    old.display()
                ));
            }
        }
    }
    benchmarks.pairs = named_pairs(directory, pairs);
    anyhow::ensure!(
        !benchmarks.pairs.is_empty(),
        "{}: expected NAME{old_ending} beside NAME.out, found no such pair",
        directory.display()
    );
    Ok(benchmarks)
}

/// Finds the results of Criterion: those in `new/` of the last directory, compared with those in `base/` or in the folder of a
/// saved run. In two directories, compares the folders `new/`. Returns nothing if there are no results.
fn criterion_pairs([old, new]: [&Path; 2], base: Option<&str>) -> anyhow::Result<Benchmarks> {
    let earlier = match base {
        Some(name) => Revision::Base(name.to_owned()),
        None if old == new => Revision::Old,
        None => Revision::New,
    };
    let find = |directory: &Path, revision: &Revision| {
        let found = cg_parse::find_criterion(directory, revision);
        found.with_context(|| directory.display().to_string())
    };
    let new_results = find(new, &Revision::New)?;
    let mut old_results = find(old, &earlier)?;
    let mut benchmarks = Benchmarks::default();
    for (bench, file) in new_results {
        let Some(position) = old_results.iter().position(|(name, _)| *name == bench) else {
            let file = file.display();
            benchmarks.missing.push(format!(
                "{file}: there is no earlier result of {bench}; --allow-missing accepts this"
            ));
            continue;
        };
        let (_, old_file) = old_results.remove(position);
        benchmarks.pairs.push(ComparedSides {
            bench: Some(bench),
            sides: vec![side(old_file), side(file)],
        });
    }
    let left = old_results.iter().map(|(bench, file)| {
        let file = file.display();
        format!("{file}: there is no new result of {bench}; --allow-missing accepts this")
    });
    benchmarks.missing.extend(left);
    Ok(benchmarks)
}

/// Finds the files with the same relative path in two directories: benchmark results and saved streams.
///
/// # Errors
/// Returns an error if a directory cannot be read, or the directories have no file in common.
pub(crate) fn in_directories(old: &Path, new: &Path) -> anyhow::Result<Benchmarks> {
    let files_in = |directory: &Path| -> anyhow::Result<BTreeSet<PathBuf>> {
        let mut files = BTreeSet::new();
        find(directory, &is_kept_stream, &mut files)?;
        let below = files.iter().map(|file| file.strip_prefix(directory));
        below
            .map(|file| Ok(file.map(Path::to_owned)?))
            .collect::<anyhow::Result<_>>()
    };
    let criterion = criterion_pairs([old, new], None)?;
    if !criterion.pairs.is_empty() {
        return Ok(criterion);
    }
    let (old_files, new_files) = (files_in(old)?, files_in(new)?);
    let full = |directory: &Path, files: &BTreeSet<PathBuf>| -> Vec<PathBuf> {
        files.iter().map(|file| directory.join(file)).collect()
    };
    let all = [full(old, &old_files), full(new, &new_files)];
    let lacks = |directory: &Path, file: &PathBuf, other: &Path| {
        format!(
            "{}: there is no counterpart {}; --allow-missing accepts this",
            directory.join(file).display(),
            other.join(file).display()
        )
    };
    let common = old_files.intersection(&new_files);
    let benchmarks = Benchmarks {
        pairs: named_pairs(new, common.map(|file| [old.join(file), new.join(file)])),
        missing: old_files
            .difference(&new_files)
            .map(|file| lacks(old, file, new))
            .chain(
                new_files
                    .difference(&old_files)
                    .map(|file| lacks(new, file, old)),
            )
            .collect(),
        mixed_layouts: all
            .iter()
            .flat_map(|files| cg_parse::find_mixed_layouts(files))
            .collect(),
    };
    anyhow::ensure!(
        !benchmarks.pairs.is_empty(),
        "{}: expected files (.out, .jsonl, .jsonl.gz, .jsonl.zst) that are also in {}, found none",
        old.display(),
        new.display()
    );
    Ok(benchmarks)
}

/// The endings of kept streams.
const KEPT_STREAMS: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];

fn is_kept_stream(file: &Path) -> bool {
    let name = file.to_string_lossy();
    KEPT_STREAMS.iter().any(|end| name.ends_with(end))
}

/// Makes a comparison of each pair of an old and a new file, named after the place of the new file below its directory. If
/// several pairs have one name, their tool tells them apart, or else the whole path does.
fn named_pairs(
    directory: &Path,
    pairs: impl IntoIterator<Item = [PathBuf; 2]>,
) -> Vec<ComparedSides> {
    let pairs: Vec<[PathBuf; 2]> = pairs.into_iter().collect();
    let names = pairs.iter().map(|[_, new]| names_of(directory, new));
    let names: Vec<[String; 3]> = names.collect();
    let is_unique = |position: usize, name: &str| {
        let same = names.iter().filter(|names| names[position] == name);
        same.count() == 1
    };
    let choose = |names: &[String; 3]| {
        let mut unique = names.iter().enumerate();
        let unique = unique.find(|(position, name)| is_unique(*position, name));
        unique.map_or(&names[2], |(_, name)| name).clone()
    };
    let benches: Vec<String> = names.iter().map(choose).collect();
    let sides = pairs.into_iter().zip(benches);
    sides
        .map(|(pair, bench)| ComparedSides {
            bench: Some(bench),
            sides: pair.map(side).into(),
        })
        .collect()
}

/// Returns the possible names of a file's benchmark: its place below the directory, the same with its tool, and its path
/// without the ending.
fn names_of(directory: &Path, file: &Path) -> [String; 3] {
    let below = file.strip_prefix(directory).unwrap_or(file);
    let below = below.display().to_string();
    let endings = KEPT_STREAMS.iter().chain(&[".out"]);
    let mut stems = endings.filter_map(|end| below.strip_suffix(end));
    let path = stems.next().unwrap_or(&below).to_owned();
    match cg_parse::find_benchmark(directory, file) {
        Some((bench, tool)) if !bench.is_empty() && !tool.is_empty() => {
            let with_tool = format!("{bench} ({tool})");
            [bench, with_tool, path]
        }
        _ => [path.clone(), path.clone(), path],
    }
}

fn side(path: PathBuf) -> Side {
    Side {
        name: path.display().to_string(),
        files: vec![path],
        snapshot: Snapshots::Peak,
    }
}

/// Finds files recursively. Does not follow links, so a directory that links to itself is no problem.
fn find(
    directory: &Path,
    is_wanted: &dyn Fn(&Path) -> bool,
    files: &mut BTreeSet<PathBuf>,
) -> anyhow::Result<()> {
    let name = || directory.display().to_string();
    for entry in fs::read_dir(directory).with_context(name)? {
        let entry = entry.with_context(name)?;
        let path = entry.path();
        if entry.file_type().with_context(name)?.is_dir() {
            find(&path, is_wanted, files)?;
        } else if is_wanted(&path) || path.to_string_lossy().ends_with(".out") {
            files.insert(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_recursively_and_sorted() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("b").join("c");
        fs::create_dir_all(&inner).unwrap();
        for file in [
            root.path().join("z.out"),
            root.path().join("z.out.old"),
            root.path().join("gone.out.old"),
            root.path().join("new.out"),
            inner.join("x.out"),
            inner.join("x.out.old"),
        ] {
            fs::write(file, "").unwrap();
        }
        let benchmarks = in_directory(root.path(), None).unwrap();
        let new = |pair: &ComparedSides| {
            let new = pair.sides[1].files[0].strip_prefix(root.path());
            new.unwrap().display().to_string()
        };
        let names: Vec<String> = benchmarks.pairs.iter().map(new).collect();
        assert_eq!(names, ["b/c/x.out", "z.out"]);
        let missing: Vec<String> = benchmarks
            .missing
            .iter()
            .map(|sentence| sentence.replace(&format!("{}/", root.path().display()), ""))
            .collect();
        assert_eq!(
            missing,
            [
                "gone.out.old: there is no result gone.out; --allow-missing accepts this",
                "new.out: there is no baseline new.out.old; --allow-missing accepts this"
            ]
        );
        // A named baseline.
        fs::write(inner.join("x.out.base@main"), "").unwrap();
        let benchmarks = in_directory(root.path(), Some("main")).unwrap();
        let names: Vec<String> = benchmarks.pairs.iter().map(new).collect();
        assert_eq!(names, ["b/c/x.out"]);
        assert!(in_directory(root.path(), Some("other")).is_err());
        let empty = tempfile::tempdir().unwrap();
        assert!(in_directory(empty.path(), None).is_err());
    }

    #[test]
    fn benchmark_has_the_name_of_its_place_and_the_tool_if_several_share_it() {
        let names = |files: &[&str]| -> Vec<String> {
            let pairs = files
                .iter()
                .map(|file| ["old", "new"].map(|side| Path::new(side).join(file)));
            let named = named_pairs(Path::new("new"), pairs).into_iter();
            named.filter_map(|compared| compared.bench).collect()
        };
        assert_eq!(
            names(&[
                "a.out",
                "http/b.jsonl.gz",
                "http/b.jsonl.zst",
                "g/f.x/callgrind.f.x.out"
            ]),
            ["a", "http/b", "http/b", "g/f.x"]
        );
        assert_eq!(
            names(&["f.x/callgrind.f.x.out", "f.x/dhat.f.x.out"]),
            ["f.x (callgrind)", "f.x (dhat)"]
        );
        assert_eq!(
            names(&["f.x/dhat.f.x.1.out", "f.x/dhat.f.x.2.out", "dhat.out"]),
            ["f.x/dhat.f.x.1", "f.x/dhat.f.x.2", "dhat"]
        );
    }

    #[test]
    fn two_directories_are_compared_file_by_file() {
        let root = tempfile::tempdir().unwrap();
        let [old, new] = ["commit=1", "commit=2"].map(|name| root.path().join(name));
        for file in [
            old.join("bench=a/profile.jsonl.gz"),
            old.join("bench=b/profile.jsonl.gz"),
            old.join("x.out"),
            old.join("x.out.old"),
            new.join("bench=a/profile.jsonl.gz"),
            new.join("bench=c/profile.jsonl.gz"),
            new.join("notes.txt"),
            new.join("x.out"),
        ] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let found = in_directories(&old, &new).unwrap();
        let without_root = |text: &String| text.replace(&format!("{}/", root.path().display()), "");
        let pairs: Vec<Vec<String>> = found
            .pairs
            .iter()
            .map(|pair| {
                let sides = pair.sides.iter();
                sides.map(|side| without_root(&side.name)).collect()
            })
            .collect();
        assert_eq!(
            pairs,
            [
                [
                    "commit=1/bench=a/profile.jsonl.gz",
                    "commit=2/bench=a/profile.jsonl.gz"
                ],
                ["commit=1/x.out", "commit=2/x.out"]
            ]
        );
        let missing: Vec<String> = found.missing.iter().map(without_root).collect();
        assert_eq!(
            missing,
            [
                "commit=1/bench=b/profile.jsonl.gz: there is no counterpart commit=2/bench=b/profile.jsonl.gz; --allow-missing accepts this",
                "commit=2/bench=c/profile.jsonl.gz: there is no counterpart commit=1/bench=c/profile.jsonl.gz; --allow-missing accepts this"
            ]
        );
        assert!(in_directories(&old, &root.path().join("none")).is_err());
        let empty = tempfile::tempdir().unwrap();
        assert!(in_directories(&old, empty.path()).is_err());
    }
}
