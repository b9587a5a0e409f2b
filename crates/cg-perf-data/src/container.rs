//! The container: header, attributes and features around the records.

use std::ops::Range;

use cg_reader::{Error, Lines, plural};

use crate::attributes::EventAttribute;
use crate::features::Features;
use crate::fields::{FileEndian, RecordFields};
use crate::records::kind;
use crate::unpack::RecordUnpacker;

/// The container of a recording.
pub(crate) struct Container<'l> {
    input: RecordInput<'l>,
    pub(crate) endian: FileEndian,
    extent: DataExtent,
    /// The features of a file, one bit per feature.
    feature_bits: [u64; 4],
    unpacker: RecordUnpacker,
    /// True once a compressed record was read.
    pub(crate) is_packed: bool,
    /// The number of skipped bytes of hardware trace.
    pub(crate) traced_bytes: u64,
    /// The attributes in a file's header, each with the ids of its event.
    pub(crate) attributes: Vec<(EventAttribute, Vec<u64>)>,
}

/// The end of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataExtent {
    /// At this offset.
    Until(u64),
    /// At the end of the input, from `perf record -o -`.
    Pipe,
    /// At the end of the input, because perf was killed before it wrote the length.
    Unfinished,
}

/// An input, with the number of bytes read.
struct RecordInput<'l> {
    lines: &'l mut Lines,
    position: u64,
}

/// The header of a record, with its `misc` flags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordHeader {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    size: u16,
}

impl RecordHeader {
    pub(crate) const LENGTH: usize = 8;

    /// Splits a record into its header and body; `None` if it is too short.
    pub(crate) fn split(
        record: &[u8],
        endian: FileEndian,
    ) -> Option<(RecordHeader, RecordFields<'_>)> {
        let mut fields = RecordFields::new(record, endian);
        let header = RecordHeader {
            kind: fields.u32()?,
            misc: fields.u16()?,
            size: fields.u16()?,
        };
        Some((header, fields))
    }
}

/// The maximum number of bytes before the records: attributes and ids.
const MAX_BEFORE_RECORDS: u64 = 64 << 20;
/// The maximum number of bytes after the records.
const MAX_AFTER_RECORDS: usize = 256 << 20;
const FILE_HEADER: usize = 104;
/// The error for concatenated recordings.
const ANOTHER: &str = "another recording follows and is not read; pass the recordings separately";
const PIPE_HEADER: u64 = 16;
/// The feature of the main file of a directory (`HEADER_DIR_FORMAT`).
const DIRECTORY: u32 = 24;

impl<'l> Container<'l> {
    /// Opens a recording and reads the data before its records.
    pub(crate) fn open(lines: &'l mut Lines) -> Result<Container<'l>, Error> {
        let mut input = RecordInput { lines, position: 0 };
        let mut head = Vec::new();
        input.take(16, &mut head)?;
        let endian = FileEndian::from_magic(&head).ok_or_else(|| {
            Error::whole("expected PERFILE2 at the beginning of a recording of perf")
        })?;
        let mut container = Container::new(input, endian);
        let size = RecordFields::new(&head[8..], endian).u64().unwrap_or(0);
        match size {
            PIPE_HEADER => {}
            size if size >= FILE_HEADER as u64 => container.read_front(head)?,
            size => {
                return Err(Error::whole(format!(
                    "byte 8: expected a header of {FILE_HEADER} bytes, or {PIPE_HEADER} of a pipe, found {size}"
                )));
            }
        }
        Ok(container)
    }

    /// Opens a file of a directory of `perf record --threads` that contains only records.
    pub(crate) fn open_records(lines: &'l mut Lines, endian: FileEndian) -> Container<'l> {
        Container::new(RecordInput { lines, position: 0 }, endian)
    }

    fn new(input: RecordInput<'l>, endian: FileEndian) -> Container<'l> {
        Container {
            input,
            endian,
            extent: DataExtent::Pipe,
            feature_bits: [0; 4],
            unpacker: RecordUnpacker::new(),
            is_packed: false,
            traced_bytes: 0,
            attributes: Vec::new(),
        }
    }

    /// Returns true if most records are in other files of the same directory.
    pub(crate) fn has_other_files(&self) -> bool {
        self.has_feature(DIRECTORY)
    }

    fn has_feature(&self, bit: u32) -> bool {
        self.feature_bits[bit as usize / 64] >> (bit % 64) & 1 != 0
    }

    /// Returns the number of bytes that were read.
    pub(crate) fn position(&self) -> u64 {
        self.input.position
    }

    /// Reads the rest of a file's header, and the data between the header and the records.
    fn read_front(&mut self, mut front: Vec<u8>) -> Result<(), Error> {
        self.input.take(FILE_HEADER - front.len(), &mut front)?;
        let header = front.clone();
        let damaged = || Error::whole("byte 16: the header refers to offsets outside of the file");
        let mut fields = RecordFields::new(&header[16..], self.endian);
        let mut word = || fields.u64().ok_or_else(damaged);
        let (attribute_size, attributes, attributes_size) = (word()?, word()?, word()?);
        let (data, data_size) = (word()?, word()?);
        word()?;
        word()?;
        self.feature_bits = [word()?, word()?, word()?, word()?];
        if !(FILE_HEADER as u64..=MAX_BEFORE_RECORDS).contains(&data) {
            return Err(Error::whole(format!(
                "byte 40: expected records after the header, at byte {MAX_BEFORE_RECORDS} or before, found them at byte {data}"
            )));
        }
        self.input.take(data as usize - front.len(), &mut front)?;
        self.extent = match data_size {
            0 => DataExtent::Unfinished,
            size => DataExtent::Until(data.checked_add(size).ok_or_else(damaged)?),
        };
        let part = |offset: u64, size: u64| {
            let end = offset.checked_add(size).filter(|end| *end <= data);
            end.map(|end| &front[offset as usize..end as usize])
                .ok_or_else(|| {
                    Error::whole(format!(
                        "byte 24: expected the attributes of events before the records, found them at byte {offset}"
                    ))
                })
        };
        // The offset and length of the event's ids follow each attribute.
        let size = usize::try_from(attribute_size)
            .ok()
            .filter(|size| (64 + 16..1 << 16).contains(size))
            .ok_or_else(damaged)?;
        // A byte is an id of at most one event, which bounds the total length of ids.
        let mut ids_left = data;
        for entry in part(attributes, attributes_size)?.chunks_exact(size) {
            let (attribute, ids) = entry.split_at(size - 16);
            let mut place = RecordFields::new(ids, self.endian);
            let (Some(attribute), Some(offset), Some(length)) = (
                EventAttribute::read(attribute, self.endian),
                place.u64(),
                place.u64(),
            ) else {
                return Err(damaged());
            };
            ids_left = ids_left.checked_sub(length).ok_or_else(damaged)?;
            let ids = part(offset, length)?;
            let words = RecordFields::new(ids, self.endian).words(length / 8);
            let ids = words.map(|words| words.iter().collect());
            self.attributes.push((attribute, ids.unwrap_or_default()));
        }
        match self.attributes.is_empty() {
            true => Err(Error::whole(
                "expected the attributes of at least one event, found none",
            )),
            false => Ok(()),
        }
    }

    /// Reads the next record with its header into `record`. Returns false at the end.
    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<bool, Error> {
        loop {
            let unpacked = self.unpacker.next(self.endian, record);
            if unpacked.map_err(|what| self.input.error(what))? {
                return Ok(true);
            }
            if !self.next_stored(record)? {
                let more = self.unpacker.finish();
                if more.map_err(|what| self.input.error(what))? {
                    continue;
                }
                return match self.unpacker.left_over() {
                    0 => Ok(false),
                    left => Err(self.input.error(format!(
                        "the compressed records are cut short: the last {} not a complete record",
                        plural(left as u64, "byte is", "bytes are")
                    ))),
                };
            }
            let Some((header, mut body)) = RecordHeader::split(record, self.endian) else {
                continue;
            };
            match header.kind {
                kind::COMPRESSED => {
                    self.is_packed = true;
                    self.unpacker.add(body.bytes);
                }
                kind::COMPRESSED2 => {
                    self.is_packed = true;
                    let length = body.u64().and_then(|length| usize::try_from(length).ok());
                    let piece = length.and_then(|length| body.take(length));
                    self.unpacker.add(piece.unwrap_or(body.bytes));
                }
                kind::AUXTRACE => {
                    let length = body.u64().unwrap_or(0);
                    self.traced_bytes = self.traced_bytes.saturating_add(length);
                    self.skip(length)?;
                }
                kind::TRACING_DATA if self.extent == DataExtent::Pipe => {
                    let length = body.u32().unwrap_or(0);
                    self.skip(u64::from(length).next_multiple_of(8))?;
                }
                _ => return Ok(true),
            }
        }
    }

    /// Reads the next record in the input, which may be compressed.
    fn next_stored(&mut self, record: &mut Vec<u8>) -> Result<bool, Error> {
        let left = match self.extent {
            DataExtent::Until(end) => end.saturating_sub(self.input.position),
            _ => u64::MAX,
        };
        if left == 0 {
            return Ok(false);
        }
        record.clear();
        match self.extent {
            DataExtent::Pipe if self.input.is_at_end()? => return Ok(false),
            DataExtent::Unfinished if self.input.is_at_end()? => {
                return Err(self.input.error(
                    "the recording has no end: perf record was killed before it wrote the length of the data and the facts about the host".to_owned(),
                ));
            }
            _ => {}
        }
        self.input.take(RecordHeader::LENGTH, record)?;
        if FileEndian::from_magic(record).is_some() {
            return Err(self.input.error(ANOTHER.to_owned()));
        }
        let size = RecordHeader::split(record, self.endian).map_or(0, |(header, _)| header.size);
        let size = usize::from(size);
        if size < RecordHeader::LENGTH || size as u64 > left {
            return Err(self.input.error(format!(
                "expected a record of valid length before this byte, found {size} bytes"
            )));
        }
        self.input.take(size - RecordHeader::LENGTH, record)?;
        Ok(true)
    }

    /// Skips bytes that belong to no record.
    fn skip(&mut self, length: u64) -> Result<(), Error> {
        if let DataExtent::Until(end) = self.extent
            && length > end.saturating_sub(self.input.position)
        {
            return Err(self.input.error(format!(
                "expected hardware trace, found a length of {length} bytes, which exceeds the file"
            )));
        }
        self.input.skip(length)
    }

    /// Reads the features of a file, which follow the records. A pipe has them in records.
    pub(crate) fn read_features(&mut self, features: &mut Features) -> Result<(), Error> {
        if !matches!(self.extent, DataExtent::Until(_)) {
            return Ok(());
        }
        let bits: Vec<u32> = (0..Features::MOST)
            .filter(|bit| self.has_feature(*bit))
            .collect();
        let begin = self.input.position;
        let after_records = self.input.rest(MAX_AFTER_RECORDS)?;
        let mut places = RecordFields::new(&after_records, self.endian);
        let mut found = Vec::new();
        for bit in &bits {
            let (Some(offset), Some(size)) = (places.u64(), places.u64()) else {
                break;
            };
            let start = offset
                .checked_sub(begin)
                .and_then(|start| usize::try_from(start).ok());
            let length = usize::try_from(size).ok();
            let place = start.zip(length).and_then(|(start, length)| {
                Some(
                    start
                        ..start
                            .checked_add(length)
                            .filter(|end| *end <= after_records.len())?,
                )
            });
            found.extend(place.map(|place| (*bit, place)));
        }
        let is_cut = found.len() < bits.len();
        let table = bits.len() * 16;
        let end = found
            .iter()
            .map(|(_, place): &(u32, Range<usize>)| place.end)
            .max();
        let is_another = (after_records.get(end.unwrap_or(0).max(table)..))
            .is_some_and(|rest| FileEndian::from_magic(rest).is_some());
        features.set(after_records, found);
        match is_cut {
            _ if is_another => Err(self.input.error(ANOTHER.to_owned())),
            true => Err(self.input.error(
                "the recording is cut short: the data after the records (names of events, build ids, the host) is incomplete".to_owned(),
            )),
            false => Ok(()),
        }
    }
}

impl RecordInput<'_> {
    /// Returns an error at the next byte.
    fn error(&self, what: String) -> Error {
        Error::whole(format!("byte {}: {what}", self.position))
    }

    fn is_at_end(&mut self) -> Result<bool, Error> {
        self.lines.is_at_end().map_err(Error::Input)
    }

    /// Reads a small number of bytes.
    fn take(&mut self, length: usize, to: &mut Vec<u8>) -> Result<(), Error> {
        let mut missing = length;
        while missing > 0 {
            const AT_ONCE: usize = 1 << 16;
            let bytes = self
                .lines
                .peek(missing.min(AT_ONCE))
                .map_err(Error::Input)?;
            let length = bytes.len();
            if length == 0 {
                return Err(self.error(format!(
                    "the recording is cut short: {} missing",
                    plural(
                        missing as u64,
                        "byte of a record or a header is",
                        "bytes of a record or a header are"
                    )
                )));
            }
            to.extend_from_slice(bytes);
            self.lines.consume(length);
            self.position += length as u64;
            missing -= length;
        }
        Ok(())
    }

    fn skip(&mut self, length: u64) -> Result<(), Error> {
        let mut passed = Vec::new();
        let mut left = length;
        while left > 0 {
            passed.clear();
            let part = left.min(1 << 16);
            self.take(part as usize, &mut passed)?;
            left -= part;
        }
        Ok(())
    }

    /// Reads the rest of the input, at most `most` bytes.
    fn rest(&mut self, most: usize) -> Result<Vec<u8>, Error> {
        let mut rest = Vec::new();
        while rest.len() < most && !self.is_at_end()? {
            let length = self.lines.buffered().len();
            self.take(length.min(most - rest.len()), &mut rest)?;
        }
        Ok(rest)
    }
}
