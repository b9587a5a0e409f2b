//! Lines of a byte stream, through one reused buffer.
//!
//! A line is returned as a slice of the buffer, without its `\n`. Only a line that crosses the buffer's end is
//! moved. Lines are not decoded here, and reading a line does not allocate.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use cg_collections::limits;

/// Reads lines from any input: a file, a pipe, a decompressor.
pub struct LineReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// Unread bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// `buffer[start..searched]` contains no `\n`.
    searched: usize,
    /// The range of the line that was returned last.
    last: std::ops::Range<usize>,
    line_number: u64,
    at_end: bool,
    /// An error that came after bytes that were only peeked at. It is reported when those bytes have been read.
    failed: Option<io::Error>,
    /// `Some` if an error counts as the end of the input: true once an error ended it.
    ends_at_error: Option<Rc<Cell<bool>>>,
    ended_with_newline: bool,
}

/// The initial size of the buffer.
const BUFFER_SIZE: usize = 256 * 1024;

impl<R: Read> LineReader<R> {
    /// Creates a reader of this input.
    pub fn new(input: R) -> LineReader<R> {
        LineReader {
            input,
            buffer: vec![0; BUFFER_SIZE],
            start: 0,
            end: 0,
            searched: 0,
            last: 0..0,
            line_number: 0,
            at_end: false,
            failed: None,
            ends_at_error: None,
            ended_with_newline: true,
        }
    }

    /// Makes an error of the input count as its end, so that the bytes before the error are read like a truncated file.
    /// Returns a flag that is true once there was an error; [`LineReader::take_error`] returns the error.
    pub fn end_at_error(&mut self) -> Rc<Cell<bool>> {
        let flag = Rc::new(Cell::new(false));
        self.ends_at_error = Some(Rc::clone(&flag));
        flag
    }

    /// Returns the error that ended the input; `None` if there was no error.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Returns the next line without its `\n`; `None` at the end of the input. A last line without `\n` counts.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read, and `InvalidData` if a line is longer than [`limits::LINE`].
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        Ok(self.advance()?.then(|| self.last_line()))
    }

    /// Returns the line that [`LineReader::advance`] or [`LineReader::next_line`] found last.
    pub fn last_line(&self) -> &[u8] {
        &self.buffer[self.last.clone()]
    }

    /// Returns the same line with its `\n`, if the line had one.
    pub fn last_line_with_newline(&self) -> &[u8] {
        &self.buffer[self.last.start..self.start]
    }

    /// Returns true if the next line, or the end of the input, is already buffered. If it returns false, the next read may
    /// block, so a filter flushes its output first.
    pub fn has_next(&mut self) -> bool {
        match memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) {
            Some(length) => {
                // The next search starts at the newline.
                self.searched += length;
                true
            }
            None => {
                self.searched = self.end;
                self.at_end
            }
        }
    }

    /// Goes to the next line, which [`LineReader::last_line`] returns. Returns false at the end of the input.
    ///
    /// # Errors
    /// Returns the errors of [`LineReader::next_line`].
    #[inline]
    pub fn advance(&mut self) -> io::Result<bool> {
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) {
                self.last = self.start..self.searched + length;
                self.start = self.last.end + 1;
                self.searched = self.start;
                self.line_number += 1;
                return Ok(true);
            }
            if self.at_end {
                return Ok(self.advance_to_end());
            }
            self.searched = self.end;
            self.fill()?;
        }
    }

    /// Goes to a last line without newline. Returns false if there is none.
    #[cold]
    fn advance_to_end(&mut self) -> bool {
        let has_line = self.start < self.end;
        self.last = self.start..self.end;
        (self.start, self.searched) = (self.end, self.end);
        self.line_number += u64::from(has_line);
        self.ended_with_newline &= !has_line;
        has_line
    }

    /// Returns all complete lines of the buffer, at least one, each with its `\n`; `None` at the end of the input. Only the
    /// input's last line may have no `\n`.
    ///
    /// This is for readers that find the ends of lines while they parse them. Such a reader counts lines itself:
    /// [`LineReader::line_number`] does not change.
    ///
    /// # Errors
    /// Returns the errors of [`LineReader::next_line`].
    pub fn next_lines(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let end = match memchr::memrchr(b'\n', &self.buffer[self.searched..self.end]) {
                Some(length) => self.searched + length + 1,
                None if self.at_end && self.start == self.end => return Ok(None),
                None if self.at_end => {
                    self.ended_with_newline = false;
                    self.end
                }
                None => {
                    self.searched = self.end;
                    self.fill()?;
                    continue;
                }
            };
            self.last = self.start..end;
            self.start = end;
            self.searched = end;
            return Ok(Some(self.last_line()));
        }
    }

    /// Returns the next bytes of the input, at most `wanted` of them, without taking them: for recognising a format.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read.
    pub fn peek(&mut self, wanted: usize) -> io::Result<&[u8]> {
        while self.end - self.start < wanted && !self.at_end && self.failed.is_none() {
            self.look_further()?;
        }
        if self.start == self.end {
            self.take_failure()?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + wanted)])
    }

    /// Reads once more and returns all bytes that are buffered and not taken. At the end of the input, they are the same as
    /// before. This is for recognising a format on a slow pipe.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read.
    pub fn peek_more(&mut self) -> io::Result<&[u8]> {
        if !self.at_end && self.failed.is_none() {
            self.look_further()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Returns the buffered bytes after the last line.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes bytes that [`LineReader::buffered`] returned, at most all of them. The next line begins after them.
    pub fn consume(&mut self, length: usize) {
        let length = length.min(self.end - self.start);
        let taken = &self.buffer[self.start..self.start + length];
        self.line_number += memchr::memchr_iter(b'\n', taken).count() as u64;
        self.start += length;
        self.searched = self.searched.max(self.start);
    }

    /// Returns the input. Bytes that are buffered and not taken are lost.
    pub fn into_input(self) -> R {
        self.input
    }

    /// Returns the number of the last line, counted from 1.
    pub fn line_number(&self) -> u64 {
        self.line_number
    }

    /// Returns false if the last line of the input was read and had no `\n`. Many truncated files end like this.
    pub fn ended_with_newline(&self) -> bool {
        self.ended_with_newline
    }

    /// Returns true if no byte is left. This may read from the input.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read.
    pub fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.peek(1)?.is_empty())
    }

    /// Reads once for a caller that peeks. If bytes are buffered, an error is kept until these are taken.
    fn look_further(&mut self) -> io::Result<()> {
        match self.fill() {
            Err(error) if self.start < self.end => self.failed = Some(error),
            result => return result,
        }
        Ok(())
    }

    /// Returns the kept error, or ends the input if errors count as its end.
    fn take_failure(&mut self) -> io::Result<()> {
        match (&self.ends_at_error, &self.failed) {
            (_, None) => Ok(()),
            (None, Some(_)) => self.failed.take().map_or(Ok(()), Err),
            (Some(has_failed), Some(_)) => {
                has_failed.set(true);
                self.at_end = true;
                Ok(())
            }
        }
    }

    /// Makes room and reads once.
    fn fill(&mut self) -> io::Result<()> {
        self.take_failure()?;
        if self.at_end {
            return Ok(());
        }
        if self.start > 0 && self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.searched -= self.start;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.buffer.len() >= limits::LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "line {} is longer than {} bytes",
                        self.line_number + 1,
                        limits::LINE
                    ),
                ));
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(length) => self.end += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if self.ends_at_error.is_some() => {
                    self.failed = Some(error);
                    self.take_failure()?;
                }
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

impl<R: Read> Read for LineReader<R> {
    /// Reads the bytes that are not taken, for readers that do not work by lines.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            self.take_failure()?;
            if self.at_end {
                return Ok(0);
            }
            return self.input.read(out);
        }
        let length = out.len().min(self.end - self.start);
        out[..length].copy_from_slice(&self.buffer[self.start..self.start + length]);
        self.start += length;
        self.searched = self.searched.max(self.start);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An input that returns one byte per read, like a very slow pipe.
    struct SlowPipe<'a>(&'a [u8]);
    impl Read for SlowPipe<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            out[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn lines_of(input: impl Read) -> (Vec<Vec<u8>>, bool) {
        let mut reader = LineReader::new(input);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            lines.push(line.to_vec());
        }
        assert_eq!(reader.line_number(), lines.len() as u64);
        (lines, reader.ended_with_newline())
    }

    #[test]
    fn blocks_of_lines_do_not_depend_on_how_bytes_arrive() {
        let read = |input: &mut dyn Read| {
            let mut reader = LineReader::new(input);
            let mut bytes = Vec::new();
            while let Some(block) = reader.next_lines().unwrap() {
                assert!(!block.is_empty());
                bytes.extend_from_slice(block);
            }
            (bytes, reader.ended_with_newline())
        };
        for text in ["", "\n", "a\nbc\n\nd", "a\nb\n"] {
            let expected = (text.as_bytes().to_vec(), !text.ends_with('d'));
            assert_eq!(read(&mut text.as_bytes()), expected);
            assert_eq!(read(&mut SlowPipe(text.as_bytes())), expected);
        }
    }

    #[test]
    fn consumed_bytes_count_as_lines() {
        let mut reader = LineReader::new(&b"a\nb\nc d\ne"[..]);
        assert_eq!(reader.next_line().unwrap(), Some(&b"a"[..]));
        assert_eq!(reader.buffered(), b"b\nc d\ne");
        reader.consume(4);
        assert_eq!(reader.next_line().unwrap(), Some(&b"d"[..]));
        assert_eq!(reader.line_number(), 3);
        reader.consume(99);
        assert_eq!(reader.next_line().unwrap(), None);
    }

    #[test]
    fn lines_do_not_depend_on_how_bytes_arrive() {
        for text in ["", "\n", "a", "a\n", "a\n\nb", "a\nb\n"] {
            let expected: Vec<Vec<u8>> = text
                .split_terminator('\n')
                .map(|line| line.as_bytes().to_vec())
                .collect();
            let whole = text.is_empty() || text.ends_with('\n');
            assert_eq!(
                lines_of(text.as_bytes()),
                (expected.clone(), whole),
                "{text:?}"
            );
            assert_eq!(
                lines_of(SlowPipe(text.as_bytes())),
                (expected, whole),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_line_longer_than_the_buffer_is_whole() {
        let long = vec![b'x'; BUFFER_SIZE * 3];
        let mut text = b"short\n".to_vec();
        text.extend_from_slice(&long);
        text.extend_from_slice(b"\nlast");
        let (lines, _) = lines_of(&text[..]);
        assert_eq!(lines, [b"short".to_vec(), long, b"last".to_vec()]);
    }

    #[test]
    fn peeking_takes_nothing() {
        let mut reader = LineReader::new(&b"abc\ndef\n"[..]);
        assert_eq!(reader.peek(5).unwrap(), b"abc\nd");
        assert_eq!(reader.next_line().unwrap(), Some(&b"abc"[..]));
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"def\n");
    }
}
