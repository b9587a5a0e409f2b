//! Holds a comparison against limits.

use cg_parse::Snapshots;
use cg_stream::record::{Count, RecordType, SnapshotRecord};
use cg_stream::tool::Diagnostics;

use crate::compare::{Change, CompareOptions};
use crate::figures::{self, Figure};
use crate::join::Joined;
use crate::limits::{Broken, Limit, Limited, Scope};
use crate::runs::Runs;

/// How many functions that break one limit are named.
const MOST_NAMED: usize = 10;

/// What a comparison says to limits.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// A sentence on each figure that breaks a limit, in the order of the limits.
    pub(crate) broken: Vec<String>,
    /// Which of the limits could be judged: not those on an event that no run counts.
    pub(crate) judged: Vec<bool>,
}

/// Holds a comparison against limits. A limit on an event that one run counts and another does not is trouble.
pub(crate) fn judge(
    runs: &Runs,
    joined: &Joined,
    changes: &[Change],
    limits: &[Limit],
    options: CompareOptions,
    snapshot: Snapshots,
    diagnostics: &mut Diagnostics,
) -> Judgement {
    let gate = Gate {
        runs,
        joined,
        changes,
        sides: (options.reference, runs.sides.len() - 1),
        snapshot,
    };
    let mut judgement = Judgement::default();
    for limit in limits {
        let found = match &limit.scope {
            Scope::Total => gate.total(limit),
            Scope::Functions(_) | Scope::Worst(_) => gate.functions(limit),
        };
        let mut found = match found {
            Ok(found) => {
                judgement.judged.push(found.is_some());
                found.unwrap_or_default()
            }
            Err(error) => {
                diagnostics.trouble(error);
                judgement.judged.push(true);
                continue;
            }
        };
        if matches!(limit.scope, Scope::Worst(_)) {
            found.truncate(1);
        }
        let named = found.iter().take(MOST_NAMED);
        judgement
            .broken
            .extend(named.map(|broken| limit.sentence(broken)));
        if found.len() > MOST_NAMED {
            judgement.broken.push(format!(
                "{}: {} more functions break it",
                limit.text(),
                found.len() - MOST_NAMED
            ));
        }
    }
    judgement
}

struct Gate<'a> {
    runs: &'a Runs,
    joined: &'a Joined,
    changes: &'a [Change],
    /// Old and new.
    sides: (usize, usize),
    /// The Massif snapshot that is compared.
    snapshot: Snapshots,
}

impl Gate<'_> {
    /// The total if it breaks a limit; `None` where no run counts what is limited.
    fn total(&self, limit: &Limit) -> anyhow::Result<Option<Vec<Broken>>> {
        let (old, new) = match &limit.figure {
            Limited::Cost(event) | Limited::Incl(event) => match self.level(event) {
                Some(levels) => levels,
                None => {
                    let Some(event) = self.event(event)? else {
                        return Ok(None);
                    };
                    let totals = figures::totals(self.runs);
                    self.of_sides(&totals[event])
                }
            },
            Limited::Calls => {
                let (mut old, mut new) = (0, 0);
                for change in self.changes {
                    if self.joined.rows[change.row].of != RecordType::Fn {
                        continue;
                    }
                    let figures = figures::of_row(self.runs, self.joined, change.row);
                    if let Some(calls) = &figures.calls {
                        let (old_calls, new_calls) = self.of_sides(calls);
                        old += old_calls.unwrap_or(0);
                        new += new_calls.unwrap_or(0);
                    }
                }
                (Some(old), Some(new))
            }
        };
        let broken = Broken {
            of: "the total".to_owned(),
            old,
            new,
        };
        Ok(Some(if limit.is_broken(old, new) {
            vec![broken]
        } else {
            Vec::new()
        }))
    }

    /// The functions that break a limit, the worst first; `None` where no run counts what is limited.
    fn functions(&self, limit: &Limit) -> anyhow::Result<Option<Vec<Broken>>> {
        let event = match &limit.figure {
            Limited::Cost(name) | Limited::Incl(name) => match self.event(name)? {
                None => return Ok(None),
                event => event,
            },
            Limited::Calls => None,
        };
        let regex = match &limit.scope {
            Scope::Functions(regex) => Some(regex),
            Scope::Worst(regex) => regex.as_ref(),
            Scope::Total => None,
        };
        let mut found: Vec<(Count, Broken)> = Vec::new();
        for change in self.changes {
            let Some(name) = change.shown.function.name else {
                continue;
            };
            let name = self.runs.names.symbols.text(name);
            if regex.is_some_and(|regex| !regex.is_match(name)) {
                continue;
            }
            let figures = figures::of_row(self.runs, self.joined, change.row);
            let figure = match (&limit.figure, event) {
                (Limited::Cost(_), Some(event)) => figures.cost.get(event),
                (Limited::Incl(_), Some(event)) => figures.incl.get(event),
                _ => figures.calls.as_ref(),
            };
            let Some((old, new)) = figure.map(|figure| self.of_sides(figure)) else {
                continue;
            };
            if (old, new) != (None, None) && limit.is_broken(old, new) {
                let delta = new.unwrap_or(0) - old.unwrap_or(0);
                let worse = if limit.is_upper() { -delta } else { delta };
                let of = name.to_owned();
                found.push((worse, Broken { of, old, new }));
            }
        }
        found.sort_by(|(a, a_broken), (b, b_broken)| {
            a.cmp(b).then_with(|| a_broken.of.cmp(&b_broken.of))
        });
        Ok(Some(found.into_iter().map(|(_, broken)| broken).collect()))
    }

    fn event(&self, name: &str) -> anyhow::Result<Option<usize>> {
        let Some(event) = self.runs.events.iter().position(|event| event == name) else {
            return Ok(None);
        };
        for side in [self.sides.0, self.sides.1] {
            for profile in self.runs.files_of(side) {
                anyhow::ensure!(
                    self.runs.counts(profile, event),
                    "a limit is on {name}, which {} does not count",
                    self.runs.sides[side].0
                );
            }
        }
        Ok(Some(event))
    }

    fn of_sides(&self, figure: &Figure) -> (Option<Count>, Option<Count>) {
        (figure.entries[self.sides.0], figure.entries[self.sides.1])
    }

    /// The levels of the Massif snapshots that are compared, which stand in no total.
    fn level(&self, name: &str) -> Option<(Option<Count>, Option<Count>)> {
        let level = |side: usize| {
            self.runs
                .files_of(side)
                .filter_map(|profile| {
                    compared(self.runs.profiles[profile].snapshots(), self.snapshot)
                })
                .filter_map(|snapshot| level_of(snapshot, name))
                .max()
        };
        let (old, new) = (level(self.sides.0), level(self.sides.1));
        (old.is_some() && new.is_some()).then_some((old, new))
    }
}

/// The snapshot that is compared: the one with that number, or the peak, which is the one that Massif marked, or else
/// the largest.
fn compared(snapshots: &[SnapshotRecord], wanted: Snapshots) -> Option<&SnapshotRecord> {
    match wanted {
        Snapshots::Number(number) => snapshots
            .iter()
            .find(|snapshot| snapshot.snapshot == number),
        Snapshots::Peak | Snapshots::All => snapshots.iter().max_by_key(|snapshot| {
            (
                snapshot.detail == "peak",
                Count::from(snapshot.heap_bytes)
                    + Count::from(snapshot.extra_bytes)
                    + Count::from(snapshot.stacks_bytes),
            )
        }),
    }
}

/// A level of a snapshot, by its field's name.
fn level_of(snapshot: &SnapshotRecord, name: &str) -> Option<Count> {
    let level = match name {
        "heap_bytes" => snapshot.heap_bytes,
        "extra_bytes" => snapshot.extra_bytes,
        "stacks_bytes" => snapshot.stacks_bytes,
        _ => return None,
    };
    Some(level.into())
}
