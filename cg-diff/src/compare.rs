//! The status of each row, and the order of the rows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_collections::sorting::Order as _;
use cg_names::rules::Rules;
use cg_profile::{FunctionKey, Key, Rows};
use cg_stream::percent::Percent;
use cg_stream::record::{Count, DiffSummary, RecordType, Status};

use crate::figures::{self, Figure, Figures};
use crate::join::{Certainty, Joined, JoinedRow};
use crate::runs::Runs;
use crate::sampling::{Sampled, Sampling};

/// The options of [`compare`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompareOptions<'a> {
    /// The side to compare the other sides with.
    pub(crate) reference: usize,
    /// True if each side is compared with the previous side instead of `reference`.
    pub(crate) is_to_previous: bool,
    /// True if rows are judged and ranked by inclusive cost.
    pub(crate) inclusive: bool,
    /// The minimum change, as a share of an event's total; `None` if every change counts.
    pub(crate) min_change: Option<Percent>,
    /// The allowance for chance, if the runs are sampled.
    pub(crate) sampling: Option<&'a Sampling>,
}

impl CompareOptions<'_> {
    /// Returns the reference side and the last side.
    pub(crate) fn sides(&self, runs: &Runs) -> [usize; 2] {
        [self.reference, runs.sides.len() - 1]
    }

    /// Returns the pairs of an old and a new side that a limit judges: for the last side, or for every side.
    pub(crate) fn pairs(&self, runs: &Runs, is_on_any: bool) -> Vec<[usize; 2]> {
        let last = runs.sides.len() - 1;
        let judged = if is_on_any { 0 } else { last };
        (judged..=last)
            .map(|side| match self.is_to_previous {
                true => [side.saturating_sub(1), side],
                false => [self.reference, side],
            })
            // A single run is judged by its figures alone.
            .filter(|[old, new]| old != new || !is_on_any || last == 0)
            .collect()
    }
}

/// A row with its status.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The position among the joined rows.
    pub(crate) row: usize,
    pub(crate) status: Status,
    /// True if the row changed by less than [`CompareOptions::min_change`]. The status is then `Same`.
    pub(crate) is_minor: bool,
    /// True if the row changed by no more than chance. The status is then `Same`.
    pub(crate) is_chance: bool,
    /// The greatest change among the sides, for the first event. Rows are ranked by it.
    pub(crate) weight: u128,
    /// The key that names the row: the costliest record in the last side that has the row.
    pub(crate) shown: Key,
    /// True if the summed records have different names.
    pub(crate) has_several_names: bool,
}

impl Change {
    /// Returns true if anything differs, even by less than the minimum change.
    pub(crate) fn differs(&self) -> bool {
        self.status != Status::Same || self.is_minor
    }
}

/// The runs, their joined rows, and the status of each row.
pub(crate) struct Comparison<'a> {
    pub(crate) runs: &'a Runs,
    pub(crate) joined: &'a Joined,
    pub(crate) options: CompareOptions<'a>,
    pub(crate) changes: Vec<Change>,
}

/// Compares all rows. Sorts the changes by type, amount of change and name.
pub(crate) fn compare<'a>(
    runs: &'a Runs,
    joined: &'a Joined,
    options: CompareOptions<'a>,
) -> Comparison<'a> {
    let comparer = Comparer {
        runs,
        joined,
        options,
    };
    let totals = figures::totals(runs);
    let is_compared = |row: &usize| !runs.uneven.has_type(joined.rows[*row].kind);
    let rows = (0..joined.rows.len()).filter(is_compared);
    let mut changes: Vec<Change> = rows.map(|row| comparer.change(row, &totals)).collect();
    let text = |change: &Change| place(runs, change.shown.function);
    changes.order_by(|a, b| {
        let rank = |change: &Change| (joined.rows[change.row].kind, Reverse(change.weight));
        let callee = |change: &Change| change.shown.callee.map(|callee| place(runs, callee));
        rank(a)
            .cmp(&rank(b))
            .then_with(|| text(a).cmp(&text(b)))
            .then_with(|| a.shown.line.cmp(&b.shown.line))
            .then_with(|| callee(a).cmp(&callee(b)))
            .then_with(|| a.row.cmp(&b.row))
    });
    Comparison {
        runs,
        joined,
        options,
        changes,
    }
}

/// The state for comparing rows.
struct Comparer<'a> {
    runs: &'a Runs,
    joined: &'a Joined,
    options: CompareOptions<'a>,
}

impl Comparer<'_> {
    /// Compares a row, given the totals.
    fn change(&self, row: usize, totals: &[Figure]) -> Change {
        let (shown, has_several_names) = self.shown(row);
        let mut is_minor = false;
        let mut is_chance = false;
        let is_by_shares = self.options.sampling.is_some_and(Sampling::is_by_shares);
        let (status, weight) = if self.is_below_threshold(row) {
            (Status::BelowThreshold, self.weight(row, &self.figures(row)))
        } else if !is_by_shares && self.is_plainly_same(row) {
            (Status::Same, 0)
        } else if let Some(sampled) = self.sampled(row) {
            let status = self.sampled_status(row, &sampled);
            is_chance = status == Status::Same;
            (status, self.sampled_weight(&sampled))
        } else {
            let figures = self.figures(row);
            match self.status(row, &figures) {
                // A row whose change is within the noise gets weight 0.
                Status::Same => (Status::Same, 0),
                Status::Changed if self.stays_below(row, &figures, totals) => {
                    is_minor = true;
                    (Status::Same, 0)
                }
                status => (status, self.weight(row, &figures)),
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
    }

    fn figures(&self, row: usize) -> Figures {
        figures::row_figures(self.runs, self.joined, row)
    }

    /// Returns true if the change of a row is unknown, because Massif's threshold hides it.
    fn is_below_threshold(&self, row: usize) -> bool {
        let is_known = |is_inclusive| {
            self.joined
                .is_change_known(row, self.options.sides(self.runs), is_inclusive)
        };
        !is_known(false) || (self.options.inclusive && !is_known(true))
    }

    /// Returns true if a row is one record with equal counts in every run. Most rows are, so this cheap check comes first.
    fn is_plainly_same(&self, row: usize) -> bool {
        let JoinedRow {
            kind, certainty, ..
        } = self.joined.rows[row];
        let record_of = |profile: usize| match self.joined.records(row, profile) {
            [record] => Some((self.runs.profiles[profile].table(kind), *record as usize)),
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
            && (1..self.runs.profiles.len()).all(|profile| {
                self.runs.has_events_of_first(profile) && record_of(profile).is_some_and(is_same)
            })
    }

    /// Returns the figures that a row is judged and ranked by. These are inclusive costs for call arcs, and for all rows
    /// with the option `inclusive`. Without known inclusive costs, these are self costs.
    fn judged<'f>(&self, row: usize, figures: &'f Figures) -> &'f [Figure] {
        let by_incl = self.options.inclusive || self.joined.rows[row].kind == RecordType::Call;
        if by_incl && !figures.incl.is_empty() {
            &figures.incl
        } else {
            &figures.cost
        }
    }

    /// Returns the figures of a row of sampled runs: inclusive cost first if rows are judged by it, and self cost.
    fn sampled(&self, row: usize) -> Option<Vec<Sampled>> {
        let sampling = self.options.sampling?;
        let event = sampling.event();
        let figure = |is_incl| sampling.row_figure(self.runs, self.joined, row, event, is_incl);
        let inclusive = self.options.inclusive.then(|| figure(true));
        Some(inclusive.into_iter().chain([figure(false)]).collect())
    }

    /// The status of a row of sampled runs. A row that one run lacks is added or removed only if that exceeds chance.
    fn sampled_status(&self, row: usize, sampled: &[Sampled]) -> Status {
        let [reference, last] = self.options.sides(self.runs);
        let differs =
            (0..=last).any(|side| (sampled.iter()).any(|figure| figure.differs(reference, side)));
        match differs {
            true => self.status_by_sides(row, true),
            false => Status::Same,
        }
    }

    /// Returns the weight for ranking a row of sampled runs: its greatest change that exceeds chance.
    fn sampled_weight(&self, sampled: &[Sampled]) -> u128 {
        let ([reference, last], judged) = (self.options.sides(self.runs), &sampled[0]);
        (0..=last)
            .filter(|side| judged.differs(reference, *side))
            .map(|side| judged.change(reference, side).unsigned_abs())
            .max()
            .unwrap_or(0)
    }

    fn status(&self, row: usize, figures: &Figures) -> Status {
        let ([reference, last], runs) = (self.options.sides(self.runs), self.runs);
        let both = [&figures.cost[..], self.judged(row, figures)];
        let compared = || {
            both.iter()
                .flat_map(|figures| figures.iter().enumerate())
                .filter(|(event, _)| runs.is_common(*event))
                .map(|(_, figure)| figure)
                .chain(&figures.calls)
        };
        let differs =
            (0..=last).any(|side| compared().any(|figure| figure.differs(reference, side)));
        let is_measured_once = [reference, last]
            .iter()
            .all(|side| runs.files_of(*side).len() < 2);
        match differs || is_measured_once {
            true => self.status_by_sides(row, differs),
            // A record that only some files of a side have is noise, unless it exceeds the noise of these files.
            false => Status::Same,
        }
    }

    /// Returns the status of a row, given the sides that have it and whether they differ.
    fn status_by_sides(&self, row: usize, differs: bool) -> Status {
        let JoinedRow {
            sides, certainty, ..
        } = self.joined.rows[row];
        match self
            .options
            .sides(self.runs)
            .map(|side| sides & 1 << side != 0)
        {
            [true, true] if certainty == Certainty::Renamed => Status::Renamed,
            [false, true] => Status::Added,
            [true, false] => Status::Removed,
            _ if differs => Status::Changed,
            _ => Status::Same,
        }
    }

    /// Returns true if all costs of a row changed by less than the minimum share of their totals, which a longer path or
    /// another environment can cause. Any change of findings or call counts is significant, because they do not vary
    /// without a reason.
    fn stays_below(&self, row: usize, figures: &Figures, totals: &[Figure]) -> bool {
        let Some(least) = self.options.min_change else {
            return false;
        };
        if matches!(
            self.joined.rows[row].kind,
            RecordType::Leak | RecordType::Error
        ) {
            return false;
        }
        let [reference, last] = self.options.sides(self.runs);
        let is_below = |figure: &Figure, total: &Figure| {
            let total = total.entries.iter().flatten().copied().max().unwrap_or(0);
            (0..=last).all(|side| {
                let change = figure.change(reference, side).abs();
                change == 0 || !least.is_reached(change, total)
            })
        };
        let costs = |figures: &[Figure]| {
            let mut pairs = figures.iter().zip(totals);
            pairs.all(|(figure, total)| is_below(figure, total))
        };
        let mut calls = figures.calls.iter();
        let has_calls_changed =
            calls.any(|calls| (0..=last).any(|side| calls.differs(reference, side)));
        !has_calls_changed && costs(&figures.cost) && costs(self.judged(row, figures))
    }

    fn weight(&self, row: usize, figures: &Figures) -> u128 {
        let [reference, last] = self.options.sides(self.runs);
        let judged = self.judged(row, figures).iter().enumerate();
        let mut common = judged.filter(|(event, _)| self.runs.is_common(*event));
        // The first event with a count in this row.
        let is_counted = |figure: &Figure| figure.entries.iter().flatten().any(|count| *count != 0);
        let counted = common.find(|(_, figure)| is_counted(figure));
        let change =
            |side| counted.map(|(_, figure)| figure.change(reference, side).unsigned_abs());
        (0..=last).filter_map(change).max().unwrap_or(0)
    }

    /// Returns the key that names a row, and true if records of the same side have other names.
    fn shown(&self, row: usize) -> (Key, bool) {
        let kind = self.joined.rows[row].kind;
        let mut found: Option<(Key, Count)> = None;
        let mut has_several_names = false;
        for side in (0..self.runs.sides.len()).rev() {
            for profile in self.runs.files_of(side) {
                let table = self.runs.profiles[profile].table(kind);
                for record in self.joined.records(row, profile) {
                    let key = crate::key::exact(&table.key(*record as usize));
                    let cost = table.count(*record as usize, 0);
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
}

/// Returns the key of a row in the first side that has it.
pub(crate) fn first_key(runs: &Runs, joined: &Joined, row: usize) -> Option<Key> {
    (0..runs.profiles.len()).find_map(|profile| key_in(runs, joined, row, profile))
}

/// Returns the key of a row in the last side that has it.
pub(crate) fn last_key(runs: &Runs, joined: &Joined, row: usize) -> Option<Key> {
    (0..runs.profiles.len())
        .rev()
        .find_map(|profile| key_in(runs, joined, row, profile))
}

fn key_in(runs: &Runs, joined: &Joined, row: usize, profile: usize) -> Option<Key> {
    let table = runs.profiles[profile].table(joined.rows[row].kind);
    let record = *joined.records(row, profile).first()?;
    Some(crate::key::exact(&table.key(record as usize)))
}

/// Returns name, file and object as text.
pub(crate) fn place(runs: &Runs, function: FunctionKey) -> [Option<&str>; 3] {
    [function.name, function.file, function.obj]
        .map(|symbol| symbol.map(|symbol| runs.names.symbols.text(symbol)))
}

/// Returns the summary of a comparison for its `run` record.
pub(crate) fn summary(comparison: &Comparison, rules: &Rules) -> DiffSummary {
    let (runs, joined) = (comparison.runs, comparison.joined);
    let mut rows = BTreeMap::new();
    let (mut merged, mut matched) = (0, 0);
    let mut by_rule: BTreeMap<String, u64> = BTreeMap::new();
    for change in &comparison.changes {
        *rows.entry(change.status).or_insert(0) += 1;
        let row = &joined.rows[change.row];
        matched += u64::from(!row.matched.is_empty());
        for name in rules.names(row.matched) {
            *by_rule.entry(name.to_owned()).or_insert(0) += 1;
        }
        let is_sum =
            (0..runs.profiles.len()).any(|profile| joined.records(change.row, profile).len() > 1);
        if is_sum {
            let figures = figures::row_figures(runs, joined, change.row);
            merged += u64::from(figures.merged.iter().flatten().any(|count| *count > 1));
        }
    }
    let several = runs.files_read.iter().any(|files| *files > 1);
    let files = runs.files_read.iter().filter(|_| several);
    DiffSummary {
        rows,
        joined: by_rule,
        matched,
        merged,
        statistic: several.then(|| runs.statistic.name().to_owned()),
        files: files.map(|files| *files as u64).collect(),
        ..DiffSummary::default()
    }
}

#[cfg(test)]
mod tests;
