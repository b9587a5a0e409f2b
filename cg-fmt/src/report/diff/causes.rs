//! The causes of the difference of the totals: the greatest ones with their details, and lines that sum up the others.

use std::cmp::Reverse;
use std::rc::Rc;

use cg_document::number::{grouped, plural, signed};
use cg_document::{Audience, Block, Cell, Column, Document, Layout, Table, Worth};
use cg_stream::record::{CauseDetail, CauseRecord, Count, CycleSummary};

use super::cause_words::{Words, function_text};
use super::{DiffEvent, Diffs};
use crate::options::{Options, OutputFormat};
use crate::report::arrange;

/// The number of causes and details at the beginning of a report.
const IN_REPORT: Shown = Shown {
    causes: 5,
    details: 2,
    indent: "  ",
};

/// The default number of causes and details in a report that has only causes.
const ALONE: Shown = Shown {
    causes: 10,
    details: 6,
    indent: "  ",
};

/// The share of all changes whose number of causes is printed, in percent.
const MOST_CHANGES: u128 = 90;

#[derive(Clone, Copy)]
struct Shown {
    causes: usize,
    /// The details of a cause. A single further detail is shown too, instead of a line that counts it.
    details: usize,
    /// The characters before a detail.
    indent: &'static str,
}

impl Shown {
    /// Returns the same numbers with an indent that the format keeps.
    fn for_format(self, format: OutputFormat) -> Shown {
        match format {
            OutputFormat::Markdown | OutputFormat::Html => Shown {
                indent: "· ",
                ..self
            },
            _ => self,
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy)]
enum TableRow {
    Cause(usize),
    Detail(usize, usize),
    /// The details of a cause that are not shown, from this one on.
    More(usize, usize),
}

/// A cause in words, with its difference in each event.
pub(crate) struct DescribedCause<'c> {
    pub(crate) function: &'c str,
    /// The words after the function, with the benchmark if there are several.
    pub(crate) words: String,
    pub(crate) deltas: Vec<Count>,
    /// The sentences and the differences of the details.
    pub(crate) details: Vec<(String, Vec<Count>)>,
}

impl Diffs<'_> {
    /// Returns the causes in words, the greatest first.
    pub(crate) fn described_causes(&self) -> impl Iterator<Item = DescribedCause<'_>> {
        let words = self.words(self.events.first().map_or("", String::as_str));
        let deltas = |counts: &cg_stream::record::Counts<'static>| -> Vec<Count> {
            self.events.iter().map(|event| counts.get(event)).collect()
        };
        self.causes.iter().map(move |cause| DescribedCause {
            function: cause.name.as_deref().unwrap_or_default(),
            words: match &cause.bench {
                Some(bench) if self.is_suite => {
                    format!(" of {bench}{}", words.after_function(cause))
                }
                _ => words.after_function(cause),
            },
            deltas: deltas(&cause.delta),
            details: (cause.details.iter())
                .map(|detail| (words.sentence(cause, detail), deltas(&detail.delta)))
                .collect(),
        })
    }

    fn words<'w>(&'w self, event: &'w str) -> Words<'w> {
        Words {
            cycles: &self.summary.cycles,
            benchmarks: &self.benchmarks,
            event,
        }
    }

    /// Returns the causes at the beginning of a report. Empty if there are no causes.
    pub(super) fn causes<'t>(
        &'t self,
        events: &[DiffEvent<'t>],
        options: &Options,
    ) -> Vec<Block<'t>> {
        self.cause_blocks(events, IN_REPORT.for_format(options.format))
    }

    /// Renders a document that has only the causes.
    pub(super) fn causes_alone(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        anyhow::ensure!(
            !self.causes.is_empty(),
            "there are no causes; cg-diff --causes writes them"
        );
        let events = self.events(options)?;
        let mut document = Document::default();
        document.push(Block::Heading(format!("cg-diff: {}", self.title)));
        if options.format.is_for_people() {
            let causes = match options.top {
                None => ALONE.causes,
                Some(_) => options.rows(),
            };
            let shown = Shown { causes, ..ALONE }.for_format(options.format);
            document.blocks.extend(self.cause_blocks(&events, shown));
        } else {
            let causes = self.causes.iter().take(options.rows()).enumerate();
            let rows = causes.flat_map(|(cause, record)| {
                let details = 0..record.details.len();
                details.map(move |detail| TableRow::Detail(cause, detail))
            });
            let mut table = self.cause_table(&events, rows.collect(), ALONE.indent);
            let first = events.first().map(|event| event.name);
            arrange::choose_columns(&mut table, first, options)?;
            document.push(Block::Table(table));
        }
        Ok(document)
    }

    fn cause_blocks<'t>(&'t self, events: &[DiffEvent<'t>], shown: Shown) -> Vec<Block<'t>> {
        if self.causes.is_empty() {
            return Vec::new();
        }
        let mut rows = Vec::new();
        for (position, cause) in self.causes.iter().take(shown.causes).enumerate() {
            rows.push(TableRow::Cause(position));
            let all = cause.details.len();
            let details = match all == shown.details + 1 {
                true => all,
                false => all.min(shown.details),
            };
            rows.extend((0..details).map(|detail| TableRow::Detail(position, detail)));
            if details < all {
                rows.push(TableRow::More(position, details));
            }
        }
        let mut table = self.cause_table(events, rows, shown.indent);
        table.choose_for(Audience::People);
        let mut blocks = vec![Block::Table(table)];
        let event = events.first().map_or("", |event| event.name);
        let lines = self.closing_lines(event, shown.causes);
        blocks.extend(lines.into_iter().map(Block::Note));
        blocks
    }

    /// Returns a line for each group of several functions, a line about the causes that are not shown, and the number of
    /// causes that make up most of all changes.
    fn closing_lines(&self, event: &str, shown: usize) -> Vec<String> {
        const MOST_CYCLES: usize = 5;
        let mut lines = Vec::new();
        let of_suite = self.benchmarks.iter().flat_map(|benchmark| {
            let cycles = benchmark.cycles.iter();
            cycles.map(|cycle| (format!("{}: ", benchmark.name), cycle))
        });
        let cycles = self.summary.cycles.iter();
        let cycles = cycles.map(|cycle| (String::new(), cycle)).chain(of_suite);
        let mut cycles: Vec<(String, &CycleSummary, i64)> = cycles
            .map(|(bench, cycle)| (bench, cycle, cycle.delta.get(event).copied().unwrap_or(0)))
            .collect();
        cycles.sort_by_key(|(_, _, delta)| Reverse(delta.unsigned_abs()));
        for (bench, cycle, delta) in cycles.into_iter().take(MOST_CYCLES) {
            lines.push(format!(
                "{bench}cycle of {}: {} and {} more, {} {event} together",
                grouped(Count::from(cycle.members)),
                function_text(Some(&cycle.name)),
                grouped(Count::from(cycle.members.saturating_sub(1))),
                signed(delta.into())
            ));
        }
        let others = self.causes.iter().skip(shown);
        let left: Count = others.clone().map(|cause| cause.delta.get(event)).sum();
        match others.count() {
            0 => {}
            count => lines.push(format!(
                "{} with {} {event} not shown (--type cause, --top all)",
                plural(count as Count, "more cause", "more causes"),
                signed(left)
            )),
        }
        lines.extend(self.share_of_causes(event));
        lines
    }

    /// Returns the number of causes that make up most of all changes: `23 of 304 causes make up 90 % of all changes`.
    fn share_of_causes(&self, event: &str) -> Option<String> {
        let mut sizes: Vec<u128> = (self.causes.iter())
            .map(|cause| cause.delta.get(event).unsigned_abs())
            .filter(|size| *size > 0)
            .collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let all: u128 = sizes.iter().sum();
        let mut sum = 0;
        let enough = sizes.iter().position(|size| {
            sum += size;
            sum * 100 >= all * MOST_CHANGES
        })?;
        Some(format!(
            "{} of {} {} {MOST_CHANGES} % of all changes",
            grouped(enough as Count + 1),
            plural(sizes.len() as Count, "cause", "causes"),
            match enough {
                0 => "makes up",
                _ => "make up",
            }
        ))
    }

    fn cause_table<'t>(
        &'t self,
        events: &[DiffEvent<'t>],
        rows: Vec<TableRow>,
        indent: &'static str,
    ) -> Table<'t> {
        let causes = self.causes.as_slice();
        let first = events.first().map_or("", |event| event.name);
        let places: Vec<usize> = (0..rows.len()).collect();
        let rows = Rc::new(rows);
        let mut columns = vec![self.bench_column(&rows)];
        for event in events {
            let name = event.name;
            let (before, after) = self.ends(event.total);
            let before = before.unwrap_or(0);
            let total = after.unwrap_or(0) - before;
            let wholes: Vec<Count> = (causes.iter())
                .map(|cause| self.old_total(cause.bench.as_deref(), name, event.total))
                .collect();
            let of = Rc::clone(&rows);
            columns.push(
                Column::new(format!("{name}.delta"), Layout::Number, move |row| {
                    Cell::Delta(delta(causes, of[row], name))
                })
                .titled(format!("{name} delta"))
                .for_audience(event.audience)
                .with_total(Cell::Delta(total)),
            );
            let of = Rc::clone(&rows);
            columns.push(
                Column::new(
                    format!("{name}.delta%total"),
                    Layout::Percent,
                    move |row| match of[row] {
                        TableRow::Cause(cause) => {
                            Cell::change(delta(causes, of[row], name), wholes[cause])
                        }
                        TableRow::Detail(..) | TableRow::More(..) => Cell::Empty,
                    },
                )
                .titled("%")
                .for_audience(match event.audience {
                    Audience::All => Audience::People,
                    other => other,
                })
                .with_total(Cell::change(total, before)),
            );
        }
        let of = Rc::clone(&rows);
        let words = self.words(first);
        let mut listed = Column::new("listed", Layout::Text, move |row: usize| {
            Cell::Text(listed_text(&words, causes, of[row], indent).into())
        })
        .titled("function and cause")
        .worth(Worth::Name)
        .for_audience(Audience::People);
        listed.total = Cell::Text(self.total_name().into());
        columns.push(listed);
        columns.extend(program_columns(causes, &rows, self.words(first)));
        Table::new(columns, places)
    }

    /// Returns the column with the benchmark of each cause. People see it if there are several benchmarks. Below the row
    /// of a cause, its details do not repeat it.
    fn bench_column<'t>(&'t self, rows: &Rc<Vec<TableRow>>) -> Column<'t> {
        let of = Rc::clone(rows);
        let is_for_people = self.is_suite;
        let has_causes = matches!(rows.first(), Some(TableRow::Cause(_)));
        Column::new("bench", Layout::Path, move |row: usize| match of[row] {
            TableRow::Detail(..) if has_causes => Cell::Empty,
            TableRow::Cause(cause) | TableRow::Detail(cause, _) => {
                Cell::name(self.causes[cause].bench.as_deref())
            }
            TableRow::More(..) => Cell::Empty,
        })
        .for_audience(Audience::all_if(is_for_people))
    }
}

/// Returns the columns for programs, which have a row for each detail.
fn program_columns<'t>(
    causes: &'t [&'t CauseRecord<'static>],
    rows: &Rc<Vec<TableRow>>,
    words: Words<'t>,
) -> Vec<Column<'t>> {
    let detail_of =
        |row: TableRow| -> Option<(&'t CauseRecord<'static>, &'t CauseDetail<'static>)> {
            match row {
                TableRow::Detail(cause, detail) => {
                    Some((causes[cause], &causes[cause].details[detail]))
                }
                TableRow::Cause(_) | TableRow::More(..) => None,
            }
        };
    let column = |name: &str, layout, cell: OfDetail<'t>| {
        let of = Rc::clone(rows);
        Column::new(name, layout, move |row: usize| {
            detail_of(of[row]).map_or(Cell::Empty, |(cause, detail)| cell(cause, detail))
        })
        .for_audience(Audience::Programs)
    };
    let of = Rc::clone(rows);
    let sentence = Column::new("cause", Layout::Text, move |row: usize| {
        let detail = detail_of(of[row]);
        detail.map_or(Cell::Empty, |(cause, detail)| {
            Cell::Text(words.sentence(cause, detail).into())
        })
    });
    vec![
        column("fn", Layout::Name, |cause, _| {
            Cell::function(cause.name.as_deref())
        }),
        sentence.for_audience(Audience::Programs),
        column("kind", Layout::Text, |_, detail| {
            Cell::Text(detail.kind.name().into())
        }),
        column("callee.fn", Layout::Name, |_, detail| {
            Cell::name(detail.name.as_deref())
        }),
        column("file", Layout::Path, |cause, _| {
            Cell::name(cause.file.as_deref())
        }),
        column("obj", Layout::Path, |cause, _| {
            Cell::name(cause.obj.as_deref())
        }),
    ]
}

type OfDetail<'t> = fn(&'t CauseRecord<'static>, &'t CauseDetail<'static>) -> Cell<'t>;

fn delta(causes: &[&CauseRecord], row: TableRow, event: &str) -> Count {
    match row {
        TableRow::Cause(cause) => causes[cause].delta.get(event),
        TableRow::Detail(cause, detail) => causes[cause].details[detail].delta.get(event),
        TableRow::More(cause, from) => {
            let details = causes[cause].details[from..].iter();
            details.map(|detail| detail.delta.get(event)).sum()
        }
    }
}

fn listed_text(words: &Words, causes: &[&CauseRecord], row: TableRow, indent: &str) -> String {
    match row {
        TableRow::Cause(cause) => format!(
            "{}{}",
            function_text(causes[cause].name.as_deref()),
            words.after_function(causes[cause])
        ),
        TableRow::Detail(cause, detail) => {
            let cause = causes[cause];
            format!("{indent}{}", words.sentence(cause, &cause.details[detail]))
        }
        TableRow::More(cause, from) => {
            let more = causes[cause].details.len() - from;
            format!("{indent}{} more", grouped(more as Count))
        }
    }
}
