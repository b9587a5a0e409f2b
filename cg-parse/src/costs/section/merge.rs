//! Functions that turn out to be the same once all inputs are read.

use std::mem;

use hashbrown::HashMap;

use super::{
    ArcCosts, ArcKey, CostTable, FunctionId, FunctionKey, Keys, LineCosts, LineKey, Overflow,
    Section,
};

impl Section {
    /// The functions that have a record, and what makes them one and the same.
    pub(crate) fn present(&self) -> impl Iterator<Item = (FunctionId, FunctionKey)> {
        let functions = &self.functions;
        (0u32..)
            .zip(functions.keys.all())
            .zip(&functions.is_present)
            .filter(|(_, is_present)| **is_present)
            .map(|((number, key), _)| (FunctionId(number), *key))
    }

    /// Adds each function to the one that it turned out to be, with its lines and arcs.
    pub(crate) fn merge(&mut self, same: &HashMap<FunctionId, FunctionId>) -> Result<(), Overflow> {
        let resolve = |mut function: FunctionId| {
            while let Some(into) = same.get(&function) {
                function = *into;
            }
            function
        };
        for from in same.keys() {
            self.merge_function(*from, resolve(*from))?;
        }
        let lines = mem::replace(&mut self.lines, LineCosts::new(self.events.len()));
        for (row, key) in lines.keys.all().iter().enumerate() {
            let key = LineKey {
                function: resolve(key.function),
                ..*key
            };
            let (cost, inclusive) = (lines.cost.row(row), lines.inclusive.row(row));
            self.add_line(key, cost, inclusive, lines.has_calls[row])?;
        }
        let arcs = mem::replace(&mut self.arcs, ArcCosts::new(self.events.len()));
        for (row, key) in arcs.keys.all().iter().enumerate() {
            let key = ArcKey {
                caller: resolve(key.caller),
                callee: resolve(key.callee),
                ..*key
            };
            self.add_arc(key, arcs.calls[row], arcs.inclusive.row(row))?;
        }
        Ok(())
    }

    fn merge_function(&mut self, from: FunctionId, into: FunctionId) -> Result<(), Overflow> {
        let functions = &mut self.functions;
        let cost = functions.cost.row(from.index()).to_vec();
        let inclusive = functions.inclusive.row(from.index()).to_vec();
        let calls = functions.calls[from.index()];
        functions.is_present[from.index()] = false;
        functions.cost.add(into.index(), &cost, self.signedness)?;
        self.cycles.replace(from, into);
        self.add_inclusive(into, &inclusive, calls)
    }
}

impl LineCosts {
    pub(super) fn new(events: usize) -> LineCosts {
        LineCosts {
            keys: Keys::new(),
            cost: CostTable::new(events),
            inclusive: CostTable::new(events),
            has_calls: Vec::new(),
        }
    }
}

impl ArcCosts {
    pub(super) fn new(events: usize) -> ArcCosts {
        ArcCosts {
            keys: Keys::new(),
            inclusive: CostTable::new(events),
            calls: Vec::new(),
        }
    }
}
