//! How memory grows over a run, named in one sentence with the figures it was judged by.
//!
//! A total holds from its snapshot to the next one, so shares of time are those of a step function. The fall at the end
//! of a run, when a program frees what it holds, says nothing about growth: the run is judged up to the last snapshot
//! that has at least half of the peak.

use std::fmt;

use cg_document::{Point, number};

/// The shape of memory over time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Growth {
    /// Fewer than five snapshots, or too few of them with memory.
    TooFew,
    /// All snapshots are empty.
    NoMemory,
    /// All snapshots are of one moment.
    NoTime,
    /// It falls deeply again and again.
    Sawtooth {
        falls: usize,
        deepest: u64,
        peak: u64,
    },
    /// It rises along a line until the end.
    Linear { fit: f64, per_unit: f64 },
    /// It is near the peak most of the time.
    Plateau { share_of_time: f64, rise: f64 },
    /// It still rises when the run ends, along no line.
    Unbounded { second_half: f64 },
    /// None of these: the peak passes.
    Hump { peak_at: f64 },
}

/// A fall is deep from this share of the peak on.
const DEEP_FALL: f64 = 0.2;
/// So many deep falls make a sawtooth.
const SAWTEETH: usize = 3;
/// How well a line must fit (R²) to be called one.
const LINE: f64 = 0.95;
/// A total is near the peak from this share of it on.
const NEAR_PEAK: f64 = 0.9;
/// The share of time near the peak that makes a plateau.
const PLATEAU: f64 = 0.5;
/// The share of the peak by which the second half of an unbounded growth rises.
const STILL_RISING: f64 = 0.25;
/// A run that ends with at least this share of its peak ends at its peak.
const AT_PEAK: f64 = 0.95;
/// If the judged part is at least this share of the whole time, its end counts as the end of the run.
const MOST_OF_THE_RUN: f64 = 0.9;

impl Growth {
    /// Judges snapshots in the order of their time.
    pub(crate) fn of(points: &[Point]) -> Growth {
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

    /// The two ends of the line of growth, if growth is linear: the second is the last point with half of the peak.
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
            // A float to an integer saturates.
            total: before.max(0.0) as u64,
        };
        Some([start, *last])
    }

    /// The sentence, with the run's unit of time.
    pub(crate) fn sentence(&self, time_unit: &str) -> String {
        let percent = |share: f64| number::percent(share * 100.0);
        match self {
            Growth::TooFew => "growth: not judged, there are too few snapshots".to_owned(),
            Growth::NoMemory => "growth: none, no snapshot holds memory".to_owned(),
            Growth::NoTime => "growth: not judged, no time passes between the snapshots".to_owned(),
            Growth::Sawtooth {
                falls,
                deepest,
                peak,
            } => format!(
                "growth: sawtooth ({falls} falls of at least {}% of the peak, the deepest {} of {} bytes)",
                DEEP_FALL * 100.0,
                number::grouped((*deepest).into()),
                number::grouped((*peak).into()),
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
                "growth: no lasting pattern (the peak, after {} of the time, passes)",
                percent(*peak_at),
            ),
        }
    }
}

/// How often the total falls by a deep share of the peak before it rises by as much again, and the deepest such fall.
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

/// The share of time in which the total satisfies `is_so`.
fn share_of_time(points: &[Point], is_so: impl Fn(&Point) -> bool) -> f64 {
    let whole: f64 = points
        .windows(2)
        .map(|pair| pair[1].time - pair[0].time)
        .sum();
    let so: f64 = points
        .windows(2)
        .filter(|pair| is_so(&pair[0]))
        .map(|pair| pair[1].time - pair[0].time)
        .sum();
    so / whole
}

/// The least-squares line through the points: its R² and its slope.
fn line(points: &[Point]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean_of = |value: fn(&Point) -> f64| points.iter().map(value).sum::<f64>() / count;
    let time = mean_of(|point| point.time);
    let total = mean_of(|point| point.total as f64);
    let (mut covariance, mut of_time, mut of_total) = (0.0, 0.0, 0.0);
    for point in points {
        let (x, y) = (point.time - time, point.total as f64 - total);
        covariance += x * y;
        of_time += x * x;
        of_total += y * y;
    }
    if of_time == 0.0 || of_total == 0.0 {
        return (0.0, 0.0);
    }
    (
        covariance * covariance / (of_time * of_total),
        covariance / of_time,
    )
}

/// A rate with three significant digits.
struct Significant(f64);

impl fmt::Display for Significant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size >= 100.0 {
            // Rates of memory are far below what a count holds.
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

    /// The judgement on totals one time unit apart.
    fn growth(totals: &[u64]) -> String {
        let points: Vec<Point> = totals
            .iter()
            .zip(0u32..)
            .map(|(total, time)| Point {
                time: time.into(),
                total: *total,
            })
            .collect();
        Growth::of(&points).sentence("ms")
    }

    #[test]
    fn shapes_are_named_with_their_figures() {
        for (totals, sentence) in [
            (
                &[0, 100, 200, 300, 400, 500][..],
                "growth: linear growth (100 bytes per ms until the end; a line fits with R² 1.000)",
            ),
            (
                // What is freed at the end is not part of the shape.
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
                "growth: no lasting pattern (the peak, after 30.00% of the time, passes)",
            ),
            (
                &[0, 5, 10],
                "growth: not judged, there are too few snapshots",
            ),
            (&[0; 9], "growth: none, no snapshot holds memory"),
        ] {
            assert_eq!(growth(totals), sentence, "{totals:?}");
        }
    }

    #[test]
    fn snapshots_at_one_time_are_no_shape() {
        let points = [Point {
            time: 7.0,
            total: 3,
        }; 9];
        assert_eq!(Growth::of(&points), Growth::NoTime);
        assert_eq!(Growth::of(&[]), Growth::TooFew);
    }
}
