//! The sentence of a loss record, `mc_leakcheck.c:pp_LossRecord`: the same in text and in XML's `<xwhat><text>`.
//!
//! `32 (8 direct, 24 indirect) bytes in 1 blocks are definitely lost in loss record 4 of 10`; in the delta modes each
//! number is followed by ` (+N)` or ` (-N)`, and from Valgrind 3.21 on `new` may precede `loss record`.

use cg_stream::record::LeakKind;

use super::fields::{amount, skip};

/// The contents of the sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LossRecord {
    pub(super) kind: LeakKind,
    /// Direct bytes.
    pub(super) bytes: u64,
    pub(super) blocks: u64,
    pub(super) indirect_bytes: u64,
    /// The first number in `loss record 4 of 10`.
    pub(super) number: u64,
    /// The second number in `loss record 4 of 10`.
    pub(super) of: u64,
    /// True for a leak check in a delta mode, which prints only changes.
    pub(super) is_delta: bool,
}

/// Parses the sentence; `None` if it is a different one.
pub(super) fn parse(sentence: &[u8]) -> Option<LossRecord> {
    let (all, rest) = amount(sentence)?;
    let mut is_delta = all.is_delta;
    let (bytes, indirect_bytes, rest) = match skip(rest, b" (") {
        Some(rest) => {
            let (direct, rest) = amount(rest)?;
            let (indirect, rest) = amount(skip(rest, b" direct, ")?)?;
            (direct.value, indirect.value, skip(rest, b" indirect)")?)
        }
        None => (all.value, 0, rest),
    };
    let (blocks, rest) = amount(skip(rest, b" bytes in ")?)?;
    let rest = skip(rest, b" blocks are ")?;
    let (kind, rest) = LeakKind::ALL
        .iter()
        .find_map(|kind| Some((*kind, skip(rest, kind.phrase().as_bytes())?)))?;
    let rest = skip(rest, b" in ")?;
    let rest = match skip(rest, b"new ") {
        Some(rest) => {
            is_delta = true;
            rest
        }
        None => rest,
    };
    let (number, rest) = amount(skip(rest, b"loss record ")?)?;
    let (of, _) = amount(skip(rest, b" of ")?)?;
    Some(LossRecord {
        kind,
        bytes,
        blocks: blocks.value,
        indirect_bytes,
        number: number.value,
        of: of.value,
        is_delta,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sentence: &str, kind: LeakKind, figures: [u64; 5], is_delta: bool) {
        let [bytes, blocks, indirect_bytes, number, of] = figures;
        assert_eq!(
            parse(sentence.as_bytes()),
            Some(LossRecord {
                kind,
                bytes,
                blocks,
                indirect_bytes,
                number,
                of,
                is_delta
            }),
            "{sentence}"
        );
    }

    #[test]
    fn direct_and_indirect_bytes_are_separate() {
        check(
            "3,000 bytes in 30 blocks are definitely lost in loss record 9 of 10",
            LeakKind::Definite,
            [3000, 30, 0, 9, 10],
            false,
        );
        check(
            "224 (32 direct, 192 indirect) bytes in 1 blocks are definitely lost in loss record 8 of 1,010",
            LeakKind::Definite,
            [32, 1, 192, 8, 1010],
            false,
        );
        check(
            "4,096 bytes in 1 blocks are still reachable in loss record 10 of 10",
            LeakKind::Reachable,
            [4096, 1, 0, 10, 10],
            false,
        );
    }

    #[test]
    fn deltas_are_not_part_of_the_figures() {
        check(
            "10 (+5) bytes in 2 (-1) blocks are possibly lost in new loss record 1 of 2",
            LeakKind::Possible,
            [10, 2, 0, 1, 2],
            true,
        );
        check(
            "1,010 (+10) (6 (+6) direct, 1,004 (+4) indirect) bytes in 1 (+1) blocks are definitely lost in loss record 2 of 2",
            LeakKind::Definite,
            [6, 1, 1004, 2, 2],
            true,
        );
        check(
            "10 (+10) bytes in 1 (+1) blocks are definitely lost in loss record 1 of 1",
            LeakKind::Definite,
            [10, 1, 0, 1, 1],
            true,
        );
    }

    #[test]
    fn other_sentences_are_not_loss_records() {
        for sentence in [
            "",
            "8 bytes",
            "8 bytes in 1 blocks are lost in loss record 1 of 1",
            "1 errors in context 2 of 19:",
        ] {
            assert_eq!(parse(sentence.as_bytes()), None, "{sentence}");
        }
    }
}
