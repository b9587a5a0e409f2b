//! The names of a section and the frames of inlined functions, for its rows.

use cg_collections::intern::{Id as _, Keys, TooMany};
use cg_stream::record::{Frame, Name};
use cg_stream::rows::{
    Cells, FrameId, FunctionRef, NameId, NameRef, Named, RowTables, TableNumber,
};

use crate::ids::StringId;
use crate::section::{Section, SectionFunction};
use crate::tables::Signedness;

/// The tables for the ids in a section's rows. Names have the same ids as in the section.
pub(crate) struct SectionTables<'s> {
    pub(crate) section: &'s Section,
    number: TableNumber,
    /// Interned frames with the object in their record, because one call of an inlined function is in many chains.
    frames: Keys<FrameId, (ChainFrame, StringId)>,
}

/// A frame of a chain of inlined functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ChainFrame {
    pub(crate) name: StringId,
    pub(crate) file: StringId,
    /// The line of the call of the next inner function; 0 for the innermost.
    pub(crate) line: u64,
    /// The file of the line; [`StringId::NOT_GIVEN`] if it is the function's own file.
    pub(crate) site: StringId,
}

impl<'s> SectionTables<'s> {
    pub(crate) fn new(section: &'s Section) -> SectionTables<'s> {
        SectionTables {
            section,
            number: TableNumber::new(),
            frames: Keys::default(),
        }
    }

    /// Interns a frame with this object.
    pub(crate) fn frame_in(
        &mut self,
        frame: ChainFrame,
        object: StringId,
    ) -> Result<FrameId, TooMany> {
        self.frames.intern((frame, object))
    }

    /// Converts a row of counts.
    #[inline]
    pub(crate) fn cells<'c>(&self, cells: &'c [u64]) -> Cells<'c> {
        match self.section.signedness() {
            Signedness::Unsigned => Cells::Unsigned(cells),
            Signedness::Signed => Cells::Signed(cells),
        }
    }
}

/// Converts the id of a name; `None` if the name is missing.
#[inline]
pub(crate) fn name(id: StringId) -> Option<NameRef<'static>> {
    let given = (id != StringId::NOT_GIVEN).then_some(id.index())?;
    NameId::at(given).ok().map(NameRef::Id)
}

/// Converts the names of a function.
#[inline]
pub(crate) fn function(key: SectionFunction) -> FunctionRef<'static> {
    FunctionRef {
        name: name(key.name),
        file: name(key.file),
        obj: name(key.object),
    }
}

impl RowTables for SectionTables<'_> {
    fn number(&self) -> TableNumber {
        self.number
    }

    fn name(&self, _: Named, id: NameId) -> Name<'_> {
        let name = StringId::at(id.index()).ok();
        name.map_or_else(Name::default, |id| {
            Name::from_bytes(self.section.strings.get(id))
        })
    }

    fn frame(&self, id: FrameId) -> Frame<'_> {
        let (frame, object) = *self.frames.get(id);
        let section = self.section;
        Frame {
            name: section.name(frame.name),
            file: section.name(frame.file),
            line: (frame.line != 0).then_some(frame.line),
            site: section.name(frame.site),
            obj: section.name(object),
            ..Frame::default()
        }
    }
}
