//! Profiles of V8, JavaScript's engine in Chrome, Node.js and Deno.
//!
//! | what | its form |
//! |---|---|
//! | `.cpuprofile` (`node --cpu-prof`, Chrome's developer tools) | `nodes`, each with the ids of its `children` or of its `parent`; until 2017 a tree below `head` |
//! | `.heapprofile` (`node --heap-prof`) | a tree below `head` |
//! | a log of `node --prof`, preprocessed | see `preprocessed` |
//! | a trace of Chrome's, as the performance panel saves it | events, of which `Profile` and `ProfileChunk`, or one `CpuProfile`, hold a profile in pieces: see `trace_events`, which reads them |
//!
//! A node is a function called from another. Its `hitCount` is how many samples were taken in it; `samples` and `timeDeltas`
//! say which node each sample was taken in and how many µs after the one before it, the first after the profile began.
//!
//! - `samples` is the sum of the hit counts, or where there are none the number of samples; `time`, in ns, is the time from a
//!   sample to the next one, of the last one to the end of the profile, as Chrome's developer tools have it. Samples that V8
//!   writes behind later ones, with deltas below 0, count as taken with these.
//! - Of a heap profile, `bytes` are those that were live, `selfSize`.
//! - The line of a frame is that of its function, which V8 counts from 0; which lines of it were hit (`positionTicks`) is
//!   not kept. `(program)`, `(idle)` and `(garbage collector)` are frames; `(root)`, from which all is called, is none.

use cg_reader::json::Scanner;
use cg_reader::{Error, Head, Reading};

use super::table::StackTable;
use super::write::write;

mod call_node;
mod document;
mod nested;
mod nodes;
mod preprocessed;
mod samples;
mod trace;

use document::V8Document;
use nodes::V8Nodes;
use samples::V8Samples;

pub use preprocessed::{is_preprocessed, parse_preprocessed};
pub(super) use trace::TracedProfiles;

/// Keys of a node of a CPU or heap profile.
const KEYS_OF_NODE: [&[u8]; 4] = [b"callFrame", b"functionName", b"hitCount", b"selfSize"];

/// Whether a document is a CPU or heap profile.
pub fn is_profile(head: &Head) -> bool {
    Scanner::new(head.bytes).any_key(|key, mut value| match key {
        b"nodes" if value.take(b'[') => Some(value.has_key_of(&KEYS_OF_NODE)),
        b"head" => Some(value.has_key_of(&KEYS_OF_NODE)),
        _ => None,
    })
}

/// Reads a CPU or heap profile.
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let document = V8Document::read(&text)?;
    let mut table = StackTable::default();
    let mut run = reading.run(match document.is_of_heap() {
        true => "heapprofile",
        false => "cpuprofile",
    });
    run.sampling.duration = document.duration();
    let mut nodes = V8Nodes::default();
    for node in &document.nodes {
        nodes.add(node, reading.options.demangle, &mut table)?;
    }
    nodes.resolve(&mut table)?;
    let read = if document.is_of_heap() {
        run.sampling.set_unit("bytes", "bytes");
        samples::add_sizes(&document.nodes, &nodes, &mut table)
    } else {
        let mut samples = V8Samples::new(&mut table, &mut run, reading.options.times);
        let hits = match reading.options.times && !document.samples.is_empty() {
            true => Ok(()),
            false => samples.add_hits(&document.nodes, &nodes, &mut table),
        };
        let read = hits.and_then(|()| samples.add_all(&document, &nodes, &mut table));
        samples.warn(reading);
        read
    };
    write(run, &table, read, reading.out)
}

#[cfg(test)]
mod tests;
