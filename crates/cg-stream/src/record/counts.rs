//! Event counts in records: exact integers under event names, in the order they were written.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::Name;
use super::name::SharedTexts;

/// One event count. Every `u64` that a profile can hold fits, and so do the negative counts that `cg_diff` writes.
pub type Count = i128;

/// Adds counts one by one to as many sums; what `sums` has no place for is left out.
pub fn add_counts(sums: &mut [Count], counts: &[Count]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// Adds counts one by one; `sums` becomes as long as they are.
pub fn add_counts_growing(sums: &mut Vec<Count>, counts: &[Count]) {
    sums.resize(sums.len().max(counts.len()), 0);
    add_counts(sums, counts);
}

/// A [`Count`] as a stream has it, an integer of JSON; floats, strings and numbers beyond 64 bits are refused.
#[derive(Clone, Copy)]
struct ExactInteger(Count);

// By hand: as an untagged enum of `u64` and `i64`, which serde derives, six counts take 16 % more instructions to read.
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

/// A list of event names with a value each, in the order they were written.
type ByEvent<'a, T> = Vec<(Name<'a>, T)>;

/// Reads a JSON object with a value for each event into a list of pairs, for which serde derives nothing.
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
            // Callgrind has 13 events with cache and branch simulation: one allocation serves nearly all records.
            let mut pairs = Vec::with_capacity(13);
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    deserializer.deserialize_map(EventsVisitor(PhantomData))
}

/// The same, owning the names.
fn owned<T>(pairs: ByEvent<'_, T>) -> ByEvent<'static, T> {
    let pairs = pairs.into_iter();
    pairs.map(|(name, of)| (name.into_owned(), of)).collect()
}

/// The same, the names shared and without spare capacity, to be kept.
fn shared<T>(pairs: ByEvent<'_, T>, texts: &mut SharedTexts) -> ByEvent<'static, T> {
    let mut shared = Vec::with_capacity(pairs.len());
    for (position, (name, of)) in pairs.into_iter().enumerate() {
        shared.push((texts.share_event(position, &name), of));
    }
    shared
}

/// `{"Ir":812004,"Dr":1021}`: event names with their counts. An event left out is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts<'a>(pub Vec<(Name<'a>, Count)>);

impl<'a> Counts<'a> {
    /// The count of an event; 0 where it is left out.
    pub fn get(&self, event: &str) -> Count {
        self.0
            .iter()
            .find(|(name, _)| name.as_str() == event)
            .map_or(0, |(_, count)| *count)
    }

    /// True where no event is named at all, which is how a record without costs is read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and counts in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Count)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// The counts to write for a row of a cost table: the first event always, the others where they are not 0.
    ///
    /// This is Callgrind's own habit (`events.c`: the first value is always printed) without its "trailing" rule, and
    /// keeps streams of 13 events short.
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

    /// All counts of a row, zeros too, as the `total` of a `run` record has them.
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

    /// The same counts, their events' names shared, to be kept.
    pub(super) fn shared(self, texts: &mut SharedTexts) -> Counts<'static> {
        Counts(shared(self.0, texts))
    }

    /// The same counts, owning their names.
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

/// What a diff holds for one event, call count or total: an entry per run, in the order the runs were given, `null`
/// where a run lacks the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerRun(pub Vec<Option<Count>>);

impl PerRun {
    /// The last entry less the first, both 0 where a run lacks the record.
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

/// `{"Ir":[100,150]}`: event names with an entry per run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountsPerRun<'a>(pub Vec<(Name<'a>, PerRun)>);

impl CountsPerRun<'_> {
    /// The same arrays, their events' names shared, to be kept.
    pub(super) fn shared(self, texts: &mut SharedTexts) -> CountsPerRun<'static> {
        CountsPerRun(shared(self.0, texts))
    }

    /// The entries of an event, if it is named.
    pub fn get(&self, event: &str) -> Option<&PerRun> {
        self.0
            .iter()
            .find(|(name, _)| name.as_str() == event)
            .map(|(_, entries)| entries)
    }

    /// True where no event is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same arrays, owning their names.
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

/// The `total` of a `run` record: a count an event, or in the stream of a diff an array an event.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Total {
    /// The sum of self costs of one profile.
    One(Counts<'static>),
    /// The sums of the runs compared.
    PerRun(CountsPerRun<'static>),
}

impl Default for Total {
    fn default() -> Total {
        Total::One(Counts::default())
    }
}

impl Total {
    /// The counts of a profile's total; `None` for a diff's.
    pub fn one(&self) -> Option<&Counts<'static>> {
        match self {
            Total::One(counts) => Some(counts),
            Total::PerRun(_) => None,
        }
    }

    /// The arrays of a diff's total; `None` for a profile's.
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
        // Streams of diffs have a row for each function of a program.
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
    fn a_count_that_is_no_integer_is_refused() {
        assert!(serde_json::from_str::<Counts>(r#"{"Ir":1.5}"#).is_err());
        assert!(serde_json::from_str::<Counts>(r#"{"Ir":"1"}"#).is_err());
        assert!(serde_json::from_str::<Counts>(r#"{"Ir":18446744073709551616}"#).is_err());
    }

    #[test]
    fn a_row_keeps_its_first_event_and_what_is_not_zero() {
        let events = ["Ir".to_owned(), "Dr".to_owned(), "Dw".to_owned()];
        assert_eq!(
            serde_json::to_string(&Counts::from_row(&events, [0, 0, 7])).unwrap(),
            r#"{"Ir":0,"Dw":7}"#
        );
    }

    #[test]
    fn totals_of_profiles_and_of_diffs_are_told_apart() {
        let one: Total = serde_json::from_str(r#"{"Ir":5}"#).unwrap();
        assert_eq!(one.one().unwrap().get("Ir"), 5);
        let two: Total = serde_json::from_str(r#"{"Ir":[5,null]}"#).unwrap();
        assert_eq!(two.per_run().unwrap().get("Ir").unwrap().delta(), -5);
        assert_eq!(serde_json::to_string(&two).unwrap(), r#"{"Ir":[5,null]}"#);
    }
}
