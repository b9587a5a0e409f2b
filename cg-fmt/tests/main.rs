//! The tests of cg-fmt from the outside, in one program: one is linked.

mod behaviour;
mod calls;
mod flames;
mod golden;
mod oracle;
mod samples;
mod stacks;
