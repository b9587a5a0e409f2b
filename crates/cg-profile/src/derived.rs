//! Addition of events that are sums of others to a profile.

use super::Profile;
use super::sum::add_exact;
use crate::formula::{WeightedSum, weighted};
use cg_stream::Error;
use cg_stream::record::{Count, CountsPerRun, Name, PerRun, Total};

impl Profile {
    /// Adds an event that is a sum of others to all rows, totals and rows of a diff. The new event is the last one.
    ///
    /// # Errors
    /// Returns an error if a sum does not fit in 64 bits.
    pub fn derive(&mut self, name: &str, sum: &WeightedSum) -> Result<(), Error> {
        let event = self.events.len();
        let fitting = |counts: &[Count]| {
            let mut count = 0;
            match add_exact(&mut count, weighted(sum, counts)) {
                Ok(()) => Ok(count),
                Err(beyond) => Err(Error::from(beyond.with_name(name))),
            }
        };
        self.total.resize(event, 0);
        let total = fitting(&self.total)?;
        self.total.push(total);
        for table in &mut self.tables {
            for row in 0..table.len() {
                let cost = fitting(table.cost(row))?;
                let incl = table.incl(row).map(fitting).transpose()?;
                table.put(row, event, cost, incl);
            }
        }
        let of_counts = |counts: &CountsPerRun<'_>| {
            let entries = |event: &str| counts.get(event).map(|entries| entries.0.as_slice());
            per_run(sum, &self.events, entries)
        };
        for diff in &mut self.diffs {
            let (cost, incl) = (of_counts(&diff.cost), of_counts(&diff.incl));
            diff.cost
                .0
                .extend(cost.map(|cost| (Name::from(name.to_owned()), cost)));
            diff.incl
                .0
                .extend(incl.map(|incl| (Name::from(name.to_owned()), incl)));
        }
        for run in &mut self.runs {
            run.events.push(name.to_owned());
            let named = Name::from(name.to_owned());
            match &mut run.total {
                Total::One(counts) => {
                    let total: Vec<Count> =
                        self.events.iter().map(|event| counts.get(event)).collect();
                    counts.0.push((named, fitting(&total)?));
                }
                Total::PerRun(counts) => {
                    let total = of_counts(counts);
                    counts.0.extend(total.map(|total| (named, total)));
                }
            }
        }
        self.events.push(name.to_owned());
        Ok(())
    }
}

/// Returns a sum for each run that has any of the events; `None` if no run has one.
fn per_run<'a>(
    sum: &WeightedSum,
    events: &[String],
    entries: impl Fn(&str) -> Option<&'a [Option<Count>]>,
) -> Option<PerRun> {
    let mut sums: Vec<Option<Count>> = Vec::new();
    for (weight, event) in sum {
        let entries = entries(&events[*event]).unwrap_or_default();
        sums.resize(sums.len().max(entries.len()), None);
        for (sum, entry) in sums.iter_mut().zip(entries) {
            if let Some(count) = entry {
                *sum = Some(sum.unwrap_or(0) + weight * count);
            }
        }
    }
    (!sums.is_empty()).then_some(PerRun(sums))
}
