//! A trace in the Trace Event Format, for Perfetto (<https://ui.perfetto.dev>), `chrome://tracing` and others.
//!
//! A frame of a stack is a slice: `B` begins it and `E` ends it. The records are in the order of time, so the nesting of
//! slices is the nesting of frames. Slices have only times, so one event is written. A sample begins at its recorded time,
//! or at the end of the previous sample, and its duration is its cost. If the profile has no times, stacks follow each
//! other, those with the same outer frames together, so that a thread looks like a flame graph. A warning reports this.

use std::io::{self, Write};

use cg_collections::intern::Id as _;
use cg_document::number::plural;
use cg_profile::Profile;
use cg_stream::record::Count;
use cg_tool::Diagnostics;
use serde_json::json;

use super::holds::{FormatHolds, Held};
use super::scale::UnitScale;
use super::stacks::{StackRow, StackRows, Whereabouts, WrittenFrameId, WrittenStacks};
use crate::export::Export;
use crate::options::{Events, Options};

/// Writes the stacks of a profile with one event. By default, this is an event that measures time, if there is one.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let stacks = WrittenStacks::select(profile, &in_time(profile, options), &HOLDS, diagnostics)?;
    let rows = StackRows::collect(&stacks)?;
    let mut writing = TraceWriting {
        stacks: &stacks,
        rows: &rows,
        scale: UnitScale::parse(stacks.unit(&stacks.events[0])),
        out: export.out,
        has_written: false,
        negative: 0,
    };
    let pid = profile.run_record().and_then(|run| run.pid).unwrap_or(0);
    writing.file(pid)?;
    writing.out.flush()?;
    writing.warn(diagnostics);
    rows.warn(&stacks, diagnostics);
    Ok(())
}

const HOLDS: FormatHolds = FormatHolds {
    format: "traces",
    one_event: true,
    held: &[
        Held::Files,
        Held::Lines,
        Held::Threads,
        Held::Processes,
        Held::Numbers,
        Held::Times,
    ],
};

/// Returns the options with an event that measures time, unless the user requested an event.
fn in_time(profile: &Profile, options: &Options) -> Options {
    let is_time = |event: &&String| {
        let units = profile
            .runs()
            .iter()
            .filter_map(|run| run.sampling.units.get(*event));
        units
            .into_iter()
            .any(|unit| UnitScale::parse(Some(unit)).is_time())
    };
    let time = profile.events().iter().find(is_time);
    Options {
        events: match (&options.events, time) {
            (Events::Fitting, Some(time)) => Events::Named(vec![time.clone()]),
            (requested, _) => requested.clone(),
        },
        ..options.clone()
    }
}

struct TraceWriting<'w, 'a, W: Write> {
    stacks: &'w WrittenStacks<'a>,
    rows: &'w StackRows,
    scale: UnitScale,
    out: W,
    has_written: bool,
    /// The number of stacks with a negative cost.
    negative: u64,
}

/// The open slices of a thread, outermost first, and the time up to which it is written, in ns.
#[derive(Default)]
struct OpenFrames {
    frames: Vec<WrittenFrameId>,
    now: Count,
}

impl<W: Write> TraceWriting<'_, '_, W> {
    fn warn(&self, diagnostics: &mut Diagnostics) {
        if !self.rows.has_times() {
            diagnostics.warn("the profile has no times of samples: its stacks follow each other, and the time axis has no meaning");
        }
        if !self.scale.is_time() {
            let event = &self.stacks.events[0];
            diagnostics.warn(format!("traces hold only times: 1 µs means 1 {event}"));
        }
        if self.negative > 0 {
            diagnostics.warn(format!(
                "left out: {}; a slice cannot have a negative duration",
                plural(self.negative.into(), "negative count", "negative counts")
            ));
        }
    }

    fn file(&mut self, pid: u64) -> io::Result<()> {
        write!(self.out, "{{\"traceEvents\":[")?;
        for (number, (place, rows)) in self.rows.by_place().into_iter().enumerate() {
            for column in 0..self.stacks.columns() {
                let thread = number * self.stacks.columns() + column;
                let ids = [place.pid.unwrap_or(pid), place.tid.unwrap_or(thread as u64)];
                self.names(place, column, ids)?;
                self.thread(&rows, column, ids)?;
            }
        }
        let other = json!({"source": self.stacks.title(), "event": self.stacks.events[0]});
        writeln!(
            self.out,
            "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{other}}}"
        )
    }

    /// Writes the names of a thread and its process.
    fn names(&mut self, place: Whereabouts, column: usize, [pid, tid]: [u64; 2]) -> io::Result<()> {
        let name_of = |name: Option<_>| name.map(|name| self.rows.place(name));
        let thread = match &self.stacks.runs {
            Some(runs) => Some(runs[column].as_str()),
            None => name_of(place.thread),
        };
        for (key, name) in [
            ("process_name", name_of(place.process)),
            ("thread_name", thread),
        ] {
            if let Some(name) = name {
                let name = json!({"name": name});
                self.event(&format!(
                    "\"name\":\"{key}\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"args\":{name}"
                ))?;
            }
        }
        Ok(())
    }

    fn event(&mut self, fields: &str) -> io::Result<()> {
        let comma = if self.has_written { "," } else { "" };
        self.has_written = true;
        write!(self.out, "{comma}\n{{{fields}}}")
    }

    /// Writes the slices of a thread.
    fn thread(&mut self, rows: &[StackRow], column: usize, ids: [u64; 2]) -> io::Result<()> {
        let mut order: Vec<(Vec<WrittenFrameId>, &StackRow)> = Vec::with_capacity(rows.len());
        for row in rows.iter().filter(|row| row.counts[column] != 0) {
            if row.counts[column] < 0 {
                self.negative += 1;
                continue;
            }
            let mut frames: Vec<WrittenFrameId> = self.rows.nodes.frames(row.node).collect();
            frames.reverse();
            order.push((frames, row));
        }
        match self.rows.has_times() {
            true => order.sort_by_key(|(_, row)| row.time),
            false => order.sort_by(|(a, _), (b, _)| {
                let a = a.iter().map(|frame| frame.index());
                a.cmp(b.iter().map(|frame| frame.index()))
            }),
        }
        let mut open = OpenFrames::default();
        for (frames, row) in order {
            let begin = Count::from(row.time.unwrap_or(0));
            if begin > open.now {
                self.end(&mut open, 0, ids)?;
                open.now = begin;
            }
            let common = open.frames.iter().zip(&frames).take_while(|(a, b)| a == b);
            let common = common.count();
            self.end(&mut open, common, ids)?;
            for frame in &frames[common..] {
                self.begin(*frame, open.now, ids)?;
            }
            open.frames = frames;
            open.now += self.scale.nanoseconds(row.counts[column]);
        }
        self.end(&mut open, 0, ids)
    }

    /// Ends open slices, innermost first, until `left` of them are left.
    fn end(&mut self, open: &mut OpenFrames, left: usize, [pid, tid]: [u64; 2]) -> io::Result<()> {
        let ts = UnitScale::NS_IN_MICROS.convert(open.now);
        while open.frames.len() > left {
            open.frames.pop();
            self.event(&format!(
                "\"ph\":\"E\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts}"
            ))?;
        }
        Ok(())
    }

    fn begin(&mut self, frame: WrittenFrameId, now: Count, [pid, tid]: [u64; 2]) -> io::Result<()> {
        let ts = UnitScale::NS_IN_MICROS.convert(now);
        let names = self.rows.frame(frame);
        let name = json!(names.name.as_deref());
        let owner = self.rows.owner(frame).word();
        let mut args = serde_json::Map::new();
        if let Some(file) = names.file.as_deref() {
            args.insert("filename".to_owned(), file.into());
        }
        if let Some(line) = names.line {
            args.insert("line".to_owned(), line.into());
        }
        let args = serde_json::Value::Object(args);
        self.event(&format!(
            "\"name\":{name},\"cat\":\"{owner}\",\"ph\":\"B\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"args\":{args}"
        ))
    }
}
