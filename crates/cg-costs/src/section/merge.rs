//! Merges functions that prove to be the same after a part, or all input, has been read.

use std::mem;

use cg_collections::maps::Map;

use super::{ArcKey, Section};
use crate::ids::FunctionId;
use crate::tables::{Added, CostRows, LineTable};

impl Section {
    /// Merges each key of `same` into its value, with lines and arcs.
    pub fn merge(&mut self, same: &Map<FunctionId, FunctionId>) -> Added {
        if same.is_empty() {
            return Ok(());
        }
        let resolve = |mut function: FunctionId| {
            while let Some(into) = same.get(&function) {
                function = *into;
            }
            function
        };
        for from in same.keys() {
            let into = resolve(*from);
            self.merge_function(*from, into)?;
            self.merged.insert(*from, into);
        }
        let lines = mem::replace(&mut self.lines, LineTable::new(self.events.len()));
        self.add_lines(&lines, |function| Some((resolve(function), false)))?;
        let arcs = mem::replace(&mut self.arcs, CostRows::for_arcs(self.events.len()));
        for (arc, key) in arcs.all() {
            let key = ArcKey {
                caller: resolve(key.caller),
                callee: resolve(key.callee),
                ..key
            };
            self.add_arc(key, *arcs.facts(arc), arcs.inclusive(arc))?;
        }
        Ok(())
    }

    /// Adds a part whose names are interned in this section. `same` maps functions of the part to the functions that they
    /// are merged into. A part has only self cost and lines.
    pub fn add_part(&mut self, part: &mut Section, same: &Map<FunctionId, FunctionId>) -> Added {
        if self.functions.row_count() == 0 {
            // The first part is usually the only part, so move its tables instead of adding them up.
            mem::swap(&mut self.functions, &mut part.functions);
            mem::swap(&mut self.lines, &mut part.lines);
            mem::swap(&mut self.total, &mut part.total);
            self.merge(same)?;
            // In the next part, these ids may mean separate functions.
            self.merged.clear();
            return Ok(());
        }
        let mut functions = Map::default();
        for (id, _) in part.present() {
            let key = part.key_of(same.get(&id).copied().unwrap_or(id));
            let function = self.function(key)?;
            self.add_cost(function, part.cost(id))?;
            functions.insert(id, function);
        }
        self.add_lines(&part.lines, |id| Some((*functions.get(&id)?, false)))
    }

    fn merge_function(&mut self, from: FunctionId, into: FunctionId) -> Added {
        let functions = &mut self.functions;
        let cost = functions.own(from).to_vec();
        let inclusive = functions.inclusive(from).to_vec();
        let facts = functions.facts_mut(from);
        let calls = facts.calls;
        facts.is_present = false;
        facts.calls = 0;
        functions.clear_row(from);
        functions.add_own(into, &cost, self.signedness)?;
        self.cycles.replace(from, into);
        self.add_inclusive(into, &inclusive, calls)
    }
}
