//! Header lines: `key: value`, before the costs of each part.

use cg_costs::section::RunFacts;
use cg_reader::excerpt;

/// Splits a header line into key and value; `None` for other lines.
pub(crate) fn key_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    let (key, value) = (&line[..colon], &line[colon + 1..]);
    let is_key = !key.is_empty()
        && key
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b" _-()".contains(byte));
    is_key.then(|| (key, value.trim_ascii()))
}

/// Parses the names in an `events:` line. A name can have any characters except blanks: `Time_(10ns)`, `cpu(ms)`.
pub(crate) fn event_names(value: &[u8]) -> Result<Vec<String>, String> {
    let names: Vec<String> = value
        .split(u8::is_ascii_whitespace)
        .filter(|name| !name.is_empty())
        .map(text)
        .collect();
    if names.is_empty() {
        return Err("expected event names after events:, found none".to_owned());
    }
    Ok(names)
}

/// Parses the numbers of a `summary:` or `totals:` line. There is at most one number per event, of at most 64 bits.
///
/// Callgrind's own summary can underflow. It is then a number close to 2^64.
pub(crate) fn sums(value: &[u8], events: usize) -> Result<Vec<i128>, String> {
    let mut sums = Vec::with_capacity(events);
    for word in value.split(u8::is_ascii_whitespace) {
        if word.is_empty() {
            continue;
        }
        let (digits, is_negative) = match word {
            b"." => (&b"0"[..], false),
            [b'-', digits @ ..] => (digits, true),
            digits => (digits, false),
        };
        let number = cg_reader::number::whole_u64(digits)
            .map(i128::from)
            .ok_or_else(|| {
                format!(
                    "expected a count of at most 64 bits, found {}",
                    excerpt(word)
                )
            })?;
        sums.push(if is_negative { -number } else { number });
    }
    if sums.len() > events {
        return Err(format!(
            "expected at most {events} counts, one per event, found {}",
            sums.len()
        ));
    }
    sums.resize(events, 0);
    Ok(sums)
}

/// Parses an `event:` line: `name : long name`, `name = formula` or `name = formula : long name`.
pub(crate) fn event_definition(value: &[u8], facts: &mut RunFacts) {
    let (definition, long_name) = match memchr::memchr(b':', value) {
        Some(colon) => (&value[..colon], text(value[colon + 1..].trim_ascii())),
        None => (value, String::new()),
    };
    let (name, formula) = match memchr::memchr(b'=', definition) {
        Some(equals) => (
            &definition[..equals],
            text(definition[equals + 1..].trim_ascii()),
        ),
        None => (definition, String::new()),
    };
    let name = text(name.trim_ascii());
    if !formula.is_empty() {
        facts.derived.insert(name.clone(), formula);
    }
    if !long_name.is_empty() {
        facts.event_names.insert(name, long_name);
    }
}

/// Parses a `desc:` line: `key: value`.
pub(crate) fn description(value: &[u8], facts: &mut RunFacts) {
    match memchr::memchr(b':', value) {
        Some(colon) => facts.add_description(
            &text(value[..colon].trim_ascii()),
            &text(value[colon + 1..].trim_ascii()),
        ),
        None => facts.add_description("", &text(value)),
    }
}

/// Converts header text to a string of the stream.
pub(crate) fn text(bytes: &[u8]) -> String {
    cg_stream::record::Name::from_bytes(bytes).into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_words_in_front_of_a_colon() {
        assert_eq!(
            key_and_value(b"desc: I1 cache: 32 B"),
            Some((&b"desc"[..], &b"I1 cache: 32 B"[..]))
        );
        assert_eq!(
            key_and_value(b"timeframe (BB): 1"),
            Some((&b"timeframe (BB)"[..], &b"1"[..]))
        );
        assert_eq!(key_and_value(b"fn=a:b"), None);
        assert_eq!(key_and_value(b"hello"), None);
    }

    #[test]
    fn sums_are_padded_and_checked() {
        assert_eq!(
            sums(b"5 18446744073709551615", 3),
            Ok(vec![5, u64::MAX.into(), 0])
        );
        assert_eq!(sums(b"-5", 1), Ok(vec![-5]));
        assert!(sums(b"1 2", 1).is_err());
        assert!(sums(b"x", 1).is_err());
    }

    #[test]
    fn events_have_long_names_and_formulas() {
        let mut facts = RunFacts::new("callgrind");
        event_definition(b"sysTime : elapsed time", &mut facts);
        event_definition(b"CEst = Ir + 10 L1m : Cycles", &mut facts);
        event_definition(b"L1m = D1mr + D1mw", &mut facts);
        assert_eq!(
            serde_json::to_value(facts.facts()).unwrap(),
            serde_json::json!({
                "event_names": {"CEst": "Cycles", "sysTime": "elapsed time"},
                "derived": {"CEst": "Ir + 10 L1m", "L1m": "D1mr + D1mw"}
            })
        );
    }
}
