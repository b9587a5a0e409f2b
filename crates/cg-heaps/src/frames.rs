//! The frames of a heap profile. A profile has few different frames, which occur in many stacks.

use std::cell::OnceCell;

use cg_collections::intern::{Id as _, TooMany};
use cg_collections::limits;
use cg_names::blame::frame_to_blame_in_facts;
use cg_names::code_origin::Facts;
use cg_stream::record::{Frame, Name};
use cg_stream::rows::{FrameId, NameId, NameRef, Named, RowTables, TableNumber};

/// The frames of a file. For DHAT, an empty frame follows those of the file's own table, and replaces positions outside the
/// table.
pub(super) struct FrameTable<'a> {
    number: TableNumber,
    frames: Vec<TableFrame<'a>>,
}

struct TableFrame<'a> {
    frame: Frame<'a>,
    /// Computed on first use, because few frames of a file are candidates for blame.
    facts: OnceCell<Facts>,
}

/// The names of the frame to blame, which are the first fields of a row with a stack.
#[derive(Clone, Copy, Default)]
pub(super) struct Blamed {
    pub(super) name: Option<NameRef<'static>>,
    pub(super) file: Option<NameRef<'static>>,
    pub(super) line: Option<u64>,
    pub(super) obj: Option<NameRef<'static>>,
}

/// The number of consecutive name ids per frame.
const NAMES: usize = 3;

impl<'a> FrameTable<'a> {
    pub(super) fn new(
        mut frames: impl Iterator<Item = Frame<'a>>,
    ) -> Result<FrameTable<'a>, TooMany> {
        let mut table = FrameTable {
            number: TableNumber::new(),
            frames: Vec::new(),
        };
        frames.try_for_each(|frame| table.push(frame))?;
        Ok(table)
    }

    fn push(&mut self, frame: Frame<'a>) -> Result<(), TooMany> {
        for name in [&frame.name, &frame.file, &frame.obj].into_iter().flatten() {
            limits::check_name(name.len())?;
        }
        let facts = OnceCell::new();
        limits::push(&mut self.frames, TableFrame { frame, facts })
    }

    /// Adds a frame at the end.
    pub(super) fn add(&mut self, frame: Frame<'a>) -> Result<FrameId, TooMany> {
        self.push(frame)?;
        FrameId::at(self.frames.len() - 1)
    }

    pub(super) fn get(&self, id: FrameId) -> &Frame<'a> {
        &self.frames[id.index()].frame
    }

    /// Returns the frame of a stack to blame, by the rule of [`cg_names::blame::frame_to_blame`]; `None` for an empty stack.
    pub(super) fn to_blame(&self, stack: &[FrameId]) -> Option<FrameId> {
        let facts = |frame: &FrameId| {
            let TableFrame { frame, facts } = &self.frames[frame.index()];
            *facts.get_or_init(|| Facts::from_frame(frame))
        };
        let at = |position: usize| stack.get(position).map(facts);
        stack.get(frame_to_blame_in_facts(stack.len(), at)).copied()
    }

    /// Returns the names of a frame.
    pub(super) fn blamed(&self, id: Option<FrameId>) -> Blamed {
        let Some(id) = id else {
            return Blamed::default();
        };
        let frame = self.get(id);
        let name = |name: &Option<Name>, kind: Named| {
            name.as_ref()?;
            let id = NameId::at(NAMES * id.index() + kind as usize);
            id.ok().map(NameRef::Id)
        };
        Blamed {
            name: name(&frame.name, Named::Function),
            file: name(&frame.file, Named::File),
            line: frame.line,
            obj: name(&frame.obj, Named::Object),
        }
    }
}

impl RowTables for FrameTable<'_> {
    fn number(&self) -> TableNumber {
        self.number
    }

    fn name(&self, kind: Named, id: NameId) -> Name<'_> {
        let frame = &self.frames[id.index() / NAMES].frame;
        let name = match kind {
            Named::Function => &frame.name,
            Named::File => &frame.file,
            Named::Object => &frame.obj,
            Named::Other => &None,
        };
        name.as_deref().map_or_else(Name::default, Name::from)
    }

    fn frame(&self, id: FrameId) -> Frame<'_> {
        self.get(id).clone()
    }
}
