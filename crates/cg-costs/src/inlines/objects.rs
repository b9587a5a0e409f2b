//! The objects of a profile: finds their files, and checks these against the names that the profile has for addresses.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cg_debug_info::{Chains, CoveringSymbols, DebugInfo, ElfSymbol, Error, ObjectFile, Search};
use cg_names::demangle::demangle;
use cg_names::identity::{is_other_mangling, normal_function};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::lines::{Allowed, LineChains};
use super::spans::Spans;
use super::trace::{At, CostLines, CountsKind, Traced};
use crate::ids::{FunctionId, StringId};
use crate::section::Section;

/// A file is the object that was profiled if this share of the object's named cost agrees with the file's symbols.
/// Right files agree to 99.9 %, another build of the same program to less than half.
const AGREES: (u128, u128) = (95, 100);

/// An object that something is charged to, and what was found out of it.
pub(crate) struct TracedObject {
    pub(super) name: StringId,
    /// Addresses that anything is charged to, sorted.
    pub(super) addresses: Vec<u64>,
    pub(super) chains: Option<Chains>,
    /// What lines allow, where the profile has no addresses; and their chains.
    pub(super) lines: Option<LineChains>,
    /// Functions of it that have cost lines without addresses.
    pub(super) functions: Vec<FunctionId>,
    /// Where its debug information came from.
    pub(super) source: Option<&'static str>,
    pub(super) unresolved: Option<Unresolved>,
    /// Named cost by the ranking event, and how much of it is where a symbol has the same name.
    pub(super) named: u64,
    pub(super) agrees: u64,
    /// The file that is being tried; `chains` and `spans` are its own meanwhile.
    trial: Option<Trial>,
    /// Candidate files that were not tried yet.
    candidates: Vec<PathBuf>,
    /// Its code, by its chains and its symbols.
    pub(super) spans: Spans,
    /// Index of the address that was found last.
    last_index: Cell<usize>,
}

/// Why an object's inlined functions are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unresolved {
    /// The profile does not say which object it is.
    Unnamed,
    /// No file of its name is there.
    Missing,
    /// There is no debug information.
    NoDebugInfo,
    /// Its symbols are not those of the profile.
    AnotherBuild,
    /// It could not be read; the reader's words.
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

/// An object file that may be the one that was profiled.
struct Trial {
    /// Where its debug information came from.
    source: Result<&'static str, Error>,
    /// Groups of symbols that cover the same addresses, by name, mangled or not; spans refer to them by index.
    groups: Vec<Vec<Vec<u8>>>,
    /// Cache by function and group: whether a symbol of the group has the function's name; `None` if Valgrind did not
    /// take that name from a symbol.
    verdicts: HashMap<(FunctionId, u32), Option<bool>, FixedState>,
    named: u64,
    agrees: u64,
    /// The last lookup in `verdicts`.
    last_verdict: Option<(FunctionId, u32, Option<bool>)>,
}

/// The objects of a section; `object_of` maps functions to their indices.
pub(crate) struct TracedObjects {
    pub(super) objects: Vec<TracedObject>,
    positions: HashMap<StringId, usize, FixedState>,
    /// By function.
    object_of: Vec<Option<u32>>,
}

impl TracedObjects {
    /// All objects with the addresses that anything is charged to.
    pub(super) fn collect(trace: &mut CostLines, section: &Section) -> io::Result<TracedObjects> {
        let mut found = TracedObjects {
            objects: Vec::new(),
            positions: HashMap::default(),
            object_of: Vec::new(),
        };
        if trace.has_lines_without_address() {
            trace.read(&mut |line: &Traced| {
                let function = section.merged_into(line.function);
                let place = found.place(function, section);
                let functions = &mut found.objects[place].functions;
                if let At::Line(..) = line.at
                    && functions.last() != Some(&function)
                {
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

    /// Whether an object's code is known by lines and not by addresses.
    pub(super) fn has_lines_only(&self, name: StringId) -> bool {
        (self.objects.iter()).any(|object| object.name == name && object.lines.is_some())
    }

    /// The position of an object.
    pub(super) fn position(&self, name: StringId) -> Option<usize> {
        self.positions.get(&name).copied()
    }

    /// The position of a function's object.
    pub(super) fn place(&mut self, function: FunctionId, section: &Section) -> usize {
        use cg_stream::intern::Id as _;
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

    /// The index of an object, which is added if it is new.
    fn place_of(&mut self, name: StringId) -> usize {
        let objects = &mut self.objects;
        *self.positions.entry(name).or_insert_with(|| {
            objects.push(TracedObject {
                name,
                addresses: Vec::new(),
                chains: None,
                lines: None,
                functions: Vec::new(),
                source: None,
                unresolved: None,
                named: 0,
                agrees: 0,
                trial: None,
                candidates: Vec::new(),
                spans: Spans::unknown(),
                last_index: Cell::new(0),
            });
            objects.len() - 1
        })
    }

    /// Finds the files that may be the objects, and what lines allow in those that have no addresses.
    pub(super) fn find_candidates(&mut self, section: &Section, search: &Search) {
        for object in &mut self.objects {
            let name = section.strings.get(object.name);
            if name.is_empty() || name == b"???" {
                object.unresolved = Some(Unresolved::Unnamed);
            } else {
                object.candidates = search.objects(&PathBuf::from(OsStr::from_bytes(name)));
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

    /// Opens the next candidate file of each object; false if no object has any left. The objects use the chains of
    /// these files until [`TracedObjects::judge`].
    pub(super) fn try_next(&mut self, search: &Search) -> bool {
        let mut is_tried = false;
        for object in &mut self.objects {
            is_tried |= object.try_next(search);
        }
        is_tried
    }

    /// Accepts or rejects the files that were tried. False if a rejected file had chains, so that the sums made with
    /// them are wrong.
    pub(super) fn judge(&mut self) -> bool {
        let mut holds = true;
        for object in &mut self.objects {
            if let Some(trial) = object.trial.take() {
                holds &= object.judge(trial);
            }
        }
        holds
    }

    /// Drops the lines of objects whose line tables do not fit the profile.
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
            let (Some(lines), At::Line(file, number)) = (&object.lines, line.at) else {
                return;
            };
            if line.counted != CountsKind::Own || number == 0 || !lines.knows(function) {
                return;
            }
            let count = line.counts.get(ranking).copied().unwrap_or(0);
            object.named = object.named.saturating_add(count);
            if lines.at(function, section.strings.get(file), number) != Allowed::Nothing {
                object.agrees = object.agrees.saturating_add(count);
            }
        })?;
        for object in &mut self.objects {
            if object.lines.is_some() && !agrees(object.agrees, object.named) {
                object.unresolved = Some(Unresolved::AnotherBuild);
                (object.lines, object.source) = (None, None);
            }
        }
        Ok(())
    }
}

/// Whether enough of the cost is where the object has it.
fn agrees(agreeing: u64, named: u64) -> bool {
    u128::from(agreeing) * AGREES.1 >= u128::from(named) * AGREES.0
}

impl TracedObject {
    /// Finds what the lines of its functions allow.
    fn read_lines(&mut self, section: &Section, search: &Search) {
        while let Some(path) = self.candidates.pop() {
            let read = ObjectFile::open(&path, &search.limits).and_then(|object| {
                let info = DebugInfo::of(&object, search)?;
                let lines = LineChains::of(&object, &info, &self.functions, section)?;
                Ok((info.source().name(), lines))
            });
            match read {
                Ok((source, lines)) => {
                    (self.source, self.lines) = (Some(source), Some(lines));
                    self.unresolved = None;
                    self.candidates.clear();
                }
                Err(Error::NoDebugInfo) => self.unresolved = Some(Unresolved::NoDebugInfo),
                Err(error) => self.unresolved = Some(Unresolved::Unreadable(error.to_string())),
            }
        }
    }

    /// The chains of its code.
    pub(super) fn chains(&self) -> Option<&Chains> {
        (self.chains.as_ref()).or_else(|| self.lines.as_ref().map(|lines| &lines.chains))
    }

    /// The index of an address. Lines mostly come in address order, so a few entries from the last hit on are searched
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

    /// Opens the next file that may be the object; false where there is none.
    fn try_next(&mut self, search: &Search) -> bool {
        while let Some(path) = self.candidates.pop() {
            match Trial::of(&path, &self.addresses, search) {
                Ok((trial, chains, spans)) => {
                    (self.trial, self.chains, self.spans) = (Some(trial), chains, spans);
                    return true;
                }
                Err(error) => self.unresolved = Some(Unresolved::Unreadable(error.to_string())),
            }
        }
        false
    }

    /// Compares self cost of a function in a span with the symbols of the file that is tried.
    #[inline]
    pub(super) fn see(&mut self, function: FunctionId, span: usize, count: u64, section: &Section) {
        if let Some(trial) = &mut self.trial {
            trial.see(function, self.spans.at(span).symbols, count, section);
        }
    }

    /// Accepts or rejects the file that was tried; false if it is rejected and had chains.
    fn judge(&mut self, trial: Trial) -> bool {
        (self.named, self.agrees) = (trial.named, trial.agrees);
        let agrees = agrees(trial.agrees, trial.named);
        self.unresolved = match trial.source {
            // A stripped object has too few symbols to tell.
            Err(Error::NoDebugInfo) => Some(Unresolved::NoDebugInfo),
            _ if !agrees => Some(Unresolved::AnotherBuild),
            Err(error) => {
                self.candidates.clear();
                Some(Unresolved::Unreadable(error.to_string()))
            }
            Ok(source) => {
                self.candidates.clear();
                self.source = Some(source);
                None
            }
        };
        if self.unresolved.is_some() {
            self.spans = Spans::unknown();
            return self.chains.take().is_none();
        }
        true
    }
}

impl Trial {
    /// Opens a file; returns it with its chains, if it has debug information, and its code cut into spans.
    fn of(
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
            Ok((source, info)) => (Ok(source), Some(info.chains(addresses))),
            Err(error) => (Err(error), None),
        };
        let innermost = chains.as_ref().map_or(&[][..], |chains| &chains.innermost);
        let code = addresses.iter().zip(group_of).enumerate();
        let spans = Spans::of(code.map(|(index, (address, group))| {
            let node = innermost.get(index).copied().flatten();
            (*address, node, group)
        }));
        let trial = Trial {
            source,
            groups,
            verdicts: HashMap::default(),
            named: 0,
            agrees: 0,
            last_verdict: None,
        };
        Ok((trial, chains, spans))
    }

    /// Counts self cost as agreeing with this group of symbols or not.
    fn see(&mut self, function: FunctionId, group: u32, count: u64, section: &Section) {
        let groups = &self.groups;
        let verdict = match self.last_verdict {
            Some((known, of, verdict)) if (known, of) == (function, group) => verdict,
            _ => *(self.verdicts.entry((function, group))).or_insert_with(|| {
                let name = section.strings.get(section.key_of(function).name);
                let is_one = |symbol: &Vec<u8>| is_called(name, symbol);
                is_symbol(name).then(|| groups[group as usize].iter().any(is_one))
            }),
        };
        self.last_verdict = Some((function, group, verdict));
        let Some(agrees) = verdict else {
            return;
        };
        self.named = self.named.saturating_add(count);
        if agrees {
            self.agrees = self.agrees.saturating_add(count);
        }
    }
}

/// Whether Valgrind took a name from a symbol: false for placeholders and for names that it changed.
pub(super) fn is_symbol(name: &[u8]) -> bool {
    !(name.is_empty()
        || name == b"???"
        || name == b"(below main)"
        || name.starts_with(b"0x")
        || name.ends_with(b"@plt"))
}

/// Whether a function of the profile is called like a symbol.
pub(super) fn is_called(name: &[u8], symbol: &[u8]) -> bool {
    // `memcpy@@GLIBC_2.14`: the version is no part of the name.
    let symbol = symbol.split(|byte| *byte == b'@').next().unwrap_or(symbol);
    let demangled = demangle(symbol);
    if name == symbol || name == &*demangled {
        return true;
    }
    let (Ok(name), Ok(symbol)) = (std::str::from_utf8(name), std::str::from_utf8(&demangled))
    else {
        return false;
    };
    let (name, symbol) = (normal_function(name), normal_function(symbol));
    name == symbol || is_other_mangling(&name, &symbol)
}
