//! cg-diff: two or more cost streams to a stream of what changed.

use std::process::ExitCode;

use cg_stream::tool::{self, Output, WhenClosed};

mod args;
mod diff;

mod leak_kinds;
mod pairs;
mod runs;

mod join;
mod key;

mod compare;
mod figures;

mod arcs;
mod explain;
mod notes;

mod gate;
mod limits;

mod write;

fn main() -> ExitCode {
    tool::main(|args: args::Args, diagnostics| {
        let options = args.options()?;
        // A verdict is not a print: it does not hang on anybody reading the output.
        let when_closed = if options.is_gate() {
            WhenClosed::GoOn
        } else {
            WhenClosed::Stop
        };
        diff::diff(&options, &mut Output::new(when_closed), diagnostics)
    })
}
