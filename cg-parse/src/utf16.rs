//! Conversion of UTF-16, which programs on Windows write, to UTF-8.

use std::io::{self, BufRead, BufReader, Read};

/// The order of the two bytes of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    LittleEndian,
    BigEndian,
}

impl ByteOrder {
    /// Returns the byte order for a text that begins with a UTF-16 byte order mark.
    pub(crate) fn from_mark(mark: &[u8]) -> Option<ByteOrder> {
        match mark {
            [0xff, 0xfe, ..] => Some(ByteOrder::LittleEndian),
            [0xfe, 0xff, ..] => Some(ByteOrder::BigEndian),
            _ => None,
        }
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::LittleEndian => u16::from_le_bytes(bytes),
            ByteOrder::BigEndian => u16::from_be_bytes(bytes),
        }
    }
}

/// Reads a UTF-16 text, after its byte order mark, as UTF-8. Unpaired surrogates become U+FFFD, and so does half a unit at
/// the end.
pub(crate) struct Utf16<R> {
    input: BufReader<R>,
    order: ByteOrder,
    /// The first half of a surrogate pair, whose second half has not been read yet.
    held: Option<u16>,
    /// Decoded text.
    decoded: String,
    /// The number of bytes of `decoded` that were returned.
    handed_out: usize,
}

impl<R: Read> Utf16<R> {
    pub(crate) fn new(input: R, order: ByteOrder) -> Utf16<R> {
        Utf16 {
            input: BufReader::new(input),
            order,
            held: None,
            decoded: String::new(),
            handed_out: 0,
        }
    }

    /// Decodes the buffered input, and completes a unit that ends in the next buffer. Returns false at the end of the input.
    fn decode(&mut self) -> io::Result<bool> {
        let mut units: Vec<u16> = self.held.take().into_iter().collect();
        let buffered = self.input.fill_buf()?;
        let is_at_end = buffered.is_empty();
        let length = buffered.len();
        if length == 1 {
            // The unit is split between two reads.
            let mut unit = [buffered[0], 0];
            self.input.consume(1);
            let second = self.input.fill_buf()?.first().copied();
            match second {
                Some(second) => {
                    unit[1] = second;
                    self.input.consume(1);
                    units.push(self.order.unit(unit));
                }
                None => self.decoded.push(char::REPLACEMENT_CHARACTER),
            }
        } else {
            let pairs = buffered.chunks_exact(2);
            units.extend(pairs.map(|pair| self.order.unit([pair[0], pair[1]])));
            self.input.consume(length / 2 * 2);
        }
        let is_first_half = |unit: &u16| (0xd800..0xdc00).contains(unit);
        if !is_at_end && units.last().is_some_and(is_first_half) {
            self.held = units.pop();
        }
        let characters = char::decode_utf16(units);
        self.decoded
            .extend(characters.map(|found| found.unwrap_or(char::REPLACEMENT_CHARACTER)));
        Ok(!is_at_end)
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.handed_out == self.decoded.len() {
            self.decoded.clear();
            self.handed_out = 0;
            if !self.decode()? && self.decoded.is_empty() {
                return Ok(0);
            }
        }
        let rest = &self.decoded.as_bytes()[self.handed_out..];
        let length = rest.len().min(out.len());
        out[..length].copy_from_slice(&rest[..length]);
        self.handed_out += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns at most this number of bytes per read.
    struct InPieces<'a>(&'a [u8], usize);
    impl Read for InPieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(out.len());
            self.0.read(&mut out[..length])
        }
    }

    #[test]
    fn text_does_not_depend_on_the_sizes_of_reads() {
        let text = "main;caf\u{e9};\u{1f600} 3\r\n";
        for order in [ByteOrder::LittleEndian, ByteOrder::BigEndian] {
            let bytes = |unit: u16| match order {
                ByteOrder::LittleEndian => unit.to_le_bytes(),
                ByteOrder::BigEndian => unit.to_be_bytes(),
            };
            let encoded: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
            for piece in [1, 2, 3, 7, 100] {
                let mut decoded = String::new();
                let mut reader = Utf16::new(InPieces(&encoded, piece), order);
                reader.read_to_string(&mut decoded).unwrap();
                assert_eq!(decoded, text, "{order:?}, {piece} bytes per read");
            }
            // A truncated input yields the beginning of the text.
            for length in 0..encoded.len() {
                let mut decoded = String::new();
                let mut reader = Utf16::new(&encoded[..length], order);
                reader.read_to_string(&mut decoded).unwrap();
                let whole = decoded.trim_end_matches(char::REPLACEMENT_CHARACTER);
                assert!(text.starts_with(whole), "{decoded}");
            }
        }
    }
}
