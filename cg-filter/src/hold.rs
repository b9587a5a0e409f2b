//! Lines that cannot be judged before the input ends, kept in order.
//!
//! The most expensive records are known only at the end, and until then any line may be needed. Like `sort`, a large
//! input waits in a temporary file: memory holds a few words per line, and small inputs as a whole.

use std::io::{self, BufReader, Read, Seek, Write};

use tempfile::SpooledTempFile;

/// Up to this size the lines wait in memory.
const LARGEST_IN_MEMORY: usize = 2 * 1024 * 1024;

/// Buffered lines, each with what is known of it.
pub(crate) struct Held<T> {
    lines: io::BufWriter<SpooledTempFile>,
    known: Vec<(T, u32)>,
}

impl<T> Held<T> {
    pub(crate) fn new() -> Held<T> {
        Held {
            lines: io::BufWriter::with_capacity(64 * 1024, SpooledTempFile::new(LARGEST_IN_MEMORY)),
            known: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Adds a line with what is known of it.
    pub(crate) fn push(&mut self, raw: &[u8], known: T) -> io::Result<()> {
        let length = u32::try_from(raw.len())
            .map_err(|_| io::Error::other("a line is longer than 4 GiB"))?;
        self.lines.write_all(raw).map_err(in_temporary_file)?;
        self.known.push((known, length));
        Ok(())
    }

    /// What is known of the lines, in order.
    pub(crate) fn known(&self) -> impl Iterator<Item = &T> {
        self.known.iter().map(|(known, _)| known)
    }

    /// Hands out the lines that are wanted, in order.
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
        for (known, length) in &self.known {
            if is_wanted(known) {
                line.resize(*length as usize, 0);
                lines.read_exact(&mut line).map_err(in_temporary_file)?;
                take(known, &line)?;
            } else {
                lines
                    .seek_relative(i64::from(*length))
                    .map_err(in_temporary_file)?;
            }
        }
        Ok(())
    }
}

/// Names the temporary file in an error, which else would seem to be about the input or the output.
fn in_temporary_file(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("cannot use a temporary file (TMPDIR names their folder): {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_in_order_from_memory_and_from_a_file() {
        for count in [3, 40_000] {
            let mut held = Held::new();
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
