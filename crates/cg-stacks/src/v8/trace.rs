//! CPU profiles inside a trace of Chrome's (the Trace Event Format): an object with `traceEvents`, or the list alone, which
//! may end without its bracket where Chrome did.
//!
//! The sampled thread begins a profile with an event `Profile`; nodes, samples and times follow in events `ProfileChunk` of
//! the same process and `id`. Older traces have the whole profile in one event `CpuProfile`. Everything else in a trace is
//! counted and not read, but for the names of threads and processes: slices (`B`, `E`, `X`) say what a thread was asked to
//! do, not which functions it ran.

use std::collections::BTreeMap;
use std::io::Read as _;

use cg_reader::json::{JsonText, List, Scanner};
use cg_reader::number::whole_u64;
use cg_reader::{Error, Head, Lines, Options, Out, excerpt};
use cg_stream::Diagnostics;
use cg_stream::record::{RunRecord, ThreadFacts};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::table::{StackKey, StackTable};
use super::super::write::write;
use super::call_node::CallNode;
use super::nodes::V8Nodes;
use super::samples::{V8Samples, time};

/// Whether a document is a trace: by the list of its events, or by its first event.
pub fn is_trace(head: &Head) -> bool {
    let mut scanner = Scanner::new(head.bytes);
    if scanner.take(b'[') {
        return is_event(&mut scanner);
    }
    scanner.any_key(|key, mut value| (key == b"traceEvents").then(|| value.take(b'[')))
}

fn is_event(scanner: &mut Scanner) -> bool {
    let (mut has_phase, mut has_process) = (false, false);
    scanner.any_key(|key, _| {
        has_phase |= key == b"ph";
        has_process |= matches!(key, b"pid" | b"ts");
        None
    });
    has_phase && has_process
}

#[derive(Deserialize)]
struct TraceEvent<'a> {
    #[serde(borrow, default)]
    name: Option<JsonText<'a>>,
    /// What kind of event it is.
    #[serde(borrow, default, rename = "ph")]
    phase: Option<JsonText<'a>>,
    #[serde(borrow, default)]
    pid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EventArgs<'a> {
    #[serde(borrow, default)]
    data: Option<Data<'a>>,
    /// Of a thread or process.
    #[serde(borrow, default)]
    name: Option<JsonText<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow, default)]
    cpu_profile: Option<ProfilePiece<'a>>,
    #[serde(borrow, default)]
    time_deltas: List<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProfilePiece<'a> {
    #[serde(borrow, default)]
    nodes: Vec<CallNode<'a>>,
    #[serde(borrow, default)]
    samples: List<'a>,
    #[serde(borrow, default)]
    time_deltas: List<'a>,
}

/// A thread or a process, as the trace numbers them.
type ThreadKey = (Option<u64>, Option<u64>);

/// A profile while its pieces are met.
#[derive(Default)]
struct TracedProfile<'a> {
    place: ThreadKey,
    nodes: V8Nodes,
    /// The samples and the times between them.
    pieces: Vec<(List<'a>, List<'a>)>,
}

/// A trace while it is read.
#[derive(Default)]
struct ChromeTrace<'a> {
    table: StackTable,
    /// By process and id, in the order they were begun.
    profiles: Vec<((Option<u64>, &'a str), TracedProfile<'a>)>,
    threads: BTreeMap<ThreadKey, String>,
    processes: BTreeMap<Option<u64>, String>,
    left_out: UnreadEvents,
}

/// Events that are not read.
#[derive(Default)]
struct UnreadEvents {
    events: u64,
    /// Those among them that begin a slice, or are one.
    slices: u64,
}

/// Reads the CPU profiles in a trace of Chrome: a [`cg_reader::ReadRecords`].
pub fn parse(
    source: &str,
    lines: &mut Lines,
    options: &Options,
    out: &mut Out,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let mut text = Vec::new();
    lines.read_to_end(&mut text).map_err(Error::Input)?;
    let mut trace = ChromeTrace::default();
    let read = trace.read(&text, options);
    let UnreadEvents { events, slices } = trace.left_out;
    if events > 0 {
        diagnostics.warn(format!(
            "{source}: {events} events of the trace are no samples and are left out, {slices} of them slices"
        ));
    }
    if trace.profiles.is_empty() {
        read?;
        return Err(Error::whole(
            "expected a CPU profile in the trace (events ProfileChunk or CpuProfile), found none: record it with the category disabled-by-default-v8.cpu_profiler",
        ));
    }
    let mut run = RunRecord::new("chrome-trace");
    run.source = vec![source.to_owned()];
    let samples = trace.add_samples(&mut run, source, diagnostics);
    write(run, &trace.table, read.and(samples), out)
}

impl<'a> ChromeTrace<'a> {
    fn read(&mut self, text: &'a [u8], options: &Options) -> Result<(), Error> {
        let mut scanner = Scanner::new(text);
        if scanner.take(b'[') {
            self.events(&mut scanner, options, false)?;
            return scanner.expect_end();
        }
        scanner.expect(b'{')?;
        while let Some(key) = scanner.next_key()? {
            if key == b"traceEvents" {
                scanner.expect(b'[')?;
                self.events(&mut scanner, options, true)?;
            } else {
                scanner.skip_value()?;
            }
        }
        scanner.expect_end()
    }

    /// Reads a list of events. Only one that is inside an object has to end.
    fn events(
        &mut self,
        scanner: &mut Scanner<'a>,
        options: &Options,
        has_end: bool,
    ) -> Result<(), Error> {
        loop {
            let is_at_end = scanner.peek().is_none() || {
                let mut behind = scanner.clone();
                behind.take(b',') && behind.peek().is_none()
            };
            if is_at_end && !has_end {
                scanner.take(b',');
                return Ok(());
            }
            if !scanner.next_element()? {
                return Ok(());
            }
            let event: TraceEvent = scanner.value()?;
            self.event(&event, options)?;
        }
    }

    fn event(&mut self, event: &TraceEvent<'a>, options: &Options) -> Result<(), Error> {
        let name = event.name.as_ref().map_or(&[][..], JsonText::as_bytes);
        let is_profile = matches!(name, b"Profile" | b"ProfileChunk" | b"CpuProfile");
        if !(is_profile || matches!(name, b"thread_name" | b"process_name")) {
            let phase = event.phase.as_ref().map_or(&[][..], JsonText::as_bytes);
            // Of what else there is to know of threads and processes nothing is a cost.
            self.left_out.events += u64::from(phase != b"M");
            self.left_out.slices += u64::from(matches!(phase, b"B" | b"X"));
            return Ok(());
        }
        let Some(args) = event.args else {
            return Ok(());
        };
        let args: EventArgs = serde_json::from_str(args.get())
            .map_err(|error| Error::whole(format!("an event {}: {error}", excerpt(name))))?;
        let number = |value: Option<&RawValue>| whole_u64(value?.get().as_bytes());
        let place = (number(event.pid), number(event.tid));
        if !is_profile {
            let named = args
                .name
                .and_then(|name| name.given().map(|name| name.into_string()));
            if let Some(named) = named {
                match name {
                    b"thread_name" => self.threads.insert(place, named),
                    _ => self.processes.insert(place.0, named),
                };
            }
            return Ok(());
        }
        let key = (place.0, event.id.map_or("", RawValue::get));
        let known = self.profiles.iter().position(|(known, _)| *known == key);
        let position = known.unwrap_or_else(|| {
            let profile = TracedProfile {
                place,
                ..TracedProfile::default()
            };
            self.profiles.push((key, profile));
            self.profiles.len() - 1
        });
        let profile = &mut self.profiles[position].1;
        if name != b"ProfileChunk" {
            // Chunks are written by another thread than the one that was sampled.
            profile.place = place;
        }
        let Some(data) = args.data else {
            return Ok(());
        };
        let Some(piece) = data.cpu_profile else {
            return Ok(());
        };
        for node in &piece.nodes {
            profile.nodes.add(node, options.demangle, &mut self.table)?;
        }
        let deltas = match data.time_deltas.is_empty() {
            true => piece.time_deltas,
            false => data.time_deltas,
        };
        profile.pieces.push((piece.samples, deltas));
        Ok(())
    }

    /// Adds the samples of all profiles, now that all nodes are known.
    fn add_samples(
        &mut self,
        run: &mut RunRecord,
        source: &str,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Error> {
        let mut samples = V8Samples::new(&mut self.table, run);
        let (mut strays, mut orphans) = (0u64, 0);
        for (_, profile) in &mut self.profiles {
            // Chrome throws the beginning of a long trace away.
            orphans += profile.nodes.resolve_known(&mut self.table)?;
            let (pid, tid) = profile.place;
            let thread = self.threads.get(&profile.place);
            let process = self.processes.get(&pid);
            let number = tid.map(|tid| format!("{tid}"));
            let row = StackKey {
                thread: match thread.or(number.as_ref()) {
                    Some(name) => self.table.given(name.as_bytes())?,
                    None => None,
                },
                process: match process {
                    Some(name) => self.table.given(name.as_bytes())?,
                    None => None,
                },
                pid,
                ..StackKey::default()
            };
            run.threads.push(ThreadFacts {
                pid,
                process: process.cloned(),
                thread: tid,
                thread_name: thread.cloned(),
                ..ThreadFacts::default()
            });
            for (ids, deltas) in &profile.pieces {
                let mut deltas = deltas.elements();
                for id in ids.elements() {
                    let position = whole_u64(id).and_then(|id| profile.nodes.position(id).ok());
                    strays += u64::from(position.is_none());
                    let row = StackKey {
                        stack: position.and_then(|position| profile.nodes.stack(position)),
                        ..row
                    };
                    let delta = deltas.next().map(time).transpose()?;
                    samples.add(row, delta, &mut self.table)?;
                }
            }
        }
        if orphans > 0 {
            diagnostics.warn(format!(
                "{source}: {orphans} nodes are called from others that the trace has not; their stacks begin with them"
            ));
        }
        if strays > 0 {
            diagnostics.warn(format!(
                "{source}: {strays} samples were taken in nodes that the trace has not; they have no stack"
            ));
        }
        samples.warn(source, diagnostics);
        Ok(())
    }
}
