//! cg-fmt formats profiles and cost streams.

use std::process::ExitCode;

use cg_tool::Outcome;

mod args;
mod derive;
mod options;
mod output_format;
mod terminal;
mod two_runs;

mod export;
mod output;

mod read;
mod report;

mod format;

/// Runs the tool with the arguments of the process, and returns its exit status.
pub fn main() -> ExitCode {
    cg_tool::main(|args: args::Args, output, diagnostics| {
        let files = cg_tool::inputs(args.inputs(), diagnostics);
        let mut options = args.options(output);
        let mut read = read::read(&files, &options, diagnostics)?;
        derive::add(&mut read.profile, &mut options)?;
        let screen = terminal::screen(args.color, args.width, output);
        output::write(&read, &options, screen, output, diagnostics)?;
        Ok(Outcome::Done)
    })
}
