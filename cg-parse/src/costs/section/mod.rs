//! One `run` … `end` section in the making: functions, lines and arcs under keys, their counts in flat tables.
//!
//! Callgrind and Cachegrind profiles are added up here, part by part and file by file, and written once all is read.
//! Nothing in it knows a file format; the readers hand over what they found, already attributed to functions.

use std::hash::{BuildHasher, Hash};

use cg_stream::record::Count;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

mod costs;
mod cycles;
mod merge;
mod run;
mod strings;
mod write;

pub(crate) use costs::{CostTable, Overflow, Signedness, add_inclusive_row, add_row};
pub(crate) use cycles::Cycles;
pub(crate) use run::RunFacts;
pub(crate) use strings::{StringId, Strings};

/// What makes a function one and the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FunctionKey {
    pub(crate) name: StringId,
    pub(crate) file: StringId,
    pub(crate) object: StringId,
}

/// A function of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FunctionId(u32);

impl FunctionId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A source line inside a function, or an instruction of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LineKey {
    pub(crate) function: FunctionId,
    /// The file of the line.
    pub(crate) file: StringId,
    pub(crate) line: u64,
    pub(crate) address: Option<u64>,
}

/// The calls from one line of a function to another function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArcKey {
    pub(crate) caller: FunctionId,
    pub(crate) callee: FunctionId,
    /// The file of the call site; not given where it is the caller's.
    pub(crate) site: StringId,
    pub(crate) line: u64,
}

/// Keys under small numbers, in the order they were first met.
pub(crate) struct Keys<K> {
    keys: Vec<K>,
    index: HashTable<u32>,
    hasher: FixedState,
}

impl<K: Copy + Eq + Hash> Keys<K> {
    pub(crate) fn new() -> Keys<K> {
        Keys {
            keys: Vec::new(),
            index: HashTable::new(),
            hasher: FixedState::default(),
        }
    }

    /// The number of a key, given out if it is new.
    #[inline]
    pub(crate) fn number(&mut self, key: K) -> usize {
        let Keys {
            keys,
            index,
            hasher,
        } = self;
        let hash = hasher.hash_one(key);
        if let Some(number) = index.find(hash, |number| keys[*number as usize] == key) {
            return *number as usize;
        }
        let number = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        keys.push(key);
        index.insert_unique(hash, number, |number| {
            hasher.hash_one(keys[*number as usize])
        });
        number as usize
    }

    pub(crate) fn all(&self) -> &[K] {
        &self.keys
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.index.clear();
    }
}

/// What is known of each function.
struct Functions {
    keys: Keys<FunctionKey>,
    cost: CostTable,
    inclusive: CostTable,
    calls: Vec<u64>,
    /// Whether a function has a record in this section; with parts kept apart not every known function has one.
    is_present: Vec<bool>,
}

/// Lines, with the cost of what they call.
struct LineCosts {
    keys: Keys<LineKey>,
    cost: CostTable,
    inclusive: CostTable,
    /// Whether calls leave from the line.
    has_calls: Vec<bool>,
}

/// Arcs, with the cost of what they call.
struct ArcCosts {
    keys: Keys<ArcKey>,
    inclusive: CostTable,
    calls: Vec<u64>,
}

/// A section in the making.
pub(crate) struct Section {
    pub(crate) strings: Strings,
    pub(crate) run: RunFacts,
    /// Whether the functions have inclusive cost.
    has_inclusive: bool,
    is_complete: bool,
    events: Vec<String>,
    signedness: Signedness,
    total: Vec<Count>,
    functions: Functions,
    lines: LineCosts,
    arcs: ArcCosts,
    cycles: Cycles,
}

impl Section {
    /// A section for what this tool counted.
    pub(crate) fn new(tool: &'static str, has_inclusive: bool) -> Section {
        Section {
            strings: Strings::new(),
            run: RunFacts::new(tool),
            has_inclusive,
            is_complete: true,
            events: Vec::new(),
            signedness: Signedness::default(),
            total: Vec::new(),
            functions: Functions {
                keys: Keys::new(),
                cost: CostTable::default(),
                inclusive: CostTable::default(),
                calls: Vec::new(),
                is_present: Vec::new(),
            },
            lines: LineCosts::new(0),
            arcs: ArcCosts::new(0),
            cycles: Cycles::default(),
        }
    }

    /// Notes that something which belongs to this section could not be read, so that it gets no `end`.
    pub(crate) fn leave_open(&mut self) {
        self.is_complete = false;
    }

    /// How many events there are in all parts so far.
    pub(crate) fn event_count(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn signedness(&self) -> Signedness {
        self.signedness
    }

    /// Reads all counts as signed from here on, as a negative one was met.
    pub(crate) fn become_signed(&mut self) -> Result<(), Overflow> {
        let tables = [
            &self.functions.cost,
            &self.functions.inclusive,
            &self.lines.cost,
            &self.lines.inclusive,
            &self.arcs.inclusive,
        ];
        if !tables.iter().all(|table| table.fits_signed()) {
            return Err(Overflow);
        }
        self.signedness = Signedness::Signed;
        Ok(())
    }

    /// The columns for these events: those of the same name, else new ones.
    pub(crate) fn columns(&mut self, names: &[String]) -> Vec<usize> {
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
        for table in [
            &mut self.functions.cost,
            &mut self.functions.inclusive,
            &mut self.lines.cost,
            &mut self.lines.inclusive,
            &mut self.arcs.inclusive,
        ] {
            table.widen(events);
        }
        columns
    }

    /// The function with this identity.
    pub(crate) fn function(&mut self, key: FunctionKey) -> FunctionId {
        let number = self.functions.keys.number(key);
        FunctionId(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// The self cost of a function that has a record.
    pub(crate) fn cost(&self, function: FunctionId) -> &[u64] {
        self.functions.cost.row(function.index())
    }

    /// Adds self cost, and to the total with it.
    pub(crate) fn add_cost(&mut self, function: FunctionId, cost: &[u64]) -> Result<(), Overflow> {
        let row = self.presence(function);
        self.functions.cost.add(row, cost, self.signedness)?;
        for (total, count) in self.total.iter_mut().zip(cost) {
            *total += self.signedness.count(*count);
        }
        Ok(())
    }

    /// Adds inclusive cost and calls.
    pub(crate) fn add_inclusive(
        &mut self,
        function: FunctionId,
        inclusive: &[u64],
        calls: u64,
    ) -> Result<(), Overflow> {
        let row = self.presence(function);
        let sum = &mut self.functions.calls[row];
        *sum = sum.checked_add(calls).ok_or(Overflow)?;
        self.functions
            .inclusive
            .add_inclusive(row, inclusive, self.signedness)
    }

    /// The row of a function, which has a record from now on.
    fn presence(&mut self, function: FunctionId) -> usize {
        let row = function.index();
        let functions = &mut self.functions;
        if functions.is_present.len() <= row {
            let rows = functions.keys.all().len();
            functions.is_present.resize(rows, false);
            functions.calls.resize(rows, 0);
            functions.cost.grow_to(rows);
            functions.inclusive.grow_to(rows);
        }
        functions.is_present[row] = true;
        row
    }

    /// Adds to a line: self cost, and what it costs with its calls.
    pub(crate) fn add_line(
        &mut self,
        key: LineKey,
        cost: &[u64],
        inclusive: &[u64],
        has_calls: bool,
    ) -> Result<(), Overflow> {
        let lines = &mut self.lines;
        let row = lines.keys.number(key);
        if row == lines.has_calls.len() {
            lines.has_calls.push(false);
            lines.cost.grow_to(row + 1);
            lines.inclusive.grow_to(row + 1);
        }
        lines.has_calls[row] |= has_calls;
        lines.cost.add(row, cost, self.signedness)?;
        lines
            .inclusive
            .add_inclusive(row, inclusive, self.signedness)
    }

    /// Adds to an arc.
    pub(crate) fn add_arc(
        &mut self,
        key: ArcKey,
        calls: u64,
        inclusive: &[u64],
    ) -> Result<(), Overflow> {
        let arcs = &mut self.arcs;
        let row = arcs.keys.number(key);
        if row == arcs.calls.len() {
            arcs.calls.push(0);
            arcs.inclusive.grow_to(row + 1);
        }
        arcs.calls[row] = arcs.calls[row].checked_add(calls).ok_or(Overflow)?;
        arcs.inclusive
            .add_inclusive(row, inclusive, self.signedness)
    }

    /// Notes that these functions call each other in a circle, so that their inclusive cost is an agreed one.
    pub(crate) fn add_cycle(&mut self, members: &[FunctionId]) {
        self.cycles.join(members);
    }

    /// Forgets all counts, for the next part of the same file; names and functions keep their numbers.
    pub(crate) fn clear(&mut self) {
        self.run = self.run.next_part();
        self.is_complete = true;
        self.events.clear();
        self.signedness = Signedness::default();
        self.total.clear();
        self.functions.cost = CostTable::default();
        self.functions.inclusive = CostTable::default();
        self.functions.calls.clear();
        self.functions.is_present.clear();
        self.lines.keys.clear();
        self.lines.cost = CostTable::default();
        self.lines.inclusive = CostTable::default();
        self.lines.has_calls.clear();
        self.arcs.keys.clear();
        self.arcs.inclusive = CostTable::default();
        self.arcs.calls.clear();
        self.cycles = Cycles::default();
    }
}
