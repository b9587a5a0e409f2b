//! The threads of a trace, and what they are called.

use std::collections::BTreeMap;

use cg_reader::number::whole_u64;
use cg_stream::intern::{Bytes, Id as _, TooMany};
use cg_stream::record::ThreadFacts;

use super::super::table::{StackKey, StackTable};
use super::event::TraceEvent;

cg_stream::ids! {
    /// A thread of a process.
    pub(crate) struct TraceThreadId;
}

/// Threads by process and number. Both may be texts: PyTorch has a process `Spans` and a thread `stream 7`.
#[derive(Default)]
pub(crate) struct TraceThreads {
    /// The number of the process, a blank that no number has, that of the thread.
    keys: Bytes<TraceThreadId>,
    key: Vec<u8>,
    names: BTreeMap<usize, String>,
    processes: BTreeMap<Vec<u8>, String>,
}

/// Stands between the process and the thread.
const BETWEEN: u8 = 0;

impl TraceThreads {
    /// The thread that an event is of.
    pub(super) fn id(&mut self, event: &TraceEvent) -> Result<TraceThreadId, TooMany> {
        self.key.clear();
        self.key.extend_from_slice(&event.pid());
        self.key.push(BETWEEN);
        self.key.extend_from_slice(&event.tid());
        self.keys.intern(&self.key)
    }

    /// Names the thread that an event is of, or its process.
    pub(super) fn set_name(
        &mut self,
        event: &TraceEvent,
        is_of_thread: bool,
        name: String,
    ) -> Result<(), TooMany> {
        if is_of_thread {
            let thread = self.id(event)?;
            self.names.insert(thread.index(), name);
        } else {
            self.processes.insert(event.pid().into_owned(), name);
        }
        Ok(())
    }

    /// What is known of a thread.
    pub(crate) fn facts(&self, thread: TraceThreadId) -> ThreadFacts {
        let key = self.keys.get(thread);
        let at = memchr::memchr(BETWEEN, key).unwrap_or(key.len());
        let (pid, tid) = (&key[..at], key.get(at + 1..).unwrap_or_default());
        let process = self.processes.get(pid).cloned();
        let name = self.names.get(&thread.index()).cloned();
        ThreadFacts {
            pid: whole_u64(pid),
            process: process.or_else(|| text_of(pid)),
            thread: whole_u64(tid),
            thread_name: name.or_else(|| text_of(tid)),
            ..ThreadFacts::default()
        }
    }

    /// Whose stacks a thread's are: its number is its name where it has none.
    pub(crate) fn place(
        &self,
        thread: TraceThreadId,
        table: &mut StackTable,
    ) -> Result<StackKey, TooMany> {
        let facts = self.facts(thread);
        let number = facts.thread.map(|number| number.to_string());
        let mut given = |text: Option<String>| match text {
            Some(text) => table.given(text.as_bytes()),
            None => Ok(None),
        };
        Ok(StackKey {
            thread: given(facts.thread_name.or(number))?,
            process: given(facts.process)?,
            pid: facts.pid,
            ..StackKey::default()
        })
    }
}

/// What stands for a number, where it is a text.
fn text_of(number: &[u8]) -> Option<String> {
    let is_text = !number.is_empty() && whole_u64(number).is_none();
    is_text.then(|| String::from_utf8_lossy(number).into_owned())
}
