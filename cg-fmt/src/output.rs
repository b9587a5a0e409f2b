//! From what was read to what is written: which view, which listings, which renderer.

use std::io::{self, Write};

use cg_stream::profile::Profile;
use cg_stream::record::{RecordType, RunRecord};
use cg_stream::tool::Diagnostics;
use cg_stream::{Completeness, Writer};

use crate::comment;
use crate::diffs::Diffs;
use crate::group::Groups;
use crate::input::Read;
use crate::listing::{self, EventColumns};
use crate::options::{Events, Format, Options, PercentOf, View};
use crate::tree::Tree;
use crate::{massif, report, source, stacks, stream};
use cg_document::Document;
use cg_document::text::Screen;
use cg_document::{markdown, separated, text};

/// Writes what was read as the options say.
pub(crate) fn write(
    read: &Read,
    options: &Options,
    screen: Screen,
    out: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    if read.framing.completeness() == Completeness::Empty {
        // Nothing was read, which has been said; an empty table would look like a result.
        return Ok(());
    }
    let profile = &read.profile;
    let mut options = options.clone();
    if read.is_fragment() {
        options.percent_of = PercentOf::Shown;
        if options.format.is_for_people() {
            diagnostics.warn("the input has no run record: percentages are of what is shown");
        }
    }
    let options = &options;
    match options.format {
        Format::Json => return write_stream(read, options, out),
        Format::Svg => return Ok(out.write_all(massif::svg(profile)?.as_bytes())?),
        _ => {}
    }
    if is_diff(profile, options) {
        let diffs = Diffs::of(profile, options);
        let document = match options.format {
            Format::Markdown => comment::pull_request(&diffs, options)?,
            _ => comment::document(&diffs, options)?,
        };
        return Ok(render(&document, options.format, screen, out)?);
    }
    let of_heap = match massif::document(profile, options)? {
        Some(document) => Some(document),
        None => stacks::document(profile, options)?,
    };
    if let Some(document) = of_heap {
        return Ok(render(&document, options.format, screen, out)?);
    }
    if options.view != View::List {
        return write_view(profile, options, screen, out);
    }
    let kinds = report::kinds(profile, options);
    let groups = groups(profile, &kinds, options)?;
    let (document, listed) = report::list(profile, &kinds, &groups, options)?;
    if let [first, others @ ..] = listed.as_slice()
        && !others.is_empty()
        && !options.format.is_for_people()
    {
        let others: Vec<&str> = others.iter().map(|kind| kind.name()).collect();
        diagnostics.warn(format!(
            "only {} records are written; the input has {} records too, which --type chooses",
            first.name(),
            others.join(" and ")
        ));
    }
    render(&document, options.format, screen, out)?;
    Ok(())
}

/// Writes a tree or annotated sources.
fn write_view(
    profile: &Profile,
    options: &Options,
    screen: Screen,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    anyhow::ensure!(options.format.is_for_people(), ONLY_FOR_PEOPLE);
    if let View::Tree { .. } = options.view {
        let events = EventColumns::choose(profile, RecordType::Fn, options)?;
        let tree = Tree::of(profile, &events, options)?;
        let document = report::tree(profile, &tree, &events, options)?;
        return Ok(render(&document, options.format, screen, out)?);
    }
    let events = EventColumns::choose(profile, RecordType::Line, options)?;
    let annotation = source::annotate(profile, &events, options)?;
    let document = annotation.document(&events, options);
    Ok(render(&document, options.format, screen, out)?)
}

const ONLY_FOR_PEOPLE: &str = "--tree and --source are for tables and markdown; --type call and --type line list the records they are made of";

/// Whether what was read is a diff, and nothing else of it was asked for.
fn is_diff(profile: &Profile, options: &Options) -> bool {
    let has_diff = !profile.diffs().is_empty() || profile.runs().iter().any(RunRecord::is_diff);
    options.kind == Some(RecordType::Diff) || (has_diff && options.kind.is_none())
}

/// The groups of each type, where groups are asked for.
///
/// # Errors
/// For calls, whose only cost is inclusive.
fn groups(
    profile: &Profile,
    kinds: &[RecordType],
    options: &Options,
) -> anyhow::Result<Vec<Groups>> {
    let Some(by) = options.group_by else {
        return Ok(Vec::new());
    };
    anyhow::ensure!(
        !kinds.contains(&RecordType::Call),
        "call records have no cost of their own that --group-by could sum; fn records have"
    );
    let groups = kinds.iter().map(|kind| Groups::of(profile, *kind, by));
    Ok(groups.collect())
}

fn render(
    document: &Document,
    format: Format,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(64 * 1024, out);
    match format {
        Format::Table => text::write(document, screen, &mut out)?,
        Format::Markdown => markdown::write(document, &mut out)?,
        Format::Csv | Format::Tsv => {
            if let Some(table) = document.first_table() {
                match format {
                    Format::Csv => separated::write_csv(table, &mut out)?,
                    _ => separated::write_tsv(table, &mut out)?,
                }
            }
        }
        Format::Json | Format::Svg => {}
    }
    out.flush()
}

/// Writes the records as a stream: all types, or the one asked for.
fn write_stream(read: &Read, options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    anyhow::ensure!(options.view == View::List, ONLY_FOR_PEOPLE);
    let profile = &read.profile;
    let mut writer = Writer::new(out);
    let mut run = stream::run_record(profile);
    let diffs = is_diff(profile, options).then(|| Diffs::of(profile, options));
    if let Some(run) = &mut run {
        if let Some(diffs) = &diffs
            && profile.runs().len() > 1
        {
            run.total = diffs.total();
            diffs.summary.put_into(run);
        }
        writer.run(run)?;
    }
    if let Some(diffs) = &diffs {
        let events = diffs.events(options)?;
        let mut table = diffs.table(&events);
        let first = events.first().map(|event| event.name);
        report::arrange(&mut table, first, None, options)?;
        for row in &table.rows {
            writer.record(&diffs.records[*row])?;
        }
    }
    let kinds: Vec<RecordType> = match options.kind {
        Some(kind) => vec![kind],
        None if options.group_by.is_some() => report::kinds(profile, options),
        None => profile.types().collect(),
    };
    // Columns are no matter of a stream. Types that lack what is sorted by are written in the order of their cost.
    let options = &Options {
        columns: Vec::new(),
        ..options.clone()
    };
    let unsorted = &Options {
        sort: None,
        events: Events::Fitting,
        ..options.clone()
    };
    let groups = groups(profile, &kinds, options)?;
    let order = |position: usize, options: &Options| -> anyhow::Result<Vec<usize>> {
        let events = EventColumns::choose(profile, kinds[position], options)?;
        let first = events.first().map(|event| event.name.as_str());
        let mut table = match groups.get(position) {
            Some(groups) => groups.table(kinds[position], &events),
            None => listing::table(profile, kinds[position], &events),
        };
        report::arrange(&mut table, first, None, options)?;
        Ok(table.rows)
    };
    let orders: Vec<_> = (0..kinds.len())
        .map(|position| order(position, options))
        .collect();
    let is_any_sorted = orders.iter().any(Result::is_ok);
    for (position, rows) in orders.into_iter().enumerate() {
        let rows = match rows {
            Err(_) if is_any_sorted => order(position, unsorted)?,
            rows => rows?,
        };
        match groups.get(position) {
            Some(groups) => stream::write_groups(profile, groups, &rows, &mut writer)?,
            None => stream::write_rows(profile, kinds[position], &rows, &mut writer)?,
        }
    }
    if options.group_by.is_none() && options.kind.is_none_or(|kind| kind == RecordType::Snapshot) {
        for snapshot in profile.snapshots() {
            writer.record(snapshot)?;
        }
    }
    if run.is_some() && read.is_whole() {
        writer.end()?;
    } else {
        writer.flush()?;
    }
    Ok(())
}
