//! The mappings of each process, and the names of threads.

use std::collections::BTreeMap;
use std::rc::Rc;

use cg_collections::maps::{Map, Set};
use cg_reader::Error;
use cg_stacks::table::NameId;

use crate::locations::MappedObjectId;
use crate::records::ThreadBirth;

/// The mappings of a process or of the kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressSpace {
    /// A number that is unique for each state of each space.
    pub(crate) version: u32,
    /// The mappings by start address, without overlaps.
    mappings: BTreeMap<u64, CodeMapping>,
}

/// Mapped code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeMapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Its offset in the file.
    pub(crate) offset: u64,
    pub(crate) object: MappedObjectId,
}

impl CodeMapping {
    /// Returns the file offset of an address.
    pub(crate) fn offset_of(&self, address: u64) -> u64 {
        (address - self.start).wrapping_add(self.offset)
    }
}

impl AddressSpace {
    /// Returns the mapping at an address.
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<&CodeMapping> {
        let (_, mapping) = self.mappings.range(..=address).next_back()?;
        (address < mapping.end).then_some(mapping)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &CodeMapping> {
        self.mappings.values()
    }

    /// Adds a mapping, which replaces older mappings in its range.
    fn insert(&mut self, mapping: CodeMapping) {
        let CodeMapping { start, end, .. } = mapping;
        if let Some((_, before)) = self.mappings.range_mut(..start).next_back()
            && before.end > start
        {
            let old = *before;
            before.end = start;
            if old.end > end {
                self.insert_rest(old, end);
            }
        }
        while let Some((at, old)) = self.mappings.range(start..end).next() {
            let (at, old) = (*at, *old);
            self.mappings.remove(&at);
            if old.end > end {
                self.insert_rest(old, end);
            }
        }
        self.mappings.insert(start, mapping);
    }

    /// Keeps the part of a mapping from an address on.
    fn insert_rest(&mut self, old: CodeMapping, from: u64) {
        let rest = CodeMapping {
            start: from,
            offset: old.offset_of(from),
            ..old
        };
        self.mappings.insert(from, rest);
    }
}

/// The state of all processes.
#[derive(Default)]
pub(crate) struct Processes {
    spaces: Map<u32, ProcessState>,
    names: Map<u32, NameId>,
    pub(crate) kernel: AddressSpace,
    nothing: Rc<AddressSpace>,
    versions: u32,
    /// The number of mappings in all spaces.
    mapped: usize,
}

#[derive(Clone, Default)]
struct ProcessState {
    space: Rc<AddressSpace>,
    /// The running threads, if known.
    threads: Set<u32>,
}

/// The maximum number of mappings, more than any system has at a time. Linux allows 65,530 per process, and this many take
/// half a gigabyte.
const MOST_MAPPINGS: usize = 8 << 20;

impl Processes {
    /// Returns the mappings of a process.
    pub(crate) fn space(&self, pid: u32) -> &Rc<AddressSpace> {
        let state = self.spaces.get(&pid);
        state.map_or(&self.nothing, |state| &state.space)
    }

    fn next_version(&mut self) -> u32 {
        self.versions += 1;
        self.versions
    }

    /// Maps code into a process.
    pub(crate) fn map(&mut self, pid: u32, mapping: CodeMapping) -> Result<(), Error> {
        let version = self.next_version();
        let state = self.spaces.entry(pid).or_default();
        if Rc::strong_count(&state.space) > 1 {
            self.mapped += state.space.mappings.len();
        }
        let space = Rc::make_mut(&mut state.space);
        space.version = version;
        let before = space.mappings.len();
        space.insert(mapping);
        self.mapped = (self.mapped + space.mappings.len()).saturating_sub(before);
        match self.mapped > MOST_MAPPINGS {
            true => Err(Error::whole(format!(
                "expected at most {MOST_MAPPINGS} mappings at a time, found more"
            ))),
            false => Ok(()),
        }
    }

    /// Maps code into the kernel.
    pub(crate) fn map_kernel(&mut self, mapping: CodeMapping) {
        self.kernel.version = self.next_version();
        self.kernel.insert(mapping);
    }

    /// Removes code from the kernel.
    pub(crate) fn unmap_kernel(&mut self, start: u64) {
        self.kernel.version = self.next_version();
        self.kernel.mappings.remove(&start);
    }

    /// Sets a thread's name. If the thread executes a program, removes the mappings of its process.
    pub(crate) fn rename(&mut self, pid: u32, tid: u32, name: Option<NameId>, is_exec: bool) {
        if let Some(name) = name {
            self.names.insert(tid, name);
        }
        let state = self.spaces.entry(pid).or_default();
        state.threads.insert(tid);
        if is_exec {
            let space = std::mem::take(&mut state.space);
            self.forget(space);
        }
    }

    /// Adds a thread. It inherits its parent's name, and if the process is new, the parent's mappings.
    pub(crate) fn fork(&mut self, birth: ThreadBirth) {
        if let Some(name) = self.names.get(&birth.parent_tid).copied() {
            self.names.insert(birth.tid, name);
        }
        let space = match birth.pid != birth.parent_pid && !birth.was_running {
            true => Some(Rc::clone(self.space(birth.parent_pid))),
            false => None,
        };
        let state = self.spaces.entry(birth.pid).or_default();
        state.threads.insert(birth.tid);
        if let Some(space) = space {
            let old = std::mem::replace(&mut state.space, space);
            self.forget(old);
        }
    }

    /// Removes a thread, and with the last thread its process.
    pub(crate) fn exit(&mut self, pid: u32, tid: u32) {
        if let Some(state) = self.spaces.get_mut(&pid) {
            state.threads.remove(&tid);
            if state.threads.is_empty() {
                let space = std::mem::take(&mut state.space);
                self.spaces.remove(&pid);
                self.forget(space);
            }
        }
    }

    fn forget(&mut self, space: Rc<AddressSpace>) {
        if let Some(space) = Rc::into_inner(space) {
            self.mapped = self.mapped.saturating_sub(space.mappings.len());
        }
    }

    /// Returns the name of a thread.
    #[inline]
    pub(crate) fn name(&self, tid: u32) -> Option<NameId> {
        self.names.get(&tid).copied()
    }
}
