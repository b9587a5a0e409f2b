//! How long a recording took, by the times of its samples.
//!
//! `--reltime` prints times from the first sample on, `--deltatime` the time since the line before: both begin with 0, and
//! only differences can be smaller than the one before them. Texts of several recordings that were put together begin with 0
//! again, so 0 tells nothing.

/// The times of the lines that were read.
#[derive(Default)]
pub(super) struct SampleTimes {
    /// The time of the first line.
    first: Option<u64>,
    /// Of samples.
    earliest: Option<u64>,
    latest: u64,
    samples: u64,
    before: u64,
    /// All times added up.
    sum: u64,
    /// Whether a line's time is smaller than that of the line before, and not 0.
    has_smaller: bool,
}

/// So many samples are hardly ever in order of their times if these are differences: one of 7! orders is.
const ENOUGH: u64 = 8;

impl SampleTimes {
    /// The time of a line, of a sample or of another record.
    #[inline]
    pub(super) fn add(&mut self, time: u64, is_sample: bool) {
        self.first.get_or_insert(time);
        self.has_smaller |= time > 0 && time < self.before;
        self.before = time;
        self.sum = self.sum.saturating_add(time);
        if is_sample {
            self.earliest = Some(self.earliest.map_or(time, |earliest| earliest.min(time)));
            self.latest = self.latest.max(time);
            self.samples += 1;
        }
    }

    /// The time of the earliest sample.
    pub(super) fn earliest(&self) -> Option<u64> {
        self.earliest
    }

    /// From the first sample to the last in nanoseconds; `None` where that is not known.
    pub(super) fn duration(&self) -> Option<u64> {
        let between = self.latest - self.earliest?;
        let duration = match (self.first, self.has_smaller) {
            (Some(0), true) => self.sum,
            // Either kind of times, and of two samples the same.
            (Some(0), false) if (3..ENOUGH).contains(&self.samples) && self.sum != between => {
                return None;
            }
            _ => between,
        };
        (duration > 0).then_some(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_since_the_line_before_add_up() {
        let rising = [0, 1, 2, 3, 4, 5, 6, 7, 9];
        for (times, expected) in [
            (&[][..], None),
            (&[7], None),
            (&[4900, 4907, 4911], Some(11)),
            // Put together in another order.
            (&[4907, 4900, 4911], Some(11)),
            // --deltatime
            (&[0, 12, 26, 8], Some(46)),
            (&[0, 5], Some(5)),
            // --reltime, once and twice.
            (&rising, Some(9)),
            (&[rising, rising].concat(), Some(9)),
            // One or the other.
            (&[0, 5, 6], None),
        ] {
            let mut found = SampleTimes::default();
            for time in times {
                found.add(*time, true);
            }
            assert_eq!(found.duration(), expected, "{times:?}");
        }
    }

    #[test]
    fn other_records_lie_between_samples() {
        let mut found = SampleTimes::default();
        for (time, is_sample) in [(0, false), (3, true), (9, false), (2, true)] {
            found.add(time, is_sample);
        }
        assert_eq!(found.duration(), Some(14));
    }
}
