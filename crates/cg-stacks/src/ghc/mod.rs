//! Reports of GHC's profiler on a Haskell program: text (`+RTS -p`, `-P`) and JSON (`-pj`).
//!
//! ```text
//! text  := title command "total time  =" … "total alloc =" … table tree
//! tree  := "COST CENTRE" "MODULE" ("SRC")? "no." … "\n\n" line*
//! line  := " "* label module (place)? number entries 4 * percentage (ticks bytes)?
//! ```
//!
//! A line is a stack of cost centres. Its indentation is the depth, and `individual` is its self cost. The table before the
//! tree has sums of the tree (rts/ProfilerReport.c, rts/ProfilerReportJson.c).
//!
//! - Events: `ticks` of the profiler's clock, and allocated `bytes`. `-p` prints only percentages, which are counted in
//!   tenths of a per cent; the units of the run record state this.
//! - The name of a function is its module and its label.

use std::sync::LazyLock;

use cg_reader::number::whole_u64;
use cg_reader::{Error, Lines, Reading, excerpt};
use cg_stream::record::{Count, RunRecord};
use memchr::memmem::Finder;

use super::count::Decimal;
use super::outline::Outline;
use super::rate;
use super::table::{FrameId, FrameParts, StackKey, StackTable};
use super::write::write;

mod json;

pub use json::is_document;

const TICKS: &str = "ticks";
const BYTES: &str = "bytes";

/// Returns true for a line that only reports of GHC's profiler contain.
pub fn is_header_line(line: &[u8]) -> bool {
    /// Built once, because every line of a program's output is searched.
    static TITLE: LazyLock<Finder<'static>> =
        LazyLock::new(|| Finder::new(b" Time and Allocation Profiling Report  ("));
    TITLE.find(line).is_some()
}

/// Reads a report of GHC's profiler: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    const BLANKS: usize = 64;
    let head = reading.lines.peek(BLANKS).map_err(Error::Input)?;
    if head.trim_ascii_start().starts_with(b"{") {
        return json::parse(reading);
    }
    let mut report = TickReport::new(reading.run("ghc"));
    let read = report.read(reading.lines);
    write(report.run, &report.table, read, reading.out)
}

/// The state of reading a report.
struct TickReport {
    run: RunRecord,
    table: StackTable,
    outline: Outline,
    /// The totals that the report states.
    totals: [Option<Count>; 2],
    added: [Count; 2],
    /// The current part of the report.
    part: ReportPart,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReportPart {
    /// Output of the program before the report.
    Before,
    Header,
    /// The sums by cost centre.
    Sums,
    /// The stacks.
    Tree(TreeColumns),
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct TreeColumns {
    has_place: bool,
    has_counts: bool,
}

impl TickReport {
    fn new(run: RunRecord) -> TickReport {
        TickReport {
            run,
            table: StackTable::new([TICKS, BYTES]),
            outline: Outline::default(),
            totals: [None; 2],
            added: [0; 2],
            part: ReportPart::Before,
        }
    }

    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while lines.advance().map_err(Error::Input)? {
            let number = lines.line_number();
            let line = lines.last_line().trim_ascii_end();
            if line.is_empty() {
                continue;
            }
            if line.starts_with(b"COST CENTRE") && self.part != ReportPart::Before {
                self.begin_table(line);
                continue;
            }
            match self.part {
                ReportPart::Before if is_header_line(line) => self.part = ReportPart::Header,
                ReportPart::Before => {}
                ReportPart::Header => self.header(line.trim_ascii()),
                ReportPart::Sums => {}
                ReportPart::Tree(columns) => self.line(line, columns).map_err(|wrong| {
                    let expected = "expected a line of the tree of cost centres";
                    match wrong {
                        BadLine::Form => {
                            Error::at(number, format!("{expected}, found {}", excerpt(line)))
                        }
                        BadLine::Other(error) => error,
                    }
                })?,
            }
        }
        self.check(lines.line_number().max(1))
    }

    fn header(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if let Some(time) = text.strip_prefix("total time") {
            let number_before = |word: &str| {
                let before = time.split_once(word)?.0;
                before
                    .rsplit([' ', '('])
                    .find(|word| !word.is_empty())?
                    .parse::<u64>()
                    .ok()
            };
            let ticks = number_before(" ticks");
            self.totals[0] = ticks.map(Count::from);
            let processors = number_before(" processor").unwrap_or(1);
            if let Some(interval) = number_before(" us") {
                describe_clock(&mut self.run, ticks, interval, processors);
            }
        } else if let Some(alloc) = text.strip_prefix("total alloc") {
            let digits = alloc.split_once(" bytes").map_or("", |(before, _)| before);
            let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
            self.totals[1] = whole_u64(digits.as_bytes()).map(Count::from);
        } else if self.run.command.is_none() {
            self.run.command = Some(text.into_owned());
        }
    }

    /// Reads the headings of a table. The second table is the tree.
    fn begin_table(&mut self, line: &[u8]) {
        let has = |word: &[u8]| {
            let mut words = line.split(u8::is_ascii_whitespace);
            words.any(|found| found == word)
        };
        if !has(b"entries") {
            self.part = ReportPart::Sums;
            return;
        }
        let columns = TreeColumns {
            has_place: has(b"SRC"),
            has_counts: has(b"ticks") && has(b"bytes"),
        };
        if !columns.has_counts {
            let units = &mut self.run.sampling.units;
            for event in [TICKS, BYTES] {
                units.insert(event.to_owned(), "0.1 %".to_owned());
            }
        } else {
            self.run.sampling.set_unit(BYTES, BYTES);
        }
        self.part = ReportPart::Tree(columns);
    }

    fn line(&mut self, line: &[u8], columns: TreeColumns) -> Result<(), BadLine> {
        let depth = line.iter().take_while(|byte| **byte == b' ').count();
        let mut rest = &line[depth..];
        // No., entries, the individual and the inherited percentages, and perhaps ticks and bytes.
        let numbers = match columns.has_counts {
            true => 8,
            false => 6,
        };
        let mut words = [&b""[..]; 8];
        for word in words[..numbers].iter_mut().rev() {
            (rest, *word) = last_word(rest).ok_or(BadLine::Form)?;
        }
        let (label, rest) = first_word(rest).ok_or(BadLine::Form)?;
        let (module, place) = first_word(rest).ok_or(BadLine::Form)?;
        if columns.has_place == place.is_empty() || !words[..2].iter().all(|word| is_number(word)) {
            return Err(BadLine::Form);
        }
        let costs = match columns.has_counts {
            true => [words[6], words[7]].map(|word| whole_u64(word).map(Count::from)),
            false => [words[2], words[3]].map(tenths),
        };
        let [Some(ticks), Some(bytes)] = costs else {
            return Err(BadLine::Form);
        };
        let frame = cost_centre(label, module, place, &mut self.table)?;
        let stack = self.outline.at(depth, Some(frame), &mut self.table)?;
        for (event, cost) in [ticks, bytes].into_iter().enumerate() {
            self.added[event] += cost;
            if cost > 0 {
                self.table.count(StackKey::from_stack(stack), event, cost)?;
            }
        }
        Ok(())
    }

    /// Checks that the tree exists and is complete: its sums match the totals at the beginning of the report.
    fn check(&self, number: u64) -> Result<(), Error> {
        let ReportPart::Tree(columns) = self.part else {
            return Err(Error::at(
                number,
                "expected the tree of cost centres, found the end of the report",
            ));
        };
        for (event, name) in [TICKS, BYTES].into_iter().enumerate() {
            match self.totals[event] {
                Some(total) if columns.has_counts && total != self.added[event] => {
                    return Err(Error::at(
                        number,
                        format!(
                            "the report states {total} {name}, but its lines have {}: it may be truncated",
                            self.added[event]
                        ),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The reason why a line cannot be read.
enum BadLine {
    Form,
    Other(Error),
}

impl<E: Into<Error>> From<E> for BadLine {
    fn from(error: E) -> BadLine {
        BadLine::Other(error.into())
    }
}

/// Sets the sample rate and the duration of the run. `interval` is the length of a tick in µs.
fn describe_clock(run: &mut RunRecord, ticks: Option<u64>, interval: u64, processors: u64) {
    run.sampling.sample_rate = rate::samples_a_second(1e6 / interval as f64);
    let total = ticks.and_then(|ticks| ticks.checked_mul(interval)?.checked_mul(1000));
    run.sampling.duration = total.and_then(|total| total.checked_div(processors));
}

/// Interns the frame of a cost centre.
fn cost_centre(
    label: &[u8],
    module: &[u8],
    place: &[u8],
    table: &mut StackTable,
) -> Result<FrameId, Error> {
    let name = [module, b".", label].concat();
    let (file, line) = source_place(place);
    let parts = FrameParts {
        name: table.text_unless_empty(&name)?,
        file: table.text_unless_empty(file)?,
        line,
        ..FrameParts::default()
    };
    Ok(table.frame(parts)?)
}

/// Parses the file and the first line of a place: `src/Main.hs:(4,1)-(7,57)` or `src/Main.hs:4:1-20`. `<entire-module>` is
/// not a place.
fn source_place(place: &[u8]) -> (&[u8], Option<u64>) {
    if place.starts_with(b"<") {
        return (b"", None);
    }
    // A path may contain colons and digits, but a span contains nothing else.
    let belongs_to_span = |byte: &u8| byte.is_ascii_digit() || b"(),:-".contains(byte);
    let span = place
        .iter()
        .rev()
        .take_while(|byte| belongs_to_span(byte))
        .count();
    let span_start = place.len() - span;
    match memchr::memchr(b':', &place[span_start..]) {
        Some(colon) => {
            let digits = &place[span_start + colon + 1..];
            let digits = digits.strip_prefix(b"(").unwrap_or(digits);
            let line = cg_reader::number::leading_u64(digits).map(|(line, _)| line);
            (&place[..span_start + colon], line)
        }
        None => (place, None),
    }
}

/// Splits off the last word of a line: returns the text before it, and the word.
fn last_word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_end();
    let start = memchr::memrchr(b' ', line)?;
    Some((&line[..start], &line[start + 1..]))
}

/// Splits off the first word of a line: returns the word, and the text after it.
fn first_word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii();
    let end = memchr::memchr(b' ', line).unwrap_or(line.len());
    (end > 0).then(|| (&line[..end], line[end..].trim_ascii_start()))
}

fn is_number(word: &[u8]) -> bool {
    whole_u64(word).is_some()
}

/// Parses a percentage in tenths of a per cent.
fn tenths(word: &[u8]) -> Option<Count> {
    let number = Decimal::parse(word).filter(|number| number.digits >= 0)?;
    match number.decimals {
        0 => number.digits.checked_mul(10),
        1 => Some(number.digits),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
