//! Buffered lines that cannot be judged before the end of the input.
//!
//! The most expensive records are known only at the end, and until then any line may be needed. Like in `sort`, a large
//! input waits in a temporary file. Small inputs wait in memory. For each line, a few words are in memory.

use std::io::{self, BufReader, Read, Seek, Write};

use tempfile::SpooledTempFile;

/// The maximum size of lines that wait in memory.
const LARGEST_IN_MEMORY: usize = 2 * 1024 * 1024;

/// Buffered lines, each with metadata.
pub(crate) struct BufferedLines<T> {
    lines: io::BufWriter<SpooledTempFile>,
    metadata: Vec<(T, u32)>,
}

impl<T> BufferedLines<T> {
    pub(crate) fn new() -> BufferedLines<T> {
        BufferedLines {
            lines: io::BufWriter::with_capacity(64 * 1024, SpooledTempFile::new(LARGEST_IN_MEMORY)),
            metadata: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.metadata.is_empty()
    }

    /// Adds a line with its metadata.
    pub(crate) fn push(&mut self, raw: &[u8], metadata: T) -> io::Result<()> {
        let length = u32::try_from(raw.len())
            .map_err(|_| io::Error::other("a line is longer than 4 GiB"))?;
        self.lines.write_all(raw).map_err(in_temporary_file)?;
        self.metadata.push((metadata, length));
        Ok(())
    }

    /// The metadata of the lines, in order.
    pub(crate) fn metadata(&self) -> impl Iterator<Item = &T> {
        self.metadata.iter().map(|(metadata, _)| metadata)
    }

    /// Calls `take` for each wanted line, in order.
    pub(crate) fn replay(
        self,
        is_wanted: impl Fn(&T) -> bool,
        mut take: impl FnMut(&T, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut lines = self
            .lines
            .into_inner()
            .map_err(|error| in_temporary_file(error.into_error()))?;
        lines.rewind().map_err(in_temporary_file)?;
        let mut lines = BufReader::with_capacity(64 * 1024, lines);
        let mut line = Vec::new();
        for (metadata, length) in &self.metadata {
            if is_wanted(metadata) {
                line.resize(*length as usize, 0);
                lines.read_exact(&mut line).map_err(in_temporary_file)?;
                take(metadata, &line)?;
            } else {
                lines
                    .seek_relative(i64::from(*length))
                    .map_err(in_temporary_file)?;
            }
        }
        Ok(())
    }
}

/// Names the temporary file in an error. Otherwise, the error would seem to concern the input or the output.
fn in_temporary_file(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("cannot use a temporary file: {error}; TMPDIR sets the directory"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_order_in_memory_and_in_a_file() {
        for count in [3, 40_000] {
            let mut held = BufferedLines::new();
            for number in 0..count {
                let line = format!("{number:0100}\n");
                held.push(line.as_bytes(), number).unwrap();
            }
            let mut seen = Vec::new();
            held.replay(
                |number| number % 2 == 1,
                |number, line| {
                    assert_eq!(line, format!("{number:0100}\n").as_bytes());
                    seen.push(*number);
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(seen, (1..count).step_by(2).collect::<Vec<_>>());
        }
    }
}
