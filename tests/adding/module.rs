//! A toy format of stacks: the line `toy stacks`, then one line per stack, outermost frame first.
//!
//! ```text
//! toy stacks
//! 17 main > parse > read
//! ```

use cg_reader::number::whole_u64;
use cg_reader::{Error, Lines, Options, Reading};

use crate::table::{FrameParts, StackKey, StackTable};
use crate::write;

const HEADER: &[u8] = b"toy stacks";

/// Returns true for the header line of this format.
pub fn is_header_line(line: &[u8]) -> bool {
    line == HEADER
}

/// Reads a file of this format; a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let run = reading.run("toy");
    let mut table = StackTable::new(["samples"]);
    let read = read(reading.lines, reading.options, &mut table);
    write::write(run, &table, read, reading.out)
}

fn read(lines: &mut Lines, options: &Options, table: &mut StackTable) -> Result<(), Error> {
    while lines.advance().map_err(Error::Input)? {
        let number = lines.line_number();
        let line = lines.last_line().trim_ascii_end();
        if line == HEADER {
            continue;
        }
        let mut words = line.split(|byte| *byte == b' ');
        let count = words.next().and_then(whole_u64);
        let count = count.ok_or_else(|| Error::unexpected(number, "a count", line))?;
        let mut stack = None;
        for name in words.filter(|word| *word != b">") {
            let name = table.function(name, options.demangle)?;
            let frame = table.frame(FrameParts {
                name,
                ..FrameParts::default()
            })?;
            stack = Some(table.push(stack, frame)?);
        }
        table.count(StackKey::from_stack(stack), 0, count.into())?;
    }
    Ok(())
}
