//! The output of `perf script`, from a recording of Linux' perf. `perf.data` itself contains neither symbols nor inlined
//! functions.
//!
//! ```text
//! text    := ("#" comment "\n" | sample | record)*
//! sample  := line "\n" (frame "\n" ["  " place "\n"])* "\n"     recorded with call chains (`-g`)
//!          | line frame "\n" ["  " place "\n"]                  without
//! frame   := "\t" address " " symbol ["+0x" offset] [" (" object ")"]        innermost first
//! place   := file ":" number [" (inlined)"]                     with `-F +srcline`
//! frame   := blanks address "\t" symbol [" (" object ")"]       by simpleperf's report_sample.py
//! record  := line "PERF_RECORD_" … "\n"                         with `--show-mmap-events` and similar options
//! ```
//!
//! A `line` has the fields that `-F` selects, see `sample_line`; with `-F ip,sym` it is empty. A tab separates fields as
//! blanks do. Every sample is kept, even without frames. A sample costs one sample, and the period of its event: the number
//! of events since the previous sample.
//! If perf printed no periods, the event counts samples.
//!
//! perf has demangled its symbols, except in manglings that it does not support.

mod chain;
mod cut;
mod frame;
mod header;
mod json;
mod recent_lines;
mod recognise;
mod recording;
mod sample_line;
mod threads;
mod times;

use cg_reader::number::leading_u64;
use cg_reader::{Error, Lines, Options, Reading, plural};
use cg_stream::record::RunRecord;

use self::chain::PerfChain;
use self::cut::PrintedParts;
use self::frame::{FoundFrame, PerfFrames, is_instruction};
pub use self::header::set_run_field;
pub use self::json::{is_json, parse_json};
use self::recent_lines::RecentLines;
pub use self::recognise::line_evidence;
use self::recognise::{LOOK, has_times};
pub use self::recording::{Recording, SAMPLES, SampledEvent};
use self::sample_line::{Anchor, SampleLine, Task};
use self::threads::{PerfThread, Threads};
use self::times::SampleTimes;
use super::table::{StackKey, StackTable};
use super::unread::UnreadLines;

/// Reads what `perf script` prints: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut script = PerfScript::new(reading.run("perf"), reading.options);
    let read = script.read(reading.lines);
    script.warn(reading);
    let PerfScript {
        run,
        table,
        events,
        threads,
        times,
        ..
    } = script;
    let recording = Recording {
        threads: threads.names(&table),
        run,
        table,
        events,
        duration: times.duration(),
        begin: times.earliest(),
    };
    recording.write(read, reading.out)
}

/// The state of reading a text.
struct PerfScript {
    run: RunRecord,
    /// Its first event is `samples`.
    table: StackTable,
    /// The table's events after `samples`.
    events: Vec<SampledEvent>,
    texts: PerfFrames,
    lines: RecentLines<FoundFrame>,
    chain: PerfChain,
    threads: Threads,
    times: SampleTimes,
    keeps_times: bool,
    /// The anchor of sample lines; `None` until one was read.
    anchor: Option<Anchor>,
    open: Option<OpenSample>,
    /// The parts that all frames have. For samples on one line, the parts that all lines have.
    parts: PrintedParts,
    /// True if the text ends in the middle of a sample.
    is_cut: bool,
    /// True once a call chain was read.
    has_chains: bool,
    /// True if a tab follows the time of the last sample, so tabs are in the place of blanks.
    has_tabs: bool,
    line_number: u64,
    /// Lines that are not samples, although one should begin there.
    bad: UnreadLines,
    /// Lines inside a sample that are not frames.
    odd: UnreadLines,
    /// The number of frames that have the name of their inliner.
    misnamed: u64,
    /// The number of lost samples, according to perf.
    lost: u64,
}

/// A sample whose frames are being read.
struct OpenSample {
    thread: PerfThread,
    event: Option<usize>,
    period: Option<u64>,
    time: Option<u64>,
    /// True if its only frame is on the sample line. Reset if frames follow.
    is_flat: bool,
    /// True if only following frames can prove that the line begins a sample.
    needs_frames: bool,
}

impl PerfScript {
    fn new(run: RunRecord, options: &Options) -> PerfScript {
        PerfScript {
            run,
            table: StackTable::new([SAMPLES]),
            events: Vec::new(),
            texts: PerfFrames::new(options.demangle),
            lines: RecentLines::new(),
            chain: PerfChain::default(),
            threads: Threads::new(),
            times: SampleTimes::default(),
            keeps_times: options.times,
            anchor: None,
            open: None,
            has_chains: false,
            has_tabs: false,
            line_number: 0,
            bad: UnreadLines::default(),
            odd: UnreadLines::default(),
            misnamed: 0,
            lost: 0,
            parts: PrintedParts::ALL,
            is_cut: false,
        }
    }

    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        if has_times(lines.peek(LOOK).map_err(Error::Input)?) {
            self.anchor = Some(Anchor::Time);
        }
        while let Some(block) = lines.next_lines().map_err(Error::Input)? {
            let mut rest = block;
            while !rest.is_empty() {
                self.line_number += 1;
                if let Some((length, found)) = self.lines.find(rest) {
                    self.add_frame(found);
                    rest = &rest[length..];
                    continue;
                }
                let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                let (line, after) = rest.split_at(length);
                rest = after;
                self.line(line)?;
            }
        }
        match self.open.take() {
            // A sample with its frame on its line is whole, and the next one is cut.
            Some(open) if self.is_cut && !open.is_flat => {}
            Some(open) if open.needs_frames && self.chain.is_empty() => {}
            Some(open) => self.finish(open)?,
            None => {}
        }
        std::mem::take(&mut self.bad).refuse("a sample of perf script")?;
        match self.is_cut {
            true => Err(Error::at(
                self.line_number,
                "the input is cut short in the middle of a sample, which is omitted",
            )),
            false => Ok(()),
        }
    }

    /// Reads a line, given with its line break, which the last line may lack.
    #[inline]
    fn line(&mut self, whole: &[u8]) -> Result<(), Error> {
        let line = whole.strip_suffix(b"\n").unwrap_or(whole);
        self.is_cut = line.len() == whole.len() && self.ends_inside(line);
        if self.is_cut {
            return Ok(());
        }
        match line.strip_suffix(b"\r").unwrap_or(line) {
            line @ [b'\t', ..] if sample_line::is_after_tab(line) => self.line_after_blank(line),
            [b'\t', text @ ..] => {
                let mut found = self.texts.frame(text, &mut self.table)?;
                if found.is_none()
                    && self.has_tabs
                    && let Some(frame) = frame::with_blank(text)
                {
                    found = self.texts.frame(&frame, &mut self.table)?;
                }
                self.add_frame_line(text, found)?;
                self.parts = self.parts.and(PrintedParts::from_line(text));
                if let Some(found) = found.filter(|_| whole.ends_with(b"\n")) {
                    self.lines.remember(whole, found);
                }
                Ok(())
            }
            [] => self.blank(),
            line @ [b' ', ..] => self.line_after_blank(line),
            line @ [b'#', ..] => self.comment(line),
            line => self.sample_line(line, SampleLine::parse(line)),
        }
    }

    /// Returns true if a line without its line break is also incomplete: a frame lacks parts that all others have, or a
    /// sample lacks its frames.
    fn ends_inside(&self, line: &[u8]) -> bool {
        match line {
            [b'\t', frame @ ..] if !sample_line::is_after_tab(line) => {
                self.has_chains && !PrintedParts::from_line(frame).have(self.parts)
            }
            [b' ', ..] if self.is_in_chain() && frame::split_address(line).is_some() => {
                self.has_chains && !PrintedParts::from_line(line).have(self.parts)
            }
            [] => false,
            [b'#', ..] => false,
            line if self.has_chains => {
                self.open.is_none() && SampleLine::parse(line).record.is_none()
            }
            line => {
                SampleLine::parse(line).frame.is_some()
                    && !PrintedParts::from_line(line).have(self.parts)
            }
        }
    }

    /// Returns true after the line of a sample whose frames are on lines of their own.
    fn is_in_chain(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.is_flat)
    }

    /// Adds the frame of a line without its leading blanks, or the source line of the last frame. Counts the line if it
    /// should be a frame and is not.
    #[inline]
    fn add_frame_line(&mut self, line: &[u8], found: Option<FoundFrame>) -> Result<(), Error> {
        match found {
            Some(found) => self.add_frame(found),
            None if !self.chain.is_empty() && frame::is_source_line(line) => {
                self.chain.source_line(line, &mut self.table)?;
            }
            None if self.open.is_some() && !is_instruction(line) => {
                self.odd.add(line, self.line_number);
            }
            None => {}
        }
        Ok(())
    }

    /// Adds the next outer frame.
    #[inline]
    fn add_frame(&mut self, found: FoundFrame) {
        let open = self.open.get_or_insert(OpenSample::NAMELESS);
        if open.is_flat {
            // The apparent frame on the sample line is another field.
            open.is_flat = false;
            self.chain.clear();
        }
        open.needs_frames = false;
        self.has_chains = true;
        self.chain.push(found, &self.texts);
    }

    /// Ends a sample. If perf printed only the frames of samples, a blank line also begins one.
    fn blank(&mut self) -> Result<(), Error> {
        match self.open.take() {
            Some(open) => {
                if open.is_flat && self.has_chains {
                    self.chain.clear();
                }
                self.finish(open)
            }
            None if self.anchor.is_none() => {
                self.open = Some(OpenSample::NAMELESS);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Reads a sample of a thread with a short name, the source line of a frame, or a frame whose tab became blanks.
    fn line_after_blank(&mut self, line: &[u8]) -> Result<(), Error> {
        let is_place = matches!(line, [b' ', b' ', byte, ..] if *byte != b' ');
        let is_in_chain = self.is_in_chain();
        if is_place && is_in_chain && !self.chain.is_empty() {
            return Ok(self.chain.source_line(line, &mut self.table)?);
        }
        let parsed = SampleLine::parse(line);
        if self.anchor.is_none_or(|anchor| anchor == parsed.anchor) && !is_in_chain {
            return self.sample_line(line, parsed);
        }
        if is_place && !self.chain.is_empty() {
            return Ok(self.chain.source_line(line, &mut self.table)?);
        }
        let is_sample = matches!(parsed.anchor, Anchor::Time | Anchor::Event)
            && self.anchor == Some(parsed.anchor);
        match frame::split_address(line) {
            Some((_, text)) if is_in_chain && !is_sample && !text.is_empty() => {
                let found = self.texts.frame(line, &mut self.table)?;
                self.parts = self.parts.and(PrintedParts::from_line(line));
                self.add_frame_line(line, found)
            }
            _ => self.sample_line(line, parsed),
        }
    }

    fn comment(&mut self, line: &[u8]) -> Result<(), Error> {
        // A thread's name can begin with `#`.
        let parsed = SampleLine::parse(line);
        if parsed.anchor == Anchor::Time && Task::parse(parsed.left).tid.is_some() {
            return self.sample_line(line, parsed);
        }
        header::read_line(line, &mut self.run);
        Ok(())
    }

    fn sample_line(&mut self, line: &[u8], parsed: SampleLine) -> Result<(), Error> {
        if parsed.anchor == Anchor::None && parsed.record.is_some() {
            // No blank line follows, and the record does not end an open sample.
            return Ok(());
        }
        let needs_frames = parsed.anchor == Anchor::None && Task::parse(parsed.left).tid.is_none();
        if needs_frames
            && let Some(open) = self.open.as_ref()
            && !open.needs_frames
        {
            self.odd.add(line, self.line_number);
            return Ok(());
        }
        let has_same_anchor = match self.anchor {
            Some(anchor @ (Anchor::Time | Anchor::Event)) => parsed.anchor == anchor,
            _ => true,
        };
        if !has_same_anchor {
            let left_out = match self.open {
                Some(_) => &mut self.odd,
                None => &mut self.bad,
            };
            left_out.add(line, self.line_number);
            return Ok(());
        }
        if let Some(open) = self.open.take() {
            self.finish_or_discard(open)?;
        }
        if let Some(time) = parsed.time {
            self.times.add(time, parsed.record.is_none());
            let after = memchr::memchr(b':', &line[parsed.left.len()..]);
            let after = after.map(|colon| &line[parsed.left.len() + colon + 1..]);
            self.has_tabs = after.is_some_and(|after| after.starts_with(b"\t"));
        } else {
            self.has_tabs = line.contains(&b'\t');
        }
        if let Some(record) = parsed.record {
            self.lost += lost(record);
            return Ok(());
        }
        if needs_frames {
            self.anchor.get_or_insert(Anchor::None);
        } else {
            self.anchor = self.anchor.or(Some(parsed.anchor));
        }
        let thread = self
            .threads
            .find(parsed.left, parsed.time, &mut self.table)?;
        let event = match (parsed.event, parsed.period) {
            (Some(name), _) => Some(self.event(name)),
            (None, Some(_)) => Some(self.event(b"period")),
            (None, None) => None,
        };
        if let Some(frame) = parsed.frame
            && let Some(found) = self.texts.frame(frame, &mut self.table)?
        {
            self.chain.push(found, &self.texts);
            self.parts = self.parts.and(PrintedParts::from_line(line));
        }
        self.open = Some(OpenSample {
            thread,
            event,
            period: parsed.period,
            time: parsed.time.filter(|_| self.keeps_times),
            is_flat: !self.chain.is_empty(),
            needs_frames,
        });
        Ok(())
    }

    /// Returns the position of an event in `events`, where a new event is added.
    #[inline]
    fn event(&mut self, name: &[u8]) -> usize {
        let known = |event: &SampledEvent| event.name.as_bytes() == name;
        if let Some(position) = self.events.iter().position(known) {
            return position;
        }
        let event = SampledEvent::new(name);
        // A name that is not UTF-8 is stored in escaped form.
        let known = |known: &SampledEvent| known.name == event.name;
        if let Some(position) = self.events.iter().position(known) {
            return position;
        }
        self.table.event(&event.name);
        self.events.push(event);
        self.events.len() - 1
    }

    /// Ends a sample without a blank line after it.
    fn finish_or_discard(&mut self, open: OpenSample) -> Result<(), Error> {
        if open.needs_frames && self.chain.is_empty() {
            return Ok(());
        }
        self.finish(open)
    }

    #[inline]
    fn finish(&mut self, open: OpenSample) -> Result<(), Error> {
        let chain = self.chain.finish(&mut self.table)?;
        self.misnamed += chain.misnamed;
        let stack = self.table.stack(chain.frames)?;
        let row = self.table.row(StackKey {
            stack,
            thread: open.thread.name,
            tid: open.thread.tid,
            pid: open.thread.pid,
            cut: chain.is_cut,
            time: open.time,
            ..StackKey::default()
        })?;
        self.chain.clear();
        self.table.add(row, 0, 1);
        if let Some(event) = open.event {
            self.events[event].samples += 1;
            self.events[event].has_period |= open.period.is_some();
            let cost = open.period.unwrap_or(1);
            self.table.add(row, event + 1, cost.into());
        }
        Ok(())
    }

    /// Warns about skipped lines, misnamed frames and lost samples.
    fn warn(&self, reading: &mut Reading) {
        (self.odd).warn("inside a sample, but not a frame", reading);
        reading.warn_count(
            self.misnamed,
            "innermost inlined frame has the name of its inliner, because perf used binutils' addr2line; use perf record and perf script built with libdw, or perf script --no-inline",
            "innermost inlined frames have the name of their inliner, because perf used binutils' addr2line; use perf record and perf script built with libdw, or perf script --no-inline",
        );
        if self.lost > 0 {
            reading.warn(format!(
                "perf lost {} while it recorded",
                plural(
                    self.lost,
                    "sample or other record",
                    "samples or other records"
                )
            ));
        }
    }
}

impl OpenSample {
    /// A sample of which perf printed only the frames.
    const NAMELESS: OpenSample = OpenSample {
        thread: PerfThread::NONE,
        event: None,
        period: None,
        time: None,
        is_flat: false,
        needs_frames: true,
    };
}

/// Returns the number of lost samples in a record such as `PERF_RECORD_LOST lost 24`; 0 for other records.
fn lost(record: &[u8]) -> u64 {
    let number = || {
        let rest = record.strip_prefix(b"PERF_RECORD_LOST")?;
        let lost = memchr::memmem::find(rest, b"lost ")?;
        leading_u64(&rest[lost + 5..]).map(|(number, _)| number)
    };
    number().unwrap_or(0)
}

#[cfg(test)]
mod tests;
