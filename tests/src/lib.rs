//! What the tests over all tools share: the binaries, the data, transcripts, and readers that know nothing of ours.
//!
//! - [`tools`] builds the five binaries once and runs them;
//! - [`transcript`] runs shell sessions written down in markdown, those of the README and its tour among them;
//! - [`browser`] is a real one, and [`pages`] are opened in it;
//! - [`fuzzed`] has the laws that hold for any bytes;
//! - [`made_massif`] writes small runs of Massif;
//! - [`made_programs`] differ by a cause that is known, and [`second_reader`] says what their profiles and their code say;
//! - [`corpus`] holds what cg-parse says of a profile against what an independent reader finds in it.
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

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .into()
}

/// A file of the test data, by its path in `tests/data`.
pub fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(path)
}

/// The files of the test data that are of a format.
///
/// # Panics
/// Where one that the list names is not there.
pub fn seeds(format: &Format) -> Vec<PathBuf> {
    let seeds = format.seeds_below(&data(""));
    seeds.unwrap_or_else(|error| panic!("{format:?}: {error}"))
}

/// Runs a line of bash in a folder, to its end without an error; what it prints.
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
