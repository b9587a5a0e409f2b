//! `cargo run -p needs`: installs the capabilities that the tests need and the machine lacks, or the named ones.
//!
//! `cargo run -p needs -- --list` prints the table. The exit status is 1 if a capability is still missing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::io::Write;
use std::process::ExitCode;

use needs::install::{Outcome, ensure};
use needs::{CAPABILITIES, capability};

fn main() -> ExitCode {
    let words = Vec::from_iter(std::env::args().skip(1));
    if words.iter().any(|word| word == "--list") {
        print!("{}", needs::listed());
        return ExitCode::SUCCESS;
    }
    let mut chosen = Vec::new();
    for word in &words {
        let Some(capability) = capability(word) else {
            eprintln!("needs: {word}: no such capability; --list shows all");
            return ExitCode::from(2);
        };
        chosen.push(capability);
    }
    if chosen.is_empty() {
        chosen.extend(CAPABILITIES);
    }
    let mut missing = Vec::new();
    for capability in chosen {
        print!("{}: ", capability.name);
        let _ = std::io::stdout().flush();
        let outcome = ensure(capability);
        println!("{outcome}");
        if matches!(outcome, Outcome::Missing(_)) {
            missing.push(capability.name);
        }
    }
    if missing.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("missing: {}", missing.join(", "));
    ExitCode::FAILURE
}
