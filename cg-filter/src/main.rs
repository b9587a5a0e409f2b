//! cg-filter: keeps the records of a stream that match.

use std::process::ExitCode;

use cg_stream::tool::{self, Output, WhenClosed};

mod args;
mod filter;
mod predicate;
mod record;

mod arcs;
mod count;
mod hold;
mod pattern;
mod rank;

fn main() -> ExitCode {
    tool::main(|args: args::Args, diagnostics| {
        let options = args.options()?;
        let files = tool::inputs(&args.files(), diagnostics);
        filter::run(
            &files,
            options,
            &mut Output::new(WhenClosed::Stop),
            diagnostics,
        )
    })
}
