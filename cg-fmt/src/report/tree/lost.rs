//! Warnings about calls that a filter removed from the stream of a tree. Compares the figures of each function with the
//! calls into it and out of it.
//!
//! A whole profile never causes a warning, even if its sums differ, because it contains all calls.

use std::collections::HashMap;

use cg_document::number::{grouped, plural};
use cg_profile::{Profile, Rows};
use cg_stream::record::{Count, RecordType};

use super::{FunctionOfPart, function_of_part};
use crate::options::Directions;

/// The sums of the calls into and out of a function.
#[derive(Default)]
struct CallSums {
    entered: Count,
    /// The cost of the calls out of it, for the first event.
    callees: Count,
}

/// Returns warnings about missing calls.
pub(super) fn sentences(profile: &Profile, directions: Directions, event: usize) -> Vec<String> {
    if !profile.is_filtered() && !profile.runs().is_empty() {
        return Vec::new();
    }
    let functions = profile.table(RecordType::Fn);
    if functions.is_empty() {
        return vec![
            "the input has no fn records: functions come from call records, and their self cost is unknown"
                .to_owned(),
        ];
    }
    let sums = sums(profile, event);
    let sums_for = |row: usize| {
        let key = functions.key(row);
        sums.get(&function_of_part(&key, key.function))
    };
    let count = |counts: Option<&[Count]>| {
        let count = counts.and_then(|counts| counts.get(event));
        count.copied().unwrap_or(0)
    };
    let entered = |row: usize| sums_for(row).map_or(0, |sums| sums.entered);
    if let Some((first, many)) = find_lacking(functions, |row| entered(row) < functions.calls(row))
    {
        return vec![format!(
            "incomplete tree: the input lacks calls to {} ({}: {} of {} present)",
            plural(many, "function", "functions"),
            name(profile, functions, first),
            grouped(entered(first)),
            plural(functions.calls(first), "call", "calls")
        )];
    }
    // Recursion, and costs that Callgrind charges elsewhere, can make the sums differ even if no call is missing.
    let known = |row: usize| {
        count(Some(functions.cost(row))) + sums_for(row).map_or(0, |sums| sums.callees)
    };
    let lost = |row: usize| known(row) < count(functions.incl(row));
    let lost = find_lacking(functions, lost).filter(|_| directions.callees);
    let sentence = lost.map(|(first, many)| {
        format!(
            "incomplete tree: the input may lack callees of {} ({}: inclusive cost {}, self cost and callees {})",
            plural(many, "function", "functions"),
            name(profile, functions, first),
            grouped(count(functions.incl(first))),
            grouped(known(first)),
        )
    });
    sentence.into_iter().collect()
}

/// Returns the first row that lacks calls, and the number of such rows.
fn find_lacking(functions: &Rows, lacks: impl Fn(usize) -> bool) -> Option<(usize, Count)> {
    let mut lacking = (0..functions.len()).filter(|row| lacks(*row));
    let first = lacking.next()?;
    Some((first, 1 + lacking.count() as Count))
}

fn name<'p>(profile: &'p Profile, functions: &Rows, row: usize) -> &'p str {
    let name = profile.text(functions.function(row).name);
    name.unwrap_or("a function without a name")
}

fn sums(profile: &Profile, event: usize) -> HashMap<FunctionOfPart, CallSums> {
    let calls = profile.table(RecordType::Call);
    let mut sums: HashMap<FunctionOfPart, CallSums> = HashMap::new();
    for row in 0..calls.len() {
        let key = calls.key(row);
        let callee = function_of_part(&key, key.callee.unwrap_or_default());
        sums.entry(callee).or_default().entered += calls.calls(row);
        let cost = calls.incl(row).and_then(|incl| incl.get(event));
        let caller = function_of_part(&key, key.function);
        sums.entry(caller).or_default().callees += cost.copied().unwrap_or(0);
    }
    sums
}
