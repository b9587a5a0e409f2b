//! Parsing of Valgrind's text for a stack frame: `0x10920C: ramp (heapy.c:7)` or `0x484: malloc (in /usr/lib/x.so)`.
//!
//! `coregrind/m_debuginfo/debuginfo.c:VG_(describe_IP)` writes it to logs, Massif's trees and DHAT's frame table. dhat-rs
//! adds a column to the line, and heaptrack writes the object without `in `.

use std::borrow::Cow;

use cg_stream::record::{Frame, Name};

use crate::demangle::demangle;

/// Options for parsing the frames of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameText {
    /// True if places are `file:line:column`, as dhat-rs writes them.
    pub has_column: bool,
    /// True if mangled names are to be demangled.
    pub demangle: bool,
}

impl FrameText {
    /// Parses the text of a frame. Does not trim anything, because function names may begin and end with spaces.
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

/// Splits an optional `0xADDRESS: ` from the text that follows.
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
        // Valgrind knows only the address, or the log was trimmed.
        [] | [b':'] => (Some(address), b""),
        _ => (None, text),
    }
}

/// The place of a frame: the text in the parentheses at its end.
enum TextPlace<'a> {
    Line { file: &'a [u8], line: u64 },
    Object(&'a [u8]),
    Unknown,
}

/// Splits a text into the function and its place.
///
/// Names contain parentheses too, so the place is the last ` (…)` that can be a place and has balanced parentheses:
/// `operator() (in /opt/App (beta)/lib.so)` is in `/opt/App (beta)/lib.so`. If none is balanced, the path contains an
/// unbalanced parenthesis, and the last ` (…)` that can be a place is used.
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

/// Splits `front:NUMBER`.
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

    /// Checks address, function, file, line and object of a frame; `-` means that the field is missing.
    fn check(frame: &Frame, expected: [&str; 5]) {
        let line = frame.line.map(|line| line.to_string());
        let fields = [
            frame.addr.as_deref(),
            frame.name.as_deref(),
            frame.file.as_deref(),
            line.as_deref(),
            frame.obj.as_deref(),
        ];
        assert_eq!(fields.map(|field| field.unwrap_or("-")), expected);
    }

    #[test]
    fn frames_of_valgrind_have_lines_or_objects() {
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
    fn parentheses_in_places_and_names_are_distinguished() {
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
    fn columns_of_dhat_rs_and_objects_of_heaptrack_are_read() {
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
    fn mangled_names_are_demangled_on_request() {
        let text = b"0x1: _ZN4Tree4walkEi (tree.cpp:3)";
        check(
            &frame(text),
            ["0x1", "_ZN4Tree4walkEi", "tree.cpp", "3", "-"],
        );
        let demangling = FrameText {
            demangle: true,
            ..FrameText::default()
        };
        check(
            &demangling.frame(text),
            ["0x1", "Tree::walk(int)", "tree.cpp", "3", "-"],
        );
        let main = demangling.frame(b"0x1: main");
        check(&main, ["0x1", "main", "-", "-", "-"]);
    }

    #[test]
    fn any_bytes_can_be_parsed_as_a_frame() {
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
