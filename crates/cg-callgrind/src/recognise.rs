//! Detection of Callgrind and Cachegrind profiles.

use cg_reader::{Head, Reach};

use super::sums::Summed;

/// Returns the format of an input with this head; `None` if it is neither of the two.
pub fn find_format(head: &Head) -> Option<Summed> {
    let mut header = CostHeader::default();
    let judged = head
        .whole_lines()
        .find_map(|line| match header.judge(line) {
            CostVerdict::Format(format) => Some(format),
            _ => None,
        });
    judged.or_else(|| header.finish(head.reach == Reach::All))
}

/// The search for the header of a profile of costs. Every line of an input is judged once, in order.
#[derive(Default)]
pub struct CostHeader {
    state: HeaderState,
    /// The number of `desc:` and `cmd:` lines.
    header_lines: u64,
    has_command: bool,
    /// True if a line occurred that Cachegrind does not write before `events:`.
    has_other_line: bool,
}

/// The part of the input that was read.
#[derive(Default)]
enum HeaderState {
    /// Lines before `events:`.
    #[default]
    Header,
    /// Header lines from `events:` on, of Callgrind or of a text of another kind.
    Events,
    /// Lines of a profile whose header both formats allow.
    Body(CostBody),
    /// A line after `events:` shows that the input is not a profile.
    Other,
}

/// The result of judging lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostVerdict {
    /// The lines are not a header.
    Absent,
    /// An `events:` line was found. The lines after its header show if the input is a profile.
    Possible,
    /// The input is a profile. Later lines show its format.
    Certain,
    /// The input is a profile in this format.
    Format(Summed),
}

impl CostHeader {
    /// Judges the next line, without its line break and trailing blanks.
    pub fn judge(&mut self, line: &[u8]) -> CostVerdict {
        match &mut self.state {
            HeaderState::Header => self.judge_header(line),
            HeaderState::Events => match has_costs(line) {
                Some(true) => CostVerdict::Format(Summed::Callgrind),
                Some(false) => {
                    self.state = HeaderState::Other;
                    CostVerdict::Absent
                }
                None => CostVerdict::Possible,
            },
            HeaderState::Body(body) => match body.judge(line) {
                Some(tool) => CostVerdict::Format(tool),
                None => CostVerdict::Certain,
            },
            HeaderState::Other => CostVerdict::Absent,
        }
    }

    fn judge_header(&mut self, line: &[u8]) -> CostVerdict {
        if line.starts_with(b"# callgrind format") {
            return CostVerdict::Format(Summed::Callgrind);
        }
        let events = line.strip_prefix(b"events:");
        if events.is_some_and(|names| !names.trim_ascii().is_empty()) {
            if self.has_other_line || self.header_lines == 0 {
                self.state = HeaderState::Events;
                return CostVerdict::Possible;
            }
            self.state = HeaderState::Body(CostBody::default());
            return CostVerdict::Certain;
        }
        // Before `events:`, Cachegrind writes only `desc:` and `cmd:` (`cg_main.c:fprint_CC_table_and_calc_totals`).
        // It does not escape `cmd:`, so any line after it may belong to an argument with line breaks.
        if line.starts_with(b"desc:") || line.starts_with(b"cmd:") {
            self.header_lines += 1;
            self.has_command |= line.starts_with(b"cmd:");
        } else if is_callgrind_key(line) || !(self.has_command || is_blank_or_comment(line)) {
            self.has_other_line = true;
        }
        CostVerdict::Absent
    }

    /// Returns the format if no more lines are judged; `None` if the input is not a profile. `is_whole` is true if the input
    /// ends here.
    pub fn finish(&self, is_whole: bool) -> Option<Summed> {
        match &self.state {
            HeaderState::Header | HeaderState::Other => None,
            HeaderState::Events => Some(Summed::Callgrind),
            HeaderState::Body(body) => Some(body.finish(is_whole)),
        }
    }
}

/// The lines after a header that both formats allow.
///
/// A Cachegrind body has only files, functions, absolute lines with counts, and `summary:` at the end. A body that begins
/// immediately with a position is Cachegrind's, unless only Callgrind writes one of its first lines. Callgrind puts blank
/// lines and comments before the body. They may also have been added to a Cachegrind profile, so the end of the body
/// decides.
#[derive(Default)]
struct CostBody {
    /// The number of lines that are neither blank nor comments.
    lines: u64,
    /// True if blank lines or comments precede the body.
    has_blank_in_front: bool,
    /// True if the first line is `summary:`. Callgrind writes it before the costs. Cachegrind writes it last, here without
    /// any costs.
    begins_with_summary: bool,
}

/// The number of lines that show Cachegrind's format if Callgrind writes none of them. Callgrind's calls and objects follow
/// soon.
const ENOUGH_OF_BODY: u64 = 256;

impl CostBody {
    fn judge(&mut self, line: &[u8]) -> Option<Summed> {
        if is_blank_or_comment(line) {
            self.has_blank_in_front |= self.lines == 0;
            return None;
        }
        // A function may be called `(1)`, but a number before a name is Callgrind's compression.
        let is_compressed = self.has_blank_in_front && defines_number(line);
        if self.begins_with_summary || is_callgrind_line(line) || is_compressed {
            return Some(Summed::Callgrind);
        }
        if line.starts_with(b"summary:") {
            self.begins_with_summary = self.lines == 0;
            return (!self.begins_with_summary).then_some(Summed::Cachegrind);
        }
        self.lines += 1;
        (!self.has_blank_in_front && self.lines == ENOUGH_OF_BODY).then_some(Summed::Cachegrind)
    }

    fn finish(&self, is_whole: bool) -> Summed {
        let is_callgrind = is_whole && self.has_blank_in_front && !self.begins_with_summary;
        match is_callgrind {
            true => Summed::Callgrind,
            false => Summed::Cachegrind,
        }
    }
}

/// Returns true if this line after `events:` begins the body of a profile; `None` if it belongs to the header. Other texts
/// may have lines that begin with `events:`.
fn has_costs(line: &[u8]) -> Option<bool> {
    let keys = [&b"desc:"[..], b"cmd:", b"events:"];
    if is_blank_or_comment(line)
        || is_callgrind_key(line)
        || keys.iter().any(|key| line.starts_with(key))
    {
        return None;
    }
    let is_position = || {
        let equals = line.iter().take(5).position(|byte| *byte == b'=');
        equals.is_some_and(|equals| line[..equals].iter().all(u8::is_ascii_lowercase))
    };
    let is_sum = || line.starts_with(b"summary:") || line.starts_with(b"totals:");
    Some(line[0].is_ascii_digit() || is_callgrind_line(line) || is_sum() || is_position())
}

fn is_blank_or_comment(line: &[u8]) -> bool {
    line.is_empty() || line.starts_with(b"#")
}

/// Returns true for header lines that only Callgrind's format has.
fn is_callgrind_key(line: &[u8]) -> bool {
    const KEYS: [&[u8]; 7] = [
        b"version:",
        b"creator:",
        b"pid:",
        b"part:",
        b"thread:",
        b"positions:",
        b"event:",
    ];
    KEYS.iter().any(|key| line.starts_with(key))
}

/// Returns true for lines that Cachegrind's format lacks: calls, objects, jumps, relative lines, the sums of a part.
fn is_callgrind_line(line: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 10] = [
        b"calls=", b"rcalls=", b"cfn=", b"cfi=", b"cfl=", b"cob=", b"ob=", b"jump=", b"jcnd=",
        b"totals:",
    ];
    match line {
        [b'+' | b'-', b'0'..=b'9', ..] | [b'*', b' ', ..] => true,
        // Most lines are costs, which begin with a digit.
        [b'a'..=b'z', ..] => BEGINNINGS
            .iter()
            .any(|beginning| line.starts_with(beginning)),
        _ => false,
    }
}

/// Returns true for a position line that gives a name a number, such as `fn=(1) main`.
fn defines_number(line: &[u8]) -> bool {
    let name = line.get(3..).filter(|_| line.get(2) == Some(&b'='));
    name.and_then(|name| name.strip_prefix(b"("))
        .is_some_and(|name| {
            let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
            digits > 0 && matches!(&name[digits..], [b')', _, ..])
        })
}
