//! The lines of HEAP SUMMARY, LEAK SUMMARY and ERROR SUMMARY.

use cg_stream::record::{Blocks, ErrorSummary, LeakKind};

use crate::fields::{amount, skip};
use crate::process::Process;

/// Reads a line of a summary into the process. Returns false for other lines.
pub(super) fn read(message: &[u8], process: &mut Process) -> bool {
    let message = message.trim_ascii();
    if message == b"HEAP SUMMARY:" || message == b"LEAK SUMMARY:" {
        if message.starts_with(b"L") {
            process.begin_leak_summary();
        } else {
            process.begin_heap_summary();
        }
        return true;
    }
    if let Some(rest) = skip(message, b"ERROR SUMMARY: ") {
        // Ignore an incomplete line.
        if let Some(summary) = error_summary(rest) {
            process.error_summary = Some(summary);
        }
        return true;
    }
    if message.starts_with(b"All heap blocks were freed -- no leaks are possible")
        || message.starts_with(b"No malloc'd blocks -- no leaks are possible")
    {
        process.set_all_heap_blocks_freed();
        return true;
    }
    heap_row(message, process) || leak_row(message, process)
}

/// Parses `E errors from C contexts (suppressed: S from T)`.
fn error_summary(text: &[u8]) -> Option<ErrorSummary> {
    let (errors, rest) = amount(text)?;
    let (contexts, rest) = amount(skip(rest, b" errors from ")?)?;
    let (suppressed, rest) = amount(skip(rest, b" contexts (suppressed: ")?)?;
    let (suppressed_contexts, rest) = amount(skip(rest, b" from ")?)?;
    rest.starts_with(b")").then_some(ErrorSummary {
        errors: errors.value,
        contexts: contexts.value,
        suppressed: suppressed.value,
        suppressed_contexts: suppressed_contexts.value,
    })
}

/// Reads `in use at exit: B bytes in N blocks` or `total heap usage: A allocs, F frees, B bytes allocated`. Valgrind before
/// 3.6 prints `malloc/free: ` before both, and omits `total heap usage: `.
fn heap_row(message: &[u8], process: &mut Process) -> bool {
    let message = skip(message, b"malloc/free: ").unwrap_or(message);
    if let Some(rest) = skip(message, b"in use at exit: ") {
        if let Some((blocks, _)) = blocks(rest) {
            process.set_in_use(blocks);
        }
        return true;
    }
    let rest = skip(message, b"total heap usage: ").unwrap_or(message);
    let usage = || {
        let (allocs, rest) = amount(rest)?;
        let (frees, rest) = amount(skip(rest, b" allocs, ")?)?;
        let (bytes, _) = amount(skip(rest, b" frees, ")?)?;
        Some((allocs.value, frees.value, bytes.value))
    };
    let Some((allocs, frees, allocated_bytes)) = usage() else {
        return false;
    };
    let summary = process.heap_summary.get_or_insert_default();
    summary.allocs = allocs;
    summary.frees = frees;
    summary.allocated_bytes = allocated_bytes;
    true
}

/// Reads `definitely lost: B bytes in N blocks`.
fn leak_row(message: &[u8], process: &mut Process) -> bool {
    if process.leak_summary.is_none() {
        return false;
    }
    if let Some(rest) = skip(message, b"suppressed: ") {
        if let Some((blocks, _)) = blocks(rest) {
            process.leak_summary.get_or_insert_default().suppressed = blocks;
        }
        return true;
    }
    for kind in LeakKind::ALL {
        if let Some(rest) =
            skip(message, kind.phrase().as_bytes()).and_then(|rest| skip(rest, b": "))
        {
            if let Some((blocks, is_delta)) = blocks(rest) {
                process.set_leak_summary(kind, blocks, is_delta);
            }
            return true;
        }
    }
    false
}

/// Parses `B bytes in N blocks`. The flag is true if the text also has changes.
fn blocks(text: &[u8]) -> Option<(Blocks, bool)> {
    let (bytes, rest) = amount(text)?;
    let (blocks, rest) = amount(skip(rest, b" bytes in ")?)?;
    skip(rest, b" blocks")?;
    let row = Blocks {
        bytes: bytes.value,
        blocks: blocks.value,
    };
    Some((row, bytes.is_delta || blocks.is_delta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::HeapSummary;

    #[test]
    fn summaries_of_all_versions_are_read() {
        let mut process = Process::new(Some(1));
        for line in [
            "HEAP SUMMARY:",
            "    in use at exit: 7,681 bytes in 44 blocks",
            "  total heap usage: 50 allocs, 8 frees, 11,937 bytes allocated",
            "LEAK SUMMARY:",
            "   definitely lost: 3,297 (+7) bytes in 35 (+1) blocks",
            "     possibly lost: 64 bytes in 1 blocks.",
            "        suppressed: 5 bytes in 2 blocks",
            "ERROR SUMMARY: 19 errors from 18 contexts (suppressed: 2 from 1)",
        ] {
            assert!(read(line.as_bytes(), &mut process), "{line}");
        }
        assert_eq!(
            process.heap_summary,
            Some(HeapSummary {
                in_use_bytes: 7681,
                in_use_blocks: 44,
                allocs: 50,
                frees: 8,
                allocated_bytes: 11937
            })
        );
        let leaks = process.leak_summary.unwrap();
        assert_eq!(leaks.row(LeakKind::Definite).bytes, 3297);
        assert_eq!(leaks.row(LeakKind::Possible).blocks, 1);
        assert_eq!(leaks.suppressed.bytes, 5);
        assert_eq!(process.error_summary.unwrap().suppressed_contexts, 1);
    }

    #[test]
    fn an_incomplete_error_summary_is_ignored() {
        let line = "ERROR SUMMARY: 19 errors from 18 contexts (suppressed: 2 from 1)";
        for length in 0..line.len() {
            let mut process = Process::new(Some(1));
            read(&line.as_bytes()[..length], &mut process);
            assert_eq!(process.error_summary, None, "{length}");
        }
    }
}
