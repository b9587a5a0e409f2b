//! The type of an entry in the list of formats, and lookups in that list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io, slice};

use cg_callgrind::sums::Summed;
use cg_reader::{Head, LineEvidence, ReadRecords};

use crate::formats::FORMATS;

/// A supported input format.
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// Other names on the command line.
    pub aliases: &'static [&'static str],
    /// A short description of the input.
    pub reads: &'static str,
    /// Values of `tool` in the `run` records; empty if the only value is `name`.
    pub(crate) tools: &'static [&'static str],
    /// The events, in markdown.
    pub events: &'static str,
    /// Remarks for readers of a stream, in markdown; often empty.
    pub remarks: &'static str,
    /// The questions that a file of this format can answer. A single file may answer fewer.
    pub answers: &'static [Answer],
    /// The reason why `--inline` has no effect; `None` if it has an effect.
    pub(crate) without_inline: Option<&'static str>,
    /// The signs that identify an input of this format.
    pub(crate) signs: &'static [Sign],
    pub(crate) reader: FormatReader,
    /// The meaning of an input from which no record was read.
    pub(crate) without_records: WithoutRecords,
    /// Files of this format below `tests/data`. The first is a path that is read without any message. In the others, a
    /// `*` matches any name.
    pub seeds: &'static [&'static str],
}

/// A question that a format can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Which source lines caused the cost?
    Lines,
    /// How often did one function call another?
    Calls,
    /// Through which callers did the cost arise?
    Stacks,
    /// Which functions were inlined?
    Inlined,
}

/// A check that identifies an input of a format. [`crate::recognition`] decides when it is made.
pub(crate) enum Sign {
    /// The beginning of the input matches, or the input contains words that no other format contains. Checked for a few
    /// lengths of the beginning.
    Beginning(fn(&Head) -> bool),
    /// The input has a cost header. [`cg_callgrind::recognise`] reads it for both formats that have one.
    CostHeader(Summed),
    /// A line matches that occurs only in this format. A program's own output may precede it.
    Line(fn(&[u8]) -> bool),
    /// Several lines match. The function returns the evidence before the first line. If the first lines do not prove a
    /// format, this sign is checked last, after the whole head was searched for logs and profiles that follow the output of
    /// a program.
    ManyLines(fn() -> Box<dyn LineEvidence>),
}

/// The meaning of an input from which no record was read.
#[derive(Clone, Copy)]
pub(crate) enum WithoutRecords {
    /// The input is complete: a log without errors, or totals. Or the reader itself checks this.
    Complete,
    /// The input is complete, because the file itself counts its records or marks its end, but a message is printed.
    Unusual,
    /// Nothing was read.
    Error,
}

/// The function that reads a format.
pub(crate) enum FormatReader {
    /// Writes the records of each input.
    Records(ReadRecords),
    /// Writes the records of each input. The input can also contain the results of an earlier run.
    Revisions(ReadRecords),
    /// Sums several inputs.
    Sums(Summed),
}

impl Format {
    /// Returns true for a log, in which reports may be anywhere.
    pub(crate) fn is_log(&self) -> bool {
        matches!(self.name, "memcheck" | "sanitizers")
    }

    /// Returns the format with this name or alias.
    pub fn find(name: &str) -> Option<&'static Format> {
        FORMATS
            .iter()
            .find(|format| format.name == name || format.aliases.contains(&name))
    }

    /// Returns the paths of the seeds in the folder of the test data, sorted.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be read, a file is missing, or a pattern matches no file.
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
                return Err(io::Error::other(format!("{pattern} matches no file")));
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the values of `tool` in the `run` records of this format.
    pub fn tools(&self) -> &[&'static str] {
        match self.tools {
            [] => slice::from_ref(&self.name),
            tools => tools,
        }
    }

    /// Returns all formats, sorted by name.
    pub fn sorted_by_name() -> Vec<&'static Format> {
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

/// Writes the name of the format, for messages of failed tests.
impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_texts_signs_and_seeds() {
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
