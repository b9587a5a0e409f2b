//! Reads the fields of a line that has the form of our own writer: no white space, and the fields in the order of their
//! declaration.
//!
//! Each function reads one value and returns `None` if the value has another form. Then the whole line is parsed as JSON.
//! These functions never accept text that the JSON parser refuses.

use std::ops::Range;

use cg_collections::intern::Id;
use cg_collections::limits::{Growth, check_name};
use serde::Deserialize;

use super::scan::{hash, scan};
use super::{FrameId, NameId, Named, RowTables, TableNumber};
use crate::fields::value_length;
use crate::record::{Count, Counts, Frame, Name};

/// The maximum number of distinct names, and of distinct frames, that are kept. A stream with more of them, such as one with
/// an address in each frame, begins again with empty tables.
pub(super) const MOST_KNOWN: usize = 1 << 18;

/// The distinct names and frames of a stream. Each text is decoded once.
#[derive(Default)]
pub(super) struct StreamTables {
    number: TableNumber,
    names: KnownTexts<NameId, Name<'static>>,
    /// The object that was read last.
    last_object: Option<NameId>,
    frames: KnownTexts<FrameId, Frame<'static>>,
}

/// Values by their JSON, in a hash table with open addressing: a search takes half of the instructions of a general table.
struct KnownTexts<I, T> {
    /// The texts of all values, one after the other.
    texts: Vec<u8>,
    /// The values, each with the end of its text.
    values: Vec<(usize, T)>,
    /// A power of two of slots, at most half of them full: ids, and a half of the hashes of their texts.
    slots: Vec<Option<(u32, I)>>,
    growth: Growth,
}

impl<I, T> Default for KnownTexts<I, T> {
    fn default() -> KnownTexts<I, T> {
        KnownTexts {
            texts: Vec::new(),
            values: Vec::new(),
            slots: Vec::new(),
            growth: Growth::default(),
        }
    }
}

impl<I: Id, T> KnownTexts<I, T> {
    fn value(&self, id: I) -> &T {
        &self.values[id.index()].1
    }

    #[inline]
    fn text(&self, id: I) -> &[u8] {
        let start = match id.index() {
            0 => 0,
            position => self.values[position - 1].0,
        };
        &self.texts[start..self.values[id.index()].0]
    }

    #[inline]
    fn find(&self, hash: u64, text: &[u8]) -> Option<I> {
        let hash = half(hash);
        let mask = self.slots.len().wrapping_sub(1);
        let mut position = hash as usize & mask;
        while let Some((known, id)) = self.slots.get(position).copied().flatten() {
            if known == hash && self.text(id) == text {
                return Some(id);
            }
            position = (position + 1) & mask;
        }
        None
    }

    /// Adds the value of a text that is not known; `None` if the text has no value or exceeds a limit.
    #[cold]
    fn add(&mut self, hash: u64, text: &[u8], decode: fn(&[u8]) -> Option<T>) -> Option<I> {
        let size = check_name(text.len()).ok()? + size_of::<T>();
        self.growth.add(size).ok()?;
        let value = decode(text)?;
        let id = I::at(self.values.len()).ok()?;
        self.texts.extend_from_slice(text);
        self.values.push((self.texts.len(), value));
        if self.values.len() * 2 > self.slots.len() {
            let slots = vec![None; (self.slots.len() * 2).max(64)];
            let full = std::mem::replace(&mut self.slots, slots);
            for (hash, id) in full.into_iter().flatten() {
                self.fill_slot(hash, id);
            }
        }
        self.fill_slot(half(hash), id);
        Some(id)
    }

    fn fill_slot(&mut self, hash: u32, id: I) {
        let mask = self.slots.len() - 1;
        let mut position = hash as usize & mask;
        while self.slots[position].is_some() {
            position = (position + 1) & mask;
        }
        self.slots[position] = Some((hash, id));
    }
}

/// Returns the half of a hash that slots store.
#[inline]
fn half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl StreamTables {
    /// Forgets all names and frames if there are too many.
    pub(super) fn make_room(&mut self) {
        if self.names.values.len().max(self.frames.values.len()) >= MOST_KNOWN {
            *self = StreamTables::default();
        }
    }

    /// Returns the name that a text begins with, and its length.
    #[inline]
    fn first_name(&mut self, text: &[u8]) -> Option<(NameId, usize)> {
        let inner = text.strip_prefix(b"\"")?;
        let mut found = scan(inner, b'"')?;
        if inner[..found.length].ends_with(b"\\") {
            // The quote is perhaps a part of the name.
            found.length = value_length(text).ok()? - 2;
            found.hash = hash(&inner[..found.length]);
        }
        let length = found.length + 2;
        let text = &text[..length];
        let known = self.names.find(found.hash, text);
        let decode = |text: &[u8]| {
            let name: Name = serde_json::from_slice(text).ok()?;
            Some(name.into_owned())
        };
        let id = known.or_else(|| self.names.add(found.hash, text, decode))?;
        Some((id, length))
    }

    /// Returns the frame that a text begins with, and its length.
    #[inline]
    fn first_frame(&mut self, text: &[u8]) -> Option<(FrameId, usize)> {
        // A brace in a name ends the search too early. Then the text up to the brace is not a frame, so it is not known.
        let found = scan(text, b'}')?;
        let length = found.length + 1;
        if let Some(id) = self.frames.find(found.hash, &text[..length]) {
            return Some((id, length));
        }
        let length = value_length(text).ok()?;
        let text = &text[..length];
        let hash = hash(text.strip_suffix(b"}")?);
        let known = self.frames.find(hash, text);
        let decode = |text: &[u8]| {
            let frame: Frame = serde_json::from_slice(text).ok()?;
            Some(frame.into_owned())
        };
        let id = known.or_else(|| self.frames.add(hash, text, decode))?;
        Some((id, length))
    }
}

impl RowTables for StreamTables {
    fn number(&self) -> TableNumber {
        self.number
    }

    fn name(&self, _: Named, id: NameId) -> Name<'_> {
        Name::from(self.names.value(id).as_str())
    }

    fn frame(&self, id: FrameId) -> Frame<'_> {
        self.frames.value(id).clone()
    }
}

/// Buffers for the values of a line. They are reused for the next line.
#[derive(Default)]
pub(super) struct LineBuffers {
    /// The frames of the line.
    pub(super) frames: Vec<FrameId>,
    /// The counts of the line, and of earlier lines. Names of events have no escapes.
    counts: Vec<Counts<'static>>,
    /// The number of items of `counts` that belong to the line.
    counts_used: usize,
}

impl LineBuffers {
    /// Returns the counts that [`PlainFields::counts`] read.
    pub(super) fn counts(&self, position: Option<usize>) -> &Counts<'static> {
        static NONE: Counts<'static> = Counts(Vec::new());
        position.map_or(&NONE, |position| &self.counts[position])
    }
}

/// The rest of a line while its fields are read.
pub(super) struct PlainFields<'l, 'b> {
    rest: &'l [u8],
    tables: &'b mut StreamTables,
    buffers: &'b mut LineBuffers,
}

impl<'l, 'b> PlainFields<'l, 'b> {
    /// Begins a line after its type. `start` is the text up to the type.
    #[inline]
    pub(super) fn begin(
        line: &'l [u8],
        start: &str,
        tables: &'b mut StreamTables,
        buffers: &'b mut LineBuffers,
    ) -> Option<PlainFields<'l, 'b>> {
        let rest = line.strip_prefix(start.as_bytes())?;
        tables.make_room();
        buffers.frames.clear();
        buffers.counts_used = 0;
        Some(PlainFields {
            rest,
            tables,
            buffers,
        })
    }

    /// Returns true, and goes to the value, if the next field has this key. The key has a comma before it.
    #[inline]
    pub(super) fn take_key(&mut self, key: &str) -> bool {
        match self.rest.strip_prefix(key.as_bytes()) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Returns `None` unless the line ends here.
    #[inline]
    pub(super) fn end(self) -> Option<()> {
        (self.rest == b"}").then_some(())
    }

    #[inline]
    pub(super) fn name(&mut self) -> Option<NameId> {
        let (id, length) = self.tables.first_name(self.rest)?;
        self.rest = &self.rest[length..];
        Some(id)
    }

    /// Reads the name of an object, which is often the same as that of the previous line.
    #[inline]
    pub(super) fn object(&mut self) -> Option<NameId> {
        let last = self.tables.last_object;
        let text = last.map_or(&b""[..], |last| self.tables.names.text(last));
        match self.rest.strip_prefix(text) {
            Some(rest) if last.is_some() => self.rest = rest,
            _ => self.tables.last_object = Some(self.name()?),
        }
        self.tables.last_object
    }

    /// Reads the name, file and object of a function.
    #[inline]
    pub(super) fn callee(&mut self) -> Option<[Option<NameId>; 3]> {
        let mut names = [None; 3];
        let mut before = b'{';
        for (position, key) in ["\"fn\":", "\"file\":", "\"obj\":"].into_iter().enumerate() {
            if let [byte, rest @ ..] = self.rest
                && *byte == before
                && let Some(rest) = rest.strip_prefix(key.as_bytes())
            {
                self.rest = rest;
                names[position] = Some(match position {
                    2 => self.object()?,
                    _ => self.name()?,
                });
                before = b',';
            }
        }
        self.rest = match before {
            b'{' => self.rest.strip_prefix(b"{}")?,
            _ => self.rest.strip_prefix(b"}")?,
        };
        Some(names)
    }

    /// Reads a list of frames. Returns their range in the buffer.
    #[inline]
    pub(super) fn frames(&mut self) -> Option<Range<usize>> {
        let start = self.buffers.frames.len();
        let mut rest = self.rest.strip_prefix(b"[")?;
        while !rest.starts_with(b"]") {
            let (id, length) = self.tables.first_frame(rest)?;
            self.buffers.frames.push(id);
            match &rest[length..] {
                [b',', next @ ..] if next.starts_with(b"{") => rest = next,
                next @ [b']', ..] => rest = next,
                _ => return None,
            }
        }
        self.rest = &rest[1..];
        Some(start..self.buffers.frames.len())
    }

    /// Reads a text without escapes.
    #[inline]
    pub(super) fn text(&mut self) -> Option<&'l str> {
        let inner = self.rest.strip_prefix(b"\"")?;
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        let (text, after) = inner.split_at(inner.iter().position(is_special)?);
        self.rest = after.strip_prefix(b"\"")?;
        std::str::from_utf8(text).ok()
    }

    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let (number, rest) = first_number(self.rest)?;
        self.rest = rest;
        Some(number)
    }

    pub(super) fn is_so(&mut self) -> Option<bool> {
        let (is_so, length) = match self.rest {
            [b't', b'r', b'u', b'e', ..] => (true, 4),
            [b'f', b'a', b'l', b's', b'e', ..] => (false, 5),
            _ => return None,
        };
        self.rest = &self.rest[length..];
        Some(is_so)
    }

    /// Reads counts by event. Returns their position for [`LineBuffers::counts`].
    #[inline]
    pub(super) fn counts(&mut self) -> Option<usize> {
        let LineBuffers {
            counts,
            counts_used,
            ..
        } = &mut *self.buffers;
        if counts.len() == *counts_used {
            counts.push(Counts::default());
        }
        let Counts(pairs) = &mut counts[*counts_used];
        let mut rest = self.rest.strip_prefix(b"{")?;
        let mut length = 0;
        while !rest.starts_with(b"}") {
            if length > 0 {
                rest = rest.strip_prefix(b",")?;
            }
            let after = match pairs.get(length) {
                // Most lines have the events of the line before them.
                Some((event, _)) => after_event(rest, event),
                None => None,
            };
            rest = match after {
                Some(after) => after,
                None => {
                    let (event, after) = first_event(rest)?;
                    pairs.truncate(length);
                    pairs.push((event, 0));
                    after
                }
            };
            (pairs[length].1, rest) = first_count(rest)?;
            length += 1;
        }
        pairs.truncate(length);
        self.rest = &rest[1..];
        *counts_used += 1;
        Some(*counts_used - 1)
    }

    /// Parses a rare value as JSON.
    pub(super) fn parsed<T: Deserialize<'l>>(&mut self) -> Option<T> {
        let (value, rest) = self.rest.split_at(value_length(self.rest).ok()?);
        self.rest = rest;
        serde_json::from_slice(value).ok()
    }
}

/// Returns the text after the key of an event.
#[inline]
fn after_event<'l>(text: &'l [u8], event: &str) -> Option<&'l [u8]> {
    let text = text.strip_prefix(b"\"")?;
    text.strip_prefix(event.as_bytes())?.strip_prefix(b"\":")
}

/// Returns the event that a text begins with, if its name has no escapes, and the text after its key.
#[cold]
fn first_event(text: &[u8]) -> Option<(Name<'static>, &[u8])> {
    let (key, after) = text.split_at(value_length(text).ok()?);
    let event: Name = serde_json::from_slice(key).ok()?;
    let is_plain = !key.contains(&b'\\');
    is_plain.then_some((event.into_owned(), after.strip_prefix(b":")?))
}

/// Returns the number that a text begins with, and the text after it.
#[inline]
fn first_number(text: &[u8]) -> Option<(u64, &[u8])> {
    /// Numbers with so many digits fit in 64 bits.
    const DIGITS: usize = 19;
    let mut number = 0;
    let mut length = 0;
    while let Some(digit @ b'0'..=b'9') = text.get(length) {
        number = number * 10 + u64::from(digit - b'0');
        length += 1;
        if length > DIGITS {
            return None;
        }
    }
    match text {
        [b'0', ..] if length > 1 => None,
        _ if length == 0 => None,
        _ => Some((number, &text[length..])),
    }
}

/// Returns the count that a text begins with, and the text after it.
#[inline]
fn first_count(text: &[u8]) -> Option<(Count, &[u8])> {
    let Some(text) = text.strip_prefix(b"-") else {
        return first_number(text).map(|(number, rest)| (number.into(), rest));
    };
    let (number, rest) = first_number(text)?;
    let is_in_range = (1..=i64::MAX as u64).contains(&number);
    is_in_range.then_some((-Count::from(number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_json() {
        for (text, expected) in [
            ("0}", Some(0)),
            ("12,", Some(12)),
            ("-7}", Some(-7)),
            ("9999999999999999999}", Some(9_999_999_999_999_999_999)),
            // These are left to the JSON parser.
            ("18446744073709551615}", None),
            ("-9999999999999999999}", None),
            ("01}", None),
            ("-0}", None),
            ("-}", None),
            ("\"1\"", None),
            ("", None),
        ] {
            let count = first_count(text.as_bytes()).map(|(count, _)| count);
            assert_eq!(count, expected, "{text}");
        }
        assert_eq!(first_number(b"1.5"), Some((1, &b".5"[..])));
    }

    #[test]
    fn full_tables_begin_again() {
        let mut tables = StreamTables::default();
        assert!(tables.first_frame(br#"{"fn":"f"}]"#).is_some());
        let first = tables.number;
        tables
            .frames
            .values
            .resize(MOST_KNOWN, (0, Frame::default()));
        tables.make_room();
        let (frame, length) = tables.first_frame(br#"{"fn":"g"}]"#).unwrap();
        assert_eq!(length, 10);
        assert_ne!(tables.number, first);
        assert_eq!(tables.frame(frame).name.as_deref(), Some("g"));
        tables.names.values.resize(MOST_KNOWN, (0, Name::default()));
        tables.make_room();
        let (name, length) = tables.first_name(br#""a\"b\\","#).unwrap();
        assert_eq!(
            (tables.name(Named::Function, name).as_str(), length),
            ("a\"b\\", 8)
        );
    }
}
