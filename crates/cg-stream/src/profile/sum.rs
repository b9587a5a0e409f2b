//! Sums of counts, checked to fit in 64 bits: in a `u64`, or if negative in an `i64`.

use crate::Error;
use crate::intern::TooMany;
use crate::record::Count;

/// Why a record cannot be added to those before it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAdded {
    /// There is no number left for a name, a stack or a row.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// A sum that 64 bits cannot hold: of this event or field.
    #[error("the sum of {0} is beyond 64 bits")]
    Beyond(String),
}

impl From<NotAdded> for Error {
    fn from(refusal: NotAdded) -> Error {
        Error::whole(refusal.to_string())
    }
}

/// A sum that 64 bits cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beyond;

impl Beyond {
    /// The refusal that names what was added up.
    #[cold]
    pub(crate) fn of(self, what: &str) -> NotAdded {
        NotAdded::Beyond(what.to_owned())
    }

    /// The refusal that names one of these events, of which the last ones may not be known.
    #[cold]
    pub(crate) fn of_event(self, events: &[String], event: usize) -> NotAdded {
        self.of(events.get(event).map_or("cost", String::as_str))
    }
}

/// Whether a sum fits in 64 bits. Nearly all sums are unsigned, so `u64` is tried first.
#[inline]
fn fits(sum: Count) -> bool {
    u64::try_from(sum).is_ok() || i64::try_from(sum).is_ok()
}

/// Adds self costs, which are exact.
#[inline]
pub(crate) fn add_exact(sum: &mut Count, count: Count) -> Result<(), Beyond> {
    let added = *sum + count;
    if !fits(added) {
        return Err(Beyond);
    }
    *sum = added;
    Ok(())
}

/// Adds inclusive costs. If Callgrind's counters are set to zero during a call, it writes the cost of the call as a
/// number just below 2^64, which stands for a negative one. So a sum beyond 64 bits wraps around if it fits with such
/// numbers read as negative, and is an error otherwise.
#[inline]
pub(crate) fn add_inclusive(sum: &mut Count, count: Count) -> Result<(), Beyond> {
    let added = *sum + count;
    if fits(added) {
        *sum = added;
        return Ok(());
    }
    *sum = wrapped(*sum, count).ok_or(Beyond)?;
    Ok(())
}

/// The sum modulo 2^64 of two unsigned counts; `None` if it overflows when both are read as `i64`.
#[cold]
fn wrapped(sum: Count, count: Count) -> Option<Count> {
    let (sum, count) = (u64::try_from(sum).ok()?, u64::try_from(count).ok()?);
    sum.cast_signed().checked_add(count.cast_signed())?;
    Some(sum.wrapping_add(count).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Count = u64::MAX as Count;
    const LEAST: Count = i64::MIN as Count;

    fn sums(counts: [Count; 2]) -> (Option<Count>, Option<Count>) {
        let (mut exact, mut inclusive) = (counts[0], counts[0]);
        (
            add_exact(&mut exact, counts[1]).is_ok().then_some(exact),
            add_inclusive(&mut inclusive, counts[1])
                .is_ok()
                .then_some(inclusive),
        )
    }

    #[test]
    fn sums_are_exact_over_all_of_64_bits() {
        assert_eq!(sums([MAX - 1, 1]), (Some(MAX), Some(MAX)));
        assert_eq!(sums([LEAST + 1, -1]), (Some(LEAST), Some(LEAST)));
        assert_eq!(sums([MAX, -1]), (Some(MAX - 1), Some(MAX - 1)));
        assert_eq!(sums([LEAST, -1]), (None, None));
    }

    #[test]
    fn an_inclusive_sum_goes_around_only_where_a_count_is_just_below_2_to_the_64() {
        assert_eq!(sums([MAX, 1]), (None, Some(0)));
        assert_eq!(sums([MAX - 4, 12]), (None, Some(7)));
        assert_eq!(sums([MAX, MAX]), (None, Some(MAX - 1)));
        // Read as signed numbers, these overflow too.
        assert_eq!(sums([1 << 63, 1 << 63]), (None, None));
    }
}
