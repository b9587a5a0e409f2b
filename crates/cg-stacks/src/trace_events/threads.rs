//! The threads of a trace, and their names.

use std::collections::BTreeMap;

use cg_collections::intern::{Bytes, Id as _, TooMany};
use cg_reader::number::whole_u64;
use cg_stream::record::ThreadFacts;

use super::super::table::{StackKey, StackTable};
use super::event::TraceEvent;

cg_collections::ids! {
    /// A thread of a process.
    pub(crate) struct TraceThreadId;
}

/// The threads by process and number. Both may be texts: PyTorch has a process `Spans` and a thread `stream 7`.
#[derive(Default)]
pub(crate) struct TraceThreads {
    /// The process's number, a separator that is in no number, and the thread's number.
    keys: Bytes<TraceThreadId>,
    key: Vec<u8>,
    names: BTreeMap<usize, String>,
    processes: BTreeMap<Vec<u8>, String>,
}

/// Separates the process from the thread.
const SEPARATOR: u8 = 0;

impl TraceThreads {
    /// Returns the thread of an event.
    pub(super) fn id(&mut self, event: &TraceEvent) -> Result<TraceThreadId, TooMany> {
        self.find(&event.pid(), &event.tid())
    }

    /// Returns the thread with this process and number.
    pub(super) fn find(&mut self, pid: &[u8], tid: &[u8]) -> Result<TraceThreadId, TooMany> {
        self.key.clear();
        self.key.extend_from_slice(pid);
        self.key.push(SEPARATOR);
        self.key.extend_from_slice(tid);
        self.keys.intern(&self.key)
    }

    /// Sets the name of an event's thread or process.
    pub(super) fn set_name(
        &mut self,
        event: &TraceEvent,
        is_thread: bool,
        name: String,
    ) -> Result<(), TooMany> {
        if is_thread {
            let thread = self.id(event)?;
            self.names.insert(thread.index(), name);
        } else {
            self.processes.insert(event.pid().into_owned(), name);
        }
        Ok(())
    }

    /// Returns the facts about a thread.
    pub(crate) fn facts(&self, thread: TraceThreadId) -> ThreadFacts {
        let key = self.keys.get(thread);
        let at = memchr::memchr(SEPARATOR, key).unwrap_or(key.len());
        let (pid, tid) = (&key[..at], key.get(at + 1..).unwrap_or_default());
        let process = self.processes.get(pid).cloned();
        let name = self.names.get(&thread.index()).cloned();
        ThreadFacts {
            pid: whole_u64(pid),
            process: process.or_else(|| non_numeric_text(pid)),
            thread: whole_u64(tid),
            thread_name: name.or_else(|| non_numeric_text(tid)),
            ..ThreadFacts::default()
        }
    }

    /// Returns true if another process has a thread with the same number.
    fn has_twin(&self, thread: TraceThreadId) -> bool {
        let own = self.keys.get(thread);
        let mut keys = self.keys.all();
        keys.any(|other| other != own && thread_number(other) == thread_number(own))
    }

    /// Returns the key of a thread's stacks. The thread's number replaces a missing name.
    pub(crate) fn place(
        &self,
        thread: TraceThreadId,
        table: &mut StackTable,
    ) -> Result<StackKey, TooMany> {
        let facts = self.facts(thread);
        let number = facts.thread.map(|number| number.to_string());
        // Threads of two processes with one number would be one thread.
        let pid = facts.pid.filter(|_| self.has_twin(thread));
        let process = facts.process.or(pid.map(|pid| pid.to_string()));
        let mut given = |text: Option<String>| match text {
            Some(text) => table.text_unless_empty(text.as_bytes()),
            None => Ok(None),
        };
        Ok(StackKey {
            thread: given(facts.thread_name.or(number))?,
            process: given(process)?,
            tid: facts.thread,
            pid: facts.pid,
            ..StackKey::default()
        })
    }
}

/// Returns the thread's number in a key.
fn thread_number(key: &[u8]) -> &[u8] {
    let at = memchr::memchr(SEPARATOR, key).unwrap_or(key.len());
    key.get(at + 1..).unwrap_or_default()
}

/// Returns a text in the place of a number; `None` if it is a number or empty.
fn non_numeric_text(number: &[u8]) -> Option<String> {
    let is_text = !number.is_empty() && whole_u64(number).is_none();
    is_text.then(|| String::from_utf8_lossy(number).into_owned())
}
