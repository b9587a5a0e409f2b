//! Folded stacks, the input format of flame graphs. Writers are Brendan Gregg's `stackcollapse-*.pl`, inferno, py-spy,
//! rbspy, async-profiler, `heaptrack_print -F` and others.
//!
//! ```text
//! file    := line*                                       in any order; the counts of equal stacks are added
//! line    := stack " " count "\n"                        of one run
//!          | stack " " count " " count "\n"              of two runs, before and after (`difffolded.pl`)
//!          | "# " word ": " text "\n"                    a fact about the run, by austin
//!          | "#" text "\n"                               a comment, unless it ends in a count
//! stack   := frame (";" frame)* ";"?                     outermost first
//! ```
//!
//! An outermost frame `[NAME tid=NUMBER]`, which async-profiler writes, is the thread. Other frames are any text without
//! `;`, and may be empty. Counts may be fractions or negative. The format does not contain the name of the event. A frame
//! that ends in a number (`listen on port 8080 5`) looks like a second count, so a file is a diff of two runs only if all
//! lines have two counts.

pub(crate) mod frame;

use std::collections::BTreeMap;

use cg_reader::{Error, Head, LineEvidence, Lines, Options, Reach, Reading, plural};
use cg_stream::record::Name;

use self::frame::{FoldedFrames, thread_name};
use super::count::{CountUnit, Decimal};
use super::table::{NameId, StackKey, StackLinkId, StackTable};
use super::unread::UnreadLines;
use super::write;

/// The event, which the format does not contain.
const EVENT: &str = "samples";

/// The number of bytes that are searched for lines with two counts.
const LOOK: usize = 1024 * 1024;

/// Returns the evidence for folded stacks, before the first line.
pub fn line_evidence() -> Box<dyn LineEvidence> {
    Box::new(FoldedEvidence::default())
}

/// The numbers of lines of each kind. Lines of logs end in numbers too, and some contain a `;`.
#[derive(Default)]
struct FoldedEvidence {
    /// Stacks with a count.
    stacks: u64,
    /// Stacks that have at least two frames.
    deep_stacks: u64,
    /// The number of `;` in all stacks.
    semicolons: usize,
    /// Lines that are neither stacks nor comments.
    others: u64,
    /// The number of `;` in the first line except comments, if it is not a stack: the headings of a table.
    columns: Option<usize>,
    /// The number of stacks with as many `;` as the headings.
    rows: u64,
}

impl LineEvidence for FoldedEvidence {
    fn add(&mut self, line: &[u8]) {
        if line.is_empty() || split_fact(line).is_some() {
            return;
        }
        let semicolons = memchr::memchr_iter(b';', line).count();
        match split_count(line) {
            Some((stack, _)) if may_be_stack(stack) => {
                self.stacks += 1;
                self.deep_stacks += u64::from(semicolons > 0);
                self.semicolons += semicolons;
                self.rows += u64::from(self.columns == Some(semicolons));
            }
            _ if line.starts_with(b"#") => {}
            _ => {
                self.others += 1;
                if self.stacks == 0 && self.columns.is_none() {
                    self.columns = Some(semicolons);
                }
            }
        }
    }

    /// Many lines, or a few lines with many frames, if all are stacks.
    fn is_proven(&self) -> bool {
        let are_many = self.stacks >= 32 || self.stacks >= 3 && self.semicolons >= 64;
        are_many && self.others == 0 && self.is_likely()
    }

    /// At least half of the lines are stacks, and a quarter of these have two frames. If all stacks have as many `;` as the
    /// headings, the input is a table.
    fn is_likely(&self) -> bool {
        let is_table = self.rows == self.stacks;
        self.deep_stacks > 0
            && self.deep_stacks * 4 >= self.stacks
            && self.stacks >= self.others
            && !is_table
    }
}

/// Returns false for lines of a log, a table or a program, in which a `;` is inside quotation marks or before a blank.
fn may_be_stack(text: &[u8]) -> bool {
    let quotes = |frame: &[u8]| frame.iter().filter(|byte| **byte == b'"').count();
    let has_closed_quotes = || {
        let mut frames = text.split(|byte| *byte == b';');
        memchr::memchr(b'"', text).is_none() || frames.all(|frame| quotes(frame) % 2 == 0)
    };
    !text.is_empty()
        && memchr::memchr(b'\t', text).is_none()
        && memchr::memmem::find(text, b"; ").is_none()
        && has_closed_quotes()
}

/// Reads folded stacks: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let has_two_counts = has_two_counts(reading.lines.peek(LOOK).map_err(Error::Input)?);
    let mut folded = FoldedReader::new(has_two_counts, reading.options);
    let read = folded.read(reading.lines);
    let FoldedReader {
        mut table,
        unit,
        two_numbers,
        mut facts,
        ..
    } = folded;
    if let Some((line, count)) = two_numbers.filter(|_| !has_two_counts) {
        reading.warn_at(
            line,
            format!("a line that ends in two numbers ({count} in all); only the last is read as a count, because other lines have one"),
        );
    }
    let mut run = reading.run("folded");
    run.creator = (facts.remove("austin")).map(|version| format!("austin {version}"));
    run.sampling.labels = facts;
    let (unit, rounded) = unit.settle(&mut table);
    if let Some(unit) = unit {
        let units = &mut run.sampling.units;
        units.insert(EVENT.to_owned(), format!("{unit} {EVENT}"));
        if rounded > 0 {
            reading.warn(format!(
                "{} of {unit}, which 64 bits can hold",
                plural(
                    rounded,
                    "count was rounded to a multiple",
                    "counts were rounded to multiples"
                )
            ));
        }
    }
    match has_two_counts {
        true => write::write_diff(run, EVENT, &table, read, reading.out),
        false => write::write(run, &table, read, reading.out),
    }
}

/// Returns true if all of these first lines have two counts. A single line is not enough, because its frame may end in a
/// number.
fn has_two_counts(bytes: &[u8]) -> bool {
    let head = Head {
        bytes,
        reach: match bytes.len() < LOOK {
            true => Reach::All,
            false => Reach::Enough,
        },
    };
    let mut lines = 0;
    for line in head.whole_lines() {
        let Some((stack, _)) = split_count(line) else {
            continue;
        };
        if split_count(stack).is_none() {
            return false;
        }
        lines += 1;
    }
    lines > 1
}

/// Splits a line without trailing blanks into the stack and the number after the last blank.
#[inline]
fn split_count(line: &[u8]) -> Option<(&[u8], Decimal)> {
    let blank = memchr::memrchr(b' ', line)?;
    let count = Decimal::parse(&line[blank + 1..])?;
    Some((line[..blank].trim_ascii_end(), count))
}

/// Splits a fact about the run, such as `# interval: 100`, into its name and value.
fn split_fact(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let fact = line.strip_prefix(b"# ")?;
    let colon = memchr::memmem::find(fact, b": ")?;
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_fact = fact[..colon].iter().all(is_word) && !fact.contains(&b';');
    is_fact.then(|| (&fact[..colon], &fact[colon + 2..]))
}

/// The state of reading a file.
#[derive(Default)]
struct FoldedReader {
    table: StackTable,
    frames: FoldedFrames,
    has_two_counts: bool,
    unit: CountUnit,
    /// The stack of the previous line, as text.
    last: Vec<u8>,
    /// A cache of its prefixes: the end of each frame, including its `;`, and the stack up to there. Files are mostly
    /// sorted, so consecutive lines share prefixes.
    ends: Vec<(usize, StackLinkId)>,
    /// The number of the first line that ends in two numbers, and the number of such lines.
    two_numbers: Option<(u64, u64)>,
    /// The facts about the run.
    facts: BTreeMap<String, String>,
    /// The lines that are not stacks.
    bad: UnreadLines,
}

impl FoldedReader {
    fn new(has_two_counts: bool, options: &Options) -> FoldedReader {
        let events: &[&str] = match has_two_counts {
            true => &["before", "after"],
            false => &[EVENT],
        };
        FoldedReader {
            table: StackTable::new(events.iter().copied()),
            frames: FoldedFrames::new(options.demangle),
            has_two_counts,
            ..FoldedReader::default()
        }
    }

    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        let mut number = 0;
        while let Some(block) = lines.next_lines().map_err(Error::Input)? {
            let mut rest = block;
            while !rest.is_empty() {
                let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                let (line, following) = rest.split_at(length);
                rest = following;
                number += 1;
                self.line(line.trim_ascii_end(), number)?;
            }
        }
        std::mem::take(&mut self.bad).refuse(match self.has_two_counts {
            true => "a stack and two counts",
            false => "a stack and a count",
        })
    }

    #[inline]
    fn line(&mut self, line: &[u8], number: u64) -> Result<(), Error> {
        if line.starts_with(b"# ")
            && let Some((name, value)) = split_fact(line)
        {
            let text = |bytes| Name::from_bytes(bytes).into_string();
            self.facts.insert(text(name), text(value));
            return Ok(());
        }
        let Some((stack, last)) = split_count(line) else {
            self.leave_out(line, number);
            return Ok(());
        };
        let first = match stack.last() {
            Some(b'0'..=b'9' | b'.') => split_count(stack),
            _ => None,
        };
        match (self.has_two_counts, first) {
            (false, None) => self.add(stack, &[last], number),
            (false, Some(_)) => {
                self.two_numbers.get_or_insert((number, 0)).1 += 1;
                self.add(stack, &[last], number)
            }
            (true, Some((stack, first))) => self.add(stack, &[first, last], number),
            (true, None) => {
                self.leave_out(line, number);
                Ok(())
            }
        }
    }

    #[inline]
    fn add(&mut self, stack: &[u8], counts: &[Decimal], line: u64) -> Result<(), Error> {
        let (thread, stack) = match stack.first() {
            Some(b'[') => self.thread(stack)?,
            _ => (None, stack),
        };
        let stack = self.stack(stack)?;
        let row = self.table.row(StackKey {
            stack,
            thread,
            ..StackKey::default()
        })?;
        for (event, count) in counts.iter().enumerate() {
            let added = self.unit.add(&mut self.table, row, event, *count);
            added.ok_or_else(|| Error::at(line, "the sum of the counts is beyond 64 bits"))?;
        }
        Ok(())
    }

    /// Splits a stack into its thread, if it begins with one, and its frames.
    fn thread<'s>(&mut self, stack: &'s [u8]) -> Result<(Option<NameId>, &'s [u8]), Error> {
        let end = memchr::memchr(b';', stack).unwrap_or(stack.len());
        match thread_name(&stack[..end]) {
            Some(name) => {
                let rest = stack.get(end + 1..).unwrap_or_default();
                Ok((self.table.text_unless_empty(name)?, rest))
            }
            None => Ok((None, stack)),
        }
    }

    /// Interns the stack of a text.
    #[inline]
    fn stack(&mut self, text: &[u8]) -> Result<Option<StackLinkId>, Error> {
        // heaptrack_print ends every frame with `;`.
        let text = text.strip_suffix(b";").unwrap_or(text);
        let alike = common_length(&self.last, text);
        let known = self.ends.partition_point(|(end, _)| *end <= alike);
        self.ends.truncate(known);
        let (mut start, mut stack) = match self.ends.last() {
            Some((end, stack)) => (*end, Some(*stack)),
            None => (0, None),
        };
        self.last.truncate(alike);
        self.last.extend_from_slice(&text[alike..]);
        if text.is_empty() {
            return Ok(None);
        }
        loop {
            let length = memchr::memchr(b';', &text[start..]);
            let end = length.map_or(text.len(), |length| start + length);
            let frame = self.frames.frame(&text[start..end], &mut self.table)?;
            let pushed = self.table.push(stack, frame)?;
            stack = Some(pushed);
            if length.is_none() {
                return Ok(stack);
            }
            start = end + 1;
            self.ends.push((start, pushed));
        }
    }

    fn leave_out(&mut self, line: &[u8], number: u64) {
        if !line.is_empty() && !line.starts_with(b"#") {
            self.bad.add(line, number);
        }
    }
}

/// Returns the length of the common prefix of two texts.
#[inline]
fn common_length(a: &[u8], b: &[u8]) -> usize {
    const WORD: usize = 16;
    let words = a.chunks_exact(WORD).zip(b.chunks_exact(WORD));
    let words = words.take_while(|(a, b)| a == b).count() * WORD;
    let rest = a[words..].iter().zip(&b[words..]);
    words + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests;
