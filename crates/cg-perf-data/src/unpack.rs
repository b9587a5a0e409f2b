//! Records that perf packed while it recorded (`perf record -z`): one zstd stream (RFC 8878) in pieces, each the body of a
//! record. Neither blocks of it nor records in it end where pieces do.

use std::io::Read as _;

use ruzstd::decoding::FrameDecoder;

use crate::fields::FileEndian;

/// Takes pieces, hands out records.
pub(crate) struct RecordUnpacker {
    decoder: FrameDecoder,
    /// Inside a frame, whose header has been read.
    is_begun: bool,
    packed: Vec<u8>,
    packed_start: usize,
    unpacked: Vec<u8>,
    unpacked_start: usize,
}

/// A block without content that is the frame's last, and room for a checksum.
const LAST_BLOCK: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

impl RecordUnpacker {
    pub(crate) fn new() -> RecordUnpacker {
        RecordUnpacker {
            decoder: FrameDecoder::new(),
            is_begun: false,
            packed: Vec::new(),
            packed_start: 0,
            unpacked: Vec::new(),
            unpacked_start: 0,
        }
    }

    /// Adds a piece.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.packed.drain(..self.packed_start);
        self.packed_start = 0;
        self.packed.extend_from_slice(piece);
    }

    /// Puts the next record that is whole into `record`, with its header; false where there is none yet.
    pub(crate) fn next(
        &mut self,
        endian: FileEndian,
        record: &mut Vec<u8>,
    ) -> Result<bool, String> {
        loop {
            let waiting = &self.unpacked[self.unpacked_start..];
            if let Some(size) = waiting.get(6..8) {
                let size = usize::from(endian.u16([size[0], size[1]]));
                if size < 8 {
                    return Err(format!(
                        "expected a record in packed data, found one of {size} bytes"
                    ));
                }
                if let Some(whole) = waiting.get(..size) {
                    record.clear();
                    record.extend_from_slice(whole);
                    self.unpacked_start += size;
                    return Ok(true);
                }
            }
            if !self.unpack_block()? {
                return Ok(false);
            }
        }
    }

    /// Ends the stream, which perf leaves open: a decoder holds back what later blocks may refer to. True where that made
    /// more records.
    pub(crate) fn finish(&mut self) -> Result<bool, String> {
        if !self.is_begun {
            return Ok(false);
        }
        self.feed(LAST_BLOCK)?;
        self.is_begun = false;
        Ok(true)
    }

    /// How many bytes are left over that make no record.
    pub(crate) fn left_over(&self) -> usize {
        (self.unpacked.len() - self.unpacked_start) + (self.packed.len() - self.packed_start)
    }

    /// Unpacks one block; false where none is whole.
    fn unpack_block(&mut self) -> Result<bool, String> {
        let waiting = &self.packed[self.packed_start..];
        let header = match self.is_begun {
            true => 0,
            false => match frame_header_length(waiting) {
                Some(length) => length,
                None => return Ok(false),
            },
        };
        let Some([a, b, c]) = waiting.get(header..header + 3) else {
            return Ok(false);
        };
        let word = u32::from_le_bytes([*a, *b, *c, 0]);
        let is_last = word & 1 != 0;
        let content = match word >> 1 & 3 {
            1 => 1,
            _ => word as usize >> 3,
        };
        // A checksum behind the last block is the decoder's to ask for.
        let length = header + 3 + content;
        if waiting.len() < length {
            return Ok(false);
        }
        let block = waiting[..length].to_vec();
        self.packed_start += length;
        self.feed(&block)?;
        self.is_begun = !is_last;
        if is_last {
            self.decoder = FrameDecoder::new();
        }
        Ok(true)
    }

    fn feed(&mut self, block: &[u8]) -> Result<(), String> {
        let damaged =
            |error: &dyn std::fmt::Display| format!("the packed data is damaged: {error}");
        let (read, _) = self
            .decoder
            .decode_from_to(block, &mut [])
            .map_err(|error| damaged(&error))?;
        if read == 0 {
            return Err(damaged(&"a block that is none"));
        }
        self.unpacked.drain(..self.unpacked_start);
        self.unpacked_start = 0;
        let ready = self.decoder.can_collect() as u64;
        (&mut self.decoder)
            .take(ready)
            .read_to_end(&mut self.unpacked)
            .map_err(|error| damaged(&error))?;
        Ok(())
    }
}

/// How long the header of a frame is; `None` where not even that is there.
fn frame_header_length(bytes: &[u8]) -> Option<usize> {
    let descriptor = *bytes.get(4)?;
    let is_single = descriptor & 0x20 != 0;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = match descriptor >> 6 {
        0 => usize::from(is_single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    Some(5 + usize::from(!is_single) + dictionary + content_size)
}
