//! Strings of a document as bytes. Names are not always UTF-8: JavaScript's strings may contain half of a surrogate pair,
//! and some producers copy the bytes of names.

use std::borrow::Cow;
use std::fmt;

use cg_stream::record::Name;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A string, borrowed from the document if it has no escapes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct JsonText<'a>(Cow<'a, [u8]>);

impl<'a> JsonText<'a> {
    /// Returns the text without quotation marks and escapes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the string as a name of the stream.
    pub fn name(&self) -> Name<'_> {
        Name::from_bytes(&self.0)
    }

    /// Returns the string as a name; `None` if it is empty.
    pub fn non_empty_name(&self) -> Option<Name<'_>> {
        (!self.0.is_empty()).then(|| self.name())
    }
}

/// Returns the bytes of a text; no bytes for `None`.
pub fn bytes_or_empty<'t>(text: &'t Option<JsonText>) -> &'t [u8] {
    text.as_ref().map_or(&[], JsonText::as_bytes)
}

/// Returns a text; `None` if it is missing or empty.
pub fn non_empty_string(text: &Option<JsonText>) -> Option<String> {
    let given = text.as_ref().and_then(JsonText::non_empty_name);
    given.map(Name::into_string)
}

impl fmt::Debug for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.name(), f)
    }
}

// Not derived, because the errors of the derived implementation would mention a byte array.
impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = JsonText<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_bytes<E: Error>(self, text: &'de [u8]) -> Result<JsonText<'de>, E> {
                Ok(JsonText(Cow::Borrowed(text)))
            }
            fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<JsonText<'de>, E> {
                Ok(JsonText(Cow::Owned(text.to_vec())))
            }
        }
        deserializer.deserialize_bytes(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_are_not_utf8_are_names() {
        for (json, expected) in [
            (&b"\"plain\""[..], "plain"),
            (b"\"a\\n\\u00e9\"", "a\n\u{e9}"),
            (b"\"half \\ud83d\"", "half \\xed\\xa0\\xbd"),
            (b"\"\\ud83d\\ude00\"", "\u{1f600}"),
            (b"\"caf\xe9\"", "caf\\xe9"),
        ] {
            let text: JsonText = serde_json::from_slice(json).unwrap();
            assert_eq!(text.name().as_str(), expected);
        }
        assert!(serde_json::from_slice::<JsonText>(b"3").is_err());
        assert!(
            serde_json::from_slice::<Option<JsonText>>(b"null")
                .unwrap()
                .is_none()
        );
    }
}
