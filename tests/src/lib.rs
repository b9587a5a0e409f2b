//! Shared parts of the tests over all tools: the binaries, the data, transcripts, and independent readers.
//!
//! - [`tools`] builds the five binaries once and runs them;
//! - [`transcript`] runs shell sessions in markdown, such as the README and the tour;
//! - [`browser`] controls a real browser, and [`pages`] opens pages in it;
//! - [`fuzzed`] has the laws that hold for any bytes;
//! - [`made_massif`] writes small runs of Massif;
//! - [`made_programs`] has programs that differ by a known cause, and [`second_reader`] reads their profiles and their code;
//! - [`corpus`] compares the result of cg-parse with the result of an independent reader.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

pub mod browser;
pub mod corpus;
pub mod fuzzed;
pub mod made_massif;
pub mod made_programs;
pub mod pages;
pub mod second_reader;
pub mod tools;
pub mod transcript;

use std::path::{Path, PathBuf};

use cg_parse::Format;

/// Returns the folder of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .into()
}

/// Returns the path of a file in `tests/data`.
pub fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(path)
}

/// Returns the files of the test data that have this format.
///
/// # Panics
/// Panics if a listed file is missing.
pub fn seeds(format: &Format) -> Vec<PathBuf> {
    let seeds = format.seeds_below(&data(""));
    seeds.unwrap_or_else(|error| panic!("{format:?}: {error}"))
}

/// Runs a line of bash in a folder and returns its output. Panics if it fails.
pub fn shell(folder: &Path, command: &str) -> String {
    let run = needs::command("bash")
        .args(["-ec", command])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    String::from_utf8_lossy(&run.stdout).into_owned()
}
