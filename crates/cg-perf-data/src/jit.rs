//! Names of code that a program made while it ran, out of what its runtime wrote for perf: `/tmp/perf-PID.map`, and
//! `jit-PID.dump` (`tools/perf/Documentation/jitdump-specification.txt`).

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cg_debug_info::open_regular;
use cg_reader::Search;
use cg_reader::number::leading_hex;
use cg_stacks::table::{NameId, StackTable};
use cg_stream::intern::TooMany;

use crate::fields::{FileEndian, RecordFields};

/// What a process made.
#[derive(Default)]
pub(crate) struct MadeCode {
    /// By where they begin, and then by time.
    functions: Vec<MadeFunction>,
    /// The longest of them.
    longest: u64,
}

/// A function that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MadeFunction {
    start: u64,
    /// When, in nanoseconds; 0 where nobody says.
    time: u64,
    end: u64,
    name: NameId,
}

/// More than any runtime writes.
const MOST_BYTES: u64 = 1 << 30;
/// Functions that begin in front of an address and are looked at.
const MOST_OVERLAPPING: usize = 256;

impl MadeCode {
    /// Reads what there is of a process.
    pub(crate) fn of_process(
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

    /// The function at an address at a time: the last that was made there until then; where the clocks differ, the first.
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

    /// Lines `START SIZE name`.
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

    /// A dump, as far as it goes: programs that are killed leave them unfinished.
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
                        && let Some((_, name)) = named.iter().rev().find(|(of, _)| *of == index)
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

/// Kind, time and body of the next record of a dump.
fn next_record<'a>(rest: &mut RecordFields<'a>) -> Option<(u32, u64, RecordFields<'a>)> {
    let kind = rest.u32()?;
    let size = usize::try_from(rest.u32()?).ok()?;
    let time = rest.u64()?;
    let body = rest.take(size.checked_sub(16)?)?;
    Some((kind, time, RecordFields::new(body, rest.endian)))
}

/// Address, size, number and name of code that was loaded.
fn load(mut body: RecordFields<'_>) -> Option<(u64, u64, u64, &[u8])> {
    body.take(16)?;
    let (start, size, index) = (body.u64()?, body.u64()?, body.u64()?);
    Some((start, size, index, body.text()))
}

/// New address, size and number of code that was moved.
fn moved(mut body: RecordFields) -> Option<(u64, u64, u64)> {
    body.take(24)?;
    Some((body.u64()?, body.u64()?, body.u64()?))
}

/// A file that a recording names, below a root or where it says.
fn read(path: &[u8], search: &Search) -> Option<Vec<u8>> {
    let candidates = search.objects(Path::new(OsStr::from_bytes(path)));
    let file = candidates.iter().find_map(|path| open_regular(path).ok())?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
