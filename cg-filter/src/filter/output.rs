//! The output of kept lines, byte for byte.

use std::io::{self, BufWriter, Write};

/// The output, with the number of written records.
pub(super) struct CountedOutput<'w> {
    out: BufWriter<&'w mut dyn Write>,
    /// The number of written lines, without `run` and `end` records.
    pub(super) records: u64,
    is_in_line: bool,
}

impl<'w> CountedOutput<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> CountedOutput<'w> {
        CountedOutput {
            out: BufWriter::with_capacity(64 * 1024, out),
            records: 0,
            is_in_line: false,
        }
    }

    /// Writes a line. If the last line of an input lacks its `\n`, adds the `\n` before the next line.
    pub(super) fn write(&mut self, raw: &[u8], is_record: bool) -> io::Result<()> {
        if self.is_in_line {
            self.out.write_all(b"\n")?;
        }
        self.is_in_line = !raw.ends_with(b"\n");
        self.records += u64::from(is_record);
        self.out.write_all(raw)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
