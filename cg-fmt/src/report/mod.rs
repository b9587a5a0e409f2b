//! What is told of a profile, a room a report. A report has a function that works it out, `of`, and one that says it as
//! a [`Document`]; it knows no format. What several reports need stands beside them, and knows none of them.

use cg_document::Document;
use cg_stream::profile::Profile;
use cg_stream::tool::Diagnostics;

use crate::options::{Options, OutputFormat, View};

pub(crate) mod columns;
pub(crate) mod diff;
pub(crate) mod inlined;
pub(crate) mod records;
pub(crate) mod samples;
pub(crate) mod source;
pub(crate) mod totals;

mod graph;
mod heap;
mod tree;

pub(crate) mod events;
pub(crate) mod grouping;
pub(crate) mod kinds;
pub(crate) mod lack;
pub(crate) mod origin;
pub(crate) mod owners;

mod arrange;
mod growth;
mod passed_through;
mod stack_tree;
mod timeline;

use diff::Diffs;
use graph::MemoryGraph;
use heap::Heap;
use inlined::InlinedListing;
use records::Listings;
use samples::SampledFunctions;
use source::AnnotatedSource;
use totals::Totals;
use tree::Trees;

/// Whether a picture of memory over time can be drawn of a profile.
pub(crate) fn has_memory_graph(profile: &Profile, options: &Options) -> bool {
    MemoryGraph::of(profile, options).is_ok()
}

/// What a profile and the options come to.
pub(crate) enum Report<'a> {
    Inlined(Box<InlinedListing<'a>>),
    Records(Listings<'a>),
    Diff(Box<Diffs<'a>>),
    Heap(Heap<'a>),
    Samples(Box<SampledFunctions<'a>>),
    Tree(Trees<'a>),
    Source(AnnotatedSource),
    Graph(MemoryGraph),
    Totals(Totals<'a>),
}

impl<'a> Report<'a> {
    /// The report that was asked for, else the one that tells most of what was read.
    pub(crate) fn of(profile: &'a Profile, options: &Options) -> anyhow::Result<Report<'a>> {
        if let View::Peek(wanted) = &options.view {
            return Trees::peek(profile, wanted, options).map(Report::Tree);
        }
        if options.format == OutputFormat::Svg {
            return MemoryGraph::of(profile, options).map(Report::Graph);
        }
        if diff::is_wanted(profile, options) {
            return Ok(Report::Diff(Box::new(Diffs::of(profile, options))));
        }
        if let Some(heap) = Heap::of(profile, options)? {
            return Ok(Report::Heap(heap));
        }
        if let Some(inlined) = InlinedListing::of(profile, options)? {
            return Ok(Report::Inlined(Box::new(inlined)));
        }
        if let Some(samples) = SampledFunctions::of(profile, options)? {
            return Ok(Report::Samples(Box::new(samples)));
        }
        if options.view.is_list()
            && let Some(totals) = Totals::of(profile, options)
        {
            return Ok(Report::Totals(totals));
        }
        match &options.view {
            View::List | View::Snapshot(_) | View::Snapshots(_) | View::Peek(_) => {
                Listings::of(profile, options).map(Report::Records)
            }
            View::Tree(directions) => Trees::of(profile, *directions, options).map(Report::Tree),
            View::Source { places, context } => {
                AnnotatedSource::of(profile, places, *context, options).map(Report::Source)
            }
        }
    }

    /// The report as a document.
    pub(crate) fn document(
        &self,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Document<'_>> {
        match self {
            Report::Records(records) => records.document(options, diagnostics),
            Report::Diff(diffs) => diffs.document(options),
            Report::Heap(heap) => heap.document(options, diagnostics),
            Report::Inlined(inlined) => inlined.document(options),
            Report::Samples(samples) => samples.document(options),
            Report::Tree(tree) => tree.document(options, diagnostics),
            Report::Source(source) => Ok(source.document(options, diagnostics)),
            Report::Graph(graph) => Ok(graph.document()),
            Report::Totals(totals) => totals.document(options),
        }
    }
}
