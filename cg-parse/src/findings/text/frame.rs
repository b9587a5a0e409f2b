//! The frames of a text log, `debuginfo.c:describe_IP`.
//!
//! `0xADDR: fn (file:line)`, `fn (in object)`, `fn (in ???)`, `??? (file:line)`, `???`. Names hold blanks and
//! parentheses, and so do paths: the last parenthesis that is balanced is the place.

use crate::findings::table::{FrameRow, Table};
use crate::number::whole_u64;

/// What follows `   at ` or `   by ` in the message of a frame's line.
pub(super) fn of_message(message: &[u8]) -> Option<(IsInnermost, &[u8])> {
    let [b' ', b' ', b' ', a, b, b' ', frame @ ..] = message else {
        return None;
    };
    let is_innermost = match [*a, *b] {
        [b'a', b't'] => true,
        [b'b', b'y'] => false,
        _ => return None,
    };
    frame
        .starts_with(b"0x")
        .then_some((IsInnermost(is_innermost), frame))
}

/// Whether a frame begins a stack (`at`) or goes on with it (`by`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IsInnermost(pub(super) bool);

/// Takes a frame apart.
pub(super) fn parse(frame: &[u8], table: &mut Table) -> FrameRow {
    let frame = frame.trim_ascii_end();
    let (addr, described) = match memchr::memchr(b':', frame) {
        Some(colon) => {
            let described = &frame[colon + 1..];
            // One blank is the separator; a name can begin with another.
            let described = described.strip_prefix(b" ").unwrap_or(described);
            (&frame[..colon], described)
        }
        None => (frame, &b""[..]),
    };
    let mut row = FrameRow {
        addr: Some(table.name(addr)),
        ..FrameRow::default()
    };
    let name = match place_of(described) {
        Some((name, Place::Object(object))) => {
            row.obj = Some(table.name(object));
            name
        }
        Some((name, Place::Line(file, line))) => {
            row.file = Some(table.name(file));
            row.line = Some(line);
            name
        }
        None => described,
    };
    if !name.is_empty() {
        row.name = Some(table.name(name));
    }
    row
}

/// Where a frame's code is.
enum Place<'a> {
    Object(&'a [u8]),
    Line(&'a [u8], u32),
}

/// Splits `name (place)`.
fn place_of(described: &[u8]) -> Option<(&[u8], Place<'_>)> {
    let inner_end = described.len().checked_sub(1)?;
    if described[inner_end] != b')' {
        return None;
    }
    let open = opening_parenthesis(described)
        .or_else(|| memchr::memmem::rfind(described, b" (").map(|blank| blank + 1))?;
    let name = described[..open].strip_suffix(b" ")?;
    let inner = &described[open + 1..inner_end];
    // Valgrind up to 3.4 writes "within".
    if let Some(object) = inner
        .strip_prefix(b"in ")
        .or_else(|| inner.strip_prefix(b"within "))
    {
        return Some((name, Place::Object(object)));
    }
    let colon = memchr::memrchr(b':', inner)?;
    let line = u32::try_from(whole_u64(&inner[colon + 1..])?).ok()?;
    Some((name, Place::Line(&inner[..colon], line)))
}

/// The parenthesis that the last byte closes.
fn opening_parenthesis(described: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    for (position, byte) in described.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => {
                depth -= 1;
                if depth == 0 {
                    return Some(position);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame as `name|file|line|obj|addr`.
    fn check(frame: &str, expected: &str) {
        let mut table = Table::new();
        let (is_innermost, raw) = of_message(format!("   at {frame}").as_bytes())
            .map(|(first, raw)| (first, raw.to_vec()))
            .unwrap();
        assert_eq!(is_innermost, IsInnermost(true));
        let row = parse(&raw, &mut table);
        let text = |id: Option<_>| id.map_or(String::new(), |id| table.text(id).to_owned());
        assert_eq!(
            format!(
                "{}|{}|{}|{}|{}",
                text(row.name),
                text(row.file),
                row.line.map_or(String::new(), |line| line.to_string()),
                text(row.obj),
                text(row.addr)
            ),
            expected
        );
    }

    #[test]
    fn frames_of_every_form() {
        check(
            "0x10939A: inv_rw (leaky.c:18)",
            "inv_rw|leaky.c|18||0x10939A",
        );
        check(
            "0x4841F2F: operator new(unsigned long) (in /usr/lib/v.so)",
            "operator new(unsigned long)|||/usr/lib/v.so|0x4841F2F",
        );
        check(
            "0x1: ??? (in /tmp/x (deleted))",
            "???|||/tmp/x (deleted)|0x1",
        );
        check("0x5E6CECF: ???", "???||||0x5E6CECF");
        check("0x1: f (in ???)", "f|||???|0x1");
        check(
            "0x1: (below main) (start.h:58)",
            "(below main)|start.h|58||0x1",
        );
        check("0x1: (below main)", "(below main)||||0x1");
        check(
            "0x1: a::operator()(int) const",
            "a::operator()(int) const||||0x1",
        );
        check("0x1: operator()(int)", "operator()(int)||||0x1");
        check("0x1: f (dir/a (x).c:3)", "f|dir/a (x).c|3||0x1");
        check("0x1: f (a) b).c:3)", "f|a) b).c|3||0x1");
        check("0x1:  f (a.c:1)", " f|a.c|1||0x1");
        check("0x1: malloc+116 (in /l)", "malloc+116|||/l|0x1");
        check("0x1: f (within /l)", "f|||/l|0x1");
        check("0x1: f (C:\\a.c:7)", "f|C:\\a.c|7||0x1");
        check("0x1", "||||0x1");
        check("0x1: ", "||||0x1");
    }
}
