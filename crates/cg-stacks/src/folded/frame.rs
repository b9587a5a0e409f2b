//! Parses a frame of a folded stack: the name of a function, and the annotations that collapsers append.

use cg_collections::intern::{Bytes, Id, TooMany};
use cg_names::frame_text::FrameText;
use cg_reader::number::whole_u64;
use cg_stream::record::{Frame, FrameMarks, Name};

use crate::table::{FrameId, FrameParts, StackTable};

cg_collections::ids! {
    struct FoldedFrameId;
}

/// The frames by their texts. Each text is parsed once.
#[derive(Default)]
pub(crate) struct FoldedFrames {
    texts: Bytes<FoldedFrameId>,
    frames: Vec<FrameId>,
    demangle: bool,
}

impl FoldedFrames {
    pub(crate) fn new(demangle: bool) -> FoldedFrames {
        FoldedFrames {
            demangle,
            ..FoldedFrames::default()
        }
    }

    /// Interns the frame of a text.
    #[inline]
    pub(crate) fn frame(
        &mut self,
        text: &[u8],
        table: &mut StackTable,
    ) -> Result<FrameId, TooMany> {
        let id = self.texts.intern(text)?;
        match self.frames.get(id.index()) {
            Some(frame) => Ok(*frame),
            None => self.add(text, table),
        }
    }

    #[cold]
    fn add(&mut self, text: &[u8], table: &mut StackTable) -> Result<FrameId, TooMany> {
        let (text, marks) = without_marks(text);
        let frame = ruby_frame(text).unwrap_or_else(|| self.described(text));
        let mut given = |name: &Option<Name>| {
            let name = name.as_deref().unwrap_or_default();
            table.text_unless_empty(name.as_bytes())
        };
        let parts = FrameParts {
            name: given(&frame.name)?,
            file: given(&frame.file)?,
            line: frame.line,
            obj: given(&frame.obj)?,
            addr: None,
            marks,
        };
        let frame = table.frame(parts)?;
        self.frames.push(frame);
        Ok(frame)
    }

    /// Parses a text without its annotations. Python's profilers write `main (app.py:3)`, like Valgrind. An address in
    /// place of a function name is used as the name, because nothing else distinguishes the function from others.
    fn described<'t>(&self, text: &'t [u8]) -> Frame<'t> {
        let described = FrameText {
            demangle: self.demangle,
            ..FrameText::default()
        };
        if text.starts_with(b"0x") {
            return Frame {
                name: Some(Name::from_bytes(text)),
                ..Frame::default()
            };
        }
        described.frame(text)
    }
}

/// Parses a frame of rbspy: `leaf - /home/dev/a.rb:3` or `sleep [c function] - (unknown)`. Names may contain ` - `, so a
/// path has to follow.
fn ruby_frame(text: &[u8]) -> Option<Frame<'_>> {
    let at = memchr::memmem::rfind(text, b" - ").filter(|at| *at > 0)?;
    let place = &text[at + 3..];
    let (path, line) = match memchr::memrchr(b':', place) {
        Some(colon) if place[colon + 1..].iter().all(u8::is_ascii_digit) => {
            (&place[..colon], whole_u64(&place[colon + 1..]))
        }
        _ => (place, None),
    };
    let is_unknown = matches!(path, b"unknown" | b"(unknown)");
    let is_path = line.is_some()
        && (path.starts_with(b"/")
            || path.starts_with(b"<internal:")
            || path.ends_with(b".rb")
            || matches!(path, b"(eval)" | b"(irb)" | b"-e"));
    if !(is_unknown || is_path) {
        return None;
    }
    Some(Frame {
        name: Some(Name::from_bytes(&text[..at])),
        file: (!is_unknown).then(|| Name::from_bytes(path)),
        line: line.filter(|line| *line > 0),
        ..Frame::default()
    })
}

/// Parses the thread that async-profiler writes as the outermost frame (`-t`): `[worker 1 tid=31626]`, or `[tid=31626]`,
/// where the number is the name.
pub(crate) fn thread_name(frame: &[u8]) -> Option<&[u8]> {
    let inside = frame.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let at = memchr::memmem::rfind(inside, b"tid=")?;
    let number = &inside[at + 4..];
    if number.is_empty() || !number.iter().all(u8::is_ascii_digit) {
        return None;
    }
    match inside[..at].strip_suffix(b" ") {
        Some(name) if !name.is_empty() => Some(name),
        _ if at == 0 => Some(number),
        _ => None,
    }
}

/// Splits a name from its annotations (`stackcollapse-perf.pl --all`, `inferno-collapse-perf --all`, `asprof --ann`), and
/// returns the annotations as marks. `_[0]` means interpreted, which has no mark. `_[1]` means compiled by the JVM's C1.
fn without_marks(text: &[u8]) -> (&[u8], FrameMarks) {
    let mut marks = FrameMarks::default();
    let mut rest = text;
    while let [name @ .., b'_', b'[', letter, b']'] = rest {
        match letter {
            b'k' => marks.kernel = true,
            b'j' | b'1' => marks.jit = true,
            b'0' => {}
            b'i' => marks.inlined = true,
            b'w' => marks.waker = true,
            _ => break,
        }
        rest = name;
    }
    (rest, marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_marks() {
        let marks = |text: &'static str| {
            let (name, marks) = without_marks(text.as_bytes());
            let letters = [marks.kernel, marks.jit, marks.inlined, marks.waker];
            let letters = "kjiw".chars().zip(letters).filter(|(_, is_so)| *is_so);
            let letters: String = letters.map(|(letter, _)| letter).collect();
            (std::str::from_utf8(name).unwrap(), letters)
        };
        assert_eq!(marks("sys_read_[k]"), ("sys_read", "k".to_owned()));
        assert_eq!(marks("A.b_[j]"), ("A.b", "j".to_owned()));
        assert_eq!(marks("f_[i]_[k]"), ("f", "ki".to_owned()));
        assert_eq!(marks("waker_[w]"), ("waker", "w".to_owned()));
        assert_eq!(marks("J.f_[0]"), ("J.f", String::new()));
        assert_eq!(marks("J.f_[1]"), ("J.f", "j".to_owned()));
        assert_eq!(marks("f_[x]"), ("f_[x]", String::new()));
        assert_eq!(marks("[k]"), ("[k]", String::new()));
    }

    #[test]
    fn ruby_frames_end_in_paths() {
        for (text, function, file, line) in [
            ("leaf - /home/dev/a.rb:3", "leaf", "/home/dev/a.rb", Some(3)),
            (
                "block - 2 in x - lib/a b.rb:3",
                "block - 2 in x",
                "lib/a b.rb",
                Some(3),
            ),
            (
                "loop - <internal:kernel>:187",
                "loop",
                "<internal:kernel>",
                Some(187),
            ),
            (
                "sleep [c function] - (unknown)",
                "sleep [c function]",
                "",
                None,
            ),
            ("<c function> - unknown:0", "<c function>", "", None),
        ] {
            let frame = ruby_frame(text.as_bytes()).unwrap();
            let name = |name: &Option<Name>| name.as_deref().unwrap_or_default().to_owned();
            let found = (name(&frame.name), name(&frame.file), frame.line);
            assert_eq!(
                found,
                (function.to_owned(), file.to_owned(), line),
                "{text}"
            );
        }
        for text in [
            "a - b:3",
            "GET - /index",
            "x - 7",
            " - /a.rb:3",
            "operator - (int)",
        ] {
            assert!(ruby_frame(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn threads_are_frames_with_a_number() {
        for (frame, thread) in [
            ("[main tid=7]", Some("main")),
            ("[w [1] tid=x tid=77]", Some("w [1] tid=x")),
            ("[tid=7]", Some("7")),
            ("[ tid=7]", None),
            ("[xtid=7]", None),
            ("[main tid=]", None),
            ("[main tid=x7]", None),
            ("main tid=7", None),
            ("[unknown]", None),
        ] {
            assert_eq!(
                thread_name(frame.as_bytes()),
                thread.map(str::as_bytes),
                "{frame}"
            );
        }
    }

    #[test]
    fn only_places_with_a_line_are_split_off() {
        let texts = FoldedFrames::new(true);
        let described = |text: &'static str| {
            let frame = texts.described(text.as_bytes());
            let name = |name: &Option<Name>| name.as_deref().unwrap_or_default().to_owned();
            (name(&frame.name), name(&frame.file), frame.line)
        };
        let place = |name: &str, file: &str, line| (name.to_owned(), file.to_owned(), line);
        assert_eq!(
            described("main (app.py:3)"),
            place("main", "app.py", Some(3))
        );
        assert_eq!(
            described("<module> (C:\\a b (x)\\app.py:12)"),
            place("<module>", "C:\\a b (x)\\app.py", Some(12))
        );
        for text in [
            "f(int)",
            "main (leaky.cpp)",
            "a (b:)",
            "f (a:0x3)",
            "0x401136",
            "_start",
        ] {
            assert_eq!(described(text), place(text, "", None));
        }
        assert_eq!(described("_ZN2rs4pong17hcc47841c3c82513eE").0, "rs::pong");
    }
}
