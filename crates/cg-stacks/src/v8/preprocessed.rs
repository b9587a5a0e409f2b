//! What `node --prof-process --preprocess` writes of a log of `node --prof` (V8's tools/profile.mjs, `JsonProfile`): `code`, a
//! list of all code, `functions` and `ticks`. A tick has its time in µs since the start (`tm`) and its stack (`s`): pairs of a
//! position in `code` and an offset in that, innermost first; -1 and an address where V8 knows no code.
//!
//! - `samples` counts ticks, `time` (ns) is what ended with one.
//! - Code of JavaScript is called `f file:line:column`, by where its function begins. How it was compiled is not kept: a
//!   function is one, interpreted or optimised. Objects of the system, as V8 names them, have no functions of their own.

use cg_reader::json::{JsonText, List, Scanner, Window, integer};
use cg_reader::number::whole_u64;
use cg_reader::{Error, Head, Reading};
use serde::Deserialize;

use super::super::table::{FrameId, FrameParts, StackKey, StackTable};
use super::super::write::write;

/// Whether a document is a preprocessed log: by the first code in it.
pub fn is_preprocessed(head: &Head) -> bool {
    const KINDS: [&[u8]; 5] = [
        b"\"SHARED_LIB\"",
        b"\"CPP\"",
        b"\"JS\"",
        b"\"CODE\"",
        b"\"SCRIPT\"",
    ];
    let is_code = |value: &mut Scanner| {
        value.take(b'[')
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

/// A log while it is read.
#[derive(Default)]
struct PreprocessedLog {
    table: StackTable,
    demangle: bool,
    /// By position in `code`.
    frames: Vec<FrameId>,
    last: Option<i64>,
    /// Ticks whose times are before that of the one in front of them.
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
    reading.warn_of(
        log.backwards,
        "times between ticks are below 0; they count as 0",
    );
    write(run, &log.table, read, reading.out)
}

impl PreprocessedLog {
    fn read(&mut self, window: &mut Window) -> Result<(), Error> {
        window.expect(b'{')?;
        let mut is_first = true;
        while let Some(key) = window.next_key(is_first)? {
            is_first = false;
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
            b"JS" => place_of(name),
            _ => (name, None),
        };
        let (file, line) = place.unwrap_or_default();
        let parts = FrameParts {
            name: match function {
                b"" => Some(self.table.text(b"(anonymous)")?),
                function => self.table.function(function, self.demangle)?,
            },
            file: self.table.given(file)?,
            line: (line > 0).then_some(line),
            obj: match is_object {
                true => self.table.given(name)?,
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
                    "expected an offset behind each code of a tick, found the end of its stack",
                ));
            }
            frames.push(self.frame_at(code)?);
        }
        let stack = self.table.stack(&frames)?;
        let row = self.table.count(StackKey::of(stack), 0, 1)?;
        if let Some(micros) = self.last.map(|last| i128::from(tick.tm) - i128::from(last)) {
            self.backwards += u64::from(micros < 0);
            self.table.add(row, 1, micros.max(0) * 1000);
        }
        self.last = Some(tick.tm);
        Ok(())
    }

    /// The frame of a code; older versions have an address in the place of a code that is not known.
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

/// Does something with each element of the list that stands here, which it gets the length of.
fn each(
    window: &mut Window,
    mut handle: impl FnMut(&mut Window, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    window.expect(b'[')?;
    let mut is_first = true;
    while !window.take(b']')? {
        if !is_first {
            window.expect(b',')?;
        }
        is_first = false;
        let length = window.value()?;
        handle(window, length)?;
        window.consume(length);
    }
    Ok(())
}

/// A function, and the file and the line that it begins in: `f /a b.js:3:7`, ` node:fs:1:1`.
fn place_of(name: &[u8]) -> (&[u8], Option<(&[u8], u64)>) {
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

/// Functions have blanks in their names (`get size`), and so have paths.
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
    fn ticks_are_stacks_of_positions_in_the_code() {
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
        let run = parsed.of("run")[0];
        assert!(
            run.contains(r#""total":{"samples":5,"time":13000},"duration":112000"#),
            "{run}"
        );
        assert!(parsed.of("stack")[2].contains(
            r#"{"fn":"get size","file":"/a b.js","line":7},{"fn":"main","file":"/a b.js","line":1}"#
        ));
        assert_eq!(
            parsed.messages,
            ["in: 1 times between ticks are below 0; they count as 0"]
        );
        assert!(parsed.is_whole() && !parsed.trouble);
    }

    #[test]
    fn other_documents_with_code_are_none() {
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
    fn no_prefix_is_taken_for_a_whole_log() {
        check_all_prefixes(parse_preprocessed, TEXT.as_bytes(), &Options::default());
        for length in 1..TEXT.len() {
            let text = &TEXT.as_bytes()[..length];
            assert!(parsed::read(parse_preprocessed, text, &Options::default()).trouble);
        }
    }
}
