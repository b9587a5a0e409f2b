//! Source files that a profile or a log names: the directories to search ([`Places`]), and the required lines
//! ([`SourceText`]).
//!
//! An input may come from an untrusted origin and may name any file of this machine. So a source is shown only if it is
//! below a directory that was chosen for sources, after resolving all links. Only regular files are opened.
#![warn(missing_docs)]

use std::ops::RangeInclusive;
use std::path::PathBuf;

mod find;
mod text_file;
mod toolchain;

pub use find::FoundSource;
pub use text_file::SourceText;
pub use toolchain::rust_sources;

/// The directories that are searched for sources, and from which sources may be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The base of relative paths. Sources below it may be shown, but it is not searched for trailing parts of paths.
    pub here: Option<PathBuf>,
    /// Folders below which sources are shown. The trailing parts of a source's path are looked up in each of them.
    pub roots: Vec<PathBuf>,
    /// Sources of Rust's library. They are shown from their own paths, and are used for paths like `/rustc/HASH/…`.
    pub rust: Vec<RustSource>,
}

/// The sources of Rust's library in a toolchain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustSource {
    /// The folder that debug info calls `/rustc/HASH`.
    pub folder: PathBuf,
    /// The toolchain's file that contains the hash of its commit.
    pub manifest: PathBuf,
}

/// Returns the ranges of the lines with `context` lines before and after each. `lines` must be in rising order. The ranges
/// are in order and do not overlap. Ignores line 0.
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
