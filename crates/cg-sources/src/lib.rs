//! The sources that a profile or a log names: where they may be looked for ([`Places`]), and the lines of them that are
//! wanted ([`SourceText`]).
//!
//! An input can come from anybody, and may name any file of the machine that it is shown on. So a source is shown only
//! where it lies below a directory that was chosen for sources, whatever links lead to it, and only a regular file is
//! opened.
#![warn(missing_docs)]

use std::ops::RangeInclusive;
use std::path::PathBuf;

mod find;
mod text_file;
mod toolchain;

pub use find::FoundSource;
pub use text_file::SourceText;
pub use toolchain::rust_sources;

/// Where sources are looked for and may be shown from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The folder that relative paths begin in, and below which sources are shown from their own paths.
    pub here: Option<PathBuf>,
    /// Folders below which sources are shown. The trailing parts of a source's path are looked up in them.
    pub roots: Vec<PathBuf>,
    /// Sources of Rust's library: shown from their own paths, and looked for where debug info calls them `/rustc/HASH/…`.
    pub rust: Vec<RustSource>,
}

/// The sources of Rust's library that a toolchain brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustSource {
    /// The folder that debug info calls `/rustc/HASH`.
    pub folder: PathBuf,
    /// The toolchain's file that holds the hash of its commit.
    pub manifest: PathBuf,
}

/// Lines, in rising order, with so many before and behind each: ranges in order that do not overlap. There is no line 0.
pub fn around(lines: impl IntoIterator<Item = u64>, context: u64) -> Vec<RangeInclusive<u64>> {
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for line in lines.into_iter().filter(|line| *line > 0) {
        let start = line.saturating_sub(context).max(1);
        let end = line.saturating_add(context);
        match ranges.last_mut() {
            Some(last) if start <= last.end().saturating_add(1) => *last = *last.start()..=end,
            _ => ranges.push(start..=end),
        }
    }
    ranges
}
