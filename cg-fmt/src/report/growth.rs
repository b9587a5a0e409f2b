//! The growth of memory over a run, in one sentence with the figures behind the judgement.
//!
//! The total of a snapshot is valid until the next snapshot, so shares of time come from a step function. The fall at the
//! end of a run, when a program frees its memory, is not growth. So the judgement covers the run up to the last snapshot
//! with at least half of the peak.

use std::fmt;

use cg_document::{Point, number};
use cg_stream::record::Count;

/// The shape of memory over time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Growth {
    /// Fewer than five snapshots, or too few of them with memory.
    TooFew,
    /// All snapshots are empty.
    NoMemory,
    /// All snapshots have the same time.
    NoTime,
    /// It falls deeply several times.
    Sawtooth {
        falls: usize,
        deepest: u64,
        peak: u64,
    },
    /// It rises along a line until the end.
    Linear { fit: f64, per_unit: f64 },
    /// It is near the peak for most of the time.
    Plateau { share_of_time: f64, rise: f64 },
    /// It still rises when the run ends, but not along a line.
    Unbounded { second_half: f64 },
    /// Any other shape: the peak does not last.
    Hump { peak_at: f64 },
}

/// The minimum share of the peak for a deep fall.
const DEEP_FALL: f64 = 0.2;
/// The minimum number of deep falls for a sawtooth.
const SAWTEETH: usize = 3;
/// The minimum fit (R²) for linear growth.
const LINE: f64 = 0.95;
/// The minimum share of the peak for a total near the peak.
const NEAR_PEAK: f64 = 0.9;
/// The minimum share of time near the peak for a plateau.
const PLATEAU: f64 = 0.5;
/// The minimum rise in the second half for unbounded growth, as a share of the peak.
const STILL_RISING: f64 = 0.25;
/// The minimum share of the peak for a run that ends at its peak.
const AT_PEAK: f64 = 0.95;
/// If the judged part is at least this share of the whole time, its end counts as the end of the run.
const MOST_OF_THE_RUN: f64 = 0.9;

impl Growth {
    /// Judges snapshots, which must be sorted by time.
    pub(crate) fn judge(points: &[Point]) -> Growth {
        let peak = points.iter().map(|point| point.total).max().unwrap_or(0);
        let start = points.first().map_or(0.0, |point| point.time);
        let end = points.last().map_or(0.0, |point| point.time);
        if points.len() < 5 {
            return Growth::TooFew;
        }
        if peak == 0 {
            return Growth::NoMemory;
        }
        if end <= start {
            return Growth::NoTime;
        }
        let last_high = points
            .iter()
            .rposition(|point| point.total.saturating_mul(2) >= peak);
        let Some(last_high) = last_high.filter(|last_high| *last_high >= 2) else {
            return Growth::TooFew;
        };
        let judged = &points[..=last_high];
        let (falls, deepest) = deep_falls(judged, peak);
        if falls >= SAWTEETH {
            return Growth::Sawtooth {
                falls,
                deepest,
                peak,
            };
        }
        let high_until = points.get(last_high + 1).map_or(end, |point| point.time);
        let lasts = (high_until - start) / (end - start) >= MOST_OF_THE_RUN;
        let last = judged[judged.len() - 1];
        let ends_at_peak = last.total as f64 >= AT_PEAK * peak as f64;
        if lasts && ends_at_peak {
            let (fit, per_unit) = line(judged);
            if fit >= LINE && per_unit > 0.0 {
                return Growth::Linear { fit, per_unit };
            }
        }
        let near = |point: &Point| point.total as f64 >= NEAR_PEAK * peak as f64;
        let share_of_time = share_of_time(points, near);
        if share_of_time >= PLATEAU {
            let reached = points.iter().find(|point| near(point));
            let rise = reached.map_or(0.0, |point| (point.time - start) / (end - start));
            return Growth::Plateau {
                share_of_time,
                rise,
            };
        }
        let middle = start + (last.time - start) / 2.0;
        let at_middle = judged.iter().rfind(|point| point.time <= middle);
        let at_middle = at_middle.map_or(0, |point| point.total);
        let second_half = (last.total as f64 - at_middle as f64) / peak as f64;
        if lasts && ends_at_peak && second_half >= STILL_RISING {
            return Growth::Unbounded { second_half };
        }
        let at_peak = points.iter().find(|point| point.total == peak);
        Growth::Hump {
            peak_at: at_peak.map_or(0.0, |point| (point.time - start) / (end - start)),
        }
    }

    /// Returns the two ends of the line, if growth is linear. The second end is the last point with at least half of the
    /// peak.
    pub(crate) fn line(&self, points: &[Point]) -> Option<[Point; 2]> {
        let Growth::Linear { per_unit, .. } = self else {
            return None;
        };
        let peak = points.iter().map(|point| point.total).max()?;
        let last = points
            .iter()
            .rfind(|point| point.total.saturating_mul(2) >= peak)?;
        let first = points.first()?;
        let before = last.total as f64 - per_unit * (last.time - first.time);
        let start = Point {
            time: first.time,
            // The cast saturates.
            total: before.max(0.0) as u64,
        };
        Some([start, *last])
    }

    /// Returns the sentence, with the run's unit of time.
    pub(crate) fn sentence(&self, time_unit: &str) -> String {
        let percent = |share: f64| number::percent(share * 100.0);
        match self {
            Growth::TooFew => "growth: not judged, there are too few snapshots".to_owned(),
            Growth::NoMemory => "growth: none, all snapshots are empty".to_owned(),
            Growth::NoTime => "growth: not judged, all snapshots have the same time".to_owned(),
            Growth::Sawtooth {
                falls,
                deepest,
                peak,
            } => format!(
                "growth: sawtooth ({} of at least {}% of the peak, the deepest {} of {})",
                number::plural(*falls as Count, "fall", "falls"),
                DEEP_FALL * 100.0,
                number::grouped((*deepest).into()),
                number::plural((*peak).into(), "byte", "bytes"),
            ),
            Growth::Linear { fit, per_unit } => format!(
                "growth: linear growth ({} bytes per {time_unit} until the end; a line fits with R² {fit:.3})",
                Significant(*per_unit),
            ),
            Growth::Plateau {
                share_of_time,
                rise,
            } => format!(
                "growth: plateau (within 10% of the peak for {} of the time, first after {})",
                percent(*share_of_time),
                percent(*rise),
            ),
            Growth::Unbounded { second_half } => format!(
                "growth: unbounded growth (the run ends at its peak, and {} of it came in the second half)",
                percent(*second_half),
            ),
            Growth::Hump { peak_at } => format!(
                "growth: no lasting pattern (the peak, after {} of the time, does not last)",
                percent(*peak_at),
            ),
        }
    }
}

/// Returns the number of deep falls and the deepest one. After a deep fall, the total has to rise by as much before the next
/// fall counts.
fn deep_falls(points: &[Point], peak: u64) -> (usize, u64) {
    let deep = DEEP_FALL * peak as f64;
    let (mut falls, mut deepest) = (0, 0);
    let (mut high, mut low) = (0, u64::MAX);
    let mut is_falling = false;
    for point in points {
        if is_falling {
            low = low.min(point.total);
            deepest = deepest.max(high - low);
            if (point.total - low) as f64 >= deep {
                is_falling = false;
                high = point.total;
            }
        } else {
            high = high.max(point.total);
            if (high - point.total) as f64 >= deep {
                falls += 1;
                is_falling = true;
                low = point.total;
                deepest = deepest.max(high - low);
            }
        }
    }
    (falls, deepest)
}

/// Returns the share of time in which the total satisfies `matches`.
fn share_of_time(points: &[Point], matches: impl Fn(&Point) -> bool) -> f64 {
    let whole: f64 = points
        .windows(2)
        .map(|pair| pair[1].time - pair[0].time)
        .sum();
    let matching: f64 = points
        .windows(2)
        .filter(|pair| matches(&pair[0]))
        .map(|pair| pair[1].time - pair[0].time)
        .sum();
    matching / whole
}

/// Returns R² and the slope of the least-squares line through the points.
fn line(points: &[Point]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |value: fn(&Point) -> f64| points.iter().map(value).sum::<f64>() / count;
    let time = mean(|point| point.time);
    let total = mean(|point| point.total as f64);
    let (mut covariance, mut time_variance, mut total_variance) = (0.0, 0.0, 0.0);
    for point in points {
        let (x, y) = (point.time - time, point.total as f64 - total);
        covariance += x * y;
        time_variance += x * x;
        total_variance += y * y;
    }
    if time_variance == 0.0 || total_variance == 0.0 {
        return (0.0, 0.0);
    }
    (
        covariance * covariance / (time_variance * total_variance),
        covariance / time_variance,
    )
}

/// A rate with three significant digits.
struct Significant(f64);

impl fmt::Display for Significant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size >= 100.0 {
            // Rates of memory are far below the limit of a count.
            f.write_str(&number::grouped(self.0.round() as i128))
        } else {
            let digits = if size > 0.0 {
                2 - size.log10().floor() as i32
            } else {
                0
            };
            let digits = usize::try_from(digits.clamp(0, 12)).unwrap_or(0);
            write!(f, "{:.digits$}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sentence about totals that are one time unit apart.
    fn growth(totals: &[u64]) -> String {
        let points: Vec<Point> = totals
            .iter()
            .zip(0u32..)
            .map(|(total, time)| Point {
                time: time.into(),
                total: *total,
            })
            .collect();
        Growth::judge(&points).sentence("ms")
    }

    #[test]
    fn shapes_are_named_with_their_figures() {
        for (totals, sentence) in [
            (
                &[0, 100, 200, 300, 400, 500][..],
                "growth: linear growth (100 bytes per ms until the end; a line fits with R² 1.000)",
            ),
            (
                // The fall at the end is not part of the shape.
                &[0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 0],
                "growth: linear growth (10.0 bytes per ms until the end; a line fits with R² 1.000)",
            ),
            (
                &[0, 100, 10, 100, 20, 90, 0, 100],
                "growth: sawtooth (3 falls of at least 20% of the peak, the deepest 90 of 100 bytes)",
            ),
            (
                &[0, 95, 100, 99, 97, 98, 100, 99, 98, 0, 0],
                "growth: plateau (within 10% of the peak for 80.00% of the time, first after 10.00%)",
            ),
            (
                &[0, 1, 2, 4, 8, 16, 32, 64, 128, 256],
                "growth: unbounded growth (the run ends at its peak, and 96.88% of it came in the second half)",
            ),
            (
                &[0, 10, 50, 100, 50, 20, 10, 5, 0, 0, 0],
                "growth: no lasting pattern (the peak, after 30.00% of the time, does not last)",
            ),
            (
                &[0, 5, 10],
                "growth: not judged, there are too few snapshots",
            ),
            (&[0; 9], "growth: none, all snapshots are empty"),
        ] {
            assert_eq!(growth(totals), sentence, "{totals:?}");
        }
    }

    #[test]
    fn snapshots_with_equal_times_are_not_judged() {
        let points = [Point {
            time: 7.0,
            total: 3,
        }; 9];
        assert_eq!(Growth::judge(&points), Growth::NoTime);
        assert_eq!(Growth::judge(&[]), Growth::TooFew);
    }

    #[test]
    fn total_holds_from_its_snapshot_to_the_next_one() {
        let points = [(0.0, 0), (1.0, 100), (4.0, 100), (10.0, 0), (12.0, 100)];
        let points = points.map(|(time, total)| Point { time, total });
        // From 1 to 10 of 12 units of time.
        let share = share_of_time(&points, |point| point.total >= 100);
        assert!((share - 0.75).abs() < 1e-12, "{share}");
    }
}
