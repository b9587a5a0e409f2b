//! Truncated and damaged recordings are read up to the damage, and never crash the program.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::{Path, PathBuf};

use cg_reader::{Options, Search};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/perf-data")
}

/// Returns the recordings of the test data. Their program is in the same folder.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(data()).unwrap();
    let mut seeds: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "data"))
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .collect();
    seeds.sort();
    assert!(seeds.len() >= 2);
    seeds
}

/// Reads bytes as a recording. The stream must have an end if, and only if, there was no error.
fn check(name: &str, bytes: &[u8]) {
    let options = Options {
        search: Search {
            roots: vec![data()],
            caches: Vec::new(),
            ..Search::default()
        },
        ..Options::default()
    };
    let parsed = parsed::read(cg_perf_data::parse, bytes, &options);
    assert_eq!(
        parsed.is_whole(),
        !parsed.has_errors,
        "{name}: {:?}",
        parsed.messages
    );
}

#[test]
fn every_prefix_of_a_recording_is_read_to_its_end() {
    for (name, bytes) in seeds() {
        let step = bytes.len() / needs::size(3000, 100) + 1;
        let mut length = 0;
        while length < bytes.len() {
            check(&format!("{name}, {length} bytes"), &bytes[..length]);
            // Tries every length before the records.
            length += if length < 300 { 1 } else { step };
        }
    }
}

#[test]
fn damaged_recordings_are_read_or_rejected() {
    const WORDS: [u64; 8] = [
        0,
        1,
        8,
        0xffff,
        0x7fff_ffff,
        u64::MAX,
        1 << 63,
        0xffff_8000_0000_0000,
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    for (name, bytes) in seeds() {
        for round in 0..needs::size(20_000, 300) {
            let mut damaged = bytes.clone();
            for _ in 0..=next(6) {
                // The beginning determines how the rest is read.
                let place = match next(3) {
                    0 => next(700.min(bytes.len())),
                    _ => next(bytes.len()),
                };
                match next(4) {
                    0 => damaged[place] = next(256) as u8,
                    1 => damaged[place] ^= 1 << next(8),
                    2 => {
                        let word = WORDS[next(WORDS.len())].to_le_bytes();
                        let length = word.len().min(damaged.len() - place);
                        damaged[place..place + length].copy_from_slice(&word[..length]);
                    }
                    _ => {
                        let from = next(bytes.len());
                        let length = next(64).min(bytes.len() - from.max(place));
                        let copied = bytes[from..from + length].to_vec();
                        damaged[place..place + length].copy_from_slice(&copied);
                    }
                }
            }
            check(&format!("{name}, round {round}"), &damaged);
        }
    }
}
