//! A snapshot: its numbers, and its tree if it is detailed.

use cg_reader::{Error, Lines};
use cg_stream::record::{Name, SnapshotRecord};
use serde_json::Number;

use super::is_separator;
use super::kept::KeptTrees;
use super::shape::{Shape, TreeNode};

/// A complete snapshot.
pub(super) struct Snapshot {
    pub(super) record: SnapshotRecord,
    /// A summary of the tree; `None` if it is empty.
    pub(super) tree: Option<TreeSummary>,
}

/// The facts that are stored for every tree.
pub(super) struct TreeSummary {
    /// The line of the root.
    pub(super) line: u64,
    /// The bytes of the root, which include the whole tree.
    pub(super) bytes: u64,
}

impl Snapshot {
    /// Reads the lines after a `snapshot=` line. Keeps the tree if it may be requested.
    pub(super) fn read(
        snapshot: u64,
        lines: &mut Lines,
        kept: &mut KeptTrees,
    ) -> Result<Snapshot, Error> {
        let mut fields = SnapshotFields::default();
        let detail = loop {
            next_line(lines, "a heap_tree= line")?;
            if fields.take(lines)? {
                continue;
            }
            let Some(detail) = lines.last_line().strip_prefix(b"heap_tree=") else {
                return Err(unexpected("a heap_tree= line", lines));
            };
            match detail {
                b"empty" => break "empty",
                b"detailed" => break "detailed",
                b"peak" => break "peak",
                _ => return Err(unexpected("heap_tree=empty, detailed or peak", lines)),
            }
        };
        let mut record = fields.record(snapshot, detail, lines.line_number())?;
        let tree = if detail == "empty" {
            None
        } else {
            let is_kept = kept.begin(&record);
            let (tree, event) = read_tree(lines, kept, is_kept)?;
            record.event = event;
            if is_kept {
                kept.finish().map_err(Error::Input)?;
            }
            Some(tree)
        };
        kept.next_snapshot();
        Ok(Snapshot { record, tree })
    }

    /// Returns the position of the tree's event in `EVENTS`. A few events of an xtree file count blocks.
    pub(super) fn event(&self) -> usize {
        let event = self.record.event.as_deref();
        usize::from(event.is_some_and(|event| event.ends_with("Bk")))
    }
}

/// The numbers of a snapshot, which may be in any order.
#[derive(Default)]
struct SnapshotFields {
    time: Option<Number>,
    heap: Option<u64>,
    extra: Option<u64>,
    stacks: Option<u64>,
}

impl SnapshotFields {
    /// Stores the number in the last line. Returns false if the line is not a number of a snapshot.
    fn take(&mut self, lines: &Lines) -> Result<bool, Error> {
        let (line, line_number) = (lines.last_line(), lines.line_number());
        if let Some(text) = line.strip_prefix(b"time=") {
            self.time = Some(time(text, line_number)?);
            return Ok(true);
        }
        for (key, field) in [
            ("mem_heap_B=", &mut self.heap),
            ("mem_heap_extra_B=", &mut self.extra),
            ("mem_stacks_B=", &mut self.stacks),
        ] {
            if let Some(text) = line.strip_prefix(key.as_bytes()) {
                *field = Some(number(text, key, line_number)?);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn record(self, snapshot: u64, detail: &str, line: u64) -> Result<SnapshotRecord, Error> {
        let missing = |key: &str| Error::at(line, format!("snapshot {snapshot} has no {key} line"));
        Ok(SnapshotRecord {
            snapshot,
            time: self.time.ok_or_else(|| missing("time="))?,
            heap_bytes: self.heap.ok_or_else(|| missing("mem_heap_B="))?,
            extra_bytes: self.extra.ok_or_else(|| missing("mem_heap_extra_B="))?,
            stacks_bytes: self.stacks.ok_or_else(|| missing("mem_stacks_B="))?,
            rss_bytes: None,
            detail: detail.to_owned(),
            event: None,
            run: None,
        })
    }
}

/// Reads a tree to its last node, which is known from the numbers of children. Returns the tree and the name of the event,
/// if the root has one: `n6: 180200 curB : currently allocated Bytes`.
fn read_tree(
    lines: &mut Lines,
    kept: &mut KeptTrees,
    is_kept: bool,
) -> Result<(TreeSummary, Option<String>), Error> {
    let mut shape = Shape::default();
    next_line(lines, "a tree")?;
    let root = shape.add(lines.last_line(), lines.line_number())?;
    let tree = TreeSummary {
        line: lines.line_number(),
        bytes: root.bytes,
    };
    let event = event_name(&root);
    loop {
        if is_kept {
            kept.line(lines.last_line());
        }
        if shape.is_whole() {
            break;
        }
        next_line(lines, "more of the tree")?;
        shape.add(lines.last_line(), lines.line_number())?;
    }
    // A truncated last line can still be parsed as a node, with a shorter name.
    if !lines.ended_with_newline() {
        return Err(cut_short("the end of the line", lines));
    }
    Ok((tree, event))
}

fn event_name(root: &TreeNode) -> Option<String> {
    let end = memchr::memmem::find(root.description, b" : ")?;
    Some(Name::from_bytes(&root.description[..end]).into_string())
}

/// Advances to the next line that is not a separator. The end of the file is an error.
fn next_line(lines: &mut Lines, expected: &str) -> Result<(), Error> {
    loop {
        if !lines.advance().map_err(Error::Input)? {
            return Err(cut_short(expected, lines));
        }
        if !is_separator(lines.last_line()) {
            return Ok(());
        }
    }
}

/// Parses the number after a key.
pub(super) fn number(text: &[u8], key: &str, line: u64) -> Result<u64, Error> {
    let number = cg_reader::number::whole_u64(text.trim_ascii_end());
    number.ok_or_else(|| Error::unexpected(line, &format!("a number after {key}"), text))
}

/// Parses a time: an integer, or a fraction of a second from heaptrack.
fn time(text: &[u8], line: u64) -> Result<Number, Error> {
    std::str::from_utf8(text.trim_ascii_end())
        .ok()
        .and_then(|text| {
            let integer = text.parse::<i64>().ok().map(Number::from);
            integer.or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64))
        })
        .ok_or_else(|| Error::unexpected(line, "a number after time=", text))
}

pub(super) fn unexpected(expected: &str, lines: &Lines) -> Error {
    Error::unexpected(lines.line_number(), expected, lines.last_line())
}

pub(super) fn cut_short(expected: &str, lines: &Lines) -> Error {
    Error::at(
        lines.line_number(),
        format!("expected {expected}, found the end of the file: it is cut short"),
    )
}
