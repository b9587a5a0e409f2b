//! The sentences about a diff, and its listing for a terminal or a pipe.

use std::borrow::Cow;

use cg_document::{Audience, Block, Cell, Cut, Document, number};
use cg_stream::record::{CodeChange, Count, DiffRecord, PerRun, Status};

use super::Diffs;
use crate::options::{Options, OutputFormat};
use crate::report::arrange;

/// The maximum number of notes to show, because many comparisons can have many notes.
const MOST_NOTES: usize = 10;

impl Diffs<'_> {
    /// Renders the diff for a terminal or a pipe.
    pub(super) fn listing(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        let events = self.events(options)?;
        let first = events.first().map(|event| event.name);
        let mut document = Document::default();
        document.blocks.extend(self.errors());
        document.push(Block::Heading(format!("cg-diff: {}", self.title)));
        if options.format == OutputFormat::Html || self.is_suite {
            document.push(Block::Text(self.verdict(options)?));
        }
        document.push(Block::Text(self.status_counts()));
        document.blocks.extend(self.limits());
        if options.format.is_for_people() {
            document.blocks.extend(self.benchmarks(&events, options));
            document.blocks.extend(self.causes(&events, options));
        }
        if !options.wants_listing() {
            document
                .blocks
                .extend(self.graph(options).map(Block::Graph));
        }
        let mut table = self.table(&events);
        arrange::sort(&mut table, options.sort.as_deref(), first, options)?;
        let cut = arrange::cut(&mut table, options.rows(), self.measure(), first);
        arrange::choose_columns(&mut table, first, options)?;
        if table.rows.is_empty() && options.format.is_for_people() {
            if options.format != OutputFormat::Html && !self.is_suite {
                document.push(Block::Text(self.verdict(options)?));
            }
        } else {
            document.push(Block::Table(table));
        }
        if let Some(cut) = cut {
            let share = self.share(&cut, first);
            document.push(arrange::left_out(&cut, self.noun(cut.rows), share));
        }
        let hidden = events
            .iter()
            .filter(|event| event.audience == Audience::Programs);
        let hidden: Vec<&str> = hidden.map(|event| event.name).collect();
        document.blocks.extend(arrange::hidden(&hidden, options));
        document.blocks.extend(self.notes());
        Ok(document)
    }

    /// Returns the result in one line: broken limits, and the change of the first event's total.
    pub(super) fn verdict(&self, options: &Options) -> anyhow::Result<String> {
        let limits = match self.summary.broken_limits.as_deref() {
            None => "",
            Some([]) => "within limits: ",
            Some([_]) => "a limit is broken: ",
            Some(_) => "limits are broken: ",
        };
        let events = self.events(options)?;
        let Some(event) = events.first() else {
            return Ok(format!("{limits}no events to compare"));
        };
        if let Some(changes) = self.changed_benchmarks(event.name) {
            return Ok(format!("{limits}{changes}"));
        }
        let (before, after) = self.ends(event.total);
        let (before, after) = (before.unwrap_or(0), after.unwrap_or(0));
        if self.is_by_shares() {
            return Ok(format!(
                "{limits}shares of {} and {} {}",
                number::grouped(before),
                number::grouped(after),
                event.name
            ));
        }
        if self.runs.len() == 1 {
            return Ok(format!("{limits}{} {}", event.name, number::grouped(after)));
        }
        if before == after {
            return Ok(format!(
                "{limits}{} unchanged at {}",
                event.name,
                number::grouped(after)
            ));
        }
        let change = Cell::change(after - before, before)
            .percentage()
            .map(|percent| format!("{} ", number::signed_percent(percent)))
            .unwrap_or_default();
        Ok(format!(
            "{limits}{} {change}({} → {}, {})",
            event.name,
            number::grouped(before),
            number::grouped(after),
            number::signed(after - before)
        ))
    }

    /// Returns the numbers of records by status.
    pub(super) fn status_counts(&self) -> String {
        let rows: Vec<(Status, u64)> = match self.summary.rows.is_empty() {
            true => self.statuses(),
            false => self
                .summary
                .rows
                .iter()
                .map(|(status, rows)| (*status, *rows))
                .collect(),
        };
        let parts: Vec<String> = rows
            .iter()
            .filter(|(_, rows)| *rows > 0)
            .map(|(status, rows)| {
                format!("{} {}", number::grouped(Count::from(*rows)), status.name())
            })
            .collect();
        let differs = |total: &PerRun| total.0.windows(2).any(|pair| pair[0] != pair[1]);
        match parts.is_empty() {
            // Counters and benchmarks have only totals.
            true if self.totals.iter().any(differs) => {
                "the totals differ, but the profiles contain no records that locate the change"
                    .to_owned()
            }
            true => "no differences".to_owned(),
            false => parts.join(", "),
        }
    }

    /// Returns a line for each broken limit, up to a readable number.
    pub(super) fn limits<'a>(&self) -> Vec<Block<'a>> {
        const MOST: usize = 25;
        let broken = self.summary.broken_limits.as_deref().unwrap_or_default();
        let listed = broken.iter().take(MOST);
        let mut lines: Vec<String> = listed
            .map(|limit| format!("limit broken: {}", shortened(limit)))
            .collect();
        if broken.len() > MOST {
            lines.push(number::plural(
                (broken.len() - MOST) as Count,
                "more limit is broken",
                "more limits are broken",
            ));
        }
        lines.into_iter().map(Block::Text).collect()
    }

    /// Returns the errors of the comparison. They precede all figures, so that readers notice the incomplete comparison.
    pub(super) fn errors<'a>(&self) -> Vec<Block<'a>> {
        let errors = self.summary.errors.iter().take(MOST_NOTES);
        errors
            .map(|error| Block::Text(format!("incomplete comparison: {}", shortened(error))))
            .collect()
    }

    /// Returns the sum of the changes of the omitted rows.
    pub(super) fn share(&self, cut: &Cut, first: Option<&str>) -> Option<String> {
        let event = first.filter(|_| self.measure().is_some())?;
        Some(format!("{} {event}", number::signed(cut.sum)))
    }

    /// Returns one line about the rows whose names differ between the runs.
    fn matches(&self, guesses: usize, by_code: usize) -> Option<String> {
        let rows = |rows: Count, words: &str| {
            (rows > 0).then(|| format!("{} {words}", number::grouped(rows)))
        };
        let summary = &self.summary;
        // Older streams have only the counts by rule. A row can match by several rules.
        let by_rule = summary.joined.values().copied().max().unwrap_or(0);
        let matched = summary.matched.max(by_rule);
        let parts = [
            rows(matched.into(), "matched despite different names"),
            rows(guesses as Count, "guessed by likeness"),
            rows(by_code as Count, "guessed by machine code"),
            rows(summary.merged.into(), "with several functions"),
        ];
        let mut parts = parts.into_iter().flatten();
        let first = parts.next()?;
        // The noun follows the first number: `3 rows matched`, `1 row guessed`.
        let (count, words) = first.split_once(' ')?;
        let noun = if count == "1" { "row" } else { "rows" };
        let others: String = parts.map(|part| format!(", {part}")).collect();
        Some(format!(
            "{count} {noun} {words}{others}; cg-diff --list-matches shows them"
        ))
    }

    /// Returns notes about the origin of the figures.
    pub(crate) fn notes<'a>(&self) -> Vec<Block<'a>> {
        let summary = &self.summary;
        let mut notes = Vec::new();
        let is_same_code = |record: &&DiffRecord| record.code == Some(CodeChange::Same);
        let guesses = self.records.iter().filter(|record| record.guess);
        let by_code = guesses.clone().filter(is_same_code).count();
        let guesses = guesses.count() - by_code;
        notes.extend(self.matches(guesses, by_code));
        if let Some(statistic) = &summary.statistic {
            let files: Vec<String> = summary.files.iter().map(u64::to_string).collect();
            notes.push(format!(
                "figures are the {statistic} over several files per side ({})",
                files.join(", ")
            ));
        }
        let sentences = summary.notes.iter().take(MOST_NOTES);
        notes.extend(sentences.map(|note| shortened(note).into_owned()));
        if summary.notes.len() > MOST_NOTES {
            notes.push(number::plural(
                (summary.notes.len() - MOST_NOTES) as Count,
                "more note like these",
                "more notes like these",
            ));
        }
        notes.into_iter().map(Block::Note).collect()
    }
}

/// Shortens a sentence in the middle if it is too long. A few sentences with long names or commands would fill a comment.
fn shortened(sentence: &str) -> Cow<'_, str> {
    const LONGEST: usize = 1_000;
    let length = sentence.chars().count();
    if length <= LONGEST {
        return sentence.into();
    }
    let start: String = sentence.chars().take(LONGEST / 2).collect();
    let end: String = sentence.chars().skip(length - LONGEST / 2).collect();
    format!("{start}…{end}").into()
}
