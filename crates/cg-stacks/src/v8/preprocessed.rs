//! The output of `node --prof-process --preprocess`, made from a log of `node --prof` (V8's tools/profile.mjs,
//! `JsonProfile`): `code`, a list of all code, `functions` and `ticks`. A tick has its time in µs since the start (`tm`) and
//! its stack (`s`): pairs of a position in `code` and an offset in the code, innermost first; -1 and an address for unknown
//! code.
//!
//! - `samples` counts ticks. `time` (ns) is the time before each tick.
//! - The name of JavaScript code is `f file:line:column`, with the beginning of its function. The kind of compilation is not
//!   kept, so interpreted and optimised code of a function is the same. Shared libraries have no functions in the log.

use cg_reader::json::{JsonText, List, Scanner, Window, integer};
use cg_reader::number::whole_u64;
use cg_reader::{Error, Head, Reading};
use serde::Deserialize;

use super::super::table::{FrameId, FrameParts, StackKey, StackTable};
use super::super::write::write;

/// Returns true if a document is a preprocessed log, judged by its first code.
pub fn is_preprocessed(head: &Head) -> bool {
    const KINDS: [&[u8]; 5] = [
        b"\"SHARED_LIB\"",
        b"\"CPP\"",
        b"\"JS\"",
        b"\"CODE\"",
        b"\"SCRIPT\"",
    ];
    let is_code = |value: &mut Scanner| {
        value.expect(b'[').is_ok()
            && value.any_key(|key, mut kind| {
                let is_kind = || kind.skip_value().is_ok_and(|kind| KINDS.contains(&kind));
                (key == b"type").then(is_kind)
            })
    };
    Scanner::new(head.bytes).any_key(|key, mut value| (key == b"code").then(|| is_code(&mut value)))
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct LoggedCode<'a> {
    #[serde(default)]
    name: JsonText<'a>,
    #[serde(default, rename = "type")]
    kind: JsonText<'a>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Tick<'a> {
    tm: i64,
    s: List<'a>,
}

/// The state of reading a log.
#[derive(Default)]
struct PreprocessedLog {
    table: StackTable,
    demangle: bool,
    /// The frame of each code, by position.
    frames: Vec<FrameId>,
    last: Option<i64>,
    /// The number of ticks that are earlier than the tick before them.
    backwards: u64,
}

/// Reads a preprocessed log: a [`cg_reader::ReadRecords`].
pub fn parse_preprocessed(reading: &mut Reading) -> Result<(), Error> {
    let mut log = PreprocessedLog {
        table: StackTable::new(["samples", "time"]),
        demangle: reading.options.demangle,
        ..PreprocessedLog::default()
    };
    let read = log.read(&mut Window::new(reading.lines));
    let mut run = reading.run("node-prof");
    run.sampling.set_unit("time", "ns");
    let duration = log.last.and_then(|last| u64::try_from(last).ok());
    run.sampling.duration = duration.and_then(|micros| micros.checked_mul(1000));
    reading.warn_count(
        log.backwards,
        "time between ticks is negative and counts as 0",
        "times between ticks are negative and count as 0",
    );
    write(run, &log.table, read, reading.out)
}

impl PreprocessedLog {
    fn read(&mut self, window: &mut Window) -> Result<(), Error> {
        window.expect(b'{')?;
        while let Some(key) = window.next_key()? {
            match &key[..] {
                b"code" => each(window, |window, length| {
                    let code: LoggedCode = window.read(length)?;
                    let frame = self.frame(&code)?;
                    self.frames.push(frame);
                    Ok(())
                })?,
                b"ticks" => each(window, |window, length| {
                    let tick: Tick = window.read(length)?;
                    self.tick(&tick)
                })?,
                _ => window.skip_value()?,
            }
        }
        window.expect_end()
    }

    fn frame(&mut self, code: &LoggedCode) -> Result<FrameId, Error> {
        let name = code.name.as_bytes();
        let is_object = code.kind.as_bytes() == b"SHARED_LIB";
        let (function, place) = match code.kind.as_bytes() {
            b"JS" => split_place(name),
            _ => (name, None),
        };
        let (file, line) = place.unwrap_or_default();
        let parts = FrameParts {
            name: match function {
                b"" => Some(self.table.text(b"(anonymous)")?),
                function => self.table.function(function, self.demangle)?,
            },
            file: self.table.text_unless_empty(file)?,
            line: (line > 0).then_some(line),
            obj: match is_object {
                true => self.table.text_unless_empty(name)?,
                false => None,
            },
            ..FrameParts::default()
        };
        Ok(self.table.frame(parts)?)
    }

    fn tick(&mut self, tick: &Tick) -> Result<(), Error> {
        let mut pairs = tick.s.elements();
        let mut frames = Vec::new();
        while let Some(code) = pairs.next() {
            if pairs.next().is_none() {
                return Err(Error::whole(
                    "expected an offset after each code of a tick, found the end of the stack",
                ));
            }
            frames.push(self.frame_at(code)?);
        }
        let stack = self.table.stack(&frames)?;
        let row = self.table.count(StackKey::from_stack(stack), 0, 1)?;
        if let Some(micros) = self.last.map(|last| i128::from(tick.tm) - i128::from(last)) {
            self.backwards += u64::from(micros < 0);
            self.table.add(row, 1, micros.max(0) * 1000);
        }
        self.last = Some(tick.tm);
        Ok(())
    }

    /// Returns the frame of a code. Older versions write an address for unknown code.
    fn frame_at(&mut self, code: &[u8]) -> Result<FrameId, Error> {
        let position = integer(code)
            .flatten()
            .ok_or_else(|| Error::unexpected_text("the position of a code", code))?;
        let known = usize::try_from(position).ok();
        if let Some(frame) = known.and_then(|position| self.frames.get(position)) {
            return Ok(*frame);
        }
        let name = self.table.text(b"[unknown]")?;
        Ok(self.table.frame(FrameParts {
            name: Some(name),
            ..FrameParts::default()
        })?)
    }
}

/// Calls `handle` for each element of the list at the current position, with the element's length.
fn each(
    window: &mut Window,
    mut handle: impl FnMut(&mut Window, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    window.expect(b'[')?;
    while window.next_element()? {
        let length = window.load_value()?;
        handle(window, length)?;
        window.consume(length);
    }
    Ok(())
}

/// Splits a name into the function and its place: `f /a b.js:3:7`, ` node:fs:1:1`.
fn split_place(name: &[u8]) -> (&[u8], Option<(&[u8], u64)>) {
    let number_at_end = |text: &[u8]| {
        let colon = memchr::memrchr(b':', text)?;
        Some((colon, whole_u64(&text[colon + 1..])?))
    };
    let placed = number_at_end(name).and_then(|(end, _column)| {
        let (end, line) = number_at_end(&name[..end])?;
        let blank = memchr::memchr_iter(b' ', &name[..end])
            .find(|blank| begins_file(&name[blank + 1..end]))
            .or_else(|| memchr::memrchr(b' ', &name[..end]))?;
        Some((&name[..blank], Some((&name[blank + 1..end], line))))
    });
    placed.unwrap_or((name.trim_ascii(), None))
}

/// Returns true if a text begins like a file, because names of functions (`get size`) and paths may contain blanks.
fn begins_file(text: &[u8]) -> bool {
    let is_drive = matches!(text, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let begins = [&b"/"[..], b"node:", b"file:", b"http:", b"https:"];
    is_drive || begins.iter().any(|begin| text.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use cg_reader::{Head, Options};
    use parsed::{check_all_prefixes, shown_stacks};

    use super::*;

    const TEXT: &str = r#"{"code":[{"name":"/usr/bin/node","type":"SHARED_LIB"},
{"name":"main /a b.js:1:1","type":"JS","kind":"Unopt","func":0,"tm":3},{"name":"get size /a b.js:7:3","type":"JS","kind":"Opt","func":1},
{"name":" node:fs:9:1","type":"JS","kind":"Unopt"},{"name":"memcpy","type":"CPP"}],
"functions":[{"name":"main /a b.js:1:1","codes":[1]}],
"ticks":[{"tm":100,"vm":0,"s":[2,17,1,4]},{"tm":105,"vm":0,"s":[4,1,2,17,1,4]},{"tm":104,"vm":1,"s":[-1,140737488355328,1,9]},{"tm":110,"vm":5,"s":[0,7,3,0]},{"tm":112,"vm":5,"s":[]}],
"scripts":[null,{"url":"/a b.js","source":"]}"}]}"#;

    #[test]
    fn the_stack_of_a_tick_refers_to_the_list_of_code() {
        let parsed = parsed::read(parse_preprocessed, TEXT.as_bytes(), &Options::default());
        assert!(is_preprocessed(&Head::new(TEXT.as_bytes(), true)));
        assert_eq!(
            shown_stacks(&parsed),
            [
                "1:",
                "1: /usr/bin/node@/usr/bin/node<(anonymous)",
                "1: get size<main",
                "1: [unknown]<main",
                "1: memcpy<get size<main",
            ]
        );
        let run = parsed.records_of_type("run")[0];
        assert!(
            run.contains(r#""total":{"samples":5,"time":13000},"duration":112000"#),
            "{run}"
        );
        assert!(parsed.records_of_type("stack")[2].contains(
            r#"{"fn":"get size","file":"/a b.js","line":7},{"fn":"main","file":"/a b.js","line":1}"#
        ));
        assert_eq!(
            parsed.messages,
            ["in: 1 time between ticks is negative and counts as 0"]
        );
        assert!(parsed.is_whole() && !parsed.has_errors);
    }

    #[test]
    fn other_documents_with_code_are_not_recognised() {
        for text in [
            r#"{"code":[]}"#,
            r#"{"code":[{"name":"a","type":"js"}]}"#,
            r#"{"code":[{"name":"a","kind":"JS"}]}"#,
            r#"{"code":"JS"}"#,
            r#"[{"type":"JS"}]"#,
        ] {
            assert!(
                !is_preprocessed(&Head::new(text.as_bytes(), true)),
                "{text}"
            );
        }
    }

    #[test]
    fn every_truncated_log_is_an_error() {
        check_all_prefixes(parse_preprocessed, TEXT.as_bytes(), &Options::default());
        for length in 1..TEXT.len() {
            let text = &TEXT.as_bytes()[..length];
            assert!(parsed::read(parse_preprocessed, text, &Options::default()).has_errors);
        }
    }
}
