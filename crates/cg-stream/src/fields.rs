//! The fields of a line, found one by one without parsing the whole line.
//!
//! A filter that decides by function name does not need the other 500 bytes of the line. [`Fields`] iterates over the keys
//! of an object in any order and returns each value as raw bytes. Values that the caller does not use are skipped: they are
//! neither decoded nor checked, and only their brackets, strings and separators are read. [`value_length`] finds the end of
//! a value, also for other code that iterates over JSON.

use std::borrow::Cow;

use crate::record::Count;

/// The error of text that is not valid JSON or not the expected type of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The fields of an object, in their order in the text.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
    position: ListPosition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListPosition {
    Start,
    AfterItem,
    End,
}

/// A value as raw JSON bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a>(&'a [u8]);

/// A field: its key, decoded, and its value.
pub type KeyValue<'a> = (Cow<'a, [u8]>, Value<'a>);

/// The elements of an array, in order.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
    position: ListPosition,
}

impl<'a> Fields<'a> {
    /// Returns the fields of the object at the start of these bytes.
    ///
    /// # Errors
    /// Returns an error if the bytes do not begin with an object.
    pub fn parse(object: &'a [u8]) -> Result<Fields<'a>, Malformed> {
        match object.trim_ascii_start() {
            [b'{', rest @ ..] => Ok(Fields {
                rest,
                position: ListPosition::Start,
            }),
            _ => Err(Malformed),
        }
    }

    /// Returns the fields after a field whose value ends before these bytes.
    pub(crate) fn after_item(rest: &'a [u8]) -> Fields<'a> {
        Fields {
            rest,
            position: ListPosition::AfterItem,
        }
    }

    /// Returns the value of the first field with this key; `None` if no field has it.
    ///
    /// # Errors
    /// Returns an error if the text before the field is malformed.
    pub fn find(self, key: &str) -> Result<Option<Value<'a>>, Malformed> {
        for field in self {
            let (found, value) = field?;
            if *found == *key.as_bytes() {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Returns the bytes after the last field that the iterator returned.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the next field if its key is short and has no escape, and no white space surrounds it, as in the output of
    /// our writers.
    #[inline]
    fn next_plain(&mut self) -> Option<KeyValue<'a>> {
        let text = match (self.position, self.rest) {
            (ListPosition::Start, [b'"', text @ ..])
            | (ListPosition::AfterItem, [b',', b'"', text @ ..]) => text,
            _ => return None,
        };
        let (key, after) = text.split_at(short_string_length(text)?);
        let [b'"', b':', after @ ..] = after else {
            return None;
        };
        let (value, rest) = after.split_at(value_length(after).ok()?);
        self.rest = rest;
        self.position = ListPosition::AfterItem;
        Some((Cow::Borrowed(key), Value(value)))
    }

    fn next_field(&mut self) -> Result<Option<KeyValue<'a>>, Malformed> {
        if let Some(field) = self.next_plain() {
            return Ok(Some(field));
        }
        if !next_item(&mut self.rest, &mut self.position, b'}')? {
            return Ok(None);
        }
        let key = take_value(&mut self.rest)?;
        let key = key.text().ok_or(Malformed)?;
        self.rest = self.rest.trim_ascii_start();
        match self.rest {
            [b':', rest @ ..] => self.rest = rest.trim_ascii_start(),
            _ => return Err(Malformed),
        }
        Ok(Some((key, take_value(&mut self.rest)?)))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<KeyValue<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.next_field();
        if field.is_err() {
            self.position = ListPosition::End;
        }
        field.transpose()
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Value<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = match next_item(&mut self.rest, &mut self.position, b']') {
            Ok(false) => return None,
            Ok(true) => take_value(&mut self.rest),
            Err(error) => Err(error),
        };
        if value.is_err() {
            self.position = ListPosition::End;
        }
        Some(value)
    }
}

impl<'a> Value<'a> {
    /// Returns the raw JSON bytes.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Returns the text of a string with its escapes decoded; `None` if the value is not a string.
    pub fn text(self) -> Option<Cow<'a, [u8]>> {
        let [b'"', inner @ .., b'"'] = self.0 else {
            return None;
        };
        if memchr::memchr(b'\\', inner).is_none() {
            return Some(Cow::Borrowed(inner));
        }
        let text: String = serde_json::from_slice(self.0).ok()?;
        Some(Cow::Owned(text.into_bytes()))
    }

    /// Returns the number; `None` if the value is not an integer in the range of counts.
    pub fn count(self) -> Option<Count> {
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// Returns the fields of an object; `None` if the value is not an object.
    pub fn fields(self) -> Option<Fields<'a>> {
        Fields::parse(self.0).ok()
    }

    /// Returns the elements of an array; `None` if the value is not an array.
    pub fn elements(self) -> Option<Elements<'a>> {
        match self.0 {
            [b'[', rest @ ..] => Some(Elements {
                rest,
                position: ListPosition::Start,
            }),
            _ => None,
        }
    }
}

/// Skips the separator before the next item. Returns false at the closing bracket.
#[inline]
fn next_item(rest: &mut &[u8], position: &mut ListPosition, close: u8) -> Result<bool, Malformed> {
    if *position == ListPosition::End {
        return Ok(false);
    }
    let text = rest.trim_ascii_start();
    let is_first = *position == ListPosition::Start;
    *position = ListPosition::AfterItem;
    match text {
        [byte, ..] if *byte == close => {
            *position = ListPosition::End;
            Ok(false)
        }
        [b',', after @ ..] if !is_first => {
            *rest = after.trim_ascii_start();
            Ok(true)
        }
        [_, ..] if is_first => {
            *rest = text;
            Ok(true)
        }
        _ => Err(Malformed),
    }
}

/// Removes the value at the start of `rest` and returns it.
#[inline]
fn take_value<'a>(rest: &mut &'a [u8]) -> Result<Value<'a>, Malformed> {
    let (value, after) = rest.split_at(value_length(rest)?);
    *rest = after;
    Ok(Value(value))
}

/// Returns the length of the value at the start of these bytes.
///
/// # Errors
/// Returns an error if the bytes do not begin with a value or end within it.
#[inline]
pub fn value_length(text: &[u8]) -> Result<usize, Malformed> {
    match text.first() {
        Some(b'"') => string_length(text),
        Some(b'{' | b'[') => nested_length(text),
        _ => text
            .iter()
            .position(|byte| {
                matches!(byte, b',' | b'}' | b']' | b':') || byte.is_ascii_whitespace()
            })
            .or(Some(text.len()))
            .filter(|length| *length > 0)
            .ok_or(Malformed),
    }
}

/// Returns the length of the string at the start of these bytes, including its quotes.
#[inline]
fn string_length(text: &[u8]) -> Result<usize, Malformed> {
    if let Some(length) = text.get(1..).and_then(short_string_length)
        && text[1 + length] == b'"'
    {
        return Ok(length + 2);
    }
    let mut length = 1;
    loop {
        length += memchr::memchr2(b'"', b'\\', text.get(length..).unwrap_or_default())
            .ok_or(Malformed)?;
        if text[length] == b'"' {
            return Ok(length + 1);
        }
        length += 2;
    }
}

/// A word with 1 in each byte.
pub(crate) const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// Returns a word whose lowest set bit marks the first zero byte. Higher bits may be wrong, because borrows go up.
#[inline]
pub(crate) fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// Returns the number of bytes before the first quote or backslash; `None` if the next eight bytes have none. Most keys and
/// many values are so short that this takes fewer instructions than the setup of `memchr`.
#[inline]
fn short_string_length(text: &[u8]) -> Option<usize> {
    let word = u64::from_le_bytes(*text.first_chunk()?);
    let found = zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

/// Returns the length of the object or array at the start of these bytes.
fn nested_length(text: &[u8]) -> Result<usize, Malformed> {
    let mut depth = 0_usize;
    let mut length = 0;
    while let Some(byte) = text.get(length) {
        match byte {
            b'"' => {
                length += string_length(&text[length..])?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        length += 1;
        if depth == 0 {
            return Ok(length);
        }
    }
    Err(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_and_values(line: &str) -> Result<Vec<(String, String)>, Malformed> {
        Fields::parse(line.as_bytes())?
            .map(|field| {
                let (key, value) = field?;
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                Ok((text(&key), text(value.raw())))
            })
            .collect()
    }

    #[test]
    fn values_are_found_after_nested_values_and_escapes() {
        let line = r#" { "cost" : {"Ir":[1,{"}":"]"}]} , "fn":"a\"},b","calls":0,"x":null }"#;
        let expect = [
            ("cost", r#"{"Ir":[1,{"}":"]"}]}"#),
            ("fn", r#""a\"},b""#),
            ("calls", "0"),
            ("x", "null"),
        ];
        assert_eq!(
            keys_and_values(line).unwrap(),
            expect.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        assert_eq!(keys_and_values("{}"), Ok(vec![]));
    }

    #[test]
    fn every_prefix_of_a_line_is_malformed() {
        let line = r#"{"type":"fn","fn":"a\\\"b","cost":{"Ir":1},"stack":[{"fn":"x"}],"calls":12}"#;
        assert!(keys_and_values(line).is_ok());
        for length in 0..line.len() {
            assert_eq!(keys_and_values(&line[..length]), Err(Malformed), "{length}");
        }
    }

    #[test]
    fn text_is_decoded_and_counts_are_exact() {
        let fields = Fields::parse(
            br#"{"a":"x\u00e9\n","b":18446744073709551615,"c":-1,"d":1.5,"e":[1,[2]]}"#,
        );
        let values: Vec<Value> = fields.unwrap().map(|field| field.unwrap().1).collect();
        assert_eq!(values[0].text().unwrap(), "xé\n".as_bytes());
        assert_eq!(values[1].count(), Some(u64::MAX.into()));
        assert_eq!(values[2].count(), Some(-1));
        assert_eq!(values[3].count(), None);
        let elements: Vec<&[u8]> = values[4]
            .elements()
            .unwrap()
            .map(|v| v.unwrap().raw())
            .collect();
        assert_eq!(elements, [&b"1"[..], b"[2]"]);
    }

    #[test]
    fn keys_are_decoded_too() {
        let fields = Fields::parse(br#"{"f\u006e":1}"#).unwrap();
        assert_eq!(fields.find("fn").unwrap().unwrap().count(), Some(1));
    }
}
