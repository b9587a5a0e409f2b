//! The events and totals of the runs that were seen.

use cg_stream::record::{Count, RunRecord, Total};

/// What `run` records said.
#[derive(Default)]
pub(crate) struct RunFigures {
    events: Vec<String>,
    totals: Vec<(String, Count)>,
    last: Option<Total>,
}

impl RunFigures {
    pub(crate) fn add(&mut self, run: RunRecord) {
        for event in run.events {
            if let Some(total) = total_of(&run.total, &event) {
                match self.totals.iter_mut().find(|(known, _)| *known == event) {
                    Some((_, sum)) => *sum = sum.saturating_add(total),
                    None => self.totals.push((event.clone(), total)),
                }
            }
            if !self.events.contains(&event) {
                self.events.push(event);
            }
        }
        self.last = Some(run.total);
    }

    /// All events, in the order they were first named.
    pub(crate) fn events(&self) -> &[String] {
        &self.events
    }

    /// The total over all runs.
    pub(crate) fn total(&self, event: &str) -> Option<Count> {
        let found = self.totals.iter().find(|(known, _)| known == event);
        found.map(|(_, total)| *total)
    }

    /// The total of the run that a record now read is of; `None` where no run was seen.
    pub(crate) fn current_total(&self, event: &str) -> Option<Count> {
        let total = self.last.as_ref()?;
        Some(total_of(total, event).unwrap_or(0))
    }
}

/// The total of an event; of a diff that of the first run, or of the last where the first has nothing.
fn total_of(total: &Total, event: &str) -> Option<Count> {
    match total {
        Total::One(counts) => Some(counts.get(event)),
        Total::PerRun(counts) => {
            let runs = counts.get(event)?;
            let nonzero = |run: Option<&Option<Count>>| run.copied().flatten().filter(|n| *n != 0);
            nonzero(runs.0.first()).or_else(|| nonzero(runs.0.last()))
        }
    }
}
