//! Totals without stacks: what counters and benchmarks sum up. Each is a `run` record and its end, with nothing between.

pub(crate) mod gungraun;
pub(crate) mod perf_stat;

use cg_stream::record::{Count, Counts, Name, RunRecord, Total};

use crate::error::Error;
use crate::format::Out;

/// Writes a run of these totals, in this order.
fn write(mut run: RunRecord, totals: &[(String, u64)], out: &mut Out) -> Result<(), Error> {
    run.events = totals.iter().map(|(event, _)| event.clone()).collect();
    run.total = Total::One(Counts(
        totals
            .iter()
            .map(|(event, count)| (Name::from(event.clone()), Count::from(*count)))
            .collect(),
    ));
    out.run(&run)?;
    out.end()
}

#[cfg(test)]
mod tests;
