//! A directory of benchmark results, old beside new: `NAME.out.old` and `NAME.out`, as gungraun leaves them, or
//! `NAME.out.base@BASE` and `NAME.out` of what it saved.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::runs::Side;

/// The benchmarks in a directory and those below it.
#[derive(Debug, Default)]
pub(crate) struct Benchmarks {
    /// The pairs, sorted by name.
    pub(crate) pairs: Vec<Vec<Side>>,
    /// A sentence on each file that lacks its counterpart.
    pub(crate) missing: Vec<String>,
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
    let mut benchmarks = Benchmarks::default();
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

fn side(path: PathBuf) -> Side {
    Side {
        name: path.display().to_string(),
        files: vec![path],
    }
}

/// Links are not followed, so a directory that links to itself ends.
fn find(
    directory: &Path,
    is_old: &dyn Fn(&Path) -> bool,
    files: &mut BTreeSet<PathBuf>,
) -> anyhow::Result<()> {
    let name = || directory.display().to_string();
    for entry in fs::read_dir(directory).with_context(name)? {
        let entry = entry.with_context(name)?;
        let path = entry.path();
        if entry.file_type().with_context(name)?.is_dir() {
            find(&path, is_old, files)?;
        } else if is_old(&path) || path.to_string_lossy().ends_with(".out") {
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
}
