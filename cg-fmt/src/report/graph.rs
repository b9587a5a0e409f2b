//! The graph of a Massif run, for pictures.

use cg_document::{Block, Document, Graph};
use cg_stream::profile::Profile;

use super::timeline::Timeline;
use crate::options::Options;

/// How memory grew, as a picture shows it.
pub(crate) struct MemoryGraph(Graph);

impl MemoryGraph {
    /// # Errors
    /// Where something else than one Massif run was read.
    pub(crate) fn of(profile: &Profile, options: &Options) -> anyhow::Result<MemoryGraph> {
        match Timeline::of(profile) {
            Some(timeline) if timeline.is_in_time() => Ok(MemoryGraph(timeline.graph(options))),
            _ => anyhow::bail!("-f svg draws the snapshots of one Massif run, and this is not one"),
        }
    }

    /// The graph alone.
    pub(crate) fn document(&self) -> Document<'_> {
        Document {
            blocks: vec![Block::Graph(self.0.clone())],
        }
    }
}
