//! The data of a page: a header, each text once, and arrays of integers.
//!
//! The layout before compression with zlib: the length of the header (4 bytes, little-endian), the header (JSON), all texts
//! separated by the header's `separator`, then the arrays in LEB128. The header's `arrays` lists the name, length and form of
//! each array. Its `aliases` lists the names of arrays that equal another array.

use std::io::{self, Write as _};
use std::ops::Range;

use cg_collections::maps::OrderedSet;
use cg_stream::record::Count;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Map, Value, json};

/// The style of the viewer, which the script adds to the page.
const STYLE: &str = include_str!("sent/viewer.css");

/// JavaScript numbers represent all integers up to this one.
const EXACT: u128 = 1 << 53;

/// The forms of an array, as flags.
mod form {
    /// Numbers may be negative, and have zigzag encoding.
    pub(super) const SIGNED: u8 = 1;
    /// 0 means that there is no number, and all numbers are increased by one.
    pub(super) const OPTIONAL: u8 = 2;
    /// Each number is the difference to the previous one, which implies [`SIGNED`].
    pub(super) const RISING: u8 = 4;
    /// Counts, which are big integers if any sum of the page reaches 2^53.
    pub(super) const COUNT: u8 = 8;
}

/// The id of a text. 0 is the empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageText(pub u32);

/// Equal arrays of at most this many bytes are not shared.
const LEAST_SHARED: usize = 64;

/// Longer arrays are compressed with separate codes, because their bytes have another distribution.
const LEAST_APART: usize = 1024;

/// The maximum number of numbers to compress for choosing the form of an array.
const MOST_TRIED: usize = 1 << 14;

/// An array, and the place of its bytes.
struct WrittenArray {
    name: String,
    length: usize,
    form: u8,
    place: Range<usize>,
}

/// The data while they are collected.
pub struct PageData {
    /// The header, which has all facts other than texts and arrays.
    pub header: Map<String, Value>,
    texts: OrderedSet<Box<str>>,
    arrays: Vec<WrittenArray>,
    bytes: Vec<u8>,
    /// Names of arrays that equal another array, each with the name of that array.
    aliases: Vec<Value>,
    /// True if any sum of counts reaches [`EXACT`].
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
    /// Returns the id of a text, and adds the text if it is new.
    pub fn text(&mut self, text: &str) -> PageText {
        let id = match self.texts.get_index_of(text) {
            Some(known) => known,
            None => self.texts.insert_full(text.into()).0,
        };
        // A file that fits in memory has far fewer texts than there are ids.
        PageText(u32::try_from(id).unwrap_or_default())
    }

    /// Returns the text of an id.
    pub fn text_with(&self, id: PageText) -> &str {
        self.texts
            .get_index(id.0 as usize)
            .map_or("", |text| text.as_ref())
    }

    /// Returns the id of a text; the id of the empty text for `None`.
    pub fn optional_text(&mut self, text: Option<&str>) -> PageText {
        text.map_or(PageText::default(), |text| self.text(text))
    }

    /// Adds an array of ids, lines or other numbers that are not counts.
    pub fn numbers<T: Into<u64>>(&mut self, name: &str, numbers: impl IntoIterator<Item = T>) {
        let numbers = numbers.into_iter();
        let numbers: Vec<Option<Count>> = numbers
            .map(|number| Some(Count::from(number.into())))
            .collect();
        self.ordinals(name, &numbers);
    }

    /// Adds an array of counts; `None` for unknown ones.
    pub fn counts(&mut self, name: &str, counts: &[Option<Count>]) {
        let sum = counts.iter().flatten().map(|count| count.unsigned_abs());
        self.note_sum(sum.fold(0, u128::saturating_add));
        self.array(name, form::COUNT, counts);
    }

    /// Adds an array of ids, lines or other numbers that are not counts; `None` for unknown ones.
    pub fn ordinals(&mut self, name: &str, numbers: &[Option<Count>]) {
        self.array(name, 0, numbers);
    }

    /// Records a sum that the page shows.
    pub fn note_sum(&mut self, sum: u128) {
        self.is_big |= sum >= EXACT;
    }

    /// Adds an array, or an alias if another array has the same bytes.
    fn array(&mut self, name: &str, form: u8, numbers: &[Option<Count>]) {
        // Numbers in order compress better as differences, others as they are.
        let tried = &numbers[..numbers.len().min(MOST_TRIED)];
        let plain = encoded(form, tried);
        let rising = encoded(form | form::RISING, tried);
        let (chosen, best) = match packed_size(&rising.1) < packed_size(&plain.1) {
            true => (form | form::RISING, rising),
            false => (form, plain),
        };
        let (form, bytes) = match tried.len() == numbers.len() {
            true => best,
            false => encoded(chosen, numbers),
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

    /// Returns the compressed data.
    ///
    /// # Errors
    /// Returns an error if no character is left to separate the texts.
    pub fn packed(mut self) -> io::Result<Vec<u8>> {
        let separator = self.separator()?.to_string();
        let texts: Vec<&str> = self.texts.iter().map(|text| &**text).collect();
        let texts = texts.join(&separator);
        let arrays = self.arrays.iter();
        let arrays = arrays.map(|array| json!([array.name, array.length, array.form]));
        let arrays: Value = arrays.collect();
        self.header.insert("style".to_owned(), STYLE.into());
        self.header.insert("texts".to_owned(), texts.len().into());
        self.header.insert("separator".to_owned(), separator.into());
        self.header.insert("big".to_owned(), self.is_big.into());
        self.header.insert("arrays".to_owned(), arrays);
        self.header
            .insert("aliases".to_owned(), self.aliases.into());
        let header = Value::Object(self.header).to_string();
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
        // The header grows with the number of events, so it never reaches 4 GB.
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

    /// Returns a character that no text contains: a line feed if possible.
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
        free.ok_or_else(|| io::Error::other("the names contain every Unicode character"))
    }
}

/// Returns the compressed size of bytes.
fn packed_size(bytes: &[u8]) -> u64 {
    let mut packer = ZlibEncoder::new(io::sink(), Compression::fast());
    match packer.write_all(bytes).and_then(|()| packer.try_finish()) {
        Ok(()) => packer.total_out(),
        Err(_) => u64::MAX,
    }
}

/// Encodes numbers. Adds the flags that the numbers need to `form`. Returns the form and the bytes.
fn encoded(mut form: u8, numbers: &[Option<Count>]) -> (u8, Vec<u8>) {
    if numbers.iter().any(Option::is_none) {
        form |= form::OPTIONAL;
    }
    if form & form::RISING != 0 || numbers.iter().flatten().any(|number| *number < 0) {
        form |= form::SIGNED;
    }
    let mut bytes = Vec::with_capacity(numbers.len() * 2);
    // Differences of these numbers fit in 64 bits even with zigzag encoding.
    let is_small = |number: &Count| number.unsigned_abs() < 1 << 60;
    if numbers.iter().flatten().all(is_small) {
        encode_small(form, numbers, &mut bytes);
        return (form, bytes);
    }
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

/// Encodes numbers below 2^60, as [`encoded`] does.
fn encode_small(form: u8, numbers: &[Option<Count>], bytes: &mut Vec<u8>) {
    let has = |flag: u8| form & flag != 0;
    let (is_rising, is_signed) = (has(form::RISING), has(form::SIGNED));
    let least = u64::from(has(form::OPTIONAL));
    let mut before = 0;
    for number in numbers {
        let Some(number) = number else {
            bytes.push(0);
            continue;
        };
        let number = *number as i64;
        let mut written = number;
        if is_rising {
            written -= before;
            before = number;
        }
        if is_signed {
            written = (written << 1) ^ (written >> 63);
        }
        let mut written = written.cast_unsigned() + least;
        while written >= 0x80 {
            bytes.push(written as u8 | 0x80);
            written >>= 7;
        }
        bytes.push(written as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of the script read the same bytes (`script/tests/viewer.test.mjs`).
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
    fn numbers_of_all_sizes_have_the_same_form() {
        let numbers: Vec<Option<Count>> = (0..60)
            .flat_map(|bit| [Some(1 << bit), None, Some(-((1 << bit) - 1)), Some(0)])
            .collect();
        // A number of 64 bits selects the other way to encode.
        let with_large = [&numbers[..], &[Some(Count::from(u64::MAX))]].concat();
        for form in [0, form::RISING] {
            let (small_form, small) = encoded(form, &numbers);
            let (large_form, large) = encoded(form, &with_large);
            assert_eq!(small_form, large_form);
            assert_eq!(small, large[..small.len()]);
            assert!(large.len() >= small.len() + 9);
        }
    }

    #[test]
    fn the_separator_is_a_character_that_no_text_contains() {
        let mut data = PageData::default();
        data.text("two words");
        assert_eq!(data.separator().unwrap(), '\n');
        data.text("two\nlines\0\u{1}\u{2}");
        assert_eq!(data.separator().unwrap(), '\u{3}');
    }

    #[test]
    fn texts_and_arrays_are_stored_once() {
        let mut data = PageData::default();
        assert_eq!(data.text("a"), data.text("a"));
        assert_eq!(data.optional_text(None), data.text(""));
        let counts: Vec<Option<Count>> = (0..100).map(|count| Some(count * 7)).collect();
        data.counts("first", &counts);
        data.counts("second", &counts);
        assert_eq!((data.arrays.len(), data.aliases.len()), (1, 1));
        assert!(!data.is_big);
        data.counts("third", &[Some(Count::from(u64::MAX))]);
        assert!(data.is_big);
    }
}
