//! The scopes in which functions and types are declared: namespaces, types, other functions, and the unnamed closures of
//! C++.

use cg_collections::maps::Map;
use gimli::{AttributeValue, DebugInfoOffset, EntriesRaw, constants};

use crate::dwarf::{DwarfUnits, OpenUnit, Slice, Stop};
use crate::limits::Steps;
use crate::walk::{Origin, file_index};

/// The maximum nesting depth of namespaces, types and functions.
const MAX_SCOPES: usize = 256;

/// A scope around an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DwarfScope<'a> {
    /// A namespace, a type, or a function in languages other than C++.
    Named(Slice<'a>),
    /// A function in C++, by its entry.
    Function(Origin),
    /// A type without a name, such as a closure in C++.
    Unnamed(Origin),
}

/// The scopes of entries, outermost first, and the closures found on the way.
#[derive(Default)]
pub(crate) struct Scopes<'a> {
    pub(crate) around: Map<Origin, Vec<DwarfScope<'a>>>,
    pub(crate) closures: Map<Origin, ClosureType>,
}

/// A type without a name, which may be a closure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClosureType {
    /// The enclosing scope; `None` at the top level.
    pub(crate) parent: Option<Origin>,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The number of its file in the unit's table.
    pub(crate) file: u64,
    /// True if closures with different parameters are numbered together.
    pub(crate) is_numbered_together: bool,
    /// Its `operator()`.
    pub(crate) call: Option<Origin>,
}

/// The attributes of a scope that are used here.
#[derive(Default)]
struct ScopeEntry<'a> {
    name: Option<Slice<'a>>,
    file: u64,
    line: u32,
    column: u32,
}

impl<'a> Scopes<'a> {
    /// Adds the scopes of `wanted`, which are sorted entries of this unit. Closures are numbered in source order, so if one
    /// of the scopes is a closure, all closures of the unit are collected.
    pub(crate) fn add(
        &mut self,
        units: &DwarfUnits<'a>,
        open: &OpenUnit<'a>,
        wanted: &[Origin],
        steps: &mut Steps,
    ) -> Result<(), Stop> {
        steps.take(2 * open.unit.header.length_including_self() as u64)?;
        let Some(first) = wanted.first().copied() else {
            return Ok(());
        };
        let is_numbered_together = open.numbers_closures_together(units.dwarf);
        let mut entries = open.unit.entries_raw(None)?;
        let mut around: Vec<(isize, DwarfScope<'a>, Origin)> = Vec::new();
        let mut wanted = wanted.iter().peekable();
        let mut has_closure = false;
        while (wanted.peek().is_some() || has_closure) && !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            while around.last().is_some_and(|(last, _, _)| *last >= depth) {
                around.pop();
            }
            let offset = (offset.to_debug_info_offset(&open.unit.header))
                .map_or(usize::MAX, |DebugInfoOffset(offset)| offset);
            while let Some(next) = wanted.peek()
                && offset >= next.offset()
            {
                let scopes: Vec<DwarfScope> = around.iter().map(|(_, scope, _)| *scope).collect();
                has_closure |= (scopes.iter()).any(|scope| matches!(scope, DwarfScope::Unnamed(_)));
                self.around
                    .extend(wanted.next().map(|origin| (*origin, scopes)));
            }
            let is_scope = abbreviation.has_children() && is_scope(abbreviation.tag());
            if !is_scope || around.len() >= MAX_SCOPES {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let entry = read_scope(units, open, &mut entries, abbreviation.attributes())?;
            let origin = Origin::Here(offset).seen_from(first);
            let parent = around.last().map(|(_, scope, origin)| (*scope, *origin));
            if let (Some((DwarfScope::Unnamed(closure), _)), constants::DW_TAG_subprogram) =
                (parent, abbreviation.tag())
                && entry
                    .name
                    .is_some_and(|name| name.starts_with(b"operator()"))
                && let Some(closure) = self.closures.get_mut(&closure)
            {
                closure.call.get_or_insert(origin);
            }
            let scope = match (abbreviation.tag(), entry.name) {
                (constants::DW_TAG_subprogram, _) if open.is_cpp() => DwarfScope::Function(origin),
                (_, Some(name)) if !name.is_empty() => DwarfScope::Named(name),
                (constants::DW_TAG_subprogram, _) => continue,
                (constants::DW_TAG_namespace, _) => {
                    DwarfScope::Named(Slice::new(b"(anonymous namespace)", units.endian()))
                }
                _ => {
                    let closure = ClosureType {
                        parent: parent.map(|(_, origin)| origin),
                        line: entry.line,
                        column: entry.column,
                        file: entry.file,
                        is_numbered_together,
                        call: None,
                    };
                    self.closures.insert(origin, closure);
                    DwarfScope::Unnamed(origin)
                }
            };
            around.push((depth, scope, origin));
        }
        Ok(())
    }
}

/// Returns true for entries whose names are part of the names of functions declared in them.
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

fn read_scope<'a>(
    units: &DwarfUnits<'a>,
    open: &OpenUnit<'a>,
    entries: &mut EntriesRaw<'_, Slice<'a>>,
    attributes: &[gimli::AttributeSpecification],
) -> Result<ScopeEntry<'a>, gimli::Error> {
    let mut entry = ScopeEntry::default();
    for specification in attributes {
        let attribute = entries.read_attribute(*specification)?;
        let value = attribute.value();
        match attribute.name() {
            constants::DW_AT_name => entry.name = units.dwarf.attr_string(&open.unit, value).ok(),
            constants::DW_AT_decl_file => entry.file = file_index(&value),
            constants::DW_AT_decl_line => entry.line = number(&value),
            constants::DW_AT_decl_column => entry.column = number(&value),
            _ => {}
        }
    }
    Ok(entry)
}

fn number(value: &AttributeValue<Slice>) -> u32 {
    let number = value.udata_value();
    number
        .and_then(|number| u32::try_from(number).ok())
        .unwrap_or(0)
}
