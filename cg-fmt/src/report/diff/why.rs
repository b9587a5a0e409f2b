//! The reasons for a changed cost, in words.

use cg_document::number::{grouped, plural, signed};
use cg_stream::record::{Cause, CodeChange, Count, DiffRecord, Status, Why};

/// Returns the known reasons for the changed cost of a record. If its names were joined by a guess, the text mentions the
/// guess.
pub(super) fn describe_reason(record: &DiffRecord) -> Option<String> {
    let why = record.why.as_deref().and_then(clause);
    let why = why.or_else(|| inlining(record));
    let why = why.or_else(|| at_most(record));
    let why = match (code(record), why) {
        (Some(code), Some(why)) => format!("{code}: {why}"),
        (code, why) => code.map(str::to_owned).or(why)?,
    };
    Some(match record.guess {
        true => format!("{why}, if the guess is right"),
        false => why,
    })
}

/// Returns the words about the machine code of a function that changed.
fn code(record: &DiffRecord) -> Option<&'static str> {
    let is_compared = matches!(record.status, Status::Changed | Status::Renamed);
    match record.code.filter(|_| is_compared)? {
        CodeChange::Same => Some("same machine code"),
        CodeChange::Constants => Some("same machine code except for constants"),
        CodeChange::Other => Some("other machine code"),
        CodeChange::Unknown => None,
    }
}

/// Returns the maximum cost in a run that has the row below the threshold: `at most 21,000 bytes before`.
fn at_most(record: &DiffRecord) -> Option<String> {
    let (event, most) = record.at_most.as_ref()?.0.first()?;
    let limit = |most: Option<&Option<Count>>, when: &str| {
        let most = most.copied().flatten()?;
        Some(format!("at most {} {event} {when}", grouped(most)))
    };
    let ends = [limit(most.0.first(), "before"), limit(most.0.last(), "now")];
    let ends: Vec<String> = ends.into_iter().flatten().collect();
    (!ends.is_empty()).then(|| ends.join(", "))
}

/// Returns a clause without a full stop: `calls 3 to 6, +300 Ir at the same cost per call`.
fn clause(why: &Why) -> Option<String> {
    let event = &why.event;
    let by_calls = signed(why.by_calls.unwrap_or(0).into());
    let by_cost = signed(why.by_cost_per_call.unwrap_or(0).into());
    Some(match why.cause {
        Cause::Calls => format!(
            "{}, {by_calls} {event} at the same cost per call",
            calls(why)
        ),
        Cause::CostPerCall => format!("{}, {by_cost} {event} by cost per call", calls(why)),
        Cause::CallsAndCostPerCall => format!(
            "{}, {by_calls} {event} by calls and {by_cost} by cost per call",
            calls(why)
        ),
        Cause::Callees => callees(why),
        Cause::Other => return None,
    })
}

/// The maximum number of functions to name.
const NAMED: usize = 3;

/// Returns the first names of a list, and the number of the other names; `None` for an empty list.
fn first_names(names: Vec<String>) -> Option<String> {
    match names.split_at(names.len().min(NAMED)) {
        ([], _) => None,
        (named, []) => Some(named.join(", ")),
        (named, more) => Some(format!("{} and {} more", named.join(", "), more.len())),
    }
}

/// Returns the words about inlining of a function's code: `inlined into main: 27,000 Ir out of line before, 0 now`.
fn inlining(record: &DiffRecord) -> Option<String> {
    let (event, own) = record.out_of_line.as_ref()?.0.first()?;
    let ends = |entries: &[Option<Count>]| {
        let end = |entry: Option<&Option<Count>>| entry.copied().flatten().unwrap_or(0);
        (end(entries.first()), end(entries.last()))
    };
    let (before, now) = ends(&own.0);
    let word = if now < before {
        "inlined"
    } else {
        "no longer inlined"
    };
    let hosts = record.hosts.iter().map(|host| &host.function);
    let names = hosts.filter_map(|host| Some(host.name.as_deref()?.to_owned()));
    let into = first_names(names.collect()).map(|names| format!(" into {names}"));
    let into = into.unwrap_or_default();
    let (before, now) = (grouped(before), grouped(now));
    Some(format!(
        "{word}{into}: {before} {event} out of line before, {now} now"
    ))
}

fn calls(why: &Why) -> String {
    match why.calls[..] {
        [before, after] if before != after => {
            format!(
                "calls {} to {}",
                grouped(before.into()),
                grouped(after.into())
            )
        }
        [before, _] => format!("{} as before", plural(Count::from(before), "call", "calls")),
        _ => "calls unknown".to_owned(),
    }
}

/// Returns the words about callees: `no longer calls validate (500 calls); now calls check (20 calls)`.
fn callees(why: &Why) -> String {
    let list = |word: &str, is_listed: fn([u64; 2]) -> bool| {
        let callees = why.callees.iter().filter(|callee| is_listed(callee.calls));
        let names = callees.map(|callee| {
            let calls = Count::from(callee.calls[0].max(callee.calls[1]));
            format!("{} ({})", callee.name, plural(calls, "call", "calls"))
        });
        Some(format!("{word} {}", first_names(names.collect())?))
    };
    let parts = [
        list("no longer calls", |[_, after]| after == 0),
        list("now calls", |[before, _]| before == 0),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::CalleeCalls;

    #[test]
    fn calls_and_cost_per_call_have_figures() {
        let why = |cause, by_calls, by_cost, before, after| {
            let why = Why {
                cause,
                event: "Ir".into(),
                by_calls: Some(by_calls),
                by_cost_per_call: Some(by_cost),
                calls: vec![before, after],
                callees: Vec::new(),
            };
            clause(&why).unwrap()
        };
        assert_eq!(
            why(Cause::Calls, 1_000, 0, 10, 2_000),
            "calls 10 to 2,000, +1,000 Ir at the same cost per call"
        );
        assert_eq!(
            why(Cause::CostPerCall, 0, -12_345, 1, 1),
            "1 call as before, -12,345 Ir by cost per call"
        );
        assert_eq!(
            why(Cause::CallsAndCostPerCall, 5, -6, 1, 2),
            "calls 1 to 2, +5 Ir by calls and -6 by cost per call"
        );
    }

    #[test]
    fn added_and_removed_callees_have_call_counts() {
        let callee = |name: &'static str, calls| CalleeCalls {
            name: name.into(),
            calls,
        };
        let why = Why {
            cause: Cause::Callees,
            callees: vec![
                callee("a", [500, 0]),
                callee("b", [0, 1]),
                callee("c", [1_200, 0]),
            ],
            ..Why::default()
        };
        assert_eq!(
            clause(&why).unwrap(),
            "no longer calls a (500 calls), c (1,200 calls); now calls b (1 call)"
        );
        let many = Why {
            callees: ["a", "b", "c", "d", "e"]
                .map(|name| callee(name, [1, 0]))
                .into(),
            ..why
        };
        assert_eq!(
            clause(&many).unwrap(),
            "no longer calls a (1 call), b (1 call), c (1 call) and 2 more"
        );
    }
}
