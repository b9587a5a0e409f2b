//! What functions are called: names and declarations of the entries that chains refer to.

use std::rc::Rc;

use cg_names::structure::ParsedName;
use cg_stream::maps::{Map, Set};
use gimli::{DebugInfoOffset, constants};

use crate::chains::{Builder, ChainFunction, ChainFunctionId, FileId, SourcePlace};
use crate::dwarf::{DwarfUnits, OpenUnit, Slice, Stop};
use crate::files::FileTables;
use crate::limits::Steps;
use crate::parameters::{Parameters, TypePiece, base_type};
use crate::scopes::{ClosureType, DwarfScope, Scopes};
use crate::walk::{Origin, file_index, origin_of};

/// The most references followed: an inlined copy to its abstract entry, that to its declaration. Ends cycles.
const MOST_REFERENCES: usize = 16;
/// Names longer than this are damage.
const LONGEST_NAME: usize = 1 << 16;
/// How deep closures may be nested in each other, of which one names the other.
const MOST_NESTED: usize = 8;

/// One `.debug_info` with what has been found out of its names.
pub(crate) struct DwarfNames<'u, 'a> {
    units: &'u DwarfUnits<'a>,
    alternate: Option<&'u DwarfUnits<'a>>,
    files: FileTables<'a>,
    alternate_files: FileTables<'a>,
    known: Map<Origin, ChainFunctionId>,
    /// Functions that were described, and those that closures are in.
    named: Map<Origin, ChainFunction>,
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
    /// The entry that the declaration's scopes are around, in languages with scopes.
    last: Option<Origin>,
    file: Option<FileId>,
    line: u32,
    is_cpp: bool,
    /// Other units can call it by a name.
    is_external: bool,
    parameters: Option<Parameters<'a>>,
    /// The linkage name, where it is a mangled one. Others are the names of symbols, of which some are assembler aliases, as
    /// glibc's `__GI_` ones.
    demangled: Option<Vec<u8>>,
}

impl DwarfDescription<'_> {
    /// Whether it is a closure of Rust whose mangled name does not tell it from others.
    fn is_unnumbered_closure(&self) -> bool {
        let is_closure = |name: Slice| name.starts_with(b"{closure#");
        let is_unnumbered = |name: &Vec<u8>| name.ends_with(RUST_CLOSURE);
        self.name.is_some_and(is_closure) && self.demangled.as_ref().is_some_and(is_unnumbered)
    }

    /// A function of C++ that no other unit knows, whose mangled name GCC leaves out.
    fn is_local_cpp(&self) -> bool {
        self.is_cpp && !self.is_external && self.linkage_name.is_none()
    }
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
            known: Map::default(),
            named: Map::default(),
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
        self.name(&origins, 0, builder, steps)?;
        for origin in origins {
            if let Some(function) = self.named.get(&origin) {
                self.known
                    .insert(origin, builder.function(function.clone()));
            }
        }
        Ok(())
    }

    /// Finds the names of functions, and of those that closures among them are in.
    fn name(
        &mut self,
        origins: &[Origin],
        nested: usize,
        builder: &mut Builder,
        steps: &mut Steps,
    ) -> Result<(), Stop> {
        let mut described = Vec::new();
        for origin in origins {
            if self.named.contains_key(origin) {
                continue;
            }
            let description = match self.follow(*origin, builder, steps) {
                Err(Stop::Exhausted) => return Err(Stop::Exhausted),
                // A function without a name still belongs to its chain.
                Err(_) => DwarfDescription::default(),
                Ok(description) => description,
            };
            described.push((*origin, description));
        }
        let mut scopes = self.scopes_of(&mut described, steps)?;
        let hosts = (scopes.around.values().flatten()).filter_map(|scope| match scope {
            DwarfScope::Function(function) if !self.named.contains_key(function) => Some(*function),
            _ => None,
        });
        let mut hosts: Vec<Origin> = hosts.collect();
        hosts.sort_unstable();
        hosts.dedup();
        if nested < MOST_NESTED && !hosts.is_empty() {
            self.name(&hosts, nested + 1, builder, steps)?;
        }
        let numbers = self.number_closures(&mut scopes, steps)?;
        for (origin, description) in described {
            let around =
                (description.last).and_then(|last| Some(scopes.around.get(&last)?.as_slice()));
            let name = self.full_name(&description, around.unwrap_or_default(), &scopes, &numbers);
            let declared = match (description.file, around.unwrap_or_default().last()) {
                // The function of a closure is declared where the closure is.
                (None, Some(DwarfScope::Unnamed(closure))) => {
                    self.declared(*closure, &scopes, builder, steps)
                }
                _ => SourcePlace {
                    file: description.file,
                    line: description.line,
                },
            };
            self.named.insert(origin, ChainFunction { name, declared });
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

    /// The sections that an entry is in.
    pub(crate) fn dwarf(&self, origin: Origin) -> Option<&'u gimli::Dwarf<Slice<'a>>> {
        self.units_of(origin).map(|(units, _)| units.dwarf)
    }

    pub(crate) fn open(
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
                description.file = self.file_at(current, &open, number, builder, steps);
            }
            description.last = open.has_scopes.then_some(current);
            description.is_cpp = open.is_cpp();
            description.is_external |= entry.attr_value(constants::DW_AT_external).is_some();
            let reference = (entry.attr_value(constants::DW_AT_abstract_origin))
                .or_else(|| entry.attr_value(constants::DW_AT_specification));
            next = reference
                .and_then(|reference| Some(origin_of(reference, &open)?.seen_from(current)));
        }
        description.demangled = (description.linkage_name).and_then(|name| demangled(name.slice()));
        Ok(description)
    }

    /// Finds the scopes around functions whose names do not include them, and the types of their parameters: a walk or two
    /// for each unit that has any.
    fn scopes_of(
        &self,
        described: &mut [(Origin, DwarfDescription<'a>)],
        steps: &mut Steps,
    ) -> Result<Scopes<'a>, Stop> {
        let mut scopes = Scopes::default();
        let wanted = (described.iter())
            .filter(|(_, description)| description.name.is_some())
            .filter(|(_, description)| {
                description.demangled.is_none() || description.is_unnumbered_closure()
            })
            .filter_map(|(_, description)| description.last);
        self.add_scopes(wanted.collect(), &mut scopes, steps)?;
        let mut types = Vec::new();
        for (_, description) in described {
            if let Some(last) = description.last.filter(|_| description.is_local_cpp()) {
                // A name without its parameters is a name still.
                description.parameters = match self.parameters(last, steps) {
                    Err(Stop::Exhausted) => return Err(Stop::Exhausted),
                    Err(_) => None,
                    Ok(parameters) => parameters,
                };
                types.extend(description.parameters.iter().flat_map(declared_types));
            }
        }
        types.retain(|of| !scopes.around.contains_key(of));
        self.add_scopes(types, &mut scopes, steps)?;
        Ok(scopes)
    }

    /// Adds the scopes of entries, unit by unit.
    fn add_scopes(
        &self,
        mut wanted: Vec<Origin>,
        scopes: &mut Scopes<'a>,
        steps: &mut Steps,
    ) -> Result<(), Stop> {
        wanted.sort_unstable();
        wanted.dedup();
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
            let Some((units, _)) = self.units_of(*first) else {
                continue;
            };
            // Names without their scopes are names still.
            if let Err(Stop::Exhausted) = scopes.add(units, &open, these, steps) {
                return Err(Stop::Exhausted);
            }
        }
        Ok(())
    }

    /// What the closures around functions are called: after their parameters, and by their place among those of a scope, or
    /// those that have the same parameters, as the compiler numbers them.
    fn number_closures(
        &self,
        scopes: &mut Scopes<'a>,
        steps: &mut Steps,
    ) -> Result<ClosureNames, Stop> {
        let unnamed = |scope: &DwarfScope| match scope {
            DwarfScope::Unnamed(closure) => Some(*closure),
            _ => None,
        };
        let wanted = scopes.around.values().flatten().filter_map(unnamed);
        let parents = wanted.filter_map(|closure| Some(scopes.closures.get(&closure)?.parent));
        let parents: Set<Option<Origin>> = parents.collect();
        let mut closures: Vec<(Option<Origin>, ClosureType, Origin, Parameters)> = Vec::new();
        let mut types = Vec::new();
        for (origin, closure) in &scopes.closures {
            let Some(call) = closure.call.filter(|_| parents.contains(&closure.parent)) else {
                continue;
            };
            let parameters = match self.parameters(call, steps) {
                Err(Stop::Exhausted) => return Err(Stop::Exhausted),
                Err(_) => continue,
                Ok(parameters) => parameters.unwrap_or_default(),
            };
            types.extend(declared_types(&parameters));
            closures.push((closure.parent, *closure, *origin, parameters));
        }
        types.retain(|of| !scopes.around.contains_key(of));
        self.add_scopes(types, scopes, steps)?;
        closures.sort_by_key(|(parent, closure, origin, _)| {
            (*parent, closure.line, closure.column, *origin)
        });
        let mut counts: Map<(Option<Origin>, Vec<u8>), usize> = Map::default();
        let mut names = ClosureNames::default();
        for (parent, closure, origin, parameters) in closures {
            let parameters = self.text_of(&parameters, scopes);
            let group = match closure.is_numbered_together {
                true => Vec::new(),
                false => parameters.clone(),
            };
            let count = counts.entry((parent, group)).or_default();
            *count += 1;
            let number = format!(")#{count}}}");
            let name = [&b"{lambda("[..], &parameters, number.as_bytes()].concat();
            names.insert(origin, name);
        }
        Ok(names)
    }

    /// Where a closure is written.
    fn declared(
        &mut self,
        closure: Origin,
        scopes: &Scopes<'a>,
        builder: &mut Builder,
        steps: &mut Steps,
    ) -> SourcePlace {
        let place = scopes.closures.get(&closure).copied();
        let open = self.open(closure, steps).ok().flatten();
        let (Some(place), Some((_, open))) = (place, open) else {
            return SourcePlace {
                file: None,
                line: 0,
            };
        };
        SourcePlace {
            file: self.file_at(closure, &open, place.file, builder, steps),
            line: place.line,
        }
    }

    /// The file that the unit of an entry has under a number.
    fn file_at(
        &mut self,
        entry: Origin,
        open: &OpenUnit<'a>,
        number: u64,
        builder: &mut Builder,
        steps: &mut Steps,
    ) -> Option<FileId> {
        match entry {
            Origin::Here(_) => self.file(open, number, builder, steps),
            Origin::Alternate(_) => {
                let (units, _) = self.units_of(entry)?;
                self.alternate_files
                    .file(units, open, number, builder, steps)
            }
        }
    }

    /// The name of a function: as linkers know it where that is all there is to it, else with its scopes and, where GCC leaves
    /// out what linkers know, its parameters.
    fn full_name(
        &self,
        description: &DwarfDescription<'a>,
        around: &[DwarfScope<'a>],
        scopes: &Scopes<'a>,
        numbers: &ClosureNames,
    ) -> Vec<u8> {
        if let Some(name) = &description.demangled {
            return number_rust_closures(name.clone(), description.name, around);
        }
        // In C that can be the name of an assembler alias, as glibc's `__GI_` ones. Fortran's and D's are those of symbols.
        let of_linker = description
            .linkage_name
            .filter(|_| description.last.is_some());
        let name = of_linker.or(description.name).or(description.linkage_name);
        let Some(name) = name else {
            return Vec::new();
        };
        let is_whole = of_linker.is_some() || (description.is_cpp && description.is_external);
        let mut full = match is_whole {
            true => Vec::new(),
            false => self.prefix(around, numbers),
        };
        full.extend_from_slice(name.slice());
        if let Some(parameters) = &description.parameters {
            full.push(b'(');
            full.extend_from_slice(&self.text_of(parameters, scopes));
            full.push(b')');
            if parameters.is_const {
                full.extend_from_slice(b" const");
            }
        }
        full.truncate(LONGEST_NAME);
        full
    }

    /// The scopes of a name, up to the last `::`.
    fn prefix(&self, around: &[DwarfScope<'a>], numbers: &ClosureNames) -> Vec<u8> {
        let mut prefix = Vec::new();
        for scope in around {
            match scope {
                DwarfScope::Named(name) => prefix.extend_from_slice(name.slice()),
                // Its own name has the scopes around it.
                DwarfScope::Function(function) => {
                    let Some(function) = self.named.get(function) else {
                        continue;
                    };
                    prefix = ParsedName::new(&function.name)
                        .without_return_type()
                        .to_vec();
                }
                DwarfScope::Unnamed(closure) => prefix.extend_from_slice(
                    numbers
                        .get(closure)
                        .map_or(&b"{unnamed type}"[..], Vec::as_slice),
                ),
            }
            prefix.extend_from_slice(b"::");
        }
        prefix
    }

    /// Parameters as GNU's demangler writes them.
    fn text_of(&self, parameters: &Parameters<'a>, scopes: &Scopes<'a>) -> Vec<u8> {
        let mut text = Vec::new();
        for piece in &parameters.pieces {
            match piece {
                TypePiece::Text(piece) => text.extend_from_slice(piece.as_bytes()),
                TypePiece::Base(name) => text.extend_from_slice(base_type(name.slice())),
                TypePiece::Declared(of, name) => {
                    for scope in scopes.around.get(of).into_iter().flatten() {
                        let scope = match scope {
                            DwarfScope::Named(scope) => scope.slice(),
                            DwarfScope::Function(function) => match self.named.get(function) {
                                Some(function) => &function.name,
                                None => continue,
                            },
                            DwarfScope::Unnamed(_) => b"{unnamed type}",
                        };
                        text.extend_from_slice(scope);
                        text.extend_from_slice(b"::");
                    }
                    text.extend_from_slice(name.slice());
                }
            }
        }
        text.truncate(LONGEST_NAME);
        text
    }
}

/// What closures are called, by their types.
type ClosureNames = Map<Origin, Vec<u8>>;

/// The types of parameters that have scopes.
fn declared_types<'p>(parameters: &'p Parameters<'_>) -> impl Iterator<Item = Origin> + 'p {
    parameters.pieces.iter().filter_map(|piece| match piece {
        TypePiece::Declared(of, _) => Some(*of),
        _ => None,
    })
}

/// What Rust's legacy mangling calls every closure.
const RUST_CLOSURE: &[u8] = b"{{closure}}";

/// Gives the closures at the end of a name the numbers that debug information has for them.
fn number_rust_closures(mut name: Vec<u8>, own: Option<Slice>, around: &[DwarfScope]) -> Vec<u8> {
    let scopes = around.iter().rev().map(|scope| match scope {
        DwarfScope::Named(scope) => Some(*scope),
        _ => None,
    });
    let mut tail: Vec<u8> = Vec::new();
    for scope in std::iter::once(own).chain(scopes) {
        let Some(scope) = scope.filter(|scope| scope.starts_with(b"{closure#")) else {
            break;
        };
        let Some(rest) = name.strip_suffix(RUST_CLOSURE) else {
            break;
        };
        let end = scope
            .iter()
            .position(|byte| *byte == b'}')
            .map_or(scope.len(), |at| at + 1);
        let separator = match tail.is_empty() {
            true => &b""[..],
            false => b"::",
        };
        tail = [&scope[..end], separator, &tail].concat();
        name = rest.to_vec();
        if !name.ends_with(b"::") {
            break;
        }
        name.truncate(name.len() - 2);
    }
    match tail.is_empty() {
        true => name,
        false => [&name, &b"::"[..], &tail].concat(),
    }
}

/// What a mangled name says; none of a name that is not mangled.
fn demangled(linkage_name: &[u8]) -> Option<Vec<u8>> {
    if linkage_name.len() > LONGEST_NAME {
        return None;
    }
    let demangled = cg_names::demangle::demangle(linkage_name);
    (demangled != linkage_name).then(|| demangled.into_owned())
}
