//! The names and declarations of functions in chains.

use std::rc::Rc;

use cg_collections::maps::{Map, Set};
use cg_names::structure::ParsedName;
use gimli::{DebugInfoOffset, constants};

use crate::chains::{Builder, ChainFunction, ChainFunctionId, FileId, SourcePlace};
use crate::dwarf::{DwarfUnits, OpenUnit, Slice, Stop};
use crate::files::FileTables;
use crate::limits::Steps;
use crate::parameters::{Parameters, TypePiece, base_type};
use crate::scopes::{ClosureType, DwarfScope, Scopes};
use crate::walk::{Origin, file_index, origin_of};

/// The maximum number of references to follow, such as from an inlined copy to its abstract entry and to its declaration.
/// Protects from cycles.
const MAX_REFERENCES: usize = 16;
/// The maximum length of a name. A longer name is damaged.
const MAX_NAME_LEN: usize = 1 << 16;
/// The maximum nesting depth of closures. The name of a closure contains the names of the closures around it.
const MAX_NESTED: usize = 8;

/// One `.debug_info`, with a cache of its names.
pub(crate) struct DwarfNames<'u, 'a> {
    units: &'u DwarfUnits<'a>,
    alternate: Option<&'u DwarfUnits<'a>>,
    files: FileTables<'a>,
    alternate_files: FileTables<'a>,
    known: Map<Origin, ChainFunctionId>,
    /// The described functions, and the functions around closures.
    named: Map<Origin, ChainFunction>,
    /// The files of a split unit, which come from the line table of its skeleton.
    skeleton_files: Option<&'u mut SkeletonFiles<'u>>,
}

/// Returns the file with a number in the line table of a skeleton.
pub(crate) type SkeletonFiles<'u> = dyn FnMut(u64, &mut Builder, &mut Steps) -> Option<FileId> + 'u;

/// The attributes of a function, each from the first entry that has it.
#[derive(Default)]
struct DwarfDescription<'a> {
    name: Option<Slice<'a>>,
    linkage_name: Option<Slice<'a>>,
    /// The declaration, whose scopes are part of the name; `None` in languages without scopes.
    last: Option<Origin>,
    file: Option<FileId>,
    line: u32,
    is_cpp: bool,
    /// True if other units can call the function by its name.
    is_external: bool,
    parameters: Option<Parameters<'a>>,
    /// The demangled linkage name; `None` if it is not mangled. Such a name is the name of a symbol, and may be an assembler
    /// alias, such as glibc's `__GI_` names.
    demangled: Option<Vec<u8>>,
}

impl DwarfDescription<'_> {
    /// Returns true if this is a Rust closure whose mangled name does not distinguish it from other closures.
    fn is_unnumbered_closure(&self) -> bool {
        let is_closure = |name: Slice| name.starts_with(b"{closure#");
        let is_unnumbered = |name: &Vec<u8>| name.ends_with(RUST_CLOSURE);
        self.name.is_some_and(is_closure) && self.demangled.as_ref().is_some_and(is_unnumbered)
    }

    /// Returns true for a C++ function that is local to its unit. GCC omits the mangled names of such functions.
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

    /// Creates the names for a split unit.
    pub(crate) fn split(
        units: &'u DwarfUnits<'a>,
        files: &'u mut SkeletonFiles<'u>,
    ) -> DwarfNames<'u, 'a> {
        DwarfNames {
            skeleton_files: Some(files),
            ..DwarfNames::new(units, None)
        }
    }

    /// Finds the functions with these entries, unless they are already known.
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

    /// Finds the names of functions, and of the functions around closures.
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
        let mut scopes = self.find_scopes(&mut described, steps)?;
        // The name of a closure needs the name of the function around it.
        let hosts = (scopes.around.values().flatten()).filter_map(|scope| match scope {
            DwarfScope::Function(function) if !self.named.contains_key(function) => Some(*function),
            _ => None,
        });
        let mut hosts: Vec<Origin> = hosts.collect();
        hosts.sort_unstable();
        hosts.dedup();
        if nested < MAX_NESTED && !hosts.is_empty() {
            self.name(&hosts, nested + 1, builder, steps)?;
        }
        let numbers = self.number_closures(&mut scopes, steps)?;
        for (origin, description) in described {
            let around =
                (description.last).and_then(|last| Some(scopes.around.get(&last)?.as_slice()));
            let name = self.full_name(&description, around.unwrap_or_default(), &scopes, &numbers);
            let declared = match (description.file, around.unwrap_or_default().last()) {
                // The `operator()` of a closure is declared at the place of the closure.
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

    /// Returns a described function.
    pub(crate) fn function(&self, origin: Origin) -> Option<ChainFunctionId> {
        self.known.get(&origin).copied()
    }

    /// Returns the file with this number in the line table of a unit.
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

    /// Returns the sections that contain an entry.
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

    /// Reads an entry and the entries that it refers to.
    fn follow(
        &mut self,
        origin: Origin,
        builder: &mut Builder,
        steps: &mut Steps,
    ) -> Result<DwarfDescription<'a>, Stop> {
        let mut description = DwarfDescription::default();
        let mut next = Some(origin);
        for _ in 0..MAX_REFERENCES {
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

    /// Finds the scopes of functions whose names do not include them, and the types of their parameters. Each unit with such
    /// functions takes one or two walks.
    fn find_scopes(
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
                // On an error, keep the name without its parameters.
                description.parameters = match self.parameters(last, steps) {
                    Err(Stop::Exhausted) => return Err(Stop::Exhausted),
                    Err(_) => None,
                    Ok(parameters) => parameters,
                };
                types.extend(description.parameters.iter().flat_map(declared_types));
            }
        }
        types.retain(|origin| !scopes.around.contains_key(origin));
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
            // On an error, keep the names without their scopes.
            if let Err(Stop::Exhausted) = scopes.add(units, &open, these, steps) {
                return Err(Stop::Exhausted);
            }
        }
        Ok(())
    }

    /// Names the closures around functions. A name has the parameters and a number. Depending on the compiler, closures are
    /// numbered within their scope, or among the closures of the scope with the same parameters.
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
        types.retain(|origin| !scopes.around.contains_key(origin));
        self.add_scopes(types, scopes, steps)?;
        closures.sort_by_key(|(parent, closure, origin, _)| {
            (*parent, closure.line, closure.column, *origin)
        });
        let mut counts: Map<(Option<Origin>, Vec<u8>), usize> = Map::default();
        let mut names = ClosureNames::default();
        for (parent, closure, origin, parameters) in closures {
            let parameters = self.render_parameters(&parameters, scopes);
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

    /// Returns the place of a closure in the source.
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

    /// Returns the file with this number in the line table of an entry's unit.
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

    /// Returns the name of a function: the linker's name if it is complete, else the name with its scopes. Adds parameters
    /// if GCC has omitted the mangled name.
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
        // In C, the linkage name can be an assembler alias, such as glibc's `__GI_` names, so it is used only for languages
        // with scopes. In Fortran and D it is the name of the symbol.
        let linker_name = description
            .linkage_name
            .filter(|_| description.last.is_some());
        let name = linker_name
            .or(description.name)
            .or(description.linkage_name);
        let Some(name) = name else {
            return Vec::new();
        };
        let is_whole = linker_name.is_some() || (description.is_cpp && description.is_external);
        let mut full = match is_whole {
            true => Vec::new(),
            false => self.prefix(around, numbers),
        };
        full.extend_from_slice(name.slice());
        if let Some(parameters) = &description.parameters {
            full.push(b'(');
            full.extend_from_slice(&self.render_parameters(parameters, scopes));
            full.push(b')');
            if parameters.is_const {
                full.extend_from_slice(b" const");
            }
        }
        full.truncate(MAX_NAME_LEN);
        full
    }

    /// Returns the scopes of a name, up to the last `::`.
    fn prefix(&self, around: &[DwarfScope<'a>], numbers: &ClosureNames) -> Vec<u8> {
        let mut prefix = Vec::new();
        for scope in around {
            match scope {
                DwarfScope::Named(name) => prefix.extend_from_slice(name.slice()),
                // The function's name already includes its scopes.
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

    /// Renders parameters in the form of GNU's demangler.
    fn render_parameters(&self, parameters: &Parameters<'a>, scopes: &Scopes<'a>) -> Vec<u8> {
        let mut text = Vec::new();
        for piece in &parameters.pieces {
            match piece {
                TypePiece::Text(piece) => text.extend_from_slice(piece.as_bytes()),
                TypePiece::Base(name) => text.extend_from_slice(base_type(name.slice())),
                TypePiece::Declared(origin, name) => {
                    for scope in scopes.around.get(origin).into_iter().flatten() {
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
        text.truncate(MAX_NAME_LEN);
        text
    }
}

/// The names of closures, by their types.
type ClosureNames = Map<Origin, Vec<u8>>;

/// Iterates over the types of parameters that may have scopes.
fn declared_types<'p>(parameters: &'p Parameters<'_>) -> impl Iterator<Item = Origin> + 'p {
    parameters.pieces.iter().filter_map(|piece| match piece {
        TypePiece::Declared(origin, _) => Some(*origin),
        _ => None,
    })
}

/// The name of every closure in Rust's legacy mangling.
const RUST_CLOSURE: &[u8] = b"{{closure}}";

/// Replaces the closures at the end of a name by their numbered names in the debug information.
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

/// Demangles a name; `None` if it is not mangled.
fn demangled(linkage_name: &[u8]) -> Option<Vec<u8>> {
    if linkage_name.len() > MAX_NAME_LEN {
        return None;
    }
    let demangled = cg_names::demangle::demangle(linkage_name);
    (demangled != linkage_name).then(|| demangled.into_owned())
}
