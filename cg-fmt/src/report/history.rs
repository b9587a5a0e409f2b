//! The report on a history: the places in a series of profiles at which costs changed.

use cg_document::{Audience, Block, Cell, Column, Document, Layout, Table, Worth, number};
use cg_profile::Profile;
use cg_stream::record::{Count, RunRecord, SeriesRecord, StepRecord};

use super::arrange;
use crate::options::Options;

/// The steps of one or several series, the largest first.
pub(crate) struct History<'a> {
    runs: &'a [RunRecord],
    steps: Vec<&'a StepRecord<'static>>,
    series: &'a [SeriesRecord<'static>],
    has_benchmarks: bool,
}

/// Returns true if a run is a history.
pub(crate) fn is_history(run: &RunRecord) -> bool {
    run.extra.get("history").is_some_and(|value| value == true)
}

impl<'a> History<'a> {
    /// Computes the report; `None` if the profile is not a history.
    pub(crate) fn compute(profile: &'a Profile) -> Option<History<'a>> {
        let runs = profile.runs();
        let is_any = !profile.steps().is_empty() || runs.iter().any(is_history);
        if !is_any {
            return None;
        }
        let events = profile.events();
        let mut steps: Vec<&StepRecord> = profile.steps().iter().collect();
        // The steps of one event are comparable. Those of a series are sorted already.
        steps.sort_by_key(|step| {
            let event = events.iter().position(|event| *event == *step.event);
            (event, std::cmp::Reverse(step.delta.unsigned_abs()))
        });
        let first = steps.first().map(|step| &step.bench);
        let has_several = steps.iter().any(|step| Some(&step.bench) != first);
        Some(History {
            runs,
            has_benchmarks: has_several || runs.len() > 1,
            steps,
            series: profile.series(),
        })
    }

    /// Returns the steps, sorted and cut.
    pub(crate) fn rows(&self, options: &Options) -> anyhow::Result<Vec<&'a StepRecord<'static>>> {
        let mut table = self.table();
        arrange::sort(&mut table, options.sort.as_deref(), None, options)?;
        table.cut(options.rows(), None);
        Ok(table.rows.iter().map(|row| self.steps[*row]).collect())
    }

    pub(crate) fn document(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        let mut document = Document::default();
        document.push(Block::Heading(self.title()));
        let steps = number::plural(self.steps.len() as Count, "step", "steps");
        document.push(Block::Text(match self.steps.is_empty() {
            true => "no step: no cost changed by more than its noise".to_owned(),
            false => format!("{steps}, the largest first"),
        }));
        let mut table = self.table();
        arrange::sort(&mut table, options.sort.as_deref(), None, options)?;
        let cut = arrange::cut(&mut table, options.rows(), None, None);
        arrange::choose_columns(&mut table, None, options)?;
        if !table.rows.is_empty() || !options.format.is_for_people() {
            document.push(Block::Table(table));
        }
        document.blocks.extend(cut.map(|cut| {
            let noun = if cut.rows == 1 { "step" } else { "steps" };
            arrange::left_out(&cut, noun, None)
        }));
        Ok(document)
    }

    /// Returns the range of versions.
    fn title(&self) -> String {
        let mut ranges: Vec<String> = Vec::new();
        for run in self.runs {
            if let [first, .., last] = run.runs.as_slice() {
                let range = format!("{first} to {last} ({} files)", run.runs.len());
                if !ranges.contains(&range) {
                    ranges.push(range);
                }
            }
        }
        format!("cg-diff --history: {}", ranges.join(", "))
    }

    fn table(&self) -> Table<'_> {
        let steps = &self.steps;
        let text = |name: &str, layout, cell: fn(&'a StepRecord<'static>) -> Cell<'a>| {
            Column::new(name, layout, move |row: usize| cell(steps[row]))
        };
        let delta = |step: &StepRecord| Count::from(step.delta);
        let columns = vec![
            text("bench", Layout::Path, |step| {
                Cell::name(step.bench.as_deref())
            })
            .for_audience(match self.has_benchmarks {
                true => Audience::All,
                false => Audience::Nobody,
            }),
            text("at", Layout::Text, |step| Cell::Name(&step.at)),
            text("event", Layout::Text, |step| Cell::Name(&step.event)),
            text("old", Layout::Number, |step| Cell::Count(step.old.into())),
            text("new", Layout::Number, |step| Cell::Count(step.new.into())),
            Column::new("delta", Layout::Number, move |row: usize| {
                Cell::Delta(delta(steps[row]))
            }),
            Column::new("%", Layout::Percent, move |row: usize| {
                Cell::change(delta(steps[row]), steps[row].old.into())
            }),
            Column::new("course", Layout::Text, move |row: usize| {
                self.course(steps[row])
                    .map_or(Cell::Empty, |course| Cell::Text(course.into()))
            })
            .for_audience(Audience::People)
            .worth(Worth::Detail),
            text("fn", Layout::Name, |step| {
                Cell::function(step.function.name.as_deref())
            })
            .titled("function"),
            text("file", Layout::Path, |step| {
                Cell::name(step.function.file.as_deref())
            }),
            text("obj", Layout::Path, |step| {
                Cell::name(step.function.obj.as_deref())
            })
            .titled("object")
            .for_audience(Audience::Programs)
            .worth(Worth::Object),
        ];
        Table::new(columns, (0..steps.len()).collect())
    }

    /// Draws the costs of a step's function in all versions as a line of bars.
    fn course(&self, step: &StepRecord) -> Option<String> {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let is_of_step = |series: &&SeriesRecord| {
            series.function == step.function
                && series.bench == step.bench
                && series.event == step.event
        };
        let series = self.series.iter().find(is_of_step)?;
        let values = series.values.0.iter();
        let values: Vec<Count> = values.map(|value| value.unwrap_or(0)).collect();
        let most = values.iter().copied().max().filter(|most| *most > 0)?;
        let bar = |value: &Count| {
            let height = (value.max(&0) * (BARS.len() as Count - 1) + most / 2) / most;
            BARS[usize::try_from(height).unwrap_or(0).min(BARS.len() - 1)]
        };
        Some(values.iter().map(bar).collect())
    }
}
