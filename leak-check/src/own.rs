//! Which frame a finding is blamed on.

use cg_names::whose::innermost_own;
use cg_stream::record::Frame;

use crate::finding::Finding;

/// The stack without the function that libc has for a system call: a bad argument is reported there, and with libc's
/// debug info a text log shows nothing that would tell it from the program's own.
pub(crate) fn stack_of_program(finding: &Finding) -> &[Frame<'static>] {
    match &*finding.stack {
        [_, stack @ ..] if finding.kind() == "SyscallParam" && !stack.is_empty() => stack,
        stack => stack,
    }
}

/// The position in its stack of the frame that a finding is blamed on.
pub(crate) fn frame_to_blame_in(finding: &Finding) -> Option<usize> {
    let stack = stack_of_program(finding);
    innermost_own(stack).map(|own| own + finding.stack.len() - stack.len())
}
