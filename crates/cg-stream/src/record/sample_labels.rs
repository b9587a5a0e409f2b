//! The labels of a sample, which the profiler or the program itself attached.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The value of a label, as in pprof: a text, or a number that may have a unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelValue {
    /// A text.
    Text(String),
    /// A number and its unit, if it has one.
    Number(i64, Option<String>),
}

/// The property of a sample's thread or process that a label contains. pprof does not define keys; these producers write
/// the known keys: pprof-rs and Go programs (`thread`), the profilers of Datadog (`thread id`, `thread name`), Parca
/// (`thread_id`, `comm`) and Polar Signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelMeaning {
    /// The thread's name.
    Thread,
    /// The thread's number.
    ThreadNumber,
    /// The process's name.
    Process,
    /// The process's number.
    Pid,
}

impl LabelMeaning {
    /// Returns the meaning of a key; `None` if the key is unknown.
    pub fn from_key(key: &[u8]) -> Option<LabelMeaning> {
        Some(match key {
            b"thread" | b"thread name" | b"thread_name" => LabelMeaning::Thread,
            b"thread id" | b"thread_id" | b"tid" => LabelMeaning::ThreadNumber,
            b"process" | b"process name" | b"process_name" | b"comm" => LabelMeaning::Process,
            b"pid" | b"process id" | b"process_id" => LabelMeaning::Pid,
            _ => return None,
        })
    }

    /// Returns true if the label describes the thread, not the process.
    pub fn describes_thread(self) -> bool {
        matches!(self, LabelMeaning::Thread | LabelMeaning::ThreadNumber)
    }
}

/// Labels by key, stored as the JSON of a stream. Keys and the values of a key are sorted, so that equal labels have equal
/// texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleLabels<'a>(Cow<'a, str>);

impl<'a> SampleLabels<'a> {
    /// Creates labels from pairs, in which a key may be repeated; `None` if there are no pairs.
    pub fn new(
        labels: impl IntoIterator<Item = (String, LabelValue)>,
    ) -> Option<SampleLabels<'static>> {
        let mut by_key: BTreeMap<String, Vec<LabelValue>> = BTreeMap::new();
        for (key, value) in labels {
            by_key.entry(key).or_default().push(value);
        }
        if by_key.is_empty() {
            return None;
        }
        let mut text = String::new();
        for (key, mut values) in by_key {
            values.sort();
            let mut values: Vec<Value> = values.into_iter().map(LabelValue::into_json).collect();
            let value = match values.len() {
                1 => values.remove(0),
                _ => Value::Array(values),
            };
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(&Value::String(key).to_string());
            text.push(':');
            text.push_str(&value.to_string());
        }
        text.push('}');
        Some(SampleLabels(text.into()))
    }

    /// Creates labels from the JSON that [`SampleLabels::text`] returned.
    pub fn from_json(text: &'a str) -> SampleLabels<'a> {
        SampleLabels(text.into())
    }

    /// Returns the labels as JSON.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns each label with its key.
    pub fn entries(&self) -> Vec<(String, LabelValue)> {
        let labels: Map<String, Value> = serde_json::from_str(&self.0).unwrap_or_default();
        entries(labels).unwrap_or_default()
    }
}

/// Returns the labels of a JSON object; `None` if a value is not the value of a label.
fn entries(labels: Map<String, Value>) -> Option<Vec<(String, LabelValue)>> {
    let mut entries = Vec::with_capacity(labels.len());
    for (key, value) in labels {
        match value {
            Value::Array(values) => {
                for value in values {
                    entries.push((key.clone(), LabelValue::from_json(value)?));
                }
            }
            value => entries.push((key, LabelValue::from_json(value)?)),
        }
    }
    Some(entries)
}

impl LabelValue {
    fn from_json(value: Value) -> Option<LabelValue> {
        Some(match value {
            Value::String(text) => LabelValue::Text(text),
            Value::Number(number) => LabelValue::Number(number.as_i64()?, None),
            Value::Object(mut with_unit) => {
                let number = with_unit.get("value")?.as_i64()?;
                match with_unit.remove("unit")? {
                    Value::String(unit) => LabelValue::Number(number, Some(unit)),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    fn into_json(self) -> Value {
        match self {
            LabelValue::Text(text) => text.into(),
            LabelValue::Number(number, None) => number.into(),
            LabelValue::Number(value, Some(unit)) => {
                serde_json::json!({"unit": unit, "value": value})
            }
        }
    }
}

impl Serialize for SampleLabels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let labels: Map<String, Value> = serde_json::from_str(&self.0).unwrap_or_default();
        labels.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SampleLabels<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let labels = Map::deserialize(deserializer)?;
        entries(labels)
            .and_then(SampleLabels::new)
            .ok_or_else(|| D::Error::custom("expected labels: texts, whole numbers, numbers with a unit ({\"value\":1,\"unit\":\"bytes\"}), or lists of these"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_same_text_in_any_order() {
        let text = |text: &str| LabelValue::Text(text.to_owned());
        let bytes = |number| LabelValue::Number(number, Some("bytes".to_owned()));
        let labels = [
            ("b".to_owned(), bytes(4)),
            ("a\"".to_owned(), text("x")),
            ("b".to_owned(), text("y")),
            ("c".to_owned(), LabelValue::Number(i64::MIN, None)),
        ];
        let expected =
            r#"{"a\"":"x","b":["y",{"unit":"bytes","value":4}],"c":-9223372036854775808}"#;
        let mut reversed = labels.clone();
        reversed.reverse();
        for labels in [labels, reversed] {
            let held = SampleLabels::new(labels.clone()).unwrap();
            assert_eq!(held.text(), expected);
            let mut entries = held.entries();
            let mut labels = labels.to_vec();
            entries.sort();
            labels.sort();
            assert_eq!(entries, labels);
            let read: SampleLabels = serde_json::from_str(expected).unwrap();
            assert_eq!(read, held);
            assert_eq!(serde_json::to_string(&read).unwrap(), expected);
        }
        assert_eq!(SampleLabels::new([]), None);
    }

    #[test]
    fn a_value_that_is_not_a_label_is_an_error() {
        for text in [
            "{}",
            "[]",
            r#"{"a":null}"#,
            r#"{"a":1.5}"#,
            r#"{"a":{"value":1}}"#,
            r#"{"a":[[1]]}"#,
        ] {
            assert!(
                serde_json::from_str::<SampleLabels>(text).is_err(),
                "{text}"
            );
        }
    }
}
