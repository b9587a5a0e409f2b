//! The frames of a text log.

use cg_names::frame_text::FrameText;

use crate::table::{FindingTable, FrameRow};

/// Returns the text after `   at ` or `   by `; `None` if the message is not a frame.
pub(super) fn split_frame(message: &[u8]) -> Option<(IsInnermost, &[u8])> {
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

/// True if a frame begins a stack (`at`), false if it continues one (`by`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IsInnermost(pub(super) bool);

/// Parses a frame.
pub(super) fn parse(frame: &[u8], table: &mut FindingTable) -> FrameRow {
    let described = FrameText {
        demangle: table.demangles(),
        ..FrameText::default()
    };
    table.row(&described.frame(frame.trim_ascii_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares a frame with `name|file|line|obj|addr`.
    fn check(frame: &str, expected: &str) {
        let mut table = FindingTable::new(true);
        let (is_innermost, raw) = split_frame(format!("   at {frame}").as_bytes())
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
    fn frames_are_parsed() {
        check(
            "0x10939A: inv_rw (leaky.c:18)",
            "inv_rw|leaky.c|18||0x10939A",
        );
        check(
            "0x4841F2F: operator new(unsigned long) (in /usr/lib/v.so)",
            "operator new(unsigned long)|||/usr/lib/v.so|0x4841F2F",
        );
        check(
            "0x109171: _ZN4demo1f17h463b2c6f0ba30854E (main.rs:12)",
            "demo::f|main.rs|12||0x109171",
        );
        check("0x1: f (a.c:1)  ", "f|a.c|1||0x1");
        check("0x1: ", "||||0x1");
    }
}
