//! Sampled runs: what of a change is chance, and whether counts or shares are compared.
//!
//! How often a function is met in samples varies by itself: a count of n has a standard deviation of √n, and two counts of
//! the same thing, n₁ and n₂, differ by one of √(n₁ + n₂). Where the runs took other numbers of samples, N₁ and N₂, counts
//! say nothing of each other, and shares are compared: with p = (n₁ + n₂) / (N₁ + N₂), n₁ / N₁ and n₂ / N₂ differ by chance
//! with a standard deviation of √(p (1 − p) (1 / N₁ + 1 / N₂)). A change of no more than [`Z`] of these is none. Costs in
//! other events than `samples` go with the samples that they were measured by.
//!
//! Samples that come in bursts vary more than this says. Several runs a side tell: what they differ by among themselves is
//! no change either.

use cg_document::number::grouped;
use cg_stream::profile::Profile;
use cg_stream::record::{Count, RunRecord};
use cg_stream::sorting::Order as _;

use crate::figures::{self, Figure};
use crate::join::Joined;
use crate::runs::{Runs, SAMPLES};

/// A change has to exceed this many standard deviations: one unchanged row in 370 is still taken for a changed one.
pub(crate) const Z: f64 = 3.0;

/// Shares are integers in units of 1/`WHOLE`, so that they can be compared like counts.
const WHOLE: Count = 1_000_000_000_000;

/// Durations that differ by less than this fraction count as equal.
const SAME_DURATION: f64 = 0.01;

/// When shares are compared in place of counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shares {
    /// Where the runs took other numbers of samples than chance explains, or took them otherwise.
    #[default]
    Auto,
    Always,
    Never,
}

/// How sampled runs are compared.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    /// The position of `samples` among the events of the runs.
    event: usize,
    /// By profile and event: the total.
    totals: Vec<Vec<Count>>,
    /// By profile: how many samples a count stands for.
    samples_per_count: Vec<f64>,
    /// Why shares are compared, if they are.
    why_shares: Option<String>,
}

/// The figure of a row or total on every side, as it is judged: counts, or shares.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    figure: Figure,
    /// By side: the samples that the figure is of, and all of the run.
    samples: Vec<f64>,
    of: Vec<f64>,
    /// How much of the figure one sample stands for; of shares, one share of the samples.
    unit: f64,
    /// For shares, the total of each side.
    whole: Option<Vec<Count>>,
}

impl Sampling {
    /// How to compare the runs, where all of them were sampled.
    pub(crate) fn of(runs: &Runs, shares: Shares) -> Option<Sampling> {
        let event = runs.events.iter().position(|event| event == SAMPLES)?;
        if !runs.are_sampled || !runs.is_common(event) {
            return None;
        }
        let profiles = 0..runs.profiles.len();
        let totals_of = |profile: usize| {
            let total = |event| runs.total(profile, event).unwrap_or(0);
            (0..runs.events.len()).map(total).collect()
        };
        let mut sampling = Sampling {
            event,
            totals: profiles.clone().map(totals_of).collect(),
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

    /// True where shares are compared.
    pub(crate) fn is_by_shares(&self) -> bool {
        self.why_shares.is_some()
    }

    /// Why counts cannot be compared, if shares are compared instead.
    pub(crate) fn why(&self) -> Option<&str> {
        self.why_shares.as_deref()
    }

    /// A note for readers, if shares are compared.
    pub(crate) fn note(&self) -> Option<String> {
        let why = self.why()?;
        Some(format!(
            "{why}: shares of all samples are compared, not counts (--shares never compares counts)"
        ))
    }

    /// The event that counts samples.
    pub(crate) fn event(&self) -> usize {
        self.event
    }

    /// Self or inclusive cost of a row in one event, as it is judged.
    pub(crate) fn of_row(
        &self,
        runs: &Runs,
        joined: &Joined,
        row: usize,
        event: usize,
        is_inclusive: bool,
    ) -> Sampled {
        self.judged(runs, event, |profile, event| {
            figures::count_of(runs, joined, row, profile, event, is_inclusive)
        })
    }

    /// The totals of an event; as shares each of them is simply the whole.
    pub(crate) fn of_totals(&self, runs: &Runs, event: usize) -> Sampled {
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
        let figure = Figure::of_profiles(runs, |profile| Some(scaled(profile)));
        let medians = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..runs.sides.len())
                .map(|side| median(runs.files_of(side).map(of).collect()))
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
        let of_sum: f64 = match self.is_by_shares() {
            true => counted
                .iter()
                .zip(&all)
                .map(|(count, all)| count / all.max(1.0))
                .sum(),
            false => counted.iter().sum(),
        };
        Sampled {
            unit: if of_sum > 0.0 { sum / of_sum } else { 0.0 },
            figure,
            samples: counted,
            of: all,
            whole: self.is_by_shares().then(|| {
                let total = |profile: usize| self.totals[profile][event];
                let sides = 0..runs.sides.len();
                sides
                    .map(|side| median(runs.files_of(side).map(total).collect()))
                    .collect()
            }),
        }
    }

    /// Why counts cannot be compared, if so.
    fn why_shares(&self, runs: &Runs) -> Option<String> {
        let of_runs = |profile: usize| runs.profiles[profile].runs();
        let durations: Option<Vec<u64>> = (0..runs.profiles.len())
            .map(|profile| {
                let durations = of_runs(profile).iter().map(|run| run.sampling.duration);
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
        let differ = |said: &dyn Fn(&RunRecord) -> Option<String>| {
            let mut all = (0..runs.profiles.len()).flat_map(of_runs).map(said);
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
        let totals = self.of_totals_by_count(runs);
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

    fn of_totals_by_count(&self, runs: &Runs) -> Sampled {
        Sampling {
            why_shares: None,
            ..self.clone()
        }
        .of_totals(runs, self.event)
    }
}

impl Sampled {
    /// True where two sides differ by more than chance, and by more than the files of each of them do.
    pub(crate) fn differs(&self, from: usize, to: usize) -> bool {
        self.figure.change(from, to).abs() > self.noise(from, to)
    }

    /// The change from one side to another, in counts or parts of the whole.
    pub(crate) fn change(&self, from: usize, to: usize) -> Count {
        self.figure.change(from, to)
    }

    /// The change in standard deviations of chance.
    pub(crate) fn z(&self, from: usize, to: usize) -> f64 {
        match self.deviation(from, to) {
            0.0 => 0.0,
            deviation => self.change(from, to) as f64 / deviation,
        }
    }

    /// The old figure, the new one and what they may differ by through chance, as counts. Shares are scaled to the
    /// total of the old side.
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

    /// The greatest difference between two sides that still counts as no change.
    fn noise(&self, from: usize, to: usize) -> Count {
        let chance = Z * self.deviation(from, to);
        // Rounded down: changes are integers, and one exactly at the limit counts as noise.
        self.figure.noise(from, to).max(chance.floor() as Count)
    }

    /// The standard deviation of the difference of two sides.
    fn deviation(&self, from: usize, to: usize) -> f64 {
        let sum = self.samples[from] + self.samples[to];
        let deviation = match &self.whole {
            None => sum.max(0.0).sqrt(),
            Some(_) => {
                let (a, b) = (self.of[from], self.of[to]);
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

/// A count as a share of its total, in parts of [`WHOLE`].
fn share(count: Count, total: Count) -> Count {
    match total {
        0 => 0,
        total => rounded(count as f64 / total as f64 * WHOLE as f64),
    }
}

fn rounded(number: f64) -> Count {
    number.round() as Count
}

/// The middle one, of an even number the lower of the two.
fn median<T: PartialOrd + Copy + Default>(mut numbers: Vec<T>) -> T {
    numbers.order_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let middle = numbers.len().saturating_sub(1) / 2;
    numbers.get(middle).copied().unwrap_or_default()
}

/// How many samples a count stands for: fractions in a profile are counted in a unit such as `0.001 samples`.
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
