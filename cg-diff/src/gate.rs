//! Checks a comparison against limits.

use std::collections::HashMap;

use cg_collections::sorting::Order as _;
use cg_document::number;
use cg_profile::{Profile, Rows, Symbol};
use cg_stream::record::{Count, RecordType, SnapshotRecord, Tool};
use cg_tool::Diagnostics;
use regex::Regex;

use crate::caches;
use crate::compare::{Change, Comparison};
use crate::figures::{self, Figure};
use crate::join::Joined;
use crate::leak_kinds::{self, NOT_PRINTED};
use crate::limits::{Limit, LimitAnswer, Limited, Measured, Scope};
use crate::runs::{self, Runs};
use crate::sampling::{Sampled, Sampling};
use crate::unjudged::Judged;

/// The maximum number of functions to name per broken limit.
const MOST_NAMED: usize = 10;

/// The result of checking limits.
#[derive(Debug, Default)]
pub(crate) struct JudgedLimits {
    /// A message for each figure that breaks a limit, in the order of the limits.
    pub(crate) broken: Vec<String>,
    /// For each limit, to what extent it was judged.
    pub(crate) judged: Vec<Judged>,
}

/// Checks a comparison against limits. A limit on an event that only some runs count is an error.
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
        // Equal runs are judged exactly, without an allowance for chance.
        sampling: (options.sampling).filter(|_| !are_equal(comparison)),
    };
    let mut judgement = JudgedLimits::default();
    for limit in limits {
        let limit = &limit.in_parts(parts_of_unit(runs, limit));
        let mut found = Vec::new();
        let mut judged = Judged::default();
        let mut undecided = Undecided::default();
        for sides in options.pairs(runs, limit.is_on_any) {
            match gate.find_broken(limit, sides, &mut undecided) {
                Ok((so_far, broken)) => {
                    judged = judged.max(so_far);
                    found.extend(broken);
                }
                Err(error) => {
                    diagnostics.error(error);
                    judged = Judged::Fully;
                }
            }
        }
        judgement.judged.push(judged);
        // A limit that one figure certainly breaks is broken, even if other figures are undecided.
        if found.is_empty() {
            undecided.report(limit, diagnostics);
        }
        found.order_by(|(a, a_broken), (b, b_broken)| {
            a.cmp(b)
                .then_with(|| a_broken.subject.cmp(&b_broken.subject))
        });
        if matches!(limit.scope, Scope::Worst(_)) {
            found.truncate(1);
        }
        let named = found.iter().take(MOST_NAMED);
        let sentences = named.map(|(_, broken)| limit.sentence(broken));
        judgement.broken.extend(sentences);
        if found.len() > MOST_NAMED {
            judgement.broken.push(format!(
                "{}: {} this limit",
                limit.text(),
                number::plural(
                    (found.len() - MOST_NAMED) as Count,
                    "more function breaks",
                    "more functions break"
                )
            ));
        }
    }
    judgement
}

/// Returns the number of parts in which the limited event is counted: 1,000 if its unit is `0.001 ns`. Limits are in whole
/// units.
fn parts_of_unit(runs: &Runs, limit: &Limit) -> Count {
    let units = (runs.profiles.iter().flat_map(Profile::runs))
        .filter(|run| run.tool == Some(Tool::Criterion))
        .filter_map(|run| run.sampling.units.get(limit.event()?));
    let is_in_parts = units.into_iter().any(|unit| unit.starts_with("0.001 "));
    if is_in_parts { 1_000 } else { 1 }
}

/// The figures for which a limit is neither broken nor clearly kept.
#[derive(Default)]
struct Undecided {
    /// Figures for which chance decides whether they break the limit.
    by_chance: Vec<Measured>,
    /// Figures beyond the limit whose change is within noise and therefore does not count.
    excused: Vec<Measured>,
    /// Figures for which places below Massif's threshold decide whether they break the limit.
    by_threshold: Vec<Measured>,
    /// Figures of which only an upper bound is known, which is beyond the limit.
    by_bound: Vec<Measured>,
    /// A message about a function whose figure is unknown.
    unknown: Option<String>,
}

impl Undecided {
    fn report(&mut self, limit: &Limit, diagnostics: &mut Diagnostics) {
        let limit_text = limit.text();
        if let Some(figures) = describe_greatest(&mut self.by_chance) {
            diagnostics.error(format!(
                "{limit_text}: not judged, sampling error is too large: {figures}; record longer runs"
            ));
        }
        if let Some(figures) = describe_greatest(&mut self.by_threshold) {
            diagnostics.error(format!(
                "{limit_text}: not judged: {figures}; rerun Massif with --threshold=0"
            ));
        }
        if let Some(figures) = describe_greatest(&mut self.by_bound) {
            diagnostics.error(format!(
                "{limit_text}: not judged, because only an upper bound of the inclusive cost is known: {figures}; cg-parse --inline --calls gives closer bounds"
            ));
        }
        if let Some(sentence) = self.unknown.take() {
            diagnostics.error(sentence);
        }
        if let Some(figures) = describe_greatest(&mut self.excused) {
            diagnostics.warn(format!(
                "{limit_text}: not broken, the change is within noise: {figures}; add runs to reduce the noise"
            ));
        }
    }
}

/// Describes the greatest figure and counts the others; `None` if there are no figures.
fn describe_greatest(figures: &mut [Measured]) -> Option<String> {
    figures.order_by(|a, b| b.new.cmp(&a.new).then_with(|| a.subject.cmp(&b.subject)));
    let (first, others) = figures.split_first()?;
    Some(match others.len() {
        0 => first.to_string(),
        count => {
            let more = number::plural(count as Count, "more function", "more functions");
            format!("{first}; also {more}")
        }
    })
}

/// Returns true if all figures of the runs are equal.
fn are_equal(comparison: &Comparison) -> bool {
    comparison.changes.iter().all(|change| {
        let figures = figures::row_figures(comparison.runs, comparison.joined, change.row);
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
    /// The allowance for chance; `None` unless the runs are sampled and differ.
    sampling: Option<&'a Sampling>,
}

impl Gate<'_> {
    /// Finds the figures that break a limit between an old and a new side.
    fn find_broken(
        &self,
        limit: &Limit,
        sides: [usize; 2],
        undecided: &mut Undecided,
    ) -> anyhow::Result<(Judged, Vec<Ranked>)> {
        let not_measured = self.runs.leak_kinds.not_measured.as_ref();
        if let Some(why) = not_measured.filter(|_| limit.is_on_leaks()) {
            anyhow::bail!("{}: not judged, {why}", limit.text());
        }
        // Skip limits on leaks here: the reason was already reported as an error.
        if limit.is_on_leaks() && !self.runs.leak_kinds.doubts.is_empty() {
            return Ok((Judged::Fully, Vec::new()));
        }
        if !self.counts_figure(limit, sides)? {
            return Ok((Judged::NotCounted, Vec::new()));
        }
        let found = match &limit.scope {
            Scope::Total => self.total(limit, sides)?.map(|total| vec![total]),
            Scope::Functions(regex) => self.functions(limit, Some(regex), sides, undecided)?,
            Scope::Worst(regex) => self.functions(limit, regex.as_ref(), sides, undecided)?,
        };
        let run = limit.is_on_any.then(|| self.runs.sides[sides[1]].0.clone());
        let Some(found) = found else {
            return Ok((Judged::NotCounted, Vec::new()));
        };
        let is_unmatched = found.is_empty() && undecided.unknown.is_none();
        let judged = match is_unmatched && !self.has_nothing_to_find(limit) {
            true => Judged::Unmatched,
            false => Judged::Fully,
        };
        let mut broken = Vec::new();
        for mut figure in found {
            figure.run.clone_from(&run);
            let (old, new) = (figure.old.unwrap_or(0), figure.new.unwrap_or(0));
            let answer = match (figure.chance, figure.hidden) {
                _ if figure.is_bound => Some(limit.answer_up_to([0, 0], [old, new])),
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
                        _ if figure.is_bound => undecided.by_bound.push(figure),
                        Some(_) => undecided.by_chance.push(figure),
                        None => undecided.by_threshold.push(figure),
                    }
                    continue;
                }
            };
            if is_broken {
                let delta = new - old;
                broken.push((if limit.is_upper() { -delta } else { delta }, figure));
            } else if figure.noise.is_some() && limit.is_broken(figure.old, figure.new) {
                undecided.excused.push(figure);
            }
        }
        Ok((judged, broken))
    }

    /// Converts a figure to compare it with a limit.
    fn measured(&self, subject: String, figure: &Figure, sides: [usize; 2]) -> Measured {
        Measured {
            subject,
            old: figure.entries[sides[0]],
            new: figure.entries[sides[1]],
            noise: (self.has_noise(sides) || figure.has_intervals(sides[0], sides[1]))
                .then(|| figure.noise(sides[0], sides[1])),
            ..Measured::default()
        }
    }

    /// Converts a sampled figure to compare it with a limit. Shares become counts at the old side's number of samples.
    fn sampled(subject: String, figure: &Sampled, sides: [usize; 2]) -> Measured {
        let (old, new, chance) = figure.in_counts(sides[0], sides[1]);
        Measured {
            subject,
            old: Some(old),
            new: Some(new),
            chance: Some(chance),
            whole: figure.whole(sides[0]),
            ..Measured::default()
        }
    }

    /// Returns true if a side has several files, so that noise can be measured.
    fn has_noise(&self, sides: [usize; 2]) -> bool {
        (sides.iter()).any(|side| self.runs.files_of(*side).len() > 1)
    }

    /// Returns the limited total; `None` if no run counts it.
    fn total(&self, limit: &Limit, sides: [usize; 2]) -> anyhow::Result<Option<Measured>> {
        let subject = "the total".to_owned();
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
                            "{}: not judged, the totals are not comparable: {}; --shares never compares the totals",
                            limit.text(),
                            sampling.why().unwrap_or_default()
                        );
                        let total = sampling.total_figure(self.runs, event);
                        return Ok(Some(Gate::sampled(subject, &total, sides)));
                    }
                    figures::totals(self.runs).swap_remove(event)
                }
            },
            Limited::Calls => Figure::from_profiles(self.runs, |profile| {
                let table = with_calls(&self.runs.profiles[profile])?;
                Some((0..table.len()).map(|record| table.calls(record)).sum())
            }),
        };
        Ok(Some(self.measured(subject, &figure, sides)))
    }

    /// Returns the figures of the functions that a limit applies to; `None` if no run counts the limited event.
    fn functions(
        &self,
        limit: &Limit,
        regex: Option<&Regex>,
        sides: [usize; 2],
        undecided: &mut Undecided,
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
            let mut figures = figures::row_figures(self.runs, self.joined, change.row);
            let is_bound = is_inclusive && !figures.incl_bound.is_empty();
            let figure = match (&limit.figure, event) {
                (Limited::Cost(_), Some(event)) => figures.cost.into_iter().nth(event),
                (Limited::Incl(_), Some(event)) => match is_bound {
                    true => figures.incl_bound.into_iter().nth(event),
                    false => figures.incl.into_iter().nth(event),
                },
                _ => figures.calls.take(),
            };
            let Some(figure) = figure else {
                // An arc or a line may lack a figure that its function has.
                if row.kind == RecordType::Fn {
                    undecided.unknown.get_or_insert_with(|| {
                        format!(
                            "{}: not judged, the figure is unknown for {name}, which combines several functions; --exact keeps functions separate",
                            limit.text()
                        )
                    });
                }
                continue;
            };
            found.push(match (self.sampling, event, limit.is_level()) {
                (Some(sampling), Some(event), false) => {
                    let figure = sampling.row_figure(
                        self.runs,
                        self.joined,
                        change.row,
                        event,
                        is_inclusive,
                    );
                    Gate::sampled(name, &figure, sides)
                }
                _ => Measured {
                    is_bound,
                    hidden: (self.joined.cost_below_threshold(change.row))
                        .and_then(|hidden| hidden.between(sides, is_inclusive)),
                    ..self.measured(name, &figure, sides)
                },
            });
        }
        let is_not_printed = |measured: &Measured| measured.subject == NOT_PRINTED;
        if let Some(name) = limit.event()
            && self.runs.leak_kinds.differ_unprinted(name)
            && !found.iter().any(is_not_printed)
        {
            undecided.unknown = Some(format!(
                "{}: not judged, LEAK SUMMARY counts leaks without a loss record; rerun Valgrind with --leak-check=full",
                limit.text()
            ));
        }
        Ok(Some(found))
    }

    /// Returns the name of a row if the limit applies to the row. A function with different names on the two sides is
    /// subject to the limits on both names.
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
        let kind = self.joined.rows[change.row].kind;
        let profiles = sides.into_iter().flat_map(|side| self.runs.files_of(side));
        for profile in profiles {
            let table = self.runs.profiles[profile].table(kind);
            for record in self.joined.records(change.row, profile) {
                let name = table.function(*record as usize).name;
                if let Some(name) = name.filter(|name| is_match(*name)) {
                    return Some(format!("{} ({})", text(shown), text(name)));
                }
            }
        }
        None
    }

    /// Returns true if the runs of two sides record the calls or inclusive costs that a limit needs. Runs without any
    /// records are accepted.
    fn counts_figure(&self, limit: &Limit, sides: [usize; 2]) -> anyhow::Result<bool> {
        let (what, has_figure): (&str, fn(&Profile) -> bool) = match limit.figure {
            Limited::Cost(_) => return Ok(true),
            Limited::Incl(_) => ("inclusive cost", has_inclusive_cost),
            Limited::Calls => ("call counts", has_calls),
        };
        let mut is_recorded = false;
        let mut lacking = None;
        for side in sides {
            for profile in self.runs.files_of(side) {
                let profile = &self.runs.profiles[profile];
                match profile.types().next().is_none() {
                    true => {}
                    false if has_figure(profile) => is_recorded = true,
                    false => lacking = Some(&self.runs.sides[side].0),
                }
            }
        }
        match lacking {
            None => Ok(is_recorded || self.has_nothing_to_find(limit)),
            Some(side) => {
                anyhow::ensure!(
                    !is_recorded,
                    "a limit needs {what}, which {side} does not record; use profiles of the same tool for all runs"
                );
                Ok(false)
            }
        }
    }

    /// Returns true if the tools look for errors and leaks, and none was found. A limit on functions is then not unmatched.
    fn has_nothing_to_find(&self, limit: &Limit) -> bool {
        let Some(event) = limit.event() else {
            return false;
        };
        let is_found = |profile: &Profile| {
            let Some(position) = profile.event(event) else {
                return false;
            };
            profile.types().any(|kind| {
                let table = profile.table(kind);
                table.counts(position)
            })
        };
        let profiles = &self.runs.profiles;
        let mut runs = profiles.iter().flat_map(Profile::runs).peekable();
        runs.peek().is_some()
            && runs.all(leak_kinds::looks_for_findings)
            && !profiles.iter().any(is_found)
    }

    fn event(&self, name: &str, sides: [usize; 2]) -> anyhow::Result<Option<usize>> {
        let Some(event) = self.runs.events.iter().position(|event| event == name) else {
            return Ok(None);
        };
        anyhow::ensure!(
            !(caches::is_cache_event(name) && caches::have_different_caches(self.runs)),
            "a limit needs {name}, but the runs have different caches; give all runs the same --I1, --D1 and --LL"
        );
        for side in sides {
            for profile in self.runs.files_of(side) {
                anyhow::ensure!(
                    self.runs.counts(profile, event),
                    "a limit needs {name}, which {} does not count; use runs that count the same events",
                    self.runs.sides[side].0
                );
            }
        }
        Ok(Some(event))
    }

    /// Returns a level of the compared Massif snapshots; no total includes these levels.
    fn level(&self, name: &str, sides: [usize; 2]) -> Option<Figure> {
        let figure = Figure::from_profiles(self.runs, |profile| {
            let wanted = self.runs.snapshots[profile];
            let snapshot =
                runs::compared_snapshot(self.runs.profiles[profile].snapshots(), wanted)?;
            snapshot_level(snapshot, name)
        });
        let has_both = figure.entries[sides[0]].is_some() && figure.entries[sides[1]].is_some();
        has_both.then_some(figure)
    }
}

/// Returns the functions of a profile, or the arcs if it has no functions.
fn with_calls(profile: &Profile) -> Option<&Rows> {
    let tables = [RecordType::Fn, RecordType::Call].map(|kind| profile.table(kind));
    tables.into_iter().find(|table| !table.is_empty())
}

/// Returns true if all functions of a profile have call counts. A sum over some of the functions would be too small.
fn has_calls(profile: &Profile) -> bool {
    with_calls(profile).is_some_and(|table| {
        (0..table.len()).all(|record| table.numbers().calls.count(record).is_some())
    })
}

fn has_inclusive_cost(profile: &Profile) -> bool {
    profile.types().any(|kind| {
        let table = profile.table(kind);
        (0..table.len()).any(|record| table.incl_or_bound(record).is_some())
    })
}

/// Returns the events that can be limited: the events of the runs, and the levels of Massif's snapshots.
pub(crate) fn limited_events(runs: &Runs) -> Vec<String> {
    let mut events = runs.events.clone();
    let mut profiles = runs.profiles.iter();
    if profiles.any(|profile| !profile.snapshots().is_empty()) {
        events.extend(LEVELS.map(str::to_owned));
    }
    events
}

/// The levels of a snapshot, by field name.
const LEVELS: [&str; 3] = ["heap_bytes", "extra_bytes", "stacks_bytes"];

fn snapshot_level(snapshot: &SnapshotRecord, name: &str) -> Option<Count> {
    let level = match name {
        "heap_bytes" => snapshot.heap_bytes,
        "extra_bytes" => snapshot.extra_bytes,
        "stacks_bytes" => snapshot.stacks_bytes,
        _ => return None,
    };
    Some(level.into())
}

#[cfg(test)]
mod tests;
