//! Sums of JSON from sampling profilers and benchmarks: the weights of samples, the hits of nodes, the metrics of a run.
//!
//! Adds up doubles, as the viewers of these files do. Omits an event if one of its numbers has a fraction, because rounding
//! rules are outside the scope of an independent reader.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Sums;

/// Parses a text as JSON; `None` if it is not JSON.
pub(super) fn parse(text: &str) -> Option<Value> {
    let begins = text.trim_start().starts_with(['{', '[']);
    begins.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Adds up a document; `None` if its kind is unknown.
pub(super) fn read(document: &Value) -> Option<Sums> {
    let mut sums = Sums::new();
    let mut counted = Counted::default();
    if document["shared"]["frames"].is_array() {
        speedscope(document, &mut counted)?;
    } else if document.get("threads").is_some() || document["profile"].get("threads").is_some() {
        let profile = document.get("profile").unwrap_or(document);
        firefox(profile, &mut counted);
    } else if document["nodes"].is_array() {
        cpu_profile(document, &mut counted);
    } else if document["head"].get("selfSize").is_some() {
        heap_profile(&document["head"], &mut counted);
    } else if document["head"].get("functionName").is_some() {
        // Each sample counts as one. The times of V8 before 2017 are the times of the samples.
        counted.add("samples", list(&document["samples"]).len() as f64);
    } else if document["ticks"].is_array() {
        counted.add("samples", list(&document["ticks"]).len() as f64);
    } else if document["traceEvents"].is_array() || document[0].get("ph").is_some() {
        trace(document, &mut counted);
    } else if document.get("benchmark_exe").is_some() {
        summary(document, &mut sums)?;
    } else {
        return None;
    }
    sums.extend(counted.sums());
    Some(sums)
}

/// Sums by event. The flag is true while all numbers of the event are integers.
#[derive(Default)]
struct Counted(Vec<(String, f64, bool)>);

impl Counted {
    fn add(&mut self, event: &str, number: f64) {
        let known = self.0.iter().position(|(known, ..)| known == event);
        let position = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push((event.to_owned(), 0.0, true));
        }
        let (_, sum, are_integers) = &mut self.0[position];
        *sum += number;
        *are_integers &= number.fract() == 0.0;
    }

    fn sums(self) -> Sums {
        let exact = self
            .0
            .into_iter()
            .filter(|(.., are_integers)| *are_integers);
        exact.map(|(event, sum, _)| (event, sum as i128)).collect()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the event for a unit of speedscope, and the factor to the event's unit; `None` if the unit is unknown.
fn unit(name: &str) -> Option<(&'static str, f64)> {
    Some(match name {
        "none" => ("samples", 1.0),
        "bytes" => ("bytes", 1.0),
        "nanoseconds" => ("time", 1.0),
        "microseconds" => ("time", 1e3),
        "milliseconds" => ("time", 1e6),
        "seconds" => ("time", 1e9),
        _ => return None,
    })
}

/// Adds up weights. For profiles of events, adds up the times during which any frame is open.
fn speedscope(document: &Value, counted: &mut Counted) -> Option<()> {
    for profile in list(&document["profiles"]) {
        let (event, factor) = unit(profile["unit"].as_str().unwrap_or("none"))?;
        for weight in list(&profile["weights"]) {
            counted.add(event, weight.as_f64()? * factor);
            if event == "time" {
                counted.add("samples", 1.0);
            }
        }
        let (mut open, mut since) = (0, 0.0);
        for edge in list(&profile["events"]) {
            let at = edge["at"].as_f64()?;
            if open > 0 {
                counted.add(event, (at - since) * factor);
            }
            since = at;
            open += if edge["type"] == "O" { 1 } else { -1 };
        }
    }
    Some(())
}

/// Adds up the weights of the samples of all threads and processes.
fn firefox(profile: &Value, counted: &mut Counted) {
    for samples in list(&profile["threads"])
        .iter()
        .map(|thread| &thread["samples"])
    {
        // Firefox writes rows, all other programs write columns.
        for _ in list(&samples["data"]) {
            counted.add("samples", 1.0);
        }
        let (event, factor) = match samples["weightType"].as_str() {
            Some("tracing-ms") => ("time", 1e6),
            Some("bytes") => ("bytes", 1.0),
            _ => ("samples", 1.0),
        };
        let weights = list(&samples["weight"]);
        for position in 0..list(&samples["stack"]).len() {
            let weight = weights.get(position).and_then(Value::as_f64).unwrap_or(1.0);
            counted.add(event, weight * factor);
        }
        for delta in list(&samples["threadCPUDelta"]) {
            counted.add("cpu", delta.as_f64().unwrap_or(0.0));
        }
    }
    for process in list(&profile["processes"]) {
        firefox(process, counted);
    }
}

/// Counts V8's samples, or the hits of nodes if there is no list of samples, and the time from the first sample to the end.
fn cpu_profile(document: &Value, counted: &mut Counted) {
    let samples = list(&document["samples"]);
    if samples.is_empty() {
        for node in list(&document["nodes"]) {
            counted.add("samples", node["hitCount"].as_f64().unwrap_or(0.0));
        }
    }
    for _ in samples {
        counted.add("samples", 1.0);
    }
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let deltas = list(&document["timeDeltas"]);
    if let Some(first) = deltas.first() {
        let whole = number(&document["endTime"]) - number(&document["startTime"]);
        counted.add("time", (whole - number(first)) * 1e3);
    }
}

/// Adds up the samples of the profiles in a trace, and the times between samples. The time before the first sample of a
/// profile does not count.
fn trace(document: &Value, counted: &mut Counted) {
    let events = match document.as_array() {
        Some(events) => events,
        None => list(&document["traceEvents"]),
    };
    if !events.iter().any(|event| event["name"] == "ProfileChunk") {
        return slices(events, counted);
    }
    let mut begun = BTreeSet::new();
    for event in events {
        let data = &event["args"]["data"];
        for _ in list(&data["cpuProfile"]["samples"]) {
            counted.add("samples", 1.0);
        }
        let deltas = list(&data["timeDeltas"]).iter();
        let profile = [&event["pid"], &event["id"]].map(Value::to_string);
        let before = usize::from(deltas.len() > 0 && begun.insert(profile));
        for delta in deltas.skip(before) {
            counted.add("time", delta.as_f64().unwrap_or(0.0).max(0.0) * 1e3);
        }
    }
}

/// Adds up the time that the slices of each thread cover: the length of the union of their spans. Nested slices count once.
fn slices(events: &[Value], counted: &mut Counted) {
    let ns = |event: &Value, key: &str| (event[key].as_f64().unwrap_or(0.0) * 1e3).round() as i64;
    let mut spans: BTreeMap<(String, String), Vec<(i64, i64)>> = BTreeMap::new();
    let mut open: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
    let mut sorted: Vec<&Value> = events.iter().collect();
    sorted.sort_by_key(|event| ns(event, "ts"));
    for event in sorted {
        let thread = (event["pid"].to_string(), event["tid"].to_string());
        let begin = ns(event, "ts");
        // Clang writes sums of other slices, each on a separate thread.
        let is_sum = event["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("Total "));
        match event["ph"].as_str() {
            Some("X") if !is_sum => {
                (spans.entry(thread).or_default()).push((begin, begin + ns(event, "dur")));
            }
            Some("B") => open.entry(thread).or_default().push(begin),
            Some("E") => {
                if let Some(from) = open.entry(thread.clone()).or_default().pop() {
                    spans.entry(thread).or_default().push((from, begin));
                }
            }
            _ => {}
        }
    }
    for mut spans in spans.into_values() {
        spans.sort_unstable();
        let mut reached = i64::MIN;
        let mut covered = 0;
        for (begin, end) in spans {
            covered += (end - begin.max(reached)).max(0);
            reached = reached.max(end);
        }
        counted.add("time", covered as f64);
    }
}

fn heap_profile(node: &Value, counted: &mut Counted) {
    counted.add("bytes", node["selfSize"].as_f64().unwrap_or(0.0));
    for child in list(&node["children"]) {
        heap_profile(child, counted);
    }
}

/// Adds up the new figures of all tools in a gungraun summary; `None` for versions other than 3 to 7.
fn summary(document: &Value, sums: &mut Sums) -> Option<()> {
    let version: u64 = document["version"].as_str()?.parse().ok()?;
    let profiles = list(&document["profiles"]).iter();
    let metrics: Vec<&Value> = match version {
        3 => vec![&document["callgrind_summary"]["callgrind_run"]["total"]["summary"]],
        4..=6 => profiles
            .filter_map(|profile| {
                let total = profile["summaries"]["total"]["summary"].as_object()?;
                total.values().next()
            })
            .collect(),
        7 => profiles
            .map(|profile| &profile["data"]["total"]["metrics"])
            .collect(),
        _ => return None,
    };
    for metrics in metrics {
        for (name, metric) in metrics.as_object().into_iter().flatten() {
            let value = [
                "/values/new",
                "/metrics/Left/Int",
                "/metrics/Left",
                "/metrics/Both/0/Int",
                "/metrics/Both/0",
            ];
            let value = value.iter().find_map(|path| metric.pointer(path)?.as_i64());
            let is_derived = name == "EstimatedCycles" || name.ends_with("Rate");
            if let Some(value) = value.filter(|_| !is_derived) {
                *sums.entry(name.clone()).or_default() += i128::from(value);
            }
        }
    }
    Some(())
}
