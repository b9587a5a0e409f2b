//! The closing line of a run of all tests: the number of skipped tests and the reasons.
//!
//! Cargo runs packages and their test programs in alphabetical order, so this program is the last one.
#![expect(clippy::print_stdout, reason = "a closing line")]

fn main() {
    // cargo-nextest lists tests, and there are none here.
    if !std::env::args().any(|word| word == "--list") {
        println!("\n{}", needs::skipped());
    }
}
