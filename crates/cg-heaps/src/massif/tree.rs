//! A heap tree: its nodes, and the `heap` records for them.
//!
//! The bytes of a node include its children, and its children are the callers of its frame. Therefore a record has the bytes
//! of a node minus its printed children. For a leaf these are all bytes. For an inner node these are the bytes of allocation
//! stacks that end there, usually 0. The stack is the path from the root, innermost frame first. Inlined frames are separate
//! levels. The records of a tree sum to the bytes of its root.

use cg_collections::maps::Map;
use cg_names::frame_text::FrameText;
use cg_reader::{Error, Out, plural};
use cg_stream::Diagnostics;
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
    /// The sum of the children so far.
    children: Count,
}

/// Writes the records of a complete tree. Returns false if its figures do not add up.
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
        frames: FrameTable::new(std::iter::empty())?,
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
            debug_assert!(is_separator(line), "the tree is complete");
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
    /// The frame for each text. A tree has few different frames.
    known: Map<&'t [u8], FrameId>,
    /// The frames of `path`, except the root, which has no frame.
    stack: Vec<FrameId>,
    path: Vec<OpenParent>,
    described: FrameText,
    source: &'o str,
    out: &'o mut Out<'w>,
    diagnostics: &'o mut Diagnostics,
    /// False if the children of a node have more bytes than the node.
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
        // Write a place even if it has no bytes at this time.
        if node.children == 0 && node.bytes == 0 && node.depth > 0 {
            self.write(0, None)?;
        }
        Ok(())
    }

    /// Closes the nodes at this depth and deeper. Writes their bytes minus their children.
    fn close_to(&mut self, depth: usize) -> Result<(), Error> {
        while self.path.len() > depth
            && let Some(node) = self.path.pop()
        {
            let beyond = Count::from(node.bytes) - node.children;
            if i64::try_from(beyond).is_err() && beyond < 0 {
                return Err(Error::at(
                    node.line,
                    format!(
                        "this node has {}, but its children sum to {}, and the difference does not fit in 64 bits",
                        plural(node.bytes, "byte", "bytes"),
                        node.children
                    ),
                ));
            }
            if beyond < 0 {
                self.adds_up = false;
                self.diagnostics.error(format!(
                    "{}:{}: this node has {}, but its children sum to {}; a heap record of {beyond} corrects the sum",
                    self.source,
                    node.line,
                    plural(node.bytes, "byte", "bytes"),
                    node.children
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
