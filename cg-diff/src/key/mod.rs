//! The identity of records across runs.
//!
//! Records with equal names are the same; this is decided first and never undone. Only records that some run lacks are
//! compared by normalised names. The least normalised names come first, to confuse as few records as possible.

pub(crate) mod normal;

use cg_profile::Key;

/// Returns a record's key without fields that two runs need not share: snapshot number, address, part, thread, process,
/// labels, time, and the mark of a truncated stack. Records that differ only in these fields are summed.
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
