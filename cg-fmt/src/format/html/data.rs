//! The data of a page: a header, every text once, and arrays of whole numbers.
//!
//! The bytes, before they are packed with zlib: the length of the header (4 bytes, the low ones first), the header (JSON),
//! all texts, with the header's `separator` between them, then the arrays, in LEB128. The header's `arrays` lists these: name,
//! length, form, and `aliases` the names of those that are the same as others.

use std::io::{self, Write as _};
use std::ops::Range;

use cg_stream::maps::OrderedSet;
use cg_stream::record::Count;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Map, Value, json};

/// A script counts exactly up to here without big integers.
const EXACT: u128 = 1 << 53;

/// How an array is written; the forms add up.
mod form {
    /// Numbers may be negative: they are written as zigzag.
    pub(super) const SIGNED: u8 = 1;
    /// 0 stands for none, and all others are one more.
    pub(super) const OPTIONAL: u8 = 2;
    /// Each number is written as the difference to the one before, which implies [`SIGNED`].
    pub(super) const RISING: u8 = 4;
    /// Counts, which are big integers in a page where any sum is beyond 2^53.
    pub(super) const COUNT: u8 = 8;
}

/// A text of a page. 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PageText(pub(super) u32);

/// Shorter arrays are written again where they are the same.
const LEAST_SHARED: usize = 64;

/// What is longer is packed by codes of its own, since its bytes are distributed as no other's.
const LEAST_APART: usize = 1024;

/// So many bytes of an array tell in which form it is packed best.
const MOST_TRIED: usize = 1 << 16;

/// An array, and where its bytes are.
struct WrittenArray {
    name: String,
    length: usize,
    form: u8,
    place: Range<usize>,
}

/// The data while they are collected.
pub(super) struct PageData {
    pub(super) header: Map<String, Value>,
    texts: OrderedSet<Box<str>>,
    arrays: Vec<WrittenArray>,
    bytes: Vec<u8>,
    /// Names of arrays that are the same as others, each with the name of that one.
    aliases: Vec<Value>,
    /// Some sum of counts is beyond [`EXACT`].
    is_big: bool,
}

impl Default for PageData {
    fn default() -> PageData {
        let mut texts = OrderedSet::default();
        texts.insert("".into());
        PageData {
            header: Map::new(),
            texts,
            arrays: Vec::new(),
            bytes: Vec::new(),
            aliases: Vec::new(),
            is_big: false,
        }
    }
}

impl PageData {
    /// The id of a text.
    pub(super) fn text(&mut self, text: &str) -> PageText {
        let id = match self.texts.get_index_of(text) {
            Some(known) => known,
            None => self.texts.insert_full(text.into()).0,
        };
        // There are fewer texts than bytes of a file that fits into memory, and far fewer than ids.
        PageText(u32::try_from(id).unwrap_or_default())
    }

    /// The text of an id.
    pub(super) fn text_with(&self, id: PageText) -> &str {
        self.texts
            .get_index(id.0 as usize)
            .map_or("", |text| text.as_ref())
    }

    /// The id of a text, that of the empty one where there is none.
    pub(super) fn text_of(&mut self, text: Option<&str>) -> PageText {
        text.map_or(PageText::default(), |text| self.text(text))
    }

    /// Adds an array of numbers that name something: ids, lines.
    pub(super) fn numbers<T: Into<u64>>(
        &mut self,
        name: &str,
        numbers: impl IntoIterator<Item = T>,
    ) {
        let numbers = numbers.into_iter();
        let numbers: Vec<Option<Count>> = numbers
            .map(|number| Some(Count::from(number.into())))
            .collect();
        self.ordinals(name, &numbers);
    }

    /// Adds an array of counts, of which some may be unknown.
    pub(super) fn counts(&mut self, name: &str, counts: &[Option<Count>]) {
        let sum = counts.iter().flatten().map(|count| count.unsigned_abs());
        self.note_sum(sum.fold(0, u128::saturating_add));
        self.array(name, form::COUNT, counts);
    }

    /// Adds an array of numbers that name something, of which some may be unknown.
    pub(super) fn ordinals(&mut self, name: &str, numbers: &[Option<Count>]) {
        self.array(name, 0, numbers);
    }

    /// Takes notice of a sum that the page shows.
    pub(super) fn note_sum(&mut self, sum: u128) {
        self.is_big |= sum >= EXACT;
    }

    /// Adds an array; one of the same bytes as another is told by the name of that one.
    fn array(&mut self, name: &str, form: u8, numbers: &[Option<Count>]) {
        // Numbers in order are packed best by the steps between them, others as they are.
        let plain = encoded(form, numbers);
        let rising = encoded(form | form::RISING, numbers);
        let (form, bytes) = match packed_size(&rising.1) < packed_size(&plain.1) {
            true => rising,
            false => plain,
        };
        let known = self.arrays.iter().find(|known| {
            let is_long = bytes.len() > LEAST_SHARED;
            is_long && known.form == form && self.bytes[known.place.clone()] == bytes
        });
        match known {
            Some(known) => {
                let alias = json!([name, known.name]);
                self.aliases.push(alias);
            }
            None => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(&bytes);
                self.arrays.push(WrittenArray {
                    name: name.to_owned(),
                    length: numbers.len(),
                    form,
                    place: start..self.bytes.len(),
                });
            }
        }
    }

    /// All of it, packed.
    ///
    /// # Errors
    /// Where no letter is left to stand between the texts.
    pub(super) fn packed(mut self) -> io::Result<Vec<u8>> {
        let separator = self.separator()?.to_string();
        let texts: Vec<&str> = self.texts.iter().map(|text| &**text).collect();
        let texts = texts.join(&separator);
        let arrays = self.arrays.iter();
        let arrays = arrays.map(|array| json!([array.name, array.length, array.form]));
        let arrays: Value = arrays.collect();
        self.header.insert("texts".to_owned(), texts.len().into());
        self.header.insert("separator".to_owned(), separator.into());
        self.header.insert("big".to_owned(), self.is_big.into());
        self.header.insert("arrays".to_owned(), arrays);
        self.header
            .insert("aliases".to_owned(), self.aliases.into());
        let header = Value::Object(self.header).to_string();
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
        // A header of 4 GB would be one of as many events.
        packer.write_all(&(header.len() as u32).to_le_bytes())?;
        packer.write_all(header.as_bytes())?;
        packer.write_all(texts.as_bytes())?;
        let mut last = texts.len();
        for array in &self.arrays {
            let bytes = &self.bytes[array.place.clone()];
            if last.max(bytes.len()) > LEAST_APART {
                packer.flush()?;
            }
            packer.write_all(bytes)?;
            last = bytes.len();
        }
        packer.finish()
    }

    /// A letter that no text has: the end of a line, but where a name has that.
    fn separator(&self) -> io::Result<char> {
        if !self.texts.iter().any(|text| text.contains('\n')) {
            return Ok('\n');
        }
        let mut is_taken = vec![false; char::MAX as usize + 1];
        for letter in self.texts.iter().flat_map(|text| text.chars()) {
            is_taken[letter as usize] = true;
        }
        let mut letters = '\0'..=char::MAX;
        let free = letters.find(|letter| !is_taken[*letter as usize]);
        free.ok_or_else(|| io::Error::other("the names have every letter that there is"))
    }
}

/// About how many bytes are left of some when they are packed.
fn packed_size(bytes: &[u8]) -> u64 {
    let mut packer = ZlibEncoder::new(io::sink(), Compression::fast());
    let sample = &bytes[..bytes.len().min(MOST_TRIED)];
    match packer.write_all(sample).and_then(|()| packer.try_finish()) {
        // Of arrays that differ in length the rest counts too.
        Ok(()) => packer.total_out() * bytes.len().max(1) as u64 / sample.len().max(1) as u64,
        Err(_) => u64::MAX,
    }
}

/// Numbers in a form, to which it adds what they need: the form they have then, and their bytes.
fn encoded(mut form: u8, numbers: &[Option<Count>]) -> (u8, Vec<u8>) {
    if numbers.iter().any(Option::is_none) {
        form |= form::OPTIONAL;
    }
    if form & form::RISING != 0 || numbers.iter().flatten().any(|number| *number < 0) {
        form |= form::SIGNED;
    }
    let mut bytes = Vec::with_capacity(numbers.len() * 2);
    let mut before = 0;
    for number in numbers {
        let Some(number) = number else {
            bytes.push(0);
            continue;
        };
        let mut written = *number;
        if form & form::RISING != 0 {
            written -= before;
            before = *number;
        }
        let mut written = match form & form::SIGNED {
            0 => written.unsigned_abs(),
            _ => (written.cast_unsigned() << 1) ^ (written >> 127).cast_unsigned(),
        };
        written += u128::from(form & form::OPTIONAL != 0);
        while written >= 0x80 {
            bytes.push(written as u8 | 0x80);
            written >>= 7;
        }
        bytes.push(written as u8);
    }
    (form, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The script's own tests read the same bytes (`viewer/tests/viewer.test.mjs`).
    #[test]
    fn numbers_are_written_in_the_form_that_they_need() {
        use form::{COUNT, OPTIONAL, RISING, SIGNED};
        let all = |numbers: &[Count]| numbers.iter().copied().map(Some).collect::<Vec<_>>();
        for (form, numbers, expected) in [
            (
                0,
                all(&[0, 127, 128, 300]),
                (0, vec![0, 127, 128, 1, 172, 2]),
            ),
            (0, all(&[0, -1, 1, -2]), (SIGNED, vec![0, 1, 2, 3])),
            (0, vec![None, Some(0), Some(1)], (OPTIONAL, vec![0, 1, 2])),
            (
                RISING,
                all(&[10, 11, 10]),
                (RISING | SIGNED, vec![20, 2, 1]),
            ),
            (
                COUNT,
                vec![None, Some(-1), Some(1)],
                (COUNT | OPTIONAL | SIGNED, vec![0, 2, 3]),
            ),
        ] {
            assert_eq!(encoded(form, &numbers), expected, "{form} {numbers:?}");
        }
    }

    #[test]
    fn texts_are_told_apart_by_a_letter_that_none_has() {
        let mut data = PageData::default();
        data.text("two words");
        assert_eq!(data.separator().unwrap(), '\n');
        data.text("two\nlines\0\u{1}\u{2}");
        assert_eq!(data.separator().unwrap(), '\u{3}');
    }

    #[test]
    fn a_text_is_held_once_and_an_array_of_the_same_bytes_too() {
        let mut data = PageData::default();
        assert_eq!(data.text("a"), data.text("a"));
        assert_eq!(data.text_of(None), data.text(""));
        let counts: Vec<Option<Count>> = (0..100).map(|count| Some(count * 7)).collect();
        data.counts("first", &counts);
        data.counts("second", &counts);
        assert_eq!((data.arrays.len(), data.aliases.len()), (1, 1));
        assert!(!data.is_big);
        data.counts("third", &[Some(Count::from(u64::MAX))]);
        assert!(data.is_big);
    }
}
