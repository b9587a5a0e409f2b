//! CPU profiles of gperftools, written in machine words.
//!
//! The header is `0 3 0 PERIOD 0` with the period in microseconds. A sample is `COUNT DEPTH ADDRESS…`, and the end is `0 1
//! 0`. The list of mappings follows as text. The reader tries all kinds of words: 32 and 64 bits, in both byte orders.

use std::io::Read as _;

use cg_collections::maps::Map;
use cg_reader::{Error, Lines, plural};
use cg_stream::record::Count;

use super::super::super::rate::samples_a_second;
use super::LegacyProfile;

/// The size and byte order of a profile's words.
#[derive(Clone, Copy)]
struct Words {
    size: usize,
    is_big_endian: bool,
}

impl Words {
    fn all() -> impl Iterator<Item = Words> {
        let both_orders = |size| {
            [false, true].map(|is_big_endian| Words {
                size,
                is_big_endian,
            })
        };
        [4, 8].into_iter().flat_map(both_orders)
    }

    fn at(self, bytes: &[u8], position: usize) -> Option<u64> {
        let start = position.checked_mul(self.size)?;
        let word = bytes.get(start..start.checked_add(self.size)?)?;
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(match self.is_big_endian {
            true => word.iter().fold(0, add),
            false => word.iter().rev().fold(0, add),
        })
    }
}

/// Returns the kind of words in a profile, and its period in microseconds; `None` if it has no such header.
fn header(bytes: &[u8]) -> Option<(Words, u64)> {
    Words::all().find_map(|words| {
        let word = |position| words.at(bytes, position);
        match [word(0)?, word(1)?, word(2)?, word(3)?, word(4)?] {
            [0, 3, 0, period, 0] if period > 0 => Some((words, period)),
            _ => None,
        }
    })
}

pub(super) fn is_profile(bytes: &[u8]) -> bool {
    header(bytes).is_some()
}

pub(super) fn read(lines: &mut Lines, profile: &mut LegacyProfile) -> Result<(), Error> {
    let mut bytes = Vec::new();
    lines.read_to_end(&mut bytes).map_err(Error::Input)?;
    let (words, period) = header(&bytes)
        .ok_or_else(|| Error::whole("expected the header of a CPU profile, found another"))?;
    profile.set_events(&[("samples", "count"), ("cpu", "ns")]);
    profile.facts.sample_rate = samples_a_second(1e6 / period as f64);
    let nanoseconds = Count::from(period) * 1000;
    let mut position = 5;
    let mut samples: Vec<(Count, Vec<u64>)> = Vec::new();
    let read = loop {
        let word = |position| words.at(&bytes, position);
        let (Some(count), Some(depth)) = (word(position), word(position + 1)) else {
            if profile.is_raw && position * words.size == bytes.len() {
                break Ok(());
            }
            break Err(cut(words, position));
        };
        let first = position + 2;
        let end = usize::try_from(depth)
            .ok()
            .and_then(|depth| first.checked_add(depth))
            .filter(|end| *end <= bytes.len() / words.size);
        let Some(end) = end else {
            break Err(cut(words, position));
        };
        let addresses: Vec<u64> = (first..end).filter_map(word).collect();
        position = end;
        if (count, addresses.as_slice()) == (0, &[0]) {
            break Ok(());
        }
        samples.push((Count::from(count), addresses));
    };
    for (_, addresses) in &mut samples {
        for address in addresses.iter_mut().skip(1) {
            *address = address.wrapping_sub(1);
        }
    }
    let dropped = match profile.is_raw {
        true => 0,
        false => drop_signal_frames(&mut samples),
    };
    if dropped > 0 {
        profile.warnings.push(format!(
            "{} omitted as the profiler's signal handler: nearly all samples have them after their innermost frame",
            plural(dropped, "frame", "frames")
        ));
    }
    for (count, addresses) in &samples {
        let time = count
            .checked_mul(nanoseconds)
            .ok_or_else(|| Error::whole("the sum of cpu is beyond 64 bits"))?;
        profile.addresses.extend_from_slice(addresses);
        profile.add([*count, time, 0, 0]);
    }
    let text = bytes.get(position * words.size..).unwrap_or_default();
    for line in text.split(|byte| *byte == b'\n') {
        profile.maps.read_line(line);
    }
    read
}

fn cut(words: Words, position: usize) -> Error {
    Error::whole(format!(
        "byte {}: expected more samples or their end, found the end of the file: it is cut short",
        position * words.size
    ))
}

/// Removes the frames of the profiler's signal, as pprof does: a second frame that nearly all samples share (all but one in
/// 32), up to two times, and then the innermost frame's own return address. Returns the number of removed frames that nearly
/// all samples shared.
fn drop_signal_frames(samples: &mut [(Count, Vec<u64>)]) -> u64 {
    const SIMILAR: usize = 32;
    let mut dropped = 0;
    let margin = samples.len() / SIMILAR;
    for _ in 0..2 {
        let mut seconds: Map<u64, usize> = Map::default();
        for (_, addresses) in samples.iter() {
            if let Some(second) = addresses.get(1) {
                *seconds.entry(*second).or_default() += 1;
            }
        }
        let common = seconds
            .iter()
            .find(|(_, count)| **count >= samples.len() - margin);
        let Some((common, _)) = common else {
            break;
        };
        for (_, addresses) in samples.iter_mut() {
            if addresses.get(1) == Some(common) {
                addresses.remove(1);
                dropped += 1;
            }
        }
    }
    for (_, addresses) in samples.iter_mut() {
        if let [first, second, ..] = addresses[..]
            && first == second.wrapping_add(1)
        {
            addresses.remove(1);
        }
    }
    dropped
}
