//! A snapshot: its numbers and, where it is detailed, its tree.

use cg_reader::{Error, Lines};
use cg_stream::record::{Name, SnapshotRecord};
use serde_json::Number;

use super::is_separator;
use super::kept::KeptTrees;
use super::shape::{Shape, TreeNode};

/// A snapshot that is whole.
pub(super) struct Snapshot {
    pub(super) record: SnapshotRecord,
    /// What is known of its tree; `None` where it is empty.
    pub(super) tree: Option<TreeSummary>,
}

/// What is remembered of every tree.
pub(super) struct TreeSummary {
    /// The line of its root.
    pub(super) line: u64,
    /// The bytes of its root, which are those of the whole tree.
    pub(super) bytes: u64,
}

impl Snapshot {
    /// Reads what follows a `snapshot=` line, and keeps the tree where it may be asked for.
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

    /// What the tree's numbers count, as a position among [`EVENTS`]: a few of an xtree file's events count blocks.
    pub(super) fn event(&self) -> usize {
        let event = self.record.event.as_deref();
        usize::from(event.is_some_and(|event| event.ends_with("Bk")))
    }
}

/// The numbers of a snapshot, in whatever order they come.
#[derive(Default)]
struct SnapshotFields {
    time: Option<Number>,
    heap: Option<u64>,
    extra: Option<u64>,
    stacks: Option<u64>,
}

impl SnapshotFields {
    /// Takes the last line if it is one of the numbers.
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

/// Reads a tree to its last node, which its numbers of children tell. Returns it with the event's name where the root
/// names one, as in `n6: 180200 curB : currently allocated Bytes`.
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
    // A last line that was cut still reads as a node, with a shorter name.
    if !lines.ended_with_newline() {
        return Err(cut_short("the end of the line", lines));
    }
    Ok((tree, event))
}

fn event_name(root: &TreeNode) -> Option<String> {
    let end = memchr::memmem::find(root.description, b" : ")?;
    Some(Name::from_bytes(&root.description[..end]).into_string())
}

/// Goes to the next line that does not only separate; the end of the file is an error.
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

/// The number behind a key.
pub(super) fn number(text: &[u8], key: &str, line: u64) -> Result<u64, Error> {
    let number = cg_reader::number::whole_u64(text.trim_ascii_end());
    number.ok_or_else(|| Error::unexpected(line, &format!("a number after {key}"), text))
}

/// A time: an integer, of heaptrack a fraction of a second.
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
