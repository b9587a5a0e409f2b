//! Says why a function's cost changed, as far as call counts and arcs tell.
//!
//! More calls at the old cost per call and more cost per call are told apart by arithmetic. Inlining is inferred: the
//! arc between two functions is gone (or new), and their self costs moved in opposite directions by about the same.

use std::collections::BTreeMap;

use cg_stream::record::{Cause, Count, Moved, RecordType, Status, Why};

use crate::arcs::{Arc, Arcs};
use crate::compare::{Change, CompareOptions};
use crate::figures::{self, Figures};
use crate::join::Joined;
use crate::runs::Runs;

/// How much of one side's change the other's must be to count as the same code on the move. Inlining saves the call
/// itself and often more, so the range is wide.
const MOVED_AT_LEAST_PERCENT: Count = 50;
const MOVED_AT_MOST_PERCENT: Count = 150;

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
    for (row, delta) in &explainer.deltas {
        explainer.explain_moves(*row, *delta, &mut explanations.why);
    }
    for (row, (_, figures)) in &changed {
        if let Some(why) = explainer.by_calls(figures)
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
    /// Code that went into or came out of other functions: told on both ends.
    fn explain_moves(&self, row: usize, delta: Count, why: &mut BTreeMap<usize, Why<'static>>) {
        let (old, new) = self.sides;
        let is_gone = |arc: &&Arc| arc.calls[old] > 0 && arc.calls[new] == 0;
        let is_new = |arc: &&Arc| arc.calls[old] == 0 && arc.calls[new] > 0;
        let callers = |arc: &Arc| arc.caller;
        let callees = |arc: &Arc| arc.callee;
        let (others, cause, reverse): (Vec<usize>, _, _) = match delta {
            0 => return,
            ..0 => {
                let into_callers: Vec<usize> =
                    self.arcs.to(row).filter(is_gone).map(callers).collect();
                if self.is_balanced(delta, &into_callers) {
                    (
                        into_callers,
                        Cause::InlinedIntoCallers,
                        Cause::InlinedCallees,
                    )
                } else {
                    let into_callees = self.arcs.from(row).filter(is_new).map(callees).collect();
                    (
                        into_callees,
                        Cause::OutlinedCallees,
                        Cause::OutlinedFromCallers,
                    )
                }
            }
            1.. => {
                let from_callees: Vec<usize> =
                    self.arcs.from(row).filter(is_gone).map(callees).collect();
                if self.is_balanced(delta, &from_callees) {
                    (
                        from_callees,
                        Cause::InlinedCallees,
                        Cause::InlinedIntoCallers,
                    )
                } else {
                    let from_callers = self.arcs.to(row).filter(is_new).map(callers).collect();
                    (
                        from_callers,
                        Cause::OutlinedFromCallers,
                        Cause::OutlinedCallees,
                    )
                }
            }
        };
        if !self.is_balanced(delta, &others) {
            return;
        }
        let others: Vec<usize> = self
            .opposite(delta, &others)
            .map(|(other, _)| other)
            .collect();
        why.insert(row, self.moved(cause, &others));
        for other in others {
            why.entry(other)
                .or_insert_with(|| self.moved(reverse, &[row]));
        }
    }

    /// Those of the rows that changed the other way, with their changes.
    fn opposite<'r>(
        &'r self,
        delta: Count,
        rows: &'r [usize],
    ) -> impl Iterator<Item = (usize, Count)> + 'r {
        rows.iter().filter_map(move |row| {
            let other = *self.deltas.get(row)?;
            (other.signum() == -delta.signum()).then_some((*row, other))
        })
    }

    fn is_balanced(&self, delta: Count, rows: &[usize]) -> bool {
        let sum: Count = self.opposite(delta, rows).map(|(_, other)| other).sum();
        let (sum, delta) = (sum.abs() * 100, delta.abs());
        sum >= delta * MOVED_AT_LEAST_PERCENT && sum <= delta * MOVED_AT_MOST_PERCENT
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
        moved.sort_by(|a, b| {
            (b.delta.unsigned_abs(), &a.name).cmp(&(a.delta.unsigned_abs(), &b.name))
        });
        Why {
            cause,
            event: self.runs.events[0].clone().into(),
            moved,
            ..Why::default()
        }
    }

    /// The change told apart into that of the call count and that of the cost per call.
    fn by_calls(&self, figures: &Figures) -> Option<Why<'static>> {
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
        // What is within a hundredth of the change is rounding, or one call that went another way.
        let is_slight = |part: Count| part.abs() * 100 <= delta.abs();
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
            .map(|(row, why)| format!("{}: {why}", name(*row)));
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
                "both: calls 10 to 20, +1000 Ir by calls and +1000 by cost per call",
                "more: calls 10 to 20, +1000 Ir at the same cost per call",
                "slower: 10 calls as before, +500 Ir by cost per call",
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
                "helper: inlined into main (+85 Ir)",
                "main: took in by inlining helper (-100 Ir)"
            ]
        );
        assert_eq!(
            explained(after, before, false),
            [
                "helper: no longer inlined into main (-85 Ir)",
                "main: no longer has inlined helper (+100 Ir)"
            ]
        );
        // The caller did not change by anything like what is gone.
        let elsewhere = "main 1 11 11";
        assert_eq!(
            explained(before, elsewhere, false),
            ["main: 1 call as before, +1 Ir by cost per call"]
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
                "leaf: 1 call as before, +2000 Ir by cost per call",
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
