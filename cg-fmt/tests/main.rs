//! Tests that run the binary of cg-fmt. All modules form one test program, which links faster than several.

mod behaviour;
mod calls;
mod flames;
mod golden;
mod oracle;
mod samples;
mod stacks;
mod suites;
