//! Traces in the Trace Event Format, which Chrome, Bazel, `clang -ftime-trace`, viztracer, PyTorch, `py-spy record -f
//! chrometrace`, uftrace, rustc and many others write: an object with `traceEvents`, or the list alone, which may end
//! without its bracket where the writer did.
//!
//! Of its kinds of events (`ph`) three are slices: `X` is one, `B` begins one and `E` ends it. Those of a thread lie inside
//! each other, so what is open at a time is a stack. `time` is how long a stack was what it was: the duration of a slice less
//! that of the slices inside it. `slices` counts those that had time of their own there; the others are told.
//!
//! - Events stand in any order. Of slices that begin together the longer is the outer one, of equal ones that which stands
//!   first. Times are integers of ns, made of the text of `ts` and of the exact sum of `ts` and `dur`: in floating point a
//!   slice ends behind the one it is in.
//! - An `E` ends the last slice of its name that is open; without a name, the last. At one time ends come before
//!   beginnings, but for slices without length. In a thread whose events stand in the order of time, that order tells.
//! - What has no end lasts to the end of the trace. A slice that ends behind the one it is in is cut there, or that one where
//!   the other begins: whichever loses less. Both are counted on standard error.
//! - clang's `Total …` are sums of its other slices, each on a thread of its own from time 0: they are left out.
//! - Names like viztracer's `f (app.py:3)` and PyTorch's `app.py(3): f` are taken apart; py-spy and Clang give file and line
//!   in `args`. `Source` of Clang has the file in its `detail`.
//!
//! Where V8's profiler wrote samples into a trace (`Profile` and `ProfileChunk`, or `CpuProfile`), these are read instead: a
//! slice says what a thread was asked to do, a sample which function it ran.

use std::collections::BTreeSet;

use cg_reader::json::{Scanner, Window};
use cg_reader::{Error, Head, Reading};
use cg_stream::intern::Id as _;
use cg_stream::record::RunRecord;
use serde_json::Value;

use self::event::TraceEvent;
use self::names::SliceNames;
use self::slices::{Nesting, ThreadSlices};
use super::table::StackTable;
use super::v8::TracedProfiles;
use super::write::write;

mod event;
mod names;
mod slices;
mod threads;

pub(super) use threads::{TraceThreadId, TraceThreads};

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
    scanner.any_key(|key, mut value| {
        // A kind of event is a letter.
        has_phase |= key == b"ph" && matches!(value.skip_value(), Ok([b'"', _, b'"']));
        has_process |= matches!(key, b"pid" | b"ts");
        None
    });
    has_phase && has_process
}

/// Reads a trace: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut trace = TraceFile::new(reading.run("trace-events"), reading.options.demangle);
    let read = trace.read(&mut Window::new(reading.lines));
    match trace.profiles.is_empty() {
        true => trace.write_slices(read, reading),
        false => trace.write_profiles(read, reading),
    }
}

/// A trace while it is read.
struct TraceFile {
    demangle: bool,
    run: RunRecord,
    table: StackTable,
    threads: TraceThreads,
    names: SliceNames,
    /// By thread.
    slices: Vec<ThreadSlices>,
    profiles: TracedProfiles,
    counted: EventCounts,
}

/// How many events there were of which only that is kept.
#[derive(Default)]
struct EventCounts {
    slices: u64,
    ends: u64,
    /// Instants, counters, asynchronous events and others.
    others: u64,
    /// Clang's sums.
    sums: u64,
    /// Slices whose durations are below 0.
    backwards: u64,
}

impl TraceFile {
    fn new(run: RunRecord, demangle: bool) -> TraceFile {
        TraceFile {
            demangle,
            run,
            table: StackTable::default(),
            threads: TraceThreads::default(),
            names: SliceNames::default(),
            slices: Vec::new(),
            profiles: TracedProfiles::default(),
            counted: EventCounts::default(),
        }
    }

    fn read(&mut self, window: &mut Window) -> Result<(), Error> {
        if window.take(b'[')? {
            self.events(window, false)?;
            return window.expect_end();
        }
        window.expect(b'{')?;
        let mut is_first = true;
        while let Some(key) = window.next_key(is_first)? {
            is_first = false;
            match &key[..] {
                b"traceEvents" => {
                    window.expect(b'[')?;
                    self.events(window, true)?;
                }
                b"otherData" | b"viztracer_metadata" => {
                    let length = window.value()?;
                    self.describe(&key, window.read(length)?);
                    window.consume(length);
                }
                _ => window.skip_value()?,
            }
        }
        window.expect_end()
    }

    /// What the writer says of the run.
    fn describe(&mut self, key: &[u8], said: Value) {
        let Value::Object(said) = said else {
            return;
        };
        for (key_of, value) in said {
            let text = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                _ => continue,
            };
            match (key, &key_of[..]) {
                (b"viztracer_metadata", "version") => {
                    self.run.creator = Some(format!("viztracer {text}"));
                }
                (b"viztracer_metadata", _) => {}
                _ => {
                    self.run.sampling.labels.insert(key_of, text);
                }
            }
        }
    }

    /// Reads a list of events. Only one that is inside an object has to end.
    fn events(&mut self, window: &mut Window, has_end: bool) -> Result<(), Error> {
        for number in 0u64.. {
            if (window.peek()?.is_none() && !has_end) || window.take(b']')? {
                return Ok(());
            }
            if number > 0 {
                window.expect(b',')?;
            }
            if window.peek()?.is_none() && !has_end {
                return Ok(());
            }
            let length = window.value()?;
            let event: TraceEvent = window.read(length)?;
            let kept = self.event(&event);
            kept.map_err(|error| at_line(window.line(), error))?;
            window.consume(length);
        }
        Ok(())
    }

    fn event(&mut self, event: &TraceEvent) -> Result<(), Error> {
        let phase = event.phase();
        let is_slice = matches!(phase, b"B" | b"E" | b"X");
        if !is_slice {
            return match event.name() {
                b"Profile" | b"ProfileChunk" | b"CpuProfile" => self.profile_event(event),
                b"thread_name" | b"process_name" if phase == b"M" => self.name_event(event),
                _ => {
                    self.counted.others += u64::from(phase != b"M");
                    Ok(())
                }
            };
        }
        if event.is_sum() {
            self.counted.sums += 1;
            return Ok(());
        }
        match phase {
            b"E" => self.counted.ends += 1,
            _ => self.counted.slices += 1,
        }
        if !self.profiles.is_empty() {
            return Ok(());
        }
        let thread = self.threads.id(event)?;
        let named = self.names.of(event, self.demangle, &mut self.table)?;
        if self.slices.len() <= thread.index() {
            self.slices
                .resize_with(thread.index() + 1, ThreadSlices::default);
        }
        let slices = &mut self.slices[thread.index()];
        let begin = event.begin()?;
        match phase {
            b"X" => {
                let end = event.end()?;
                self.counted.backwards += u64::from(end < begin);
                slices.whole(begin, end.max(begin), named);
            }
            phase => slices.mark(begin, named, phase == b"E"),
        }
        Ok(())
    }

    /// Keeps the name of a thread or a process.
    fn name_event(&mut self, event: &TraceEvent) -> Result<(), Error> {
        let args = event.args()?;
        if let Some(name) = args.name.as_ref().and_then(|name| name.given()) {
            let is_of_thread = event.name() == b"thread_name";
            self.threads
                .set_name(event, is_of_thread, name.into_string())?;
        }
        Ok(())
    }

    /// Keeps a piece of a profile, in the place of slices.
    fn profile_event(&mut self, event: &TraceEvent) -> Result<(), Error> {
        if self.profiles.is_empty() {
            self.slices.clear();
        }
        let thread = self.threads.id(event)?;
        let is_chunk = event.name() == b"ProfileChunk";
        let key = [event.pid(), event.id()];
        let piece = self.profiles.of(key, thread, is_chunk);
        match event.args {
            Some(args) => piece.add(args.get(), self.demangle, &mut self.table),
            None => Ok(()),
        }
    }

    fn write_profiles(
        mut self,
        read: Result<(), Error>,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let mut run = self.run;
        run.tool = RunRecord::new("chrome-trace").tool;
        let EventCounts {
            slices,
            ends,
            others,
            sums,
            ..
        } = self.counted;
        let unread = slices + ends + others + sums;
        if unread > 0 {
            reading.warn(format!(
                "{unread} events of the trace are no samples and are left out, {slices} of them slices"
            ));
        }
        let samples = self
            .profiles
            .add_samples(&self.threads, &mut self.table, &mut run, reading);
        write(run, &self.table, read.and(samples), reading.out)
    }

    fn write_slices(mut self, read: Result<(), Error>, reading: &mut Reading) -> Result<(), Error> {
        let mut run = self.run;
        let Some((begin, end)) = slices::span(&self.slices) else {
            read?;
            return Err(Error::whole(format!(
                "expected slices (events B, E or X) or a CPU profile (ProfileChunk or CpuProfile) in the trace, found {} other events: Chrome records a profile with the category disabled-by-default-v8.cpu_profiler",
                self.counted.others
            )));
        };
        run.sampling.duration = u64::try_from(i128::from(end) - i128::from(begin)).ok();
        run.sampling.set_unit("time", "ns");
        let mut nesting = Nesting::new(
            &mut self.table,
            &self.names,
            end,
            reading.options.times.then_some(begin),
        );
        let mut processes = BTreeSet::new();
        for (number, slices) in self.slices.into_iter().enumerate() {
            if slices.is_empty() {
                continue;
            }
            let thread = TraceThreadId::at(number)?;
            let facts = self.threads.facts(thread);
            processes.insert(facts.pid);
            run.threads.push(facts);
            let place = self.threads.place(thread, nesting.table())?;
            nesting.thread(slices, place)?;
        }
        if let [Some(pid)] = processes.into_iter().collect::<Vec<_>>()[..] {
            run.pid = Some(pid);
        }
        nesting.warn(reading);
        let counted = self.counted;
        reading.warn_of(
            counted.backwards,
            "slices have durations below 0; they count as 0",
        );
        reading.warn_of(
            counted.sums,
            "events \"Total …\" are sums of other slices; they are left out",
        );
        write(run, &self.table, read, reading.out)
    }
}

/// The error, in a line where it says none.
fn at_line(line: u64, error: Error) -> Error {
    match error {
        Error::Malformed {
            line: None,
            message,
        } => Error::at(line, message),
        other => other,
    }
}

#[cfg(test)]
mod tests;
