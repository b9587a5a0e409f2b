//! Which frames of a finding are the program's own, and which one it is blamed on.

use cg_names::blame::{frame_to_blame, frames_before_program};
use cg_names::whose::{Whose, whose};
use cg_stream::record::Frame;

use crate::finding::Finding;

/// For each frame of a stack whether it is the program's own.
pub(crate) fn own_frames(stack: &[Frame]) -> Vec<bool> {
    whose(stack)
        .into_iter()
        .map(|whose| whose == Whose::Own)
        .collect()
}

/// The stack without frames that tell nothing of the program.
pub(crate) fn stack_of_program(finding: &Finding) -> &[Frame<'static>] {
    let stack = &finding.stack;
    &stack[frames_before_program(finding.kind(), stack.len())..]
}

/// The position in its stack of the frame that a finding is blamed on.
pub(crate) fn frame_to_blame_in(finding: &Finding) -> Option<usize> {
    let stack = stack_of_program(finding);
    let before = finding.stack.len() - stack.len();
    (!stack.is_empty()).then(|| frame_to_blame(stack) + before)
}
