//! The DWARF of one file as bytes, and its units, opened at bounded cost.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cg_stream::maps::Map;
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugInfoOffset,
    DebugLineOffset, DebuggingInformationEntry, Dwarf, DwarfSections, EndianSlice, Reader,
    RunTimeEndian, Section, SectionId, Unit, UnitHeader, UnitType, constants,
};

use crate::Error;
use crate::limits::{Limits, Steps};
use crate::object_file::ObjectFile;

pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Why work on a unit ended before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The unit is damaged; others may not be.
    Damaged(gimli::Error),
    /// Something in it exceeds a limit; other units may be fine.
    Beyond(&'static str),
    /// The work came to its limit: nothing more is done for the object.
    Exhausted,
}

impl From<gimli::Error> for Stop {
    fn from(error: gimli::Error) -> Stop {
        Stop::Damaged(error)
    }
}

impl From<crate::limits::Exhausted> for Stop {
    fn from(_: crate::limits::Exhausted) -> Stop {
        Stop::Exhausted
    }
}

/// The sections that chains and lines are found from; all others stay on the disk.
const SECTIONS: [SectionId; 9] = [
    SectionId::DebugInfo,
    SectionId::DebugAbbrev,
    SectionId::DebugStr,
    SectionId::DebugLineStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugAddr,
    SectionId::DebugLine,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
];

/// The sections of a file; of its split variety where `is_split`.
pub(crate) fn load(file: &ObjectFile, is_split: bool) -> Result<DwarfSections<Vec<u8>>, Error> {
    let mut budget = file.budget();
    DwarfSections::load(|id| {
        if !SECTIONS.contains(&id) {
            return Ok(Vec::new());
        }
        let name = if is_split {
            id.dwo_name()
        } else {
            Some(id.name())
        };
        name.map_or(Ok(Vec::new()), |name| {
            file.read(name.as_bytes(), &mut budget)
        })
    })
}

/// The sections of a package of split units.
pub(crate) fn load_package(
    file: &ObjectFile,
) -> Result<gimli::DwarfPackageSections<Vec<u8>>, Error> {
    let mut budget = file.budget();
    gimli::DwarfPackageSections::load(|id| {
        let wanted = SECTIONS.contains(&id) || id == SectionId::DebugCuIndex;
        let name = id.dwo_name().filter(|_| wanted);
        name.map_or(Ok(Vec::new()), |name| {
            file.read(name.as_bytes(), &mut budget)
        })
    })
}

/// One split unit of a package, completed by the sections that stay in the object. Sections that are not read are left
/// out: gimli's own function for this requires all of them.
pub(crate) fn unit_in_package<'a>(
    package: &gimli::DwarfPackage<Slice<'a>>,
    id: gimli::DwoId,
    object: &Dwarf<Slice<'a>>,
) -> Result<Option<Dwarf<Slice<'a>>>, gimli::Error> {
    let Some(row) = package.cu_index.find(id.0) else {
        return Ok(None);
    };
    let mut dwarf = Dwarf {
        debug_str: package.debug_str,
        file_type: gimli::DwarfFileType::Dwo,
        ..Dwarf::default()
    };
    for part in package.cu_index.sections(row)? {
        let cut = |section: &Slice<'a>| {
            let mut bytes = *section;
            bytes.skip(part.offset as usize)?;
            bytes.split(part.size as usize)
        };
        match part.section {
            gimli::IndexSectionId::DebugInfo => {
                dwarf.debug_info = cut(package.debug_info.reader())?.into();
            }
            gimli::IndexSectionId::DebugAbbrev => {
                dwarf.debug_abbrev = cut(package.debug_abbrev.reader())?.into();
            }
            gimli::IndexSectionId::DebugStrOffsets => {
                dwarf.debug_str_offsets = cut(package.debug_str_offsets.reader())?.into();
            }
            gimli::IndexSectionId::DebugRngLists => {
                let lists = cut(package.debug_rnglists.reader())?.into();
                dwarf.ranges = gimli::RangeLists::new(gimli::DebugRanges::default(), lists);
            }
            _ => {}
        }
    }
    dwarf.make_dwo(object);
    Ok(Some(dwarf))
}

/// The units of one `.debug_info` and what has been opened of them.
pub(crate) struct DwarfUnits<'a> {
    pub(crate) dwarf: &'a Dwarf<Slice<'a>>,
    /// Where each begins, ascending.
    offsets: Vec<usize>,
    /// The offsets of the units' abbreviation tables, ascending. A table ends where the next begins at the latest, so
    /// all of them together are read once, whatever they claim.
    abbreviations: Vec<usize>,
    opened: RefCell<Map<usize, Rc<OpenUnit<'a>>>>,
    /// The abbreviation of the last first entry that was read, as it is written: that of most units is the same.
    root: RefCell<Option<(&'a [u8], Arc<Abbreviations>)>>,
    pub(crate) limits: &'a Limits,
    /// Bases that the unit takes from its skeleton in the object.
    skeleton: Option<Skeleton<'a>>,
}

/// What a split unit takes from its skeleton.
#[derive(Clone, Copy)]
pub(crate) struct Skeleton<'a> {
    pub(crate) id: Option<gimli::DwoId>,
    low_pc: u64,
    addresses: gimli::DebugAddrBase,
    ranges: gimli::DebugRngListsBase,
    pub(crate) directory: Option<Slice<'a>>,
}

/// A unit whose first entry has been read.
pub(crate) struct OpenUnit<'a> {
    pub(crate) unit: Unit<Slice<'a>>,
    pub(crate) line_program: Option<DebugLineOffset>,
    /// The name of the file that has the rest of it.
    pub(crate) split_name: Option<Slice<'a>>,
    /// Names of a language with namespaces or types that functions are declared in.
    pub(crate) has_scopes: bool,
    pub(crate) language: Option<constants::DwLang>,
    producer: Option<AttributeValue<Slice<'a>>>,
    pub(crate) ranges: Option<AttributeValue<Slice<'a>>>,
    pub(crate) high_pc: Option<AttributeValue<Slice<'a>>>,
    pub(crate) has_low_pc: bool,
    pub(crate) tag: constants::DwTag,
}

impl<'a> OpenUnit<'a> {
    /// Whether its source is C++.
    pub(crate) fn is_cpp(&self) -> bool {
        matches!(
            self.language,
            Some(
                constants::DW_LANG_C_plus_plus
                    | constants::DW_LANG_C_plus_plus_03
                    | constants::DW_LANG_C_plus_plus_11
                    | constants::DW_LANG_C_plus_plus_14
                    | constants::DW_LANG_C_plus_plus_17
                    | constants::DW_LANG_C_plus_plus_20
            )
        )
    }

    /// Whether the compiler was told to leave types and parameters out, as GCC notes it in its name.
    pub(crate) fn has_no_types(&self, dwarf: Option<&Dwarf<Slice<'a>>>) -> bool {
        let producer = self.producer(dwarf);
        producer.is_some_and(|producer| producer.split(' ').any(|word| word.starts_with("-g1")))
    }

    /// Whether the compiler numbers the closures of a function together: GCC before 13 does, where others number those apart
    /// that have other parameters (`-fabi-version=18` in its manual).
    pub(crate) fn numbers_closures_together(&self, dwarf: &Dwarf<Slice<'a>>) -> bool {
        let version = self.producer(Some(dwarf)).and_then(|producer| {
            // `GNU C++17 12.2.0 -mtune=generic`
            let mut words = producer.strip_prefix("GNU C++")?.split([' ', '.']).skip(1);
            words.next()?.parse::<u32>().ok()
        });
        version.is_some_and(|version| version < 13)
    }

    fn producer(&self, dwarf: Option<&Dwarf<Slice<'a>>>) -> Option<String> {
        let producer = dwarf?.attr_string(&self.unit, self.producer?).ok()?;
        Some(producer.to_string_lossy().into_owned())
    }

    pub(crate) fn skeleton(&self) -> Skeleton<'a> {
        Skeleton {
            id: self.unit.dwo_id,
            low_pc: self.unit.low_pc,
            addresses: self.unit.addr_base,
            ranges: self.unit.rnglists_base,
            directory: self.unit.comp_dir,
        }
    }
}

/// Units kept open at a time. Names are looked up in the order of their offsets, so few are needed.
const MOST_OPENED: usize = 32;

impl<'a> DwarfUnits<'a> {
    /// Finds the units of `dwarf`; a damaged header ends them.
    pub(crate) fn new(
        dwarf: &'a Dwarf<Slice<'a>>,
        limits: &'a Limits,
    ) -> Result<DwarfUnits<'a>, Stop> {
        let mut units = DwarfUnits {
            dwarf,
            offsets: Vec::new(),
            abbreviations: Vec::new(),
            opened: RefCell::default(),
            root: RefCell::default(),
            limits,
            skeleton: None,
        };
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(offset) = header.debug_info_offset() else {
                continue;
            };
            units.offsets.push(offset.0);
            units.abbreviations.push(header.debug_abbrev_offset().0);
            if units.offsets.len() > limits.units {
                return Err(Stop::Beyond("too many units"));
            }
        }
        units.abbreviations.sort_unstable();
        units.abbreviations.dedup();
        Ok(units)
    }

    /// The same for a split unit, whose skeleton has the bases of its addresses.
    pub(crate) fn split(
        dwarf: &'a Dwarf<Slice<'a>>,
        limits: &'a Limits,
        skeleton: Skeleton<'a>,
    ) -> Result<DwarfUnits<'a>, Stop> {
        let mut units = DwarfUnits::new(dwarf, limits)?;
        units.skeleton = Some(skeleton);
        Ok(units)
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len()
    }

    pub(crate) fn endian(&self) -> RunTimeEndian {
        self.dwarf.debug_info.reader().endian()
    }

    /// The unit that holds an offset in `.debug_info`, by its number.
    pub(crate) fn holding(&self, offset: DebugInfoOffset) -> Option<usize> {
        (self.offsets.partition_point(|begin| *begin <= offset.0)).checked_sub(1)
    }

    /// A unit by its number.
    pub(crate) fn open(&self, index: usize, steps: &mut Steps) -> Result<Rc<OpenUnit<'a>>, Stop> {
        if let Some(unit) = self.opened.borrow().get(&index) {
            return Ok(Rc::clone(unit));
        }
        let unit = Rc::new(self.open_anew(DebugInfoOffset(self.offsets[index]), steps)?);
        let mut opened = self.opened.borrow_mut();
        if opened.len() >= MOST_OPENED {
            opened.clear();
        }
        opened.insert(index, Rc::clone(&unit));
        Ok(unit)
    }

    /// A unit by its number, to be asked what its first entry says and for its line table, nothing else: of its
    /// abbreviations only the one of that entry has been parsed. Most units of a large program are of no interest, and their
    /// abbreviations are what takes time.
    pub(crate) fn open_root(&self, index: usize, steps: &mut Steps) -> Result<OpenUnit<'a>, Stop> {
        let header = self
            .dwarf
            .unit_header(DebugInfoOffset(self.offsets[index]))?;
        let abbreviation = self.root_abbreviation(&header, steps)?;
        let unit = unit_without_bases(header, abbreviation, self.dwarf.file_type);
        let root = unit.entry(header.root_offset())?;
        self.read_root(unit, &root)
    }

    /// Parses the abbreviations of a unit and its first entry. `Unit::new` would parse its line table's header, too,
    /// which is not bounded and of use to few units.
    fn open_anew(&self, offset: DebugInfoOffset, steps: &mut Steps) -> Result<OpenUnit<'a>, Stop> {
        let header = self.dwarf.unit_header(offset)?;
        let abbreviations = self.parse_abbreviations(&header, steps)?;
        let unit = unit_without_bases(header, abbreviations, self.dwarf.file_type);
        let root = unit.entry(header.root_offset())?;
        self.read_root(unit, &root)
    }

    /// What the first entry of a unit says.
    fn read_root(
        &self,
        mut unit: Unit<Slice<'a>>,
        root: &DebuggingInformationEntry<Slice<'a>>,
    ) -> Result<OpenUnit<'a>, Stop> {
        // Strings and addresses need the bases, which can stand behind them.
        for attribute in root.attrs() {
            match (attribute.name(), attribute.value()) {
                (constants::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(base)) => {
                    unit.str_offsets_base = base;
                }
                (
                    constants::DW_AT_addr_base | constants::DW_AT_GNU_addr_base,
                    AttributeValue::DebugAddrBase(base),
                ) => {
                    unit.addr_base = base;
                }
                (
                    constants::DW_AT_rnglists_base | constants::DW_AT_GNU_ranges_base,
                    AttributeValue::DebugRngListsBase(base),
                ) => unit.rnglists_base = base,
                (constants::DW_AT_GNU_dwo_id, AttributeValue::DwoId(id)) => {
                    unit.dwo_id = unit.dwo_id.or(Some(id));
                }
                _ => {}
            }
        }
        if let Some(skeleton) = &self.skeleton {
            unit.low_pc = skeleton.low_pc;
            unit.addr_base = skeleton.addresses;
            // Before DWARF 5 the lists of ranges stay in the object.
            if unit.header.version() < 5 {
                unit.rnglists_base = skeleton.ranges;
            }
        }
        let text = |unit: &Unit<Slice<'a>>, name| {
            let value = root.attr_value(name)?;
            self.dwarf.attr_string(unit, value).ok()
        };
        let directory = text(&unit, constants::DW_AT_comp_dir);
        unit.comp_dir = directory.or_else(|| self.skeleton.and_then(|skeleton| skeleton.directory));
        let low_pc = root.attr_value(constants::DW_AT_low_pc);
        let has_low_pc = low_pc.is_some();
        if let Some(value) = low_pc
            && let Some(address) = self.dwarf.attr_address(&unit, value)?
        {
            unit.low_pc = address;
        }
        let line_program = match root.attr_value(constants::DW_AT_stmt_list) {
            Some(AttributeValue::DebugLineRef(offset)) => Some(offset),
            _ => None,
        };
        let language = match root.attr_value(constants::DW_AT_language) {
            Some(AttributeValue::Language(language)) => Some(language),
            _ => None,
        };
        Ok(OpenUnit {
            line_program,
            split_name: text(&unit, constants::DW_AT_dwo_name)
                .or_else(|| text(&unit, constants::DW_AT_GNU_dwo_name)),
            has_scopes: !language.is_some_and(is_without_scopes),
            language,
            producer: root.attr_value(constants::DW_AT_producer),
            ranges: root.attr_value(constants::DW_AT_ranges),
            high_pc: root.attr_value(constants::DW_AT_high_pc),
            has_low_pc,
            tag: root.tag(),
            unit,
        })
    }

    fn parse_abbreviations(
        &self,
        header: &UnitHeader<Slice<'a>>,
        steps: &mut Steps,
    ) -> Result<Arc<Abbreviations>, Stop> {
        let end = self.end_of_abbreviations(header);
        let length = end.saturating_sub(header.debug_abbrev_offset().0);
        steps.take(10 * length as u64)?;
        Ok(Arc::new(header.abbreviations(&self.abbreviations_to(end))?))
    }

    /// The abbreviation of the first entry of a unit. GCC sorts them by how often they are used, so it can be the last.
    fn root_abbreviation(
        &self,
        header: &UnitHeader<Slice<'a>>,
        steps: &mut Steps,
    ) -> Result<Arc<Abbreviations>, Stop> {
        let mut entry = *self.dwarf.debug_info.reader();
        let root = header.root_offset().to_debug_info_offset(header);
        entry.skip(root.map_or(usize::MAX, |root| root.0))?;
        let code = entry.read_uleb128()?;
        let end = self.end_of_abbreviations(header);
        let mut rest = *self.abbreviations_to(end).reader();
        let offset = header.debug_abbrev_offset().0;
        rest.skip(offset)?;
        let (mut begin, mut found) = (offset, false);
        while !found && !rest.is_empty() {
            begin = end - rest.len();
            found = match rest.read_uleb128()? {
                0 => break,
                other => other == code,
            };
            skip_abbreviation(&mut rest)?;
        }
        let behind = end - rest.len();
        steps.take((behind - offset) as u64)?;
        let own = &self.dwarf.debug_abbrev.reader().slice()[begin..behind];
        let mut root = self.root.borrow_mut();
        if let Some((_, known)) = root.as_ref().filter(|(last, _)| *last == own) {
            return Ok(Arc::clone(known));
        }
        let read = DebugAbbrev::new(own, rest.endian()).abbreviations(DebugAbbrevOffset(0))?;
        let (_, read) = root.insert((own, Arc::new(read)));
        Ok(Arc::clone(read))
    }

    /// Where the abbreviations of a unit end at the latest. A longer table than the limit is cut; one that ends before the
    /// cut is not affected.
    fn end_of_abbreviations(&self, header: &UnitHeader<Slice<'a>>) -> usize {
        let offset = header.debug_abbrev_offset().0;
        let next = (self.abbreviations).partition_point(|begin| *begin <= offset);
        let end = *self.abbreviations.get(next).unwrap_or(&usize::MAX);
        end.min(offset.saturating_add(self.limits.abbreviations))
            .min(self.dwarf.debug_abbrev.reader().len())
    }

    fn abbreviations_to(&self, end: usize) -> DebugAbbrev<Slice<'a>> {
        let section = self.dwarf.debug_abbrev.reader();
        DebugAbbrev::new(&section.slice()[..end], section.endian())
    }
}

/// Skips what follows the code of an abbreviation: tag, whether it has children, pairs of attribute and form up to one of
/// zeros (DWARF 5, section 7.5.3).
fn skip_abbreviation(input: &mut Slice) -> Result<(), gimli::Error> {
    input.read_uleb128()?;
    input.read_u8()?;
    loop {
        let (attribute, form) = (input.read_uleb128()?, input.read_uleb128()?);
        if form == u64::from(constants::DW_FORM_implicit_const.0) {
            input.read_sleb128()?;
        }
        if (attribute, form) == (0, 0) {
            return Ok(());
        }
    }
}

/// C and assembler: a function's name is all there is to it.
fn is_without_scopes(language: constants::DwLang) -> bool {
    matches!(
        language,
        constants::DW_LANG_C89
            | constants::DW_LANG_C
            | constants::DW_LANG_C99
            | constants::DW_LANG_C11
            | constants::DW_LANG_C17
            | constants::DW_LANG_Mips_Assembler
    )
}

/// A unit of which no attribute was read.
fn unit_without_bases<'a>(
    header: UnitHeader<Slice<'a>>,
    abbreviations: Arc<Abbreviations>,
    file_type: gimli::DwarfFileType,
) -> Unit<Slice<'a>> {
    let of = header.encoding();
    Unit {
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(of, file_type),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(of, file_type),
        rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(of, file_type),
        line_program: None,
        dwo_id: match header.type_() {
            UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
            _ => None,
        },
        header,
    }
}
