//! Protocol buffers for tests.

/// A message of a protocol buffer, written field by field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(crate) fn number(mut self, field: u64, number: i64) -> Message {
        self.varint(field << 3);
        self.varint(number as u64);
        self
    }

    pub(crate) fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn message(self, field: u64, message: Message) -> Message {
        self.bytes(field, &message.0)
    }

    pub(crate) fn packed(self, field: u64, numbers: &[i64]) -> Message {
        let mut packed = Message::default();
        for number in numbers {
            packed.varint(*number as u64);
        }
        self.message(field, packed)
    }
}

pub(crate) fn message() -> Message {
    Message::default()
}
