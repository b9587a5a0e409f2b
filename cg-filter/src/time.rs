//! `--time`: a range of time, and the times of the samples of each run.

use std::str::FromStr;

use cg_stream::record::RunRecord;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// A range of time in nanoseconds since the first sample of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeRange {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl FromStr for TimeRange {
    type Err = String;

    /// Parses two decimal numbers of seconds with `-` between them.
    fn from_str(text: &str) -> Result<TimeRange, String> {
        let wrong = || format!("expected FROM-TO in seconds, such as 0.25-1.5, found \"{text}\"");
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let range = TimeRange {
            from: nanoseconds(from).ok_or_else(wrong)?,
            to: nanoseconds(to).ok_or_else(wrong)?,
        };
        match range.from < range.to {
            true => Ok(range),
            false => Err(format!("FROM must be less than TO, found \"{text}\"")),
        }
    }
}

/// Parses a decimal number of seconds. Digits after the ninth decimal are ignored.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let fraction = format!("{:0<9.9}", fraction);
    let whole: u64 = whole.parse().ok()?;
    whole
        .checked_mul(SECOND)?
        .checked_add(fraction.parse().ok()?)
}

/// The time of a record, and its run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunTime {
    run: usize,
    at: u64,
}

/// The times of the samples of each run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunTimes {
    runs: Vec<TimesOfRun>,
    pub(crate) records: u64,
    /// The number of records without a time.
    pub(crate) untimed: u64,
}

#[derive(Clone, Copy, Debug)]
struct TimesOfRun {
    first: u64,
    last: u64,
    has_spans: bool,
}

impl RunTimes {
    /// Begins the next run.
    pub(crate) fn begin(&mut self, run: &RunRecord) {
        self.runs.push(TimesOfRun {
            first: u64::MAX,
            last: 0,
            has_spans: run.tool.as_deref() == Some("trace-events"),
        });
    }

    /// Notes the time of a record of the current run.
    pub(crate) fn note(&mut self, at: u64) -> RunTime {
        self.records += 1;
        if self.runs.is_empty() {
            self.begin(&RunRecord::default());
        }
        let run = self.runs.len() - 1;
        let times = &mut self.runs[run];
        times.first = times.first.min(at);
        times.last = times.last.max(at);
        RunTime { run, at }
    }

    /// Returns true if a record is inside the range. The last sample is inside if the range ends there; a span is not.
    pub(crate) fn is_inside(&self, RunTime { run, at }: RunTime, range: TimeRange) -> bool {
        let times = self.runs[run];
        let since = at - times.first;
        let is_last = at == times.last && !times.has_spans;
        since >= range.from && (since < range.to || (is_last && since == range.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_numbers_of_seconds() {
        let range = |text: &str| text.parse::<TimeRange>();
        assert_eq!(
            range("0.25-1.5"),
            Ok(TimeRange {
                from: 250_000_000,
                to: 1_500_000_000
            })
        );
        assert_eq!(range("0-0.0000000019").map(|range| range.to), Ok(1));
        for wrong in [
            "",
            "-",
            "1",
            "1-",
            "-1",
            "2-1",
            "1-1",
            "a-b",
            "1e3-2e3",
            "1.-2",
            "0-99999999999999999",
        ] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_range_lacks_its_end_except_the_last_sample() {
        let mut times = RunTimes::default();
        let [first, middle, last] = [7, 8, 9].map(|at| times.note(at));
        let is_inside = |time, from, to| times.is_inside(time, TimeRange { from, to });
        assert!(is_inside(first, 0, 1) && !is_inside(middle, 0, 1));
        assert!(is_inside(middle, 1, 2) && is_inside(last, 1, 2) && !is_inside(first, 1, 2));
        assert!(is_inside(last, 2, 5));
    }
}
