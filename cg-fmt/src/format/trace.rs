//! A trace in the Trace Event Format, for Perfetto (<https://ui.perfetto.dev>), `chrome://tracing` and others.
//!
//! A frame of a stack is a slice: `B` begins it, `E` ends it, in the order of time, which tells outer from inner. Slices have
//! nothing but times, so one event is written. Samples begin where the profile says that they were taken, or where the one
//! before them ends, and last as long as they cost. Where the profile has no times, stacks stand one after the other, those
//! with the same outer frames together, so that a thread looks like a flame graph. That is said on standard error.

use std::io::{self, Write};

use cg_stream::intern::Id as _;
use cg_stream::profile::Profile;
use cg_stream::record::Count;
use cg_stream::tool::Diagnostics;
use serde_json::json;

use super::holds::{FormatHolds, Held};
use super::scale::UnitScale;
use super::stacks::{StackRow, StackRows, Whereabouts, WrittenFrameId, WrittenStacks};
use crate::options::{Events, Options};
use crate::output::Export;

/// Writes the stacks of a profile with one of their events: one that is a time, if there is any.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let stacks = WrittenStacks::of(profile, &in_time(profile, options), &HOLDS, diagnostics)?;
    let rows = StackRows::of(&stacks)?;
    let mut writing = TraceWriting {
        stacks: &stacks,
        rows: &rows,
        scale: UnitScale::of(stacks.unit_of(&stacks.events[0])),
        out: export.out,
        has_written: false,
        negative: 0,
    };
    let pid = profile.run_record().and_then(|run| run.pid).unwrap_or(0);
    writing.file(pid)?;
    writing.out.flush()?;
    writing.say(diagnostics);
    rows.say(&stacks, diagnostics);
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

/// The options, with the event that is a time where none is asked for.
fn in_time(profile: &Profile, options: &Options) -> Options {
    let is_time = |event: &&String| {
        let units = profile
            .runs()
            .iter()
            .filter_map(|run| run.sampling.units.get(*event));
        units
            .into_iter()
            .any(|unit| UnitScale::of(Some(unit)).is_of_time())
    };
    let time = profile.events().iter().find(is_time);
    Options {
        events: match (&options.events, time) {
            (Events::Fitting, Some(time)) => Events::Named(vec![time.clone()]),
            (asked, _) => asked.clone(),
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
    /// Stacks whose cost is below 0.
    negative: u64,
}

/// The slices of a thread that are not ended yet, outermost first, and the time up to which it is written, in ns.
#[derive(Default)]
struct OpenFrames {
    frames: Vec<WrittenFrameId>,
    now: Count,
}

impl<W: Write> TraceWriting<'_, '_, W> {
    fn say(&self, diagnostics: &mut Diagnostics) {
        if !self.rows.has_times() {
            diagnostics.warn("the profile has no times of samples: its stacks stand one after the other, and the time axis means nothing");
        }
        if !self.scale.is_of_time() {
            let event = &self.stacks.events[0];
            diagnostics.warn(format!(
                "traces hold times alone: 1 µs stands for 1 of {event}"
            ));
        }
        if self.negative > 0 {
            diagnostics.warn(format!(
                "{} negative counts left out: a slice cannot last less than nothing",
                self.negative
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

    /// Names a thread and its process.
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

    /// The slices of a thread.
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

    /// Ends all slices but so many.
    fn end(&mut self, open: &mut OpenFrames, left: usize, [pid, tid]: [u64; 2]) -> io::Result<()> {
        let ts = UnitScale::NS_IN_MICROS.of_count(open.now);
        while open.frames.len() > left {
            open.frames.pop();
            self.event(&format!(
                "\"ph\":\"E\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts}"
            ))?;
        }
        Ok(())
    }

    fn begin(&mut self, frame: WrittenFrameId, now: Count, [pid, tid]: [u64; 2]) -> io::Result<()> {
        let ts = UnitScale::NS_IN_MICROS.of_count(now);
        let of = self.rows.frame(frame);
        let name = json!(of.name.as_deref());
        let owner = self.rows.owner(frame).word();
        let mut args = serde_json::Map::new();
        if let Some(file) = of.file.as_deref() {
            args.insert("filename".to_owned(), file.into());
        }
        if let Some(line) = of.line {
            args.insert("line".to_owned(), line.into());
        }
        let args = serde_json::Value::Object(args);
        self.event(&format!(
            "\"name\":{name},\"cat\":\"{owner}\",\"ph\":\"B\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"args\":{args}"
        ))
    }
}
