//! The part of the debug information that describes some addresses.
//!
//! A large debug file holds thousands of units, and a recording has addresses in a few of them. `.debug_aranges` lists the
//! units that contain each address. The headers of the units lead from one unit to the next, so all other units are skipped.
//! The entries of a unit say where its abbreviations and its line table are.

use std::collections::BTreeSet;

use gimli::{DwarfSections, EndianSlice, Reader as _, SectionId};
use object::Endian as _;

use crate::Error;
use crate::dwarf::{DwarfUnits, KnownUnits, Stop, load_sections};
use crate::limits::Steps;
use crate::object_file::{Budget, ObjectFile};

/// The units that contain some addresses, with all sections that they need.
pub(crate) struct DwarfPart {
    pub(crate) sections: DwarfSections<Vec<u8>>,
    pub(crate) units: KnownUnits,
}

/// The part cannot be read separately.
#[derive(Debug)]
struct NotSeparable;

impl From<Error> for NotSeparable {
    fn from(_: Error) -> NotSeparable {
        NotSeparable
    }
}

impl From<std::io::Error> for NotSeparable {
    fn from(_: std::io::Error) -> NotSeparable {
        NotSeparable
    }
}

impl From<gimli::Error> for NotSeparable {
    fn from(_: gimli::Error) -> NotSeparable {
        NotSeparable
    }
}

impl From<Stop> for NotSeparable {
    fn from(_: Stop) -> NotSeparable {
        NotSeparable
    }
}

/// Reads the units that contain some of `addresses`, which have to be sorted; `None` if everything has to be read.
pub(crate) fn load(file: &ObjectFile, addresses: &[u64]) -> Option<DwarfPart> {
    read(file, addresses).ok()
}

fn read(file: &ObjectFile, addresses: &[u64]) -> Result<DwarfPart, NotSeparable> {
    let mut budget = file.budget();
    let listed = ListedUnits::read(file, addresses, &mut budget)?;
    let read = ReadUnits::read(file, &listed, &mut budget)?;
    let abbreviations = read.read_abbreviations(file, &mut budget)?;
    let mut parts = [read.info, abbreviations].map(Some);
    let mut sections = load_sections(|id| match id {
        SectionId::DebugInfo => Ok(parts[0].take().unwrap_or_default()),
        SectionId::DebugAbbrev => Ok(parts[1].take().unwrap_or_default()),
        SectionId::DebugLine => Ok(Vec::new()),
        id => file.read(id.name().as_bytes(), &mut budget),
    })?;
    let tables = find_line_tables(file, &sections, &read.units)?;
    sections.debug_line = read_line_tables(file, &tables, &mut budget)?.into();
    Ok(DwarfPart {
        sections,
        units: read.units,
    })
}

/// The units in `.debug_aranges`.
struct ListedUnits {
    /// Their offsets in `.debug_info`.
    all: BTreeSet<u64>,
    /// The units that contain some of the addresses.
    needed: BTreeSet<u64>,
    /// True if each address is in one of the units.
    are_complete: bool,
}

impl ListedUnits {
    fn read(
        file: &ObjectFile,
        addresses: &[u64],
        budget: &mut Budget,
    ) -> Result<ListedUnits, NotSeparable> {
        let table = file.read(b".debug_aranges", budget)?;
        let table = gimli::DebugAranges::new(&table, file.dwarf_endian());
        let mut listed = ListedUnits {
            all: BTreeSet::new(),
            needed: BTreeSet::new(),
            are_complete: false,
        };
        let mut is_covered = vec![false; addresses.len()];
        let mut headers = table.headers();
        while let Some(header) = headers.next()? {
            let unit = header.debug_info_offset().0 as u64;
            listed.all.insert(unit);
            let mut entries = header.entries();
            while let Some(entry) = entries.next()? {
                let (start, end) = (entry.range().begin, entry.range().end);
                let first = addresses.partition_point(|address| *address < start);
                let length = addresses[first..].partition_point(|address| *address < end);
                // Skip address 0: the linker discarded this code.
                if start > 0 && length > 0 {
                    listed.needed.insert(unit);
                    is_covered[first..first + length].fill(true);
                }
            }
        }
        listed.are_complete = is_covered.iter().all(|is_covered| *is_covered);
        match listed.all.is_empty() {
            true => Err(NotSeparable),
            false => Ok(listed),
        }
    }

    /// Returns true if a unit may contain an address. A unit without a list may contain any.
    fn may_contain_address(&self, unit: u64) -> bool {
        self.needed.contains(&unit) || !self.all.contains(&unit)
    }

    /// Returns true if neither this unit nor a later one is needed.
    fn are_passed(&self, unit: u64) -> bool {
        self.are_complete && self.needed.last().is_none_or(|last| *last < unit)
    }
}

/// The beginning of a unit's header in DWARF 2 to 5, with 32-bit offsets.
struct UnitStart {
    /// The length of the unit, including this header.
    length: u64,
    /// The offset of its abbreviations.
    abbreviations: usize,
}

impl UnitStart {
    const LEN: usize = 12;

    fn parse(bytes: &[u8; UnitStart::LEN], file: &ObjectFile) -> Result<UnitStart, NotSeparable> {
        let mut input = EndianSlice::new(bytes, file.dwarf_endian());
        let length = input.read_u32()?;
        let version = input.read_u16()?;
        if length >= 0xffff_fff0 || length < UnitStart::LEN as u32 || !(2..=5).contains(&version) {
            return Err(NotSeparable);
        }
        // The type of the unit and the size of addresses precede the offset.
        if version == 5 {
            input.read_u16()?;
        }
        Ok(UnitStart {
            length: u64::from(length) + 4,
            abbreviations: input.read_u32()? as usize,
        })
    }
}

/// The units that may contain an address.
struct ReadUnits {
    /// Their bytes, each unit at its offset in `.debug_info`, and zeros between them.
    info: Vec<u8>,
    units: KnownUnits,
    /// The offsets of their abbreviations.
    abbreviations: BTreeSet<usize>,
}

impl ReadUnits {
    fn read(
        file: &ObjectFile,
        listed: &ListedUnits,
        budget: &mut Budget,
    ) -> Result<ReadUnits, NotSeparable> {
        let section = file.section(b".debug_info").ok_or(NotSeparable)?;
        let size = section.size_in_memory();
        let mut reader = file.reader(section, budget)?;
        let mut read = ReadUnits {
            info: vec![0; usize::try_from(size).map_err(|_| NotSeparable)?],
            units: KnownUnits::default(),
            abbreviations: BTreeSet::new(),
        };
        let mut at = 0;
        while at < size {
            let mut start = [0; UnitStart::LEN];
            reader.skip_to(at)?;
            reader.read(&mut start)?;
            let unit = UnitStart::parse(&start, file)?;
            read.units.abbreviations.push(unit.abbreviations);
            // The abbreviations of this unit end those of the last one.
            if listed.are_passed(at) {
                break;
            }
            let end = at + unit.length;
            if listed.may_contain_address(at) {
                let unit_bytes = read.info.get_mut(at as usize..end as usize);
                let (header, rest) = unit_bytes.ok_or(NotSeparable)?.split_at_mut(UnitStart::LEN);
                header.copy_from_slice(&start);
                reader.read(rest)?;
                read.units.offsets.push(at as usize);
                read.abbreviations.insert(unit.abbreviations);
            }
            if read.units.abbreviations.len() > file.limits().units {
                return Err(NotSeparable);
            }
            at = end;
        }
        read.units.abbreviations.sort_unstable();
        read.units.abbreviations.dedup();
        Ok(read)
    }

    /// Reads the abbreviations of the units, each table at its offset in `.debug_abbrev`.
    fn read_abbreviations(
        &self,
        file: &ObjectFile,
        budget: &mut Budget,
    ) -> Result<Vec<u8>, NotSeparable> {
        let section = file.section(b".debug_abbrev").ok_or(NotSeparable)?;
        let size = usize::try_from(section.size_in_memory()).map_err(|_| NotSeparable)?;
        let mut reader = file.reader(section, budget)?;
        let mut bytes = vec![0; size];
        let all = &self.units.abbreviations;
        for begin in &self.abbreviations {
            let next = all.partition_point(|other| other <= begin);
            let end = all.get(next).copied().unwrap_or(size);
            reader.skip_to(*begin as u64)?;
            reader.read(bytes.get_mut(*begin..end).ok_or(NotSeparable)?)?;
        }
        Ok(bytes)
    }
}

/// Returns the offsets of the units' line tables.
fn find_line_tables(
    file: &ObjectFile,
    sections: &DwarfSections<Vec<u8>>,
    known: &KnownUnits,
) -> Result<BTreeSet<usize>, NotSeparable> {
    let endian = file.dwarf_endian();
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let units = DwarfUnits::known(&dwarf, file.limits(), known);
    let mut steps = Steps::new(file.limits());
    let mut tables = BTreeSet::new();
    for index in 0..units.len() {
        let root = units.open_root(index, &mut steps)?;
        tables.extend(root.line_program.map(|table| table.0));
    }
    Ok(tables)
}

/// Reads line tables, each at its offset in `.debug_line`.
fn read_line_tables(
    file: &ObjectFile,
    tables: &BTreeSet<usize>,
    budget: &mut Budget,
) -> Result<Vec<u8>, NotSeparable> {
    let Some(section) = file.section(b".debug_line") else {
        return Ok(Vec::new());
    };
    let size = usize::try_from(section.size_in_memory()).map_err(|_| NotSeparable)?;
    let mut reader = file.reader(section, budget)?;
    let mut bytes = vec![0; size];
    for begin in tables {
        let mut length = [0; 4];
        reader.skip_to(*begin as u64)?;
        reader.read(&mut length)?;
        let table = bytes.get_mut(*begin..).ok_or(NotSeparable)?;
        let end = 4 + file.endian().read_u32(length) as usize;
        let table = table.get_mut(..end).ok_or(NotSeparable)?;
        let (beginning, rest) = table.split_at_mut(4);
        beginning.copy_from_slice(&length);
        reader.read(rest)?;
    }
    Ok(bytes)
}
