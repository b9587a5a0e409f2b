//! A heap tree: its nodes, and the `heap` records that it comes to.
//!
//! A node's bytes include those of its children, and its children are the callers of its frame. So a record is what a
//! node has beyond its printed children: a leaf all of its bytes, an inner node what allocation stacks that end there
//! leave over, which is mostly nothing. Its stack is the path from the root, innermost frame first; inlined frames are
//! levels of their own. The records of a tree sum to the bytes of its root by construction.

use cg_names::frame_text::FrameText;
use cg_reader::{Error, Out};
use cg_stream::Diagnostics;
use cg_stream::maps::Map;
use cg_stream::record::Count;
use cg_stream::rows::{Cells, FrameId, HeapRow, StackRef};

use super::is_separator;
use super::shape::TreeNode;
use super::snapshot::Snapshot;
use crate::frames::FrameTable;

/// A node whose children are being read.
struct OpenParent {
    line: u64,
    bytes: u64,
    /// What its children so far sum to.
    children: Count,
}

/// Writes the records of a tree that was found whole; false where its figures do not add up.
pub(super) fn write_records(
    text: &[u8],
    source: &str,
    snapshot: &Snapshot,
    described: FrameText,
    out: &mut Out,
    diagnostics: &mut Diagnostics,
) -> Result<bool, Error> {
    let mut writing = TreeWriting {
        snapshot,
        frames: FrameTable::new(std::iter::empty()),
        known: Map::default(),
        stack: Vec::new(),
        path: Vec::new(),
        described,
        source,
        out,
        diagnostics,
        adds_up: true,
    };
    let first_line = snapshot.tree.as_ref().map_or(0, |tree| tree.line);
    for (line, line_number) in text.split(|byte| *byte == b'\n').zip(first_line..) {
        let Some(node) = TreeNode::parse(line) else {
            debug_assert!(is_separator(line), "the tree was found whole");
            continue;
        };
        writing.close_to(node.depth)?;
        writing.add(&node, line_number)?;
    }
    writing.close_to(0)?;
    Ok(writing.adds_up)
}

/// The state between two nodes of a tree.
struct TreeWriting<'t, 'o, 'w> {
    snapshot: &'o Snapshot,
    frames: FrameTable<'t>,
    /// The frames by their text: a tree has few different ones.
    known: Map<&'t [u8], FrameId>,
    /// The frames of `path`, whose first is the root and has none.
    stack: Vec<FrameId>,
    path: Vec<OpenParent>,
    described: FrameText,
    source: &'o str,
    out: &'o mut Out<'w>,
    diagnostics: &'o mut Diagnostics,
    /// False once the children of a node had more than it.
    adds_up: bool,
}

impl<'t> TreeWriting<'t, '_, '_> {
    fn add(&mut self, node: &TreeNode<'t>, line: u64) -> Result<(), Error> {
        if let Some(parent) = self.path.last_mut() {
            parent.children += Count::from(node.bytes);
        }
        if let Some(places) = node.places() {
            return self.write(node.bytes.into(), Some(places));
        }
        if node.depth > 0 {
            let frame = match self.known.get(node.description) {
                Some(frame) => *frame,
                None => {
                    let frame = self.frames.add(self.described.frame(node.description))?;
                    self.known.insert(node.description, frame);
                    frame
                }
            };
            self.stack.push(frame);
        }
        self.path.push(OpenParent {
            line,
            bytes: node.bytes,
            children: 0,
        });
        // A place that has no bytes at this time is a place all the same.
        if node.children == 0 && node.bytes == 0 && node.depth > 0 {
            self.write(0, None)?;
        }
        Ok(())
    }

    /// Closes the nodes at this depth and below it, and writes what they have beyond their children.
    fn close_to(&mut self, depth: usize) -> Result<(), Error> {
        while self.path.len() > depth
            && let Some(node) = self.path.pop()
        {
            let beyond = Count::from(node.bytes) - node.children;
            if i64::try_from(beyond).is_err() && beyond < 0 {
                return Err(Error::at(
                    node.line,
                    format!(
                        "this node has {} bytes, but its children sum to {}, too much to make up for",
                        node.bytes, node.children
                    ),
                ));
            }
            if beyond < 0 {
                self.adds_up = false;
                self.diagnostics.trouble(format!(
                    "{}:{}: this node has {} bytes, but its children sum to {}; a heap record of {beyond} makes up for it",
                    self.source, node.line, node.bytes, node.children
                ));
            }
            if beyond != 0 {
                self.write(beyond, None)?;
            }
            self.stack.pop();
        }
        Ok(())
    }

    fn write(&mut self, count: Count, places: Option<u64>) -> Result<(), Error> {
        let TreeWriting {
            snapshot, frames, ..
        } = self;
        let blamed = frames.blamed(frames.to_blame(&self.stack));
        let cost = [count];
        let row = HeapRow {
            name: blamed.name,
            file: blamed.file,
            line: blamed.line,
            obj: blamed.obj,
            snapshot: snapshot.record.snapshot,
            peak: snapshot.record.detail == "peak",
            cost: Cells::From(snapshot.event(), &cost),
            places,
            stack: StackRef::Ids(&self.stack),
        };
        self.out.row(row, frames)
    }
}
