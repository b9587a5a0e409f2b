//! The first line of a sample: its thread, time and event, and its frame if there is no call chain.
//!
//! perf prints the fields selected by `-F` in a fixed order (`builtin-script.c:perf_sample__fprintf_start` and
//! `process_event`):
//!
//! ```text
//! comm [pid/]tid [cpu] misc tod time: period event: addr weight … text ip symbol (object)
//! ```
//!
//! The first field may be any text, so parsing begins at an anchor: the time, or else the event, or else the address. Fields
//! without delimiters are recognised by their width: `period` has at least ten columns, an address sixteen. A tab in place of
//! blanks counts as sixteen columns, but only in lines with a time or an event, because any table can contain tabs.

use super::frame::is_instruction;

/// The fields of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SampleLine<'a> {
    /// The anchor at which parsing began.
    pub(super) anchor: Anchor,
    /// The fields before the anchor, which are parsed into a [`Task`].
    pub(super) left: &'a [u8],
    /// In nanoseconds.
    pub(super) time: Option<u64>,
    pub(super) period: Option<u64>,
    pub(super) event: Option<&'a [u8]>,
    /// The frame, if the sample has one on its line: its address, and the rest.
    pub(super) frame: Option<&'a [u8]>,
    /// The text after the time, if the record is not a sample.
    pub(super) record: Option<&'a [u8]>,
}

/// The thread of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Task<'a> {
    /// The thread's name. perf prints `:123` for a thread that has ended.
    pub(super) comm: &'a [u8],
    pub(super) pid: Option<u64>,
    pub(super) tid: Option<u64>,
}

/// The field that determines the positions of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Anchor {
    Time,
    Event,
    Address,
    #[default]
    None,
}

/// The minimum width of `period`, and of an address.
const PERIOD_WIDTH: usize = 10;
const ADDRESS_WIDTH: usize = 16;

impl<'a> SampleLine<'a> {
    pub(super) fn parse(line: &'a [u8]) -> SampleLine<'a> {
        if let Some(split) = split_at_time(line, 0) {
            let parsed = SampleLine::at_time(split);
            return match parsed.has_more_than_time() {
                true => parsed,
                false => SampleLine::at_later_time(line, split.2).unwrap_or(parsed),
            };
        }
        if let Some(record) = untimed_record(line) {
            return SampleLine {
                record: Some(record),
                ..SampleLine::default()
            };
        }
        if let Some((left, event, right)) = split_at_event(line) {
            let (left, period) = split_period(left);
            return SampleLine {
                anchor: Anchor::Event,
                left,
                period,
                event: Some(event),
                frame: wide_address(right),
                ..SampleLine::default()
            };
        }
        if let Some(frame) = wide_address(line).filter(|_| !line.contains(&b'\t')) {
            return SampleLine {
                anchor: Anchor::Address,
                left: &line[..line.len() - frame.len()],
                frame: Some(frame),
                ..SampleLine::default()
            };
        }
        SampleLine {
            left: line,
            ..SampleLine::default()
        }
    }

    fn at_time((left, time, right): (&'a [u8], u64, &'a [u8])) -> SampleLine<'a> {
        let parsed = SampleLine {
            anchor: Anchor::Time,
            left,
            time: Some(time),
            ..SampleLine::default()
        };
        parsed.with_event(right)
    }

    /// Returns true if fields follow the time.
    fn has_more_than_time(&self) -> bool {
        self.event.or(self.frame).or(self.record).is_some() || self.period.is_some()
    }

    /// Parses a line in which the thread's name contains a time.
    #[cold]
    fn at_later_time(line: &'a [u8], right: &'a [u8]) -> Option<SampleLine<'a>> {
        let split = split_at_time(line, line.len() - right.len())?;
        let parsed = SampleLine::at_time(split);
        (parsed.event.is_some() && Task::parse(parsed.left).tid.is_some()).then_some(parsed)
    }

    /// Adds the fields after the time.
    fn with_event(mut self, right: &'a [u8]) -> SampleLine<'a> {
        let text = trim_start(right);
        if text.starts_with(b"PERF_RECORD_") {
            self.record = Some(text);
            return self;
        }
        let (first, after_first) = split_token(text);
        if let Some(event) = event_name(first) {
            self.event = Some(event);
            self.frame = wide_address(after_first);
            return self;
        }
        let width = width(&right[..right.len() - after_first.len()]);
        if let Some(period) = number(first) {
            let (second, after_second) = split_token(trim_start(after_first));
            if let Some(event) = event_name(second) {
                self.period = Some(period);
                self.event = Some(event);
                self.frame = wide_address(after_second);
                return self;
            }
            // Without an event. The field is as wide as necessary, with a blank before it.
            if width > PERIOD_WIDTH
                && (width <= ADDRESS_WIDTH || after_first.trim_ascii().is_empty())
            {
                self.period = Some(period);
                self.frame = wide_address(after_first);
                return self;
            }
        }
        self.frame = wide_address(right);
        self
    }
}

impl<'a> Task<'a> {
    /// Parses the fields before the time, from the right, because the first one may contain blanks and numbers.
    pub(super) fn parse(left: &'a [u8]) -> Task<'a> {
        let mut task = Task::default();
        let mut rest = trim_end(left);
        if last_token(rest).is_some_and(is_time_of_day) {
            rest = without_last_token(without_last_token(rest));
        }
        if let Some(token) = last_token(rest)
            && is_misc(token)
            && last_token(without_last_token(rest))
                .is_some_and(|token| is_cpu(token) || is_task(token))
        {
            rest = without_last_token(rest);
        }
        if last_token(rest).is_some_and(is_cpu) {
            rest = without_last_token(rest);
        }
        if let Some(token) = last_token(rest).filter(|token| is_task(token)) {
            rest = without_last_token(rest);
            match memchr::memchr(b'/', token) {
                Some(slash) => {
                    task.pid = number(&token[..slash]);
                    task.tid = number(&token[slash + 1..]);
                }
                None => task.tid = number(token),
            }
        }
        task.comm = trim_start(rest);
        task
    }
}

/// Returns true if a line that begins with a tab is a sample with tabs in place of blanks, and not a frame.
pub(super) fn is_after_tab(line: &[u8]) -> bool {
    let [b'\t', text @ ..] = line else {
        return false;
    };
    if memchr::memchr(b'\t', text).is_none() || is_instruction(text) {
        return false;
    }
    let parsed = SampleLine::parse(line);
    match parsed.anchor {
        Anchor::Time => true,
        Anchor::Event => parsed.period.is_some() || Task::parse(parsed.left).tid.is_some(),
        Anchor::Address | Anchor::None => false,
    }
}

/// Returns a record without a time that is not a sample: `PERF_RECORD_FINISHED_ROUND`, or a record after its position in the
/// file.
fn untimed_record(line: &[u8]) -> Option<&[u8]> {
    const RECORD: &[u8] = b"PERF_RECORD_";
    let text = trim_start(line);
    if text.starts_with(RECORD) {
        return Some(text);
    }
    let at = memchr::memmem::find(text, b": PERF_RECORD_")?;
    let is_place = text[..at].contains(&b'[') && text[..at].ends_with(b"]");
    is_place.then_some(&text[at + 2..])
}

/// Splits a line at the first time after `from`: the text before it, the time, and the text after it.
#[inline]
fn split_at_time(line: &[u8], from: usize) -> Option<(&[u8], u64, &[u8])> {
    memchr::memchr_iter(b':', &line[from..]).find_map(|colon| {
        let colon = from + colon;
        if !line.get(colon + 1).is_none_or(|byte| is_blank(*byte)) {
            return None;
        }
        let fraction = digits_before(line, colon);
        let point = colon.checked_sub(fraction + 1)?;
        if !(1..=9).contains(&fraction) || line[point] != b'.' {
            return None;
        }
        let seconds = digits_before(line, point);
        let start = point - seconds;
        if seconds == 0
            || start
                .checked_sub(1)
                .is_some_and(|before| !is_blank(line[before]))
        {
            return None;
        }
        let fraction_value = number(&line[point + 1..colon])?;
        // perf prints six digits, or nine with `--ns`. Texts written by hand have fewer.
        let scale = 10u64.pow(9 - fraction as u32);
        let nanoseconds = number(&line[start..point])?
            .checked_mul(1_000_000_000)?
            .checked_add(fraction_value * scale)?;
        Some((&line[..start], nanoseconds, &line[colon + 1..]))
    })
}

/// Returns the number of digits before `end`.
#[inline]
fn digits_before(line: &[u8], end: usize) -> usize {
    line[..end]
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count()
}

/// Splits a line at its event: the text before it, the event's name, and the text after it.
///
/// A thread's name can be `io: 2`, and the text of a tracepoint can contain words such as `pid: 2`. So the event is the last
/// such word that has a thread or period before it and nothing or an address after it; or else the first one with a thread
/// or period before it.
fn split_at_event(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (mut found, mut best) = (None, 0);
    for colon in memchr::memchr_iter(b':', line) {
        if !line.get(colon + 1).is_none_or(|byte| is_blank(*byte)) {
            continue;
        }
        let start = line[..colon]
            .iter()
            .rposition(|byte| is_blank(*byte))
            .map_or(0, |blank| blank + 1);
        let Some(event) = event_name(&line[start..=colon]) else {
            continue;
        };
        let split = (&line[..start], event, &line[colon + 1..]);
        let has_fields = split_period(split.0).1.is_some() || Task::parse(split.0).tid.is_some();
        let is_last = trim_start(split.2).is_empty() || wide_address(split.2).is_some();
        let likeness = match (has_fields, is_last) {
            (true, true) => 4,
            (true, false) => 3,
            (false, true) => 2,
            (false, false) => 1,
        };
        // Prefers the last of several words at the end of the line.
        if likeness > best || likeness == best && is_last {
            (found, best) = (Some(split), likeness);
        }
    }
    found
}

/// Returns the name in `cycles:u:`.
fn event_name(token: &[u8]) -> Option<&[u8]> {
    token.strip_suffix(b":").filter(|name| !name.is_empty())
}

/// Splits off the period before an event. Its width distinguishes a period from a thread.
fn split_period(left: &[u8]) -> (&[u8], Option<u64>) {
    let text = trim_end(left);
    let digits = digits_before(text, text.len());
    let front = trim_end(&text[..text.len() - digits]);
    let width = width(&text[front.len()..]);
    match number(&text[text.len() - digits..]) {
        Some(period) if width > PERIOD_WIDTH || (front.is_empty() && width == PERIOD_WIDTH) => {
            (front, Some(period))
        }
        _ => (text, None),
    }
}

/// Returns the text from the last address in adjacent columns; `None` if there is no address.
fn wide_address(text: &[u8]) -> Option<&[u8]> {
    let mut found = None;
    let mut rest = text;
    loop {
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        let (token, after) = split_token(&rest[blanks..]);
        let columns = width(&rest[..blanks]) + token.len();
        if token.is_empty() {
            return found.map(without_branches);
        }
        let is_address = token.len() <= ADDRESS_WIDTH
            && columns >= ADDRESS_WIDTH
            && token
                .iter()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match is_address {
            true => found = Some(&rest[blanks..]),
            // The data of a memory access, `|OP LOAD|LVL L1 hit|…`: not a symbol, and more columns follow.
            false if token.starts_with(b"|") => found = None,
            false if found.is_some() => return found.map(without_branches),
            false => {}
        }
        rest = after;
    }
}

/// Removes the branches that `-F +brstack` and similar options append: `0x4005a0/0x4005b0/P/-/-/1`.
fn without_branches(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some(token) = last_token(trim_end(rest)).filter(|token| is_branch(token)) {
        let end = trim_end(rest).len() - token.len();
        rest = &rest[..end];
    }
    match rest.len() == text.len() {
        true => text,
        false => trim_end(rest),
    }
}

/// Returns true for a branch such as `from/to/P/-/-/1`: flags for predicted, in a transaction and aborted, then cycles, and
/// more fields in newer versions.
fn is_branch(token: &[u8]) -> bool {
    let parts = token.split(|byte| *byte == b'/');
    let flags = parts.skip(2).take(3);
    let is_flag = |part: &[u8]| {
        matches!(part, [b'P' | b'M' | b'X' | b'A' | b'N' | b'-', ..]) && part.len() <= 2
    };
    flags.clone().count() == 3 && flags.clone().all(is_flag)
}

/// Returns the number of columns of a text.
fn width(text: &[u8]) -> usize {
    let tabs = text.iter().filter(|byte| **byte == b'\t').count();
    text.len() + tabs * (ADDRESS_WIDTH - 1)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(*byte));
    &text[start.unwrap_or(text.len())..]
}

fn trim_end(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|byte| !is_blank(*byte));
    &text[..last.map_or(0, |last| last + 1)]
}

fn split_token(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memchr::memchr2(b' ', b'\t', text).unwrap_or(text.len()))
}

fn last_token(text: &[u8]) -> Option<&[u8]> {
    let start = text.iter().rposition(|byte| is_blank(*byte));
    let token = &text[start.map_or(0, |blank| blank + 1)..];
    (!token.is_empty()).then_some(token)
}

fn without_last_token(text: &[u8]) -> &[u8] {
    let start = text.iter().rposition(|byte| is_blank(*byte));
    trim_end(&text[..start.unwrap_or(0)])
}

fn number(text: &[u8]) -> Option<u64> {
    let is_decimal = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_decimal
        .then(|| cg_reader::number::whole_u64(text))
        .flatten()
}

/// Returns true for a CPU such as `[003]`.
fn is_cpu(token: &[u8]) -> bool {
    matches!(token, [b'[', digits @ .., b']'] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// Returns true for a thread: `5161`, `5161/5169`, or `-1` if perf does not know it.
fn is_task(token: &[u8]) -> bool {
    let is_id = |text: &[u8]| text == b"-1" || number(text).is_some();
    match memchr::memchr(b'/', token) {
        Some(slash) => is_id(&token[..slash]) && is_id(&token[slash + 1..]),
        None => is_id(token),
    }
}

/// Returns true for letters of `-F misc`: kernel, user, hypervisor, guest and so on.
fn is_misc(token: &[u8]) -> bool {
    token.len() <= 6 && token.iter().all(|byte| b"KUHGgMEDSTCF".contains(byte))
}

/// Returns true for a time such as `12:03:59.123456789`.
fn is_time_of_day(token: &[u8]) -> bool {
    matches!(token, [_, _, b':', _, _, b':', _, _, b'.', rest @ ..] if rest.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the fields of a line in order, joined by `|`; `-` for a missing field.
    fn parsed_fields(line: &str) -> String {
        let parsed = SampleLine::parse(line.as_bytes());
        let task = Task::parse(parsed.left);
        let text = |bytes: Option<&[u8]>| match bytes {
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            None => "-".to_owned(),
        };
        let number = |number: Option<u64>| number.map_or("-".to_owned(), |n| n.to_string());
        [
            text(Some(task.comm)),
            number(task.pid),
            number(task.tid),
            number(parsed.time),
            number(parsed.period),
            text(parsed.event),
            text(parsed.frame.or(parsed.record)),
        ]
        .join("|")
    }

    #[test]
    fn lines_with_any_selection_of_fields_are_parsed() {
        for (line, expected) in [
            // Written by perf 6.1.
            (
                "inl  5161  1183.805204:    1003009 cpu-clock: ",
                "inl|-|5161|1183805204000|1003009|cpu-clock|-",
            ),
            (
                "inl  5161/5169   1183.805204: cpu-clock: ",
                "inl|5161|5169|1183805204000|-|cpu-clock|-",
            ),
            (
                "bash 29738/29738  4088.521459528:    1001001 cpu-clock: ",
                "bash|29738|29738|4088521459528|1001001|cpu-clock|-",
            ),
            (
                "rustc  2079 [000]  1144.684718:    1000000 cpu-clock: ",
                "rustc|-|2079|1144684718000|1000000|cpu-clock|-",
            ),
            (
                "simple-terminat     9/9     198791.127353: cpu-clock: ",
                "simple-terminat|9|9|198791127353000|-|cpu-clock|-",
            ),
            (
                "simple-terminat    10 198792.736893:    1001001 cpu-clock:",
                "simple-terminat|-|10|198792736893000|1001001|cpu-clock|-",
            ),
            (
                "             inl  2134  1139.928054:    1003009 cpu-clock:      7f1bb330299a _dl_x+0x2a (/lib/ld.so)",
                "inl|-|2134|1139928054000|1003009|cpu-clock|7f1bb330299a _dl_x+0x2a (/lib/ld.so)",
            ),
            (
                "             inl  5487  1192.429259:    1003009   cpu-clock:  ffffffff821f5127 exc+0xd7 ([kernel.kallsyms])",
                "inl|-|5487|1192429259000|1003009|cpu-clock|ffffffff821f5127 exc+0xd7 ([kernel.kallsyms])",
            ),
            ("inl  5019  1180.253765: ", "inl|-|5019|1180253765000|-|-|-"),
            (
                " 1180.253765:    1003009 cpu-clock: ",
                "|-|-|1180253765000|1003009|cpu-clock|-",
            ),
            ("inl  5161 ", "inl|-|5161|-|-|-|-"),
            (
                "instrument   28386  2379.256448:    5050505 cpu_core/cycles/P: ",
                "instrument|-|28386|2379256448000|5050505|cpu_core/cycles/P|-",
            ),
            (
                "trace    6061 150520.991529:   16949152 task-clock:ppp: ",
                "trace|-|6061|150520991529000|16949152|task-clock:ppp|-",
            ),
            (
                "swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xff(0x1) @ 0xff]: x [k]_text",
                "swapper|-|0|0|-|-|PERF_RECORD_MMAP -1/0: [0xff(0x1) @ 0xff]: x [k]_text",
            ),
            // Threads with unusual names.
            (
                "thread 12 x  5161  1183.805204:          1 cycles: ",
                "thread 12 x|-|5161|1183805204000|1|cycles|-",
            ),
            (
                "kworker/0:1H-kb   99 [001]  1.000001:    1003009 cpu-clock: ",
                "kworker/0:1H-kb|-|99|1000001000|1003009|cpu-clock|-",
            ),
            (
                ":1234  1234  1.000001:    1003009 cpu-clock: ",
                ":1234|-|1234|1000001000|1003009|cpu-clock|-",
            ),
            (
                ":-1    -1  1.000001:    1003009 cpu-clock: ",
                ":-1|-|-|1000001000|1003009|cpu-clock|-",
            ),
            (
                "a: b     7  1.000001:    1003009 cpu-clock: ",
                "a: b|-|7|1000001000|1003009|cpu-clock|-",
            ),
            // Further fields.
            (
                "inl  5161 [001] U       1183.805204:    1003009 cpu-clock: ",
                "inl|-|5161|1183805204000|1003009|cpu-clock|-",
            ),
            (
                "inl  5161 2026-11-22 00:52:16.123456 1183.805204:    1003009 cpu-clock: ",
                "inl|-|5161|1183805204000|1003009|cpu-clock|-",
            ),
            (
                "perf  7  1.000001:          1 sched:sched_switch: prev_comm=perf prev_pid=7 ==> next_comm=x next_pid=9",
                "perf|-|7|1000001000|1|sched:sched_switch|-",
            ),
            (
                "inl  7  1.000001:          1 mem:     7ffd00000010      55d8ba1fe2e6 work+0x16 (/x)",
                "inl|-|7|1000001000|1|mem|55d8ba1fe2e6 work+0x16 (/x)",
            ),
            (
                "inl  5161  1183.805204:    1003009 ",
                "inl|-|5161|1183805204000|1003009|-|-",
            ),
            // Without a time.
            (
                "inl  5161    1003009 cpu-clock: ",
                "inl|-|5161|-|1003009|cpu-clock|-",
            ),
            ("inl  5161 cpu-clock: ", "inl|-|5161|-|-|cpu-clock|-"),
            (
                "inl    1003009 cpu-clock: ",
                "inl|-|-|-|1003009|cpu-clock|-",
            ),
            (
                "inl 12345678901234 cycles:u: ",
                "inl|-|-|-|12345678901234|cycles:u|-",
            ),
            ("   1003009 cpu-clock: ", "|-|-|-|1003009|cpu-clock|-"),
            // Names of threads and texts of tracepoints with colons.
            (
                "io: 2 31126    6666666 cpu-clock:u: ",
                "io: 2|-|31126|-|6666666|cpu-clock:u|-",
            ),
            (
                "perf 7 sched:sched_switch: prev_comm=io: 2 ==> next_pid=9",
                "perf|-|7|-|-|sched:sched_switch|-",
            ),
            // Only the address is recognisable.
            (
                "             inl  5321      55d8ba1fe2e6 work+0x16 (/x)",
                "inl|-|5321|-|-|-|55d8ba1fe2e6 work+0x16 (/x)",
            ),
            (
                "     55d8ba1fe2e6 operator new(unsigned long) (/x)",
                "|-|-|-|-|-|55d8ba1fe2e6 operator new(unsigned long) (/x)",
            ),
            (
                "             inl  5321  1187.233229:      559f1097c2e6 work (/x)",
                "inl|-|5321|1187233229000|-|-|559f1097c2e6 work (/x)",
            ),
            // simpleperf separates fields by tabs.
            (
                "sh\t1234 [000] 1.200000:\t250000 cpu-cycles:",
                "sh|-|1234|1200000000|250000|cpu-cycles|-",
            ),
        ] {
            assert_eq!(parsed_fields(line), expected, "{line}");
        }
    }
}
