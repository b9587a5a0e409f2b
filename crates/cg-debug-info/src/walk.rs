//! The walk over the entries of a unit, which finds the functions that contain the addresses.
//!
//! Parents precede their children. The walk writes the index of each entry to all addresses that the entry covers.
//! Afterwards every address has its innermost entry, without sorting and without an interval tree.

use std::ops::Range;

use gimli::{Abbreviation, AttributeValue, DebugInfoOffset, EntriesRaw, UnitOffset, constants};

use crate::dwarf::{DwarfUnits, OpenUnit, Slice, Stop};
use crate::limits::{Limits, Steps};

/// A function that contains an address, in the current unit.
pub(crate) struct RawNode {
    /// The number of the node that this node is inlined into; `None` for an out-of-line function.
    pub(crate) inlined_into: Option<u32>,
    pub(crate) origin: Origin,
    pub(crate) call_file: u64,
    pub(crate) call_line: u32,
}

/// The entry that describes a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Origin {
    /// An offset in the current `.debug_info`.
    Here(usize),
    /// An offset in dwz's alternate file.
    Alternate(usize),
}

impl Origin {
    /// Returns the offset in its `.debug_info`.
    pub(crate) fn offset(self) -> usize {
        match self {
            Origin::Here(offset) | Origin::Alternate(offset) => offset,
        }
    }

    /// Resolves a reference from another entry. References from the alternate file stay in the alternate file.
    pub(crate) fn seen_from(self, from: Origin) -> Origin {
        match (self, from) {
            (Origin::Here(offset), Origin::Alternate(_)) => Origin::Alternate(offset),
            (origin, _) => origin,
        }
    }
}

/// The value of an address without a node.
pub(crate) const NOTHING: u32 = u32::MAX;

/// The walk over one unit. `innermost` has one element per address.
pub(crate) struct Walk<'w, 'a> {
    addresses: &'w [u64],
    innermost: &'w mut [u32],
    /// The written range of `innermost`; `None` if nothing was written.
    pub(crate) written: Option<Range<usize>>,
    pub(crate) nodes: Vec<RawNode>,
    steps: &'w mut Steps,
    limits: &'w Limits,
    dwarf: &'w gimli::Dwarf<Slice<'a>>,
}

/// A function around the current entry, with its depth. Entries with other tags are not kept.
struct Above {
    depth: isize,
    /// The node; `None` if the function contains no address. Functions inlined into it then contain none either.
    node: Option<u32>,
}

/// The attributes of a function's entry.
#[derive(Default)]
struct FunctionEntry<'w> {
    low: Option<AttributeValue<Slice<'w>>>,
    high: Option<AttributeValue<Slice<'w>>>,
    ranges: Option<AttributeValue<Slice<'w>>>,
    origin: Option<AttributeValue<Slice<'w>>>,
    call_file: u64,
    call_line: u32,
}

impl<'w, 'a> Walk<'w, 'a> {
    /// Creates a walk. `innermost` may be empty for [`Walk::may_hold`].
    pub(crate) fn new(
        units: &'w DwarfUnits<'a>,
        addresses: &'w [u64],
        innermost: &'w mut [u32],
        steps: &'w mut Steps,
    ) -> Walk<'w, 'a> {
        Walk {
            addresses,
            innermost,
            written: None,
            nodes: Vec::new(),
            steps,
            limits: units.limits,
            dwarf: units.dwarf,
        }
    }

    /// Returns true if the unit may contain one of the addresses: it contains one, or does not declare its ranges.
    pub(crate) fn may_hold(&mut self, open: &OpenUnit<'a>) -> Result<bool, Stop> {
        if !matches!(
            open.tag,
            constants::DW_TAG_compile_unit | constants::DW_TAG_skeleton_unit
        ) {
            return Ok(false);
        }
        let entry = FunctionEntry {
            low: open
                .has_low_pc
                .then_some(AttributeValue::Addr(open.unit.low_pc)),
            high: open.high_pc,
            ranges: open.ranges,
            ..FunctionEntry::default()
        };
        if entry.ranges.is_none() && entry.high.is_none() {
            return Ok(true);
        }
        let mut holds = false;
        self.for_each_range(open, &entry, &mut |_, indices| holds |= !indices.is_empty())?;
        Ok(holds)
    }

    /// Walks all entries of the unit.
    pub(crate) fn walk(&mut self, open: &OpenUnit<'a>) -> Result<(), Stop> {
        let mut entries = open.unit.entries_raw(None)?;
        let mut above: Vec<Above> = Vec::new();
        while !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            // Do this for every entry, whatever its tag. Lexical blocks are not kept, but code after a block is not part of
            // a function that was inlined into the block.
            while above.last().is_some_and(|last| last.depth >= depth) {
                above.pop();
            }
            let host = above.last().and_then(|last| last.node);
            let inlined_into = match (abbreviation.tag(), host) {
                (constants::DW_TAG_subprogram, _) => None,
                (constants::DW_TAG_inlined_subroutine, Some(host)) => Some(host),
                _ => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    continue;
                }
            };
            let entry = read_function(&mut entries, abbreviation)?;
            let node = self.cover(open, offset, &entry, inlined_into)?;
            if abbreviation.has_children() {
                if above.len() >= self.limits.depth {
                    return Err(Stop::Beyond("functions are nested too deeply"));
                }
                above.push(Above { depth, node });
            }
        }
        Ok(())
    }

    /// Adds the addresses at which inlined code of the unit begins or ends.
    pub(crate) fn edges(&mut self, open: &OpenUnit<'a>, edges: &mut Vec<u64>) -> Result<(), Stop> {
        let mut entries = open.unit.entries_raw(None)?;
        while !entries.is_empty() {
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            if abbreviation.tag() != constants::DW_TAG_inlined_subroutine {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let entry = read_function(&mut entries, abbreviation)?;
            self.for_each_code(open, &entry, &mut |_, begin, end| {
                edges.extend([begin, end])
            })?;
        }
        Ok(())
    }

    /// Writes a new node to all addresses that the entry covers; `None` if it covers no address.
    fn cover(
        &mut self,
        open: &OpenUnit<'a>,
        offset: UnitOffset,
        entry: &FunctionEntry<'a>,
        inlined_into: Option<u32>,
    ) -> Result<Option<u32>, Stop> {
        if self.nodes.len() >= self.limits.nodes {
            return Err(Stop::Beyond("too many inlined functions"));
        }
        let number = u32::try_from(self.nodes.len()).map_err(|_| Stop::Exhausted)?;
        let mut written: Option<Range<usize>> = None;
        let done = self.for_each_range(open, entry, &mut |innermost, indices| {
            if !indices.is_empty() {
                written = Some(around(written.take(), &indices));
                innermost[indices].fill(number);
            }
        });
        let Some(written) = written else {
            return done.map(|()| None);
        };
        self.written = Some(around(self.written.take(), &written));
        let own = || {
            let offset = offset.to_debug_info_offset(&open.unit.header);
            Origin::Here(offset.map_or(usize::MAX, |offset| offset.0))
        };
        // Add the node even if its ranges are damaged, because addresses already refer to it.
        self.nodes.push(RawNode {
            inlined_into,
            origin: entry
                .origin
                .and_then(|origin| origin_of(origin, open))
                .unwrap_or_else(own),
            call_file: entry.call_file,
            call_line: entry.call_line,
        });
        done?;
        Ok(Some(number))
    }

    /// Calls `found` with the addresses in each range of the entry.
    fn for_each_range(
        &mut self,
        open: &OpenUnit<'a>,
        entry: &FunctionEntry<'a>,
        found: &mut dyn FnMut(&mut [u32], Range<usize>),
    ) -> Result<(), Stop> {
        let mut exhausted = Ok(());
        self.for_each_code(open, entry, &mut |walk, begin, end| {
            let first = walk.addresses.partition_point(|address| *address < begin);
            let length = walk.addresses[first..].partition_point(|address| *address < end);
            if exhausted.is_ok() {
                exhausted = walk.steps.take(length as u64);
                found(walk.innermost, first..first + length);
            }
        })?;
        Ok(exhausted?)
    }

    /// Calls `found` with the beginning and the end of each range of the entry.
    fn for_each_code(
        &mut self,
        open: &OpenUnit<'a>,
        entry: &FunctionEntry<'a>,
        found: &mut dyn FnMut(&mut Self, u64, u64),
    ) -> Result<(), Stop> {
        let mut range = |walk: &mut Self, begin: u64, end: u64| -> Result<(), Stop> {
            // Skip address 0: the linker discarded this code.
            if begin == 0 || begin >= end {
                return Ok(());
            }
            walk.steps.take(20)?;
            found(walk, begin, end);
            Ok(())
        };
        if let Some(ranges) = entry.ranges {
            let Some(mut list) = self.dwarf.attr_ranges(&open.unit, ranges)? else {
                return Ok(());
            };
            // `next` could read any number of entries without a range, so use `next_raw` and count the steps.
            while let Some(raw) = list.next_raw()? {
                self.steps.take(20)?;
                if let Some(gimli::Range { begin, end }) = list.convert_raw(raw)? {
                    range(self, begin, end)?;
                }
            }
        } else if let (Some(low), Some(high)) = (entry.low, entry.high) {
            let Some(begin) = self.dwarf.attr_address(&open.unit, low)? else {
                return Ok(());
            };
            let end = match self.dwarf.attr_address(&open.unit, high)? {
                Some(end) => end,
                None => begin.saturating_add(high.udata_value().unwrap_or(0)),
            };
            range(self, begin, end)?;
        }
        Ok(())
    }
}

/// Returns the smallest range that contains both ranges.
fn around(so_far: Option<Range<usize>>, more: &Range<usize>) -> Range<usize> {
    match so_far {
        Some(range) => range.start.min(more.start)..range.end.max(more.end),
        None => more.clone(),
    }
}

fn read_function<'w>(
    entries: &mut EntriesRaw<'_, Slice<'w>>,
    abbreviation: &Abbreviation,
) -> Result<FunctionEntry<'w>, gimli::Error> {
    let mut entry = FunctionEntry::default();
    for specification in abbreviation.attributes() {
        let attribute = entries.read_attribute(*specification)?;
        match attribute.name() {
            constants::DW_AT_low_pc => entry.low = Some(attribute.value()),
            constants::DW_AT_high_pc => entry.high = Some(attribute.value()),
            constants::DW_AT_ranges => entry.ranges = Some(attribute.value()),
            constants::DW_AT_abstract_origin => entry.origin = Some(attribute.value()),
            constants::DW_AT_call_file => entry.call_file = file_index(&attribute.value()),
            constants::DW_AT_call_line => {
                let line = attribute.udata_value().unwrap_or(0);
                entry.call_line = u32::try_from(line).unwrap_or(0);
            }
            _ => {}
        }
    }
    Ok(entry)
}

/// Returns the number of a file in the table of its unit.
pub(crate) fn file_index(value: &AttributeValue<Slice>) -> u64 {
    match value {
        AttributeValue::FileIndex(index) => *index,
        value => value.udata_value().unwrap_or(0),
    }
}

/// Returns the entry that an attribute of this unit refers to.
pub(crate) fn origin_of(value: AttributeValue<Slice>, open: &OpenUnit) -> Option<Origin> {
    match value {
        AttributeValue::UnitRef(offset) => {
            let DebugInfoOffset(offset) = offset.to_debug_info_offset(&open.unit.header)?;
            Some(Origin::Here(offset))
        }
        AttributeValue::DebugInfoRef(offset) => Some(Origin::Here(offset.0)),
        AttributeValue::DebugInfoRefSup(offset) => Some(Origin::Alternate(offset.0)),
        _ => None,
    }
}
