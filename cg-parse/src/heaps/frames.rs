//! The frames of a heap profile: few of them, in many stacks.

use std::cell::OnceCell;
use std::io;

use cg_names::blame::frame_to_blame_by;
use cg_names::whose::Facts;
use cg_stream::record::Frame;
use cg_stream::writer::RenderedFrame;

/// The frames of a file's table, each ready to be written; a position beyond the table is a frame of nothing.
pub(super) struct FrameTable<'a> {
    frames: Vec<TableFrame<'a>>,
    beyond: TableFrame<'a>,
}

pub(super) struct TableFrame<'a> {
    frame: Frame<'a>,
    pub(super) rendered: RenderedFrame,
    /// From when it was asked for: of the frames of a file few are looked at for whom to blame.
    facts: OnceCell<Facts>,
}

impl TableFrame<'_> {
    fn facts(&self) -> Facts {
        *self.facts.get_or_init(|| Facts::of(&self.frame))
    }
}

impl<'a> FrameTable<'a> {
    pub(super) fn new(frames: impl Iterator<Item = Frame<'a>>) -> io::Result<FrameTable<'a>> {
        let prepare = |frame: Frame<'a>| {
            Ok(TableFrame {
                rendered: RenderedFrame::new(&frame)?,
                facts: OnceCell::new(),
                frame,
            })
        };
        Ok(FrameTable {
            frames: frames.map(prepare).collect::<io::Result<_>>()?,
            beyond: prepare(Frame::default())?,
        })
    }

    pub(super) fn at(&self, position: u32) -> &TableFrame<'a> {
        self.frames.get(position as usize).unwrap_or(&self.beyond)
    }

    pub(super) fn count_beyond(&self, stack: &[u32]) -> usize {
        let is_beyond = |position: &&u32| **position as usize >= self.frames.len();
        stack.iter().filter(is_beyond).count()
    }

    /// The frame of a stack to blame, as [`cg_names::blame::frame_to_blame`] has it.
    pub(super) fn to_blame(&self, stack: &[u32]) -> Frame<'a> {
        let at = |position: usize| stack.get(position).map(|frame| self.at(*frame));
        let blamed = frame_to_blame_by(stack.len(), |position| at(position).map(TableFrame::facts));
        at(blamed).map_or_else(Frame::default, |found| found.frame.clone())
    }
}
