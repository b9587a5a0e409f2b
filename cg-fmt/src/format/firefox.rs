//! A profile of the Firefox Profiler (<https://profiler.firefox.com>), as its "processed" format was in version 55: every
//! later profiler upgrades it, and each thread has its tables to itself.
//!
//! The format has one weight a sample, so one event is written: times as `tracing-ms`, bytes as `bytes`, all else as `samples`.
//! The two runs of a diff are two threads. Samples stand where the profile says that they were taken. Where it does not, a
//! stack is one sample, which stands behind those before it: largest first as in the stream, times one after the other, counts
//! a millisecond apart. That is said on standard error, and `meta.extra` of the profile has it too.

use std::fmt::{self, Display};
use std::io::{self, Write};

use cg_names::paths::base_name;
use cg_names::whose::CodeOwner;
use cg_stream::intern::Id;
use cg_stream::maps::{Map, OrderedSet};
use cg_stream::record::{Frame, RunRecord};
use cg_stream::tool::Diagnostics;
use serde_json::{Value, json};

use super::holds::{FormatHolds, Held};
use super::scale::UnitScale;
use super::stacks::{StackNodeId, StackRow, StackRows, Whereabouts, WrittenFrameId, WrittenStacks};
use crate::output::Export;

/// The version of the format.
const VERSION: u32 = 55;

/// Whose code it is, with their colours; a frame refers to one by index. The profiler wants a grey one.
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
    }
}

/// Addresses from here on lose digits where JavaScript reads them.
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
    let stacks = WrittenStacks::of(profile, options, &HOLDS, diagnostics)?;
    let rows = StackRows::of(&stacks)?;
    let mut writing = FirefoxWriting {
        stacks: &stacks,
        rows: &rows,
        scale: UnitScale::of(stacks.unit_of(&stacks.events[0])),
        run: profile.run_record().unwrap_or_default(),
        lost_addresses: 0,
    };
    writing.file(export.out)?;
    export.out.flush()?;
    writing.say(diagnostics);
    rows.say(&stacks, diagnostics);
    Ok(())
}

struct FirefoxWriting<'w, 'a> {
    stacks: &'w WrittenStacks<'a>,
    rows: &'w StackRows,
    scale: UnitScale,
    run: RunRecord,
    lost_addresses: u64,
}

/// What is said where times are made up.
const NO_TIMES: &str = "the profile has no times of samples: its stacks stand one after the other, largest first, and the time axis means nothing";

impl FirefoxWriting<'_, '_> {
    fn say(&self, diagnostics: &mut Diagnostics) {
        let event = &self.stacks.events[0];
        let weights = self.scale.weight_type();
        if event != weights && weights == "samples" {
            diagnostics.warn(format!(
                "profiles of the Firefox Profiler have no name for {event}: it is called {weights} there"
            ));
        }
        if !self.rows.has_times() {
            diagnostics.warn(NO_TIMES);
        }
        if self.lost_addresses > 0 {
            diagnostics.warn(format!(
                "{} addresses are 2^53 or more, which JavaScript cannot hold: left out",
                self.lost_addresses
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
        // A process has a main thread: the one of its number, else the first of it.
        let is_of_its_number = |place: &Whereabouts| place.tid.is_some() && place.tid == place.pid;
        let mut main: Map<_, Whereabouts> = Map::default();
        for (place, _) in &places {
            let known = main.entry((place.pid, place.process)).or_insert(*place);
            if is_of_its_number(place) && !is_of_its_number(known) {
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

    /// One thread with its tables.
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
        let tables = ThreadTables::of(self.rows, rows.iter().map(|row| row.node), libs);
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
        // The tables can be long, so they are written directly instead of being built as JSON values first.
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
            .map(|row| self.scale.of_count(row.counts[column]));
        list(out, ",weight", weights)?;
        write!(out, ",\"length\":{}}}", stacks.len())?;
        tables.write(out)?;
        write!(out, "}}")
    }

    /// When the samples were taken, in ms.
    fn times(&self, rows: &[&StackRow], column: usize, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.has_times() {
            let times = rows.iter().map(|row| row.time.unwrap_or(0));
            return list(
                out,
                ",time",
                times.map(|time| UnitScale::NS.of_count(time.into())),
            );
        }
        if !self.scale.is_of_time() {
            return list(out, ",time", 0..rows.len());
        }
        let mut sum = 0;
        let times = rows.iter().map(|row| {
            let begin = self.scale.of_count(sum);
            sum += row.counts[column].abs();
            begin
        });
        list(out, ",time", times)
    }
}

/// The tables of a thread, with what its stacks need and nothing else.
#[derive(Default)]
struct ThreadTables<'t> {
    stacks: Map<StackNodeId, usize>,
    /// For each stack, its frame and the stack that called it.
    stack_rows: Vec<(usize, Option<usize>)>,
    frames: OrderedSet<WrittenFrameId>,
    frame_rows: Vec<FirefoxFrame>,
    /// Name, file and resource.
    functions: OrderedSet<(usize, Option<usize>, Option<usize>)>,
    /// The index in `libs` and the index of the name.
    resources: OrderedSet<(usize, usize)>,
    strings: OrderedSet<&'t str>,
    /// Addresses that JavaScript cannot hold.
    lost_addresses: u64,
}

struct FirefoxFrame {
    function: usize,
    /// In its object.
    address: Option<u64>,
    line: Option<u64>,
    category: usize,
    is_inlined: bool,
}

impl<'t> ThreadTables<'t> {
    fn of(
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
        // A stack comes after its outer stack, which has its index by then.
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
        // 1 is a library.
        list(out, ",type", resources.iter().map(|_| 1))?;
        write!(out, "}},\"stringArray\":")?;
        serde_json::to_writer(out, &self.strings.iter().collect::<Vec<_>>())
            .map_err(io::Error::from)
    }
}

/// Writes a named list. A name that begins with a comma puts that comma in front of the list.
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
