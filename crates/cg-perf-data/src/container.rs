//! The container: what stands around the records.

use std::ops::Range;

use cg_reader::{Error, Lines};

use crate::attributes::EventAttribute;
use crate::features::Features;
use crate::fields::{FileEndian, RecordFields};
use crate::records::kind;
use crate::unpack::RecordUnpacker;

/// A recording while it is read.
pub(crate) struct Container<'l> {
    input: RecordInput<'l>,
    pub(crate) endian: FileEndian,
    extent: DataExtent,
    /// The features of a file, a bit each.
    feature_bits: [u64; 4],
    unpacker: RecordUnpacker,
    /// Whether packed records were met.
    pub(crate) is_packed: bool,
    /// How much of what a processor traced by itself was passed over.
    pub(crate) traced_bytes: u64,
    /// Attributes of a file, each with the ids of its event.
    pub(crate) attributes: Vec<(EventAttribute, Vec<u64>)>,
}

/// Where the records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataExtent {
    /// At this byte.
    Until(u64),
    /// Where the input ends, as `perf record -o -` leaves it.
    Pipe,
    /// Where the input ends, as perf was killed before it wrote where.
    Unfinished,
}

/// Bytes of an input, and how many were taken.
struct RecordInput<'l> {
    lines: &'l mut Lines,
    position: u64,
}

/// A record, and perf's `misc` of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordHeader {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    size: u16,
}

impl RecordHeader {
    pub(crate) const LENGTH: usize = 8;

    /// The header of a record, and its body.
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

/// What may stand in front of the records. perf writes attributes and ids there.
const MOST_IN_FRONT: u64 = 64 << 20;
/// What may stand behind them.
const MOST_BEHIND: usize = 256 << 20;
const FILE_HEADER: usize = 104;
/// Two recordings that were put together.
const ANOTHER: &str =
    "another recording follows, which is not read; give the recordings one by one";
const PIPE_HEADER: u64 = 16;

impl<'l> Container<'l> {
    /// Reads what stands in front of the records.
    pub(crate) fn open(lines: &'l mut Lines) -> Result<Container<'l>, Error> {
        let mut input = RecordInput { lines, position: 0 };
        let mut head = Vec::new();
        input.take(16, &mut head)?;
        let endian = FileEndian::of_magic(&head).ok_or_else(|| {
            Error::whole("expected PERFILE2 at the beginning of a recording of perf")
        })?;
        let mut container = Container {
            input,
            endian,
            extent: DataExtent::Pipe,
            feature_bits: [0; 4],
            unpacker: RecordUnpacker::new(),
            is_packed: false,
            traced_bytes: 0,
            attributes: Vec::new(),
        };
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

    /// Reads the rest of a file's header, and what stands between it and the records.
    fn read_front(&mut self, mut front: Vec<u8>) -> Result<(), Error> {
        self.input.take(FILE_HEADER - front.len(), &mut front)?;
        let header = front.clone();
        let damaged = || Error::whole("byte 16: the header names places that are not in the file");
        let mut fields = RecordFields::new(&header[16..], self.endian);
        let mut word = || fields.u64().ok_or_else(damaged);
        let (attribute_size, attributes, attributes_size) = (word()?, word()?, word()?);
        let (data, data_size) = (word()?, word()?);
        word()?;
        word()?;
        self.feature_bits = [word()?, word()?, word()?, word()?];
        if !(FILE_HEADER as u64..=MOST_IN_FRONT).contains(&data) {
            return Err(Error::whole(format!(
                "byte 40: expected records behind the header and {MOST_IN_FRONT} bytes at most, found them at byte {data}"
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
                        "byte 24: expected the attributes of events in front of the records, found them at byte {offset}"
                    ))
                })
        };
        // Each attribute is followed by where the ids of its event are.
        let size = usize::try_from(attribute_size)
            .ok()
            .filter(|size| (64 + 16..1 << 16).contains(size))
            .ok_or_else(damaged)?;
        // Whatever places they name: no byte is an id of two events.
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
                "the recording says of no event what was recorded",
            )),
            false => Ok(()),
        }
    }

    /// Puts the next record into `record`, with its header; false at the end.
    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<bool, Error> {
        loop {
            let unpacked = self.unpacker.next(self.endian, record);
            if unpacked.map_err(|what| self.input.trouble(what))? {
                return Ok(true);
            }
            if !self.next_stored(record)? {
                let more = self.unpacker.finish();
                if more.map_err(|what| self.input.trouble(what))? {
                    continue;
                }
                return match self.unpacker.left_over() {
                    0 => Ok(false),
                    left => Err(self.input.trouble(format!(
                        "the packed records are cut short: {left} bytes make no record"
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

    /// The next record as it stands in the input.
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
                return Err(self.input.trouble(
                    "the recording has no end: perf record was killed before it wrote how long it is and what it recorded on".to_owned(),
                ));
            }
            _ => {}
        }
        self.input.take(RecordHeader::LENGTH, record)?;
        if FileEndian::of_magic(record).is_some() {
            return Err(self.input.trouble(ANOTHER.to_owned()));
        }
        let size = RecordHeader::split(record, self.endian).map_or(0, |(header, _)| header.size);
        let size = usize::from(size);
        if size < RecordHeader::LENGTH || size as u64 > left {
            return Err(self.input.trouble(format!(
                "expected a record in front of this byte, found one of {size} bytes"
            )));
        }
        self.input.take(size - RecordHeader::LENGTH, record)?;
        Ok(true)
    }

    /// Passes over bytes that belong to no record.
    fn skip(&mut self, length: u64) -> Result<(), Error> {
        if let DataExtent::Until(end) = self.extent
            && length > end.saturating_sub(self.input.position)
        {
            return Err(self.input.trouble(format!(
                "expected what a processor traced, found {length} bytes of it, more than the file has"
            )));
        }
        self.input.skip(length)
    }

    /// Reads the features of a file, behind its records; a pipe has them in records.
    pub(crate) fn read_features(&mut self, features: &mut Features) -> Result<(), Error> {
        if !matches!(self.extent, DataExtent::Until(_)) {
            return Ok(());
        }
        let is_there = |bit: &u32| self.feature_bits[*bit as usize / 64] >> (bit % 64) & 1 != 0;
        let bits: Vec<u32> = (0..Features::MOST).filter(is_there).collect();
        let begin = self.input.position;
        let behind = self.input.rest(MOST_BEHIND)?;
        let mut places = RecordFields::new(&behind, self.endian);
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
                            .filter(|end| *end <= behind.len())?,
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
        let is_another = (behind.get(end.unwrap_or(0).max(table)..))
            .is_some_and(|rest| FileEndian::of_magic(rest).is_some());
        features.set(behind, found);
        match is_cut {
            _ if is_another => Err(self.input.trouble(ANOTHER.to_owned())),
            true => Err(self.input.trouble(
                "the recording is cut short: what stands behind the records (names of events, build ids, the host) is not whole".to_owned(),
            )),
            false => Ok(()),
        }
    }
}

impl RecordInput<'_> {
    /// An error at the byte that comes next.
    fn trouble(&self, what: String) -> Error {
        Error::whole(format!("byte {}: {what}", self.position))
    }

    fn is_at_end(&mut self) -> Result<bool, Error> {
        self.lines.is_at_end().map_err(Error::Input)
    }

    /// Takes so many bytes, which are few.
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
                return Err(self.trouble(format!(
                    "the recording is cut short: {missing} bytes of a record or a header are missing"
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

    /// All that is left, so many bytes at most.
    fn rest(&mut self, most: usize) -> Result<Vec<u8>, Error> {
        let mut rest = Vec::new();
        while rest.len() < most && !self.is_at_end()? {
            let length = self.lines.buffered().len();
            self.take(length.min(most - rest.len()), &mut rest)?;
        }
        Ok(rest)
    }
}
