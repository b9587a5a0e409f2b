//! Functions whose code is inlined in one run and out of line in another.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_collections::sorting::Order as _;
use cg_profile::FunctionKey;
use cg_stream::record::{Count, RecordType, add_counts_growing};

use crate::compare;
use crate::figures::Figure;
use crate::join::{FunctionRows, Joined};
use crate::runs::Runs;

/// The self cost of a function, split by the place of its code; one figure per event.
pub(crate) struct Inlining {
    /// The cost of the function's own, out-of-line code.
    pub(crate) out_of_line: Vec<Figure>,
    /// The cost of copies that are inlined into other functions.
    pub(crate) gone_inline: Vec<Figure>,
    /// The cost of the inlined copies in each host function, the costliest first.
    pub(crate) hosts: Vec<HostCosts>,
}

/// The cost of an inlined function within one host function.
pub(crate) struct HostCosts {
    pub(crate) function: FunctionKey,
    pub(crate) cost: Vec<Figure>,
}

/// Finds the rows whose cost moved between out-of-line and inlined code.
pub(crate) fn find_inlining(runs: &Runs, joined: &Joined) -> BTreeMap<usize, Inlining> {
    if runs.out_of_line.is_empty() {
        return BTreeMap::new();
    }
    let rows = joined.rows.iter().enumerate();
    let functions = rows.filter(|(_, row)| row.kind == RecordType::Fn);
    let mut moved: BTreeMap<usize, Inlining> = functions
        .map(|(row, _)| (row, split_cost(runs, joined, row)))
        .filter(|(_, inlining)| inlining.has_changed())
        .collect();
    add_hosts(runs, joined, &mut moved);
    moved
}

/// Splits the cost of a row. The hosts are empty.
fn split_cost(runs: &Runs, joined: &Joined, row: usize) -> Inlining {
    let figures = |is_own: bool| {
        figures(runs, |profile, position| {
            let at = |counts: &[Count]| counts.get(position).copied().unwrap_or(0);
            let table = runs.profiles[profile].table(RecordType::Fn);
            let cost = |record: &u32| -> Count {
                let record = *record as usize;
                let own = at(&runs.out_of_line[profile][record]);
                match is_own {
                    true => own,
                    false => at(table.cost(record)) - own,
                }
            };
            joined.records(row, profile).iter().map(cost).sum()
        })
    };
    Inlining {
        out_of_line: figures(true),
        gone_inline: figures(false),
        hosts: Vec::new(),
    }
}

/// Makes one figure per event. `count` gets the profile, and the position of the event in the profile.
fn figures(runs: &Runs, count: impl Fn(usize, usize) -> Count) -> Vec<Figure> {
    let figure = |event: usize| {
        Figure::from_profiles(runs, |profile| {
            Some(count(profile, runs.position(profile, event)?))
        })
    };
    (0..runs.events.len()).map(figure).collect()
}

/// Finds the hosts of these rows: the outermost functions of the chains in which the row is innermost.
fn add_hosts(runs: &Runs, joined: &Joined, moved: &mut BTreeMap<usize, Inlining>) {
    if moved.is_empty() {
        return;
    }
    let rows = FunctionRows::collect(runs, joined);
    // The cost in each profile, by function and host. A host is a row, or a key if it has no row.
    type Host = (Option<usize>, FunctionKey);
    let mut costs: BTreeMap<usize, BTreeMap<Host, Vec<Vec<Count>>>> = BTreeMap::new();
    let mut names: BTreeMap<usize, FunctionKey> = BTreeMap::new();
    for (position, profile) in runs.profiles.iter().enumerate() {
        let table = profile.table(RecordType::Inline);
        for (record, key) in table.keys().enumerate() {
            let guest = rows.row(key.function, &key);
            let Some(guest) = guest.filter(|guest| moved.contains_key(guest)) else {
                continue;
            };
            let frames = runs.names.stacks.frames_of(key.stack);
            let Some(host) = frames.last().filter(|_| frames.len() > 1) else {
                continue;
            };
            let row = rows.row(host.function, &key);
            let host = match row {
                Some(row) => {
                    names.insert(row, host.function);
                    (Some(row), FunctionKey::default())
                }
                None => (None, host.function),
            };
            let sums = costs.entry(guest).or_default().entry(host).or_default();
            sums.resize(runs.profiles.len(), Vec::new());
            add_counts_growing(&mut sums[position], table.cost(record));
        }
    }
    for (guest, hosts) in costs {
        let hosts = hosts.into_iter().map(|((row, key), sums)| HostCosts {
            function: row.and_then(|row| names.get(&row).copied()).unwrap_or(key),
            cost: figures(runs, |profile, position| {
                sums[profile].get(position).copied().unwrap_or(0)
            }),
        });
        let mut hosts: Vec<HostCosts> = hosts.collect();
        hosts.order_by_cached_key(|host| {
            let cost = host
                .cost
                .first()
                .map(|figure| figure.entries.iter().flatten().max().copied());
            (Reverse(cost), compare::place(runs, host.function))
        });
        if let Some(inlining) = moved.get_mut(&guest) {
            inlining.hosts = hosts;
        }
    }
}

/// Returns true if a row includes the cost of copies that are inlined into other functions.
pub(crate) fn has_copies(runs: &Runs, joined: &Joined, row: usize) -> bool {
    (runs.out_of_line.iter().enumerate()).any(|(profile, out_of_line)| {
        let table = runs.profiles[profile].table(RecordType::Fn);
        let records = joined.records(row, profile).iter();
        records
            .map(|record| *record as usize)
            .any(|record| table.cost(record) != out_of_line[record])
    })
}

impl Inlining {
    /// Returns true if one part lost and the other part gained more than a tenth of the cost, by the first event that is
    /// counted.
    fn has_changed(&self) -> bool {
        let entries = |figures: &[Figure], event: usize| -> Vec<Count> {
            figures[event]
                .entries
                .iter()
                .map(|entry| entry.unwrap_or(0))
                .collect()
        };
        let Some(event) = (0..self.out_of_line.len()).find(|event| {
            let counted = [&self.out_of_line, &self.gone_inline];
            counted
                .iter()
                .any(|figures| entries(figures, *event).iter().any(|count| *count != 0))
        }) else {
            return false;
        };
        let own = entries(&self.out_of_line, event);
        let gone = entries(&self.gone_inline, event);
        let moved = |a: usize, b: usize| {
            let (left, came) = (own[a] - own[b], gone[b] - gone[a]);
            let least = (own[a] + gone[a]).max(own[b] + gone[b]) / 10;
            left > 0 && came > 0 && left.min(came) > least
        };
        let last = own.len() - 1;
        moved(0, last) || moved(last, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if cost moved, given the out-of-line and the inlined cost of each run.
    fn has_moved(out_of_line: [Count; 2], inlined: [Count; 2]) -> bool {
        let figure = |entries: [Count; 2]| {
            let mut figure = Figure::default();
            figure.entries = entries.map(Some).to_vec();
            figure
        };
        // The first event is 0 throughout and does not count.
        let figures = |entries| vec![figure([0, 0]), figure(entries)];
        let inlining = Inlining {
            out_of_line: figures(out_of_line),
            gone_inline: figures(inlined),
            hosts: Vec::new(),
        };
        inlining.has_changed()
    }

    #[test]
    fn more_than_a_tenth_of_the_cost_moves_between_out_of_line_and_inlined_code() {
        for (old, new, expected) in [
            ((100, 0), (89, 11), true),
            ((100, 0), (90, 10), false),
            // The larger of both costs counts.
            ((100, 0), (80, 30), true),
            ((100, 0), (89, 120), false),
            // A part of the cost that only came or went did not move.
            ((100, 0), (50, 0), false),
            ((100, 0), (100, 50), false),
            ((100, 50), (50, 0), false),
        ] {
            let figures = ([old.0, new.0], [old.1, new.1]);
            assert_eq!(has_moved(figures.0, figures.1), expected, "{old:?} {new:?}");
            // The same in the other direction.
            let swapped = ([new.0, old.0], [new.1, old.1]);
            assert_eq!(has_moved(swapped.0, swapped.1), expected, "{new:?} {old:?}");
        }
    }
}
