//! Stacks from a list whose lines are indented by depth: `sample`, VTune, Visual Studio.

use cg_collections::intern::TooMany;

use super::table::{FrameId, StackLinkId, StackTable};

/// The path from the first line of a list to the current line.
#[derive(Default)]
pub(super) struct Outline {
    open: Vec<OpenLine>,
}

/// A line that later lines may be nested under.
struct OpenLine {
    depth: usize,
    stack: Option<StackLinkId>,
}

impl Outline {
    /// Returns the stack of the next line, which is at this depth. Its parent is the last line of less depth. Without a
    /// frame the line has the stack of its parent.
    pub(super) fn at(
        &mut self,
        depth: usize,
        frame: Option<FrameId>,
        table: &mut StackTable,
    ) -> Result<Option<StackLinkId>, TooMany> {
        while self.open.last().is_some_and(|open| open.depth >= depth) {
            self.open.pop();
        }
        let outer = self.open.last().and_then(|open| open.stack);
        let stack = match frame {
            Some(frame) => Some(table.push(outer, frame)?),
            None => outer,
        };
        self.open.push(OpenLine { depth, stack });
        Ok(stack)
    }
}
