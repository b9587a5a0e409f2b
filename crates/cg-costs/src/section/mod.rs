//! One `run` … `end` section in the making: functions, lines and arcs under keys, their counts in flat tables.
//!
//! Callgrind and Cachegrind profiles are added up here, part by part and file by file, and written once all is read.
//! Nothing in it knows a file format; the readers hand over what they found, already attributed to functions.

use std::hash::Hash;

use cg_debug_info::ChainNodeId;
use cg_stream::intern::TooMany;
use cg_stream::maps::Map;
use cg_stream::record::Count;

use super::ids::{ArcId, FunctionId, StringId, Strings};
use super::inlines::{At, CostLines, FunctionPrints};
use super::stacks::graph::StackGraph;
use super::tables::{Added, CostRows, LineKey, LineTable, NoRoom, Signedness, add_calls};

mod cycles;
mod merge;
mod order;
mod run;

use cycles::Cycles;
pub use run::{Agreed, RunFacts};

/// The key of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SectionFunction {
    /// Its name.
    pub name: StringId,
    /// Its source file.
    pub file: StringId,
    /// Its object.
    pub object: StringId,
}

/// The calls from one line of a function to another function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArcKey {
    /// Who calls.
    pub caller: FunctionId,
    /// Who is called.
    pub callee: FunctionId,
    /// The file of the call site; not given where it is the caller's.
    pub site: StringId,
    /// The line of the call site.
    pub line: u64,
    /// The call instruction, where the profile has addresses and they or inlined functions are wanted.
    pub address: Option<u64>,
    /// The function inlined into the caller at the call site, as a node of the chains of the caller's object.
    pub inlined: Option<ChainNodeId>,
}

/// What is known of a function besides its costs.
#[derive(Clone, Copy, Debug, Default)]
struct FunctionFacts {
    calls: u64,
    /// Whether the function has a record. Functions that were never charged and merged ones have none.
    is_present: bool,
}

/// A section in the making.
pub struct Section {
    /// The names in it.
    pub strings: Strings,
    /// What its `run` record says.
    pub run: RunFacts,
    /// Whether the functions have inclusive cost.
    has_inclusive: bool,
    is_complete: bool,
    events: Vec<String>,
    signedness: Signedness,
    total: Vec<Count>,
    functions: CostRows<FunctionId, SectionFunction, FunctionFacts>,
    lines: LineTable<FunctionId>,
    /// With each arc, how many calls it stands for.
    arcs: CostRows<ArcId, ArcKey, u64>,
    cycles: Cycles,
    /// Maps merged functions to those they were merged into.
    merged: Map<FunctionId, FunctionId>,
    /// Functions by how they were reached, where stacks are wanted.
    pub stacks: Option<StackGraph>,
    /// The cost lines, where inlined functions or machine code are wanted.
    pub trace: Option<CostLines>,
    /// What the machine code of functions is known by, where that is wanted.
    pub(crate) prints: FunctionPrints,
}

impl Section {
    /// A section for what this tool counted.
    pub fn new(tool: &'static str, has_inclusive: bool) -> Section {
        let mut strings = Strings::default();
        // The first string of a table always has an id.
        let _ = strings.intern(b"");
        Section {
            strings,
            run: RunFacts::new(tool),
            has_inclusive,
            is_complete: true,
            events: Vec::new(),
            signedness: Signedness::default(),
            total: Vec::new(),
            functions: CostRows::new(0),
            lines: LineTable::new(0),
            arcs: CostRows::of_arcs(0),
            cycles: Cycles::default(),
            merged: Map::default(),
            stacks: None,
            trace: None,
            prints: FunctionPrints::default(),
        }
    }

    /// The function that this one was merged into, or the function itself.
    #[inline]
    pub(crate) fn merged_into(&self, function: FunctionId) -> FunctionId {
        if self.merged.is_empty() {
            return function;
        }
        self.merged.get(&function).copied().unwrap_or(function)
    }

    /// Whether functions have inclusive cost.
    pub(crate) fn has_inclusive(&self) -> bool {
        self.has_inclusive
    }

    /// Notes that something which belongs to this section could not be read, so that it gets no `end`.
    pub fn leave_open(&mut self) {
        self.is_complete = false;
    }

    /// The events of all parts so far.
    pub fn events(&self) -> &[String] {
        &self.events
    }

    /// How many events there are in all parts so far.
    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// How all counts so far are read.
    pub fn signedness(&self) -> Signedness {
        self.signedness
    }

    /// Reads all counts as signed from here on, as a negative one was met.
    pub fn become_signed(&mut self) -> Added {
        let fits =
            self.functions.fits_signed() && self.lines.fits_signed() && self.arcs.fits_signed();
        if !fits {
            return Err(NoRoom::Sum);
        }
        self.signedness = Signedness::Signed;
        Ok(())
    }

    /// The columns for these events: those of the same name, else new ones.
    pub fn columns(&mut self, names: &[String]) -> Vec<usize> {
        let columns = names
            .iter()
            .map(|name| {
                self.events
                    .iter()
                    .position(|event| event == name)
                    .unwrap_or_else(|| {
                        self.events.push(name.clone());
                        self.events.len() - 1
                    })
            })
            .collect();
        let events = self.events.len();
        self.total.resize(events, 0);
        self.functions.widen(events);
        self.lines.widen(events);
        self.arcs.widen(events);
        if let Some(stacks) = &mut self.stacks {
            stacks.widen(events);
        }
        columns
    }

    /// The function with this identity.
    pub fn function(&mut self, key: SectionFunction) -> Result<FunctionId, TooMany> {
        self.functions.row(key)
    }

    /// The functions that have a record, and what makes them one and the same.
    pub fn present(&self) -> impl Iterator<Item = (FunctionId, SectionFunction)> {
        let functions = &self.functions;
        functions
            .all()
            .filter(|(function, _)| functions.facts(*function).is_present)
    }

    /// What makes a function itself.
    pub fn key_of(&self, function: FunctionId) -> SectionFunction {
        self.functions.key(function)
    }

    /// The self cost of a function.
    pub fn cost(&self, function: FunctionId) -> &[u64] {
        self.functions.own(function)
    }

    /// The inclusive cost of a function.
    pub(crate) fn inclusive(&self, function: FunctionId) -> &[u64] {
        self.functions.inclusive(function)
    }

    /// How often a function was called.
    pub(crate) fn calls(&self, function: FunctionId) -> u64 {
        self.functions.facts(function).calls
    }

    /// Source lines, once all of them are there.
    ///
    /// # Errors
    /// Where a sum has no room.
    pub(crate) fn settle_lines(&mut self) -> Added {
        self.lines.settle(self.signedness)
    }

    pub(crate) fn lines(&self) -> &LineTable<FunctionId> {
        &self.lines
    }

    /// The arcs, each with its number of calls.
    pub(crate) fn arcs(&self) -> &CostRows<ArcId, ArcKey, u64> {
        &self.arcs
    }

    /// The number of each function's circle of functions that call each other.
    pub(crate) fn cycle_numbers(&self) -> Map<FunctionId, u64> {
        self.cycles.numbers()
    }

    /// The sums of all self cost, by event.
    pub(crate) fn total(&self) -> &[Count] {
        &self.total
    }

    /// Whether all that belongs to it could be read.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Adds self cost, and to the total with it.
    #[inline]
    pub fn add_cost(&mut self, function: FunctionId, cost: &[u64]) -> Added {
        self.functions.facts_mut(function).is_present = true;
        self.functions.add_own(function, cost, self.signedness)?;
        for (total, count) in self.total.iter_mut().zip(cost) {
            *total += self.signedness.count(*count);
        }
        Ok(())
    }

    /// Adds inclusive cost and calls.
    pub fn add_inclusive(&mut self, function: FunctionId, inclusive: &[u64], calls: u64) -> Added {
        let facts = self.functions.facts_mut(function);
        facts.is_present = true;
        add_calls(&mut facts.calls, calls)?;
        self.functions
            .add_inclusive(function, inclusive, self.signedness)
    }

    /// Adds self cost to a line.
    pub fn add_line(&mut self, key: LineKey<FunctionId>, cost: &[u64]) -> Added {
        self.lines.add_own(key, cost, self.signedness)
    }

    /// Adds lines; see `LineTable::absorb`.
    pub fn add_lines<F: Copy + Eq + Hash>(
        &mut self,
        lines: &LineTable<F>,
        function: impl Fn(F) -> Option<(FunctionId, bool)>,
    ) -> Added {
        self.lines.absorb(lines, function, self.signedness)
    }

    /// Splits arcs by the chain of inlined functions at the call site, which `innermost` finds by caller and place;
    /// keeps call sites at different addresses apart only with `has_addresses`.
    pub fn tell_arcs_apart(
        &mut self,
        innermost: impl Fn(&Section, FunctionId, At) -> Option<ChainNodeId>,
        has_addresses: bool,
    ) -> Added {
        let arcs = std::mem::replace(&mut self.arcs, CostRows::of_arcs(self.events.len()));
        for (arc, key) in arcs.all() {
            let at = At {
                address: key.address,
                file: match key.site {
                    StringId::NOT_GIVEN => self.key_of(key.caller).file,
                    site => site,
                },
                line: key.line,
            };
            let key = ArcKey {
                address: key.address.filter(|_| has_addresses),
                inlined: innermost(self, key.caller, at),
                ..key
            };
            self.add_arc(key, *arcs.facts(arc), arcs.inclusive(arc))?;
        }
        Ok(())
    }

    /// Adds to an arc.
    pub fn add_arc(&mut self, key: ArcKey, calls: u64, inclusive: &[u64]) -> Added {
        let arc = self.arcs.row(key)?;
        add_calls(self.arcs.facts_mut(arc), calls)?;
        self.arcs.add_inclusive(arc, inclusive, self.signedness)
    }

    /// Notes that these functions form a cycle, so that their inclusive cost is a matter of convention.
    pub fn add_cycle(&mut self, members: &[FunctionId]) {
        self.cycles.join(members);
    }

    /// Forgets all counts, for the next part of the same file; names keep their ids.
    pub fn clear(&mut self) {
        self.run = self.run.next_part();
        self.is_complete = true;
        self.events.clear();
        self.signedness = Signedness::default();
        self.total.clear();
        self.functions = CostRows::new(0);
        self.lines = LineTable::new(0);
        self.arcs = CostRows::of_arcs(0);
        self.cycles = Cycles::default();
        self.merged.clear();
        self.stacks = self.stacks.as_ref().map(|_| StackGraph::default());
        self.trace = self.trace.as_ref().map(|_| CostLines::default());
        self.prints.clear();
    }
}
