//! What shows a text to be of `perf script`: a sample that is proven.
//!
//! Tables of numbers, logs and symbol tables have lines that could be samples or frames, and mostly they are none. So it takes
//! one line that nothing else prints, and more lines of perf than others. Where `-F` left out all that proves a sample
//! (`-F ip`, `-F comm,tid,time`), no other lines may stand in the text.

use cg_reader::{Head, Reach};

use super::frame;
use super::is_instruction;
use super::sample_line::{Anchor, SampleLine, Task};

/// How much of an input is looked at for samples with a time.
pub const LOOK: usize = 64 * 1024;

/// Columns of the address of a frame (`tools/perf/util/evsel_fprintf.c`: `"%16" PRIx64`).
const ADDRESS_WIDTH: usize = 16;

/// Columns of a thread's name where no chain of calls is printed.
const COMM_WIDTH: usize = 16;

/// True where one of these first lines is a sample with a time. Then others are read from theirs, and what a program or perf
/// itself printed in front of them is not taken for samples without one.
pub(super) fn has_times(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').any(|line| {
        let parsed = match line {
            [b'\t' | b'#', ..] => return false,
            line => SampleLine::parse(line),
        };
        parsed.anchor == Anchor::Time
            && parsed.record.is_none()
            && (parsed.event.is_some() || Task::of(parsed.left).tid.is_some())
    })
}

/// True where the input begins with many lines, of which all are samples, frames or comments: no program's own output looks
/// like that, so what follows does not matter.
pub fn begins_with_samples(head: &Head) -> bool {
    let Some(bytes) = head.bytes.get(..LOOK) else {
        return false;
    };
    let reach = Reach::Enough;
    let evidence = Evidence::of(&Head { bytes, reach });
    evidence.others == 0 && evidence.is_enough()
}

/// True where a sample is proven and most lines are samples and frames, or where the header of a recording begins the text.
pub fn is_perf_script(head: &Head) -> bool {
    let mut lines = head.whole_lines().filter(|(_, line)| !line.is_empty());
    let mut next_is = |begins: &dyn Fn(&[u8]) -> bool| lines.next().is_some_and(|(_, l)| begins(l));
    // `perf_session__fprintf_info` writes the date first, and what the file lacks after it.
    let is_header = |line: &[u8]| HEADER.iter().any(|key| line.starts_with(key));
    if next_is(&|line| line == b"# ========") && next_is(&is_header) {
        return true;
    }
    Evidence::of(head).is_enough()
}

/// What the first line of a header says.
const HEADER: [&[u8]; 4] = [
    b"# captured on",
    b"# header version",
    b"# hostname",
    b"# perf version",
];

/// What the lines of a text say.
#[derive(Default)]
struct Evidence {
    /// Lines of samples, frames and other records.
    own: u64,
    others: u64,
    /// Lines that only perf prints.
    proofs: u64,
    /// Lines that perf prints, and others might.
    hints: u64,
}

/// What a line is, by itself and by the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Nothing,
    Blank,
    /// Only perf prints such a line.
    Proof,
    /// perf prints such lines, and others might.
    Hint,
    /// A frame by its address and its object, which proves nothing alone.
    Frame,
    /// It has a time or an event, so that it is a sample where a frame follows.
    Sample,
    Other,
}

impl Evidence {
    fn of(head: &Head) -> Evidence {
        let mut evidence = Evidence::default();
        let mut before = Shown::Blank;
        for (_, line) in head.whole_lines() {
            let now = shown(line, before);
            let is_frame =
                line.starts_with(b"\t") && matches!(now, Shown::Proof | Shown::Hint | Shown::Frame);
            if is_frame && matches!(before, Shown::Sample | Shown::Other) {
                evidence.others -= 1;
                evidence.own += 1;
                evidence.proofs += u64::from(before == Shown::Sample);
            }
            match now {
                Shown::Nothing | Shown::Blank => {}
                Shown::Sample | Shown::Other => evidence.others += 1,
                Shown::Proof | Shown::Hint | Shown::Frame => evidence.own += 1,
            }
            evidence.proofs += u64::from(now == Shown::Proof);
            evidence.hints += u64::from(now == Shown::Hint);
            if now != Shown::Nothing {
                before = now;
            }
        }
        evidence
    }

    fn is_enough(&self) -> bool {
        self.proofs > 0 && self.own > self.others || self.hints > 0 && self.others == 0
    }
}

fn shown(line: &[u8], before: Shown) -> Shown {
    let is_behind_frame = matches!(before, Shown::Proof | Shown::Hint | Shown::Frame);
    match line {
        [] => Shown::Blank,
        [b'\t', text @ ..] if is_instruction(text) => Shown::Nothing,
        [b'\t', text @ ..] => of_frame(text),
        // The place in the source of the frame before it.
        [b' ', b' ', byte, ..] if is_behind_frame && *byte != b' ' => Shown::Nothing,
        [b'#', ..] => match of_sample_line(line) {
            Shown::Proof => Shown::Proof,
            _ => Shown::Nothing,
        },
        line => of_sample_line(line),
    }
}

/// A frame behind its tab: an address in its column and a symbol, or an address and what perf alone hangs on a symbol.
fn of_frame(text: &[u8]) -> Shown {
    let Some((_, symbol)) = frame::split_address(text).filter(|_| !is_padded(text)) else {
        return Shown::Other;
    };
    let is_in_column = text.len() - symbol.len() - usize::from(!symbol.is_empty()) == ADDRESS_WIDTH;
    match (is_in_column, symbol.is_empty()) {
        (true, false) => Shown::Proof,
        (true, true) => Shown::Hint,
        (false, _) if has_place(symbol) => Shown::Frame,
        (false, _) => Shown::Other,
    }
}

/// What a line has of the frame of a sample without a chain of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flat {
    Nothing,
    Address,
    Symbol,
    /// A symbol with its offset or its object.
    Place,
}

fn of_sample_line(line: &[u8]) -> Shown {
    let parsed = SampleLine::parse(line);
    let flat = flat(&parsed);
    let has_task = Task::of(parsed.left).tid.is_some();
    let has_fields = has_task || parsed.period.is_some();
    let is_whole = line.ends_with(b":");
    match parsed.anchor {
        Anchor::Time if !has_exact_time(line, parsed.left) => Shown::Sample,
        Anchor::Time if parsed.record.is_some() => Shown::Hint,
        Anchor::Time => match parsed.event {
            _ if flat == Flat::Place => Shown::Proof,
            Some(_) if has_task && parsed.period.is_some() => Shown::Proof,
            // Text stands behind `sched:sched_switch`, and behind other events nothing.
            Some(event) if has_fields && (is_whole || event.contains(&b':')) => Shown::Proof,
            None if parsed.period.is_some() => Shown::Hint,
            _ if is_whole || flat > Flat::Nothing => Shown::Hint,
            _ => Shown::Sample,
        },
        Anchor::Event => match flat {
            Flat::Place if has_fields => Shown::Proof,
            Flat::Nothing if !(has_fields && is_whole) => Shown::Sample,
            _ => Shown::Hint,
        },
        Anchor::Address => {
            let name = parsed.left.trim_ascii_end();
            match flat {
                Flat::Place if has_fields || name.is_empty() => Shown::Proof,
                Flat::Symbol if name.is_empty() => Shown::Hint,
                // A thread's name has as many columns as the kernel lets it have bytes.
                _ if flat > Flat::Nothing && (has_fields || name.len() == COMM_WIDTH) => {
                    Shown::Hint
                }
                _ => Shown::Other,
            }
        }
        Anchor::None if parsed.record.is_some() => Shown::Frame,
        Anchor::None => Shown::Other,
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
        // Another number: the line is of a table.
        Some((_, [b'0'..=b'9', ..])) => Flat::Nothing,
        Some(_) => Flat::Symbol,
    }
}

/// Whether the time behind these fields is as exact as perf prints it: microseconds, or nanoseconds with `--ns`.
fn has_exact_time(line: &[u8], left: &[u8]) -> bool {
    let time = line[left.len()..].split(|byte| *byte == b':').next();
    let point = time.and_then(|time| Some(time.len() - memchr::memchr(b'.', time)?));
    matches!(point, Some(7 | 10))
}

/// Whether the number that a text begins with is padded with zeros, as symbol tables and dumps are and perf's addresses are
/// not.
fn is_padded(text: &[u8]) -> bool {
    matches!(
        text.trim_ascii_start(),
        [b'0', b'0'..=b'9' | b'a'..=b'f', ..]
    )
}

/// Whether a symbol has its offset or its object behind it, `work+0x16 (/opt/demo)`, or is perf's word for none.
fn has_place(symbol: &[u8]) -> bool {
    let (name, object) = frame::split_object(symbol);
    let is_object = matches!(object, [b'/' | b'[', ..] | b"inlined");
    is_object || name == b"[unknown]" || frame::without_offset(name).len() < name.len()
}
