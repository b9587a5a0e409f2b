//! Frames and stacks as lines of text.

use std::cell::RefCell;
use std::rc::Rc;

use cg_collections::maps::Map;
use cg_document::html::FramePart;
use cg_document::number::plural;
use cg_document::visible;
use cg_names::code_origin::{StackLine, fold_libraries};
use cg_names::paths::base_name;
use cg_stream::record::{Count, Frame};

use crate::paths::Paths;
use crate::stack::Stack;

/// Returns the function of a frame, otherwise its object, file or address.
pub(crate) fn function_name(frame: &Frame) -> String {
    let name = frame.name.as_deref().filter(|name| *name != "???");
    let text = match (name, frame.obj.as_deref(), frame.addr.as_deref()) {
        (Some(name), _, _) => name.to_owned(),
        (None, Some(object), _) => {
            format!("??? in {}", base_name(object))
        }
        (None, None, address) => match (frame.file.as_deref(), address) {
            // Without stacks, UndefinedBehaviorSanitizer prints only a file and a line.
            (Some(file), _) => format!("??? in {}", base_name(file)),
            (None, address) => address.unwrap_or("???").to_owned(),
        },
    };
    visible(&text).into_owned()
}

/// Returns the parts of `make_node (src/tree.c:12)` or `malloc (in vgpreload_memcheck-amd64-linux.so)`.
pub(super) fn frame_parts(frame: &Frame, paths: &Paths) -> Vec<FramePart> {
    let words = |words: &str| FramePart::Words(words.to_owned());
    let known = frame.name.as_deref().filter(|name| *name != "???");
    let mut parts = vec![match known {
        Some(name) => FramePart::Function(name.to_owned()),
        None => words("???"),
    }];
    match (&frame.file, &frame.obj, &frame.addr) {
        (Some(file), ..) => {
            let line = frame.line.map(|line| format!(":{line}"));
            parts.push(words(" ("));
            parts.push(FramePart::File(paths.shown(file).into_owned()));
            parts.push(FramePart::Words(line.unwrap_or_default() + ")"));
        }
        (None, Some(object), _) => {
            parts.push(FramePart::Words(format!(" (in {})", base_name(object))));
        }
        (None, None, Some(address)) if known.is_none() => parts = vec![words(address)],
        (None, None, _) => {}
    }
    parts
}

/// Joins the parts of a frame to one text.
fn frame_line(frame: &Frame, paths: &Paths) -> String {
    let parts = frame_parts(frame, paths)
        .into_iter()
        .map(|part| match part {
            FramePart::Words(text) | FramePart::Function(text) | FramePart::File(text) => text,
        });
    parts.collect()
}

/// The interned lines of stacks. The line of a frame is rendered once, and equal lines have equal numbers.
pub(crate) struct StackLines<'a> {
    paths: &'a Paths,
    /// True to show every frame on a separate line.
    all_frames: bool,
    known: RefCell<KnownLines>,
}

#[derive(Default)]
struct KnownLines {
    texts: Vec<Rc<str>>,
    by_text: Map<Rc<str>, u32>,
    by_frame: Map<usize, u32>,
}

/// The index of a line, and its number of repetitions.
pub(crate) type FoldedLine = (u32, u32);

impl<'a> StackLines<'a> {
    pub(crate) fn new(paths: &'a Paths, all_frames: bool) -> StackLines<'a> {
        StackLines {
            paths,
            all_frames,
            known: RefCell::default(),
        }
    }

    /// Returns the lines of a stack. Repeated frames, as in a recursion, share a line. So do consecutive frames that are not
    /// the program's own: a Rust test has about twenty of these.
    pub(crate) fn lines(&self, stack: &Stack) -> Vec<String> {
        let lines = self.folded(stack).into_iter().enumerate();
        lines.map(|(at, line)| self.shown(at, line)).collect()
    }

    /// Returns the text of the line at a position of a stack.
    pub(crate) fn shown(&self, position: usize, (line, count): FoldedLine) -> String {
        let word = if position == 0 { "at " } else { "by " };
        let text = &*self.known.borrow().texts[line as usize];
        match count {
            1 => [word, text].concat(),
            count => format!("{word}{text}, {count} times"),
        }
    }

    /// Returns the numbers of a stack's lines.
    pub(crate) fn folded(&self, stack: &Stack) -> Vec<FoldedLine> {
        let lines = self.placed(stack).into_iter();
        lines.map(|(line, _)| line).collect()
    }

    /// Returns the numbers of a stack's lines, each with the position of its first frame; `None` for a line that replaces
    /// several library frames.
    pub(super) fn placed(&self, stack: &Stack) -> Vec<(FoldedLine, Option<usize>)> {
        let mut pieces = match self.all_frames {
            true => (0..stack.len()).map(StackLine::Frame).collect(),
            false => fold_libraries(&stack.code_origins()),
        };
        // Always show the innermost frame, where the finding happened.
        if let Some(StackLine::Libraries { frames, of }) = pieces.first().cloned() {
            let rest = match frames.len() {
                2 => StackLine::Frame(1),
                _ => StackLine::Libraries {
                    frames: 1..frames.end,
                    of,
                },
            };
            pieces.splice(..1, [StackLine::Frame(0), rest]);
        }
        let mut known = self.known.borrow_mut();
        let mut lines: Vec<(FoldedLine, Option<usize>)> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let (line, position) = match piece {
                StackLine::Frame(position) => {
                    let line = self.intern_frame(stack, position, &mut known);
                    (line, Some(position))
                }
                StackLine::Libraries { frames, of } => {
                    let frames = plural(frames.len() as Count, "frame", "frames");
                    let text = format!("… {frames} of {of}");
                    (known.line(&text), None)
                }
            };
            match lines.last_mut() {
                Some(((last, count), _)) if *last == line => *count += 1,
                _ => lines.push(((line, 1), position)),
            }
        }
        lines
    }

    fn intern_frame(&self, stack: &Stack, position: usize, known: &mut KnownLines) -> u32 {
        let address = stack.known_frames()[position].address();
        if let Some(line) = known.by_frame.get(&address) {
            return *line;
        }
        let line = known.line(&visible(&frame_line(&stack[position], self.paths)));
        known.by_frame.insert(address, line);
        line
    }
}

impl KnownLines {
    fn line(&mut self, text: &str) -> u32 {
        if let Some(line) = self.by_text.get(text) {
            return *line;
        }
        // A line takes more than four bytes, so memory runs out before the numbers do.
        let line = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let text: Rc<str> = text.into();
        self.texts.push(text.clone());
        self.by_text.insert(text, line);
        line
    }
}
