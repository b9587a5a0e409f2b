//! The program cg-diff.

use std::process::ExitCode;

fn main() -> ExitCode {
    cg_diff::main()
}
