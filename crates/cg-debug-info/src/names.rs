//! What functions are called: names and declarations of the entries that chains refer to.

use std::rc::Rc;

use foldhash::fast::FixedState;
use gimli::{DebugInfoOffset, Reader, Section, constants};
use hashbrown::HashMap;

use crate::chains::{Builder, ChainFunction, ChainFunctionId, FileId, SourcePlace};
use crate::dwarf::{DwarfUnits, OpenUnit, Slice, Stop};
use crate::files::FileTables;
use crate::limits::Steps;
use crate::walk::{Origin, file_index, origin_of};

/// The most references followed: an inlined copy to its abstract entry, that to its declaration. Ends cycles.
const MOST_REFERENCES: usize = 16;
/// Names longer than this are damage.
const LONGEST_NAME: usize = 1 << 16;
/// How deep namespaces, types and functions are nested in each other.
const MOST_SCOPES: usize = 256;

/// One `.debug_info` with what has been found out of its names.
pub(crate) struct DwarfNames<'u, 'a> {
    units: &'u DwarfUnits<'a>,
    alternate: Option<&'u DwarfUnits<'a>>,
    files: FileTables<'a>,
    alternate_files: FileTables<'a>,
    known: HashMap<Origin, ChainFunctionId, FixedState>,
    /// The files of a split unit, whose line table is its skeleton's.
    skeleton_files: Option<&'u mut SkeletonFiles<'u>>,
}

/// The file that a skeleton has under a number.
pub(crate) type SkeletonFiles<'u> = dyn FnMut(u64, &mut Builder, &mut Steps) -> Option<FileId> + 'u;

/// What entries say of a function, the first that says it.
#[derive(Default)]
struct DwarfDescription<'a> {
    name: Option<Slice<'a>>,
    linkage_name: Option<Slice<'a>>,
    /// The entry that the declaration's scopes are around.
    last: Option<Origin>,
    file: Option<FileId>,
    line: u32,
}

impl<'u, 'a> DwarfNames<'u, 'a> {
    pub(crate) fn new(
        units: &'u DwarfUnits<'a>,
        alternate: Option<&'u DwarfUnits<'a>>,
    ) -> DwarfNames<'u, 'a> {
        DwarfNames {
            units,
            alternate,
            files: FileTables::default(),
            alternate_files: FileTables::default(),
            known: HashMap::default(),
            skeleton_files: None,
        }
    }

    /// The same for a split unit.
    pub(crate) fn split(
        units: &'u DwarfUnits<'a>,
        files: &'u mut SkeletonFiles<'u>,
    ) -> DwarfNames<'u, 'a> {
        DwarfNames {
            skeleton_files: Some(files),
            ..DwarfNames::new(units, None)
        }
    }

    /// The functions that `origins` are entries of, each asked for once.
    pub(crate) fn describe(
        &mut self,
        mut origins: Vec<Origin>,
        builder: &mut Builder,
        steps: &mut Steps,
    ) -> Result<(), Stop> {
        origins.retain(|origin| !self.known.contains_key(origin));
        origins.sort_unstable();
        origins.dedup();
        let mut described = Vec::new();
        for origin in origins {
            let description = match self.follow(origin, builder, steps) {
                Err(Stop::Exhausted) => return Err(Stop::Exhausted),
                // A function without a name still belongs to its chain.
                Err(_) => DwarfDescription::default(),
                Ok(description) => description,
            };
            described.push((origin, description));
        }
        let scopes = self.scopes(&described, steps)?;
        for (origin, description) in described {
            let scope = description.last.and_then(|last| scopes.get(&last));
            let function = ChainFunction {
                name: full_name(&description, scope.map(Vec::as_slice)),
                declared: SourcePlace {
                    file: description.file,
                    line: description.line,
                },
            };
            self.known.insert(origin, builder.function(function));
        }
        Ok(())
    }

    /// A function that was described.
    pub(crate) fn function(&self, origin: Origin) -> Option<ChainFunctionId> {
        self.known.get(&origin).copied()
    }

    /// The file that a unit has under a number.
    pub(crate) fn file(
        &mut self,
        open: &OpenUnit<'a>,
        number: u64,
        builder: &mut Builder,
        steps: &mut Steps,
    ) -> Option<FileId> {
        match &mut self.skeleton_files {
            Some(files) => files(number, builder, steps),
            None => self.files.file(self.units, open, number, builder, steps),
        }
    }

    fn units_of(&self, origin: Origin) -> Option<(&'u DwarfUnits<'a>, usize)> {
        match origin {
            Origin::Here(offset) => Some((self.units, offset)),
            Origin::Alternate(offset) => Some((self.alternate?, offset)),
        }
    }

    fn open(
        &self,
        origin: Origin,
        steps: &mut Steps,
    ) -> Result<Option<(usize, Rc<OpenUnit<'a>>)>, Stop> {
        let Some((units, offset)) = self.units_of(origin) else {
            return Ok(None);
        };
        match units.holding(DebugInfoOffset(offset)) {
            Some(index) => Ok(Some((index, units.open(index, steps)?))),
            None => Ok(None),
        }
    }

    /// Reads an entry and those that it refers to.
    fn follow(
        &mut self,
        origin: Origin,
        builder: &mut Builder,
        steps: &mut Steps,
    ) -> Result<DwarfDescription<'a>, Stop> {
        let mut description = DwarfDescription::default();
        let mut next = Some(origin);
        for _ in 0..MOST_REFERENCES {
            let Some(current) = next.take() else { break };
            let Some((units, offset)) = self.units_of(current) else {
                break;
            };
            let Some((_, open)) = self.open(current, steps)? else {
                break;
            };
            steps.take(500)?;
            let Some(unit_offset) = DebugInfoOffset(offset).to_unit_offset(&open.unit.header)
            else {
                break;
            };
            let entry = open.unit.entry(unit_offset)?;
            let text = |name| {
                units
                    .dwarf
                    .attr_string(&open.unit, entry.attr_value(name)?)
                    .ok()
            };
            description.name = description.name.or_else(|| text(constants::DW_AT_name));
            description.linkage_name = description
                .linkage_name
                .or_else(|| text(constants::DW_AT_linkage_name))
                .or_else(|| text(constants::DW_AT_MIPS_linkage_name));
            if description.line == 0
                && let Some(line) = entry.attr_value(constants::DW_AT_decl_line)
            {
                description.line = line
                    .udata_value()
                    .and_then(|line| u32::try_from(line).ok())
                    .unwrap_or(0);
            }
            if description.file.is_none()
                && let Some(file) = entry.attr_value(constants::DW_AT_decl_file)
            {
                let number = file_index(&file);
                description.file = match current {
                    Origin::Here(_) => self.file(&open, number, builder, steps),
                    Origin::Alternate(_) => self
                        .alternate_files
                        .file(units, &open, number, builder, steps),
                };
            }
            description.last = open.has_scopes.then_some(current);
            let reference = (entry.attr_value(constants::DW_AT_abstract_origin))
                .or_else(|| entry.attr_value(constants::DW_AT_specification));
            next = reference.and_then(|reference| {
                // What the alternate file refers to is in it.
                match (origin_of(reference, &open)?, current) {
                    (Origin::Here(offset), Origin::Alternate(_)) => Some(Origin::Alternate(offset)),
                    (origin, _) => Some(origin),
                }
            });
        }
        Ok(description)
    }

    /// Finds the scopes around functions whose names do not include them: one walk for each unit that has any.
    fn scopes(
        &self,
        described: &[(Origin, DwarfDescription<'a>)],
        steps: &mut Steps,
    ) -> Result<HashMap<Origin, Vec<Slice<'a>>, FixedState>, Stop> {
        let mut wanted: Vec<Origin> = (described.iter())
            .filter(|(_, description)| description.name.is_some() && mangled(description).is_none())
            .filter_map(|(_, description)| description.last)
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut scopes = HashMap::default();
        let mut rest = wanted.as_slice();
        while let Some(first) = rest.first() {
            let Ok(Some((index, open))) = self.open(*first, steps) else {
                rest = &rest[1..];
                continue;
            };
            let same_unit = |origin: &Origin| {
                std::mem::discriminant(origin) == std::mem::discriminant(first)
                    && self
                        .units_of(*origin)
                        .and_then(|(units, offset)| units.holding(DebugInfoOffset(offset)))
                        == Some(index)
            };
            let count = rest
                .iter()
                .take_while(|origin| same_unit(origin))
                .count()
                .max(1);
            let (these, others) = rest.split_at(count);
            rest = others;
            // Names without their scopes are names still.
            if let Err(Stop::Exhausted) = self.scopes_in(&open, these, &mut scopes, steps) {
                return Err(Stop::Exhausted);
            }
        }
        Ok(scopes)
    }

    fn scopes_in(
        &self,
        open: &OpenUnit<'a>,
        wanted: &[Origin],
        scopes: &mut HashMap<Origin, Vec<Slice<'a>>, FixedState>,
        steps: &mut Steps,
    ) -> Result<(), Stop> {
        let Some((units, _)) = wanted.first().and_then(|first| self.units_of(*first)) else {
            return Ok(());
        };
        steps.take(2 * open.unit.header.length_including_self() as u64)?;
        let mut entries = open.unit.entries_raw(None)?;
        let mut around: Vec<(isize, Slice<'a>)> = Vec::new();
        let mut wanted = wanted.iter().peekable();
        while let Some(next) = wanted.peek()
            && !entries.is_empty()
        {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            while around.last().is_some_and(|(last, _)| *last >= depth) {
                around.pop();
            }
            let offset = offset.to_debug_info_offset(&open.unit.header);
            let (Origin::Here(next) | Origin::Alternate(next)) = next;
            if offset.is_some_and(|offset| offset.0 >= *next) {
                let names = around.iter().map(|(_, name)| *name).collect();
                scopes.extend(wanted.next().map(|origin| (*origin, names)));
            }
            let is_scope = abbreviation.has_children() && is_scope(abbreviation.tag());
            if !is_scope || around.len() >= MOST_SCOPES {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let mut name = None;
            for specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(*specification)?;
                if attribute.name() == constants::DW_AT_name {
                    name = units.dwarf.attr_string(&open.unit, attribute.value()).ok();
                }
            }
            let unnamed: &'static [u8] = match abbreviation.tag() {
                constants::DW_TAG_namespace => b"(anonymous namespace)",
                constants::DW_TAG_subprogram => b"",
                _ => b"{unnamed type}",
            };
            let name = name.unwrap_or(Slice::new(
                unnamed,
                units.dwarf.debug_info.reader().endian(),
            ));
            if !name.is_empty() {
                around.push((depth, name));
            }
        }
        Ok(())
    }
}

/// Entries whose names are part of the names of functions that are declared in them.
fn is_scope(tag: constants::DwTag) -> bool {
    matches!(
        tag,
        constants::DW_TAG_namespace
            | constants::DW_TAG_module
            | constants::DW_TAG_class_type
            | constants::DW_TAG_structure_type
            | constants::DW_TAG_union_type
            | constants::DW_TAG_interface_type
            | constants::DW_TAG_enumeration_type
            | constants::DW_TAG_subprogram
    )
}

/// The linkage name where it is a mangled one. Others are the names of assembler aliases, as glibc's `__GI_` ones.
fn mangled<'d>(description: &'d DwarfDescription) -> Option<std::borrow::Cow<'d, [u8]>> {
    let linkage_name = description.linkage_name.as_ref()?.slice();
    if linkage_name.len() > LONGEST_NAME {
        return None;
    }
    let demangled = cg_names::demangle::demangle(linkage_name);
    (demangled != linkage_name).then_some(demangled)
}

fn full_name(description: &DwarfDescription, scopes: Option<&[Slice]>) -> Vec<u8> {
    if let Some(name) = mangled(description) {
        return name.into_owned();
    }
    let Some(name) = description.name.or(description.linkage_name) else {
        return Vec::new();
    };
    let parts = scopes.unwrap_or_default().iter().chain([&name]);
    let mut full = parts.map(Slice::slice).collect::<Vec<_>>().join(&b"::"[..]);
    full.truncate(LONGEST_NAME);
    full
}
