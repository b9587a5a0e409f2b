//! Reading a stream: lines told apart by type at the price of a prefix comparison, parsed only on demand.

use std::io::Read;

use serde::Deserialize;

use crate::error::Error;
use crate::fields::{Fields, Malformed};
use crate::lines::LineReader;
use crate::record::{RecordType, VERSION};

/// Reads the lines of a stream and keeps count of its framing.
///
/// ```
/// use cg_stream::record::{FnRecord, RecordType};
/// use cg_stream::{Completeness, Reader};
///
/// # fn main() -> Result<(), cg_stream::Error> {
/// let stream = concat!(
///     r#"{"type":"run","stream":1,"events":["Ir"],"total":{"Ir":42}}"#, "\n",
///     r#"{"type":"fn","fn":"main","calls":1,"cost":{"Ir":42}}"#, "\n",
///     r#"{"type":"end","records":1}"#, "\n",
/// );
/// let mut reader = Reader::new(stream.as_bytes());
/// let mut instructions = 0;
/// while let Some(line) = reader.next_line()? {
///     // Only what is asked for is parsed; the other lines cost a look at their first bytes.
///     if line.kind == RecordType::Fn {
///         let record: FnRecord = line.parse()?;
///         instructions += record.cost.get("Ir");
///     }
/// }
/// assert_eq!(instructions, 42);
/// assert_eq!(reader.framing().completeness(), Completeness::Whole);
/// # Ok(())
/// # }
/// ```
pub struct Reader<R> {
    lines: LineReader<R>,
    framing: Framing,
}

/// What was seen of a stream's framing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// How many `run` records.
    pub runs: u64,
    /// How many `end` records.
    pub ends: u64,
    /// How many records of other types.
    pub records: u64,
}

/// What the framing says of the stream as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Every `run` has its `end`.
    Whole,
    /// A writer died or was cut short: some `run` has no `end`.
    CutShort,
    /// Neither `run` nor `end`: the lines came through something like `rg`.
    Fragment,
    /// No line at all.
    Empty,
}

impl Framing {
    /// Adds what was seen elsewhere: concatenation is addition.
    pub fn add(&mut self, other: Framing) {
        self.runs += other.runs;
        self.ends += other.ends;
        self.records += other.records;
    }

    /// The verdict on the stream, once it is read to its end.
    pub fn completeness(self) -> Completeness {
        match (self.runs, self.ends, self.records) {
            (0, 0, 0) => Completeness::Empty,
            (0, _, _) => Completeness::Fragment,
            (runs, ends, _) if runs > ends => Completeness::CutShort,
            _ => Completeness::Whole,
        }
    }
}

/// One line of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The line as it is, without `\n`.
    pub bytes: &'a [u8],
    /// The line with its `\n`; the last line of an input may have none.
    pub raw: &'a [u8],
    /// Its type.
    pub kind: RecordType,
    /// Its number, counted from 1.
    pub number: u64,
}

impl<'a> Line<'a> {
    /// A line by itself.
    ///
    /// # Errors
    /// Where it is no JSON object with a `type`.
    pub fn of(raw: &'a [u8], number: u64) -> Result<Line<'a>, Error> {
        let bytes = raw.strip_suffix(b"\n").unwrap_or(raw);
        Ok(Line {
            bytes,
            raw,
            kind: record_type(bytes, number)?,
            number,
        })
    }

    /// The line as a record of the type `T`, which borrows its names from it.
    ///
    /// # Errors
    /// Where the line is not that record, with the line's number.
    pub fn parse<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        serde_json::from_slice(self.bytes).map_err(|error| Error::record(self.number, &error))
    }
}

impl<R: Read> Reader<R> {
    /// A reader over this input.
    pub fn new(input: R) -> Reader<R> {
        Reader::over(LineReader::new(input))
    }

    /// A reader over lines of which some may have been peeked at, but none taken.
    pub fn over(lines: LineReader<R>) -> Reader<R> {
        Reader {
            lines,
            framing: Framing::default(),
        }
    }

    /// The input, once its lines are read.
    pub fn into_input(self) -> R {
        self.lines.into_input()
    }

    /// The next line that is not blank, or `None` at the end.
    ///
    /// # Errors
    /// What the input reports, lines that are no JSON object with a `type`, and `run` records of other versions.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, Error> {
        while self.advance()? {
            if self.blank_line().is_none() {
                return self.line().map(Some);
            }
        }
        Ok(None)
    }

    /// Goes to the next line, blank or not; false at the end. For readers that pass every byte on;
    /// [`Reader::blank_line`] and [`Reader::line`] have what was found.
    ///
    /// # Errors
    /// What the input reports.
    pub fn advance(&mut self) -> Result<bool, Error> {
        Ok(self.lines.advance()?)
    }

    /// The line that [`Reader::advance`] went to with its `\n`, where nothing but white space is in it.
    pub fn blank_line(&self) -> Option<&[u8]> {
        self.lines
            .last_line()
            .iter()
            .all(u8::is_ascii_whitespace)
            .then(|| self.lines.last_line_with_newline())
    }

    /// The line that [`Reader::advance`] went to. Call this once a line, because each call counts the line.
    ///
    /// # Errors
    /// Where it is no JSON object with a `type`, and where it begins a stream of a version that is not known.
    pub fn line(&mut self) -> Result<Line<'_>, Error> {
        let number = self.lines.line_number();
        let bytes = self.lines.last_line();
        let kind = record_type(bytes, number)?;
        if !self.lines.ended_with_newline() {
            // The type is read from the prefix alone, so half an `end` would make a cut stream look whole: parse the
            // last line.
            serde_json::from_slice::<serde::de::IgnoredAny>(bytes)
                .map_err(|error| Error::record(number, &error))?;
        }
        match kind {
            RecordType::Run => {
                refuse_other_versions(bytes, number)?;
                self.framing.runs += 1;
            }
            RecordType::End => self.framing.ends += 1,
            _ => self.framing.records += 1,
        }
        Ok(Line {
            bytes,
            raw: self.lines.last_line_with_newline(),
            kind,
            number,
        })
    }

    /// Whether the next line, or the end, is known without reading on.
    pub fn has_next(&mut self) -> bool {
        self.lines.has_next()
    }

    /// What was seen of the framing so far.
    pub fn framing(&self) -> Framing {
        self.framing
    }
}

/// Refuses a `run` record of another version than [`VERSION`]: its records may mean something else. A `run` without a
/// version is accepted as version 1.
fn refuse_other_versions(line: &[u8], number: u64) -> Result<(), Error> {
    let stream = Fields::of(line)
        .and_then(|fields| fields.find("stream"))
        .map_err(|Malformed| Error::at(number, "not a stream record: not a JSON object"))?;
    match stream {
        Some(version) if version.count() != Some(VERSION.into()) => {
            let found = String::from_utf8_lossy(version.raw()).into_owned();
            Err(Error::at(
                number,
                format!("expected a stream of version {VERSION}, found version {found}"),
            ))
        }
        _ => Ok(()),
    }
}

/// The type of a line: by its prefix where `type` comes first, as every writer here has it, else by parsing.
fn record_type(line: &[u8], number: u64) -> Result<RecordType, Error> {
    const PREFIX: &[u8] = b"{\"type\":\"";
    if let Some(rest) = line.strip_prefix(PREFIX)
        && let Some(length) = memchr::memchr(b'"', &rest[..rest.len().min(32)])
        && let Ok(name) = std::str::from_utf8(&rest[..length])
    {
        return Ok(RecordType::from_name(name));
    }
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(rename = "type", borrow)]
        name: crate::record::Name<'a>,
    }
    let typed: Typed =
        serde_json::from_slice(line).map_err(|error| Error::record(number, &error))?;
    Ok(RecordType::from_name(&typed.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FnRecord;

    fn read(text: &str) -> Result<(Vec<RecordType>, Completeness), Error> {
        let mut reader = Reader::new(text.as_bytes());
        let mut kinds = Vec::new();
        while let Some(line) = reader.next_line()? {
            kinds.push(line.kind);
        }
        Ok((kinds, reader.framing().completeness()))
    }

    #[test]
    fn types_are_found_in_any_key_order() {
        let (kinds, _) = read("{\"type\":\"fn\",\"fn\":\"f\"}\n\n{\"fn\":\"f\", \"type\" : \"call\"}\n{\"type\":\"new\"}").unwrap();
        assert_eq!(kinds, [RecordType::Fn, RecordType::Call, RecordType::Other]);
    }

    #[test]
    fn framing_tells_whole_cut_and_fragment() {
        let (run, f, end) = (
            "{\"type\":\"run\"}\n",
            "{\"type\":\"fn\"}\n",
            "{\"type\":\"end\"}\n",
        );
        assert_eq!(read("").unwrap().1, Completeness::Empty);
        assert_eq!(read(f).unwrap().1, Completeness::Fragment);
        assert_eq!(read(&[run, f].concat()).unwrap().1, Completeness::CutShort);
        assert_eq!(
            read(&[run, f, end].concat()).unwrap().1,
            Completeness::Whole
        );
        assert_eq!(
            read(&[run, f, run, f, end].concat()).unwrap().1,
            Completeness::CutShort
        );
    }

    #[test]
    fn what_is_no_record_is_an_error_with_its_line() {
        assert_eq!(
            read("{\"type\":\"fn\"}\nhello\n").unwrap_err().line(),
            Some(2)
        );
        assert_eq!(read("{\"fn\":\"f\"}\n").unwrap_err().line(), Some(1));
    }

    #[test]
    fn a_stream_of_another_version_is_refused() {
        for version in ["2", "0", "-1", "1.0", "\"1\"", "null", "[1]"] {
            let run = format!(
                "{{\"type\":\"fn\"}}\n{{\"pid\":1,\"stream\": {version},\"type\":\"run\"}}\n"
            );
            let error = read(&run).unwrap_err();
            assert_eq!(error.line(), Some(2), "{version}");
            assert!(error.to_string().ends_with(version), "{error}");
        }
        for run in ["{\"type\":\"run\",\"stream\":1}", "{\"type\":\"run\"}"] {
            assert_eq!(read(run).unwrap().0, [RecordType::Run]);
        }
    }

    #[test]
    fn half_an_end_is_no_end() {
        let whole = "{\"type\":\"run\"}\n{\"type\":\"end\",\"records\":0}";
        assert_eq!(read(whole).unwrap().1, Completeness::Whole);
        for length in 16..whole.len() {
            assert_eq!(read(&whole[..length]).unwrap_err().line(), Some(2));
        }
    }

    #[test]
    fn names_are_borrowed_from_the_line() {
        let mut reader = Reader::new(
            &b"{\"type\":\"fn\",\"fn\":\"f\",\"calls\":2,\"cost\":{\"Ir\":3},\"later\":[1]}\n"[..],
        );
        let line = reader.next_line().unwrap().unwrap();
        let record: FnRecord = line.parse().unwrap();
        assert_eq!(
            (record.name.as_deref(), record.calls, record.cost.get("Ir")),
            (Some("f"), Some(2), 3)
        );
    }
}
