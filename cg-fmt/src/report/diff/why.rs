//! Why a cost changed, in words.

use cg_document::number::{grouped, plural, signed};
use cg_stream::record::{Cause, Count, DiffRecord, Why};

/// A clause without a full stop: `calls 3 to 6, +300 Ir at the same cost per call`.
pub(super) fn clause(why: &Why) -> String {
    let event = &why.event;
    let by_calls = signed(why.by_calls.unwrap_or(0).into());
    let by_cost = signed(why.by_cost_per_call.unwrap_or(0).into());
    match why.cause {
        Cause::Calls => format!(
            "{}, {by_calls} {event} at the same cost per call",
            calls(why)
        ),
        Cause::CostPerCall => format!("{}, {by_cost} {event} by cost per call", calls(why)),
        Cause::CallsAndCostPerCall => format!(
            "{}, {by_calls} {event} by calls and {by_cost} by cost per call",
            calls(why)
        ),
        Cause::InlinedIntoCallers => format!("inlined into {}", moved(why)),
        Cause::InlinedCallees => format!("took in by inlining {}", moved(why)),
        Cause::OutlinedFromCallers => format!("no longer inlined into {}", moved(why)),
        Cause::OutlinedCallees => format!("no longer has inlined {}", moved(why)),
    }
}

/// What became of a function's code by inlining: `inlined: 27,000 Ir out of line before, 0 now`.
pub(super) fn inlining(record: &DiffRecord) -> Option<String> {
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
    let (before, now) = (grouped(before), grouped(now));
    Some(format!(
        "{word}: {before} {event} out of line before, {now} now"
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

fn moved(why: &Why) -> String {
    let functions = why.moved.iter();
    let list = functions.map(|moved| {
        format!(
            "{} ({} {})",
            moved.name,
            signed(moved.delta.into()),
            why.event
        )
    });
    list.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Moved;

    #[test]
    fn calls_and_cost_per_call_are_told_with_their_figures() {
        let why = |cause, by_calls, by_cost, before, after| {
            clause(&Why {
                cause,
                event: "Ir".into(),
                by_calls: Some(by_calls),
                by_cost_per_call: Some(by_cost),
                calls: vec![before, after],
                moved: Vec::new(),
            })
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
    fn inlining_is_told_with_the_functions_at_its_other_end() {
        let moved = |name: &'static str, delta| Moved {
            name: name.into(),
            delta,
        };
        let why = Why {
            cause: Cause::InlinedCallees,
            event: "Ir".into(),
            moved: vec![moved("leaf", -3_000), moved("middle", -100)],
            ..Why::default()
        };
        assert_eq!(
            clause(&why),
            "took in by inlining leaf (-3,000 Ir), middle (-100 Ir)"
        );
    }
}
