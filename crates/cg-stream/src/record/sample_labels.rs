//! The labels of a sample: what a profiler, or the program itself, said beside its stack.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// What a label says, as pprof has it: a text, or a number that may have a unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelValue {
    /// A text.
    Text(String),
    /// A number, and its unit where it has one.
    Number(i64, Option<String>),
}

/// What a label of a key tells of a sample's thread or process. pprof gives labels no meaning; these keys are those that
/// producers write: pprof-rs and Go programs by hand (`thread`), the profilers of Datadog (`thread id`, `thread name`), Parca
/// (`thread_id`, `comm`), Polar Signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelMeaning {
    /// The thread's name.
    Thread,
    /// Its number.
    ThreadNumber,
    /// The process's name.
    Process,
    /// Its number.
    Pid,
}

impl LabelMeaning {
    /// What a key means, if it is one of these.
    pub fn of(key: &[u8]) -> Option<LabelMeaning> {
        Some(match key {
            b"thread" | b"thread name" | b"thread_name" => LabelMeaning::Thread,
            b"thread id" | b"thread_id" | b"tid" => LabelMeaning::ThreadNumber,
            b"process" | b"process name" | b"process_name" | b"comm" => LabelMeaning::Process,
            b"pid" | b"process id" | b"process_id" => LabelMeaning::Pid,
            _ => return None,
        })
    }

    /// Whether it tells of the thread, and not of the process.
    pub fn is_of_thread(self) -> bool {
        matches!(self, LabelMeaning::Thread | LabelMeaning::ThreadNumber)
    }
}

/// Labels by key, held as the JSON that a stream has of them: keys and the values of a key in order, so that equal labels
/// are equal texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleLabels<'a>(Cow<'a, str>);

impl<'a> SampleLabels<'a> {
    /// These labels; a key may come several times.
    pub fn of(
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

    /// Labels out of their JSON, as [`SampleLabels::text`] has it.
    pub fn of_text(text: &'a str) -> SampleLabels<'a> {
        SampleLabels(text.into())
    }

    /// Their JSON.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Each label with its key.
    pub fn entries(&self) -> Vec<(String, LabelValue)> {
        let labels: Map<String, Value> = serde_json::from_str(&self.0).unwrap_or_default();
        entries(labels).unwrap_or_default()
    }
}

/// The labels of an object; `None` where a value is none of a label's.
fn entries(labels: Map<String, Value>) -> Option<Vec<(String, LabelValue)>> {
    let mut entries = Vec::with_capacity(labels.len());
    for (key, value) in labels {
        match value {
            Value::Array(values) => {
                for value in values {
                    entries.push((key.clone(), LabelValue::of_json(value)?));
                }
            }
            value => entries.push((key, LabelValue::of_json(value)?)),
        }
    }
    Some(entries)
}

impl LabelValue {
    fn of_json(value: Value) -> Option<LabelValue> {
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
            .and_then(SampleLabels::of)
            .ok_or_else(|| D::Error::custom("expected labels: texts, whole numbers, numbers with a unit ({\"value\":1,\"unit\":\"bytes\"}), or lists of these"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_one_text_whatever_their_order() {
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
            let held = SampleLabels::of(labels.clone()).unwrap();
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
        assert_eq!(SampleLabels::of([]), None);
    }

    #[test]
    fn what_is_no_label_is_an_error() {
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
