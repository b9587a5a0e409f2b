//! Names in records: strings that borrow from the line they were read from, unless JSON escapes prevent it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use cg_collections::maps::Set;

/// A function, file, object or event name.
///
/// Valgrind's names are bytes, but a stream's names are strings. Only [`Name::from_bytes`] converts them: a byte that is not
/// part of valid UTF-8 becomes the four characters `\xNN`, so that different names stay different.
#[derive(Clone)]
pub struct Name<'a>(Text<'a>);

#[derive(Clone)]
enum Text<'a> {
    Borrowed(&'a str),
    Owned(String),
    /// One of several names that share a text.
    Shared(Arc<str>),
}

impl<'a> Name<'a> {
    /// Converts the bytes of a profile to a name.
    pub fn from_bytes(bytes: &'a [u8]) -> Name<'a> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Name(Text::Borrowed(text)),
            Err(_) => Name(Text::Owned(escape_invalid(bytes))),
        }
    }

    /// Returns the name as text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Borrowed(text) => text,
            Text::Owned(text) => text,
            Text::Shared(text) => text,
        }
    }

    /// Returns the same name with an owned text.
    pub fn into_owned(self) -> Name<'static> {
        Name(match self.0 {
            Text::Borrowed(text) => Text::Owned(text.to_owned()),
            Text::Owned(text) => Text::Owned(text),
            Text::Shared(text) => Text::Shared(text),
        })
    }

    /// Returns the text, without a copy if this name owns it.
    pub fn into_string(self) -> String {
        match self.0 {
            Text::Borrowed(text) => text.to_owned(),
            Text::Owned(text) => text,
            Text::Shared(text) => text.as_ref().to_owned(),
        }
    }
}

/// Interned texts of names.
#[derive(Clone, Default)]
pub struct SharedTexts {
    texts: Set<Arc<str>>,
    /// A cache of the event names of the last shared list. The next record mostly has the same names.
    events: Vec<Arc<str>>,
}

impl SharedTexts {
    /// Returns the same name with a text that all equal names share.
    pub(crate) fn share(&mut self, name: &Name<'_>) -> Name<'static> {
        Name(Text::Shared(self.text(name)))
    }

    /// Returns the same name of an event with a shared text. `position` is its position in the list of events.
    pub(crate) fn share_event(&mut self, position: usize, name: &Name<'_>) -> Name<'static> {
        if let Some(event) = self.events.get(position)
            && **event == *name.as_str()
        {
            return Name(Text::Shared(Arc::clone(event)));
        }
        let text = self.text(name);
        if let Some(event) = self.events.get_mut(position) {
            event.clone_from(&text);
        } else if position == self.events.len() {
            self.events.push(Arc::clone(&text));
        }
        Name(Text::Shared(text))
    }

    fn text(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(name) {
            return Arc::clone(known);
        }
        let text: Arc<str> = name.into();
        self.texts.insert(Arc::clone(&text));
        text
    }

    /// Shares a name that may be missing.
    pub(crate) fn share_any(&mut self, name: &Option<Name<'_>>) -> Option<Name<'static>> {
        name.as_ref().map(|name| self.share(name))
    }
}

/// Returns valid UTF-8 unchanged and every other byte as `\xNN`.
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
        self.as_str()
    }
}

impl Default for Name<'_> {
    fn default() -> Self {
        Name(Text::Borrowed(""))
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name<'_> {}

impl PartialOrd for Name<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Name<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(text: &'a str) -> Name<'a> {
        Name(Text::Borrowed(text))
    }
}

impl From<String> for Name<'_> {
    fn from(text: String) -> Self {
        Name(Text::Owned(text))
    }
}

impl Serialize for Name<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct ReadName<'a>(#[serde(borrow)] Cow<'a, str>);
        Ok(match ReadName::deserialize(deserializer)?.0 {
            Cow::Borrowed(text) => Name(Text::Borrowed(text)),
            Cow::Owned(text) => Name(Text::Owned(text)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_names_are_equal_to_other_names_and_share_their_text() {
        let mut texts = SharedTexts::default();
        let (a, b) = ("a.c".to_owned(), "a.c".to_owned());
        let shared = [a, b].map(|text| texts.share(&Name::from(text.as_str())));
        assert_eq!(shared[0], Name::from("a.c"));
        assert!(std::ptr::eq(shared[0].as_str(), shared[1].as_str()));
        assert!(shared[0] < texts.share(&Name::from("b.c")));
    }

    #[test]
    fn bytes_that_are_not_utf8_stay_distinct() {
        assert_eq!(Name::from_bytes(b"caf\xc3\xa9").as_str(), "café");
        assert_eq!(Name::from_bytes(b"caf\xe9").as_str(), "caf\\xe9");
        assert_ne!(Name::from_bytes(b"\xe8"), Name::from_bytes(b"\xe9"));
    }
}
