//! Totals without stacks: what counters and benchmarks sum up. Each is a `run` record and its end, with nothing between.
#![warn(missing_docs)]

pub mod gungraun;
pub mod perf_stat;

use cg_reader::{Error, Out};
use cg_stream::record::{Count, Counts, Name, RunRecord, Total};

/// Writes a run of these totals, in this order; its end only where they are all of it.
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
