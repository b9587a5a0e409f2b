//! Series of profiles: the costs of each function, and of the whole program, in each version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cg_names::identity::{normal_file, normal_function, normal_object};
use cg_parse::Options;
use cg_profile::{Names, Profile, Symbol};
use cg_stream::record::{Count, RecordType, RunRecord};
use cg_tool::Diagnostics;

use crate::inputs::BenchmarkRows;

/// The name and the object of a function, the same for every build. The file is not a part, because functions move between
/// files.
pub(crate) type StableFunction = [Option<String>; 2];

/// The costs of a function.
#[derive(Default)]
pub(crate) struct FunctionCosts {
    /// The file of the function in the last version that has it.
    pub(crate) file: Option<String>,
    /// For each event, the cost in each version; a version beyond the end of the list has 0.
    pub(crate) by_event: Vec<Vec<Count>>,
}

/// The profiles of one benchmark, oldest first.
#[derive(Default)]
pub(crate) struct Series {
    /// The name of the benchmark, if the profiles have one.
    pub(crate) bench: Option<String>,
    /// The tool that wrote the profiles.
    pub(crate) tool: Option<String>,
    pub(crate) versions: Vec<String>,
    pub(crate) sources: Vec<String>,
    pub(crate) events: Vec<String>,
    /// For each event, its total in each version; `None` if the version does not count it.
    pub(crate) totals: Vec<Vec<Option<Count>>>,
    pub(crate) functions: BTreeMap<StableFunction, FunctionCosts>,
}

/// Reads the files, and groups their profiles by benchmark in the order of the first ones. A file may have several
/// benchmarks.
///
/// # Errors
/// Returns only internal errors. Unreadable inputs are reported to `diagnostics`.
pub(crate) fn read(
    files: &[PathBuf],
    names: &[String],
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Vec<Series>> {
    let mut all: Vec<Series> = Vec::new();
    for (position, file) in files.iter().enumerate() {
        let mut rows = BenchmarkRows::new(Names::default());
        rows.read(file, options, diagnostics)?;
        if diagnostics.has_errors() {
            continue;
        }
        let name = file.display().to_string();
        let (mut texts, benchmarks) = rows.finish();
        for rows in benchmarks {
            let mut profile = rows.profile;
            profile.put_names(texts);
            profile.check_sums().with_context(|| name.clone())?;
            if profile.runs().is_empty() {
                diagnostics.error(format!(
                    "{name}: the input has no run record, so its total is unknown; give a complete stream or a profile"
                ));
                break;
            }
            if profile.table(RecordType::Fn).is_empty() {
                profile = profile.by_function()?;
            }
            let version = names.get(position).cloned();
            let version = version.or_else(|| common_label(profile.runs(), "commit"));
            let version = version.unwrap_or_else(|| stem(file, files));
            series_of(&profile, &mut all).add(&profile, version, name.clone());
            texts = profile.take_names();
        }
    }
    Ok(all)
}

/// Returns the series of a profile's benchmark, a new one if it is not in the list yet.
fn series_of<'s>(profile: &Profile, all: &'s mut Vec<Series>) -> &'s mut Series {
    let bench = common_label(profile.runs(), "bench");
    let known = all.iter().position(|series| series.bench == bench);
    let position = known.unwrap_or_else(|| {
        all.push(Series {
            bench,
            ..Series::default()
        });
        all.len() - 1
    });
    &mut all[position]
}

/// Returns the text of a label on which all runs agree.
fn common_label(runs: &[RunRecord], label: &str) -> Option<String> {
    let mut texts = runs.iter().map(|run| run.sampling.labels.get(label));
    let first = texts.next()??;
    texts.all(|text| text == Some(first)).then(|| first.clone())
}

/// Returns the name of a file without its directory and ending, if no other file has this name; otherwise its path.
fn stem(file: &Path, files: &[PathBuf]) -> String {
    const ENDINGS: [&str; 8] = [
        ".gz", ".zst", ".jsonl", ".json", ".out", ".txt", ".data", ".folded",
    ];
    let short = |file: &Path| {
        let name = file.file_name().unwrap_or(file.as_os_str());
        let mut name = name.to_string_lossy().into_owned();
        while let Some(stem) = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)) {
            name = stem.to_owned();
        }
        name
    };
    let name = short(file);
    let is_other = |other: &&PathBuf| other.as_path() != file && short(other) == name;
    match name.is_empty() || files.iter().any(|other| is_other(&other)) {
        true => file.display().to_string(),
        false => name,
    }
}

impl Series {
    /// Adds the profile of the next version.
    fn add(&mut self, profile: &Profile, version: String, source: String) {
        let at = self.versions.len();
        self.versions.push(version);
        self.sources.push(source);
        let tool = profile.runs().iter().find_map(|run| run.tool.as_ref());
        self.tool = self.tool.take().or(tool.map(ToString::to_string));
        for event in profile.events() {
            if !self.events.contains(event) {
                self.events.push(event.clone());
                self.totals.push(vec![None; at]);
            }
        }
        let positions = self.events.iter().map(|event| profile.event(event));
        let positions: Vec<Option<usize>> = positions.collect();
        for (totals, position) in self.totals.iter_mut().zip(&positions) {
            totals.push(position.and_then(|event| profile.total().get(event).copied()));
        }
        let table = profile.table(RecordType::Fn);
        for (row, key) in table.keys().enumerate() {
            let text = |symbol: Option<Symbol>| profile.text(symbol);
            let function = [
                text(key.function.name).map(|name| normal_function(name).into_owned()),
                text(key.function.obj).map(|obj| normal_object(obj).into_owned()),
            ];
            let function = self.functions.entry(function).or_default();
            function.file = text(key.function.file).map(|file| normal_file(file).to_owned());
            function.by_event.resize(positions.len(), Vec::new());
            for (costs, position) in function.by_event.iter_mut().zip(&positions) {
                let count = position.map_or(0, |event| table.count(row, event));
                if count != 0 {
                    costs.resize(at + 1, 0);
                    costs[at] += count;
                }
            }
        }
    }
}
