//! Names of kernel functions, from `/proc/kallsyms` of the recorded kernel or from a copy that perf kept.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use cg_reader::Search;
use cg_reader::number::leading_hex;

/// The symbols of a kernel at some addresses.
pub(crate) struct KernelSymbols {
    /// The addresses in the recording, ascending.
    addresses: Vec<u64>,
    /// For each address, the last line of a function at or before it.
    lines: Vec<Vec<u8>>,
}

/// A line `ffffffff81000000 T _stext`, which `\t[module]` may follow.
#[derive(Clone, Debug)]
struct KallsymsLine<'l> {
    address: u64,
    rank: (u8, Reverse<usize>, usize),
    name: &'l [u8],
    module: &'l [u8],
}

/// A pass over the lines of `kallsyms`, which has a hundred thousand of them. It takes most of the time for a small recording,
/// so addresses stay text: sixteen digits have the order of their numbers.
struct KallsymsPass<'k> {
    /// The digits of the wanted addresses, ascending.
    wanted: Vec<Digits>,
    /// For each address, the last line between the preceding address and this one, with its digits.
    found: Vec<(Digits, Vec<u8>)>,
    /// The position of the last line among the addresses.
    position: usize,
    /// The symbol whose address shows the shift.
    reference: Option<&'k [u8]>,
    referred: Option<u64>,
    /// True if a function has an address. All are 0 if the user may not see them.
    are_shown: bool,
}

/// The sixteen hexadecimal digits of an address, the first one in the highest byte.
type Digits = u128;

/// The digits of address 0.
const ZEROS: Digits = Digits::from_be_bytes([b'0'; 16]);

/// The facts about the recorded kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedKernel {
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) release: Option<String>,
    /// A symbol and its address.
    pub(crate) reference: Option<(Vec<u8>, u64)>,
}

impl KernelSymbols {
    /// Finds the symbols of the recorded kernel at `addresses`, which have to be sorted; `None` if they are missing or hidden.
    pub(crate) fn find(
        kernel: &RecordedKernel,
        search: &Search,
        addresses: &[u64],
    ) -> Option<KernelSymbols> {
        let digits: String = (kernel.build_id.iter().flatten())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let mut candidates = Vec::new();
        if !digits.is_empty() {
            let caches = search.caches.iter().chain(&search.roots);
            let kept = caches.map(|cache| {
                cache
                    .join("[kernel.kallsyms]")
                    .join(&digits)
                    .join("kallsyms")
            });
            candidates.extend(kept);
        }
        if kernel.is_running() {
            candidates.push(PathBuf::from("/proc/kallsyms"));
        }
        candidates.iter().find_map(|path| {
            let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
            is_file.then(|| KernelSymbols::read(path, kernel, addresses).ok()?)?
        })
    }

    /// Reads the functions at `addresses`, which have to be sorted; `None` if the addresses of the functions are hidden.
    fn read(
        path: &Path,
        kernel: &RecordedKernel,
        addresses: &[u64],
    ) -> io::Result<Option<KernelSymbols>> {
        let reference = kernel.reference.as_ref();
        let name = reference.map(|(name, _)| &name[..]);
        let mut pass = KallsymsPass::read(path, addresses, name)?;
        let shift = match (reference, pass.referred) {
            (Some((_, recorded)), Some(here)) if *recorded != 0 => recorded.wrapping_sub(here),
            _ => 0,
        };
        let mut sorted = addresses.to_vec();
        // The kernel was loaded at another address in the meantime.
        if shift != 0 {
            let here = |address: &u64| address.wrapping_sub(shift);
            sorted.sort_by_key(here);
            let shifted: Vec<u64> = sorted.iter().map(here).collect();
            pass = KallsymsPass::read(path, &shifted, None)?;
        }
        if !pass.are_shown {
            return Ok(None);
        }
        let mut last = Vec::new();
        let lines = pass.found.into_iter().map(|(_, line)| {
            if !line.is_empty() {
                last = line;
            }
            last.clone()
        });
        let mut lines: Vec<(u64, Vec<u8>)> = sorted.into_iter().zip(lines).collect();
        lines.sort_by_key(|(address, _)| *address);
        let (addresses, lines) = lines.into_iter().unzip();
        Ok(Some(KernelSymbols { addresses, lines }))
    }

    /// Returns the function at one of the addresses, and its module.
    pub(crate) fn at(&self, address: u64) -> Option<(&[u8], Option<&[u8]>)> {
        let position = self.addresses.binary_search(&address).ok()?;
        let symbol = KallsymsLine::parse(&self.lines[position])?;
        Some((
            symbol.name,
            (!symbol.module.is_empty()).then_some(symbol.module),
        ))
    }
}

impl<'k> KallsymsPass<'k> {
    fn read(
        path: &Path,
        addresses: &[u64],
        reference: Option<&'k [u8]>,
    ) -> io::Result<KallsymsPass<'k>> {
        let mut pass = KallsymsPass {
            wanted: addresses.iter().copied().map(digits).collect(),
            found: vec![Default::default(); addresses.len()],
            position: 0,
            reference,
            referred: None,
            are_shown: false,
        };
        let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
        // The beginning of a line whose end is not in the buffer yet.
        let mut begun = Vec::new();
        loop {
            let mut rest = reader.fill_buf()?;
            let length = rest.len();
            while let Some(end) = memchr::memchr(b'\n', rest) {
                match begun.is_empty() {
                    true => pass.line(&rest[..end]),
                    false => {
                        begun.extend_from_slice(&rest[..end]);
                        pass.line(&begun);
                        begun.clear();
                    }
                }
                rest = &rest[end + 1..];
            }
            begun.extend_from_slice(rest);
            reader.consume(length);
            if length == 0 {
                pass.line(&begun);
                return Ok(pass);
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        let (digits, rest) = match line.split_first_chunk::<16>() {
            Some((digits, rest)) if rest.first() == Some(&b' ') => {
                (Digits::from_be_bytes(*digits), rest)
            }
            _ => match leading_hex(line) {
                Some((address, rest)) => (digits(address), rest),
                None => return,
            },
        };
        let [b' ', b'W' | b'w' | b't' | b'T', b' ', name @ ..] = rest else {
            return;
        };
        self.are_shown |= digits > ZEROS;
        if let Some(reference) = self.reference
            && (name.strip_prefix(reference))
                .is_some_and(|rest| matches!(rest, [] | [b'\t' | b' ', ..]))
        {
            self.referred = leading_hex(line).map(|(address, _)| address);
        }
        // Lines are mostly sorted, so the position is nearly always that of the last line.
        let is_after = |wanted: &Digits| *wanted < digits;
        let is_there = self
            .position
            .checked_sub(1)
            .is_none_or(|before| is_after(&self.wanted[before]))
            && self
                .wanted
                .get(self.position)
                .is_none_or(|wanted| !is_after(wanted));
        if !is_there {
            self.position = self.wanted.partition_point(is_after);
        }
        let Some((last, found)) = self.found.get_mut(self.position) else {
            return;
        };
        let rank = |line| KallsymsLine::parse(line).map(|line| line.rank);
        if found.is_empty() || *last < digits || (*last == digits && rank(found) <= rank(line)) {
            *last = digits;
            found.clear();
            found.extend_from_slice(line);
        }
    }
}

/// Returns the digits of an address.
fn digits(address: u64) -> Digits {
    let digit = |at| b"0123456789abcdef"[(address >> (60 - 4 * at) & 15) as usize];
    Digits::from_be_bytes(std::array::from_fn(digit))
}

impl KallsymsLine<'_> {
    /// Parses a line; `None` if it is not a function.
    fn parse(line: &[u8]) -> Option<KallsymsLine<'_>> {
        let (address, rest) = leading_hex(line)?;
        let [b' ', kind, b' ', rest @ ..] = rest else {
            return None;
        };
        // perf's order of aliases: weak, local, global; fewer underscores; longer.
        let binding = match kind {
            b'W' | b'w' => 0,
            b't' => 1,
            b'T' => 2,
            _ => return None,
        };
        let length = memchr::memchr2(b'\t', b' ', rest).unwrap_or(rest.len());
        let (name, module) = rest.split_at(length);
        let underscores = name.iter().take_while(|byte| **byte == b'_').count();
        Some(KallsymsLine {
            address,
            rank: (binding, Reverse(underscores), length),
            name,
            module: module.trim_ascii(),
        })
    }
}

impl RecordedKernel {
    /// Returns true if it is the running kernel, judged by its build id, or without one by its release and address.
    fn is_running(&self) -> bool {
        match (&self.build_id, &self.release, &self.reference) {
            (Some(id), ..) => fs::read("/sys/kernel/notes")
                .is_ok_and(|notes| id.len() >= 8 && memchr::memmem::find(&notes, id).is_some()),
            (None, Some(release), Some((name, address))) => {
                let running = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
                let is_there = |text: Vec<u8>| {
                    let lines = text.split(|byte| *byte == b'\n');
                    let mut lines = lines.filter(|line| line.ends_with(name));
                    lines.any(|line| {
                        KallsymsLine::parse(line).is_some_and(|line| line.address == *address)
                    })
                };
                running.trim() == release
                    && *address != 0
                    && fs::read("/proc/kallsyms").is_ok_and(is_there)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_function_at_or_before_an_address_is_found_in_any_order() {
        let mut text = String::new();
        // More lines than fit into the buffer, data between the functions, and a module before the kernel in memory.
        for number in 0..4000_u64 {
            let address = 0xffff_ffff_8100_0000 + number * 16;
            text += &format!(
                "{address:016x} t f{number}\n{:016x} d d{number}\n",
                address + 8
            );
        }
        text += "ffffffffc0000000 t late\t[last]\nffffffff80000000 t early\t[first]\n";
        text += "ffffffff81000010 W weak\nffffffff81000010 T __global\nffffffff81000010 T global";
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let expected = [
            (0xffff_ffff_7fff_ffff, None),
            (0xffff_ffff_8000_0000, Some(("early", "first"))),
            (0xffff_ffff_80ff_ffff, Some(("early", "first"))),
            (0xffff_ffff_8100_000f, Some(("f0", ""))),
            (0xffff_ffff_8100_0010, Some(("global", ""))),
            (0xffff_ffff_8100_001f, Some(("global", ""))),
            (0xffff_ffff_8100_0020, Some(("f2", ""))),
            (0xffff_ffff_8100_7d09, Some(("f2000", ""))),
            (0xffff_ffff_bfff_ffff, Some(("f3999", ""))),
            (u64::MAX, Some(("late", "last"))),
        ];
        let addresses: Vec<u64> = expected.iter().map(|(address, _)| *address).collect();
        let kernel = RecordedKernel::default();
        let symbols = KernelSymbols::read(file.path(), &kernel, &addresses);
        let symbols = symbols.unwrap().unwrap();
        for (address, expected) in expected {
            let found = symbols.at(address).map(|(name, module)| {
                let module = module.unwrap_or_default().trim_ascii();
                (name, module)
            });
            let expected = expected.map(|(name, module)| match module {
                "" => (name.as_bytes(), module.to_owned()),
                _ => (name.as_bytes(), format!("[{module}]")),
            });
            let expected = expected
                .as_ref()
                .map(|(name, module)| (*name, module.as_bytes()));
            assert_eq!(found, expected, "{address:x}");
        }
    }

    #[test]
    fn hidden_addresses_give_no_symbols() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(
            file.path(),
            "0000000000000000 T _text\n0000000000000000 t f\n",
        )
        .unwrap();
        let read = KernelSymbols::read(file.path(), &RecordedKernel::default(), &[0, 5]);
        assert!(read.unwrap().is_none());
    }
}
