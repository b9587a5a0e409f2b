//! An unfinished `run` … `end` section: functions, lines and arcs under keys, with their counts in flat tables.
//!
//! Callgrind and Cachegrind profiles are added up here, part by part and file by file, and written when all input has been
//! read. This module does not know any file format. The readers add costs that are already attributed to functions.

use std::hash::Hash;

use cg_collections::intern::TooMany;
use cg_collections::maps::Map;
use cg_debug_info::ChainNodeId;
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
    /// The function's name.
    pub name: StringId,
    /// The function's source file.
    pub file: StringId,
    /// The function's object.
    pub object: StringId,
}

/// The calls from one line of a function to another function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArcKey {
    /// The calling function.
    pub caller: FunctionId,
    /// The called function.
    pub callee: FunctionId,
    /// The file of the call site; [`StringId::NOT_GIVEN`] if it is the caller's file.
    pub site: StringId,
    /// The line of the call site.
    pub line: u64,
    /// The call instruction, if the profile has addresses and either these or inlined functions are wanted.
    pub address: Option<u64>,
    /// The function inlined into the caller at the call site, as a node of the chains of the caller's object.
    pub inlined: Option<ChainNodeId>,
}

/// Facts about a function, apart from its costs.
#[derive(Clone, Copy, Debug, Default)]
struct FunctionFacts {
    calls: u64,
    /// True if the function has a record. Functions without any cost and merged functions have no record.
    is_present: bool,
}

/// An unfinished section.
pub struct Section {
    /// The names in the section.
    pub strings: Strings,
    /// The facts for the `run` record.
    pub run: RunFacts,
    /// True if functions have inclusive cost.
    has_inclusive: bool,
    /// True if functions have numbers of calls.
    has_calls: bool,
    is_complete: bool,
    events: Vec<String>,
    signedness: Signedness,
    total: Vec<Count>,
    functions: CostRows<FunctionId, SectionFunction, FunctionFacts>,
    lines: LineTable<FunctionId>,
    /// The arcs, each with its number of calls.
    arcs: CostRows<ArcId, ArcKey, u64>,
    cycles: Cycles,
    /// Maps each merged function to the function that it was merged into.
    merged: Map<FunctionId, FunctionId>,
    /// Functions by level and callers, if stacks are wanted.
    pub stacks: Option<StackGraph>,
    /// The cost lines, if inlined functions or machine code are wanted.
    pub trace: Option<CostLines>,
    /// The hashes of the functions' machine code, if they are wanted.
    pub(crate) prints: FunctionPrints,
}

impl Section {
    /// Creates an empty section for profiles of this tool.
    pub fn new(tool: &'static str, has_inclusive: bool) -> Section {
        let mut strings = Strings::default();
        // The first string of a table always has an id.
        let _ = strings.intern(b"");
        Section {
            strings,
            run: RunFacts::new(tool),
            has_inclusive,
            has_calls: has_inclusive,
            is_complete: true,
            events: Vec::new(),
            signedness: Signedness::default(),
            total: Vec::new(),
            functions: CostRows::new(0),
            lines: LineTable::new(0),
            arcs: CostRows::for_arcs(0),
            cycles: Cycles::default(),
            merged: Map::default(),
            stacks: None,
            trace: None,
            prints: FunctionPrints::default(),
        }
    }

    /// Returns the function that this function was merged into, or the function itself.
    #[inline]
    pub(crate) fn merged_into(&self, function: FunctionId) -> FunctionId {
        if self.merged.is_empty() {
            return function;
        }
        self.merged.get(&function).copied().unwrap_or(function)
    }

    /// Returns true if functions have inclusive cost.
    pub(crate) fn has_inclusive(&self) -> bool {
        self.has_inclusive
    }

    /// Returns true if functions have numbers of calls.
    pub(crate) fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Writes the numbers of calls of functions, even if their inclusive cost is unknown.
    pub fn keep_calls(&mut self) {
        self.has_calls = true;
    }

    /// Marks the section as incomplete because of an error in the input. It then gets no `end`.
    pub fn mark_incomplete(&mut self) {
        self.is_complete = false;
    }

    /// Returns the events of all parts so far.
    pub fn events(&self) -> &[String] {
        &self.events
    }

    /// Returns the number of events in all parts so far.
    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// Returns the signedness of all counts so far.
    pub fn signedness(&self) -> Signedness {
        self.signedness
    }

    /// Treats all counts as signed from now on, because the input has a negative count.
    pub fn switch_to_signed(&mut self) -> Added {
        let fits =
            self.functions.fits_signed() && self.lines.fits_signed() && self.arcs.fits_signed();
        if !fits {
            return Err(NoRoom::Sum);
        }
        self.signedness = Signedness::Signed;
        Ok(())
    }

    /// Returns the columns for these events. Adds columns for new names.
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

    /// Returns the function with this key. Adds it if it is new.
    pub fn function(&mut self, key: SectionFunction) -> Result<FunctionId, TooMany> {
        self.functions.row(key)
    }

    /// Iterates over the functions with a record, and their keys.
    pub fn present(&self) -> impl Iterator<Item = (FunctionId, SectionFunction)> {
        let functions = &self.functions;
        functions
            .all()
            .filter(|(function, _)| functions.facts(*function).is_present)
    }

    /// Returns the key of a function.
    pub fn key_of(&self, function: FunctionId) -> SectionFunction {
        self.functions.key(function)
    }

    /// Returns the self cost of a function.
    pub fn cost(&self, function: FunctionId) -> &[u64] {
        self.functions.own(function)
    }

    /// Returns the inclusive cost of a function.
    pub(crate) fn inclusive(&self, function: FunctionId) -> &[u64] {
        self.functions.inclusive(function)
    }

    /// Returns the number of calls of a function.
    pub(crate) fn calls(&self, function: FunctionId) -> u64 {
        self.functions.facts(function).calls
    }

    /// Merges the rows of each source line, after all lines have been added.
    ///
    /// # Errors
    /// Returns an error if a sum exceeds 64 bits.
    pub(crate) fn settle_lines(&mut self) -> Added {
        self.lines.settle(self.signedness)
    }

    pub(crate) fn lines(&self) -> &LineTable<FunctionId> {
        &self.lines
    }

    /// Returns the arcs, each with its number of calls.
    pub(crate) fn arcs(&self) -> &CostRows<ArcId, ArcKey, u64> {
        &self.arcs
    }

    /// Returns the number of each function's cycle, for functions in a cycle.
    pub(crate) fn cycle_numbers(&self) -> Map<FunctionId, u64> {
        self.cycles.numbers()
    }

    /// Returns the sum of all self cost, by event.
    pub(crate) fn total(&self) -> &[Count] {
        &self.total
    }

    /// Returns true if all input of the section could be read.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Adds self cost to a function and to the total.
    #[inline]
    pub fn add_cost(&mut self, function: FunctionId, cost: &[u64]) -> Added {
        self.functions.facts_mut(function).is_present = true;
        self.functions.add_own(function, cost, self.signedness)?;
        for (total, count) in self.total.iter_mut().zip(cost) {
            *total += self.signedness.count(*count);
        }
        Ok(())
    }

    /// Adds inclusive cost and calls to a function.
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

    /// Splits arcs by the chain of inlined functions at the call site. `innermost` finds the chain by caller and place.
    /// Merges call sites at different addresses unless `has_addresses` is set.
    pub fn split_arcs_by_chain(
        &mut self,
        innermost: impl Fn(&Section, FunctionId, At) -> Option<ChainNodeId>,
        has_addresses: bool,
    ) -> Added {
        let arcs = std::mem::replace(&mut self.arcs, CostRows::for_arcs(self.events.len()));
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

    /// Adds calls and inclusive cost to an arc.
    pub fn add_arc(&mut self, key: ArcKey, calls: u64, inclusive: &[u64]) -> Added {
        let arc = self.arcs.row(key)?;
        add_calls(self.arcs.facts_mut(arc), calls)?;
        self.arcs.add_inclusive(arc, inclusive, self.signedness)
    }

    /// Records that these functions form a cycle. Their inclusive cost is then a matter of convention.
    pub fn add_cycle(&mut self, members: &[FunctionId]) {
        self.cycles.join(members);
    }

    /// Removes all counts, for the next part of the same file. Names keep their ids.
    pub fn clear(&mut self) {
        self.run = self.run.next_part();
        self.is_complete = true;
        self.events.clear();
        self.signedness = Signedness::default();
        self.total.clear();
        self.functions = CostRows::new(0);
        self.lines = LineTable::new(0);
        self.arcs = CostRows::for_arcs(0);
        self.cycles = Cycles::default();
        self.merged.clear();
        self.stacks = self.stacks.as_ref().map(|_| StackGraph::default());
        self.trace = self.trace.as_ref().map(|_| CostLines::default());
        self.prints.clear();
    }
}

#[cfg(test)]
mod tests;
