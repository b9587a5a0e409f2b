//! Conversion of nodes to stacks.

use cg_collections::intern::TooMany;
use cg_collections::maps::Map;
use cg_reader::Error;
use cg_reader::json::{NotInList, bytes_or_empty};
use cg_reader::number::whole_u64;

use super::super::table::{FrameId, FrameParts, StackLinkId, StackTable};
use super::super::tree;
use super::call_node::CallNode;

/// The nodes of a profile, which may arrive in pieces.
#[derive(Default)]
pub(super) struct V8Nodes {
    by_id: Map<u64, usize>,
    /// The position of each node's caller.
    outer: Vec<Option<usize>>,
    /// Nodes with the ids of their callers, if given.
    outer_ids: Vec<(usize, u64)>,
    /// Nodes, each with the id of one callee.
    children: Vec<(usize, u64)>,
    /// `None` for `(root)`.
    frames: Vec<Option<FrameId>>,
    stacks: Vec<Option<StackLinkId>>,
}

impl V8Nodes {
    /// Adds a node.
    pub(super) fn add(
        &mut self,
        node: &CallNode,
        is_demangled: bool,
        table: &mut StackTable,
    ) -> Result<(), Error> {
        let position = self.frames.len();
        if let Some(id) = node.id {
            self.by_id.insert(id, position);
        }
        if let Some(id) = node.parent {
            self.outer_ids.push((position, id));
        }
        for (number, element) in node.children.elements().enumerate() {
            let id = whole_u64(element).ok_or_else(|| {
                let bad = NotInList::new(number, "the id of a node", element);
                Error::whole(format!("children: {bad}"))
            })?;
            self.children.push((position, id));
        }
        self.outer.push(node.below);
        let frame = frame(node, is_demangled, table)?;
        self.frames.push(frame);
        Ok(())
    }

    /// Makes the stacks after all nodes were added.
    pub(super) fn resolve(&mut self, table: &mut StackTable) -> Result<(), Error> {
        for (position, id) in std::mem::take(&mut self.outer_ids) {
            self.outer[position] = Some(self.position(id)?);
        }
        for (position, id) in std::mem::take(&mut self.children) {
            let child = self.position(id)?;
            self.outer[child] = Some(position);
        }
        let outer = |row: usize| Ok(self.outer[row]);
        self.stacks = tree::stacks(table, self.frames.len(), outer, |row, _, frames| {
            frames.extend(self.frames[row]);
            Ok(())
        })?;
        Ok(())
    }

    /// Does the same although nodes may be missing. Returns the number of nodes with a missing caller, which begin a stack.
    pub(super) fn resolve_known(&mut self, table: &mut StackTable) -> Result<u64, Error> {
        let all = self.outer_ids.len() + self.children.len();
        let V8Nodes {
            by_id,
            outer_ids,
            children,
            ..
        } = self;
        outer_ids.retain(|(_, id)| by_id.contains_key(id));
        children.retain(|(_, id)| by_id.contains_key(id));
        let lost = all - outer_ids.len() - children.len();
        self.resolve(table)?;
        Ok(lost as u64)
    }

    /// Returns the position of a node.
    pub(super) fn position(&self, id: u64) -> Result<usize, Error> {
        let found = self.by_id.get(&id).copied();
        found.ok_or_else(|| Error::whole(format!("expected the id of a node, found {id}")))
    }

    /// Returns the stack of the node at a position.
    pub(super) fn stack(&self, position: usize) -> Option<StackLinkId> {
        self.stacks.get(position).copied().flatten()
    }
}

/// Returns the frame of a node; `None` for `(root)`.
fn frame(
    node: &CallNode,
    is_demangled: bool,
    table: &mut StackTable,
) -> Result<Option<FrameId>, TooMany> {
    let Some(call) = &node.call_frame else {
        return table.frame(FrameParts::default()).map(Some);
    };
    let name = bytes_or_empty(&call.function_name);
    let url = bytes_or_empty(&call.url);
    if name == b"(root)" && url.is_empty() {
        return Ok(None);
    }
    let line = call.line_number.and_then(|line| u64::try_from(line).ok());
    let parts = FrameParts {
        name: match name {
            b"" => Some(table.text(b"(anonymous)")?),
            name => table.function(name, is_demangled)?,
        },
        file: table.text_unless_empty(url)?,
        line: line.and_then(|line| line.checked_add(1)),
        ..FrameParts::default()
    };
    table.frame(parts).map(Some)
}
