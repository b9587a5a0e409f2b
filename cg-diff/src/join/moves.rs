//! Guesses moved and renamed functions among the remaining functions of both sides.
//!
//! A function with the same name in another file, object, module or crate was moved. A function with another name in the
//! same file was renamed, if it has similar callees and costs, or if several callers call it as often as before. Rows are
//! marked as guesses. A name alone is never enough evidence.

use std::collections::{BTreeMap, BTreeSet};

use cg_names::rules::MatchedRules;
use cg_names::structure::ParsedName;
use cg_profile::{FunctionKey, Symbol};

use super::assign::{self, LikelyPair};
use super::buckets::Buckets;
use super::facts::{self, CallerCounts, MOST_LIKE, NodeFacts, Surroundings, ratio};
use super::functions::{Certainty, FunctionIndex};
use super::{Joiner, Map};
use crate::code;
use crate::key::normal::Level;

/// Buckets with more candidates than this are skipped: a guess among so many is worth little and costs much.
const MOST_CANDIDATES: usize = 200;

/// The minimum likeness of the costs of a function under two names: the smaller divided by the greater.
const SIMILAR_COST: f64 = 0.8;

/// The threshold if there is more evidence: the same full name, or callees to compare.
const SIMILAR_COST_WITH_MORE: f64 = 0.5;

/// The minimum share of equal callers, or of equal callees.
const SIMILAR_SURROUNDINGS: f64 = 0.5;

/// Without arcs, the figures are the only evidence, so they must be almost equal and large enough.
const EQUAL_COST: f64 = 0.99;
const CONSIDERABLE_COST: f64 = 100.0;

/// The difference in cost per call that the padding before aligned loops can cause, in instructions. Compilers align loops
/// with a few instructions that do nothing and that run when the loop begins.
const MOST_PADDING: f64 = 8.0;

/// The minimum likeness of costs per call that differ only by padding. With less, other code is likely.
const EQUAL_BUT_FOR_PADDING: f64 = 0.999;

/// The number of common callees that are evidence of a rename. Functions of one file often share one helper.
const ENOUGH_CALLEES: usize = 2;

/// A renamed function has to be more alike than any other candidate. The likeness of the others, as a share of its own, is
/// at most this.
const CLEARLY_LESS: f64 = 0.9;

/// The same for moved functions. The best of all assignments is chosen, so the pairs need not differ.
const ANY_LESS: f64 = f64::INFINITY;

/// If this many functions moved together, their module or crate was renamed, and its other functions moved too.
const ENOUGH_TOGETHER: usize = 2;

/// If this many functions went from one path and came at another with the same names and calls, the path was renamed,
/// whatever they cost.
pub(crate) const ENOUGH_WITH_THEIR_NAMES: usize = 3;

/// The maximum number of rounds. Joining a function makes its callers and callees more alike, so rounds follow call chains.
const ROUNDS: usize = 4;

impl Joiner<'_> {
    /// Joins the remaining functions by likeness.
    pub(super) fn join_moved_and_renamed(&mut self) {
        for _ in 0..ROUNDS {
            if !self.join_moved() {
                break;
            }
        }
        for _ in 0..ROUNDS {
            if !self.join_renamed() {
                break;
            }
        }
    }

    /// Joins functions of the same full or short name in different places. Returns true if any was joined.
    fn join_moved(&mut self) -> bool {
        let named = self.open_with_names();
        let facts = self.collect_facts(&named);
        let mut renamed_paths = self.renamed_paths();
        let mut by_tail = Buckets::default();
        for class in named {
            let name = self.normal_name(class);
            let name = ParsedName::new(self.text(name).as_bytes()).short_name();
            by_tail.add(name, class);
        }
        let buckets = by_tail.into_vec();
        renamed_paths.extend(self.paths_renamed_as_a_whole(&buckets, &facts));
        let mut any = false;
        for bucket in buckets {
            any |= self.join_best(&bucket, &facts, ANY_LESS, |joiner, a, b| {
                joiner.likeness_of_moved(a, b, &renamed_paths)
            });
        }
        any
    }

    /// Joins functions of different names in the same file and object. Returns true if any was joined.
    fn join_renamed(&mut self) -> bool {
        let named = self.open_with_names();
        let facts = self.collect_facts(&named);
        let mut by_place = Buckets::default();
        for class in named {
            let FunctionKey { file, obj, .. } =
                self.names.function(self.functions.key(class), Level::Exact);
            by_place.add((file, obj), class);
        }
        let mut any = false;
        for bucket in by_place.into_vec() {
            any |= self.join_best(&bucket, &facts, CLEARLY_LESS, Joiner::likeness_of_renamed);
        }
        any
    }

    fn open_with_names(&mut self) -> Vec<FunctionIndex> {
        let mut named = self.open();
        named.retain(|class| self.has_name(*class));
        named
    }

    fn has_name(&mut self, class: FunctionIndex) -> bool {
        let name = self.functions.key(class).name;
        let is_known = name.is_some_and(|name| !matches!(self.names.text(name), "???" | ""));
        is_known && !self.names.is_nameless(name)
    }

    fn normal_name(&mut self, class: FunctionIndex) -> Option<Symbol> {
        let name = self.functions.key(class).name?;
        Some(self.names.name(name, Level::Counter))
    }

    fn text(&self, name: Option<Symbol>) -> &str {
        name.map_or("", |name| self.names.text(name))
    }

    /// Returns the likeness of two functions if one may be the other in another place.
    fn likeness_of_moved(
        &mut self,
        a: (FunctionIndex, &NodeFacts),
        b: (FunctionIndex, &NodeFacts),
        renamed_paths: &BTreeSet<(String, String)>,
    ) -> Option<i64> {
        let (a_name, b_name) = (self.normal_name(a.0), self.normal_name(b.0));
        let has_moved_with_others = a_name != b_name && {
            let (a_text, b_text) = (self.text(a_name), self.text(b_name));
            renamed_paths.iter().any(|(from, to)| {
                with_path(a_text, from, to) == b_text || with_path(b_text, from, to) == a_text
            })
        };
        let around = facts::surroundings(&self.functions, &mut self.names, a.1, b.1);
        let likeness = facts::likeness(&self.functions, &mut self.names, a, b);
        let (a_place, b_place) = (self.place(a.0), self.place(b.0));
        let same_file = i64::from(a_place.0 == b_place.0);
        let same_object = i64::from(a_place.1 == b_place.1);
        let same_name = i64::from(a_name == b_name);
        let is_alike = self.have_distinctive_code(a, b)
            || match a_name == b_name {
                true => is_moved_under_its_name(a.1, b.1, around),
                false => has_moved_with_others || self.is_moved_under_its_last_name(a, b, around),
            };
        is_alike.then_some(
            likeness
                + MOST_LIKE
                    * (same_file
                        + same_object
                        + 2 * same_name
                        + 2 * i64::from(has_moved_with_others)),
        )
    }

    /// Returns the likeness of two functions of different names in one place; `None` if it is too low for a guess.
    fn likeness_of_renamed(
        &mut self,
        a: (FunctionIndex, &NodeFacts),
        b: (FunctionIndex, &NodeFacts),
    ) -> Option<i64> {
        let (a_facts, b_facts) = (a.1, b.1);
        let codes = a_facts.code().zip(b_facts.code());
        let has_other_code = codes.is_some_and(|(a, b)| code::is_other(a, b));
        let has_distinctive_code = self.have_distinctive_code(a, b);
        let callers = CallerCounts::compare(&self.functions, &mut self.names, a_facts, b_facts);
        let is_alike = if has_distinctive_code {
            let around = facts::surroundings(&self.functions, &mut self.names, a_facts, b_facts);
            around
                .callers
                .is_none_or(|share| share >= SIMILAR_SURROUNDINGS)
        } else if callers.are_evidence() {
            !self.are_instances(a.0, b.0)
        } else if a_facts.has_arcs() || b_facts.has_arcs() {
            let around = facts::surroundings(&self.functions, &mut self.names, a_facts, b_facts);
            let has_callees = a_facts.has_callees() || b_facts.has_callees();
            // Few equal callers, an equal place and a similar cost can be coincidence. Equal callees, or an equal cost
            // per call, are evidence.
            let (enough, is_evidence) = match has_callees {
                true => (
                    SIMILAR_COST_WITH_MORE,
                    is_similar(around.callees)
                        && self.have_common_callees(a_facts, b_facts, ENOUGH_CALLEES)
                        && !self.are_instances(a.0, b.0),
                ),
                false => (
                    SIMILAR_COST,
                    have_equal_cost_per_call(a_facts, b_facts) && !has_other_code,
                ),
            };
            is_evidence
                && around
                    .callers
                    .is_none_or(|share| share >= SIMILAR_SURROUNDINGS)
                && ratio(weight(a_facts), weight(b_facts)) >= enough
                && ratio(a_facts.calls(), b_facts.calls()) >= enough
        } else {
            // Without a file, all functions of an object are in one place, and figures alone are too weak.
            let file = self.functions.key(a.0).file;
            file.is_some_and(|file| self.names.text(file) != "???")
                && have_equal_figures(a_facts, b_facts)
                && !has_other_code
        };
        let likeness = facts::likeness(&self.functions, &mut self.names, a, b);
        let equal_callers = (callers.equal_share() * MOST_LIKE as f64) as i64;
        is_alike
            .then_some(1 + likeness + equal_callers + MOST_LIKE * i64::from(has_distinctive_code))
    }

    /// Returns true if functions whose names agree only in the last segment are similar enough to be one function. A moved
    /// function may also have changed. Methods of a trait and instances of a template have the same last name for every
    /// type, so they need more evidence.
    fn is_moved_under_its_last_name(
        &mut self,
        (a, a_facts): (FunctionIndex, &NodeFacts),
        (b, b_facts): (FunctionIndex, &NodeFacts),
        around: Surroundings,
    ) -> bool {
        let has_callees =
            is_similar(around.callees) && self.have_common_callees(a_facts, b_facts, 1);
        let costs_alike = ratio(weight(a_facts), weight(b_facts)) >= SIMILAR_COST_WITH_MORE
            && ratio(a_facts.calls(), b_facts.calls()) >= SIMILAR_COST;
        let is_considerable =
            weight(a_facts).max(weight(b_facts)) >= CONSIDERABLE_COST || has_callees;
        let has_common_name = self.are_instances(a, b)
            || [a, b].into_iter().any(|function| {
                let name = self.normal_name(function);
                let name = ParsedName::new(self.text(name).as_bytes());
                name.implementor().is_some()
            });
        let is_surrounded_alike = match has_common_name {
            true => {
                let (functions, names) = (&self.functions, &mut self.names);
                CallerCounts::compare(functions, names, a_facts, b_facts).are_evidence()
                    || (has_callees && self.have_common_callees(a_facts, b_facts, ENOUGH_CALLEES))
            }
            false => is_similar(around.callers) || has_callees,
        };
        costs_alike
            && is_considerable
            && (is_surrounded_alike || have_equal_figures(a_facts, b_facts))
    }

    /// Returns true if two functions have this many callees of the program in common. In stacks, few callees are recorded.
    fn have_common_callees(&mut self, a: &NodeFacts, b: &NodeFacts, enough: usize) -> bool {
        a.is_from_stacks
            || facts::common_own_callees(&self.functions, &mut self.names, a, b) >= enough
    }

    /// Returns true if two names are instances of one template with different types.
    fn are_instances(&mut self, a: FunctionIndex, b: FunctionIndex) -> bool {
        let (a, b) = (self.normal_name(a), self.normal_name(b));
        let path = |name| ParsedName::new(self.text(name).as_bytes()).identifiers();
        path(a) == path(b)
    }

    /// Returns true if two functions have the same machine code and are not instances of one template, whose code can also
    /// be equal.
    fn have_distinctive_code(
        &mut self,
        a: (FunctionIndex, &NodeFacts),
        b: (FunctionIndex, &NodeFacts),
    ) -> bool {
        let codes = a.1.code().zip(b.1.code());
        if !codes.is_some_and(|(a, b)| code::is_same(a, b)) {
            return false;
        }
        self.normal_name(a.0) == self.normal_name(b.0) || !self.are_instances(a.0, b.0)
    }

    /// Joins the best pairs of a bucket, all at once. Returns true if any was joined.
    fn join_best(
        &mut self,
        bucket: &[FunctionIndex],
        facts: &Map<FunctionIndex, NodeFacts>,
        clearly_less: f64,
        mut likeness: impl FnMut(
            &mut Self,
            (FunctionIndex, &NodeFacts),
            (FunctionIndex, &NodeFacts),
        ) -> Option<i64>,
    ) -> bool {
        if bucket.len() < 2 || bucket.len() > MOST_CANDIDATES {
            return false;
        }
        let mut any = false;
        let mut paired: Vec<FunctionIndex> = Vec::new();
        for side in 0..self.runs.sides.len() {
            let is_new = |class: &&FunctionIndex| {
                self.functions.sides_of(**class).trailing_zeros() as usize == side
            };
            let new: Vec<FunctionIndex> = bucket.iter().filter(is_new).copied().collect();
            let mut candidates = Vec::new();
            for (a, old) in paired.iter().enumerate() {
                for (b, new) in new.iter().enumerate() {
                    let is_disjoint =
                        self.functions.sides_of(*old) & self.functions.sides_of(*new) == 0;
                    if let (true, Some(old_facts), Some(new_facts)) =
                        (is_disjoint, facts.get(old), facts.get(new))
                        && let Some(likeness) = likeness(self, (*old, old_facts), (*new, new_facts))
                    {
                        candidates.push(LikelyPair { a, b, likeness });
                    }
                }
            }
            drop_ambiguous(&mut candidates, clearly_less, |c| {
                [paired[c.a], new[c.b]]
                    .iter()
                    .any(|class| facts.get(class).is_some_and(NodeFacts::has_arcs))
            });
            let mut is_joined = vec![false; new.len()];
            for (a, b) in assign::assign(paired.len(), new.len(), &candidates) {
                self.functions.unite(
                    paired[a],
                    new[b],
                    MatchedRules::default(),
                    Certainty::Renamed,
                );
                is_joined[b] = true;
                any = true;
            }
            paired.extend(
                new.iter()
                    .zip(is_joined)
                    .filter(|(_, is)| !is)
                    .map(|(class, _)| *class),
            );
        }
        any
    }

    /// Returns the pairs of paths by which several joined functions differ: renamed modules and crates.
    fn renamed_paths(&mut self) -> BTreeSet<(String, String)> {
        let mut count: BTreeMap<(String, String), usize> = BTreeMap::new();
        for node in self.functions.nodes() {
            let class = self.functions.class(node);
            if class == node || self.functions.certainty(class) != Certainty::Renamed {
                continue;
            }
            let (a, b) = (self.normal_name(class), self.normal_name(node));
            if let Some((from, to)) = exchanged_path(self.text(a), self.text(b)) {
                *count.entry((from.to_owned(), to.to_owned())).or_default() += 1;
            }
        }
        count.retain(|_, count| *count >= ENOUGH_TOGETHER);
        count.into_keys().collect()
    }

    /// Returns the pairs of paths of modules and crates that were renamed as a whole: several functions are below the one path
    /// in some runs and below the other path in other runs, called about as often. Only names that occur once on each side
    /// count, and most of them must agree on the new path.
    fn paths_renamed_as_a_whole(
        &mut self,
        buckets: &[Vec<FunctionIndex>],
        facts: &Map<FunctionIndex, NodeFacts>,
    ) -> BTreeSet<(String, String)> {
        let mut count: BTreeMap<(String, String), usize> = BTreeMap::new();
        for bucket in buckets {
            let [a, b] = bucket[..] else { continue };
            let (Some(a_facts), Some(b_facts)) = (facts.get(&a), facts.get(&b)) else {
                continue;
            };
            let is_disjoint = self.functions.sides_of(a) & self.functions.sides_of(b) == 0;
            let has_calls = a_facts.calls() > 0.0 && b_facts.calls() > 0.0;
            let is_called_alike =
                has_calls && ratio(a_facts.calls(), b_facts.calls()) >= SIMILAR_COST;
            if !is_disjoint || !is_called_alike {
                continue;
            }
            let (a, b) = (self.normal_name(a), self.normal_name(b));
            if let Some((from, to)) = exchanged_path(self.text(a), self.text(b)) {
                *count.entry((from.to_owned(), to.to_owned())).or_default() += 1;
            }
        }
        let (mut all_from, mut all_to) = (BTreeMap::new(), BTreeMap::new());
        for ((from, to), count) in &count {
            *all_from.entry(from.clone()).or_insert(0) += count;
            *all_to.entry(to.clone()).or_insert(0) += count;
        }
        count.retain(|(from, to), count| {
            *count >= ENOUGH_WITH_THEIR_NAMES
                && 2 * *count > all_from[from]
                && 2 * *count > all_to[to]
        });
        count.into_keys().collect()
    }

    fn place(&mut self, class: FunctionIndex) -> (Option<Symbol>, Option<Symbol>) {
        let function = self.names.function(self.functions.key(class), Level::Exact);
        (function.file, function.obj)
    }
}

/// Returns the cost to compare: self cost, or inclusive cost for functions in stacks.
fn weight(facts: &NodeFacts) -> f64 {
    if facts.is_from_stacks {
        facts.incl()
    } else {
        facts.cost()
    }
}

/// Returns true if functions of the same name in different places are similar enough to be one function.
fn is_moved_under_its_name(a: &NodeFacts, b: &NodeFacts, around: Surroundings) -> bool {
    let per_call = |facts: &NodeFacts| weight(facts) / facts.calls().max(1.0);
    let costs_alike = ratio(per_call(a), per_call(b)) >= SIMILAR_COST_WITH_MORE;
    let is_called_alike =
        ratio(a.calls(), b.calls()) >= SIMILAR_COST_WITH_MORE || is_similar(around.callers);
    is_called_alike && (costs_alike || is_similar(around.callees))
}

fn is_similar(share: Option<f64>) -> bool {
    share.is_some_and(|share| share >= SIMILAR_SURROUNDINGS)
}

/// Returns true if the cost per call is equal except for padding, and large enough to rule out coincidence.
fn have_equal_cost_per_call(a: &NodeFacts, b: &NodeFacts) -> bool {
    let per_call = |facts: &NodeFacts| weight(facts) / facts.calls().max(1.0);
    let (a_cost, b_cost) = (per_call(a), per_call(b));
    weight(a).max(weight(b)) >= CONSIDERABLE_COST
        && (a_cost - b_cost).abs() <= MOST_PADDING
        && ratio(a_cost, b_cost) >= EQUAL_BUT_FOR_PADDING
}

/// Returns true if all figures are almost equal and large enough.
fn have_equal_figures(a: &NodeFacts, b: &NodeFacts) -> bool {
    let events = a.costs.len().max(b.costs.len());
    let agrees = |event: usize| {
        let (a, b) = (a.event_cost(event), b.event_cost(event));
        // A difference of a few cache misses does not indicate other code.
        (a - b).abs() <= 4.0 || ratio(a, b) >= EQUAL_COST
    };
    weight(a).max(weight(b)) >= CONSIDERABLE_COST
        && (0..events).all(agrees)
        && ratio(weight(a), weight(b)) >= EQUAL_COST
        && ratio(a.calls(), b.calls()) >= EQUAL_COST
}

/// Drops pairs if one of the functions has another candidate that is not clearly less alike. Without arcs, no other
/// candidate is clearly less alike.
fn drop_ambiguous(
    candidates: &mut Vec<LikelyPair>,
    clearly_less: f64,
    has_arcs: impl Fn(&LikelyPair) -> bool,
) {
    let all = candidates.clone();
    candidates.retain(|own| {
        let most = match has_arcs(own) {
            true => own.likeness as f64 * clearly_less,
            false => 0.0,
        };
        let is_rival = |c: &LikelyPair| (c.a == own.a) != (c.b == own.b);
        !all.iter().any(|c| is_rival(c) && c.likeness as f64 > most)
    });
}

/// Returns the paths before the longest common ending of whole segments in two different names.
pub(crate) fn exchanged_path<'a>(a: &'a str, b: &'a str) -> Option<(&'a str, &'a str)> {
    let [a_starts, b_starts] = [a, b].map(|name| ParsedName::new(name.as_bytes()).segment_starts());
    let same = a_starts.iter().rev().zip(b_starts.iter().rev());
    let (a_end, b_end) = same.take_while(|(x, y)| a[**x..] == b[**y..]).last()?;
    let path = |name: &'a str, starts: &[usize], end: usize| {
        let path = name.get(*starts.first()?..end)?.strip_suffix("::")?;
        (!path.is_empty()).then_some(path)
    };
    Some((path(a, &a_starts, *a_end)?, path(b, &b_starts, *b_end)?))
}

/// Replaces a path in a name wherever it begins a path.
fn with_path(name: &str, from: &str, to: &str) -> String {
    let mut result = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(position) = rest.find(from) {
        let (before, found) = rest.split_at(position);
        let previous = before.chars().next_back().or(result.chars().next_back());
        let begins = !previous.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
        result.push_str(before);
        let after = &found[from.len()..];
        let ends = after.starts_with("::");
        result.push_str(if begins && ends { to } else { from });
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanged_paths_precede_the_longest_common_ending() {
        for (a, b, expected) in [
            (
                "calc::stats::f",
                "calculator::stats::f",
                Some(("calc", "calculator")),
            ),
            (
                "calc::stats::f",
                "calc::hash::f",
                Some(("calc::stats", "calc::hash")),
            ),
            (
                "calc::each::<calc::X>",
                "sum::each::<calc::X>",
                Some(("calc", "sum")),
            ),
            (
                "void ns::sort<a::B>(int)",
                "void na::sort<a::B>(int)",
                Some(("ns", "na")),
            ),
            (
                "calc::main::{closure}",
                "sum::main::{closure}",
                Some(("calc", "sum")),
            ),
            ("calc::f", "calc::g", None),
            ("f", "f", None),
        ] {
            assert_eq!(exchanged_path(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn path_is_replaced_only_at_the_beginning_of_a_path() {
        assert_eq!(
            with_path(
                "calc::each::<calc::main::{closure}, my::calc::X>",
                "calc",
                "sum"
            ),
            "sum::each::<sum::main::{closure}, my::calc::X>"
        );
        assert_eq!(with_path("calculator::f", "calc", "sum"), "calculator::f");
    }
}
