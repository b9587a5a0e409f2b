//! The call tree that Visual Studio's instrumenting profiler exports: `CallTreeSummary.csv`.
//!
//! ```text
//! Level,Function Name,Number of Calls,Elapsed Inclusive Time %,…,Module Name,
//! 1,"Demo.Main()","2,893,824",54.37,…,"Demo.exe",
//! ```
//!
//! The cost of a stack is the number of calls of its innermost function along this path. It is a self cost: the line above
//! does not include it. The times are percentages and averages with two decimals, which cannot be added, so they are
//! ignored.

use cg_reader::number::whole_u64;
use cg_reader::{Error, Lines, Options, Reading};

use super::outline::Outline;
use super::table::{FrameParts, StackKey, StackTable};
use super::write;

/// The event: calls of the innermost function.
const EVENT: &str = "calls";

/// Returns true for the first line of a tree from Visual Studio.
pub fn is_header_line(line: &[u8]) -> bool {
    line.starts_with(b"Level,Function Name,Number of Calls")
}

/// Reads the call tree that Visual Studio exports: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let run = reading.run("visual-studio");
    let mut table = StackTable::new([EVENT]);
    let read = read(reading.lines, reading.options, &mut table);
    write::write(run, &table, read, reading.out)
}

fn read(lines: &mut Lines, options: &Options, table: &mut StackTable) -> Result<(), Error> {
    let header = lines.next_line().map_err(Error::Input)?.unwrap_or_default();
    let module = header
        .split(|byte| *byte == b',')
        .position(|field| field.trim_ascii() == b"Module Name");
    let mut outline = Outline::default();
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(lines);
    let mut record = csv::ByteRecord::new();
    loop {
        let line = 1 + reader.position().line();
        let more = reader.read_byte_record(&mut record);
        if !more.map_err(|error| malformed(error, line))? {
            return Ok(());
        }
        let line = record
            .position()
            .map_or(line, |position| 1 + position.line());
        let field = |position: usize| record.get(position).unwrap_or_default();
        let number = |position: usize, what: &str| {
            let text = field(position);
            let digits: Vec<u8> = text.iter().copied().filter(|byte| *byte != b',').collect();
            whole_u64(&digits).ok_or_else(|| Error::unexpected(line, what, text))
        };
        let depth = number(0, "the level of a function")?;
        let calls = number(2, "a number of calls")?;
        let parts = FrameParts {
            name: table.function(field(1), options.demangle)?,
            obj: table.text_unless_empty(module.map(field).unwrap_or_default())?,
            ..FrameParts::default()
        };
        let frame = table.frame(parts)?;
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        let stack = outline.at(depth, Some(frame), table)?;
        if calls > 0 {
            table.count(StackKey::from_stack(stack), 0, calls.into())?;
        }
    }
}

/// Converts an error of the CSV reader.
fn malformed(error: csv::Error, line: u64) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Error::Input(error),
        other => Error::at(line, format!("expected comma-separated values: {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{check_all_prefixes, shown_stacks};

    const TEXT: &str = include_str!("../../../tests/data/printouts/visual-studio.csv");

    #[test]
    fn lines_may_end_in_crlf() {
        // Without the comma that most files have at the end of each line.
        let text = TEXT.replace(",\r\n", "\n").replace(",\n", "\n");
        let expected = parsed::read(super::parse, text.as_bytes(), &Options::default()).records;
        assert!(expected[1].contains(r#""obj":"#), "{expected:?}");
        let text = text.replace('\n', "\r\n");
        assert_eq!(
            parsed::read(super::parse, text.as_bytes(), &Options::default()).records,
            expected
        );
    }

    #[test]
    fn lines_are_stacks_with_their_calls() {
        let parsed = parsed::read(super::parse, TEXT.as_bytes(), &Options::default());
        assert_eq!(
            shown_stacks(&parsed),
            [
                "2893824: Vector3.Dot(valuetype Vector3)@Maths.dll<Demo.Trace(int32,bool&)@Demo.exe<Demo.exe",
                "471: Demo.Trace(int32,bool&)@Demo.exe<Demo.exe",
                "1: Demo.Main()@Demo.exe<Demo.exe",
            ]
        );
        assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    }

    #[test]
    fn malformed_numbers_are_errors() {
        let text = TEXT.replace("471", "many");
        let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
        assert_eq!(
            parsed.messages,
            ["in:3: expected a number of calls, found \"many\""]
        );
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
    }
}
