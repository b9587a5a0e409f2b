//! Event counts of records: their keys on the command line, their values in a line, and comparisons.

use std::str::FromStr;

use cg_stream::Error;
use cg_stream::fields::{Malformed, Value};
use cg_stream::percent::Percent;
use cg_stream::record::Count;

use crate::record::{Field, RecordFields};

/// The key of a count: an event, `incl.` and an event, or a field such as `calls`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CountKey {
    pub(crate) is_inclusive: bool,
    pub(crate) event: String,
}

impl FromStr for CountKey {
    type Err = String;

    fn from_str(text: &str) -> Result<CountKey, String> {
        let (is_inclusive, event) = match text.strip_prefix("incl.") {
            Some(event) => (true, event),
            None => (false, text),
        };
        if event.is_empty() {
            return Err("expected an event".to_owned());
        }
        if text == "incl" {
            return Err("expected incl.EVENT, such as incl.Ir".to_owned());
        }
        Ok(CountKey {
            is_inclusive,
            event: event.to_owned(),
        })
    }
}

impl CountKey {
    /// Finds the value in `cost` or among the fields of a record.
    fn find_self<'a>(&self, record: &mut RecordFields<'a>) -> Result<Option<Value<'a>>, Error> {
        match record.find_in(Field::Cost, &self.event)? {
            None => record.find(&self.event),
            found => Ok(found),
        }
    }

    /// Returns the count in a record; `None` if the record lacks it, which means 0.
    pub(crate) fn find(&self, record: &mut RecordFields<'_>) -> Result<Option<Count>, Error> {
        let has_cost = record.object(Field::Cost)?.is_some();
        let mut value = None;
        if !self.is_inclusive {
            value = self.find_self(record)?;
        }
        if value.is_none() && (self.is_inclusive || !has_cost) {
            value = record.find_in(Field::Incl, &self.event)?;
        }
        match value {
            None => Ok(None),
            Some(value) => read_count(value)
                .map(Some)
                .ok_or_else(|| record.unexpected("an integer", value)),
        }
    }
}

/// Writes the key as on the command line, such as `incl.Ir`.
impl std::fmt::Display for CountKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let prefix = if self.is_inclusive { "incl." } else { "" };
        write!(f, "{prefix}{}", self.event)
    }
}

/// Reads a count. For the array of a diff, returns the absolute value of last minus first; `null` counts as 0.
fn read_count(value: Value<'_>) -> Option<Count> {
    if value.elements().is_none() {
        return value.count();
    }
    ends(value).map(|(first, last)| (last - first).abs())
}

/// `EVENT=N`.
#[derive(Clone, Debug)]
pub(crate) struct Minimum {
    pub(crate) key: CountKey,
    pub(crate) least: Count,
}

impl FromStr for Minimum {
    type Err = String;

    fn from_str(text: &str) -> Result<Minimum, String> {
        let (key, least) = split(text, "EVENT=N")?;
        let least = least
            .parse::<i64>()
            .map(Count::from)
            .or_else(|_| least.parse::<u64>().map(Count::from))
            .map_err(|_| format!("expected an integer after =, found \"{least}\""))?;
        Ok(Minimum { key, least })
    }
}

/// `EVENT=P`.
#[derive(Clone, Debug)]
pub(crate) struct MinimumPercent {
    pub(crate) key: CountKey,
    pub(crate) least: Percent,
}

impl FromStr for MinimumPercent {
    type Err = String;

    fn from_str(text: &str) -> Result<MinimumPercent, String> {
        let (key, least) = split(text, "EVENT=P")?;
        Ok(MinimumPercent {
            key,
            least: least.parse()?,
        })
    }
}

/// `EVENT=N` or `EVENT=P%`: the minimum change of a figure in a diff, in either direction.
#[derive(Clone, Debug)]
pub(crate) struct MinimumChange {
    pub(crate) key: CountKey,
    least: LeastChange,
}

#[derive(Clone, Copy, Debug)]
enum LeastChange {
    Count(Count),
    /// A percentage of the old figure.
    Percent(Percent),
}

impl FromStr for MinimumChange {
    type Err = String;

    fn from_str(text: &str) -> Result<MinimumChange, String> {
        let (key, least) = split(text, "EVENT=N or EVENT=P%")?;
        let least = match least.strip_suffix('%') {
            Some(percent) => LeastChange::Percent(percent.parse()?),
            None => LeastChange::Count(least.parse::<u64>().map(Count::from).map_err(|_| {
                format!("expected a number or a percentage after =, found \"{least}\"")
            })?),
        };
        Ok(MinimumChange { key, least })
    }
}

impl MinimumChange {
    /// Returns true if a change is large enough. A change from 0 exceeds any percentage.
    pub(crate) fn is_reached(&self, OldAndNew { old, new }: OldAndNew) -> bool {
        let moved = (new - old).abs();
        match self.least {
            LeastChange::Count(least) => moved >= least,
            LeastChange::Percent(_) if moved == 0 || old == 0 => moved != 0,
            LeastChange::Percent(least) => least.is_reached(moved, old.abs()),
        }
    }
}

/// The two figures whose difference is the `delta` of a diff. A run without the record has 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OldAndNew {
    pub(crate) old: Count,
    pub(crate) new: Count,
}

impl CountKey {
    /// Returns the old and the new figure of a diff record; `None` if it lacks them, and for other records.
    pub(crate) fn find_change(
        &self,
        record: &mut RecordFields<'_>,
    ) -> Result<Option<OldAndNew>, Error> {
        let (entries, deltas) = match self.is_inclusive {
            false => (self.find_self(record)?, "delta"),
            true => (record.find_in(Field::Incl, &self.event)?, "incl_delta"),
        };
        let Some((first, last)) = entries.and_then(ends) else {
            return Ok(None);
        };
        // Changes need not be relative to the first run.
        let delta = match record.find(deltas)?.and_then(|deltas| deltas.fields()) {
            Some(deltas) => deltas
                .find(&self.event)
                .map_err(|Malformed| record.malformed())?,
            None => None,
        };
        let delta = delta
            .and_then(|delta| delta.count())
            .unwrap_or(last - first);
        Ok(Some(OldAndNew {
            old: last - delta,
            new: last,
        }))
    }
}

/// Returns the first and the last entry of an array; `null` counts as 0.
fn ends(value: Value<'_>) -> Option<(Count, Count)> {
    let mut runs = value.elements()?;
    let count = |value: Value<'_>| match value.raw() {
        b"null" => Some(0),
        _ => value.count(),
    };
    let first = count(runs.next()?.ok()?)?;
    let mut last = first;
    for value in runs {
        last = count(value.ok()?)?;
    }
    Some((first, last))
}

/// Splits a condition at the last `=`, because event names of other producers may contain one.
fn split<'a>(text: &'a str, form: &str) -> Result<(CountKey, &'a str), String> {
    let (key, value) = text
        .rsplit_once('=')
        .ok_or_else(|| format!("expected {form}"))?;
    Ok((key.parse()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::Reader;

    fn find(key: &str, line: &str) -> Option<Count> {
        let mut reader = Reader::new(line.as_bytes());
        let line = reader.next_line().unwrap().unwrap();
        let key: CountKey = key.parse().unwrap();
        key.find(&mut RecordFields::new(line).unwrap()).unwrap()
    }

    #[test]
    fn counts_are_found_in_cost_incl_and_other_fields() {
        let function = r#"{"type":"fn","fn":"f","calls":3,"cost":{"Ir":5},"incl":{"Ir":9,"Dr":1}}"#;
        assert_eq!(find("Ir", function), Some(5));
        assert_eq!(find("incl.Ir", function), Some(9));
        assert_eq!(find("calls", function), Some(3));
        assert_eq!(find("Dr", function), None);
        let call = r#"{"incl":{"Ir":7},"type":"call"}"#;
        assert_eq!(find("Ir", call), Some(7));
    }

    #[test]
    fn count_of_a_diff_is_the_size_of_its_difference() {
        let diff =
            r#"{"type":"diff","of":"fn","cost":{"Ir":[100,7,40],"Dr":[null,3]},"calls":[1,1]}"#;
        assert_eq!(find("Ir", diff), Some(60));
        assert_eq!(find("Dr", diff), Some(3));
        assert_eq!(find("calls", diff), Some(0));
    }

    #[test]
    fn change_is_relative_to_the_old_figure() {
        let check = |minimum: &str, line: &str| {
            let minimum: MinimumChange = minimum.parse().unwrap();
            let mut reader = Reader::new(line.as_bytes());
            let mut record = RecordFields::new(reader.next_line().unwrap().unwrap()).unwrap();
            let change = minimum.key.find_change(&mut record).unwrap();
            change.map(|change| minimum.is_reached(change))
        };
        let diff = r#"{"type":"diff","of":"fn","cost":{"Ir":[100,95],"Dr":[null,1]},"incl":{"Ir":[200,210]},"delta":{"Ir":-5,"Dr":1},"calls":[10,11]}"#;
        for (minimum, expect) in [
            ("Ir=5%", true),
            ("Ir=5.01%", false),
            ("Ir=5", true),
            ("Ir=6", false),
            ("Dr=1000%", true),
            ("incl.Ir=5%", true),
            ("incl.Ir=6%", false),
            ("calls=10%", true),
            ("calls=2", false),
        ] {
            assert_eq!(check(minimum, diff), Some(expect), "{minimum}");
        }
        assert_eq!(check("Bc=0", diff), None);
        assert_eq!(
            check("Ir=0", r#"{"type":"fn","fn":"f","cost":{"Ir":5}}"#),
            None
        );
        // The delta is relative to the second of three runs.
        let three = r#"{"type":"diff","of":"fn","cost":{"Ir":[100,50,51]},"delta":{"Ir":1}}"#;
        assert_eq!(check("Ir=2%", three), Some(true));
        assert_eq!(check("Ir=3%", three), Some(false));
        assert!("Ir=x%".parse::<MinimumChange>().is_err());
        assert!("Ir=-5".parse::<MinimumChange>().is_err());
    }

    #[test]
    fn minimums_split_at_the_last_equals_sign() {
        let minimum: Minimum = "incl.a=b=12".parse().unwrap();
        assert_eq!(
            (minimum.key.to_string().as_str(), minimum.least),
            ("incl.a=b", 12)
        );
        assert!("Ir".parse::<Minimum>().is_err());
        assert!("=5".parse::<Minimum>().is_err());
        assert!("Ir=x".parse::<Minimum>().is_err());
    }
}
