//! Rows summed by file, object, crate, module, function name, thread or process, for `--group-by`.
//!
//! Self costs add up. Inclusive costs overlap, so groups of functions have no inclusive cost. For stacks, a group's
//! inclusive cost is the cost of all stacks that contain a function of the group, each stack once.
//!
//! Leaks of several kinds do not add up, so a group of leaks has only one kind.

use std::collections::HashMap;

use cg_collections::sorting::Order as _;
use cg_document::{Cell, Column, Layout, Table};
use cg_profile::{FunctionKey, Key, Profile, Symbol};
use cg_stream::record::{Count, LeakKind, RecordType, add_counts};

use super::leaks;
use super::threads::{Origins, origin};
use crate::options::GroupBy;
use crate::report::columns::{push_events, set_totals};
use crate::report::events::EventColumns;
use crate::report::grouping::find_group;
use crate::report::kinds;
use crate::report::owners::FunctionOwners;

/// Groups of the rows of one record type.
pub(crate) struct Groups {
    pub(crate) by: GroupBy,
    pub(crate) labels: Vec<String>,
    /// The kind of each group of leaks.
    kinds: Vec<Option<Symbol>>,
    /// For each group of leaks, the bytes that are reachable only from these blocks.
    pub(crate) indirect_bytes: Vec<Count>,
    index: HashMap<(Option<Symbol>, String), usize>,
    /// Cache of the group of each function.
    functions: HashMap<(Option<Symbol>, FunctionKey), usize>,
    /// The kind of the current row of leaks.
    kind: Option<Symbol>,
    /// The number of rows with self cost in each group.
    members: Vec<Count>,
    /// Self cost, `stride` counts per group.
    cost: Vec<Count>,
    /// Inclusive cost, `stride` counts per group; used only if rows have stacks.
    incl: Vec<Count>,
    /// For each group, the last row added to its inclusive cost, counted from 1.
    charged: Vec<usize>,
    has_incl: bool,
    stride: usize,
}

impl Groups {
    /// Sums the rows of a record type.
    pub(crate) fn sum(profile: &Profile, kind: RecordType, by: GroupBy) -> Groups {
        let rows = profile.table(kind);
        let mut groups = Groups {
            by,
            labels: Vec::new(),
            kinds: Vec::new(),
            indirect_bytes: Vec::new(),
            index: HashMap::new(),
            functions: HashMap::new(),
            kind: None,
            members: Vec::new(),
            cost: Vec::new(),
            incl: Vec::new(),
            charged: Vec::new(),
            // The inclusive cost of a chain of inlined functions does not follow from its stack.
            has_incl: kind.has_stack() && kind != RecordType::Inline,
            stride: profile.events().len(),
        };
        let origins = match by {
            GroupBy::Thread | GroupBy::Process => Origins::collect(profile, rows, by),
            _ => Origins::default(),
        };
        let mut owners = FunctionOwners::new(profile);
        for row in 0..rows.len() {
            let key = rows.key(row);
            groups.kind = key.kind.filter(|_| kind == RecordType::Leak);
            let own = match by {
                GroupBy::Whose => groups.add_by_owner(&mut owners, profile, kind, row),
                GroupBy::Thread | GroupBy::Process => {
                    groups.labelled(origins.label_or_unknown(profile, rows, row, by))
                }
                _ => groups.find_or_add(profile, profile.own_function(kind, &key)),
            };
            groups.add_own(own, row, rows.cost(row));
            groups.indirect_bytes[own] += rows.numbers().indirect_bytes.count(row).unwrap_or(0);
            let is_by_function = !matches!(by, GroupBy::Thread | GroupBy::Process | GroupBy::Whose);
            if groups.has_incl && is_by_function {
                groups.charge_stack(profile, &key, row, rows.cost(row));
            }
        }
        groups
    }

    /// Adds a row to the self cost of a group.
    fn add_own(&mut self, group: usize, row: usize, cost: &[Count]) {
        self.members[group] += 1;
        let range = group * self.stride..(group + 1) * self.stride;
        add_counts(&mut self.cost[range], cost);
        if self.has_incl {
            self.charge(group, row, cost);
        }
    }

    /// Charges the owners of all frames of a row, and returns the group of the row's own function. All frames of a stack
    /// together determine the owner of each frame.
    fn add_by_owner(
        &mut self,
        owners: &mut FunctionOwners<'_>,
        profile: &Profile,
        kind: RecordType,
        row: usize,
    ) -> usize {
        let rows = profile.table(kind);
        let (key, cost) = (rows.key(row), rows.cost(row));
        let own = profile.own_function(kind, &key);
        let frames = (profile.stacks()).frames_of(key.stack.filter(|_| self.has_incl));
        let position = frames.iter().position(|frame| frame.function == own);
        let stack_owners = owners.find_stack_owners(frames);
        let owner = match position {
            Some(position) => stack_owners[position],
            None => owners.find_function_owner(own),
        };
        for owner in stack_owners {
            let group = self.labelled(owner.word().to_owned());
            self.charge(group, row, cost);
        }
        self.labelled(owner.word().to_owned())
    }

    /// Returns the self cost of a group, in the order of the profile's events.
    pub(crate) fn cost(&self, group: usize) -> &[Count] {
        &self.cost[group * self.stride..(group + 1) * self.stride]
    }

    /// Returns the inclusive cost of a group, if it is known.
    pub(crate) fn incl(&self, group: usize) -> Option<&[Count]> {
        let range = group * self.stride..(group + 1) * self.stride;
        self.has_incl.then(|| &self.incl[range])
    }

    /// Returns the field of a record that has the label of a group.
    pub(crate) fn named<'f, T>(
        &self,
        name: &'f mut T,
        file: &'f mut T,
        obj: &'f mut T,
    ) -> &'f mut T {
        match self.by {
            GroupBy::File => file,
            GroupBy::Object => obj,
            _ => name,
        }
    }

    /// Returns the kind of a group of leaks.
    pub(crate) fn kind<'p>(&self, group: usize, profile: &'p Profile) -> Option<&'p str> {
        profile.text(self.kinds[group])
    }

    /// Returns the groups as a table, sorted by cost. Leaks are sorted by kind first, the worst kind first.
    pub(crate) fn table<'t>(
        &'t self,
        profile: &'t Profile,
        kind: RecordType,
        events: &EventColumns,
    ) -> Table<'t> {
        let mut columns = Vec::new();
        push_events(&mut columns, events, "", move |group| {
            Some(self.cost(group))
        });
        if self.has_incl {
            push_events(&mut columns, events, "incl.", move |group| self.incl(group));
        }
        columns.push(Column::new(
            kinds::noun(kind, 2),
            Layout::Number,
            move |group| Cell::Count(self.members[group]),
        ));
        if kind == RecordType::Leak {
            let kind = move |group| Cell::name(self.kind(group, profile));
            columns.push(Column::new("kind", Layout::Text, kind));
        }
        columns.push(
            Column::new(self.by.column(), Layout::Name, move |group| {
                Cell::Name(&self.labels[group])
            })
            .titled(self.by.noun(1)),
        );
        match kind {
            RecordType::Leak => {
                let rows = profile.table(kind);
                let costs = move |group| (self.kinds[group], Some(self.cost(group)));
                leaks::share_by_kind(&mut columns, rows, events, ("", costs));
                let costs = move |group| (self.kinds[group], self.incl(group));
                leaks::share_by_kind(&mut columns, rows, events, ("incl.", costs));
            }
            _ => set_totals(&mut columns, events),
        }
        let first = events.first_index();
        let cost = |counts: &[Count]| counts.get(first).copied().unwrap_or(0);
        let figures = |group: usize| {
            let incl = self.incl(group).map_or(0, cost);
            (cost(self.cost(group)), incl)
        };
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        let severity = |group: usize| self.kind(group, profile).and_then(LeakKind::from_word);
        order.order_by(|a, b| {
            (severity(*a).cmp(&severity(*b)))
                .then_with(|| figures(*b).cmp(&figures(*a)))
                .then_with(|| self.labels[*a].cmp(&self.labels[*b]))
        });
        Table::new(columns, order)
    }

    /// Returns the group with this label. Adds it if it is new.
    fn labelled(&mut self, label: String) -> usize {
        let key = (self.kind, label);
        if let Some(group) = self.index.get(&key) {
            return *group;
        }
        let group = self.labels.len();
        self.labels.push(key.1.clone());
        self.kinds.push(self.kind);
        self.indirect_bytes.push(0);
        self.index.insert(key, group);
        self.members.push(0);
        self.charged.push(0);
        self.cost.resize(self.cost.len() + self.stride, 0);
        self.incl.resize(self.incl.len() + self.stride, 0);
        group
    }

    fn find_or_add(&mut self, profile: &Profile, function: FunctionKey) -> usize {
        if let Some(group) = self.functions.get(&(self.kind, function)) {
            return *group;
        }
        let group = self.labelled(find_group(
            profile.text(function.name),
            profile.text(function.file),
            profile.text(function.obj),
            self.by,
        ));
        self.functions.insert((self.kind, function), group);
        group
    }

    /// Adds the cost of a stack to every group in it.
    fn charge_stack(&mut self, profile: &Profile, key: &Key, row: usize, cost: &[Count]) {
        for frame in profile.stacks().frames_of(key.stack).iter() {
            let group = self.find_or_add(profile, frame.function);
            self.charge(group, row, cost);
        }
    }

    /// Adds the cost of a row to the inclusive cost of a group, at most once.
    fn charge(&mut self, group: usize, row: usize, cost: &[Count]) {
        if std::mem::replace(&mut self.charged[group], row + 1) != row + 1 {
            let range = group * self.stride..(group + 1) * self.stride;
            add_counts(&mut self.incl[range], cost);
        }
    }
}

/// Returns a warning if samples of perf lack their process. It names the option of perf script that prints the process.
pub(crate) fn lacks_processes(profile: &Profile, kind: RecordType) -> Option<&'static str> {
    let rows = profile.table(kind);
    let is_from_perf = profile
        .runs()
        .iter()
        .any(|run| run.tool.as_deref() == Some("perf"));
    let is_unknown = |row| origin(profile, rows, row, GroupBy::Process) == (None, None, None);
    (is_from_perf && (0..rows.len()).any(is_unknown))
        .then_some("??? means samples without a process; perf script -F +pid prints the process")
}
