//! cg-parse: Valgrind's outputs to a cost stream.

use std::process::ExitCode;

use cg_stream::tool::{self, Outcome};

mod args;

fn main() -> ExitCode {
    tool::main(|args: args::Args, output, diagnostics| {
        let files = tool::inputs(&args.files, diagnostics);
        cg_parse::parse(&files, args.from, &args.options(), output, diagnostics)?;
        Ok(Outcome::Done)
    })
}
