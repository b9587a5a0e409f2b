//! Finds and reads the sources that a profile names.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The lines of a source: at its own path, in the directory, or in the directory at the end of its path.
pub(super) fn read_source(name: &str, directory: Option<&Path>) -> Option<(PathBuf, Vec<String>)> {
    let own = Path::new(name);
    let mut candidates = vec![own.to_path_buf()];
    if let Some(directory) = directory {
        let mut rest = own.components();
        while rest.as_path().components().next().is_some() {
            if rest.as_path().is_relative() {
                candidates.push(directory.join(rest.as_path()));
            }
            rest.next();
        }
    }
    candidates.into_iter().find_map(|path| {
        let lines = read_lines(&path)?;
        Some((path, lines))
    })
}

/// The lines of a regular file. Bytes that are not UTF-8 are replaced: this is for reading by eye.
fn read_lines(path: &Path) -> Option<Vec<String>> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    BufReader::new(file)
        .split(b'\n')
        .map(|line| {
            let line = line.ok()?;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            Some(String::from_utf8_lossy(line).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_at_the_end_of_their_path() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        std::fs::write(directory.path().join("src/main.c"), "int main() {\r\n}").unwrap();
        for name in ["src/main.c", "/build/xyz/src/main.c"] {
            let (_, lines) = read_source(name, Some(directory.path())).unwrap();
            assert_eq!(lines, ["int main() {", "}"]);
        }
        assert!(read_source("/build/xyz/src/main.c", None).is_none());
        assert!(read_source("/build/src", Some(directory.path())).is_none());
        assert!(read_source("", Some(directory.path())).is_none());
    }
}
