//! The JSON of a CPU or heap profile.

use cg_reader::Error;
use cg_reader::json::{ItemList, List, Scanner};

use super::call_node::CallNode;
use super::nested;

/// A profile, read from any of the forms.
#[derive(Default)]
pub(super) struct V8Document<'a> {
    pub(super) nodes: Vec<CallNode<'a>>,
    pub(super) samples: List<'a>,
    pub(super) time_deltas: List<'a>,
    /// The times of samples in µs, which replaced deltas until 2017.
    pub(super) timestamps: List<'a>,
    /// In µs; in seconds if the nodes are a tree.
    pub(super) start_time: Option<f64>,
    pub(super) end_time: Option<f64>,
    /// True if the nodes were a tree.
    pub(super) is_tree: bool,
}

impl<'a> V8Document<'a> {
    pub(super) fn read(text: &'a [u8]) -> Result<V8Document<'a>, Error> {
        let mut scanner = Scanner::new(text);
        let mut document = V8Document::default();
        scanner.expect(b'{')?;
        while let Some(key) = scanner.next_key()? {
            match key {
                b"nodes" => document.nodes = scanner.value::<ItemList<_>>()?.0,
                b"head" => {
                    document.is_tree = true;
                    document.nodes = nested::nodes(&mut scanner)?;
                }
                b"samples" => document.samples = scanner.value()?,
                b"timeDeltas" => document.time_deltas = scanner.value()?,
                b"timestamps" => document.timestamps = scanner.value()?,
                b"startTime" => document.start_time = scanner.value()?,
                b"endTime" => document.end_time = scanner.value()?,
                _ => {
                    scanner.skip_value()?;
                }
            }
        }
        scanner.expect_end()?;
        Ok(document)
    }

    pub(super) fn is_heap_profile(&self) -> bool {
        self.nodes.iter().any(|node| node.self_size.is_some())
    }

    /// Returns the duration of the profile, in ns.
    pub(super) fn duration(&self) -> Option<u64> {
        let nanoseconds = match self.is_tree {
            true => 1e9,
            false => 1e3,
        };
        duration(self.start_time, self.end_time, nanoseconds)
    }
}

/// Returns the time from `begin` to `end` in ns. `nanoseconds` is the length of their unit.
pub(super) fn duration(begin: Option<f64>, end: Option<f64>, nanoseconds: f64) -> Option<u64> {
    let duration = (end? - begin?) * nanoseconds;
    (duration > 0.0 && duration < 1e18).then(|| duration.round() as u64)
}
