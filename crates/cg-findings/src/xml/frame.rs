//! The frames of a document: `<ip>`, `<obj>`, `<fn>`, `<dir>`, `<file>`, `<line>`, each at most once.

use cg_reader::number::whole_u64;
use memchr::memmem;

use super::scanner::unescape_into;
use crate::table::{FindingTable, FrameRow, NameId};

/// Parses the contents of a `<frame>`.
pub(super) fn parse(frame: &[u8], table: &mut FindingTable) -> FrameRow {
    let mut text = Vec::new();
    let mut name = |tag: &str, table: &mut FindingTable| -> Option<NameId> {
        text.clear();
        unescape_into(element(frame, tag)?, &mut text);
        Some(match tag {
            "fn" => table.function(&text),
            _ => table.name(&text),
        })
    };
    FrameRow {
        name: name("fn", table),
        obj: name("obj", table),
        addr: name("ip", table),
        file: file(frame, table),
        line: element(frame, "line")
            .and_then(|line| whole_u64(line.trim_ascii()))
            .filter(|line| *line != 0)
            .and_then(|line| u32::try_from(line).ok()),
    }
}

/// Returns the file with its directory, unless the file is absolute.
fn file(frame: &[u8], table: &mut FindingTable) -> Option<NameId> {
    let file = element(frame, "file")?;
    let mut path = Vec::new();
    if let Some(directory) = element(frame, "dir")
        && !file.starts_with(b"/")
        && !directory.is_empty()
    {
        unescape_into(directory, &mut path);
        if !path.ends_with(b"/") {
            path.push(b'/');
        }
    }
    unescape_into(file, &mut path);
    Some(table.name(&path))
}

fn element<'a>(frame: &'a [u8], tag: &str) -> Option<&'a [u8]> {
    let opening = format!("<{tag}>");
    let start = memmem::find(frame, opening.as_bytes())? + opening.len();
    let rest = &frame[start..];
    let end = memmem::find(rest, format!("</{tag}>").as_bytes())?;
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(frame: &str, expected: &str) {
        let mut table = FindingTable::new(true);
        let row = parse(frame.as_bytes(), &mut table);
        let text = |id: Option<_>| id.map_or("-", |id| table.text(id));
        assert_eq!(
            format!(
                "{} {} {:?} {} {}",
                text(row.name),
                text(row.file),
                row.line,
                text(row.obj),
                text(row.addr)
            ),
            expected
        );
    }

    #[test]
    fn a_relative_file_gets_its_directory() {
        check(
            "<ip>0x1</ip><obj>/o</obj><fn>f&lt;T&gt;</fn><dir>/d</dir><file>a.c</file><line>7</line>",
            "f<T> /d/a.c Some(7) /o 0x1",
        );
        check(
            "<ip>0x1</ip><dir>/d/</dir><file>a.c</file>",
            "- /d/a.c None - 0x1",
        );
        check(
            "<ip>0x1</ip><dir>/d</dir><file>/a.c</file>",
            "- /a.c None - 0x1",
        );
        check("<ip>0x1</ip><dir>/d</dir>", "- - None - 0x1");
        check("<fn>cut", "- - None - -");
    }
}
