//! What is compared pair by pair: a directory of benchmark results, old beside new (`NAME.out.old` and `NAME.out`, as
//! gungraun leaves them, or `NAME.out.base@BASE` and `NAME.out` of what it saved), or two directories, file by file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cg_parse::Snapshots;

use crate::runs::Side;

/// The benchmarks in a directory and those below it.
#[derive(Debug, Default)]
pub(crate) struct Benchmarks {
    /// The pairs, sorted by name.
    pub(crate) pairs: Vec<Vec<Side>>,
    /// A sentence on each file that lacks its counterpart.
    pub(crate) missing: Vec<String>,
    /// A sentence on each benchmark that has files of another run too.
    pub(crate) of_two_layouts: Vec<String>,
}

/// Expands patterns: an argument that is no existing file stands for the files that it matches, sorted by path. Users
/// quote a pattern if there are more files than a command line holds.
///
/// # Errors
/// Where a pattern is none or matches no file.
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

/// What is in a directory and those below it.
///
/// # Errors
/// Where a directory cannot be read, or there is no pair in it.
pub(crate) fn in_directory(directory: &Path, base: Option<&str>) -> anyhow::Result<Benchmarks> {
    let suffix = base.map_or_else(|| ".old".to_owned(), |base| format!(".base@{base}"));
    let of_old = format!(".out{suffix}");
    let is_old = |file: &Path| file.to_string_lossy().ends_with(&of_old);
    let mut files = BTreeSet::new();
    find(directory, &is_old, &mut files)?;
    let mut benchmarks = Benchmarks {
        of_two_layouts: cg_parse::two_layouts(&Vec::from_iter(files.iter().cloned())),
        ..Benchmarks::default()
    };
    for file in &files {
        if is_old(file) {
            let name = file.to_string_lossy();
            let new = PathBuf::from(name.strip_suffix(&suffix).unwrap_or(&name));
            if files.contains(&new) {
                benchmarks.pairs.push(vec![side(file.clone()), side(new)]);
            } else {
                benchmarks.missing.push(format!(
                    "{}: has no result beside it, {}",
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
                    "{}: has no baseline beside it, {}",
                    file.display(),
                    old.display()
                ));
            }
        }
    }
    anyhow::ensure!(
        !benchmarks.pairs.is_empty(),
        "{}: expected NAME{of_old} beside NAME.out, found no such pair",
        directory.display()
    );
    Ok(benchmarks)
}

/// The files of the same path in two directories: results of benchmarks, and streams that were kept.
///
/// # Errors
/// Where a directory cannot be read, or they have no file in common.
pub(crate) fn in_directories(old: &Path, new: &Path) -> anyhow::Result<Benchmarks> {
    let files_in = |directory: &Path| -> anyhow::Result<BTreeSet<PathBuf>> {
        let mut files = BTreeSet::new();
        find(directory, &is_kept_stream, &mut files)?;
        let below = files.iter().map(|file| file.strip_prefix(directory));
        below
            .map(|file| Ok(file.map(Path::to_owned)?))
            .collect::<anyhow::Result<_>>()
    };
    let (old_files, new_files) = (files_in(old)?, files_in(new)?);
    let full = |directory: &Path, files: &BTreeSet<PathBuf>| -> Vec<PathBuf> {
        files.iter().map(|file| directory.join(file)).collect()
    };
    let all = [full(old, &old_files), full(new, &new_files)];
    let lacks = |directory: &Path, file: &PathBuf, other: &Path| {
        format!(
            "{}: has no counterpart, {}",
            directory.join(file).display(),
            other.join(file).display()
        )
    };
    let common = old_files.intersection(&new_files);
    let benchmarks = Benchmarks {
        pairs: common
            .map(|file| vec![side(old.join(file)), side(new.join(file))])
            .collect(),
        missing: old_files
            .difference(&new_files)
            .map(|file| lacks(old, file, new))
            .chain(
                new_files
                    .difference(&old_files)
                    .map(|file| lacks(new, file, old)),
            )
            .collect(),
        of_two_layouts: all
            .iter()
            .flat_map(|files| cg_parse::two_layouts(files))
            .collect(),
    };
    anyhow::ensure!(
        !benchmarks.pairs.is_empty(),
        "{}: expected files (.out, .jsonl, .jsonl.gz, .jsonl.zst) that are in {} too, found none",
        old.display(),
        new.display()
    );
    Ok(benchmarks)
}

fn is_kept_stream(file: &Path) -> bool {
    let name = file.to_string_lossy();
    [".jsonl", ".jsonl.gz", ".jsonl.zst"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn side(path: PathBuf) -> Side {
    Side {
        name: path.display().to_string(),
        files: vec![path],
        snapshot: Snapshots::Peak,
    }
}

/// Links are not followed, so a directory that links to itself ends.
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
    fn pairs_are_found_at_any_depth_and_sorted() {
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
        let new = |pair: &Vec<Side>| {
            let new = pair[1].files[0].strip_prefix(root.path());
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
                "gone.out.old: has no result beside it, gone.out",
                "new.out: has no baseline beside it, new.out.old"
            ]
        );
        // A baseline that was saved under a name.
        fs::write(inner.join("x.out.base@main"), "").unwrap();
        let benchmarks = in_directory(root.path(), Some("main")).unwrap();
        let names: Vec<String> = benchmarks.pairs.iter().map(new).collect();
        assert_eq!(names, ["b/c/x.out"]);
        assert!(in_directory(root.path(), Some("other")).is_err());
        let empty = tempfile::tempdir().unwrap();
        assert!(in_directory(empty.path(), None).is_err());
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
            .map(|pair| pair.iter().map(|side| without_root(&side.name)).collect())
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
                "commit=1/bench=b/profile.jsonl.gz: has no counterpart, commit=2/bench=b/profile.jsonl.gz",
                "commit=2/bench=c/profile.jsonl.gz: has no counterpart, commit=1/bench=c/profile.jsonl.gz"
            ]
        );
        assert!(in_directories(&old, &root.path().join("none")).is_err());
        let empty = tempfile::tempdir().unwrap();
        assert!(in_directories(&old, empty.path()).is_err());
    }
}
