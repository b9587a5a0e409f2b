//! From records to a document: which listings there are, how they are sorted and cut, and what is said about them.

use cg_stream::profile::Profile;
use cg_stream::record::{RecordType, RunRecord};

use crate::dhat;
use crate::group::Groups;
use crate::listing::{self, EventColumns};
use crate::options::Options;
use crate::tree::Tree;
use cg_document::number;
use cg_document::{Audience, Cell, Cut, Table};
use cg_document::{Block, Document};

/// The record types to list: the one asked for, else the most telling of those there are. Errors and leaks of one log
/// are told together.
pub(crate) fn kinds(profile: &Profile, options: &Options) -> Vec<RecordType> {
    if let Some(kind) = options.kind {
        return vec![kind];
    }
    let has = |kind: &RecordType| !profile.table(*kind).is_empty();
    for kinds in [
        &[RecordType::Fn][..],
        &[RecordType::Line],
        &[RecordType::Call],
        &[RecordType::Error, RecordType::Leak],
        &[RecordType::Heap],
        &[RecordType::ProgramPoint],
        &[RecordType::Stack],
    ] {
        let found: Vec<RecordType> = kinds.iter().copied().filter(has).collect();
        if !found.is_empty() {
            return found;
        }
    }
    let tool = profile.runs().first().and_then(|run| run.tool.as_deref());
    match tool {
        Some("memcheck") => vec![RecordType::Error, RecordType::Leak],
        Some("helgrind" | "drd") => vec![RecordType::Error],
        Some("massif") => vec![RecordType::Heap],
        Some("dhat") => vec![RecordType::ProgramPoint],
        _ => vec![RecordType::Fn],
    }
}

/// One sentence on where the records are from.
pub(crate) fn origin(profile: &Profile) -> Option<String> {
    let first = profile.runs().first()?;
    let all_say = |field: fn(&RunRecord) -> Option<&str>| {
        let said = field(first)?;
        let agree = profile.runs().iter().all(|run| field(run) == Some(said));
        agree.then_some(said)
    };
    let mut text = all_say(|run| run.tool.as_deref())
        .unwrap_or("profile")
        .to_owned();
    if let Some(command) = all_say(|run| run.command.as_deref()) {
        text = format!("{text}: {command}");
    }
    match (profile.runs().len(), first.pid) {
        (1, Some(pid)) => text = format!("{text} (pid {pid})"),
        (1, None) => {}
        (parts, _) if are_apart(profile) => text = format!("{text} ({parts} parts)"),
        (runs, _) => text = format!("{text} ({runs} runs, added up)"),
    }
    Some(text)
}

/// Whether parts are kept apart: rows say of which they are.
fn are_apart(profile: &Profile) -> bool {
    let mut keys = profile.types().flat_map(|kind| profile.table(kind).keys());
    keys.any(|key| key.part.is_some())
}

/// Lists record types as rows. Of several types, those that lack a column or event that is asked for are left out.
///
/// Returns the types that are listed, too.
///
/// # Errors
/// Where no type has what is asked for.
pub(crate) fn list<'a>(
    profile: &'a Profile,
    kinds: &[RecordType],
    groups: &'a [Groups],
    options: &Options,
) -> anyhow::Result<(Document<'a>, Vec<RecordType>)> {
    let mut document = Document::default();
    if let Some(origin) = origin(profile) {
        document.push(Block::Heading(origin));
    }
    if kinds == [RecordType::ProgramPoint] && groups.is_empty() {
        document
            .blocks
            .extend(dhat::summary(profile).map(Block::Verbatim));
    }
    let mut listed = Vec::new();
    let mut refused = None;
    for (position, kind) in kinds.iter().enumerate() {
        match listing(profile, *kind, groups.get(position), options) {
            Ok(listing) => {
                if kinds.len() > 1 {
                    document.push(Block::Heading(listing.heading));
                }
                document.blocks.extend(listing.blocks);
                listed.push(*kind);
            }
            Err(error) => refused = Some(refused.unwrap_or(error)),
        }
    }
    match refused {
        Some(error) if listed.is_empty() => Err(error),
        _ => Ok((document, listed)),
    }
}

/// The rows of one type, and what is said about them.
struct Listing<'a> {
    heading: String,
    blocks: Vec<Block<'a>>,
}

/// Functions with their callers and callees.
pub(crate) fn tree<'t>(
    profile: &Profile,
    tree: &'t Tree<'_>,
    events: &EventColumns,
    options: &Options,
) -> anyhow::Result<Document<'t>> {
    let mut document = Document::default();
    if let Some(origin) = origin(profile) {
        document.push(Block::Heading(origin));
    }
    document.push(Block::Table(tree.table(events, options)?));
    if let Some(cut) = tree.cut {
        push_closing(
            &mut document,
            cut,
            listing::noun(RecordType::Fn, cut.rows),
            events,
        );
    }
    push_hidden(&mut document, &events.hidden(), options);
    Ok(document)
}

/// Sorts and cuts the rows of one type, and says what is left out.
fn listing<'a>(
    profile: &'a Profile,
    kind: RecordType,
    groups: Option<&'a Groups>,
    options: &Options,
) -> anyhow::Result<Listing<'a>> {
    let events = EventColumns::choose(profile, kind, options)?;
    let mut table = match groups {
        Some(groups) => groups.table(kind, &events),
        None => listing::table(profile, kind, &events),
    };
    let noun = |count: usize| match groups {
        Some(groups) => groups.by.noun(count),
        None => listing::noun(kind, count),
    };
    let count = table.rows.len();
    let heading = format!("{} {}", number::grouped(count as i128), noun(count));
    let first = events.first().map(|event| event.name.as_str());
    // The inclusive cost of calls does not add up, so what is left out of these has no share.
    let measure = (kind != RecordType::Call).then_some("self");
    let cut = arrange(&mut table, first, measure, options)?;
    let mut document = Document::default();
    if table.rows.is_empty() {
        document.push(Block::Text(format!("no {}", listing::noun(kind, 2))));
    }
    document.push(Block::Table(table));
    if let Some(cut) = cut {
        match measure {
            Some(_) => push_closing(&mut document, cut, noun(cut.rows), &events),
            None => document.push(Block::Note(left_out(&cut, noun(cut.rows), None))),
        }
    }
    push_hidden(&mut document, &events.hidden(), options);
    Ok(Listing {
        heading,
        blocks: document.blocks,
    })
}

/// Says how many rows were left out, and what share of the first event's total they have.
fn push_closing(document: &mut Document, cut: Cut, noun: &str, events: &EventColumns) {
    let share = events.first().map(|event| {
        let percent = Cell::share(cut.sum, event.whole)
            .percentage()
            .map(|percent| format!(" ({})", number::percent(percent)))
            .unwrap_or_default();
        format!("{} {}{percent}", number::grouped(cut.sum), event.name)
    });
    document.push(Block::Note(left_out(&cut, noun, share)));
}

/// Says which events there are besides those shown.
pub(crate) fn push_hidden(document: &mut Document, hidden: &[&str], options: &Options) {
    if !hidden.is_empty() && options.columns.is_empty() {
        document.push(Block::Note(format!(
            "events not shown: {} (--events all)",
            hidden.join(", ")
        )));
    }
}

/// The closing line of a listing that was cut.
pub(crate) fn left_out(cut: &Cut, noun: &str, share: Option<String>) -> String {
    let rows = number::grouped(cut.rows as i128);
    let with = share
        .map(|share| format!(" with {share}"))
        .unwrap_or_default();
    format!("{rows} more {noun}{with} not shown (--top all)")
}

/// Sorts, cuts and chooses columns as the options say. Returns what was cut, measured by a column (`self` or `delta`) of
/// the first event.
pub(crate) fn arrange(
    table: &mut Table,
    first: Option<&str>,
    measure: Option<&str>,
    options: &Options,
) -> anyhow::Result<Option<Cut>> {
    if let Some(key) = &options.sort {
        let name = sort_column(table, column_name(key, first));
        table.sort(&name)?;
        table.show(&name);
    }
    if options.reverse {
        table.rows.reverse();
    }
    let measure = measure.map(|measure| column_name(measure, first));
    let cut = table.cut(options.rows(), measure.as_deref());
    if options.columns.is_empty() {
        let audience = match options.format.is_for_people() {
            true => Audience::People,
            false => Audience::Programs,
        };
        table.choose_for(audience);
    } else {
        let names: Vec<String> = options
            .columns
            .iter()
            .map(|name| column_name(name, first))
            .collect();
        table.choose(&names)?;
    }
    Ok(cut)
}

/// The column to sort by: a count of a diff is sorted by its change, or where that has no column, by what is new.
fn sort_column(table: &Table<'_>, name: String) -> String {
    let candidates = [name.clone(), format!("{name}.delta"), format!("{name}.new")];
    let known = candidates
        .into_iter()
        .find(|candidate| table.column(candidate).is_ok());
    known.unwrap_or(name)
}

/// A column as people call it: `self`, `incl` and `delta` are those of the first event.
fn column_name(key: &str, first: Option<&str>) -> String {
    let of_first = |make: fn(&str) -> String| first.map_or_else(|| key.to_owned(), make);
    match key {
        "self" => of_first(str::to_owned),
        "incl" => of_first(|event| format!("incl.{event}")),
        "delta" => of_first(|event| format!("{event}.delta")),
        "incl.delta" => of_first(|event| format!("incl.{event}.delta")),
        "function" => "fn".to_owned(),
        "object" => "obj".to_owned(),
        key => key.to_owned(),
    }
}
