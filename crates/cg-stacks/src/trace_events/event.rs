//! Parsing of one event.

use std::borrow::Cow;

use cg_reader::json::{JsonText, bytes_or_empty};
use cg_reader::number::whole_u64;
use cg_reader::{Error, excerpt};
use cg_stream::record::Count;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::count::Decimal;

/// The fields of an event that are read.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct TraceEvent<'a> {
    name: Option<JsonText<'a>>,
    #[serde(rename = "ph")]
    phase: Option<JsonText<'a>>,
    pid: Option<&'a RawValue>,
    tid: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    ts: Option<&'a RawValue>,
    dur: Option<&'a RawValue>,
    pub(super) args: Option<&'a RawValue>,
}

/// The arguments of an event that are read.
#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct EventArgs<'a> {
    /// The name of a thread or process.
    pub(super) name: Option<JsonText<'a>>,
}

/// The place of a slice's function in the slice's arguments.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct PlaceArgs<'a> {
    #[serde(alias = "file", alias = "url")]
    filename: Option<JsonText<'a>>,
    #[serde(alias = "lineno")]
    line: Option<&'a RawValue>,
    detail: Option<JsonText<'a>>,
}

impl<'a> TraceEvent<'a> {
    pub(super) fn name(&self) -> &[u8] {
        bytes_or_empty(&self.name)
    }

    /// Returns the kind of the event.
    pub(super) fn phase(&self) -> &[u8] {
        bytes_or_empty(&self.phase)
    }

    /// Returns the process, a number or a name; empty if missing.
    pub(super) fn pid(&self) -> Cow<'_, [u8]> {
        unquoted(self.pid)
    }

    /// Returns the thread, a number or a name; empty if missing.
    pub(super) fn tid(&self) -> Cow<'_, [u8]> {
        unquoted(self.tid)
    }

    pub(super) fn id(&self) -> Cow<'_, [u8]> {
        unquoted(self.id)
    }

    pub(super) fn args(&self) -> Result<EventArgs<'a>, Error> {
        let Some(args) = self.args else {
            return Ok(EventArgs::default());
        };
        serde_json::from_str(args.get())
            .map_err(|error| Error::whole(format!("an event {}: {error}", excerpt(self.name()))))
    }

    /// Returns the time of the event, in ns.
    pub(super) fn begin(&self) -> Result<i64, Error> {
        nanoseconds(self.time()?).ok_or_else(|| beyond(self.ts))
    }

    /// Returns the end of a slice with a duration; its beginning if there is no duration.
    pub(super) fn end(&self) -> Result<i64, Error> {
        let begin = self.time()?;
        let Some(dur) = self.dur.filter(|dur| dur.get() != "null") else {
            return self.begin();
        };
        let duration = decimal(dur).ok_or_else(|| beyond(self.dur))?;
        let end = sum(begin, duration).and_then(nanoseconds);
        end.ok_or_else(|| beyond(self.dur))
    }

    fn time(&self) -> Result<Decimal, Error> {
        let Some(ts) = self.ts else {
            return Err(Error::whole(format!(
                "expected the time of the event {} (ts), found none",
                excerpt(self.name())
            )));
        };
        decimal(ts).ok_or_else(|| beyond(self.ts))
    }

    /// Returns true if the event is one of Clang's sums of other slices: `Total Source`, with the number of slices.
    pub(super) fn is_sum(&self) -> bool {
        let has = |words: &[u8]| {
            self.args
                .is_some_and(|args| memchr::memmem::find(args.get().as_bytes(), words).is_some())
        };
        self.name().starts_with(b"Total ") && has(b"\"count\"") && has(b"\"avg ")
    }

    /// Returns the file and line from the arguments. A file without a line is a data file, except in Clang's events for
    /// compiled sources.
    pub(super) fn place(&self) -> Option<(JsonText<'a>, Option<u64>)> {
        let text = self.args?.get();
        let may_have = |words: &[u8]| memchr::memmem::find(text.as_bytes(), words).is_some();
        let is_source = self.name() == b"Source" && may_have(b"\"detail\"");
        if !is_source && !may_have(b"\"line") {
            return None;
        }
        let args: PlaceArgs = serde_json::from_str(text).ok()?;
        if is_source {
            return Some((args.detail?, None));
        }
        let line = whole_u64(&unquoted(args.line))?;
        Some((args.filename?, Some(line)))
    }
}

/// Removes the quotation marks of a value; empty if there is no value.
pub(super) fn unquoted(value: Option<&RawValue>) -> Cow<'_, [u8]> {
    let text = value.map_or("", RawValue::get);
    match text {
        "null" => Cow::Borrowed(&[]),
        _ if text.starts_with('"') => match serde_json::from_str::<JsonText>(text) {
            Ok(text) => Cow::Owned(text.as_bytes().to_vec()),
            Err(_) => Cow::Borrowed(text.as_bytes()),
        },
        _ => Cow::Borrowed(text.as_bytes()),
    }
}

/// Parses a number, which some programs write as a string.
pub(super) fn decimal(value: &RawValue) -> Option<Decimal> {
    match value.get().as_bytes() {
        [b'"', digits @ .., b'"'] => Decimal::parse(digits),
        digits => Decimal::parse(digits),
    }
}

/// Converts µs to ns, rounded.
pub(super) fn nanoseconds(micros: Decimal) -> Option<i64> {
    let whole = match micros.decimals.checked_sub(3) {
        None => micros
            .digits
            .checked_mul(Count::pow(10, 3 - micros.decimals))?,
        Some(beyond) => {
            let unit = Count::pow(10, beyond);
            (micros.digits + unit / 2).div_euclid(unit)
        }
    };
    i64::try_from(whole).ok()
}

/// Returns the exact sum; `None` if it overflows.
fn sum(a: Decimal, b: Decimal) -> Option<Decimal> {
    let decimals = a.decimals.max(b.decimals);
    let scaled = |number: Decimal| {
        let factor = Count::pow(10, decimals - number.decimals);
        number.digits.checked_mul(factor)
    };
    Some(Decimal {
        digits: scaled(a)?.checked_add(scaled(b)?)?,
        decimals,
        is_rounded: a.is_rounded || b.is_rounded,
    })
}

pub(super) fn beyond(value: Option<&RawValue>) -> Error {
    Error::unexpected_text(
        "a time in µs that fits in 64 bits as ns",
        value.map_or("", RawValue::get).as_bytes(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_not_rounded_to_a_double() {
        let end = |ts: &str, dur: &str| {
            let text = format!(r#"{{"ts":{ts},"dur":{dur}}}"#);
            let event: TraceEvent = serde_json::from_str(&text).unwrap();
            (event.begin().ok(), event.end().ok())
        };
        for (ts, dur, expected) in [
            ("5", "7", (Some(5_000), Some(12_000))),
            ("\"5\"", "\"7.5\"", (Some(5_000), Some(12_500))),
            ("1.5e3", "null", (Some(1_500_000), Some(1_500_000))),
            // With doubles, the sum would be 1700000000123456.2 + 0.8, which is one ns more.
            (
                "1700000000123456.789",
                "0.211",
                (
                    Some(1_700_000_000_123_456_789),
                    Some(1_700_000_000_123_457_000),
                ),
            ),
            // Fractions of a ns are added before rounding.
            ("0.0004", "0.0003", (Some(0), Some(1))),
            ("-2.0005", "0", (Some(-2_000), Some(-2_000))),
            ("9223372036854775.807", "0.001", (Some(i64::MAX), None)),
            ("true", "1", (None, None)),
        ] {
            assert_eq!(end(ts, dur), expected, "{ts} + {dur}");
        }
    }
}
