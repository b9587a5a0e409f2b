//! Joins records of the same normalised names whose paths end alike.

use cg_stream::profile::{Symbol, Symbols};

use super::buckets::Buckets;
use super::{Draft, Joiner, Sides};
use crate::key::normal::{Level, Normal};
use cg_names::paths;

impl Joiner<'_> {
    /// Joins what is in one bucket: names, and the last components of paths, are the same.
    pub(super) fn join_bucket(&mut self, bucket: &[usize], level: Level) {
        // The frames of a stack have too many paths to weigh; their last components have to do.
        if self.drafts[bucket[0]].of.has_stack() {
            self.merge_normalised(bucket, level);
            return;
        }
        let mut by_place = Buckets::default();
        for draft in bucket {
            let function = self.drafts[*draft].key.function;
            let place = self.normalise(|normaliser, symbols| normaliser.place(symbols, function));
            let symbol = |normal: Option<Normal>| normal.map(|n| n.symbol);
            by_place.add((symbol(place.0), symbol(place.1)), *draft);
        }
        let mut units = Vec::new();
        for ((file, object), drafts) in by_place.into_pairs() {
            if self.gains(&drafts) {
                self.merge_normalised(&drafts, level);
            }
            units.push(Unit {
                file,
                object,
                sides: drafts
                    .iter()
                    .fold(0, |sides, draft| sides | self.drafts[*draft].sides),
                drafts,
            });
        }
        self.join_by_suffix(units, level);
    }

    /// Joins units whose paths end alike: the longest common ending wins, and one that does not tell two units of one
    /// side apart decides nothing.
    fn join_by_suffix(&mut self, mut units: Vec<Unit>, level: Level) {
        // Two units of different runs, which is nearly every bucket of a rebuild, share their last component at least.
        if let [a, b] = &units[..]
            && a.sides & b.sides == 0
        {
            if self.are_homes(a, b) {
                let drafts = [&a.drafts[..], &b.drafts[..]].concat();
                self.merge_normalised(&drafts, level);
            }
            return;
        }
        let all: Sides = self.all_sides();
        let text = |symbols: &Symbols, path: Option<Symbol>| {
            path.map(|path| symbols.text(path).to_owned())
        };
        let deepest = units
            .iter()
            .flat_map(|unit| [unit.file, unit.object])
            .flatten()
            .map(|path| paths::depth(self.runs.names.symbols.text(path)))
            .max()
            .unwrap_or(0);
        for length in (1..=deepest).rev() {
            if units.len() < 2 {
                return;
            }
            let mut classes = Buckets::default();
            for (position, unit) in units.iter().enumerate() {
                let symbols = &self.runs.names.symbols;
                let end = |path: Option<Symbol>| {
                    text(symbols, path).map(|path| paths::suffix(&path, length).to_owned())
                };
                let object = unit.object.filter(|object| !self.is_aliased(*object));
                classes.add((end(unit.file), end(object)), position);
            }
            let mut joined = Vec::new();
            for class in classes.into_vec() {
                let disjoint = class
                    .iter()
                    .try_fold(0, |sides: Sides, unit| {
                        (sides & units[*unit].sides == 0).then_some(sides | units[*unit].sides)
                    })
                    .is_some();
                if class.len() < 2 || !disjoint {
                    continue;
                }
                let (first, rest) = (class[0], &class[1..]);
                for other in rest {
                    if units[first].sides != all && self.are_homes(&units[first], &units[*other]) {
                        let drafts: Vec<usize> = units[first]
                            .drafts
                            .iter()
                            .chain(&units[*other].drafts)
                            .copied()
                            .collect();
                        self.merge_normalised(&drafts, level);
                        units[first].sides |= units[*other].sides;
                        units[first].drafts = drafts;
                        joined.push(*other);
                    }
                }
            }
            let mut position = 0;
            units.retain(|_| {
                position += 1;
                !joined.contains(&(position - 1))
            });
        }
    }

    /// True where the directories in front of the common ending of two units' files can be two homes of one tree: none
    /// of the two sides has files in both.
    fn are_homes(&mut self, a: &Unit, b: &Unit) -> bool {
        let (Some(a_file), Some(b_file)) = (a.file, b.file) else {
            return true;
        };
        if a_file == b_file {
            return true;
        }
        let symbols = &self.runs.names.symbols;
        let (a_home, b_home) = paths::homes(symbols.text(a_file), symbols.text(b_file));
        let memo = (a_home.to_owned(), b_home.to_owned(), a.sides, b.sides);
        if let Some(known) = self.plausible.get(&memo) {
            return *known;
        }
        let strangers = |sides: Sides, home: &str, own: &str| {
            !home.is_empty()
                && self.files.iter().enumerate().any(|(side, files)| {
                    sides & 1 << side != 0
                        && files.iter().any(|file| {
                            let file = symbols.text(*file);
                            paths::lies_in(file, home) && !paths::lies_in(file, own)
                        })
                })
        };
        let answer = !strangers(b.sides, a_home, b_home) && !strangers(a.sides, b_home, a_home);
        self.plausible.insert(memo, answer);
        answer
    }

    /// The normalised files of each side.
    pub(super) fn prepare_paths(&mut self) {
        let mut files = vec![std::collections::BTreeSet::new(); self.runs.sides.len()];
        for position in 0..self.drafts.len() {
            let Draft { key, sides, .. } = self.drafts[position];
            let Some(file) = key.function.file else {
                continue;
            };
            let file = self.normalise(|normaliser, symbols| normaliser.file(symbols, file).symbol);
            for (side, files) in files.iter_mut().enumerate() {
                if sides & 1 << side != 0 {
                    files.insert(file);
                }
            }
        }
        self.files = files
            .into_iter()
            .map(|files| files.into_iter().collect())
            .collect();
    }
}

/// Drafts of one place: the same file and object, once these are normalised.
struct Unit {
    file: Option<Symbol>,
    object: Option<Symbol>,
    sides: Sides,
    drafts: Vec<usize>,
}
