//! Rows summed by file, object, crate, module or function name: `--group-by`.
//!
//! Self cost adds up, so it is what groups have; inclusive cost overlaps and is dropped.

use std::collections::HashMap;

use cg_document::{Cell, Column, Layout, Table};
use cg_stream::profile::{FunctionKey, Profile};
use cg_stream::record::{Count, RecordType};

use crate::options::GroupBy;
use crate::report::columns::{push_events, set_totals};
use crate::report::events::EventColumns;
use crate::report::grouping::group_of;
use crate::report::kinds;

/// Groups of the rows of one record type.
pub(crate) struct Groups {
    pub(crate) by: GroupBy,
    pub(crate) labels: Vec<String>,
    /// How many rows each group sums up.
    members: Vec<Count>,
    /// Self cost, a row of `stride` counts a group.
    cost: Vec<Count>,
    stride: usize,
}

impl Groups {
    /// Sums the rows of a record type.
    pub(crate) fn of(profile: &Profile, kind: RecordType, by: GroupBy) -> Groups {
        let rows = profile.table(kind);
        let stride = profile.events().len();
        let mut groups = Groups {
            by,
            labels: Vec::new(),
            members: Vec::new(),
            cost: Vec::new(),
            stride,
        };
        let mut index: HashMap<String, usize> = HashMap::new();
        for row in 0..rows.len() {
            let label = label(profile, &rows.key(row).function, by);
            let group = *index.entry(label).or_insert_with_key(|label| {
                groups.labels.push(label.clone());
                groups.members.push(0);
                groups.cost.resize(groups.cost.len() + stride, 0);
                groups.labels.len() - 1
            });
            groups.members[group] += 1;
            let sums = &mut groups.cost[group * stride..(group + 1) * stride];
            for (sum, count) in sums.iter_mut().zip(rows.cost(row)) {
                *sum += count;
            }
        }
        groups
    }

    /// Self cost of a group, in the order of the profile's events.
    pub(crate) fn cost(&self, group: usize) -> &[Count] {
        &self.cost[group * self.stride..(group + 1) * self.stride]
    }

    /// The groups as a table, in the order of their cost.
    pub(crate) fn table(&self, kind: RecordType, events: &EventColumns) -> Table<'_> {
        let mut columns = Vec::new();
        push_events(&mut columns, events, "", move |group| {
            Some(self.cost(group))
        });
        columns.push(Column::new(
            kinds::noun(kind, 2),
            Layout::Number,
            move |group| Cell::Count(self.members[group]),
        ));
        columns.push(
            Column::new(self.by.column(), Layout::Name, move |group| {
                Cell::Name(&self.labels[group])
            })
            .titled(self.by.noun(1)),
        );
        set_totals(&mut columns, events);
        let first = events.first_index();
        let cost = |group: usize| self.cost(group).get(first).copied().unwrap_or(0);
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        order.sort_by(|a, b| {
            cost(*b)
                .cmp(&cost(*a))
                .then_with(|| self.labels[*a].cmp(&self.labels[*b]))
        });
        Table::new(columns, order)
    }
}

/// The group of a function.
fn label(profile: &Profile, function: &FunctionKey, by: GroupBy) -> String {
    group_of(
        profile.text(function.name),
        profile.text(function.file),
        profile.text(function.obj),
        by,
    )
}
