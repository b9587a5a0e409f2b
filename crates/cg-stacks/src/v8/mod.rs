//! Profiles of V8, the JavaScript engine of Chrome, Node.js and Deno.
//!
//! | input | form |
//! |---|---|
//! | `.cpuprofile` (`node --cpu-prof`, Chrome's developer tools) | `nodes`, each with the ids of its `children` or its `parent`; until 2017 a tree in `head` |
//! | `.heapprofile` (`node --heap-prof`) | a tree in `head` |
//! | a log of `node --prof`, preprocessed | see `preprocessed` |
//! | a trace of Chrome, saved by the performance panel | events; `Profile` and `ProfileChunk`, or one `CpuProfile`, contain a profile in pieces. `trace_events` reads them |
//!
//! A node is a function with its caller. `hitCount` is the number of samples in the node. `samples` contains the node of
//! each sample, and `timeDeltas` the µs since the previous sample, or since the beginning of the profile for the first
//! sample.
//!
//! - The event `samples` is the number of samples, as in Chrome's developer tools, speedscope and the Firefox Profiler. A
//!   profile without a list of samples has only the hit counts, whose sum is often smaller. `time`, in ns, is the time from
//!   a sample to the next one, or to the end of the profile, as in Chrome's developer tools. V8 writes some samples after
//!   later ones, with negative deltas; they count as taken at the same time as these.
//! - In a heap profile, `bytes` are the live bytes, `selfSize`.
//! - The line of a frame is its function's line, which V8 counts from 0. The lines with hits (`positionTicks`) are not kept.
//!   `(program)`, `(idle)` and `(garbage collector)` are frames; `(root)`, which calls everything, is not a frame.

use cg_reader::json::Scanner;
use cg_reader::{Error, Head, Reading, plural};

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

/// The keys that identify a node of a CPU or heap profile.
const NODE_KEYS: [&[u8]; 4] = [b"callFrame", b"functionName", b"hitCount", b"selfSize"];

/// Returns true if a document is a CPU or heap profile.
pub fn is_profile(head: &Head) -> bool {
    Scanner::new(head.bytes).any_key(|key, mut value| match key {
        b"nodes" if value.expect(b'[').is_ok() => Some(value.has_any_key(&NODE_KEYS)),
        b"head" => Some(value.has_any_key(&NODE_KEYS)),
        _ => None,
    })
}

/// Reads a CPU or heap profile.
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let document = V8Document::read(&text)?;
    let mut table = StackTable::default();
    let mut run = reading.run(match document.is_heap_profile() {
        true => "heapprofile",
        false => "cpuprofile",
    });
    run.sampling.duration = document.duration();
    let mut nodes = V8Nodes::default();
    for node in &document.nodes {
        nodes.add(node, reading.options.demangle, &mut table)?;
    }
    nodes.resolve(&mut table)?;
    let read = if document.is_heap_profile() {
        run.sampling.set_unit("bytes", "bytes");
        samples::add_sizes(&document.nodes, &nodes, &mut table)
    } else {
        let mut samples = V8Samples::new(&mut table, &mut run, reading.options.times);
        let hits = match document.samples.is_empty() {
            true => samples.add_hits(&document.nodes, &nodes, &mut table),
            false => Ok(()),
        };
        let read = hits.and_then(|()| samples.add_all(&document, &nodes, &mut table));
        if samples.has_two_clocks {
            run.sampling.duration = None;
        }
        samples.warn(reading);
        warn_hits(&document, reading);
        read
    };
    write(run, &table, read, reading.out)
}

/// Warns if the nodes have another number of hits than there are samples. V8 never counts the first sample as a hit, and
/// sometimes not others.
fn warn_hits(document: &V8Document, reading: &mut Reading) {
    let counts = document.nodes.iter().filter_map(|node| node.hit_count);
    let hits = counts.fold(0, u64::saturating_add);
    let samples = document.samples.elements().count() as u64;
    if samples > 0 && hits > 0 && hits.abs_diff(samples) > 1 {
        reading.warn(format!(
            "the profile has {}, which are counted, but its nodes have {} (hitCount)",
            plural(samples, "sample", "samples"),
            plural(hits, "hit", "hits")
        ));
    }
}

#[cfg(test)]
mod tests;
