//! The program leak-check.

use std::process::ExitCode;

fn main() -> ExitCode {
    leak_check::main()
}
