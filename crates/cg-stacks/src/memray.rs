//! The output of `memray transform csv`. memray is a memory profiler for Python (src/memray/reporters/transform.py of
//! bloomberg/memray).
//!
//! ```text
//! allocator,num_allocations,size,tid,thread_name,stack_trace
//! MALLOC,80,400080,3,0x3 (second),hold;app.py;3|work;app.py;6|<module>;app.py;11
//! ```
//!
//! Frames are in order from the innermost, each as `FUNCTION;FILE;LINE`. A line sums up the allocations with one stack and
//! one allocator over all threads, and names only the last thread (src/memray/commands/common.py). So the thread is
//! ignored.

use cg_collections::intern::TooMany;
use cg_reader::number::whole_u64;
use cg_reader::{Error, Lines, Options, Reading};

use super::csv_line::CsvLine;
use super::table::{FrameId, FrameParts, StackKey, StackTable};
use super::write;

const EVENTS: [&str; 2] = ["bytes", "allocations"];

/// Returns true for the first line of memray's CSV.
pub fn is_header_line(line: &[u8]) -> bool {
    line.trim_ascii_end() == b"allocator,num_allocations,size,tid,thread_name,stack_trace"
}

/// Reads the CSV of memray: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut run = reading.run("memray");
    run.sampling.set_unit(EVENTS[0], "bytes");
    let mut table = StackTable::new(EVENTS);
    let read = read(reading.lines, reading.options, &mut table);
    write::write(run, &table, read, reading.out)
}

fn read(lines: &mut Lines, options: &Options, table: &mut StackTable) -> Result<(), Error> {
    loop {
        match lines.next_line().map_err(Error::Input)? {
            Some(line) if is_header_line(line) => break,
            Some(_) => {}
            None => {
                return Err(Error::whole(
                    "expected a line that begins with \"allocator,num_allocations,size\"",
                ));
            }
        }
    }
    let mut fields = CsvLine::new(b',');
    let mut frames = Vec::new();
    while lines.advance().map_err(Error::Input)? {
        let number = lines.line_number();
        let line = lines.last_line().trim_ascii_end();
        if !lines.ended_with_newline() {
            return Err(Error::at(
                number,
                "the line is cut short: it has no line break",
            ));
        }
        fields.read(line, number)?;
        let wrong = |expected: &str, found: &[u8]| Error::unexpected(number, expected, found);
        let (Some(allocations), Some(size), Some(stack), None) =
            (fields.get(1), fields.get(2), fields.get(5), fields.get(6))
        else {
            return Err(wrong("six fields", line));
        };
        let count = |text: &[u8]| whole_u64(text).ok_or_else(|| wrong("a count", text));
        let (allocations, size) = (count(allocations)?, count(size)?);
        if !read_frames(stack, options.demangle, table, &mut frames)? {
            return Err(wrong("frames as \"function;file;line\"", stack));
        }
        let row = StackKey {
            stack: table.stack(&frames)?,
            ..StackKey::default()
        };
        let row = table.row(row)?;
        table.add(row, 0, size.into());
        table.add(row, 1, allocations.into());
    }
    Ok(())
}

/// Reads the frames of a stack; returns false if a part of it is not a frame.
fn read_frames(
    stack: &[u8],
    is_demangled: bool,
    table: &mut StackTable,
    frames: &mut Vec<FrameId>,
) -> Result<bool, TooMany> {
    frames.clear();
    let mut start = 0;
    let ends = memchr::memchr_iter(b'|', stack).chain([stack.len()]);
    for end in ends {
        // The `|` of `operator|` in C++ does not end a frame: a frame ends with a line number.
        let Some((name, file, line)) = name_file_line(&stack[start..end]) else {
            continue;
        };
        let parts = FrameParts {
            name: table.function(name, is_demangled)?,
            file: table.text_unless_empty(file)?,
            line: Some(line).filter(|line| *line > 0),
            ..FrameParts::default()
        };
        frames.push(table.frame(parts)?);
        start = end + 1;
    }
    Ok(stack.is_empty() || start > stack.len())
}

fn name_file_line(frame: &[u8]) -> Option<(&[u8], &[u8], u64)> {
    let line_at = memchr::memrchr(b';', frame)?;
    let line = whole_u64(&frame[line_at + 1..])?;
    let file_at = memchr::memrchr(b';', &frame[..line_at])?;
    Some((&frame[..file_at], &frame[file_at + 1..line_at], line))
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{Parsed, check_all_prefixes};

    /// Written by memray 1.20: two threads with a list of 40 buffers each, and 7 buffers below a recursive function.
    const TEXT: &str = include_str!("../../../tests/data/memray/threads.csv");

    fn parse(text: &str) -> Parsed {
        parsed::read(super::parse, text.as_bytes(), &Options::default())
    }

    /// Returns a file with one line that has this stack.
    fn with_stack(stack: &str) -> String {
        let header = "allocator,num_allocations,size,tid,thread_name,stack_trace";
        format!("{header}\r\nMALLOC,2,30,1,0x1,{stack}\r\n")
    }

    #[test]
    fn a_line_is_a_stack_with_its_bytes_and_allocations() {
        let parsed = parse(TEXT);
        assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
        let run: serde_json::Value = serde_json::from_str(&parsed.records[0]).unwrap();
        // Computed with Python's csv module.
        assert_eq!(
            run["total"],
            serde_json::json!({"bytes": 537637, "allocations": 147})
        );
        // Python's buffers are one byte larger than their contents.
        for (bytes, count, stack) in [
            (
                40 * (5001 + 6001),
                80,
                "<listcomp>@threads.py:9<hold@threads.py:9<work@threads.py:13<run@",
            ),
            (
                7 * 3001,
                7,
                "<listcomp>@threads.py:9<hold@threads.py:9<deep@threads.py:20<deep@threads.py:22<deep@threads.py:22<",
            ),
        ] {
            let beginning = format!("{bytes} {count}: {stack}");
            let stacks = shown(&parsed);
            assert!(
                stacks.iter().any(|shown| shown.starts_with(&beginning)),
                "{beginning}: {stacks:?}"
            );
        }
    }

    /// Returns the stacks, each as `BYTES ALLOCATIONS: FUNCTION@FILE:LINE<…`.
    fn shown(parsed: &Parsed) -> Vec<String> {
        let shown = parsed.records_of_type("stack").into_iter().map(|record| {
            let record: serde_json::Value = serde_json::from_str(&format!("{{{record}")).unwrap();
            let frames = record["stack"].as_array().unwrap().iter().map(|frame| {
                let (name, file) = (frame["fn"].as_str().unwrap(), frame["file"].as_str());
                format!("{name}@{}:{}", file.unwrap_or_default(), frame["line"])
            });
            let cost = &record["cost"];
            let frames = Vec::from_iter(frames).join("<");
            format!("{} {}: {frames}", cost["bytes"], cost["allocations"])
        });
        shown.collect()
    }

    #[test]
    fn function_names_may_contain_the_separators() {
        for (stack, expected) in [
            (
                "operator|;a.cpp;3|main;b.cpp;0",
                "30 2: operator|@a.cpp:3<main@b.cpp:null",
            ),
            ("\"f(int; 4, g);a,b.rs;7\"", "30 2: f(int; 4, g)@a,b.rs:7"),
            ("f;;0", "30 2: f@:null"),
            ("", "30 2: "),
        ] {
            let parsed = parse(&with_stack(stack));
            assert_eq!(shown(&parsed), [expected], "{:?}", parsed.messages);
        }
    }

    #[test]
    fn malformed_frames_counts_and_lines_are_errors() {
        let text = with_stack("f;a.py;3");
        for (text, message) in [
            (
                text.replace(";3", ";x"),
                "in:2: expected frames as \"function;file;line\", found \"f;a.py;x\"",
            ),
            (
                text.replace("30", "-30"),
                "in:2: expected a count, found \"-30\"",
            ),
            (
                text.replace("0x1,", ""),
                "in:2: expected six fields, found \"MALLOC,2,30,1,f;a.py;3\"",
            ),
            (
                text.replace("f;", "f,g;"),
                "in:2: expected six fields, found \"MALLOC,2,30,1,0x1,f,g;a.py;3\"",
            ),
            (
                text.trim_end().to_owned(),
                "in:2: the line is cut short: it has no line break",
            ),
        ] {
            assert_eq!(parse(&text).messages, [message]);
        }
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
    }
}
