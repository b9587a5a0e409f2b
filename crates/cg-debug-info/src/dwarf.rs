//! The DWARF sections of one file, and its units, opened at limited cost.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use cg_collections::maps::Map;
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugInfoOffset,
    DebugLineOffset, DebuggingInformationEntry, Dwarf, DwarfSections, EndianSlice, Reader,
    RunTimeEndian, Section, SectionId, Unit, UnitHeader, UnitType, constants,
};

use crate::Error;
use crate::limits::{Limits, Steps};
use crate::object_file::ObjectFile;

pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The reason for which work on a unit stopped early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The unit is damaged. Other units may be intact.
    Damaged(gimli::Error),
    /// The unit exceeds a limit. Other units may be fine.
    Beyond(&'static str),
    /// The limit of the work for the whole object has been reached.
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

/// The sections that are read for chains and lines.
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

/// Reads the sections of a file. With `is_split`, reads the sections of split units.
pub(crate) fn load(file: &ObjectFile, is_split: bool) -> Result<DwarfSections<Vec<u8>>, Error> {
    let mut budget = file.budget();
    load_sections(|id| {
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

/// Collects the sections that are read for chains and lines.
pub(crate) fn load_sections(
    mut read: impl FnMut(SectionId) -> Result<Vec<u8>, Error>,
) -> Result<DwarfSections<Vec<u8>>, Error> {
    DwarfSections::load(|id| match SECTIONS.contains(&id) {
        true => read(id),
        false => Ok(Vec::new()),
    })
}

/// Reads the sections of a package of split units.
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

/// Returns one split unit of a package, together with the sections that stay in the object. gimli has a function for this,
/// but it requires sections that are not read here.
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

/// The units of one `.debug_info`, some of them opened.
pub(crate) struct DwarfUnits<'a> {
    pub(crate) dwarf: &'a Dwarf<Slice<'a>>,
    /// The offset of each unit, ascending.
    offsets: Vec<usize>,
    /// The offsets of the units' abbreviation tables, ascending. A table ends at the beginning of the next table at the
    /// latest. So no byte of these tables is read twice, whatever the tables claim.
    abbreviations: Vec<usize>,
    opened: RefCell<Map<usize, Rc<OpenUnit<'a>>>>,
    /// The bytes of the last root entry's abbreviation, and the parsed abbreviation. Most units have the same.
    root: RefCell<Option<(&'a [u8], Arc<Abbreviations>)>>,
    pub(crate) limits: &'a Limits,
    /// The values that a split unit takes from its skeleton in the object.
    skeleton: Option<Skeleton<'a>>,
    /// True if `.debug_info` has only these units, and zeros in the place of the others.
    is_part: bool,
    /// True if an entry of another unit was looked up.
    has_missed: Cell<bool>,
}

/// The units to use, if other units were not read.
#[derive(Default)]
pub(crate) struct KnownUnits {
    /// The offset of each unit, ascending.
    pub(crate) offsets: Vec<usize>,
    /// The offsets of abbreviation tables, ascending: of all these units, and of units before and after them.
    pub(crate) abbreviations: Vec<usize>,
}

/// The values that a split unit takes from its skeleton.
#[derive(Clone, Copy)]
pub(crate) struct Skeleton<'a> {
    pub(crate) id: Option<gimli::DwoId>,
    low_pc: u64,
    addresses: gimli::DebugAddrBase,
    ranges: gimli::DebugRngListsBase,
    pub(crate) directory: Option<Slice<'a>>,
}

/// A unit whose root entry has been read.
pub(crate) struct OpenUnit<'a> {
    pub(crate) unit: Unit<Slice<'a>>,
    pub(crate) line_program: Option<DebugLineOffset>,
    /// The name of the file with the split part of the unit.
    pub(crate) split_name: Option<Slice<'a>>,
    /// True if the language has namespaces or types in which functions are declared.
    pub(crate) has_scopes: bool,
    pub(crate) language: Option<constants::DwLang>,
    producer: Option<AttributeValue<Slice<'a>>>,
    pub(crate) ranges: Option<AttributeValue<Slice<'a>>>,
    pub(crate) high_pc: Option<AttributeValue<Slice<'a>>>,
    pub(crate) has_low_pc: bool,
    pub(crate) tag: constants::DwTag,
}

impl<'a> OpenUnit<'a> {
    /// Returns true if the source language is C++.
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

    /// Returns true if the compiler omitted types and parameters because of `-g1`. GCC records its options in the producer.
    pub(crate) fn has_no_types(&self, dwarf: Option<&Dwarf<Slice<'a>>>) -> bool {
        let producer = self.producer(dwarf);
        producer.is_some_and(|producer| producer.split(' ').any(|word| word.starts_with("-g1")))
    }

    /// Returns true if the compiler numbers all closures of a function together, as GCC before 13 does. Other compilers
    /// number closures with different parameters separately (`-fabi-version=18` in GCC's manual).
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

/// The maximum number of open units. Names are looked up in the order of their offsets, so few units suffice.
const MAX_OPENED: usize = 32;

impl<'a> DwarfUnits<'a> {
    /// Finds the units of `dwarf`, up to the first damaged header.
    pub(crate) fn new(
        dwarf: &'a Dwarf<Slice<'a>>,
        limits: &'a Limits,
    ) -> Result<DwarfUnits<'a>, Stop> {
        let mut units = DwarfUnits::empty(dwarf, limits);
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

    /// Uses only these units of `dwarf`.
    pub(crate) fn known(
        dwarf: &'a Dwarf<Slice<'a>>,
        limits: &'a Limits,
        known: &KnownUnits,
    ) -> DwarfUnits<'a> {
        DwarfUnits {
            offsets: known.offsets.clone(),
            abbreviations: known.abbreviations.clone(),
            is_part: true,
            ..DwarfUnits::empty(dwarf, limits)
        }
    }

    fn empty(dwarf: &'a Dwarf<Slice<'a>>, limits: &'a Limits) -> DwarfUnits<'a> {
        DwarfUnits {
            dwarf,
            offsets: Vec::new(),
            abbreviations: Vec::new(),
            opened: RefCell::default(),
            root: RefCell::default(),
            limits,
            skeleton: None,
            is_part: false,
            has_missed: Cell::new(false),
        }
    }

    /// Finds the units in the sections of a split unit, which takes some values from its skeleton.
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

    /// Returns the number of the unit that contains an offset in `.debug_info`.
    pub(crate) fn holding(&self, offset: DebugInfoOffset) -> Option<usize> {
        let begun = self.offsets.partition_point(|begin| *begin <= offset.0);
        let found = begun.checked_sub(1);
        if !self.is_part {
            return found;
        }
        let found = found.filter(|index| {
            let begin = self.offsets[*index];
            let header = self.dwarf.unit_header(DebugInfoOffset(begin));
            header.is_ok_and(|header| offset.0 - begin < header.length_including_self())
        });
        self.has_missed
            .set(self.has_missed.get() || found.is_none());
        found
    }

    /// Returns an error if an entry of a unit was looked up that was not read.
    pub(crate) fn check_misses(&self) -> Result<(), Stop> {
        match self.has_missed.get() {
            true => Err(Stop::Beyond("a unit refers to one that was not read")),
            false => Ok(()),
        }
    }

    /// Opens a unit, given its number.
    pub(crate) fn open(&self, index: usize, steps: &mut Steps) -> Result<Rc<OpenUnit<'a>>, Stop> {
        if let Some(unit) = self.opened.borrow().get(&index) {
            return Ok(Rc::clone(unit));
        }
        let unit = Rc::new(self.parse_unit(DebugInfoOffset(self.offsets[index]), steps)?);
        let mut opened = self.opened.borrow_mut();
        if opened.len() >= MAX_OPENED {
            opened.clear();
        }
        opened.insert(index, Rc::clone(&unit));
        Ok(unit)
    }

    /// Opens a unit, given its number, only for its root entry and its line table. Parses only the abbreviation of the root
    /// entry. Most units of a large program are not needed, and parsing their abbreviations takes most of the time.
    pub(crate) fn open_root(&self, index: usize, steps: &mut Steps) -> Result<OpenUnit<'a>, Stop> {
        let header = self
            .dwarf
            .unit_header(DebugInfoOffset(self.offsets[index]))?;
        let abbreviation = self.root_abbreviation(&header, steps)?;
        let unit = unit_without_bases(header, abbreviation, self.dwarf.file_type);
        let root = unit.entry(header.root_offset())?;
        self.read_root(unit, &root)
    }

    /// Parses the abbreviations and the root entry of a unit. `Unit::new` would also parse the header of its line table,
    /// which is not limited in size and rarely needed.
    fn parse_unit(&self, offset: DebugInfoOffset, steps: &mut Steps) -> Result<OpenUnit<'a>, Stop> {
        let header = self.dwarf.unit_header(offset)?;
        let abbreviations = self.parse_abbreviations(&header, steps)?;
        let unit = unit_without_bases(header, abbreviations, self.dwarf.file_type);
        let root = unit.entry(header.root_offset())?;
        self.read_root(unit, &root)
    }

    /// Reads the root entry of a unit.
    fn read_root(
        &self,
        mut unit: Unit<Slice<'a>>,
        root: &DebuggingInformationEntry<Slice<'a>>,
    ) -> Result<OpenUnit<'a>, Stop> {
        // Read the bases first: strings and addresses need them and can precede them.
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
            // Before DWARF 5, the lists of ranges stay in the object.
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

    /// Returns the abbreviation of a unit's root entry. GCC sorts abbreviations by frequency, so it can be the last one.
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
        let after = end - rest.len();
        steps.take((after - offset) as u64)?;
        let own = &self.dwarf.debug_abbrev.reader().slice()[begin..after];
        let mut root = self.root.borrow_mut();
        if let Some((_, known)) = root.as_ref().filter(|(last, _)| *last == own) {
            return Ok(Arc::clone(known));
        }
        let read = DebugAbbrev::new(own, rest.endian()).abbreviations(DebugAbbrevOffset(0))?;
        let (_, read) = root.insert((own, Arc::new(read)));
        Ok(Arc::clone(read))
    }

    /// Returns an upper bound of the end of a unit's abbreviations. Cuts the table at the limit.
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

/// Skips the rest of an abbreviation after its code: the tag, the flag for children, and pairs of attribute and form up to a
/// pair of zeros (DWARF 5, section 7.5.3).
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

/// Returns true for C and assembly, in which functions have no scopes.
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

/// Creates a unit before any of its attributes has been read.
fn unit_without_bases<'a>(
    header: UnitHeader<Slice<'a>>,
    abbreviations: Arc<Abbreviations>,
    file_type: gimli::DwarfFileType,
) -> Unit<Slice<'a>> {
    let encoding = header.encoding();
    Unit {
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(
            encoding, file_type,
        ),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(encoding, file_type),
        rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(encoding, file_type),
        line_program: None,
        dwo_id: match header.type_() {
            UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
            _ => None,
        },
        header,
    }
}
