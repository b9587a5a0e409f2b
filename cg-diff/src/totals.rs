//! Totals of benchmarks: runs without records, whose labels identify the benchmark.
//!
//! Each benchmark is compared separately. In a sum, an improvement of one could hide a regression of another.

use std::fmt::Write as _;

use cg_profile::{Names, Profile};
use cg_stream::Reader;
use cg_stream::record::{RunRecord, VERSION};

use crate::figures;
use crate::runs::Runs;

/// The runs, separated by benchmark.
pub(crate) struct BenchmarkTotals {
    pub(crate) runs: Vec<Runs>,
    /// A message for each benchmark that a side lacks.
    pub(crate) missing: Vec<String>,
}

/// Separates the runs by benchmark, in the order of the input; `None` if the input is not totals of benchmarks.
///
/// # Errors
/// Returns only internal errors.
pub(crate) fn by_benchmark(runs: &Runs) -> anyhow::Result<Option<BenchmarkTotals>> {
    let has_only_totals = |profile: &Profile| {
        profile.types().next().is_none()
            && profile.snapshots().is_empty()
            && profile
                .runs()
                .iter()
                .all(|run| benchmark_name(run).is_some())
    };
    let has_runs = runs
        .profiles
        .iter()
        .any(|profile| !profile.runs().is_empty());
    if !has_runs || !runs.profiles.iter().all(has_only_totals) {
        return Ok(None);
    }
    let mut names: Vec<String> = Vec::new();
    for run in runs.profiles.iter().flat_map(Profile::runs) {
        let name = benchmark_name(run).unwrap_or_default();
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
                let has_name = |run: &&RunRecord| benchmark_name(run).as_deref() == Some(&name);
                let found: Vec<&RunRecord> = file.runs().iter().filter(has_name).collect();
                if found.is_empty() {
                    is_missing = true;
                    benchmarks.missing.push(format!(
                        "{side}: there is no result for {name}; --allow-missing accepts this"
                    ));
                }
                profiles.push(profile_from_runs(&found)?);
            }
            sides.push((format!("{side} {name}"), start..profiles.len()));
        }
        if !is_missing {
            let mut runs = Runs::new(Names::default(), profiles, sides, Vec::new());
            runs.bench = Some(name);
            benchmarks.runs.push(runs);
        }
    }
    Ok(Some(benchmarks))
}

/// Returns true if the runs have only totals, and their totals differ.
pub(crate) fn differ(runs: &Runs) -> bool {
    let has_records = |profile: &Profile| profile.types().next().is_some();
    if runs.profiles.iter().any(has_records) {
        return false;
    }
    let totals = figures::totals(runs);
    (totals.iter()).any(|total| (1..runs.sides.len()).any(|side| total.differs(0, side)))
}

/// Returns a note if the runs have only totals with confidence intervals, and intervals of a changed total overlap.
pub(crate) fn chance_note(runs: &Runs, sides: [usize; 2]) -> Option<String> {
    let totals = figures::totals(runs);
    let totals = runs.events.iter().zip(&totals);
    let excused = totals.filter(|(_, total)| {
        let [old, new] = sides;
        let has_changed = total.change(old, new) != 0;
        total.has_intervals(old, new) && has_changed && !total.differs(old, new)
    });
    let events: Vec<&str> = excused.map(|(event, _)| event.as_str()).collect();
    let name = (runs.bench.as_ref()).map(|bench| format!("{bench}: "));
    let is_any = !events.is_empty();
    is_any.then(|| {
        format!(
            "{}the change of {} is within noise: the confidence intervals overlap",
            name.unwrap_or_default(),
            events.join(", ")
        )
    })
}

/// Returns the name of the benchmark that all runs belong to; `None` if there is no such benchmark.
pub(crate) fn common_benchmark(runs: &Runs) -> Option<String> {
    let all = runs.profiles.iter().flat_map(Profile::runs);
    let mut names = all.map(|run| run.sampling.labels.get("bench"));
    let first = names.next()??;
    (names.all(|name| name == Some(first))).then(|| first.clone())
}

/// Returns the name of a run's benchmark, with the tool if there is one; `None` if the run has no benchmark.
fn benchmark_name(run: &RunRecord) -> Option<String> {
    let labels = &run.sampling.labels;
    let mut name = labels.get("bench")?.clone();
    if let Some(tool) = labels.get("tool") {
        let _ = write!(name, " ({tool})");
    }
    Some(name)
}

/// Makes a profile that has only these runs.
fn profile_from_runs(runs: &[&RunRecord]) -> anyhow::Result<Profile> {
    let mut stream = Vec::new();
    for run in runs {
        // A run without a version has the current version.
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
    fn each_benchmark_is_compared_separately() {
        // The sums of f and g are equal.
        let before = stream(&[("f", 10), ("g", 20)]);
        let after = stream(&[("g", 10), ("f", 20), ("h", 1)]);
        let all = runs(&[&before, &after]);
        let benchmarks = by_benchmark(&all).unwrap().unwrap();
        let found: Vec<_> = benchmarks
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
            found,
            [
                ("b f (callgrind)", Some(10), Some(20), true),
                ("b g (callgrind)", Some(20), Some(10), true),
            ]
        );
        let missing = "a: there is no result for h (callgrind); --allow-missing accepts this";
        assert_eq!(benchmarks.missing, [missing]);
    }

    #[test]
    fn totals_without_a_benchmark_are_one_comparison() {
        let (less, more) = (stream(&[("", 10)]), stream(&[("", 20)]));
        for (streams, is_different) in [
            ([&less, &more], true),
            ([&more, &less], true),
            ([&less, &less], false),
        ] {
            let runs = runs(&streams.map(String::as_str));
            assert!(by_benchmark(&runs).unwrap().is_none());
            assert_eq!(differ(&runs), is_different);
        }
        // If there are records, they decide.
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
