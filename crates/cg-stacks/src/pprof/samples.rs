//! The samples of a profile, added up by stack.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cg_collections::limits;
use cg_collections::maps::Map;
use cg_reader::{Error, Reading};
use cg_stream::record::{Count, FrameMarks, LabelMeaning, LabelValue, Name, SampleLabels};

use super::super::address;
use super::super::symbols::{AddressSymbol, BuildId, CountedFrom, FoundObject, OutermostName};
use super::super::table::{FrameId, FrameParts, NameId, StackKey, StackTable};
use super::program::{left_unnamed, program_among};
use super::tables::{LocationLine, PprofLocation, PprofTables};
use super::wire::{MessageBytes, MessageFields, WireValue};

/// Reads samples into a table of stacks.
pub(crate) struct PprofSamples<'p, 'a, 't> {
    tables: &'p PprofTables<'a>,
    is_demangled: bool,
    pub(crate) table: &'t mut StackTable,
    /// By location id: the range of its frames in `frames`.
    known: Map<u64, Range<u32>>,
    /// The frames of all locations in `known`, innermost first in each.
    frames: Vec<FrameId>,
    /// The labels' text in the table, by the labels of a sample.
    known_labels: Map<Vec<SampleLabel>, Option<NameId>>,
    /// By mapping and file offset: the functions of addresses that have no name in the profile.
    symbols: Map<(u64, u64), Vec<AddressSymbol>>,
    /// Buffers for the sample that is being read.
    sample: PprofSample,
}

#[derive(Default)]
struct PprofSample {
    locations: Vec<u64>,
    values: Vec<u64>,
    stack: Vec<FrameId>,
    lines: Vec<LocationLine>,
    labels: Vec<SampleLabel>,
}

/// A label by positions in the string table.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct SampleLabel {
    key: i64,
    text: i64,
    number: i64,
    unit: i64,
}

/// The thread and process of a sample, from its labels.
#[derive(Default)]
struct LabelledPlace {
    thread: Option<NameId>,
    thread_number: Option<i64>,
    process: Option<NameId>,
    pid: Option<u64>,
}

impl LabelledPlace {
    fn tid(&self) -> Option<u64> {
        u64::try_from(self.thread_number?).ok()
    }
}

impl<'p, 'a, 't> PprofSamples<'p, 'a, 't> {
    pub(crate) fn new(
        tables: &'p PprofTables<'a>,
        is_demangled: bool,
        table: &'t mut StackTable,
    ) -> PprofSamples<'p, 'a, 't> {
        PprofSamples {
            tables,
            is_demangled,
            table,
            known: Map::default(),
            frames: Vec::new(),
            known_labels: Map::default(),
            symbols: Map::default(),
            sample: PprofSample::default(),
        }
    }

    /// Looks up the names of locations without lines: in objects for which the profile has build ids, and in the program of
    /// `--exe` unless the profile has a different build id for it.
    pub(crate) fn look_up(&mut self, reading: &mut Reading) -> Result<(), Error> {
        let search = &reading.options.search;
        let mut unnamed: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let mut lines = Vec::new();
        let mut has_names = false;
        for location in self.tables.locations() {
            lines.clear();
            location.lines(&mut lines)?;
            has_names |= !lines.is_empty();
            if lines.is_empty()
                && let Some(address) = self.place_of(location)?.address
            {
                unnamed.entry(location.mapping).or_default().insert(address);
            }
        }
        let exe = FoundObject::program(search).unwrap_or_else(|message| {
            reading.error(message);
            None
        });
        let objects = self.tables.mapped_objects()?;
        let program = program_among(objects.iter().copied(), search);
        let (mut left, mut total) = (0, 0);
        for (mapping, addresses) in unnamed {
            let mapped = self.tables.mapping(mapping);
            let Some(object) = self.tables.bytes(mapped.filename)? else {
                continue;
            };
            let build_id = self.tables.bytes(mapped.build_id)?;
            let build_id = build_id.and_then(BuildId::elf);
            let own = (build_id.as_ref()).and_then(|id| FoundObject::find(object, id, search));
            let is_unknown_program = build_id.is_none() && program == Some(object);
            let is_exe = |exe: &&FoundObject| match &build_id {
                Some(id) => exe.has_build_id(id),
                None => is_unknown_program,
            };
            let mut named = 0;
            if let Some(found) = own.as_ref().or(exe.as_ref().filter(is_exe)) {
                let functions = found.functions(
                    &addresses,
                    CountedFrom::File,
                    OutermostName::DebugInfo,
                    search,
                );
                named = functions.len();
                for (address, functions) in functions {
                    self.symbols.insert((mapping, address), functions);
                }
            }
            if is_unknown_program {
                left += addresses.len() - named;
                total += addresses.len();
            }
        }
        // If a profile has some names, the missing ones have other reasons than a missing symbol table.
        let program = program.filter(|_| exe.is_some() || (search.exe.is_none() && !has_names));
        if let Some(warning) =
            program.and_then(|program| left_unnamed(program, left, total, search))
        {
            reading.warn(warning);
        }
        Ok(())
    }

    /// Reads all samples of a profile.
    pub(super) fn read(&mut self, bytes: &'a [u8]) -> Result<(), Error> {
        let mut fields = MessageFields::new(bytes);
        while let Some((number, value)) = fields.next()? {
            if number == 2
                && let Some(message) = value.message()
            {
                self.sample(message)?;
            }
        }
        Ok(())
    }

    fn sample(&mut self, message: MessageBytes<'a>) -> Result<(), Error> {
        let mut sample = std::mem::take(&mut self.sample);
        sample.locations.clear();
        sample.values.clear();
        sample.labels.clear();
        let mut place = LabelledPlace::default();
        let mut fields = message.fields();
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => value.push_to(&mut sample.locations)?,
                2 => value.push_to(&mut sample.values)?,
                3 => {
                    let label = self.label(value, &mut place)?;
                    limits::push(&mut sample.labels, label)?;
                }
                _ => {}
            }
        }
        let columns = self.table.events().len();
        if sample.values.len() != columns {
            return Err(Error::whole(format!(
                "byte {}: expected a sample with {columns} values, found {}",
                message.start,
                sample.values.len()
            )));
        }
        sample.stack.clear();
        for location in &sample.locations {
            let frames = self.frames_of(*location, &mut sample.lines)?;
            sample.stack.extend_from_slice(&self.frames[frames]);
        }
        // pprof has already added up the samples of each stack.
        let stack = self.table.rare_stack(&sample.stack)?;
        let thread = match (place.thread, place.thread_number) {
            (None, Some(number)) => Some(self.table.text(number.to_string().as_bytes())?),
            (thread, _) => thread,
        };
        let labels = self.labels(&sample.labels)?;
        let row = self.table.row(StackKey {
            stack,
            thread,
            tid: place.tid(),
            process: place.process,
            pid: place.pid,
            labels,
            ..StackKey::default()
        })?;
        for (event, value) in sample.values.iter().enumerate() {
            self.table.add(row, event, Count::from(*value as i64));
        }
        self.sample = sample;
        Ok(())
    }

    /// Reads a label. If it contains a thread or process, sets the field of `place`.
    fn label(
        &mut self,
        label: WireValue<'a>,
        place: &mut LabelledPlace,
    ) -> Result<SampleLabel, Error> {
        let mut read = SampleLabel::default();
        super::tables::each(label, |field, value| match field {
            1 => read.key = value.signed(),
            2 => read.text = value.signed(),
            3 => read.number = value.signed(),
            4 => read.unit = value.signed(),
            _ => {}
        })?;
        let Some(meaning) = self
            .tables
            .bytes(read.key)?
            .and_then(LabelMeaning::from_key)
        else {
            return Ok(read);
        };
        let value: Cow<[u8]> = match self.tables.bytes(read.text)? {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(read.number.to_string().into_bytes()),
        };
        let number = || std::str::from_utf8(&value).ok()?.parse::<i64>().ok();
        match meaning {
            LabelMeaning::Thread => place.thread = self.table.text_unless_empty(&value)?,
            LabelMeaning::ThreadNumber => place.thread_number = number(),
            LabelMeaning::Process => place.process = self.table.text_unless_empty(&value)?,
            LabelMeaning::Pid => place.pid = number().and_then(|pid| u64::try_from(pid).ok()),
        }
        Ok(read)
    }

    /// Returns the labels that the record's thread and process fields do not already express.
    fn labels(&mut self, labels: &[SampleLabel]) -> Result<Option<NameId>, Error> {
        if let Some(known) = self.known_labels.get(labels) {
            return Ok(*known);
        }
        let mut kept = Vec::with_capacity(labels.len());
        for label in labels {
            let text = |position| {
                let text = self.tables.text(position)?;
                Ok::<String, Error>(text.map_or_else(String::new, Name::into_string))
            };
            let value = match (self.tables.bytes(label.text)?, label.unit) {
                (Some(_), _) => LabelValue::Text(text(label.text)?),
                (None, 0) => LabelValue::Number(label.number, None),
                (None, unit) => LabelValue::Number(label.number, Some(text(unit)?)),
            };
            kept.push((text(label.key)?, value));
        }
        // Keep or drop the thread's labels as a group, and likewise the process's: a partial set would look complete.
        for for_thread in [true, false] {
            let is_in_group = |(key, _): &(String, LabelValue)| {
                LabelMeaning::from_key(key.as_bytes())
                    .is_some_and(|meaning| meaning.describes_thread() == for_thread)
            };
            if kept
                .iter()
                .filter(|label| is_in_group(label))
                .all(is_redundant)
            {
                kept.retain(|label| !is_in_group(label));
            }
        }
        let kept = match SampleLabels::new(kept) {
            Some(kept) => Some(self.table.text(kept.text().as_bytes())?),
            None => None,
        };
        self.known_labels.insert(labels.to_vec(), kept);
        Ok(kept)
    }

    /// Appends the frames of a location to a stack, innermost first.
    pub(crate) fn push_frames(&mut self, id: u64, stack: &mut Vec<FrameId>) -> Result<(), Error> {
        let mut lines = std::mem::take(&mut self.sample.lines);
        let frames = self.frames_of(id, &mut lines)?;
        self.sample.lines = lines;
        stack.extend_from_slice(&self.frames[frames]);
        Ok(())
    }

    /// Returns the range of a location's frames in `frames`, innermost first.
    fn frames_of(&mut self, id: u64, lines: &mut Vec<LocationLine>) -> Result<Range<usize>, Error> {
        let as_usize = |range: &Range<u32>| range.start as usize..range.end as usize;
        if let Some(known) = self.known.get(&id) {
            return Ok(as_usize(known));
        }
        let location = self.tables.location(id)?;
        lines.clear();
        location.lines(lines)?;
        let position = |length: usize| {
            u32::try_from(length).map_err(|_| Error::from(cg_collections::intern::TooMany::Values))
        };
        let start = position(self.frames.len())?;
        let place = self.place_of(&location)?;
        if lines.is_empty() && !self.push_looked_up(&location, &place)? {
            let frame = self.unnamed(&location, &place)?;
            self.frames.push(frame);
        }
        for (level, line) in lines.iter().enumerate() {
            let is_inlined = level + 1 < lines.len();
            let frame = self.named(&location, &place, line, is_inlined)?;
            self.frames.push(frame);
        }
        let range = start..position(self.frames.len())?;
        self.known.insert(id, range.clone());
        Ok(as_usize(&range))
    }

    /// Returns the object of a location, and the offset in the object's file.
    fn place_of(&self, location: &PprofLocation) -> Result<ObjectPlace<'a>, Error> {
        let Some(mapping) = self.tables.mapping_of(location)? else {
            return Ok(ObjectPlace::default());
        };
        let object = self.tables.bytes(mapping.filename)?;
        let address = location.address.wrapping_sub(mapping.memory_start);
        Ok(ObjectPlace {
            object,
            address: object.map(|_| address.wrapping_add(mapping.file_offset)),
        })
    }

    fn named(
        &mut self,
        location: &PprofLocation,
        place: &ObjectPlace,
        line: &LocationLine,
        is_inlined: bool,
    ) -> Result<FrameId, Error> {
        let function = self.tables.function_of(line)?.copied().unwrap_or_default();
        let name = match self.tables.bytes(function.name)? {
            Some(name) => Some(name),
            None => self.tables.bytes(function.system_name)?,
        };
        let Some(name) = name else {
            return self.unnamed(location, place);
        };
        let file = self.tables.bytes(function.filename)?.unwrap_or_default();
        let object = place.object.unwrap_or_default();
        let parts = FrameParts {
            name: self.table.function(name, self.is_demangled)?,
            file: self.table.text_unless_empty(file)?,
            line: u64::try_from(line.line).ok().filter(|line| *line > 0),
            obj: self.table.text_unless_empty(object)?,
            addr: place
                .address
                .or(Some(location.address))
                .filter(|address| *address != 0),
            marks: FrameMarks {
                inlined: is_inlined,
                ..marks_of(location, object)
            },
        };
        Ok(self.table.frame(parts)?)
    }

    /// Adds the looked-up frames of a location. Returns false if there are none.
    fn push_looked_up(
        &mut self,
        location: &PprofLocation,
        place: &ObjectPlace,
    ) -> Result<bool, Error> {
        let (Some(object), Some(address)) = (place.object, place.address) else {
            return Ok(false);
        };
        let Some(functions) = self.symbols.get(&(location.mapping, address)) else {
            return Ok(false);
        };
        for (level, function) in functions.iter().enumerate() {
            let parts = FrameParts {
                name: self.table.function(&function.name, self.is_demangled)?,
                file: self.table.text_unless_empty(&function.file)?,
                line: function.line,
                obj: self.table.text_unless_empty(object)?,
                addr: Some(address),
                marks: FrameMarks {
                    inlined: level + 1 < functions.len(),
                    ..marks_of(location, object)
                },
            };
            self.frames.push(self.table.frame(parts)?);
        }
        Ok(true)
    }

    fn unnamed(&mut self, location: &PprofLocation, place: &ObjectPlace) -> Result<FrameId, Error> {
        let parts = match (place.object, place.address) {
            (Some(object), Some(address)) => address::in_object(self.table, object, address)?,
            _ => address::anywhere(self.table, location.address)?,
        };
        let marks = marks_of(location, place.object.unwrap_or_default());
        Ok(self.table.frame(FrameParts { marks, ..parts })?)
    }
}

/// Returns the marks for code at a location, from the location and its object's name.
fn marks_of(location: &PprofLocation, object: &[u8]) -> FrameMarks {
    let marks = address::marks_of(object);
    FrameMarks {
        kernel: marks.kernel || location.is_kernel,
        ..marks
    }
}

/// The object of a location, and the offset in the object's file, which is the same in every run.
#[derive(Default)]
struct ObjectPlace<'a> {
    object: Option<&'a [u8]>,
    address: Option<u64>,
}

/// Returns true if cg-fmt would write the same label from `thread`, `tid` and `process`.
fn is_redundant((key, value): &(String, LabelValue)) -> bool {
    match (&key[..], value) {
        ("thread" | "process", LabelValue::Text(_)) => true,
        ("tid", LabelValue::Number(number, None)) => *number >= 0,
        _ => false,
    }
}
