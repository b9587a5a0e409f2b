//! cg-parse: converts the output of profilers to a cost stream.

use std::process::ExitCode;

use cg_tool::Outcome;

mod args;

fn main() -> ExitCode {
    cg_tool::main(|args: args::Args, output, diagnostics| {
        let files = cg_tool::inputs(&args.files, diagnostics);
        cg_parse::parse(&files, args.from, &args.options(), output, diagnostics)?;
        Ok(Outcome::Done)
    })
}
