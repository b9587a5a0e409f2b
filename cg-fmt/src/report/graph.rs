//! The graph of a Massif run, for pictures.

use cg_document::{Block, Document, Graph};
use cg_stream::profile::Profile;

use super::diff::{self, Diffs};
use super::timeline::Timeline;
use crate::options::Options;

/// What `-f svg` is for.
const WANTED: &str = "-f svg draws the snapshots of one run of Massif or heaptrack, or of two, also of cg-diff, the later over the earlier, and this is neither";

/// Why two runs are no picture although they have snapshots.
const TWO_UNITS: &str = "the runs count time in different units, and a picture has one axis of time: valgrind --tool=massif --time-unit=i, ms or B, the same for both";

/// How memory grew, as a picture shows it.
pub(crate) struct MemoryGraph(Graph);

impl MemoryGraph {
    /// # Errors
    /// Where something else than one run with snapshots was read, or two of them.
    pub(crate) fn of(profile: &Profile, options: &Options) -> anyhow::Result<MemoryGraph> {
        let Some(timeline) = Timeline::of(profile) else {
            anyhow::bail!(WANTED);
        };
        if timeline.is_in_time() {
            return Ok(MemoryGraph(timeline.graph(options)));
        }
        let graph = match diff::is_wanted(profile, options) {
            true => Diffs::of(profile, options).graph(options),
            false => timeline.overlaid(options),
        };
        match graph {
            Some(graph) => Ok(MemoryGraph(graph)),
            None if timeline.has_two_units() => anyhow::bail!(TWO_UNITS),
            None => anyhow::bail!(WANTED),
        }
    }

    /// The graph alone.
    pub(crate) fn document(&self) -> Document<'_> {
        Document {
            blocks: vec![Block::Graph(self.0.clone())],
        }
    }
}
