//! A diff as a comment on a pull request.
//!
//! The comment begins with a constant marker line, so that a program can find and replace the previous comment. Rows beyond
//! the size of a comment are only counted.

use cg_document::comment::fit_items;
use cg_document::{Block, Cell, Column, Document, Layout, Span, Table, number};
use cg_stream::record::Count;

use super::Diffs;
use crate::options::Options;
use crate::report::arrange;

/// The first line of the comment, `<!-- cg-diff -->`.
const MARKER: &str = "cg-diff";

/// The default number of visible rows.
const OPEN_ROWS: usize = 10;

/// The maximum number of folded rows. People read comments, so more would be useless.
const FOLDED_ROWS: usize = 500;

impl Diffs<'_> {
    /// Renders the diff as a comment on a pull request.
    pub(super) fn comment(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        let rows = self.records.len();
        let (open, folded) = match options.top {
            Some(_) => (options.rows().min(rows), 0),
            None => (OPEN_ROWS.min(rows), FOLDED_ROWS.min(rows)),
        };
        fit_items(open + folded, |rows| {
            self.comment_with_rows(rows, open.min(rows), options)
        })
    }

    /// Renders the comment with the first `shown` rows, of which `open` are visible and the others are folded.
    fn comment_with_rows(
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
                // The totals have a separate table.
                column.total = Cell::Empty;
            }
            Ok(table)
        };
        let (open, folded) = all.rows.split_at(open.min(all.rows.len()));

        let mut document = Document::default();
        document.push(Block::Marker(MARKER));
        document.blocks.extend(self.errors());
        document.push(Block::Heading(self.verdict(options)?));
        document.push(Block::Text(format!(
            "{}: {}",
            self.title,
            self.status_counts()
        )));
        document.blocks.extend(self.limits());
        document.blocks.extend(self.causes(&events, options));
        let benchmarks = self.benchmarks(&events, options);
        match benchmarks.is_empty() {
            false => document.blocks.extend(benchmarks),
            true => document.push(Block::Table(self.totals())),
        }
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

    /// Returns a table with one row per event: the total of each run, the difference and the change.
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
        let delta_totals = totals.clone();
        columns.push(Column::new("delta", Layout::Number, move |row: usize| {
            Cell::Delta(change(delta_totals[row]).1)
        }));
        columns.push(Column::new("%", Layout::Percent, move |row: usize| {
            let (before, delta) = change(totals[row]);
            Cell::change(delta, before)
        }));
        Table::new(columns, rows)
    }
}
