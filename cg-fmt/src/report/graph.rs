//! The graph of memory over time for pictures.

use cg_document::{Block, Document, Graph};
use cg_profile::Profile;

use super::diff::{self, Diffs};
use super::timeline::Timeline;
use crate::options::Options;

/// The error for an input that `-f svg` cannot draw.
const WANTED: &str = "-f svg needs the snapshots of one or two runs of Massif or heaptrack, or of their cg-diff; use -f flamegraph for stacks";

/// The error for two runs with different units of time.
const TWO_UNITS: &str = "the runs count time in different units; record both with the same valgrind --tool=massif --time-unit=i, ms or B";

/// A picture of memory over time.
pub(crate) struct MemoryGraph(Graph);

impl MemoryGraph {
    /// Makes the graph of one run with snapshots, or of two.
    ///
    /// # Errors
    /// Returns an error if the profile is not one or two runs with snapshots.
    pub(crate) fn new(profile: &Profile, options: &Options) -> anyhow::Result<MemoryGraph> {
        let Some(timeline) = Timeline::new(profile) else {
            anyhow::bail!(WANTED);
        };
        if timeline.is_in_time() {
            return Ok(MemoryGraph(timeline.graph(options)));
        }
        let graph = match diff::is_wanted(profile, options) {
            true => Diffs::new(profile, options).graph(options),
            false => timeline.overlaid(options),
        };
        match graph {
            Some(graph) => Ok(MemoryGraph(graph)),
            None if timeline.has_two_units() => anyhow::bail!(TWO_UNITS),
            None => anyhow::bail!(WANTED),
        }
    }

    /// Returns a document with only the graph.
    pub(crate) fn document(&self) -> Document<'_> {
        Document {
            blocks: vec![Block::Graph(self.0.clone())],
        }
    }
}
