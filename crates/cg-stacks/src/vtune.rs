//! VTune's report of a top-down tree: `vtune -report top-down -format csv -csv-delimiter ,`.
//!
//! ```text
//! Function Stack,CPU Time:Self,Module            one column or several that end in ":Self", in any order
//! Total,0.0,[Unknown]
//!  main,0.016612,demo.exe                        one more blank per level
//! ```
//!
//! Times are in seconds. Columns that end in ":Total" are ignored, because they follow from the others.

use cg_reader::{Error, Lines, Options, Reading};
use cg_stream::record::{Count, RunRecord};

use super::count::Decimal;
use super::csv_line::CsvLine;
use super::outline::Outline;
use super::table::{FrameParts, StackKey, StackTable};
use super::write;

/// Returns true for the first line of a tree from VTune.
pub fn is_header_line(line: &[u8]) -> bool {
    line.starts_with(b"Function Stack") && memchr::memmem::find(line, b":Self").is_some()
}

/// Reads a report of VTune: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut run = reading.run("vtune");
    let mut table = StackTable::default();
    let read = read(reading.lines, reading.options, &mut table, &mut run);
    write::write(run, &table, read, reading.out)
}

/// A column of costs.
struct CostColumn {
    position: usize,
    event: usize,
    is_time: bool,
}

fn read(
    lines: &mut Lines,
    options: &Options,
    table: &mut StackTable,
    run: &mut RunRecord,
) -> Result<(), Error> {
    let first = loop {
        let Some(line) = lines.next_line().map_err(Error::Input)? else {
            return Err(Error::whole(
                "expected a line that begins with \"Function Stack\"",
            ));
        };
        if is_header_line(line) {
            break line.trim_ascii_end().to_vec();
        }
    };
    let delimiter = *first.get(b"Function Stack".len()).unwrap_or(&b',');
    let mut record = CsvLine::new(delimiter);
    record.read(&first, lines.line_number())?;
    let header: Vec<String> = record
        .iter()
        .map(|field| String::from_utf8_lossy(field.trim_ascii()).into_owned())
        .collect();
    let position_of = |name: &str| header.iter().position(|field| field == name);
    let columns = cost_columns(&header, table, run);
    let (module, file) = (position_of("Module"), position_of("Source File"));
    let mut outline = Outline::default();
    while lines.advance().map_err(Error::Input)? {
        let line = lines.line_number();
        let text = lines.last_line().trim_ascii_end();
        if text.is_empty() {
            continue;
        }
        // The indent precedes the quotes, or is inside them if a spreadsheet wrote the file.
        let outside = blanks(text);
        record.read(&text[outside..], line)?;
        let name = record.get(0).unwrap_or_default();
        let depth = outside + blanks(name);
        let name = name.trim_ascii();
        let is_total = depth == 0 && name == b"Total";
        let given = |position: Option<usize>| {
            let field = position.and_then(|position| record.get(position));
            field
                .filter(|field| *field != b"[Unknown]")
                .unwrap_or_default()
        };
        let parts = FrameParts {
            name: table.function(name, options.demangle)?,
            file: table.text_unless_empty(given(file))?,
            obj: table.text_unless_empty(given(module))?,
            ..FrameParts::default()
        };
        // The line "Total" is not a function.
        let frame = match is_total {
            true => None,
            false => Some(table.frame(parts)?),
        };
        let stack = outline.at(depth, frame, table)?;
        for column in &columns {
            let text = record.get(column.position).unwrap_or_default().trim_ascii();
            let cost = cost(text, column.is_time)
                .ok_or_else(|| Error::unexpected(line, "a cost", text))?;
            if cost != 0 {
                table.count(StackKey::from_stack(stack), column.event, cost)?;
            }
        }
    }
    Ok(())
}

/// Returns the columns of self costs.
fn cost_columns(header: &[String], table: &mut StackTable, run: &mut RunRecord) -> Vec<CostColumn> {
    let mut columns = Vec::new();
    for (position, field) in header.iter().enumerate() {
        if let Some(event) = field.strip_suffix(":Self") {
            let is_time = event.contains("Time");
            if is_time {
                run.sampling.set_unit(event, "ns");
            }
            columns.push(CostColumn {
                position,
                event: table.event(event),
                is_time,
            });
        }
    }
    columns
}

/// Returns the number of leading blanks.
fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b' ').count()
}

/// Parses a cost: seconds become nanoseconds, other events stay as they are. Large numbers have commas.
fn cost(text: &[u8], is_time: bool) -> Option<Count> {
    if text.is_empty() {
        return Some(0);
    }
    let digits: Vec<u8> = text.iter().copied().filter(|byte| *byte != b',').collect();
    let number = Decimal::parse(digits.strip_suffix(b"s").unwrap_or(&digits))?;
    let decimals = if is_time { 9 } else { 0 };
    match number.decimals <= decimals {
        true => number
            .digits
            .checked_mul(Count::pow(10, decimals - number.decimals)),
        false => {
            let divisor = Count::pow(10, number.decimals - decimals);
            (number.digits % divisor == 0).then_some(number.digits / divisor)
        }
    }
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{check_all_prefixes, shown_stacks};

    const TEXT: &str = include_str!("../../../tests/data/printouts/vtune.csv");

    #[test]
    fn lines_are_stacks_with_self_costs() {
        let parsed = parsed::read(super::parse, TEXT.as_bytes(), &Options::default());
        assert_eq!(
            shown_stacks(&parsed),
            [
                "500000000: std::vec<int, alloc>::grow@demo.exe<main@demo.exe<RtlUserThreadStart@ntdll.dll",
                "16612000: main@demo.exe<RtlUserThreadStart@ntdll.dll",
                "1: func@0x180019140@ntdll.dll<RtlUserThreadStart@ntdll.dll",
            ]
        );
        let run: serde_json::Value = serde_json::from_str(&parsed.records[0]).unwrap();
        assert_eq!(
            run["total"],
            serde_json::json!({"CPU Time": 516_612_001, "Instructions Retired": 1207})
        );
        assert_eq!(run["units"], serde_json::json!({"CPU Time": "ns"}));
        assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    }

    #[test]
    fn an_indent_may_be_inside_quotes() {
        let expected = parsed::read(super::parse, TEXT.as_bytes(), &Options::default()).records;
        let lines = TEXT.replace("   \"std", "\"   std");
        let quoted: Vec<String> = lines
            .split_inclusive('\n')
            .map(|line| match line.split_once(',') {
                Some((name, rest)) if !name.starts_with('"') => format!("\"{name}\",{rest}"),
                _ => line.to_owned(),
            })
            .collect();
        let quoted = quoted
            .concat()
            .replacen("\"Function Stack\"", "Function Stack", 1);
        assert_eq!(
            parsed::read(super::parse, quoted.as_bytes(), &Options::default()).records,
            expected
        );
    }

    #[test]
    fn a_carriage_return_does_not_end_a_line() {
        let text = TEXT.replace("func@0x", "func\r@0x");
        let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
        let last = shown_stacks(&parsed).pop();
        assert_eq!(
            last.as_deref(),
            Some("1: func\r@0x180019140@ntdll.dll<RtlUserThreadStart@ntdll.dll")
        );
    }

    #[test]
    fn malformed_costs_are_errors() {
        let text = TEXT.replace("0.5", "half");
        let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
        assert_eq!(parsed.messages, ["in:5: expected a cost, found \"half\""]);
        assert_eq!(parsed.records_of_type("stack").len(), 1);
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
    }
}
