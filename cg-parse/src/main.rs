//! The program cg-parse.

use std::process::ExitCode;

fn main() -> ExitCode {
    cg_parse::main()
}
