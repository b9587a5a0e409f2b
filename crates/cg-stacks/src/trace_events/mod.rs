//! Traces in the Trace Event Format, which Chrome, Bazel, `clang -ftime-trace`, viztracer, PyTorch, `py-spy record -f
//! chrometrace`, uftrace, rustc and many others write: an object with `traceEvents`, or only the list. The bracket at the
//! end of the list may be missing.
//!
//! Three kinds of events (`ph`) are slices: `X` is a whole slice, `B` begins one, and `E` ends it. The slices of a thread
//! nest, so the open slices form a stack. The event `time` is a stack's own time: the duration of a slice minus the slices
//! inside it. `slices` counts the slices with time of their own; a message reports the number of the others.
//!
//! - Events are in any order. If slices begin together, the longer one is the outer one; of equal slices, the first in the
//!   file is the outer one. Times are integers in ns, parsed from the text of `ts` and from the exact sum of `ts` and `dur`,
//!   because floating point would let a slice end after the one around it.
//! - An `E` ends the last open slice of its name, or without a name the last open slice. At equal times, ends precede
//!   beginnings, except for slices without length. If the events of a thread are already in the order of time, their order
//!   is kept.
//! - A slice without an end lasts to the end of the trace. If a slice ends after the slice around it, either the slice is
//!   cut at that end, or the outer slice is cut where the inner one begins: whichever loses less time. Messages report how
//!   many slices have no end or were cut.
//! - clang's `Total …` events are sums of its other slices, each on a separate thread from time 0. They are omitted.
//! - Names such as viztracer's `f (app.py:3)` and PyTorch's `app.py(3): f` are split into function, file and line. py-spy
//!   and Clang write file and line in `args`. Clang's `Source` events have the file in `detail`.
//!
//! If V8's profiler wrote samples into the trace (`Profile` and `ProfileChunk`, or `CpuProfile`), or the trace has a list of
//! samples (`samples` and `stackFrames`), the reader uses these instead of slices. A slice shows the task of a thread; a sample shows the function that ran.

use std::collections::BTreeSet;

use cg_collections::intern::Id as _;
use cg_reader::json::{Scanner, Window};
use cg_reader::{Error, Head, Reading, plural};
use cg_stream::record::RunRecord;
use serde_json::Value;

use self::event::TraceEvent;
use self::names::SliceNames;
use self::samples::TraceSamples;
use self::slices::{Nesting, ThreadSlices};
use super::table::StackTable;
use super::v8::TracedProfiles;
use super::write::write;

mod event;
mod names;
mod samples;
mod slices;
mod threads;

pub(super) use threads::{TraceThreadId, TraceThreads};

/// Returns true if a document is a trace: it has a list of events, or begins with an event.
pub fn is_trace(head: &Head) -> bool {
    let mut scanner = Scanner::new(head.bytes);
    if let Ok(true) = scanner.take(b'[') {
        return is_event(&mut scanner);
    }
    scanner.any_key(|key, mut value| (key == b"traceEvents").then(|| value.expect(b'[').is_ok()))
}

fn is_event(scanner: &mut Scanner) -> bool {
    let (mut has_phase, mut has_process) = (false, false);
    scanner.any_key(|key, mut value| {
        // The kind of an event is one letter.
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
    match (trace.profiles.is_empty(), trace.samples.is_empty()) {
        (true, true) => trace.write_slices(read, reading),
        (true, false) => trace.write_samples(read, reading),
        (false, _) => trace.write_profiles(read, reading),
    }
}

/// The state of reading a trace.
struct TraceFile {
    demangle: bool,
    run: RunRecord,
    table: StackTable,
    threads: TraceThreads,
    names: SliceNames,
    /// The slices of each thread.
    slices: Vec<ThreadSlices>,
    profiles: TracedProfiles,
    samples: TraceSamples,
    counted: EventCounts,
}

/// The numbers of events that are only counted.
#[derive(Default)]
struct EventCounts {
    slices: u64,
    ends: u64,
    /// Instants, counters, asynchronous events and others.
    others: u64,
    /// Clang's sums.
    sums: u64,
    /// Slices with negative durations.
    backwards: u64,
    /// Slices without duration.
    empty: u64,
}

impl EventCounts {
    /// Warns about the events of a trace whose samples are read.
    fn warn_omitted(&self, reading: &mut Reading) {
        let EventCounts {
            slices,
            ends,
            others,
            sums,
            ..
        } = self;
        let unread = slices + ends + others + sums;
        if unread > 0 {
            reading.warn(format!(
                "left out: {} (slices: {slices})",
                plural(
                    unread,
                    "event of the trace that is not a sample",
                    "events of the trace that are not samples"
                )
            ));
        }
    }
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
            samples: TraceSamples::default(),
            counted: EventCounts::default(),
        }
    }

    fn read(&mut self, window: &mut Window) -> Result<(), Error> {
        if window.take(b'[')? {
            self.events(window, false)?;
            return window.expect_end();
        }
        window.expect(b'{')?;
        while let Some(key) = window.next_key()? {
            match &key[..] {
                b"traceEvents" => {
                    window.expect(b'[')?;
                    self.events(window, true)?;
                }
                b"otherData" | b"viztracer_metadata" => {
                    let length = window.load_value()?;
                    self.describe(&key, window.read(length)?);
                    window.consume(length);
                }
                b"samples" => self.samples.read(window, &mut self.threads)?,
                b"stackFrames" => self.samples.read_frames(window)?,
                _ => window.skip_value()?,
            }
        }
        window.expect_end()
    }

    /// Adds the writer's description of the run to the `run` record.
    fn describe(&mut self, key: &[u8], description: Value) {
        let Value::Object(facts) = description else {
            return;
        };
        for (name, value) in facts {
            let text = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                _ => continue,
            };
            match (key, &name[..]) {
                (b"viztracer_metadata", "version") => {
                    self.run.creator = Some(format!("viztracer {text}"));
                }
                (b"viztracer_metadata", _) => {}
                _ => {
                    self.run.sampling.labels.insert(name, text);
                }
            }
        }
    }

    /// Reads a list of events. The end may be missing unless the list is inside an object.
    fn events(&mut self, window: &mut Window, has_end: bool) -> Result<(), Error> {
        let is_over = |window: &mut Window| Ok::<bool, Error>(!has_end && window.peek()?.is_none());
        while !is_over(window)? && window.next_element()? && !is_over(window)? {
            let length = window.load_value()?;
            let event: TraceEvent = window.read(length)?;
            let kept = self.event(&event);
            kept.map_err(|error| error.or_at(window.line()))?;
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
        let named = self.names.intern(event, self.demangle, &mut self.table)?;
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
                self.counted.empty += u64::from(end == begin);
                slices.whole(begin, end.max(begin), named);
            }
            phase => slices.mark(begin, named, phase == b"E"),
        }
        Ok(())
    }

    /// Stores the name of a thread or process.
    fn name_event(&mut self, event: &TraceEvent) -> Result<(), Error> {
        let args = event.args()?;
        if let Some(name) = args.name.as_ref().and_then(|name| name.non_empty_name()) {
            let is_thread = event.name() == b"thread_name";
            self.threads
                .set_name(event, is_thread, name.into_string())?;
        }
        Ok(())
    }

    /// Stores a piece of a profile, and drops the slices.
    fn profile_event(&mut self, event: &TraceEvent) -> Result<(), Error> {
        if self.profiles.is_empty() {
            self.slices.clear();
        }
        let thread = self.threads.id(event)?;
        let is_chunk = event.name() == b"ProfileChunk";
        let key = [event.pid(), event.id()];
        let piece = self.profiles.find_or_begin(key, thread, is_chunk);
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
        self.counted.warn_omitted(reading);
        let samples = self
            .profiles
            .add_samples(&self.threads, &mut self.table, &mut run, reading);
        write(run, &self.table, read.and(samples), reading.out)
    }

    fn write_samples(
        mut self,
        read: Result<(), Error>,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        // Hermes writes a slice without duration for each thread.
        self.counted.slices -= self.counted.empty;
        self.counted.warn_omitted(reading);
        let samples = self
            .samples
            .add_to(&mut self.table, &mut self.run, &self.threads, reading);
        write(self.run, &self.table, read.and(samples), reading.out)
    }

    fn write_slices(mut self, read: Result<(), Error>, reading: &mut Reading) -> Result<(), Error> {
        let mut run = self.run;
        let Some((begin, end)) = slices::span(&self.slices) else {
            read?;
            return Err(Error::whole(format!(
                "expected slices (events B, E or X), samples or a CPU profile (ProfileChunk or CpuProfile) in the trace, found {} other events: Chrome records a profile with the category disabled-by-default-v8.cpu_profiler",
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
        if let Some(cuts) = &reading.options.cuts {
            nesting.cut_at(cuts);
        }
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
        reading.warn_count(
            counted.backwards,
            "slice has a negative duration, which counts as 0",
            "slices have negative durations, which count as 0",
        );
        reading.warn_count(
            counted.sums,
            "event \"Total …\" is omitted, because it is the sum of other slices",
            "events \"Total …\" are omitted, because they are sums of other slices",
        );
        if self.table.row_count() == 0 {
            reading.out.expect_nothing();
        }
        write(run, &self.table, read, reading.out)
    }
}

#[cfg(test)]
mod tests;
