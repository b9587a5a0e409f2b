//! The figures of a row: for every event, one entry per side.

use cg_collections::maps::Set;
use cg_profile::{Key, Rows};
use cg_stream::record::{Count, PerRun, RecordType};

use crate::join::Joined;
use crate::runs::Runs;
use crate::{key, noise};

/// Counts of one event or of calls, one per side; `None` where a side lacks the record or does not count the event.
pub(crate) type Entries = Vec<Option<Count>>;

/// The counts of one event, or the call counts, on every side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figure {
    /// For each side, the count, or the median of its files.
    pub(crate) entries: Entries,
    /// For each side with several files, their sorted counts; 0 if a file lacks the record. Empty for a side with one file,
    /// and if all sides have one.
    files: Vec<Vec<Count>>,
    /// For each side, the confidence interval of its count. Empty if the profiles have none.
    intervals: Vec<Option<(u64, u64)>>,
}

/// All figures of a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Call counts; `None` if the type has none, or a record lacks its call count.
    pub(crate) calls: Option<Figure>,
    /// Self cost, in the order of the events of all runs.
    pub(crate) cost: Vec<Figure>,
    /// Inclusive cost; empty if no side has it, or if it is unknown for a sum.
    pub(crate) incl: Vec<Figure>,
    /// Upper bounds of inclusive cost; empty unless some side has only a bound.
    pub(crate) incl_bound: Vec<Figure>,
    /// For each side, the number of distinct records of one file that were summed.
    pub(crate) merged: Entries,
}

impl Figure {
    /// Returns the change from one side to another; a side without the figure counts as 0.
    pub(crate) fn change(&self, from: usize, to: usize) -> Count {
        let entry = |side: usize| self.entries[side].unwrap_or(0);
        entry(to) - entry(from)
    }

    /// Returns true if two sides differ by more than noise.
    pub(crate) fn differs(&self, from: usize, to: usize) -> bool {
        self.change(from, to).abs() > self.noise(from, to)
    }

    /// Returns the greatest change between two sides that counts as noise.
    pub(crate) fn noise(&self, from: usize, to: usize) -> Count {
        if self.overlaps(from, to) {
            return self.change(from, to).abs();
        }
        noise::greatest_noise(self.files(from), self.files(to), self.change(from, to))
    }

    /// Returns the sorted counts of the files of a side.
    fn files(&self, side: usize) -> &[Count] {
        match self.files.get(side) {
            Some(files) if !files.is_empty() => files,
            _ => self.entries[side].as_slice(),
        }
    }

    /// Returns true if both sides have a confidence interval.
    pub(crate) fn has_intervals(&self, from: usize, to: usize) -> bool {
        [from, to]
            .iter()
            .all(|side| matches!(self.intervals.get(*side), Some(Some(_))))
    }

    /// Returns true if the confidence intervals of two sides overlap, so that their difference may be chance.
    fn overlaps(&self, from: usize, to: usize) -> bool {
        let interval = |side: usize| self.intervals.get(side).copied().flatten();
        match (interval(from), interval(to)) {
            (Some(one), Some(other)) => one.0 <= other.1 && other.0 <= one.1,
            _ => false,
        }
    }

    /// The least count among the files of each side.
    pub(crate) fn min(&self) -> Entries {
        self.map_files(|files| files.first().copied().unwrap_or(0))
    }

    /// The difference between the greatest and the least count among the files of each side.
    pub(crate) fn spread(&self) -> Entries {
        self.map_files(noise::spread)
    }

    fn map_files(&self, figure: impl Fn(&[Count]) -> Count) -> Entries {
        let sides = self.entries.iter().enumerate();
        sides
            .map(|(side, entry)| entry.map(|_| figure(self.files(side))))
            .collect()
    }

    /// Makes a figure from one count per profile.
    pub(crate) fn from_profiles(runs: &Runs, count: impl Fn(usize) -> Option<Count>) -> Figure {
        let mut figure = Figure::with_sides(runs);
        for side in 0..runs.sides.len() {
            figure.push(runs.files_of(side).filter_map(&count), true);
        }
        figure
    }

    pub(crate) fn per_run(&self) -> PerRun {
        PerRun(self.entries.clone())
    }

    /// Creates a figure with room for the sides of these runs.
    fn with_sides(runs: &Runs) -> Figure {
        Figure {
            entries: Vec::with_capacity(runs.sides.len()),
            ..Figure::default()
        }
    }

    /// Adds the next side. Most sides have one file, which needs no list.
    fn push(&mut self, files: impl Iterator<Item = Count>, is_counted: bool) {
        let mut files = files.peekable();
        let first = files.next();
        if files.peek().is_none() {
            self.entries.push(first.filter(|_| is_counted));
            return;
        }
        let mut files: Vec<Count> = first.into_iter().chain(files).collect();
        files.sort_unstable();
        // For an even number of files, use the lower median: a figure that was measured.
        let median = files[(files.len() - 1) / 2];
        self.files.resize(self.entries.len(), Vec::new());
        self.files.push(files);
        self.entries.push(Some(median).filter(|_| is_counted));
    }
}

/// Returns the totals of all runs, one figure per event.
pub(crate) fn totals(runs: &Runs) -> Vec<Figure> {
    (0..runs.events.len())
        .map(|event| Figure {
            intervals: intervals(runs, event),
            ..Figure::from_profiles(runs, |profile| runs.total(profile, event))
        })
        .collect()
}

/// Returns the confidence interval of an event's total on each side that is a single run.
fn intervals(runs: &Runs, event: usize) -> Vec<Option<(u64, u64)>> {
    let sides = 0..runs.sides.len();
    let all = sides.map(|side| {
        let mut records = runs
            .files_of(side)
            .flat_map(|profile| runs.profiles[profile].runs());
        let only = records.next().filter(|_| records.next().is_none())?;
        only.counters.interval.get(&runs.events[event]).copied()
    });
    all.collect()
}

/// Returns the figures of a row.
pub(crate) fn row_figures(runs: &Runs, joined: &Joined, row: usize) -> Figures {
    let kind = joined.rows[row].kind;
    let figure = || Figure::with_sides(runs);
    let figure_by_event = || runs.events.iter().map(|_| figure()).collect();
    let mut figures = Figures {
        calls: matches!(kind, RecordType::Fn | RecordType::Call).then(figure),
        cost: figure_by_event(),
        incl: figure_by_event(),
        incl_bound: Vec::new(),
        merged: Vec::with_capacity(runs.sides.len()),
    };
    let mut has_incl = false;
    let mut is_incl_known = true;
    let mut are_calls_known = true;
    let table = |profile: usize| runs.profiles[profile].table(kind);
    for side in 0..runs.sides.len() {
        let files = runs.files_of(side);
        let has_row = files
            .clone()
            .any(|profile| !joined.records(row, profile).is_empty());
        if let Some(calls) = &mut figures.calls {
            let files = files.clone().map(|profile| {
                let calls = &table(profile).numbers().calls;
                let counts = joined.records(row, profile).iter();
                let counts = counts.map(|record| calls.count(*record as usize));
                counts
                    .inspect(|count| are_calls_known &= count.is_some())
                    .flatten()
                    .sum()
            });
            calls.push(files, has_row);
        }
        for event in 0..runs.events.len() {
            let files = files.clone().filter(|profile| runs.counts(*profile, event));
            let cost =
                (files.clone()).map(|profile| row_count(runs, joined, row, profile, event, false));
            figures.cost[event].push(cost, has_row);
            let incl = files.filter_map(|profile| {
                let (records, table) = (joined.records(row, profile), table(profile));
                let position = runs.position(profile, event).unwrap_or(usize::MAX);
                let at = |counts: &[Count]| counts.get(position).copied().unwrap_or(0);
                let with_incl = records
                    .iter()
                    .filter_map(|record| table.incl_or_bound(*record as usize));
                let mut any = records.is_empty();
                let sum: Count = with_incl.inspect(|_| any = true).map(at).sum();
                let twice = joined.counted_twice(row, profile);
                is_incl_known &= twice.is_some();
                has_incl |= any && !records.is_empty();
                any.then(|| sum - twice.map_or(0, at))
            });
            figures.incl[event].push(incl, has_row);
        }
        let merged = files
            .map(|profile| distinct(table(profile), joined.records(row, profile)))
            .max()
            .filter(|_| has_row);
        figures.merged.push(merged);
    }
    // Inclusive cost that only some runs record is no difference.
    if !has_incl || !is_incl_known || runs.uneven.has_incl(kind) {
        figures.incl.clear();
    }
    if has_bound(runs, joined, row) {
        figures.incl_bound = std::mem::take(&mut figures.incl);
    }
    // Cachegrind does not count calls. Missing call counts are not a difference.
    if !are_calls_known {
        figures.calls = None;
    }
    // An arc has no self cost.
    if kind == RecordType::Call {
        figures.cost.clear();
    }
    figures
}

/// Returns true if a record of a row has only an upper bound of its inclusive cost.
fn has_bound(runs: &Runs, joined: &Joined, row: usize) -> bool {
    runs.profiles.iter().enumerate().any(|(position, profile)| {
        let table = profile.table(joined.rows[row].kind);
        let mut records = joined.records(row, position).iter();
        records.any(|record| table.incl_bound(*record as usize).is_some())
    })
}

/// Returns the self cost of a row: one figure per event.
pub(crate) fn row_costs(runs: &Runs, joined: &Joined, row: usize) -> Vec<Figure> {
    let events = match joined.rows[row].kind {
        RecordType::Call => 0,
        _ => runs.events.len(),
    };
    let figure = |event| {
        Figure::from_profiles(runs, |profile| {
            let count = || row_count(runs, joined, row, profile, event, false);
            runs.counts(profile, event).then(count)
        })
    };
    (0..events).map(figure).collect()
}

/// Returns the self or inclusive cost of a row in one profile; 0 if the profile lacks the row or does not count the event.
pub(crate) fn row_count(
    runs: &Runs,
    joined: &Joined,
    row: usize,
    profile: usize,
    event: usize,
    is_inclusive: bool,
) -> Count {
    let Some(position) = runs.position(profile, event) else {
        return 0;
    };
    let table = runs.profiles[profile].table(joined.rows[row].kind);
    let at = |counts: &[Count]| counts.get(position).copied().unwrap_or(0);
    let records = joined
        .records(row, profile)
        .iter()
        .map(|record| *record as usize);
    match is_inclusive {
        true => records
            .filter_map(|record| table.incl(record))
            .map(at)
            .sum(),
        false => records.map(|record| at(table.cost(record))).sum(),
    }
}

/// Returns the number of distinct keys among records, ignoring parts and threads.
fn distinct(table: &Rows, records: &[u32]) -> Count {
    if records.len() < 2 {
        return records.len() as Count;
    }
    let keys = records
        .iter()
        .map(|record| key::exact(&table.key(*record as usize)));
    let distinct: Set<Key> = keys.collect();
    distinct.len() as Count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(sides: &[&[Count]]) -> Figure {
        let mut figure = Figure::default();
        for side in sides {
            figure.push(side.iter().copied(), true);
        }
        figure
    }

    #[test]
    fn entry_of_a_side_with_several_files_is_the_median() {
        let figure = figure(&[&[9, 5, 7], &[8], &[4, 1]]);
        assert_eq!(figure.entries, [Some(7), Some(8), Some(1)]);
        assert_eq!(figure.min(), [Some(5), Some(8), Some(1)]);
        assert_eq!(figure.spread(), [Some(4), Some(0), Some(3)]);
    }

    #[test]
    fn sides_with_few_files_differ_only_beyond_the_spread() {
        let figure = figure(&[&[100, 104, 102], &[106], &[107]]);
        assert!(!figure.differs(0, 1));
        assert!(figure.differs(0, 2));
        assert!(figure.differs(1, 2));
    }
}
