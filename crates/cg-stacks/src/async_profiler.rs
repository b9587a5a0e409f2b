//! The default report of async-profiler (`asprof -o traces`, `src/profiler.cpp`: `dumpSummary`, `dumpTraces`).
//!
//! ```text
//! report := "--- Execution profile ---" header "" trace* table
//! trace  := "--- " count " " unit " (" share "%), " samples " sample" "s"? frame*
//! frame  := "  [" number "] " name
//! ```
//!
//! Innermost frames come first. Names have the form of async-profiler's folded stacks. Events: `samples`, and the sampled
//! quantity under the name of its unit: `time` in ns, `bytes`, `calls`. By default async-profiler prints only the 200
//! costliest stacks; a warning counts the samples of the other stacks.

use cg_reader::number::{leading_u64, whole_u64};
use cg_reader::{Error, Lines, Reading};
use cg_stream::record::Count;

use super::folded::frame::{FoldedFrames, thread_name};
use super::table::{FrameId, NameId, StackKey, StackTable};
use super::write::write;

/// Returns true for the first line of a report.
pub fn is_header_line(line: &[u8]) -> bool {
    line == b"--- Execution profile ---"
}

/// Reads async-profiler's report: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut report = TraceReport {
        names: FoldedFrames::new(reading.options.demangle),
        ..TraceReport::default()
    };
    let read = report.read(reading.lines);
    let mut run = reading.run("async-profiler");
    if let Some(unit) = report.unit {
        run.sampling.units.extend(unit.declared());
    }
    let stated = report
        .stated_total
        .filter(|stated| read.is_ok() && *stated > report.samples);
    if let Some(stated) = stated {
        reading.warn(format!(
            "left out: {} of {stated} samples, whose stacks were not printed; asprof -o collapsed prints all",
            stated - report.samples
        ));
    }
    write(run, &report.table, read, reading.out)
}

/// The state of reading a report.
#[derive(Default)]
struct TraceReport {
    table: StackTable,
    names: FoldedFrames,
    unit: Option<TraceUnit>,
    /// The number of samples that the report states.
    stated_total: Option<Count>,
    samples: Count,
    trace: Option<OpenTrace>,
}

/// A stack whose frames are being read.
struct OpenTrace {
    counts: [Count; 2],
    frames: Vec<FrameId>,
    thread: Option<NameId>,
}

/// The unit of the sampled quantity.
#[derive(Clone, PartialEq, Eq)]
struct TraceUnit(String);

impl TraceUnit {
    /// Returns the name of the second event; `samples` if there is only one event.
    fn event(&self) -> &str {
        match &self.0[..] {
            "ns" => "time",
            "total" => "samples",
            unit => unit,
        }
    }

    fn declared(self) -> Option<(String, String)> {
        let unit = match &self.0[..] {
            "ns" | "bytes" => self.0.clone(),
            _ => return None,
        };
        Some((self.event().to_owned(), unit))
    }
}

impl TraceReport {
    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        let mut is_report = false;
        while lines.advance().map_err(Error::Input)? {
            let number = lines.line_number();
            let line = lines.last_line().trim_ascii_end();
            if is_header_line(line) {
                is_report = true;
            } else if !is_report || line.is_empty() {
                self.end_trace()?;
            } else if let Some(rest) = line.strip_prefix(b"Total samples") {
                let digits = rest.trim_ascii_start().strip_prefix(b":").unwrap_or(rest);
                self.stated_total = whole_u64(digits.trim_ascii()).map(Count::from);
            } else if let Some(head) = line.strip_prefix(b"--- ") {
                self.end_trace()?;
                self.begin_trace(head, line, number)?;
            } else if self.trace.is_some() {
                self.frame(line, number)?;
            }
        }
        self.end_trace()?;
        match self.stated_total {
            Some(_) => Ok(()),
            None => Err(Error::at(
                lines.line_number().max(1),
                "expected \"Total samples\", found the end of the report",
            )),
        }
    }

    /// Reads the heading of a stack: `9902352571 ns (7.48%), 9820 samples`.
    fn begin_trace(&mut self, head: &[u8], line: &[u8], number: u64) -> Result<(), Error> {
        let parsed = || {
            let (count, rest) = leading_u64(head)?;
            let rest = rest.strip_prefix(b" ")?;
            let end = memchr::memmem::find(rest, b" (")?;
            let share = &rest[end..];
            let samples = &share[memchr::memmem::find(share, b"%), ")? + 4..];
            let (samples, word) = leading_u64(samples)?;
            let unit = std::str::from_utf8(&rest[..end]).ok()?;
            let is_whole = matches!(word, b" sample" | b" samples") && !unit.is_empty();
            is_whole.then(|| (count, TraceUnit(unit.to_owned()), samples))
        };
        let Some((count, unit, samples)) = parsed() else {
            return Err(Error::unexpected(number, "the head of a stack", line));
        };
        if self.unit.as_ref().is_some_and(|known| *known != unit) {
            return Err(Error::unexpected(number, "one unit", line));
        }
        self.table.event("samples");
        self.table.event(unit.event());
        self.unit = Some(unit);
        self.samples += Count::from(samples);
        self.trace = Some(OpenTrace {
            counts: [samples.into(), count.into()],
            frames: Vec::new(),
            thread: None,
        });
        Ok(())
    }

    /// Reads a frame: `  [ 0] J.spin_[j]`.
    fn frame(&mut self, line: &[u8], number: u64) -> Result<(), Error> {
        let wrong = || Error::unexpected(number, "a frame", line);
        let Some(trace) = &mut self.trace else {
            return Err(wrong());
        };
        let text = line.strip_prefix(b"  [").ok_or_else(wrong)?;
        let (position, rest) = leading_u64(text.trim_ascii_start()).ok_or_else(wrong)?;
        let name = rest.strip_prefix(b"] ").ok_or_else(wrong)?;
        if position != trace.frames.len() as u64 || trace.thread.is_some() {
            return Err(wrong());
        }
        match thread_name(name) {
            Some(thread) => trace.thread = Some(self.table.text(thread)?),
            None => trace.frames.push(self.names.frame(name, &mut self.table)?),
        }
        Ok(())
    }

    /// Adds the current stack to the table.
    fn end_trace(&mut self) -> Result<(), Error> {
        let Some(trace) = self.trace.take() else {
            return Ok(());
        };
        let stack = self.table.stack(&trace.frames)?;
        let row = self.table.row(StackKey {
            stack,
            thread: trace.thread,
            ..StackKey::default()
        })?;
        // There is only one event if the unit is the number of samples.
        let events = self.table.events().len();
        for (event, count) in trace.counts.into_iter().enumerate().take(events) {
            self.table.add(row, event, count);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{Parsed, check_all_prefixes, shown_stacks};

    const TEXT: &str = include_str!("../../../tests/data/printouts/async-profiler.txt");

    fn read(text: &str) -> Parsed {
        parsed::read(super::parse, text.as_bytes(), &Options::default())
    }

    #[test]
    fn stacks_are_counted_in_samples_and_in_their_unit() {
        let parsed = read(TEXT);
        assert!(
            !parsed.has_errors && parsed.is_whole(),
            "{:?}",
            parsed.messages
        );
        assert_eq!(parsed.messages, [""; 0]);
        let run = parsed.records_of_type("run")[0];
        assert!(
            run.contains(r#""total":{"samples":63,"time":630000000},"units":{"time":"ns"}"#),
            "{run}"
        );
        assert_eq!(
            shown_stacks(&parsed),
            [
                "52 main: J.spin[jit]<J.heavy<J.main",
                "10 worker 1: do_syscall_64[kernel]<read<J.run",
                "1 7: [unknown]",
            ]
        );
        let calls = read(
            "--- Execution profile ---\nTotal samples:         2\n\n--- 1 calls (100.00%), 1 sample\n  [ 0] a.B.<init>\n",
        );
        assert!(calls.records_of_type("run")[0].contains(r#""total":{"samples":1,"calls":1}"#));
        assert_eq!(
            calls.messages,
            [
                "in: left out: 1 of 2 samples, whose stacks were not printed; asprof -o collapsed prints all"
            ]
        );
        let total = read(
            "--- Execution profile ---\nTotal samples:         3\n\n--- 3 total (100.00%), 3 samples\n  [ 0] f\n",
        );
        assert!(total.records_of_type("run")[0].contains(r#""total":{"samples":3}"#));
    }

    #[test]
    fn lines_that_do_not_belong_to_a_stack_are_errors() {
        for (from, to, message) in [
            (
                "  [ 1] J.heavy",
                "  [ 2] J.heavy",
                "in:8: expected a frame, found \"  [ 2] J.heavy\"",
            ),
            (
                "  [ 1] J.heavy",
                "J.heavy",
                "in:8: expected a frame, found \"J.heavy\"",
            ),
            (
                " ns (82.54%)",
                " (82.54%)",
                "in:6: expected the head of a stack, found \"--- 520000000 (82.54%), 52 samples\"",
            ),
            (
                "10000000 ns (1.59%)",
                "10000000 bytes (1.59%)",
                "in:18: expected one unit, found \"--- 10000000 bytes (1.59%), 1 sample\"",
            ),
        ] {
            let parsed = read(&TEXT.replace(from, to));
            assert_eq!(parsed.messages, [message]);
            assert!(parsed.has_errors);
        }
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
    }
}
