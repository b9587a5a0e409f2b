//! The duration of a recording, from the times of its samples.
//!
//! `--reltime` prints the time since the first sample, and `--deltatime` the time since the previous line. Both begin with
//! 0, but only differences can be smaller than the previous number. Concatenated texts of several recordings begin again
//! with 0, so a 0 is not evidence for differences.

/// The times of the lines read so far.
#[derive(Default)]
pub(super) struct SampleTimes {
    /// The time of the first line.
    first: Option<u64>,
    /// The time of the earliest sample.
    earliest: Option<u64>,
    latest: u64,
    samples: u64,
    /// The time of the previous line.
    previous: u64,
    /// The sum of all times.
    sum: u64,
    /// True if the time of a line is smaller than the previous line's time, and not 0.
    has_smaller: bool,
}

/// The number of samples that are hardly ever in ascending order if their times are differences: only one in 7! orders is.
const ENOUGH: u64 = 8;

impl SampleTimes {
    /// Adds the time of a sample or of another record.
    #[inline]
    pub(super) fn add(&mut self, time: u64, is_sample: bool) {
        self.first.get_or_insert(time);
        self.has_smaller |= time > 0 && time < self.previous;
        self.previous = time;
        self.sum = self.sum.saturating_add(time);
        if is_sample {
            self.earliest = Some(self.earliest.map_or(time, |earliest| earliest.min(time)));
            self.latest = self.latest.max(time);
            self.samples += 1;
        }
    }

    /// Returns the time of the earliest sample.
    pub(super) fn earliest(&self) -> Option<u64> {
        self.earliest
    }

    /// Returns the nanoseconds from the first to the last sample; `None` if unknown.
    pub(super) fn duration(&self) -> Option<u64> {
        let between = self.latest - self.earliest?;
        let duration = match (self.first, self.has_smaller) {
            (Some(0), true) => self.sum,
            // The times may be of either kind. With two samples, both kinds give the same duration.
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
    fn times_since_the_previous_line_are_added_up() {
        let rising = [0, 1, 2, 3, 4, 5, 6, 7, 9];
        for (times, expected) in [
            (&[][..], None),
            (&[7], None),
            (&[4900, 4907, 4911], Some(11)),
            // Concatenated in another order.
            (&[4907, 4900, 4911], Some(11)),
            // --deltatime
            (&[0, 12, 26, 8], Some(46)),
            (&[0, 5], Some(5)),
            // --reltime, once, and twice in one text.
            (&rising, Some(9)),
            (&[rising, rising].concat(), Some(9)),
            // Either kind.
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
    fn other_records_count_between_samples() {
        let mut found = SampleTimes::default();
        for (time, is_sample) in [(0, false), (3, true), (9, false), (2, true)] {
            found.add(time, is_sample);
        }
        assert_eq!(found.duration(), Some(14));
    }
}
