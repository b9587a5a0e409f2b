//! Strings of a document as bytes. JavaScript's strings can hold half of a surrogate pair, and some producers write names
//! as the bytes they found them to be: neither is UTF-8, and both are names all the same.

use std::borrow::Cow;
use std::fmt;

use cg_stream::record::Name;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A string, borrowed from the document where it has no escapes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct JsonText<'a>(Cow<'a, [u8]>);

impl<'a> JsonText<'a> {
    /// The text without its quotation marks and escapes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The string as a name of the stream.
    pub fn name(&self) -> Name<'_> {
        Name::from_bytes(&self.0)
    }

    /// The string as a name, `None` where it is empty.
    pub fn given(&self) -> Option<Name<'_>> {
        (!self.0.is_empty()).then(|| self.name())
    }
}

/// The bytes of a text, none where there is none.
pub fn bytes_of<'t>(text: &'t Option<JsonText>) -> &'t [u8] {
    text.as_ref().map_or(&[], JsonText::as_bytes)
}

/// A text that is there and says something.
pub fn string_of(text: &Option<JsonText>) -> Option<String> {
    let given = text.as_ref().and_then(JsonText::given);
    given.map(Name::into_string)
}

impl fmt::Debug for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.name(), f)
    }
}

// By hand: what serde derives for a `Cow` of bytes tells people that it expected a byte array.
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
    fn strings_that_are_no_utf8_are_names_too() {
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
