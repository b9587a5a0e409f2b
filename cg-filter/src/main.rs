//! cg-filter: keeps the records of a stream that match.

use std::fs::File;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::process::ExitCode;

use positionals::Stdin;

mod args;
mod condition;
mod filter;
mod positionals;
mod predicate;
mod record;

mod arcs;
mod count;
mod hold;
mod membership;
mod pattern;
mod rank;
mod whose;

fn main() -> ExitCode {
    cg_tool::main(|args: args::Args, output, diagnostics| {
        let positionals = args.positionals(stdin);
        let options = args.options(&positionals)?;
        if let Some(note) = &positionals.note {
            diagnostics.warn(note);
        }
        let files = cg_tool::inputs(&positionals.files, diagnostics);
        filter::run(&files, options, output, diagnostics)
    })
}

/// Returns the state of standard input. Waits for the first byte.
fn stdin() -> Stdin {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Stdin::Nothing;
    }
    // Treat an unreadable input as present. The reader reports the error.
    if !stdin.lock().fill_buf().is_ok_and(|bytes| bytes.is_empty()) {
        return Stdin::Something;
    }
    let metadata = stdin
        .as_fd()
        .try_clone_to_owned()
        .and_then(|descriptor| File::from(descriptor).metadata());
    match metadata {
        Ok(metadata) if metadata.file_type().is_fifo() => Stdin::EmptyPipe,
        _ => Stdin::Nothing,
    }
}
