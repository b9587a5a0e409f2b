//! The program cg-fmt.

use std::process::ExitCode;

fn main() -> ExitCode {
    cg_fmt::main()
}
