//! `summary.json` of gungraun and iai-callgrind (`--save-summary`, `--output-format=json`): one object, or one per line.
//!
//! The schemas are in gungraun's repository (`gungraun-runner/schemas`). The position of the metrics depends on `version`:
//!
//! | version | metrics |
//! |---|---|
//! | 1, 2 | `callgrind_summary.summaries[].events`: `{"new":n,"old":n}`; since version 2 for other tools `tool_summaries[].summaries[].costs_summary` |
//! | 3 | `callgrind_summary.callgrind_run.total.summary`: `{"metrics":{"Left":new}}`, `Right` old, `Both` [new, old]; for other tools `tool_summaries[].summaries.total.KIND` |
//! | 4 to 6 | `profiles[].summaries.total.summary.TOOL`, since version 5 with `{"Int":n}` and `{"Float":x}` |
//! | 7 | `profiles[].data.total.metrics`: `{"values":{"new":n,"old":n}}` |
//!
//! Derived metrics (`EstimatedCycles`, hit and miss rates) are not costs and are skipped.

use cg_collections::sorting::Order as _;
use cg_reader::{Error, Head, Reading, Revision, plural};
use cg_stream::record::RunRecord;
use serde_json::{Map, Value};

/// Returns true if an input begins like a summary, in either order of its keys.
pub fn is_summary(head: &Head) -> bool {
    let text = head.bytes.trim_ascii_start();
    let has = |key: &str| memchr::memmem::find(text, key.as_bytes()).is_some();
    text.starts_with(b"{")
        && has("\"benchmark_exe\"")
        && (has("\"callgrind_summary\"") || has("\"profiles\"") || has("\"module_path\""))
}

/// Reads a summary of gungraun or iai-callgrind: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let is_old = match reading.options.revision {
        Revision::New => false,
        Revision::Old => true,
        Revision::Base(_) => {
            return Err(Error::whole(
                "a summary contains only new and old figures; --old reads the old figures",
            ));
        }
    };
    let mut written = 0;
    let mut lacking = 0;
    for summary in serde_json::Deserializer::from_slice(&text).into_iter::<Value>() {
        let summary = summary.map_err(|error| Error::at(error.line() as u64, error.to_string()))?;
        let benchmark = Benchmark::parse(&summary)?;
        for profile in &benchmark.profiles {
            let totals = profile.totals(is_old)?;
            if totals.is_empty() {
                lacking += 1;
                continue;
            }
            super::write(
                benchmark.run(reading.run("gungraun"), profile, is_old),
                &totals,
                true,
                reading.out,
            )?;
            written += 1;
        }
        if benchmark.unread > 0 {
            reading.warn(format!(
                "{}: {} no metrics that can be read",
                benchmark.name,
                plural(
                    benchmark.unread as u64,
                    "summary of another tool has",
                    "summaries of other tools have"
                )
            ));
        }
    }
    if written == 0 {
        return Err(Error::whole(match is_old {
            true => "there are no old figures: the benchmarks were not compared",
            false => "expected metrics of a benchmark, found none",
        }));
    }
    if lacking > 0 {
        reading.warn(format!(
            "{lacking} of {} profiles {} no {} figures",
            written + lacking,
            if lacking == 1 { "has" } else { "have" },
            if is_old { "old" } else { "new" }
        ));
    }
    Ok(())
}

struct Benchmark<'a> {
    /// `file::group::function id`.
    name: String,
    version: u64,
    /// The arguments of the benchmark.
    description: Option<&'a str>,
    /// The duration in nanoseconds.
    duration: Option<u64>,
    profiles: Vec<ToolProfile<'a>>,
    /// The number of summaries of other tools that have no metrics.
    unread: usize,
}

/// The result of one of Valgrind's tools.
struct ToolProfile<'a> {
    tool: String,
    command: Option<&'a str>,
    /// The metrics of the whole run, or of each part of it.
    metrics: Vec<&'a Map<String, Value>>,
}

impl<'a> Benchmark<'a> {
    fn parse(summary: &'a Value) -> Result<Benchmark<'a>, Error> {
        let text = |key: &str| summary[key].as_str().filter(|text| !text.is_empty());
        let version: u64 = match &summary["version"] {
            Value::String(version) => version.parse().ok(),
            version => version.as_u64(),
        }
        .ok_or_else(|| Error::whole("expected the version of a summary, found none"))?;
        let function = text("module_path").or_else(|| text("function_name"));
        let function =
            function.ok_or_else(|| Error::whole("expected the name of a benchmark, found none"))?;
        let name = match text("id") {
            Some(id) => format!("{function} {id}"),
            None => function.to_owned(),
        };
        let (profiles, unread) = match version {
            1..=3 => {
                let mut profiles = callgrind_summary(summary, version);
                let (others, unread) = tool_summaries(summary, version);
                profiles.extend(others);
                (profiles, unread)
            }
            4..=7 => (profiles(summary, version), 0),
            _ => {
                return Err(Error::whole(format!(
                    "expected a summary of version 1 to 7, found version {version}"
                )));
            }
        };
        Ok(Benchmark {
            name,
            version,
            description: text("description").or_else(|| text("details")),
            duration: summary["duration_ns"].as_u64(),
            profiles,
            unread,
        })
    }

    fn run(&self, mut run: RunRecord, profile: &ToolProfile, is_old: bool) -> RunRecord {
        let program = if self.version < 7 {
            "iai-callgrind"
        } else {
            "gungraun"
        };
        run.creator = Some(format!("{program}, summary version {}", self.version));
        run.command = profile.command.map(str::to_owned);
        run.sampling.duration = self.duration.filter(|_| !is_old);
        let labels = [
            ("bench", Some(self.name.as_str())),
            ("description", self.description),
            ("tool", Some(profile.tool.as_str())),
        ];
        run.sampling.labels = labels
            .into_iter()
            .filter_map(|(key, text)| Some((key.to_owned(), text?.to_owned())))
            .collect();
        run
    }
}

/// Returns the result of Callgrind in versions 1 to 3.
fn callgrind_summary(summary: &Value, version: u64) -> Vec<ToolProfile<'_>> {
    let callgrind = &summary["callgrind_summary"];
    let (metrics, command) = if version == 3 {
        let run = &callgrind["callgrind_run"];
        (
            run["total"]["summary"].as_object().into_iter().collect(),
            run["segments"][0]["command"].as_str(),
        )
    } else {
        let parts = callgrind["summaries"].as_array();
        let parts = parts.map(Vec::as_slice).unwrap_or_default();
        (
            parts
                .iter()
                .filter_map(|part| part["events"].as_object())
                .collect(),
            parts.first().and_then(|part| part["command"].as_str()),
        )
    };
    vec![ToolProfile {
        tool: "callgrind".to_owned(),
        command,
        metrics,
    }]
}

/// Returns the results of tools other than Callgrind in versions 2 and 3, and the number of summaries without metrics.
/// Version 1 has sentences instead of metrics.
fn tool_summaries(summary: &Value, version: u64) -> (Vec<ToolProfile<'_>>, usize) {
    let all = summary["tool_summaries"].as_array();
    let all = all.map(Vec::as_slice).unwrap_or_default();
    let profiles: Vec<ToolProfile> = all
        .iter()
        .map(|other| {
            let runs = &other["summaries"];
            let (metrics, details) = if version == 3 {
                let total = runs["total"].as_object();
                let details = &runs["segments"][0]["details"];
                (
                    // The metrics are nested in an object for their kind.
                    total
                        .and_then(|total| total.values().find_map(Value::as_object))
                        .into_iter()
                        .collect(),
                    details.get("Left").unwrap_or(&details["Both"][0]),
                )
            } else {
                let runs = runs.as_array().map(Vec::as_slice).unwrap_or_default();
                (
                    runs.iter()
                        .filter_map(|run| run["costs_summary"].as_object())
                        .collect(),
                    runs.first().unwrap_or(&Value::Null),
                )
            };
            ToolProfile {
                tool: other["tool"].as_str().unwrap_or("?").to_lowercase(),
                command: details["command"].as_str(),
                metrics,
            }
        })
        .filter(|profile| !profile.metrics.is_empty())
        .collect();
    let unread = all.len() - profiles.len();
    (profiles, unread)
}

/// Returns the results of all tools in versions 4 to 7.
fn profiles(summary: &Value, version: u64) -> Vec<ToolProfile<'_>> {
    let profiles = summary["profiles"].as_array();
    profiles
        .into_iter()
        .flatten()
        .map(|profile| {
            let (metrics, command) = if version == 7 {
                let data = &profile["data"];
                let run = &data["parts"][0]["tool_run"];
                (
                    data["total"]["metrics"].as_object(),
                    run["new"]["command"].as_str(),
                )
            } else {
                let total = profile["summaries"]["total"]["summary"].as_object();
                let details = &profile["summaries"]["parts"][0]["details"];
                let details = details.get("Left").unwrap_or(&details["Both"][0]);
                (
                    // The metrics are nested in an object for the tool.
                    total.and_then(|total| total.values().find_map(Value::as_object)),
                    details["command"].as_str(),
                )
            };
            ToolProfile {
                tool: profile["tool"].as_str().unwrap_or("?").to_lowercase(),
                command,
                metrics: metrics.into_iter().collect(),
            }
        })
        .collect()
}

impl ToolProfile<'_> {
    /// Returns the metrics except derived ones, in the order of the file but with instructions first. Adds up several parts.
    fn totals(&self, is_old: bool) -> Result<Vec<(String, u64)>, Error> {
        let mut totals: Vec<(String, u64)> = Vec::new();
        for (name, metric) in self.metrics.iter().flat_map(|metrics| metrics.iter()) {
            if is_derived(name) {
                continue;
            }
            let Some(count) = value(metric, is_old) else {
                continue;
            };
            match totals.iter_mut().find(|(event, _)| event == name) {
                Some((event, sum)) => {
                    *sum = sum.checked_add(count).ok_or_else(|| {
                        Error::whole(format!("the sum of {event} does not fit in 64 bits"))
                    })?;
                }
                None => totals.push((name.clone(), count)),
            }
        }
        totals.order_by_key(|(event, _)| event != "Ir");
        Ok(totals)
    }
}

/// Returns true if a metric is computed from other metrics.
fn is_derived(name: &str) -> bool {
    name == "EstimatedCycles" || name.ends_with("Rate")
}

/// Returns a metric's new or old value; `None` if it is missing or not a count.
fn value(metric: &Value, is_old: bool) -> Option<u64> {
    let side = if is_old { "old" } else { "new" };
    if let Some(values) = metric.get("values") {
        return values[side].as_u64();
    }
    if let Some(metrics) = metric.get("metrics") {
        let one = if is_old { "Right" } else { "Left" };
        let value = metrics
            .get(one)
            .unwrap_or(&metrics["Both"][usize::from(is_old)]);
        return value.get("Int").unwrap_or(value).as_u64();
    }
    metric[side].as_u64()
}
