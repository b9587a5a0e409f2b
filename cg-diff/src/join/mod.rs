//! Finds out which records of the runs are the same.
//!
//! Functions are identified first, in [`functions`]: by equal names, then by normalised ones, where paths and likeness
//! tell apart what names leave open, and last by likeness alone. Records of every type are then the same where their
//! functions are: so a renamed function, file or object is joined in stacks and arcs as it is in its own row.

mod assign;
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
mod untold;
mod without_objects;

use std::hash::Hash;

use cg_names::rules::{MatchedRules, Rules};
use cg_stream::maps::Map;
use cg_stream::profile::{FunctionKey, Symbol};
use cg_stream::record::{Count, RecordType};
use regex::Regex;

pub(crate) use functions::Certainty;
pub(crate) use rows::{FunctionRows, JoinedRow, MOST_SIDES, Sides};
pub(crate) use untold::UntoldCost;

use crate::key::normal::Level;
use crate::runs::Runs;
use buckets::Buckets;
use functions::{FunctionIndex, Functions};
use names::JoinNames;
use nested::Nested;
use rows::RowMembers;
use untold::UntoldRows;

/// How records are joined.
pub(crate) struct JoinOptions {
    /// The types to join.
    pub(crate) types: Vec<RecordType>,
    /// The rules by which different names are the same.
    pub(crate) rules: Rules,
    /// Whether equal names alone are the same.
    pub(crate) exact: bool,
    /// Functions that this matches are the same where it captures the same text.
    pub(crate) capture: Option<Regex>,
    /// Whether functions that are left over are tried as renames and moves.
    pub(crate) renames: bool,
}

/// All rows, and which records of which profile each is made of.
pub(crate) struct Joined {
    pub(crate) rows: Vec<JoinedRow>,
    members: Vec<RowMembers>,
    nested: Nested,
    untold: UntoldRows,
}

impl Joined {
    /// The records of a profile that a row is made of, by their position in its table.
    pub(crate) fn records(&self, row: usize, profile: usize) -> &[u32] {
        self.members[profile].of(row)
    }

    /// How much of the inclusive costs of a row's records in a profile is counted twice when they are summed, in the
    /// order of the profile's events; `None` where that is not known.
    pub(crate) fn counted_twice(&self, row: usize, profile: usize) -> Option<&[Count]> {
        self.nested.twice(row, profile)
    }

    /// Whether two sides tell by how much the self or inclusive cost of a row changed. What a side may hide, it does not
    /// lack.
    pub(crate) fn tells_change(&self, row: usize, sides: [usize; 2], is_inclusive: bool) -> bool {
        let is_told =
            |untold: &UntoldCost, is_inclusive| untold.between(sides, is_inclusive).is_none();
        let has_both = sides
            .iter()
            .all(|side| self.rows[row].sides & 1 << side != 0);
        self.untold(row).is_none_or(|untold| {
            is_told(untold, is_inclusive) && (has_both || is_told(untold, true))
        })
    }

    /// What the runs do not tell of a row, if there is something.
    pub(crate) fn untold(&self, row: usize) -> Option<&UntoldCost> {
        self.untold.get(&row)
    }
}

/// The state of the join.
struct Joiner<'a> {
    runs: &'a Runs,
    /// The types that are compared.
    types: Vec<RecordType>,
    functions: Functions,
    names: JoinNames<'a>,
    /// A cache: whether two directories can be two locations of one tree.
    plausible: Map<(String, String, Sides, Sides), bool>,
    /// The files of each side, their paths normalised.
    files: Vec<Vec<Symbol>>,
}

/// Joins the records of all runs.
pub(crate) fn join(runs: &mut Runs, options: &JoinOptions) -> Joined {
    // Normalised names are symbols of the same table, which grows while the runs are looked at.
    let symbols = std::mem::take(&mut runs.names.symbols);
    let mut joiner = Joiner {
        functions: Functions::of(runs, &options.types),
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
    let nested = Nested::of(joiner.runs, &rows, &members);
    let untold = joiner.untold(&rows, &members);
    runs.names.symbols = joiner.names.symbols;
    Joined {
        rows,
        members,
        nested,
        untold,
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
            // Paths and objects are examined before captures unite functions of several sides.
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

    /// The class of a function as a side has it.
    fn class_of(&self, function: FunctionKey, side: usize) -> FunctionIndex {
        let node = self.functions.find(function, side);
        node.map_or(FunctionIndex::MAX, |node| self.functions.class(node))
    }

    /// The open classes by what `key` says of a function of theirs, as far as uniting them would gain something.
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

    /// Unites two classes, joined by the rules that make their names one at a level, and by these.
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

    /// The classes that some side lacks.
    fn open(&self) -> Vec<FunctionIndex> {
        self.functions.open(self.all_sides())
    }

    /// True where some side lacks a function.
    fn is_open(&self, node: FunctionIndex) -> bool {
        self.functions.sides_of(self.functions.class(node)) != self.all_sides()
    }

    fn all_sides(&self) -> Sides {
        Sides::MAX >> (MOST_SIDES - self.runs.sides.len().max(1))
    }

    /// True if these classes together cover more sides than each alone; else a sum would only lose detail.
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
