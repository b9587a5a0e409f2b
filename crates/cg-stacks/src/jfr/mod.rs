//! Recordings of Java's flight recorder, as the JVM and async-profiler write them: `.jfr`.
//!
//! A recording is a chain of chunks, each with its own description of its types and its own pools of what events refer to by
//! number (`jdk.jfr.internal.consumer` of the JDK, `src/converter/one/jfr/JfrReader.java` of async-profiler):
//!
//! ```text
//! FLR\0, version 2.x, size, where the pools are, where the metadata is, start (ns), duration (ns),
//! start (ticks), ticks a second, state, flags (1: integers are compressed): 68 bytes, big-endian
//! SIZE TYPE …             an event; type 0 is metadata, type 1 a checkpoint with pools, others are described
//! ```
//!
//! - An event is what it is called, whatever its type's number: samples are added up by stack and thread (`samples.rs`), others
//!   are stepped over.
//! - Metadata and pools are found by walking over the events, and not by their places in the header: so a chunk that was never
//!   finished is read as far as it describes itself.
//! - Frames are called `package.Class.method`, as `jfr print` calls them. Whether a frame was interpreted, compiled or inlined
//!   differs from sample to sample of one stack, so it is not kept. Frames of the kernel, which async-profiler has, are marked.

use std::io::Read as _;

use cg_reader::{Error, Head, Lines, Reading};

use super::write::write;

mod cursor;
mod metadata;
mod pools;
mod said;
mod samples;

use samples::JfrSamples;

const HEADER: usize = 68;
const MAGIC: &[u8] = b"FLR\0";

/// Whether an input that begins like this is a recording.
pub fn is_recording(head: &Head) -> bool {
    head.bytes.starts_with(MAGIC)
}

/// Reads a recording: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut samples = JfrSamples::new(reading.options.demangle);
    let read = read_chunks(reading.lines, &mut samples);
    let mut run = reading.run("jfr");
    samples.finish(&mut run);
    let table = samples.table();
    if table.events().is_empty() {
        read?;
        return Err(Error::whole(
            "expected samples or allocations, found none; java -XX:StartFlightRecording:settings=profile,filename=FILE … records them",
        ));
    }
    for message in samples.complaints() {
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
                "byte {}: the chunk that begins at byte {start} is not finished: the recording was cut short, or copied while it was written",
                start + bytes.len() as u64
            )));
        }
        start += header.size;
    }
}

/// The beginning of a chunk.
struct ChunkHeader {
    /// Of all of the chunk; 0 where it was not finished.
    size: u64,
    /// Nanoseconds since 1970.
    start: u64,
    /// Nanoseconds.
    duration: u64,
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
                "its integers are not compressed, as no JVM writes them",
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
