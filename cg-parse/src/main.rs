//! cg-parse: Valgrind's outputs to a cost stream.

use std::process::ExitCode;

use cg_stream::tool::{self, Outcome, Output, WhenClosed};

mod args;

fn main() -> ExitCode {
    tool::main(|args: args::Args, diagnostics| {
        let files = tool::inputs(&args.files, diagnostics);
        cg_parse::parse(
            &files,
            &args.options(),
            &mut Output::new(WhenClosed::Stop),
            diagnostics,
        )?;
        Ok(Outcome::Done)
    })
}
