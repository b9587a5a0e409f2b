//! Lines of a byte stream, through one reused buffer.
//!
//! A line is handed out as a slice of the buffer, without its `\n`; only a line that straddles the buffer's end is
//! moved. Nothing is decoded here, and nothing is allocated a line.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Reads lines from any input: a file, a pipe, a decompressor.
pub struct LineReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// Unread bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// How far `buffer[start..end]` is known to hold no `\n`.
    searched: usize,
    /// The line handed out last.
    last: std::ops::Range<usize>,
    line_number: u64,
    at_end: bool,
    /// An error that came behind bytes which were only looked at: it is told where they have been read.
    failed: Option<io::Error>,
    /// Set if an error is the end of the input: whether it has ended so.
    ends_at_error: Option<Rc<Cell<bool>>>,
    ended_with_newline: bool,
}

/// The size of the buffer at first.
const BUFFER_SIZE: usize = 256 * 1024;

/// No line of any format is as long as this; a longer one is binary data, and is refused before it fills the memory.
const LONGEST_LINE: usize = 256 * 1024 * 1024;

impl<R: Read> LineReader<R> {
    /// A reader over this input.
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

    /// From now on an error of the input is its end, so that what came before is read as any text that is cut short.
    /// Returns what then tells that there was one; [`LineReader::take_error`] has it.
    pub fn end_at_error(&mut self) -> Rc<Cell<bool>> {
        let flag = Rc::new(Cell::new(false));
        self.ends_at_error = Some(Rc::clone(&flag));
        flag
    }

    /// The error that the input ended with.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// The next line without its `\n`, or `None` at the end of the input. A last line without `\n` counts.
    ///
    /// # Errors
    /// What the input reports, and `InvalidData` for a line longer than 256 MiB.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        Ok(self.advance()?.then(|| self.last_line()))
    }

    /// The line that [`LineReader::advance`] or [`LineReader::next_line`] found last.
    pub fn last_line(&self) -> &[u8] {
        &self.buffer[self.last.clone()]
    }

    /// The same line with its `\n`, where it had one.
    pub fn last_line_with_newline(&self) -> &[u8] {
        &self.buffer[self.last.start..self.start]
    }

    /// True if the next line, or the end of the input, is already buffered. While this is false, reading on may block,
    /// so a writer whose readers should not wait flushes first.
    pub fn has_next(&mut self) -> bool {
        match memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) {
            Some(length) => {
                // The next search finds it in its first byte.
                self.searched += length;
                true
            }
            None => {
                self.searched = self.end;
                self.at_end
            }
        }
    }

    /// Goes to the next line; false at the end of the input. [`LineReader::last_line`] has the line, as often as it
    /// is wanted.
    ///
    /// # Errors
    /// As [`LineReader::next_line`].
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

    /// The last line, which lacks its newline, if there is one.
    #[cold]
    fn advance_to_end(&mut self) -> bool {
        let has_line = self.start < self.end;
        self.last = self.start..self.end;
        (self.start, self.searched) = (self.end, self.end);
        self.line_number += u64::from(has_line);
        self.ended_with_newline &= !has_line;
        has_line
    }

    /// Lines that are whole in the buffer, at least one, each with its `\n`; only the input's last line may lack it.
    /// `None` at the end of the input.
    ///
    /// For readers that find the ends of lines while they parse them. Such a reader counts lines itself:
    /// [`LineReader::line_number`] does not move.
    ///
    /// # Errors
    /// As [`LineReader::next_line`].
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

    /// The first bytes of the input, at most `wanted` of them, without taking them: for recognising a format.
    ///
    /// # Errors
    /// What the input reports.
    pub fn peek(&mut self, wanted: usize) -> io::Result<&[u8]> {
        while self.end - self.start < wanted && !self.at_end && self.failed.is_none() {
            self.look_further()?;
        }
        if self.start == self.end {
            self.tell_failure()?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + wanted)])
    }

    /// Reads once more and returns all bytes that are buffered and not taken; the same bytes as before at the end of
    /// the input. For recognising a format on a pipe that grows slowly.
    ///
    /// # Errors
    /// What the input reports.
    pub fn peek_more(&mut self) -> io::Result<&[u8]> {
        if !self.at_end && self.failed.is_none() {
            self.look_further()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// The bytes behind the line handed out last, as far as they are buffered.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes bytes that [`LineReader::buffered`] returned, at most all of them. The next line begins behind them.
    pub fn consume(&mut self, length: usize) {
        let length = length.min(self.end - self.start);
        let taken = &self.buffer[self.start..self.start + length];
        self.line_number += memchr::memchr_iter(b'\n', taken).count() as u64;
        self.start += length;
        self.searched = self.searched.max(self.start);
    }

    /// The input. Bytes that are buffered and not taken are lost.
    pub fn into_input(self) -> R {
        self.input
    }

    /// The number of the line handed out last, counted from 1.
    pub fn line_number(&self) -> u64 {
        self.line_number
    }

    /// False once the last line was handed out and had no `\n`, which is how many truncated files end.
    pub fn ended_with_newline(&self) -> bool {
        self.ended_with_newline
    }

    /// Whether the input is used up: no byte is left and the input says so. It may have to read to know.
    ///
    /// # Errors
    /// What the input reports.
    pub fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.peek(1)?.is_empty())
    }

    /// Reads once for who looks at what is not taken yet. An error behind bytes that are there waits until these are read.
    fn look_further(&mut self) -> io::Result<()> {
        match self.fill() {
            Err(error) if self.start < self.end => self.failed = Some(error),
            result => return result,
        }
        Ok(())
    }

    /// Returns the error that waits, or ends the input with it.
    fn tell_failure(&mut self) -> io::Result<()> {
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
        self.tell_failure()?;
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
            if self.buffer.len() >= LONGEST_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "line {} is longer than {LONGEST_LINE} bytes",
                        self.line_number + 1
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
                    self.tell_failure()?;
                }
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

impl<R: Read> Read for LineReader<R> {
    /// The bytes that are left, for readers that do not work by lines.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            self.tell_failure()?;
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

    /// Hands out one byte a read, as the slowest pipe would.
    struct Dripping<'a>(&'a [u8]);
    impl Read for Dripping<'_> {
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
            assert_eq!(read(&mut Dripping(text.as_bytes())), expected);
        }
    }

    #[test]
    fn bytes_that_are_consumed_are_counted_as_lines() {
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
                lines_of(Dripping(text.as_bytes())),
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
