//! The owners of functions and frames, in the five classes of tables, groups and peeks.

use cg_collections::maps::{Map, Set};
use cg_names::code_origin::{CodeOwner, Facts, FactsFinder, find_owners};
use cg_profile::{FrameKey, FunctionKey, Profile, StackFrames};

/// Finds the owners of functions in a profile. Caches the facts about each function.
pub(crate) struct FunctionOwners<'p> {
    profile: &'p Profile,
    kernel: Set<FunctionKey>,
    /// The facts by function, and by the mark of kernel code.
    facts: Map<(FunctionKey, bool), Facts>,
    finder: FactsFinder,
}

impl<'p> FunctionOwners<'p> {
    pub(crate) fn new(profile: &'p Profile) -> FunctionOwners<'p> {
        FunctionOwners {
            profile,
            kernel: kernel_functions(profile),
            facts: Map::default(),
            finder: FactsFinder::default(),
        }
    }

    /// Returns the owner of a function, judged without the frames around it.
    pub(crate) fn find_function_owner(&mut self, function: FunctionKey) -> CodeOwner {
        let is_kernel = self.kernel.contains(&function);
        self.facts(function, is_kernel).owner_without_context()
    }

    /// Returns the owner of a frame, judged without the frames around it.
    pub(crate) fn find_frame_owner(&mut self, frame: FrameKey) -> CodeOwner {
        self.facts(frame.function, frame.marks.kernel)
            .owner_without_context()
    }

    /// Returns the owners of the frames of a stack, innermost first.
    pub(crate) fn find_stack_owners(&mut self, frames: StackFrames<'_>) -> Vec<CodeOwner> {
        let facts: Vec<Facts> = frames
            .iter()
            .map(|frame| self.facts(frame.function, frame.marks.kernel))
            .collect();
        find_owners(&facts)
    }

    fn facts(&mut self, function: FunctionKey, is_kernel: bool) -> Facts {
        let symbols = self.profile.symbols();
        let facts = self.facts.entry((function, is_kernel));
        *facts.or_insert_with(|| {
            let mut frame = function.frame(symbols);
            frame.kernel = is_kernel;
            self.finder.find(&frame)
        })
    }
}

/// Returns the functions whose frames all have the mark of kernel code. Functions themselves have no mark.
fn kernel_functions(profile: &Profile) -> Set<FunctionKey> {
    let frames = profile.stacks().distinct_frames();
    let (kernel, others): (Vec<&FrameKey>, Vec<&FrameKey>) =
        frames.iter().partition(|frame| frame.marks.kernel);
    let mut functions: Set<FunctionKey> = kernel.iter().map(|frame| frame.function).collect();
    for frame in others {
        functions.remove(&frame.function);
    }
    functions
}
