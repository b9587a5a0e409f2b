//! cg-fmt: a cost stream to tables, CSV, TSV, markdown and JSON.

use std::process::ExitCode;

use cg_stream::tool::{self, Outcome, Output, WhenClosed};

mod args;
mod options;

mod input;
mod output;

mod comment;
mod diffs;
mod group;
mod listing;
mod report;
mod source;
mod tree;

mod dhat;
mod massif;
mod stacks;

mod stream;
mod terminal;

fn main() -> ExitCode {
    tool::main(|args: args::Args, diagnostics| {
        let files = tool::inputs(args.inputs(), diagnostics);
        let options = args.options();
        let read = input::read(&files, &options, diagnostics)?;
        let screen = terminal::screen(args.color, args.width);
        let mut output = Output::new(WhenClosed::Stop);
        output::write(&read, &options, screen, &mut output, diagnostics)?;
        Ok(Outcome::Done)
    })
}
