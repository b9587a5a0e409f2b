//! Names of kernel functions, from `/proc/kallsyms` of the recorded kernel or from a copy that perf kept.

use std::cmp::Reverse;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use cg_reader::Search;
use cg_reader::number::leading_hex;

/// The symbols of a kernel, by address.
pub(crate) struct KernelSymbols {
    text: Vec<u8>,
    symbols: Vec<KallsymsLine>,
    /// The recording's addresses minus the addresses here.
    shift: u64,
}

/// A line `ffffffff81000000 T _stext`, which `\t[module]` may follow.
#[derive(Clone, Debug)]
struct KallsymsLine {
    address: u64,
    rank: (u8, Reverse<usize>, usize),
    name: Range<usize>,
    module: Range<usize>,
}

/// The facts about the recorded kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedKernel {
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) release: Option<String>,
    /// A symbol and its address.
    pub(crate) reference: Option<(Vec<u8>, u64)>,
}

impl KernelSymbols {
    /// Finds the symbols of the recorded kernel; `None` if they are missing or hidden.
    pub(crate) fn find(kernel: &RecordedKernel, search: &Search) -> Option<KernelSymbols> {
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
            let text = fs::read(path).ok().filter(|_| is_file)?;
            KernelSymbols::read(text, kernel)
        })
    }

    /// Reads the lines of functions. All addresses are 0 if the user may not see them.
    fn read(text: Vec<u8>, kernel: &RecordedKernel) -> Option<KernelSymbols> {
        let mut symbols = Vec::new();
        let mut start = 0;
        let mut referred = None;
        while start < text.len() {
            let length = memchr::memchr(b'\n', &text[start..]).unwrap_or(text.len() - start);
            if let Some(line) = KallsymsLine::parse(&text[start..start + length], start) {
                if let Some((name, _)) = &kernel.reference
                    && text[line.name.clone()] == name[..]
                {
                    referred = Some(line.address);
                }
                symbols.push(line);
            }
            start += length + 1;
        }
        symbols.sort_by_key(|symbol| (symbol.address, symbol.rank));
        let shift = match (&kernel.reference, referred) {
            (Some((_, recorded)), Some(here)) if *recorded != 0 => recorded.wrapping_sub(here),
            _ => 0,
        };
        let is_shown = symbols.last().is_some_and(|symbol| symbol.address > 0);
        is_shown.then_some(KernelSymbols {
            text,
            symbols,
            shift,
        })
    }

    /// Returns the function at an address of the recording, and its module.
    pub(crate) fn at(&self, address: u64) -> Option<(&[u8], Option<&[u8]>)> {
        let address = address.wrapping_sub(self.shift);
        let begun = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols[..begun].last()?;
        let module = &self.text[symbol.module.clone()];
        Some((
            &self.text[symbol.name.clone()],
            (!module.is_empty()).then_some(module),
        ))
    }
}

impl KallsymsLine {
    /// Parses a line that begins at offset `at` of the text; `None` if it is not a function.
    fn parse(line: &[u8], at: usize) -> Option<KallsymsLine> {
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
        let begin = at + line.len() - rest.len();
        let underscores = rest.iter().take_while(|byte| **byte == b'_').count();
        let module_text = rest[length..].trim_ascii();
        let module = begin + rest.len() - rest[length..].trim_ascii_start().len();
        Some(KallsymsLine {
            address,
            rank: (binding, Reverse(underscores), length),
            name: begin..begin + length,
            module: module..module + module_text.len(),
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
                        KallsymsLine::parse(line, 0).is_some_and(|line| line.address == *address)
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
