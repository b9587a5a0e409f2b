//! Joins the records of the runs that are the same.
//!
//! Functions are joined first, in [`functions`]: by equal names, then by normalised names. If names leave several choices,
//! paths and likeness decide. Last, likeness alone joins functions. Records of every type are then the same if their
//! functions are. So a renamed function, file or object is joined in stacks and arcs like in its own row.

mod assign;
mod below_threshold;
mod buckets;
mod capture;
mod facts;
mod functions;
mod groups;
mod inlined_files;
mod mangling;
mod moves;
mod nameless;
mod names;
mod nested;
mod objects;
mod parts;
mod records;
mod rows;
mod without_objects;

use std::hash::Hash;

use cg_collections::maps::Map;
use cg_names::code_origin::is_unplaced_address;
use cg_names::rules::{MatchedRules, Rules};
use cg_profile::{FunctionKey, Symbol};
use cg_stream::record::{Count, RecordType};
use regex::Regex;

pub(crate) use below_threshold::CostBelowThreshold;
pub(crate) use functions::Certainty;
pub(crate) use moves::{ENOUGH_WITH_THEIR_NAMES, exchanged_path};
pub(crate) use rows::{FunctionRows, JoinedRow, MOST_SIDES, Sides};

use crate::key::normal::Level;
use crate::runs::Runs;
use below_threshold::RowsBelowThreshold;
use buckets::Buckets;
use functions::{FunctionIndex, Functions};
use names::JoinNames;
use nested::Nested;
use rows::RowMembers;

/// The options of a join.
pub(crate) struct JoinOptions {
    /// The types to join.
    pub(crate) types: Vec<RecordType>,
    /// The rules by which different names match.
    pub(crate) rules: Rules,
    /// True if only equal names match.
    pub(crate) exact: bool,
    /// A regex: functions match if it captures the same text in their names.
    pub(crate) capture: Option<Regex>,
    /// True if renames and moves are guessed for the remaining functions.
    pub(crate) renames: bool,
}

/// All rows, with the records of each profile that they consist of.
pub(crate) struct Joined {
    pub(crate) rows: Vec<JoinedRow>,
    members: Vec<RowMembers>,
    nested: Nested,
    below_threshold: RowsBelowThreshold,
}

impl Joined {
    /// Returns the records of a row in a profile, by their positions in the table.
    pub(crate) fn records(&self, row: usize, profile: usize) -> &[u32] {
        self.members[profile].row_records(row)
    }

    /// Returns the cost that is counted twice in the sum of the inclusive costs of a row's records, by event of the
    /// profile; `None` if it is unknown.
    pub(crate) fn counted_twice(&self, row: usize, profile: usize) -> Option<&[Count]> {
        self.nested.twice(row, profile)
    }

    /// Returns true if the change of a row's self or inclusive cost between two sides is known. If a side may hide the row
    /// below Massif's threshold, the row is not missing there.
    pub(crate) fn is_change_known(
        &self,
        row: usize,
        sides: [usize; 2],
        is_inclusive: bool,
    ) -> bool {
        let is_exact = |hidden: &CostBelowThreshold, is_inclusive| {
            hidden.between(sides, is_inclusive).is_none()
        };
        let has_both = sides
            .iter()
            .all(|side| self.rows[row].sides & 1 << side != 0);
        self.cost_below_threshold(row).is_none_or(|hidden| {
            is_exact(hidden, is_inclusive) && (has_both || is_exact(hidden, true))
        })
    }

    /// Returns the cost of a row that may be below Massif's threshold, if any.
    pub(crate) fn cost_below_threshold(&self, row: usize) -> Option<&CostBelowThreshold> {
        self.below_threshold.get(&row)
    }
}

/// The state of the join.
struct Joiner<'a> {
    runs: &'a Runs,
    /// The types to compare.
    types: Vec<RecordType>,
    functions: Functions,
    names: JoinNames<'a>,
    /// A cache for `are_homes`: true if two directories can be two locations of one tree.
    plausible: Map<(String, String, Sides, Sides), bool>,
    /// The files of each side, their paths normalised.
    files: Vec<Vec<Symbol>>,
}

/// Joins the records of all runs.
pub(crate) fn join(runs: &mut Runs, options: &JoinOptions) -> Joined {
    // Normalised names are added to the same symbol table, so the table is taken out of the runs.
    let symbols = std::mem::take(&mut runs.names.symbols);
    let mut joiner = Joiner {
        functions: Functions::collect(runs, &options.types),
        runs,
        types: options.types.clone(),
        names: JoinNames::new(&options.rules, symbols),
        plausible: Map::default(),
        files: Vec::new(),
    };
    joiner.join_functions(options);
    if !options.exact {
        joiner.names.prepare_records(joiner.runs);
    }
    let (rows, members) = joiner.join_records(&options.types, options.exact);
    let nested = Nested::collect(joiner.runs, &rows, &members);
    let below_threshold = joiner.rows_below_threshold(&rows, &members);
    runs.names.symbols = joiner.names.symbols;
    Joined {
        rows,
        members,
        nested,
        below_threshold,
    }
}

impl Joiner<'_> {
    fn join_functions(&mut self, options: &JoinOptions) {
        self.functions
            .unite_equal(self.runs, &mut self.names, options.exact);
        if !options.exact {
            self.join_without_objects();
        }
        let has_left_over = !self.open().is_empty();
        if has_left_over && !options.exact {
            // Examine paths and objects before captures unite functions of several sides.
            self.prepare_paths();
            self.find_object_aliases();
        }
        if let Some(capture) = &options.capture {
            self.join_captured(capture);
        }
        if !has_left_over || options.exact {
            return;
        }
        for level in [Level::Exact, Level::Build, Level::Part, Level::Counter] {
            self.join_level(level);
        }
        self.fold_parts();
        self.join_inlined_files();
        self.join_manglings();
        self.join_nameless();
        if options.renames {
            self.join_moved_and_renamed();
        }
    }

    /// Returns the class of a function of a side.
    fn class_of(&self, function: FunctionKey, side: usize) -> FunctionIndex {
        let node = self.functions.find(function, side);
        node.map_or(FunctionIndex::MAX, |node| self.functions.class(node))
    }

    /// Groups the open classes by the `key` of a function of each. Drops groups whose union would not cover more sides.
    fn open_by<K: Hash + Eq>(
        &mut self,
        mut key: impl FnMut(&mut Self, FunctionKey) -> Option<K>,
    ) -> Vec<Vec<FunctionIndex>> {
        let mut buckets = Buckets::default();
        for class in self.open() {
            if let Some(key) = key(self, self.functions.key(class)) {
                buckets.add(key, class);
            }
        }
        let mut buckets = buckets.into_vec();
        buckets.retain(|bucket| self.gains(bucket));
        buckets
    }

    /// Unites two classes. Records the rules that make their names equal at a level, and other rules.
    fn unite_by_names(
        &mut self,
        [a, b]: [FunctionIndex; 2],
        level: Level,
        others: MatchedRules,
        certainty: Certainty,
    ) {
        let (a_key, b_key) = (self.functions.key(a), self.functions.key(b));
        let mut matched = self.names.rules_between(a_key, b_key, level);
        matched.add(others);
        self.functions.unite(a, b, matched, certainty);
    }

    /// Returns the classes that some side lacks.
    fn open(&self) -> Vec<FunctionIndex> {
        let mut open = self.functions.open(self.all_sides());
        // Nothing is known of these functions that two runs could have in common.
        open.retain(|class| !self.is_unplaced(self.functions.key(*class)));
        open
    }

    /// Returns true for a function that is an address without an object, in a run that records objects. With several runs of
    /// a side, such functions are one row for each object as all others without names: a row for an address of a single run
    /// would be new or gone by chance.
    fn is_unplaced(&self, function: FunctionKey) -> bool {
        if self.runs.sides.iter().any(|(_, runs)| runs.len() > 1) {
            return false;
        }
        let text = |symbol: Option<Symbol>| symbol.map_or("", |symbol| self.names.text(symbol));
        is_unplaced_address(text(function.name), text(function.obj))
    }

    /// Returns true if some side lacks a function.
    fn is_open(&self, node: FunctionIndex) -> bool {
        self.functions.sides_of(self.functions.class(node)) != self.all_sides()
    }

    fn all_sides(&self) -> Sides {
        Sides::MAX >> (MOST_SIDES - self.runs.sides.len().max(1))
    }

    /// Returns true if these classes together cover more sides than each of them. Otherwise, a sum would only lose detail.
    fn gains(&self, classes: &[FunctionIndex]) -> bool {
        let together = classes
            .iter()
            .fold(0, |sides, class| sides | self.functions.sides_of(*class));
        classes
            .iter()
            .all(|class| self.functions.sides_of(*class) != together)
    }
}

#[cfg(test)]
pub(crate) mod tests;
