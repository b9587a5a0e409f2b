//! Readers of errors and leaks from Memcheck, Helgrind, DRD and the sanitizers, in text logs and XML.
//!
//! Both readers fill a `process::Process` for each process. `section` writes it as a `run` record, `error` and `leak` rows
//! in the order of the log, and an end record unless the log is incomplete. A `table::FindingTable` interns names, frames
//! and stacks, and a finding consists of a few ids. So memory grows with the distinct contents of a log, at four bytes per
//! frame of each distinct stack, not with the length of the log.
//!
//! An error's `thread` is the number in the log: Valgrind's thread number, but the tools' own number in text logs of
//! Helgrind and DRD. Its `count` is 1 in a text log without `-s`, which prints each error once; only `error_summary` counts
//! all occurrences.
//!
//! The fields of a `run` record, besides `events` and `total`:
//!
//! | field | meaning |
//! |---|---|
//! | `complete` | the log is complete: text has a preamble and a final ERROR SUMMARY, XML has FINISHED and the closing tag, or the start of the next program in the same process |
//! | `quiet` | the log has neither preamble nor summaries (`-q`), so it is unknown if it is complete |
//! | `only_preamble` | the log has only a preamble, which names the parent; with `%p` in the file's name, this is the log of a child that executed a program which Valgrind does not follow |
//! | `forked` | the process has no preamble, but other processes in the log have one; its ERROR SUMMARY also counts its parent's errors |
//! | `exec` | the process executed another program, whose section follows |
//! | `ppid` | the parent process |
//! | `options` | Valgrind's own options, in order, in XML and in text with `-v` |
//! | `heap_summary` | `in_use_bytes`, `in_use_blocks`, `allocs`, `frees`, `allocated_bytes` |
//! | `all_heap_blocks_freed` | true if Memcheck reports this; there is no `leak_summary` then |
//! | `leak_summary` | `definite`, `indirect`, `possible`, `reachable`, `suppressed`, each with `bytes` and `blocks` |
//! | `repeated_leaks` | with several leak checks: the number of reports of leaks that a later check reports again; the ERROR SUMMARY counts each |
//! | `error_summary` | `errors`, `contexts`, `suppressed`, `suppressed_contexts` |
//! | `unprinted_errors` | the number of errors that XML counts in `<errorcounts>` but does not contain; a forked process counts its parent's |
//! | `fatal_signal` | `signal`, `name`, `event`, `address`, `thread`, `stack` |
//! | `error_limit_reached` | Valgrind stopped reporting errors in full |
//! | `stopped_reporting` | Valgrind stopped reporting errors at all |
//! | `used_suppressions` | `name` and `count` of each suppression that was used |
//! | `threads` | the threads that Helgrind announced: `thread`, `root`, and the `stack` that created it |
//! | `user_comment`, `log_file_qualifiers` | the values of `--xml-user-comment` and of `%q{…}` in a file name |
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
pub use evidence::{Coverage, InvalidLeakKinds, LeakDoubt, LeakKinds, LeakOptions, may_have_leaks};
pub use reader::{parse_documents, parse_job_output, parse_logs};

use cg_reader::{Error, Reading};

use process::Process;
use table::FindingTable;

/// Writes the section of each process. The string is the reason why a process is incomplete.
///
/// # Errors
/// Returns an error if the table is full or the output cannot be written.
fn write_processes<'a>(
    processes: impl Iterator<Item = (&'a Process, Option<String>)>,
    table: &FindingTable,
    reading: &mut Reading,
) -> Result<(), Error> {
    for (process, error) in processes {
        table.check_room()?;
        process.write(table, error.as_deref(), reading)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
