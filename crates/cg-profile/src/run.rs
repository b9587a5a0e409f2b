//! The `run` record of a profile: the record of its only section, or the sum of several.

use serde_json::{Map, Value};

use super::Profile;
use cg_collections::sorting::Order as _;
use cg_stream::record::{
    Count, Counts, InlineFacts, InlineObject, Name, PartialRun, RunRecord, Total,
};

/// Fields that map keys to texts. A key is kept if its text is the same in all runs.
const BY_KEY: [&str; 5] = ["desc", "event_names", "derived", "labels", "units"];

impl Profile {
    /// Returns the `run` record of all runs, added up; `None` for a fragment, which has no `run` record.
    pub fn run_record(&self) -> Option<RunRecord> {
        let (first, others) = self.runs().split_first()?;
        let mut run = first.clone();
        if !others.is_empty() {
            run = agreed(first, others);
            self.add_sums(&mut run);
        }
        if !run.is_diff() {
            run.events = self.events().to_vec();
            let total = Counts::from_row_with_zeros(self.events(), self.total().iter().copied());
            run.total = Total::One(total.into_owned());
        }
        Some(run)
    }

    /// Sets the fields that are added up over the runs, except their totals.
    fn add_sums(&self, run: &mut RunRecord) {
        for source in self.runs().iter().flat_map(|run| &run.source) {
            if !run.source.contains(source) {
                run.source.push(source.clone());
            }
        }
        let parts = self.runs().iter().filter_map(|run| run.costs.parts);
        run.costs.parts = parts.reduce(u64::saturating_add);
        let is_one_part = run.costs.part.is_some() && run.costs.trigger.is_some();
        run.costs.partial = match is_one_part {
            true => Vec::new(),
            false => PartialRun::from_runs(self.runs()),
        };
        let durations = self.runs().iter().map(|run| run.sampling.duration);
        let sum = durations.reduce(|sum, duration| sum?.checked_add(duration?));
        run.sampling.duration = sum.flatten();
        self.add_summaries(run);
        run.costs.inlines = self.inlines();
    }

    /// Adds up the costs whose inlined functions are known, over all runs. A run without `inlines` has no such cost.
    fn inlines(&self) -> Option<InlineFacts> {
        let has_inlines = |run: &'_ RunRecord| run.costs.inlines.is_some();
        let first = self.runs().iter().find(|run| has_inlines(run))?;
        let mut sums = vec![0; self.events().len()];
        let mut objects: Vec<InlineObject> = Vec::new();
        for run in self.runs() {
            let Some(inlines) = &run.costs.inlines else {
                continue;
            };
            for (sum, event) in sums.iter_mut().zip(self.events()) {
                *sum += inlines.resolved.get(event);
            }
            for object in &inlines.objects {
                let same = objects.iter_mut().find(|known| {
                    (&known.obj, &known.debug, &known.unresolved)
                        == (&object.obj, &object.debug, &object.unresolved)
                });
                match same {
                    Some(known) => {
                        known.agrees = known.agrees.saturating_add(object.agrees);
                        known.named = known.named.saturating_add(object.named);
                        for (known, names) in [
                            (&mut known.missing, &object.missing),
                            (&mut known.elsewhere, &object.elsewhere),
                        ] {
                            let new = names.iter().filter(|name| !known.contains(name));
                            let new: Vec<String> = new.cloned().collect();
                            known.extend(new);
                        }
                    }
                    None => objects.push(object.clone()),
                }
            }
        }
        objects.order_by_key(|object| std::cmp::Reverse(object.named));
        // `agrees` and `named` are counts of each run's first event, and counts of different events cannot be added up.
        let is_of_first = |run: &&RunRecord| run.events.first() == first.events.first();
        if !self
            .runs()
            .iter()
            .filter(|run| has_inlines(run))
            .all(|run| is_of_first(&run))
        {
            objects.clear();
        }
        let resolved = Counts::from_row(self.events(), sums);
        Some(InlineFacts {
            resolved: resolved.into_owned(),
            objects,
        })
    }

    /// Adds up the summaries modulo 2^64. A run without a summary contributes its total.
    fn add_summaries(&self, run: &mut RunRecord) {
        run.costs.summary = Counts::default();
        if self.runs().iter().all(|run| run.costs.summary.is_empty()) {
            return;
        }
        let mut sums: Vec<u64> = vec![0; self.events().len()];
        for run in self.runs() {
            for (sum, event) in sums.iter_mut().zip(self.events()) {
                let total = || run.total.one().map_or(0, |total| total.get(event));
                let count = run.costs.summary_count(event).unwrap_or_else(total);
                *sum = sum.wrapping_add(count as u64);
            }
        }
        let is_signed = self.total().iter().any(|total| *total < 0);
        let is_total = |(sum, total): (&u64, &Count)| *sum == *total as u64;
        if !sums.iter().zip(self.total()).all(is_total) {
            let count = |sum: u64| match is_signed {
                true => Count::from(sum.cast_signed()),
                false => Count::from(sum),
            };
            let events = self.events().iter().map(|event| Name::from(event.clone()));
            run.costs.summary = Counts(events.zip(sums.into_iter().map(count)).collect());
        }
    }
}

/// Returns a record with the fields that are equal in all runs.
fn agreed(first: &RunRecord, others: &[RunRecord]) -> RunRecord {
    let mut agreed = fields(first);
    for other in others {
        let other = fields(other);
        agreed.retain(|field, value| match (value, other.get(field)) {
            (Value::Object(known), Some(Value::Object(other)))
                if BY_KEY.contains(&field.as_str()) =>
            {
                known.retain(|key, text| other.get(key) == Some(text));
                !known.is_empty()
            }
            (value, other) => other == Some(value),
        });
    }
    // Unknown fields are copied. The others are serialized and parsed again, because deserializing from a `Value` would
    // generate the same amount of code a second time.
    let unknown = first.extra.keys();
    let extra = unknown
        .filter_map(|field| agreed.remove_entry(field))
        .collect();
    let agreed: RunRecord = serde_json::to_vec(&agreed)
        .and_then(|text| serde_json::from_slice(&text))
        .unwrap_or_default();
    RunRecord {
        extra,
        // Some fields are not compared, because every `run` record has them or because they are added up.
        stream: first.stream,
        runs: first.runs.clone(),
        source: first.source.clone(),
        events: first.events.clone(),
        total: first.total.clone(),
        ..agreed
    }
}

/// Returns the fields of a record in a stream.
fn fields(run: &RunRecord) -> Map<String, Value> {
    match serde_json::to_value(run) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::fields;
    use crate::Profile;
    use cg_stream::Reader;

    /// Returns the `run` record of several records with these fields, without its framing fields.
    fn added_up(runs: &[Value]) -> Value {
        let mut profile = Profile::default();
        for run in runs {
            let mut record =
                json!({"type": "run", "stream": 1, "events": ["Ir"], "total": {"Ir": 10}});
            if let (Value::Object(record), Value::Object(run)) = (&mut record, run) {
                record.extend(run.clone());
            }
            let text = record.to_string();
            let mut reader = Reader::new(text.as_bytes());
            profile.add(&reader.next_line().unwrap().unwrap()).unwrap();
        }
        let mut record = fields(&profile.run_record().unwrap());
        for framing in ["type", "stream", "events", "total"] {
            record.remove(framing);
        }
        record.into()
    }

    #[test]
    fn the_sum_of_runs_has_the_fields_that_all_runs_share() {
        let cases = [
            // One run keeps all of its fields.
            (
                vec![json!({"mode": "heap", "own": [1], "pid": 3})],
                json!({"mode": "heap", "own": [1], "pid": 3}),
            ),
            (
                vec![
                    json!({"mode": "heap", "own": 1, "time_unit": "ms", "pid": 3}),
                    json!({"mode": "heap", "own": 2, "time_unit": "ms"}),
                ],
                json!({"mode": "heap", "time_unit": "ms"}),
            ),
            // Unknown fields are compared too.
            (
                vec![
                    json!({"mode": "heap", "own": [0.1, null], "z": 1}),
                    json!({"mode": "heap", "own": [0.1, null], "z": 2}),
                ],
                json!({"mode": "heap", "own": [0.1, null]}),
            ),
            // Texts by key are compared key by key; single texts are compared as a whole.
            (
                vec![
                    json!({"desc": {"D1 cache": "32 B", "I1 cache": "8 B"}, "units": {"cpu": "ns"}, "labels": {"a": "1"}}),
                    json!({"desc": {"D1 cache": "64 B", "I1 cache": "8 B"}, "units": {"cpu": "ns"}, "labels": {"a": "2"}}),
                ],
                json!({"desc": {"I1 cache": "8 B"}, "units": {"cpu": "ns"}}),
            ),
            (
                vec![json!({"desc": "a"}), json!({"desc": {"a": "b"}})],
                json!({}),
            ),
            // Durations and parts are added up, durations only if all runs have one.
            (
                vec![json!({"duration": 5, "parts": 2}), json!({"duration": 7})],
                json!({"duration": 12, "parts": 2}),
            ),
            (vec![json!({"duration": 5}), json!({})], json!({})),
            // The numbers of a run's parts are given if some parts are missing.
            (
                vec![
                    json!({"pid": 7, "part": 1, "trigger": "Client Request"}),
                    json!({"pid": 7, "part": 2, "trigger": "Program termination"}),
                ],
                json!({"pid": 7}),
            ),
            (
                vec![
                    json!({"pid": 7, "partial": [{"pid": 7, "parts": [[1, 2], [5, 6]]}]}),
                    json!({"pid": 8, "part": 1, "trigger": "Program termination"}),
                    json!({"pid": 7, "part": 7, "trigger": "Program termination"}),
                ],
                json!({"partial": [{"pid": 7, "parts": [[1, 2], [5, 7]], "last": 7}]}),
            ),
            (
                vec![
                    json!({"pid": 7, "part": 1, "trigger": "Program termination"}),
                    json!({"pid": 8, "part": 1, "trigger": "Program termination"}),
                ],
                json!({"part": 1, "trigger": "Program termination"}),
            ),
            (
                vec![json!({"duration": u64::MAX}), json!({"duration": 1})],
                json!({}),
            ),
            // The summary of a run without its own summary is its total.
            (
                vec![json!({"summary": {"Ir": 12}}), json!({})],
                json!({"summary": {"Ir": 22}}),
            ),
            (
                vec![
                    json!({"summary": {"Ir": 12}}),
                    json!({"summary": {"Ir": 8}}),
                ],
                json!({}),
            ),
            (
                vec![json!({"source": ["a", "b"]}), json!({"source": ["b", "c"]})],
                json!({"source": ["a", "b", "c"]}),
            ),
            // The facts about inlined functions are added up for each object whose debug information had the same result.
            (
                vec![
                    json!({"inlines": {"resolved": {"Ir": 5}, "objects": [
                        {"obj": "/a", "debug": "object", "missing": ["a.dwo"], "elsewhere": ["f"], "agrees": 4, "named": 5},
                        {"obj": "/c", "unresolved": "missing", "agrees": 0, "named": 0}]}}),
                    json!({}),
                    json!({"inlines": {"resolved": {"Ir": 7}, "objects": [
                        {"obj": "/b", "debug": "build-id", "agrees": 20, "named": 20},
                        {"obj": "/a", "debug": "object", "missing": ["b.dwo", "a.dwo"], "agrees": 6, "named": 6},
                        {"obj": "/c", "debug": "object", "agrees": 1, "named": 1}]}}),
                ],
                json!({"inlines": {"resolved": {"Ir": 12}, "objects": [
                    {"obj": "/b", "debug": "build-id", "agrees": 20, "named": 20},
                    {"obj": "/a", "debug": "object", "missing": ["a.dwo", "b.dwo"], "elsewhere": ["f"], "agrees": 10, "named": 11},
                    {"obj": "/c", "debug": "object", "agrees": 1, "named": 1},
                    {"obj": "/c", "unresolved": "missing", "agrees": 0, "named": 0}]}}),
            ),
        ];
        for (runs, expected) in cases {
            assert_eq!(added_up(&runs), expected, "{runs:?}");
        }
    }

    #[test]
    fn a_fact_of_another_type_is_an_error() {
        for field in [
            r#""parts":"2""#,
            r#""complete":"yes""#,
            r#""duration":1.5"#,
            r#""units":["ns"]"#,
            r#""error_summary":{"errors":1}"#,
            r#""leak_summary":{"definite":{"bytes":1,"blocks":1}}"#,
        ] {
            let text = format!("{{\"type\":\"run\",\"events\":[],\"total\":{{}},{field}}}");
            let mut reader = Reader::new(text.as_bytes());
            let line = reader.next_line().unwrap().unwrap();
            assert!(Profile::default().add(&line).is_err(), "{field}");
        }
    }
}
