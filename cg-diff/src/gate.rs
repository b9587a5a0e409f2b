//! Holds a comparison against limits.

use cg_parse::Snapshots;
use cg_stream::record::{Count, RecordType, SnapshotRecord};
use cg_stream::sorting::Order as _;
use cg_stream::tool::Diagnostics;
use regex::Regex;

use crate::compare::{Change, CompareOptions};
use crate::figures::{self, Figure};
use crate::join::Joined;
use crate::limits::{Limit, LimitAnswer, Limited, Measured, Scope};
use crate::notes;
use crate::runs::Runs;
use crate::sampling::{Sampled, Sampling};

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
        // If nothing differs between the runs, limits are judged exactly, without an allowance for chance.
        sampling: options
            .sampling
            .filter(|_| !are_equal(runs, joined, changes)),
    };
    let mut judgement = JudgedLimits::default();
    for limit in limits {
        let mut found = Vec::new();
        let mut is_judged = false;
        let mut undecided = Undecided::default();
        for sides in options.pairs(runs, limit.is_on_any) {
            match gate.broken(limit, sides, &mut undecided) {
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
        // A limit that is certainly broken is reported as broken, even if other figures leave it open.
        if found.is_empty() {
            undecided.tell(limit, diagnostics);
        }
        found.order_by(|(a, a_broken), (b, b_broken)| {
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

/// Figures beyond a limit of which it is not certain that they are.
#[derive(Default)]
struct Undecided {
    /// Chance decides: the limit cannot be judged.
    open: Vec<Measured>,
    /// Their change is within noise, which is no change.
    excused: Vec<Measured>,
}

impl Undecided {
    fn tell(&mut self, limit: &Limit, diagnostics: &mut Diagnostics) {
        let limit_text = limit.text();
        if let Some(figures) = greatest(&mut self.open) {
            diagnostics.trouble(format!(
                "{limit_text}: not judged, chance leaves it open: {figures}; longer runs tell"
            ));
        }
        if let Some(figures) = greatest(&mut self.excused) {
            diagnostics.warn(format!(
                "{limit_text}: within noise, so not broken: {figures}; more runs tell"
            ));
        }
    }
}

/// The greatest of the figures, and how many others there are.
fn greatest(figures: &mut [Measured]) -> Option<String> {
    figures.order_by(|a, b| b.new.cmp(&a.new).then_with(|| a.of.cmp(&b.of)));
    let (first, others) = figures.split_first()?;
    Some(match others.len() {
        0 => first.to_string(),
        1 => format!("{first}; and of one more function"),
        count => format!("{first}; and of {count} more functions"),
    })
}

/// Whether nothing at all differs between the runs.
fn are_equal(runs: &Runs, joined: &Joined, changes: &[Change]) -> bool {
    changes.iter().all(|change| {
        let figures = figures::of_row(runs, joined, change.row);
        let mut all = figures.cost.iter().chain(&figures.incl);
        all.all(|figure| (1..runs.sides.len()).all(|side| figure.change(0, side) == 0))
    })
}

/// A figure that breaks a limit, with its sort key: the worst sorts first.
type Ranked = (Count, Measured);

struct Gate<'a> {
    runs: &'a Runs,
    joined: &'a Joined,
    changes: &'a [Change],
    /// The Massif snapshot that is compared.
    snapshot: Snapshots,
    /// What of a change is chance, where the runs were sampled and are not the same.
    sampling: Option<&'a Sampling>,
}

impl Gate<'_> {
    /// What breaks a limit between an old side and a new one; `None` where no run counts what is limited.
    fn broken(
        &self,
        limit: &Limit,
        sides: (usize, usize),
        undecided: &mut Undecided,
    ) -> anyhow::Result<Option<Vec<Ranked>>> {
        let found = match &limit.scope {
            Scope::Total => self.total(limit, sides)?.map(|total| vec![total]),
            Scope::Functions(regex) => self.functions(limit, Some(regex), sides)?,
            Scope::Worst(regex) => self.functions(limit, regex.as_ref(), sides)?,
        };
        let run = limit.is_on_any.then(|| self.runs.sides[sides.1].0.clone());
        let Some(found) = found else {
            return Ok(None);
        };
        let mut broken = Vec::new();
        for mut figure in found {
            figure.run.clone_from(&run);
            let (old, new) = (figure.old.unwrap_or(0), figure.new.unwrap_or(0));
            let is_broken = match figure.chance {
                None => limit.is_broken_beyond(figure.old, figure.new, figure.noise),
                Some(chance) => match limit.answer(old, new, chance) {
                    LimitAnswer::Broken => true,
                    LimitAnswer::Kept => false,
                    LimitAnswer::Open => {
                        undecided.open.push(figure);
                        continue;
                    }
                },
            };
            if is_broken {
                let delta = new - old;
                broken.push((if limit.is_upper() { -delta } else { delta }, figure));
            } else if figure.noise.is_some() && limit.is_broken(figure.old, figure.new) {
                undecided.excused.push(figure);
            }
        }
        Ok(Some(broken))
    }

    /// A figure as it is held against a limit.
    fn measured(&self, of: String, figure: &Figure, sides: (usize, usize)) -> Measured {
        Measured {
            of,
            old: figure.entries[sides.0],
            new: figure.entries[sides.1],
            noise: self
                .has_noise(sides)
                .then(|| figure.noise(sides.0, sides.1)),
            chance: None,
            whole: None,
            run: None,
        }
    }

    /// The same for sampled runs; shares become counts at the old side's number of samples.
    fn sampled(of: String, figure: &Sampled, sides: (usize, usize)) -> Measured {
        let (old, new, chance) = figure.in_counts(sides.0, sides.1);
        Measured {
            of,
            old: Some(old),
            new: Some(new),
            noise: None,
            chance: Some(chance),
            whole: figure.whole(sides.0),
            run: None,
        }
    }

    /// True where a side has several files, which tell how much of a change is noise.
    fn has_noise(&self, sides: (usize, usize)) -> bool {
        [sides.0, sides.1]
            .iter()
            .any(|side| self.runs.files_of(*side).len() > 1)
    }

    /// The total that is limited; `None` where no run counts it.
    fn total(&self, limit: &Limit, sides: (usize, usize)) -> anyhow::Result<Option<Measured>> {
        let of = "the total".to_owned();
        let figure = match &limit.figure {
            Limited::Cost(event) | Limited::Incl(event) => match self.level(event, sides) {
                Some(level) => level,
                None => {
                    let Some(event) = self.event(event, sides)? else {
                        return Ok(None);
                    };
                    if let Some(sampling) = self.sampling.filter(|_| !limit.is_level()) {
                        anyhow::ensure!(
                            !sampling.is_by_shares(),
                            "{}: not judged, totals say nothing of each other: {} (--shares never compares them)",
                            limit.text(),
                            sampling.why().unwrap_or_default()
                        );
                        let total = sampling.of_totals(self.runs, event);
                        return Ok(Some(Gate::sampled(of, &total, sides)));
                    }
                    figures::totals(self.runs).swap_remove(event)
                }
            },
            Limited::Calls => Figure::of_profiles(self.runs, |profile| {
                let table = self.runs.profiles[profile].table(RecordType::Fn);
                Some((0..table.len()).map(|record| table.calls(record)).sum())
            }),
        };
        Ok(Some(self.measured(of, &figure, sides)))
    }

    /// The functions that a limit is on, with their figures; `None` where no run counts what is limited.
    fn functions(
        &self,
        limit: &Limit,
        regex: Option<&Regex>,
        sides: (usize, usize),
    ) -> anyhow::Result<Option<Vec<Measured>>> {
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
            if let (Some(sampling), Some(event), false) = (self.sampling, event, limit.is_level()) {
                let is_inclusive = matches!(limit.figure, Limited::Incl(_));
                let figure =
                    sampling.of_row(self.runs, self.joined, change.row, event, is_inclusive);
                found.push(Gate::sampled(name.to_owned(), &figure, sides));
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
                found.push(self.measured(name.to_owned(), &figure, sides));
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

    /// The levels of the compared Massif snapshots; no total includes them.
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
        Snapshots::Peak | Snapshots::All => snapshots
            .iter()
            .max_by_key(|snapshot| (snapshot.detail == "peak", snapshot.total())),
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
