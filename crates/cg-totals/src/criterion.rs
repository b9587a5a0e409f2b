//! `estimates.json` of Criterion: the statistics of one benchmark, as `target/criterion/ID/new/` has them.
//!
//! The total is the mean time of an iteration, with its confidence interval. Times are stored in thousandths of a nanosecond.

use std::collections::BTreeMap;

use cg_reader::{Error, Head, Reading};
use serde::Deserialize;

/// The event: the time of an iteration.
const EVENT: &str = "ns";

/// The parts of a nanosecond in which times are counted.
const PARTS: f64 = 1000.0;

#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    confidence_interval: Interval,
    point_estimate: f64,
}

#[derive(Deserialize)]
struct Interval {
    confidence_level: f64,
    lower_bound: f64,
    upper_bound: f64,
}

/// Returns true if an input begins like Criterion's estimates. The estimates of a change, which have the same form, are in a
/// folder without `benchmark.json`.
pub fn is_estimates(head: &Head) -> bool {
    let mut words = head.bytes.split(|byte| *byte == b'"');
    let start = words.next().map(<[u8]>::trim_ascii);
    let is_punctuation = |byte: &u8| b":{".contains(byte) || byte.is_ascii_whitespace();
    let mut words = words.filter(|word| !word.iter().all(is_punctuation));
    start == Some(b"{")
        && words.next() == Some(b"mean")
        && words.next() == Some(b"confidence_interval")
}

/// Reads the estimates of a benchmark: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let estimates: Estimates = serde_json::from_slice(&text)
        .map_err(|error| Error::at(error.line() as u64, error.to_string()))?;
    let mean = estimates.mean;
    let interval = mean.confidence_interval;
    let [time, low, high] = [
        mean.point_estimate,
        interval.lower_bound,
        interval.upper_bound,
    ]
    .map(in_parts);
    let (Some(time), Some(low), Some(high)) = (time, low, high) else {
        return Err(Error::whole(
            "expected times of at least 0 ns that fit in 64 bits, found another number",
        ));
    };
    let mut run = reading.run("criterion");
    run.sampling.units = BTreeMap::from([(EVENT.to_owned(), "0.001 ns".to_owned())]);
    run.counters.interval = BTreeMap::from([(EVENT.to_owned(), (low, high))]);
    run.counters.confidence = serde_json::Number::from_f64(interval.confidence_level);
    super::write(run, &[(EVENT.to_owned(), time)], true, reading.out)
}

/// Converts nanoseconds to thousandths.
fn in_parts(time: f64) -> Option<u64> {
    let parts = (time * PARTS).round();
    // The cast is exact below 2^53, which is a hundred days.
    let fits = (0.0..9_007_199_254_740_992.0).contains(&parts);
    fits.then_some(parts as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESTIMATES: &str = r#"{"mean":{"confidence_interval":{"confidence_level":0.95,"lower_bound":51.25,"upper_bound":67.5},"point_estimate":58.0004,"standard_error":4.1},"median":{}}"#;

    #[test]
    fn mean_and_its_interval_are_read_in_thousandths_of_a_nanosecond() {
        let parsed = parsed::read(parse, ESTIMATES.as_bytes(), &cg_reader::Options::default());
        let runs = parsed.records_of_type("run");
        let [run] = runs.as_slice() else {
            panic!("{runs:?}")
        };
        assert!(run.contains(r#""total":{"ns":58000}"#), "{run}");
        assert!(run.contains(r#""interval":{"ns":[51250,67500]}"#), "{run}");
        assert!(run.contains(r#""confidence":0.95"#), "{run}");
    }

    #[test]
    fn estimates_are_recognised_with_and_without_blanks() {
        let is = |text: &str| is_estimates(&Head::new(text.as_bytes(), true));
        assert!(is(ESTIMATES));
        assert!(is("{\n  \"mean\": {\n    \"confidence_interval\": {\n"));
        assert!(!is(r#"{"median":{"confidence_interval":{}}}"#));
        assert!(!is(r#"[{"mean":{"confidence_interval":{}}}]"#));
    }
}
