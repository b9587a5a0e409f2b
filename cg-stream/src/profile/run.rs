//! The `run` record of what was read: that of one section, or of several added up.

use serde_json::{Map, Value};

use super::Profile;
use crate::record::{Count, Counts, RunRecord, Total};

impl Profile {
    /// The `run` record of all runs added up; `None` of a fragment, which has none.
    pub fn run_record(&self) -> Option<RunRecord> {
        let (first, others) = self.runs().split_first()?;
        let mut run = first.clone();
        for other in others {
            run.tool = run.tool.filter(|tool| Some(tool) == other.tool.as_ref());
            run.creator = run
                .creator
                .filter(|text| Some(text) == other.creator.as_ref());
            run.command = run
                .command
                .filter(|text| Some(text) == other.command.as_ref());
            run.pid = run.pid.filter(|pid| Some(*pid) == other.pid);
            for source in &other.source {
                if !run.source.contains(source) {
                    run.source.push(source.clone());
                }
            }
            run.extra
                .retain(|field, value| match (value, other.extra.get(field)) {
                    // Of what is said by key, the keys agree or not.
                    (Value::Object(known), Some(Value::Object(other)))
                        if ["desc", "event_names", "derived"].contains(&field.as_str()) =>
                    {
                        known.retain(|key, text| other.get(key) == Some(text));
                        !known.is_empty()
                    }
                    (value, other) => other == Some(value),
                });
        }
        if !run.is_diff() {
            run.events = self.events().to_vec();
            let total = Counts::from_row_with_zeros(self.events(), self.total().iter().copied());
            run.total = Total::One(total.into_owned());
        }
        if !others.is_empty() {
            self.add_sums(&mut run);
        }
        Some(run)
    }

    /// What adds up over the runs besides their totals.
    fn add_sums(&self, run: &mut RunRecord) {
        let parts = |run: &RunRecord| run.extra.get("parts").and_then(Value::as_u64);
        if self.runs().iter().any(|run| parts(run).is_some()) {
            let sum = self.runs().iter().filter_map(parts);
            let sum = sum.fold(0, u64::saturating_add);
            run.extra.insert("parts".to_owned(), sum.into());
        }
        if self.runs().iter().all(|run| summary(run).is_none()) {
            return;
        }
        // A run without a summary of its own was counted as it was summed up. Summaries are arithmetic modulo 2^64.
        let mut sums: Vec<u64> = vec![0; self.events().len()];
        for run in self.runs() {
            let summary = summary(run);
            for (sum, event) in sums.iter_mut().zip(self.events()) {
                let said = summary
                    .and_then(|summary| summary.get(event))
                    .and_then(|count| {
                        let negative = || count.as_i64().map(i64::cast_unsigned);
                        count.as_u64().or_else(negative)
                    });
                let total = || run.total.one().map_or(0, |total| total.get(event) as u64);
                *sum = sum.wrapping_add(said.unwrap_or_else(total));
            }
        }
        let is_total = |(sum, total): (&u64, &Count)| *sum == *total as u64;
        if !sums.iter().zip(self.total()).all(is_total) {
            let names = self.events().iter().cloned();
            let is_signed = self.total().iter().any(|total| *total < 0);
            let value = |sum: u64| match is_signed {
                true => Value::from(sum.cast_signed()),
                false => Value::from(sum),
            };
            let sums: Map<String, Value> = names.zip(sums.into_iter().map(value)).collect();
            run.extra.insert("summary".to_owned(), sums.into());
        } else {
            run.extra.remove("summary");
        }
    }
}

/// What the producer counted, where that is not the sum of the costs.
fn summary(run: &RunRecord) -> Option<&Map<String, Value>> {
    run.extra.get("summary").and_then(Value::as_object)
}
