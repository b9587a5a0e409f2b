//! Memcheck's own summaries, which everything read is held against.

use serde_json::{Map, Value, json};

use super::leak::LeakKind;

/// Bytes and blocks of one row of a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) bytes: u64,
    pub(super) blocks: u64,
}

impl Blocks {
    fn value(self) -> Value {
        json!({ "bytes": self.bytes, "blocks": self.blocks })
    }
}

/// HEAP SUMMARY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeapSummary {
    pub(super) in_use: Blocks,
    pub(super) allocs: u64,
    pub(super) frees: u64,
    pub(super) allocated_bytes: u64,
}

impl HeapSummary {
    pub(super) fn value(self) -> Value {
        json!({
            "in_use_bytes": self.in_use.bytes,
            "in_use_blocks": self.in_use.blocks,
            "allocs": self.allocs,
            "frees": self.frees,
            "allocated_bytes": self.allocated_bytes,
        })
    }
}

/// LEAK SUMMARY: direct bytes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeakSummary {
    kinds: [Blocks; LeakKind::ALL.len()],
    pub(super) suppressed: Blocks,
}

impl LeakSummary {
    pub(super) fn of(&self, kind: LeakKind) -> Blocks {
        self.kinds[kind as usize]
    }

    pub(super) fn of_mut(&mut self, kind: LeakKind) -> &mut Blocks {
        &mut self.kinds[kind as usize]
    }

    pub(super) fn value(&self) -> Value {
        let mut rows: Map<String, Value> = LeakKind::ALL
            .iter()
            .map(|kind| (kind.name().to_owned(), self.of(*kind).value()))
            .collect();
        rows.insert("suppressed".to_owned(), self.suppressed.value());
        Value::Object(rows)
    }
}

/// ERROR SUMMARY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorSummary {
    pub(super) errors: u64,
    pub(super) contexts: u64,
    pub(super) suppressed: u64,
    pub(super) suppressed_contexts: u64,
}

impl ErrorSummary {
    pub(super) fn value(self) -> Value {
        json!({
            "errors": self.errors,
            "contexts": self.contexts,
            "suppressed": self.suppressed,
            "suppressed_contexts": self.suppressed_contexts,
        })
    }
}
