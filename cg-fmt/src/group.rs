//! Rows summed by file, object, crate, module or function name: `--group-by`.
//!
//! Self cost adds up, so it is what groups have; inclusive cost overlaps and is dropped.

use std::collections::HashMap;

use cg_names::structure;
use cg_stream::profile::{FunctionKey, Profile};
use cg_stream::record::{Count, RecordType};

use crate::listing::{self, EventColumns};
use crate::options::GroupBy;
use cg_document::{Cell, Column, Layout, Table};

/// What a function is called that no group can be told for.
const UNKNOWN: &str = "???";

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
        listing::push_events(&mut columns, events, "", move |group| {
            Some(self.cost(group))
        });
        columns.push(Column::new(
            listing::noun(kind, 2),
            Layout::Number,
            move |group| Cell::Count(self.members[group]),
        ));
        columns.push(
            Column::new(self.by.column(), Layout::Name, move |group| {
                Cell::Name(&self.labels[group])
            })
            .titled(self.by.noun(1)),
        );
        listing::set_totals(&mut columns, events);
        let first = events.first().map_or(0, |event| event.index);
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

impl GroupBy {
    /// The name of the column that has the groups' names.
    pub(crate) fn column(self) -> &'static str {
        match self {
            GroupBy::Function => "fn",
            GroupBy::File => "file",
            GroupBy::Object => "obj",
            GroupBy::Crate => "crate",
            GroupBy::Module => "module",
        }
    }

    pub(crate) fn noun(self, count: usize) -> &'static str {
        let (one, many) = match self {
            GroupBy::Function => ("function", "functions"),
            GroupBy::File => ("file", "files"),
            GroupBy::Object => ("object", "objects"),
            GroupBy::Crate => ("crate", "crates"),
            GroupBy::Module => ("module", "modules"),
        };
        if count == 1 { one } else { many }
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

/// The group of a function with these names. Where names have no path, as in C, the object stands for crate and module,
/// and where there is no object, the file.
pub(crate) fn group_of(
    name: Option<&str>,
    file: Option<&str>,
    obj: Option<&str>,
    by: GroupBy,
) -> String {
    let known = |text: Option<&str>| text.unwrap_or(UNKNOWN).to_owned();
    let of_path = |path_of: fn(&str) -> Option<String>| {
        name.and_then(path_of)
            .or_else(|| {
                let mut places = [obj, file].into_iter().flatten();
                places.find(|place| *place != UNKNOWN).map(base_name)
            })
            .unwrap_or_else(|| UNKNOWN.to_owned())
    };
    match by {
        GroupBy::Function => known(name),
        GroupBy::File => known(file),
        GroupBy::Object => known(obj),
        GroupBy::Crate => of_path(structure::crate_name),
        GroupBy::Module => of_path(structure::module_name),
    }
}

fn base_name(path: &str) -> String {
    path.rsplit_once('/')
        .map_or(path, |(_, name)| name)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_a_path_are_grouped_by_object_then_file() {
        let of = |name, file, obj| group_of(name, file, obj, GroupBy::Crate);
        assert_eq!(of(Some("demo::main"), None, Some("/usr/bin/demo")), "demo");
        assert_eq!(
            of(Some("malloc"), Some("malloc.c"), Some("/lib/libc.so.6")),
            "libc.so.6"
        );
        assert_eq!(of(Some("malloc"), Some("/src/malloc.c"), None), "malloc.c");
        assert_eq!(of(None, None, None), "???");
    }
}
