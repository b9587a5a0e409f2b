//! Functions whose code was inlined in one run and out of line in another.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_stream::profile::FunctionKey;
use cg_stream::record::{Count, RecordType, add_counts_growing};
use cg_stream::sorting::Order as _;

use crate::compare;
use crate::figures::Figure;
use crate::join::{FunctionRows, Joined};
use crate::runs::Runs;

/// The self cost of a function, split by where its code is; one figure per event.
pub(crate) struct Inlining {
    /// In the function's own, out-of-line code.
    pub(crate) out_of_line: Vec<Figure>,
    /// In code that was inlined into other functions.
    pub(crate) gone_inline: Vec<Figure>,
    /// The same for each of these, the costliest first.
    pub(crate) hosts: Vec<HostCosts>,
}

/// What a function that others are inlined into has of one of them.
pub(crate) struct HostCosts {
    pub(crate) function: FunctionKey,
    pub(crate) cost: Vec<Figure>,
}

/// The rows whose cost moved between out-of-line and inlined code from one run to another.
pub(crate) fn of(runs: &Runs, joined: &Joined) -> BTreeMap<usize, Inlining> {
    if runs.out_of_line.is_empty() {
        return BTreeMap::new();
    }
    let rows = joined.rows.iter().enumerate();
    let functions = rows.filter(|(_, row)| row.of == RecordType::Fn);
    let mut moved: BTreeMap<usize, Inlining> = functions
        .map(|(row, _)| (row, of_row(runs, joined, row)))
        .filter(|(_, inlining)| inlining.has_changed())
        .collect();
    add_hosts(runs, joined, &mut moved);
    moved
}

/// The split of a row's cost.
fn of_row(runs: &Runs, joined: &Joined, row: usize) -> Inlining {
    let figures = |is_own: bool| {
        figures(runs, |profile, position| {
            let at = |counts: &[Count]| counts.get(position).copied().unwrap_or(0);
            let table = runs.profiles[profile].table(RecordType::Fn);
            let of_record = |record: &u32| -> Count {
                let record = *record as usize;
                let own = at(&runs.out_of_line[profile][record]);
                match is_own {
                    true => own,
                    false => at(table.cost(record)) - own,
                }
            };
            joined.records(row, profile).iter().map(of_record).sum()
        })
    };
    Inlining {
        out_of_line: figures(true),
        gone_inline: figures(false),
        hosts: Vec::new(),
    }
}

/// A figure an event, of a count for each profile and position of an event in it.
fn figures(runs: &Runs, count: impl Fn(usize, usize) -> Count) -> Vec<Figure> {
    let of_event = |event: usize| {
        Figure::of_profiles(runs, |profile| {
            Some(count(profile, runs.position(profile, event)?))
        })
    };
    (0..runs.events.len()).map(of_event).collect()
}

/// Finds the functions that the code of these rows went into or came out of: the outermost of the chains that it is
/// innermost in.
fn add_hosts(runs: &Runs, joined: &Joined, moved: &mut BTreeMap<usize, Inlining>) {
    if moved.is_empty() {
        return;
    }
    let rows = FunctionRows::of(runs, joined);
    // By function and host, the cost in each profile; a host is its row, or what it is called where it has none.
    type Host = (Option<usize>, FunctionKey);
    let mut costs: BTreeMap<usize, BTreeMap<Host, Vec<Vec<Count>>>> = BTreeMap::new();
    let mut names: BTreeMap<usize, FunctionKey> = BTreeMap::new();
    for (position, profile) in runs.profiles.iter().enumerate() {
        let table = profile.table(RecordType::Inline);
        for (record, key) in table.keys().iter().enumerate() {
            let guest = rows.row(key.function, key);
            let Some(guest) = guest.filter(|guest| moved.contains_key(guest)) else {
                continue;
            };
            let frames = runs.names.stacks.frames_of(key.stack);
            let Some(host) = frames.last().filter(|_| frames.len() > 1) else {
                continue;
            };
            let row = rows.row(host.function, key);
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

/// True where some cost of a row is that of copies of its code, inlined into other functions.
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
    /// True if, by the first event that is counted at all, cost moved from one part to the other: one lost and the
    /// other gained more than a tenth of the cost.
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
