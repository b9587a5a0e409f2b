//! The HTML page: a viewer with the data of a whole profile, or a document if the user requested a single view.
//!
//! The viewer (`cg_viewer::Viewer`) is a shell and a script; here its data are collected: the rows of `-f csv`, stacks
//! as a tree, calls, lines and the text of these, snapshots.

use std::io::Write;

use cg_document::html::{self, Tone};
use cg_document::number::{grouped, plural, signed};
use cg_document::{Block, Document, Graph, Markup, Span, draw_chart};
use cg_names::code_origin::CodeOwner;
use cg_profile::Profile;
use cg_stream::record::{Count, RecordType, RunRecord};
use cg_tool::Diagnostics;
use cg_viewer::{PageData, Viewer, write_viewer};
use serde_json::{Value, json};

use crate::options::{Options, OutputFormat, View};
use crate::read::ReadProfile;
use crate::report::diff::Diffs;
use crate::report::{Report, lack, origin};

mod code;
mod events;
mod functions;
mod inlined;
mod lead;
mod rows;
mod runs;
mod stacks;

use code::Code;
use events::EventWords;
use functions::PageFunctions;
use rows::{PageRows, RowSource};
use runs::FilesOfDiff;
use stacks::StackForest;

/// The number of rows that the page shows without its script.
const STATIC_ROWS: usize = 100;

/// Writes the page.
///
/// # Errors
/// Returns an error if a report cannot be made or the output cannot be written.
pub(crate) fn write(
    read: &ReadProfile,
    options: &Options,
    out: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    let profile = &read.profile;
    let people = &Options {
        view: match options.is_full_page() {
            true => View::List,
            false => options.view.clone(),
        },
        ..options.clone()
    };
    let report = Report::choose(profile, people)?;
    let mut document = report.document(people, diagnostics)?;
    if !options.is_full_page() || matches!(report, Report::History(_)) {
        read.insert_loss_sentence(&mut document);
        return Ok(html::write(&document, Tone::Plain, out)?);
    }
    let programs = Options {
        format: OutputFormat::Csv,
        ..people.clone()
    };
    if let Some(command) = remedy_for_filtered(read, options) {
        diagnostics.warn(format!(
            "the page lacks calls, lines or stacks, which the filter did not read; this command keeps them: {command}"
        ));
    }
    if profile.is_filtered()
        && let Some(command) = lack::remedy_for_times(profile, options)
    {
        diagnostics.warn(format!(
            "the page lacks the order of time, which the filter did not read; this command keeps it: {command}"
        ));
    }
    let source = RowSource::choose(profile, &programs)?;
    let rows = source.rows(&programs)?;
    let events = EventWords::list(&rows.events, profile);
    let mut page = PageContent::default();
    page.add_rows(&rows, &events, profile);
    page.add_stacks_and_code(read, &source, &rows, options)?;
    page.add_snapshots(profile);
    let static_rows = rows.first(STATIC_ROWS);
    let mut words = PageWords::new(document, (&source, &rows), profile);
    let parts = (&source, &rows, profile);
    let first = events.first().cloned().unwrap_or_default();
    lead::complete(&mut words.lead, parts, (&first, &page.estimated));
    words.lead.splice(0..0, read.loss_sentence()).for_each(drop);
    let data = page.packed(&words)?;
    let viewer = Viewer {
        title: &words.title,
        lead: &words.lead,
        notes: &words.static_notes(&source),
        rows: &static_rows,
        data: &data,
    };
    Ok(write_viewer(&viewer, out)?)
}

/// Returns the command for a complete page, if a filter read a raw profile without the records that some views need.
fn remedy_for_filtered(read: &ReadProfile, options: &Options) -> Option<String> {
    let profile = &read.profile;
    let has = |kind| !profile.table(kind).is_empty();
    let has_all = has(RecordType::Call) && has(RecordType::Line) && has(RecordType::Stack);
    let is_lacking = profile.is_filtered() && has(RecordType::Fn) && !has_all;
    is_lacking.then(|| lack::remedy(profile, "--calls --lines --stacks", options))?
}

/// The sentences and the graph of a report.
struct PageWords {
    title: String,
    lead: Vec<String>,
    notes: Vec<String>,
    graph: Option<Graph>,
}

impl PageWords {
    fn new(
        document: Document<'_>,
        (source, rows): (&RowSource<'_>, &PageRows<'_>),
        profile: &Profile,
    ) -> PageWords {
        let mut words = PageWords {
            title: String::new(),
            lead: Vec::new(),
            notes: Vec::new(),
            graph: None,
        };
        for block in document.blocks {
            match block {
                Block::Heading(title) if words.title.is_empty() => words.title = title,
                Block::Text(sentence) => words.lead.push(sentence),
                Block::Graph(graph) => words.graph = Some(graph),
                Block::Verbatim(lines) => words.lead.extend(lines),
                // The list has the totals of the leak kinds.
                Block::List(lines) if rows.are_findings() => {
                    let lines = lines.into_iter();
                    let lines = lines.map(|line| line.iter().map(Span::words).collect());
                    words.lead.extend(lines);
                }
                _ => {}
            }
        }
        // Notes of other reports describe omissions of the report, but a page omits nothing.
        if let RowSource::Diff(diffs) = source {
            let notes = diffs.notes().into_iter();
            words.notes.extend(notes.filter_map(|block| match block {
                Block::Note(sentence) | Block::Text(sentence) => Some(sentence),
                _ => None,
            }));
        }
        if words.title.is_empty() {
            words.title = origin::origin(profile).unwrap_or_else(|| "profile".to_owned());
        }
        words
    }

    /// Returns the notes for browsers without scripts: the notes, and the greatest causes of a difference.
    fn static_notes(&self, source: &RowSource<'_>) -> Vec<String> {
        let mut notes = self.notes.clone();
        if let RowSource::Diff(diffs) = source {
            let event = diffs.event_names().first().copied().unwrap_or_default();
            let delta = |deltas: &[Count]| signed(deltas.first().copied().unwrap_or(0));
            for cause in diffs.described_causes().take(MOST_LISTED) {
                let details = cause.details.iter().take(MOST_DETAILS);
                let details: Vec<String> = details
                    .map(|(words, deltas)| format!("{words} {}", delta(deltas)))
                    .collect();
                notes.push(format!(
                    "{} {event}: {}{}: {}",
                    delta(&cause.deltas),
                    cause.function,
                    cause.words,
                    details.join("; ")
                ));
            }
        }
        notes
    }
}

/// The maximum number of causes of a page.
const MOST_LISTED: usize = 10;

/// The maximum number of details of a cause of a page.
const MOST_DETAILS: usize = 6;

/// The contents of a page under construction.
#[derive(Default)]
struct PageContent {
    data: PageData,
    functions: PageFunctions,
    notes: Vec<String>,
    /// For each event, the cost of estimated stacks in the run, or in both runs of a diff. Empty if no stacks are estimated.
    estimated: Vec<[Count; 2]>,
}

impl PageContent {
    /// Adds the rows, and the events that they count.
    fn add_rows(&mut self, rows: &PageRows<'_>, words: &[EventWords], profile: &Profile) {
        let header = &mut self.data.header;
        let owners = CodeOwner::ALL.map(CodeOwner::word);
        header.insert("whose".to_owned(), json!(owners));
        header.insert("findings".to_owned(), rows.are_findings().into());
        header.insert("levels".to_owned(), json!(rows.levels));
        header.insert("notCompared".to_owned(), json!(rows.not_compared));
        let events = words.iter().zip(&rows.events);
        let events: Vec<Value> = events
            .map(|(event, (_, totals))| event.in_header(totals))
            .collect();
        header.insert("events".to_owned(), events.into());
        for total in rows.events.iter().flat_map(|(_, total)| total) {
            self.data.note_sum(total.unsigned_abs());
        }
        rows.write(&mut self.functions, &mut self.data);
        if rows
            .kinds
            .iter()
            .any(|kind| kind.has_stack() && *kind != RecordType::Heap)
        {
            rows.write_stacks(profile, (&mut self.functions, &mut self.data));
        }
        rows.write_heap_stacks(profile, (&mut self.functions, &mut self.data));
    }

    fn add_stacks_and_code(
        &mut self,
        read: &ReadProfile,
        source: &RowSource<'_>,
        rows: &PageRows<'_>,
        options: &Options,
    ) -> anyhow::Result<()> {
        let names: Vec<String> = rows.events.iter().map(|(name, _)| name.clone()).collect();
        let mut code = Code::new(names.len());
        let columns: Vec<String> = match source {
            RowSource::Diff(_) => (0..names.len())
                .flat_map(|at| [format!("old.{at}"), format!("new.{at}")])
                .collect(),
            _ => (0..names.len()).map(|at| format!("cost.{at}")).collect(),
        };
        let mut forest = StackForest::new(columns.len());
        let profile = &read.profile;
        if let RowSource::Diff(diffs) = source {
            self.add_runs(profile, diffs, &names, (rows, &mut forest, &mut code))?;
        } else {
            let of = positions(profile, &names);
            code.add(profile, None, &of, (&mut self.functions, &mut self.data));
            let stacks = read.estimated.as_ref().unwrap_or(profile);
            let chains = Some(profile).filter(|_| read.estimated.is_some());
            forest.inline(chains, &of, (&mut self.functions, &mut self.data));
            self.add_forest(&mut forest, stacks, (&names, rows.levels.as_deref(), None));
            let timed = read.timed.as_ref().unwrap_or(profile);
            let of = positions(timed, &names);
            if chains.is_none() && !profile.table(RecordType::Inline).is_empty() {
                self.notes.push(
                    "the stacks are chains of inlined functions without their callers, because the input cannot be read twice"
                        .to_owned(),
                );
            }
            let of_page = (&mut self.functions, &mut self.data);
            let is_of_slices = |run: &RunRecord| run.tool.as_deref() == Some("trace-events");
            forest.has_spans = timed.runs().iter().all(is_of_slices);
            if !forest.add_samples(timed, &of, of_page) {
                let samples = grouped(timed.table(RecordType::Stack).len() as Count);
                self.notes.push(format!(
                    "{samples} samples are too many for a page, so it has no view of samples over time"
                ));
            }
        }
        let has_stacks = !forest.is_empty();
        if has_stacks {
            let is_estimated = !self.estimated.is_empty();
            let of_page = (&mut self.functions, &mut self.data);
            let left_out = forest.write(&columns, is_estimated, of_page);
            if left_out > 0 {
                self.notes.push(plural(
                    left_out as Count,
                    "frame is too narrow for a page; its cost is in one frame below its caller",
                    "frames are too narrow for a page; their cost is in one frame below their callers",
                ));
            }
        }
        let header = &mut self.data.header;
        header.insert("calls".to_owned(), code.has_calls().into());
        header.insert("lines".to_owned(), code.has_lines().into());
        code.write(&options.places, &mut self.data);
        self.functions.write(has_stacks, &mut self.data);
        Ok(())
    }

    /// Adds the causes of a diff, and the code and stacks of its two runs if their files still exist unchanged.
    fn add_runs(
        &mut self,
        profile: &Profile,
        diffs: &Diffs<'_>,
        names: &[String],
        (rows, forest, code): (&PageRows<'_>, &mut StackForest, &mut Code),
    ) -> anyhow::Result<()> {
        rows.write_diff_stacks(&diffs.records, (&mut self.functions, &mut self.data));
        let runs = 0..diffs.run_columns().len();
        let runs: Vec<String> = runs.map(|run| diffs.run_name(run)).collect();
        let texts =
            |deltas: &[Count]| -> Vec<String> { deltas.iter().map(Count::to_string).collect() };
        let causes: Vec<Value> = diffs
            .described_causes()
            .take(MOST_LISTED)
            .map(|cause| {
                let details = cause.details.iter().take(MOST_DETAILS);
                let details = details.map(|(words, deltas)| json!([words, texts(deltas)]));
                let details: Vec<Value> = details.collect();
                json!([cause.function, cause.words, texts(&cause.deltas), details])
            })
            .collect();
        let count = diffs.causes.len();
        let header = &mut self.data.header;
        header.insert("runs".to_owned(), json!(runs));
        header.insert("compared".to_owned(), json!(diffs.compared()));
        header.insert("shares".to_owned(), diffs.is_by_shares().into());
        header.insert("causes".to_owned(), causes.into());
        header.insert("causeCount".to_owned(), count.into());
        let files = FilesOfDiff::read(profile, diffs, names)?;
        if let Some(sums) = &files.sums {
            let sums = sums.iter().map(|one| texts(one)).collect();
            header.insert("sums".to_owned(), sums);
        }
        let Some(runs) = files.pair else {
            if files.sums.is_some() {
                self.notes.push(
                    "no lines, calls and stacks: the page of one benchmark has them".to_owned(),
                );
                return Ok(());
            }
            // A diff of heaps needs no note, because its rows have all stacks.
            if diffs
                .records
                .iter()
                .any(|record| *record.of != *RecordType::Heap.name())
            {
                self.notes.push("no lines, calls and stacks: the files of the two profiles are missing or have changed".to_owned());
            }
            forest.add_diff(diffs, names, (&mut self.functions, &mut self.data));
            return Ok(());
        };
        let [old, new] = &runs;
        self.functions.join_programs(&old.code, &new.code);
        // Add the new run first, because the page shows its names.
        for (side, run) in runs.iter().enumerate().rev() {
            if side == 0 {
                self.functions.join_renamed(&diffs.records);
            }
            let of = positions(&run.code, names);
            let of_page = (&mut self.functions, &mut self.data);
            code.add(&run.code, Some(side), &of, of_page);
            self.add_forest(forest, run.stacks(), (names, None, Some(side)));
        }
        Ok(())
    }

    /// Adds the stacks of all record types in the profile.
    fn add_forest(
        &mut self,
        forest: &mut StackForest,
        profile: &Profile,
        (names, levels, side): (&[String], Option<&str>, Option<usize>),
    ) {
        let has_points = !profile.table(RecordType::ProgramPoint).is_empty();
        let of = positions(profile, names);
        for kind in profile.types().filter(|kind| kind.has_stack()) {
            // Program points already contain the heap, except its contents at each snapshot.
            if kind == RecordType::Heap && has_points && levels.is_none() {
                continue;
            }
            self.note_estimates(profile, kind, (&of, side.unwrap_or(0)));
            let of_page = (&mut self.functions, &mut self.data);
            forest.add_records(profile, kind, (&of, side), of_page);
        }
    }

    /// Adds the costs of estimated stacks of this side.
    fn note_estimates(
        &mut self,
        profile: &Profile,
        kind: RecordType,
        (events, side): (&[Option<usize>], usize),
    ) {
        let table = profile.table(kind);
        for row in (0..table.len()).filter(|row| table.numbers().estimated.get(*row) == Some(true))
        {
            self.estimated.resize(events.len(), [0; 2]);
            for (sums, event) in self.estimated.iter_mut().zip(events) {
                sums[side] += event.map_or(0, |event| table.count(row, event));
            }
        }
    }

    /// Adds the snapshots of a heap: number, time, bytes.
    fn add_snapshots(&mut self, profile: &Profile) {
        let snapshots = profile.snapshots();
        let is_of_one_run = profile.runs().len() <= 1;
        if !is_of_one_run || snapshots.iter().any(|one| one.run.is_some()) {
            return;
        }
        let listed: Vec<Value> = snapshots
            .iter()
            .map(|one| {
                let bytes = one.total().to_string();
                json!([one.snapshot, one.time, bytes, one.detail, one.event])
            })
            .collect();
        self.data
            .header
            .insert("snapshots".to_owned(), listed.into());
    }

    fn packed(mut self, words: &PageWords) -> std::io::Result<Vec<u8>> {
        let notes: Vec<&String> = words.notes.iter().chain(&self.notes).collect();
        self.data.header.insert("notes".to_owned(), json!(notes));
        if let Some(graph) = &words.graph {
            let mut chart = Markup::default();
            draw_chart(graph, &mut chart);
            let chart = chart.into_string();
            self.data.header.insert("chart".to_owned(), chart.into());
        }
        if !self.estimated.is_empty() {
            let sums = self.estimated.iter();
            let sums: Value = sums
                .map(|of| json!(of.map(|sum| sum.to_string())))
                .collect();
            self.data.header.insert("estimated".to_owned(), sums);
        }
        self.data.packed()
    }
}

/// Returns the positions of the events with these names.
fn positions(profile: &Profile, names: &[String]) -> Vec<Option<usize>> {
    names.iter().map(|name| profile.event(name)).collect()
}
