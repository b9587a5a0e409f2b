//! The interned stacks of all findings. A test run repeats few distinct frames many times, so each frame is held once,
//! with the facts about whose code it is, and a stack is a list of pointers to frames.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::ops::Index;
use std::rc::Rc;

use cg_names::blame::frame_to_blame_by;
use cg_names::whose::{Facts, Whose, whose_at};
use cg_stream::maps::Set;
use cg_stream::record::Frame;

/// Frames, innermost first. Stacks of one [`KnownStacks`] are equal where their frames are.
#[derive(Clone, Debug)]
pub(crate) struct Stack(Rc<[KnownFrame]>);

/// A frame that is held once.
#[derive(Clone, Debug)]
pub(crate) struct KnownFrame(Rc<(Frame<'static>, Facts)>);

impl KnownFrame {
    fn new(frame: Frame<'static>) -> KnownFrame {
        let facts = Facts::of(&frame);
        KnownFrame(Rc::new((frame, facts)))
    }

    fn frame(&self) -> &Frame<'static> {
        &self.0.0
    }

    /// The address of the interned frame, its identity for as long as it is held.
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

    /// The frames with what they are held in.
    pub(crate) fn known_frames(&self) -> &[KnownFrame] {
        &self.0
    }

    /// The frames as a record has them.
    pub(crate) fn to_vec(&self) -> Vec<Frame<'static>> {
        self.iter().cloned().collect()
    }

    /// For each frame behind these innermost ones whether it is the program's own, or of what the program is built with.
    pub(crate) fn own_behind(&self, before: usize) -> Vec<bool> {
        (0..self.len() - before)
            .map(|position| whose_at(position, |at| self.facts(at + before)).is_of_program())
            .collect()
    }

    /// For each frame whose code it is.
    pub(crate) fn whose(&self) -> Vec<Whose> {
        let whose = |position| whose_at(position, |at| self.facts(at));
        (0..self.len()).map(whose).collect()
    }

    /// For each frame whether it is the program's own.
    pub(crate) fn own(&self) -> Vec<bool> {
        self.own_behind(0)
    }

    /// The position of the frame to blame, of those behind these innermost ones.
    pub(crate) fn to_blame_behind(&self, before: usize) -> usize {
        before + frame_to_blame_by(self.len() - before, |at| self.facts(at + before))
    }

    /// The frame to blame.
    pub(crate) fn to_blame(&self) -> Option<&Frame<'static>> {
        self.get(self.to_blame_behind(0))
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

/// Holds every frame and every stack once: processes of one test run share most of theirs.
#[derive(Default)]
pub(crate) struct KnownStacks {
    frames: Set<KnownFrame>,
    stacks: Set<Stack>,
}

impl KnownStacks {
    /// The frame, as it is held.
    pub(crate) fn frame(&mut self, frame: &Frame<'_>) -> KnownFrame {
        let frame = frame.clone().into_owned();
        if let Some(known) = self.frames.get(&frame) {
            return known.clone();
        }
        let known = KnownFrame::new(frame);
        self.frames.insert(known.clone());
        known
    }

    /// The stack of frames that are held.
    pub(crate) fn of_known(&mut self, frames: impl Iterator<Item = KnownFrame>) -> Stack {
        let stack = Stack(frames.collect());
        if let Some(known) = self.stacks.get(&stack) {
            return known.clone();
        }
        self.stacks.insert(stack.clone());
        stack
    }

    /// The stack of these frames.
    pub(crate) fn intern(&mut self, stack: &[Frame]) -> Stack {
        let frames: Vec<KnownFrame> = stack.iter().map(|frame| self.frame(frame)).collect();
        self.of_known(frames.into_iter())
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
    fn equal_stacks_are_held_once_and_other_ones_are_not_equal() {
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
        assert_eq!(write.to_blame_behind(1), 1);
        assert_eq!(write.own_behind(1).len(), 2);
    }
}
