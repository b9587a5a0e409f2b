//! The wire format of protocol buffers. Reads fields in place, without copies.

use cg_collections::limits;
use cg_reader::Error;

/// An iterator over the fields of a message, in file order.
#[derive(Clone)]
pub(super) struct MessageFields<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Offset of the message in the file, for error messages.
    start: usize,
    /// True if a truncated field is returned instead of an error.
    is_beginning: bool,
}

/// The value of a field.
#[derive(Clone, Copy)]
pub(super) enum WireValue<'a> {
    Varint(u64),
    /// A string, a message, or several numbers packed into one field.
    Bytes(MessageBytes<'a>),
    /// A number of fixed width.
    Fixed64(u64),
    /// A number of 32 bits; no reader needs its value.
    Fixed32,
}

/// The length of the fields after which the memory is checked. Tables take about 30 times as much.
const BETWEEN_CHECKS: usize = 1 << 20;

/// The bytes of a field, which may be a message, and their offset in the file.
#[derive(Clone, Copy)]
pub(super) struct MessageBytes<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) start: usize,
}

impl<'a> MessageBytes<'a> {
    /// Appends the numbers of a repeated field of this message.
    pub(super) fn push_numbers(self, field: u64, numbers: &mut Vec<u64>) -> Result<(), Broken> {
        let mut fields = self.fields();
        while let Some((number, value)) = fields.next()? {
            if number == field {
                value.push_to(numbers)?;
            }
        }
        Ok(())
    }

    pub(super) fn fields(self) -> MessageFields<'a> {
        MessageFields {
            bytes: self.bytes,
            position: 0,
            start: self.start,
            is_beginning: false,
        }
    }

    /// Returns the fields of a message that may be truncated, for recognising formats. A truncated last field has the bytes
    /// that are there.
    pub(super) fn beginning(self) -> MessageFields<'a> {
        MessageFields {
            is_beginning: true,
            ..self.fields()
        }
    }
}

/// The reason why bytes are not a valid message.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) position: usize,
    pub(super) what: &'static str,
    /// True if the message is truncated, so that more bytes could complete it.
    pub(super) is_cut: bool,
}

impl From<Broken> for Error {
    fn from(broken: Broken) -> Error {
        Error::whole(format!("byte {}: {}", broken.position, broken.what))
    }
}

impl<'a> MessageFields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> MessageFields<'a> {
        MessageBytes { bytes, start: 0 }.fields()
    }

    /// Returns the next field's number and value; `None` at the end of the message.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u64, WireValue<'a>)>, Broken> {
        if self.position == self.bytes.len() {
            return Ok(None);
        }
        let before = self.position;
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => WireValue::Varint(self.varint()?),
            1 => WireValue::Fixed64(self.fixed64()?),
            2 => {
                let length = self.varint()?;
                let rest = &self.bytes[self.position..];
                let bytes = usize::try_from(length)
                    .ok()
                    .and_then(|length| rest.get(..length));
                let bytes = match bytes {
                    Some(bytes) => bytes,
                    None if self.is_beginning => rest,
                    None => return Err(self.cut()),
                };
                let start = self.start + self.position;
                self.position += bytes.len();
                WireValue::Bytes(MessageBytes { bytes, start })
            }
            5 => {
                self.fixed::<4>()?;
                WireValue::Fixed32
            }
            _ => {
                return Err(
                    self.broken("expected a field of a protocol buffer, found another wire type")
                );
            }
        };
        if (before ^ self.position) >= BETWEEN_CHECKS && limits::check_memory(0).is_err() {
            return Err(self.broken(limits::TOO_MUCH_MEMORY));
        }
        match tag >> 3 {
            0 => Err(self.broken("expected a field of a protocol buffer, found field number 0")),
            number => Ok(Some((number, value))),
        }
    }

    fn fixed<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], Broken> {
        let bytes = self.bytes[self.position..].first_chunk();
        let bytes = *bytes.ok_or_else(|| self.cut())?;
        self.position += LENGTH;
        Ok(bytes)
    }

    fn fixed64(&mut self) -> Result<u64, Broken> {
        self.fixed().map(u64::from_le_bytes)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Broken> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.bytes.get(self.position) else {
                return Err(self.cut());
            };
            self.position += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                // The tenth byte holds only one bit of the number.
                return if shift == 63 && *byte > 1 {
                    Err(self.broken("expected a number of at most 64 bits, found a larger one"))
                } else {
                    Ok(value)
                };
            }
        }
        Err(self.broken("expected a number of at most 64 bits, found a larger one"))
    }

    fn cut(&self) -> Broken {
        Broken {
            is_cut: true,
            ..self.broken("expected more of a message, found its end: it is cut short")
        }
    }

    fn broken(&self, what: &'static str) -> Broken {
        Broken {
            position: self.start + self.position,
            what,
            is_cut: false,
        }
    }
}

impl<'a> WireValue<'a> {
    /// Returns the number; 0 for a value of another kind. An absent field is also 0, because proto3 omits zeros.
    pub(super) fn number(self) -> u64 {
        match self {
            WireValue::Varint(number) | WireValue::Fixed64(number) => number,
            WireValue::Bytes(_) | WireValue::Fixed32 => 0,
        }
    }

    /// Returns the number as a signed number.
    pub(super) fn signed(self) -> i64 {
        self.number() as i64
    }

    /// Returns the message or string; `None` for a number.
    pub(super) fn message(self) -> Option<MessageBytes<'a>> {
        match self {
            WireValue::Bytes(message) => Some(message),
            WireValue::Varint(_) | WireValue::Fixed64(_) | WireValue::Fixed32 => None,
        }
    }

    /// Appends the numbers of a field of one sample: one number, or several packed ones.
    #[inline]
    pub(super) fn push_to(self, numbers: &mut Vec<u64>) -> Result<(), Broken> {
        self.push_many_to(numbers)?;
        match numbers.len() {
            0..=limits::ITEMS => Ok(()),
            _ => Err(self.exceeded("expected at most 1048576 numbers in a field, found more")),
        }
    }

    /// Appends the numbers of a field that concerns many samples.
    #[inline]
    pub(super) fn push_many_to(self, numbers: &mut Vec<u64>) -> Result<(), Broken> {
        match self {
            WireValue::Varint(number) | WireValue::Fixed64(number) => numbers.push(number),
            WireValue::Bytes(message) => {
                let most = message.bytes.len() * size_of::<u64>();
                if most >= BETWEEN_CHECKS && limits::check_memory(most).is_err() {
                    return Err(self.exceeded(limits::TOO_MUCH_MEMORY));
                }
                let mut packed = message.fields();
                while packed.position < packed.bytes.len() {
                    numbers.push(packed.varint()?);
                }
            }
            WireValue::Fixed32 => {}
        }
        Ok(())
    }

    #[cold]
    fn exceeded(self, what: &'static str) -> Broken {
        Broken {
            position: self.message().map_or(0, |message| message.start),
            what,
            is_cut: false,
        }
    }
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u64, u64)>, &'static str> {
        let mut fields = MessageFields::new(bytes);
        let mut found = Vec::new();
        loop {
            match fields.next() {
                Ok(Some((number, value))) => found.push((number, value.number())),
                Ok(None) => return Ok(found),
                Err(broken) => return Err(broken.what),
            }
        }
    }

    #[test]
    fn numbers_have_at_most_64_bits() {
        let largest = [&[0x08][..], &[0xff; 9], &[0x01]].concat();
        assert_eq!(all(&largest), Ok(vec![(1, u64::MAX)]));
        assert!(all(&[&[0x08][..], &[0xff; 9], &[0x02]].concat()).is_err());
        assert!(all(&[&[0x08][..], &[0xff; 11]].concat()).is_err());
    }

    #[test]
    fn numbers_of_one_sample_are_limited() {
        let bytes = vec![1; limits::ITEMS + 1];
        let field = |length| {
            WireValue::Bytes(MessageBytes {
                bytes: &bytes[..length],
                start: 7,
            })
        };
        let mut numbers = Vec::new();
        assert!(field(limits::ITEMS).push_to(&mut numbers).is_ok());
        let mut numbers = Vec::new();
        let broken = field(limits::ITEMS + 1).push_to(&mut numbers).unwrap_err();
        assert_eq!(broken.position, 7);
        let mut numbers = Vec::new();
        assert!(field(limits::ITEMS + 1).push_many_to(&mut numbers).is_ok());
    }

    #[test]
    fn fields_of_other_types_are_skipped() {
        // A double, a string, a 32-bit number, then field 2 = 5.
        let bytes = [
            &[0x09][..],
            &[0; 8],
            &[0x12, 2, b'h', b'i'],
            &[0x1d, 0, 0, 0, 0],
            &[0x10, 5],
        ];
        assert_eq!(
            all(&bytes.concat()),
            Ok(vec![(1, 0), (2, 0), (3, 0), (2, 5)])
        );
    }

    #[test]
    fn bytes_that_are_not_a_message_are_an_error() {
        for bytes in [
            &[0x0b][..],
            &[0x00, 0x00],
            &[0x0a, 200],
            &[0x08],
            &[0x0a, 0xff, 0xff],
        ] {
            assert!(all(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn packed_and_single_numbers_are_one_list() {
        let mut fields = MessageFields::new(&[0x0a, 3, 1, 0x80, 1, 0x08, 7]);
        let mut numbers = Vec::new();
        while let Some((_, value)) = fields.next().unwrap() {
            value.push_to(&mut numbers).unwrap();
        }
        assert_eq!(numbers, [1, 128, 7]);
    }
}
