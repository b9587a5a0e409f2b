//! The threads of samples, and their names.

use std::collections::BTreeMap;

use cg_collections::intern::{Id, Keys, TooMany};

use super::sample_line::Task;
use crate::table::{NameId, StackTable};

cg_collections::ids! {
    struct ThreadId;
}

/// The threads of samples.
pub(super) struct Threads {
    /// The threads by pid, tid and name. A thread changes its name when it executes another program.
    threads: Keys<ThreadId, (Option<u64>, Option<u64>, NameId)>,
    /// The time of each thread's last sample.
    last: Vec<Option<u64>>,
    /// A direct-mapped cache by the fields before the time, because most threads are repeated soon.
    recent: Vec<RecentThread>,
}

/// A slot of the cache.
#[derive(Clone, Default)]
struct RecentThread {
    left: Vec<u8>,
    thread: Option<PerfThread>,
}

/// The thread of a sample.
#[derive(Clone, Copy, Default)]
pub(super) struct PerfThread {
    pub(super) name: Option<NameId>,
    pub(super) pid: Option<u64>,
    pub(super) tid: Option<u64>,
    id: Option<ThreadId>,
}

impl PerfThread {
    /// The thread of a sample without fields for it.
    pub(super) const NONE: PerfThread = PerfThread {
        name: None,
        pid: None,
        tid: None,
        id: None,
    };
}

/// The number of slots in `recent`.
const RECENT: usize = 256;

impl Threads {
    pub(super) fn new() -> Threads {
        Threads {
            threads: Keys::default(),
            last: Vec::new(),
            recent: vec![RecentThread::default(); RECENT],
        }
    }

    /// Returns the thread of a sample, from the fields before the sample's time.
    #[inline]
    pub(super) fn find(
        &mut self,
        left: &[u8],
        time: Option<u64>,
        table: &mut StackTable,
    ) -> Result<PerfThread, TooMany> {
        let digits = left.iter().rev().take(8);
        let add = |slot: u32, byte: &u8| slot.wrapping_mul(31).wrapping_add(u32::from(*byte));
        let slot = digits.fold(0, add) as usize % RECENT;
        let recent = &self.recent[slot];
        let thread = match recent.thread {
            Some(thread) if recent.left == left => thread,
            _ => {
                let thread = self.look_up(left, table)?;
                let recent = &mut self.recent[slot];
                recent.left.clear();
                recent.left.extend_from_slice(left);
                recent.thread = Some(thread);
                thread
            }
        };
        if let Some(id) = thread.id {
            let last = &mut self.last[id.index()];
            *last = time.max(*last);
        }
        Ok(thread)
    }

    fn look_up(&mut self, left: &[u8], table: &mut StackTable) -> Result<PerfThread, TooMany> {
        let Task { comm, pid, tid } = Task::parse(left);
        let name = match comm.contains(&b'\t') {
            true => table.text_unless_empty(&with_blanks(comm))?,
            false => table.text_unless_empty(comm)?,
        };
        let intern = |name| self.threads.intern((pid, tid, name));
        let id = name.map(intern).transpose()?;
        self.last.resize(self.threads.len(), None);
        Ok(PerfThread { name, pid, tid, id })
    }

    /// Returns the last name of each thread.
    pub(super) fn names(&self, table: &StackTable) -> BTreeMap<(Option<u64>, Option<u64>), NameId> {
        let mut latest = BTreeMap::new();
        for ((pid, tid, name), last) in self.threads.all().iter().zip(&self.last) {
            let found = (*last, table.name(Some(*name)), *name);
            let known = latest.entry((*pid, *tid)).or_insert(found);
            *known = found.max(*known);
        }
        latest
            .into_iter()
            .map(|(thread, (_, _, name))| (thread, name))
            .collect()
    }
}

/// Replaces tabs, which take the place of blanks, in the name of a thread.
fn with_blanks(name: &[u8]) -> Vec<u8> {
    let bytes = name.iter();
    bytes
        .map(|byte| if *byte == b'\t' { b' ' } else { *byte })
        .collect()
}
