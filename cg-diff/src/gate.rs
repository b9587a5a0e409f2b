//! Holds a comparison against limits.

use cg_parse::Snapshots;
use cg_stream::record::{Count, RecordType, SnapshotRecord};
use cg_stream::tool::Diagnostics;
use regex::Regex;

use crate::compare::{Change, CompareOptions};
use crate::figures::{self, Figure};
use crate::join::Joined;
use crate::limits::{Broken, Limit, Limited, Scope};
use crate::notes;
use crate::runs::Runs;

/// How many functions that break one limit are named.
const MOST_NAMED: usize = 10;

/// What a comparison says to limits.
#[derive(Debug, Default)]
pub(crate) struct JudgedLimits {
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
) -> JudgedLimits {
    let gate = Gate {
        runs,
        joined,
        changes,
        snapshot,
    };
    let mut judgement = JudgedLimits::default();
    for limit in limits {
        let mut found = Vec::new();
        let mut is_judged = false;
        for sides in options.pairs(runs, limit.is_on_any) {
            match gate.broken(limit, sides) {
                Ok(broken) => {
                    is_judged |= broken.is_some();
                    found.extend(broken.into_iter().flatten());
                }
                Err(error) => {
                    diagnostics.trouble(error);
                    is_judged = true;
                }
            }
        }
        judgement.judged.push(is_judged);
        found.sort_by(|(a, a_broken), (b, b_broken)| {
            a.cmp(b).then_with(|| a_broken.of.cmp(&b_broken.of))
        });
        if matches!(limit.scope, Scope::Worst(_)) {
            found.truncate(1);
        }
        let named = found.iter().take(MOST_NAMED);
        judgement
            .broken
            .extend(named.map(|(_, broken)| limit.sentence(broken)));
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

/// What breaks a limit, with what it is ranked by: the worst is the least.
type Ranked = (Count, Broken);

struct Gate<'a> {
    runs: &'a Runs,
    joined: &'a Joined,
    changes: &'a [Change],
    /// The Massif snapshot that is compared.
    snapshot: Snapshots,
}

impl Gate<'_> {
    /// What breaks a limit between an old side and a new one; `None` where no run counts what is limited.
    fn broken(&self, limit: &Limit, sides: (usize, usize)) -> anyhow::Result<Option<Vec<Ranked>>> {
        let mut found = match &limit.scope {
            Scope::Total => {
                let total = self.total(limit, sides)?;
                total.map(|figure| vec![("the total".to_owned(), figure)])
            }
            Scope::Functions(regex) => self.functions(limit, Some(regex), sides)?,
            Scope::Worst(regex) => self.functions(limit, regex.as_ref(), sides)?,
        };
        let run = limit.is_on_any.then(|| self.runs.sides[sides.1].0.clone());
        Ok(found.take().map(|found| {
            let ranked = found.into_iter().filter_map(|(of, figure)| {
                let (old, new) = (figure.entries[sides.0], figure.entries[sides.1]);
                let noise = self
                    .has_noise(sides)
                    .then(|| figure.noise(sides.0, sides.1));
                let is_broken = limit.is_broken_beyond(old, new, noise);
                let delta = new.unwrap_or(0) - old.unwrap_or(0);
                let rank = if limit.is_upper() { -delta } else { delta };
                let run = run.clone();
                is_broken.then_some((
                    rank,
                    Broken {
                        of,
                        old,
                        new,
                        noise,
                        run,
                    },
                ))
            });
            ranked.collect()
        }))
    }

    /// True where a side has several files, which tell how much of a change is noise.
    fn has_noise(&self, sides: (usize, usize)) -> bool {
        [sides.0, sides.1]
            .iter()
            .any(|side| self.runs.files_of(*side).len() > 1)
    }

    /// The total that is limited; `None` where no run counts it.
    fn total(&self, limit: &Limit, sides: (usize, usize)) -> anyhow::Result<Option<Figure>> {
        Ok(match &limit.figure {
            Limited::Cost(event) | Limited::Incl(event) => match self.level(event, sides) {
                Some(level) => Some(level),
                None => {
                    let event = self.event(event, sides)?;
                    event.map(|event| figures::totals(self.runs).swap_remove(event))
                }
            },
            Limited::Calls => Some(Figure::of_profiles(self.runs, |profile| {
                let table = self.runs.profiles[profile].table(RecordType::Fn);
                Some((0..table.len()).map(|record| table.calls(record)).sum())
            })),
        })
    }

    /// The functions that a limit is on, with their figures; `None` where no run counts what is limited.
    fn functions(
        &self,
        limit: &Limit,
        regex: Option<&Regex>,
        sides: (usize, usize),
    ) -> anyhow::Result<Option<Vec<(String, Figure)>>> {
        let event = match &limit.figure {
            Limited::Cost(name) | Limited::Incl(name) => match self.event(name, sides)? {
                None => return Ok(None),
                event => event,
            },
            Limited::Calls => None,
        };
        let mut found = Vec::new();
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
                (Limited::Cost(_), Some(event)) => figures.cost.into_iter().nth(event),
                (Limited::Incl(_), Some(event)) => figures.incl.into_iter().nth(event),
                _ => figures.calls,
            };
            if let Some(figure) = figure
                && (figure.entries[sides.0], figure.entries[sides.1]) != (None, None)
            {
                found.push((name.to_owned(), figure));
            }
        }
        Ok(Some(found))
    }

    fn event(&self, name: &str, sides: (usize, usize)) -> anyhow::Result<Option<usize>> {
        let Some(event) = self.runs.events.iter().position(|event| event == name) else {
            return Ok(None);
        };
        anyhow::ensure!(
            !(is_of_caches(name) && notes::have_other_caches(self.runs)),
            "a limit is on {name}, and the runs have different caches"
        );
        for side in [sides.0, sides.1] {
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

    /// The levels of the Massif snapshots that are compared, which stand in no total.
    fn level(&self, name: &str, sides: (usize, usize)) -> Option<Figure> {
        let figure = Figure::of_profiles(self.runs, |profile| {
            let snapshot = compared(self.runs.profiles[profile].snapshots(), self.snapshot)?;
            level_of(snapshot, name)
        });
        let has_both = figure.entries[sides.0].is_some() && figure.entries[sides.1].is_some();
        has_both.then_some(figure)
    }
}

/// True for a count of cache misses, which depends on the caches that were simulated.
fn is_of_caches(event: &str) -> bool {
    ["I1m", "ILm", "D1m", "DLm", "I2m", "D2m"]
        .iter()
        .any(|miss| event.starts_with(miss))
}

/// What limits can be on: the events of the runs, and the levels of Massif's snapshots.
pub(crate) fn limited_events(runs: &Runs) -> Vec<String> {
    let mut events = runs.events.clone();
    if runs
        .profiles
        .iter()
        .any(|profile| !profile.snapshots().is_empty())
    {
        events.extend(LEVELS.map(str::to_owned));
    }
    events
}

/// The levels of a snapshot that can be limited.
const LEVELS: [&str; 3] = ["heap_bytes", "extra_bytes", "stacks_bytes"];

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
