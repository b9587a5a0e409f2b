//! The inclusive cost of rows that sum several functions of one run.
//!
//! Inclusive costs can be added only if none of the functions calls another. If one calls another directly, the cost of
//! the arc between them is subtracted once. If the calls go through a function outside the sum, or form a cycle, the cost
//! that is counted twice is unknown, and so is the sum.

use std::collections::{BTreeMap, BTreeSet};

use cg_profile::FunctionKey;
use cg_stream::record::{Count, RecordType, add_counts_growing};

use super::rows::{JoinedRow, RowMembers};
use crate::key;
use crate::runs::Runs;

/// The maximum number of arcs to follow in one profile. Beyond it, the result is unknown.
const MOST_STEPS: usize = 2_000_000;

/// The inclusive cost that is counted twice in rows that are sums.
#[derive(Default)]
pub(super) struct Nested {
    /// The cost that is counted twice, by row and profile.
    twice: BTreeMap<(usize, usize), Twice>,
}

/// The inclusive cost that is counted twice in a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Twice {
    /// The cost by event of the profile.
    Known(Vec<Count>),
    Unknown,
}

impl Nested {
    /// Finds the costs that are counted twice in all rows of functions.
    pub(super) fn collect(runs: &Runs, rows: &[JoinedRow], members: &[RowMembers]) -> Nested {
        let mut nested = Nested::default();
        for profile in 0..runs.profiles.len() {
            let mut graph = None;
            for (row, kind) in rows.iter().map(|row| row.kind).enumerate() {
                let members = functions(runs, kind, members[profile].row_records(row), profile);
                if members.len() > 1 {
                    let graph = graph.get_or_insert_with(|| NestedCalls::new(runs, profile));
                    nested.twice.insert((row, profile), graph.twice(&members));
                }
            }
        }
        nested
    }

    /// Returns the cost to subtract from the sum of the inclusive costs of a row's records; `None` if it is unknown.
    pub(super) fn twice(&self, row: usize, profile: usize) -> Option<&[Count]> {
        match self.twice.get(&(row, profile)) {
            None => Some(&[]),
            Some(Twice::Known(counts)) => Some(counts),
            Some(Twice::Unknown) => None,
        }
    }
}

/// Returns the distinct functions that a row sums in a profile, ignoring parts and threads.
fn functions(
    runs: &Runs,
    kind: RecordType,
    records: &[u32],
    profile: usize,
) -> BTreeSet<FunctionKey> {
    if kind != RecordType::Fn || records.len() < 2 {
        return BTreeSet::new();
    }
    let table = runs.profiles[profile].table(RecordType::Fn);
    let keys = records
        .iter()
        .map(|record| key::exact(&table.key(*record as usize)).function);
    keys.collect()
}

/// The calls in a profile.
struct NestedCalls {
    callees: BTreeMap<FunctionKey, BTreeMap<FunctionKey, Vec<Count>>>,
    steps: usize,
}

impl NestedCalls {
    fn new(runs: &Runs, profile: usize) -> NestedCalls {
        let table = runs.profiles[profile].table(RecordType::Call);
        let mut callees: BTreeMap<FunctionKey, BTreeMap<FunctionKey, Vec<Count>>> = BTreeMap::new();
        for (record, key) in table.keys().enumerate() {
            let Some(callee) = key.callee.filter(|callee| *callee != key.function) else {
                continue;
            };
            let known = callees
                .entry(key.function)
                .or_default()
                .entry(callee)
                .or_default();
            add_counts_growing(known, table.incl(record).unwrap_or(&[]));
        }
        NestedCalls { callees, steps: 0 }
    }

    fn callees(&self, caller: &FunctionKey) -> impl Iterator<Item = (&FunctionKey, &Vec<Count>)> {
        self.callees.get(caller).into_iter().flatten()
    }

    fn twice(&mut self, members: &BTreeSet<FunctionKey>) -> Twice {
        // Without arcs, the calls between the functions are unknown.
        if self.callees.is_empty() || self.is_circular(members) || self.come_back(members) {
            return Twice::Unknown;
        }
        let mut twice = Vec::new();
        for member in members {
            for (callee, incl) in self.callees(member) {
                if members.contains(callee) {
                    add_counts_growing(&mut twice, incl);
                }
            }
        }
        Twice::Known(twice)
    }

    /// Returns true if some of these functions form a cycle.
    fn is_circular(&self, members: &BTreeSet<FunctionKey>) -> bool {
        // A function that calls none of the remaining functions is in no cycle. Remove such functions repeatedly.
        let mut left: BTreeSet<FunctionKey> = members.clone();
        loop {
            let ends: Vec<FunctionKey> = left
                .iter()
                .filter(|member| {
                    !self
                        .callees(member)
                        .any(|(callee, _)| left.contains(callee))
                })
                .copied()
                .collect();
            if ends.is_empty() {
                return !left.is_empty();
            }
            ends.iter().for_each(|end| {
                left.remove(end);
            });
        }
    }

    /// Returns true if calls from these functions lead back to one of them through other functions, or the step limit is
    /// reached.
    fn come_back(&mut self, members: &BTreeSet<FunctionKey>) -> bool {
        let mut seen: BTreeSet<FunctionKey> = BTreeSet::new();
        let mut open: Vec<FunctionKey> = members.iter().copied().collect();
        while let Some(function) = open.pop() {
            let is_outside = !members.contains(&function);
            for (callee, _) in self.callees.get(&function).into_iter().flatten() {
                self.steps += 1;
                if self.steps > MOST_STEPS || is_outside && members.contains(callee) {
                    return true;
                }
                if !members.contains(callee) && seen.insert(*callee) {
                    open.push(*callee);
                }
            }
        }
        false
    }
}
