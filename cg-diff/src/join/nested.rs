//! The inclusive cost of rows that sum several functions of one run.
//!
//! Inclusive costs can simply be added only if none of the functions calls another. Where one calls another directly,
//! the cost of the arc between them is subtracted once. Where the calls go through a function outside the sum, or form
//! a cycle, the profile does not tell how much is counted twice, and the sum is unknown.

use std::collections::{BTreeMap, BTreeSet};

use cg_stream::profile::FunctionKey;
use cg_stream::record::{Count, RecordType, add_counts_growing};

use super::rows::{JoinedRow, RowMembers};
use crate::key;
use crate::runs::Runs;

/// The most arcs that are followed in one profile. If they do not suffice, the answer is unknown.
const MOST_STEPS: usize = 2_000_000;

/// How much inclusive cost is counted twice in rows that are sums.
#[derive(Default)]
pub(super) struct Nested {
    /// By row and profile.
    twice: BTreeMap<(usize, usize), Twice>,
}

/// How much of the inclusive costs of a sum's functions is counted twice.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Twice {
    /// This much, in the order of the profile's events.
    Known(Vec<Count>),
    Unknown,
}

impl Nested {
    /// Looks at all rows of functions.
    pub(super) fn of(runs: &Runs, rows: &[JoinedRow], members: &[RowMembers]) -> Nested {
        let mut nested = Nested::default();
        for profile in 0..runs.profiles.len() {
            let mut graph = None;
            for (row, of) in rows.iter().map(|row| row.of).enumerate() {
                let members = functions(runs, of, members[profile].of(row), profile);
                if members.len() > 1 {
                    let graph = graph.get_or_insert_with(|| NestedCalls::of(runs, profile));
                    nested.twice.insert((row, profile), graph.twice(&members));
                }
            }
        }
        nested
    }

    /// What to take off the sum of the inclusive costs of a row's records in a profile; `None` where that is not known.
    pub(super) fn twice(&self, row: usize, profile: usize) -> Option<&[Count]> {
        match self.twice.get(&(row, profile)) {
            None => Some(&[]),
            Some(Twice::Known(counts)) => Some(counts),
            Some(Twice::Unknown) => None,
        }
    }
}

/// The distinct functions that a row sums in a profile; parts and threads make no difference.
fn functions(
    runs: &Runs,
    of: RecordType,
    records: &[u32],
    profile: usize,
) -> BTreeSet<FunctionKey> {
    if of != RecordType::Fn || records.len() < 2 {
        return BTreeSet::new();
    }
    let table = runs.profiles[profile].table(RecordType::Fn);
    let keys = records
        .iter()
        .map(|record| key::exact(table.key(*record as usize)).function);
    keys.collect()
}

/// The calls in a profile.
struct NestedCalls {
    callees: BTreeMap<FunctionKey, BTreeMap<FunctionKey, Vec<Count>>>,
    steps: usize,
}

impl NestedCalls {
    fn of(runs: &Runs, profile: usize) -> NestedCalls {
        let table = runs.profiles[profile].table(RecordType::Call);
        let mut callees: BTreeMap<FunctionKey, BTreeMap<FunctionKey, Vec<Count>>> = BTreeMap::new();
        for (record, key) in table.keys().iter().enumerate() {
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

    fn callees(&self, of: &FunctionKey) -> impl Iterator<Item = (&FunctionKey, &Vec<Count>)> {
        self.callees.get(of).into_iter().flatten()
    }

    fn twice(&mut self, members: &BTreeSet<FunctionKey>) -> Twice {
        // A profile without arcs does not tell who called whom.
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

    /// True if some of these functions form a cycle.
    fn is_circular(&self, members: &BTreeSet<FunctionKey>) -> bool {
        // Functions that call none of those left are in no cycle: they are removed until there are no more.
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

    /// True if calls from these functions through others lead back to one of them, or the step limit is reached.
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
