//! Recognition of the output of `perf script`: at least one line must prove a sample.
//!
//! Lines in tables of numbers, logs and symbol tables may look like samples or frames. So the text needs one line that only
//! perf prints, and more lines of perf than other lines. If `-F` excluded every field that proves a sample (`-F ip`, `-F
//! comm,tid,time`), the text must not have other lines.

use cg_reader::LineEvidence;

use super::frame::{self, is_instruction};
use super::sample_line::{Anchor, SampleLine, Task, is_after_tab};

/// The number of bytes in which to look for samples with a time.
pub(super) const LOOK: usize = 64 * 1024;

/// The columns of a frame's address (`tools/perf/util/evsel_fprintf.c`: `"%16" PRIx64`).
const ADDRESS_WIDTH: usize = 16;

/// The columns of a thread's name if no call chain is printed.
const COMM_WIDTH: usize = 16;

/// Returns true if one of these first lines is a sample with a time. Then all samples need a time, so output of a program or
/// of perf before them is not read as samples.
pub(super) fn has_times(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').any(|line| {
        let parsed = match line {
            [b'#', ..] => return false,
            [b'\t', ..] if !is_after_tab(line) => return false,
            line => SampleLine::parse(line),
        };
        parsed.anchor == Anchor::Time
            && parsed.record.is_none()
            && (parsed.event.is_some() || Task::parse(parsed.left).tid.is_some())
    })
}

/// Returns the evidence for the output of `perf script`, before the first line.
pub fn line_evidence() -> Box<dyn LineEvidence> {
    Box::new(PerfEvidence {
        header: HeaderPart::Missing,
        before: LineKind::Blank,
        own: 0,
        others: 0,
        proofs: 0,
        hints: 0,
    })
}

/// The possible beginnings of the second line of a recording's header. `perf_session__fprintf_info` writes the date first.
/// Later lines may be missing.
const HEADER: [&[u8]; 4] = [
    b"# captured on",
    b"# header version",
    b"# hostname",
    b"# perf version",
];

/// The part of a recording's header that was found. It begins the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderPart {
    /// No line was read.
    Missing,
    /// Only the rule above the header was read.
    Rule,
    Found,
    /// The text begins with something else.
    Absent,
}

/// The numbers of lines of each kind.
struct PerfEvidence {
    header: HeaderPart,
    /// The kind of the previous line.
    before: LineKind,
    /// Lines of samples, frames and other records.
    own: u64,
    others: u64,
    /// Lines that only perf prints.
    proofs: u64,
    /// Lines that perf and other programs print.
    hints: u64,
}

/// The kind of a line, judged with the line before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Nothing,
    Blank,
    /// A line that only perf prints.
    Proof,
    /// A line that perf and other programs print.
    Hint,
    /// A frame with its address and object, which is not a proof.
    Frame,
    /// A line with a time or an event, which is a sample if a frame follows.
    Sample,
    Other,
}

impl LineEvidence for PerfEvidence {
    fn add(&mut self, line: &[u8]) {
        self.add_to_header(line);
        let before = self.before;
        let now = classify_line(line, before);
        let is_frame = line.starts_with(b"\t")
            && !is_after_tab(line)
            && matches!(now, LineKind::Proof | LineKind::Hint | LineKind::Frame);
        if is_frame && matches!(before, LineKind::Sample | LineKind::Other) {
            self.others -= 1;
            self.own += 1;
            self.proofs += u64::from(before == LineKind::Sample);
        }
        match now {
            LineKind::Nothing | LineKind::Blank => {}
            LineKind::Sample | LineKind::Other => self.others += 1,
            LineKind::Proof | LineKind::Hint | LineKind::Frame => self.own += 1,
        }
        self.proofs += u64::from(now == LineKind::Proof);
        self.hints += u64::from(now == LineKind::Hint);
        if now != LineKind::Nothing {
            self.before = now;
        }
    }

    /// The header of a recording, or many lines that are all samples, frames or comments. After other lines, a program may
    /// have printed the samples.
    fn is_proven(&self) -> bool {
        self.header == HeaderPart::Found || self.own >= 32 && self.others == 0 && self.is_likely()
    }

    /// The header of a recording, or a proven sample and more samples and frames than other lines.
    fn is_likely(&self) -> bool {
        self.header == HeaderPart::Found
            || self.proofs > 0 && self.own > self.others
            || self.hints > 0 && self.others == 0
    }
}

impl PerfEvidence {
    fn add_to_header(&mut self, line: &[u8]) {
        self.header = match self.header {
            header if line.is_empty() => header,
            HeaderPart::Missing if line == b"# ========" => HeaderPart::Rule,
            HeaderPart::Rule if HEADER.iter().any(|key| line.starts_with(key)) => HeaderPart::Found,
            HeaderPart::Found => HeaderPart::Found,
            _ => HeaderPart::Absent,
        };
    }
}

fn classify_line(line: &[u8], before: LineKind) -> LineKind {
    let is_after_frame = matches!(before, LineKind::Proof | LineKind::Hint | LineKind::Frame);
    let is_in_sample = is_after_frame || before == LineKind::Sample;
    match line {
        [] => LineKind::Blank,
        line @ [b'\t', ..] if is_after_tab(line) => classify_sample_line(line),
        [b'\t', text @ ..] if is_instruction(text) => LineKind::Nothing,
        [b'\t', text @ ..] => match classify_frame(text) {
            LineKind::Other if is_after_frame && is_frame_with_tabs(text) => LineKind::Frame,
            // The source line of the frame before it, with a tab in place of blanks.
            LineKind::Other if is_after_frame && frame::is_source_line(text) => LineKind::Nothing,
            kind => kind,
        },
        // The source line of the frame before it.
        [b' ', b' ', byte, ..] if is_after_frame && *byte != b' ' => LineKind::Nothing,
        [b' ', ..] if is_in_sample && is_frame_of_simpleperf(line) => LineKind::Frame,
        [b'#', ..] => match classify_sample_line(line) {
            LineKind::Proof => LineKind::Proof,
            _ => LineKind::Nothing,
        },
        line => classify_sample_line(line),
    }
}

/// Returns true for `1158<TAB>mix`. Tabs take the place of blanks, so the address has no column.
fn is_frame_with_tabs(text: &[u8]) -> bool {
    let is_followed_by_tab = |symbol: &[u8]| text[..text.len() - symbol.len()].ends_with(b"\t");
    frame::split_address(text)
        .is_some_and(|(_, symbol)| !symbol.is_empty() && is_followed_by_tab(symbol))
}

/// Returns true for `        b3cea6c4<TAB>Lock::unlock() (/system/lib/libc.so)`.
fn is_frame_of_simpleperf(line: &[u8]) -> bool {
    let after_address = |(_, symbol): (u64, &[u8])| {
        line[..line.len() - symbol.len()].ends_with(b"\t") && has_place(symbol)
    };
    frame::split_address(line).is_some_and(after_address)
}

/// Classifies a frame without its tab: an address in its column and a symbol, or an address and a suffix that only perf adds
/// to a symbol.
fn classify_frame(text: &[u8]) -> LineKind {
    let Some((_, symbol)) = frame::split_address(text).filter(|_| !is_padded(text)) else {
        return LineKind::Other;
    };
    let is_in_column = text.len() - symbol.len() - usize::from(!symbol.is_empty()) == ADDRESS_WIDTH;
    match (is_in_column, symbol.is_empty()) {
        (true, false) => LineKind::Proof,
        (true, true) => LineKind::Hint,
        (false, _) if has_place(symbol) => LineKind::Frame,
        (false, _) => LineKind::Other,
    }
}

/// The parts of a frame on a sample line without a call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flat {
    Nothing,
    Address,
    Symbol,
    /// A symbol with its offset or its object.
    Place,
}

fn classify_sample_line(line: &[u8]) -> LineKind {
    let parsed = SampleLine::parse(line);
    let flat = flat(&parsed);
    let has_task = Task::parse(parsed.left).tid.is_some();
    let has_fields = has_task || parsed.period.is_some();
    let is_whole = line.trim_ascii_end().ends_with(b":");
    match parsed.anchor {
        Anchor::Time if !has_exact_time(line, parsed.left) => LineKind::Sample,
        Anchor::Time if parsed.record.is_some() => LineKind::Hint,
        Anchor::Time => match parsed.event {
            _ if flat == Flat::Place => LineKind::Proof,
            Some(_) if has_task && parsed.period.is_some() => LineKind::Proof,
            // Text follows `sched:sched_switch`, but nothing follows other events.
            Some(event) if has_fields && (is_whole || event.contains(&b':')) => LineKind::Proof,
            None if parsed.period.is_some() => LineKind::Hint,
            _ if is_whole || flat > Flat::Nothing => LineKind::Hint,
            _ => LineKind::Sample,
        },
        Anchor::Event => match flat {
            Flat::Place if has_fields => LineKind::Proof,
            Flat::Nothing if !(has_fields && is_whole) => LineKind::Sample,
            _ => LineKind::Hint,
        },
        Anchor::Address => {
            let name = parsed.left.trim_ascii_end();
            match flat {
                Flat::Place if has_fields || name.is_empty() => LineKind::Proof,
                Flat::Symbol if name.is_empty() => LineKind::Hint,
                // The column of a thread's name is as wide as the kernel's limit on names.
                _ if flat > Flat::Nothing && (has_fields || name.len() == COMM_WIDTH) => {
                    LineKind::Hint
                }
                _ => LineKind::Other,
            }
        }
        Anchor::None if parsed.record.is_some() => LineKind::Frame,
        Anchor::None => LineKind::Other,
    }
}

fn flat(parsed: &SampleLine) -> Flat {
    let is_in_column = parsed.anchor != Anchor::Address || parsed.left.ends_with(b" ");
    let frame = parsed
        .frame
        .filter(|frame| is_in_column && !is_padded(frame));
    match frame.and_then(frame::split_address) {
        None => Flat::Nothing,
        Some((_, symbol)) if has_place(symbol) => Flat::Place,
        Some((_, [])) => Flat::Address,
        // A second number: the line belongs to a table.
        Some((_, [b'0'..=b'9', ..])) => Flat::Nothing,
        Some(_) => Flat::Symbol,
    }
}

/// Returns true if the time after these fields has perf's precision: microseconds, or nanoseconds with `--ns`.
fn has_exact_time(line: &[u8], left: &[u8]) -> bool {
    let time = line[left.len()..].split(|byte| *byte == b':').next();
    let point = time.and_then(|time| Some(time.len() - memchr::memchr(b'.', time)?));
    matches!(point, Some(7 | 10))
}

/// Returns true if the number at the beginning is padded with zeros, as in symbol tables and dumps. perf does not pad
/// addresses.
fn is_padded(text: &[u8]) -> bool {
    matches!(
        text.trim_ascii_start(),
        [b'0', b'0'..=b'9' | b'a'..=b'f', ..]
    )
}

/// Returns true if a symbol has an offset or object, as in `work+0x16 (/opt/demo)`, or is perf's word for an unknown symbol.
fn has_place(symbol: &[u8]) -> bool {
    let (name, object) = frame::split_object(symbol);
    let is_object = matches!(object, [b'/' | b'[', ..] | b"inlined");
    is_object || name == b"[unknown]" || frame::without_offset(name).len() < name.len()
}
