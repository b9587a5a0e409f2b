//! Which frame a finding is blamed on.

use cg_names::blame::frames_before_program;

use crate::finding::Finding;

/// How many innermost frames of its stack tell nothing of the program.
pub(crate) fn frames_before(finding: &Finding) -> usize {
    frames_before_program(finding.kind(), finding.stack.len())
}

/// The position in its stack of the frame that a finding is blamed on.
pub(crate) fn frame_to_blame_in(finding: &Finding) -> Option<usize> {
    let stack = &finding.stack;
    let before = frames_before(finding);
    (stack.len() > before).then(|| stack.to_blame_behind(before))
}
