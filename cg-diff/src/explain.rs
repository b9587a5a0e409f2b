//! Explains changes of cost by call counts and arcs, and by nothing else.
//!
//! Arithmetic separates more calls from a higher cost per call. If a function calls different functions, cost moved between
//! functions, and the explanation names the calls that came or went. It does not say that code was inlined: a caller that
//! costs more and a callee that is no longer called are no evidence of inlining.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_collections::sorting::Order as _;
use cg_stream::record::{CalleeCalls, Cause, Count, RecordType, Status, Why};

use crate::arcs::{Arc, Arcs};
use crate::compare::{self, Change, Comparison};
use crate::figures::{self, Figures};
use crate::inlining;
use crate::join::{FunctionRows, Joined};
use crate::runs::Runs;

/// A part of at most 1/`SLIGHT_PARTS` of the change is ignored.
const SLIGHT_PARTS: Count = 100;

/// Calls that came or went are named if they cost at least 1/`SIGNIFICANT_PARTS` of the change.
const SIGNIFICANT_PARTS: Count = 10;

/// The explanations of a comparison, by row.
#[derive(Default)]
pub(crate) struct Explanations {
    /// The reason for the change.
    pub(crate) why: BTreeMap<usize, Why<'static>>,
    /// The callee that explains the change of the inclusive cost.
    pub(crate) explained_by: BTreeMap<usize, usize>,
}

impl Explanations {
    /// Moves rows that one callee explains after the other rows of their type.
    pub(crate) fn rank(&self, comparison: &mut Comparison) {
        let joined = comparison.joined;
        comparison.changes.order_by_key(|change| {
            let is_explained = self.explained_by.contains_key(&change.row);
            (joined.rows[change.row].kind, is_explained)
        });
    }
}

/// Explains the rows that changed.
pub(crate) fn explain(comparison: &Comparison, rows: &FunctionRows) -> Explanations {
    let (runs, joined, options) = (comparison.runs, comparison.joined, comparison.options);
    let mut explanations = Explanations::default();
    if runs.events.is_empty() || !runs.is_common(0) {
        return explanations;
    }
    let sides = options.sides(runs).into();
    let changed: BTreeMap<usize, (&Change, Figures)> = comparison
        .changes
        .iter()
        .filter(|change| change.status != Status::Same)
        .filter(|change| joined.rows[change.row].kind == RecordType::Fn)
        .map(|change| {
            (
                change.row,
                (change, figures::row_figures(runs, joined, change.row)),
            )
        })
        .collect();
    let (old, new): (usize, usize) = sides;
    // Calls that only one run records did not come or go.
    let has_arcs = !runs.uneven.has_type(RecordType::Call);
    let explainer = Explainer {
        runs,
        joined,
        arcs: Arcs::collect(runs, rows, |row| has_arcs && changed.contains_key(&row)),
        changed: &changed,
        sides,
        have_calls: [old, new].iter().all(|side| records_calls(runs, *side)),
    };
    for (row, (_, figures)) in &changed {
        if let Some(why) = explainer.why(*row, figures) {
            explanations.why.insert(*row, why);
        }
        if options.inclusive
            && explainer.knows_callees(*row, figures)
            && let Some(callee) = explainer.explaining_callee(*row, figures)
        {
            explanations.explained_by.insert(*row, callee);
        }
    }
    explanations
}

struct Explainer<'a> {
    runs: &'a Runs,
    joined: &'a Joined,
    arcs: Arcs,
    changed: &'a BTreeMap<usize, (&'a Change, Figures)>,
    /// The old and the new side.
    sides: (usize, usize),
    /// True if both sides record calls.
    have_calls: bool,
}

/// Returns true if every file of a side records calls. A single function calls no other.
fn records_calls(runs: &Runs, side: usize) -> bool {
    let mut profiles = runs.files_of(side).map(|profile| &runs.profiles[profile]);
    profiles.all(|profile| {
        !profile.table(RecordType::Call).is_empty() || profile.table(RecordType::Fn).len() <= 1
    })
}

impl Explainer<'_> {
    /// Returns the reason for the change of a row that both sides have, if call counts or arcs show one.
    fn why(&self, row: usize, figures: &Figures) -> Option<Why<'static>> {
        let (old, new) = self.sides;
        let cost = &figures.cost[0];
        let delta = cost.entries[new]? - cost.entries[old]?;
        if inlining::has_copies(self.runs, self.joined, row) {
            // Inlined copies have a cost, but no call counts.
            return None;
        }
        let callees = match self.knows_callees(row, figures) {
            true => self.other_callees(row, delta),
            false => Vec::new(),
        };
        (self.by_calls(figures, delta, !callees.is_empty())).or_else(|| self.by_callees(&callees))
    }

    /// Returns true if both sides record the calls of a row. A function whose inclusive cost exceeds its self cost makes
    /// calls, so a side that has none of them did not record them.
    fn knows_callees(&self, row: usize, figures: &Figures) -> bool {
        let (old, new) = self.sides;
        let makes_calls = |side: usize| {
            let costs = figures.incl.iter().zip(&figures.cost);
            let mut costs = costs.map(|(incl, cost)| (incl.entries[side], cost.entries[side]));
            costs.any(|(incl, cost)| incl > cost)
        };
        let has_arcs = |side: usize| self.arcs.from(row).any(|arc| arc.calls[side] > 0);
        self.have_calls
            && [old, new]
                .into_iter()
                .all(|side| !makes_calls(side) || has_arcs(side))
    }

    /// Returns the arcs of a row that only one side has, if they are significant for its change. The costliest come first.
    fn other_callees(&self, row: usize, delta: Count) -> Vec<&Arc> {
        let (old, new) = self.sides;
        let cost = |arc: &Arc| arc.incl[old].max(arc.incl[new]);
        let is_on_one_side = |arc: &&Arc| (arc.calls[old] == 0) != (arc.calls[new] == 0);
        let mut arcs: Vec<&Arc> = (self.arcs.from(row).filter(is_on_one_side))
            .filter(|arc| cost(arc) * SIGNIFICANT_PARTS >= delta.abs())
            .collect();
        arcs.order_by_key(|arc| (Reverse(cost(arc)), self.callee_name(arc)));
        arcs
    }

    fn callee_name(&self, arc: &Arc) -> Option<&str> {
        let key = compare::last_key(self.runs, self.joined, arc.callee)?;
        Some(self.runs.names.symbols.text(key.function.name?))
    }

    /// Names the callees that came or went. They show that cost moved, but not to which function.
    fn by_callees(&self, callees: &[&Arc]) -> Option<Why<'static>> {
        let (old, new) = self.sides;
        let named = callees.iter().filter_map(|arc| {
            Some(CalleeCalls {
                name: self.callee_name(arc)?.to_owned().into(),
                calls: [
                    arc.calls[old].try_into().ok()?,
                    arc.calls[new].try_into().ok()?,
                ],
            })
        });
        let callees: Vec<CalleeCalls> = named.collect();
        (!callees.is_empty()).then(|| Why {
            cause: Cause::Callees,
            event: self.runs.events[0].clone().into(),
            callees,
            ..Why::default()
        })
    }

    /// Splits the change into a part for the call count and a part for the cost per call.
    fn by_calls(
        &self,
        figures: &Figures,
        delta: Count,
        has_other_callees: bool,
    ) -> Option<Why<'static>> {
        let (old, new) = self.sides;
        let calls = figures.calls.as_ref()?;
        let cost = &figures.cost[0];
        let (old_calls, new_calls) = (calls.entries[old]?, calls.entries[new]?);
        let old_cost = cost.entries[old]?;
        // With one call on both sides, the split only repeats the change.
        if old_calls <= 0 || new_calls <= 0 || delta == 0 || (old_calls, new_calls) == (1, 1) {
            return None;
        }
        let by_calls = rounded_division((new_calls - old_calls).checked_mul(old_cost)?, old_calls);
        let by_cost = delta - by_calls;
        // A part below a hundredth of the change may be rounding, or a single call to another function.
        let is_slight = |part: Count| part.abs() * SLIGHT_PARTS <= delta.abs();
        let is_opposed =
            (by_calls < 0) != (by_cost < 0) && by_calls.abs().min(by_cost.abs()) > delta.abs();
        if is_opposed || (!is_slight(by_cost) && has_other_callees) {
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
            callees: Vec::new(),
        })
    }

    /// Returns the only callee whose arc changed by as much as the inclusive cost of the row, within a hundredth. `None` if
    /// there are several such callees.
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

/// Returns the quotient, rounded to the nearest integer. `divisor` is positive.
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
    use crate::compare::{CompareOptions, compare};
    use crate::join::{join, tests::options};
    use crate::runs::tests::runs;

    /// Converts lines to a stream: functions `NAME CALLS SELF INCL` and arcs `CALLER>CALLEE CALLS INCL`.
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

    /// Formats the cause and its figures.
    fn reason(why: &Why) -> String {
        let callees: Vec<String> = why
            .callees
            .iter()
            .map(|callee| {
                format!(
                    " {} {} to {}",
                    callee.name, callee.calls[0], callee.calls[1]
                )
            })
            .collect();
        let parts: Vec<String> = [("calls", why.by_calls), ("cost", why.by_cost_per_call)]
            .into_iter()
            .filter_map(|(part, change)| Some(format!(" by {part} {:+}", change?)))
            .collect();
        format!("{:?}{}{}", why.cause, callees.concat(), parts.concat())
    }

    /// Returns the explanations, sorted by function: a reason, or the callee that explains the function.
    fn explained(before: &str, after: &str, inclusive: bool) -> Vec<String> {
        let mut runs = runs(&[&stream(before), &stream(after)]);
        let joined = join(&mut runs, &options());
        let options = CompareOptions {
            inclusive,
            ..CompareOptions::default()
        };
        let comparison = compare(&runs, &joined, options);
        let explanations = explain(&comparison, &FunctionRows::collect(&runs, &joined));
        let name = |row: usize| {
            let mut changes = comparison.changes.iter();
            let change = changes.find(|change| change.row == row).unwrap();
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
    fn change_is_split_into_calls_and_cost_per_call() {
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
    fn callee_that_came_or_went_is_named_without_a_claim_about_inlining() {
        let before = "main 1 10 110\nhelper 10 100 100\nmain>helper 10 100";
        let after = "main 1 95 95";
        assert_eq!(
            explained(before, after, false),
            ["main: Callees helper 10 to 0"]
        );
        assert_eq!(
            explained(after, before, false),
            ["main: Callees helper 0 to 10"]
        );
        // f is called ten times as often, which explains the whole change.
        assert_eq!(
            explained(
                "main 1 10 10\nf 1 100 1000\nhelper 9 900 900\nmain>f 1 1000\nf>helper 9 900",
                "main 1 10 10\nf 10 1000 1000\nmain>f 10 1000",
                false
            ),
            ["f: Calls by calls +900 by cost +0"]
        );
        // A callee that costs less than a tenth of the change is not a reason.
        assert_eq!(
            explained(
                "main 1 10 19\nf 2 100 109\nhelper 9 9 9\nmain>f 2 109\nf>helper 9 9",
                "main 1 10 210\nf 2 200 200\nmain>f 2 200",
                false
            ),
            ["f: CostPerCall by calls +0 by cost +100"]
        );
        // The costliest callee comes first. Equal callees are sorted by name.
        assert_eq!(
            explained(
                "main 1 10 160\na 1 50 50\nb 2 50 50\nc 3 60 60\nmain>a 1 50\nmain>b 2 50\nmain>c 3 60",
                "main 1 90 90",
                false
            ),
            ["main: Callees c 3 to 0 a 1 to 0 b 2 to 0"]
        );
    }

    #[test]
    fn nothing_follows_from_calls_that_one_side_does_not_record() {
        let functions = |main: u64, work: u64| {
            format!("main 1 {main} 300\nwork 2 {work} 200\nleaf 9 100 100\n")
        };
        let arcs = "main>work 2 200\nwork>leaf 9 100";
        let (without, with) = (functions(10, 40), functions(20, 50) + arcs);
        for [old, new] in [[&without, &with], [&with, &without]] {
            for inclusive in [false, true] {
                let found = explained(old, new, inclusive);
                assert!(
                    found.iter().all(|found| found.contains("CostPerCall")),
                    "{found:?}"
                );
            }
        }
        // The calls of work are missing, but not the calls of main.
        let partly = functions(10, 40) + "main>work 2 200";
        let found = explained(&partly, &with, false);
        assert_eq!(found, ["work: CostPerCall by calls +0 by cost +10"]);
    }

    #[test]
    fn explanation_never_repeats_the_change() {
        assert_eq!(explained("f 1 10 10", "f 1 25 25", false), [""; 0]);
        // If more calls and cheaper calls cancel out, neither explains the change.
        assert_eq!(
            explained("f 100 1000 1000", "f 150 1010 1010", false),
            [""; 0]
        );
        assert_eq!(
            explained("f 100 1000 1000", "f 150 1300 1300", false),
            ["f: CallsAndCostPerCall by calls +500 by cost -200"]
        );
    }

    #[test]
    fn caller_is_explained_by_the_only_callee_that_changed() {
        let run = |leaf: u64, own: u64| {
            let (middle, main) = (leaf + 5, leaf + 5 + own);
            format!(
                "main 1 {own} {main}\nmiddle 1 5 {middle}\nleaf 1 {leaf} {leaf}\nmain>middle 1 {middle}\nmiddle>leaf 1 {leaf}"
            )
        };
        assert_eq!(
            explained(&run(1000, 1), &run(3000, 1), true),
            ["main: see middle", "middle: see leaf",]
        );
        // A tenth of the change is self cost of main, so the callee does not explain main.
        let own = explained(&run(1000, 1), &run(3000, 223), true);
        assert!(
            !own.iter().any(|line| line.starts_with("main: see")),
            "{own:?}"
        );
    }

    #[test]
    fn division_rounds_to_the_nearest() {
        assert_eq!(rounded_division(7, 2), 4);
        assert_eq!(rounded_division(-7, 2), -4);
        assert_eq!(rounded_division(5, 3), 2);
        assert_eq!(rounded_division(-4, 3), -1);
    }
}
