//! `perf stat -x,` and `perf stat -j`: counters of the kernel and the processor.
//!
//! Fields of a line (man perf-stat, "CSV FORMAT"; `tools/perf/util/stat-display.c`):
//!
//! ```text
//! [time, | summary,] [CPU | core,n | socket,n | node,n | thread,] value,unit,event, [cgroup,] [variance%,] run time,share,
//!     metric,metric's unit
//! ```
//!
//! With `-I` and `--summary` the sums of all intervals follow. They begin with `summary`, or without that word (`-j`,
//! `--no-csv-summary`) they have no time. They are skipped.
//!
//! The value may be `<not counted>` or `<not supported>`, which differs from 0. An event's name may contain the separator.
//! The share is the percentage of time that the counter ran: if counters share hardware, the kernel scales their values.
//! Metrics (`insn per cycle`) are derived from counts and are skipped, even on separate lines. If an event is on several
//! lines (intervals, processors), its values are added up. With `per_part` each scope is a separate run.

use std::borrow::Cow;

use cg_reader::{Error, LineEvidence, Lines, Reading, excerpt};
use cg_stream::record::{CounterFacts, RunRecord};
use serde::Deserialize;

/// Fractional values are stored as integers, in millionths of their unit.
const FRACTION: u128 = 1_000_000;

/// Returns the evidence for counters of `perf stat`, before the first line.
pub fn line_evidence() -> Box<dyn LineEvidence> {
    Box::new(CounterEvidence::Nothing)
}

/// The lines up to the first counter. All must have the format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CounterEvidence {
    Nothing,
    Counter,
    Other,
}

impl LineEvidence for CounterEvidence {
    fn add(&mut self, line: &[u8]) {
        /// The maximum length of a counter's line. A line is split at each possible separator, which is slow.
        const LONGEST: usize = 1024;
        if *self != CounterEvidence::Nothing {
            return;
        }
        let line = (line.len() <= LONGEST).then_some(line);
        *self = match line.and_then(CounterLine::parse) {
            Some(CounterLine::Counter(..)) => CounterEvidence::Counter,
            Some(CounterLine::Nothing) => CounterEvidence::Nothing,
            None => CounterEvidence::Other,
        };
    }

    fn is_proven(&self) -> bool {
        *self == CounterEvidence::Counter
    }

    fn is_likely(&self) -> bool {
        self.is_proven()
    }
}

/// Reads the counters of `perf stat`: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut scopes: Vec<CounterScope> = Vec::new();
    let read = read(reading.lines, reading.options.per_part, &mut scopes);
    if scopes.is_empty() {
        read?;
        return Err(Error::whole("expected counters of perf stat, found none"));
    }
    for scope in &scopes {
        scope.warn_missing(reading);
        let totals = scope.totals()?;
        // If the input could not be read to its end, every scope may be incomplete.
        super::write(
            scope.run(reading.run("perf-stat")),
            &totals,
            read.is_ok(),
            reading.out,
        )?;
    }
    read
}

fn read(lines: &mut Lines, per_part: bool, scopes: &mut Vec<CounterScope>) -> Result<(), Error> {
    let mut is_whole = true;
    let mut has_intervals = false;
    while lines.advance().map_err(Error::Input)? {
        let line = lines.last_line();
        match CounterLine::parse(line) {
            Some(CounterLine::Counter(labels, counter)) => {
                is_whole = counter.is_whole;
                let is_interval = labels.first().is_some_and(|(key, _)| *key == INTERVAL);
                has_intervals |= is_interval;
                if has_intervals && !is_interval {
                    // A sum of the intervals.
                    continue;
                }
                let labels = if per_part { labels } else { Vec::new() };
                let position = scopes.iter().position(|scope| scope.labels == labels);
                let position = position.unwrap_or_else(|| {
                    scopes.push(CounterScope {
                        labels,
                        counters: Vec::new(),
                    });
                    scopes.len() - 1
                });
                scopes[position].add(*counter);
            }
            Some(CounterLine::Nothing) => {}
            None => {
                let found = excerpt(line);
                let number = lines.line_number();
                return Err(Error::at(
                    number,
                    format!("expected a counter of perf stat, found {found}"),
                ));
            }
        }
    }
    if !lines.ended_with_newline() && !is_whole {
        return Err(Error::at(
            lines.line_number(),
            "the line is cut short: it has no line break",
        ));
    }
    Ok(())
}

/// The label for the time of an interval.
const INTERVAL: &str = "interval";
/// The label for sums of all intervals.
const SUMMARY: &str = "summary";

/// A parsed line.
enum CounterLine {
    /// A counter with its labels.
    Counter(Labels, Box<Counter>),
    /// A comment, a blank line, or a metric without a counter.
    Nothing,
}

/// The place and the time of a count: a processor, an interval.
type Labels = Vec<(&'static str, String)>;

/// One event on one line, or on several added up.
#[derive(Clone, Debug)]
struct Counter {
    event: String,
    unit: String,
    /// The value in millionths; `None` if the event was not counted.
    value: Option<u128>,
    is_supported: bool,
    /// True if the event was not counted on some line.
    has_gap: bool,
    /// The time in which the event was counted, in nanoseconds.
    counted: f64,
    /// The time in which the event should have been counted, in nanoseconds.
    wanted: f64,
    /// True if more fields follow on the line, so that none of these can be truncated.
    is_whole: bool,
}

/// The counters of one place or time, or of all.
struct CounterScope {
    labels: Labels,
    counters: Vec<Counter>,
}

impl CounterScope {
    fn add(&mut self, counter: Counter) {
        let same =
            |known: &&mut Counter| known.event == counter.event && known.unit == counter.unit;
        let Some(known) = self.counters.iter_mut().find(same) else {
            self.counters.push(counter);
            return;
        };
        known.value = match (known.value, counter.value) {
            (Some(sum), Some(value)) => Some(sum.saturating_add(value)),
            (sum, value) => sum.or(value),
        };
        known.has_gap |= counter.has_gap;
        known.is_supported |= counter.is_supported;
        known.counted += counter.counted;
        known.wanted += counter.wanted;
    }

    fn totals(&self) -> Result<Vec<(String, u64)>, Error> {
        let mut totals = Vec::new();
        for counter in &self.counters {
            let Some(value) = counter.value else { continue };
            let count = if counter.is_in_millionths() {
                value
            } else {
                value / FRACTION
            };
            let count = u64::try_from(count).map_err(|_| {
                Error::whole(format!(
                    "the sum of {} does not fit in 64 bits",
                    counter.event
                ))
            })?;
            totals.push((counter.event.clone(), count));
        }
        Ok(totals)
    }

    fn run(&self, mut run: RunRecord) -> RunRecord {
        let labels = self.labels.iter();
        run.sampling.labels = labels
            .map(|(key, text)| ((*key).to_owned(), text.clone()))
            .collect();
        let counted = self
            .counters
            .iter()
            .filter(|counter| counter.value.is_some());
        run.sampling.units = counted
            .clone()
            .filter_map(|counter| Some((counter.event.clone(), counter.unit()?)))
            .collect();
        run.counters = CounterFacts {
            counted_share: counted
                .filter_map(|counter| Some((counter.event.clone(), counter.share()?)))
                .collect(),
            not_counted: self.events(|counter| counter.is_supported && counter.has_gap),
            not_supported: self.events(|counter| !counter.is_supported),
            ..CounterFacts::default()
        };
        run
    }

    fn events(&self, is_wanted: fn(&Counter) -> bool) -> Vec<String> {
        let counters = self.counters.iter().filter(|counter| is_wanted(counter));
        counters.map(|counter| counter.event.clone()).collect()
    }

    /// Warns about events that were not counted, or not on all lines.
    fn warn_missing(&self, reading: &mut Reading) {
        for counter in &self.counters {
            let event = &counter.event;
            if !counter.is_supported {
                reading.warn(format!("{event} is not supported by the machine"));
            } else if counter.value.is_none() {
                reading.warn(format!("{event} was not counted"));
            } else if counter.has_gap {
                reading.warn(format!("{event} was not counted on some lines"));
            }
        }
    }
}

impl Counter {
    fn new(event: &str, unit: &str, value: &str, runtime: f64, share: f64) -> Option<Counter> {
        let (value, is_supported) = match value {
            "<not counted>" | "<not_counted>" => (None, true),
            "<not supported>" | "<not_supported>" => (None, false),
            value => (Some(millionths(value)?), true),
        };
        let has_gap = value.is_none();
        let wanted = if share > 0.0 {
            runtime * 100.0 / share
        } else {
            runtime
        };
        Some(Counter {
            event: event.to_owned(),
            unit: unit.to_owned(),
            value,
            is_supported,
            has_gap,
            counted: runtime,
            wanted,
            is_whole: true,
        })
    }

    /// Returns true if the event is stored in millionths, because its unit allows fractions. This depends only on the unit,
    /// so that different files are comparable.
    fn is_in_millionths(&self) -> bool {
        !matches!(self.unit.as_str(), "" | "ns" | "bytes" | "B")
    }

    fn unit(&self) -> Option<String> {
        match self.unit.as_str() {
            "" => None,
            // A millionth of a millisecond.
            "msec" => Some("ns".to_owned()),
            unit if self.is_in_millionths() => Some(format!("0.000001 {unit}")),
            unit => Some(unit.to_owned()),
        }
    }

    /// Returns the percentage of time that the event was counted; `None` for 100 %.
    fn share(&self) -> Option<serde_json::Number> {
        let percent = (self.counted / self.wanted * 10_000.0).round() / 100.0;
        if percent >= 100.0 {
            return None;
        }
        serde_json::Number::from_f64(percent)
    }
}

impl CounterLine {
    fn parse(line: &[u8]) -> Option<CounterLine> {
        let text = std::str::from_utf8(line).ok()?.trim();
        if text.is_empty() || text.starts_with('#') {
            return Some(CounterLine::Nothing);
        }
        if text.starts_with('{') {
            return CounterLine::parse_json(text);
        }
        // `-x` accepts any separator. Tries the usual separators first.
        [",", ";", "\t", "|", ":"]
            .into_iter()
            .find_map(|separator| CounterLine::parse_fields(text, separator))
            .or_else(|| CounterLine::parse_words(text))
            .or_else(|| CounterLine::parse_other_fields(text))
    }

    /// Parses a line whose fields are separated by blanks.
    fn parse_words(text: &str) -> Option<CounterLine> {
        let text = [
            ("<not counted>", "<not_counted>"),
            ("<not supported>", "<not_supported>"),
        ]
        .iter()
        .fold(Cow::Borrowed(text), |text, (words, word)| {
            match text.contains(words) {
                true => text.replace(words, word).into(),
                false => text,
            }
        });
        CounterLine::parse_fields(&text, " ")
    }

    /// Parses a line with an unusual separator, which is the text after the first field.
    fn parse_other_fields(text: &str) -> Option<CounterLine> {
        /// The maximum length of the separator.
        const LONGEST: usize = 4;
        let belongs_to_field = |byte: &u8| byte.is_ascii_alphanumeric() || b".<>-".contains(byte);
        let first = text
            .strip_prefix("<not counted>")
            .or(text.strip_prefix("<not supported>"));
        let rest = first.unwrap_or_else(|| {
            let length = text
                .bytes()
                .take_while(|byte| belongs_to_field(byte))
                .count();
            text.get(length..).unwrap_or_default()
        });
        let longest = rest
            .bytes()
            .take(LONGEST)
            .take_while(|byte| byte.is_ascii() && !belongs_to_field(byte));
        (1..=longest.count()).find_map(|length| CounterLine::parse_fields(text, &rest[..length]))
    }

    fn parse_fields(text: &str, separator: &str) -> Option<CounterLine> {
        /// The time, the place and its number of processors precede the value.
        const MOST_BEFORE: usize = 3;
        let fields: Vec<&str> = text.split(separator).map(str::trim).collect();
        if fields.len() < 5 {
            return None;
        }
        // A further metric of the previous line.
        let metric = fields.iter().rev().take(2).all(|field| !field.is_empty());
        let preceding = fields[..fields.len() - 2].iter().enumerate();
        if metric
            && preceding
                .skip(MOST_BEFORE)
                .all(|(_, field)| field.is_empty())
            && fields.len() >= 7
        {
            return Some(CounterLine::Nothing);
        }
        (0..=MOST_BEFORE).find_map(|before| {
            let mut labels = labels(fields.get(..before)?)?;
            let [value, unit, rest @ ..] = fields.get(before..)? else {
                return None;
            };
            // Then the value is a later field.
            if unit.starts_with(|first: char| first.is_ascii_digit() || first == '<') {
                return None;
            }
            let number = |text: &str| decimal(text, separator)?.parse::<f64>().ok();
            let (event, cgroup, runtime, share, is_whole) = (1..rest.len()).find_map(|end| {
                let runtime: u64 = rest.get(end)?.parse().ok()?;
                let share = rest.get(end + 1)?;
                // A percentage has two decimals.
                let digits = share.split(['.', ',']).nth(1)?.len();
                let share = (digits == 2).then(|| number(share))??;
                let mut event = &rest[..end];
                if let [name @ .., variance] = event
                    && !name.is_empty()
                    && variance
                        .strip_suffix('%')
                        .is_some_and(|percent| number(percent).is_some())
                {
                    event = name;
                }
                let (event, cgroup) = split_cgroup(event, separator);
                let name = event.join(separator);
                let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic());
                is_name.then_some((name, cgroup, runtime, share, rest.len() > end + 2))
            })?;
            let value = decimal(value, separator)?;
            let mut counter = Counter::new(&event, unit, &value, runtime as f64, share)?;
            counter.is_whole = is_whole;
            labels.extend(cgroup.map(|cgroup| ("cgroup", cgroup.to_owned())));
            Some(CounterLine::Counter(labels, Box::new(counter)))
        })
    }

    fn parse_json(text: &str) -> Option<CounterLine> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        struct CounterFields {
            counter_value: Option<serde_json::Value>,
            #[serde(default)]
            unit: String,
            event: Option<String>,
            #[serde(default)]
            event_runtime: f64,
            #[serde(default)]
            pcnt_running: f64,
            interval: Option<f64>,
            cpu: Option<String>,
            core: Option<String>,
            cluster: Option<String>,
            cache: Option<String>,
            die: Option<String>,
            socket: Option<String>,
            node: Option<String>,
            thread: Option<String>,
            cgroup: Option<String>,
            metric_value: Option<serde_json::Value>,
        }
        let fields: CounterFields = serde_json::from_str(text).ok()?;
        let (Some(value), Some(event)) = (&fields.counter_value, &fields.event) else {
            return fields.metric_value.map(|_| CounterLine::Nothing);
        };
        let value = match value {
            serde_json::Value::String(text) => text.clone(),
            number => number.to_string(),
        };
        let counter = Counter::new(
            event,
            &fields.unit,
            &value,
            fields.event_runtime,
            fields.pcnt_running,
        )?;
        let interval = fields.interval.map(|time| format!("{time:.9}"));
        let labels = [
            (INTERVAL, interval),
            ("cpu", fields.cpu.map(|cpu| format!("CPU{cpu}"))),
            ("core", fields.core),
            ("cluster", fields.cluster),
            ("cache", fields.cache),
            ("die", fields.die),
            ("socket", fields.socket),
            ("node", fields.node),
            ("thread", fields.thread),
            ("cgroup", fields.cgroup),
        ];
        let labels = labels
            .into_iter()
            .filter_map(|(key, text)| Some((key, text?)))
            .collect();
        Some(CounterLine::Counter(labels, Box::new(counter)))
    }
}

/// Parses the fields before a value; `None` if they are not a time, a place or a number of processors.
fn labels(fields: &[&str]) -> Option<Labels> {
    let mut labels = Labels::new();
    for (position, field) in fields.iter().enumerate() {
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let numbered = |prefix: &str| field.strip_prefix(prefix).is_some_and(is_number);
        let is_time = |field: &str| {
            let digits = field.replacen(',', ".", 1);
            digits.contains('.') && digits.parse::<f64>().is_ok()
        };
        if position == 0 && (is_time(field) || *field == SUMMARY) {
            let key = if *field == SUMMARY { SUMMARY } else { INTERVAL };
            labels.push((key, (*field).to_owned()));
            continue;
        }
        let has_place = labels
            .last()
            .is_some_and(|(key, _)| !matches!(*key, INTERVAL | SUMMARY));
        if has_place {
            // The number of processors of the place.
            is_number(field).then_some(())?;
            continue;
        }
        let parts = field.split('-').count();
        let key = if numbered("CPU") {
            "cpu"
        } else if numbered("S") {
            "socket"
        } else if numbered("N") {
            "node"
        } else if field.starts_with('S') && field.contains("-L") && parts == 4 {
            "cache"
        } else if field.starts_with('S') && field.contains("-CLS") && parts == 3 {
            "cluster"
        } else if field.starts_with('S') && field.contains("-D") && parts == 3 {
            "core"
        } else if field.starts_with('S') && field.contains("-D") && parts == 2 {
            "die"
        } else if field
            .rsplit_once('-')
            .is_some_and(|(_, tid)| is_number(tid))
        {
            "thread"
        } else {
            return None;
        };
        labels.push((key, (*field).to_owned()));
    }
    Some(labels)
}

/// Splits fields into the event's name and the control group that may follow it (`-G`). The name may contain separators
/// between `/`.
fn split_cgroup<'f, 't>(
    fields: &'f [&'t str],
    separator: &str,
) -> (&'f [&'t str], Option<&'t str>) {
    let [event @ .., last] = fields else {
        return (fields, None);
    };
    let slashes: usize = event.iter().map(|field| field.matches('/').count()).sum();
    // `sched:sched_switch` and `cycles:u` contain the separator `:`.
    let is_name = separator == ":" && !last.starts_with('/');
    match event.is_empty() || slashes % 2 == 1 || is_name {
        true => (fields, None),
        false => (event, Some(last)),
    }
}

/// Replaces a decimal comma by a point. perf writes a comma in some locales; then the separator is not a comma.
fn decimal<'t>(text: &'t str, separator: &str) -> Option<Cow<'t, str>> {
    match text.bytes().filter(|byte| *byte == b',').count() {
        0 => Some(Cow::Borrowed(text)),
        1 if separator != "," => Some(Cow::Owned(text.replace(',', "."))),
        _ => None,
    }
}

/// Parses a decimal number in millionths. Drops further digits.
fn millionths(text: &str) -> Option<u128> {
    const DIGITS: usize = 6;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let whole: u128 = whole.parse::<u64>().ok()?.into();
    let mut millionths = 0;
    for digit in fraction.bytes().chain(std::iter::repeat(b'0')).take(DIGITS) {
        millionths = millionths * 10 + u128::from(digit - b'0');
    }
    Some(whole * FRACTION + millionths)
}
