//! The JSON mapping of OTLP: names in `lowerCamelCase`, numbers of 64 bits as strings or numbers. A file contains one message,
//! or several: one per line, as the collector's file exporter writes them, or in a list.
//!
//! A message is converted to the protocol buffer, so that both forms have the same reader. The tables below contain the
//! fields that the reader uses. The numbers are those of release 1.10, or of 1.7 if samples refer to ranges of locations.

use cg_reader::json::{JsonText, Scanner};
use cg_reader::{Error, Head, excerpt};

/// Returns true if a document is a message with profiles.
pub fn is_json(head: &Head) -> bool {
    let mut scanner = Scanner::new(head.bytes);
    // A list contains several messages.
    let is_list = scanner.take(b'[');
    is_list.is_ok()
        && scanner.any_key(|key, mut value| {
            let is_profiles = matches!(key, b"resourceProfiles" | b"resource_profiles");
            is_profiles.then(|| value.expect(b'[').is_ok())
        })
}

/// A field of a message: its name in JSON, its number, and its kind. A field of any kind can be a list.
struct JsonField(&'static str, u64, JsonKind);

#[derive(Clone, Copy)]
enum JsonKind {
    Number,
    /// The number of a string, which is missing if it is 0.
    StringIndex,
    /// A number in eight bytes.
    Fixed,
    Flag,
    Double,
    Text,
    Message(&'static [JsonField]),
    /// A message with other numbers in release 1.7, which come first.
    ByRelease([&'static [JsonField]; 2]),
}

use JsonKind::{ByRelease, Double, Fixed, Flag, Message, Number, StringIndex, Text};

/// The message of a file.
const DATA: &[JsonField] = &[
    JsonField("resourceProfiles", 1, Message(RESOURCE)),
    JsonField("dictionary", 2, Message(DICTIONARY)),
];

const RESOURCE: &[JsonField] = &[
    JsonField(
        "resource",
        1,
        Message(&[JsonField("attributes", 1, Message(ATTRIBUTE))]),
    ),
    JsonField("scopeProfiles", 2, Message(SCOPE)),
];

const SCOPE: &[JsonField] = &[
    JsonField(
        "scope",
        1,
        Message(&[JsonField("name", 1, Text), JsonField("version", 2, Text)]),
    ),
    JsonField(
        "profiles",
        2,
        ByRelease([PROFILE_OF_RANGES, PROFILE_OF_STACKS]),
    ),
];

const PROFILE_OF_RANGES: &[JsonField] = &[
    JsonField("sampleType", 1, Message(VALUE_TYPE)),
    JsonField("sample", 2, Message(SAMPLE_OF_RANGE)),
    JsonField("locationIndices", 3, Number),
    JsonField("timeNanos", 4, Number),
    JsonField("durationNanos", 5, Number),
    JsonField("periodType", 6, Message(VALUE_TYPE)),
    JsonField("period", 7, Number),
    JsonField("attributeIndices", 14, Number),
];

const SAMPLE_OF_RANGE: &[JsonField] = &[
    JsonField("locationsStartIndex", 1, Number),
    JsonField("locationsLength", 2, Number),
    JsonField("value", 3, Number),
    JsonField("attributeIndices", 4, Number),
    JsonField("timestampsUnixNano", 6, Fixed),
];

const PROFILE_OF_STACKS: &[JsonField] = &[
    JsonField("sampleType", 1, Message(VALUE_TYPE)),
    JsonField("samples", 2, Message(SAMPLE_OF_STACK)),
    JsonField("sample", 2, Message(SAMPLE_OF_STACK)),
    JsonField("timeUnixNano", 3, Fixed),
    JsonField("durationNano", 4, Number),
    JsonField("periodType", 5, Message(VALUE_TYPE)),
    JsonField("period", 6, Number),
    JsonField("attributeIndices", 11, Number),
];

const SAMPLE_OF_STACK: &[JsonField] = &[
    JsonField("stackIndex", 1, Number),
    JsonField("attributeIndices", 2, Number),
    JsonField("linkIndex", 3, Number),
    JsonField("values", 4, Number),
    JsonField("value", 4, Number),
    JsonField("timestampsUnixNano", 5, Fixed),
];

const VALUE_TYPE: &[JsonField] = &[
    JsonField("typeStrindex", 1, Number),
    JsonField("unitStrindex", 2, Number),
];

const DICTIONARY: &[JsonField] = &[
    JsonField("mappingTable", 1, Message(MAPPING)),
    JsonField("locationTable", 2, Message(LOCATION)),
    JsonField("functionTable", 3, Message(FUNCTION)),
    JsonField("stringTable", 5, Text),
    JsonField("attributeTable", 6, Message(ATTRIBUTE)),
    JsonField(
        "stackTable",
        7,
        Message(&[JsonField("locationIndices", 1, Number)]),
    ),
];

const MAPPING: &[JsonField] = &[
    JsonField("memoryStart", 1, Number),
    JsonField("memoryLimit", 2, Number),
    JsonField("fileOffset", 3, Number),
    JsonField("filenameStrindex", 4, Number),
    JsonField("attributeIndices", 5, Number),
];

const LOCATION: &[JsonField] = &[
    JsonField("mappingIndex", 1, Number),
    JsonField("address", 2, Number),
    JsonField("lines", 3, Message(LINE)),
    JsonField("line", 3, Message(LINE)),
    JsonField("attributeIndices", 4, Number),
];

const LINE: &[JsonField] = &[
    JsonField("functionIndex", 1, Number),
    JsonField("line", 2, Number),
];

const FUNCTION: &[JsonField] = &[
    JsonField("nameStrindex", 1, Number),
    JsonField("systemNameStrindex", 2, Number),
    JsonField("filenameStrindex", 3, Number),
];

/// A `KeyValue` has a key, a `KeyValueAndUnit` the number of a string. Some writers also write the other one, as 0.
const ATTRIBUTE: &[JsonField] = &[
    JsonField("key", 1, Text),
    JsonField("keyStrindex", 1, StringIndex),
    JsonField("value", 2, Message(ANY_VALUE)),
];

const ANY_VALUE: &[JsonField] = &[
    JsonField("stringValue", 1, Text),
    JsonField("boolValue", 2, Flag),
    JsonField("intValue", 3, Number),
    JsonField("doubleValue", 4, Double),
    JsonField("stringValueStrindex", 8, Number),
];

/// The messages of a file, converted one by one.
pub(super) struct JsonMessages<'a> {
    scanner: Scanner<'a>,
    /// True inside a list of messages.
    is_in_list: bool,
    /// True if samples refer to ranges of locations, as in release 1.7.
    has_ranges: bool,
}

impl<'a> JsonMessages<'a> {
    pub(super) fn new(text: &'a [u8]) -> JsonMessages<'a> {
        let has = |name: &[u8]| memchr::memmem::find(text, name).is_some();
        JsonMessages {
            scanner: Scanner::new(text),
            is_in_list: false,
            has_ranges: has(b"\"locationsLength\"") || has(b"\"locations_length\""),
        }
    }

    /// Returns the next message as a protocol buffer; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.is_in_list {
            self.is_in_list = self.scanner.next_element()?;
        }
        while !self.is_in_list && self.scanner.take(b'[')? {
            self.is_in_list = self.scanner.next_element()?;
        }
        if !self.is_in_list && self.scanner.peek()?.is_none() {
            return Ok(None);
        }
        let mut message = Vec::new();
        self.message(DATA, &mut message)?;
        Ok(Some(message))
    }

    fn message(&mut self, fields: &[JsonField], out: &mut Vec<u8>) -> Result<(), Error> {
        self.scanner.expect(b'{')?;
        while let Some(key) = self.scanner.next_key()? {
            let field = fields.iter().find(|field| is_name(key, field.0));
            match field {
                Some(field) if self.scanner.peek()? != Some(b'n') => self.field(field, out)?,
                // `null` is a missing value.
                _ => drop(self.scanner.skip_value()?),
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &JsonField, out: &mut Vec<u8>) -> Result<(), Error> {
        let JsonField(_, number, kind) = field;
        if !self.scanner.take(b'[')? {
            return self.value(*number, *kind, out);
        }
        if !matches!(kind, Number | Fixed) {
            while self.scanner.next_element()? {
                self.value(*number, *kind, out)?;
            }
            return Ok(());
        }
        // The kind of a packed list shows the release.
        let mut packed = Vec::new();
        while self.scanner.next_element()? {
            let value = self.number()?;
            match kind {
                Fixed => packed.extend_from_slice(&value.to_le_bytes()),
                _ => push_varint(value, &mut packed),
            }
        }
        push_varint(number << 3 | 2, out);
        push_bytes(&packed, out);
        Ok(())
    }

    fn value(&mut self, number: u64, kind: JsonKind, out: &mut Vec<u8>) -> Result<(), Error> {
        let tag = |wire_type: u64| number << 3 | wire_type;
        match kind {
            Number | StringIndex => {
                let value = self.number()?;
                if matches!(kind, Number) || value > 0 {
                    push_varint(tag(0), out);
                    push_varint(value, out);
                }
            }
            Fixed => {
                let value = self.number()?;
                push_varint(tag(1), out);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Flag => {
                let value = self.scanner.value::<bool>()?;
                push_varint(tag(0), out);
                push_varint(value.into(), out);
            }
            Double => {
                let value = self.scanner.value::<f64>()?;
                push_varint(tag(1), out);
                out.extend_from_slice(&value.to_bits().to_le_bytes());
            }
            Text => {
                let value = self.scanner.value::<JsonText>()?;
                push_varint(tag(2), out);
                push_bytes(value.as_bytes(), out);
            }
            Message(fields) => self.inner(number, fields, out)?,
            ByRelease([ranges, stacks]) => {
                let fields = if self.has_ranges { ranges } else { stacks };
                self.inner(number, fields, out)?;
            }
        }
        Ok(())
    }

    fn inner(&mut self, number: u64, fields: &[JsonField], out: &mut Vec<u8>) -> Result<(), Error> {
        let mut message = Vec::new();
        self.message(fields, &mut message)?;
        push_varint(number << 3 | 2, out);
        push_bytes(&message, out);
        Ok(())
    }

    /// Reads a whole number, which may be in quotation marks, and may have an exponent or a fraction of zeros. Negative
    /// numbers have the form of two's complement.
    fn number(&mut self) -> Result<u64, Error> {
        let text = self.scanner.skip_value()?;
        let digits = match text {
            [b'"', digits @ .., b'"'] => digits,
            digits => digits,
        };
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        let number = digits.parse::<u64>().ok();
        let number = number.or_else(|| Some(digits.parse::<i64>().ok()?.cast_unsigned()));
        let number = number.or_else(|| whole_number(digits));
        number.ok_or_else(|| {
            Error::whole(format!(
                "expected a whole number of 64 bits, found {}",
                excerpt(text)
            ))
        })
    }
}

/// Returns the whole number of a text such as `3e7` or `5.0`; `None` if its floating point is not exact.
fn whole_number(text: &str) -> Option<u64> {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let number = text.parse::<f64>().ok()?;
    let is_exact = number.fract() == 0.0 && number.abs() <= MAX_EXACT;
    is_exact.then_some((number as i64).cast_unsigned())
}

/// Returns true if a key is a name in `lowerCamelCase`, or the name in the definition of the format, with `_`.
fn is_name(key: &[u8], name: &str) -> bool {
    let mut rest = key;
    for byte in name.bytes() {
        let (first, after) = match (byte.is_ascii_uppercase(), rest) {
            (true, [b'_', first, after @ ..]) => (first.to_ascii_uppercase(), after),
            (_, [first, after @ ..]) => (*first, after),
            (_, []) => return false,
        };
        if first != byte {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn push_varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    push_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_both_forms() {
        for (key, name, expected) in [
            ("timeUnixNano", "timeUnixNano", true),
            ("time_unix_nano", "timeUnixNano", true),
            ("time_unixNano", "timeUnixNano", true),
            ("timeunixnano", "timeUnixNano", false),
            ("timeUnixNanos", "timeUnixNano", false),
            ("time", "timeUnixNano", false),
        ] {
            assert_eq!(is_name(key.as_bytes(), name), expected, "{key}");
        }
    }

    #[test]
    fn whole_numbers_may_have_an_exponent_or_zeros_after_the_point() {
        for (text, expected) in [
            ("7", Some(7)),
            (r#""18446744073709551615""#, Some(u64::MAX)),
            ("3e7", Some(30_000_000)),
            (r#""1.5E+3""#, Some(1500)),
            ("70000000.0", Some(70_000_000)),
            ("-2.0", Some(u64::MAX - 1)),
            ("0.5", None),
            ("1e30", None),
            (r#""inf""#, None),
            (r#""""#, None),
        ] {
            let mut messages = JsonMessages::new(text.as_bytes());
            assert_eq!(messages.number().ok(), expected, "{text}");
        }
    }

    #[test]
    fn messages_have_the_bytes_of_the_protocol_buffer() {
        let text = br#"{"dictionary":{"stringTable":["","a"],"unknown":[{"x":1}],"functionTable":[{},{"nameStrindex":1}],"linkTable":null},
            "resourceProfiles":[{"scopeProfiles":[{"profiles":[{"period":"-1","samples":[{"values":["300"],"timestampsUnixNano":[1]}]}]}]}]}
            {}"#;
        let mut messages = JsonMessages::new(text);
        // The expected bytes are written according to the encoding of protocol buffers.
        let sample = [0x22, 2, 0xac, 0x02, 0x2a, 8, 1, 0, 0, 0, 0, 0, 0, 0];
        let mut profile = vec![0x30];
        profile.extend([0xff; 9]);
        profile.extend([0x01, 0x12, sample.len() as u8]);
        profile.extend(sample);
        let wrapped =
            |number: u8, inner: &[u8]| [&[number << 3 | 2, inner.len() as u8], inner].concat();
        let resource = wrapped(1, &wrapped(2, &wrapped(2, &profile)));
        let dictionary = wrapped(2, &[0x2a, 0, 0x2a, 1, b'a', 0x1a, 0, 0x1a, 2, 0x08, 1]);
        let expected = [dictionary, resource].concat();
        assert_eq!(messages.next().unwrap(), Some(expected));
        assert_eq!(messages.next().unwrap(), Some(Vec::new()));
        assert_eq!(messages.next().unwrap(), None);
    }
}
