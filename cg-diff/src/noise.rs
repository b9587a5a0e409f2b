//! The part of a change that is noise, if the sides have several runs.
//!
//! Compares each run of one side with each run of the other. If most of these pairs agree, the sides differ. A few outliers
//! make no difference, whatever their size. This is Mann and Whitney's rank test of two samples (*On a test of whether one
//! of two random variables is stochastically larger than the other*, 1947). With n and m runs and no real difference, the
//! number of rising pairs minus the number of falling pairs has mean 0 and variance n m (n + m + 1) / 3. A change has to
//! exceed √5 standard deviations. The rate of false alarms depends only on the numbers of runs, not on the shape of the
//! noise; `docs/decisions/13-noise.md` has the rates.
//!
//! With fewer than about four runs per side, this test is too weak. Then the noise is the spread of the runs of a side.

use cg_stream::record::Count;

/// Returns the greatest change of the medians that counts as noise. The files of both sides are sorted; `change` is the
/// change of their medians.
pub(crate) fn greatest_noise(old: &[Count], new: &[Count], change: Count) -> Count {
    let (low, high) = if change < 0 { (new, old) } else { (old, new) };
    match most_against(old.len(), new.len()) {
        Some(against) => (change.abs() - difference(low, high, against)).max(0),
        None => spread_of_most(old).max(spread_of_most(new)),
    }
}

/// Returns the difference between the greatest and the least of sorted counts.
pub(crate) fn spread(files: &[Count]) -> Count {
    match files {
        [least, .., greatest] => greatest - least,
        _ => 0,
    }
}

/// Returns the spread without the lowest tenth and the highest tenth of the files.
fn spread_of_most(files: &[Count]) -> Count {
    let tenth = files.len() / 10;
    spread(&files[tenth..files.len() - tenth])
}

/// Returns the maximum number of pairs of runs that may contradict a change; `None` if there are too few pairs for the test.
fn most_against(old: usize, new: usize) -> Option<usize> {
    let pairs = old * new;
    // The number of pairs for a change minus the number against it, squared, has to exceed 5 n m (n + m + 1) / 3.
    let least = (5 * pairs * (old + new + 1) / 3).isqrt() + 1;
    Some(pairs.checked_sub(least)? / 2)
}

/// Returns the difference at position `below` among the sorted differences of all pairs: a run of `high` minus a run of
/// `low`.
fn difference(low: &[Count], high: &[Count], below: usize) -> Count {
    let (Some(first), Some(last)) = (low.first(), low.last()) else {
        return 0;
    };
    let (mut least, mut most) = match (high.first(), high.last()) {
        (Some(least), Some(most)) => (least - last, most - first),
        _ => return 0,
    };
    while least < most {
        let middle = least + (most - least) / 2;
        let up_to = |run: &Count| high.partition_point(|other| other - run <= middle);
        if low.iter().map(up_to).sum::<usize>() > below {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    least
}

#[cfg(test)]
mod tests;
