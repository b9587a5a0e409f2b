//! cg-fmt: a cost stream to tables, CSV, TSV, markdown and JSON.

use std::process::ExitCode;

use cg_stream::tool::{self, Outcome};

mod args;
mod derive;
mod options;
mod terminal;
mod two_runs;

mod output;

mod read;
mod report;

mod format;

fn main() -> ExitCode {
    tool::main(|args: args::Args, output, diagnostics| {
        let files = tool::inputs(args.inputs(), diagnostics);
        let mut options = args.options(output);
        let mut read = read::read(&files, &options, diagnostics)?;
        derive::add(&mut read.profile, &mut options)?;
        let screen = terminal::screen(args.color, args.width, output);
        output::write(&read, &options, screen, output, diagnostics)?;
        Ok(Outcome::Done)
    })
}
