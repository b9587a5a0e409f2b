//! The order of records: by cost, largest first, then by names as bytes (law 5). And what records say of a row.

use std::cmp::Ordering;

use cg_stream::intern::Id as _;
use cg_stream::record::{Counts, Name};
use cg_stream::sorting::Order as _;

use super::{Section, SectionFunction};
use crate::ids::{FunctionId, StringId};

impl Section {
    /// The event that ranks: the first that anything costs at all. xtrees begin with those of what is still allocated,
    /// which may be nothing.
    pub(crate) fn ranking_event(&self) -> usize {
        let functions = &self.functions;
        let is_counted = |event: &usize| {
            self.present().any(|(function, _)| {
                let counts = [functions.own(function), functions.inclusive(function)];
                counts.iter().any(|counts| counts[*event] != 0)
            })
        };
        (0..self.events.len()).find(is_counted).unwrap_or(0)
    }

    /// What a function costs itself, by one event.
    pub(crate) fn cost_by(&self, event: usize, function: FunctionId) -> u64 {
        self.cost(function).get(event).copied().unwrap_or(0)
    }

    /// A name, unless it is not given.
    pub(crate) fn name(&self, id: StringId) -> Option<Name<'_>> {
        (id != StringId::NOT_GIVEN).then(|| Name::from_bytes(self.strings.get(id)))
    }

    /// The counts of a row, as records have them.
    pub(crate) fn counts(&self, row: &[u64]) -> Counts<'_> {
        let counts = row.iter().map(|cell| self.signedness.count(*cell));
        Counts::from_row(&self.events, counts)
    }

    /// Descending by an event.
    pub(crate) fn by_cost(&self, event: usize, a: &[u64], b: &[u64]) -> Ordering {
        let count = |row: &[u64]| row.get(event).map(|cell| self.signedness.count(*cell));
        count(b).cmp(&count(a))
    }

    /// All functions in the order of their names, and where each stands in it.
    pub(crate) fn functions_by_name(&self) -> (Vec<FunctionId>, Vec<u32>) {
        let mut functions: Vec<(FunctionId, SectionFunction)> = self.functions.all().collect();
        functions.order_by(|(_, a), (_, b)| self.by_function(*a, *b));
        let functions: Vec<FunctionId> = functions.into_iter().map(|(id, _)| id).collect();
        let mut order = vec![0; functions.len()];
        for (place, function) in (0..).zip(&functions) {
            order[function.index()] = place;
        }
        (functions, order)
    }

    pub(crate) fn by_function(&self, a: SectionFunction, b: SectionFunction) -> Ordering {
        self.by_string(a.name, b.name)
            .then_with(|| self.by_string(a.file, b.file))
            .then_with(|| self.by_string(a.object, b.object))
    }

    pub(crate) fn by_string(&self, a: StringId, b: StringId) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.strings.get(a).cmp(self.strings.get(b))
    }
}
