//! Facts about the whole recording: the host, perf itself, events and build ids.

use std::collections::BTreeMap;
use std::ops::Range;

use cg_stream::record::{Name, RunRecord};

use crate::container::RecordHeader;
use crate::fields::{FileEndian, RecordFields};
use crate::records::RecordedBuildId;

/// Numbers of features (`HEADER_…` in tools/perf/util/header.h).
mod number {
    pub(super) const BUILD_ID: u32 = 2;
    pub(super) const HOSTNAME: u32 = 3;
    pub(super) const OS_RELEASE: u32 = 4;
    pub(super) const VERSION: u32 = 5;
    pub(super) const ARCH: u32 = 6;
    pub(super) const CPU_DESCRIPTION: u32 = 8;
    pub(super) const COMMAND_LINE: u32 = 11;
    pub(super) const EVENT_DESCRIPTION: u32 = 12;
}

/// The features by number, not yet decoded.
pub(crate) struct Features {
    bytes: Vec<u8>,
    places: BTreeMap<u32, Range<usize>>,
    endian: FileEndian,
}

/// The name and ids of an event.
pub(crate) struct EventDescription {
    pub(crate) name: Vec<u8>,
    pub(crate) ids: Vec<u64>,
}

impl Features {
    /// The maximum number of features.
    pub(crate) const MOST: u32 = 256;

    pub(crate) fn new(endian: FileEndian) -> Features {
        Features {
            bytes: Vec::new(),
            places: BTreeMap::new(),
            endian,
        }
    }

    /// Sets the features of a file: the bytes after its records, and the range of each feature.
    pub(crate) fn set(&mut self, bytes: Vec<u8>, places: Vec<(u32, Range<usize>)>) {
        self.bytes = bytes;
        self.places = places.into_iter().collect();
    }

    /// Adds a feature from a record of a pipe: its number, then its data.
    pub(crate) fn add_record(&mut self, mut body: RecordFields) {
        let number = body.u64().and_then(|number| u32::try_from(number).ok());
        if let Some(number) = number.filter(|number| *number < Features::MOST)
            && !self.places.contains_key(&number)
        {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(body.bytes);
            self.places.insert(number, start..self.bytes.len());
        }
    }

    fn fields(&self, number: u32) -> Option<RecordFields<'_>> {
        let bytes = &self.bytes[self.places.get(&number)?.clone()];
        Some(RecordFields::new(bytes, self.endian))
    }

    fn text(&self, number: u32) -> Option<String> {
        let bytes = self.fields(number)?.counted_text()?;
        Some(Name::from_bytes(bytes).into_string()).filter(|text| !text.is_empty())
    }

    /// Returns the release of the kernel.
    pub(crate) fn os_release(&self) -> Option<String> {
        self.text(number::OS_RELEASE)
    }

    /// Adds the facts about the run to its record, as for the header of `perf script`.
    pub(crate) fn set_run_fields(&self, run: &mut RunRecord) {
        let facts = [
            ("hostname", number::HOSTNAME),
            ("os release", number::OS_RELEASE),
            ("perf version", number::VERSION),
            ("arch", number::ARCH),
            ("cpudesc", number::CPU_DESCRIPTION),
        ];
        for (key, number) in facts {
            if let Some(text) = self.text(number) {
                cg_stacks::perf::set_run_field(key, &text, run);
            }
        }
        if let Some(line) = self.command_line() {
            cg_stacks::perf::set_run_field("cmdline", &line, run);
        }
    }

    fn command_line(&self) -> Option<String> {
        Some(self.command_words()?.join(" "))
    }

    fn command_words(&self) -> Option<Vec<String>> {
        let mut fields = self.fields(number::COMMAND_LINE)?;
        let mut words = Vec::new();
        for _ in 0..fields.u32()? {
            words.push(Name::from_bytes(fields.counted_text()?).into_string());
        }
        Some(words)
    }

    /// Returns true if perf recorded each processor by a thread of its own, which is the default of `--threads`.
    pub(crate) fn has_a_thread_for_each_processor(&self) -> bool {
        let words = self.command_words().unwrap_or_default();
        let is_option = |word: &String| matches!(&word[..], "--threads" | "--threads=cpu");
        words.iter().any(is_option)
    }

    /// Returns the build ids of the sampled objects, up to the first unreadable one.
    pub(crate) fn build_ids(&self) -> Vec<RecordedBuildId> {
        let mut found = Vec::new();
        let Some(mut fields) = self.fields(number::BUILD_ID) else {
            return found;
        };
        let mut next = || {
            let size = u16::from_ne_bytes([*fields.bytes.get(6)?, *fields.bytes.get(7)?]);
            let size = self.endian.u16(size.to_ne_bytes());
            let record = fields.take(usize::from(size).max(RecordHeader::LENGTH))?;
            let (header, body) = RecordHeader::split(record, self.endian)?;
            RecordedBuildId::read(body, header.misc)
        };
        while let Some(id) = next() {
            found.push(id);
        }
        found
    }

    /// Returns the names of events, up to the first unreadable one.
    pub(crate) fn events(&self) -> Vec<EventDescription> {
        let mut found = Vec::new();
        let Some(mut fields) = self.fields(number::EVENT_DESCRIPTION) else {
            return found;
        };
        let (Some(count), Some(size)) = (fields.u32(), fields.u32()) else {
            return found;
        };
        let mut next = || {
            fields.take(usize::try_from(size).ok()?)?;
            let ids = fields.u32()?;
            let name = fields.counted_text()?.to_vec();
            let ids = fields.words(ids.into())?.iter().collect();
            Some(EventDescription { name, ids })
        };
        for _ in 0..count {
            match next() {
                Some(event) => found.push(event),
                None => break,
            }
        }
        found
    }
}
