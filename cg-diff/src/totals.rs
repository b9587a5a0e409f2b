//! Totals of benchmarks: runs without records, which say by their labels what they are of.
//!
//! Each benchmark is compared by itself: in a sum, the gain of one could hide the loss of another.

use std::fmt::Write as _;

use cg_stream::Reader;
use cg_stream::profile::{Names, Profile};
use cg_stream::record::{RunRecord, VERSION};

use crate::runs::Runs;

/// The runs of each benchmark by itself.
pub(crate) struct BenchmarkTotals {
    pub(crate) runs: Vec<Runs>,
    /// A sentence on each benchmark that a side lacks.
    pub(crate) missing: Vec<String>,
}

/// The runs of each benchmark, in the order they come in; `None` where something else is compared.
///
/// # Errors
/// None but what the machine itself fails at.
pub(crate) fn by_benchmark(runs: &Runs) -> anyhow::Result<Option<BenchmarkTotals>> {
    let is_of_totals = |profile: &Profile| {
        profile.types().next().is_none()
            && profile.snapshots().is_empty()
            && profile.runs().iter().all(|run| name_of(run).is_some())
    };
    let has_runs = runs
        .profiles
        .iter()
        .any(|profile| !profile.runs().is_empty());
    if !has_runs || !runs.profiles.iter().all(is_of_totals) {
        return Ok(None);
    }
    let mut names: Vec<String> = Vec::new();
    for run in runs.profiles.iter().flat_map(Profile::runs) {
        let name = name_of(run).unwrap_or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut benchmarks = BenchmarkTotals {
        runs: Vec::new(),
        missing: Vec::new(),
    };
    for name in names {
        let mut profiles = Vec::new();
        let mut sides = Vec::new();
        let mut is_missing = false;
        for (side, files) in &runs.sides {
            let start = profiles.len();
            for file in &runs.profiles[files.clone()] {
                let of_name = |run: &&RunRecord| name_of(run).as_deref() == Some(&name);
                let found: Vec<&RunRecord> = file.runs().iter().filter(of_name).collect();
                if found.is_empty() {
                    is_missing = true;
                    benchmarks
                        .missing
                        .push(format!("{side}: has no result of {name}"));
                }
                profiles.push(profile_of(&found)?);
            }
            sides.push((format!("{side} {name}"), start..profiles.len()));
        }
        if !is_missing {
            let runs = Runs::new(Names::default(), profiles, sides, Vec::new());
            benchmarks.runs.push(runs);
        }
    }
    Ok(Some(benchmarks))
}

/// Whether runs that have nothing but totals differ in these.
pub(crate) fn differ(runs: &Runs) -> bool {
    let has_records = |profile: &Profile| profile.types().next().is_some();
    if runs.profiles.iter().any(has_records) {
        return false;
    }
    let total = |profile: usize, event: usize| runs.total(profile, event);
    (0..runs.events.len()).any(|event| {
        (1..runs.profiles.len()).any(|profile| total(profile, event) != total(0, event))
    })
}

/// What a run is of: the benchmark, the tool, and whatever else tells it from others of the same file.
fn name_of(run: &RunRecord) -> Option<String> {
    let labels = &run.sampling.labels;
    let mut name = labels.get("bench")?.clone();
    if let Some(tool) = labels.get("tool") {
        let _ = write!(name, " ({tool})");
    }
    Some(name)
}

/// A profile of these runs and nothing else.
fn profile_of(runs: &[&RunRecord]) -> anyhow::Result<Profile> {
    let mut stream = Vec::new();
    for run in runs {
        // One that does not say its version is of this one.
        let run = RunRecord {
            stream: VERSION,
            ..(*run).clone()
        };
        serde_json::to_writer(&mut stream, &run)?;
        stream.push(b'\n');
    }
    let mut profile = Profile::default();
    let mut reader = Reader::new(stream.as_slice());
    while let Some(line) = reader.next_line()? {
        profile.add(&line)?;
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::tests::runs;

    fn stream(totals: &[(&str, u64)]) -> String {
        let run = |(bench, count): &(&str, u64)| {
            let labels = match *bench {
                "" => String::new(),
                bench => format!(",\"labels\":{{\"bench\":\"{bench}\",\"tool\":\"callgrind\"}}"),
            };
            format!(
                "{{\"type\":\"run\",\"tool\":\"gungraun\",\"events\":[\"Ir\"],\"total\":{{\"Ir\":{count}}}{labels}}}\n{{\"type\":\"end\",\"records\":0}}\n"
            )
        };
        totals.iter().map(run).collect()
    }

    #[test]
    fn each_benchmark_is_compared_for_itself() {
        // Their sums are equal.
        let before = stream(&[("f", 10), ("g", 20)]);
        let after = stream(&[("g", 10), ("f", 20), ("h", 1)]);
        let all = runs(&[&before, &after]);
        let benchmarks = by_benchmark(&all).unwrap().unwrap();
        let told: Vec<_> = benchmarks
            .runs
            .iter()
            .map(|runs| {
                let (name, _) = &runs.sides[1];
                (
                    name.as_str(),
                    runs.total(0, 0),
                    runs.total(1, 0),
                    differ(runs),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("b f (callgrind)", Some(10), Some(20), true),
                ("b g (callgrind)", Some(20), Some(10), true),
            ]
        );
        assert_eq!(benchmarks.missing, ["a: has no result of h (callgrind)"]);
    }

    #[test]
    fn totals_without_a_benchmark_are_one_comparison() {
        let (less, more) = (stream(&[("", 10)]), stream(&[("", 20)]));
        for (streams, is_different) in [([&less, &more], true), ([&less, &less], false)] {
            let runs = runs(&streams.map(String::as_str));
            assert!(by_benchmark(&runs).unwrap().is_none());
            assert_eq!(differ(&runs), is_different);
        }
        // Where there are records, these tell.
        let function = "{\"type\":\"fn\",\"fn\":\"f\",\"cost\":{\"Ir\":10}}\n";
        let runs = runs(&[
            &stream(&[("f", 10)]).replace(
                "{\"type\":\"end\"",
                &format!("{function}{{\"type\":\"end\""),
            ),
            &more,
        ]);
        assert!(by_benchmark(&runs).unwrap().is_none());
        assert!(!differ(&runs));
    }
}
