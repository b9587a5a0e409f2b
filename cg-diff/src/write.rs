//! Writes a comparison as a stream.

use std::io::Write;

use anyhow::Context;
use cg_stream::profile::{FrameKey, FunctionKey, Key, Symbol};
use cg_stream::record::{
    Callee, Count, Counts, CountsPerRun, DiffRecord, DiffSummary, Frame, FunctionName, Name,
    PerRun, RunRecord, Status, Total,
};
use cg_stream::writer::Writer;

use crate::compare::{self, Change, CompareOptions};
use crate::explain::Explanations;
use crate::figures::{self, Figure, Figures};
use crate::join::Joined;
use crate::key::rules::{Part, Rules, Strength};
use crate::runs::Runs;

/// Everything that is written.
pub(crate) struct Comparison<'a> {
    pub(crate) runs: &'a Runs,
    pub(crate) joined: &'a Joined,
    pub(crate) changes: &'a [Change],
    pub(crate) explanations: &'a Explanations,
    pub(crate) summary: &'a DiffSummary,
    pub(crate) rules: &'a Rules,
    pub(crate) options: CompareOptions,
}

/// Writes the stream; rows that are the same only where `with_same`.
///
/// # Errors
/// What the output reports, and a change that is beyond the range of `i64`.
pub(crate) fn write(
    comparison: &Comparison,
    with_same: bool,
    is_whole: bool,
    out: &mut Writer<&mut dyn Write>,
) -> anyhow::Result<()> {
    out.run(&comparison.run_record())?;
    for change in comparison.changes {
        if with_same || change.status != Status::Same {
            out.record(&comparison.diff_record(change)?)?;
        }
    }
    // An input that could not be read to its end makes no whole comparison.
    if is_whole {
        out.end()?;
    } else {
        out.flush()?;
    }
    Ok(())
}

impl Comparison<'_> {
    fn run_record(&self) -> RunRecord {
        let of_all = |field: fn(&RunRecord) -> &Option<String>| {
            let mut values = self
                .runs
                .profiles
                .iter()
                .flat_map(|profile| profile.runs())
                .map(field);
            let first = values.next().cloned().flatten();
            values
                .all(|value| *value == first)
                .then_some(first)
                .flatten()
        };
        let totals = figures::totals(self.runs)
            .iter()
            .map(Figure::per_run)
            .collect::<Vec<_>>();
        let mut run = RunRecord {
            stream: 1,
            tool: of_all(|run| &run.tool),
            creator: of_all(|run| &run.creator),
            command: of_all(|run| &run.command),
            source: self.sources(),
            runs: self
                .runs
                .sides
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
            events: self.runs.events.clone(),
            total: Total::PerRun(CountsPerRun(
                self.runs
                    .events
                    .iter()
                    .map(|event| Name::from(event.clone()))
                    .zip(totals)
                    .collect(),
            )),
            ..RunRecord::default()
        };
        self.summary.put_into(&mut run);
        run
    }

    /// What the runs were read from, as they say.
    fn sources(&self) -> Vec<String> {
        let mut sources: Vec<String> = Vec::new();
        for run in self.runs.profiles.iter().flat_map(|profile| profile.runs()) {
            for source in &run.source {
                if !sources.contains(source) {
                    sources.push(source.clone());
                }
            }
        }
        sources
    }

    fn diff_record(&self, change: &Change) -> anyhow::Result<DiffRecord<'_>> {
        let row = &self.joined.rows[change.row];
        let figures = figures::of_row(self.runs, self.joined, change.row);
        let key = &change.shown;
        let function = self.function_name(key.function);
        let is_sum = figures.merged.iter().flatten().any(|count| *count > 1);
        let has_noise = self.runs.sides.iter().any(|(_, files)| files.len() > 1);
        let name = if change.has_several_names {
            self.common_name(key.function.name)
        } else {
            function.name
        };
        Ok(DiffRecord {
            name,
            file: function.file,
            obj: function.obj,
            line: key.line,
            callee: key.callee.map(|callee| {
                let callee = self.function_name(callee);
                Callee {
                    name: callee.name,
                    file: callee.file,
                    obj: callee.obj,
                }
            }),
            kind: self.name(key.kind),
            what: self.name(key.what),
            of: Name::from(row.of.name()),
            status: change.status,
            was: (change.status == Status::Renamed)
                .then(|| compare::first_key(self.runs, self.joined, change.row))
                .flatten()
                .map(|key| self.function_name(key.function)),
            guess: row.guess,
            joined: self.rules.names(row.fired).map(Name::from).collect(),
            merged: PerRun(if is_sum {
                figures.merged.clone()
            } else {
                Vec::new()
            }),
            calls: figures
                .calls
                .as_ref()
                .map(Figure::per_run)
                .unwrap_or_default(),
            cost: self.per_run(&figures.cost, |figure| figure.per_run()),
            incl: self.per_run(&figures.incl, |figure| figure.per_run()),
            delta: self.deltas(&figures.cost, &function_text(self, key))?,
            incl_delta: self.deltas(&figures.incl, &function_text(self, key))?,
            why: self.explanations.why.get(&change.row).cloned(),
            explained_by: self
                .explanations
                .explained_by
                .get(&change.row)
                .and_then(|callee| compare::last_key(self.runs, self.joined, *callee))
                .map(|key| self.function_name(key.function)),
            min: self.noise(has_noise, &figures, |figure| &figure.min),
            spread: self.noise(has_noise, &figures, |figure| &figure.spread),
            stack: self.stack(key),
            ..DiffRecord::default()
        })
    }

    /// The events to write: the first that any side counts, and the others where some entry is not 0.
    fn written<'f>(&self, figures: &'f [Figure]) -> impl Iterator<Item = (usize, &'f Figure)> {
        let mut is_first = true;
        figures.iter().enumerate().filter(move |(_, figure)| {
            let is_counted = figure.entries.iter().any(Option::is_some);
            let is_written = is_counted
                && (is_first || figure.entries.iter().flatten().any(|count| *count != 0));
            is_first &= !is_counted;
            is_written
        })
    }

    fn per_run(&self, figures: &[Figure], entries: impl Fn(&Figure) -> PerRun) -> CountsPerRun<'_> {
        CountsPerRun(
            self.written(figures)
                .map(|(event, figure)| (self.event(event), entries(figure)))
                .collect(),
        )
    }

    fn noise(
        &self,
        has_noise: bool,
        figures: &Figures,
        entries: impl Fn(&Figure) -> &figures::Entries,
    ) -> CountsPerRun<'_> {
        if has_noise {
            self.per_run(&figures.cost, |figure| PerRun(entries(figure).clone()))
        } else {
            CountsPerRun::default()
        }
    }

    fn deltas(&self, figures: &[Figure], of: &str) -> anyhow::Result<Counts<'_>> {
        let last = self.runs.sides.len() - 1;
        let mut deltas = Vec::new();
        for (event, figure) in self.written(figures) {
            if !self.runs.is_common(event) {
                continue;
            }
            let delta = figure.change(self.options.reference, last);
            i64::try_from(delta).ok().with_context(|| {
                format!(
                    "{of}: the change of {} by {delta} is beyond 64 bits",
                    self.runs.events[event]
                )
            })?;
            deltas.push((self.event(event), delta as Count));
        }
        Ok(Counts(deltas))
    }

    fn event(&self, event: usize) -> Name<'_> {
        Name::from(self.runs.events[event].as_str())
    }

    fn name(&self, symbol: Option<Symbol>) -> Option<Name<'_>> {
        symbol.map(|symbol| Name::from(self.runs.names.symbols.text(symbol)))
    }

    fn function_name(&self, function: FunctionKey) -> FunctionName<'_> {
        FunctionName {
            name: self.name(function.name),
            file: self.name(function.file),
            obj: self.name(function.obj),
        }
    }

    /// The name that all records of a sum have once it is normalised.
    fn common_name(&self, name: Option<Symbol>) -> Option<Name<'_>> {
        let text = self.runs.names.symbols.text(name?);
        let (common, _) = self.rules.apply(text, Part::Function, Strength::Counter);
        Some(Name::from(common.into_owned()))
    }

    fn stack(&self, key: &Key) -> Vec<Frame<'_>> {
        let Some(stack) = key.stack else {
            return Vec::new();
        };
        let stacks = &self.runs.names.stacks;
        stacks
            .frames(stack)
            .iter()
            .map(|FrameKey { function, line }| {
                let function = self.function_name(*function);
                Frame {
                    name: function.name,
                    file: function.file,
                    line: *line,
                    obj: function.obj,
                    addr: None,
                }
            })
            .collect()
    }
}

/// The function of a row, for a message.
fn function_text(comparison: &Comparison, key: &Key) -> String {
    comparison
        .name(key.function.name)
        .map_or_else(|| "a record without a name".to_owned(), Name::into_string)
}
