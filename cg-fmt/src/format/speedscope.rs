//! The JSON of speedscope (<https://www.speedscope.app/file-format-schema.json>).
//!
//! A profile in the file is one event of one thread that has the event, and in a diff one of the two runs. Weights are
//! self costs of whole stacks, outermost frame first. If the profile has times, samples are in the order of time, as
//! speedscope's first view shows them, and consecutive samples of one stack are added up. Speedscope rejects negative
//! weights, and reads numbers with the precision of JavaScript.

use std::io::{self, Write};

use cg_collections::intern::Id;
use cg_document::number::plural;
use cg_stream::record::Count;
use serde_json::json;

use super::holds::{FormatHolds, Held};
use super::stacks::{StackNodeId, StackRow, StackRows, Whereabouts, WrittenStacks};
use crate::export::Export;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

const HOLDS: FormatHolds = FormatHolds {
    format: "profiles of speedscope",
    one_event: false,
    held: &[
        Held::Files,
        Held::Lines,
        Held::Threads,
        Held::Processes,
        Held::Times,
    ],
};

/// Writes the stacks of a profile with all their events, or the requested ones.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let stacks = WrittenStacks::select(profile, options, &HOLDS, diagnostics)?;
    let rows = StackRows::collect(&stacks)?;
    let mut writing = SpeedscopeWriting {
        stacks: &stacks,
        rows: &rows,
        largest: 0,
        negative: 0,
    };
    writing.file(export.out)?;
    export.out.flush()?;
    rows.warn(&stacks, diagnostics);
    if writing.negative > 0 {
        diagnostics.warn(format!(
            "left out: {}; speedscope rejects profiles with negative counts",
            plural(writing.negative.into(), "negative count", "negative counts")
        ));
    }
    if writing.largest > 1 << 53 {
        diagnostics.warn(
            "counts above 2^53 lose digits in speedscope, which has the precision of JavaScript",
        );
    }
    Ok(())
}

struct SpeedscopeWriting<'w, 'a> {
    stacks: &'w WrittenStacks<'a>,
    rows: &'w StackRows,
    largest: Count,
    negative: u64,
}

impl SpeedscopeWriting<'_, '_> {
    fn file(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(
            out,
            "{{\"$schema\":\"{SCHEMA}\",\"exporter\":\"cg-fmt {}\",\"name\":",
            env!("CARGO_PKG_VERSION")
        )?;
        serde_json::to_writer(&mut *out, &self.stacks.title())?;
        write!(out, ",\"activeProfileIndex\":0,\"shared\":{{\"frames\":[")?;
        for (position, frame) in self.rows.frames().enumerate() {
            let mut fields = json!({"name": frame.name.as_deref()});
            if let Some(file) = &frame.file {
                fields["file"] = file.as_str().into();
            }
            if let Some(line) = frame.line {
                fields["line"] = line.into();
            }
            separate(position, out)?;
            serde_json::to_writer(&mut *out, &fields)?;
        }
        write!(out, "]}},\"profiles\":[")?;
        let places = self.rows.by_place();
        let has_counts =
            |rows: &[StackRow<'_>], column: usize| rows.iter().any(|row| row.counts[column] != 0);
        // An event that no thread has is an empty profile of the first thread.
        let is_first = |place: usize, column: usize| {
            place == 0 && !places.iter().any(|(_, rows)| has_counts(rows, column))
        };
        let mut written = 0;
        for (position, (place, rows)) in places.iter().enumerate() {
            for column in 0..self.stacks.columns() {
                if !has_counts(rows, column) && !is_first(position, column) {
                    continue;
                }
                separate(written, out)?;
                self.profile((*place, rows), column, places.len() > 1, out)?;
                written += 1;
            }
        }
        writeln!(out, "]}}")
    }

    /// Writes one profile of the file.
    fn profile(
        &mut self,
        (place, rows): (Whereabouts, &[StackRow<'_>]),
        column: usize,
        has_places: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let counted = rows.iter().filter(|row| row.counts[column] != 0);
        let (mut rows, negative): (Vec<&StackRow>, Vec<&StackRow>) =
            counted.partition(|row| row.counts[column] > 0);
        self.negative += negative.len() as u64;
        rows.sort_by_key(|row| row.time);
        let mut samples: Vec<(StackNodeId, Count)> = Vec::new();
        for row in &rows {
            match samples.last_mut() {
                Some((node, count)) if *node == row.node => *count += row.counts[column],
                _ => samples.push((row.node, row.counts[column])),
            }
        }
        let total: Count = rows.iter().map(|row| row.counts[column]).sum();
        self.largest = self.largest.max(total);
        let event = self.stacks.column_name(column);
        let name = match (has_places, self.stacks.columns()) {
            (true, 1) => self.place_name(place),
            (true, _) => format!("{} ({event})", self.place_name(place)),
            (false, _) => event,
        };
        write!(out, "{{\"type\":\"sampled\",\"name\":")?;
        serde_json::to_writer(&mut *out, &name)?;
        // The name is ambiguous, so additional keys have its parts. Speedscope ignores these keys, and cg-parse reads them.
        write!(out, ",\"event\":")?;
        serde_json::to_writer(&mut *out, &self.stacks.column_name(column))?;
        for (key, name) in [("thread", place.thread), ("process", place.process)] {
            if let Some(name) = name {
                write!(out, ",\"{key}\":")?;
                serde_json::to_writer(&mut *out, self.rows.place(name))?;
            }
        }
        let unit = self.unit(column);
        write!(
            out,
            ",\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{total},\"samples\":["
        )?;
        let mut frames = Vec::new();
        for (position, (node, _)) in samples.iter().enumerate() {
            frames.clear();
            frames.extend(self.rows.nodes.frames(*node).map(Id::index));
            separate(position, out)?;
            write!(out, "[")?;
            for (position, frame) in frames.iter().rev().enumerate() {
                separate(position, out)?;
                write!(out, "{frame}")?;
            }
            write!(out, "]")?;
        }
        write!(out, "],\"weights\":[")?;
        for (position, (_, count)) in samples.iter().enumerate() {
            separate(position, out)?;
            write!(out, "{count}")?;
        }
        write!(out, "]}}")
    }

    fn place_name(&self, place: Whereabouts) -> String {
        let name = |name: Option<_>| name.map(|name| self.rows.place(name));
        match (name(place.process), name(place.thread)) {
            (Some(process), Some(thread)) => format!("{process}/{thread}"),
            (Some(name), None) | (None, Some(name)) => name.to_owned(),
            (None, None) => "all other threads".to_owned(),
        }
    }

    /// Returns speedscope's name of a column's unit; `none` if it has no name.
    fn unit(&self, column: usize) -> &'static str {
        let event = self.stacks.event(column);
        match self.stacks.unit(event) {
            Some("ns" | "nanoseconds") => "nanoseconds",
            Some("µs" | "us" | "microseconds") => "microseconds",
            Some("ms" | "milliseconds") => "milliseconds",
            Some("s" | "seconds") => "seconds",
            Some("bytes") => "bytes",
            _ => "none",
        }
    }
}

fn separate(position: usize, out: &mut dyn Write) -> io::Result<()> {
    match position {
        0 => Ok(()),
        _ => write!(out, ","),
    }
}
