//! The first sentences of a page: the total, the largest part, the greatest change, and the share of estimated stacks.

use std::cmp::Reverse;
use std::fmt::Write as _;

use cg_document::number::{grouped, percent, plural};
use cg_document::{Cell, NAMELESS};
use cg_names::code_origin::CodeOwner;
use cg_names::structure::shorten::shorten;
use cg_profile::Profile;
use cg_stream::record::{Count, RecordType};

use super::events::EventWords;
use super::rows::{PageRows, RowSource, cell_text};
use crate::report::columns::CODE;
use crate::report::kinds;

/// The maximum number of counters to list.
const MOST_COUNTERS: usize = 4;

/// The maximum number of letters of a function's name in a sentence. Longer names are shortened by meaning.
const MOST_LETTERS: usize = 80;

/// Returns a function's name for a sentence.
fn name_in_sentence(name: &str) -> String {
    shorten(name, |form| form.chars().count() <= MOST_LETTERS)
}

/// Adds the sentences that the report lacks before its own, and the share of estimated stacks after the first sentence.
/// They are about the first event.
pub(super) fn complete(
    lead: &mut Vec<String>,
    (source, rows, profile): (&RowSource<'_>, &PageRows<'_>, &Profile),
    (event, estimated): (&EventWords, &[[Count; 2]]),
) {
    match source {
        RowSource::Diff(_) => {
            let totals = rows.events.first().map_or(&[][..], |(_, totals)| totals);
            if let Some(first) = lead.first_mut() {
                *first = event.in_words(first, totals);
                first.extend(greatest_change(rows, event));
            }
        }
        RowSource::Totals(_) => lead.splice(0..0, counters(rows)).for_each(drop),
        RowSource::Records(..) if rows.are_findings() => findings(lead, rows),
        _ => lead
            .splice(0..0, costs(rows, profile, event))
            .for_each(drop),
    }
    if let Some(first) = lead.first_mut() {
        first.extend(estimate(rows, estimated, &event.words));
    }
    if let Some((name, _)) = rows.events.first() {
        let words = format!(" of {} ", event.words);
        for sentence in lead {
            *sentence = sentence.replace(&format!(" of {name} "), &words);
        }
    }
}

/// Adds the number of errors and the most frequent error before the totals of the leak kinds. Adds the function with the
/// most leaked bytes to the total of the worst kind.
fn findings(lead: &mut Vec<String>, rows: &PageRows<'_>) {
    let texts = |column| -> Vec<Option<String>> {
        let cells = rows.cells(column);
        cells.map(|cell| cell_text(&cell)).collect()
    };
    let [names, errors, kinds] = ["fn", "what", "kind"].map(texts);
    let name = |row: usize| name_in_sentence(names[row].as_deref().unwrap_or(NAMELESS));
    if let (Some(worst), Some(bytes)) = (lead.first_mut(), rows.counts("bytes")) {
        // Rows of leaks are sorted by kind, the worst kind first.
        let first = bytes.iter().position(Option::is_some);
        let is_worst = |row: usize| first.is_some_and(|first| kinds[row] == kinds[first]);
        if let Some((row, most)) = largest(&bytes, is_worst) {
            let _ = write!(
                worst,
                "; most in {}, {}",
                name(row),
                plural(most, "byte", "bytes")
            );
        }
    }
    let counts = rows.counts("count").unwrap_or_default();
    let Some((row, most)) = largest(&counts, |_| true) else {
        return;
    };
    let total: Count = counts.iter().flatten().sum();
    let places = counts.iter().flatten().count();
    let noun = kinds::noun(
        RecordType::Error,
        usize::try_from(total).unwrap_or(usize::MAX),
    );
    let error = errors[row].as_deref().or(kinds[row].as_deref());
    let error = format!("{} in {}", error.unwrap_or("an error"), name(row));
    let total = grouped(total);
    let sentence = match (places, most) {
        (1, _) => format!("{total} {noun}: {error}"),
        (_, 1) => format!("{total} {noun} in {} places", grouped(places as Count)),
        _ => format!(
            "{total} {noun} in {} places; most often, {} times: {error}",
            grouped(places as Count),
            grouped(most)
        ),
    };
    lead.insert(0, sentence);
}

/// Returns the first row with the largest count among the matching rows.
fn largest(counts: &[Option<Count>], matches: impl Fn(usize) -> bool) -> Option<(usize, Count)> {
    let counts = counts.iter().enumerate().filter(|(row, _)| matches(*row));
    let counts = counts.filter_map(|(row, count)| Some((row, (*count)?)));
    counts.min_by_key(|(_, count)| Reverse(*count))
}

/// Returns the list of counters: `task-clock 112,990,000 ns, cycles 1,684,106 and 2 more counts`.
fn counters(rows: &PageRows<'_>) -> Option<String> {
    let text = |column| rows.cells(column).map(|cell| cell_text(&cell));
    let counts = rows.counts("count")?;
    let all = text("bench").zip(text("event")).zip(text("unit"));
    let counters = all.zip(&counts).map(|(((bench, event), unit), count)| {
        let count = count.map(grouped);
        let words = [bench, event, count, unit];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    let listed = counters.take(MOST_COUNTERS).collect::<Vec<_>>().join(", ");
    let left = counts.len().saturating_sub(MOST_COUNTERS);
    let plural = if left == 1 { "" } else { "s" };
    Some(match left {
        0 => listed,
        _ => format!("{listed} and {} more count{plural}", grouped(left as Count)),
    })
}

/// Returns the words about the row with the greatest change, which is the first row.
fn greatest_change(rows: &PageRows<'_>, event: &EventWords) -> Option<String> {
    let (name, _) = rows.events.first()?;
    let column = format!("{name}.{}", rows.change);
    let cell = rows.cells(&column).next()?;
    let change = match (&cell, cell.percentage()) {
        _ if rows.greatest_spread.is_some_and(|spread| spread > 0) => {
            format!("by {}", event.figure(rows.greatest_spread?))
        }
        (Cell::Delta(delta), _) if *delta != 0 => event.signed_figure(*delta),
        (_, Some(points)) if points != 0.0 => format!("{points:+.2} points"),
        _ => return None,
    };
    let text = |column| cell_text(&rows.cells(column).next()?);
    let name = name_in_sentence(text("fn").as_deref().unwrap_or(NAMELESS));
    let bench = text("bench").filter(|_| rows.is_suite);
    let bench = bench.map_or_else(String::new, |bench| format!(" of {bench}"));
    Some(format!("; {name}{bench} changed most, {change}"))
}

/// The costs of rows in the first event. For a heap over time, the costs at its peak.
struct ShownCosts {
    /// Positions of rows, with costs.
    costs: Vec<(usize, Count)>,
    total: Count,
    /// The words for the snapshot; empty without snapshots.
    at: String,
}

impl ShownCosts {
    fn find(rows: &PageRows<'_>, profile: &Profile) -> Option<ShownCosts> {
        let (event, total) = rows.events.first()?;
        let costs = rows.counts(event)?.into_iter().enumerate();
        let costs = costs.filter_map(|(row, cost)| Some((row, cost?)));
        let snapshots = rows.counts("snapshot");
        let Some(snapshots) = snapshots.filter(|_| rows.levels.is_none()) else {
            return Some(ShownCosts {
                costs: costs.collect(),
                total: *total.first()?,
                at: String::new(),
            });
        };
        let mut peaks = profile.snapshots().iter();
        let peak = peaks.find(|one| one.detail == "peak")?.snapshot;
        let is_of_peak = |row: usize| snapshots[row] == Some(peak.into());
        let costs: Vec<(usize, Count)> = costs.filter(|(row, _)| is_of_peak(*row)).collect();
        Some(ShownCosts {
            total: costs.iter().map(|(_, cost)| cost).sum(),
            costs,
            at: format!(" at snapshot {peak}"),
        })
    }
}

/// Returns the total, the row with the largest cost, and the share of the program's own code.
fn costs(rows: &PageRows<'_>, profile: &Profile, event: &EventWords) -> Option<String> {
    let ShownCosts { costs, total, at } = ShownCosts::find(rows, profile)?;
    // `min_by_key` returns the first of several equal costs.
    let (row, largest) = *costs.iter().min_by_key(|(_, cost)| Reverse(*cost))?;
    let kind = rows.kinds.first().copied().unwrap_or(RecordType::Fn);
    let noun = kinds::noun(kind, costs.len());
    let name = rows.cells("fn").nth(row).and_then(|cell| cell_text(&cell));
    let name = name_in_sentence(name.as_deref().unwrap_or(NAMELESS));
    let count = grouped(costs.len() as Count);
    let amount = event.amount(total);
    let start = format!("{amount}{at} in {count} {noun}; {name}");
    // A negative total, possible in the difference of two profiles, has no shares.
    if total <= 0 {
        return Some(format!("{start} has most, {}", event.figure(largest)));
    }
    let share = |part: Count| percent(part as f64 * 100.0 / total as f64);
    let is_own = |cell: Cell<'_>| cell_text(&cell).as_deref() == Some(CodeOwner::Own.word());
    let is_own: Vec<bool> = rows.cells(CODE).map(is_own).collect();
    let own = costs.iter().filter(|(row, _)| is_own[*row]);
    let own: Count = own.map(|(_, cost)| cost).sum();
    let has = match largest > total / 2 {
        true => "has most of it",
        false => "has the largest part",
    };
    Some(format!(
        "{start} {has}, {}; code of the program itself has {}",
        share(largest),
        share(own)
    ))
}

/// Returns the words about the share of estimated stacks, in a diff for both runs.
fn estimate(rows: &PageRows<'_>, estimated: &[[Count; 2]], event: &str) -> Option<String> {
    let (_, totals) = rows.events.first()?;
    let shares = totals.iter().zip(estimated.first()?);
    let shares: Vec<f64> = shares
        .map(|(total, sum)| *sum as f64 * 100.0 / (*total).max(1) as f64)
        .collect();
    Some(match shares.as_slice() {
        [share] => format!("; stacks with {} of {event} are estimated", percent(*share)),
        [old, new] => format!(
            "; stacks with {} of the old run's {event} and {} of the new run's are estimated",
            percent(*old),
            percent(*new)
        ),
        _ => return None,
    })
}
