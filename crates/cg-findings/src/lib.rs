//! Memcheck, Helgrind, DRD and the sanitizers: errors and leaks, from text logs and from XML.
//!
//! Both readers fill a `process::Process` for each process they meet, and `section` hands it on: a `run`, rows of `error` and
//! `leak` in the order of the log, and the end unless the log was cut short. Names, frames
//! and stacks are kept once in a `table::FindingTable`, and a finding is a few numbers into it, so that memory grows with
//! what is distinct in a log and with four bytes a frame of every distinct stack, not with the log.
//!
//! An error's `thread` is the number that the log gives it: Valgrind's own, but in text logs of Helgrind and DRD these
//! tools' own. Its `count` is 1 in a text log without `-s`, which prints each error once and never says how often it
//! happened; only `error_summary` counts all of them.
//!
//! What a `run` record says beside `events` and `total`:
//!
//! | field | meaning |
//! |---|---|
//! | `complete` | the log says itself that it is whole: preamble and final ERROR SUMMARY of text, FINISHED and the closing tag of XML, or there the start of the next program in the same process |
//! | `quiet` | neither preamble nor summaries: a log of `-q`, of which nobody can tell whether it is whole |
//! | `only_preamble` | nothing but the preamble, which names the parent: with `%p` in the file's name, the log of a child that executed a program which Valgrind does not follow begins and ends so |
//! | `forked` | no preamble of its own beside processes that have one; its ERROR SUMMARY also counts its parent's errors |
//! | `exec` | the process went on as another program, whose section follows |
//! | `ppid` | the parent process |
//! | `options` | Valgrind's own options, in order: of XML, and of text with `-v` |
//! | `heap_summary` | `in_use_bytes`, `in_use_blocks`, `allocs`, `frees`, `allocated_bytes` |
//! | `all_heap_blocks_freed` | true where Memcheck says so; there is no `leak_summary` then |
//! | `leak_summary` | `definite`, `indirect`, `possible`, `reachable`, `suppressed`, each with `bytes` and `blocks` |
//! | `repeated_leaks` | of several leak checks: how many loss records of the earlier ones the last one has again; the ERROR SUMMARY counts each |
//! | `error_summary` | `errors`, `contexts`, `suppressed`, `suppressed_contexts` |
//! | `unprinted_errors` | how many errors XML counts in `<errorcounts>` that it does not have; a forked process counts its parent's |
//! | `fatal_signal` | `signal`, `name`, `event`, `address`, `thread`, `stack` |
//! | `error_limit_reached` | Valgrind stopped reporting errors in full |
//! | `stopped_reporting` | Valgrind stopped reporting errors at all |
//! | `used_suppressions` | `name` and `count` of each suppression that was used |
//! | `threads` | the threads that Helgrind announced: `thread`, `root`, and the `stack` that created it |
//! | `user_comment`, `log_file_qualifiers` | what `--xml-user-comment` and `%q{…}` in a file name put there |
#![warn(missing_docs)]

mod described;
mod evidence;
mod fields;
mod kinds;
mod leak;
mod line_end;
mod preamble;
mod process;
mod reader;
pub mod sanitizers;
mod section;
mod stacks;
mod sums;
mod table;
pub mod text;
pub mod xml;

pub use described::Described;
pub use evidence::{Coverage, LeakDoubt, LeakKinds, LeakOptions, NoLeakKinds, may_have_leaks};
pub use reader::{parse_documents, parse_logs};

use cg_reader::{Error, Reading};

use process::Process;
use table::FindingTable;

/// Hands on what was read of each process, and why that cannot be all of it.
///
/// # Errors
/// Where the table had no room for all of it, and those of the output.
fn hand_on<'a>(
    processes: impl Iterator<Item = (&'a Process, Option<String>)>,
    table: &FindingTable,
    reading: &mut Reading,
) -> Result<(), Error> {
    for (process, trouble) in processes {
        table.check_room()?;
        process.write(table, trouble.as_deref(), reading)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
