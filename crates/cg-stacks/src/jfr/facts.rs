//! Facts about a recording: the JVM, the sampling interval, the time.

use cg_stream::record::{Name, RunRecord};

use super::ChunkHeader;
use super::metadata::{JfrTypes, Taken};
use super::pools::JfrPools;
use crate::rate::samples_a_second;

#[derive(Default)]
pub(super) struct RecordingFacts {
    jvm: Option<String>,
    command: Option<String>,
    arguments: Option<String>,
    pid: Option<u64>,
    /// The sampling interval, as configured for the recorder.
    interval: Option<String>,
    start: Option<u64>,
    duration: u64,
}

/// The events to read, with their fields. In a setting, `id` is the type of the event that the setting applies to.
const WANTED: [(&[u8], &[&str]); 2] = [
    (
        b"jdk.JVMInformation",
        &["jvmVersion", "javaArguments", "jvmArguments", "pid"],
    ),
    (b"jdk.ActiveSetting", &["id", "name", "value"]),
];

impl RecordingFacts {
    /// Returns the event's name and the fields to read; `None` if the event is not needed.
    pub(super) fn wanted(name: &[u8]) -> Option<(&'static [u8], &'static [&'static str])> {
        WANTED.iter().find(|(known, _)| *known == name).copied()
    }

    pub(super) fn read(&mut self, name: &[u8], taken: &Taken, pools: &JfrPools, types: &JfrTypes) {
        let text = |slot: usize| {
            let text = taken.texts[slot].as_ref()?;
            let text = Name::from_bytes(pools.text(text)).into_string();
            (!text.is_empty()).then_some(text)
        };
        if name == WANTED[0].0 {
            // "… (17.0.15+6) for linux-amd64 JRE …, built on …"
            let jvm = text(0).map(|jvm| jvm.split(" for ").next().unwrap_or_default().to_owned());
            self.jvm = jvm.or(self.jvm.take());
            self.command = text(1).or(self.command.take());
            self.arguments = text(2).or(self.arguments.take());
            self.pid = Some(taken.numbers[3]).filter(|pid| *pid != 0);
        } else if types.name(taken.numbers[0]) == Some(b"jdk.ExecutionSample")
            && matches!(text(1).as_deref(), Some("period" | "interval"))
        {
            self.interval = text(2);
        }
    }

    pub(super) fn add_times(&mut self, header: &ChunkHeader) {
        self.start = Some(
            self.start
                .map_or(header.start, |start| start.min(header.start)),
        );
        self.duration = self.duration.saturating_add(header.duration);
    }

    pub(super) fn describe(&self, run: &mut RunRecord) {
        run.creator.clone_from(&self.jvm);
        run.command.clone_from(&self.command);
        run.pid = self.pid;
        let facts = &mut run.sampling;
        facts.duration = Some(self.duration).filter(|duration| *duration > 0);
        let interval = self.interval.as_deref().and_then(nanoseconds);
        facts.sample_rate = interval.and_then(|interval| samples_a_second(1e9 / interval));
        let labels = &mut facts.labels;
        let arguments = self.arguments.as_ref();
        labels.extend(arguments.map(|text| ("jvm_arguments".to_owned(), text.clone())));
        labels.extend(
            self.start
                .map(|start| ("start".to_owned(), time_of_day(start))),
        );
    }
}

/// Parses an interval from a setting: `10 ms`, or async-profiler's number of nanoseconds.
fn nanoseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, "ns"));
    let unit = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? as f64 * unit)
}

/// Formats nanoseconds since 1970 as `2026-11-22T16:05:50Z`.
fn time_of_day(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    // Days are counted from March 1st of the year 0, so a leap day is the last day of its year. 146,097 days are 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, is_next_year) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year + is_next_year;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_as_calendar_dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_704_067_199, "2023-12-31T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(time_of_day(seconds * 1_000_000_000), expected);
        }
    }

    #[test]
    fn intervals_are_parsed_with_and_without_units() {
        for (text, expected) in [
            ("10 ms", Some(1e7)),
            ("10000000", Some(1e7)),
            ("1 s", Some(1e9)),
            ("everyChunk", None),
        ] {
            assert_eq!(nanoseconds(text), expected, "{text}");
        }
    }
}
