//! Recordings of rbspy, a sampler for Ruby, that `rbspy record` writes in addition to its output (`--raw-file`). A recording
//! is packed with gzip. It has a line with the version, since version 2 a header, and one line per sample (rbspy's
//! src/storage).
//!
//! Frames are in order from the innermost, each with the executed line. `samples` counts the lines.

use cg_reader::json::{self, JsonText};
use cg_reader::{Error, Lines, Reading, excerpt};
use cg_stream::record::RunRecord;
use serde::Deserialize;

use super::rate;
use super::table::{FrameParts, StackKey, StackTable};
use super::write::write;

/// Returns true for the first line of a recording.
pub fn is_header_line(line: &[u8]) -> bool {
    matches!(
        line,
        [b'r', b'b', b's', b'p', b'y', b'0'..=b'9', b'0'..=b'9']
    )
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct RecordingHeader<'a> {
    sample_rate: Option<f64>,
    rbspy_version: Option<JsonText<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct SampledTrace<'a> {
    trace: Vec<TracedFrame<'a>>,
    pid: Option<u64>,
    thread_id: Option<u64>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct TracedFrame<'a> {
    name: JsonText<'a>,
    relative_path: Option<JsonText<'a>>,
    absolute_path: Option<JsonText<'a>>,
    lineno: Option<u64>,
}

/// Reads a recording of rbspy: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut run = reading.run("rbspy");
    let mut table = StackTable::new(["samples"]);
    let read = read(reading.lines, &mut run, &mut table);
    write(run, &table, read, reading.out)
}

fn read(lines: &mut Lines, run: &mut RunRecord, table: &mut StackTable) -> Result<(), Error> {
    let first = lines.next_line().map_err(Error::Input)?.unwrap_or_default();
    let has_header = match first.trim_ascii_end() {
        b"rbspy01" => false,
        b"rbspy02" => true,
        other => {
            return Err(Error::at(
                1,
                format!(
                    "expected a recording of rbspy of version 1 or 2, found {}; rbspy report -f speedscope -i FILE -o FILE.json writes what cg-parse reads",
                    excerpt(other)
                ),
            ));
        }
    };
    let at = |number: u64, error: Error| match error {
        Error::Malformed { message, .. } => Error::at(number, message),
        other => other,
    };
    if has_header {
        let line = lines.next_line().map_err(Error::Input)?.unwrap_or_default();
        let header: RecordingHeader = json::read(line).map_err(|error| at(2, error))?;
        run.creator = header
            .rbspy_version
            .map(|version| format!("rbspy {}", version.name().as_str()));
        run.sampling.sample_rate = header.sample_rate.and_then(rate::samples_a_second);
    }
    let mut frames = Vec::new();
    while lines.advance().map_err(Error::Input)? {
        let number = lines.line_number();
        let line = lines.last_line();
        let sample: SampledTrace = json::read(line).map_err(|error| at(number, error))?;
        frames.clear();
        for frame in &sample.trace {
            let path = frame
                .absolute_path
                .as_ref()
                .or(frame.relative_path.as_ref());
            let path = path.map_or(&[][..], JsonText::as_bytes);
            let parts = FrameParts {
                name: table.text_unless_empty(frame.name.as_bytes())?,
                file: match path {
                    // rbspy's names for the missing file of a C function.
                    b"unknown" | b"(unknown)" => None,
                    path => table.text_unless_empty(path)?,
                },
                line: frame.lineno.filter(|line| *line > 0),
                ..FrameParts::default()
            };
            frames.push(table.frame(parts)?);
        }
        let thread = sample.thread_id.map(|thread| thread.to_string());
        let row = StackKey {
            stack: table.stack(&frames)?,
            thread: table.text_unless_empty(thread.unwrap_or_default().as_bytes())?,
            pid: sample.pid,
            ..StackKey::default()
        };
        let row = table.row(row)?;
        table.add(row, 0, 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::check_all_prefixes;

    const TEXT: &str = include_str!("../../../tests/data/rbspy/raw-2.txt");

    #[test]
    fn a_line_is_a_sample_with_the_innermost_frame_first() {
        let parsed = parsed::read(super::parse, TEXT.as_bytes(), &Options::default());
        assert!(
            !parsed.has_errors && parsed.is_whole(),
            "{:?}",
            parsed.messages
        );
        assert_eq!(
            parsed.records_of_type("run"),
            [
                r#""stream":1,"tool":"rbspy","creator":"rbspy 0.12.1","source":["in"],"events":["samples"],"total":{"samples":3},"sample_rate":100}"#
            ]
        );
        assert_eq!(
            parsed.records_of_type("stack"),
            [
                r#""fn":"leaf","file":"/home/dev/a.rb","line":3,"thread":"140","pid":7,"cost":{"samples":2},"stack":[{"fn":"leaf","file":"/home/dev/a.rb","line":3},{"fn":"<main>","file":"a.rb","line":9}]}"#,
                r#""fn":"sleep [c function]","thread":"140","pid":7,"cost":{"samples":1},"stack":[{"fn":"sleep [c function]"},{"fn":"<main>","file":"a.rb","line":10}]}"#,
            ]
        );
    }

    #[test]
    fn errors_about_other_versions_suggest_a_conversion() {
        let other = TEXT.replacen("rbspy02", "rbspy00", 1);
        let parsed = parsed::read(super::parse, other.as_bytes(), &Options::default());
        assert!(parsed.messages[0].starts_with(
            "in:1: expected a recording of rbspy of version 1 or 2, found \"rbspy00\"; rbspy report"
        ));
        let cut = parsed::read(
            super::parse,
            &TEXT.as_bytes()[..TEXT.len() - 9],
            &Options::default(),
        );
        assert!(
            cut.messages[0].starts_with("in:5: expected more of the JSON"),
            "{:?}",
            cut.messages
        );
        assert!(cut.has_errors && cut.records_of_type("stack").len() == 1);
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
        for (line, is_header) in [
            ("rbspy02", true),
            ("rbspy", false),
            ("rbspy 02", false),
            ("rbspy021", false),
        ] {
            assert_eq!(super::is_header_line(line.as_bytes()), is_header);
        }
    }
}
