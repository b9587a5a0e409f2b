//! Which calls a tree lacks because a filter took them out of its stream: what is told of each function is compared with
//! what is told of the calls into it and out of it.
//!
//! Of a whole profile nothing is said: its calls are all there are, whatever their sums.

use std::collections::HashMap;

use cg_document::number::{grouped, plural};
use cg_stream::profile::{Profile, Rows};
use cg_stream::record::{Count, RecordType};

use super::{FunctionOfPart, of_part};
use crate::options::Directions;

/// What calls tell of a function.
#[derive(Default)]
struct CallSums {
    entered: Count,
    /// What the calls out of it cost, by the first event.
    callees: Count,
}

/// What is said of the calls that are missing.
pub(super) fn sentences(profile: &Profile, directions: Directions, event: usize) -> Vec<String> {
    if !profile.is_filtered() && !profile.runs().is_empty() {
        return Vec::new();
    }
    let functions = profile.table(RecordType::Fn);
    if functions.is_empty() {
        return vec![
            "there are no fn records: the functions are those of the calls, and what they cost themselves is not known"
                .to_owned(),
        ];
    }
    let sums = sums(profile, event);
    let of = |row: usize| {
        let key = functions.key(row);
        sums.get(&of_part(key, key.function))
    };
    let count = |counts: Option<&[Count]>| {
        let count = counts.and_then(|counts| counts.get(event));
        count.copied().unwrap_or(0)
    };
    let entered = |row: usize| of(row).map_or(0, |sums| sums.entered);
    if let Some((first, many)) = first_of(functions, |row| entered(row) < functions.calls(row)) {
        return vec![format!(
            "calls to {} are not in the input, and not in the tree: of {} it has {} of its {}",
            plural(many, "function", "functions"),
            name(profile, functions, first),
            grouped(entered(first)),
            plural(functions.calls(first), "call", "calls")
        )];
    }
    // With recursion and what Callgrind charges elsewhere, sums need not be equal in a whole profile.
    let known =
        |row: usize| count(Some(functions.cost(row))) + of(row).map_or(0, |sums| sums.callees);
    let lost = |row: usize| known(row) < count(functions.incl(row));
    let lost = first_of(functions, lost).filter(|_| directions.callees);
    let sentence = lost.map(|(first, many)| {
        format!(
            "callees of {} may not be in the input, and not in the tree: {} costs {}, itself and those in the tree {}",
            plural(many, "function", "functions"),
            name(profile, functions, first),
            grouped(count(functions.incl(first))),
            grouped(known(first)),
        )
    });
    sentence.into_iter().collect()
}

/// The first row that lacks calls, and how many do.
fn first_of(functions: &Rows, lacks: impl Fn(usize) -> bool) -> Option<(usize, Count)> {
    let mut lacking = (0..functions.len()).filter(|row| lacks(*row));
    let first = lacking.next()?;
    Some((first, 1 + lacking.count() as Count))
}

fn name<'p>(profile: &'p Profile, functions: &Rows, row: usize) -> &'p str {
    let name = profile.text(functions.key(row).function.name);
    name.unwrap_or("a function without a name")
}

fn sums(profile: &Profile, event: usize) -> HashMap<FunctionOfPart, CallSums> {
    let calls = profile.table(RecordType::Call);
    let mut sums: HashMap<FunctionOfPart, CallSums> = HashMap::new();
    for row in 0..calls.len() {
        let key = calls.key(row);
        let callee = of_part(key, key.callee.unwrap_or_default());
        sums.entry(callee).or_default().entered += calls.calls(row);
        let cost = calls.incl(row).and_then(|incl| incl.get(event));
        let caller = of_part(key, key.function);
        sums.entry(caller).or_default().callees += cost.copied().unwrap_or(0);
    }
    sums
}
