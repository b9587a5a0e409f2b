//! What became of each row between the runs, and in which order that is told.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_stream::percent::Percent;
use cg_stream::profile::{FunctionKey, Key, Rows};
use cg_stream::record::{Count, DiffSummary, RecordType, Status};
use cg_stream::sorting::Order as _;

use crate::figures::{self, Figure, Figures};
use crate::join::{Certainty, Joined, JoinedRow};
use crate::runs::Runs;
use crate::sampling::{Sampled, Sampling};
use cg_names::rules::Rules;

/// How runs are compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompareOptions<'a> {
    /// The side that the others are compared with.
    pub(crate) reference: usize,
    /// True where each side is compared with the one before it rather than with one for all.
    pub(crate) is_to_previous: bool,
    /// Whether rows are judged and ranked by inclusive cost.
    pub(crate) inclusive: bool,
    /// The share of an event's total that a change has to reach; `None` where every change counts.
    pub(crate) min_change: Option<Percent>,
    /// What of a change is chance, where the runs were sampled.
    pub(crate) sampling: Option<&'a Sampling>,
}

impl CompareOptions<'_> {
    /// True for a row of which the runs do not tell by how much it changed.
    fn is_untold(&self, runs: &Runs, joined: &Joined, row: usize) -> bool {
        let sides = [self.reference, runs.sides.len() - 1];
        let is_told = |is_inclusive| joined.tells_change(row, sides, is_inclusive);
        !is_told(false) || (self.inclusive && !is_told(true))
    }

    /// The old and the new side of what a limit judges: the last side, or all of them.
    pub(crate) fn pairs(&self, runs: &Runs, is_on_any: bool) -> Vec<(usize, usize)> {
        let last = runs.sides.len() - 1;
        let judged = if is_on_any { 0 } else { last };
        (judged..=last)
            .map(|side| match self.is_to_previous {
                true => (side.saturating_sub(1), side),
                false => (self.reference, side),
            })
            .filter(|(old, new)| old != new || !is_on_any)
            .collect()
    }
}

/// A row with what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Its position among the joined rows.
    pub(crate) row: usize,
    pub(crate) status: Status,
    /// It changed by less than [`CompareOptions::min_change`], and its status is that of a row that did not.
    pub(crate) is_minor: bool,
    /// It changed, and by no more than samples do by chance; its status is that of a row that did not.
    pub(crate) is_chance: bool,
    /// The greatest change of any side, of the first event; rows are ranked by it.
    pub(crate) weight: u128,
    /// A record that shows what the row is called: of the last side that has it, the costliest.
    pub(crate) shown: Key,
    /// True where the records summed have different names.
    pub(crate) has_several_names: bool,
}

impl Change {
    /// Whether anything differs, however little.
    pub(crate) fn is_one(&self) -> bool {
        self.status != Status::Same || self.is_minor
    }
}

/// Compares all rows. They come ranked: by type, by change, by name.
pub(crate) fn compare(runs: &Runs, joined: &Joined, options: CompareOptions) -> Vec<Change> {
    let totals = figures::totals(runs);
    let mut changes: Vec<Change> = (0..joined.rows.len())
        .map(|row| {
            let (shown, has_several_names) = shown(runs, joined, row);
            let mut is_minor = false;
            let mut is_chance = false;
            let is_by_shares = options.sampling.is_some_and(Sampling::is_by_shares);
            let (status, weight) = if options.is_untold(runs, joined, row) {
                let figures = figures::of_row(runs, joined, row);
                let weight = weight(runs, joined.rows[row].of, &figures, options);
                (Status::BelowThreshold, weight)
            } else if !is_by_shares && is_plainly_same(runs, joined, row) {
                (Status::Same, 0)
            } else if let Some(sampled) = sampled(runs, joined, row, options) {
                let status = sampled_status(runs, joined, row, &sampled, options);
                is_chance = status == Status::Same;
                (status, sampled_weight(runs, &sampled, options))
            } else {
                let figures = figures::of_row(runs, joined, row);
                match status(runs, joined, row, &figures, options) {
                    // A row whose change is within the noise gets weight 0.
                    Status::Same => (Status::Same, 0),
                    Status::Changed
                        if stays_below(runs, joined, row, &figures, &totals, options) =>
                    {
                        is_minor = true;
                        (Status::Same, 0)
                    }
                    status => (status, weight(runs, joined.rows[row].of, &figures, options)),
                }
            };
            Change {
                row,
                status,
                is_minor,
                is_chance,
                weight,
                shown,
                has_several_names,
            }
        })
        .collect();
    let text = |change: &Change| place(runs, change.shown.function);
    changes.order_by(|a, b| {
        let rank = |change: &Change| (joined.rows[change.row].of, Reverse(change.weight));
        let callee = |change: &Change| change.shown.callee.map(|callee| place(runs, callee));
        rank(a)
            .cmp(&rank(b))
            .then_with(|| text(a).cmp(&text(b)))
            .then_with(|| a.shown.line.cmp(&b.shown.line))
            .then_with(|| callee(a).cmp(&callee(b)))
            .then_with(|| a.row.cmp(&b.row))
    });
    changes
}

/// True for a row that is one record in every run, with the same counts. Most rows are, and this costs little to see.
fn is_plainly_same(runs: &Runs, joined: &Joined, row: usize) -> bool {
    let JoinedRow { of, certainty, .. } = joined.rows[row];
    let record_of = |profile: usize| match joined.records(row, profile) {
        [record] => Some((runs.profiles[profile].table(of), *record as usize)),
        _ => None,
    };
    let Some((first, first_record)) = record_of(0) else {
        return false;
    };
    let is_same = |(table, record): (&Rows, usize)| {
        table.cost(record) == first.cost(first_record)
            && table.incl(record) == first.incl(first_record)
            && table.calls(record) == first.calls(first_record)
    };
    certainty < Certainty::Renamed
        && (1..runs.profiles.len()).all(|profile| {
            runs.has_events_of_first(profile) && record_of(profile).is_some_and(is_same)
        })
}

/// The figures that a row is judged and ranked by: inclusive cost, if it is known, for call arcs, and for all rows with
/// `inclusive`; else self cost.
fn judged<'f>(of: RecordType, figures: &'f Figures, options: CompareOptions) -> &'f [Figure] {
    let by_incl = options.inclusive || of == RecordType::Call;
    if by_incl && !figures.incl.is_empty() {
        &figures.incl
    } else {
        &figures.cost
    }
}

/// The figures of a row of sampled runs: self cost, and inclusive cost where rows are judged by it.
fn sampled(
    runs: &Runs,
    joined: &Joined,
    row: usize,
    options: CompareOptions,
) -> Option<Vec<Sampled>> {
    let sampling = options.sampling?;
    let figure = |is_inclusive| sampling.of_row(runs, joined, row, sampling.event(), is_inclusive);
    let kinds = if options.inclusive {
        &[true, false][..]
    } else {
        &[false]
    };
    Some(
        kinds
            .iter()
            .map(|is_inclusive| figure(*is_inclusive))
            .collect(),
    )
}

/// The status of a row of sampled runs. A row that one run lacks is added or removed only if that exceeds chance.
fn sampled_status(
    runs: &Runs,
    joined: &Joined,
    row: usize,
    sampled: &[Sampled],
    options: CompareOptions,
) -> Status {
    let (reference, last) = (options.reference, runs.sides.len() - 1);
    let differs = (0..=last).any(|side| {
        let mut figures = sampled.iter();
        figures.any(|figure| figure.differs(reference, side))
    });
    let JoinedRow {
        sides, certainty, ..
    } = joined.rows[row];
    let has = |side: usize| sides & 1 << side != 0;
    match (has(reference), has(last)) {
        _ if !differs => Status::Same,
        (true, true) if certainty == Certainty::Renamed => Status::Renamed,
        (false, true) => Status::Added,
        (true, false) => Status::Removed,
        _ => Status::Changed,
    }
}

/// The weight by which a row of sampled runs is ranked: its greatest change that exceeds chance.
fn sampled_weight(runs: &Runs, sampled: &[Sampled], options: CompareOptions) -> u128 {
    let judged = &sampled[0];
    (0..runs.sides.len())
        .filter(|side| judged.differs(options.reference, *side))
        .map(|side| judged.change(options.reference, side).unsigned_abs())
        .max()
        .unwrap_or(0)
}

fn status(
    runs: &Runs,
    joined: &Joined,
    row: usize,
    figures: &Figures,
    options: CompareOptions,
) -> Status {
    let joined_row = &joined.rows[row];
    let (reference, last) = (options.reference, runs.sides.len() - 1);
    let has = |side: usize| joined_row.sides & 1 << side != 0;
    let judged = judged(joined_row.of, figures, options);
    let both = [&figures.cost[..], judged];
    let compared = || {
        both.iter()
            .flat_map(|figures| figures.iter().enumerate())
            .filter(|(event, _)| runs.is_common(*event))
            .map(|(_, figure)| figure)
            .chain(&figures.calls)
    };
    let differs =
        (0..runs.sides.len()).any(|side| compared().any(|figure| figure.differs(reference, side)));
    let is_measured_once = [reference, last]
        .iter()
        .all(|side| runs.files_of(*side).len() < 2);
    match (has(reference), has(last)) {
        // A record that only some files of a side have is noise while it stays within theirs.
        _ if !differs && !is_measured_once => Status::Same,
        (true, true) if joined_row.certainty == Certainty::Renamed => Status::Renamed,
        (false, true) => Status::Added,
        (true, false) => Status::Removed,
        _ if differs => Status::Changed,
        _ => Status::Same,
    }
}

/// True if all costs of a row changed by less than the minimum share of their totals, as a longer path or another
/// environment can cause. Any change in findings or call counts is significant: they do not vary by themselves.
fn stays_below(
    runs: &Runs,
    joined: &Joined,
    row: usize,
    figures: &Figures,
    totals: &[Figure],
    options: CompareOptions,
) -> bool {
    let of = joined.rows[row].of;
    let Some(least) = options.min_change else {
        return false;
    };
    if matches!(of, RecordType::Leak | RecordType::Error) {
        return false;
    }
    let reference = options.reference;
    let is_below = |figure: &Figure, total: &Figure| {
        let total = total.entries.iter().flatten().copied().max().unwrap_or(0);
        (0..runs.sides.len()).all(|side| {
            let change = figure.change(reference, side).abs();
            change == 0 || !least.is_reached(change, total)
        })
    };
    let judged = judged(of, figures, options);
    let costs = |figures: &[Figure]| {
        let mut pairs = figures.iter().zip(totals);
        pairs.all(|(figure, total)| is_below(figure, total))
    };
    let has_calls_changed = figures
        .calls
        .iter()
        .any(|calls| (0..runs.sides.len()).any(|side| calls.differs(reference, side)));
    !has_calls_changed && costs(&figures.cost) && costs(judged)
}

fn weight(runs: &Runs, of: RecordType, figures: &Figures, options: CompareOptions) -> u128 {
    judged(of, figures, options)
        .iter()
        .enumerate()
        .filter(|(event, _)| runs.is_common(*event))
        .map(|(_, figure)| figure)
        // The first event that the row counts at all.
        .find(|figure| figure.entries.iter().flatten().any(|count| *count != 0))
        .and_then(|figure| {
            (0..runs.sides.len())
                .map(|side| figure.change(options.reference, side).unsigned_abs())
                .max()
        })
        .unwrap_or(0)
}

/// The key that names a row, and whether other records of its side have other names.
fn shown(runs: &Runs, joined: &Joined, row: usize) -> (Key, bool) {
    let of = joined.rows[row].of;
    let mut found: Option<(Key, Count)> = None;
    let mut has_several_names = false;
    for side in (0..runs.sides.len()).rev() {
        for profile in runs.files_of(side) {
            let table = runs.profiles[profile].table(of);
            for record in joined.records(row, profile) {
                let key = crate::key::exact(table.key(*record as usize));
                let cost = table.cost(*record as usize).first().copied().unwrap_or(0);
                match &mut found {
                    None => found = Some((key, cost)),
                    Some((shown, most)) => {
                        has_several_names |= shown.function.name != key.function.name;
                        if cost > *most {
                            (*shown, *most) = (key, cost);
                        }
                    }
                }
            }
        }
        if found.is_some() {
            break;
        }
    }
    // Every row has a record in some side.
    (found.unwrap_or_default().0, has_several_names)
}

/// The key of a row in the first side that has it.
pub(crate) fn first_key(runs: &Runs, joined: &Joined, row: usize) -> Option<Key> {
    (0..runs.profiles.len()).find_map(|profile| key_in(runs, joined, row, profile))
}

/// The key of a row in the last side that has it.
pub(crate) fn last_key(runs: &Runs, joined: &Joined, row: usize) -> Option<Key> {
    (0..runs.profiles.len())
        .rev()
        .find_map(|profile| key_in(runs, joined, row, profile))
}

fn key_in(runs: &Runs, joined: &Joined, row: usize, profile: usize) -> Option<Key> {
    let table = runs.profiles[profile].table(joined.rows[row].of);
    let record = *joined.records(row, profile).first()?;
    Some(crate::key::exact(table.key(record as usize)))
}

/// Name, file and object as text.
pub(crate) fn place(runs: &Runs, function: FunctionKey) -> [Option<&str>; 3] {
    [function.name, function.file, function.obj]
        .map(|symbol| symbol.map(|symbol| runs.names.symbols.text(symbol)))
}

/// What the `run` record says of the comparison.
pub(crate) fn summary(
    runs: &Runs,
    joined: &Joined,
    changes: &[Change],
    rules: &Rules,
) -> DiffSummary {
    let mut rows = BTreeMap::new();
    let mut merged = 0;
    let mut by_rule: BTreeMap<String, u64> = BTreeMap::new();
    for change in changes {
        *rows.entry(change.status).or_insert(0) += 1;
        let row = &joined.rows[change.row];
        for name in rules.names(row.matched) {
            *by_rule.entry(name.to_owned()).or_insert(0) += 1;
        }
        let is_sum =
            (0..runs.profiles.len()).any(|profile| joined.records(change.row, profile).len() > 1);
        if is_sum {
            let figures = figures::of_row(runs, joined, change.row);
            merged += u64::from(figures.merged.iter().flatten().any(|count| *count > 1));
        }
    }
    let several = runs.files_read.iter().any(|files| *files > 1);
    DiffSummary {
        rows,
        joined: by_rule,
        merged,
        statistic: several.then(|| runs.statistic.name().to_owned()),
        files: if several {
            runs.files_read.iter().map(|files| *files as u64).collect()
        } else {
            Vec::new()
        },
        ..DiffSummary::default()
    }
}
