//! leak-check: fails a build on memory errors and leaks.

use std::process::ExitCode;

mod args;
mod gate;

mod finding;
mod process;
mod stack;

mod children;
mod collect;
mod coverage;
mod directory;
mod launchers;
mod reconcile;

mod baseline;
mod fingerprint;
mod frame_patterns;
mod growth;
mod identity;
mod own;
mod policy;
mod recognise;
mod ruling;
mod sameness;
mod sanitizers;
mod source_text;
mod suppression;
mod unmatched;

mod paths;
mod report;
mod sentence;

/// Runs the tool with the arguments of the process, and returns its exit status.
pub fn main() -> ExitCode {
    cg_tool::main(|args: args::Args, output, diagnostics| {
        gate::run(args.options(output)?, output, diagnostics)
    })
}
