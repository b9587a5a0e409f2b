//! Stacks from a list whose lines are indented by depth: `sample`, VTune, Visual Studio.

use cg_stream::intern::TooMany;

use super::table::{FrameId, StackLinkId, StackTable};

/// The path from the first line of a list down to the last line that was read.
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
    /// The stack of a line at a depth, whose frame may be left out. Its parent is the last line of less depth.
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
