//! A directory with a file for each combination of labels: `DIR/commit=4f2a/bench=parse/profile.jsonl.gz`.
//!
//! The paths have the form of Hive's partitions, which DuckDB, Spark, Trino and ClickHouse read as columns. The labels of a
//! stream's `run` record choose its file. Files are written at the end, so that after an error there are none.

use std::fs;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::whole_file::{Replaceable, unnamed_in};
use cg_collections::maps::OrderedMap;
use cg_stream::fields::Fields;

/// The file name of every partition.
const FILE_NAME: &str = "profile.jsonl.gz";

/// Hive's text for an empty label in a path.
const NO_TEXT: &str = "__HIVE_DEFAULT_PARTITION__";

/// A directory whose partitions are being written.
#[derive(Debug)]
pub(super) struct Partitions {
    directory: PathBuf,
    /// The keys of the labels that distinguish partitions, outermost first.
    keys: Vec<String>,
    /// Buffer: the beginning of a line that is not complete yet.
    pending: Vec<u8>,
    /// The gzip members of all partitions. The file has no name, so nothing is left if the tool is killed.
    members: fs::File,
    /// The ranges of `members` that form each partition. Several gzip members in a row are a valid gzip file.
    written: OrderedMap<PathBuf, Vec<Range<u64>>>,
    /// The partition of the current stream.
    open: Option<Partition>,
}

#[derive(Debug)]
struct Partition {
    /// The path below the directory.
    path: PathBuf,
    /// The beginning of its gzip member in the file of all members.
    start: u64,
    member: GzEncoder<BufWriter<fs::File>>,
}

impl Partitions {
    /// Creates the directory, if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or the path is not a directory.
    pub(super) fn open(directory: &Path, keys: &[String]) -> io::Result<Partitions> {
        fs::create_dir_all(directory)?;
        Ok(Partitions {
            directory: directory.to_owned(),
            keys: keys.to_vec(),
            members: unnamed_in(directory)?,
            pending: Vec::new(),
            written: OrderedMap::default(),
            open: None,
        })
    }

    /// Writes the files of all partitions. Returns warnings about files that were not replaced in one step.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written. Files that were written before stay in place.
    pub(super) fn finish(mut self) -> io::Result<Vec<String>> {
        self.close()?;
        let mut warnings = Vec::new();
        for (path, members) in self.written {
            let path = self.directory.join(path);
            let named = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(named)?;
            }
            let mut file = Replaceable::at(&path)
                .and_then(|replaceable| replaceable.begin())
                .map_err(named)?;
            for member in members {
                self.members.seek(SeekFrom::Start(member.start))?;
                let mut member = (&mut self.members).take(member.end - member.start);
                io::copy(&mut member, &mut file).map_err(named)?;
            }
            let replaced = file.finish().map_err(named)?;
            warnings.extend(replaced.warning(&path.display().to_string()));
        }
        Ok(warnings)
    }

    /// Completes the gzip member of the open partition.
    fn close(&mut self) -> io::Result<()> {
        if let Some(partition) = self.open.take() {
            partition.member.finish()?.flush()?;
            let end = self.members.stream_position()?;
            let members = self.written.entry(partition.path).or_default();
            members.push(partition.start..end);
        }
        Ok(())
    }

    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        if line.starts_with(b"{\"type\":\"run\"") {
            let path = self.path_of(line)?;
            if self.open.as_ref().is_none_or(|open| open.path != path) {
                self.begin(path)?;
            }
        }
        match &mut self.open {
            Some(partition) => partition.member.write_all(line),
            None => Err(io::Error::other(
                "expected a run record first, because its labels choose the file",
            )),
        }
    }

    /// Returns the path for the stream that begins with this line.
    fn path_of(&self, run: &[u8]) -> io::Result<PathBuf> {
        let malformed = |_| io::Error::other("a run record is malformed");
        let fields = Fields::parse(run).map_err(malformed)?;
        let labels = fields.find("labels").map_err(malformed)?;
        let labels = labels.and_then(|labels| labels.fields());
        let mut path = PathBuf::new();
        for key in &self.keys {
            let label = match &labels {
                Some(labels) => labels.clone().find(key).map_err(malformed)?,
                None => None,
            };
            let Some(text) = label.and_then(|label| label.text()) else {
                return Err(io::Error::other(format!(
                    "a profile has no label {key}; --label {key}=TEXT adds it"
                )));
            };
            path.push(format!(
                "{key}={}",
                escaped(&String::from_utf8_lossy(&text))
            ));
        }
        path.push(FILE_NAME);
        Ok(path)
    }

    fn begin(&mut self, path: PathBuf) -> io::Result<()> {
        self.close()?;
        // Both handles share their position.
        let file = BufWriter::new(self.members.try_clone()?);
        self.open = Some(Partition {
            path,
            start: self.members.stream_position()?,
            member: GzEncoder::new(file, Compression::default()),
        });
        Ok(())
    }
}

impl Write for Partitions {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.pending.is_empty() {
                self.write_line(line)?;
            } else {
                let mut whole = std::mem::take(&mut self.pending);
                whole.extend_from_slice(line);
                self.write_line(&whole)?;
                whole.clear();
                self.pending = whole;
            }
        }
        self.pending.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a label as a part of a path. The characters that Hive escapes (`FileUtils.escapePathName`) become `%` and two hex
/// digits.
fn escaped(text: &str) -> String {
    if text.is_empty() {
        return NO_TEXT.to_owned();
    }
    let mut path = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"'
            | '#'
            | '%'
            | '\''
            | '*'
            | '/'
            | ':'
            | '='
            | '?'
            | '\\'
            | '{'
            | '['
            | ']'
            | '^'
            | '\0'..='\x1f'
            | '\x7f' => path.push_str(&format!("%{:02X}", character as u32)),
            _ => path.push(character),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(labels: &str) -> String {
        format!("{{\"type\":\"run\",\"labels\":{labels}}}\n{{\"type\":\"end\",\"records\":0}}\n")
    }

    fn write(directory: &Path, keys: &[&str], text: &str) -> io::Result<()> {
        let keys = Vec::from_iter(keys.iter().map(|key| (*key).to_owned()));
        let mut partitions = Partitions::open(directory, &keys)?;
        for bytes in text.as_bytes().chunks(11) {
            partitions.write_all(bytes)?;
        }
        partitions.finish().map(|_| ())
    }

    fn read(path: &Path) -> String {
        let mut text = String::new();
        let file = fs::File::open(path).unwrap();
        flate2::read::MultiGzDecoder::new(file)
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    fn names_in(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names =
            Vec::from_iter(entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
        names.sort();
        names
    }

    #[test]
    fn labels_choose_the_file_of_a_stream() {
        let directory = tempfile::tempdir().unwrap();
        let a = run(r#"{"commit":"1","bench":"a/b"}"#);
        let b = run(r#"{"bench":"","commit":"1"}"#);
        let text = format!("{a}{b}{a}");
        write(directory.path(), &["commit", "bench"], &text).unwrap();
        assert_eq!(names_in(directory.path()), ["commit=1"]);
        let commit = directory.path().join("commit=1");
        assert_eq!(
            names_in(&commit),
            ["bench=__HIVE_DEFAULT_PARTITION__", "bench=a%2Fb"]
        );
        assert_eq!(
            read(&commit.join("bench=a%2Fb").join(FILE_NAME)),
            format!("{a}{a}")
        );
        // Only the file of the written partition is replaced.
        write(directory.path(), &["commit", "bench"], &a).unwrap();
        assert_eq!(read(&commit.join("bench=a%2Fb").join(FILE_NAME)), a);
        assert_eq!(names_in(&commit).len(), 2);
    }

    #[test]
    fn no_file_is_written_if_a_stream_lacks_a_label() {
        let directory = tempfile::tempdir().unwrap();
        let text = run(r#"{"commit":"1"}"#) + &run("{}");
        let error = write(directory.path(), &["commit"], &text).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a profile has no label commit; --label commit=TEXT adds it"
        );
        assert_eq!(names_in(directory.path()), [""; 0]);
    }

    #[test]
    fn a_label_cannot_leave_the_directory() {
        for (text, expected) in [
            ("../../etc", "..%2F..%2Fetc"),
            ("..", ".."),
            ("a=b:c", "a%3Db%3Ac"),
            ("\u{1}ü", "%01ü"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}
