//! A profile of the Firefox Profiler (<https://profiler.firefox.com>), as its "processed" format was in version 55: every
//! later profiler upgrades it, and each thread has its tables to itself.
//!
//! The format has one weight a sample, so one event is written; a stack is one sample that weighs what it costs. The two runs
//! of a diff are two threads. Time means nothing: samples stand a millisecond apart, largest cost first as in the stream.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::io::{self, BufWriter, Write};

use cg_names::paths::base_name;
use cg_stream::intern::Id;
use cg_stream::profile::Profile;
use cg_stream::record::{Count, Frame};
use cg_stream::tool::Diagnostics;
use foldhash::fast::FixedState;
use indexmap::IndexSet;
use serde_json::{Value, json};

use super::events::Holds;
use super::stacks::{
    StackNodeId, StackRows, Whereabouts, WrittenFrameId, WrittenStacks, frame_name, line_in_file,
};
use crate::options::Options;

/// The version of the format.
const VERSION: u32 = 55;

/// Kinds of code, with their colours. A frame refers to its kind by index.
const CATEGORIES: [(&str, &str); 4] = [
    ("Other", "grey"),
    ("User", "yellow"),
    ("Kernel", "orange"),
    ("JIT", "purple"),
];
const USER: usize = 1;
const KERNEL: usize = 2;
const JIT: usize = 3;

/// Writes the stacks of a profile with one of their events.
pub(crate) fn write(
    profile: &Profile,
    options: &Options,
    out: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    let holds = Holds::OneEvent("profiles of the Firefox Profiler");
    let stacks = WrittenStacks::of(profile, options, holds, diagnostics)?;
    let rows = StackRows::of(&stacks, |frame| Frame {
        name: Some(frame_name(frame).into_owned().into()),
        line: line_in_file(frame),
        site: None,
        addr: None,
        waker: false,
        ..frame.clone()
    })?;
    let mut out = BufWriter::with_capacity(64 * 1024, out);
    let writing = FirefoxWriting {
        stacks: &stacks,
        rows: &rows,
        pid: profile.runs().first().and_then(|run| run.pid).unwrap_or(0),
    };
    writing.file(&mut out)?;
    out.flush()?;
    let event = &stacks.events[0];
    let weights = writing.weight_type();
    if event != weights {
        diagnostics.warn(format!(
            "profiles of the Firefox Profiler have no name for {event}: it is called {weights} there"
        ));
    }
    let holds = ["files", "lines", "objects", "threads", "processes", "marks"];
    rows.losses
        .say("profiles of the Firefox Profiler", &holds, diagnostics);
    stacks.say_estimated(&rows.estimated, &rows.totals, diagnostics);
    Ok(())
}

struct FirefoxWriting<'w, 'a> {
    stacks: &'w WrittenStacks<'a>,
    rows: &'w StackRows,
    pid: u64,
}

impl FirefoxWriting<'_, '_> {
    fn file(&self, out: &mut dyn Write) -> io::Result<()> {
        let categories = CATEGORIES
            .map(|(name, color)| json!({"name": name, "color": color, "subcategories": ["Other"]}));
        let meta = json!({
            "version": 24,
            "preprocessedProfileVersion": VERSION,
            "interval": 1,
            "startTime": 0,
            "processType": 0,
            "product": self.stacks.title(),
            "importedFrom": format!("cg-fmt {}", env!("CARGO_PKG_VERSION")),
            "stackwalk": 1,
            "debug": false,
            "symbolicated": true,
            "categories": categories,
            "markerSchema": [],
        });
        let mut libs: IndexSet<&str, FixedState> = IndexSet::default();
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
        for place in self.rows.places() {
            for column in 0..self.stacks.columns() {
                if written > 0 {
                    write!(out, ",")?;
                }
                self.thread(place, column, written, &libs, out)?;
                written += 1;
            }
        }
        writeln!(out, "]}}")
    }

    /// One thread with its tables.
    fn thread(
        &self,
        place: Whereabouts,
        column: usize,
        number: usize,
        libs: &IndexSet<&str, FixedState>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let rows = || self.rows.all().filter(|row| row.place == place);
        let tables = ThreadTables::of(self.rows, rows().map(|row| row.node), libs);
        let stacks: Vec<usize> = rows().map(|row| tables.stacks[&row.node]).collect();
        let weights: Vec<Count> = rows().map(|row| row.counts[column]).collect();
        let name_of = |name: Option<_>| name.map_or("", |name| self.rows.place(name));
        let name = match &self.stacks.runs {
            Some(runs) => &runs[column],
            None => name_of(place.thread),
        };
        let facts = json!({
            "name": name,
            "processName": name_of(place.process),
            "processType": "default",
            "isMainThread": number == 0,
            "pid": self.pid.to_string(),
            "tid": number,
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
            self.weight_type()
        )?;
        list(out, "stack", stacks.iter())?;
        list(out, ",time", 0..stacks.len())?;
        list(out, ",weight", &weights)?;
        write!(out, ",\"length\":{}}}", stacks.len())?;
        tables.write(out)?;
        write!(out, "}}")
    }

    /// The word for what weights are, of those that the profiler knows.
    fn weight_type(&self) -> &'static str {
        match self.stacks.unit_of(&self.stacks.events[0]) {
            Some("bytes") => "bytes",
            _ => "samples",
        }
    }
}

/// The tables of a thread, with what its stacks need and nothing else.
#[derive(Default)]
struct ThreadTables<'t> {
    stacks: HashMap<StackNodeId, usize, FixedState>,
    /// For each stack, its frame and the stack that called it.
    stack_rows: Vec<(usize, Option<usize>)>,
    frames: IndexSet<WrittenFrameId, FixedState>,
    frame_rows: Vec<FirefoxFrame>,
    /// Name, file and resource.
    functions: IndexSet<(usize, Option<usize>, Option<usize>), FixedState>,
    /// The index in `libs` and the index of the name.
    resources: IndexSet<(usize, usize), FixedState>,
    strings: IndexSet<&'t str, FixedState>,
}

struct FirefoxFrame {
    function: usize,
    line: Option<u64>,
    category: usize,
    is_inlined: bool,
}

impl<'t> ThreadTables<'t> {
    fn of(
        rows: &'t StackRows,
        wanted: impl Iterator<Item = StackNodeId>,
        libs: &IndexSet<&str, FixedState>,
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

    fn frame(
        &mut self,
        rows: &'t StackRows,
        id: WrittenFrameId,
        libs: &IndexSet<&str, FixedState>,
    ) -> usize {
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
            self.frame_rows.push(FirefoxFrame {
                function,
                line: frame.line,
                category: match (frame.kernel, frame.jit) {
                    (true, _) => KERNEL,
                    (_, true) => JIT,
                    _ => USER,
                },
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
        list(out, ",address", frames.iter().map(|_| -1))?;
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
