//! The order of records: by cost, largest first, then by names as bytes (law 5). Also converts rows to fields of records.

use std::cmp::Ordering;

use cg_collections::intern::Id as _;
use cg_collections::sorting::{Order as _, number_of_text};
use cg_stream::record::{Counts, Name};

use super::{Section, SectionFunction};
use crate::ids::{FunctionId, StringId};

impl Section {
    /// Returns the event that determines the order of records: the first event with any cost. The first events of xtrees
    /// count the memory that is still allocated, and these counts may all be 0.
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

    /// Returns the self cost of a function for one event.
    pub(crate) fn cost_by(&self, event: usize, function: FunctionId) -> u64 {
        self.cost(function).get(event).copied().unwrap_or(0)
    }

    /// Returns a name; `None` if it is missing.
    pub(crate) fn name(&self, id: StringId) -> Option<Name<'_>> {
        (id != StringId::NOT_GIVEN).then(|| Name::from_bytes(self.strings.get(id)))
    }

    /// Converts a row to the counts of a record.
    pub(crate) fn counts(&self, row: &[u64]) -> Counts<'_> {
        let counts = row.iter().map(|cell| self.signedness.count(*cell));
        Counts::from_row(&self.events, counts)
    }

    /// Compares rows by an event, in descending order.
    pub(crate) fn by_cost(&self, event: usize, a: &[u64], b: &[u64]) -> Ordering {
        let count = |row: &[u64]| row.get(event).map(|cell| self.signedness.count(*cell));
        count(b).cmp(&count(a))
    }

    /// Returns all functions, sorted by name, and the position of each function in this order.
    pub(crate) fn functions_by_name(&self) -> (Vec<FunctionId>, Vec<u32>) {
        let mut functions: Vec<(FunctionId, SectionFunction)> = self.functions.all().collect();
        functions.order_by_number(
            |(_, function)| number_of_text(self.strings.get(function.name)),
            |(_, a), (_, b)| self.by_function(*a, *b),
        );
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
