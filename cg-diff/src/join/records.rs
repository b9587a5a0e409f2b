//! Joins records by the functions in them.

use std::rc::Rc;

use cg_collections::sorting::Order as _;
use cg_names::blame::is_allocator_or_replacement;
use cg_names::rules::MatchedRules;
use cg_parse::Snapshots;
use cg_profile::{FrameKey, FunctionKey, Key, Rows, StackFrames, StackId, Symbol};
use cg_stream::record::{Count, RecordType};

use super::assign::{self, LikelyPair};
use super::buckets::Buckets;
use super::facts::ratio;
use super::functions::{Certainty, FunctionIndex};
use super::rows::{JoinedRow, NOT_COMPARED, RowMembers, Sides};
use super::{Joiner, Map};

/// Groups with more pairs of stacks that differ only in lines are not paired.
const MOST_PAIRS: usize = 40_000;

/// The maximum likeness of two stacks by their counts. Lines add at most half of it.
const ALIKE: f64 = 1_000_000.0;

/// The identity of a record. Its functions are classes, which are the same for all runs.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    kind: Option<Symbol>,
    what: Option<Symbol>,
    site: Option<Symbol>,
    /// The function and, for an arc, the callee. For a stack, its functions from the blamed frame outwards.
    functions: Vec<FunctionIndex>,
    lines: Vec<Option<u64>>,
    /// The unchanged frames of the allocator at the inner end of a stack.
    allocator: Vec<FrameKey>,
}

/// A row under construction. If it is united with another draft, `parent` is the position of that draft.
struct Draft {
    identity: Rc<Identity>,
    sides: Sides,
    matched: MatchedRules,
    certainty: Certainty,
    parent: usize,
    /// The key of the first record.
    key: Key,
    /// The sum over the records of the first count that is not 0.
    cost: Count,
}

impl Joiner<'_> {
    /// Joins the records of all types. Returns the rows, and for each profile the records of each row.
    pub(super) fn join_records(
        &self,
        types: &[RecordType],
        is_exact: bool,
    ) -> (Vec<JoinedRow>, Vec<RowMembers>) {
        let mut rows = Vec::new();
        let mut rows_of: Vec<Vec<(RecordType, Vec<u32>)>> =
            vec![Vec::new(); self.runs.profiles.len()];
        for kind in types {
            if *kind == RecordType::Fn {
                self.add_function_rows(&mut rows, &mut rows_of);
            } else {
                RecordJoin::new(self, *kind).join(is_exact, &mut rows, &mut rows_of);
            }
        }
        let members = rows_of
            .iter()
            .map(|types| RowMembers::new(rows.len(), types))
            .collect();
        (rows, members)
    }

    /// Makes one row per class of functions.
    fn add_function_rows(
        &self,
        rows: &mut Vec<JoinedRow>,
        rows_of: &mut [Vec<(RecordType, Vec<u32>)>],
    ) {
        let mut row_of = vec![NOT_COMPARED; self.functions.len()];
        for (side, profile) in self.runs.files() {
            let table = self.runs.profiles[profile].table(RecordType::Fn);
            let records = table.keys().map(|key| {
                let Some(node) = self.functions.find(key.function, side) else {
                    return NOT_COMPARED;
                };
                let class = self.functions.class(node);
                if row_of[class as usize] == NOT_COMPARED {
                    row_of[class as usize] = rows.len() as u32;
                    rows.push(JoinedRow {
                        kind: RecordType::Fn,
                        matched: self.functions.matched(class),
                        certainty: self.functions.certainty(class),
                        sides: 0,
                    });
                }
                let row = row_of[class as usize];
                rows[row as usize].sides |= 1 << side;
                row
            });
            rows_of[profile].push((RecordType::Fn, records.collect()));
        }
    }
}

/// The join of one type.
struct RecordJoin<'a> {
    joiner: &'a Joiner<'a>,
    kind: RecordType,
    drafts: Vec<Draft>,
    index: Map<Rc<Identity>, usize>,
    /// For each profile, the draft of each record.
    drafts_of: Vec<Vec<usize>>,
    /// For each stack, the number of frames inside the blamed frame.
    inner_frames: Map<StackId, usize>,
}

impl<'a> RecordJoin<'a> {
    fn new(joiner: &'a Joiner<'a>, kind: RecordType) -> RecordJoin<'a> {
        RecordJoin {
            joiner,
            kind,
            drafts: Vec::new(),
            index: Map::default(),
            drafts_of: Vec::new(),
            inner_frames: Map::default(),
        }
    }

    fn join(
        mut self,
        is_exact: bool,
        rows: &mut Vec<JoinedRow>,
        rows_of: &mut [Vec<(RecordType, Vec<u32>)>],
    ) {
        self.join_equal();
        if !is_exact {
            let names = &self.joiner.names;
            self.join_without(|identity| Identity {
                what: identity.what.map(|what| names.sentence(what)),
                site: identity.site.map(|site| names.site(site)),
                allocator: Vec::new(),
                ..identity.clone()
            });
            if self.kind == RecordType::Call {
                self.join_without(|identity| Identity {
                    site: None,
                    lines: Vec::new(),
                    ..identity.clone()
                });
            } else if self.kind.has_stack() {
                self.pair_by_likeness();
            }
        }
        let mut row_of = vec![NOT_COMPARED; self.drafts.len()];
        for draft in 0..self.drafts.len() {
            let root = self.root(draft);
            if row_of[root] == NOT_COMPARED {
                row_of[root] = rows.len() as u32;
                let draft = &self.drafts[root];
                rows.push(JoinedRow {
                    kind: self.kind,
                    matched: draft.matched,
                    certainty: draft.certainty,
                    sides: draft.sides,
                });
            }
            row_of[draft] = row_of[root];
        }
        for (profile, drafts) in self.drafts_of.iter().enumerate() {
            let row = |draft: &usize| row_of.get(*draft).copied().unwrap_or(NOT_COMPARED);
            rows_of[profile].push((self.kind, drafts.iter().map(row).collect()));
        }
    }

    /// Assigns each record to the draft with its identity.
    fn join_equal(&mut self) {
        let runs = self.joiner.runs;
        for (side, profile) in runs.files() {
            let table = runs.profiles[profile].table(self.kind);
            let compared = compared_records(self.kind, table, runs.snapshots[profile]);
            let mut drafts = Vec::with_capacity(table.len());
            for record in 0..table.len() {
                if !compared(record) || runs.is_left_out(&table.key(record)) {
                    drafts.push(usize::MAX);
                    continue;
                }
                let key = crate::key::exact(&table.key(record));
                let identity = self.identity(&key, side);
                let next = self.drafts.len();
                let draft = match self.index.get(&identity) {
                    Some(draft) => *draft,
                    None => {
                        let identity = Rc::new(identity);
                        self.index.insert(identity.clone(), next);
                        self.drafts.push(Draft {
                            identity,
                            sides: 0,
                            matched: MatchedRules::default(),
                            certainty: Certainty::Certain,
                            parent: next,
                            key,
                            cost: 0,
                        });
                        next
                    }
                };
                let first = table.cost(record).iter().copied().find(|count| *count != 0);
                let known = self.drafts[draft].key;
                let (matched, certainty) = self.between(&known, &key);
                let joined = &mut self.drafts[draft];
                joined.sides |= 1 << side;
                joined.matched.add(matched);
                joined.certainty = joined.certainty.max(certainty);
                joined.cost += first.unwrap_or(0);
                drafts.push(draft);
            }
            self.drafts_of.push(drafts);
        }
    }

    fn identity(&mut self, key: &Key, side: usize) -> Identity {
        let mut identity = Identity {
            kind: key.kind,
            what: key.what,
            site: key.site,
            functions: Vec::with_capacity(1),
            lines: vec![key.line],
            allocator: Vec::new(),
        };
        let frames = self.joiner.runs.names.stacks.frames_of(key.stack);
        if let Some(stack) = key.stack.filter(|_| !frames.is_empty()) {
            let inner = self.inner(stack);
            identity.allocator = frames.iter().take(inner).copied().collect();
            let outer = frames.iter().skip(inner);
            identity.lines = outer.clone().map(|frame| frame.line).collect();
            let functions = outer.map(|frame| self.joiner.class_of(frame.function, side));
            identity.functions = functions.collect();
        } else {
            let functions = std::iter::once(key.function).chain(key.callee);
            identity.functions = functions
                .map(|function| self.joiner.class_of(function, side))
                .collect();
        }
        identity
    }

    /// Returns the number of frames inside the blamed frame. These frames of the allocator depend on Valgrind's version,
    /// installation directory and `--alloc-fn`.
    fn inner(&mut self, stack: StackId) -> usize {
        if let Some(inner) = self.inner_frames.get(&stack) {
            return *inner;
        }
        let frames = self.joiner.runs.names.stacks.frames(stack);
        let symbols = &self.joiner.names.symbols;
        let is_allocators =
            |frame: &FrameKey| is_allocator_or_replacement(&frame.function.frame(symbols));
        let inner = frames
            .iter()
            .position(|frame| !is_allocators(frame))
            .unwrap_or(0);
        self.inner_frames.insert(stack, inner);
        inner
    }

    /// Returns the rules by which two records have the same functions, and the certainty. Compares the frames of stacks from
    /// the blamed frame outwards.
    fn between(&self, a: &Key, b: &Key) -> (MatchedRules, Certainty) {
        let mut result = (MatchedRules::default(), Certainty::Certain);
        if a == b {
            return result;
        }
        let functions = &self.joiner.functions;
        let mut add = |a: FunctionKey, b: FunctionKey, is_blamed: bool| {
            let find =
                |key| (0..self.joiner.runs.sides.len()).find_map(|side| functions.find(key, side));
            if a != b
                && let Some(node) = find(b)
            {
                let class = functions.class(node);
                result.0.add(functions.matched(class));
                // A row counts as renamed only if its blamed function is.
                let certainty = functions.certainty(class);
                let most = if is_blamed {
                    certainty
                } else {
                    certainty.min(Certainty::Likeliest)
                };
                result.1 = result.1.max(most);
            }
        };
        match (a.stack, b.stack) {
            (Some(a_stack), Some(b_stack)) if a_stack != b_stack => {
                let stacks = &self.joiner.runs.names.stacks;
                let (a_frames, b_frames) = (stacks.frames(a_stack), stacks.frames(b_stack));
                // Stacks are aligned at their outer ends, because only the number of allocator frames can differ.
                let length = a_frames.len().min(b_frames.len());
                let outer = |frames: StackFrames<'a>| frames.iter().skip(frames.len() - length);
                for (own, other) in outer(a_frames).zip(outer(b_frames)) {
                    let is_blamed = own.function == a.function;
                    add(own.function, other.function, is_blamed);
                }
            }
            (Some(_), Some(_)) => {}
            _ => {
                add(a.function, b.function, true);
                if let (Some(a), Some(b)) = (a.callee, b.callee) {
                    add(a, b, true);
                }
            }
        }
        result
    }

    /// Sums records whose shortened identities are equal, if this joins sides.
    fn join_without(&mut self, shorten: impl Fn(&Identity) -> Identity) {
        for bucket in self.buckets(shorten) {
            let together = bucket
                .iter()
                .fold(0, |sides, draft| sides | self.drafts[*draft].sides);
            if bucket
                .iter()
                .all(|draft| self.drafts[*draft].sides != together)
            {
                for other in &bucket[1..] {
                    self.unite(bucket[0], *other, Certainty::Certain);
                }
            }
        }
    }

    /// Pairs stacks that differ only in lines, all at once, by their counts and the distance of their lines.
    fn pair_by_likeness(&mut self) {
        let names = &self.joiner.names;
        let without_lines = |identity: &Identity| Identity {
            what: identity.what.map(|what| names.sentence(what)),
            lines: Vec::new(),
            allocator: Vec::new(),
            ..identity.clone()
        };
        for bucket in self.buckets(without_lines) {
            let mut paired: Vec<usize> = Vec::new();
            for side in 0..self.joiner.runs.sides.len() {
                let is_new =
                    |draft: &&usize| self.drafts[**draft].sides.trailing_zeros() as usize == side;
                let mut new: Vec<usize> = bucket.iter().filter(is_new).copied().collect();
                new.order_by(|a, b| {
                    self.drafts[*a]
                        .identity
                        .lines
                        .cmp(&self.drafts[*b].identity.lines)
                        .then(a.cmp(b))
                });
                if paired.len() * new.len() > MOST_PAIRS {
                    break;
                }
                let mut candidates = Vec::new();
                for (a, old) in paired.iter().enumerate() {
                    for (b, new) in new.iter().enumerate() {
                        if self.drafts[*old].sides & self.drafts[*new].sides == 0 {
                            let likeness = self.likeness(*old, *new);
                            candidates.push(LikelyPair { a, b, likeness });
                        }
                    }
                }
                let is_open = candidates.len() > 1;
                let mut is_paired = vec![false; new.len()];
                for (a, b) in assign::assign(paired.len(), new.len(), &candidates) {
                    let certainty = match is_open {
                        true => Certainty::Likeliest,
                        false => Certainty::Certain,
                    };
                    self.unite(paired[a], new[b], certainty);
                    is_paired[b] = true;
                }
                paired.extend(
                    new.into_iter()
                        .zip(is_paired)
                        .filter(|(_, is)| !is)
                        .map(|(draft, _)| draft),
                );
            }
        }
    }

    fn likeness(&self, a: usize, b: usize) -> i64 {
        let (a, b) = (&self.drafts[a], &self.drafts[b]);
        let apart: u64 = (a.identity.lines.iter().zip(&b.identity.lines))
            .map(|(a, b)| a.unwrap_or(0).abs_diff(b.unwrap_or(0)))
            .sum();
        let cost = ratio(a.cost as f64, b.cost as f64);
        let near = 1.0 / (1.0 + apart as f64 / 16.0);
        1 + ((cost + near / 2.0) * ALIKE) as i64
    }

    /// Groups the remaining drafts by their shortened identities. Drops groups of one.
    fn buckets(&self, shorten: impl Fn(&Identity) -> Identity) -> Vec<Vec<usize>> {
        let all = self.joiner.all_sides();
        let mut buckets = Buckets::default();
        for (position, draft) in self.drafts.iter().enumerate() {
            if draft.parent == position && draft.sides != all {
                buckets.add(shorten(&draft.identity), position);
            }
        }
        let mut buckets = buckets.into_vec();
        buckets.retain(|bucket| bucket.len() > 1);
        buckets
    }

    fn unite(&mut self, a: usize, b: usize, certainty: Certainty) {
        let (a, b) = (self.root(a), self.root(b));
        let (first, other) = (a.min(b), a.max(b));
        let (by_functions, function_certainty) =
            self.between(&self.drafts[first].key, &self.drafts[other].key);
        let by_rest =
            self.rules_by_rest(&self.drafts[first].identity, &self.drafts[other].identity);
        self.drafts[other].parent = first;
        let Draft {
            sides,
            matched,
            certainty: known,
            cost,
            ..
        } = self.drafts[other];
        let draft = &mut self.drafts[first];
        draft.sides |= sides;
        draft.cost += cost;
        for matched in [matched, by_functions, by_rest] {
            draft.matched.add(matched);
        }
        draft.certainty = draft
            .certainty
            .max(known)
            .max(function_certainty)
            .max(certainty);
    }

    /// Returns the rules by which two records are the same, apart from their functions.
    fn rules_by_rest(&self, a: &Identity, b: &Identity) -> MatchedRules {
        let mut matched = MatchedRules::default();
        matched.add(self.joiner.names.rules_between_prepared(a.what, b.what));
        matched.add(self.joiner.names.rules_between_prepared(a.site, b.site));
        if a.lines != b.lines {
            matched.add(MatchedRules::LINE);
        }
        if a.allocator != b.allocator {
            matched.add(MatchedRules::ALLOCATOR);
        }
        matched
    }

    fn root(&self, draft: usize) -> usize {
        let mut draft = draft;
        while self.drafts[draft].parent != draft {
            draft = self.drafts[draft].parent;
        }
        draft
    }
}

/// Returns a predicate for the records to compare. Heap records must be of the wanted snapshot or, by default, of the peak.
/// If no peak is marked, they must be of the largest snapshot.
fn compared_records(kind: RecordType, table: &Rows, wanted: Snapshots) -> impl Fn(usize) -> bool {
    let mut has_peak = false;
    let mut snapshot = None;
    match wanted {
        _ if kind != RecordType::Heap => {}
        Snapshots::Number(number) => snapshot = Some(number),
        Snapshots::Peak | Snapshots::All => {
            has_peak = (0..table.len()).any(|record| table.numbers().peak.get(record).is_some());
            let mut sums = std::collections::BTreeMap::new();
            for record in 0..table.len() {
                let bytes = table.count(record, 0);
                *sums.entry(table.key(record).snapshot).or_insert(0) += bytes;
            }
            let largest = sums.into_iter().max_by_key(|(_, bytes)| *bytes);
            snapshot = largest.and_then(|(snapshot, _)| snapshot);
        }
    }
    move |record| {
        if kind != RecordType::Heap {
            true
        } else if has_peak {
            table.numbers().peak.get(record).is_some()
        } else {
            table.key(record).snapshot == snapshot
        }
    }
}
