//! A profile of the Firefox Profiler (<https://profiler.firefox.com>) in version 55 of the "processed" format. Every later
//! profiler upgrades this version. Each thread has its own tables.
//!
//! The format has one weight per sample, so one event is written: times as `tracing-ms`, bytes as `bytes`, and all others as
//! `samples`. The two runs of a diff are two threads. Samples are at their recorded times. If the profile has no times, each
//! stack is one sample, in the order of the stream, largest first. Then a sample that measures time begins at the end of the
//! previous one, and other samples are a millisecond apart. A warning and `meta.extra` of the profile report this.

use std::fmt::{self, Display};
use std::io::{self, Write};

use cg_collections::intern::Id;
use cg_collections::maps::{Map, OrderedSet};
use cg_document::number::plural;
use cg_names::code_origin::CodeOwner;
use cg_names::paths::base_name;
use cg_stream::record::{Frame, RunRecord};
use cg_tool::Diagnostics;
use serde_json::{Value, json};

use super::holds::{FormatHolds, Held};
use super::scale::UnitScale;
use super::stacks::{StackNodeId, StackRow, StackRows, Whereabouts, WrittenFrameId, WrittenStacks};
use crate::export::Export;

/// The version of the format.
const VERSION: u32 = 55;

/// The origins of code with their colours. A frame refers to a category by index. The profiler requires a grey category.
const CATEGORIES: [(&str, &str); 7] = [
    ("Other", "grey"),
    ("Own", "yellow"),
    ("Dependency", "green"),
    ("Std", "lightblue"),
    ("System", "brown"),
    ("Kernel", "orange"),
    ("JIT", "purple"),
];

fn category(owner: CodeOwner, frame: &Frame) -> usize {
    if frame.jit && !frame.kernel {
        return 6;
    }
    match owner {
        _ if frame.kernel => 5,
        CodeOwner::Own => 1,
        CodeOwner::Dependency => 2,
        CodeOwner::Std => 3,
        CodeOwner::System => 4,
        CodeOwner::Kernel => 5,
        CodeOwner::Unknown => 0,
    }
}

/// Addresses beginning with this one lose digits in JavaScript.
const BEYOND_JAVASCRIPT: u64 = 1 << 53;

const HOLDS: FormatHolds = FormatHolds {
    format: "profiles of the Firefox Profiler",
    one_event: true,
    held: &[
        Held::Files,
        Held::Lines,
        Held::Objects,
        Held::Addresses,
        Held::Threads,
        Held::Processes,
        Held::Numbers,
        Held::Times,
        Held::Inlined,
        Held::Jit,
    ],
};

/// Writes the stacks of a profile with one of their events.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let stacks = WrittenStacks::select(profile, options, &HOLDS, diagnostics)?;
    let rows = StackRows::collect(&stacks)?;
    let mut writing = FirefoxWriting {
        stacks: &stacks,
        rows: &rows,
        scale: UnitScale::parse(stacks.unit(&stacks.events[0])),
        run: profile.run_record().unwrap_or_default(),
        lost_addresses: 0,
    };
    writing.file(export.out)?;
    export.out.flush()?;
    writing.warn(diagnostics);
    rows.warn(&stacks, diagnostics);
    Ok(())
}

struct FirefoxWriting<'w, 'a> {
    stacks: &'w WrittenStacks<'a>,
    rows: &'w StackRows,
    scale: UnitScale,
    run: RunRecord,
    lost_addresses: u64,
}

/// The warning about invented times.
const NO_TIMES: &str = "the profile has no times of samples: its stacks follow each other, largest first, and the time axis has no meaning";

impl FirefoxWriting<'_, '_> {
    fn warn(&self, diagnostics: &mut Diagnostics) {
        let event = &self.stacks.events[0];
        let weights = self.scale.weight_type();
        if event != weights && weights == "samples" {
            diagnostics.warn(format!(
                "profiles of the Firefox Profiler cannot name {event}: they call it {weights}"
            ));
        }
        if !self.rows.has_times() {
            diagnostics.warn(NO_TIMES);
        }
        if self.lost_addresses > 0 {
            diagnostics.warn(format!(
                "left out: {} of 2^53 or more, which JavaScript cannot hold",
                plural(self.lost_addresses.into(), "address", "addresses")
            ));
        }
    }

    fn file(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let categories = CATEGORIES
            .map(|(name, color)| json!({"name": name, "color": color, "subcategories": ["Other"]}));
        let sampling = &self.run.sampling;
        let rate = sampling.sample_rate.as_ref().and_then(|rate| rate.as_f64());
        let interval = rate.filter(|rate| *rate > 0.0 && self.rows.has_times());
        let sections: Vec<Value> = (!self.rows.has_times())
            .then(|| {
                let entry =
                    json!({"label": "Times of samples", "format": "string", "value": NO_TIMES});
                json!({"label": "Source", "entries": [entry]})
            })
            .into_iter()
            .collect();
        let meta = json!({
            "version": 24,
            "preprocessedProfileVersion": VERSION,
            "interval": interval.map_or(1.0, |rate| 1000.0 / rate),
            "startTime": sampling.start.map_or(0.0, |start| start as f64 / 1e6),
            "processType": 0,
            "product": self.stacks.title(),
            "importedFrom": format!("cg-fmt {}", env!("CARGO_PKG_VERSION")),
            "stackwalk": 1,
            "debug": false,
            "symbolicated": true,
            "categories": categories,
            "markerSchema": [],
            "extra": sections,
        });
        let mut libs: OrderedSet<&str> = OrderedSet::default();
        libs.extend(self.rows.frames().filter_map(|frame| frame.obj.as_deref()));
        let lib = |path: &&str| {
            let name = base_name(path);
            json!({
                "arch": "", "name": name, "path": path, "debugName": name, "debugPath": path,
                "breakpadId": "", "codeId": null,
            })
        };
        let all_libs: Vec<Value> = libs.iter().map(lib).collect();
        write!(out, "{{\"meta\":{meta},\"libs\":")?;
        serde_json::to_writer(&mut *out, &all_libs)?;
        write!(out, ",\"threads\":[")?;
        let mut written = 0;
        let places = self.rows.by_place();
        // The main thread of a process is the thread with the process's number, or else its first thread.
        let has_number_of_process =
            |place: &Whereabouts| place.tid.is_some() && place.tid == place.pid;
        let mut main: Map<_, Whereabouts> = Map::default();
        for (place, _) in &places {
            let known = main.entry((place.pid, place.process)).or_insert(*place);
            if has_number_of_process(place) && !has_number_of_process(known) {
                *known = *place;
            }
        }
        for (place, rows) in &places {
            let is_main = main.get(&(place.pid, place.process)) == Some(place);
            for column in 0..self.stacks.columns() {
                if written > 0 {
                    write!(out, ",")?;
                }
                self.thread((*place, rows), column, (written, is_main), &libs, out)?;
                written += 1;
            }
        }
        writeln!(out, "]}}")
    }

    /// Writes one thread with its tables.
    fn thread(
        &mut self,
        (place, rows): (Whereabouts, &[StackRow<'_>]),
        column: usize,
        (number, is_main): (usize, bool),
        libs: &OrderedSet<&str>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut rows: Vec<&StackRow> = rows.iter().collect();
        rows.sort_by_key(|row| row.time);
        let tables = ThreadTables::build(self.rows, rows.iter().map(|row| row.node), libs);
        self.lost_addresses += tables.lost_addresses;
        let stacks: Vec<usize> = rows.iter().map(|row| tables.stacks[&row.node]).collect();
        let name_of = |name: Option<_>| name.map_or("", |name| self.rows.place(name));
        let name = match &self.stacks.runs {
            Some(runs) => &runs[column],
            None => name_of(place.thread),
        };
        let pid = place.pid.or(self.run.pid).unwrap_or(0);
        let facts = json!({
            "name": name,
            "processName": name_of(place.process),
            "processType": "default",
            "isMainThread": is_main,
            "pid": pid.to_string(),
            "tid": place.tid.unwrap_or(number as u64),
            "processStartupTime": 0,
            "processShutdownTime": null,
            "registerTime": 0,
            "unregisterTime": null,
            "pausedRanges": [],
            "markers": {"length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [], "startTime": []},
            "nativeSymbols": {"length": 0, "address": [], "functionSize": [], "libIndex": [], "name": []},
        });
        let facts = facts.to_string();
        // The tables can be long, so they are written directly, without JSON values in memory.
        write!(
            out,
            "{},\"samples\":{{\"weightType\":\"{}\",",
            &facts[..facts.len() - 1],
            self.scale.weight_type()
        )?;
        list(out, "stack", stacks.iter())?;
        self.times(&rows, column, out)?;
        let weights = rows
            .iter()
            .map(|row| self.scale.convert(row.counts[column]));
        list(out, ",weight", weights)?;
        write!(out, ",\"length\":{}}}", stacks.len())?;
        tables.write(out)?;
        write!(out, "}}")
    }

    /// Writes the times of the samples, in ms.
    fn times(&self, rows: &[&StackRow], column: usize, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.has_times() {
            let times = rows.iter().map(|row| row.time.unwrap_or(0));
            return list(
                out,
                ",time",
                times.map(|time| UnitScale::NS.convert(time.into())),
            );
        }
        if !self.scale.is_time() {
            return list(out, ",time", 0..rows.len());
        }
        let mut sum = 0;
        let times = rows.iter().map(|row| {
            let begin = self.scale.convert(sum);
            sum += row.counts[column].abs();
            begin
        });
        list(out, ",time", times)
    }
}

/// The tables of a thread, with only the entries that its stacks need.
#[derive(Default)]
struct ThreadTables<'t> {
    stacks: Map<StackNodeId, usize>,
    /// For each stack, its innermost frame and its outer stack.
    stack_rows: Vec<(usize, Option<usize>)>,
    frames: OrderedSet<WrittenFrameId>,
    frame_rows: Vec<FirefoxFrame>,
    /// Name, file and resource.
    functions: OrderedSet<(usize, Option<usize>, Option<usize>)>,
    /// The index in `libs` and the index of the name.
    resources: OrderedSet<(usize, usize)>,
    strings: OrderedSet<&'t str>,
    /// The number of addresses that JavaScript cannot hold.
    lost_addresses: u64,
}

struct FirefoxFrame {
    function: usize,
    /// The address in its object.
    address: Option<u64>,
    line: Option<u64>,
    category: usize,
    is_inlined: bool,
}

impl<'t> ThreadTables<'t> {
    fn build(
        rows: &'t StackRows,
        wanted: impl Iterator<Item = StackNodeId>,
        libs: &OrderedSet<&str>,
    ) -> ThreadTables<'t> {
        let mut is_needed = vec![false; rows.nodes.len()];
        for node in wanted {
            let mut rest = Some(node);
            while let Some(node) = rest.filter(|node| !is_needed[node.index()]) {
                is_needed[node.index()] = true;
                rest = rows.nodes.outer(node);
            }
        }
        let mut tables = ThreadTables::default();
        // A stack follows its outer stack, whose index is known by then.
        for node in rows.nodes.all().filter(|node| is_needed[node.index()]) {
            let frame = tables.frame(rows, rows.nodes.frame(node), libs);
            let outer = rows
                .nodes
                .outer(node)
                .and_then(|outer| tables.stacks.get(&outer).copied());
            tables.stacks.insert(node, tables.stack_rows.len());
            tables.stack_rows.push((frame, outer));
        }
        tables
    }

    fn frame(&mut self, rows: &'t StackRows, id: WrittenFrameId, libs: &OrderedSet<&str>) -> usize {
        let (position, is_new) = self.frames.insert_full(id);
        if is_new {
            let frame = rows.frame(id);
            let name = self.string(frame.name.as_deref().unwrap_or_default());
            let file = frame.file.as_deref().map(|file| self.string(file));
            let resource = frame.obj.as_deref().and_then(|object| {
                let name = self.string(base_name(object));
                let (resource, _) = self
                    .resources
                    .insert_full((libs.get_index_of(object)?, name));
                Some(resource)
            });
            let (function, _) = self.functions.insert_full((name, file, resource));
            let digits = frame
                .addr
                .as_deref()
                .and_then(|addr| addr.strip_prefix("0x"));
            let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            let is_lost = address.is_some_and(|address| address >= BEYOND_JAVASCRIPT);
            self.lost_addresses += u64::from(is_lost);
            self.frame_rows.push(FirefoxFrame {
                function,
                address: address.filter(|_| !is_lost),
                line: frame.line,
                category: category(rows.owner(id), frame),
                is_inlined: frame.inlined,
            });
        }
        position
    }

    fn string(&mut self, text: &'t str) -> usize {
        self.strings.insert_full(text).0
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (stacks, frames) = (&self.stack_rows, &self.frame_rows);
        write!(out, ",\"stackTable\":{{\"length\":{}", stacks.len())?;
        list(out, ",frame", stacks.iter().map(|(frame, _)| frame))?;
        list(
            out,
            ",prefix",
            stacks.iter().map(|(_, outer)| Nullable(*outer)),
        )?;
        write!(out, "}},\"frameTable\":{{\"length\":{}", frames.len())?;
        let address = |frame: &FirefoxFrame| match frame.address {
            Some(address) => i128::from(address),
            None => -1,
        };
        list(out, ",address", frames.iter().map(address))?;
        list(
            out,
            ",inlineDepth",
            frames.iter().map(|frame| u8::from(frame.is_inlined)),
        )?;
        list(out, ",category", frames.iter().map(|frame| frame.category))?;
        list(out, ",subcategory", frames.iter().map(|_| 0))?;
        list(out, ",func", frames.iter().map(|frame| frame.function))?;
        list(out, ",nativeSymbol", frames.iter().map(|_| "null"))?;
        list(out, ",innerWindowID", frames.iter().map(|_| 0))?;
        list(
            out,
            ",line",
            frames.iter().map(|frame| Nullable(frame.line)),
        )?;
        list(out, ",column", frames.iter().map(|_| "null"))?;
        let functions = &self.functions;
        write!(out, "}},\"funcTable\":{{\"length\":{}", functions.len())?;
        list(out, ",name", functions.iter().map(|(name, ..)| name))?;
        list(out, ",isJS", functions.iter().map(|_| false))?;
        list(out, ",relevantForJS", functions.iter().map(|_| false))?;
        let resource =
            |resource: Option<usize>| resource.map_or("-1".to_owned(), |row| row.to_string());
        list(
            out,
            ",resource",
            functions.iter().map(|(_, _, of)| resource(*of)),
        )?;
        list(
            out,
            ",fileName",
            functions.iter().map(|(_, file, _)| Nullable(*file)),
        )?;
        list(out, ",lineNumber", functions.iter().map(|_| "null"))?;
        list(out, ",columnNumber", functions.iter().map(|_| "null"))?;
        let resources = &self.resources;
        write!(out, "}},\"resourceTable\":{{\"length\":{}", resources.len())?;
        list(out, ",lib", resources.iter().map(|(lib, _)| lib))?;
        list(out, ",name", resources.iter().map(|(_, name)| name))?;
        list(out, ",host", resources.iter().map(|_| "null"))?;
        // Type 1 is a library.
        list(out, ",type", resources.iter().map(|_| 1))?;
        write!(out, "}},\"stringArray\":")?;
        serde_json::to_writer(out, &self.strings.iter().collect::<Vec<_>>())
            .map_err(io::Error::from)
    }
}

/// Writes a named list. If the name begins with a comma, the comma precedes the list.
fn list<T: Display>(
    out: &mut dyn Write,
    name: &str,
    values: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    let (comma, name) = match name.strip_prefix(',') {
        Some(name) => (",", name),
        None => ("", name),
    };
    write!(out, "{comma}\"{name}\":[")?;
    for (position, value) in values.into_iter().enumerate() {
        let comma = if position > 0 { "," } else { "" };
        write!(out, "{comma}{value}")?;
    }
    write!(out, "]")
}

/// A number, or `null`.
struct Nullable<T>(Option<T>);

impl<T: Display> Display for Nullable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("null"),
        }
    }
}
