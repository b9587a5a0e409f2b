//! A diff as text for people: what is said around its table, and the comment for a pull request.
//!
//! The comment begins with a marker line that stays the same, so whoever posts it can find and replace the one before.
//! It fits into what GitHub takes: rows that would be too much are counted, not written.

use std::borrow::Cow;

use cg_stream::record::{Count, Status};

use crate::diffs::Diffs;
use crate::options::Options;
use cg_document::comment::fitting;
use cg_document::number;
use cg_document::{Block, Document, Span};

use crate::report;
use cg_document::{Audience, Cell, Column, Cut, Layout, Table};

/// The first line of the comment, `<!-- cg-diff -->`.
const MARKER: &str = "cg-diff";

/// How many rows stand open where nobody says how many.
const OPEN_ROWS: usize = 10;

/// How many rows are folded away at most: a comment is read by people.
const FOLDED_ROWS: usize = 500;

/// How many notes of the comparisons are told; many comparisons have many.
const MOST_NOTES: usize = 10;

/// A diff for a terminal or a pipe.
pub(crate) fn document<'a>(
    diffs: &'a Diffs<'_>,
    options: &Options,
) -> anyhow::Result<Document<'a>> {
    let events = diffs.events(options)?;
    let mut document = Document::default();
    document.push(Block::Heading(format!("cg-diff: {}", diffs.title)));
    document.push(Block::Text(census(diffs)));
    push_limits(&mut document.blocks, diffs);
    let first = events.first().map(|event| event.name);
    let mut table = diffs.table(&events);
    let cut = report::arrange(&mut table, first, measure(diffs), options)?;
    if table.rows.is_empty() && options.format.is_for_people() {
        document.push(Block::Text(verdict(diffs, options)?));
    } else {
        document.push(Block::Table(table));
    }
    if let Some(cut) = cut {
        document.push(Block::Note(left_out(diffs, &cut, first, true)));
    }
    let hidden = events
        .iter()
        .filter(|event| event.audience == Audience::Programs);
    let hidden: Vec<&str> = hidden.map(|event| event.name).collect();
    report::push_hidden(&mut document, &hidden, options);
    for note in notes(diffs) {
        document.push(Block::Note(note));
    }
    Ok(document)
}

/// A diff as a comment on a pull request.
pub(crate) fn pull_request<'a>(
    diffs: &'a Diffs<'_>,
    options: &Options,
) -> anyhow::Result<Document<'a>> {
    let rows = diffs.records.len();
    let (open, folded) = match options.top {
        Some(_) => (options.rows().min(rows), 0),
        None => (OPEN_ROWS.min(rows), FOLDED_ROWS.min(rows)),
    };
    fitting(open + folded, |rows| {
        let open = open.min(rows);
        comment(diffs, open, rows - open, options)
    })
}

fn comment<'a>(
    diffs: &'a Diffs<'_>,
    open: usize,
    folded: usize,
    options: &Options,
) -> anyhow::Result<Document<'a>> {
    let events = diffs.events(options)?;
    let first = events.first().map(|event| event.name);
    let mut document = Document::default();
    document.push(Block::Marker(MARKER));
    document.push(Block::Heading(verdict(diffs, options)?));
    document.push(Block::Text(format!("{}: {}", diffs.title, census(diffs))));
    push_limits(&mut document.blocks, diffs);
    document.push(Block::Table(totals(diffs)));

    let mut top = diffs.table(&events);
    let mut rest = diffs.table(&events);
    let all = Options {
        top: Some(crate::options::Top::All),
        ..options.clone()
    };
    report::arrange(&mut top, first, None, &all)?;
    report::arrange(&mut rest, first, None, &all)?;
    let measure = first
        .filter(|_| measure(diffs).is_some())
        .map(|event| format!("{event}.delta"));
    let mut sums = diffs.table(&events);
    sums.rows.clone_from(&top.rows);
    let cut = sums.cut(open + folded, measure.as_deref());
    top.rows.truncate(open);
    rest.rows = rest.rows.into_iter().skip(open).take(folded).collect();
    for table in [&mut top, &mut rest] {
        // The totals have a table of their own.
        for column in &mut table.columns {
            column.total = Cell::Empty;
        }
    }
    if !top.rows.is_empty() {
        document.push(Block::Table(top));
    }
    if !rest.rows.is_empty() {
        let count = rest.rows.len();
        document.push(Block::Details {
            summary: vec![Span::text(format!(
                "{} more {}",
                number::grouped(count as Count),
                diffs.noun(count)
            ))],
            blocks: vec![Block::Table(rest)],
        });
    }
    if let Some(cut) = cut {
        document.push(Block::Note(left_out(diffs, &cut, first, false)));
    }
    for note in notes(diffs) {
        document.push(Block::Note(note));
    }
    Ok(document)
}

/// The line that says how it went: the broken limits where there are any, and the change of the first event's total.
fn verdict(diffs: &Diffs, options: &Options) -> anyhow::Result<String> {
    let limits = match diffs.summary.broken_limits.as_deref() {
        None => "",
        Some([]) => "within limits: ",
        Some([_]) => "a limit is broken: ",
        Some(_) => "limits are broken: ",
    };
    let events = diffs.events(options)?;
    let Some(event) = events.first() else {
        return Ok(format!("{limits}no events to compare"));
    };
    let (before, after) = diffs.ends(event.total);
    let (before, after) = (before.unwrap_or(0), after.unwrap_or(0));
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

/// How many records there are of each status.
fn census(diffs: &Diffs) -> String {
    let rows: Vec<(Status, u64)> = match diffs.summary.rows.is_empty() {
        true => diffs.statuses(),
        false => diffs
            .summary
            .rows
            .iter()
            .map(|(status, rows)| (*status, *rows))
            .collect(),
    };
    let parts: Vec<String> = rows
        .iter()
        .filter(|(_, rows)| *rows > 0)
        .map(|(status, rows)| format!("{} {}", number::grouped(Count::from(*rows)), status.name()))
        .collect();
    match parts.is_empty() {
        true => "no differences".to_owned(),
        false => parts.join(", "),
    }
}

/// Names the limits that are broken, as many as anybody reads.
fn push_limits(blocks: &mut Vec<Block>, diffs: &Diffs) {
    const MOST: usize = 25;
    let broken = diffs.summary.broken_limits.as_deref().unwrap_or_default();
    for limit in broken.iter().take(MOST) {
        blocks.push(Block::Text(format!("limit broken: {}", shortened(limit))));
    }
    if broken.len() > MOST {
        blocks.push(Block::Text(format!(
            "{} more limits are broken",
            number::grouped((broken.len() - MOST) as Count)
        )));
    }
}

/// A sentence without its middle, where names or commands in it are so long that a few such would fill a comment.
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

/// A row an event: the total of each run, the difference and the change.
fn totals<'a>(diffs: &'a Diffs<'_>) -> Table<'a> {
    let events = diffs.all_events();
    let rows = (0..events.len()).collect();
    let names: Vec<&str> = events.iter().map(|(name, _)| *name).collect();
    let totals: Vec<_> = events.iter().map(|(_, total)| *total).collect();
    let mut columns = vec![Column::new("total", Layout::Text, move |row: usize| {
        Cell::Name(names[row])
    })];
    for run in 0..diffs.runs.len() {
        let totals = totals.clone();
        columns.push(Column::new(
            diffs.run_title(run),
            Layout::Number,
            move |row: usize| Cell::count(totals[row].0.get(run).copied().flatten()),
        ));
    }
    let change = move |total| {
        let (before, after) = diffs.ends(total);
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

/// The column that says what was cut: inclusive cost does not add up.
fn measure(diffs: &Diffs) -> Option<&'static str> {
    (!diffs.is_inclusive()).then_some("delta")
}

/// The closing line of a diff that was cut.
fn left_out(diffs: &Diffs, cut: &Cut, first: Option<&str>, with_flag: bool) -> String {
    let share = first
        .filter(|_| measure(diffs).is_some())
        .map(|event| format!("{} {event}", number::signed(cut.sum)));
    let line = report::left_out(cut, diffs.noun(cut.rows), share);
    match with_flag {
        true => line,
        false => line.replace(" (--top all)", ""),
    }
}

/// What a reader of the figures should know of how they came about.
fn notes(diffs: &Diffs) -> Vec<String> {
    let summary = &diffs.summary;
    let mut notes = Vec::new();
    if !summary.joined.is_empty() {
        let rules: Vec<String> = summary
            .joined
            .iter()
            .map(|(rule, rows)| format!("{rule} ({})", number::grouped(Count::from(*rows))))
            .collect();
        notes.push(format!(
            "joined across different names by {} (--exact joins equal names only)",
            rules.join(", ")
        ));
    }
    if summary.merged > 0 {
        notes.push(format!(
            "rows that sum several functions of one run, whose names mean the same: {}",
            number::grouped(Count::from(summary.merged))
        ));
    }
    if let Some(statistic) = &summary.statistic {
        let files: Vec<String> = summary.files.iter().map(u64::to_string).collect();
        notes.push(format!(
            "figures are the {statistic} over several files a side ({})",
            files.join(", ")
        ));
    }
    let sentences = summary.notes.iter().take(MOST_NOTES);
    notes.extend(sentences.map(|note| shortened(note).into_owned()));
    if summary.notes.len() > MOST_NOTES {
        notes.push(format!(
            "{} more notes like these",
            number::grouped((summary.notes.len() - MOST_NOTES) as Count)
        ));
    }
    notes
}
