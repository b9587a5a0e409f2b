//! `gmon.out`, which programs built with `-pg` write (`gmon_out.h` of glibc).
//!
//! ```text
//! file    := "gmon" version:u32 12 bytes record*
//! record  := 0 low:address high:address bins:u32 rate:u32 15 bytes unit "s" bin:u16*      the histogram
//!          | 1 from:address callee:address calls:u32                                      an arc
//!          | 2 blocks:u32 (address count)*                                                counts of blocks
//! ```
//!
//! Numbers have the byte order and addresses the size of the program. The file has neither names nor the path of the
//! program, so the program has to be given. Since glibc 2.27, the addresses are those of the program's own tables, also in
//! position-independent programs. gprof omits calls from code outside of the program, and so does this reader.

use std::collections::BTreeMap;

use cg_collections::maps::{Map, Set};
use cg_names::demangle::demangle;
use cg_reader::{Error, Head, Reading, plural};
use cg_stacks::symbols::{CountedFrom, FoundObject, OutermostName};

use crate::times::{CallTimes, FunctionName};

const MAGIC: &[u8] = b"gmon";
/// The length of the magic and the version.
pub(crate) const LONGEST_SIGN: usize = 8;
const HEADER: usize = 20;
const VERSION: u32 = 1;
/// The functions that gprof omits, because only profiled programs call them. They are part of static programs.
const PROFILER: [&[u8]; 6] = [
    b"mcount",
    b"_mcount",
    b"__mcount",
    b"_gprof_mcount",
    b"__mcount_internal",
    b"__mcleanup",
];

/// Returns true if an input begins like `gmon.out`, in either byte order.
pub fn is_gmon(head: &Head) -> bool {
    GmonLayout::endian_of(head.bytes).is_some()
}

/// Reads `gmon.out`.
pub(crate) fn parse(reading: &mut Reading) -> Result<(), Error> {
    let Some(program) = &reading.options.search.exe else {
        return Err(Error::whole(
            "gmon.out has addresses, but neither the names of functions nor the path of the program; cg-parse --exe PROGRAM gmon.out takes the names from the program",
        ));
    };
    let object = program.as_os_str().as_encoded_bytes().to_vec();
    let bytes = reading.bytes()?;
    let mut counts = GmonCounts::default();
    let read = counts.read(&bytes);
    let times = counts.name(reading)?;
    times.write(&object, read, reading)
}

/// The byte order, and the size of addresses.
#[derive(Clone, Copy)]
struct GmonLayout {
    is_little_endian: bool,
    address_size: usize,
}

impl GmonLayout {
    /// Returns true for little-endian and false for big-endian files; `None` for other inputs.
    fn endian_of(bytes: &[u8]) -> Option<bool> {
        let version: [u8; 4] = bytes.strip_prefix(MAGIC)?.first_chunk().copied()?;
        match (u32::from_le_bytes(version), u32::from_be_bytes(version)) {
            (VERSION, _) => Some(true),
            (_, VERSION) => Some(false),
            _ => None,
        }
    }

    /// Finds the size of addresses with which the records end where the file does.
    fn new(bytes: &[u8]) -> Option<GmonLayout> {
        let is_little_endian = GmonLayout::endian_of(bytes)?;
        let layouts = [8, 4].map(|address_size| GmonLayout {
            is_little_endian,
            address_size,
        });
        let is_valid = |layout: &GmonLayout| {
            let mut reader = GmonReader::new(bytes, *layout);
            reader.position = HEADER;
            matches!(reader.skip_record(), Ok(true))
        };
        layouts.into_iter().find(is_valid).or(Some(layouts[0]))
    }
}

/// The counts by address.
#[derive(Default)]
struct GmonCounts {
    /// The time of each bin in ns, by its first address and the first address after it.
    times: BTreeMap<(u64, u64), u64>,
    /// Calls by the addresses of the call site and the callee.
    arcs: Vec<(u64, u64, u64)>,
}

/// A position in a file.
struct GmonReader<'a> {
    bytes: &'a [u8],
    layout: GmonLayout,
    position: usize,
}

impl<'a> GmonReader<'a> {
    fn new(bytes: &'a [u8], layout: GmonLayout) -> GmonReader<'a> {
        GmonReader {
            bytes,
            layout,
            position: 0,
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let end = self.position.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.position..end));
        let taken = taken.ok_or_else(|| {
            Error::whole(format!(
                "byte {}: the file is cut short: {} missing or incomplete",
                self.position,
                plural(
                    length as u64,
                    "byte of a record is",
                    "bytes of a record are"
                )
            ))
        })?;
        self.position += length;
        Ok(taken)
    }

    fn number(&mut self, length: usize) -> Result<u64, Error> {
        let bytes = self.take(length)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Ok(match self.layout.is_little_endian {
            true => bytes.iter().rev().fold(0, add),
            false => bytes.iter().fold(0, add),
        })
    }

    fn address(&mut self) -> Result<u64, Error> {
        self.number(self.layout.address_size)
    }

    /// Reads the tag of the next record; `None` at the end.
    fn tag(&mut self) -> Option<u8> {
        let tag = self.bytes.get(self.position).copied();
        self.position += usize::from(tag.is_some());
        tag
    }

    /// Skips the first record. Returns false if its contents or the next tag are impossible.
    fn skip_record(&mut self) -> Result<bool, Error> {
        let is_possible = match self.tag() {
            Some(0) => {
                let histogram = Histogram::read(self)?;
                histogram.low < histogram.high && histogram.unit.starts_with(b"seconds")
            }
            Some(1) => {
                self.take(2 * self.layout.address_size + 4)?;
                true
            }
            Some(_) => false,
            None => true,
        };
        Ok(is_possible && self.bytes.get(self.position).is_none_or(|tag| *tag <= 2))
    }
}

/// Samples by address.
struct Histogram<'a> {
    low: u64,
    high: u64,
    /// Samples per second.
    rate: u64,
    unit: &'a [u8],
    bins: &'a [u8],
}

impl<'a> Histogram<'a> {
    fn read(reader: &mut GmonReader<'a>) -> Result<Histogram<'a>, Error> {
        let (low, high) = (reader.address()?, reader.address()?);
        let bins = reader.number(4)?;
        let rate = reader.number(4)?;
        let unit = reader.take(16)?;
        let length = usize::try_from(bins)
            .ok()
            .and_then(|bins| bins.checked_mul(2));
        Ok(Histogram {
            low,
            high,
            rate,
            unit,
            bins: reader.take(length.unwrap_or(usize::MAX))?,
        })
    }
}

impl GmonCounts {
    /// Reads all records. If there is an error, keeps the records before it.
    fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let layout = GmonLayout::new(bytes)
            .ok_or_else(|| Error::whole("expected gmon and version 1 at the beginning"))?;
        let mut reader = GmonReader::new(bytes, layout);
        reader.take(HEADER)?;
        while let Some(tag) = reader.tag() {
            match tag {
                0 => {
                    let histogram = Histogram::read(&mut reader)?;
                    self.add_histogram(&histogram, layout)?;
                }
                1 => {
                    let (from, callee) = (reader.address()?, reader.address()?);
                    let calls = reader.number(4)?;
                    self.arcs.push((from, callee, calls));
                }
                2 => {
                    let blocks = reader.number(4)?;
                    let length = usize::try_from(blocks).ok();
                    let length =
                        length.and_then(|blocks| blocks.checked_mul(2 * layout.address_size));
                    reader.take(length.unwrap_or(usize::MAX))?;
                }
                tag => {
                    return Err(Error::whole(format!(
                        "byte {}: expected the tag of a record (0, 1 or 2), found {tag}",
                        reader.position - 1
                    )));
                }
            }
        }
        Ok(())
    }

    fn add_histogram(&mut self, histogram: &Histogram, layout: GmonLayout) -> Result<(), Error> {
        let count = histogram.bins.len() as u64 / 2;
        let length = histogram.high.checked_sub(histogram.low);
        let (Some(length), 1..) = (length.filter(|length| *length > 0), histogram.rate) else {
            return Err(Error::whole(format!(
                "expected a histogram of a range of addresses, found {:#x} to {:#x} with {} samples per second",
                histogram.low, histogram.high, histogram.rate
            )));
        };
        let edge = |bin: usize| {
            histogram
                .low
                .saturating_add(bin_offset(bin as u64, count, length))
        };
        for (bin, samples) in histogram.bins.chunks_exact(2).enumerate() {
            let samples = match layout.is_little_endian {
                true => u16::from_le_bytes([samples[0], samples[1]]),
                false => u16::from_be_bytes([samples[0], samples[1]]),
            };
            if samples > 0 {
                let time = u128::from(samples) * 1_000_000_000 / u128::from(histogram.rate);
                let known = self.times.entry((edge(bin), edge(bin + 1))).or_default();
                *known = known.saturating_add(time as u64);
            }
        }
        Ok(())
    }

    /// Looks up the functions in the program.
    fn name(&self, reading: &mut Reading) -> Result<CallTimes, Error> {
        let search = &reading.options.search;
        let program = FoundObject::program(search).map_err(Error::whole)?;
        let program = program.ok_or_else(|| Error::whole("expected --exe PROGRAM"))?;
        let ends = self
            .arcs
            .iter()
            .flat_map(|(from, callee, _)| [*from, *callee]);
        let addresses = self.times.keys().flat_map(|bin| bytes(*bin)).chain(ends);
        let found = program.find_functions(
            addresses,
            CountedFrom::Tables,
            OutermostName::Symbol,
            search,
        );
        let mut times = CallTimes::default();
        let mut functions: Map<u64, usize> = Map::default();
        let mut of_profiler: Set<u64> = Set::default();
        for (address, found) in found.iter() {
            let Some(function) = found.last() else {
                continue;
            };
            if PROFILER.contains(&function.name) {
                of_profiler.insert(address);
                continue;
            }
            let name = match reading.options.demangle {
                true => demangle(function.name).into_owned(),
                false => function.name.to_vec(),
            };
            let file = function.file.to_vec();
            functions.insert(address, times.function(FunctionName { name, file }));
        }
        if functions.is_empty() && !(self.times.is_empty() && self.arcs.is_empty()) {
            return Err(Error::whole(
                "no address belongs to a function of the program of --exe: it is stripped, or not the program that wrote this file",
            ));
        }
        let (nameless, left_out) = self.share_times(&functions, &of_profiler, &mut times)?;
        for (from, callee, calls) in &self.arcs {
            let (Some(caller), Some(callee)) = (functions.get(from), functions.get(callee)) else {
                continue;
            };
            times.add_arc(*caller, *callee, *calls)?;
            if caller != callee {
                times.add_calls(*callee, *calls)?;
            }
        }
        reading.warn_count(
            nameless,
            "address with samples belongs to no function of the program; its time is under ???",
            "addresses with samples belong to no function of the program; their time is under ???",
        );
        if left_out > 0 {
            reading.warn(format!(
                "left out as by gprof: {:.2} s in the functions that count calls, such as mcount",
                left_out as f64 / 1e9
            ));
        }
        Ok(times)
    }

    /// Adds the time of each bin to its functions. Returns the number of bins without a function, and the time of functions
    /// that count calls.
    fn share_times(
        &self,
        functions: &Map<u64, usize>,
        of_profiler: &Set<u64>,
        times: &mut CallTimes,
    ) -> Result<(u64, u64), Error> {
        let (mut nameless, mut left_out) = (0, 0u64);
        for (bin, time) in &self.times {
            // As in gprof (`hist_assign_samples_1`), functions that share a bin have equal parts of its time for each byte.
            let is_known =
                |address: &u64| functions.contains_key(address) || of_profiler.contains(address);
            let known: Vec<u64> = bytes(*bin).filter(is_known).collect();
            if known.is_empty() {
                nameless += 1;
                let unknown = times.function(FunctionName::default());
                times.add_own(unknown, *time)?;
            }
            let (mut rest, mut parts) = (*time, known.len() as u64);
            for address in known {
                let part = rest / parts;
                (rest, parts) = (rest - part, parts - 1);
                match functions.get(&address) {
                    Some(function) => times.add_own(*function, part)?,
                    None => left_out = left_out.saturating_add(part),
                }
            }
        }
        Ok((nameless, left_out))
    }
}

/// Returns the offset of a bin's first byte in a histogram of `count` bins and `length` bytes.
///
/// The program rounds the number of bins up, and counts with the ratio of bins to bytes in units of 1/65536, without the rest
/// (`monstartup` and `profil` of the C libraries). gprof spreads the bins evenly over the bytes. In a program of 400 KB or
/// more, its addresses can be 12 bytes too low, so that samples belong to a function that never ran.
fn bin_offset(bin: u64, count: u64, length: u64) -> u64 {
    const UNIT: f32 = 65536.0;
    // The C libraries calculate with this precision, too.
    let scale = ((2 * count) as f32 / length as f32 * UNIT) as u128;
    let offset = match scale {
        // A bin has at least two bytes. Other histograms are not from a C library.
        1..=0x1_0000 => 2 * (u128::from(bin) << 16).div_ceil(scale),
        _ => u128::from(length) * u128::from(bin) / u128::from(count),
    };
    u64::try_from(offset).unwrap_or(u64::MAX)
}

/// Returns the addresses in a bin of the histogram: two or four, and at most eight.
fn bytes((begin, end): (u64, u64)) -> std::ops::Range<u64> {
    const MOST: u64 = 8;
    begin..end.clamp(begin.saturating_add(1), begin.saturating_add(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_where_the_program_counted() {
        // From glibc's `profil`: the bin of each address of a static program, whose last three bins are not used.
        let (count, length) = (124_396, 0x797a4);
        for address in [0, 1, 2, 3, 4, 0x3351e, 0x33520, 0x590c0, 0x797a0] {
            let bin = (address / 2) * 32768 / 65536;
            let begin = bin_offset(bin, count, length);
            let end = bin_offset(bin + 1, count, length);
            assert!((begin..end).contains(&address), "{address:#x}");
        }
        // A histogram that is not from a C library: a bin for each byte.
        assert_eq!(bin_offset(7, 10, 10), 7);
    }

    #[test]
    fn functions_share_a_bin_by_their_bytes() {
        let counts = GmonCounts {
            // The last byte has no function. The second bin belongs to the profiler and to `after`.
            times: BTreeMap::from([((100, 104), 11), ((104, 108), 40), ((200, 204), 7)]),
            ..GmonCounts::default()
        };
        let mut times = CallTimes::default();
        let mut function = |name: &str| {
            times.function(FunctionName {
                name: name.into(),
                file: Vec::new(),
            })
        };
        let (before, after) = (function("before"), function("after"));
        let functions = Map::from_iter([(100, before), (101, after), (102, after), (107, after)]);
        let of_profiler = Set::from_iter([104, 105, 106]);
        let shared = counts.share_times(&functions, &of_profiler, &mut times);
        assert_eq!(shared.unwrap(), (1, 30));
        let unknown = times.function(FunctionName::default());
        let own = [before, after, unknown].map(|function| times.own(function));
        // 11 = 3 + 4 + 4, without losing the rest of the division.
        assert_eq!(own, [3, 8 + 10, 7]);
    }
}
