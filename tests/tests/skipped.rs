//! The closing line of a run of all tests: how many were skipped, and for want of what.
//!
//! Cargo runs packages, and a package's test programs, in the order of their names, which makes this the last one.
#![expect(clippy::print_stdout, reason = "a closing line")]

fn main() {
    // Whoever lists tests, as cargo-nextest does, finds none here.
    if !std::env::args().any(|word| word == "--list") {
        println!("\n{}", needs::skipped());
    }
}
