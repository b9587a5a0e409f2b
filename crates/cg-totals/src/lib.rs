//! Readers of counters and benchmarks, which have totals but no stacks. Each result is a `run` record followed by `end`.
#![warn(missing_docs)]

pub mod criterion;
pub mod gungraun;
pub mod perf_stat;

use cg_reader::{Error, Out};
use cg_stream::record::{Count, Counts, Name, RunRecord, Total};

/// Writes a run with these totals, in this order. Writes `end` only if `is_whole`.
fn write(
    mut run: RunRecord,
    totals: &[(String, u64)],
    is_whole: bool,
    out: &mut Out,
) -> Result<(), Error> {
    run.events = totals.iter().map(|(event, _)| event.clone()).collect();
    run.total = Total::One(Counts(
        totals
            .iter()
            .map(|(event, count)| (Name::from(event.clone()), Count::from(*count)))
            .collect(),
    ));
    out.run(&run)?;
    match is_whole {
        true => out.end(),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
