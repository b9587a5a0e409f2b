//! The distinct names of the drawn frames. Each name is shortened and escaped once.

use std::ops::Range;

use cg_collections::intern::Id;
use cg_names::structure::shorten::forms;

use super::super::stacks::{FrameTexts, WrittenFrameId};
use super::buffer::PictureBuffer;

/// The names, numbered in the order of their first use.
pub(super) struct DrawnNames<'d> {
    names: Vec<DrawnName<'d>>,
    /// For each text the number of its name, or [`UNDRAWN`].
    numbers: Vec<usize>,
    /// A line for each name, with its escaped forms separated by tabs. The first form is the name itself.
    lines: PictureBuffer,
}

/// A name of drawn frames.
pub(super) struct DrawnName<'d> {
    pub(super) frame: WrittenFrameId,
    pub(super) text: &'d str,
    /// The number of characters.
    pub(super) length: usize,
    /// The place of the escaped name in the lines.
    escaped: Range<usize>,
}

/// The mark of a text that is not drawn.
const UNDRAWN: usize = usize::MAX;

impl<'d> DrawnNames<'d> {
    /// Collects the names of these frames.
    pub(super) fn new(
        frames: impl Iterator<Item = WrittenFrameId>,
        texts: &'d FrameTexts,
    ) -> DrawnNames<'d> {
        let mut names = DrawnNames {
            names: Vec::new(),
            numbers: vec![UNDRAWN; texts.len()],
            lines: PictureBuffer::default(),
        };
        for frame in frames {
            let number = &mut names.numbers[frame.index()];
            if *number == UNDRAWN {
                *number = names.names.len();
                names.add(frame, texts.text(frame));
            }
        }
        names
    }

    fn add(&mut self, frame: WrittenFrameId, text: &'d str) {
        if !self.names.is_empty() {
            self.lines.push("\n");
        }
        let start = self.lines.len();
        self.lines.push_escaped(text);
        let escaped = start..self.lines.len();
        for form in forms(text).iter().skip(1) {
            self.lines.push("\t");
            self.lines.push_escaped(&form.text(text));
        }
        self.names.push(DrawnName {
            frame,
            text,
            length: text.chars().count(),
            escaped,
        });
    }

    /// Iterates over the names, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &DrawnName<'d>> {
        self.names.iter()
    }

    /// Returns the number of a drawn frame's name.
    pub(super) fn number(&self, frame: WrittenFrameId) -> usize {
        self.numbers[frame.index()]
    }

    /// Returns the name with this number.
    pub(super) fn get(&self, number: usize) -> &DrawnName<'d> {
        &self.names[number]
    }

    /// Returns a name, escaped for XML.
    pub(super) fn escaped(&self, name: &DrawnName<'_>) -> &[u8] {
        &self.lines.as_bytes()[name.escaped.clone()]
    }

    /// Returns the lines with the forms of all names, escaped for XML.
    pub(super) fn lines(&self) -> &[u8] {
        self.lines.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_listed_once_with_its_escaped_forms() {
        let mut texts = FrameTexts::default();
        let frames = ["unused", "main", "demo::run<demo::Job>", "main"];
        let frames = frames.map(|name| texts.intern(name, "").unwrap());
        let names = DrawnNames::new(frames[1..].iter().copied(), &texts);
        let lines = str::from_utf8(names.lines()).unwrap();
        assert_eq!(
            lines,
            "main\ndemo::run&lt;demo::Job&gt;\tdemo::run&lt;…&gt;\t…::run&lt;…&gt;\trun"
        );
        let drawn: Vec<&str> = names.iter().map(|name| name.text).collect();
        assert_eq!(drawn, ["main", "demo::run<demo::Job>"]);
        assert_eq!(names.number(frames[2]), 1);
        let run = names.get(1);
        assert_eq!(run.length, 20);
        assert_eq!(names.escaped(run), b"demo::run&lt;demo::Job&gt;");
    }
}
