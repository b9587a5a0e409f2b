//! Reads a section from its beginning to its end, and skips the parts that nobody needs.
//!
//! A skipped part takes no memory. A compressed section is decompressed only up to the last part that is read.

use std::fs::File;
use std::io::{
    BufRead as _, BufReader, Error as IoError, ErrorKind, Read, Result as IoResult, Seek as _,
    SeekFrom,
};

use zlib_rs::{Inflate, InflateFlush, Status};

/// The size of the buffer for compressed bytes. The buffer for decompressed bytes has twice this size.
const BUFFER_LEN: usize = 1 << 16;
/// The largest window of zlib, as a power of two.
const WINDOW_BITS: u8 = 15;

/// A section that is read forwards.
pub(crate) struct SectionReader<'f> {
    bytes: SectionBytes<'f>,
    position: u64,
}

/// The bytes of a section, which may be compressed.
pub(crate) enum SectionBytes<'f> {
    Plain(FilePart<'f>),
    Compressed(BufReader<Box<dyn Read + 'f>>),
}

impl<'f> SectionBytes<'f> {
    /// Wraps a reader of decompressed bytes.
    pub(crate) fn decompressed(bytes: impl Read + 'f) -> SectionBytes<'f> {
        SectionBytes::Compressed(BufReader::with_capacity(2 * BUFFER_LEN, Box::new(bytes)))
    }
}

impl<'f> SectionReader<'f> {
    pub(crate) fn new(bytes: SectionBytes<'f>) -> SectionReader<'f> {
        SectionReader { bytes, position: 0 }
    }

    /// Skips the bytes before an offset in the section.
    ///
    /// # Errors
    /// Returns an error if the offset precedes a byte that was read, or if the section is damaged.
    pub(crate) fn skip_to(&mut self, offset: u64) -> IoResult<()> {
        let left = offset.checked_sub(self.position);
        let mut left = left.ok_or(ErrorKind::InvalidInput)?;
        self.position = offset;
        match &mut self.bytes {
            SectionBytes::Plain(part) => {
                part.begin = part.begin.saturating_add(left);
                Ok(())
            }
            SectionBytes::Compressed(bytes) => {
                while left > 0 {
                    let length = left.min(bytes.fill_buf()?.len() as u64);
                    if length == 0 {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                    bytes.consume(length as usize);
                    left -= length;
                }
                Ok(())
            }
        }
    }

    /// Reads the next bytes.
    pub(crate) fn read(&mut self, to: &mut [u8]) -> IoResult<()> {
        self.position += to.len() as u64;
        match &mut self.bytes {
            SectionBytes::Plain(part) => part.read_exact(to),
            SectionBytes::Compressed(bytes) => bytes.read_exact(to),
        }
    }
}

/// A range of bytes of a file.
pub(crate) struct FilePart<'f> {
    pub(crate) file: &'f File,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Read for FilePart<'_> {
    fn read(&mut self, to: &mut [u8]) -> IoResult<usize> {
        let left = self.end.saturating_sub(self.begin);
        let length = to.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.file.seek(SeekFrom::Start(self.begin))?;
        let length = self.file.read(&mut to[..length])?;
        self.begin += length as u64;
        Ok(length)
    }
}

/// The decompressed bytes of a zlib stream.
pub(crate) struct Inflated<'f> {
    stored: FilePart<'f>,
    inflate: Inflate,
    buffer: Vec<u8>,
    /// The range of the buffer that was not decompressed yet.
    rest: std::ops::Range<usize>,
}

impl<'f> Inflated<'f> {
    pub(crate) fn new(stored: FilePart<'f>) -> Inflated<'f> {
        Inflated {
            stored,
            inflate: Inflate::new(true, WINDOW_BITS),
            buffer: vec![0; BUFFER_LEN],
            rest: 0..0,
        }
    }
}

impl Read for Inflated<'_> {
    fn read(&mut self, to: &mut [u8]) -> IoResult<usize> {
        loop {
            if self.rest.is_empty() {
                self.rest = 0..self.stored.read(&mut self.buffer)?;
            }
            let (before, written) = (self.inflate.total_in(), self.inflate.total_out());
            let input = &self.buffer[self.rest.clone()];
            let is_last = input.is_empty();
            let status = (self.inflate)
                .decompress(input, to, InflateFlush::NoFlush)
                .map_err(|error| IoError::new(ErrorKind::InvalidData, error.as_str()))?;
            self.rest.start += (self.inflate.total_in() - before) as usize;
            let length = (self.inflate.total_out() - written) as usize;
            if length > 0 || is_last || to.is_empty() || status == Status::StreamEnd {
                return Ok(length);
            }
        }
    }
}
