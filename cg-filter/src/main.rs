//! The program cg-filter.

use std::process::ExitCode;

fn main() -> ExitCode {
    cg_filter::main()
}
