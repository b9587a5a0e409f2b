//! The text of trees that may be requested. The end of the file decides which trees are written.

use std::io::{self, Read, Seek, SeekFrom, Write};

use cg_reader::Snapshots;
use cg_stream::record::{Count, SnapshotRecord};
use tempfile::SpooledTempFile;

/// The maximum size of trees in memory, for all snapshots. More data is written to a temporary file.
const SPOOL_SIZE: usize = 4 * 1024 * 1024;

/// Texts of trees, identified by the position of their snapshot in the file.
pub(super) struct KeptTrees {
    wanted: Snapshots,
    /// The position of the snapshot that is being read.
    current: usize,
    /// The rank of the snapshot that is being read. The snapshot with the highest rank is kept.
    current_rank: Rank,
    /// The tree being read.
    text: Vec<u8>,
    store: Store,
}

/// True for the marked peak, which ranks above all other snapshots; then the value that `ms_print` calls the total.
type Rank = (bool, Count);

enum Store {
    /// The best tree so far.
    One(Option<(usize, Rank, Vec<u8>)>),
    /// All trees in one file.
    Every {
        spool: SpooledTempFile,
        /// The position of each tree's snapshot, and the length of the tree.
        trees: Vec<(usize, usize)>,
        /// The number of trees that were read back.
        taken: usize,
    },
}

impl KeptTrees {
    pub(super) fn new(wanted: Snapshots) -> KeptTrees {
        KeptTrees {
            wanted,
            current: 0,
            current_rank: (false, 0),
            text: Vec::new(),
            store: match wanted {
                Snapshots::Peak | Snapshots::Number(_) => Store::One(None),
                Snapshots::All => Store::Every {
                    spool: SpooledTempFile::new(SPOOL_SIZE),
                    trees: Vec::new(),
                    taken: 0,
                },
            },
        }
    }

    /// Starts a tree. Returns true if it may be the tree to keep.
    pub(super) fn begin(&mut self, snapshot: &SnapshotRecord) -> bool {
        self.text.clear();
        self.current_rank = (snapshot.detail == "peak", snapshot.total());
        match (self.wanted, &self.store) {
            (Snapshots::Number(number), _) => number == snapshot.snapshot,
            (_, Store::One(Some((_, best, _)))) => self.current_rank > *best,
            (_, Store::One(None) | Store::Every { .. }) => true,
        }
    }

    /// Adds a line to the current tree.
    pub(super) fn line(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
    }

    /// Finishes the current tree and stores it. The previous tree is kept until now, in case the file is truncated.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match &mut self.store {
            Store::One(best) => {
                let spare = best.take().map(|(_, _, text)| text).unwrap_or_default();
                let text = std::mem::replace(&mut self.text, spare);
                *best = Some((self.current, self.current_rank, text));
            }
            Store::Every { spool, trees, .. } => {
                spool.write_all(&self.text).map_err(name_spool)?;
                trees.push((self.current, self.text.len()));
            }
        }
        Ok(())
    }

    /// Advances to the next snapshot.
    pub(super) fn next_snapshot(&mut self) {
        self.current += 1;
    }

    /// Returns the positions of the snapshots with kept trees, in file order.
    pub(super) fn indexes(&self) -> impl Iterator<Item = usize> {
        let (one, every) = match &self.store {
            Store::One(best) => (best.as_ref().map(|(index, _, _)| *index), &[][..]),
            Store::Every { trees, .. } => (None, &trees[..]),
        };
        one.into_iter().chain(every.iter().map(|(index, _)| *index))
    }

    /// Returns true if no tree is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.indexes().next().is_none()
    }

    /// Copies the tree of the snapshot at this position to `text`. Returns false if the tree is not kept. Must be called for
    /// ascending positions.
    pub(super) fn take(&mut self, index: usize, text: &mut Vec<u8>) -> io::Result<bool> {
        match &mut self.store {
            Store::One(best) => match best.take_if(|(kept, _, _)| *kept == index) {
                Some((_, _, kept)) => *text = kept,
                None => return Ok(false),
            },
            Store::Every {
                spool,
                trees,
                taken,
            } => {
                let Some((kept, length)) = trees.get(*taken).copied() else {
                    return Ok(false);
                };
                if kept != index {
                    return Ok(false);
                }
                if *taken == 0 {
                    spool.seek(SeekFrom::Start(0)).map_err(name_spool)?;
                }
                *taken += 1;
                text.resize(length, 0);
                spool.read_exact(text).map_err(name_spool)?;
            }
        }
        Ok(true)
    }
}

/// Adds to an error that it concerns the temporary file, not the input.
fn name_spool(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("temporary file: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the positions of the kept trees of snapshots with these sizes and marks.
    fn kept(wanted: Snapshots, snapshots: &[(u64, &str)]) -> Vec<usize> {
        let mut kept = KeptTrees::new(wanted);
        for (number, (bytes, detail)) in (0..).zip(snapshots) {
            let snapshot = SnapshotRecord {
                snapshot: number,
                time: number.into(),
                heap_bytes: *bytes,
                extra_bytes: 1,
                stacks_bytes: 0,
                rss_bytes: None,
                detail: (*detail).to_owned(),
                event: None,
                run: None,
            };
            if kept.begin(&snapshot) {
                kept.line(b"n0: 0 x");
                kept.finish().unwrap();
            }
            kept.next_snapshot();
        }
        kept.indexes().collect()
    }

    #[test]
    fn tree_of_the_peak_is_kept() {
        let sizes = [
            (5, "detailed"),
            (9, "detailed"),
            (9, "detailed"),
            (7, "detailed"),
        ];
        // Without a mark, the first of the largest.
        assert_eq!(kept(Snapshots::Peak, &sizes), [1]);
        let marked = [(5, "detailed"), (4, "peak"), (9, "detailed")];
        assert_eq!(kept(Snapshots::Peak, &marked), [1]);
        let later = [(9, "detailed"), (4, "peak")];
        assert_eq!(kept(Snapshots::Peak, &later), [1]);
        assert_eq!(kept(Snapshots::Peak, &[]), [0_usize; 0]);
    }

    #[test]
    fn tree_of_a_number_is_kept_whatever_its_size() {
        let sizes = [(5, "detailed"), (4, "peak"), (9, "detailed")];
        assert_eq!(kept(Snapshots::Number(0), &sizes), [0]);
        assert_eq!(kept(Snapshots::Number(3), &sizes), [0_usize; 0]);
        assert_eq!(kept(Snapshots::All, &sizes), [0, 1, 2]);
    }
}
