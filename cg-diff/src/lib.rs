//! cg-diff: two or more cost streams to a stream of what changed.

use std::io::Write as _;
use std::process::ExitCode;

use cg_names::rules;
use cg_tool::{Outcome, WhenClosed};

mod args;
mod diff;
mod extent;

mod caches;
mod inputs;
mod leak_kinds;
mod pairs;
mod recorded;
mod runs;
mod sampling;
mod totals;

mod join;
mod key;

mod compare;
mod figures;
mod inlining;
mod known_chains;
mod noise;
mod noise_source;

mod arcs;
mod causes;
mod code;
mod explain;
mod matches;
mod notes;

mod gate;
mod limits;
mod unjudged;

mod history;
mod snapshots;
mod write;
mod write_causes;

/// Runs the tool with the arguments of the process, and returns its exit status.
pub fn main() -> ExitCode {
    cg_tool::main(|args: args::Args, output, diagnostics| {
        if args.list_rules {
            output.write_all(rules::table().as_bytes())?;
            return Ok(Outcome::Done);
        }
        if let Some(options) = args.history()? {
            return history::history(&options, output, diagnostics);
        }
        let options = args.options()?;
        if options.is_gate() {
            output.set_when_closed(WhenClosed::GoOn);
        }
        diff::diff(&options, output, diagnostics)
    })
}
