//! A directory of benchmark results, old beside new: `NAME.out.old` and `NAME.out`, as gungraun leaves them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::runs::Side;

/// The pairs in a directory and those below it, sorted by name.
///
/// # Errors
/// Where a directory cannot be read, or there is no pair in it.
pub(crate) fn in_directory(directory: &Path) -> anyhow::Result<Vec<Vec<Side>>> {
    let mut olds = Vec::new();
    find_olds(directory, &mut olds)?;
    olds.sort();
    let pairs: Vec<Vec<Side>> = olds
        .into_iter()
        .filter_map(|old| {
            let new = old.with_extension("");
            new.is_file().then(|| vec![side(old), side(new)])
        })
        .collect();
    anyhow::ensure!(
        !pairs.is_empty(),
        "{}: expected NAME.out.old beside NAME.out, found no such pair",
        directory.display()
    );
    Ok(pairs)
}

fn side(path: PathBuf) -> Side {
    Side {
        name: path.display().to_string(),
        files: vec![path],
    }
}

/// Links are not followed, so a directory that links to itself ends.
fn find_olds(directory: &Path, olds: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let name = || directory.display().to_string();
    for entry in fs::read_dir(directory).with_context(name)? {
        let entry = entry.with_context(name)?;
        let path = entry.path();
        if entry.file_type().with_context(name)?.is_dir() {
            find_olds(&path, olds)?;
        } else if path.to_string_lossy().ends_with(".out.old") {
            olds.push(path);
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
            root.path().join("alone.out.old"),
            inner.join("x.out"),
            inner.join("x.out.old"),
        ] {
            fs::write(file, "").unwrap();
        }
        let names: Vec<String> = in_directory(root.path())
            .unwrap()
            .iter()
            .map(|pair| {
                let new = pair[1].files[0].strip_prefix(root.path());
                new.unwrap().display().to_string()
            })
            .collect();
        assert_eq!(names, ["b/c/x.out", "z.out"]);
        let empty = tempfile::tempdir().unwrap();
        assert!(in_directory(empty.path()).is_err());
    }
}
