//! A stack frame as Valgrind describes it in text: `0x10920C: ramp (heapy.c:7)` or `0x484: malloc (in /usr/lib/x.so)`.
//!
//! Written by `coregrind/m_debuginfo/debuginfo.c:VG_(describe_IP)`, and met in logs, Massif's trees and DHAT's frame
//! table alike. dhat-rs adds a column to the line, heaptrack writes the object without `in `.

use std::borrow::Cow;

use cg_stream::record::{Frame, Name};

use crate::demangle::demangle;

/// How frames are described in a file, and what is wanted of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameText {
    /// Places are `file:line:column`, as dhat-rs writes them.
    pub has_column: bool,
    /// Names that were left mangled are demangled.
    pub demangle: bool,
}

impl FrameText {
    /// The frame that a description tells of. Nothing is trimmed: function names may begin and end with spaces.
    pub fn frame(self, text: &[u8]) -> Frame<'_> {
        let (addr, rest) = address(text);
        let (function, place) = split_place(rest, self.has_column);
        let mut frame = Frame {
            name: self.name(function),
            addr,
            ..Frame::default()
        };
        match place {
            Some(TextPlace::Line { file, line }) => {
                frame.file = given(file);
                // An unknown line is written as 0.
                frame.line = (line != 0).then_some(line);
            }
            Some(TextPlace::Object(obj)) => frame.obj = given(obj),
            Some(TextPlace::Unknown) | None => {}
        }
        frame
    }

    fn name(self, function: &[u8]) -> Option<Name<'_>> {
        match demangle(function) {
            Cow::Owned(demangled) if self.demangle => {
                Some(Name::from_bytes(&demangled).into_owned())
            }
            _ => given(function),
        }
    }
}

fn given(name: &[u8]) -> Option<Name<'_>> {
    (!name.is_empty()).then(|| Name::from_bytes(name))
}

/// `0xADDRESS: ` at the beginning, if it is there, and what follows.
fn address(text: &[u8]) -> (Option<Name<'_>>, &[u8]) {
    let Some(digits) = text.strip_prefix(b"0x") else {
        return (None, text);
    };
    let length = digits
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let address = Name::from_bytes(&text[..2 + length]);
    match &digits[length..] {
        _ if length == 0 => (None, text),
        [b':', b' ', rest @ ..] => (Some(address), rest),
        // Where nothing more is known, or a log was trimmed.
        [] | [b':'] => (Some(address), b""),
        _ => (None, text),
    }
}

/// Where a frame is, as the parentheses at its end say.
enum TextPlace<'a> {
    Line { file: &'a [u8], line: u64 },
    Object(&'a [u8]),
    Unknown,
}

/// The function and the place behind it.
///
/// Names have parentheses too, so the place is the last ` (…)` that reads as one and whose parentheses are balanced:
/// `operator() (in /opt/App (beta)/lib.so)` is in `/opt/App (beta)/lib.so`. Where none is balanced, a path has a
/// parenthesis of its own: the last ` (…)` that reads as a place has to do.
fn split_place(text: &[u8], has_column: bool) -> (&[u8], Option<TextPlace<'_>>) {
    let Some(inside) = text.strip_suffix(b")") else {
        return (text, None);
    };
    let last = |accepts: fn(&[u8]) -> bool| {
        let mut end = inside.len();
        while let Some(start) = memchr::memmem::rfind(&inside[..end], b" (") {
            let described = &inside[start + 2..];
            if accepts(described)
                && let Some(place) = place(described, has_column)
            {
                return Some((&text[..start], Some(place)));
            }
            end = start;
        }
        None
    };
    last(is_balanced)
        .or_else(|| last(|_| true))
        .unwrap_or((text, None))
}

fn place(text: &[u8], has_column: bool) -> Option<TextPlace<'_>> {
    // Valgrind up to 3.4 writes "within".
    if let Some(object) = text
        .strip_prefix(b"in ")
        .or_else(|| text.strip_prefix(b"within "))
    {
        return Some(TextPlace::Object(object));
    }
    if text == b"???" {
        return Some(TextPlace::Unknown);
    }
    let numbered = if has_column {
        split_number(text).and_then(|(front, _column)| split_number(front))
    } else {
        split_number(text)
    };
    match numbered {
        Some((file, line)) => Some(TextPlace::Line { file, line }),
        None => text.starts_with(b"/").then_some(TextPlace::Object(text)),
    }
}

/// `front:NUMBER` taken apart.
fn split_number(text: &[u8]) -> Option<(&[u8], u64)> {
    let colon = memchr::memrchr(b':', text)?;
    let digits = &text[colon + 1..];
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((&text[..colon], number))
}

fn is_balanced(text: &[u8]) -> bool {
    let mut open = 0u32;
    for byte in text {
        match byte {
            b'(' => open += 1,
            b')' if open == 0 => return false,
            b')' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &[u8]) -> Frame<'_> {
        FrameText::default().frame(text)
    }

    fn frame_with_column(text: &[u8]) -> Frame<'_> {
        let style = FrameText {
            has_column: true,
            ..FrameText::default()
        };
        style.frame(text)
    }

    /// Checks what a text tells: address, function, file, line, object; `-` is not given.
    fn check(frame: &Frame, expected: [&str; 5]) {
        let line = frame.line.map(|line| line.to_string());
        let told = [
            frame.addr.as_deref(),
            frame.name.as_deref(),
            frame.file.as_deref(),
            line.as_deref(),
            frame.obj.as_deref(),
        ];
        assert_eq!(told.map(|field| field.unwrap_or("-")), expected);
    }

    #[test]
    fn valgrind_describes_lines_and_objects() {
        for (text, expected) in [
            (
                "0x10920C: ramp (heapy.c:7)",
                ["0x10920C", "ramp", "heapy.c", "7", "-"],
            ),
            (
                "0x484: malloc (in /usr/x.so)",
                ["0x484", "malloc", "-", "-", "/usr/x.so"],
            ),
            (
                "0x4A: ??? (in /bin/true)",
                ["0x4A", "???", "-", "-", "/bin/true"],
            ),
            ("0x4A: ???", ["0x4A", "???", "-", "-", "-"]),
            ("ramp (heapy.c:7)", ["-", "ramp", "heapy.c", "7", "-"]),
            (
                "0x4A: (below main) (libc-start.c:332)",
                ["0x4A", "(below main)", "libc-start.c", "332", "-"],
            ),
            (
                "0x4A: (below main)",
                ["0x4A", "(below main)", "-", "-", "-"],
            ),
        ] {
            check(&frame(text.as_bytes()), expected);
        }
    }

    #[test]
    fn names_and_paths_keep_spaces_hashes_and_parentheses() {
        for (text, expected) in [
            (
                "0x1: main::{lambda(int)#1}::operator()(int) const (a.cpp:12)",
                [
                    "0x1",
                    "main::{lambda(int)#1}::operator()(int) const",
                    "a.cpp",
                    "12",
                    "-",
                ],
            ),
            (
                "0x1:  leading  (wéird näme.c:5)",
                ["0x1", " leading ", "wéird näme.c", "5", "-"],
            ),
            ("0x1: (7) (a.c:5)", ["0x1", "(7)", "a.c", "5", "-"]),
            (
                "0x1: f (in /opt/App (beta)/lib.so)",
                ["0x1", "f", "-", "-", "/opt/App (beta)/lib.so"],
            ),
            (
                "0x1: f (/src (old)/a.c:3)",
                ["0x1", "f", "/src (old)/a.c", "3", "-"],
            ),
            (
                "0x1: operator new (unsigned long)",
                ["0x1", "operator new (unsigned long)", "-", "-", "-"],
            ),
        ] {
            check(&frame(text.as_bytes()), expected);
        }
    }

    #[test]
    fn places_have_parentheses_of_their_own() {
        for (text, expected) in [
            (
                "0x1: f (dir/a (x).c:3)",
                ["0x1", "f", "dir/a (x).c", "3", "-"],
            ),
            ("0x1: f (a) b).c:3)", ["0x1", "f", "a) b).c", "3", "-"]),
            (
                "0x1: ??? (in /tmp/x (deleted))",
                ["0x1", "???", "-", "-", "/tmp/x (deleted)"],
            ),
            (
                "0x1: a::operator()(int) const",
                ["0x1", "a::operator()(int) const", "-", "-", "-"],
            ),
            (
                "0x1: operator()(int)",
                ["0x1", "operator()(int)", "-", "-", "-"],
            ),
            (
                "0x1: operator() (a.c:0)",
                ["0x1", "operator()", "a.c", "-", "-"],
            ),
            ("0x1: f (C:\\a.c:7)", ["0x1", "f", "C:\\a.c", "7", "-"]),
            ("0x1: f (within /l)", ["0x1", "f", "-", "-", "/l"]),
            ("0x1: f (in ???)", ["0x1", "f", "-", "-", "???"]),
            ("0x1:  f (a.c:1)", ["0x1", " f", "a.c", "1", "-"]),
            (
                "0x1: malloc+116 (in /l)",
                ["0x1", "malloc+116", "-", "-", "/l"],
            ),
            ("0x1", ["0x1", "-", "-", "-", "-"]),
            ("0x1:", ["0x1", "-", "-", "-", "-"]),
        ] {
            check(&frame(text.as_bytes()), expected);
        }
    }

    #[test]
    fn dhat_rs_and_heaptrack_deviate() {
        check(
            &frame_with_column("0x5b: dr::main (dr/src/main.rs:11:121)".as_bytes()),
            ["0x5b", "dr::main", "dr/src/main.rs", "11", "-"],
        );
        check(
            &frame_with_column("0x5b: ??? (???:0:0)".as_bytes()),
            ["0x5b", "???", "???", "-", "-"],
        );
        check(
            &frame("0x5b: f (/usr/lib/libz.so)".as_bytes()),
            ["0x5b", "f", "-", "-", "/usr/lib/libz.so"],
        );
        check(
            &frame("0x5b: f (???)".as_bytes()),
            ["0x5b", "f", "-", "-", "-"],
        );
    }

    #[test]
    fn mangled_names_are_demangled_where_that_is_wanted() {
        let text = b"0x1: _ZN4Tree4walkEi (tree.cpp:3)";
        check(
            &frame(text),
            ["0x1", "_ZN4Tree4walkEi", "tree.cpp", "3", "-"],
        );
        let wanted = FrameText {
            demangle: true,
            ..FrameText::default()
        };
        check(
            &wanted.frame(text),
            ["0x1", "Tree::walk(int)", "tree.cpp", "3", "-"],
        );
        check(&wanted.frame(b"0x1: main"), ["0x1", "main", "-", "-", "-"]);
    }

    #[test]
    fn any_bytes_are_a_frame() {
        check(
            &frame(b"0x1: caf\xe9 (a.c:2)"),
            ["0x1", "caf\\xe9", "a.c", "2", "-"],
        );
        check(&frame(b""), ["-"; 5]);
        check(&frame(b"0x1: "), ["0x1", "-", "-", "-", "-"]);
        check(&frame(b"0x: f"), ["-", "0x: f", "-", "-", "-"]);
        check(&frame(b" ()"), ["-", " ()", "-", "-", "-"]);
    }
}
