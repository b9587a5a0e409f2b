//! The interned stacks of all findings. A test run repeats few distinct frames many times, so each frame is stored once,
//! with the facts about the origin of its code. A stack is a list of pointers to frames.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::ops::Index;
use std::rc::Rc;

use cg_collections::maps::Set;
use cg_names::blame::frame_to_blame_in_facts;
use cg_names::code_origin::{CodeOrigin, Facts, classify_frame};
use cg_stream::record::Frame;

/// Frames, innermost first. Two stacks of one [`KnownStacks`] are equal if they have the same interned frames.
#[derive(Clone, Debug)]
pub(crate) struct Stack(Rc<[KnownFrame]>);

/// An interned frame.
#[derive(Clone, Debug)]
pub(crate) struct KnownFrame(Rc<(Frame<'static>, Facts)>);

impl KnownFrame {
    fn new(frame: Frame<'static>) -> KnownFrame {
        let facts = Facts::from_frame(&frame);
        KnownFrame(Rc::new((frame, facts)))
    }

    fn frame(&self) -> &Frame<'static> {
        &self.0.0
    }

    /// Returns the address of the interned frame, which identifies it during its lifetime.
    pub(crate) fn address(&self) -> usize {
        Rc::as_ptr(&self.0) as usize
    }
}

impl Borrow<Frame<'static>> for KnownFrame {
    fn borrow(&self) -> &Frame<'static> {
        self.frame()
    }
}

impl PartialEq for KnownFrame {
    fn eq(&self, other: &KnownFrame) -> bool {
        self.frame() == other.frame()
    }
}

impl Eq for KnownFrame {}

impl Hash for KnownFrame {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.frame().hash(state);
    }
}

impl Stack {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, position: usize) -> Option<&Frame<'static>> {
        self.0.get(position).map(KnownFrame::frame)
    }

    pub(crate) fn first(&self) -> Option<&Frame<'static>> {
        self.get(0)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Frame<'static>> {
        self.0.iter().map(KnownFrame::frame)
    }

    /// Returns the interned frames.
    pub(crate) fn known_frames(&self) -> &[KnownFrame] {
        &self.0
    }

    /// Copies the frames for a record.
    pub(crate) fn to_vec(&self) -> Vec<Frame<'static>> {
        self.iter().cloned().collect()
    }

    /// Returns for each frame after the `before` innermost ones whether it is the program's own or a dependency's.
    pub(crate) fn own_after(&self, before: usize) -> Vec<bool> {
        (0..self.len() - before)
            .map(|position| classify_frame(position, |at| self.facts(at + before)).is_program())
            .collect()
    }

    /// Returns the origin of each frame's code.
    pub(crate) fn code_origins(&self) -> Vec<CodeOrigin> {
        let whose = |position| classify_frame(position, |at| self.facts(at));
        (0..self.len()).map(whose).collect()
    }

    /// Returns for each frame whether it is the program's own.
    pub(crate) fn own(&self) -> Vec<bool> {
        self.own_after(0)
    }

    /// Returns the position of the blamed frame, which is never one of the `before` innermost frames.
    pub(crate) fn blamed_position_after(&self, before: usize) -> usize {
        before + frame_to_blame_in_facts(self.len() - before, |at| self.facts(at + before))
    }

    /// Returns the blamed frame; `None` for an empty stack.
    pub(crate) fn blamed_frame(&self) -> Option<&Frame<'static>> {
        self.get(self.blamed_position_after(0))
    }

    fn facts(&self, position: usize) -> Option<Facts> {
        self.0.get(position).map(|known| known.0.1)
    }
}

impl Index<usize> for Stack {
    type Output = Frame<'static>;

    fn index(&self, position: usize) -> &Frame<'static> {
        self.0[position].frame()
    }
}

impl PartialEq for Stack {
    fn eq(&self, other: &Stack) -> bool {
        let addresses = |stack: &Stack| stack.0.iter().map(KnownFrame::address).collect::<Vec<_>>();
        Rc::ptr_eq(&self.0, &other.0)
            || (self.len() == other.len() && addresses(self) == addresses(other))
    }
}

impl Eq for Stack {}

impl Hash for Stack {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for known in &*self.0 {
            known.address().hash(state);
        }
    }
}

impl Default for Stack {
    fn default() -> Stack {
        Stack(Rc::from([]))
    }
}

impl FromIterator<Frame<'static>> for Stack {
    fn from_iter<I: IntoIterator<Item = Frame<'static>>>(frames: I) -> Stack {
        Stack(frames.into_iter().map(KnownFrame::new).collect())
    }
}

/// A table of interned frames and stacks. Processes of one test run share most of these.
#[derive(Default)]
pub(crate) struct KnownStacks {
    frames: Set<KnownFrame>,
    stacks: Set<Stack>,
}

impl KnownStacks {
    /// Interns a frame.
    pub(crate) fn frame(&mut self, frame: &Frame<'_>) -> KnownFrame {
        let frame = frame.clone().into_owned();
        if let Some(known) = self.frames.get(&frame) {
            return known.clone();
        }
        let known = KnownFrame::new(frame);
        self.frames.insert(known.clone());
        known
    }

    /// Interns a stack of interned frames.
    pub(crate) fn intern_frames(&mut self, frames: impl Iterator<Item = KnownFrame>) -> Stack {
        let stack = Stack(frames.collect());
        if let Some(known) = self.stacks.get(&stack) {
            return known.clone();
        }
        self.stacks.insert(stack.clone());
        stack
    }

    /// Interns a stack and its frames.
    pub(crate) fn intern(&mut self, stack: &[Frame]) -> Stack {
        let frames: Vec<KnownFrame> = stack.iter().map(|frame| self.frame(frame)).collect();
        self.intern_frames(frames.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Name;

    fn stack(names: &[&'static str]) -> Vec<Frame<'static>> {
        let frame = |name: &&'static str| Frame {
            name: Some(Name::from(*name)),
            ..Frame::default()
        };
        names.iter().map(frame).collect()
    }

    #[test]
    fn equal_stacks_are_interned_once_and_different_stacks_are_not_equal() {
        let mut stacks = KnownStacks::default();
        let one = stacks.intern(&stack(&["malloc", "make", "main"]));
        let again = stacks.intern(&stack(&["malloc", "make", "main"]));
        let other = stacks.intern(&stack(&["malloc", "main", "make"]));
        let shorter = stacks.intern(&stack(&["malloc", "make"]));
        assert!(Rc::ptr_eq(&one.0, &again.0));
        assert_eq!(one, again);
        assert_ne!(one, other);
        assert_ne!(one, shorter);
        assert_eq!(one[1], other[2]);
        assert_eq!(stacks.frames.len(), 3);
    }

    #[test]
    fn frames_before_the_program_are_not_to_blame() {
        let write: Stack = stack(&["write", "mine", "main"]).into_iter().collect();
        assert_eq!(write.blamed_position_after(1), 1);
        assert_eq!(write.own_after(1).len(), 2);
    }
}
