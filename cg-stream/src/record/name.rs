//! Names in records: strings that borrow from the line they were read from, whenever JSON lets them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A function, file, object or event name.
///
/// Valgrind's names are bytes; a stream's names are strings. [`Name::from_bytes`] is the one place where the first
/// becomes the second: a byte that is not part of valid UTF-8 is written as the four characters `\xNN`, so that two
/// names that differ stay different.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name<'a>(Cow<'a, str>);

impl<'a> Name<'a> {
    /// The name for these bytes of a profile.
    pub fn from_bytes(bytes: &'a [u8]) -> Name<'a> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Name(Cow::Borrowed(text)),
            Err(_) => Name(Cow::Owned(escape_invalid(bytes))),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same name, owning its text.
    pub fn into_owned(self) -> Name<'static> {
        Name(Cow::Owned(self.0.into_owned()))
    }

    /// The text, without a copy where this name owns it already.
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }
}

/// Valid UTF-8 as it is, every other byte as `\xNN`.
fn escape_invalid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

impl std::ops::Deref for Name<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(text: &'a str) -> Name<'a> {
        Name(Cow::Borrowed(text))
    }
}

impl From<String> for Name<'_> {
    fn from(text: String) -> Self {
        Name(Cow::Owned(text))
    }
}

impl Serialize for Name<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name (a string)")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_stay_distinct() {
        assert_eq!(Name::from_bytes(b"caf\xc3\xa9").as_str(), "café");
        assert_eq!(Name::from_bytes(b"caf\xe9").as_str(), "caf\\xe9");
        assert_ne!(Name::from_bytes(b"\xe8"), Name::from_bytes(b"\xe9"));
    }
}
