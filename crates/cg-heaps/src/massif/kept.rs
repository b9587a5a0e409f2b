//! The trees whose records are wanted, as text, until the end of the file says which these are.

use std::io::{self, Read, Seek, SeekFrom, Write};

use cg_reader::Snapshots;
use cg_stream::record::{Count, SnapshotRecord};
use tempfile::SpooledTempFile;

/// How much of the trees of all snapshots is held in memory before it goes to a temporary file.
const SPOOL_SIZE: usize = 4 * 1024 * 1024;

/// Texts of trees, by the position of their snapshot in the file.
pub(super) struct KeptTrees {
    wanted: Snapshots,
    /// The position of the snapshot that is being read.
    current: usize,
    /// How the snapshot being read compares with the one kept; the greatest is kept.
    current_rank: Rank,
    /// The tree being read.
    text: Vec<u8>,
    store: Store,
}

/// A marked peak is greater than any other snapshot, then goes what `ms_print` calls the total.
type Rank = (bool, Count);

enum Store {
    /// The best tree so far.
    One(Option<(usize, Rank, Vec<u8>)>),
    /// All trees end to end, with their positions and lengths.
    Every {
        spool: SpooledTempFile,
        trees: Vec<(usize, usize)>,
        /// How many of them were taken.
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

    /// Whether the tree that begins here is to be kept, as far as is known yet.
    pub(super) fn begin(&mut self, snapshot: &SnapshotRecord) -> bool {
        self.text.clear();
        self.current_rank = (snapshot.detail == "peak", snapshot.total());
        match (self.wanted, &self.store) {
            (Snapshots::Number(number), _) => number == snapshot.snapshot,
            (_, Store::One(Some((_, best, _)))) => self.current_rank > *best,
            (_, Store::One(None) | Store::Every { .. }) => true,
        }
    }

    /// A line of the tree that is kept.
    pub(super) fn line(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
    }

    /// The tree that is kept is whole. Until now the one before it was kept too, for a file that is cut short.
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

    /// The snapshot that was read is whole.
    pub(super) fn next_snapshot(&mut self) {
        self.current += 1;
    }

    /// The positions of the snapshots whose trees are kept, in file order.
    pub(super) fn indexes(&self) -> impl Iterator<Item = usize> {
        let (one, every) = match &self.store {
            Store::One(best) => (best.as_ref().map(|(index, _, _)| *index), &[][..]),
            Store::Every { trees, .. } => (None, &trees[..]),
        };
        one.into_iter().chain(every.iter().map(|(index, _)| *index))
    }

    /// True where no tree is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.indexes().next().is_none()
    }

    /// Puts the tree of the snapshot at this position into `text`; false where it is not kept. To be called for the
    /// positions in order.
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

/// Tells an error of the temporary file from one of the input.
fn name_spool(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("temporary file: {error}"))
}
