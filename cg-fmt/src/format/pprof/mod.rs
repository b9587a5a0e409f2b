//! The protocol buffer of pprof, compressed with gzip: <https://github.com/google/pprof/blob/main/proto/profile.proto>.
//!
//! All events go into one file. In a diff each event occurs twice, the later run last, and pprof shows the later run by
//! default. A location is a frame together with the frames inlined into it. Objects are mappings that claim to know their
//! functions, so that pprof does not look for symbols.
//!
//! Functions have no `system_name`: if it equals the name, pprof treats the name as mangled and strips the text in its
//! brackets. The facts in a profile of pprof (period, time, mappings, comments) are written unchanged.

use std::io::{self, Write};

use anyhow::Context;
use cg_collections::intern::{Id, Texts};
use cg_profile::Profile;
use cg_stream::record::{Count, LabelMeaning, LabelValue, RunRecord, SampleLabels, Tool};
use cg_tool::PPROF_COMMENT;
use flate2::Compression;
use flate2::GzBuilder;

use super::holds::{FormatHolds, Held};
use super::stacks::{StackRow, StackRows, WrittenStacks};
use crate::export::Export;

mod message;
mod tables;

use message::MessageBuilder;
use tables::PprofLocations;

const HOLDS: FormatHolds = FormatHolds {
    format: "profiles of pprof",
    one_event: false,
    held: &[
        Held::Files,
        Held::Lines,
        Held::Objects,
        Held::Addresses,
        Held::Threads,
        Held::Processes,
        Held::Numbers,
        Held::Labels,
        Held::Inlined,
    ],
};

/// Writes the stacks of a profile with all their events, or the requested ones.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let stacks = WrittenStacks::select(profile, options, &HOLDS, diagnostics)?;
    let rows = StackRows::collect(&stacks)?;
    let run = profile.run_record().unwrap_or_default();
    let mut writing = PprofWriting {
        // The comment identifies the file as output of the tools, so they may overwrite it.
        out: GzBuilder::new()
            .comment(PPROF_COMMENT)
            .write(export.out, Compression::default()),
        is_from_pprof: run.tool == Some(Tool::from("pprof")),
        run,
        strings: Texts::default(),
        message: MessageBuilder::default(),
        inner: MessageBuilder::default(),
        sample: MessageBuilder::default(),
        locations: PprofLocations::default(),
    };
    writing.file(&stacks, &rows, profile)?;
    writing.out.finish()?.flush()?;
    rows.warn(&stacks, diagnostics);
    Ok(())
}

cg_collections::ids! {
    struct PprofStringId;
}

/// The fields of a profile.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const MAPPING: u32 = 3;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
    pub(super) const DROP_FRAMES: u32 = 7;
    pub(super) const KEEP_FRAMES: u32 = 8;
    pub(super) const TIME: u32 = 9;
    pub(super) const DURATION: u32 = 10;
    pub(super) const PERIOD_TYPE: u32 = 11;
    pub(super) const PERIOD: u32 = 12;
    pub(super) const COMMENT: u32 = 13;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

struct PprofWriting<W: Write> {
    out: W,
    /// The facts about the runs.
    run: RunRecord,
    /// True if the input was a profile of pprof. Then missing facts stay missing.
    is_from_pprof: bool,
    strings: Texts<PprofStringId>,
    message: MessageBuilder,
    /// Buffer for a message that is nested in `message`.
    inner: MessageBuilder,
    sample: MessageBuilder,
    locations: PprofLocations,
}

impl<W: Write> PprofWriting<W> {
    /// Writes the samples, then the tables, then the strings, because each refers to entries of the following.
    fn file(
        &mut self,
        stacks: &WrittenStacks,
        rows: &StackRows,
        profile: &Profile,
    ) -> anyhow::Result<()> {
        // String 0 has to be empty.
        self.string("")?;
        let types = self.sample_types(stacks);
        for [kind, unit] in &types {
            let (kind, unit) = (self.string(kind)?, self.string(unit)?);
            self.message.number(1, kind);
            self.message.number(2, unit);
            self.put(field::SAMPLE_TYPE)?;
        }
        for row in rows.all() {
            self.sample(rows, &row)?;
        }
        self.tables(rows)?;
        let durations = profile
            .runs()
            .iter()
            .filter_map(|run| run.sampling.duration);
        let duration: u64 = durations.fold(0, u64::saturating_add);
        self.facts(stacks, rows, &types)?;
        let mut facts = std::mem::take(&mut self.message);
        for string in 0..self.strings.len() {
            let string = self.strings.text(PprofStringId::at(string)?);
            self.message.text(field::STRING_TABLE, string);
            self.message.write_to(&mut self.out)?;
        }
        facts.number(field::DURATION, duration);
        Ok(facts.write_to(&mut self.out)?)
    }

    /// Returns type and unit of each column.
    fn sample_types(&self, stacks: &WrittenStacks) -> Vec<[String; 2]> {
        let spelled = &self.run.sampling.sample_types;
        let type_and_unit = |column| {
            let event = stacks.event(column);
            let position = self.run.events.iter().position(|known| known == event);
            let known = position.and_then(|position| spelled.get(position));
            match known.filter(|_| stacks.runs.is_none()) {
                Some(spelled) => spelled.clone(),
                None => [
                    stacks.column_name(column),
                    long_unit(stacks.unit(event)).to_owned(),
                ],
            }
        };
        (0..stacks.columns()).map(type_and_unit).collect()
    }

    /// Puts the facts about the run into `message`.
    fn facts(
        &mut self,
        stacks: &WrittenStacks,
        rows: &StackRows,
        types: &[[String; 2]],
    ) -> anyhow::Result<()> {
        let sampling = std::mem::take(&mut self.run.sampling);
        let label = |key: &str| sampling.labels.get(key).map(String::as_str);
        // The event that pprof shows by default: the default of the profile, else the first event, in a diff of the later
        // run.
        let default = label("default_sample_type").filter(|default| {
            stacks.runs.is_none() && types.iter().any(|[kind, _]| kind == default)
        });
        let shown = match default {
            None if self.is_from_pprof && stacks.runs.is_none() => None,
            None => types
                .get(usize::from(stacks.runs.is_some()))
                .map(|[kind, _]| kind.as_str()),
            default => default,
        };
        for (field, text) in [
            (field::DROP_FRAMES, label("drop_frames")),
            (field::KEEP_FRAMES, label("keep_frames")),
            (field::DEFAULT_SAMPLE_TYPE, shown),
        ] {
            if let Some(text) = text {
                let text = self.string(text)?;
                self.message.number(field, text);
            }
        }
        let mut comments: Vec<String> = match label("comment") {
            Some(comment) => comment.split('\n').map(str::to_owned).collect(),
            None => Vec::new(),
        };
        if !self.is_from_pprof {
            comments.push(stacks.title());
        }
        if rows.estimated.iter().any(|count| *count > 0) {
            comments.push("the stacks are estimated from a call graph".to_owned());
        }
        for comment in comments {
            let comment = self.string(&comment)?;
            self.message.number(field::COMMENT, comment);
        }
        self.message
            .number(field::TIME, sampling.start.unwrap_or(0));
        if let Some(period) = &sampling.period {
            let (event, unit) = (self.string(&period.event)?, self.string(&period.unit)?);
            self.inner.number(1, event);
            self.inner.number(2, unit);
            self.message.message(field::PERIOD_TYPE, &mut self.inner);
            self.message
                .number(field::PERIOD, period.value.cast_unsigned());
        }
        Ok(())
    }

    fn sample(&mut self, rows: &StackRows, row: &StackRow) -> anyhow::Result<()> {
        let locations = self.locations.number_stack(rows, row.node);
        self.sample.packed(1, locations.iter().copied());
        let values: Vec<i64> = row
            .counts
            .iter()
            .map(|count| i64::try_from(*count).ok())
            .collect::<Option<_>>()
            .with_context(|| beyond(row.counts))?;
        self.sample
            .packed(2, values.into_iter().map(i64::cast_unsigned));
        for (key, value) in row_labels(rows, row) {
            let key = self.string(&key)?;
            self.inner.number(1, key);
            match value {
                LabelValue::Text(text) => {
                    let text = self.string(&text)?;
                    self.inner.number(2, text);
                }
                LabelValue::Number(number, unit) => {
                    self.inner.number(3, number.cast_unsigned());
                    let unit = self.string(unit.as_deref().unwrap_or_default())?;
                    self.inner.number(4, unit);
                }
            }
            self.sample.message(3, &mut self.inner);
        }
        self.message.message(field::SAMPLE, &mut self.sample);
        Ok(self.message.write_to(&mut self.out)?)
    }

    /// Writes `message` as a field of the profile.
    fn put(&mut self, field: u32) -> io::Result<()> {
        let mut profile = MessageBuilder::default();
        profile.message(field, &mut self.message);
        profile.write_to(&mut self.out)
    }

    /// Returns the index of a string in the string table. Adds the string if it is new.
    fn string(&mut self, text: &str) -> anyhow::Result<u64> {
        Ok(self.strings.intern(text)?.index() as u64)
    }
}

/// Returns the labels of a row, and labels for its thread and process if the own labels do not contain them.
fn row_labels(rows: &StackRows, row: &StackRow) -> Vec<(String, LabelValue)> {
    let own = row
        .labels
        .map(|labels| SampleLabels::from_json(rows.place(labels)).entries());
    let mut labels = own.unwrap_or_default();
    let text = |place| LabelValue::Text(rows.place(place).to_owned());
    let number = |number: u64| i64::try_from(number).ok();
    let place = row.place;
    // A name that equals the number is not a real name.
    let thread = place.thread.filter(|name| {
        place
            .tid
            .is_none_or(|tid| rows.place(*name) != tid.to_string())
    });
    for (is_of_thread, name, name_key, id, id_key) in [
        (true, thread, "thread", place.tid, "tid"),
        (false, place.process, "process", place.pid, "pid"),
    ] {
        let is_labelled = labels.iter().any(|(key, _)| {
            LabelMeaning::from_key(key.as_bytes())
                .is_some_and(|meaning| meaning.describes_thread() == is_of_thread)
        });
        if is_labelled {
            continue;
        }
        labels.extend(name.map(|name| (name_key.to_owned(), text(name))));
        let id = id.and_then(number);
        labels.extend(id.map(|id| (id_key.to_owned(), LabelValue::Number(id, None))));
    }
    labels
}

/// Returns pprof's name of a unit.
fn long_unit(unit: Option<&str>) -> &str {
    match unit {
        None => "count",
        Some("ns") => "nanoseconds",
        Some("µs" | "us") => "microseconds",
        Some("ms") => "milliseconds",
        Some("s") => "seconds",
        Some(other) => other,
    }
}

fn beyond(counts: &[Count]) -> String {
    let largest = counts.iter().max().copied().unwrap_or_default();
    format!("{largest} exceeds 2^63, the limit of pprof")
}
