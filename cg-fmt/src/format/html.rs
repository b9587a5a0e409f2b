//! A page with all there is to see of a profile: what a report says first and its rows, then pictures of stacks, trees, and
//! sources. A view that was asked for by itself is a page of its own.

use std::io::Write;

use cg_document::html::{self, Tone};
use cg_document::{Block, Document, Picture};
use cg_stream::profile::Profile;
use cg_stream::record::RecordType;
use cg_stream::tool::Diagnostics;

use super::flamegraph;
use crate::options::{Directions, Options, Top, View};
use crate::read::ReadProfile;
use crate::report::source::AnnotatedSource;
use crate::report::{Report, diff, kinds, origin, totals_table};

/// Trees of calls show the functions with the largest inclusive cost.
const FUNCTIONS_WITH_CALLS: usize = 100;
/// Annotated functions.
const ANNOTATED_FUNCTIONS: usize = 10;
/// Lines of source around one with a cost.
const CONTEXT: usize = 3;

/// Writes the page.
///
/// # Errors
/// Those of the reports, and of the output.
pub(crate) fn write(
    read: &ReadProfile,
    options: &Options,
    out: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    let profile = &read.profile;
    if !options.is_full_page() {
        let report = Report::of(profile, options)?;
        let document = report.document(options, diagnostics)?;
        return Ok(html::write(&document, Tone::Plain, out)?);
    }
    let options = &Options {
        view: View::List,
        ..options.clone()
    };
    let unsorted = &Options {
        sort: None,
        reverse: false,
        top: None,
        columns: Vec::new(),
        ..options.clone()
    };
    let is_diff = diff::is_wanted(profile, options);
    let report = Report::of(profile, options)?;
    let tree_options = Options {
        view: View::Tree(Directions {
            callers: true,
            callees: true,
        }),
        top: Some(Top::Rows(FUNCTIONS_WITH_CALLS)),
        ..unsorted.clone()
    };
    let trees = match has_trees(profile) && !is_diff && !matches!(report, Report::Heap(_)) {
        true => Some(Report::of(profile, &tree_options)?),
        false => None,
    };
    let source_options = Options {
        top: Some(Top::Rows(ANNOTATED_FUNCTIONS)),
        ..unsorted.clone()
    };
    let places = &options.places;
    let source = match profile.table(RecordType::Line).is_empty() || is_diff {
        true => None,
        false => Some(AnnotatedSource::of_functions(
            profile,
            places,
            CONTEXT,
            &source_options,
        )?),
    };

    let mut page = Page(report.document(options, diagnostics)?);
    page.entitle(profile, &report, options);
    page.push_pictures(read, unsorted, diagnostics);
    if let Some(trees) = &trees {
        page.push_trees(trees.document(&tree_options, diagnostics)?);
    }
    if let Some(source) = &source {
        page.push_sources(source.document(&source_options, diagnostics));
    }
    Ok(html::write(&page.0, Tone::Plain, out)?)
}

/// Whether there is something to make a tree of.
fn has_trees(profile: &Profile) -> bool {
    profile.types().any(RecordType::has_stack) || !profile.table(RecordType::Call).is_empty()
}

/// A document that grows by sections.
struct Page<'a>(Document<'a>);

impl<'a> Page<'a> {
    /// A title where the report has none, the totals of all events, and a heading for what follows.
    fn entitle(&mut self, profile: &'a Profile, report: &Report, options: &Options) {
        let blocks = &mut self.0.blocks;
        if !matches!(blocks.first(), Some(Block::Heading(_))) {
            let title = origin::origin(profile).unwrap_or_else(|| "profile".to_owned());
            blocks.insert(0, Block::Heading(title));
        }
        let lead = blocks.iter().skip(1);
        let lead = lead.take_while(|block| matches!(block, Block::Text(_)));
        let at = 1 + lead.count();
        let mut section = Vec::new();
        // Heaps of several snapshots do not add up, and a report on totals has its own table.
        if !matches!(report, Report::Totals(_) | Report::Heap(_)) {
            section.extend(totals_table::of(profile).map(Block::Table));
        }
        if !matches!(blocks.get(at), None | Some(Block::Heading(_))) {
            let heading = match report {
                Report::Records(_) => kinds::listed(profile, options)
                    .first()
                    .map_or("records", |kind| kinds::noun(*kind, 2)),
                Report::Diff(_) => "what changed",
                Report::Heap(_) => "memory over time",
                Report::Totals(_) => "totals",
                _ => "functions",
            };
            section.push(Block::Heading(capitalised(heading)));
        }
        blocks.splice(at..at, section);
    }

    /// A flame graph of each record type that has stacks, or why there is none.
    fn push_pictures(
        &mut self,
        read: &ReadProfile,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) {
        let profile = read.estimated.as_ref().unwrap_or(&read.profile);
        let is_diff = diff::is_wanted(profile, options);
        let has_points = !profile.table(RecordType::ProgramPoint).is_empty();
        // heaptrack's program points have the peak as an event, so its heap records need no picture.
        let is_drawn =
            |kind: &RecordType| kind.has_stack() && !(has_points && *kind == RecordType::Heap);
        let kinds: Vec<RecordType> = profile.types().filter(is_drawn).collect();
        if is_diff {
            let drawn = flamegraph::for_page(profile, options, diagnostics);
            self.push_picture("Differential flame graph".to_owned(), drawn);
            return;
        }
        if kinds.is_empty() && !profile.table(RecordType::Fn).is_empty() {
            // Says why there is no picture. A profile of totals alone needs no such note.
            let drawn = flamegraph::for_page(profile, options, diagnostics);
            self.push_picture("Flame graph".to_owned(), drawn);
        }
        for kind in &kinds {
            let of_kind = Options {
                kind: Some(*kind),
                ..options.clone()
            };
            let heading = match kinds.len() {
                1 => "Flame graph".to_owned(),
                _ => format!("Flame graph of {}", kinds::noun(*kind, 2)),
            };
            let drawn = flamegraph::for_page(profile, &of_kind, diagnostics);
            self.push_picture(heading, drawn);
        }
    }

    fn push_picture(&mut self, heading: String, drawn: anyhow::Result<(Picture, Vec<String>)>) {
        self.0.push(Block::Heading(heading));
        match drawn {
            Ok((picture, notes)) => {
                self.0.push(Block::Picture(picture));
                self.0.blocks.extend(notes.into_iter().map(Block::Note));
            }
            Err(why) => self.0.push(Block::Note(format!("none: {why}"))),
        }
    }

    /// Trees, each below its own heading or one for all.
    fn push_trees(&mut self, trees: Document<'a>) {
        let mut blocks = trees.blocks.into_iter().skip(1).peekable();
        if !matches!(blocks.peek(), Some(Block::Heading(_))) {
            let heading = "Functions, with their callers and callees".to_owned();
            self.0.push(Block::Heading(heading));
        }
        for block in blocks {
            self.0.push(match block {
                Block::Heading(words) => Block::Heading(capitalised(&words)),
                block => block,
            });
        }
    }

    /// What became of all cost, and the functions.
    fn push_sources(&mut self, source: Document<'a>) {
        self.0.push(Block::Heading(
            "Source of the functions that cost most".to_owned(),
        ));
        let titled = matches!(source.blocks.first(), Some(Block::Heading(_)));
        let blocks = source.blocks.into_iter();
        self.0.blocks.extend(blocks.skip(usize::from(titled)));
    }
}

fn capitalised(words: &str) -> String {
    let mut characters = words.chars();
    let first = characters.next().map(|first| first.to_uppercase());
    first.into_iter().flatten().chain(characters).collect()
}
