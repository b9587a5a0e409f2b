//! An encoder for messages of protocol buffers, limited to the types that profiles need: numbers, texts, messages, and lists
//! of numbers.

use std::io::{self, Write};

/// The wire type of a number.
const VARINT: u32 = 0;
/// The wire type of a length followed by this number of bytes.
const LENGTH: u32 = 2;

/// The fields of a message.
#[derive(Default)]
pub(super) struct MessageBuilder {
    bytes: Vec<u8>,
    list: Vec<u8>,
}

impl MessageBuilder {
    /// Adds a number, except 0, which proto3 omits.
    pub(super) fn number(&mut self, field: u32, number: u64) {
        if number != 0 {
            self.key(field, VARINT);
            varint(&mut self.bytes, number);
        }
    }

    /// Adds a text, even if it is empty.
    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.key(field, LENGTH);
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Adds a nested message and empties `inner`.
    pub(super) fn message(&mut self, field: u32, inner: &mut MessageBuilder) {
        self.key(field, LENGTH);
        varint(&mut self.bytes, inner.bytes.len() as u64);
        self.bytes.append(&mut inner.bytes);
    }

    /// Adds a list of numbers.
    pub(super) fn packed(&mut self, field: u32, numbers: impl Iterator<Item = u64>) {
        self.list.clear();
        numbers.for_each(|number| varint(&mut self.list, number));
        self.key(field, LENGTH);
        varint(&mut self.bytes, self.list.len() as u64);
        self.bytes.extend_from_slice(&self.list);
    }

    /// Writes the fields and empties the message.
    pub(super) fn write_to(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    fn key(&mut self, field: u32, kind: u32) {
        varint(&mut self.bytes, u64::from(field << 3 | kind));
    }
}

/// Adds a varint: seven bits per byte, lowest bits first. The highest bit of a byte means that more bytes follow.
fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_equal_the_examples_of_the_specification() {
        // https://protobuf.dev/programming-guides/encoding has these examples: 150 is 96 01, "testing" in field 2, a message
        // in field 3, a list in field 6, and -2 with ten bytes.
        let mut message = MessageBuilder::default();
        let mut inner = MessageBuilder::default();
        message.number(1, 150);
        message.number(9, 0);
        message.text(2, "testing");
        inner.number(1, 150);
        message.message(3, &mut inner);
        message.packed(6, [3, 270, 86942].into_iter());
        message.number(7, (-2_i64).cast_unsigned());
        let mut bytes = Vec::new();
        message.write_to(&mut bytes).unwrap();
        let expected: &[&[u8]] = &[
            &[0x08, 0x96, 0x01],
            b"\x12\x07testing",
            &[0x1a, 0x03, 0x08, 0x96, 0x01],
            &[0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05],
            &[
                0x38, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
            ],
        ];
        assert_eq!(bytes, expected.concat());
    }
}
