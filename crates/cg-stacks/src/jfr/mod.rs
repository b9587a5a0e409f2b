//! Recordings of Java's flight recorder (`.jfr`), as the JVM and async-profiler write them.
//!
//! A recording is a chain of chunks. Each chunk has its own description of its types and its own pools of the values that
//! events refer to by number (`jdk.jfr.internal.consumer` of the JDK, `src/converter/one/jfr/JfrReader.java` of
//! async-profiler):
//!
//! ```text
//! FLR\0, version 2.x, size, offset of the pools, offset of the metadata, start (ns), duration (ns),
//! start (ticks), ticks per second, state, flags (1: integers are compressed): 68 bytes, big-endian
//! SIZE TYPE …             an event; type 0 is metadata, type 1 a checkpoint with pools, others are described
//! ```
//!
//! - The reader identifies events by name, not by type number. It adds up samples by stack and thread (`samples.rs`).
//!   It counts other events with stacks for a message (`left_out.rs`), and skips the rest.
//! - Metadata and pools are found by a walk over the events, not by the offsets in the header. This also reads the described
//!   part of an unfinished chunk.
//! - The state of a sampled thread is a label. A sample of a thread that sleeps or waits does not count as one of a running
//!   thread, but under an event of its own.
//! - Waits for locks and sleeps are counted, and their durations are added up.
//! - Frames are named `package.Class.method`, as in `jfr print`. Samples of one stack differ in whether a frame was
//!   interpreted, compiled or inlined, so this is not kept. Kernel frames, which async-profiler records, are marked.

use std::io::Read as _;

use cg_reader::{Error, Head, Lines, Reading};

use super::write::write;

mod cursor;
mod facts;
mod kinds;
mod left_out;
mod metadata;
mod pools;
mod samples;

use samples::JfrSamples;

const HEADER: usize = 68;
const MAGIC: &[u8] = b"FLR\0";

/// Returns true if an input with this head is a recording.
pub fn is_recording(head: &Head) -> bool {
    head.bytes.starts_with(MAGIC)
}

/// Reads a recording: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut samples = JfrSamples::new(reading.options.demangle, reading.options.times);
    let read = read_chunks(reading.lines, &mut samples);
    let mut run = reading.run("jfr");
    samples.finish(&mut run);
    let table = samples.table();
    let is_empty = table.events().is_empty();
    if let Some(message) = samples.left_out() {
        reading.warn(message);
    }
    if is_empty {
        read?;
        return Err(Error::whole(
            "expected samples or allocations, found none; java -XX:StartFlightRecording:settings=profile,filename=FILE … records them",
        ));
    }
    for message in samples.warnings() {
        reading.warn(message);
    }
    write(run, table, read, reading.out)
}

fn read_chunks(lines: &mut Lines, samples: &mut JfrSamples) -> Result<(), Error> {
    let mut start = 0;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let mut take = |bytes: &mut Vec<u8>, length: u64| {
            let read = lines.by_ref().take(length).read_to_end(bytes);
            read.map_err(Error::Input)
        };
        take(&mut bytes, HEADER as u64)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let header = ChunkHeader::read(&bytes, start)?;
        let rest = match header.size {
            0 => u64::MAX,
            size => size - HEADER as u64,
        };
        let length = take(&mut bytes, rest)?;
        samples.chunk(&bytes, start, &header)?;
        if (length as u64) < rest || header.is_unfinished {
            return Err(Error::whole(format!(
                "byte {}: the chunk that begins at byte {start} is not finished: the recording is cut short, or was copied while it was written",
                start + bytes.len() as u64
            )));
        }
        start += header.size;
    }
}

/// The beginning of a chunk.
struct ChunkHeader {
    /// The size of the whole chunk; 0 if the chunk is unfinished.
    size: u64,
    /// In nanoseconds since 1970.
    start: u64,
    /// In nanoseconds.
    duration: u64,
    /// In ticks.
    start_ticks: u64,
    /// The durations of events are in ticks.
    ticks_per_second: u64,
    is_unfinished: bool,
}

impl ChunkHeader {
    fn read(bytes: &[u8], start: u64) -> Result<ChunkHeader, Error> {
        let error = |message: &str| Error::whole(format!("byte {start}: {message}"));
        if !bytes.starts_with(MAGIC) {
            return Err(error(
                "expected a chunk of a recording, found something else",
            ));
        }
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
            word.map(|word| u64::from_be_bytes(*word))
                .ok_or_else(|| error("expected the header of a chunk, found the end of the file"))
        };
        let flags = bytes.get(64..HEADER).unwrap_or_default();
        let header = ChunkHeader {
            size: word(8)?,
            start: word(32)?,
            duration: word(40)?,
            start_ticks: word(48)?,
            ticks_per_second: word(56)?,
            // The state is not 0 while the JVM writes.
            is_unfinished: word(60)? >> 24 & 0xff != 0 || [word(8)?, word(24)?].contains(&0),
        };
        let version = word(0)? >> 16 & 0xffff;
        if version != 2 {
            return Err(error(&format!(
                "expected version 2 of the format, which Java 9 and later write, found {version}"
            )));
        }
        if flags.last().is_none_or(|flags| flags & 1 == 0) {
            return Err(error(
                "expected compressed integers, found the flag for uncompressed ones",
            ));
        }
        if (1..HEADER as u64).contains(&header.size) {
            return Err(error("expected a chunk that is longer than its header"));
        }
        Ok(header)
    }
}

#[cfg(test)]
mod tests;
