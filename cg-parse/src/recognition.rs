//! Recognition of a format while the beginning of an input arrives.
//!
//! The input is judged from its beginning, and the first sign that appears decides. Each line is judged once, as soon as it
//! is complete. Signs of the beginning are checked at lengths that depend only on the input. So neither the sizes of reads
//! nor bytes after the decisive sign affect the result.

use cg_callgrind::recognise::{CostHeader, CostVerdict};
use cg_callgrind::sums::Summed;
use cg_reader::{Head, LineEvidence, Reach};

use crate::format::{Format, Sign};

/// Signs of the beginning are checked at the end of each line up to this length, and then whenever the length is
/// [`GROWTH`] times as large. So all checks together cost little more than the last one.
const FIRST_LENGTH: usize = 256;
const GROWTH: usize = 4;

/// The number of lines that can prove a format by their number. Later lines are added to the evidence only if no other sign
/// appears.
const FIRST_LINES: usize = 64;

/// Returns true if a line is a sign of a format.
type LineTest = fn(&[u8]) -> bool;

/// The state of recognising the format of an input.
pub(crate) struct Recognition {
    formats: &'static [Format],
    line_signs: Vec<(&'static Format, LineTest)>,
    /// The evidence for each format that needs many lines.
    evidence: Vec<(&'static Format, Box<dyn LineEvidence>)>,
    costs: CostHeader,
    /// The format of a line that does not decide while the input may be a profile of costs.
    held: Option<&'static Format>,
    /// The number of lines that were judged.
    line_count: usize,
    /// The end of these lines.
    judged: usize,
    /// The end of the lines that were added to the evidence.
    weighed: usize,
    /// No line ends between `judged` and this position.
    searched: usize,
    /// The next length at which signs of the beginning are checked.
    next_length: usize,
}

impl Recognition {
    pub(crate) fn new(formats: &'static [Format]) -> Recognition {
        let mut line_signs = Vec::new();
        let mut evidence = Vec::new();
        for format in formats {
            for sign in format.signs {
                match sign {
                    Sign::Line(matches) => line_signs.push((format, *matches)),
                    Sign::ManyLines(begin) => evidence.push((format, begin())),
                    Sign::Beginning(_) | Sign::CostHeader(_) => {}
                }
            }
        }
        Recognition {
            formats,
            line_signs,
            evidence,
            costs: CostHeader::default(),
            held: None,
            line_count: 0,
            judged: 0,
            weighed: 0,
            searched: 0,
            next_length: FIRST_LENGTH,
        }
    }

    /// Judges the part of a head that was not judged before, and returns the format if it is decided. The head begins with
    /// the head of the previous call.
    pub(crate) fn judge(&mut self, head: &Head) -> Option<&'static Format> {
        while let Some(end) = self.next_line_end(head.bytes) {
            let format = self
                .check_lengths(head.bytes, end)
                .or_else(|| self.judge_line(head.bytes, end));
            if format.is_some() {
                return format;
            }
        }
        let format = self.check_lengths(head.bytes, head.bytes.len());
        match head.reach {
            Reach::Beginning => format,
            Reach::Enough | Reach::All => format.or_else(|| self.finish(head)),
        }
    }

    fn next_line_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let length = memchr::memchr(b'\n', &bytes[self.searched..]);
        self.searched = length.map_or(bytes.len(), |length| self.searched + length + 1);
        length.map(|_| self.searched)
    }

    /// Checks signs of the beginning for the lengths up to `end`.
    fn check_lengths(&mut self, bytes: &[u8], end: usize) -> Option<&'static Format> {
        while self.next_length <= end {
            let length = self.next_length;
            self.next_length *= GROWTH;
            if let Some(format) = self.check_beginning(&Head::new(&bytes[..length], false)) {
                return Some(format);
            }
        }
        None
    }

    fn check_beginning(&self, head: &Head) -> Option<&'static Format> {
        self.find_format(|sign| matches!(sign, Sign::Beginning(matches) if matches(head)))
    }

    fn find_format(&self, has_sign: impl Fn(&Sign) -> bool) -> Option<&'static Format> {
        self.formats
            .iter()
            .find(|format| format.signs.iter().any(&has_sign))
    }

    /// Judges the line from `self.judged` to `end`.
    fn judge_line(&mut self, bytes: &[u8], end: usize) -> Option<&'static Format> {
        if end <= FIRST_LENGTH
            && let Some(format) = self.check_beginning(&Head::new(&bytes[..end], false))
        {
            return Some(format);
        }
        let line = bytes[self.judged..end].trim_ascii_end();
        self.judged = end;
        self.line_count += 1;
        match self.costs.judge(line) {
            CostVerdict::Format(costs) => return self.find_cost_format(costs),
            CostVerdict::Certain => return None,
            CostVerdict::Possible => {
                self.held = self.held.or_else(|| self.find_line_sign(line));
                return None;
            }
            CostVerdict::Absent => {}
        }
        let format = self.held.or_else(|| self.find_line_sign(line));
        if format.is_some() || self.line_count > FIRST_LINES {
            return format;
        }
        self.weigh_lines(bytes);
        self.find_evidence(|evidence| evidence.is_proven())
    }

    fn find_cost_format(&self, costs: Summed) -> Option<&'static Format> {
        self.find_format(|sign| matches!(sign, Sign::CostHeader(summed) if *summed == costs))
    }

    fn find_line_sign(&self, line: &[u8]) -> Option<&'static Format> {
        let mut signs = self.line_signs.iter();
        signs
            .find(|(_, matches)| matches(line))
            .map(|(format, _)| *format)
    }

    /// Adds judged lines to the evidence.
    fn weigh_lines(&mut self, bytes: &[u8]) {
        let judged = Head::new(&bytes[self.weighed..self.judged], true);
        for line in judged.whole_lines() {
            for (_, evidence) in &mut self.evidence {
                evidence.add(line);
            }
        }
        self.weighed = self.judged;
    }

    fn find_evidence(
        &self,
        is_enough: impl Fn(&dyn LineEvidence) -> bool,
    ) -> Option<&'static Format> {
        let mut evidence = self.evidence.iter();
        evidence
            .find(|(_, evidence)| is_enough(&**evidence))
            .map(|(format, _)| *format)
    }

    /// Decides without further bytes.
    fn finish(&mut self, head: &Head) -> Option<&'static Format> {
        if let Some(format) = self.check_beginning(head) {
            return Some(format);
        }
        let is_whole = head.reach == Reach::All;
        // A last line without a line break.
        if is_whole
            && self.judged < head.bytes.len()
            && let Some(format) = self.judge_line(head.bytes, head.bytes.len())
        {
            return Some(format);
        }
        if let Some(costs) = self.costs.finish(is_whole) {
            return self.find_cost_format(costs);
        }
        self.weigh_lines(head.bytes);
        self.find_evidence(|evidence| evidence.is_likely())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use crate::format::{FormatReader, WithoutRecords};

    use super::*;

    thread_local! {
        /// The lines that the sign of kind `Line` was asked about.
        static ASKED: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
        /// The lines that were added to the evidence.
        static ADDED: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    }

    /// Two formats that no input has.
    static RECORDED: [Format; 2] = [
        Format {
            signs: &[Sign::Line(record_line)],
            ..WITHOUT_SIGNS
        },
        Format {
            signs: &[Sign::ManyLines(recorded_evidence)],
            ..WITHOUT_SIGNS
        },
    ];

    const WITHOUT_SIGNS: Format = Format {
        name: "recorded",
        aliases: &[],
        reads: "",
        tools: &[],
        events: "",
        remarks: "",
        answers: &[],
        without_inline: None,
        signs: &[],
        reader: FormatReader::Sums(Summed::Callgrind),
        without_records: WithoutRecords::Error,
        seeds: &[],
    };

    fn record_line(line: &[u8]) -> bool {
        ASKED.with_borrow_mut(|asked| asked.push(line.to_vec()));
        false
    }

    fn recorded_evidence() -> Box<dyn LineEvidence> {
        Box::new(RecordedEvidence)
    }

    struct RecordedEvidence;

    impl LineEvidence for RecordedEvidence {
        fn add(&mut self, line: &[u8]) {
            ADDED.with_borrow_mut(|added| added.push(line.to_vec()));
        }

        fn is_proven(&self) -> bool {
            false
        }

        fn is_likely(&self) -> bool {
            false
        }
    }

    #[test]
    fn each_line_is_judged_once_however_the_input_arrives() {
        // More lines than can prove a format, a possible header of costs that is none, and no line break at the end.
        let numbered = |range: std::ops::Range<u32>| {
            range.map(|n| format!("line {n}\r\n")).collect::<String>()
        };
        let text = numbered(0..20) + "events: Ir\n\n" + &numbered(20..400) + "the last line";
        let expected: Vec<&[u8]> = text.lines().map(|line| line.as_bytes()).collect();
        for size in [1, 3, 4096, text.len()] {
            let mut recognition = Recognition::new(&RECORDED);
            for end in (size..text.len()).step_by(size) {
                let head = Head::new(&text.as_bytes()[..end], false);
                assert_eq!(recognition.judge(&head), None);
            }
            let head = Head::new(text.as_bytes(), true);
            assert_eq!(recognition.judge(&head), None);
            assert_eq!(ASKED.take(), expected, "in pieces of {size} bytes");
            assert_eq!(ADDED.take(), expected, "in pieces of {size} bytes");
        }
    }
}
