//! The reports on a profile, one module each. A report has a function that computes it and a function that renders it as a
//! [`Document`]. Reports do not know formats. Modules that several reports share do not depend on reports.

use cg_document::Document;
use cg_profile::Profile;
use cg_tool::Diagnostics;

use crate::options::{Options, OutputFormat, View};

pub(crate) mod columns;
pub(crate) mod diff;
pub(crate) mod history;
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
use history::History;
use inlined::InlinedListing;
use records::Listings;
use samples::SampledFunctions;
use source::AnnotatedSource;
use totals::Totals;
use tree::Trees;

/// Returns true if the profile has data for a picture of memory over time.
pub(crate) fn has_memory_graph(profile: &Profile, options: &Options) -> bool {
    MemoryGraph::new(profile, options).is_ok()
}

/// A report, chosen by the options and the contents of the profile.
pub(crate) enum Report<'a> {
    Inlined(Box<InlinedListing<'a>>),
    Records(Listings<'a>),
    Diff(Box<Diffs<'a>>),
    History(History<'a>),
    Heap(Heap<'a>),
    Samples(Box<SampledFunctions<'a>>),
    Tree(Trees<'a>),
    Source(AnnotatedSource),
    Graph(MemoryGraph),
    Totals(Totals<'a>),
}

impl<'a> Report<'a> {
    /// Computes the requested report, or else the most informative one for the profile.
    pub(crate) fn choose(profile: &'a Profile, options: &Options) -> anyhow::Result<Report<'a>> {
        if let View::Peek(wanted) = &options.view {
            return Trees::peek(profile, wanted, options).map(Report::Tree);
        }
        if options.format == OutputFormat::Svg {
            return MemoryGraph::new(profile, options).map(Report::Graph);
        }
        if let Some(history) = History::compute(profile) {
            return Ok(Report::History(history));
        }
        if diff::is_wanted(profile, options) {
            return Ok(Report::Diff(Box::new(Diffs::new(profile, options))));
        }
        if let Some(heap) = Heap::compute(profile, options)? {
            return Ok(Report::Heap(heap));
        }
        if let Some(inlined) = InlinedListing::compute(profile, options)? {
            return Ok(Report::Inlined(Box::new(inlined)));
        }
        if let Some(samples) = SampledFunctions::compute(profile, options)? {
            return Ok(Report::Samples(Box::new(samples)));
        }
        if options.view.is_list()
            && let Some(totals) = Totals::compute(profile, options)
        {
            return Ok(Report::Totals(totals));
        }
        match &options.view {
            View::List | View::Snapshot(_) | View::Snapshots(_) | View::Peek(_) => {
                Listings::select(profile, options).map(Report::Records)
            }
            View::Tree(directions) => {
                Trees::compute(profile, *directions, options).map(Report::Tree)
            }
            View::Source { places, context } => {
                AnnotatedSource::compute(profile, places, *context, options).map(Report::Source)
            }
        }
    }

    /// Returns true if the report has branches, which are folded below a percentage.
    pub(crate) fn has_branches(&self) -> bool {
        match self {
            Report::Heap(_) | Report::Tree(_) => true,
            Report::Inlined(_)
            | Report::Records(_)
            | Report::Diff(_)
            | Report::History(_)
            | Report::Samples(_)
            | Report::Source(_)
            | Report::Graph(_)
            | Report::Totals(_) => false,
        }
    }

    /// Renders the report as a document.
    pub(crate) fn document(
        &self,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Document<'_>> {
        match self {
            Report::Records(records) => records.document(options, diagnostics),
            Report::Diff(diffs) => diffs.document(options),
            Report::History(history) => history.document(options),
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
