//! A sink's cache of its own values for the ids of the current tables.

use super::{FrameId, NameId, Named, RowTables, TableNumber};
use cg_collections::intern::{Id as _, Made};

/// A cache from the ids of names and frames to the sink's own values for them.
#[derive(Clone, Debug)]
pub struct KnownIds<N, F> {
    tables: TableNumber,
    names: Vec<[Option<N>; NAMED]>,
    frames: Made<F>,
}

/// The number of [`Named`] variants.
const NAMED: usize = Named::Other as usize + 1;

impl<N, F> Default for KnownIds<N, F> {
    fn default() -> KnownIds<N, F> {
        KnownIds {
            tables: TableNumber::NONE,
            names: Vec::new(),
            frames: Made::default(),
        }
    }
}

impl<N: Copy, F: Clone> KnownIds<N, F> {
    /// Clears the cache and returns true if these are other tables than before. Tables without ids change nothing.
    #[inline]
    pub fn begin(&mut self, tables: &dyn RowTables) -> bool {
        let number = tables.number();
        let is_other = number != self.tables && number != TableNumber::NONE;
        if is_other {
            self.tables = number;
            self.names.clear();
            self.frames.clear();
        }
        is_other
    }

    /// Returns the cached value of a name.
    #[inline]
    pub fn name(&self, of: Named, id: NameId) -> Option<N> {
        self.names.get(id.index())?[of as usize]
    }

    /// Caches the value of a name.
    pub fn set_name(&mut self, of: Named, id: NameId, name: N) {
        if self.names.len() <= id.index() {
            self.names.resize(id.index() + 1, [None; NAMED]);
        }
        self.names[id.index()][of as usize] = Some(name);
    }

    /// Returns the cached value of a frame.
    #[inline]
    pub fn frame(&self, id: FrameId) -> Option<&F> {
        self.frames.get(id.index())
    }

    /// Caches the value of a frame.
    pub fn set_frame(&mut self, id: FrameId, frame: F) {
        self.frames.set(id.index(), frame);
    }
}
