//! The frame that a finding is blamed on.

use cg_names::blame::frames_before_program;

use crate::finding::Finding;

/// Returns the number of innermost frames that do not belong to the program.
pub(crate) fn frames_before(finding: &Finding) -> usize {
    frames_before_program(finding.kind(), finding.stack.len())
}

/// Returns the position of the blamed frame; `None` if the stack has no frame of the program.
pub(crate) fn frame_to_blame_in(finding: &Finding) -> Option<usize> {
    let stack = &finding.stack;
    let before = frames_before(finding);
    (stack.len() > before).then(|| stack.blamed_position_after(before))
}
