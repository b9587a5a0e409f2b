//! Names of code generated at run time, from files that the runtime wrote for perf: `/tmp/perf-PID.map`, and `jit-PID.dump`
//! (`tools/perf/Documentation/jitdump-specification.txt`).

use std::io::Read as _;

use cg_collections::intern::TooMany;
use cg_debug_info::{open_regular, path_from_bytes};
use cg_reader::Search;
use cg_reader::number::leading_hex;
use cg_stacks::table::{NameId, StackTable};

use crate::fields::{FileEndian, RecordFields};

/// The generated code of a process.
#[derive(Default)]
pub(crate) struct MadeCode {
    /// The functions, by start address and then by time.
    functions: Vec<MadeFunction>,
    /// The length of the longest function.
    longest: u64,
}

/// A generated function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MadeFunction {
    start: u64,
    /// The time of its generation in nanoseconds; 0 if unknown.
    time: u64,
    end: u64,
    name: NameId,
}

/// The maximum size of a file, more than any runtime writes.
const MOST_BYTES: u64 = 1 << 30;
/// The maximum number of functions before an address to check.
const MOST_OVERLAPPING: usize = 256;

impl MadeCode {
    /// Reads the files of a process.
    pub(crate) fn read_process(
        pid: u32,
        dumps: &[Vec<u8>],
        search: &Search,
        table: &mut StackTable,
        demangle: bool,
    ) -> Result<MadeCode, TooMany> {
        let mut made = MadeCode::default();
        for path in dumps {
            if let Some(bytes) = read(path, search) {
                made.add_dump(&bytes, table, demangle)?;
            }
        }
        if let Some(bytes) = read(format!("/tmp/perf-{pid}.map").as_bytes(), search) {
            made.add_map(&bytes, table, demangle)?;
        }
        made.functions.sort_unstable();
        let lengths = made.functions.iter().map(|made| made.end - made.start);
        made.longest = lengths.max().unwrap_or(0);
        Ok(made)
    }

    /// Returns the function at an address at a time: the latest one generated until then. If there is none, because the
    /// clocks differ, the first one generated later.
    pub(crate) fn at(&self, address: u64, time: u64) -> Option<NameId> {
        let begun = self.functions.partition_point(|made| made.start <= address);
        let before = self.functions[..begun].iter().rev().take(MOST_OVERLAPPING);
        let near = before.take_while(|made| address - made.start <= self.longest);
        let mut found: Option<&MadeFunction> = None;
        for made in near.filter(|made| address < made.end) {
            let key = |made: &MadeFunction| match made.time <= time {
                true => (true, made.time),
                false => (false, u64::MAX - made.time),
            };
            if found.is_none_or(|found| key(made) > key(found)) {
                found = Some(made);
            }
        }
        found.map(|made| made.name)
    }

    /// Adds the lines `START SIZE name` of a map.
    fn add_map(
        &mut self,
        bytes: &[u8],
        table: &mut StackTable,
        demangle: bool,
    ) -> Result<(), TooMany> {
        for line in bytes.split(|byte| *byte == b'\n') {
            let Some((start, rest)) = leading_hex(line.strip_prefix(b"0x").unwrap_or(line)) else {
                continue;
            };
            let rest = rest.trim_ascii_start();
            let Some((size, name)) = leading_hex(rest.strip_prefix(b"0x").unwrap_or(rest)) else {
                continue;
            };
            self.add(start, size, 0, name.trim_ascii(), table, demangle)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        start: u64,
        size: u64,
        time: u64,
        name: &[u8],
        table: &mut StackTable,
        demangle: bool,
    ) -> Result<(), TooMany> {
        if let (Some(end), Some(name)) = (start.checked_add(size), table.function(name, demangle)?)
        {
            self.functions.push(MadeFunction {
                start,
                time,
                end,
                name,
            });
        }
        Ok(())
    }

    /// Adds a dump, which may be truncated, because a killed program leaves it unfinished.
    fn add_dump(
        &mut self,
        bytes: &[u8],
        table: &mut StackTable,
        demangle: bool,
    ) -> Result<(), TooMany> {
        let endian = match bytes.get(..4) {
            Some(b"DTiJ") => FileEndian::Little,
            Some(b"JiTD") => FileEndian::Big,
            _ => return Ok(()),
        };
        let mut fields = RecordFields::new(bytes, endian);
        fields.take(8);
        let header = fields.u32().map_or(0, |size| size as usize);
        let mut rest = RecordFields::new(bytes.get(header..).unwrap_or_default(), endian);
        let mut named = Vec::new();
        while let Some((kind, time, body)) = next_record(&mut rest) {
            match kind {
                LOAD => {
                    if let Some((start, size, index, name)) = load(body) {
                        named.push((index, name));
                        self.add(start, size, time, name, table, demangle)?;
                    }
                }
                MOVE => {
                    if let Some((start, size, index)) = moved(body)
                        && let Some((_, name)) =
                            named.iter().rev().find(|(known, _)| *known == index)
                    {
                        self.add(start, size, time, name, table, demangle)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

const LOAD: u32 = 0;
const MOVE: u32 = 1;

/// Reads the kind, time and body of the next record of a dump.
fn next_record<'a>(rest: &mut RecordFields<'a>) -> Option<(u32, u64, RecordFields<'a>)> {
    let kind = rest.u32()?;
    let size = usize::try_from(rest.u32()?).ok()?;
    let time = rest.u64()?;
    let body = rest.take(size.checked_sub(16)?)?;
    Some((kind, time, RecordFields::new(body, rest.endian)))
}

/// Reads the address, size, number and name of loaded code.
fn load(mut body: RecordFields<'_>) -> Option<(u64, u64, u64, &[u8])> {
    body.take(16)?;
    let (start, size, index) = (body.u64()?, body.u64()?, body.u64()?);
    Some((start, size, index, body.text()))
}

/// Reads the new address, size and number of moved code.
fn moved(mut body: RecordFields) -> Option<(u64, u64, u64)> {
    body.take(24)?;
    Some((body.u64()?, body.u64()?, body.u64()?))
}

/// Reads a file from the recording, below a root or at its own path.
fn read(path: &[u8], search: &Search) -> Option<Vec<u8>> {
    let candidates = search.objects(&path_from_bytes(path));
    let file = candidates.iter().find_map(|path| open_regular(path).ok())?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
