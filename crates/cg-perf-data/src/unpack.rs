//! Decompression of records (`perf record -z`): one zstd stream (RFC 8878) in pieces, each in the body of a record. Neither
//! blocks nor records end at the ends of pieces.

use std::io::Read as _;

use ruzstd::decoding::FrameDecoder;

use crate::fields::FileEndian;

/// Converts pieces of the stream to records.
pub(crate) struct RecordUnpacker {
    decoder: FrameDecoder,
    /// True inside a frame, after its header.
    is_begun: bool,
    packed: Vec<u8>,
    packed_start: usize,
    unpacked: Vec<u8>,
    unpacked_start: usize,
}

/// An empty last block of a frame, with room for a checksum.
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

    /// Adds a piece of the stream.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.packed.drain(..self.packed_start);
        self.packed_start = 0;
        self.packed.extend_from_slice(piece);
    }

    /// Reads the next complete record with its header into `record`. Returns false if there is none yet.
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
                        "expected a record in the compressed data, found one of {size} bytes"
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

    /// Ends the stream, which perf leaves open, because the decoder holds back data that later blocks may refer to. Returns
    /// true if more records may follow.
    pub(crate) fn finish(&mut self) -> Result<bool, String> {
        if !self.is_begun {
            return Ok(false);
        }
        self.feed(LAST_BLOCK)?;
        self.is_begun = false;
        Ok(true)
    }

    /// Returns the number of remaining bytes, which are not a complete record.
    pub(crate) fn left_over(&self) -> usize {
        (self.unpacked.len() - self.unpacked_start) + (self.packed.len() - self.packed_start)
    }

    /// Decompresses one block. Returns false if there is no complete block.
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
        // The decoder reads a checksum after the last block itself.
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
            |error: &dyn std::fmt::Display| format!("the compressed data is damaged: {error}");
        let (read, _) = self
            .decoder
            .decode_from_to(block, &mut [])
            .map_err(|error| damaged(&error))?;
        if read == 0 {
            return Err(damaged(&"an invalid block"));
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

/// Returns the length of a frame's header; `None` if the header is incomplete.
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
