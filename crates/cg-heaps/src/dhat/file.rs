//! The JSON of a DHAT file. One type represents both versions, because their different keys have the same meaning.

use cg_reader::Error;
use cg_reader::json::{List, items, line_at, without_place};
use cg_stream::record::Name;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// A DHAT file. Version 1 omits fields that were constant then. [`DhatFile::read`] adds them.
#[derive(Deserialize)]
pub(super) struct DhatFile<'a> {
    #[serde(rename = "dhatFileVersion", deserialize_with = "known_version")]
    version: u64,
    #[serde(borrow)]
    pub(super) mode: Option<Name<'a>>,
    #[serde(borrow)]
    pub(super) verb: Option<Name<'a>>,
    /// True if blocks have lifetimes, so that there are figures at the global maximum and at the end.
    #[serde(rename = "bklt")]
    pub(super) has_lifetimes: Option<bool>,
    /// True if accesses were counted.
    #[serde(rename = "bkacc")]
    pub(super) has_accesses: Option<bool>,
    /// The units for a byte, bytes and blocks, if they differ from these.
    #[serde(rename = "bu", borrow)]
    pub(super) byte_unit: Option<Name<'a>>,
    #[serde(rename = "bsu", borrow)]
    pub(super) bytes_unit: Option<Name<'a>>,
    #[serde(rename = "bksu", borrow)]
    pub(super) blocks_unit: Option<Name<'a>>,
    #[serde(rename = "tu", borrow)]
    pub(super) time_unit: Option<Name<'a>>,
    /// The name of a million time units.
    #[serde(rename = "Mtu", borrow)]
    pub(super) mega_time_unit: Option<Name<'a>>,
    /// The maximum lifetime of a short-lived block, in time units.
    #[serde(rename = "tuth")]
    pub(super) short_lived: Option<u64>,
    #[serde(rename = "cmd", borrow)]
    pub(super) command: Option<Name<'a>>,
    pub(super) pid: Option<u64>,
    #[serde(rename = "te", alias = "ei")]
    pub(super) end_time: Option<u64>,
    #[serde(rename = "tg", alias = "mi")]
    pub(super) gmax_time: Option<u64>,
    #[serde(rename = "pps", alias = "aps", borrow, deserialize_with = "items")]
    pub(super) points: Vec<ProgramPoint<'a>>,
    /// Texts of frames. The first is `[root]`, which does not occur in stacks.
    #[serde(rename = "ftbl", borrow, deserialize_with = "items")]
    pub(super) frames: Vec<Name<'a>>,
}

/// A program point. Counts that the file's mode does not have are missing. The lists stay text until the point is written:
/// the text is in memory anyway, and the parsed lists of all points would need as much memory again.
#[derive(Deserialize)]
pub(super) struct ProgramPoint<'a> {
    #[serde(rename = "tb")]
    pub(super) total_bytes: u64,
    #[serde(rename = "tbk")]
    pub(super) total_blocks: u64,
    #[serde(rename = "tl", alias = "tli")]
    pub(super) lifetime: Option<u64>,
    #[serde(rename = "mb")]
    pub(super) max_bytes: Option<u64>,
    #[serde(rename = "mbk")]
    pub(super) max_blocks: Option<u64>,
    #[serde(rename = "gb", default)]
    pub(super) gmax_bytes: u64,
    #[serde(rename = "gbk", default)]
    pub(super) gmax_blocks: u64,
    #[serde(rename = "eb", alias = "fb", default)]
    pub(super) end_bytes: u64,
    #[serde(rename = "ebk", alias = "fbk", default)]
    pub(super) end_blocks: u64,
    #[serde(rename = "rb", default)]
    pub(super) read_bytes: u64,
    #[serde(rename = "wb", default)]
    pub(super) write_bytes: u64,
    /// Access counts by byte, run-length encoded: `-N, M` is N times M.
    #[serde(rename = "acc", borrow)]
    accesses: Option<List<'a>>,
    /// Positions in the frame table, innermost frame first.
    #[serde(rename = "fs", borrow)]
    stack: List<'a>,
}

/// DHAT's value for an access count that overflowed 16 bits.
const OVERFLOWED: i64 = 0xFFFF;

/// The maximum size of a block with a histogram. The default is 1024 bytes, and `DHAT_HISTOGRAM_MEMORY` allows up to 25 KiB.
const LARGEST_HISTOGRAM: usize = 25 * 1024;

impl<'a> DhatFile<'a> {
    /// Reads a whole file.
    pub(super) fn read(text: &'a [u8]) -> Result<DhatFile<'a>, Error> {
        let text = std::str::from_utf8(text).map_err(|error| {
            let (line, start) = line_at(text, error.valid_up_to());
            Error::at(
                line,
                format!(
                    "expected UTF-8, found byte \\x{:02x} in column {}: DHAT does not escape such names",
                    text[error.valid_up_to()],
                    error.valid_up_to() - start + 1,
                ),
            )
        })?;
        let mut file: DhatFile =
            serde_json::from_str(text).map_err(|error| explain(text, &error))?;
        if file.version == 1 {
            file.mode.get_or_insert("heap".into());
            file.verb.get_or_insert("Allocated".into());
            file.has_lifetimes.get_or_insert(true);
            file.has_accesses.get_or_insert(true);
            file.time_unit.get_or_insert("instrs".into());
            file.mega_time_unit.get_or_insert("Minstr".into());
            file.short_lived.get_or_insert(500);
        }
        Ok(file)
    }

    /// Returns true for a file of dhat-rs.
    pub(super) fn is_from_dhat_rs(&self) -> bool {
        self.mode
            .as_deref()
            .is_some_and(|mode| mode.starts_with("rust-"))
    }
}

impl ProgramPoint<'_> {
    /// Returns the positions of the frames in the frame table, innermost frame first.
    pub(super) fn stack(&self) -> Result<Vec<u32>, String> {
        self.stack.numbers().map_err(|bad| format!("fs: {bad}"))
    }

    /// Returns the access count for each byte of a block; `None` for a count that overflowed.
    pub(super) fn accesses(&self) -> Result<Option<Vec<Option<u64>>>, String> {
        let Some(encoded) = self.accesses else {
            return Ok(None);
        };
        let encoded: Vec<i64> = encoded.numbers().map_err(|bad| format!("acc: {bad}"))?;
        let mut counts = Vec::new();
        let mut numbers = encoded.into_iter();
        while let Some(number) = numbers.next() {
            let (times, count) = if number < 0 {
                let times = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
                (times, numbers.next())
            } else {
                (1, Some(number))
            };
            let Some(count) = count.filter(|count| (0..=OVERFLOWED).contains(count)) else {
                return Err(format!(
                    "acc: expected a count from 0 to {OVERFLOWED}, found {}",
                    count.map_or("the end".to_owned(), |count| count.to_string())
                ));
            };
            if times > LARGEST_HISTOGRAM - counts.len() {
                return Err(format!(
                    "acc: expected at most {LARGEST_HISTOGRAM} counts, found more"
                ));
            }
            let count = (count != OVERFLOWED).then_some(count.unsigned_abs());
            counts.resize(counts.len() + times, count);
        }
        Ok(Some(counts))
    }
}

/// The beginning of the error message for an unknown version.
const WRONG_VERSION: &str = "expected dhatFileVersion 1 or 2";

/// Parses the version. Refuses other versions immediately, before their keys are misinterpreted.
fn known_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        version @ (1 | 2) => Ok(version),
        other => Err(D::Error::custom(format!("{WRONG_VERSION}, found {other}"))),
    }
}

/// Converts an error of the JSON parser to an explanation for DHAT files.
fn explain(text: &str, error: &serde_json::Error) -> Error {
    let line = error.line() as u64;
    let on_line = text.lines().nth(error.line().saturating_sub(1));
    if error.is_eof() {
        return Error::at(
            line,
            "expected more of the JSON, found the end of the file: it is cut short",
        );
    }
    if error.is_syntax() && on_line.is_some_and(|text| text.contains("\"fs\":]")) {
        return Error::at(
            line,
            "expected a list after \"fs\":, found ]: DHAT writes this if it omits all frames of a stack; rerun it with a larger --num-callers",
        );
    }
    let message = without_place(error);
    if message.starts_with(WRONG_VERSION) {
        // serde_json reports a wrong value after it has read the next token, so find the place of the key.
        let position = text.find("\"dhatFileVersion\"").unwrap_or(0);
        return Error::at(line_at(text.as_bytes(), position).0, message);
    }
    Error::at(line, format!("{message} (column {})", error.column()))
}
