//! The tables that samples refer to: locations, functions and mappings. Numbers begin with 1.

use std::cmp::Reverse;
use std::io::Write;

use cg_collections::maps::{Map, OrderedMap, OrderedSet};
use cg_names::paths::base_name;
use cg_stream::record::{Frame, HexAddress, MappingFacts};

use super::super::stacks::{StackNodeId, StackRows, WrittenFrameId};
use super::{PprofWriting, field};

/// The distinct locations. A location is a frame after the frames that are inlined into it.
#[derive(Default)]
pub(super) struct PprofLocations {
    all: OrderedSet<Box<[WrittenFrameId]>>,
    /// Buffer for the current location.
    frames: Vec<WrittenFrameId>,
    /// Buffer for the current stack.
    stack: Vec<u64>,
}

impl PprofLocations {
    /// Returns the numbers of a stack's locations, innermost first.
    pub(super) fn number_stack(&mut self, rows: &StackRows, node: StackNodeId) -> &[u64] {
        self.stack.clear();
        for frame in rows.nodes.frames(node) {
            self.frames.push(frame);
            if !rows.frame(frame).inlined {
                self.end();
            }
        }
        if !self.frames.is_empty() {
            self.end();
        }
        &self.stack
    }

    fn end(&mut self) {
        let position = match self.all.get_index_of(&self.frames[..]) {
            Some(position) => position,
            None => self.all.insert_full(self.frames.as_slice().into()).0,
        };
        self.stack.push(position as u64 + 1);
        self.frames.clear();
    }
}

/// The mappings in the profile, and one mapping for each other object.
struct PprofMappings<'t> {
    recorded: &'t [MappingFacts],
    /// For each object, its mappings: their offset in its file and their position. Without an object, the start in memory.
    by_object: Map<Option<&'t str>, Vec<(u64, usize)>>,
    /// The end of the address range of each other object.
    others: OrderedMap<&'t str, u64>,
}

impl<'t> PprofMappings<'t> {
    fn new(recorded: &'t [MappingFacts]) -> PprofMappings<'t> {
        let mut by_object: Map<Option<&str>, Vec<(u64, usize)>> = Map::default();
        for (position, mapping) in recorded.iter().enumerate() {
            let object = mapping.obj.as_deref();
            let begin = object.map_or(mapping.start.0, |_| mapping.offset.0);
            by_object.entry(object).or_default().push((begin, position));
        }
        for mappings in by_object.values_mut() {
            // If several mappings have the same start, the search finds the first.
            mappings.sort_unstable_by_key(|(begin, position)| (*begin, Reverse(*position)));
        }
        PprofMappings {
            recorded,
            by_object,
            others: OrderedMap::default(),
        }
    }

    /// Returns the number of a frame's mapping, and the address of the frame in memory. Addresses of frames are relative to
    /// the object's file; without an object they are addresses in memory.
    fn place(&mut self, frame: &'t Frame) -> (u64, u64) {
        let digits = frame
            .addr
            .as_deref()
            .and_then(|addr| addr.strip_prefix("0x"));
        let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let object = frame.obj.as_deref();
        let number = |position: usize| position as u64 + 1;
        if let Some(position) = self.find_recorded(object, address) {
            let mapping = &self.recorded[position];
            let in_memory = |address: u64| match object {
                Some(_) => address
                    .wrapping_sub(mapping.offset.0)
                    .wrapping_add(mapping.start.0),
                None => address,
            };
            return (number(position), address.map_or(0, in_memory));
        }
        let Some(object) = object else {
            return (0, address.unwrap_or(0));
        };
        let entry = self.others.entry(object);
        let position = self.recorded.len() + entry.index();
        let end = entry.or_default();
        *end = (*end).max(address.map_or(0, |address| address.saturating_add(1)));
        (number(position), address.unwrap_or(0))
    }

    /// Finds the recorded mapping of an object that contains an address. If none contains it, returns the first mapping of a
    /// named object.
    fn find_recorded(&self, object: Option<&str>, address: Option<u64>) -> Option<usize> {
        let mappings = self.by_object.get(&object)?;
        let found = address.and_then(|address| {
            let following = mappings.partition_point(|(begin, _)| *begin <= address);
            let (begin, position) = mappings[following.checked_sub(1)?];
            let mapping = &self.recorded[position];
            let length = mapping.end.0.saturating_sub(mapping.start.0);
            (address - begin < length).then_some(position)
        });
        let any = || mappings.first().map(|(_, position)| *position);
        found.or_else(|| object.and_then(|_| any()))
    }
}

impl<W: Write> PprofWriting<W> {
    /// Writes mappings, locations and functions.
    pub(super) fn tables(&mut self, rows: &StackRows) -> anyhow::Result<()> {
        let recorded = std::mem::take(&mut self.run.sampling.mappings);
        let mut mappings = PprofMappings::new(&recorded);
        // pprof treats the first mapping as the program.
        let is_program = |object: &&str| !object.contains(".so") && !object.starts_with('[');
        let mut objects = rows.frames().filter_map(|frame| frame.obj.as_deref());
        if recorded.is_empty()
            && let Some(program) = objects.find(is_program)
        {
            mappings.others.insert(program, 0);
        }
        let mut functions: OrderedSet<(&str, &str)> = OrderedSet::default();
        let locations = std::mem::take(&mut self.locations.all);
        for (position, frames) in locations.iter().enumerate() {
            self.message.number(1, position as u64 + 1);
            // Inlined frames are at the address of the frame that they are inlined into.
            let host = frames.last().map(|frame| rows.frame(*frame));
            if let Some(host) = host {
                let (mapping, address) = mappings.place(host);
                self.message.number(2, mapping);
                self.message.number(3, address);
            }
            let is_nameless = self.is_from_pprof && host.is_some_and(is_named_by_its_place);
            for frame in frames.iter().filter(|_| !is_nameless) {
                let frame = rows.frame(*frame);
                let name = frame.name.as_deref().unwrap_or_default();
                let file = frame.file.as_deref().unwrap_or_default();
                let (function, _) = functions.insert_full((name, file));
                self.inner.number(1, function as u64 + 1);
                self.inner.number(2, frame.line.unwrap_or(0));
                self.message.message(4, &mut self.inner);
            }
            self.put(field::LOCATION)?;
        }
        for (position, (name, file)) in functions.into_iter().enumerate() {
            let (name, file) = (self.string(name)?, self.string(file)?);
            self.message.number(1, position as u64 + 1);
            self.message.number(2, name);
            self.message.number(4, file);
            self.put(field::FUNCTION)?;
        }
        let others = mappings
            .others
            .into_iter()
            .map(|(object, end)| MappingFacts {
                obj: Some(object.to_owned()),
                end: HexAddress(end),
                known: MappingFacts::KNOWN.map(str::to_owned).to_vec(),
                ..MappingFacts::default()
            });
        let others: Vec<MappingFacts> = others.collect();
        for (position, mapping) in recorded.iter().chain(&others).enumerate() {
            self.mapping(position as u64 + 1, mapping)?;
        }
        Ok(())
    }

    fn mapping(&mut self, number: u64, mapping: &MappingFacts) -> anyhow::Result<()> {
        let object = self.string(mapping.obj.as_deref().unwrap_or_default())?;
        let build_id = self.string(mapping.build_id.as_deref().unwrap_or_default())?;
        for (field, number) in [
            (1, number),
            (2, mapping.start.0),
            (3, mapping.end.0),
            (4, mapping.offset.0),
            (5, object),
            (6, build_id),
        ] {
            self.message.number(field, number);
        }
        for (field, fact) in (7..).zip(MappingFacts::KNOWN) {
            let is_known = mapping.known.iter().any(|known| known == fact);
            self.message.number(field, u64::from(is_known));
        }
        Ok(self.put(field::MAPPING)?)
    }
}

/// Returns true if the name of a frame is only its object and place, or its address: cg-parse names locations without
/// functions in this way.
fn is_named_by_its_place(frame: &Frame) -> bool {
    let (Some(name), Some(address)) = (frame.name.as_deref(), frame.addr.as_deref()) else {
        return false;
    };
    match frame.obj.as_deref() {
        Some(object) => name
            .strip_prefix(base_name(object))
            .and_then(|rest| rest.strip_prefix('+'))
            .is_some_and(|place| place == address),
        None => name == address,
    }
}
