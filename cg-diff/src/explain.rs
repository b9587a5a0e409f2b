//! Explains why a function's cost changed, as far as call counts and call arcs tell.
//!
//! More calls and a higher cost per call are told apart by arithmetic. Inlining is inferred: a function is called as
//! often as before, arcs from it and from its callees are gone (or new), and its gain matches their loss. If a function
//! has other callees than before and inlining does not explain that, no cause is given.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use cg_stream::record::{Cause, Count, Moved, RecordType, Status, Why};
use cg_stream::sorting::Order as _;

use crate::arcs::{Arc, Arcs};
use crate::compare::{Change, CompareOptions};
use crate::figures::{self, Figures};
use crate::join::Joined;
use crate::runs::Runs;

/// The range, in percent of the guests' (inlinees') loss, in which the gain of a host (inliner) counts as their code.
/// Inlining saves the call itself and often more, so the range is wide.
const MOVED_AT_LEAST_PERCENT: Count = 50;
const MOVED_AT_MOST_PERCENT: Count = 150;

/// A part of at most 1/`SLIGHT_PARTS` of the whole is slight.
const SLIGHT_PARTS: Count = 100;

/// A guest with less than 1/`WORTH_NAMING_PARTS` of the cost that its host took in is not named.
const WORTH_NAMING_PARTS: Count = 50;

/// Reasons by row, and the callee that explains a row's inclusive change.
#[derive(Default)]
pub(crate) struct Explanations {
    pub(crate) why: BTreeMap<usize, Why<'static>>,
    pub(crate) explained_by: BTreeMap<usize, usize>,
}

/// Explains the rows that changed.
pub(crate) fn explain(
    runs: &Runs,
    joined: &Joined,
    changes: &[Change],
    options: CompareOptions,
) -> Explanations {
    let mut explanations = Explanations::default();
    if runs.events.is_empty() || !runs.is_common(0) {
        return explanations;
    }
    let sides = (options.reference, runs.sides.len() - 1);
    let changed: BTreeMap<usize, (&Change, Figures)> = changes
        .iter()
        .filter(|change| change.status != Status::Same)
        .filter(|change| joined.rows[change.row].of == RecordType::Fn)
        .map(|change| {
            (
                change.row,
                (change, figures::of_row(runs, joined, change.row)),
            )
        })
        .collect();
    let explainer = Explainer {
        runs,
        arcs: Arcs::of(runs, joined, |row| changed.contains_key(&row)),
        deltas: changed
            .iter()
            .map(|(row, (_, figures))| (*row, figures.cost[0].change(sides.0, sides.1)))
            .collect(),
        changed: &changed,
        sides,
    };
    for inlining in [InliningChange::In, InliningChange::Out] {
        explainer.explain_moves(inlining, &mut explanations.why);
    }
    for (row, (_, figures)) in &changed {
        if let Some(why) = explainer.by_calls(*row, figures)
            && !explanations.why.contains_key(row)
        {
            explanations.why.insert(*row, why);
        }
        if options.inclusive
            && let Some(callee) = explainer.explaining_callee(*row, figures)
        {
            explanations.explained_by.insert(*row, callee);
        }
    }
    explanations
}

/// The direction of an inlining change.
#[derive(Clone, Copy)]
enum InliningChange {
    /// Callees were inlined into their callers.
    In,
    /// Functions that were inlined before are called now.
    Out,
}

impl InliningChange {
    /// The side that has the calls, then the side that lacks them.
    fn sides(self, (old, new): (usize, usize)) -> (usize, usize) {
        match self {
            InliningChange::In => (old, new),
            InliningChange::Out => (new, old),
        }
    }

    /// The factor that turns a change from old to new into the gain of a host.
    fn sign(self) -> Count {
        match self {
            InliningChange::In => 1,
            InliningChange::Out => -1,
        }
    }

    /// The causes reported for the host and for its guests.
    fn causes(self) -> (Cause, Cause) {
        match self {
            InliningChange::In => (Cause::InlinedCallees, Cause::InlinedIntoCallers),
            InliningChange::Out => (Cause::OutlinedCallees, Cause::OutlinedFromCallers),
        }
    }
}

struct Explainer<'a> {
    runs: &'a Runs,
    arcs: Arcs,
    /// Change of self cost of the first event.
    deltas: BTreeMap<usize, Count>,
    changed: &'a BTreeMap<usize, (&'a Change, Figures)>,
    /// Old and new.
    sides: (usize, usize),
}

impl Explainer<'_> {
    /// Explains inlining for both ends, hosts and guests. Outlining is the same with the sides swapped.
    fn explain_moves(&self, inlining: InliningChange, why: &mut BTreeMap<usize, Why<'static>>) {
        let mut hosts: Vec<(Reverse<Count>, usize)> = self
            .deltas
            .iter()
            .map(|(row, delta)| (Reverse(inlining.sign() * delta), *row))
            .filter(|(Reverse(gain), row)| *gain > 0 && self.is_called_as_before(*row))
            .collect();
        hosts.sort_unstable();
        let mut taken_in: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (Reverse(gain), host) in hosts {
            let guests = self.guests(host, inlining);
            let loss: Count = guests.values().sum();
            let percent = gain * 100;
            if percent < loss * MOVED_AT_LEAST_PERCENT || percent > loss * MOVED_AT_MOST_PERCENT {
                continue;
            }
            let named: Vec<usize> = guests
                .iter()
                .filter(|(_, part)| **part * WORTH_NAMING_PARTS >= loss)
                .map(|(guest, _)| *guest)
                .collect();
            for guest in guests.keys() {
                taken_in.entry(*guest).or_default().push(host);
            }
            let (of_host, _) = inlining.causes();
            why.entry(host)
                .or_insert_with(|| self.moved(of_host, &named));
        }
        let (_, of_guest) = inlining.causes();
        for (guest, hosts) in taken_in {
            why.entry(guest)
                .or_insert_with(|| self.moved(of_guest, &hosts));
        }
    }

    /// The functions whose code was probably inlined into a host, each with its part of the moved cost: callees that
    /// lost cost and that the host no longer calls, and likewise their own callees.
    fn guests(&self, host: usize, inlining: InliningChange) -> BTreeMap<usize, Count> {
        let (before, after) = inlining.sides(self.sides);
        let is_gone = |arc: &&Arc| arc.calls[before] > 0 && arc.calls[after] == 0;
        let mut inside = BTreeSet::from([host]);
        let mut open = vec![host];
        while let Some(caller) = open.pop() {
            for arc in self.arcs.from(caller).filter(is_gone) {
                let has_lost = self
                    .deltas
                    .get(&arc.callee)
                    .is_some_and(|delta| delta * inlining.sign() < 0);
                if has_lost && inside.insert(arc.callee) {
                    open.push(arc.callee);
                }
            }
        }
        inside.remove(&host);
        let mut guests = BTreeMap::new();
        for guest in &inside {
            // A function that was inlined into several hosts is divided among them by the number of lost calls.
            let lost = |is_counted: &dyn Fn(&Arc) -> bool| -> Count {
                let arcs = self.arcs.to(*guest).filter(|arc| is_counted(arc));
                arcs.map(|arc| (arc.calls[before] - arc.calls[after]).max(0))
                    .sum()
            };
            let all = lost(&|_| true);
            let from_here = lost(&|arc| arc.caller == host || inside.contains(&arc.caller));
            let loss = -self.deltas.get(guest).copied().unwrap_or(0) * inlining.sign();
            if all > 0
                && let Some(part) = loss.checked_mul(from_here)
            {
                guests.insert(*guest, part / all);
            }
        }
        guests
    }

    /// True for a function that both sides have, called about as often: inlining changes nothing about that.
    fn is_called_as_before(&self, row: usize) -> bool {
        let (old, new) = self.sides;
        let calls = self
            .changed
            .get(&row)
            .and_then(|(_, figures)| figures.calls.as_ref());
        calls.is_some_and(|calls| match (calls.entries[old], calls.entries[new]) {
            (Some(old), Some(new)) => (old - new).abs() * SLIGHT_PARTS <= old.max(new),
            _ => false,
        })
    }

    /// True if a function gained or lost a callee whose arc matters to the change: cost then moved between functions,
    /// and the cost per call says nothing.
    fn has_other_callees(&self, row: usize, delta: Count) -> bool {
        let (old, new) = self.sides;
        self.arcs.from(row).any(|arc| {
            let is_on_one_side = (arc.calls[old] == 0) != (arc.calls[new] == 0);
            is_on_one_side && arc.incl[old].max(arc.incl[new]) * 10 >= delta.abs()
        })
    }

    fn moved(&self, cause: Cause, rows: &[usize]) -> Why<'static> {
        let mut moved: Vec<Moved> = rows
            .iter()
            .filter_map(|row| {
                let name = self.changed.get(row)?.0.shown.function.name?;
                Some(Moved {
                    name: self.runs.names.symbols.text(name).to_owned().into(),
                    delta: i64::try_from(*self.deltas.get(row)?).ok()?,
                })
            })
            .collect();
        moved.order_by(|a, b| {
            (b.delta.unsigned_abs(), &a.name).cmp(&(a.delta.unsigned_abs(), &b.name))
        });
        Why {
            cause,
            event: self.runs.events[0].clone().into(),
            moved,
            ..Why::default()
        }
    }

    /// Splits the change into the part of the call count and the part of the cost per call.
    fn by_calls(&self, row: usize, figures: &Figures) -> Option<Why<'static>> {
        let (old, new) = self.sides;
        let calls = figures.calls.as_ref()?;
        let cost = &figures.cost[0];
        let (old_calls, new_calls) = (calls.entries[old]?, calls.entries[new]?);
        let (old_cost, new_cost) = (cost.entries[old]?, cost.entries[new]?);
        if old_calls <= 0 || new_calls <= 0 || old_cost == new_cost {
            return None;
        }
        let delta = new_cost - old_cost;
        let by_calls = rounded_division((new_calls - old_calls).checked_mul(old_cost)?, old_calls);
        let by_cost = delta - by_calls;
        // A part within a hundredth of the change is rounding, or a single call that went elsewhere.
        let is_slight = |part: Count| part.abs() * SLIGHT_PARTS <= delta.abs();
        if !is_slight(by_cost) && self.has_other_callees(row, delta) {
            return None;
        }
        let cause = if old_calls == new_calls || is_slight(by_calls) {
            Cause::CostPerCall
        } else if is_slight(by_cost) {
            Cause::Calls
        } else {
            Cause::CallsAndCostPerCall
        };
        Some(Why {
            cause,
            event: self.runs.events[0].clone().into(),
            by_calls: Some(i64::try_from(by_calls).ok()?),
            by_cost_per_call: Some(i64::try_from(by_cost).ok()?),
            calls: vec![
                u64::try_from(old_calls).ok()?,
                u64::try_from(new_calls).ok()?,
            ],
            moved: Vec::new(),
        })
    }

    /// The one callee whose arc from here changed by as much as this function's inclusive cost, within a hundredth.
    fn explaining_callee(&self, row: usize, figures: &Figures) -> Option<usize> {
        let (old, new) = self.sides;
        let delta = figures.incl.first()?.change(old, new);
        if delta == 0 {
            return None;
        }
        let files = |side: usize| self.runs.files_of(side).len().max(1) as Count;
        let mut explaining = self.arcs.from(row).filter(|arc| {
            let change = arc.incl[new] / files(new) - arc.incl[old] / files(old);
            (delta - change).abs() * 100 <= delta.abs() && self.changed.contains_key(&arc.callee)
        });
        let callee = explaining.next()?.callee;
        explaining.next().is_none().then_some(callee)
    }
}

/// The quotient to the nearest integer; `divisor` is positive.
fn rounded_division(dividend: Count, divisor: Count) -> Count {
    let half = divisor / 2;
    if dividend >= 0 {
        (dividend + half) / divisor
    } else {
        (dividend - half) / divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;
    use crate::join::{join, tests::options};
    use crate::runs::tests::runs;

    /// Functions `NAME CALLS SELF INCL` and arcs `CALLER>CALLEE CALLS INCL` a line, as a stream.
    fn stream(text: &str) -> String {
        let mut stream = String::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [name, calls, cost, incl] => {
                    stream += &format!(
                        "{{\"type\":\"fn\",\"fn\":\"{name}\",\"calls\":{calls},\"cost\":{{\"Ir\":{cost}}},\"incl\":{{\"Ir\":{incl}}}}}\n"
                    );
                }
                [arc, calls, incl] => {
                    let (caller, callee) = arc.split_once('>').unwrap();
                    stream += &format!(
                        "{{\"type\":\"call\",\"fn\":\"{caller}\",\"line\":1,\"callee\":{{\"fn\":\"{callee}\"}},\"calls\":{calls},\"incl\":{{\"Ir\":{incl}}}}}\n"
                    );
                }
                _ => {}
            }
        }
        stream
    }

    /// The cause and its figures in short.
    fn reason(why: &Why) -> String {
        let moved: Vec<String> = why
            .moved
            .iter()
            .map(|moved| format!(" {} {:+}", moved.name, moved.delta))
            .collect();
        let parts: Vec<String> = [("calls", why.by_calls), ("cost", why.by_cost_per_call)]
            .into_iter()
            .filter_map(|(part, change)| Some(format!(" by {part} {:+}", change?)))
            .collect();
        format!("{:?}{}{}", why.cause, moved.concat(), parts.concat())
    }

    /// What is said of each function, sorted: its reason, or the callee that explains it.
    fn explained(before: &str, after: &str, inclusive: bool) -> Vec<String> {
        let mut runs = runs(&[&stream(before), &stream(after)]);
        let joined = join(&mut runs, &options());
        let options = CompareOptions {
            inclusive,
            ..CompareOptions::default()
        };
        let changes = compare(&runs, &joined, options);
        let explanations = explain(&runs, &joined, &changes, options);
        let name = |row: usize| {
            let change = changes.iter().find(|change| change.row == row).unwrap();
            runs.names.symbols.text(change.shown.function.name.unwrap())
        };
        let reasons = explanations
            .why
            .iter()
            .map(|(row, why)| format!("{}: {}", name(*row), reason(why)));
        let callees = explanations
            .explained_by
            .iter()
            .map(|(row, callee)| format!("{}: see {}", name(*row), name(*callee)));
        let mut all: Vec<String> = reasons.chain(callees).collect();
        all.sort();
        all
    }

    #[test]
    fn calls_and_cost_per_call_are_told_apart() {
        let after = "more 20 2000 2000\nslower 10 1500 1500\nboth 20 3000 3000";
        assert_eq!(
            explained(
                "more 10 1000 1000\nslower 10 1000 1000\nboth 10 1000 1000",
                after,
                false
            ),
            [
                "both: CallsAndCostPerCall by calls +1000 by cost +1000",
                "more: Calls by calls +1000 by cost +0",
                "slower: CostPerCall by calls +0 by cost +500",
            ]
        );
        assert_eq!(explained("f 0 10 10", "f 0 20 20", false), [""; 0]);
    }

    #[test]
    fn inlining_is_told_on_both_ends() {
        let before = "main 1 10 110\nhelper 10 100 100\nmain>helper 10 100";
        let after = "main 1 95 95";
        assert_eq!(
            explained(before, after, false),
            [
                "helper: InlinedIntoCallers main +85",
                "main: InlinedCallees helper -100"
            ]
        );
        assert_eq!(
            explained(after, before, false),
            [
                "helper: OutlinedFromCallers main -85",
                "main: OutlinedCallees helper +100"
            ]
        );
        // The caller did not change by anything like what is gone.
        let elsewhere = "main 1 11 11";
        assert_eq!(explained(before, elsewhere, false), [""; 0]);
        // It did, but it is called ten times as often, and that is why.
        assert_eq!(
            explained(
                "main 1 10 10\nf 1 100 1000\nhelper 9 900 900\nmain>f 1 1000\nf>helper 9 900",
                "main 1 10 10\nf 10 1000 1000\nmain>f 10 1000",
                false
            ),
            ["f: Calls by calls +900 by cost +0"]
        );
    }

    #[test]
    fn inlining_is_told_through_several_levels() {
        let before = "main 1 10 3110\nmiddle 5 100 3100\nleaf 50 3000 3000\nmain>middle 5 3100\nmiddle>leaf 50 3000";
        let after = "main 1 3050 3050";
        assert_eq!(
            explained(before, after, false),
            [
                "leaf: InlinedIntoCallers main +3040",
                "main: InlinedCallees leaf -3000 middle -100",
                "middle: InlinedIntoCallers main +3040",
            ]
        );
        assert_eq!(
            explained(after, before, false),
            [
                "leaf: OutlinedFromCallers main -3040",
                "main: OutlinedCallees leaf +3000 middle +100",
                "middle: OutlinedFromCallers main -3040",
            ]
        );
    }

    #[test]
    fn what_went_into_two_functions_is_told_of_both() {
        let before = "a 1 10 310\nb 1 10 610\nleaf 9 900 900\na>leaf 3 300\nb>leaf 6 600";
        let after = "a 1 300 300\nb 1 590 590";
        assert_eq!(
            explained(before, after, false),
            [
                "a: InlinedCallees leaf -900",
                "b: InlinedCallees leaf -900",
                "leaf: InlinedIntoCallers b +580 a +290",
            ]
        );
    }

    #[test]
    fn a_caller_is_explained_by_the_one_callee_that_changed() {
        let run = |leaf: u64, own: u64| {
            let (middle, main) = (leaf + 5, leaf + 5 + own);
            format!(
                "main 1 {own} {main}\nmiddle 1 5 {middle}\nleaf 1 {leaf} {leaf}\nmain>middle 1 {middle}\nmiddle>leaf 1 {leaf}"
            )
        };
        assert_eq!(
            explained(&run(1000, 1), &run(3000, 1), true),
            [
                "leaf: CostPerCall by calls +0 by cost +2000",
                "main: see middle",
                "middle: see leaf",
            ]
        );
        // A tenth of the change is main's own, so main is a place to look too.
        let own = explained(&run(1000, 1), &run(3000, 223), true);
        assert!(
            !own.iter().any(|line| line.starts_with("main: see")),
            "{own:?}"
        );
    }

    #[test]
    fn division_is_to_the_nearest() {
        assert_eq!(rounded_division(7, 2), 4);
        assert_eq!(rounded_division(-7, 2), -4);
        assert_eq!(rounded_division(5, 3), 2);
        assert_eq!(rounded_division(-4, 3), -1);
    }
}
