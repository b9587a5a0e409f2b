//! Finds out which records of the runs are the same: exactly first, then by normalised names.

use std::collections::HashMap;
use std::ops::Range;

use cg_stream::blame::is_allocator_or_replacement;
use cg_stream::profile::{FrameKey, FunctionKey, Key, Names, StackId, Symbol, Table};
use cg_stream::record::{Frame, Name, RecordType};
use foldhash::fast::FixedState;
use regex::Regex;

use crate::key::normal::{Level, Normaliser};
use crate::key::paths;
use crate::key::rules::{Fired, Rules};
use crate::key::{self};
use crate::runs::Runs;

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
pub(super) struct Draft {
    pub(super) of: RecordType,
    pub(super) key: Key,
    pub(super) sides: Sides,
    pub(super) fired: Fired,
    pub(super) guess: bool,
    parent: u32,
}

/// The join at work.
pub(super) struct Joiner<'a> {
    pub(super) runs: &'a mut Runs,
    pub(super) drafts: Vec<Draft>,
    index: Map<(RecordType, Key), u32>,
    /// For each profile and type, the draft of each record; `NOT_COMPARED` for those left out.
    drafts_of: Vec<Vec<(RecordType, Vec<u32>)>>,
    normaliser: Normaliser<'a>,
    /// Objects that one side alone has, and the object of another side that each is the successor of.
    object_aliases: Map<Symbol, Symbol>,
    plausible: Map<(String, String, Sides, Sides), bool>,
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
        plausible: Map::default(),
        files: Vec::new(),
    };
    joiner.join_equal(&options.types);
    if let Some(capture) = &options.capture {
        joiner.join_captured(capture);
    }
    if !options.exact && joiner.has_left_over() {
        joiner.prepare_paths();
        joiner.find_object_aliases();
        for level in [Level::Exact, Level::Build, Level::Counter] {
            joiner.join_normalised(level);
        }
        joiner.join_inlined_files();
        if options.renames {
            crate::renames::join_renamed(&mut joiner);
        }
    }
    joiner.finish()
}

impl Joiner<'_> {
    /// Every record gets the draft of its exact key.
    fn join_equal(&mut self, types: &[RecordType]) {
        for side in 0..self.runs.sides.len() {
            for profile in self.runs.files_of(side) {
                let mut drafts_of = Vec::new();
                for of in types {
                    let table = self.runs.profiles[profile].table(*of);
                    let compared = compared_records(*of, table);
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

    /// Functions whose names a regex captures the same text of.
    fn join_captured(&mut self, capture: &Regex) {
        let mut buckets = Buckets::default();
        for draft in self.left_over() {
            let Draft { of, key, .. } = &self.drafts[draft];
            let Some(name) = key.function.name.filter(|_| *of == RecordType::Fn) else {
                continue;
            };
            let Some(captures) = capture.captures(self.runs.names.symbols.text(name)) else {
                continue;
            };
            let groups: Vec<Option<String>> = captures
                .iter()
                .skip(usize::from(captures.len() > 1))
                .map(|group| group.map(|group| group.as_str().to_owned()))
                .collect();
            buckets.add(groups, draft);
        }
        for bucket in buckets.into_vec() {
            if self.gains(&bucket) {
                self.merge(&bucket, Fired::CAPTURE);
            }
        }
    }

    /// Records that are left over and have the same names once these are normalised to a level.
    fn join_normalised(&mut self, level: Level) {
        let mut buckets = Buckets::default();
        for draft in self.left_over() {
            buckets.add(self.normalised_key(draft, level), draft);
        }
        for bucket in buckets.into_vec() {
            if self.gains(&bucket) {
                self.join_bucket(&bucket, level);
            }
        }
    }

    /// Functions of one name in one object whose file changed because other code is inlined at their first line, which
    /// is what Callgrind names a function's file by.
    fn join_inlined_files(&mut self) {
        let mut buckets = Buckets::default();
        for draft in self.left_over() {
            let Draft { of, key, .. } = self.drafts[draft];
            let function = self.normalised_function(key.function, Level::Counter);
            if let (RecordType::Fn, Some(name), Some(object)) = (of, function.name, function.obj) {
                buckets.add((name, object), draft);
            }
        }
        for bucket in buckets.into_vec() {
            let is_inlined = bucket.iter().any(|draft| {
                let file = self.drafts[*draft].key.function.file;
                file.is_some_and(|file| {
                    let file =
                        self.normalise(|normaliser, symbols| normaliser.file(symbols, file).symbol);
                    paths::is_mostly_inlined(self.runs.names.symbols.text(file))
                })
            });
            if is_inlined && self.gains(&bucket) && self.are_disjoint(&bucket) {
                self.merge(&bucket, Fired::INLINED_FILE);
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

    /// The key of a draft, its names normalised and its paths cut down to their last component.
    fn normalised_key(&mut self, draft: usize, level: Level) -> NormalisedKey {
        let Draft { of, key, .. } = self.drafts[draft];
        let mut result = NormalisedKey {
            of,
            kind: key.kind,
            what: None,
            functions: Vec::with_capacity(1),
            lines: Vec::new(),
        };
        if let Some(what) = key.what {
            result.what = Some(
                self.normalise(|normaliser, symbols| normaliser.sentence(symbols, what).symbol),
            );
        }
        if let Some(stack) = key.stack {
            let frames = frames_to_blame(&self.runs.names, stack).to_vec();
            for frame in frames {
                let function = self.normalised_function(frame.function, level);
                result.functions.push(function);
                if level < Level::Counter {
                    result.lines.push(frame.line);
                }
            }
            return result;
        }
        result
            .functions
            .push(self.normalised_function(key.function, level));
        if let Some(callee) = key.callee {
            result
                .functions
                .push(self.normalised_function(callee, level));
        }
        if of != RecordType::Call || level < Level::Counter {
            result.lines.push(key.line);
        }
        result
    }

    /// A function with its name normalised to a level, and its file and object to their last components.
    pub(super) fn normalised_function(
        &mut self,
        function: FunctionKey,
        level: Level,
    ) -> FunctionKey {
        let aliases = std::mem::take(&mut self.object_aliases);
        let result = self.normalise(|normaliser, symbols| {
            let (file, object) = normaliser.place(symbols, function);
            let object = object.map(|object| normaliser.base_name(symbols, object.symbol));
            FunctionKey {
                name: function
                    .name
                    .map(|name| normaliser.name(symbols, name, level).symbol),
                file: file.map(|file| normaliser.base_name(symbols, file.symbol)),
                obj: object.map(|object| aliases.get(&object).copied().unwrap_or(object)),
            }
        });
        self.object_aliases = aliases;
        result
    }

    /// Joins what is in one bucket: names, and the last components of paths, are the same.
    fn join_bucket(&mut self, bucket: &[usize], level: Level) {
        // The frames of a stack have too many paths to weigh; their last components have to do.
        if self.drafts[bucket[0]].of.has_stack() {
            self.merge_normalised(bucket, level);
            return;
        }
        let mut by_place = Buckets::default();
        for draft in bucket {
            let function = self.drafts[*draft].key.function;
            let place = self.normalise(|normaliser, symbols| normaliser.place(symbols, function));
            let symbol = |normal: Option<crate::key::normal::Normal>| normal.map(|n| n.symbol);
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
        let all: Sides = self.all_sides();
        let text = |symbols: &cg_stream::profile::Symbols, path: Option<Symbol>| {
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
    fn prepare_paths(&mut self) {
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

    /// Objects of different sides under different names that hold the same functions: the program itself, renamed.
    fn find_object_aliases(&mut self) {
        let mut sides_of: Map<Symbol, Sides> = Map::default();
        let mut by_function: Buckets<(Symbol, Option<Symbol>)> = Buckets::default();
        let mut objects = Vec::new();
        for draft in 0..self.drafts.len() {
            let Draft { of, key, sides, .. } = self.drafts[draft];
            if of != RecordType::Fn {
                continue;
            }
            let function = self.normalised_function(key.function, Level::Build);
            if let Some(object) = function.obj {
                *sides_of.entry(object).or_default() |= sides;
                if let Some(name) = function.name.filter(|_| sides != self.all_sides()) {
                    by_function.add((name, function.file), objects.len());
                    objects.push(object);
                }
            }
        }
        let mut sizes: Map<Symbol, usize> = Map::default();
        for object in &objects {
            *sizes.entry(*object).or_default() += 1;
        }
        let mut shared: Map<(Symbol, Symbol), usize> = Map::default();
        for bucket in by_function.into_vec() {
            // A function that many objects have, such as `_init`, says little and would cost much.
            if bucket.len() > 8 {
                continue;
            }
            for (position, a) in bucket.iter().enumerate() {
                for b in &bucket[position + 1..] {
                    let (a, b) = (objects[*a].min(objects[*b]), objects[*a].max(objects[*b]));
                    if sides_of[&a] & sides_of[&b] == 0 {
                        *shared.entry((a, b)).or_default() += 1;
                    }
                }
            }
        }
        let symbols = &self.runs.names.symbols;
        let mut pairs: Vec<((Symbol, Symbol), usize)> = shared
            .into_iter()
            .filter(|((a, b), count)| *count >= 3 && count * 2 >= sizes[a].min(sizes[b]))
            .collect();
        pairs.sort_by_key(|((a, b), count)| {
            (
                std::cmp::Reverse(*count),
                symbols.text(*a).to_owned(),
                symbols.text(*b).to_owned(),
            )
        });
        let mut aliases: Map<Symbol, Symbol> = Map::default();
        for ((a, b), _) in pairs {
            let target = aliases.get(&a).copied().unwrap_or(a);
            if aliases.contains_key(&b) || sides_of[&target] & sides_of[&b] != 0 {
                continue;
            }
            let sides = sides_of[&b];
            sides_of.entry(target).and_modify(|known| *known |= sides);
            aliases.insert(b, target);
        }
        self.object_aliases = aliases;
    }

    /// True for an object that goes by another name on another side.
    fn is_aliased(&self, object: Symbol) -> bool {
        let symbols = &self.runs.names.symbols;
        symbols
            .find(paths::base_name(symbols.text(object)))
            .is_some_and(|base| {
                self.object_aliases
                    .iter()
                    .any(|(from, to)| *from == base || *to == base)
            })
    }

    /// Drafts that some side lacks and that were not joined to another.
    pub(super) fn left_over(&self) -> Vec<usize> {
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

    fn merge_normalised(&mut self, drafts: &[usize], level: Level) {
        let mut fired = Fired::default();
        let first = self.drafts[drafts[0]].key;
        for draft in &drafts[1..] {
            let key = self.drafts[*draft].key;
            fired.add(self.fired_between(&first, &key, level));
        }
        self.merge(drafts, fired);
    }

    /// Makes these drafts one.
    pub(super) fn merge(&mut self, drafts: &[usize], fired: Fired) {
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

    pub(super) fn root(&self, draft: usize) -> usize {
        let mut draft = draft;
        while self.drafts[draft].parent as usize != draft {
            draft = self.drafts[draft].parent as usize;
        }
        draft
    }

    /// The draft of a function, if its records are compared.
    pub(super) fn function(&self, function: FunctionKey) -> Option<usize> {
        self.index
            .get(&(RecordType::Fn, key::of_function(function)))
            .map(|draft| self.root(*draft as usize))
    }

    /// The records of a profile that a draft and those joined to it are made of, are not known before the join is
    /// finished; this is the draft of each record of a type.
    pub(super) fn drafts_of(&self, profile: usize, of: RecordType) -> &[u32] {
        self.drafts_of[profile]
            .iter()
            .find(|(known, _)| *known == of)
            .map_or(&[], |(_, drafts)| drafts)
    }

    /// The rules by which the names of two keys became equal.
    fn fired_between(&mut self, a: &Key, b: &Key, level: Level) -> Fired {
        let mut fired = Fired::default();
        let pairs: Vec<(FunctionKey, FunctionKey)> = match (a.stack, b.stack) {
            (Some(a), Some(b)) => {
                let names = &self.runs.names;
                let allocator = |stack, outer: &[FrameKey]| {
                    let whole = names.stacks.frames(stack);
                    whole[..whole.len() - outer.len()].to_vec()
                };
                let (of_a, of_b) = (frames_to_blame(names, a), frames_to_blame(names, b));
                if allocator(a, of_a) != allocator(b, of_b) {
                    fired.add(Fired::ALLOCATOR);
                }
                let (a, b) = (of_a, of_b);
                if a.iter().zip(b).any(|(a, b)| a.line != b.line) {
                    fired.add(Fired::LINE);
                }
                a.iter()
                    .zip(b)
                    .map(|(a, b)| (a.function, b.function))
                    .collect()
            }
            _ => {
                if a.line != b.line {
                    fired.add(Fired::LINE);
                }
                let callees = a.callee.zip(b.callee);
                [(a.function, b.function)]
                    .into_iter()
                    .chain(callees)
                    .collect()
            }
        };
        let aliases = !self.object_aliases.is_empty();
        fired.add(self.normalise(|normaliser, symbols| {
            let mut fired = Fired::default();
            if let (Some(a), Some(b)) = (a.what, b.what)
                && a != b
            {
                fired.add(normaliser.sentence(symbols, a).fired);
                fired.add(normaliser.sentence(symbols, b).fired);
            }
            for (a, b) in pairs {
                if let (Some(a), Some(b)) = (a.name, b.name)
                    && a != b
                {
                    fired.add(normaliser.name(symbols, a, level).fired);
                    fired.add(normaliser.name(symbols, b, level).fired);
                }
                let (a, b) = (normaliser.place(symbols, a), normaliser.place(symbols, b));
                for (a, b, raw_equal) in [(a.0, b.0, false), (a.1, b.1, aliases)] {
                    let (Some(a), Some(b)) = (a, b) else { continue };
                    if a.raw == b.raw {
                        continue;
                    }
                    fired.add(a.fired);
                    fired.add(b.fired);
                    if a.symbol != b.symbol {
                        let bases = (
                            normaliser.base_name(symbols, a.symbol),
                            normaliser.base_name(symbols, b.symbol),
                        );
                        fired.add(if raw_equal && bases.0 != bases.1 {
                            Fired::OBJECT
                        } else {
                            Fired::DIRECTORY
                        });
                    }
                }
            }
            fired
        }));
        fired
    }

    /// Works with the normaliser and the table of names at once.
    pub(super) fn normalise<T>(
        &mut self,
        work: impl FnOnce(&mut Normaliser, &mut cg_stream::profile::Symbols) -> T,
    ) -> T {
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

/// Drafts of one place: the same file and object, once these are normalised.
struct Unit {
    file: Option<Symbol>,
    object: Option<Symbol>,
    sides: Sides,
    drafts: Vec<usize>,
}

#[derive(PartialEq, Eq, Hash)]
struct NormalisedKey {
    of: RecordType,
    kind: Option<Symbol>,
    what: Option<Symbol>,
    functions: Vec<FunctionKey>,
    lines: Vec<Option<u64>>,
}

/// Things under keys, both in the order they came.
pub(super) struct Buckets<K> {
    index: Map<K, usize>,
    buckets: Vec<Vec<usize>>,
}

impl<K> Default for Buckets<K> {
    fn default() -> Self {
        Buckets {
            index: Map::default(),
            buckets: Vec::new(),
        }
    }
}

impl<K: std::hash::Hash + Eq> Buckets<K> {
    pub(super) fn add(&mut self, key: K, thing: usize) {
        let next = self.buckets.len();
        let bucket = *self.index.entry(key).or_insert(next);
        if bucket == next {
            self.buckets.push(Vec::with_capacity(2));
        }
        self.buckets[bucket].push(thing);
    }

    pub(super) fn into_vec(self) -> Vec<Vec<usize>> {
        self.buckets
    }

    fn into_pairs(self) -> Vec<(K, Vec<usize>)> {
        let mut keys: Vec<(K, usize)> = self.index.into_iter().collect();
        keys.sort_by_key(|(_, bucket)| *bucket);
        keys.into_iter()
            .map(|(key, _)| key)
            .zip(self.buckets)
            .collect()
    }
}

/// Which records of a type are compared: of Massif's snapshots the peak's alone, and where none is marked, those of the
/// snapshot that holds most.
fn compared_records(of: RecordType, table: &Table) -> impl Fn(usize) -> bool {
    let mut has_peak = false;
    let mut largest = None;
    if of == RecordType::Heap {
        let records: Range<usize> = 0..table.len();
        has_peak = records.clone().any(|record| table.beside(record).is_peak);
        let mut sums = std::collections::BTreeMap::new();
        for record in records {
            let bytes = table.cost(record).first().copied().unwrap_or(0);
            *sums.entry(table.key(record).snapshot).or_insert(0) += bytes;
        }
        largest = sums
            .into_iter()
            .max_by_key(|(_, bytes)| *bytes)
            .map(|(snapshot, _)| snapshot);
    }
    move |record| {
        of != RecordType::Heap
            || if has_peak {
                table.beside(record).is_peak
            } else {
                Some(table.key(record).snapshot) == largest
            }
    }
}

/// The frames of a stack from the one to blame outwards. What a stack shows of the allocator depends on Valgrind's
/// version, on where Valgrind is installed and on `--alloc-fn`.
fn frames_to_blame(names: &Names, stack: StackId) -> &[FrameKey] {
    let frames = names.stacks.frames(stack);
    let name = |symbol: Option<Symbol>| symbol.map(|symbol| Name::from(names.symbols.text(symbol)));
    let is_allocators = |frame: &FrameKey| {
        is_allocator_or_replacement(&Frame {
            name: name(frame.function.name),
            file: name(frame.function.file),
            obj: name(frame.function.obj),
            ..Frame::default()
        })
    };
    let inner = frames.iter().position(|frame| !is_allocators(frame));
    &frames[inner.unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::place;
    use crate::figures;
    use crate::runs::tests::runs;

    /// `NAME FILE OBJ COST` a line, as a stream without framing; `-` is a name that is not given.
    fn stream(functions: &str) -> String {
        let mut stream = String::new();
        for line in functions.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, file, obj, cost] = words[..] else {
                continue;
            };
            let field = |key: &str, value: &str| match value {
                "-" => String::new(),
                value => format!("\"{key}\":\"{value}\","),
            };
            stream += &format!(
                "{{\"type\":\"fn\",{}{}{}\"calls\":1,\"cost\":{{\"Ir\":{cost}}}}}\n",
                field("fn", name),
                field("file", file),
                field("obj", obj)
            );
        }
        stream
    }

    fn options() -> JoinOptions {
        JoinOptions {
            types: vec![RecordType::Fn],
            rules: Rules::new(None).unwrap(),
            exact: false,
            capture: None,
            renames: true,
        }
    }

    /// The rows of two runs: the name in the first that has it, costs, rules; sorted.
    fn rows_with(options: &JoinOptions, streams: &[&str]) -> Vec<String> {
        let streams: Vec<String> = streams.iter().map(|text| stream(text)).collect();
        let texts: Vec<&str> = streams.iter().map(String::as_str).collect();
        let mut runs = runs(&texts);
        let joined = join(&mut runs, options);
        let mut rows: Vec<String> = (0..joined.rows.len())
            .map(|row| {
                let figures = figures::of_row(&runs, &joined, row);
                let key = crate::compare::first_key(&runs, &joined, row).unwrap();
                let name = place(&runs, key.function)[0].unwrap_or("-").to_owned();
                let costs: Vec<String> = figures.cost[0]
                    .entries
                    .iter()
                    .map(|entry| entry.map_or("-".to_owned(), |cost| cost.to_string()))
                    .collect();
                let mut how: Vec<&str> = options.rules.names(joined.rows[row].fired).collect();
                if joined.rows[row].guess {
                    how.push("guess");
                }
                format!("{name} {} {}", costs.join(","), how.join("+"))
                    .trim_end()
                    .to_owned()
            })
            .collect();
        rows.sort();
        rows
    }

    fn check(streams: &[&str], expect: &[&str]) {
        assert_eq!(rows_with(&options(), streams), expect);
    }

    #[test]
    fn equal_names_are_joined_first_and_stay_so() {
        check(
            &[
                "f::h0000000000000001 a.rs o 10\nf::h0000000000000002 a.rs o 20",
                "f::h0000000000000001 a.rs o 11\nf::h0000000000000003 a.rs o 21",
            ],
            &[
                "f::h0000000000000001 10,11",
                "f::h0000000000000002 20,21 legacy-hash",
            ],
        );
    }

    #[test]
    fn functions_that_fall_onto_one_name_are_summed() {
        check(
            &[
                "f::h0000000000000001 a.rs o 10\nf::h0000000000000002 a.rs o 20",
                "f::h0000000000000003 a.rs o 1\nf::h0000000000000004 a.rs o 2",
            ],
            &["f::h0000000000000001 30,3 legacy-hash"],
        );
    }

    #[test]
    fn nothing_is_summed_that_joins_nothing() {
        check(
            &[
                "f::h0000000000000001 a.rs o 10\nf::h0000000000000002 a.rs o 20",
                "g a.rs o 1000",
            ],
            &[
                "f::h0000000000000001 10,-",
                "f::h0000000000000002 20,-",
                "g -,1000",
            ],
        );
    }

    #[test]
    fn closures_keep_their_numbers_where_these_match() {
        check(
            &[
                "m::{closure#0} /a/m.rs o 10\nm::{closure#1} /a/m.rs o 20",
                "m::{closure#0} /b/m.rs o 11\nm::{closure#1} /b/m.rs o 21\nm::{closure#2} /b/m.rs o 31",
            ],
            &[
                "m::{closure#0} 10,11 directory",
                "m::{closure#1} 20,21 directory",
                "m::{closure#2} -,31",
            ],
        );
        check(
            &["m::{closure#3} m.rs o 10", "m::{{closure}} m.rs o 11"],
            &["m::{closure#3} 10,11 closure-number"],
        );
    }

    #[test]
    fn the_longest_common_ending_of_paths_wins() {
        check(
            &[
                "init /tmp/x/net/init.c o 1\ninit /tmp/x/gui/init.c o 2",
                "init /srv/y/gui/init.c o 20\ninit /srv/y/net/init.c o 10",
            ],
            &["init 1,10 directory", "init 2,20 directory"],
        );
    }

    #[test]
    fn another_directory_of_the_same_tree_is_a_move_and_a_guess() {
        check(
            &[
                "init /src/net/init.c o 1\nother /src/gui/win.c o 5",
                "init /src/gui/init.c o 1\nother /src/gui/win.c o 5",
            ],
            &["init 1,1 guess", "other 5,5"],
        );
    }

    #[test]
    fn relative_and_absolute_paths_are_of_one_tree() {
        check(
            &["f src/main.rs o 1", "f /tmp/b/src/main.rs o 2"],
            &["f 1,2 directory"],
        );
    }

    #[test]
    fn a_program_under_another_name_is_the_same_program() {
        check(
            &[
                "a x.c /w/old 1\nb x.c /w/old 2\nc x.c /w/old 3",
                "a x.c /w/new 1\nb x.c /w/new 2\nc x.c /w/new 4",
            ],
            &["a 1,1 object", "b 2,2 object", "c 3,4 object"],
        );
        check(&["a x.c /w/old 1", "a x.c /w/new 1"], &["a 1,1 guess"]);
    }

    #[test]
    fn code_inlined_at_the_first_line_does_not_move_a_function() {
        check(
            &["f() a.cpp o 1", "f() /usr/include/c++/12/bits/x.h o 2"],
            &["f() 1,2 inlined-file"],
        );
        check(&["f() a.cpp o 1", "f() b.cpp o 2"], &["f() 1,2 guess"]);
    }

    #[test]
    fn unknown_functions_of_one_object_are_one_row() {
        check(
            &[
                "0x401136 - /l/libx.so.1.2 10\n0x401200 - /l/libx.so.1.2 5",
                "0x40113a - /l/libx.so.1.3 11\n0x401210 - /l/libx.so.1.3 6",
            ],
            &["0x401136 15,17 unknown-address+library-version"],
        );
    }

    #[test]
    fn a_function_of_the_same_cost_in_the_same_file_was_renamed() {
        check(
            &[
                "old a.c o 5000\nmain a.c o 7",
                "new a.c o 5001\nmain a.c o 7",
            ],
            &["main 7,7", "old 5000,5001 guess"],
        );
        check(
            &["old a.c o 5000", "new a.c o 4000"],
            &["new -,4000", "old 5000,-"],
        );
    }

    #[test]
    fn what_a_stack_shows_of_the_allocator_joins_and_parts_nothing() {
        let point = |allocator: &str, bytes: u64| {
            format!(
                "{{\"type\":\"program_point\",\"fn\":\"grow\",\"cost\":{{\"total_bytes\":{bytes}}},\"stack\":[{allocator}{{\"fn\":\"grow\"}},{{\"fn\":\"main\"}}]}}"
            )
        };
        let malloc =
            "{\"fn\":\"malloc\",\"obj\":\"/usr/libexec/valgrind/vgpreload_dhat-amd64-linux.so\"},";
        let (old, new) = (point(malloc, 8), point("", 9));
        let mut runs = runs(&[&old, &new]);
        let options = JoinOptions {
            types: vec![RecordType::ProgramPoint],
            ..options()
        };
        let joined = join(&mut runs, &options);
        assert_eq!(joined.rows.len(), 1);
        let how: Vec<&str> = options.rules.names(joined.rows[0].fired).collect();
        assert_eq!(how, ["allocator"]);
    }

    #[test]
    fn exact_turns_everything_off() {
        let options = JoinOptions {
            exact: true,
            ..options()
        };
        assert_eq!(
            rows_with(&options, &["f /a/x.c o 1", "f /b/x.c o 1"]),
            ["f -,1", "f 1,-"]
        );
    }

    #[test]
    fn a_capture_joins_implementations() {
        let options = JoinOptions {
            capture: Some(Regex::new("^(?:old|new)_impl::(.*)").unwrap()),
            ..options()
        };
        assert_eq!(
            rows_with(
                &options,
                &[
                    "old_impl::sort a.c o 1\nold_impl::find a.c o 2\nmain a.c o 3",
                    "new_impl::sort b.c o 10\nnew_impl::find b.c o 20\nmain a.c o 3"
                ]
            ),
            [
                "main 3,3",
                "old_impl::find 2,20 capture",
                "old_impl::sort 1,10 capture"
            ]
        );
    }

    #[test]
    fn three_runs_are_joined_across_their_gaps() {
        check(
            &[
                "f.llvm.1 a.rs o 1\ng a.rs o 5",
                "f.llvm.1 a.rs o 2",
                "f.llvm.9 a.rs o 3\ng a.rs o 7",
            ],
            &["f.llvm.1 1,2,3 llvm-suffix", "g 5,-,7"],
        );
    }

    #[test]
    fn every_record_is_in_exactly_one_row() {
        let before = "a::{closure#0} /a/x.rs o 1\na::{closure#1} /a/x.rs o 2\nb.cold /a/y.c o 4\n- - o 8\n??? - - 16";
        let after = "a::{closure#0} /b/x.rs o 32\nb.part.0 /b/y.c p 64\nb /b/y.c p 128\n- - p 256";
        let sum = |rows: &[String], side: usize| -> u64 {
            let entry = |row: &String| {
                let costs = row.split(' ').nth(1).unwrap().to_owned();
                costs.split(',').nth(side).unwrap().parse().unwrap_or(0)
            };
            rows.iter().map(entry).sum()
        };
        let rows = rows_with(&options(), &[before, after]);
        assert_eq!((sum(&rows, 0), sum(&rows, 1)), (31, 480), "{rows:?}");
    }
}
