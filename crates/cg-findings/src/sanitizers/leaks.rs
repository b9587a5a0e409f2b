//! LeakSanitizer's report, which AddressSanitizer prints too: blocks by allocation stack, then their sum.
//!
//! No pointer leads to a block of a `Direct leak`. Only leaked blocks point to a block of an `Indirect leak`
//! (`lsan_common.cpp`). In Memcheck, these are definitely and indirectly lost. A block with a pointer only into its middle
//! counts as reachable, so no block is possibly lost.

use cg_reader::plural;
use cg_stream::record::{LeakKind, LeakSummary};
use memchr::memmem;

use crate::fields::{amount, skip};
use crate::process::{KeptLeak, Process};
use crate::table::{FindingTable, FrameId};

/// A report that is being read.
#[derive(Debug, Default)]
pub(super) struct LeakReport {
    /// The sums of bytes and blocks so far.
    read: (u64, u64),
    leaks: Vec<KeptLeak>,
    frames: Vec<FrameId>,
    /// The number of leaks that `LSAN_OPTIONS=max_leaks` omitted.
    omitted: u64,
}

impl LeakReport {
    /// Reads a line that is not a frame.
    pub(super) fn line(&mut self, line: &[u8], table: &mut FindingTable) {
        if let Some(leak) = leak(line) {
            self.end_leak(table);
            self.read.0 = self.read.0.saturating_add(leak.bytes);
            self.read.1 = self.read.1.saturating_add(leak.blocks);
            self.leaks.push(leak);
        } else if let Some(found) = memmem::find(line, b"Omitting ")
            && let Some((omitted, b" more leak(s).")) = amount(&line[found + b"Omitting ".len()..])
        {
            self.omitted = omitted.value;
        }
    }

    pub(super) fn frame(&mut self, frame: FrameId) {
        self.frames.push(frame);
    }

    /// Adds the leaks to the process, and compares them with `N byte(s) leaked in M allocation(s).`. Returns an error
    /// message if the sums differ.
    pub(super) fn finish(
        mut self,
        summary: Option<&[u8]>,
        process: &mut Process,
        table: &mut FindingTable,
    ) -> Option<String> {
        self.end_leak(table);
        let (bytes, blocks) = self.read;
        let mut sums = process.leak_summary.unwrap_or_default();
        for leak in &self.leaks {
            add(&mut sums, leak.kind, leak.bytes, leak.blocks);
        }
        process.leaks.append(&mut self.leaks);
        let (all_bytes, all_blocks) = parse_sum(summary?)?;
        let is_short = bytes < all_bytes || blocks < all_blocks;
        let is_all = bytes == all_bytes && blocks == all_blocks;
        if is_short && self.omitted > 0 {
            // The omitted leaks may be direct or indirect. Count them as direct, which is the worse kind.
            let more = (
                all_bytes.saturating_sub(bytes),
                all_blocks.saturating_sub(blocks),
            );
            add(&mut sums, LeakKind::Definite, more.0, more.1);
        }
        process.set_sanitizer_summary(sums);
        let is_explained = is_all || (is_short && self.omitted > 0);
        (!is_explained).then(|| {
            let amount = |bytes, blocks| {
                let blocks = plural(blocks, "allocation", "allocations");
                format!("{} in {blocks}", plural(bytes, "byte", "bytes"))
            };
            format!(
                "has {} in its SUMMARY, but its leaks sum to {}",
                amount(all_bytes, all_blocks),
                amount(bytes, blocks)
            )
        })
    }

    fn end_leak(&mut self, table: &mut FindingTable) {
        if let Some(leak) = self.leaks.last_mut()
            && !self.frames.is_empty()
        {
            leak.stack = table.stack(&self.frames);
        }
        self.frames.clear();
    }
}

fn add(sums: &mut LeakSummary, kind: LeakKind, bytes: u64, blocks: u64) {
    let row = sums.row_mut(kind);
    row.bytes = row.bytes.saturating_add(bytes);
    row.blocks = row.blocks.saturating_add(blocks);
}

/// Parses `Direct leak of 104 byte(s) in 1 object(s) allocated from:`.
fn leak(line: &[u8]) -> Option<KeptLeak> {
    let found = memmem::find(line, b" leak of ")?;
    let kind = if line[..found].ends_with(b"Indirect") {
        LeakKind::Indirect
    } else if line[..found].ends_with(b"Direct") {
        LeakKind::Definite
    } else {
        return None;
    };
    let (bytes, rest) = amount(&line[found + b" leak of ".len()..])?;
    let (blocks, rest) = amount(skip(rest, b" byte(s) in ")?)?;
    skip(rest, b" object(s) allocated from:")?;
    Some(KeptLeak {
        kind,
        bytes: bytes.value,
        blocks: blocks.value,
        indirect_bytes: 0,
        stack: Default::default(),
        suppression: None,
    })
}

/// Parses the bytes and blocks in `227 byte(s) leaked in 6 allocation(s).`.
pub(super) fn parse_sum(summary: &[u8]) -> Option<(u64, u64)> {
    let (bytes, rest) = amount(summary)?;
    let (blocks, rest) = amount(skip(rest, b" byte(s) leaked in ")?)?;
    rest.starts_with(b" allocation(s)")
        .then_some((bytes.value, blocks.value))
}
