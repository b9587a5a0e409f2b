//! What counts as the same record in two runs.
//!
//! Records with equal names are the same: that is decided first and never undone. Only records that some run lacks are
//! compared by normalised names, from the least normalised to the most, so that as few as possible are confused.

pub(crate) mod normal;

use cg_stream::profile::Key;

/// A record's key without what two runs need not share: the number of the snapshot, addresses, the part, thread or
/// process it is of, its labels and its time, and whether its stack was cut. Records that differ by these alone are summed.
pub(crate) fn exact(key: &Key) -> Key {
    Key {
        addr: None,
        snapshot: None,
        part: None,
        thread: None,
        thread_name: None,
        tid: None,
        process: None,
        time: None,
        labels: None,
        cut: false,
        ..*key
    }
}
