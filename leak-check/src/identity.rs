//! The own frames of a finding, with all evidence that may identify them: names, places, addresses and source lines.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use cg_names::code_origin::UNKNOWN_INLINED;
use cg_names::identity::{
    is_bare_name, is_shared_library, is_source_of_c, normal_file, normal_function, normal_object,
};
use cg_stream::record::Frame;

use crate::finding::{Details, Finding};
use crate::fingerprint::{Fingerprint, FrameMark, Place};
use crate::own::frames_before;
use crate::source_text::SourceLines;
use crate::stack::Stack;

/// An own frame of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdentityFrame {
    /// The normal form of its name; for a frame without a name, its file, or its object and address.
    pub(crate) name: String,
    pub(crate) mark: FrameMark,
    pub(crate) place: Option<Place>,
    /// The text of the source line with its function. Only for frames without a full name, and only if it is unique.
    pub(crate) source: Option<Rc<str>>,
}

/// The own frames of a finding, innermost first.
pub(crate) type OwnFrames = Rc<[IdentityFrame]>;

/// Creates fingerprints. Caches the normal form of each name, and the frames of each stack.
#[derive(Debug, Default)]
pub(crate) struct NormalNames {
    names: RefCell<HashMap<String, String>>,
    stacks: RefCell<HashMap<(Stack, usize), OwnFrames>>,
    sources: SourceLines,
}

impl NormalNames {
    pub(crate) fn with_sources(sources: SourceLines) -> NormalNames {
        NormalNames {
            sources,
            ..NormalNames::default()
        }
    }

    pub(crate) fn fingerprint(&self, finding: &Finding) -> Fingerprint {
        fingerprint_of_frames(&self.frames(finding), finding.kind())
    }

    /// Returns the own frames of a finding, with recursion folded.
    pub(crate) fn frames(&self, finding: &Finding) -> OwnFrames {
        if let Some(frames) = self.line_without_stack(finding) {
            return frames;
        }
        let before = frames_before(finding);
        let key = (finding.stack.clone(), before);
        if let Some(known) = self.stacks.borrow().get(&key) {
            return known.clone();
        }
        let frames: OwnFrames = self.own_frames(&finding.stack, before).into();
        self.stacks.borrow_mut().insert(key, frames.clone());
        frames
    }

    /// Returns the message and the line of an error without a stack: by default, UndefinedBehaviorSanitizer prints only
    /// these.
    fn line_without_stack(&self, finding: &Finding) -> Option<OwnFrames> {
        let (Details::Error(error), 1) = (&finding.details, finding.stack.len()) else {
            return None;
        };
        let frame = finding.stack.first()?;
        if frame.name.is_some() || frame.obj.is_some() || frame.addr.is_some() {
            return None;
        }
        let file = normal_file(frame.file.as_deref()?).to_owned();
        let place = place(frame);
        let message = IdentityFrame {
            name: self.normal(&without_numbers(&error.what)),
            mark: FrameMark::Name,
            place: None,
            source: None,
        };
        let line = IdentityFrame {
            name: file,
            mark: FrameMark::Line(place.clone()),
            source: self.source(frame),
            place,
        };
        Some(Rc::from([message, line]))
    }

    /// Returns the own frames. If no frame is own, returns the frames from the blamed frame outwards.
    fn own_frames(&self, stack: &Stack, before: usize) -> Vec<IdentityFrame> {
        let mut frames = Vec::new();
        for (position, is_own) in (before..stack.len()).zip(stack.own_after(before)) {
            if is_own {
                push_folded(&mut frames, self.frame(stack, position));
            }
        }
        if frames.is_empty() {
            for position in stack.blamed_position_after(before)..stack.len() {
                push_folded(&mut frames, self.frame(stack, position));
            }
        }
        frames
    }

    fn frame(&self, stack: &Stack, position: usize) -> IdentityFrame {
        let frame = &stack[position];
        let place = place(frame);
        let name = frame.name.as_deref();
        let name = name.filter(|name| !matches!(*name, "???" | UNKNOWN_INLINED));
        let (name, mark) = match name {
            Some(name) => {
                let name = self.normal(name);
                let is_bare = is_bare_name(&name) && is_inlined_with_scopes(stack, position);
                let mark = match is_bare {
                    true => FrameMark::Bare(place.clone()),
                    false => FrameMark::Name,
                };
                (name, mark)
            }
            None => {
                let name = match &place {
                    Some(place) => place.file.clone(),
                    None => object_and_address(frame),
                };
                (name, FrameMark::Unnamed(place.clone()))
            }
        };
        let source = mark.place().and_then(|_| self.source(frame));
        IdentityFrame {
            name,
            mark,
            place,
            source,
        }
    }

    fn source(&self, frame: &Frame) -> Option<Rc<str>> {
        self.sources.text(frame.file.as_deref()?, frame.line?)
    }

    /// Returns the names of all frames in the form of older baselines.
    pub(crate) fn all_names(&self, stack: &Stack) -> Vec<String> {
        let name = |frame: &Frame| match (frame.name.as_deref(), frame.obj.as_deref()) {
            (Some(name), _) if name != "???" => self.normal(name),
            (_, Some(object)) => normal_object(object).into_owned(),
            _ => "???".to_owned(),
        };
        stack.iter().map(name).collect()
    }

    /// Returns the normal form of a function's name.
    pub(crate) fn normal(&self, name: &str) -> String {
        if let Some(known) = self.names.borrow().get(name) {
            return known.clone();
        }
        let normal = normal_function(name).into_owned();
        self.names
            .borrow_mut()
            .insert(name.to_owned(), normal.clone());
        normal
    }
}

/// Returns the fingerprint of a finding of this kind with these own frames.
pub(crate) fn fingerprint_of_frames(frames: &[IdentityFrame], kind: &str) -> Fingerprint {
    Fingerprint {
        frames: frames.iter().map(|frame| frame.name.clone()).collect(),
        marks: frames.iter().map(|frame| frame.mark.clone()).collect(),
        kind: kind.to_owned(),
    }
}

fn place(frame: &Frame) -> Option<Place> {
    Some(Place {
        file: normal_file(frame.file.as_deref()?).to_owned(),
        line: frame.line?,
    })
}

/// Returns true if the frame's function is inlined, and belongs to a language with scopes, so that its name may lack them.
///
/// An inlined frame has the address of the frame that follows it. The last frame with that address is the function that the
/// code was inlined into. In C, a bare name is the whole name.
fn is_inlined_with_scopes(stack: &Stack, position: usize) -> bool {
    let Some(address) = &stack[position].addr else {
        return false;
    };
    let same = stack.iter().skip(position + 1);
    let Some(host) = same
        .take_while(|frame| frame.addr.as_ref() == Some(address))
        .last()
    else {
        return false;
    };
    let file = host.file.as_deref().unwrap_or_default();
    !is_source_of_c(file)
}

/// Returns the object and the address of a frame. Each run may load a library at another address, so a library has only the
/// offset in a page. The same applies to programs outside Valgrind, which are loaded at large addresses.
fn object_and_address(frame: &Frame) -> String {
    const PAGE_OFFSET: u64 = 0xfff;
    let object = frame.obj.as_deref().map_or("???".into(), normal_object);
    let digits = frame.addr.as_deref().unwrap_or_default();
    let Ok(address) = u64::from_str_radix(digits.trim_start_matches("0x"), 16) else {
        return object.into_owned();
    };
    let is_program = |path: &str| !is_shared_library(path);
    let is_fixed = frame.obj.as_deref().is_some_and(is_program);
    let address = match is_fixed && u32::try_from(address).is_ok() {
        true => address,
        false => address & PAGE_OFFSET,
    };
    format!("{object}+{address:#x}")
}

/// Replaces the numbers and addresses of a message by `N`. Keeps those in quotes, such as the type `'int [8]'`.
pub(crate) fn without_numbers(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut is_quoted = false;
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let before = text.chars().next_back();
        let is_inside_word = before.is_some_and(|before| before.is_alphanumeric() || before == '_');
        let number = match is_quoted || is_inside_word {
            true => 0,
            false => number_length(rest),
        };
        if number > 0 {
            text.push('N');
            rest = &rest[number..];
            continue;
        }
        is_quoted ^= first == '\'';
        text.push(first);
        rest = &rest[first.len_utf8()..];
    }
    text
}

/// Returns the length of the number at the beginning of a text: `-12`, `0x7ffe`, `1.5e+10`; 0 if there is none.
fn number_length(text: &str) -> usize {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit()) {
        return 0;
    }
    let mut before = ' ';
    let is_part = |next: char| {
        let is_sign_of_exponent = matches!(next, '+' | '-') && matches!(before, 'e' | 'E');
        let is_part = next.is_alphanumeric() || next == '.' || is_sign_of_exponent;
        before = next;
        is_part
    };
    let rest = unsigned.trim_start_matches(is_part);
    // A full stop at the end of a sentence is not a part of the number.
    let number = text[..text.len() - rest.len()].trim_end_matches('.');
    number.len()
}

/// Appends a frame and folds repetitions: `a b a b a b` becomes `a b`.
pub(crate) fn push_folded(frames: &mut Vec<IdentityFrame>, frame: IdentityFrame) {
    /// The maximum length of a folded sequence. Longer ones are rare, and only lengthen the fingerprint.
    const LONGEST_ROUND: usize = 8;
    frames.push(frame);
    let length = frames.len();
    let is_same = |(a, b): (&IdentityFrame, &IdentityFrame)| a.name == b.name && a.mark == b.mark;
    for round in 1..=LONGEST_ROUND.min(length / 2) {
        let (first, second) = frames[length - 2 * round..].split_at(round);
        if first.iter().zip(second).all(is_same) {
            frames.truncate(length - round);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Name;

    fn frame(text: &'static str) -> Frame<'static> {
        let mut fields = text
            .split('|')
            .map(|field| Some(field).filter(|field| !field.is_empty()));
        let mut next = || fields.next().flatten();
        Frame {
            name: next().map(Name::from),
            addr: next().map(Name::from),
            file: next().map(Name::from),
            line: next().map(|line| line.parse().unwrap()),
            obj: next().map(Name::from),
            ..Frame::default()
        }
    }

    /// Returns the identities of the own frames of a stack of `name|address|file|line|object`.
    fn frames(stack: &[&'static str]) -> Vec<String> {
        let stack: Stack = stack.iter().map(|text| frame(text)).collect();
        let frames = NormalNames::default().own_frames(&stack, 0);
        let text = |frame: &IdentityFrame| {
            let place = frame.mark.place().map(|place| format!(" {place}"));
            let word = frame.mark.word();
            format!("{} {word}{}", frame.name, place.unwrap_or_default()).replace(" name", "")
        };
        frames.iter().map(text).collect()
    }

    #[test]
    fn only_own_frames_count_and_recursion_is_folded() {
        for (stack, expected) in [
            (
                &[
                    "malloc",
                    "make_node",
                    "insert",
                    "insert",
                    "insert",
                    "main",
                    "(below main)",
                ][..],
                &["make_node", "insert", "main"][..],
            ),
            (
                &["malloc", "expr", "term", "expr", "term", "expr", "main"],
                &["expr", "term", "expr", "main"],
            ),
            (
                &["malloc", "expr", "term", "expr", "term", "main"],
                &["expr", "term", "main"],
            ),
            // If no frame is own, the stack is named from the blamed frame outwards.
            (&["calloc", "_dl_new", "_dl_init"], &["_dl_new", "_dl_init"]),
            (&["malloc"], &["malloc"]),
            (&[], &[]),
        ] {
            assert_eq!(frames(stack), expected);
        }
    }

    #[test]
    fn inlined_frames_are_known_by_their_place_unless_the_language_is_c() {
        let stack = [
            "malloc|0x1",
            "get|0x2|a.h|3",
            "run|0x2|a.cpp|4",
            "go(int)|0x2|a.cpp|5",
            "main|0x3|a.cpp|9",
        ];
        assert_eq!(
            frames(&stack),
            ["get bare a.h:3", "run bare a.cpp:4", "go(int)", "main"]
        );
        let stack = [
            "malloc|0x1",
            "get|0x2|a.h|3",
            "run|0x2|a.c|4",
            "main|0x3|a.c|9",
        ];
        assert_eq!(frames(&stack), ["get", "run", "main"]);
        // Different functions of one bare name are no recursion.
        let stack = [
            "malloc|0x1",
            "get|0x2|a.h|3",
            "get|0x2|a.h|7",
            "get|0x2|a.h|7",
            "go(int)|0x2|a.cpp|5",
        ];
        assert_eq!(
            frames(&stack),
            ["get bare a.h:3", "get bare a.h:7", "go(int)"]
        );
    }

    #[test]
    fn frames_without_a_name_are_known_by_their_place_or_address() {
        for (text, expected) in [
            ("???|0x109146|||/home/me/st", "st+0x109146 unnamed"),
            ("|0x109146|||/home/me/st", "st+0x109146 unnamed"),
            // Libraries, and programs outside Valgrind, are loaded anywhere.
            (
                "???|0x4A51146|||/home/me/libst.so.1",
                "libst.so+0x146 unnamed",
            ),
            ("|0x55cc97cf31a5|||/home/me/st", "st+0x1a5 unnamed"),
            ("???|0x109146", "???+0x146 unnamed"),
            ("???||||/home/me/st", "st unnamed"),
            (
                "UnknownInlinedFun|0x10905D|/home/me/lto.c|3",
                "lto.c unnamed lto.c:3",
            ),
        ] {
            assert_eq!(frames(&[text]), [expected]);
        }
    }

    #[test]
    fn numbers_of_a_message_do_not_identify_it_unless_they_are_in_a_type() {
        for (message, expected) in [
            (
                "signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'",
                "signed integer overflow: N + N cannot be represented in type 'int'",
            ),
            (
                "index -8 out of bounds for type 'int [8]'",
                "index N out of bounds for type 'int [8]'",
            ),
            (
                "store to address 0x56118de571a4 with",
                "store to address N with",
            ),
            (
                "1.5e+10 is outside the range of 'x1'.",
                "N is outside the range of 'x1'.",
            ),
            ("null x2 -", "null x2 -"),
            ("shift exponent 32.", "shift exponent N."),
        ] {
            assert_eq!(without_numbers(message), expected);
        }
    }
}
