//! The condition of `--with-label`: a label of a record.

use std::str::FromStr;

use cg_stream::Error;
use cg_stream::fields::{Malformed, Value};

use crate::record::{Field, RecordFields};

/// A wanted label: `state=STATE_RUNNABLE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedLabel {
    key: String,
    text: String,
}

impl FromStr for WantedLabel {
    type Err = String;

    fn from_str(text: &str) -> Result<WantedLabel, String> {
        match text.split_once('=') {
            Some((key, text)) if !key.is_empty() => Ok(WantedLabel {
                key: key.to_owned(),
                text: text.to_owned(),
            }),
            _ => Err("expected KEY=TEXT, as in state=STATE_RUNNABLE".to_owned()),
        }
    }
}

impl WantedLabel {
    /// Returns true if a record has the label. One of several values of a key is enough.
    pub(crate) fn is_in(&self, record: &mut RecordFields<'_>) -> Result<bool, Error> {
        let Some(value) = record.find_in(Field::Labels, &self.key)? else {
            return Ok(false);
        };
        let matches = match value.elements() {
            None => self.equals(value),
            Some(mut values) => values.try_fold(false, |found, value| {
                Ok::<_, Malformed>(found || self.equals(value?)?)
            }),
        };
        matches.map_err(|Malformed| record.malformed())
    }

    /// Returns true if a value is the wanted text, or a number with these digits. The unit of a number does not count.
    fn equals(&self, value: Value<'_>) -> Result<bool, Malformed> {
        let value = match value.fields() {
            Some(with_unit) => match with_unit.find("value")? {
                Some(number) => number,
                None => return Ok(false),
            },
            None => value,
        };
        Ok(match value.text() {
            Some(text) => *text == *self.text.as_bytes(),
            None => value.raw() == self.text.as_bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use cg_stream::Line;
    use cg_stream::record::RecordType;

    use super::*;

    #[test]
    fn a_label_matches_as_a_whole() {
        let bytes = br#"{"type":"stack","cost":{},"labels":{"state":"RUN\u004eABLE","id":7,"size":[{"unit":"bytes","value":64},"x"]}}"#;
        for (wanted, expected) in [
            ("state=RUNNABLE", true),
            ("state=RUN", false),
            ("state=", false),
            ("id=7", true),
            ("size=64", true),
            ("size=x", true),
            ("size=bytes", false),
            ("other=x", false),
        ] {
            let line = Line {
                bytes,
                raw: bytes,
                number: 1,
                kind: RecordType::Stack,
            };
            let wanted_label: WantedLabel = wanted.parse().unwrap();
            let mut record = RecordFields::new(line).unwrap();
            assert_eq!(
                wanted_label.is_in(&mut record).unwrap(),
                expected,
                "{wanted}"
            );
        }
        assert!("state".parse::<WantedLabel>().is_err());
        assert!("=x".parse::<WantedLabel>().is_err());
    }
}
