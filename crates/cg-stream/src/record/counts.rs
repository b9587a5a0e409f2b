//! Event counts in records: exact integers by event name, in their order in the stream.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::Name;
use super::name::SharedTexts;

/// One event count. It holds every `u64` of a profile, and the negative counts that `cg_diff` writes.
pub type Count = i128;

/// Adds counts to sums, position by position. Ignores counts after the end of `sums`.
pub fn add_counts(sums: &mut [Count], counts: &[Count]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// Adds counts to sums, position by position. Extends `sums` to the length of `counts`.
pub fn add_counts_growing(sums: &mut Vec<Count>, counts: &[Count]) {
    sums.resize(sums.len().max(counts.len()), 0);
    add_counts(sums, counts);
}

/// A [`Count`] in a stream: a JSON integer. Floats, strings and integers of more than 64 bits are refused.
#[derive(Clone, Copy)]
struct ExactInteger(Count);

// Not derived: with a derived untagged enum of `u64` and `i64`, six counts take 16 % more instructions to read.
impl<'de> Deserialize<'de> for ExactInteger {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntegerVisitor;
        impl Visitor<'_> for IntegerVisitor {
            type Value = ExactInteger;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer of at most 64 bits")
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<ExactInteger, E> {
                Ok(ExactInteger(value.into()))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<ExactInteger, E> {
                Ok(ExactInteger(value.into()))
            }
        }
        deserializer.deserialize_any(IntegerVisitor)
    }
}

impl Serialize for ExactInteger {
    // `serde_json` writes 128-bit integers slower than 64-bit ones.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(value) = u64::try_from(self.0) {
            serializer.serialize_u64(value)
        } else if let Ok(value) = i64::try_from(self.0) {
            serializer.serialize_i64(value)
        } else {
            Err(serde::ser::Error::custom("a count does not fit in 64 bits"))
        }
    }
}

/// A list of event names with a value each, in their order in the stream.
type ByEvent<'a, T> = Vec<(Name<'a>, T)>;

/// Reads a JSON object with a value for each event into a list of pairs, which serde cannot derive.
fn by_event<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<ByEvent<'de, T>, D::Error> {
    struct EventsVisitor<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for EventsVisitor<T> {
        type Value = ByEvent<'de, T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object with a key for each event")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            // Callgrind has 13 events with cache and branch simulation, so one allocation suffices for almost all records.
            let mut pairs = Vec::with_capacity(13);
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    deserializer.deserialize_map(EventsVisitor(PhantomData))
}

/// Returns the same list with owned names.
fn owned<T>(pairs: ByEvent<'_, T>) -> ByEvent<'static, T> {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| (name.into_owned(), value))
        .collect()
}

/// Returns the same list with shared names and without spare capacity, for long storage.
fn shared<T>(pairs: ByEvent<'_, T>, texts: &mut SharedTexts) -> ByEvent<'static, T> {
    let mut shared = Vec::with_capacity(pairs.len());
    for (position, (name, value)) in pairs.into_iter().enumerate() {
        shared.push((texts.share_event(position, &name), value));
    }
    shared
}

/// Event names with their counts: `{"Ir":812004,"Dr":1021}`. The count of a missing event is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts<'a>(pub Vec<(Name<'a>, Count)>);

impl<'a> Counts<'a> {
    /// Returns the count of an event; 0 if the event is missing.
    pub fn get(&self, event: &str) -> Count {
        self.0
            .iter()
            .find(|(name, _)| name.as_str() == event)
            .map_or(0, |(_, count)| *count)
    }

    /// Returns true if there are no events. Records without costs are read like this.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an iterator over names and counts in their order in the stream.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Count)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Creates the counts to write for a row of a cost table: always the first event, the others only if they are not 0.
    ///
    /// Callgrind also always writes the first value (`events.c`), but leaves out only trailing zeros. Without zeros, streams
    /// of 13 events are short.
    pub fn from_row(events: &'a [String], row: impl IntoIterator<Item = Count>) -> Counts<'a> {
        Counts(
            events
                .iter()
                .zip(row)
                .enumerate()
                .filter(|(position, (_, count))| *position == 0 || *count != 0)
                .map(|(_, (event, count))| (Name::from(event.as_str()), count))
                .collect(),
        )
    }

    /// Creates all counts of a row, including zeros, as in the `total` of a `run` record.
    pub fn from_row_with_zeros(
        events: &'a [String],
        row: impl IntoIterator<Item = Count>,
    ) -> Counts<'a> {
        Counts(
            events
                .iter()
                .map(|event| Name::from(event.as_str()))
                .zip(row)
                .collect(),
        )
    }

    /// Returns the same counts with shared event names, for long storage.
    pub(super) fn shared(self, texts: &mut SharedTexts) -> Counts<'static> {
        Counts(shared(self.0, texts))
    }

    /// Returns the same counts with owned names.
    pub fn into_owned(self) -> Counts<'static> {
        Counts(owned(self.0))
    }
}

impl<'a, const N: usize> From<[(&'a str, Count); N]> for Counts<'a> {
    fn from(pairs: [(&'a str, Count); N]) -> Self {
        Counts(
            pairs
                .into_iter()
                .map(|(name, count)| (Name::from(name), count))
                .collect(),
        )
    }
}

impl Serialize for Counts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = self.0.iter();
        serializer.collect_map(counts.map(|(name, count)| (name, ExactInteger(*count))))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Counts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let counts = by_event(deserializer)?.into_iter();
        Ok(Counts(
            counts
                .map(|(name, ExactInteger(count))| (name, count))
                .collect(),
        ))
    }
}

/// The values of a diff for one event, call count or total: an entry per run, in the order of the runs. An entry is `null`
/// if a run does not have the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerRun(pub Vec<Option<Count>>);

impl PerRun {
    /// Returns the last entry minus the first. A missing entry counts as 0.
    pub fn delta(&self) -> Count {
        let end = |entry: Option<&Option<Count>>| entry.copied().flatten().unwrap_or(0);
        end(self.0.last()) - end(self.0.first())
    }
}

impl Serialize for PerRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|entry| entry.map(ExactInteger)))
    }
}

impl<'de> Deserialize<'de> for PerRun {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries: Vec<Option<ExactInteger>> = Deserialize::deserialize(deserializer)?;
        let counts = entries.into_iter();
        Ok(PerRun(
            counts
                .map(|entry| entry.map(|ExactInteger(count)| count))
                .collect(),
        ))
    }
}

/// Event names with an entry per run: `{"Ir":[100,150]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountsPerRun<'a>(pub Vec<(Name<'a>, PerRun)>);

impl CountsPerRun<'_> {
    /// Returns the same arrays with shared event names, for long storage.
    pub(super) fn shared(self, texts: &mut SharedTexts) -> CountsPerRun<'static> {
        CountsPerRun(shared(self.0, texts))
    }

    /// Returns the entries of an event; `None` if the event is missing.
    pub fn get(&self, event: &str) -> Option<&PerRun> {
        self.0
            .iter()
            .find(|(name, _)| name.as_str() == event)
            .map(|(_, entries)| entries)
    }

    /// Returns true if there are no events.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the same arrays with owned names.
    pub fn into_owned(self) -> CountsPerRun<'static> {
        CountsPerRun(owned(self.0))
    }
}

impl Serialize for CountsPerRun<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, entries)| (name, entries)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for CountsPerRun<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        by_event(deserializer).map(CountsPerRun)
    }
}

/// The `total` of a `run` record: a count per event, or an array per event if the stream is a diff.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Total {
    /// The sums of self cost of one profile.
    One(Counts<'static>),
    /// The sums of the compared runs.
    PerRun(CountsPerRun<'static>),
}

impl Default for Total {
    fn default() -> Total {
        Total::One(Counts::default())
    }
}

impl Total {
    /// Returns the counts of a profile's total; `None` for the total of a diff.
    pub fn one(&self) -> Option<&Counts<'static>> {
        match self {
            Total::One(counts) => Some(counts),
            Total::PerRun(_) => None,
        }
    }

    /// Returns the arrays of a diff's total; `None` for the total of a profile.
    pub fn per_run(&self) -> Option<&CountsPerRun<'static>> {
        match self {
            Total::One(_) => None,
            Total::PerRun(counts) => Some(counts),
        }
    }
}

impl<'de> Deserialize<'de> for Total {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(
            untagged,
            expecting = "expected an integer of at most 64 bits or an array of them"
        )]
        enum OneOrPerRun {
            One(ExactInteger),
            PerRun(PerRun),
        }
        let (mut one, mut per_run) = (Vec::new(), Vec::new());
        for (name, entry) in owned(by_event(deserializer)?) {
            match entry {
                OneOrPerRun::One(ExactInteger(count)) => one.push((name, count)),
                OneOrPerRun::PerRun(entries) => per_run.push((name, entries)),
            }
        }
        match (one.is_empty(), per_run.is_empty()) {
            (_, true) => Ok(Total::One(Counts(one))),
            (true, false) => Ok(Total::PerRun(CountsPerRun(per_run))),
            (false, false) => Err(D::Error::custom("a total mixes integers and arrays")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_diff_is_small() {
        // A diff has a row for each function of a program.
        assert!(size_of::<crate::record::DiffRecord>() <= 512);
    }

    #[test]
    fn counts_are_exact_over_all_of_u64() {
        let text = r#"{"Ir":18446744073709551615,"Dr":-3}"#;
        let counts: Counts = serde_json::from_str(text).unwrap();
        assert_eq!(counts.get("Ir"), u64::MAX as Count);
        assert_eq!(counts.get("Dr"), -3);
        assert_eq!(counts.get("Dw"), 0);
        assert_eq!(serde_json::to_string(&counts).unwrap(), text);
    }

    #[test]
    fn a_count_that_is_not_a_64_bit_integer_is_refused() {
        assert!(serde_json::from_str::<Counts>(r#"{"Ir":1.5}"#).is_err());
        assert!(serde_json::from_str::<Counts>(r#"{"Ir":"1"}"#).is_err());
        assert!(serde_json::from_str::<Counts>(r#"{"Ir":18446744073709551616}"#).is_err());
    }

    #[test]
    fn a_row_keeps_its_first_event_and_nonzero_counts() {
        let events = ["Ir".to_owned(), "Dr".to_owned(), "Dw".to_owned()];
        assert_eq!(
            serde_json::to_string(&Counts::from_row(&events, [0, 0, 7])).unwrap(),
            r#"{"Ir":0,"Dw":7}"#
        );
    }

    #[test]
    fn totals_of_profiles_and_of_diffs_are_distinguished() {
        let one: Total = serde_json::from_str(r#"{"Ir":5}"#).unwrap();
        assert_eq!(one.one().unwrap().get("Ir"), 5);
        let two: Total = serde_json::from_str(r#"{"Ir":[5,null]}"#).unwrap();
        assert_eq!(two.per_run().unwrap().get("Ir").unwrap().delta(), -5);
        assert_eq!(serde_json::to_string(&two).unwrap(), r#"{"Ir":[5,null]}"#);
    }
}
