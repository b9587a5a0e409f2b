//! Sums of counts that are checked to fit in 64 bits: in a `u64`, or in an `i64` if they are negative.

use cg_collections::intern::TooMany;
use cg_stream::Error;
use cg_stream::record::Count;

/// The reason why a record cannot be added to the earlier records.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAdded {
    /// No id is left for a name, a stack or a row.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The sum of this event or field does not fit in 64 bits.
    #[error("the sum of {0} is beyond 64 bits")]
    Beyond(String),
}

impl From<NotAdded> for Error {
    fn from(refusal: NotAdded) -> Error {
        Error::whole(refusal.to_string())
    }
}

/// The error of a sum that does not fit in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beyond;

impl Beyond {
    /// Adds the name of the event or field that was added up.
    #[cold]
    pub(crate) fn with_name(self, what: &str) -> NotAdded {
        NotAdded::Beyond(what.to_owned())
    }

    /// Adds the name of one of these events. The last events may have no name.
    #[cold]
    pub(crate) fn with_event(self, events: &[String], event: usize) -> NotAdded {
        self.with_name(events.get(event).map_or("cost", String::as_str))
    }
}

/// Returns true if a sum fits in 64 bits. Almost all sums are unsigned, so `u64` is tried first.
#[inline]
fn fits(sum: Count) -> bool {
    u64::try_from(sum).is_ok() || i64::try_from(sum).is_ok()
}

/// Adds self costs, which never wrap around.
#[inline]
pub(crate) fn add_exact(sum: &mut Count, count: Count) -> Result<(), Beyond> {
    let added = *sum + count;
    if !fits(added) {
        return Err(Beyond);
    }
    *sum = added;
    Ok(())
}

/// Adds inclusive costs. If Callgrind's counters are set to zero during a call, Callgrind writes the cost of the call as a
/// number just below 2^64, which means a negative number. So a sum of more than 64 bits wraps around if it fits when such
/// numbers are read as negative numbers; otherwise it is an error.
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

/// Returns the sum modulo 2^64 of two unsigned counts; `None` if the sum overflows when both are read as `i64`.
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
    fn an_inclusive_sum_wraps_around_only_if_a_count_is_just_below_2_to_the_64() {
        assert_eq!(sums([MAX, 1]), (None, Some(0)));
        assert_eq!(sums([MAX - 4, 12]), (None, Some(7)));
        assert_eq!(sums([MAX, MAX]), (None, Some(MAX - 1)));
        // Read as signed numbers, these overflow too.
        assert_eq!(sums([1 << 63, 1 << 63]), (None, None));
    }
}
