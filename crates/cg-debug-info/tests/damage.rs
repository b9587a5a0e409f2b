//! Tests that damaged and malicious objects take limited time and memory, and never cause a panic.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use cg_debug_info::{
    Chains, CoveringSymbols, DebugInfo, Error, Errors, Limits, MachineCode, ObjectFile, Search,
};
use needs::needs;

fn run(directory: &Path, command: &str) {
    let status = needs::command("bash")
        .args(["-ec", command])
        .current_dir(directory)
        .status();
    assert!(status.unwrap().success(), "{command}");
}

/// Makes all kinds of lookups in an object, at these addresses.
fn look_up_all(path: &Path, addresses: &[u64]) -> Result<Chains, Error> {
    let search = Search {
        roots: Vec::new(),
        ..Search::default()
    };
    let object = ObjectFile::open(path, &search.limits)?;
    let info = DebugInfo::find(&object, &search)?;
    CoveringSymbols::covering(&[&object], addresses)?;
    let chains = info.chains(addresses);
    for innermost in chains.innermost.iter().flatten() {
        assert!(chains.chain(*innermost).count() <= Limits::default().depth + 1);
    }
    info.rows(std::slice::from_ref(&(0..u64::MAX)));
    Ok(chains)
}

/// Returns the peak memory of this process in megabytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 1024
}

/// A generator of reproducible pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn flip_bytes(directory: &Path, build: &str, times: usize) {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    std::fs::copy(programs.join("nops.c"), directory.join("nops.c")).unwrap();
    run(directory, build);
    let whole = std::fs::read(directory.join("nops")).unwrap();
    // Damage only the debug information, the table of sections at the end, and the header. Code is not read.
    let begin = whole
        .windows(6)
        .position(|bytes| bytes == b"GNU C1")
        .map_or(0, |at| at.saturating_sub(8000));
    let addresses: Vec<u64> = (0x1000..0x4000).collect();
    let mut numbers = Numbers(7);
    let mut read = 0;
    for round in 0..times {
        let path = directory.join("damaged");
        std::fs::write(&path, &whole).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        for _ in 0..=numbers.next(8) {
            let at = match numbers.next(8) {
                0 => numbers.next(64),
                1 => whole.len() as u64 - 1 - numbers.next(2000),
                _ => begin as u64 + numbers.next((whole.len() - begin) as u64),
            };
            let byte = match numbers.next(4) {
                0 => 0xff,
                1 => 0,
                _ => u8::try_from(numbers.next(256)).unwrap(),
            };
            file.write_all_at(&[byte], at).unwrap();
        }
        if round % 16 == 0 {
            file.set_len(numbers.next(whole.len() as u64)).unwrap();
        }
        read += usize::from(look_up_all(&path, &addresses).is_ok());
    }
    // The damage must leave enough readable objects.
    assert!(read * 4 > times, "{build}: {read} of {times}");
}

/// Builds an object from assembly: code at `_start`, and debug information with the given entries. Returns its path and all
/// addresses of its code.
///
/// Abbreviations: 1 a unit with all code, 2 a function, 3 an inlined function with children, 4 an inlined function without
/// children, 5 a name that refers to another entry.
fn assemble(
    directory: &Path,
    code: usize,
    entries: &str,
    sections: &str,
) -> (std::path::PathBuf, Vec<u64>) {
    let source = format!(
        r#"
.text
.globl _start
_start: .skip {code}, 0x90
end:
.section .debug_abbrev,"",@progbits
.uleb128 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0
.uleb128 2, 0x2e, 1, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0
.uleb128 3, 0x1d, 1, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0
.uleb128 4, 0x1d, 0, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0
.uleb128 5, 0x2e, 0, 0x31, 0x13, 0, 0
.uleb128 0
.section .debug_info,"",@progbits
.long info_end - info
info: .short 4
.long 0
.byte 8
.uleb128 1
.quad _start, {code}
{entries}
info_end:
{sections}
"#
    );
    std::fs::write(directory.join("made.s"), source).unwrap();
    run(directory, "gcc -c made.s && ld -e _start -o made made.o");
    let made = directory.join("made");
    let symbols = needs::command("nm").arg(&made).output().unwrap().stdout;
    let symbols = String::from_utf8(symbols).unwrap();
    let start = symbols
        .lines()
        .find(|line| line.ends_with(" _start"))
        .unwrap();
    let start = u64::from_str_radix(start.split(' ').next().unwrap(), 16).unwrap();
    (made, (start..start + code as u64).collect())
}

/// Renames `.xebug_str` to `.debug_str` and marks it as compressed. The linker would have changed a section with this name.
fn mark_compressed(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes
        .windows(10)
        .position(|name| name == b".xebug_str")
        .unwrap();
    bytes[at + 1] = b'd';
    let number = |at: usize, length: usize| {
        (bytes[at..at + length].iter().rev())
            .fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    let (table, count, names) = (number(0x28, 8), number(0x3c, 2), number(0x3e, 2));
    let names = number(table + names * 64 + 0x18, 8);
    let section = (0..count)
        .map(|index| table + index * 64)
        .find(|section| names + number(*section, 4) == at);
    bytes[section.unwrap() + 8..][..8].copy_from_slice(&0x800_u64.to_le_bytes());
    std::fs::write(path, bytes).unwrap();
}

fn errors(directory: &Path, code: usize, entries: &str) -> Errors {
    let (made, addresses) = assemble(directory, code, entries, "");
    look_up_all(&made, &addresses).unwrap().errors
}

// These are one test, because memory is measured for the whole process.
#[test]
fn time_and_memory_are_limited_whatever_an_object_claims() {
    needs!("gcc");
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path();
    let begun = Instant::now();

    for (build, times) in [
        ("gcc -O2 -g -o nops nops.c", needs::size(1000, 100)),
        (
            "gcc -O2 -g -gdwarf-4 -o nops nops.c",
            needs::size(1000, 100),
        ),
        ("gcc -O2 -g -gz=zlib -o nops nops.c", needs::size(300, 30)),
    ] {
        flip_bytes(directory, build, times);
    }

    // Circular references, and references to a place without an entry.
    let circle = ".uleb128 2\n.long a - info + 4\n.quad _start, 50\na: .uleb128 5\n.long b - info + 4\nb: .uleb128 5\n.long a - info + 4\n.uleb128 0,0";
    assert_eq!(errors(directory, 100, circle), Errors::default());
    let nowhere = ".uleb128 2\n.long 0x7fffffff\n.quad _start, 50\n.uleb128 0,0";
    assert_eq!(errors(directory, 100, nowhere), Errors::default());

    // Functions inlined into each other a million levels deep.
    let deep = ".uleb128 2\n.long 0\n.quad _start, 50\n.rept 1000000\n.uleb128 3\n.long 0\n.quad _start, 50\n.endr";
    let found = errors(directory, 100, deep);
    assert_eq!(
        found.first_damage.as_deref(),
        Some("functions are nested too deeply")
    );

    // A million functions that each cover all addresses.
    let many = ".uleb128 2\n.long 0\n.quad _start, 100000\n.rept 1500000\n.uleb128 4\n.long 0\n.quad _start, 100000\n.endr";
    assert!(errors(directory, 100_000, many).exhausted);
    let found = errors(directory, 4, many);
    assert_eq!(
        found.first_damage.as_deref(),
        Some("too many inlined functions")
    );

    // Sections that are, or claim to be, far larger after decompression.
    let mut bomb = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..400 {
        bomb.write_all(&zeros).unwrap();
    }
    std::fs::write(directory.join("bomb"), bomb.finish().unwrap()).unwrap();
    for size in ["400 << 20", "120 << 20", "1 << 60", "-1"] {
        let claim = format!(
            ".section .xebug_str,\"\",@progbits\n.long 1, 0\n.quad {size}, 1\n.incbin \"bomb\""
        );
        let (made, addresses) = assemble(directory, 100, ".uleb128 0", &claim);
        mark_compressed(&made);
        let result = look_up_all(&made, &addresses);
        match size {
            // A claim within the limit is read, up to the claimed size.
            "120 << 20" => assert!(result.is_ok()),
            _ => assert!(
                matches!(result, Err(Error::TooLarge)),
                "{size}: {:?}",
                result.err()
            ),
        }
    }

    let limit = if cfg!(debug_assertions) { 180 } else { 60 };
    assert!(
        begun.elapsed() < Duration::from_secs(limit),
        "{:?}",
        begun.elapsed()
    );
    assert!(peak() < 300, "{} MB", peak());
}

#[test]
fn damaged_code_has_a_print_or_a_reason() {
    needs!("gcc");
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    std::fs::copy(programs.join("nops.c"), directory.join("nops.c")).unwrap();
    run(directory, "gcc -O1 nops.c -o nops");
    let whole = std::fs::read(directory.join("nops")).unwrap();
    let mut numbers = Numbers(11);
    let (mut opened, mut printed) = (0, 0);
    for _ in 0..300 {
        let mut damaged = whole.clone();
        for _ in 0..=numbers.next(40) {
            let at = numbers.next(damaged.len() as u64) as usize;
            damaged[at] = numbers.next(256) as u8;
        }
        let path = directory.join("damaged");
        std::fs::write(&path, &damaged).unwrap();
        let code = ObjectFile::open(&path, &Limits::default())
            .and_then(|object| MachineCode::new(object, None));
        let Ok(mut code) = code else { continue };
        opened += 1;
        // First all addresses at once, then each address separately.
        let all: Vec<u64> = (0x1000..0x1800).collect();
        assert!(code.prints(|_| true, &all).is_err());
        for address in all {
            printed += usize::from(code.prints(|_| true, &[address]).is_ok());
        }
    }
    assert!(opened > 50 && printed > 50, "{opened}, {printed}");
}
