//! Holds a comparison against limits.

use std::collections::HashMap;

use cg_parse::Snapshots;
use cg_stream::profile::{Profile, Rows, Symbol};
use cg_stream::record::{Count, RecordType, SnapshotRecord};
use cg_stream::sorting::Order as _;
use cg_stream::tool::Diagnostics;
use regex::Regex;

use crate::compare::{Change, Comparison};
use crate::figures::{self, Figure};
use crate::join::Joined;
use crate::leak_kinds::NOT_PRINTED;
use crate::limits::{Limit, LimitAnswer, Limited, Measured, Scope};
use crate::notes;
use crate::runs::Runs;
use crate::sampling::{Sampled, Sampling};
use crate::unjudged::Judged;

/// How many functions that break one limit are named.
const MOST_NAMED: usize = 10;

/// What a comparison says to limits.
#[derive(Debug, Default)]
pub(crate) struct JudgedLimits {
    /// A sentence on each figure that breaks a limit, in the order of the limits.
    pub(crate) broken: Vec<String>,
    /// How far each of the limits could be judged.
    pub(crate) judged: Vec<Judged>,
}

/// Holds a comparison against limits. A limit on an event that one run counts and another does not is trouble.
pub(crate) fn judge(
    comparison: &Comparison,
    limits: &[Limit],
    diagnostics: &mut Diagnostics,
) -> JudgedLimits {
    let (runs, options) = (comparison.runs, comparison.options);
    let gate = Gate {
        runs,
        joined: comparison.joined,
        changes: &comparison.changes,
        // If nothing differs between the runs, limits are judged exactly, without an allowance for chance.
        sampling: (options.sampling).filter(|_| !are_equal(comparison)),
    };
    let mut judgement = JudgedLimits::default();
    for limit in limits {
        let mut found = Vec::new();
        let mut judged = Judged::default();
        let mut open = Open::default();
        for sides in options.pairs(runs, limit.is_on_any) {
            match gate.broken(limit, sides, &mut open) {
                Ok((so_far, broken)) => {
                    judged = judged.max(so_far);
                    found.extend(broken);
                }
                Err(error) => {
                    diagnostics.trouble(error);
                    judged = Judged::Fully;
                }
            }
        }
        judgement.judged.push(judged);
        // A limit that is certainly broken is reported as broken, even if other figures leave it open.
        if found.is_empty() {
            open.tell(limit, diagnostics);
        }
        found.order_by(|(a, a_broken), (b, b_broken)| {
            a.cmp(b).then_with(|| a_broken.of.cmp(&b_broken.of))
        });
        if matches!(limit.scope, Scope::Worst(_)) {
            found.truncate(1);
        }
        let named = found.iter().take(MOST_NAMED);
        let sentences = named.map(|(_, broken)| limit.sentence(broken));
        judgement.broken.extend(sentences);
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

/// Why a limit that is not broken is not kept either.
#[derive(Default)]
struct Open {
    /// The figures of which chance alone decides whether they break it.
    by_chance: Vec<Measured>,
    /// The figures beyond it whose change is within noise, which is no change.
    excused: Vec<Measured>,
    /// The figures of which what Massif does not tell decides whether they break it.
    by_threshold: Vec<Measured>,
    /// A sentence on a function whose figure the runs do not tell.
    untold: Option<String>,
}

impl Open {
    fn tell(&mut self, limit: &Limit, diagnostics: &mut Diagnostics) {
        let limit_text = limit.text();
        if let Some(figures) = greatest(&mut self.by_chance) {
            diagnostics.trouble(format!(
                "{limit_text}: not judged, chance leaves it open: {figures}; longer runs tell"
            ));
        }
        if let Some(figures) = greatest(&mut self.by_threshold) {
            diagnostics.trouble(format!(
                "{limit_text}: not judged: {figures}; run Massif with --threshold=0"
            ));
        }
        if let Some(sentence) = self.untold.take() {
            diagnostics.trouble(sentence);
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
fn are_equal(comparison: &Comparison) -> bool {
    comparison.changes.iter().all(|change| {
        let figures = figures::of_row(comparison.runs, comparison.joined, change.row);
        let mut all = figures.cost.iter().chain(&figures.incl);
        all.all(|figure| (1..comparison.runs.sides.len()).all(|side| figure.change(0, side) == 0))
    })
}

/// A figure that breaks a limit, with its sort key: the worst sorts first.
type Ranked = (Count, Measured);

struct Gate<'a> {
    runs: &'a Runs,
    joined: &'a Joined,
    changes: &'a [Change],
    /// What of a change is chance, where the runs were sampled and are not the same.
    sampling: Option<&'a Sampling>,
}

impl Gate<'_> {
    /// What breaks a limit between an old side and a new one.
    fn broken(
        &self,
        limit: &Limit,
        sides: [usize; 2],
        open: &mut Open,
    ) -> anyhow::Result<(Judged, Vec<Ranked>)> {
        let not_measured = self.runs.leak_kinds.not_measured.as_ref();
        if let Some(why) = not_measured.filter(|_| limit.is_on_leaks()) {
            anyhow::bail!("{}: not judged, {why}", limit.text());
        }
        // What a run does not show has not risen, and why nothing is known of it has been said.
        if limit.is_on_leaks() && !self.runs.leak_kinds.doubts.is_empty() {
            return Ok((Judged::Fully, Vec::new()));
        }
        if !self.counts_figure(limit, sides)? {
            return Ok((Judged::NotCounted, Vec::new()));
        }
        let found = match &limit.scope {
            Scope::Total => self.total(limit, sides)?.map(|total| vec![total]),
            Scope::Functions(regex) => self.functions(limit, Some(regex), sides, open)?,
            Scope::Worst(regex) => self.functions(limit, regex.as_ref(), sides, open)?,
        };
        let run = limit.is_on_any.then(|| self.runs.sides[sides[1]].0.clone());
        let Some(found) = found else {
            return Ok((Judged::NotCounted, Vec::new()));
        };
        let is_unmatched = found.is_empty() && open.untold.is_none();
        let judged = match is_unmatched && !self.has_nothing_to_find(limit) {
            true => Judged::Unmatched,
            false => Judged::Fully,
        };
        let mut broken = Vec::new();
        for mut figure in found {
            figure.run.clone_from(&run);
            let (old, new) = (figure.old.unwrap_or(0), figure.new.unwrap_or(0));
            let answer = match (figure.chance, figure.untold) {
                (None, None) => None,
                (Some(chance), _) => Some(limit.answer(old, new, chance)),
                (None, Some(more)) => Some(limit.answer_up_to([old, new], more)),
            };
            let is_broken = match answer {
                None => limit.is_broken_beyond(figure.old, figure.new, figure.noise),
                Some(LimitAnswer::Broken) => true,
                Some(LimitAnswer::Kept) => false,
                Some(LimitAnswer::Open) => {
                    match figure.chance {
                        Some(_) => open.by_chance.push(figure),
                        None => open.by_threshold.push(figure),
                    }
                    continue;
                }
            };
            if is_broken {
                let delta = new - old;
                broken.push((if limit.is_upper() { -delta } else { delta }, figure));
            } else if figure.noise.is_some() && limit.is_broken(figure.old, figure.new) {
                open.excused.push(figure);
            }
        }
        Ok((judged, broken))
    }

    /// A figure as it is held against a limit.
    fn measured(&self, of: String, figure: &Figure, sides: [usize; 2]) -> Measured {
        Measured {
            of,
            old: figure.entries[sides[0]],
            new: figure.entries[sides[1]],
            noise: self
                .has_noise(sides)
                .then(|| figure.noise(sides[0], sides[1])),
            ..Measured::default()
        }
    }

    /// The same for sampled runs; shares become counts at the old side's number of samples.
    fn sampled(of: String, figure: &Sampled, sides: [usize; 2]) -> Measured {
        let (old, new, chance) = figure.in_counts(sides[0], sides[1]);
        Measured {
            of,
            old: Some(old),
            new: Some(new),
            chance: Some(chance),
            whole: figure.whole(sides[0]),
            ..Measured::default()
        }
    }

    /// True where a side has several files, which tell how much of a change is noise.
    fn has_noise(&self, sides: [usize; 2]) -> bool {
        (sides.iter()).any(|side| self.runs.files_of(*side).len() > 1)
    }

    /// The total that is limited; `None` where no run counts it.
    fn total(&self, limit: &Limit, sides: [usize; 2]) -> anyhow::Result<Option<Measured>> {
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
                let table = with_calls(&self.runs.profiles[profile])?;
                Some((0..table.len()).map(|record| table.calls(record)).sum())
            }),
        };
        Ok(Some(self.measured(of, &figure, sides)))
    }

    /// The functions that a limit is on, with their figures; `None` where no run counts the event that is limited.
    fn functions(
        &self,
        limit: &Limit,
        regex: Option<&Regex>,
        sides: [usize; 2],
        open: &mut Open,
    ) -> anyhow::Result<Option<Vec<Measured>>> {
        let event = match limit.event() {
            Some(name) => match self.event(name, sides)? {
                None => return Ok(None),
                event => event,
            },
            None => None,
        };
        let is_inclusive = matches!(limit.figure, Limited::Incl(_));
        let mut known = HashMap::new();
        let mut found = Vec::new();
        for change in self.changes {
            let row = self.joined.rows[change.row];
            if row.sides & (1 << sides[0] | 1 << sides[1]) == 0 {
                continue;
            }
            let Some(name) = self.matching_name(change, regex, sides, &mut known) else {
                continue;
            };
            let mut figures = figures::of_row(self.runs, self.joined, change.row);
            let figure = match (&limit.figure, event) {
                (Limited::Cost(_), Some(event)) => figures.cost.into_iter().nth(event),
                (Limited::Incl(_), Some(event)) => figures.incl.into_iter().nth(event),
                _ => figures.calls.take(),
            };
            let Some(figure) = figure else {
                // An arc or a line may lack a figure that its function has.
                if row.of == RecordType::Fn {
                    open.untold.get_or_insert_with(|| {
                        format!(
                            "{}: not judged, the runs do not tell it of {name}, which combines several functions",
                            limit.text()
                        )
                    });
                }
                continue;
            };
            found.push(match (self.sampling, event, limit.is_level()) {
                (Some(sampling), Some(event), false) => {
                    let figure =
                        sampling.of_row(self.runs, self.joined, change.row, event, is_inclusive);
                    Gate::sampled(name, &figure, sides)
                }
                _ => Measured {
                    untold: (self.joined.untold(change.row))
                        .and_then(|untold| untold.between(sides, is_inclusive)),
                    ..self.measured(name, &figure, sides)
                },
            });
        }
        let is_not_printed = |measured: &Measured| measured.of == NOT_PRINTED;
        if let Some(name) = limit.event()
            && self.runs.leak_kinds.differ_unprinted(name)
            && !found.iter().any(is_not_printed)
        {
            open.untold = Some(format!(
                "{}: not judged, LEAK SUMMARY counts leaks that nobody printed, and they may be of any function; run Valgrind with --leak-check=full",
                limit.text()
            ));
        }
        Ok(Some(found))
    }

    /// What a row is called where a limit is on it: a function that is called otherwise on one side is under the limits on
    /// both names.
    fn matching_name(
        &self,
        change: &Change,
        regex: Option<&Regex>,
        sides: [usize; 2],
        known: &mut HashMap<Symbol, bool>,
    ) -> Option<String> {
        let text = |symbol: Symbol| self.runs.names.symbols.text(symbol);
        let mut is_match = |symbol: Symbol| {
            regex.is_none_or(|regex| {
                *known
                    .entry(symbol)
                    .or_insert_with(|| regex.is_match(text(symbol)))
            })
        };
        let shown = change.shown.function.name?;
        if is_match(shown) {
            return Some(text(shown).to_owned());
        }
        let of = self.joined.rows[change.row].of;
        let profiles = sides.into_iter().flat_map(|side| self.runs.files_of(side));
        for profile in profiles {
            let table = self.runs.profiles[profile].table(of);
            for record in self.joined.records(change.row, profile) {
                let name = table.key(*record as usize).function.name;
                if let Some(name) = name.filter(|name| is_match(*name)) {
                    return Some(format!("{} ({})", text(shown), text(name)));
                }
            }
        }
        None
    }

    /// Whether the runs of two sides tell calls or inclusive costs, if a limit is on these; what has no records at all may
    /// tell anything.
    fn counts_figure(&self, limit: &Limit, sides: [usize; 2]) -> anyhow::Result<bool> {
        let (what, tells): (&str, fn(&Profile) -> bool) = match limit.figure {
            Limited::Cost(_) => return Ok(true),
            Limited::Incl(_) => ("inclusive cost", tells_inclusive_cost),
            Limited::Calls => ("calls", tells_calls),
        };
        let mut is_told = false;
        let mut lacking = None;
        for side in sides {
            for profile in self.runs.files_of(side) {
                let profile = &self.runs.profiles[profile];
                match profile.types().next().is_none() {
                    true => {}
                    false if tells(profile) => is_told = true,
                    false => lacking = Some(&self.runs.sides[side].0),
                }
            }
        }
        match lacking {
            None => Ok(is_told || self.has_nothing_to_find(limit)),
            Some(side) => {
                anyhow::ensure!(!is_told, "a limit is on {what}, which {side} does not tell");
                Ok(false)
            }
        }
    }

    /// True for runs of tools that look for errors and leaks where none was found: a limit on functions is on nothing then,
    /// and nothing is missing.
    fn has_nothing_to_find(&self, limit: &Limit) -> bool {
        let Some(event) = limit.event() else {
            return false;
        };
        let is_found = |profile: &Profile| {
            let Some(position) = profile.event(event) else {
                return false;
            };
            profile.types().any(|of| {
                let table = profile.table(of);
                table.counts(position)
            })
        };
        let profiles = &self.runs.profiles;
        let mut runs = profiles.iter().flat_map(Profile::runs).peekable();
        runs.peek().is_some() && runs.all(notes::is_of_findings) && !profiles.iter().any(is_found)
    }

    fn event(&self, name: &str, sides: [usize; 2]) -> anyhow::Result<Option<usize>> {
        let Some(event) = self.runs.events.iter().position(|event| event == name) else {
            return Ok(None);
        };
        anyhow::ensure!(
            !(is_of_caches(name) && notes::have_other_caches(self.runs)),
            "a limit is on {name}, and the runs have different caches; give all runs the same --I1, --D1 and --LL"
        );
        for side in sides {
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
    fn level(&self, name: &str, sides: [usize; 2]) -> Option<Figure> {
        let figure = Figure::of_profiles(self.runs, |profile| {
            let wanted = self.runs.snapshots[profile];
            let snapshot = compared(self.runs.profiles[profile].snapshots(), wanted)?;
            level_of(snapshot, name)
        });
        let has_both = figure.entries[sides[0]].is_some() && figure.entries[sides[1]].is_some();
        has_both.then_some(figure)
    }
}

/// The functions of a profile, or the arcs if it has no functions.
fn with_calls(profile: &Profile) -> Option<&Rows> {
    let tables = [RecordType::Fn, RecordType::Call].map(|of| profile.table(of));
    tables.into_iter().find(|table| !table.is_empty())
}

/// Whether the functions of a profile have call counts; all of them, as a sum over some of them would be too small.
fn tells_calls(profile: &Profile) -> bool {
    with_calls(profile).is_some_and(|table| {
        (0..table.len()).all(|record| table.numbers().calls.count(record).is_some())
    })
}

/// Whether a profile has inclusive costs.
fn tells_inclusive_cost(profile: &Profile) -> bool {
    profile.types().any(|of| {
        let table = profile.table(of);
        (0..table.len()).any(|record| table.incl(record).is_some())
    })
}

/// True for a count that depends on the caches that were simulated: misses, what was written back (`--simulate-wb`), how
/// lines were used (`--cacheuse`), and gungraun's hits.
pub(crate) fn is_of_caches(event: &str) -> bool {
    const OF_CACHES: [&str; 14] = [
        "I1m", "ILm", "D1m", "DLm", "LLm", "I2m", "D2m", "ILdm", "DLdm", "AcCost", "SpLoss",
        "L1hits", "LLhits", "RamHits",
    ];
    OF_CACHES.iter().any(|start| event.starts_with(start))
}

/// What limits can be on: the events of the runs, and the levels of Massif's snapshots.
pub(crate) fn limited_events(runs: &Runs) -> Vec<String> {
    let mut events = runs.events.clone();
    let mut profiles = runs.profiles.iter();
    if profiles.any(|profile| !profile.snapshots().is_empty()) {
        events.extend(LEVELS.map(str::to_owned));
    }
    events
}

/// The levels of a snapshot that can be limited.
const LEVELS: [&str; 3] = ["heap_bytes", "extra_bytes", "stacks_bytes"];

/// The snapshot that is compared: the one with that number, or the peak, which is the one that Massif marked, or else
/// the largest.
pub(crate) fn compared(snapshots: &[SnapshotRecord], wanted: Snapshots) -> Option<&SnapshotRecord> {
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
