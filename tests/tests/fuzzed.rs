//! The laws of `fuzz/`, checked with any compiler on the fuzzing's seeds and findings: every file, some of its prefixes, and
//! some variants with changed bytes.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::{Path, PathBuf};

use cg_parse::{FORMATS, Format};
use tests::{data, fuzzed};

/// The maximum file size for a test, in bytes.
const LONGEST: u64 = 1 << 14;

/// Returns the files below a folder that are not longer than [`LONGEST`].
fn files(folder: &Path) -> Vec<PathBuf> {
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

/// Returns variants of a file: unchanged, truncated, and with changed bytes. The variants are the same in every run.
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

/// Returns the short seeds of a target in a folder, and the inputs that fuzzing found.
fn seeds(target: &str, folder: &Path) -> Vec<PathBuf> {
    let mut seeds = files(folder);
    assert!(!seeds.is_empty(), "{target} has no seeds");
    seeds.extend(files(&data("fuzzed").join(target)));
    seeds
}

/// Checks a law on variants of the seeds of a target.
fn check_variants(target: &str, folder: &Path, law: impl Fn(&[u8])) {
    for path in seeds(target, folder) {
        for bytes in variants(&fs::read(path).unwrap()) {
            law(&bytes);
        }
    }
}

/// Returns the short seeds of a format, the shortest first.
fn seeds_of(format: &Format) -> Vec<PathBuf> {
    let mut seeds = tests::seeds(format);
    let length = |path: &PathBuf| path.metadata().unwrap().len();
    seeds.retain(|path| length(path) <= LONGEST);
    seeds.sort_by_key(length);
    assert!(!seeds.is_empty(), "{format:?} has no short seed");
    seeds
}

fn check_reader(format: &'static Format, path: &Path, bytes: &[u8]) {
    let result = std::panic::catch_unwind(|| fuzzed::reader(format, bytes));
    let text = bytes.escape_ascii().to_string();
    assert!(result.is_ok(), "{format:?}: {}: {text}", path.display());
}

#[test]
fn readers_keep_their_laws() {
    for format in FORMATS {
        let mut paths = seeds_of(format);
        paths.extend(files(&data("fuzzed").join(format.name)));
        for path in paths {
            for bytes in variants(&fs::read(&path).unwrap()) {
                check_reader(format, &path, &bytes);
            }
        }
    }
}

#[test]
fn readers_keep_their_laws_on_inputs_of_other_formats() {
    for origin in FORMATS {
        let path = &seeds_of(origin)[0];
        let bytes = fs::read(path).unwrap();
        for format in FORMATS.iter().filter(|format| *format != origin) {
            check_reader(format, path, &bytes);
        }
    }
}

#[test]
fn renderers_keep_their_laws() {
    check_variants("renderer", &data("names"), fuzzed::renderer);
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
fn streams_keep_their_laws() {
    for folder in ["fmt", "exports", "code", "perf-stat", "fuzzed/stream"] {
        let is_stream = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
        for path in files(&data(folder)).into_iter().filter(is_stream) {
            for bytes in variants(&fs::read(path).unwrap()) {
                fuzzed::stream(&bytes);
            }
        }
    }
}

#[test]
fn objects_keep_their_laws() {
    let folder = tests::workspace().join("fuzz/seeds/object");
    check_variants("object", &folder, fuzzed::object);
}

#[test]
fn symbols_keep_their_laws() {
    let folder = tests::workspace().join("fuzz/seeds/symbol");
    check_variants("symbol", &folder, fuzzed::symbol);
}

#[test]
fn viewers_keep_their_laws() {
    for folder in ["stacks", "printouts", "names", "speedscope"] {
        for path in seeds("viewer", &data(folder)) {
            fuzzed::viewer(&fs::read(path).unwrap());
        }
    }
}

#[test]
fn pipelines_keep_their_laws() {
    for format in FORMATS {
        let bytes = fs::read(&seeds_of(format)[0]).unwrap();
        for bytes in variants(&bytes).into_iter().take(2) {
            fuzzed::pipeline(&bytes);
        }
    }
}

#[test]
fn every_finding_belongs_to_a_target() {
    for entry in fs::read_dir(data("fuzzed")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_target = ["symbol", "renderer", "viewer"].contains(&name.as_str());
        let is_format = FORMATS.iter().any(|format| format.name == name);
        assert!(is_target || is_format, "{name}");
    }
}
