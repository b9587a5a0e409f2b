//! The events and totals of the runs in the input.

use cg_stream::record::{Count, RunRecord, Total};

/// The events and totals of `run` records.
#[derive(Default)]
pub(crate) struct RunFigures {
    events: Vec<String>,
    totals: Vec<(String, Count)>,
    last: Option<Total>,
}

impl RunFigures {
    pub(crate) fn add(&mut self, run: RunRecord) {
        for event in run.events {
            if let Some(total) = find_total(&run.total, &event) {
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

    /// All events, in order of appearance.
    pub(crate) fn events(&self) -> &[String] {
        &self.events
    }

    /// The total of an event over all runs.
    pub(crate) fn total(&self, event: &str) -> Option<Count> {
        let found = self.totals.iter().find(|(known, _)| known == event);
        found.map(|(_, total)| *total)
    }

    /// The total of the current run; `None` before the first `run` record.
    pub(crate) fn current_total(&self, event: &str) -> Option<Count> {
        let total = self.last.as_ref()?;
        Some(find_total(total, event).unwrap_or(0))
    }
}

/// Returns the total of an event. In a diff, this is the total of the first run, or of the last run if the first has none.
fn find_total(total: &Total, event: &str) -> Option<Count> {
    match total {
        Total::One(counts) => Some(counts.get(event)),
        Total::PerRun(counts) => {
            let runs = counts.get(event)?;
            let nonzero = |run: Option<&Option<Count>>| run.copied().flatten().filter(|n| *n != 0);
            nonzero(runs.0.first()).or_else(|| nonzero(runs.0.last()))
        }
    }
}
