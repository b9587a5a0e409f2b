//! The protocol buffer of pprof, packed by gzip: <https://github.com/google/pprof/blob/main/proto/profile.proto>.
//!
//! All events go into one file. In a diff each event stands twice, the later run last; pprof shows the later run by
//! default. Each frame is a location of its own, inlined or not, since speedscope shows only the last function of a
//! location. Objects are mappings that claim that their functions are known, so that nobody looks for symbols.
//! Addresses are left out: stacks of a stream are equal whatever their addresses.

use std::io::{self, Write};

use anyhow::Context;
use cg_stream::intern::{Id, Texts};
use cg_stream::profile::Profile;
use cg_stream::record::{Count, Frame};
use cg_stream::tool::{Diagnostics, PPROF_COMMENT};
use flate2::Compression;
use flate2::GzBuilder;
use foldhash::fast::FixedState;
use indexmap::IndexSet;

use super::events::Holds;
use super::stacks::{PlaceId, StackRow, StackRows, WrittenStacks, frame_name, line_in_file};
use crate::options::Options;

mod message;

use message::MessageBuilder;

/// Writes the stacks of a profile with all their events, or those that were asked for.
pub(crate) fn write(
    profile: &Profile,
    options: &Options,
    out: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    let stacks = WrittenStacks::of(profile, options, Holds::AllEvents, diagnostics)?;
    let rows = StackRows::of(&stacks, |frame| Frame {
        name: Some(frame_name(frame).into_owned().into()),
        file: frame.file.clone(),
        line: line_in_file(frame),
        obj: frame.obj.clone(),
        ..Frame::default()
    })?;
    let mut writing = PprofWriting {
        // The comment tells the tools that they may replace the file.
        out: GzBuilder::new()
            .comment(PPROF_COMMENT)
            .write(out, Compression::default()),
        strings: Texts::default(),
        message: MessageBuilder::default(),
        inner: MessageBuilder::default(),
        sample: MessageBuilder::default(),
    };
    writing.file(&stacks, &rows, profile)?;
    writing.out.finish()?.flush()?;
    let holds = ["files", "lines", "objects", "threads", "processes"];
    rows.losses.say("profiles of pprof", &holds, diagnostics);
    stacks.say_estimated(&rows.estimated, &rows.totals, diagnostics);
    Ok(())
}

cg_stream::ids! {
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
    pub(super) const DURATION: u32 = 10;
    pub(super) const COMMENT: u32 = 13;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

struct PprofWriting<W: Write> {
    out: W,
    strings: Texts<PprofStringId>,
    message: MessageBuilder,
    /// Buffer for a message that is nested in `message`.
    inner: MessageBuilder,
    sample: MessageBuilder,
}

impl<W: Write> PprofWriting<W> {
    /// Writes the tables behind the samples, and the strings behind both, when all of them are known.
    fn file(
        &mut self,
        stacks: &WrittenStacks,
        rows: &StackRows,
        profile: &Profile,
    ) -> anyhow::Result<()> {
        // String 0 has to be empty.
        self.string("")?;
        for column in 0..stacks.columns() {
            let name = self.string(&stacks.column_name(column))?;
            let unit = self.string(long_unit(stacks.unit_of(stacks.event_of(column))))?;
            self.message.number(1, name);
            self.message.number(2, unit);
            self.put(field::SAMPLE_TYPE)?;
        }
        // The event that pprof shows by default: the first one, in a diff that of the later run.
        let shown = if stacks.runs.is_some() { 1 } else { 0 };
        let shown = self.string(&stacks.column_name(shown))?;
        for row in rows.all() {
            self.sample(rows, &row)?;
        }
        self.tables(rows)?;
        let durations = profile
            .runs()
            .iter()
            .filter_map(|run| run.sampling.duration);
        let duration: u64 = durations.fold(0, u64::saturating_add);
        let mut comments = vec![stacks.title()];
        if rows.estimated.iter().any(|count| *count > 0) {
            comments.push("the stacks are estimated from a graph of calls".to_owned());
        }
        let comments: Vec<u64> = comments
            .iter()
            .map(|comment| self.string(comment))
            .collect::<Result<_, _>>()?;
        for string in 0..self.strings.len() {
            let string = self.strings.text(PprofStringId::at(string)?);
            self.message.text(field::STRING_TABLE, string);
            self.message.write_to(&mut self.out)?;
        }
        self.message.number(field::DURATION, duration);
        for comment in comments {
            self.message.number(field::COMMENT, comment);
        }
        self.message.number(field::DEFAULT_SAMPLE_TYPE, shown);
        Ok(self.message.write_to(&mut self.out)?)
    }

    fn sample(&mut self, rows: &StackRows, row: &StackRow) -> anyhow::Result<()> {
        let frames = rows.nodes.frames(row.node);
        self.sample
            .packed(1, frames.map(|frame| frame.index() as u64 + 1));
        let values: Vec<i64> = row
            .counts
            .iter()
            .map(|count| i64::try_from(*count).ok())
            .collect::<Option<_>>()
            .with_context(|| beyond(row.counts))?;
        self.sample
            .packed(2, values.into_iter().map(i64::cast_unsigned));
        let places: [(&str, Option<PlaceId>); 2] =
            [("thread", row.place.thread), ("process", row.place.process)];
        for (key, place) in places {
            if let Some(place) = place {
                let (key, text) = (self.string(key)?, self.string(rows.place(place))?);
                self.inner.number(1, key);
                self.inner.number(2, text);
                self.sample.message(3, &mut self.inner);
            }
        }
        self.message.message(field::SAMPLE, &mut self.sample);
        Ok(self.message.write_to(&mut self.out)?)
    }

    /// Mappings, locations and functions, whose numbers begin with 1.
    fn tables(&mut self, rows: &StackRows) -> anyhow::Result<()> {
        let mut objects: IndexSet<&str, FixedState> = IndexSet::default();
        // pprof takes the first mapping for the program.
        let is_program = |object: &&str| !object.contains(".so") && !object.starts_with('[');
        let named = rows.frames().filter_map(|frame| frame.obj.as_deref());
        objects.extend(named.filter(is_program).take(1));
        let mut functions: IndexSet<(&str, &str), FixedState> = IndexSet::default();
        for (position, frame) in rows.frames().enumerate() {
            let name = frame.name.as_deref().unwrap_or_default();
            let file = frame.file.as_deref().unwrap_or_default();
            let (function, _) = functions.insert_full((name, file));
            self.message.number(1, position as u64 + 1);
            if let Some(object) = frame.obj.as_deref() {
                let (mapping, _) = objects.insert_full(object);
                self.message.number(2, mapping as u64 + 1);
            }
            self.inner.number(1, function as u64 + 1);
            self.inner.number(2, frame.line.unwrap_or(0));
            self.message.message(4, &mut self.inner);
            self.put(field::LOCATION)?;
        }
        for (position, (name, file)) in functions.into_iter().enumerate() {
            let (name, file) = (self.string(name)?, self.string(file)?);
            self.message.number(1, position as u64 + 1);
            self.message.number(2, name);
            self.message.number(3, name);
            self.message.number(4, file);
            self.put(field::FUNCTION)?;
        }
        for (position, object) in objects.into_iter().enumerate() {
            let object = self.string(object)?;
            self.message.number(1, position as u64 + 1);
            self.message.number(5, object);
            // Functions, files, lines and inlined frames are known.
            for known in 7..=10 {
                self.message.number(known, 1);
            }
            self.put(field::MAPPING)?;
        }
        Ok(())
    }

    /// Writes `message` as a field of the profile.
    fn put(&mut self, field: u32) -> io::Result<()> {
        let mut profile = MessageBuilder::default();
        profile.message(field, &mut self.message);
        profile.write_to(&mut self.out)
    }

    /// The index of a string in the string table.
    fn string(&mut self, text: &str) -> anyhow::Result<u64> {
        Ok(self.strings.intern(text)?.index() as u64)
    }
}

/// A unit as pprof calls it.
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
    format!("{largest} is beyond 2^63, which pprof cannot hold")
}
