//! Backtraces of gdb, taken once or many times (“poor man's profiler”): `gdb -p PID -batch -ex "thread apply all bt"`.
//!
//! ```text
//! thread := "Thread " number " (" … "(LWP " number ")" (" \"" name "\"")? … "):"
//! frame  := "#" number "  " ("0x" address " in ")? function " (" arguments ")" (" at " file ":" line | " from " object)?
//! ```
//!
//! A stack begins with frame #0 and counts as one sample (event `samples`), even if its thread was waiting: the function
//! names show which threads wait. A frame has no address if the preceding frame was inlined into it (gdb/stack.c:
//! `frame_show_address`).

use cg_reader::number::{leading_hex, leading_u64};
use cg_reader::{Error, Lines, Reading, excerpt};
use cg_stream::record::FrameMarks;

use super::table::{FrameParts, NameId, StackKey, StackTable};
use super::write::write;

/// Returns true for a line that only gdb prints: the innermost frame of a stack.
pub fn is_innermost_frame(line: &[u8]) -> bool {
    line.starts_with(b"#0  ")
        && backtrace_line(line).is_some_and(|frame| frame.has_address || frame.line.is_some())
}

/// Reads backtraces of gdb: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let run = reading.run("gdb");
    let mut traces = Backtraces {
        table: StackTable::new(["samples"]),
        demangle: reading.options.demangle,
        ..Backtraces::default()
    };
    let read = traces.read(reading.lines);
    write(run, &traces.table, read, reading.out)
}

/// The state of reading backtraces.
#[derive(Default)]
struct Backtraces {
    table: StackTable,
    demangle: bool,
    thread: Option<NameId>,
    /// True if gdb could not unwind the whole stack.
    is_cut: bool,
    /// The frames of the current stack, innermost first.
    frames: Vec<FrameParts>,
}

/// A frame, parsed from a line.
#[derive(Debug, PartialEq, Eq)]
struct BacktraceLine<'a> {
    number: u64,
    has_address: bool,
    function: &'a [u8],
    file: &'a [u8],
    line: Option<u64>,
    obj: &'a [u8],
}

const SIGNAL: &[u8] = b"<signal handler called>";

impl Backtraces {
    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while lines.advance().map_err(Error::Input)? {
            let number = lines.line_number();
            let line = lines.last_line().trim_ascii_end();
            if begins_frame(line) {
                let frame = backtrace_line(line)
                    .ok_or_else(|| Error::unexpected(number, "a frame", line))?;
                if frame.number == 0 {
                    self.end_stack()?;
                } else if frame.number != self.frames.len() as u64 {
                    return Err(Error::at(
                        number,
                        format!(
                            "expected frame {} of the stack, found {}",
                            self.frames.len(),
                            excerpt(line)
                        ),
                    ));
                }
                self.frame(&frame)?;
            } else if line.starts_with(b"Thread ") && line.ends_with(b":") {
                self.end_stack()?;
                self.thread = thread_name(line)
                    .map(|name| self.table.text(name))
                    .transpose()?;
            } else if line.starts_with(b"Backtrace stopped: ") {
                self.is_cut = true;
            }
        }
        self.end_stack()
    }

    fn frame(&mut self, frame: &BacktraceLine) -> Result<(), Error> {
        let inner = self.frames.last_mut();
        if !frame.has_address
            && let Some(inner) = inner
            && self.table.name(inner.name).map(str::as_bytes) != Some(SIGNAL)
        {
            inner.marks.inlined = true;
        }
        self.frames.push(FrameParts {
            name: self.table.function(frame.function, self.demangle)?,
            file: self.table.text_unless_empty(frame.file)?,
            line: frame.line.filter(|line| *line > 0),
            obj: self.table.text_unless_empty(frame.obj)?,
            addr: None,
            marks: FrameMarks::default(),
        });
        Ok(())
    }

    /// Adds the current stack to the table.
    fn end_stack(&mut self) -> Result<(), Error> {
        let cut = std::mem::take(&mut self.is_cut);
        if self.frames.is_empty() {
            return Ok(());
        }
        let mut frames = Vec::with_capacity(self.frames.len());
        for parts in self.frames.drain(..) {
            frames.push(self.table.frame(parts)?);
        }
        let row = self.table.stack(&frames).and_then(|stack| {
            self.table.row(StackKey {
                stack,
                thread: self.thread,
                cut,
                ..StackKey::default()
            })
        })?;
        self.table.add(row, 0, 1);
        Ok(())
    }
}

/// Returns true for `#12 0x…` and `#1  main (`: digits in two columns, and a blank.
fn begins_frame(line: &[u8]) -> bool {
    let numbered = line.strip_prefix(b"#").and_then(leading_u64);
    numbered.is_some_and(|(_, rest)| rest.first().is_none_or(|byte| *byte == b' '))
}

fn backtrace_line(line: &[u8]) -> Option<BacktraceLine<'_>> {
    let (number, rest) = line.strip_prefix(b"#").and_then(leading_u64)?;
    let rest = rest.strip_prefix(b" ")?.trim_ascii_start();
    let after_address = rest.strip_prefix(b"0x").and_then(|digits| {
        let (_, rest) = leading_hex(digits)?;
        rest.strip_prefix(b" in ")
    });
    let has_address = after_address.is_some();
    let rest = after_address.unwrap_or(rest);
    if rest == SIGNAL {
        return Some(BacktraceLine {
            number,
            has_address: true,
            function: rest,
            file: b"",
            line: None,
            obj: b"",
        });
    }
    let open = arguments(rest)?;
    let (function, rest) = (&rest[..open], &rest[open..]);
    let (file, line, obj) = match place(rest) {
        Some((file, line)) => (file, Some(line), &b""[..]),
        None => (&b""[..], None, object(rest)?),
    };
    Some(BacktraceLine {
        number,
        has_address,
        function,
        file,
        line,
        obj,
    })
}

/// Returns the position of the blank before the arguments. Ignores blanks inside the brackets of a name.
fn arguments(text: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.iter().enumerate() {
        let belongs_to_operator = || {
            let sign = text[..at]
                .iter()
                .rev()
                .take_while(|byte| b"<>-=".contains(byte));
            text[..at - sign.count()].ends_with(b"operator")
        };
        match byte {
            b' ' if depth == 0 && at > 0 && text[at + 1..].starts_with(b"(") => return Some(at),
            b'<' | b'>' if belongs_to_operator() => {}
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' if at > 0 && text[at - 1] == b'-' => {}
            b'>' | b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Parses the file and the line of ` (x=1) at a b.c:12`. Uses the last `) at `, because arguments may be any text and file
/// names hardly contain it.
fn place(arguments: &[u8]) -> Option<(&[u8], u64)> {
    let at = memchr::memmem::rfind(arguments, b") at ")?;
    let text = &arguments[at + 5..];
    let colon = memchr::memrchr(b':', text)?;
    let (line, rest) = leading_u64(&text[colon + 1..])?;
    rest.is_empty().then_some((&text[..colon], line))
}

/// Parses the object of ` () from /lib/x.so`; empty if nothing follows the arguments.
fn object(arguments: &[u8]) -> Option<&[u8]> {
    if arguments.ends_with(b")") && memchr::memmem::rfind(arguments, b") from ").is_none() {
        return Some(b"");
    }
    let from = memchr::memmem::rfind(arguments, b") from ")?;
    let object = &arguments[from + 7..];
    (!object.is_empty()).then_some(object)
}

/// Parses the thread's name, or its system thread id, of `Thread 2 (Thread 0x7f… (LWP 31626) "io: 2 (x)"):`.
fn thread_name(line: &[u8]) -> Option<&[u8]> {
    let first = memchr::memchr(b'"', line);
    let last = memchr::memrchr(b'"', line);
    if let (Some(first), Some(last)) = (first, last)
        && first + 1 < last
    {
        return Some(&line[first + 1..last]);
    }
    let number = &line[memchr::memmem::find(line, b"LWP ")? + 4..];
    let digits = number
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    (digits > 0).then(|| &number[..digits])
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{check_all_prefixes, shown_stacks};

    use super::*;

    const TEXT: &str = include_str!("../../../tests/data/gdb/13.txt");

    #[test]
    fn every_thread_is_a_stack_and_inlined_frames_are_marked() {
        let parsed = parsed::read(parse, TEXT.as_bytes(), &Options::default());
        assert!(
            !parsed.has_errors && parsed.is_whole(),
            "{:?}",
            parsed.messages
        );
        assert_eq!(
            shown_stacks(&parsed),
            [
                "4 io: 2 (x): __libc_pause<waits<start_thread<clone3",
                "2 pmp: leaf<rec<rec<rec<main",
                "2 pmp: stir[inlined]<heavy<main",
            ]
        );
        assert!(parsed.records_of_type("stack")[2].contains(
            r#""stack":[{"fn":"stir","file":"pmp.c","line":4,"inlined":true},{"fn":"heavy","file":"pmp.c","line":7},{"fn":"main""#
        ));
    }

    #[test]
    fn names_may_have_brackets_and_arguments_any_text() {
        let show = |line: &'static str| {
            let frame = backtrace_line(line.as_bytes())?;
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let line = frame.line.map_or(String::new(), |line| format!(":{line}"));
            Some(format!(
                "{} {}{}{line} {}",
                text(frame.function),
                if frame.has_address { "+ " } else { "" },
                text(frame.file),
                text(frame.obj)
            ))
        };
        for (line, expected) in [
            (
                "#0  0x00007f in poll () from /lib/libc so.6",
                Some("poll +  /lib/libc so.6"),
            ),
            (
                "#12 f (s=0x1 \"a) at b.c:3\", n=2) at c d.c:7",
                Some("f c d.c:7 "),
            ),
            (
                "#1  (anonymous namespace)::g<int (*)(char)> (this=0x1) at a.cpp:3",
                Some("(anonymous namespace)::g<int (*)(char)> a.cpp:3 "),
            ),
            (
                "#2  0x1 in S::operator()(int) const (this=0x2) at a.cpp:3",
                Some("S::operator()(int) const + a.cpp:3 "),
            ),
            (
                "#2  0x1 in S::operator< (this=0x2) at a.cpp:3",
                Some("S::operator< + a.cpp:3 "),
            ),
            (
                "#2  0x1 in operator<< <int> (this=0x2) at a.cpp:3",
                Some("operator<< <int> + a.cpp:3 "),
            ),
            (
                "#2  0x1 in S::operator-> (this=0x2) at a.cpp:3",
                Some("S::operator-> + a.cpp:3 "),
            ),
            ("#3  0x1 in ?? ()", Some("?? +  ")),
            (
                "#4  <signal handler called>",
                Some("<signal handler called> +  "),
            ),
            ("#5  0x1 in f (", None),
            ("#5  0x1 in f", None),
            ("#5 /app/x.php(12): f()", None),
        ] {
            assert_eq!(show(line).as_deref(), expected, "{line}");
        }
        for line in [
            "    #0 0x1 in f a.c:3",
            "#0 /app/x.php(12): f()",
            "#0  define x (1)",
            "#0  f (x)",
        ] {
            assert!(!is_innermost_frame(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn stacks_that_gdb_could_not_unwind_are_cut() {
        let text = "#0  0x1 in f () from /x.so\n#1  0x2 in ?? ()\nBacktrace stopped: frame did not save the PC\n\nThread 1 (LWP 7):\n#0  0x1 in f () from /x.so\n";
        let parsed = parsed::read(parse, text.as_bytes(), &Options::default());
        assert_eq!(
            parsed.records_of_type("stack"),
            [
                r#""fn":"f","obj":"/x.so","thread":"7","cost":{"samples":1},"stack":[{"fn":"f","obj":"/x.so"}]}"#,
                r#""fn":"f","obj":"/x.so","cut":true,"cost":{"samples":1},"stack":[{"fn":"f","obj":"/x.so"},{"fn":"??"}]}"#,
            ]
        );
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(parse, TEXT.as_bytes(), &Options::default());
        let lost = TEXT.replacen("#2  ", "#3  ", 1);
        let parsed = parsed::read(parse, lost.as_bytes(), &Options::default());
        assert!(parsed.messages[0].contains("expected frame 2 of the stack, found \"#3  "));
    }
}
