//! Stacks out of a list whose lines are indented by how deep they are: `sample`, VTune, Visual Studio.

use cg_stream::intern::TooMany;

use super::table::{FrameId, StackLinkId, StackTable};

/// The way from the first line of a list to the last that was read.
#[derive(Default)]
pub(super) struct Outline {
    open: Vec<OpenLine>,
}

/// A line that the next ones may be below.
struct OpenLine {
    depth: usize,
    stack: Option<StackLinkId>,
}

impl Outline {
    /// The stack of a line at a depth, whose frame may be left out. A line is below the last one that is less deep.
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
