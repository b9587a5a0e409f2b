//! Finds out which records of the runs are the same: exactly first, then by normalised names.

mod buckets;
mod mangling;
mod names;
mod objects;
mod places;
mod renames;

use std::collections::HashMap;

use cg_parse::Snapshots;
use cg_stream::profile::{FunctionKey, Key, Symbol, Symbols, Table};
use cg_stream::record::RecordType;
use foldhash::fast::FixedState;
use regex::Regex;

use crate::key;
use crate::key::normal::{Level, Normaliser};
use crate::runs::Runs;
use cg_names::rules::{Fired, Rules};

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
    /// The snapshot whose heap records are compared.
    pub(crate) snapshots: Snapshots,
    /// Whether what is left over is tried as renames and moves.
    pub(crate) renames: bool,
}

/// The sides that have a record, a bit each.
pub(crate) type Sides = u128;

/// The most sides there can be.
pub(crate) const MOST_SIDES: usize = Sides::BITS as usize;

type Map<K, V> = HashMap<K, V, FixedState>;

/// A row of the comparison: one record of some runs, or several that were seen to be the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) of: RecordType,
    /// The rules it took.
    pub(crate) fired: Fired,
    /// True where it was joined by a guess.
    pub(crate) guess: bool,
    /// The sides that have it.
    pub(crate) sides: Sides,
}

/// All rows, and which records of which profile each is made of.
pub(crate) struct Joined {
    pub(crate) rows: Vec<Row>,
    members: Vec<Members>,
}

/// The records of one profile, grouped by row.
struct Members {
    /// Where the records of each row begin in `records`; one more at the end.
    starts: Vec<u32>,
    records: Vec<u32>,
}

impl Joined {
    /// The records of a profile that a row is made of, by their position in its table.
    pub(crate) fn records(&self, row: usize, profile: usize) -> &[u32] {
        let members = &self.members[profile];
        &members.records[members.starts[row] as usize..members.starts[row + 1] as usize]
    }
}

/// A row in the making. Once it was joined to another it only points there.
struct Draft {
    of: RecordType,
    key: Key,
    sides: Sides,
    fired: Fired,
    guess: bool,
    parent: u32,
}

/// The join at work.
struct Joiner<'a> {
    runs: &'a mut Runs,
    drafts: Vec<Draft>,
    index: Map<(RecordType, Key), u32>,
    /// For each profile and type, the draft of each record; `NOT_COMPARED` for those left out.
    drafts_of: Vec<Vec<(RecordType, Vec<u32>)>>,
    normaliser: Normaliser<'a>,
    /// Objects that one side alone has, and the object of another side that each is the successor of.
    object_aliases: Map<Symbol, Symbol>,
    /// Normalised functions that one side has by a v0 name, and what another side has by their legacy name.
    mangling_aliases: Map<FunctionKey, FunctionKey>,
    /// What was found out about pairs of directories: whether they can be two homes of one tree.
    plausible: Map<(String, String, Sides, Sides), bool>,
    /// The files of each side, their paths normalised.
    files: Vec<Vec<Symbol>>,
}

const NOT_COMPARED: u32 = u32::MAX;

/// Joins the records of all runs.
pub(crate) fn join(runs: &mut Runs, options: &JoinOptions) -> Joined {
    let mut joiner = Joiner {
        runs,
        drafts: Vec::new(),
        index: Map::default(),
        drafts_of: Vec::new(),
        normaliser: Normaliser::new(&options.rules),
        object_aliases: Map::default(),
        mangling_aliases: Map::default(),
        plausible: Map::default(),
        files: Vec::new(),
    };
    joiner.join_equal(options);
    let is_normalised = !options.exact && joiner.has_left_over();
    if is_normalised {
        // What is captured belongs to several sides, but each of its places to one: places are looked at before.
        joiner.prepare_paths();
        joiner.find_object_aliases();
    }
    if let Some(capture) = &options.capture {
        joiner.join_captured(capture);
    }
    if is_normalised && joiner.has_left_over() {
        for level in [Level::Exact, Level::Build, Level::Counter] {
            joiner.join_normalised(level);
        }
        joiner.join_inlined_files();
        joiner.find_mangling_aliases();
        if !joiner.mangling_aliases.is_empty() {
            joiner.join_normalised(Level::Mangling);
        }
        if options.renames {
            renames::join_renamed(&mut joiner);
        }
    }
    joiner.finish()
}

impl Joiner<'_> {
    /// Every record gets the draft of its exact key.
    fn join_equal(&mut self, options: &JoinOptions) {
        for side in 0..self.runs.sides.len() {
            for profile in self.runs.files_of(side) {
                let mut drafts_of = Vec::new();
                for of in &options.types {
                    let table = self.runs.profiles[profile].table(*of);
                    let compared = compared_records(*of, table, options.snapshots);
                    let drafts = (0..table.len())
                        .map(|record| {
                            if !compared(record) {
                                return NOT_COMPARED;
                            }
                            let key = key::exact(table.key(record));
                            let next = self.drafts.len() as u32;
                            let draft = *self.index.entry((*of, key)).or_insert(next);
                            if draft == next {
                                self.drafts.push(Draft {
                                    of: *of,
                                    key,
                                    sides: 0,
                                    fired: Fired::default(),
                                    guess: false,
                                    parent: next,
                                });
                            }
                            self.drafts[draft as usize].sides |= 1 << side;
                            draft
                        })
                        .collect();
                    drafts_of.push((*of, drafts));
                }
                self.drafts_of.push(drafts_of);
            }
        }
    }

    /// True where no two of these drafts are of the same side.
    fn are_disjoint(&self, drafts: &[usize]) -> bool {
        drafts
            .iter()
            .try_fold(0, |sides: Sides, draft| {
                let own = self.drafts[*draft].sides;
                (sides & own == 0).then_some(sides | own)
            })
            .is_some()
    }

    /// Drafts that some side lacks and that were not joined to another.
    fn left_over(&self) -> Vec<usize> {
        let all = self.all_sides();
        (0..self.drafts.len())
            .filter(|draft| {
                self.drafts[*draft].parent as usize == *draft && self.drafts[*draft].sides != all
            })
            .collect()
    }

    fn has_left_over(&self) -> bool {
        let all = self.all_sides();
        self.drafts.iter().any(|draft| draft.sides != all)
    }

    fn all_sides(&self) -> Sides {
        Sides::MAX >> (MOST_SIDES - self.runs.sides.len().max(1))
    }

    /// True where these drafts together are of more sides than each of them alone: only then is a sum worth its loss.
    fn gains(&self, drafts: &[usize]) -> bool {
        let together = drafts
            .iter()
            .fold(0, |sides, draft| sides | self.drafts[*draft].sides);
        drafts
            .iter()
            .all(|draft| self.drafts[*draft].sides != together)
    }

    /// Makes these drafts one.
    fn merge(&mut self, drafts: &[usize], fired: Fired) {
        let root = self.root(drafts[0]);
        for draft in drafts {
            let other = self.root(*draft);
            if other != root {
                self.drafts[other].parent = root as u32;
                let Draft {
                    sides,
                    fired: more,
                    guess,
                    ..
                } = self.drafts[other];
                let draft = &mut self.drafts[root];
                draft.sides |= sides;
                draft.fired.add(more);
                draft.guess |= guess;
            }
        }
        self.drafts[root].fired.add(fired);
    }

    fn root(&self, draft: usize) -> usize {
        let mut draft = draft;
        while self.drafts[draft].parent as usize != draft {
            draft = self.drafts[draft].parent as usize;
        }
        draft
    }

    /// The draft of a function, if its records are compared.
    fn function(&self, function: FunctionKey) -> Option<usize> {
        self.index
            .get(&(RecordType::Fn, key::of_function(function)))
            .map(|draft| self.root(*draft as usize))
    }

    /// The draft that each record of a profile began as; [`Joiner::root`] tells what became of it.
    fn drafts_of(&self, profile: usize, of: RecordType) -> &[u32] {
        self.drafts_of[profile]
            .iter()
            .find(|(known, _)| *known == of)
            .map_or(&[], |(_, drafts)| drafts)
    }

    /// Works with the normaliser and the table of names at once.
    fn normalise<T>(&mut self, work: impl FnOnce(&mut Normaliser, &mut Symbols) -> T) -> T {
        work(&mut self.normaliser, &mut self.runs.names.symbols)
    }

    fn finish(self) -> Joined {
        let mut rows = Vec::new();
        let mut row_of = vec![NOT_COMPARED; self.drafts.len()];
        for draft in 0..self.drafts.len() {
            let root = self.root(draft);
            if row_of[root] == NOT_COMPARED {
                row_of[root] = rows.len() as u32;
                let Draft {
                    of,
                    fired,
                    guess,
                    sides,
                    ..
                } = self.drafts[root];
                rows.push(Row {
                    of,
                    fired,
                    guess,
                    sides,
                });
            }
            row_of[draft] = row_of[root];
        }
        let members = self
            .drafts_of
            .iter()
            .map(|types| Members::new(rows.len(), types, &row_of))
            .collect();
        Joined { rows, members }
    }
}

impl Members {
    fn new(rows: usize, types: &[(RecordType, Vec<u32>)], row_of: &[u32]) -> Members {
        let records = || {
            types.iter().flat_map(|(_, drafts)| {
                drafts
                    .iter()
                    .enumerate()
                    .filter(|(_, draft)| **draft != NOT_COMPARED)
                    .map(|(record, draft)| (record as u32, row_of[*draft as usize] as usize))
            })
        };
        let mut starts = vec![0u32; rows + 1];
        for (_, row) in records() {
            starts[row + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; starts[rows] as usize];
        for (record, row) in records() {
            sorted[next[row] as usize] = record;
            next[row] += 1;
        }
        Members {
            starts,
            records: sorted,
        }
    }
}

/// Which records of a type are compared: of Massif's snapshots the one asked for; else the peak's alone, and where
/// none is marked, those of the snapshot that holds most.
fn compared_records(of: RecordType, table: &Table, wanted: Snapshots) -> impl Fn(usize) -> bool {
    let mut has_peak = false;
    let mut snapshot = None;
    match wanted {
        _ if of != RecordType::Heap => {}
        Snapshots::Number(number) => snapshot = Some(number),
        Snapshots::Peak | Snapshots::All => {
            has_peak = (0..table.len()).any(|record| table.beside().peak.get(record).is_some());
            let mut sums = std::collections::BTreeMap::new();
            for record in 0..table.len() {
                let bytes = table.cost(record).first().copied().unwrap_or(0);
                *sums.entry(table.key(record).snapshot).or_insert(0) += bytes;
            }
            let largest = sums.into_iter().max_by_key(|(_, bytes)| *bytes);
            snapshot = largest.and_then(|(snapshot, _)| snapshot);
        }
    }
    move |record| {
        if of != RecordType::Heap {
            true
        } else if has_peak {
            table.beside().peak.get(record).is_some()
        } else {
            table.key(record).snapshot == snapshot
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
