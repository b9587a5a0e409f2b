//! What is known of a format outside its reader, and how it is asked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io, slice};

use cg_callgrind::sums::Summed;
use cg_reader::{Head, ReadRecords};

use crate::formats::FORMATS;

/// A format that is read.
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it may be called as well.
    pub aliases: &'static [&'static str],
    /// What is read, in a line.
    pub reads: &'static str,
    /// Values of `tool` in its `run` records, where that is not its name.
    pub(crate) tools: &'static [&'static str],
    /// Its events, in markdown.
    pub events: &'static str,
    /// What else readers of a stream have to know, in markdown; mostly nothing.
    pub remarks: &'static str,
    /// What its files can tell, as far as they do.
    pub answers: &'static [Answer],
    /// Why `--inline` tells nothing of it; `None` where it does.
    pub(crate) without_inline: Option<&'static str>,
    /// How an input shows that it is of this format.
    pub(crate) signs: &'static [Sign],
    pub(crate) reader: FormatReader,
    /// Files below `tests/data` that are of it: the first is a file which is read without a word, the others may have
    /// a `*` for any name.
    pub seeds: &'static [&'static str],
}

/// A question that a format can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Which lines of the source cost is of.
    Lines,
    /// How often a function called another.
    Calls,
    /// Through which callers cost arose.
    Stacks,
    /// What was inlined.
    Inlined,
}

/// How an input shows that it is of a format.
pub(crate) enum Sign {
    /// At its beginning, or by words that are in no other format.
    Beginning(fn(&Head) -> bool),
    /// By a header of costs, which [`cg_callgrind::recognise`] reads for both formats that have one.
    CostHeader(Summed),
    /// By a line that only this format has. A program's own output can stand in front.
    Line(fn(&[u8]) -> bool),
    /// By many lines, once all is seen that will be looked at: a log or a profile behind a program's output would have
    /// shown itself until then.
    ManyLines(fn(&Head) -> bool),
}

/// Who reads a format.
pub(crate) enum FormatReader {
    /// One that writes the records of each input.
    Records(ReadRecords),
    /// The same, of files that hold the results of an earlier run too.
    Revisions(ReadRecords),
    /// One that adds inputs up.
    Sums(Summed),
}

impl Format {
    /// The format that goes by this name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS
            .iter()
            .find(|format| format.name == name || format.aliases.contains(&name))
    }

    /// Its seeds in the folder of the test data, sorted; a pattern that fits no file is an error.
    ///
    /// # Errors
    /// Where a folder cannot be read, or a file is not there.
    pub fn seeds_below(&self, data: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = BTreeSet::new();
        for pattern in self.seeds {
            let path = data.join(pattern);
            let Some((_, suffix)) = pattern.split_once('*') else {
                fs::metadata(&path)?;
                found.insert(path);
                continue;
            };
            let before = found.len();
            for entry in fs::read_dir(path.parent().unwrap_or(data))? {
                let path = entry?.path();
                let name = path.as_os_str().as_encoded_bytes();
                if path.is_file() && name.ends_with(suffix.as_bytes()) {
                    found.insert(path);
                }
            }
            if found.len() == before {
                return Err(io::Error::other(format!("{pattern} fits no file")));
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Values of `tool` in its `run` records.
    pub fn tools(&self) -> &[&'static str] {
        match self.tools {
            [] => slice::from_ref(&self.name),
            tools => tools,
        }
    }

    /// All formats, sorted by name.
    pub fn by_name() -> Vec<&'static Format> {
        let mut formats: Vec<&Format> = FORMATS.iter().collect();
        formats.sort_unstable_by_key(|format| format.name);
        formats
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// Its name, as a test that fails shows it.
impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_all_that_formats_do_not_share() {
        for format in FORMATS {
            let words = [format.name, format.reads, format.events];
            assert!(words.iter().all(|word| !word.is_empty()), "{format:?}");
            assert!(
                !format.signs.is_empty() && !format.seeds.is_empty(),
                "{format:?}"
            );
        }
    }
}
