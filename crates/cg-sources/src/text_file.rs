//! Reads only those lines of a source that are shown.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::SystemTime;

use bstr::ByteSlice;
use cg_debug_info::{Error, open_regular};

/// The maximum number of bytes to read for the wanted lines of a source.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
const TOO_LARGE: &str = "larger than 64 MiB";

/// The maximum number of bytes to keep of a line. Longer lines are generated code.
const LONGEST_LINE: usize = 4000;

/// The wanted lines of a source.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceText {
    lines: BTreeMap<u64, String>,
    /// The number of lines that were read. Lines after the last wanted one are not read.
    read: u64,
    /// The modification time of the file; `None` if the file system does not record it.
    pub modified: Option<SystemTime>,
}

impl SourceText {
    /// Returns the wanted lines that exist, by line number.
    pub fn lines(&self) -> &BTreeMap<u64, String> {
        &self.lines
    }

    /// Returns true if the source has this line, which must be one of the wanted lines.
    pub fn has(&self, line: u64) -> bool {
        (1..=self.read).contains(&line)
    }
}

/// Reads the wanted lines of a regular file. The ranges must be in order and must not overlap.
///
/// # Errors
/// Returns the reason why the file cannot be shown.
pub(crate) fn read(
    path: &Path,
    wanted: &[RangeInclusive<u64>],
) -> Result<SourceText, &'static str> {
    const UNREADABLE: &str = "cannot be read";
    let file = open_regular(path).map_err(|error| match error {
        Error::NotRegular => "not a regular file",
        Error::TooLarge => TOO_LARGE,
        _ => UNREADABLE,
    })?;
    let metadata = file.metadata();
    let last = wanted.last().map_or(0, |range| *range.end());
    let mut input = BufReader::new(file.take(MOST_BYTES));
    let mut text = SourceText {
        lines: BTreeMap::new(),
        read: 0,
        modified: metadata.and_then(|found| found.modified()).ok(),
    };
    let mut wanted = wanted.iter().peekable();
    while text.read < last {
        let number = text.read + 1;
        while wanted.next_if(|range| *range.end() < number).is_some() {}
        let is_wanted = wanted.peek().is_some_and(|range| range.contains(&number));
        let keep = if is_wanted { LONGEST_LINE } else { 0 };
        let Some(line) = read_line(&mut input, keep).map_err(|_| UNREADABLE)? else {
            break;
        };
        text.read = number;
        if is_wanted {
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            // Replaces bytes that are not UTF-8, because the text is only for people.
            let line = String::from_utf8_lossy(line).into_owned();
            text.lines.insert(number, line);
        }
    }
    if input.get_ref().limit() == 0 && text.read < last {
        return Err(TOO_LARGE);
    }
    Ok(text)
}

/// Reads the next line, and returns at most its first `longest` bytes; `None` at the end.
fn read_line(input: &mut impl BufRead, longest: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut is_there = false;
    loop {
        let bytes = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        if bytes.is_empty() {
            return Ok(is_there.then_some(line));
        }
        is_there = true;
        let end = bytes.find_byte(b'\n');
        let length = end.unwrap_or(bytes.len());
        let room = longest - line.len();
        line.extend_from_slice(&bytes[..length.min(room)]);
        input.consume(length + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content: &[u8], wanted: &[RangeInclusive<u64>]) -> Result<SourceText, &'static str> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        read(file.path(), wanted)
    }

    #[test]
    fn only_wanted_lines_are_returned() {
        let found = text(b"a\r\nb\nc\n\nlast", &[1..=1, 3..=3, 5..=9]).unwrap();
        let lines: Vec<(u64, &str)> = found
            .lines()
            .iter()
            .map(|(number, line)| (*number, line.as_str()))
            .collect();
        assert_eq!(lines, [(1, "a"), (3, "c"), (5, "last")]);
        assert!(found.has(5) && !found.has(9) && !found.has(0));
        assert_eq!(text(b"a\nb\n", &[1..=1]).unwrap().read, 1);
        assert_eq!(text(b"", &[1..=1]).unwrap().read, 0);
    }

    #[test]
    fn long_lines_are_cut_and_large_files_are_refused() {
        let long = text(&[&vec![b'x'; 100_000][..], b"\nshort\n"].concat(), &[1..=2]).unwrap();
        assert_eq!(long.lines()[&1].len(), LONGEST_LINE);
        assert_eq!(long.lines()[&2], "short");
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(MOST_BYTES * 1000).unwrap();
        assert_eq!(read(file.path(), &[7..=7]), Err("larger than 64 MiB"));
    }

    #[test]
    fn pipes_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(read(&pipe, &[1..=1]), Err("not a regular file"));
        assert_eq!(read(folder.path(), &[1..=1]), Err("not a regular file"));
    }
}
