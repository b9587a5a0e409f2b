//! What `fuzz/` begins with, and what it has found, held to its laws by any compiler: every file, some prefixes of it, and
//! some bytes of it changed.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::{Path, PathBuf};

use tests::{data, fuzzed, workspace};

/// The files below a folder that are short enough for a test; of a file, it alone.
fn files(folder: &Path) -> Vec<PathBuf> {
    const LONGEST: u64 = 1 << 14;
    if folder.is_file() {
        return vec![folder.to_owned()];
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.metadata().unwrap().len() <= LONGEST {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A file as it is, cut short, and with bytes changed in a fixed order.
fn variants(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut variants = vec![bytes.to_vec()];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ bytes.len() as u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    for _ in 0..2 {
        variants.push(bytes[..next(bytes.len())].to_vec());
        let mut changed = bytes.to_vec();
        for _ in 0..4 {
            let place = next(changed.len());
            if let Some(byte) = changed.get_mut(place) {
                *byte = b"0123456789 =()+-*:{}[]\",\n\0\xff"[next(27)];
            }
        }
        variants.push(changed);
    }
    variants
}

/// The seeds of a target, and what it has found.
fn seeds(target: &str, folder: &str) -> Vec<PathBuf> {
    let mut seeds = files(&data(folder));
    assert!(!seeds.is_empty(), "{target} has no seeds");
    seeds.extend(files(&data("fuzzed").join(target)));
    seeds
}

#[test]
fn readers_keep_their_laws() {
    for (target, format, folder) in fuzzed::READERS {
        for path in seeds(target, folder) {
            for bytes in variants(&fs::read(&path).unwrap()) {
                let held = std::panic::catch_unwind(|| fuzzed::reader(format, &bytes));
                let text = bytes.escape_ascii().to_string();
                assert!(held.is_ok(), "{target}: {}: {text}", path.display());
            }
        }
    }
}

#[test]
fn renderers_keep_their_laws() {
    for path in seeds("renderer", "names") {
        for bytes in variants(&fs::read(path).unwrap()) {
            fuzzed::renderer(&bytes);
        }
    }
    for bytes in [
        &b""[..],
        b"\0",
        b"=1,\"2\"\0\x1b[2J\0a\tb\\",
        "日本\0語".as_bytes(),
    ] {
        fuzzed::renderer(bytes);
    }
}

#[test]
fn viewers_keep_their_laws() {
    for folder in ["stacks", "printouts", "names", "speedscope"] {
        for path in seeds("viewer", folder) {
            fuzzed::viewer(&fs::read(path).unwrap());
        }
    }
}

#[test]
fn pipelines_keep_their_laws() {
    for (target, _, folder) in fuzzed::READERS {
        let seeds = seeds(target, folder);
        let bytes = fs::read(&seeds[0]).unwrap();
        for bytes in variants(&bytes).into_iter().take(2) {
            fuzzed::pipeline(&bytes);
        }
    }
}

#[test]
fn every_reader_has_a_target_that_reads_it() {
    for (name, _, format) in cg_parse::Format::ALL {
        let mut readers = fuzzed::READERS.iter();
        assert!(
            readers.any(|(_, of, _)| *of == format),
            "{name} has no target"
        );
    }
    for (target, format, _) in fuzzed::READERS {
        let source = workspace().join(format!("fuzz/fuzz_targets/{target}.rs"));
        let source = fs::read_to_string(source).unwrap();
        assert!(
            source.contains(&format!("Format::{format:?}, bytes")),
            "{target}"
        );
    }
}
