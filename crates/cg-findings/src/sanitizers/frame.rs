//! A frame of a sanitizer's stack: `#0 0x55c in f(int) src/a.cpp:12:3`, `#1 0x7f1 in g (/lib/x.so+0x12) (BuildId: ab)`,
//! and ThreadSanitizer's `#0 f(int) src/a.cpp:12 (prog+0x12)`, which has `<null>` for unknown parts
//! (`sanitizer_stacktrace_printer.cpp`: the formats `%p %F %L` and `%f %S %M`). Go's frames have two lines.

use cg_stream::record::{Frame, Name};
use memchr::memmem;

use crate::table::{FindingTable, FrameRow};

/// Returns the text after `#N ` in a frame's line, and true if N is 0; `None` if the line is not a frame.
pub(super) fn split_frame(line: &[u8]) -> Option<(bool, &[u8])> {
    let indent = memmem::find(line, b"    #");
    let numbered = match indent {
        Some(indent) => &line[indent + b"    #".len()..],
        None => line.trim_ascii_start().strip_prefix(b"#")?,
    };
    let digits = numbered.iter().take_while(|byte| byte.is_ascii_digit());
    let (number, rest) = numbered.split_at(digits.count());
    let raw = rest.strip_prefix(b" ")?;
    // Without the indentation, frames of debuggers and programs look similar, so require an address.
    let is_frame = !number.is_empty() && (indent.is_some() || raw.starts_with(b"0x"));
    is_frame.then_some((number == b"0", raw))
}

/// Parses a frame.
pub(super) fn parse(raw: &[u8], table: &mut FindingTable) -> FrameRow {
    let (addr, rest) = address(raw);
    let (rest, module) = split_module(rest);
    let is_tsan = addr.is_none() && module.is_some();
    let (function, place) = split_place(rest, is_tsan);
    let (file, line) = place.map_or((None, None), file_and_line);
    let known = |name: &[u8]| !name.is_empty() && name != b"<null>";
    // Without a name and an address, only the offset distinguishes the frames of an object.
    let offset = module.filter(|_| !known(function));
    let addr = addr.or(offset.map(|module| module.offset));
    let text = |name: Option<&'_ [u8]>| {
        name.filter(|name| known(name))
            .map(|name| Name::from_bytes(name).into_owned())
    };
    let row = table.row(&Frame {
        name: None,
        file: text(file),
        line,
        obj: text(module.map(|module| module.path)),
        addr: text(addr),
        ..Frame::default()
    });
    FrameRow {
        name: known(function).then(|| table.function(function)),
        ..row
    }
}

/// Parses a frame that is only a place: `src/a.c:3:4`, `(/bin/a+0x12)`.
pub(super) fn parse_place(raw: &[u8], table: &mut FindingTable) -> FrameRow {
    let (place, module) = split_module(raw);
    let (file, line) = file_and_line(place);
    let text = |name: Option<&[u8]>| {
        let name = name.filter(|name| !name.is_empty() && *name != b"<unknown>");
        name.map(|name| Name::from_bytes(name).into_owned())
    };
    table.row(&Frame {
        file: text(file),
        line,
        obj: text(module.map(|module| module.path)),
        addr: text(module.map(|module| module.offset)),
        ..Frame::default()
    })
}

/// Parses a frame of Go: the function, and on the next line its place, `/src/main.go:12 +0x33`.
pub(super) fn parse_go(raw: &[u8], table: &mut FindingTable) -> FrameRow {
    let end = memchr::memchr(b'\n', raw).unwrap_or(raw.len());
    let (function, place) = raw.split_at(end);
    let place = place.strip_prefix(b"\n").unwrap_or(place);
    let place = match memmem::rfind(place, b" +0x") {
        Some(offset) => &place[..offset],
        None => place,
    };
    let (file, line) = file_and_line(place);
    let row = table.row(&Frame {
        file: file.map(Name::from_bytes),
        line,
        ..Frame::default()
    });
    let function = function.strip_suffix(b"()").unwrap_or(function);
    FrameRow {
        name: (!function.is_empty()).then(|| table.name(function)),
        ..row
    }
}

/// Splits off `0x55c in ` or `0x55c ` at the beginning.
fn address(raw: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let Some(digits) = raw.strip_prefix(b"0x") else {
        return (None, raw);
    };
    let length = digits.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let (address, rest) = raw.split_at(2 + length.count());
    let rest = rest.strip_prefix(b" in ").unwrap_or(rest);
    (Some(address), rest.trim_ascii())
}

/// An object, and an offset in it: `0x12`.
#[derive(Clone, Copy)]
struct Module<'a> {
    path: &'a [u8],
    offset: &'a [u8],
}

/// Splits off ` (MODULE+0xOFFSET) (BuildId: …)` at the end.
fn split_module(text: &[u8]) -> (&[u8], Option<Module<'_>>) {
    let text = match memmem::rfind(text, b"(BuildId: ") {
        Some(build) if text.ends_with(b")") => text[..build].trim_ascii_end(),
        _ => text,
    };
    if let Some(rest) = text.strip_suffix(b"(<unknown module>)") {
        return (rest.trim_ascii_end(), None);
    }
    let module = || {
        let inside = text.strip_suffix(b")")?;
        let offset = memmem::rfind(inside, b"+0x")?;
        if !inside[offset + 3..].iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        // A path may contain parentheses, so use the outermost one.
        let start = match inside.first() {
            Some(b'(') => 0,
            _ => opening(&inside[..offset])?,
        };
        let module = Module {
            path: &inside[start + 1..offset],
            offset: &inside[offset + 1..],
        };
        Some((text[..start].trim_ascii_end(), module))
    };
    match module() {
        Some((rest, module)) => (rest, Some(module)),
        None => (text, None),
    }
}

/// Returns the position of the parenthesis that is still open at the end.
fn opening(text: &[u8]) -> Option<usize> {
    let mut closed = 0u32;
    for position in memchr::memchr2_iter(b'(', b')', text).rev() {
        match (text[position], closed) {
            (b')', _) => closed += 1,
            (_, 0) => return Some(position),
            _ => closed -= 1,
        }
    }
    None
}

/// Splits the function from the place after it. A function may contain blanks, so the place begins with ` /`. Otherwise it
/// is the last word, provided that has a line or `has_place` is set, as for frames of ThreadSanitizer.
fn split_place(text: &[u8], has_place: bool) -> (&[u8], Option<&[u8]>) {
    let absolute = memmem::find_iter(text, b" /")
        .find(|at| text.get(at + 2).is_some_and(|byte| *byte != b' '));
    let start = absolute.or_else(|| {
        let last = memchr::memrchr(b' ', text)?;
        (has_place || file_and_line(&text[last + 1..]).1.is_some()).then_some(last)
    });
    match start {
        Some(start) => (&text[..start], Some(&text[start + 1..])),
        None => (text, None),
    }
}

/// Parses `FILE:LINE:COLUMN`, `FILE:LINE` or `FILE`.
pub(super) fn file_and_line(place: &[u8]) -> (Option<&[u8]>, Option<u64>) {
    let Some((front, last)) = split_number(place) else {
        return (Some(place), None);
    };
    let (file, line) = split_number(front).unwrap_or((front, last));
    (Some(file), (line != 0).then_some(line))
}

/// Splits `front:NUMBER`.
fn split_number(text: &[u8]) -> Option<(&[u8], u64)> {
    let colon = memchr::memrchr(b':', text)?;
    let number = crate::fields::whole_amount(&text[colon + 1..])?;
    Some((&text[..colon], number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares a frame with `name|file|line|obj|addr`.
    fn check(raw: &str, expected: &str) {
        let mut table = FindingTable::new(true);
        let line = format!("    #3 {raw}");
        let (is_innermost, raw) = split_frame(line.as_bytes()).unwrap();
        assert!(!is_innermost);
        let row = parse(raw, &mut table);
        assert_eq!(fields(row, &table), expected);
    }

    fn fields(row: FrameRow, table: &FindingTable) -> String {
        let text = |id: Option<_>| id.map_or(String::new(), |id| table.text(id).to_owned());
        let line = row.line.map_or(String::new(), |line| line.to_string());
        format!(
            "{}|{}|{line}|{}|{}",
            text(row.name),
            text(row.file),
            text(row.obj),
            text(row.addr)
        )
    }

    #[test]
    fn frames_with_an_address_are_parsed() {
        for (raw, expected) in [
            ("0x5a in main src/a.cpp:45", "main|src/a.cpp|45||0x5a"),
            (
                "0x5a in f(int) /home/dev/we ird/näme.cpp:15:94",
                "f(int)|/home/dev/we ird/näme.cpp|15||0x5a",
            ),
            (
                "0x5a in operator new[](unsigned long) (/bin/a+++0xe0) (BuildId: 59)",
                "operator new[](unsigned long)|||/bin/a++|0x5a",
            ),
            (
                "0x5a  (/lib/x.so.6+0xd44a2) (BuildId: 28)",
                "|||/lib/x.so.6|0x5a",
            ),
            (
                "0x5a in f (/opt/App (beta)/a+0x1)",
                "f|||/opt/App (beta)/a|0x5a",
            ),
            (
                "0x5a in (anonymous namespace)::f(int) const a.cpp:3:1",
                "(anonymous namespace)::f(int) const|a.cpp|3||0x5a",
            ),
            (
                "0x5a in _ZN4demo1f17h463b2c6f0ba30854E m.rs:12:5",
                "demo::f|m.rs|12||0x5a",
            ),
            (
                "0x5a in _RNvC4demo4main m.rs:12:5",
                "demo::main|m.rs|12||0x5a",
            ),
            ("0x5a in f()", "f()||||0x5a"),
            ("0x5a  (<unknown module>)", "||||0x5a"),
            ("0x5a", "||||0x5a"),
            (
                "0x5a in operator/(A, A) /a.cpp:1",
                "operator/(A, A)|/a.cpp|1||0x5a",
            ),
            (
                "0x5a in main+0x12 (a.out:arm64+0x100)",
                "main+0x12|||a.out:arm64|0x5a",
            ),
        ] {
            check(raw, expected);
        }
    }

    #[test]
    fn frames_of_thread_sanitizer_have_null_for_unknown_parts() {
        for (raw, expected) in [
            (
                "add(void*) /src/ts.cpp:13:35 (ts++0xd4c84) (BuildId: 97)",
                "add(void*)|/src/ts.cpp|13|ts+|",
            ),
            ("main src/ts.cpp:28 (ts+0x2b49)", "main|src/ts.cpp|28|ts|"),
            ("pthread_create <null> (ts+0x5349d)", "pthread_create|||ts|"),
            (
                "<null> <null> (libstdc++.so.6+0xd44a2)",
                "|||libstdc++.so.6|0xd44a2",
            ),
            (
                "__tsan::Call(int, void*) posix.cpp.o (ts+0x1)",
                "__tsan::Call(int, void*)|posix.cpp.o||ts|",
            ),
            (
                "rs::main::{closure#0} ./m.rs:13:110 (rs+0x1)",
                "rs::main::{closure#0}|./m.rs|13|rs|",
            ),
        ] {
            check(raw, expected);
        }
    }

    #[test]
    fn a_frame_of_go_has_a_function_and_a_place() {
        let mut table = FindingTable::new(true);
        let row = parse_go(b"main.(*box).add()\n/src/go.go:12 +0x33", &mut table);
        assert_eq!(fields(row, &table), "main.(*box).add|/src/go.go|12||");
    }

    #[test]
    fn other_lines_are_not_frames() {
        for line in ["  #0", "#x 1", "# 1", "a #1 b", ""] {
            assert_eq!(split_frame(line.as_bytes()), None, "{line}");
        }
        let prefixed = b"12:00:01 |     #0 0x1 in f";
        assert_eq!(split_frame(prefixed), Some((true, &b"0x1 in f"[..])));
    }
}
