//! `<heap_summary>`, `<leak_summary>` and `<error_summary>` of protocol 6.
//!
//! `<suppressed>` is a row in the leak summary, and a number in the error summary. In 3.26.0 `<still_reachable>` is not
//! closed if there are no reachable blocks, so a row ends when the next one begins.

use cg_stream::record::{Blocks, LeakKind};

use crate::fields::amount;
use crate::process::Process;

/// A summary while it is read.
pub(super) struct SummaryElement {
    kind: SummaryKind,
    row: SummaryRow,
    /// The row's `<bytes>`, which precede its `<blocks>`.
    bytes: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SummaryKind {
    Heap,
    Leaks,
    Errors,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SummaryRow {
    None,
    InUse,
    Leaks(LeakKind),
    Suppressed,
}

impl SummaryElement {
    /// Creates the summary that an element begins; `None` for other elements.
    pub(super) fn new(name: &[u8]) -> Option<SummaryElement> {
        let kind = match name {
            b"heap_summary" => SummaryKind::Heap,
            b"leak_summary" => SummaryKind::Leaks,
            b"error_summary" => SummaryKind::Errors,
            _ => return None,
        };
        Some(SummaryElement {
            kind,
            row: SummaryRow::None,
            bytes: None,
        })
    }

    /// Resets the summary in the process.
    pub(super) fn begin(&self, process: &mut Process) {
        match self.kind {
            SummaryKind::Heap => process.begin_heap_summary(),
            SummaryKind::Leaks => process.begin_leak_summary(),
            SummaryKind::Errors => process.error_summary = None,
        }
    }

    /// Begins an element inside the summary.
    pub(super) fn open(&mut self, name: &[u8]) {
        self.bytes = None;
        self.row = match name {
            b"memory_in_use_at_exit" => SummaryRow::InUse,
            b"definitely_lost" => SummaryRow::Leaks(LeakKind::Definite),
            b"indirectly_lost" => SummaryRow::Leaks(LeakKind::Indirect),
            b"possibly_lost" => SummaryRow::Leaks(LeakKind::Possible),
            b"still_reachable" => SummaryRow::Leaks(LeakKind::Reachable),
            b"suppressed" => SummaryRow::Suppressed,
            // The rows of heuristics repeat a part of the reachable blocks.
            _ => SummaryRow::None,
        };
    }

    /// Reads a number of the summary.
    pub(super) fn text(&mut self, name: &[u8], text: &[u8], process: &mut Process) {
        let Some((amount, _)) = amount(text) else {
            return;
        };
        match (self.kind, name) {
            (SummaryKind::Heap | SummaryKind::Leaks, b"bytes") => self.bytes = Some(amount.value),
            (SummaryKind::Heap | SummaryKind::Leaks, b"blocks") => {
                let Some(bytes) = self.bytes.take() else {
                    return;
                };
                let blocks = Blocks {
                    bytes,
                    blocks: amount.value,
                };
                self.end_row(blocks, amount.is_delta, process);
            }
            (SummaryKind::Heap, b"allocs") => {
                process.heap_summary.get_or_insert_default().allocs = amount.value;
            }
            (SummaryKind::Heap, b"frees") => {
                process.heap_summary.get_or_insert_default().frees = amount.value;
            }
            (SummaryKind::Heap, b"bytes_allocated") => {
                process.heap_summary.get_or_insert_default().allocated_bytes = amount.value;
            }
            (SummaryKind::Errors, name) => {
                let summary = process.error_summary.get_or_insert_default();
                match name {
                    b"errors" => summary.errors = amount.value,
                    b"error_contexts" => summary.contexts = amount.value,
                    b"suppressed" => summary.suppressed = amount.value,
                    b"suppressed_contexts" => summary.suppressed_contexts = amount.value,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn end_row(&self, blocks: Blocks, is_delta: bool, process: &mut Process) {
        match self.row {
            SummaryRow::None => {}
            SummaryRow::InUse => process.set_in_use(blocks),
            SummaryRow::Leaks(kind) => process.set_leak_summary(kind, blocks, is_delta),
            SummaryRow::Suppressed => {
                process.leak_summary.get_or_insert_default().suppressed = blocks
            }
        }
    }
}
