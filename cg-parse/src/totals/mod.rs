//! Totals without stacks: what counters and benchmarks sum up. Each is a `run` record and its end, with nothing between.

pub(crate) mod gungraun;
pub(crate) mod perf_stat;

use cg_stream::record::{Count, Counts, Name, RunRecord, Total};

use crate::error::Error;
use crate::format::Out;

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
