//! Profiles of stackprof, a sampler for Ruby, in JSON: `JSON.generate(StackProf.run(raw: true) { … })`, `stackprof --json`.
//!
//! `raw` is a flat list of numbers. Each stack is the number of its frames, their ids from the outermost frame, and the
//! number of consecutive samples. `raw_lines` of newer versions has the executed line in place of each id. `frames`
//! describes each id (ext/stackprof/stackprof.c: `stackprof_results`).
//!
//! - `samples` counts the samples. In wall mode, `time` is the time since the previous sample in ns
//!   (`raw_timestamp_deltas`).
//! - Without `raw_lines` the line of a frame is the first line of its method.
//! - stackprof samples `(garbage collection)` without the interrupted stack, so it is a separate stack.

use cg_collections::maps::Map;
use cg_reader::json::{JsonText, List, ListElements, Scanner, bytes_or_empty};
use cg_reader::number::whole_u64;
use cg_reader::{Error, Head, Reading, plural};
use cg_stream::record::{Count, RunRecord};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::rate;
use super::table::{FrameId, FrameParts, StackKey, StackTable};
use super::write::write;

/// Returns true if a document is a profile of stackprof: it has a mode, and counts that only stackprof writes.
pub fn is_profile(head: &Head) -> bool {
    let (mut has_mode, mut has_counts) = (false, false);
    Scanner::new(head.bytes).any_key(|key, mut value| {
        has_mode |= key == b"mode" && matches!(value.peek(), Ok(Some(b'"')));
        has_counts |= matches!(key, b"gc_samples" | b"missed_samples");
        has_counts |= key == b"frames" && is_frames(&mut value);
        (has_mode && has_counts).then_some(true)
    })
}

/// Returns true if `value` maps ids to frames with their numbers of samples.
fn is_frames(value: &mut Scanner) -> bool {
    value.any_key(|id, mut frame| {
        let is_frame = whole_u64(id).is_some() && frame.has_any_key(&[b"total_samples"]);
        Some(is_frame)
    })
}

/// The contents of a file, as far as they are needed.
#[derive(Default)]
struct StackprofFile<'a> {
    mode: JsonText<'a>,
    version: Option<&'a RawValue>,
    /// The sampling interval: µs in the modes with a clock, a number of allocations in mode `object`.
    interval: Option<f64>,
    samples: Option<u64>,
    missed: u64,
    raw: Option<List<'a>>,
    lines: List<'a>,
    deltas: List<'a>,
    timestamps: List<'a>,
    frames: RubyFrames,
}

/// The frames by id.
#[derive(Default)]
struct RubyFrames(Map<u64, FrameParts>);

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct RubyFrame<'a> {
    name: Option<JsonText<'a>>,
    file: Option<JsonText<'a>>,
    line: Option<u64>,
}

/// Reads a profile of stackprof: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let mut table = StackTable::new(["samples"]);
    let mut file = StackprofFile::default();
    let whole = file.read(&text, &mut table);
    let Some(raw) = file.raw else {
        whole?;
        return Err(Error::whole(
            "expected the stacks (raw), found only totals by function; StackProf.run(raw: true) records stacks",
        ));
    };
    let mut run = reading.run("stackprof");
    file.describe(&mut run);
    let read = file.add_samples(raw, &mut table, &mut run);
    let read = whole
        .and(read)
        .and_then(|samples| file.check(samples, reading));
    write(run, &table, read, reading.out)
}

impl<'a> StackprofFile<'a> {
    fn read(&mut self, text: &'a [u8], table: &mut StackTable) -> Result<(), Error> {
        let mut scanner = Scanner::new(text);
        scanner.expect(b'{')?;
        while let Some(key) = scanner.next_key()? {
            match key {
                b"mode" => self.mode = scanner.value()?,
                b"version" => self.version = scanner.value()?,
                b"interval" => self.interval = scanner.value()?,
                b"samples" => self.samples = scanner.value()?,
                b"missed_samples" => self.missed = scanner.value()?,
                b"raw" => self.raw = Some(scanner.value()?),
                b"raw_lines" => self.lines = scanner.value()?,
                b"raw_timestamp_deltas" => self.deltas = scanner.value()?,
                b"raw_sample_timestamps" => self.timestamps = scanner.value()?,
                b"frames" => self.frames.read(&mut scanner, table)?,
                _ => {
                    scanner.skip_value()?;
                }
            }
        }
        scanner.expect_end()
    }

    /// Fills the fields of the run record.
    fn describe(&self, run: &mut RunRecord) {
        let mode = self.mode.name().into_string();
        if let Some(interval) = self.interval
            && matches!(&mode[..], "wall" | "cpu")
        {
            run.sampling.sample_rate = rate::samples_a_second(1e6 / interval);
        }
        let labels = &mut run.sampling.labels;
        if mode == "object"
            && let Some(interval) = self.interval
        {
            labels.insert("interval".to_owned(), interval.to_string());
        }
        labels.insert("mode".to_owned(), mode);
        run.creator = self
            .version
            .map(|version| format!("stackprof, format {version}"));
        let mut times = self.timestamps.elements().filter_map(whole_u64);
        if let Some(first) = times.next() {
            let last = times.last().unwrap_or(first);
            let duration = last.checked_sub(first);
            run.sampling.duration = duration.and_then(|micros| micros.checked_mul(1000));
        }
    }

    /// Adds the stacks to the table; returns their number of samples.
    fn add_samples(
        &self,
        raw: List<'a>,
        table: &mut StackTable,
        run: &mut RunRecord,
    ) -> Result<u64, Error> {
        let mut raw = raw.elements();
        let mut at_lines = self.lines.elements();
        let mut deltas = self.deltas.elements();
        let is_timed = self.mode.as_bytes() == b"wall" && !self.deltas.is_empty();
        let time = is_timed.then(|| table.event("time"));
        if is_timed {
            run.sampling.set_unit("time", "ns");
        }
        let mut frames = Vec::new();
        let mut samples = 0u64;
        while let Some(length) = raw.next() {
            at_lines.next();
            frames.clear();
            for _ in 0..number(length)? {
                let id = number(raw.next().ok_or_else(ends_within)?)?;
                let line = at_lines.next().and_then(whole_u64);
                frames.push(self.frames.frame(id, line, table)?);
            }
            frames.reverse();
            let count = number(raw.next().ok_or_else(ends_within)?)?;
            at_lines.next();
            let stack = table.stack(&frames)?;
            let row = table.count(StackKey::from_stack(stack), 0, count.into())?;
            samples = samples.checked_add(count).ok_or_else(beyond)?;
            if let Some(event) = time {
                table.add(row, event, ended_with(count, &mut deltas)?);
            }
        }
        Ok(samples)
    }

    /// Checks the number of samples against the number that the file states.
    fn check(&self, samples: u64, reading: &mut Reading) -> Result<(), Error> {
        if self.missed > 0 {
            reading.warn(format!(
                "stackprof missed {}",
                plural(self.missed, "sample", "samples")
            ));
        }
        match self.samples {
            Some(all) if all < samples => Err(Error::whole(format!(
                "expected {}, found {samples} in the stacks",
                plural(all, "sample", "samples")
            ))),
            Some(all) if all > samples => {
                // Ruby reported no frame for these samples, and stackprof does not store empty stacks.
                reading.warn(format!(
                    "left out: {} without a stack, of {all}",
                    plural(all - samples, "sample", "samples")
                ));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Returns the sum of the next `count` times in ns.
fn ended_with(count: u64, deltas: &mut ListElements) -> Result<Count, Error> {
    let mut sum: Count = 0;
    for _ in 0..count {
        let fewer = || Error::whole("expected as many times as samples, found fewer");
        let delta = deltas.next().ok_or_else(fewer)?;
        let micros = cg_reader::json::integer(delta).flatten();
        let micros = micros.ok_or_else(|| Error::unexpected_text("a time in µs", delta))?;
        sum += Count::from(micros.max(0)) * 1000;
    }
    Ok(sum)
}

impl RubyFrames {
    fn read(&mut self, scanner: &mut Scanner, table: &mut StackTable) -> Result<(), Error> {
        scanner.expect(b'{')?;
        while let Some(key) = scanner.next_key()? {
            let id = number(key)?;
            let frame: RubyFrame = scanner.value()?;
            let parts = FrameParts {
                name: table.text_unless_empty(bytes_or_empty(&frame.name))?,
                file: table.text_unless_empty(bytes_or_empty(&frame.file))?,
                line: frame.line.filter(|line| *line > 0),
                ..FrameParts::default()
            };
            self.0.insert(id, parts);
        }
        Ok(())
    }

    fn frame(&self, id: u64, line: Option<u64>, table: &mut StackTable) -> Result<FrameId, Error> {
        let parts = *self
            .0
            .get(&id)
            .ok_or_else(|| Error::whole(format!("expected the id of a frame, found {id}")))?;
        let line = line.filter(|line| *line > 0).or(parts.line);
        Ok(table.frame(FrameParts { line, ..parts })?)
    }
}

fn number(text: &[u8]) -> Result<u64, Error> {
    whole_u64(text).ok_or_else(|| Error::unexpected_text("an integer", text))
}

fn ends_within() -> Error {
    Error::whole("expected the rest of a stack (raw), found the end of the list")
}

fn beyond() -> Error {
    Error::whole("the sum of the samples is beyond 64 bits")
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{Parsed, check_all_prefixes, shown_stacks};

    const TEXT: &str = r#"{"version":1.2,"mode":"wall","interval":500,"samples":6,"gc_samples":1,"missed_samples":0,"metadata":{},"frames":{"7":{"name":"Object#leaf","file":"/home/dev/sp.rb","line":2,"total_samples":5,"samples":5},"8":{"name":"<main>","file":"/home/dev/sp.rb","line":null,"total_samples":5,"samples":0},"1":{"name":"(garbage collection)","file":"","total_samples":1,"samples":1}},"raw":[2,8,7,2,1,1,1,3,8,7,7,3],"raw_lines":[2,9,3,2,1,0,1,3,9,2,0,3],"raw_sample_timestamps":[10,20,30,41,52,63],"raw_timestamp_deltas":[10,10,10,11,-1,11]}"#;

    fn read(text: &str) -> Parsed {
        parsed::read(super::parse, text.as_bytes(), &Options::default())
    }

    #[test]
    fn raw_has_stacks_from_the_outermost_frame_with_their_samples() {
        let parsed = read(TEXT);
        assert!(!parsed.has_errors && parsed.is_whole());
        assert_eq!(parsed.messages, [""; 0]);
        assert_eq!(
            parsed.records_of_type("run"),
            [
                r#""stream":1,"tool":"stackprof","creator":"stackprof, format 1.2","source":["in"],"events":["samples","time"],"total":{"samples":6,"time":52000},"duration":53000,"labels":{"mode":"wall"},"sample_rate":2000,"units":{"time":"ns"}}"#
            ]
        );
        assert_eq!(
            parsed.records_of_type("stack"),
            [
                r#""fn":"Object#leaf","file":"/home/dev/sp.rb","line":2,"cost":{"samples":3,"time":22000},"stack":[{"fn":"Object#leaf","file":"/home/dev/sp.rb","line":2},{"fn":"Object#leaf","file":"/home/dev/sp.rb","line":2},{"fn":"<main>","file":"/home/dev/sp.rb","line":9}]}"#,
                r#""fn":"Object#leaf","file":"/home/dev/sp.rb","line":3,"cost":{"samples":2,"time":20000},"stack":[{"fn":"Object#leaf","file":"/home/dev/sp.rb","line":3},{"fn":"<main>","file":"/home/dev/sp.rb","line":9}]}"#,
                r#""fn":"(garbage collection)","cost":{"samples":1,"time":10000},"stack":[{"fn":"(garbage collection)"}]}"#,
            ]
        );
    }

    #[test]
    fn samples_match_the_number_that_the_file_states() {
        for (from, to, message, is_error) in [
            (
                "\"samples\":6,\"gc",
                "\"samples\":5,\"gc",
                "in: expected 5 samples, found 6 in the stacks",
                true,
            ),
            (
                "\"samples\":6,\"gc",
                "\"samples\":8,\"gc",
                "in: left out: 2 samples without a stack, of 8",
                false,
            ),
            (
                "missed_samples\":0",
                "missed_samples\":4",
                "in: stackprof missed 4 samples",
                false,
            ),
            (
                "8,7,7,3]",
                "8,7,9,3]",
                "in: expected the id of a frame, found 9",
                true,
            ),
            (
                "8,7,7,3]",
                "8,7]",
                "in: expected the rest of a stack (raw), found the end of the list",
                true,
            ),
            (
                "11,-1,11]",
                "11,-1]",
                "in: expected as many times as samples, found fewer",
                true,
            ),
            (
                "\"raw\":",
                "\"other\":",
                "in: expected the stacks (raw), found only totals by function; StackProf.run(raw: true) records stacks",
                true,
            ),
        ] {
            let parsed = read(&TEXT.replace(from, to));
            assert_eq!(parsed.messages, [message]);
            assert_eq!(parsed.has_errors, is_error, "{message}");
        }
    }

    #[test]
    fn a_truncated_profile_is_an_error_and_its_beginning_is_written() {
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
        let parsed = read(&TEXT[..TEXT.len() - 1]);
        assert!(parsed.has_errors && !parsed.is_whole());
        assert_eq!(shown_stacks(&parsed).len(), 3);
    }
}
