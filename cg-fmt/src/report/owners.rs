//! Whose code functions and frames are, in the five words that tables, groups and peeks have for it.

use std::collections::{HashMap, HashSet};

use cg_names::whose::{CodeOwner, Facts, owners_by};
use cg_stream::profile::{FrameKey, FunctionKey, Profile, StackFrames};

/// Answers for the functions of a profile; what is known of a function by itself is found out once.
pub(crate) struct FunctionOwners<'p> {
    profile: &'p Profile,
    kernel: HashSet<FunctionKey>,
    /// By function, and whether the frame is marked as the kernel's.
    facts: HashMap<(FunctionKey, bool), Facts>,
}

impl<'p> FunctionOwners<'p> {
    pub(crate) fn of(profile: &'p Profile) -> FunctionOwners<'p> {
        FunctionOwners {
            profile,
            kernel: kernel_functions(profile),
            facts: HashMap::new(),
        }
    }

    /// Whose function it is, as far as it tells by itself.
    pub(crate) fn of_function(&mut self, function: FunctionKey) -> CodeOwner {
        let is_kernel = self.kernel.contains(&function);
        self.facts(function, is_kernel).owner_alone()
    }

    /// Whose a frame is, as far as it tells by itself.
    pub(crate) fn of_frame(&mut self, frame: FrameKey) -> CodeOwner {
        self.facts(frame.function, frame.marks.kernel).owner_alone()
    }

    /// Whose the frames of a stack are, innermost first.
    pub(crate) fn of_stack(&mut self, frames: StackFrames<'_>) -> Vec<CodeOwner> {
        let facts: Vec<Facts> = frames
            .iter()
            .map(|frame| self.facts(frame.function, frame.marks.kernel))
            .collect();
        owners_by(&facts)
    }

    fn facts(&mut self, function: FunctionKey, is_kernel: bool) -> Facts {
        let symbols = self.profile.symbols();
        let facts = self.facts.entry((function, is_kernel));
        *facts.or_insert_with(|| {
            let mut frame = function.frame(symbols);
            frame.kernel = is_kernel;
            Facts::of(&frame)
        })
    }
}

/// The functions of which every frame is marked as the kernel's: a function has no mark itself.
fn kernel_functions(profile: &Profile) -> HashSet<FunctionKey> {
    let frames = profile.stacks().distinct_frames();
    let (kernel, others): (Vec<&FrameKey>, Vec<&FrameKey>) =
        frames.iter().partition(|frame| frame.marks.kernel);
    let mut functions: HashSet<FunctionKey> = kernel.iter().map(|frame| frame.function).collect();
    for frame in others {
        functions.remove(&frame.function);
    }
    functions
}
