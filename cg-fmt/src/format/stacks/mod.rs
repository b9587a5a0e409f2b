//! The stacks for stack formats: the stacks of one record type or of the rows of a diff, with the counts that the format can
//! hold.
//!
//! The formats do not know record types or diffs. They see stacks with frames and a count for each
//! [column](WrittenStacks::columns).

use anyhow::{bail, ensure};
use cg_collections::sorting::Order as _;
use cg_document::number::{percent, plural};
use cg_profile::Profile;
use cg_stream::record::{Count, Frame, RecordType};
use cg_tool::Diagnostics;

use crate::format::holds::{FormatHolds, Held, choose};
use crate::format::names::WrittenNames;
use crate::options::{Events, Options, View};
use crate::report::diff::{self, Diffs};
use crate::report::events::{find_events, has_event};
use crate::report::kinds::noun;
use crate::report::origin::origin;

mod frames;
mod lack;
mod losses;
mod nodes;
mod rows;
mod text;

use frames::FrameSet;
pub(crate) use losses::Losses;
pub(crate) use nodes::{InnerNeighbours, StackNodeId, StackNodes, WrittenFrameId};
pub(crate) use rows::{StackRow, StackRows, Whereabouts};
pub(crate) use text::{FrameTexts, frame_name};

/// Record types with stacks, preferred types first. Other types come last.
const PREFERRED: [RecordType; 6] = [
    RecordType::Stack,
    RecordType::Inline,
    RecordType::Heap,
    RecordType::ProgramPoint,
    RecordType::Leak,
    RecordType::Error,
];

/// The stacks to write.
pub(crate) struct WrittenStacks<'a> {
    profile: &'a Profile,
    /// The properties that the format can hold.
    pub(crate) holds: &'static FormatHolds,
    source: StackSource<'a>,
    /// The events, in the order of the profile.
    pub(crate) events: Vec<String>,
    /// In a diff, the names of the two runs whose counts are side by side.
    pub(crate) runs: Option<[String; 2]>,
    pub(crate) nouns: [&'static str; 2],
    names: WrittenNames,
}

enum StackSource<'a> {
    /// The rows of a type, the positions of the events, and the snapshot if there are several.
    Rows(RecordType, Vec<usize>, Option<u64>),
    /// A diff, and the positions of its rows with stacks.
    Diff(Box<Diffs<'a>>, Vec<usize>),
}

/// A stack with its counts.
#[derive(Clone, Copy)]
pub(crate) struct CountedStack<'s, 'a> {
    set: &'s FrameSet<'a>,
    /// The numbers of the frames, innermost first; at least one.
    numbers: &'s [usize],
    /// One entry per [column](WrittenStacks::columns).
    pub(crate) counts: &'s [Count],
    pub(crate) thread: Option<&'a str>,
    pub(crate) process: Option<&'a str>,
    pub(crate) tid: Option<u64>,
    pub(crate) pid: Option<u64>,
    /// The labels in the form of a stream.
    pub(crate) labels: Option<&'a str>,
    /// The time of the sample, in ns.
    pub(crate) time: Option<u64>,
    /// True if part of the stack is estimated from a call graph.
    pub(crate) is_estimated: bool,
    /// In a diff, true if the counts of both runs are known.
    pub(crate) is_change_known: bool,
}

impl<'s, 'a> CountedStack<'s, 'a> {
    /// Iterates over the frames with their numbers, innermost first. Equal frames have equal numbers in all stacks.
    pub(crate) fn frames(self) -> impl ExactSizeIterator<Item = (usize, &'s Frame<'a>)> {
        let frames = self.set.all();
        self.numbers
            .iter()
            .map(move |number| (*number, &frames[*number]))
    }

    /// Returns the numbers of the frames, innermost first.
    pub(crate) fn numbers(&self) -> &'s [usize] {
        self.numbers
    }

    /// Returns the frame with this number.
    pub(crate) fn frame(&self, number: usize) -> &'s Frame<'a> {
        &self.set.all()[number]
    }
}

impl FormatHolds {
    /// Reduces a frame to the properties that the format can hold. The frame gets one file for function and line: the file
    /// that contains the line.
    pub(crate) fn frame<'f>(&self, frame: &Frame<'f>) -> Frame<'f> {
        let file = frame.site.as_ref().or(frame.file.as_ref()).cloned();
        Frame {
            name: Some(frame_name(frame).into_owned().into()),
            file: file.filter(|_| self.has(Held::Files)),
            line: frame.line.filter(|_| self.has(Held::Lines)),
            obj: frame.obj.clone().filter(|_| self.has(Held::Objects)),
            addr: frame.addr.clone().filter(|_| self.has(Held::Addresses)),
            inlined: frame.inlined && self.has(Held::Inlined),
            jit: frame.jit && self.has(Held::Jit),
            kernel: frame.kernel && self.has(Held::Jit),
            ..Frame::default()
        }
    }
}

impl<'a> WrittenStacks<'a> {
    /// Selects the stacks of the requested type, or else of the first preferred type that has any.
    ///
    /// # Errors
    /// Returns an error if there are no stacks, if they lack a requested event, or if several events are requested and the
    /// format can hold only one.
    pub(crate) fn select(
        profile: &'a Profile,
        options: &Options,
        holds: &'static FormatHolds,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<WrittenStacks<'a>> {
        ensure!(
            !matches!(options.view, View::Snapshots(_)),
            "--tree snapshot=N..M is a table; cg-diff --snapshot N..M FILE | cg-fmt -f flamegraph draws the stacks of both"
        );
        ensure!(
            options.shows_all_records(),
            "--tree, --source, --by, --group-by, --sort, --top and --columns are for tables: a format for other viewers has all stacks"
        );
        if diff::is_wanted(profile, options) {
            return WrittenStacks::from_diff(profile, options, holds, diagnostics);
        }
        let kind = select_kind(profile, options, diagnostics)?;
        let positions = find_events(profile, kind);
        let names: Vec<&str> = positions
            .iter()
            .map(|event| profile.events()[*event].as_str())
            .collect();
        let table = profile.table(kind);
        let is_counted = |position: &usize| {
            let event = positions[*position];
            table.counts(event)
        };
        let chosen = choose(&names, options, holds, is_counted)?;
        let snapshot = match kind {
            RecordType::Heap => one_snapshot(profile, options, diagnostics)?,
            _ => None,
        };
        let positions = chosen.iter().map(|position| positions[*position]).collect();
        Ok(WrittenStacks {
            profile,
            holds,
            events: chosen
                .iter()
                .map(|position| names[*position].to_owned())
                .collect(),
            source: StackSource::Rows(kind, positions, snapshot),
            runs: None,
            nouns: [noun(kind, 1), noun(kind, 2)],
            names: written_names(profile, options),
        })
    }

    fn from_diff(
        profile: &'a Profile,
        options: &Options,
        holds: &'static FormatHolds,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<WrittenStacks<'a>> {
        let diffs = Diffs::new(profile, options);
        let (with_stacks, others): (Vec<usize>, Vec<usize>) =
            (0..diffs.records.len()).partition(|row| !diffs.records[*row].stack.is_empty());
        if let Some(row) = others.first() {
            let of = diffs.records[*row].of.as_str();
            ensure!(
                !with_stacks.is_empty(),
                lack::diff_message(of, profile, options)
            );
            diagnostics.warn(format!(
                "{} of the diff without a stack left out",
                plural(others.len() as Count, "row", "rows")
            ));
        }
        let names = diffs.event_names();
        let is_counted = |position: &usize| {
            with_stacks.iter().any(|row| {
                let entries = diffs.records[*row].cost.get(names[*position]);
                entries.is_some_and(|entries| entries.0.iter().flatten().any(|count| *count != 0))
            })
        };
        let chosen = choose(&names, options, holds, is_counted)?;
        let events = chosen
            .iter()
            .map(|position| names[*position].to_owned())
            .collect();
        let kind = with_stacks
            .first()
            .map(|row| RecordType::from_name(&diffs.records[*row].of));
        Ok(WrittenStacks {
            profile,
            holds,
            events,
            runs: Some(diffs.compared().map(|run| diffs.run_name(run))),
            nouns: kind.map_or(["record", "records"], |kind| [noun(kind, 1), noun(kind, 2)]),
            source: StackSource::Diff(Box::new(diffs), with_stacks),
            names: written_names(profile, options),
        })
    }

    /// Returns the number of counts of a stack: one per event, or in a diff two, the count of the earlier run first.
    pub(crate) fn columns(&self) -> usize {
        self.events.len() * if self.runs.is_some() { 2 } else { 1 }
    }

    /// Returns the event of a column.
    pub(crate) fn event(&self, column: usize) -> &str {
        let runs = if self.runs.is_some() { 2 } else { 1 };
        &self.events[column / runs]
    }

    /// Returns the name of a column: its event, and in a diff also the run.
    pub(crate) fn column_name(&self, column: usize) -> String {
        let event = self.event(column);
        match &self.runs {
            None => event.to_owned(),
            Some(runs) => format!("{event} ({})", runs[column % 2]),
        }
    }

    /// Returns the unit of an event; `None` for a plain count.
    pub(crate) fn unit(&self, event: &str) -> Option<&'a str> {
        let mut runs = self.profile.runs().iter();
        let recorded = runs.find_map(|run| run.sampling.units.get(event));
        let is_bytes = event == "bytes" || event.ends_with("_bytes");
        recorded.map(String::as_str).or(is_bytes.then_some("bytes"))
    }

    /// Warns about estimated stacks, if there are any. `estimated` has their costs by column.
    pub(crate) fn warn_about_estimates(
        &self,
        estimated: &[Count],
        totals: &[Count],
        diagnostics: &mut Diagnostics,
    ) {
        if let Some(note) = self.estimate_note(estimated, totals) {
            diagnostics.warn(note);
        }
    }

    /// Returns the text of the warning about estimated stacks. Some estimates may be exact, but only cg-parse knows which.
    pub(crate) fn estimate_note(&self, estimated: &[Count], totals: &[Count]) -> Option<String> {
        let columns = || (0..self.columns()).filter(|column| estimated[*column] > 0);
        columns().next()?;
        let parts: Vec<String> = columns()
            .filter(|column| estimated[*column] < totals[*column])
            .map(|column| {
                let share = estimated[column] as f64 / totals[column] as f64;
                format!("{} of {}", percent(share * 100.0), self.column_name(column))
            })
            .collect();
        Some(match parts.as_slice() {
            [] => "the stacks are estimated from a call graph".to_owned(),
            parts => format!(
                "stacks with {} are estimated from a call graph",
                parts.join(", ")
            ),
        })
    }

    /// Returns the total of an event in the `run` records, in a diff for the later run; `None` if they have no total.
    pub(crate) fn total(&self, event: usize) -> Option<Count> {
        match &self.source {
            StackSource::Rows(_, events, _) => {
                let total = self.profile.total().get(events[event]).copied();
                total.filter(|total| *total != 0 && !self.profile.runs().is_empty())
            }
            StackSource::Diff(diffs, _) => {
                let [_, last] = diffs.compared();
                diffs.event_total(&self.events[event], last)
            }
        }
    }

    /// Returns a frame with the names to write. To classify the origin of its code, use the original frame.
    pub(crate) fn written<'f>(&'f self, frame: &'f Frame<'_>) -> Frame<'f> {
        self.names.frame(frame)
    }

    /// Returns the origin of the stacks: the program or the two runs.
    pub(crate) fn title(&self) -> String {
        match &self.source {
            StackSource::Rows(..) => origin(self.profile).unwrap_or_else(|| "stacks".to_owned()),
            StackSource::Diff(diffs, _) => diffs.title().to_owned(),
        }
    }

    /// Visits all stacks, in the order of the stream.
    ///
    /// # Errors
    /// Returns the first error of the visitor.
    pub(crate) fn each<E>(
        &self,
        mut visit: impl FnMut(CountedStack<'_, 'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut counts = Vec::with_capacity(self.columns());
        let mut set = FrameSet::default();
        let mut numbers = Vec::new();
        match &self.source {
            StackSource::Rows(kind, events, snapshot) => {
                let table = self.profile.table(*kind);
                for (row, key) in table.keys().enumerate() {
                    if snapshot.is_some() && key.snapshot != *snapshot {
                        continue;
                    }
                    set.number_row(self.profile, &key, &mut numbers);
                    counts.clear();
                    let cost = table.cost(row);
                    let count = |event: &usize| cost.get(*event).copied().unwrap_or(0);
                    counts.extend(events.iter().map(count));
                    visit(CountedStack {
                        set: &set,
                        numbers: &numbers,
                        counts: &counts,
                        thread: self.profile.text(key.thread_name),
                        process: self.profile.text(key.process),
                        tid: key.tid,
                        pid: table.detail(row).and_then(|detail| detail.pid),
                        labels: self.profile.text(key.labels),
                        time: key.time,
                        is_estimated: table.numbers().estimated.get(row) == Some(true),
                        is_change_known: true,
                    })?;
                }
            }
            StackSource::Diff(diffs, rows) => {
                let runs = diffs.compared();
                for row in rows {
                    let row = &diffs.records[*row];
                    counts.clear();
                    for event in &self.events {
                        let entries = row.cost.get(event);
                        counts.extend(runs.iter().map(|run| {
                            let entry = entries.and_then(|entries| entries.0.get(*run));
                            entry.copied().flatten().unwrap_or(0)
                        }));
                    }
                    set.number_frames(&row.stack, &mut numbers);
                    visit(CountedStack {
                        set: &set,
                        numbers: &numbers,
                        counts: &counts,
                        thread: None,
                        process: None,
                        tid: None,
                        pid: None,
                        labels: None,
                        time: None,
                        is_estimated: false,
                        is_change_known: row.is_change_known(true),
                    })?;
                }
            }
        }
        Ok(())
    }
}

fn written_names(profile: &Profile, options: &Options) -> WrittenNames {
    match options.stable_names {
        true => WrittenNames::stable(profile),
        false => WrittenNames::default(),
    }
}

/// Selects the record type to write.
pub(crate) fn select_kind(
    profile: &Profile,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<RecordType> {
    if let Some(kind) = options.kind {
        ensure!(
            kind.has_stack(),
            "records of type {} have no stacks",
            kind.name()
        );
        return Ok(kind);
    }
    let rank = |kind: &RecordType| {
        PREFERRED
            .iter()
            .position(|known| known == kind)
            .unwrap_or(PREFERRED.len())
    };
    let mut kinds: Vec<RecordType> = profile.types().filter(|kind| kind.has_stack()).collect();
    kinds.order_by_key(rank);
    if let Events::Named(names) = &options.events {
        // The leaks and the errors of one log have different events.
        let has_all = |kind: &RecordType| names.iter().all(|name| has_event(*kind, name));
        if kinds.iter().any(has_all) {
            kinds.retain(has_all);
        }
    }
    let Some((first, others)) = kinds.split_first() else {
        bail!(lack::profile_message(profile, options));
    };
    if !others.is_empty() {
        let others: Vec<&str> = others.iter().map(|kind| kind.name()).collect();
        diagnostics.warn(format!(
            "only {} records are written, but others have stacks too (--type {})",
            first.name(),
            others.join(", --type ")
        ));
    }
    Ok(*first)
}

/// Selects one snapshot, because heaps of different times cannot be added up. Returns `None` if no selection is necessary.
fn one_snapshot(
    profile: &Profile,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Option<u64>> {
    let table = profile.table(RecordType::Heap);
    if let View::Snapshot(number) = options.view {
        let is_there = table.keys().any(|key| key.snapshot == Some(number));
        ensure!(is_there, "there are no heap records of snapshot {number}");
        return Ok(Some(number));
    }
    let mut snapshots: Vec<u64> = table.keys().filter_map(|key| key.snapshot).collect();
    snapshots.sort_unstable();
    snapshots.dedup();
    if snapshots.len() < 2 || profile.runs().len() > 1 {
        return Ok(None);
    }
    let is_peak = |row: &usize| table.numbers().peak.get(*row) == Some(true);
    let peak = (0..table.len())
        .find(is_peak)
        .and_then(|row| table.key(row).snapshot);
    let chosen = peak.or(snapshots.last().copied());
    if let Some(chosen) = chosen {
        diagnostics.warn(format!(
            "only snapshot {chosen} of {} is written, because snapshots do not add up (--tree snapshot=N selects another)",
            snapshots.len()
        ));
    }
    Ok(chosen)
}
