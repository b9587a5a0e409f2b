//! Histories: the places in a series of profiles at which costs changed.

mod series;
mod steps;

use std::cmp::Reverse;
use std::io::Write;
use std::path::PathBuf;

use cg_collections::sorting::Order as _;
use cg_stream::record::{
    Count, CountsPerRun, FunctionName, Name, PerRun, RunRecord, SeriesRecord, StepRecord, Tool,
    Total, VERSION,
};
use cg_stream::writer::Writer;
use cg_tool::{Diagnostics, Outcome};

use series::{Series, StableFunction};
use steps::find_steps;

/// The name of the total among the functions.
const TOTAL: &str = "PROGRAM TOTALS";

/// The options of a history.
pub(crate) struct HistoryOptions {
    /// The files, oldest first.
    pub(crate) files: Vec<PathBuf>,
    /// The names of the first versions.
    pub(crate) names: Vec<String>,
    /// The records to make of raw profiles.
    pub(crate) records: cg_parse::Options,
}

/// Finds the steps in each series, and writes a section for each.
///
/// # Errors
/// Returns an error if the output cannot be written, or no benchmark has two files.
pub(crate) fn history(
    options: &HistoryOptions,
    output: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    diagnostics.begin_inputs(&options.files);
    let all = series::read(
        &options.files,
        &options.names,
        &options.records,
        diagnostics,
    )?;
    diagnostics.end_inputs();
    let mut out = Writer::new(output);
    for series in &all {
        if let (Some(bench), [version]) = (&series.bench, &series.versions[..]) {
            diagnostics.warn(format!(
                "{bench}: there is only one file ({version}), so it has no history"
            ));
        }
        write_series(series, diagnostics, &mut out)?;
    }
    let has_history = all.iter().any(|series| series.versions.len() > 1);
    if !has_history && !diagnostics.has_errors() {
        anyhow::bail!("--history: the files belong to different benchmarks; give two files of one");
    }
    Ok(Outcome::Done)
}

/// A step, before it is written.
struct FoundStep<'s> {
    /// The function; `None` for the total.
    function: Option<&'s StableFunction>,
    event: usize,
    at: usize,
    old: Count,
    new: Count,
}

/// Finds the steps of a series. The largest of the first event come first.
fn find(series: &Series) -> Vec<FoundStep<'_>> {
    let mut found = Vec::new();
    let versions = series.versions.len();
    for event in 0..series.events.len() {
        // The costs of an event that some versions do not count are not comparable.
        let totals: Option<Vec<Count>> = series.totals[event].iter().copied().collect();
        let Some(totals) = totals else { continue };
        let mut add = |function, figures: &[Count]| {
            found.extend(find_steps(figures).into_iter().map(|at| FoundStep {
                function,
                event,
                at,
                old: figures[at - 1],
                new: figures[at],
            }));
        };
        add(None, &totals);
        for (function, costs) in &series.functions {
            if let Some(costs) = costs.by_event.get(event).filter(|costs| !costs.is_empty()) {
                let mut figures = costs.clone();
                figures.resize(versions, 0);
                add(Some(function), &figures);
            }
        }
    }
    found.order_by_key(|step| {
        let size = (step.new - step.old).abs();
        (step.event, Reverse(size), step.at, step.function)
    });
    found
}

fn write_series(
    series: &Series,
    diagnostics: &mut Diagnostics,
    out: &mut Writer<&mut dyn Write>,
) -> anyhow::Result<()> {
    let steps = find(series);
    out.run(&run_record(series))?;
    let bench = || series.bench.as_deref().map(Name::from);
    let mut shown: Vec<(usize, Option<&StableFunction>)> = Vec::new();
    for step in &steps {
        let name = function_name(series, step.function);
        let (Ok(old), Ok(new), Ok(delta)) = (
            u64::try_from(step.old),
            u64::try_from(step.new),
            i64::try_from(step.new - step.old),
        ) else {
            let name = name.name.unwrap_or_default();
            diagnostics.warn(format!(
                "{name}: left out a step from {} to {}, which exceeds 64 bits",
                step.old, step.new
            ));
            continue;
        };
        out.record(&StepRecord {
            function: name,
            bench: bench(),
            event: Name::from(series.events[step.event].as_str()),
            at: Name::from(series.versions[step.at].as_str()),
            before: Name::from(series.versions[step.at - 1].as_str()),
            old,
            new,
            delta,
        })?;
        shown.push((step.event, step.function));
    }
    let mut unique = shown.clone();
    unique.sort_unstable();
    unique.dedup();
    for (event, function) in unique {
        out.record(&SeriesRecord {
            function: function_name(series, function),
            bench: bench(),
            event: Name::from(series.events[event].as_str()),
            values: PerRun(values(series, event, function)),
        })?;
    }
    match diagnostics.has_errors() {
        true => out.flush()?,
        false => out.end()?,
    }
    Ok(())
}

/// Returns the costs of a function, or the totals, in each version.
fn values(series: &Series, event: usize, function: Option<&StableFunction>) -> Vec<Option<Count>> {
    match function {
        None => series.totals[event].clone(),
        Some(function) => {
            let costs = series
                .functions
                .get(function)
                .and_then(|costs| costs.by_event.get(event));
            let cost = |at: usize| costs.and_then(|costs| costs.get(at)).copied().unwrap_or(0);
            (0..series.versions.len())
                .map(|at| Some(cost(at)))
                .collect()
        }
    }
}

fn function_name<'s>(series: &'s Series, function: Option<&'s StableFunction>) -> FunctionName<'s> {
    let name = |text: &'s Option<String>| text.as_deref().map(Name::from);
    match function {
        None => FunctionName {
            name: Some(Name::from(TOTAL)),
            ..FunctionName::default()
        },
        Some(function) => FunctionName {
            name: name(&function[0]),
            file: series
                .functions
                .get(function)
                .and_then(|costs| name(&costs.file)),
            obj: name(&function[1]),
        },
    }
}

fn run_record(series: &Series) -> RunRecord {
    let totals = series.events.iter().zip(&series.totals);
    let totals = totals.map(|(event, totals)| {
        let event = Name::from(event.clone());
        (event, PerRun(totals.clone()))
    });
    let mut run = RunRecord {
        stream: VERSION,
        tool: series.tool.as_deref().map(Tool::from),
        source: series.sources.clone(),
        runs: series.versions.clone(),
        events: series.events.clone(),
        total: Total::PerRun(CountsPerRun(totals.collect())),
        ..RunRecord::default()
    };
    let bench = series.bench.iter();
    let labels = bench.map(|bench| ("bench".to_owned(), bench.clone()));
    run.sampling.labels = labels.collect();
    run.extra.insert("history".to_owned(), true.into());
    run
}
