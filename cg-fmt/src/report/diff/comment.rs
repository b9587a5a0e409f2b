//! A diff as a comment on a pull request.
//!
//! The comment begins with a marker line that stays the same, so whoever posts it can find and replace the one before.
//! Rows that a comment has no room for are counted, not written.

use cg_document::comment::fitting;
use cg_document::{Block, Cell, Column, Document, Layout, Span, Table, number};
use cg_stream::record::Count;

use super::Diffs;
use crate::options::Options;
use crate::report::arrange;

/// The first line of the comment, `<!-- cg-diff -->`.
const MARKER: &str = "cg-diff";

/// How many rows stand open where nobody says how many.
const OPEN_ROWS: usize = 10;

/// How many rows are folded away at most: a comment is read by people.
const FOLDED_ROWS: usize = 500;

impl Diffs<'_> {
    /// A diff as a comment on a pull request.
    pub(super) fn comment(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        let rows = self.records.len();
        let (open, folded) = match options.top {
            Some(_) => (options.rows().min(rows), 0),
            None => (OPEN_ROWS.min(rows), FOLDED_ROWS.min(rows)),
        };
        fitting(open + folded, |rows| {
            self.comment_of(rows, open.min(rows), options)
        })
    }

    /// The comment with the first rows, so many of them open.
    fn comment_of(
        &self,
        shown: usize,
        open: usize,
        options: &Options,
    ) -> anyhow::Result<Document<'_>> {
        let events = self.events(options)?;
        let first = events.first().map(|event| event.name);
        let sorted = || -> anyhow::Result<Table<'_>> {
            let mut table = self.table(&events);
            arrange::sort(&mut table, options.sort.as_deref(), first, options)?;
            Ok(table)
        };
        let mut all = sorted()?;
        let cut = arrange::cut(&mut all, shown, self.measure(), first);
        let part = |rows: &[usize]| -> anyhow::Result<Table<'_>> {
            let mut table = sorted()?;
            arrange::choose_columns(&mut table, first, options)?;
            table.rows = rows.to_vec();
            for column in &mut table.columns {
                // The totals have a table of their own.
                column.total = Cell::Empty;
            }
            Ok(table)
        };
        let (open, folded) = all.rows.split_at(open.min(all.rows.len()));

        let mut document = Document::default();
        document.push(Block::Marker(MARKER));
        document.blocks.extend(self.troubles());
        document.push(Block::Heading(self.verdict(options)?));
        document.push(Block::Text(format!(
            "{}: {}",
            self.title,
            self.status_counts()
        )));
        document.blocks.extend(self.limits());
        match self.benchmarks(&events) {
            Some(benchmarks) => document.push(Block::Table(benchmarks)),
            None => document.push(Block::Table(self.totals())),
        }
        document.blocks.extend(self.causes(&events, options));
        if !open.is_empty() {
            document.push(Block::Table(part(open)?));
        }
        if !folded.is_empty() {
            let count = number::grouped(folded.len() as Count);
            let summary = format!("{count} more {}", self.noun(folded.len()));
            document.push(Block::Details {
                summary: vec![Span::text(summary)],
                blocks: vec![Block::Table(part(folded)?)],
            });
        }
        if let Some(cut) = cut {
            let share = self.share(&cut, first);
            let note = arrange::not_shown(&cut, self.noun(cut.rows), share);
            document.push(Block::Note(note));
        }
        document.blocks.extend(self.notes());
        Ok(document)
    }

    /// A row an event: the total of each run, the difference and the change.
    fn totals(&self) -> Table<'_> {
        let events = self.all_events();
        let rows = (0..events.len()).collect();
        let names: Vec<&str> = events.iter().map(|(name, _)| *name).collect();
        let totals: Vec<_> = events.iter().map(|(_, total)| *total).collect();
        let mut columns = vec![Column::new("total", Layout::Text, move |row: usize| {
            Cell::Name(names[row])
        })];
        for run in 0..self.runs.len() {
            let totals = totals.clone();
            columns.push(Column::new(
                self.run_title(run),
                Layout::Number,
                move |row: usize| Cell::count(totals[row].0.get(run).copied().flatten()),
            ));
        }
        let change = move |total| {
            let (before, after) = self.ends(total);
            (
                before.unwrap_or(0),
                after.unwrap_or(0) - before.unwrap_or(0),
            )
        };
        let of_delta = totals.clone();
        columns.push(Column::new("delta", Layout::Number, move |row: usize| {
            Cell::Delta(change(of_delta[row]).1)
        }));
        columns.push(Column::new("%", Layout::Percent, move |row: usize| {
            let (before, delta) = change(totals[row]);
            Cell::change(delta, before)
        }));
        Table::new(columns, rows)
    }
}
