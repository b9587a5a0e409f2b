//! Samples in a trace: the list `samples`, whose stacks are in the object `stackFrames`. Hermes, the engine of React Native,
//! writes them.
//!
//! A frame has the id of its caller in `parent`. Hermes' names contain the place: `render(http://host/index.bundle:210:7)`.

use cg_collections::intern::Bytes;
use cg_collections::maps::Map;
use cg_reader::json::{JsonText, Window, bytes_or_empty};
use cg_reader::number::whole_u64;
use cg_reader::{Error, Reading};
use cg_stream::record::{Count, RunRecord};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::table::{FrameParts, StackKey, StackLinkId, StackTable};
use super::event::{beyond, decimal, nanoseconds, unquoted};
use super::threads::{TraceThreadId, TraceThreads};

cg_collections::ids! {
    /// The id of a frame in the file.
    struct FrameTextId;
}

/// The samples of a trace, and their frames.
#[derive(Default)]
pub(super) struct TraceSamples {
    ids: Bytes<FrameTextId>,
    frames: Map<FrameTextId, SampleFrame>,
    samples: Vec<TraceSample>,
}

/// A frame and its caller.
struct SampleFrame {
    name: Vec<u8>,
    parent: Option<FrameTextId>,
    /// The stack that ends in this frame, once it was needed.
    stack: Option<StackLinkId>,
}

/// A sample, whose frames follow later in the file.
struct TraceSample {
    thread: TraceThreadId,
    /// In ns.
    time: i64,
    weight: Count,
    frame: Option<FrameTextId>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct JsonSample<'a> {
    pid: Option<&'a RawValue>,
    tid: Option<&'a RawValue>,
    ts: Option<&'a RawValue>,
    weight: Option<&'a RawValue>,
    sf: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct JsonFrame<'a> {
    name: Option<JsonText<'a>>,
    parent: Option<&'a RawValue>,
}

impl TraceSamples {
    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Reads the list `samples`.
    pub(super) fn read(
        &mut self,
        window: &mut Window,
        threads: &mut TraceThreads,
    ) -> Result<(), Error> {
        window.expect(b'[')?;
        while window.next_element()? {
            let length = window.load_value()?;
            let sample: JsonSample = window.read(length)?;
            let line = window.line();
            let read = self.sample(&sample, threads);
            let sample = read.map_err(|error| error.or_at(line))?;
            self.samples.push(sample);
            window.consume(length);
        }
        Ok(())
    }

    fn sample(
        &mut self,
        sample: &JsonSample,
        threads: &mut TraceThreads,
    ) -> Result<TraceSample, Error> {
        let time = sample.ts.and_then(decimal).and_then(nanoseconds);
        let weight = match sample.weight {
            None => 1,
            Some(weight) => whole_u64(&unquoted(Some(weight))).ok_or_else(|| {
                Error::unexpected_text("the weight of a sample", weight.get().as_bytes())
            })?,
        };
        Ok(TraceSample {
            thread: threads.find(&unquoted(sample.pid), &unquoted(sample.tid))?,
            time: time.ok_or_else(|| beyond(sample.ts))?,
            weight: weight.into(),
            frame: self.frame_id(sample.sf)?,
        })
    }

    fn frame_id(&mut self, id: Option<&RawValue>) -> Result<Option<FrameTextId>, Error> {
        let id = unquoted(id);
        match id.is_empty() {
            true => Ok(None),
            false => Ok(Some(self.ids.intern(&id)?)),
        }
    }

    /// Reads the object `stackFrames`.
    pub(super) fn read_frames(&mut self, window: &mut Window) -> Result<(), Error> {
        window.expect(b'{')?;
        while let Some(key) = window.next_key()? {
            let length = window.load_value()?;
            let frame: JsonFrame = window.read(length)?;
            let frame = SampleFrame {
                name: bytes_or_empty(&frame.name).to_vec(),
                parent: self.frame_id(frame.parent)?,
                stack: None,
            };
            let id = self.ids.intern(&key)?;
            self.frames.insert(id, frame);
            window.consume(length);
        }
        Ok(())
    }

    /// Adds the samples to the table, after all frames were read.
    pub(super) fn add_to(
        mut self,
        table: &mut StackTable,
        run: &mut RunRecord,
        threads: &TraceThreads,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let event = table.event("samples");
        let samples = std::mem::take(&mut self.samples);
        let times = samples.iter().map(|sample| sample.time);
        let (begin, end) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        run.sampling.duration = end
            .checked_sub(begin)
            .and_then(|time| u64::try_from(time).ok());
        let mut places: Map<TraceThreadId, StackKey> = Map::default();
        let mut strays = 0;
        for sample in &samples {
            let place = match places.get(&sample.thread) {
                Some(place) => *place,
                None => {
                    run.threads.push(threads.facts(sample.thread));
                    let place = threads.place(sample.thread, table)?;
                    places.insert(sample.thread, place);
                    place
                }
            };
            let stack = match sample.frame {
                Some(frame) => self.stack(frame, reading.options.demangle, table)?,
                None => None,
            };
            strays += u64::from(stack.is_none());
            let time = sample.time.checked_sub(begin);
            let time = time.and_then(|time| u64::try_from(time).ok());
            let key = StackKey {
                stack,
                time: time.filter(|_| reading.options.times),
                ..place
            };
            table.count(key, event, sample.weight)?;
        }
        reading.warn_count(
            strays,
            "sample has no stack, because its frame is missing from the trace",
            "samples have no stack, because their frames are missing from the trace",
        );
        Ok(())
    }

    /// Returns the stack that ends in a frame; `None` if the frame is missing.
    fn stack(
        &mut self,
        innermost: FrameTextId,
        demangle: bool,
        table: &mut StackTable,
    ) -> Result<Option<StackLinkId>, Error> {
        // The frames from the innermost one to the first one with a known stack.
        let mut inner = Vec::new();
        let mut stack = None;
        let mut next = Some(innermost);
        while let Some(id) = next
            && let Some(frame) = self.frames.get(&id)
        {
            if frame.stack.is_some() {
                stack = frame.stack;
                break;
            }
            if inner.len() > self.frames.len() {
                return Err(Error::unexpected_text(
                    "a frame that does not call itself through its parents",
                    self.ids.get(innermost),
                ));
            }
            inner.push(id);
            next = frame.parent;
        }
        for id in inner.into_iter().rev() {
            let Some(frame) = self.frames.get_mut(&id) else {
                continue;
            };
            let (function, place) = split_place(&frame.name);
            let (file, line) = place.unwrap_or_default();
            let parts = FrameParts {
                name: table.function(function, demangle)?,
                file: table.text_unless_empty(file)?,
                line: (line > 0).then_some(line),
                ..FrameParts::default()
            };
            let frame_id = table.frame(parts)?;
            frame.stack = Some(table.push(stack, frame_id)?);
            stack = frame.stack;
        }
        Ok(stack)
    }
}

/// Splits `FUNCTION(URL:LINE:COLUMN)` into function and place. Other names have no place. Without debug information, the
/// place is `address at URL:SEGMENT:OFFSET`, which has no line.
fn split_place(name: &[u8]) -> (&[u8], Option<(&[u8], u64)>) {
    let split = || {
        let inside = name.strip_suffix(b")")?;
        let (front, _column) = split_number(inside)?;
        let (front, line) = split_number(front)?;
        let open = place_start(front)?;
        let place = &front[open + 1..];
        let place = match place.strip_prefix(b"address at ") {
            Some(file) => (file, 0),
            None => (place, line),
        };
        Some((&front[..open], Some(place)))
    };
    match split() {
        Some((b"", place)) => (b"(anonymous)", place),
        Some(split) => split,
        None => (name, None),
    }
}

/// Returns the position of the parenthesis that begins the place at the end of a text. Functions and URLs can contain
/// parentheses, too: `(anonymous)(http://host/app/(tabs)/index.js`.
fn place_start(text: &[u8]) -> Option<usize> {
    let mut closed = 1;
    let balanced = text.iter().rposition(|byte| {
        match byte {
            b')' => closed += 1,
            b'(' => closed -= 1,
            _ => {}
        }
        closed == 0
    });
    let first = || memchr::memchr_iter(b'(', text).find(|open| *open > 0);
    balanced.or_else(first)
}

/// Splits a text at its last colon, which a number follows.
fn split_number(text: &[u8]) -> Option<(&[u8], u64)> {
    let colon = memchr::memrchr(b':', text)?;
    let digits = &text[colon + 1..];
    let is_number = digits.iter().all(u8::is_ascii_digit);
    Some((&text[..colon], whole_u64(digits).filter(|_| is_number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hermes_contain_the_place() {
        for (name, function, file, line) in [
            (
                "render(http://localhost:8081/index.bundle?platform=android:210:7)",
                "render",
                "http://localhost:8081/index.bundle?platform=android",
                210,
            ),
            ("(anonymous)(a.js:3:1)", "(anonymous)", "a.js", 3),
            ("(a.js:3:1)", "(anonymous)", "a.js", 3),
            ("f(app/(tabs)/a.js:3:1)", "f", "app/(tabs)/a.js", 3),
            ("(anonymous)(/(b)/a.js:3:1)", "(anonymous)", "/(b)/a.js", 3),
            ("get(x)(a.js:3:1)", "get(x)", "a.js", 3),
            ("f(a).js:3:1)", "f", "a).js", 3),
            ("f(address at a.js:0:97)", "f", "a.js", 0),
            ("[GC Young Gen]", "[GC Young Gen]", "", 0),
            ("call(a:b:c)", "call(a:b:c)", "", 0),
            ("f(3:1)", "f(3:1)", "", 0),
        ] {
            let (found, place) = split_place(name.as_bytes());
            let (in_file, in_line) = place.unwrap_or_default();
            let expected = (function.as_bytes(), file.as_bytes(), line);
            assert_eq!((found, in_file, in_line), expected, "{name}");
        }
    }
}
