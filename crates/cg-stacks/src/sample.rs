//! Reports of macOS's `sample`, which Activity Monitor saves too.
//!
//! ```text
//! text  := header "Call graph:" "\n" line* "\n" "Total number in stack" …
//! line  := indent samples " " ("Thread_" number rest | symbol "  (in " object ")" " + " offset "  [" address "]") "\n"
//! ```
//!
//! The indent has two columns per level, consisting of blanks and `+ ! : |`. The samples of a line include the samples of
//! the lines below it. Samples of waiting threads count as well: the function names show which threads wait.

use cg_reader::number::{leading_u64, whole_u64};
use cg_reader::{Error, Lines, Options, Reading, plural};
use cg_stream::record::{Count, RunRecord};

use super::outline::Outline;
use super::table::{FrameParts, NameId, StackKey, StackLinkId, StackTable};
use super::{rate, write};

const EVENT: &str = "samples";

/// Returns true for the first line of a report.
pub fn is_header_line(line: &[u8]) -> bool {
    line.starts_with(b"Analysis of sampling ") && memchr::memmem::find(line, b" (pid ").is_some()
}

/// Reads reports of macOS's `sample`: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    loop {
        let mut report = SampleReport::new(reading.run("sample"), reading.options);
        // The first line of a further report was read as the end of the previous report.
        report.header(reading.lines.last_line());
        let read = report.read(reading.lines);
        let has_next = matches!(read, Ok(true));
        write::write(report.run, &report.table, read.map(drop), reading.out)?;
        if !has_next {
            return Ok(());
        }
    }
}

/// The state of reading a report.
struct SampleReport {
    run: RunRecord,
    table: StackTable,
    demangle: bool,
    outline: Outline,
    /// The lines from a thread to the current line.
    open: Vec<OpenCall>,
    thread: Option<NameId>,
}

/// A line of the call graph whose self samples are not known yet, because lines below it may follow.
struct OpenCall {
    depth: usize,
    stack: Option<StackLinkId>,
    thread: Option<NameId>,
    own: Count,
    samples: u64,
    line: u64,
}

impl SampleReport {
    fn new(run: RunRecord, options: &Options) -> SampleReport {
        SampleReport {
            run,
            table: StackTable::new([EVENT]),
            demangle: options.demangle,
            outline: Outline::default(),
            open: Vec::new(),
            thread: None,
        }
    }

    /// Reads to the end of the report; returns true if another report follows.
    fn read(&mut self, lines: &mut Lines) -> Result<bool, Error> {
        let mut is_in_graph = false;
        while lines.advance().map_err(Error::Input)? {
            let number = lines.line_number();
            let line = lines.last_line().trim_ascii_end();
            if is_in_graph {
                if line.starts_with(b"Total number in stack") {
                    self.close_to(0)?;
                    return to_next_report(lines);
                }
                if !line.is_empty() {
                    self.line(line, number)?;
                }
            } else if line == b"Call graph:" {
                is_in_graph = true;
            } else {
                self.header(line);
            }
        }
        self.close_to(0)?;
        let missing = match is_in_graph {
            true => "Total number in stack",
            false => "Call graph:",
        };
        Err(Error::at(
            lines.line_number().max(1),
            format!("expected a line that begins with \"{missing}\", found the end of the input"),
        ))
    }

    fn header(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if let Some(interval) = text.strip_prefix("Analysis of sampling ")
            && let Some((_, interval)) = interval.rsplit_once(" every ")
        {
            let mut words = interval.split(' ');
            let number = words.next().and_then(|number| number.parse::<f64>().ok());
            let seconds = match words.next() {
                Some(unit) if unit.starts_with("milli") => 1e-3,
                Some(unit) if unit.starts_with("micro") => 1e-6,
                _ => 1.0,
            };
            let rate = number.map(|number| 1.0 / (number * seconds));
            self.run.sampling.sample_rate = rate.and_then(rate::samples_a_second);
        }
        let Some((key, value)) = text.split_once(':') else {
            return;
        };
        let value = value.trim();
        match key {
            "Process" => {
                let pid = value
                    .rsplit_once('[')
                    .and_then(|(_, pid)| pid.strip_suffix(']'));
                self.run.pid = pid.and_then(|pid| pid.parse().ok());
            }
            "Path" => self.run.command = Some(value.to_owned()),
            "OS Version" => {
                let labels = &mut self.run.sampling.labels;
                labels.insert("os".to_owned(), value.to_owned());
            }
            _ => {}
        }
    }

    fn line(&mut self, line: &[u8], number: u64) -> Result<(), Error> {
        let depth = line
            .iter()
            .take_while(|byte| b" +!:|".contains(byte))
            .count();
        let parsed = leading_u64(&line[depth..]).and_then(|(samples, rest)| {
            let text = rest.strip_prefix(b" ")?;
            (!text.is_empty()).then_some((samples, text))
        });
        let Some((samples, text)) = parsed else {
            return Err(Error::unexpected(
                number,
                "a line of the call graph",
                line.trim_ascii(),
            ));
        };
        self.close_to(depth)?;
        if let Some(outer) = self.open.last_mut() {
            outer.own -= Count::from(samples);
        }
        let frame = match thread_name(text) {
            Some(name) => {
                self.thread = self.table.text_unless_empty(name)?;
                None
            }
            None => Some(self.frame(text)?),
        };
        let stack = self.outline.at(depth, frame, &mut self.table)?;
        self.open.push(OpenCall {
            depth,
            stack,
            thread: self.thread,
            own: samples.into(),
            samples,
            line: number,
        });
        Ok(())
    }

    /// Ends the open lines at this depth or deeper, and adds their self samples to the table.
    fn close_to(&mut self, depth: usize) -> Result<(), Error> {
        while let Some(open) = self.open.pop_if(|open| open.depth >= depth) {
            if open.own < 0 {
                return Err(Error::at(
                    open.line,
                    format!(
                        "this line has {}, the lines below it {} more",
                        plural(open.samples, "sample", "samples"),
                        -open.own
                    ),
                ));
            }
            if open.own > 0 {
                let row = self.table.row(StackKey {
                    stack: open.stack,
                    thread: open.thread,
                    pid: self.run.pid,
                    ..StackKey::default()
                })?;
                self.table.add(row, 0, open.own);
            }
        }
        Ok(())
    }

    /// Parses a frame: `main  (in rg) + 41  [0x10384b549]` or `???  (in rg)  load address 0x1000 + 0x2a  [0x102a]`.
    fn frame(&mut self, text: &[u8]) -> Result<super::table::FrameId, Error> {
        let (name, rest) = match memchr::memmem::rfind(text, b"  (in ") {
            Some(blank) => (&text[..blank], &text[blank + 6..]),
            None => (text, &b""[..]),
        };
        let object = memchr::memchr(b')', rest).map_or(&b""[..], |end| &rest[..end]);
        let parts = FrameParts {
            name: self.table.function(name.trim_ascii(), self.demangle)?,
            obj: self.table.text_unless_empty(object)?,
            ..FrameParts::default()
        };
        Ok(self.table.frame(parts)?)
    }
}

/// Skips the lines after a call graph; returns true if another report follows.
fn to_next_report(lines: &mut Lines) -> Result<bool, Error> {
    while lines.advance().map_err(Error::Input)? {
        if is_header_line(lines.last_line()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Parses the name of a thread: `Thread_1575: worker` or `Thread_1575   DispatchQueue_1: com.apple.main-thread  (serial)`.
/// If the line has only the number, the number is the name.
fn thread_name(text: &[u8]) -> Option<&[u8]> {
    let digits = text.strip_prefix(b"Thread_")?;
    let length = digits
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    whole_u64(&digits[..length.min(1)])?;
    let rest = &digits[length..];
    let name = match memchr::memmem::find(rest, b": ") {
        Some(colon) => rest[colon + 2..].trim_ascii(),
        None => b"",
    };
    let name = match memchr::memmem::find(name, b"  (") {
        Some(blank) => &name[..blank],
        None => name,
    };
    Some(if name.is_empty() {
        &text[..7 + length]
    } else {
        name
    })
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{check_all_prefixes, shown_stacks};

    const TEXT: &str = include_str!("../../../tests/data/printouts/sample.txt");

    #[test]
    fn self_samples_exclude_the_lines_below() {
        let parsed = parsed::read(super::parse, TEXT.as_bytes(), &Options::default());
        assert_eq!(
            shown_stacks(&parsed),
            [
                "820 com.apple.main-thread: __ulock_wait@libsystem_kernel.dylib<main@rg<start@libdyld.dylib",
                "5 com.apple.main-thread: main@rg<start@libdyld.dylib",
                "4 worker 1: <F as alloc::boxed::FnBox<A>>::call_box@rg<std::fs::OpenOptions::_open@rg",
                "3 worker 1: read@libsystem_kernel.dylib<std::fs::OpenOptions::_open@rg",
                "3 worker 1: std::panicking::try::do_call@rg",
                "2 Thread_15758536:",
            ]
        );
        let run: serde_json::Value = serde_json::from_str(&parsed.records[0]).unwrap();
        assert_eq!(run["total"]["samples"], 837);
        assert_eq!(
            (&run["pid"], &run["sample_rate"]),
            (&64751.into(), &1000.into())
        );
        assert!(!parsed.has_errors);
    }

    #[test]
    fn lines_below_with_more_samples_are_an_error() {
        let text = TEXT.replace("825 main", "819 main");
        let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
        assert_eq!(
            parsed.messages,
            ["in:8: this line has 819 samples, the lines below it 1 more"]
        );
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
    }
}
