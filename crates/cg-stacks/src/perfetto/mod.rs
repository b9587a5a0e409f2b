//! Traces of Perfetto, in its protocol buffer: samples of perf, Chrome and other profilers, heaps of heapprofd, slices.
//!
//! The format is `protos/perfetto/trace/trace_packet.proto` of google/perfetto: a trace is a list of packets from many
//! producers. The packets of a sequence refer to data in its earlier packets (`interned.rs`). Names of threads and symbols
//! of modules may follow their uses, so the reader walks over the packets twice. A packet may contain compressed packets
//! (deflate or zstd).
//!
//! - Each sample counts 1 in the event `samples`: `perf_sample`, `streaming_profile_packet`, `stack_sample` (`packets.rs`).
//! - Heaps (`heap.rs`): the allocated memory, and the allocated minus the freed memory.
//! - Slices (`slices.rs`): the time in them, without the slices inside. A track is a thread.
//! - Other data, such as counters and the scheduling of threads, has no stacks and is not read.

use std::io::Read as _;

use cg_collections::limits;
use cg_reader::{Error, Head, Reading};
use flate2::read::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::wire::{MessageBytes, MessageFields, WireValue};
use super::write::write;

mod heap;
mod interned;
mod names;
mod packets;
mod slices;

use names::TraceNames;
use packets::PacketReader;

/// The fields of a packet with compressed packets, one per compression.
const DEFLATED: u64 = 50;
const ZSTD: u64 = 133;

/// Reads a trace: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let bytes = reading.bytes()?;
    let mut unpacked = Vec::new();
    let is_unpacked = unpack(&bytes, &mut unpacked);
    let mut names = TraceNames::default();
    // The second walk reports the errors.
    let _ = walk(&bytes, &unpacked, &mut |packet| names.read(packet));
    let mut reader = PacketReader::new(&names, reading.options.demangle);
    let read = walk(&bytes, &unpacked, &mut |packet| reader.packet(packet));
    let read = is_unpacked.and(read);
    let mut run = reading.run("perfetto");
    let (table, warnings) = reader.finish(&mut run)?;
    if table.events().is_empty() {
        read?;
        return Err(Error::whole(
            "expected samples, a heap or slices in the Perfetto trace, found none",
        ));
    }
    for warning in warnings {
        reading.warn(warning);
    }
    write(run, &table, read, reading.out)
}

/// Calls `take` for each packet in file order, including unpacked ones at the place of their container.
fn walk<'a>(
    bytes: &'a [u8],
    unpacked: &'a [Vec<u8>],
    take: &mut dyn FnMut(MessageBytes<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut unpacked = unpacked.iter();
    let mut fields = MessageFields::new(bytes);
    while let Some((number, value)) = fields.next()? {
        let (1, Some(packet)) = (number, value.message()) else {
            continue;
        };
        match packed_in(packet)? {
            None => take(packet)?,
            Some(_) => {
                let mut inner = MessageFields::new(unpacked.next().map_or(&[], Vec::as_slice));
                while let Some((number, value)) = inner.next()? {
                    if let (1, Some(packet)) = (number, value.message()) {
                        take(packet)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns the compressed data of a packet, and its field; `None` if the packet is not compressed.
fn packed_in(packet: MessageBytes) -> Result<Option<(u64, MessageBytes)>, Error> {
    let mut fields = packet.fields();
    while let Some((number, value)) = fields.next()? {
        if let (DEFLATED | ZSTD, Some(packed)) = (number, value.message()) {
            return Ok(Some((number, packed)));
        }
    }
    Ok(None)
}

/// Unpacks all compressed packets, up to the first error.
fn unpack(bytes: &[u8], unpacked: &mut Vec<Vec<u8>>) -> Result<(), Error> {
    let mut most = limits::longest_whole();
    let mut fields = MessageFields::new(bytes);
    while let Some((number, value)) = fields.next()? {
        let (1, Some(packet)) = (number, value.message()) else {
            continue;
        };
        let Some((way, packed)) = packed_in(packet)? else {
            continue;
        };
        let mut whole = Vec::new();
        let read = match way {
            DEFLATED => ZlibDecoder::new(packed.bytes)
                .take(most)
                .read_to_end(&mut whole),
            _ => StreamingDecoder::new(packed.bytes)
                .map_err(std::io::Error::other)
                .and_then(|decoder| decoder.take(most).read_to_end(&mut whole)),
        };
        most -= whole.len() as u64;
        unpacked.push(whole);
        let start = packed.start;
        if let Err(error) = read {
            return Err(Error::whole(format!(
                "byte {start}: these packets cannot be unpacked: {error}"
            )));
        }
        if most == 0 {
            return Err(Error::whole(format!(
                "byte {start}: {}",
                limits::TOO_MUCH_MEMORY
            )));
        }
    }
    Ok(())
}

/// Returns true if an input with this head is a trace. Other protocol buffers begin with the same byte, so the fields of the
/// first packets must have the right kinds, and one packet must contain its time or origin.
pub fn is_trace(head: &Head) -> bool {
    const ENOUGH: usize = 64;
    let whole = MessageBytes {
        bytes: head.bytes,
        start: 0,
    };
    let mut packets = whole.beginning();
    let mut has_proof = false;
    for _ in 0..ENOUGH {
        match packets.next() {
            Ok(Some((1, WireValue::Bytes(packet)))) => match is_packet(packet) {
                Some(is_proof) => has_proof |= is_proof,
                None => return false,
            },
            Ok(None) => break,
            Err(broken) if broken.is_cut => break,
            Ok(Some(_)) | Err(_) => return false,
        }
    }
    has_proof
}

/// Returns true if a message is a packet with contents and a time or origin; `None` if it is not a packet.
fn is_packet(packet: MessageBytes) -> Option<bool> {
    let (mut has_origin, mut has_content) = (false, false);
    let mut fields = packet.beginning();
    loop {
        match fields.next() {
            // Time, user, sequence, process.
            Ok(Some((3 | 8 | 10 | 79, WireValue::Varint(_)))) => has_origin = true,
            Ok(Some((13 | 41 | 42 | 58 | 87 | 98, WireValue::Varint(_)))) => {}
            Ok(Some((3 | 8 | 10 | 13 | 41 | 42 | 58 | 79 | 87 | 98, _))) => return None,
            // A compressed packet has no other contents.
            Ok(Some((DEFLATED, WireValue::Bytes(packed)))) => {
                has_origin |= matches!(packed.bytes, [0x78, second, ..] if (0x7800 + u16::from(*second)) % 31 == 0);
                has_content = true;
            }
            Ok(Some((ZSTD, WireValue::Bytes(packed)))) => {
                has_origin |= packed.bytes.starts_with(b"\x28\xb5\x2f\xfd");
                has_content = true;
            }
            Ok(Some((1..=200, WireValue::Bytes(_)))) => has_content = true,
            Ok(Some((900.., _))) => {}
            Ok(Some(_)) => return None,
            Ok(None) => return Some(has_origin && has_content),
            Err(broken) => return broken.is_cut.then_some(has_origin && has_content),
        }
    }
}

#[cfg(test)]
mod tests;
