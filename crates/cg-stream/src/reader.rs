//! The reader of a stream: it finds the type of a line from its prefix and parses a line only on demand.

use std::io::Read;

use serde::Deserialize;

use crate::error::Error;
use crate::fields::{Fields, Malformed};
use crate::lines::LineReader;
use crate::record::{RecordType, VERSION};

/// Reads the lines of a stream and counts its `run` and `end` records.
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
///     // Only `fn` lines are parsed. Of other lines, only the type is read.
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

/// The number of records read so far, by their part in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// The number of `run` records.
    pub runs: u64,
    /// The number of `end` records.
    pub ends: u64,
    /// The number of records of other types.
    pub records: u64,
}

/// A stream's completeness, as its `run` and `end` records show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Every `run` has its `end`.
    Whole,
    /// Some `run` has no `end`: the writer was killed or the stream was truncated.
    CutShort,
    /// No `run`: the lines came through a filter such as `rg`.
    Fragment,
    /// No line at all.
    Empty,
}

impl Framing {
    /// Adds the counts of another stream, as if the two streams were concatenated.
    pub fn add(&mut self, other: Framing) {
        self.runs += other.runs;
        self.ends += other.ends;
        self.records += other.records;
    }

    /// Returns the completeness of a stream that was read to its end.
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
    /// The line without `\n`.
    pub bytes: &'a [u8],
    /// The line with its `\n`; the last line of an input may have none.
    pub raw: &'a [u8],
    /// The type of the record.
    pub kind: RecordType,
    /// The line number, counted from 1.
    pub number: u64,
}

impl<'a> Line<'a> {
    /// Finds the type of a line that no [`Reader`] read.
    ///
    /// # Errors
    /// Returns an error if the line is not a JSON object with a `type`.
    pub fn parse_header(raw: &'a [u8], number: u64) -> Result<Line<'a>, Error> {
        let bytes = raw.strip_suffix(b"\n").unwrap_or(raw);
        Ok(Line {
            bytes,
            raw,
            kind: record_type(bytes, number)?,
            number,
        })
    }

    /// Parses the line as a record of the type `T`, which borrows its names from the line.
    ///
    /// # Errors
    /// Returns an error with the line number if the line is not such a record.
    pub fn parse<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        serde_json::from_slice(self.bytes).map_err(|error| Error::record(self.number, &error))
    }

    /// Returns the fields of the line. A known type is left out if it comes first, as in the output of our writers.
    ///
    /// # Errors
    /// Returns an error if the line does not begin with an object.
    pub fn fields(&self) -> Result<Fields<'a>, Malformed> {
        let name = self.kind.name().as_bytes();
        let after_type = self
            .bytes
            .strip_prefix(TYPE_PREFIX)
            .and_then(|rest| rest.strip_prefix(name)?.strip_prefix(b"\""));
        match after_type {
            Some(rest) if self.kind != RecordType::Other => Ok(Fields::after_item(rest)),
            _ => Fields::parse(self.bytes),
        }
    }
}

impl<R: Read> Reader<R> {
    /// Creates a reader of this input.
    pub fn new(input: R) -> Reader<R> {
        Reader::over(LineReader::new(input))
    }

    /// Creates a reader from a line reader of which no line was taken yet. Peeking at it is allowed.
    pub fn over(lines: LineReader<R>) -> Reader<R> {
        Reader {
            lines,
            framing: Framing::default(),
        }
    }

    /// Returns the input. Bytes that are buffered and not taken are lost.
    pub fn into_input(self) -> R {
        self.lines.into_input()
    }

    /// Returns the next line that is not blank; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read, if a line is not a JSON object with a `type`, and if a `run` record has
    /// another version.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, Error> {
        while self.advance()? {
            if self.blank_line().is_none() {
                return self.line().map(Some);
            }
        }
        Ok(None)
    }

    /// Goes to the next line, blank or not, which [`Reader::blank_line`] or [`Reader::line`] returns. Returns false at the
    /// end. This is for filters that copy every byte.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read.
    pub fn advance(&mut self) -> Result<bool, Error> {
        Ok(self.lines.advance()?)
    }

    /// Returns the line that [`Reader::advance`] went to, with its `\n`; `None` if it is not blank.
    pub fn blank_line(&self) -> Option<&[u8]> {
        self.lines
            .last_line()
            .iter()
            .all(u8::is_ascii_whitespace)
            .then(|| self.lines.last_line_with_newline())
    }

    /// Returns the line that [`Reader::advance`] went to. Call this once per line, because each call counts the line.
    ///
    /// # Errors
    /// Returns an error if the line is not a JSON object with a `type`, and if it is a `run` record of another version.
    pub fn line(&mut self) -> Result<Line<'_>, Error> {
        let number = self.lines.line_number();
        let bytes = self.lines.last_line();
        let kind = record_type(bytes, number)?;
        if !self.lines.ended_with_newline() {
            // The type is read from the prefix only, so a truncated `end` would make a truncated stream look whole.
            // Therefore the last line is parsed.
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

    /// Returns true if the next line, or the end of the input, is already buffered.
    pub fn has_next(&mut self) -> bool {
        self.lines.has_next()
    }

    /// Returns the number of records read so far.
    pub fn framing(&self) -> Framing {
        self.framing
    }
}

/// Returns an error if a `run` record has another version than [`VERSION`], because its records may have another meaning.
/// A `run` without a version is accepted as version 1.
fn refuse_other_versions(line: &[u8], number: u64) -> Result<(), Error> {
    let stream = Fields::parse(line)
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

/// The beginning of a line, as our writers write it. The name of the type follows.
const TYPE_PREFIX: &[u8] = b"{\"type\":\"";

/// Returns the type of a line. Reads the prefix if `type` comes first, as in the output of our writers; otherwise parses the
/// line.
fn record_type(line: &[u8], number: u64) -> Result<RecordType, Error> {
    if let Some(rest) = line.strip_prefix(TYPE_PREFIX)
        // The names of types are so short that this takes fewer instructions than the setup of `memchr`.
        && let Some(length) = rest.iter().take(32).position(|byte| *byte == b'"')
        && let kind = RecordType::from_bytes(&rest[..length])
        && (kind != RecordType::Other || rest[..length].is_ascii())
    {
        return Ok(kind);
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
    fn completeness_follows_from_run_and_end_records() {
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
    fn a_line_without_a_type_is_an_error_with_its_number() {
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
    fn a_truncated_end_record_is_an_error() {
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

    #[test]
    fn only_a_missing_end_cuts_a_stream_short() {
        let (run, end) = ("{\"type\":\"run\"}\n", "{\"type\":\"end\"}\n");
        // A stream that was joined twice with its last line is not cut.
        assert_eq!(
            read(&[run, end, end].concat()).unwrap().1,
            Completeness::Whole
        );
        assert_eq!(read(end).unwrap().1, Completeness::Fragment);
    }
}
