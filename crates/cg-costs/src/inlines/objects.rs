//! The objects of a profile. Finds their files and compares candidate files with the profile.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

use cg_collections::maps::{Map, Set};
use cg_debug_info::{
    ChainNodeId, Chains, CoveringSymbols, DebugInfo, ElfSymbol, Error, ObjectFile, Search,
    TableLineId, path_from_bytes,
};

use super::evidence::{Agreement, BuildEvidence, FUNCTION_AGREES, PlaceEvidence, place_evidence};
use super::keep::ObjectFiles;
use super::lines::{Allowed, LineChains};
use super::spans::{CodeFacts, Spans};
use super::trace::{At, CostLines, CountsKind, Traced};
use crate::ids::{FunctionId, StringId};
use crate::section::Section;

/// An object with costs, and the results of reading its files.
#[derive(Default)]
pub(crate) struct TracedObject {
    pub(super) name: StringId,
    /// The addresses with costs, sorted.
    pub(super) addresses: Vec<u64>,
    pub(super) chains: Option<Chains>,
    /// The chains that lines allow, if the profile has no addresses.
    pub(super) lines: Option<LineChains>,
    /// The object's functions that have cost lines without addresses.
    pub(super) functions: Vec<FunctionId>,
    /// The source of the debug information.
    pub(super) source: Option<&'static str>,
    /// The files from which the object and its debug information were read.
    pub(super) files: Option<ObjectFiles>,
    pub(super) unresolved: Option<Unresolved>,
    /// The part of the object's cost that agrees with the file.
    pub(super) agreement: Agreement,
    /// The object's functions whose code is in another place in the file. They stay unresolved.
    pub(super) moved_function_names: Set<FunctionId>,
    /// The file on trial. Until it is judged, `chains` and `spans` belong to this file.
    trial: Option<Trial>,
    /// Candidate files that have not been tried yet.
    candidates: Vec<PathBuf>,
    /// The object's code, split by chains and symbols.
    pub(super) spans: Spans,
    /// The index of the address that was found last.
    last_index: Cell<usize>,
}

/// The reason for which an object's inlined functions are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unresolved {
    /// The profile does not name the object.
    Unnamed,
    /// There is no file of the object's name.
    Missing,
    /// There is no debug information.
    NoDebugInfo,
    /// The place of its code differs from the profile.
    AnotherBuild,
    /// The object could not be read. Contains the reader's message.
    Unreadable(String),
}

impl Unresolved {
    pub(super) fn text(&self) -> &str {
        match self {
            Unresolved::Unnamed => "unnamed",
            Unresolved::Missing => "missing",
            Unresolved::NoDebugInfo => "no debug information",
            Unresolved::AnotherBuild => "another build",
            Unresolved::Unreadable(why) => why,
        }
    }
}

/// An object file that may be the profiled object.
struct Trial {
    /// The source of the debug information, and the files.
    source: Result<(&'static str, ObjectFiles), Error>,
    evidence: BuildEvidence,
}

/// The objects of a section.
#[derive(Default)]
pub(crate) struct TracedObjects {
    pub(super) objects: Vec<TracedObject>,
    positions: Map<StringId, usize>,
    /// The position of each function's object.
    object_of: Vec<Option<u32>>,
}

impl TracedObjects {
    /// Collects all objects, with the addresses that have costs.
    pub(super) fn collect(trace: &mut CostLines, section: &Section) -> io::Result<TracedObjects> {
        let mut found = TracedObjects::default();
        if trace.has_lines_without_address() {
            trace.read(&mut |line: &Traced| {
                let function = section.merged_into(line.function);
                let place = found.place(function, section);
                let functions = &mut found.objects[place].functions;
                if line.at.address.is_none() && functions.last() != Some(&function) {
                    functions.push(function);
                    if functions.len() > (1 << 16) {
                        functions.sort_unstable();
                        functions.dedup();
                    }
                }
            })?;
        }
        for (name, addresses) in trace.take_addresses() {
            let place = found.place_of(name);
            found.objects[place].addresses = addresses.into_sorted();
        }
        for object in &mut found.objects {
            object.functions.sort_unstable();
            object.functions.dedup();
        }
        Ok(found)
    }

    /// Returns true if an object's code is known by lines and not by addresses.
    pub(super) fn has_lines_only(&self, name: StringId) -> bool {
        (self.objects.iter()).any(|object| object.name == name && object.lines.is_some())
    }

    /// Returns the position of an object.
    pub(super) fn position(&self, name: StringId) -> Option<usize> {
        self.positions.get(&name).copied()
    }

    /// Returns the position of a function's object.
    pub(super) fn place(&mut self, function: FunctionId, section: &Section) -> usize {
        use cg_collections::intern::Id as _;
        let index = function.index();
        if self.object_of.len() <= index {
            self.object_of.resize(index + 1, None);
        }
        if let Some(place) = self.object_of[index] {
            return place as usize;
        }
        let name = section.key_of(function).object;
        let place = self.place_of(name);
        self.object_of[index] = u32::try_from(place).ok();
        place
    }

    /// Returns the position of an object. Adds the object if it is new.
    fn place_of(&mut self, name: StringId) -> usize {
        let objects = &mut self.objects;
        *self.positions.entry(name).or_insert_with(|| {
            objects.push(TracedObject {
                name,
                ..TracedObject::default()
            });
            objects.len() - 1
        })
    }

    /// Finds candidate files of the objects. Reads the line tables of objects without addresses.
    pub(super) fn find_candidates(&mut self, section: &Section, search: &Search) {
        for object in &mut self.objects {
            let name = section.strings.get(object.name);
            if name.is_empty() || name == b"???" {
                object.unresolved = Some(Unresolved::Unnamed);
            } else {
                object.candidates = search.objects(&path_from_bytes(name));
                object.candidates.reverse();
                object.unresolved = object.candidates.is_empty().then_some(Unresolved::Missing);
            }
        }
        for object in &mut self.objects {
            if object.addresses.is_empty() {
                object.read_lines(section, search);
            }
        }
    }

    /// Opens the next candidate file of each object. Returns false if no object has any candidates left. Until
    /// [`TracedObjects::judge`], the objects use the chains of these files.
    pub(super) fn try_next(&mut self, search: &Search) -> bool {
        let mut is_tried = false;
        for object in &mut self.objects {
            is_tried |= object.try_next(search);
        }
        is_tried
    }

    /// Accepts or rejects the files on trial, and their functions. Returns false if something with chains was rejected. The
    /// sums over these chains are then wrong.
    pub(super) fn judge(&mut self) -> bool {
        let mut holds = true;
        for object in &mut self.objects {
            if let Some(trial) = object.trial.take() {
                holds &= object.judge(trial);
            }
        }
        holds
    }

    /// Drops the lines of objects whose line tables do not agree with the profile.
    pub(super) fn check_lines(
        &mut self,
        trace: &mut CostLines,
        section: &Section,
        ranking: usize,
    ) -> io::Result<()> {
        if self.objects.iter().all(|object| object.lines.is_none()) {
            return Ok(());
        }
        trace.read(&mut |line: &Traced| {
            let function = section.merged_into(line.function);
            let place = self.place(function, section);
            let object = &mut self.objects[place];
            let At {
                address: None,
                file,
                line: number,
            } = line.at
            else {
                return;
            };
            let Some(lines) = &object.lines else {
                return;
            };
            if line.counted != CountsKind::Own || number == 0 || !lines.knows(function) {
                return;
            }
            let count = line.counts.get(ranking).copied().unwrap_or(0);
            let allowed = lines.at(function, section.strings.get(file), number);
            object.agreement.add(allowed != Allowed::Nothing, count);
        })?;
        for object in &mut self.objects {
            if object.lines.is_some() && !object.agreement.reaches(FUNCTION_AGREES) {
                object.unresolved = Some(Unresolved::AnotherBuild);
                (object.lines, object.source) = (None, None);
            }
        }
        Ok(())
    }
}

impl TracedObject {
    /// Reads the chains that the lines of the object's functions allow.
    fn read_lines(&mut self, section: &Section, search: &Search) {
        while let Some(path) = self.candidates.pop() {
            let read = ObjectFile::open(&path, &search.limits).and_then(|object| {
                let info = DebugInfo::find(&object, search)?;
                let lines = LineChains::read(&object, &info, &self.functions, section)?;
                let files = ObjectFiles::new(&object, &info, &lines.chains);
                Ok((info.source().name(), lines, files))
            });
            match read {
                Ok((source, lines, files)) => {
                    (self.source, self.lines) = (Some(source), Some(lines));
                    self.files = Some(files);
                    self.unresolved = None;
                    self.candidates.clear();
                }
                Err(Error::NoDebugInfo) => self.unresolved = Some(Unresolved::NoDebugInfo),
                Err(error) => self.unresolved = Some(Unresolved::Unreadable(error.to_string())),
            }
        }
    }

    /// Returns the chains of the object's code.
    pub(super) fn chains(&self) -> Option<&Chains> {
        (self.chains.as_ref()).or_else(|| self.lines.as_ref().map(|lines| &lines.chains))
    }

    /// Returns the missing files of the object's debug information.
    pub(super) fn missing(&self) -> &[String] {
        self.chains().map_or(&[], |chains| &chains.errors.missing)
    }

    /// Describes the unreadable part of the object's debug information; `None` if all of it could be read.
    pub(super) fn damage(&self) -> Option<String> {
        let errors = &self.chains()?.errors;
        match (errors.exhausted, errors.damaged_units) {
            (true, _) => Some("its debug information takes too long to read".to_owned()),
            (false, 0) => None,
            (false, units) => Some(format!(
                "{units} of its units could not be read completely (first error: {})",
                errors.first_damage.as_deref().unwrap_or("damaged")
            )),
        }
    }

    /// Returns the index of an address. Lines are mostly in address order, so this searches a few entries after the last hit
    /// first.
    #[inline]
    pub(super) fn index_of(&self, address: u64) -> Option<usize> {
        let last = self.last_index.get();
        let near = (self.addresses.get(last..)?.iter().take(4)).position(|known| *known == address);
        let index = match near {
            Some(steps) => last + steps,
            None => self.addresses.binary_search(&address).ok()?,
        };
        self.last_index.set(index);
        Some(index)
    }

    /// Opens the next candidate file. Returns false if there is none.
    fn try_next(&mut self, search: &Search) -> bool {
        while let Some(path) = self.candidates.pop() {
            match Trial::open(&path, &self.addresses, search) {
                Ok((trial, chains, spans)) => {
                    (self.trial, self.chains, self.spans) = (Some(trial), chains, spans);
                    return true;
                }
                Err(error) => self.unresolved = Some(Unresolved::Unreadable(error.to_string())),
            }
        }
        false
    }

    /// Compares the profile with the file for a line in a span.
    pub(super) fn evidence(&mut self, position: usize, at: At, section: &Section) -> PlaceEvidence {
        let table = self.spans.at(position).facts.line;
        self.place_evidence(table, at, section)
    }

    fn place_evidence(
        &self,
        table: Option<TableLineId>,
        at: At,
        section: &Section,
    ) -> PlaceEvidence {
        let Some(chains) = &self.chains else {
            return PlaceEvidence::Nothing;
        };
        place_evidence(
            chains,
            table.map(|table| chains.table_line(table)),
            at,
            section,
        )
    }

    /// Returns true if the file has this code of a function at the same place as the profile.
    #[inline]
    pub(super) fn has(&self, function: FunctionId, evidence: PlaceEvidence) -> bool {
        evidence != PlaceEvidence::Differs && !self.moved_function_names.contains(&function)
    }

    /// Returns the innermost function at an instruction; `None` if the file does not agree with the profile there.
    pub(super) fn innermost(
        &self,
        function: FunctionId,
        at: At,
        section: &Section,
    ) -> Option<(&Chains, ChainNodeId)> {
        let chains = self.chains.as_ref()?;
        let index = self.index_of(at.address?)?;
        let evidence = self.place_evidence(chains.lines[index], at, section);
        let node = chains.innermost[index].filter(|_| self.has(function, evidence))?;
        Some((chains, node))
    }

    /// Adds the self cost of a function in a span to the evidence for the file on trial.
    #[inline]
    pub(super) fn add_evidence(
        &mut self,
        function: FunctionId,
        position: usize,
        place: PlaceEvidence,
        count: u64,
        section: &Section,
    ) {
        if let Some(trial) = &mut self.trial {
            let group = self.spans.at(position).facts.symbols;
            trial
                .evidence
                .add_cost(function, place, group, count, section);
        }
    }

    /// Accepts or rejects the file on trial. Returns false if the file or any of its functions is rejected and had chains.
    fn judge(&mut self, trial: Trial) -> bool {
        let judgement = trial.evidence.judge();
        self.agreement = judgement.agreement;
        self.unresolved = match trial.source {
            // A stripped object has too few symbols for a comparison.
            Err(Error::NoDebugInfo) => Some(Unresolved::NoDebugInfo),
            _ if !judgement.is_profiled_build => Some(Unresolved::AnotherBuild),
            Err(error) => {
                self.candidates.clear();
                Some(Unresolved::Unreadable(error.to_string()))
            }
            Ok((source, files)) => {
                self.candidates.clear();
                (self.source, self.files) = (Some(source), Some(files));
                (self.unresolved, self.moved_function_names) =
                    (None, judgement.moved_function_names);
                return self.moved_function_names.is_empty();
            }
        };
        self.spans = Spans::default();
        self.chains.take().is_none()
    }
}

impl Trial {
    /// Opens a file. Returns it with its chains, if it has debug information, and with its code split into spans.
    fn open(
        path: &Path,
        addresses: &[u64],
        search: &Search,
    ) -> Result<(Trial, Option<Chains>, Spans), Error> {
        let object = ObjectFile::open(path, &search.limits)?;
        let debug = search.debug_file(&object);
        let debug_file = debug.as_ref().ok().and_then(|debug| debug.file.as_ref());
        let files: Vec<&ObjectFile> = std::iter::once(&object).chain(debug_file).collect();
        let symbols = CoveringSymbols::covering(&files, addresses)?;
        let mut group_of = Vec::with_capacity(addresses.len());
        let mut groups: Vec<Vec<Vec<u8>>> = Vec::new();
        let mut last: Vec<*const ElfSymbol> = Vec::new();
        for address in addresses {
            let here: Vec<*const ElfSymbol> =
                symbols.at(*address).map(std::ptr::from_ref).collect();
            if groups.is_empty() || here != last {
                groups.push(
                    symbols
                        .at(*address)
                        .map(|symbol| symbol.name.clone())
                        .collect(),
                );
                last = here;
            }
            group_of.push(u32::try_from(groups.len() - 1).unwrap_or(u32::MAX));
        }
        let debug = debug.and_then(|debug| {
            let source = debug.source.name();
            Ok((source, DebugInfo::read(&object, debug, search)?))
        });
        let (source, chains) = match debug {
            Ok((source, info)) => {
                let chains = info.chains(addresses);
                let files = ObjectFiles::new(&object, &info, &chains);
                (Ok((source, files)), Some(chains))
            }
            Err(error) => (Err(error), None),
        };
        let code = addresses.iter().zip(group_of).enumerate();
        let spans = Spans::new(code.map(|(index, (address, symbols))| {
            let chains = chains.as_ref();
            let facts = CodeFacts {
                node: chains.and_then(|chains| chains.innermost[index]),
                line: chains.and_then(|chains| chains.lines[index]),
                symbols,
            };
            (*address, facts)
        }));
        let trial = Trial {
            source,
            evidence: BuildEvidence::new(groups),
        };
        Ok((trial, chains, spans))
    }
}
