//! Recognises the output of Valgrind's tools and other profilers, and converts it to a cost stream.
//!
//! The readers are in other crates, grouped by kind of input: `cg-callgrind`, `cg-findings`, `cg-heaps`, `cg-stacks` and
//! `cg-totals`. Each format is one module there, with one reader function, and one entry of the list in `formats`.
#![warn(missing_docs)]

#[cfg(feature = "cli")]
mod args;
mod detect;
mod directory;
mod format;
mod formats;
mod input;
mod layouts;
mod packed;
mod recognition;
mod unsupported;
mod utf16;

mod profiles;
#[cfg(feature = "args")]
pub mod record_args;
mod redact;
mod stable_names;
pub mod stream;

pub use cg_findings as findings;
pub use cg_reader::{Error, KeptObjects, Options, Revision, Search, Snapshots};
pub use directory::{find_benchmark, find_criterion};
pub use format::{Answer, Format};
pub use formats::FORMATS;
pub use input::without_empty_bases;
pub use layouts::find_mixed_layouts;
pub use profiles::parse;
pub use unsupported::hints;

/// Runs the tool with the arguments of the process, and returns its exit status.
#[cfg(feature = "cli")]
pub fn main() -> std::process::ExitCode {
    cg_tool::main(|args: args::Args, output, diagnostics| {
        let files = cg_tool::inputs(&args.files, diagnostics);
        parse(&files, args.from, &args.options(), output, diagnostics)?;
        Ok(cg_tool::Outcome::Done)
    })
}
