//! The words and units of events for people: `cpu-clock:u` is "CPU time", and its figures are times. The sentences of a page
//! use them, and the viewer reads them from the data of the page.

use cg_document::number::{grouped, signed};
use cg_profile::Profile;
use cg_stream::record::Count;
use serde_json::{Value, json};

/// Events whose names are not words.
const WORDS: [(&str, &str); 17] = [
    ("cpu-clock", "CPU time"),
    ("task-clock", "CPU time"),
    ("cpu", "CPU time"),
    ("wall", "wall time"),
    ("page-faults", "page faults"),
    ("alloc_space", "allocated bytes"),
    ("alloc_objects", "allocated objects"),
    ("inuse_space", "bytes in use"),
    ("inuse_objects", "objects in use"),
    ("total_bytes", "allocated bytes"),
    ("total_blocks", "allocated blocks"),
    ("gmax_bytes", "bytes at the peak"),
    ("gmax_blocks", "blocks at the peak"),
    ("peak_bytes", "bytes at the peak"),
    ("end_bytes", "bytes at the end"),
    ("end_blocks", "blocks at the end"),
    ("temporary", "temporary allocations"),
];

/// The modifiers of events of perf, after a colon.
const MODIFIERS: &str = "ukhGHpPSDIWeb";

/// The units of times, with their lengths in nanoseconds.
const TIME_UNITS: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)];

/// An event as people read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EventWords {
    name: String,
    pub(super) words: String,
    /// True if the event counts nanoseconds.
    is_time: bool,
}

impl EventWords {
    /// Returns the words of all events. Two events with the same words keep their own names.
    pub(super) fn list(events: &[(String, Vec<Count>)], profile: &Profile) -> Vec<EventWords> {
        let names = events.iter().map(|(name, _)| name.as_str());
        let has_nanoseconds = |name: &str| {
            let mut units = profile.runs().iter().map(|run| &run.sampling.units);
            units.any(|units| units.get(name).is_some_and(|unit| unit == "ns"))
        };
        EventWords::with_units(names, has_nanoseconds)
    }

    fn with_units<'n>(
        names: impl Iterator<Item = &'n str>,
        has_nanoseconds: impl Fn(&str) -> bool,
    ) -> Vec<EventWords> {
        let events = names.map(|name| {
            let plain = plain(name);
            let is_time = ["cpu-clock", "task-clock"].contains(&plain) || has_nanoseconds(name);
            EventWords {
                name: name.to_owned(),
                words: words(if is_time { plain } else { name }),
                is_time,
            }
        });
        let mut events: Vec<EventWords> = events.collect();
        let shared: Vec<bool> = events
            .iter()
            .map(|event| events.iter().filter(|one| one.words == event.words).count() > 1)
            .collect();
        for (event, is_shared) in events.iter_mut().zip(shared) {
            if is_shared {
                event.words.clone_from(&event.name);
            }
        }
        events
    }

    /// Returns the event for the data of the page: its name and its totals, then the words and the unit if they are needed.
    pub(super) fn in_header(&self, totals: &[Count]) -> Value {
        let totals: Vec<String> = totals.iter().map(Count::to_string).collect();
        match (self.is_time, self.words == self.name) {
            (true, _) => json!([self.name, totals, self.words, true]),
            (false, false) => json!([self.name, totals, self.words]),
            (false, true) => json!([self.name, totals]),
        }
    }

    /// Returns a figure: `384.7 ms` or `708`. The viewer writes figures in the same form.
    pub(super) fn figure(&self, count: Count) -> String {
        if !self.is_time {
            return grouped(count);
        }
        let nanoseconds = count as f64;
        let unit = TIME_UNITS
            .into_iter()
            .find(|(_, length)| nanoseconds.abs() >= *length);
        let (unit, length) = unit.unwrap_or(TIME_UNITS[3]);
        let value = nanoseconds / length;
        let decimals = match value.abs() {
            _ if length == 1.0 => 0,
            value if value >= 100.0 => 1,
            value if value >= 10.0 => 2,
            _ => 3,
        };
        format!("{value:.decimals$} {unit}")
    }

    /// Returns a figure with its sign.
    pub(super) fn signed_figure(&self, count: Count) -> String {
        match self.is_time {
            true if count > 0 => format!("+{}", self.figure(count)),
            true => self.figure(count),
            false => signed(count),
        }
    }

    /// Returns a figure with the event: `708 Ir`, or `384.7 ms CPU time`.
    pub(super) fn amount(&self, count: Count) -> String {
        format!("{} {}", self.figure(count), self.words)
    }

    /// Replaces the name of the event, its totals and their difference in a sentence of a report.
    pub(super) fn in_words(&self, sentence: &str, totals: &[Count]) -> String {
        let mut known = vec![(self.name.clone(), self.words.clone())];
        known.extend(
            totals
                .iter()
                .map(|total| (grouped(*total), self.figure(*total))),
        );
        if let [first, .., last] = totals {
            let delta = last - first;
            known.push((signed(delta), self.signed_figure(delta)));
        }
        let word = |word: &str| {
            let bare = word.trim_matches(['(', ')', ',']);
            let found = known.iter().find(|(name, _)| name == bare);
            found.map_or_else(|| word.to_owned(), |(_, new)| word.replace(bare, new))
        };
        let sentence: Vec<String> = sentence.split(' ').map(word).collect();
        sentence.join(" ")
    }
}

/// Returns the name of an event without the modifiers of perf.
fn plain(name: &str) -> &str {
    match name.split_once(':') {
        Some((plain, end)) if !end.is_empty() && end.chars().all(|one| MODIFIERS.contains(one)) => {
            plain
        }
        _ => name,
    }
}

/// Returns the words of an event. Names of lower-case words joined by `_` become these words; other names stay.
fn words(name: &str) -> String {
    if let Some((_, words)) = WORDS.iter().find(|(known, _)| *known == plain(name)) {
        return (*words).to_owned();
    }
    let is_word = |part: &str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    match name.split('_').all(is_word) {
        true => name.replace('_', " "),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(names: &[&str]) -> Vec<EventWords> {
        EventWords::with_units(names.iter().copied(), |name| name == "samples_time")
    }

    fn words_of(names: &[&str]) -> Vec<String> {
        events(names).into_iter().map(|event| event.words).collect()
    }

    #[test]
    fn clocks_are_times_in_words() {
        let names = ["cpu-clock:u", "page-faults:u", "Ir", "allocated_bytes"];
        let words = ["CPU time", "page faults", "Ir", "allocated bytes"];
        assert_eq!(words_of(&names), words);
        // Words of two events would be ambiguous.
        let names = ["cpu-clock:u", "cpu-clock:k"];
        assert_eq!(words_of(&names), names);
        // A counter of the kernel keeps the name that `perf list` has.
        let names = ["syscalls:sys_enter_read", "L1-dcache-loads", "D1mr"];
        assert_eq!(words_of(&names), names);
    }

    #[test]
    fn figures_of_times_have_a_unit() {
        let [clock, count, time] = events(&["task-clock", "Ir", "samples_time"])
            .try_into()
            .expect("three events");
        assert_eq!(clock.figure(1_500_000_000), "1.500 s");
        assert_eq!(clock.figure(999), "999 ns");
        assert_eq!(clock.signed_figure(-15_015_015), "-15.02 ms");
        assert_eq!(clock.amount(384_700_000), "384.7 ms CPU time");
        assert_eq!(time.amount(2500), "2.500 µs samples time");
        assert_eq!(count.amount(1500), "1,500 Ir");
        assert_eq!(count.signed_figure(1500), "+1,500");
    }

    #[test]
    fn sentences_have_words_and_units() {
        let [clock, bytes] = events(&["cpu-clock:u", "total_bytes"])
            .try_into()
            .expect("two events");
        let sentence = "within limits: cpu-clock:u +50.00% (1,000,000 → 1,500,000, +500,000)";
        let expected = "within limits: CPU time +50.00% (1.000 ms → 1.500 ms, +500.0 µs)";
        let totals = [1_000_000, 1_500_000];
        assert_eq!(clock.in_words(sentence, &totals), expected);
        let sentence = "total_bytes unchanged at 1,000";
        let expected = "allocated bytes unchanged at 1,000";
        assert_eq!(bytes.in_words(sentence, &[1000, 1000]), expected);
    }
}
