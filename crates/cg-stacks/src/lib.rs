//! Readers of call stacks that profilers sampled or counted.
//!
//! Each reader fills a [`table`] and passes it to `write`. Only `write` knows the records of the stream. A format has two
//! functions, which the list of formats in `cg-parse` names: one recognises an input, the other reads it.
#![warn(missing_docs)]

pub mod address;
mod count;
mod csv_line;
mod outline;
mod rate;
pub mod symbols;
pub mod table;
mod tree;
mod unread;
mod wire;
pub mod write;

pub mod async_profiler;
pub mod bpftrace;
pub mod dtrace;
pub mod firefox;
pub mod folded;
pub mod gdb;
pub mod ghc;
pub mod instruments;
pub mod jfr;
pub mod jstack;
pub mod memray;
pub mod otlp;
pub mod perf;
pub mod perfetto;
pub mod pprof;
pub mod rbspy;
pub mod sample;
pub mod speedscope;
pub mod stackprof;
pub mod trace_events;
pub mod v8;
pub mod visual_studio;
pub mod vtune;
pub mod xctrace;
