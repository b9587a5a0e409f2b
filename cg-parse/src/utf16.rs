//! Text in UTF-16, as programs of Windows write it, as UTF-8.

use std::io::{self, BufRead, BufReader, Read};

/// The order of the two bytes of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    LittleEndian,
    BigEndian,
}

impl ByteOrder {
    /// The order that a mark at the beginning of a text tells.
    pub(crate) fn of_mark(mark: &[u8]) -> Option<ByteOrder> {
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

/// The UTF-8 of a text in UTF-16, behind its mark. What is no character becomes U+FFFD, and so does half a unit at the end.
pub(crate) struct Utf16<R> {
    input: BufReader<R>,
    order: ByteOrder,
    /// The first half of a pair, or a unit that was read to see whether it is the second one.
    held: Option<u16>,
    /// What is decoded and not yet handed out.
    decoded: String,
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

    /// Decodes what is buffered of the input, and a unit that it breaks off in; false at its end.
    fn decode(&mut self) -> io::Result<bool> {
        let mut units: Vec<u16> = self.held.take().into_iter().collect();
        let buffered = self.input.fill_buf()?;
        let is_at_end = buffered.is_empty();
        let length = buffered.len();
        if length == 1 {
            // A unit that stands across two reads.
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

    /// Hands out so many bytes a read.
    struct InPieces<'a>(&'a [u8], usize);
    impl Read for InPieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(out.len());
            self.0.read(&mut out[..length])
        }
    }

    #[test]
    fn text_is_the_same_however_it_arrives() {
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
                assert_eq!(decoded, text, "{order:?}, {piece} bytes a read");
            }
            // Whatever it is cut at, the beginning stands.
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
