//! Sampled runs: the part of a change that is chance, and the choice between counts and shares.
//!
//! The number of samples of a function varies by chance. A count of n has a standard deviation of √n. The difference of two
//! counts of the same function, n₁ and n₂, has a standard deviation of √(n₁ + n₂). If the runs took different numbers of
//! samples, N₁ and N₂, counts are not comparable, so shares are compared. With p = (n₁ + n₂) / (N₁ + N₂), the difference of
//! n₁ / N₁ and n₂ / N₂ has a standard deviation of √(p (1 − p) (1 / N₁ + 1 / N₂)). A change of at most [`Z`] standard
//! deviations does not count. Costs of other events are judged by the samples that measured them.
//!
//! Samples in bursts vary more than this. Several runs per side show it: a change within the noise of the runs does not
//! count either.

use cg_collections::sorting::Order as _;
use cg_document::number::grouped;
use cg_profile::Profile;
use cg_stream::record::{Count, RunRecord};

use crate::figures::{self, Figure};
use crate::join::Joined;
use crate::runs::{Runs, SAMPLES};

/// A change has to exceed this many standard deviations. One unchanged row in 370 still counts as changed.
pub(crate) const Z: f64 = 3.0;

/// Shares are integers in units of 1/`WHOLE`, to be compared like counts.
const WHOLE: Count = 1_000_000_000_000;

/// Durations that differ by less than this fraction count as equal.
const SAME_DURATION: f64 = 0.01;

/// When to compare shares instead of counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shares {
    /// If the durations, rates or units of the runs differ, or their totals differ by more than chance.
    #[default]
    Auto,
    Always,
    Never,
}

/// The way to compare sampled runs.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    /// The position of `samples` among the events of the runs.
    event: usize,
    /// By profile and event: the total.
    totals: Vec<Vec<Count>>,
    /// By profile: the number of samples per count.
    samples_per_count: Vec<f64>,
    /// The reason for comparing shares; `None` if counts are compared.
    why_shares: Option<String>,
}

/// The figure of a row or total on every side, as counts or shares.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    figure: Figure,
    /// By side: the samples of the figure.
    samples: Vec<f64>,
    /// By side: all samples of the run.
    all_samples: Vec<f64>,
    /// The amount of the figure per sample or, for shares, per share of the samples.
    unit: f64,
    /// For shares, the total of each side.
    whole: Option<Vec<Count>>,
}

impl Sampling {
    /// Decides how to compare the runs; `None` unless all of them are sampled.
    pub(crate) fn from_runs(runs: &Runs, shares: Shares) -> Option<Sampling> {
        let event = runs.events.iter().position(|event| event == SAMPLES)?;
        if !runs.are_sampled || !runs.is_common(event) {
            return None;
        }
        let profiles = 0..runs.profiles.len();
        let profile_totals = |profile: usize| {
            let total = |event| runs.total(profile, event).unwrap_or(0);
            (0..runs.events.len()).map(total).collect()
        };
        let mut sampling = Sampling {
            event,
            totals: profiles.clone().map(profile_totals).collect(),
            samples_per_count: profiles
                .map(|profile| samples_per_count(&runs.profiles[profile]))
                .collect(),
            why_shares: None,
        };
        sampling.why_shares = match shares {
            Shares::Never => None,
            Shares::Always => Some("--shares always was given".to_owned()),
            Shares::Auto => sampling.why_shares(runs),
        };
        Some(sampling)
    }

    /// Returns true if shares are compared.
    pub(crate) fn is_by_shares(&self) -> bool {
        self.why_shares.is_some()
    }

    /// The reason for comparing shares; `None` if counts are compared.
    pub(crate) fn why(&self) -> Option<&str> {
        self.why_shares.as_deref()
    }

    /// Returns a note for readers if shares are compared.
    pub(crate) fn note(&self) -> Option<String> {
        let why = self.why()?;
        Some(format!(
            "{why}, so shares of all samples are compared instead of counts; --shares never compares counts"
        ))
    }

    /// The event that counts samples.
    pub(crate) fn event(&self) -> usize {
        self.event
    }

    /// Returns the self or inclusive cost of a row for one event.
    pub(crate) fn row_figure(
        &self,
        runs: &Runs,
        joined: &Joined,
        row: usize,
        event: usize,
        is_inclusive: bool,
    ) -> Sampled {
        self.judged(runs, event, |profile, event| {
            figures::row_count(runs, joined, row, profile, event, is_inclusive)
        })
    }

    /// Returns the totals of an event. As shares, each total is the whole.
    pub(crate) fn total_figure(&self, runs: &Runs, event: usize) -> Sampled {
        self.judged(runs, event, |profile, event| self.totals[profile][event])
    }

    fn judged(&self, runs: &Runs, event: usize, count: impl Fn(usize, usize) -> Count) -> Sampled {
        let samples = |profile: usize| {
            let factor = self.samples_per_count[profile];
            (
                count(profile, self.event) as f64 * factor,
                self.totals[profile][self.event] as f64 * factor,
            )
        };
        let scaled = |profile: usize| {
            let count = count(profile, event);
            match self.is_by_shares() {
                true => share(count, self.totals[profile][event]),
                false => count,
            }
        };
        let figure = Figure::from_profiles(runs, |profile| Some(scaled(profile)));
        let medians = |value: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..runs.sides.len())
                .map(|side| median(runs.files_of(side).map(value).collect()))
                .collect()
        };
        let counted = medians(&|profile| samples(profile).0);
        let all = medians(&|profile| samples(profile).1);
        let sum: f64 = figure
            .entries
            .iter()
            .flatten()
            .map(|entry| *entry as f64)
            .sum();
        let sum_of_samples: f64 = match self.is_by_shares() {
            true => counted
                .iter()
                .zip(&all)
                .map(|(count, all)| count / all.max(1.0))
                .sum(),
            false => counted.iter().sum(),
        };
        Sampled {
            unit: if sum_of_samples > 0.0 {
                sum / sum_of_samples
            } else {
                0.0
            },
            figure,
            samples: counted,
            all_samples: all,
            whole: self.is_by_shares().then(|| {
                let total = |profile: usize| self.totals[profile][event];
                let sides = 0..runs.sides.len();
                sides
                    .map(|side| median(runs.files_of(side).map(total).collect()))
                    .collect()
            }),
        }
    }

    /// Returns the reason why counts are not comparable; `None` if they are.
    fn why_shares(&self, runs: &Runs) -> Option<String> {
        let records = |profile: usize| runs.profiles[profile].runs();
        let durations: Option<Vec<u64>> = (0..runs.profiles.len())
            .map(|profile| {
                let durations = records(profile).iter().map(|run| run.sampling.duration);
                let sum: Option<u64> = durations.sum();
                sum.filter(|duration| *duration > 0)
            })
            .collect();
        if let Some(durations) = durations {
            let least = durations.iter().copied().min().unwrap_or(0);
            let greatest = durations.iter().copied().max().unwrap_or(0);
            if (greatest - least) as f64 > SAME_DURATION * least as f64 {
                let seconds = |nanoseconds: u64| format!("{:.3} s", nanoseconds as f64 / 1e9);
                return Some(format!(
                    "the runs lasted {} to {}",
                    seconds(least),
                    seconds(greatest)
                ));
            }
        }
        let differ = |value: &dyn Fn(&RunRecord) -> Option<String>| {
            let mut all = (0..runs.profiles.len()).flat_map(records).map(value);
            let first = all.next().flatten();
            all.any(|other| other != first)
        };
        if differ(&|run| {
            run.sampling
                .sample_rate
                .as_ref()
                .map(|rate| rate.to_string())
        }) {
            return Some("the runs were sampled at different rates".to_owned());
        }
        if differ(&|run| run.sampling.units.get(SAMPLES).cloned()) {
            return Some("the runs count samples in different units".to_owned());
        }
        let totals = self.totals_by_count(runs);
        let differs = (0..runs.sides.len()).any(|a| (0..a).any(|b| totals.differs(b, a)));
        let list = || -> Vec<String> {
            let totals = totals.figure.entries.iter().flatten();
            totals.map(|total| grouped(*total)).collect()
        };
        differs.then(|| {
            format!(
                "the runs took {} samples, which differ by more than chance",
                list().join(" and ")
            )
        })
    }

    fn totals_by_count(&self, runs: &Runs) -> Sampled {
        Sampling {
            why_shares: None,
            ..self.clone()
        }
        .total_figure(runs, self.event)
    }
}

impl Sampled {
    /// Returns true if two sides differ by more than chance, and by more than the noise of their files.
    pub(crate) fn differs(&self, from: usize, to: usize) -> bool {
        self.figure.change(from, to).abs() > self.noise(from, to)
    }

    /// Returns the change from one side to another, in counts or in parts of [`WHOLE`].
    pub(crate) fn change(&self, from: usize, to: usize) -> Count {
        self.figure.change(from, to)
    }

    /// Returns the change in standard deviations of chance.
    pub(crate) fn z(&self, from: usize, to: usize) -> f64 {
        match self.deviation(from, to) {
            0.0 => 0.0,
            deviation => self.change(from, to) as f64 / deviation,
        }
    }

    /// Returns the old figure, the new figure and the maximum change by chance, as counts. Shares are scaled to the total
    /// of the old side.
    pub(crate) fn in_counts(&self, from: usize, to: usize) -> (Count, Count, Count) {
        let entry = |side: usize| self.figure.entries[side].unwrap_or(0);
        let noise = self.noise(from, to);
        match &self.whole {
            None => (entry(from), entry(to), noise),
            Some(wholes) => {
                let scaled =
                    |share: Count| rounded(share as f64 / WHOLE as f64 * wholes[from] as f64);
                (scaled(entry(from)), scaled(entry(to)), scaled(noise))
            }
        }
    }

    /// The total that the shares of this side refer to; `None` for counts.
    pub(crate) fn whole(&self, side: usize) -> Option<Count> {
        self.whole.as_ref().map(|wholes| wholes[side])
    }

    /// Returns the greatest difference between two sides that does not count as a change.
    fn noise(&self, from: usize, to: usize) -> Count {
        let chance = Z * self.deviation(from, to);
        // Rounded down: changes are integers, and one exactly at the limit counts as noise.
        self.figure.noise(from, to).max(chance.floor() as Count)
    }

    /// Returns the standard deviation of the difference of two sides.
    fn deviation(&self, from: usize, to: usize) -> f64 {
        let sum = self.samples[from] + self.samples[to];
        let deviation = match &self.whole {
            None => sum.max(0.0).sqrt(),
            Some(_) => {
                let (a, b) = (self.all_samples[from], self.all_samples[to]);
                if a <= 0.0 || b <= 0.0 {
                    return 0.0;
                }
                let share = (sum / (a + b)).clamp(0.0, 1.0);
                (share * (1.0 - share) * (1.0 / a + 1.0 / b)).sqrt()
            }
        };
        deviation * self.unit
    }
}

/// Returns a count as a share of its total, in parts of [`WHOLE`].
fn share(count: Count, total: Count) -> Count {
    match total {
        0 => 0,
        total => rounded(count as f64 / total as f64 * WHOLE as f64),
    }
}

fn rounded(number: f64) -> Count {
    number.round() as Count
}

/// Returns the median; for an even number of items, the lower one.
fn median<T: PartialOrd + Copy + Default>(mut numbers: Vec<T>) -> T {
    numbers.order_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let middle = numbers.len().saturating_sub(1) / 2;
    numbers.get(middle).copied().unwrap_or_default()
}

/// Returns the number of samples per count. Profiles with fractions of samples have a unit such as `0.001 samples`.
fn samples_per_count(profile: &Profile) -> f64 {
    let unit = profile
        .runs()
        .first()
        .and_then(|run| run.sampling.units.get(SAMPLES));
    let factor = unit.and_then(|unit| unit.split(' ').next()?.parse().ok());
    factor
        .filter(|factor: &f64| *factor > 0.0 && factor.is_finite())
        .unwrap_or(1.0)
}

#[cfg(test)]
mod tests;
