//! Where kept lines go, byte for byte.

use std::io::{self, BufWriter, Write};

/// The output, and how many records went to it.
pub(super) struct CountedOutput<'w> {
    out: BufWriter<&'w mut dyn Write>,
    /// How many of the lines were neither `run` nor `end`.
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

    /// Passes a line on. The last line of an input may lack its `\n`, which has to be made up for if another follows.
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
