//! A frame of a folded stack: a function's name, and what collapsers hang on it.

use cg_names::frame_text::FrameText;
use cg_stream::intern::{Bytes, Id, TooMany};
use cg_stream::record::{Frame, FrameMarks, Name};

use crate::table::{FrameId, FrameParts, StackTable};

cg_stream::ids! {
    struct FoldedFrameId;
}

/// Interned frames by text, each parsed once.
pub(super) struct FoldedFrames {
    texts: Bytes<FoldedFrameId>,
    frames: Vec<FrameId>,
    demangle: bool,
}

impl FoldedFrames {
    pub(super) fn new(demangle: bool) -> FoldedFrames {
        FoldedFrames {
            texts: Bytes::default(),
            frames: Vec::new(),
            demangle,
        }
    }

    /// The frame that a text tells of.
    #[inline]
    pub(super) fn frame(
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
        let frame = self.described(text);
        let mut given = |name: &Option<Name>| {
            let name = name.as_deref().unwrap_or_default();
            table.given(name.as_bytes())
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

    /// What a text says besides its marks. Python's profilers write `main (app.py:3)`, as Valgrind does; a number that stands
    /// for a function without a name is its name here, since nothing else tells it from others.
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

/// The name without its annotations (`stackcollapse-perf.pl --all`, `inferno-collapse-perf --all`), and what they say.
fn without_marks(text: &[u8]) -> (&[u8], FrameMarks) {
    let mut marks = FrameMarks::default();
    let mut rest = text;
    while let [name @ .., b'_', b'[', letter, b']'] = rest {
        match letter {
            b'k' => marks.kernel = true,
            b'j' => marks.jit = true,
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
        assert_eq!(marks("f_[x]"), ("f_[x]", String::new()));
        assert_eq!(marks("[k]"), ("[k]", String::new()));
    }

    #[test]
    fn places_are_those_with_a_line() {
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
