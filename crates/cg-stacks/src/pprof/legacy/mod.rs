//! The older formats that pprof's tools read. Samples are addresses, and the list of mappings is at the end.
//!
//! | beginning | written by | read by |
//! |---|---|---|
//! | `heap profile: …` | gperftools, Go (`?debug=1`) | [`heap`] |
//! | `heap_v2/RATE` | jemalloc (`prof.dump`) | [`heap`] |
//! | `goroutine profile: total N` and similar | Go (`?debug=1`) | [`counts`] |
//! | `--- mutex:`, `--- contention:`, `--- contentionz N ---` | Go, gperftools | [`counts`] |
//! | machine words `0 3 0 PERIOD 0` | gperftools' CPU profiler | [`cpu`] |
//! | `--- symbol`, then one of these formats | `pprof --raw` of gperftools, `jeprof --raw` | [`raw`] |
//!
//! The rules are those of pprof's `profile/legacy_profile.go`: counts of a sampled heap are scaled up, and return addresses
//! are moved back into the call. Unlike pprof, the reader names frames by the symbols that Go writes next to its stacks.

use std::collections::BTreeMap;

use cg_collections::maps::Map;
use cg_reader::number::whole_u64;
use cg_reader::{Error, Lines, Options, Reading};
use cg_stream::record::{Count, FrameMarks, SamplingFacts};

use super::super::address;
use super::super::table::{FrameId, FrameParts, StackKey, StackTable};
use super::super::write::write;

mod counts;
mod cpu;
mod fields;
mod heap;
mod maps;
mod program;
mod raw;

use maps::ObjectMaps;

/// One of these formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LegacyKind {
    Heap,
    Jemalloc,
    Counts,
    Contention,
    Cpu,
    Raw,
}

/// Returns the format of an input, from its first bytes; `None` if it is not one of these formats.
pub(super) fn kind(bytes: &[u8]) -> Option<LegacyKind> {
    if cpu::is_profile(bytes) {
        return Some(LegacyKind::Cpu);
    }
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.find(|line| !fields::is_blank_or_comment(line))?;
    // The line may be incomplete.
    let heap = first
        .strip_prefix(b"heap profile:")
        .map(<[u8]>::trim_ascii_start);
    if raw::begins(first) {
        Some(LegacyKind::Raw)
    } else if heap.is_some_and(|counts| matches!(counts, [] | [b'0'..=b'9', ..])) {
        Some(LegacyKind::Heap)
    } else if first.starts_with(b"heap_v2/") {
        Some(LegacyKind::Jemalloc)
    } else if first.starts_with(b"--- mutex:")
        || first.starts_with(b"--- contention:")
        || first.starts_with(b"--- contentionz ")
    {
        Some(LegacyKind::Contention)
    } else if counts::title(first).is_some() {
        Some(LegacyKind::Counts)
    } else {
        None
    }
}

/// Reads an input of this format and writes its stacks.
pub(super) fn parse(kind: LegacyKind, reading: &mut Reading) -> Result<(), Error> {
    let mut profile = LegacyProfile::default();
    let read = read(kind, reading.lines, &mut profile);
    let missing = program::name(&mut profile, &reading.options.search);
    if let Err(message) = missing {
        reading.error(message);
    }
    for warning in &profile.warnings {
        reading.warn(warning);
    }
    let table = profile.table(reading.options)?;
    let mut run = reading.run("pprof");
    run.sampling = profile.facts;
    write(run, &table, read, reading.out)
}

fn read(kind: LegacyKind, lines: &mut Lines, profile: &mut LegacyProfile) -> Result<(), Error> {
    match kind {
        LegacyKind::Heap => heap::read(lines, profile),
        LegacyKind::Jemalloc => heap::read_jemalloc(lines, profile),
        LegacyKind::Counts => counts::read(lines, profile),
        LegacyKind::Contention => counts::read_contention(lines, profile),
        LegacyKind::Cpu => cpu::read(lines, profile),
        LegacyKind::Raw => raw::read(lines, profile),
    }
}

/// The contents of a profile, before its addresses have names.
#[derive(Default)]
struct LegacyProfile {
    /// The names of the values of a sample.
    events: Vec<String>,
    samples: Vec<LegacySample>,
    /// The addresses of all samples, innermost first, moved back into the calls.
    addresses: Vec<u64>,
    symbols: SymbolsByAddress,
    maps: ObjectMaps,
    facts: SamplingFacts,
    /// True if `pprof --raw` wrote it, which omits the end of a profile and the frames of its signal.
    is_raw: bool,
    warnings: Vec<String>,
}

struct LegacySample {
    /// The end of its addresses, which begin at the end of the previous sample's addresses.
    end: usize,
    values: Values,
}

/// One value per event; unused ones are 0.
type Values = [Count; 4];

impl LegacyProfile {
    fn set_events(&mut self, events: &[(&str, &str)]) {
        for (event, unit) in events {
            self.events.push((*event).to_owned());
            if *unit != "count" {
                let unit = (*unit).to_owned();
                self.facts.units.insert((*event).to_owned(), unit);
            }
        }
    }

    /// Adds a sample. Its addresses are those pushed since the last sample.
    fn add(&mut self, values: Values) {
        let end = self.addresses.len();
        self.samples.push(LegacySample { end, values });
    }

    fn table(&self, options: &Options) -> Result<StackTable, Error> {
        let mut table = StackTable::new(self.events.clone());
        let mut known: Map<u64, Vec<FrameId>> = Map::default();
        let mut stack = Vec::new();
        let mut start = 0;
        for sample in &self.samples {
            stack.clear();
            for address in &self.addresses[start..sample.end] {
                if !known.contains_key(address) {
                    let frames = self.frames(*address, &mut table, options)?;
                    known.insert(*address, frames);
                }
                stack.extend_from_slice(&known[address]);
            }
            start = sample.end;
            let row = StackKey {
                stack: table.stack(&stack)?,
                ..StackKey::default()
            };
            let row = table.row(row)?;
            for event in 0..self.events.len() {
                table.add(row, event, sample.values[event]);
            }
        }
        Ok(table)
    }

    /// Returns the frames at an address, innermost first.
    fn frames(
        &self,
        address: u64,
        table: &mut StackTable,
        options: &Options,
    ) -> Result<Vec<FrameId>, Error> {
        let mapped = self.maps.find(address);
        let Some(symbols) = self.symbols.get(&address) else {
            let parts = match mapped {
                Some((object, offset)) => address::in_object(table, object, offset)?,
                None => address::anywhere(table, address)?,
            };
            return Ok(vec![table.frame(parts)?]);
        };
        let object = mapped.map(|(object, _)| object).unwrap_or_default();
        let mut frames = Vec::with_capacity(symbols.len());
        for (level, symbol) in symbols.iter().enumerate() {
            let parts = FrameParts {
                name: table.function(&symbol.name, options.demangle)?,
                file: table.text_unless_empty(&symbol.file)?,
                line: symbol.line,
                obj: table.text_unless_empty(object)?,
                addr: Some(mapped.map_or(address, |(_, offset)| offset)),
                marks: FrameMarks {
                    inlined: level + 1 < symbols.len(),
                    ..address::marks_of(object)
                },
            };
            frames.push(table.frame(parts)?);
        }
        Ok(frames)
    }
}

/// The functions at each address, the innermost inlined function first.
type SymbolsByAddress = Map<u64, Vec<LegacySymbol>>;

#[derive(Clone)]
struct LegacySymbol {
    name: Vec<u8>,
    file: Vec<u8>,
    line: Option<u64>,
}

/// The comment lines after a sample in Go's profiles: `#\t0x4b71f0\tmain.main+0x270\t\t/home/dev/main.go:10`, one line per
/// function. An address is repeated if functions were inlined there. Its functions come from the first sample with it.
#[derive(Default)]
struct SampleSymbols {
    found: BTreeMap<u64, Vec<LegacySymbol>>,
}

impl SampleSymbols {
    fn read(&mut self, line: &[u8]) {
        let Some((address, symbol)) = symbol(line) else {
            return;
        };
        self.found.entry(address).or_default().push(symbol);
    }

    /// Moves the functions of a sample to `symbols`, unless their addresses are known.
    fn keep(&mut self, symbols: &mut SymbolsByAddress) {
        while let Some((address, found)) = self.found.pop_first() {
            symbols.entry(address).or_insert(found);
        }
    }
}

fn symbol(line: &[u8]) -> Option<(u64, LegacySymbol)> {
    let mut columns = line
        .strip_prefix(b"#")?
        .split(|byte| *byte == b'\t')
        .map(<[u8]>::trim_ascii)
        .filter(|column| !column.is_empty());
    let address = columns.next()?;
    if !address.starts_with(b"0x") {
        return None;
    }
    let address = whole_u64(address)?;
    let name = columns.next()?;
    let name = match memchr::memmem::rfind(name, b"+0x") {
        Some(offset) => &name[..offset],
        None => name,
    };
    let place = columns.next().unwrap_or_default();
    let (file, line) = match memchr::memrchr(b':', place) {
        Some(colon) => match whole_u64(&place[colon + 1..]) {
            Some(line) => (&place[..colon], Some(line)),
            None => (place, None),
        },
        None => (place, None),
    };
    Some((
        address,
        LegacySymbol {
            name: name.to_vec(),
            file: file.to_vec(),
            line: line.filter(|line| *line > 0),
        },
    ))
}
