//! All five tools as one program, which acts by the name that it was started with.
//!
//! The tools share most of their code: the readers of all formats. So `scripts/install` and releases install this program
//! once, under five names, which takes a quarter of the space. Each tool is also a program of its
//! own, for `cargo install cg-parse` and for the tests.
#![allow(
    clippy::print_stderr,
    reason = "no tool is chosen that could report the error"
)]

use std::path::Path;
use std::process::ExitCode;

/// The name of a tool, and its entry point.
type Tool = (&'static str, fn() -> ExitCode);

const TOOLS: [Tool; 5] = [
    ("cg-parse", cg_parse::main),
    ("cg-filter", cg_filter::main),
    ("cg-diff", cg_diff::main),
    ("cg-fmt", cg_fmt::main),
    ("leak-check", leak_check::main),
];

fn main() -> ExitCode {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&program).file_stem().unwrap_or_default();
    match TOOLS.iter().find(|(tool, _)| name == *tool) {
        Some((_, run)) => run(),
        None => {
            let names = TOOLS.map(|(tool, _)| tool).join(", ");
            eprintln!(
                "cg-tools: start this program by the name of a tool: {names}; scripts/install makes these links"
            );
            ExitCode::from(2)
        }
    }
}
