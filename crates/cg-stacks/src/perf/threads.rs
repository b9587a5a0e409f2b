//! The threads that samples are of, and what they are called.

use std::collections::BTreeMap;

use cg_stream::intern::{Id, Keys, TooMany};

use super::sample_line::Task;
use crate::table::{NameId, StackTable};

cg_stream::ids! {
    struct ThreadId;
}

/// The threads that samples are of.
pub(super) struct Threads {
    /// By process, thread and name: a thread changes its name when it executes another program.
    threads: Keys<ThreadId, (Option<u64>, Option<u64>, NameId)>,
    /// By thread: the time of its last sample.
    last: Vec<Option<u64>>,
    /// Direct-mapped cache by the fields in front of the time: most come again before long.
    recent: Vec<RecentThread>,
}

/// A slot of that cache.
#[derive(Clone, Default)]
struct RecentThread {
    left: Vec<u8>,
    thread: Option<PerfThread>,
}

/// Whose a sample is.
#[derive(Clone, Copy, Default)]
pub(super) struct PerfThread {
    pub(super) name: Option<NameId>,
    pub(super) pid: Option<u64>,
    pub(super) tid: Option<u64>,
    id: Option<ThreadId>,
}

impl PerfThread {
    /// Of a sample that tells nothing of its thread.
    pub(super) const NONE: PerfThread = PerfThread {
        name: None,
        pid: None,
        tid: None,
        id: None,
    };
}

/// Number of slots in `recent`.
const RECENT: usize = 256;

impl Threads {
    pub(super) fn new() -> Threads {
        Threads {
            threads: Keys::default(),
            last: Vec::new(),
            recent: vec![RecentThread::default(); RECENT],
        }
    }

    /// Whose a sample of this time is, from the fields in front of that.
    #[inline]
    pub(super) fn of(
        &mut self,
        left: &[u8],
        time: Option<u64>,
        table: &mut StackTable,
    ) -> Result<PerfThread, TooMany> {
        let digits = left.iter().rev().take(8);
        let slot = digits.fold(0usize, |slot, byte| slot * 31 + usize::from(*byte)) % RECENT;
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
        let Task { comm, pid, tid } = Task::of(left);
        let name = table.given(comm)?;
        let intern = |name| self.threads.intern((pid, tid, name));
        let id = name.map(intern).transpose()?;
        self.last.resize(self.threads.len(), None);
        Ok(PerfThread { name, pid, tid, id })
    }

    /// The name that each thread had last.
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
