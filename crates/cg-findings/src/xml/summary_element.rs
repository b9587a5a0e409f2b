//! `<heap_summary>`, `<leak_summary>` and `<error_summary>`, which XML has from protocol 6 on.
//!
//! `<suppressed>` is a row of one and a number of another. In 3.26.0 `<still_reachable>` is not closed where nothing is
//! reachable, so a row lasts until the next begins.

use cg_stream::record::{Blocks, LeakKind};

use crate::fields::amount;
use crate::process::Process;

/// A summary while it is read.
pub(super) struct SummaryElement {
    of: Of,
    row: SummaryRow,
    /// The row's `<bytes>`, which come before its `<blocks>`.
    bytes: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
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
    /// The summary that an element begins.
    pub(super) fn of(name: &[u8]) -> Option<SummaryElement> {
        let of = match name {
            b"heap_summary" => Of::Heap,
            b"leak_summary" => Of::Leaks,
            b"error_summary" => Of::Errors,
            _ => return None,
        };
        Some(SummaryElement {
            of,
            row: SummaryRow::None,
            bytes: None,
        })
    }

    /// What is known of the process before its first row.
    pub(super) fn begin(&self, process: &mut Process) {
        match self.of {
            Of::Heap => process.begin_heap_summary(),
            Of::Leaks => process.begin_leak_summary(),
            Of::Errors => process.error_summary = None,
        }
    }

    /// An element inside the summary begins.
    pub(super) fn open(&mut self, name: &[u8]) {
        self.bytes = None;
        self.row = match name {
            b"memory_in_use_at_exit" => SummaryRow::InUse,
            b"definitely_lost" => SummaryRow::Leaks(LeakKind::Definite),
            b"indirectly_lost" => SummaryRow::Leaks(LeakKind::Indirect),
            b"possibly_lost" => SummaryRow::Leaks(LeakKind::Possible),
            b"still_reachable" => SummaryRow::Leaks(LeakKind::Reachable),
            b"suppressed" => SummaryRow::Suppressed,
            // Heuristics repeat a part of what is reachable.
            _ => SummaryRow::None,
        };
    }

    /// A number of the summary.
    pub(super) fn text(&mut self, name: &[u8], text: &[u8], process: &mut Process) {
        let Some((amount, _)) = amount(text) else {
            return;
        };
        match (self.of, name) {
            (Of::Heap | Of::Leaks, b"bytes") => self.bytes = Some(amount.value),
            (Of::Heap | Of::Leaks, b"blocks") => {
                let Some(bytes) = self.bytes.take() else {
                    return;
                };
                let blocks = Blocks {
                    bytes,
                    blocks: amount.value,
                };
                self.end_row(blocks, amount.is_delta, process);
            }
            (Of::Heap, b"allocs") => {
                process.heap_summary.get_or_insert_default().allocs = amount.value;
            }
            (Of::Heap, b"frees") => {
                process.heap_summary.get_or_insert_default().frees = amount.value;
            }
            (Of::Heap, b"bytes_allocated") => {
                process.heap_summary.get_or_insert_default().allocated_bytes = amount.value;
            }
            (Of::Errors, name) => {
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
