//! cg-filter: keeps the records of a stream that match.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use positionals::Stdin;

mod args;
mod condition;
mod filter;
mod positionals;
mod predicate;
mod record;
mod time;

mod arcs;
mod count;
mod hold;
mod label;
mod membership;
mod pattern;
mod rank;
mod whose;

/// Runs the tool with the arguments of the process, and returns its exit status.
pub fn main() -> ExitCode {
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
    match is_pipe(&stdin) {
        true => Stdin::EmptyPipe,
        false => Stdin::Nothing,
    }
}

#[cfg(unix)]
fn is_pipe(stdin: &io::Stdin) -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileTypeExt as _;

    let file = stdin.as_fd().try_clone_to_owned().map(std::fs::File::from);
    let metadata = file.and_then(|file| file.metadata());
    metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// Windows reports no difference between a pipe that was closed and no input at all.
#[cfg(not(unix))]
fn is_pipe(_: &io::Stdin) -> bool {
    false
}
