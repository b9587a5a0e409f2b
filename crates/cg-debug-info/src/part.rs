//! The beginning of the debug information, if it suffices for some addresses.
//!
//! Large debug files are compressed, and decompressing all of C's library takes longer than reading a small profile.
//! `.debug_aranges` lists the units that contain the addresses. Everything after the last of these units stays unread.

use std::collections::BTreeSet;

use gimli::{
    AttributeValue, DebugAbbrev, DebugAranges, DebugInfo, DebugInfoOffset, DwarfSections,
    EndianSlice, Reader as _, RunTimeEndian, SectionId, constants,
};

use crate::dwarf::SECTIONS;
use crate::object_file::{Budget, ObjectFile};

/// The maximum length of the fields of a unit's header up to the offset of its abbreviations.
const UNIT_START: u64 = 12;
/// The length of most line tables at most.
const LINE_TABLE: u64 = 64 << 10;

/// Reads the sections up to the last unit that contains one of the addresses, which have to be sorted; `None` if this unit is
/// unknown or in the second half.
pub(crate) fn load(file: &ObjectFile, addresses: &[u64]) -> Option<DwarfSections<Vec<u8>>> {
    let mut budget = file.budget();
    let endian = file.dwarf_endian();
    let needed = NeededUnits::find(file, addresses, &mut budget)?;
    if needed.end > file.size_of(b".debug_info") / 2 {
        return None;
    }
    let mut info = file
        .read_beginning(b".debug_info", needed.end + UNIT_START, &mut budget)
        .ok()?;
    let abbreviations_end = abbreviations_end(&info, needed.end, endian)?;
    info.truncate(usize::try_from(needed.end).ok()?);
    let abbreviations = file
        .read_beginning(b".debug_abbrev", abbreviations_end, &mut budget)
        .ok()?;
    let lines = match needed.last_line_table(&info, &abbreviations, endian)? {
        Some(last) => line_tables(file, last, &mut budget)?,
        None => Vec::new(),
    };
    let mut parts = [info, abbreviations, lines].map(Some);
    DwarfSections::load(|id| {
        let part = match id {
            SectionId::DebugInfo => parts[0].take(),
            SectionId::DebugAbbrev => parts[1].take(),
            SectionId::DebugLine => parts[2].take(),
            _ => None,
        };
        match part {
            Some(part) => Ok(part),
            None if SECTIONS.contains(&id) => file.read(id.name().as_bytes(), &mut budget),
            None => Ok(Vec::new()),
        }
    })
    .ok()
}

/// The units that contain the addresses.
struct NeededUnits {
    /// Their offsets in `.debug_info`.
    offsets: BTreeSet<usize>,
    /// The offset of the unit after the last one.
    end: u64,
}

impl NeededUnits {
    fn find(file: &ObjectFile, addresses: &[u64], budget: &mut Budget) -> Option<NeededUnits> {
        let table = file.read(b".debug_aranges", budget).ok()?;
        let table = DebugAranges::new(&table, file.dwarf_endian());
        let mut is_covered = vec![false; addresses.len()];
        let (mut units, mut offsets) = (BTreeSet::new(), BTreeSet::new());
        let mut headers = table.headers();
        while let Some(header) = headers.next().ok()? {
            let unit = header.debug_info_offset().0;
            units.insert(unit);
            let mut entries = header.entries();
            while let Some(entry) = entries.next().ok()? {
                let range = entry.range();
                let from = addresses.partition_point(|address| *address < range.begin);
                let to = addresses.partition_point(|address| *address < range.end);
                if from < to {
                    offsets.insert(unit);
                    is_covered[from..to].fill(true);
                }
            }
        }
        let mut covered = addresses.iter().zip(&is_covered);
        if !covered.all(|(address, is_covered)| *is_covered || file.is_in_stubs(*address)) {
            return None;
        }
        let last = *offsets.last()?;
        let end = *units.range(last + 1..).next()? as u64;
        Some(NeededUnits { offsets, end })
    }

    /// Returns the offset of the last line table of these units; `None` inside if they have none.
    fn last_line_table(
        &self,
        info: &[u8],
        abbreviations: &[u8],
        endian: RunTimeEndian,
    ) -> Option<Option<usize>> {
        let info = DebugInfo::from(EndianSlice::new(info, endian));
        let abbreviations = DebugAbbrev::from(EndianSlice::new(abbreviations, endian));
        let mut last = None;
        for unit in &self.offsets {
            let header = info.header_from_offset(DebugInfoOffset(*unit)).ok()?;
            let known = abbreviations.abbreviations(header.debug_abbrev_offset());
            let known = known.ok()?;
            let root = header.entry(&known, header.root_offset()).ok()?;
            for attribute in root.attrs() {
                if let (constants::DW_AT_stmt_list, AttributeValue::DebugLineRef(table)) =
                    (attribute.name(), attribute.value())
                {
                    last = last.max(Some(table.0));
                }
            }
        }
        Some(last)
    }
}

/// Returns the end of the abbreviations of all units before `end`; `None` if they are not in the order of the units, or if
/// the units do not end there.
fn abbreviations_end(info: &[u8], end: u64, endian: RunTimeEndian) -> Option<u64> {
    // Length of the unit, offset of its abbreviations.
    let start = |at: u64| {
        let mut unit = EndianSlice::new(info.get(usize::try_from(at).ok()?..)?, endian);
        let length = unit
            .read_u32()
            .ok()
            .filter(|length| *length < 0xffff_fff0)?;
        if unit.read_u16().ok()? >= 5 {
            unit.read_u16().ok()?;
        }
        Some((u64::from(length) + 4, u64::from(unit.read_u32().ok()?)))
    };
    let (_, abbreviations_end) = start(end)?;
    let mut at = 0;
    while at < end {
        let (length, abbreviations) = start(at)?;
        if abbreviations >= abbreviations_end {
            return None;
        }
        at += length;
    }
    (at == end).then_some(abbreviations_end)
}

/// Reads the line tables up to the one at an offset.
fn line_tables(file: &ObjectFile, last: usize, budget: &mut Budget) -> Option<Vec<u8>> {
    let mut read = |length: u64| {
        let read = file.read_beginning(b".debug_line", length, budget);
        read.ok()
    };
    let tables = read(last as u64 + LINE_TABLE)?;
    let mut table = EndianSlice::new(tables.get(last..)?, file.dwarf_endian());
    let length = table
        .read_u32()
        .ok()
        .filter(|length| *length < 0xffff_fff0)?;
    let end = last as u64 + 4 + u64::from(length);
    match end <= tables.len() as u64 {
        true => Some(tables),
        false => read(end),
    }
}
