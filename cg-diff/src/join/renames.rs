//! Guesses which functions were renamed or moved: those left over on both sides that have enough in common.
//!
//! A function of the same name in another file or object was moved. One of another name in the same file was renamed,
//! where it has the same callers and callees and costs about the same. Both are guesses, and their rows say so.

use std::collections::{BTreeMap, BTreeSet};

use cg_stream::profile::Symbol;
use cg_stream::record::{Count, RecordType};

use super::Joiner;
use super::buckets::Buckets;
use crate::key::normal::Level;
use cg_names::rules::Fired;

/// Joins what is left over by what else it has in common.
pub(super) fn join_renamed(joiner: &mut Joiner) {
    join_moved(joiner);
    // A caller that was renamed is only then the same caller; a few rounds reach through a chain of them.
    for _ in 0..4 {
        if !join_by_neighbours(joiner) {
            break;
        }
    }
}

/// Past this many candidates for one name or one file, a guess is worth little and costs much.
const MOST_CANDIDATES: usize = 200;

/// How alike the costs of a function under two names must be: the less as a part of the greater.
const SIMILAR_COST: f64 = 0.8;

/// Enough for a function whose callees are the same too.
const SIMILAR_COST_WITH_CALLEES: f64 = 0.5;

/// Without arcs nothing but figures tells, so these must agree almost exactly, and be worth agreeing.
const EQUAL_COST: f64 = 0.99;
const TELLING_COST: f64 = 100.0;

/// What is known of a function that is left over.
#[derive(Default)]
struct Known {
    /// In the order of the events of the profile it is from.
    costs: Vec<Count>,
    calls: Count,
    files: BTreeSet<usize>,
    callers: BTreeSet<usize>,
    callees: BTreeSet<usize>,
    call_lines: BTreeSet<u64>,
}

impl Known {
    /// Self cost of the first event, of the mean of its files.
    fn cost(&self) -> f64 {
        self.costs.first().copied().unwrap_or(0) as f64 / self.file_count()
    }

    fn calls(&self) -> f64 {
        self.calls as f64 / self.file_count()
    }

    fn file_count(&self) -> f64 {
        self.files.len().max(1) as f64
    }

    fn has_arcs(&self) -> bool {
        !self.callers.is_empty() || !self.callees.is_empty()
    }
}

/// Two functions that may be the same, the better the likelier.
struct Candidate {
    likeness: f64,
    a: usize,
    b: usize,
}

/// Functions of the same normalised name in another file or object.
fn join_moved(joiner: &mut Joiner) {
    let known = known(joiner);
    let mut by_name = Buckets::default();
    for draft in known.keys() {
        let Some(name) = joiner.drafts[*draft].key.function.name else {
            continue;
        };
        let name = joiner
            .normalise(|normaliser, symbols| normaliser.name(symbols, name, Level::Counter).symbol);
        if !matches!(joiner.runs.names.symbols.text(name), "???" | "0x…" | "") {
            by_name.add(name, *draft);
        }
    }
    for bucket in by_name.into_vec() {
        let candidates = candidates(joiner, &bucket, |joiner, a, b| {
            let (a_place, b_place) = (place(joiner, a), place(joiner, b));
            let same_file = f64::from(a_place.0 == b_place.0);
            let same_object = f64::from(a_place.1 == b_place.1);
            Some(same_file * 4.0 + same_object * 2.0 + ratio(known[&a].cost(), known[&b].cost()))
        });
        join_best(joiner, candidates);
    }
}

/// Functions of another name in the same file and object. True where any was joined.
fn join_by_neighbours(joiner: &mut Joiner) -> bool {
    let known = known(joiner);
    let mut by_place = Buckets::default();
    for draft in known.keys() {
        by_place.add(place(joiner, *draft), *draft);
    }
    let mut any = false;
    for bucket in by_place.into_vec() {
        // Where no file is known, all of an object's functions are in one bucket, and figures alone say too little.
        let has_file = joiner.drafts[bucket[0]]
            .key
            .function
            .file
            .is_some_and(|file| joiner.runs.names.symbols.text(file) != "???");
        let mut candidates = candidates(joiner, &bucket, |_, a, b| {
            let (a, b) = (&known[&a], &known[&b]);
            if a.has_arcs() || b.has_arcs() {
                likeness(a, b)
            } else {
                likeness_of_figures(a, b).filter(|_| has_file)
            }
        });
        drop_ambiguous(&mut candidates, &known);
        any |= join_best(joiner, candidates);
    }
    any
}

/// Without arcs a pair is only a guess where neither of the two has another candidate.
fn drop_ambiguous(candidates: &mut Vec<Candidate>, known: &BTreeMap<usize, Known>) {
    let mut count: BTreeMap<usize, usize> = BTreeMap::new();
    for candidate in candidates.iter() {
        *count.entry(candidate.a).or_default() += 1;
        *count.entry(candidate.b).or_default() += 1;
    }
    candidates.retain(|candidate| {
        let ends = [candidate.a, candidate.b];
        ends.iter().any(|end| known[end].has_arcs()) || ends.iter().all(|end| count[end] == 1)
    });
}

/// How alike two functions are by their figures alone, if these agree almost exactly and are worth agreeing.
fn likeness_of_figures(a: &Known, b: &Known) -> Option<f64> {
    let is_telling = a.cost().max(b.cost()) >= TELLING_COST;
    let events = a.costs.len().max(b.costs.len());
    let at = |known: &Known, event: usize| known.costs.get(event).copied().unwrap_or(0) as f64;
    let agrees = (0..events).all(|event| {
        let (a_cost, b_cost) = (at(a, event) / a.file_count(), at(b, event) / b.file_count());
        // A miss more or less is no sign of other code.
        (a_cost - b_cost).abs() <= 4.0 || ratio(a_cost, b_cost) >= EQUAL_COST
    });
    let is_alike = is_telling
        && agrees
        && ratio(a.cost(), b.cost()) >= EQUAL_COST
        && ratio(a.calls(), b.calls()) >= EQUAL_COST;
    is_alike.then(|| ratio(a.cost(), b.cost()))
}

/// How alike two functions of different names are; `None` where they are not alike enough for a guess.
fn likeness(a: &Known, b: &Known) -> Option<f64> {
    let cost = ratio(a.cost(), b.cost());
    let calls = ratio(a.calls(), b.calls());
    let callers = overlap(&a.callers, &b.callers);
    let callees = overlap(&a.callees, &b.callees);
    let has_callees = !a.callees.is_empty() && !b.callees.is_empty();
    let enough = if has_callees {
        SIMILAR_COST_WITH_CALLEES
    } else {
        SIMILAR_COST
    };
    let is_alike = callers >= 0.5 && callees >= 0.5 && cost >= enough && calls >= enough;
    let same_line = f64::from(!a.call_lines.is_disjoint(&b.call_lines));
    is_alike.then_some(callers + callees + cost + calls + same_line / 4.0)
}

/// All pairs of a bucket that are of different sides and alike.
fn candidates(
    joiner: &mut Joiner,
    bucket: &[usize],
    likeness: impl Fn(&mut Joiner, usize, usize) -> Option<f64>,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    if bucket.len() > MOST_CANDIDATES {
        return candidates;
    }
    for (position, a) in bucket.iter().enumerate() {
        for b in &bucket[position + 1..] {
            if joiner.drafts[*a].sides & joiner.drafts[*b].sides == 0
                && let Some(likeness) = likeness(joiner, *a, *b)
            {
                candidates.push(Candidate {
                    likeness,
                    a: *a,
                    b: *b,
                });
            }
        }
    }
    // The sort is stable, and buckets are in the order of the input.
    candidates.sort_by(|x, y| y.likeness.total_cmp(&x.likeness));
    candidates
}

/// Joins the likeliest pairs first; what is joined is no longer there for the others.
fn join_best(joiner: &mut Joiner, candidates: Vec<Candidate>) -> bool {
    let mut any = false;
    for Candidate { a, b, .. } in candidates {
        let (a, b) = (joiner.root(a), joiner.root(b));
        if joiner.drafts[a].sides & joiner.drafts[b].sides == 0 {
            joiner.merge(&[a, b], Fired::default());
            let root = joiner.root(a);
            joiner.drafts[root].guess = true;
            any = true;
        }
    }
    any
}

/// File and object of a function, normalised and without their directories.
fn place(joiner: &mut Joiner, draft: usize) -> (Option<Symbol>, Option<Symbol>) {
    let function = joiner.drafts[draft].key.function;
    let function = joiner.normalised_function(function, Level::Exact);
    (function.file, function.obj)
}

/// What is known of each function that is left over.
fn known(joiner: &Joiner) -> BTreeMap<usize, Known> {
    let mut known: BTreeMap<usize, Known> = joiner
        .left_over()
        .into_iter()
        .filter(|draft| joiner.drafts[*draft].of == RecordType::Fn)
        .map(|draft| (draft, Known::default()))
        .collect();
    if known.is_empty() {
        return known;
    }
    for (position, profile) in joiner.runs.profiles.iter().enumerate() {
        let functions = profile.table(RecordType::Fn);
        for (record, draft) in joiner
            .drafts_of(position, RecordType::Fn)
            .iter()
            .enumerate()
        {
            let Some(known) = known.get_mut(&joiner.root(*draft as usize)) else {
                continue;
            };
            let costs = functions.cost(record);
            if known.costs.len() < costs.len() {
                known.costs.resize(costs.len(), 0);
            }
            for (sum, cost) in known.costs.iter_mut().zip(costs) {
                *sum += cost;
            }
            known.calls += functions.calls(record);
            known.files.insert(position);
        }
        let arcs = profile.table(RecordType::Call);
        for key in arcs.keys() {
            let Some(callee) = key.callee.and_then(|callee| joiner.function(callee)) else {
                continue;
            };
            let Some(caller) = joiner.function(key.function) else {
                continue;
            };
            if caller == callee {
                continue;
            }
            if let Some(known) = known.get_mut(&callee) {
                known.callers.insert(caller);
                known.call_lines.extend(key.line.filter(|line| *line != 0));
            }
            if let Some(known) = known.get_mut(&caller) {
                known.callees.insert(callee);
            }
        }
    }
    known
}

/// The less as a part of the greater, 1 where both are 0.
fn ratio(a: f64, b: f64) -> f64 {
    let (less, greater) = (a.abs().min(b.abs()), a.abs().max(b.abs()));
    if greater == 0.0 { 1.0 } else { less / greater }
}

/// What two sets share, as a part of both together; 1 where both are empty.
fn overlap(a: &BTreeSet<usize>, b: &BTreeSet<usize>) -> f64 {
    let together = a.union(b).count();
    if together == 0 {
        1.0
    } else {
        a.intersection(b).count() as f64 / together as f64
    }
}
