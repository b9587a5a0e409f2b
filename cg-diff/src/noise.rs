//! How much of a change between two sides of several runs is noise.
//!
//! Each run of one side is held against each of the other. Where most of these pairs say the same, the sides differ, and it
//! makes no difference by how much a few runs are off. That is Mann and Whitney's test of two samples by their ranks (*On a
//! test of whether one of two random variables is stochastically larger than the other*, 1947): with n and m runs and no
//! difference, the pairs that rose less those that fell have the mean 0 and the variance n m (n + m + 1) / 3. A change has
//! to exceed √5 standard deviations. How often noise alone does that depends on nothing but the numbers of runs, whatever
//! the noise looks like; `docs/decisions/13-noise.md` has the rates.
//!
//! Too few runs for that, fewer than four a side, say little. There noise is what the runs of one side differ by.

use cg_stream::record::Count;

/// The greatest change of the medians that is still noise. The files of both sides are sorted; `change` is that of their
/// medians.
pub(crate) fn of_change(old: &[Count], new: &[Count], change: Count) -> Count {
    let (low, high) = if change < 0 { (new, old) } else { (old, new) };
    match most_against(old.len(), new.len()) {
        Some(against) => (change.abs() - difference(low, high, against)).max(0),
        None => spread_of_most(old).max(spread_of_most(new)),
    }
}

/// The greatest of sorted counts less the least.
pub(crate) fn spread(files: &[Count]) -> Count {
    match files {
        [least, .., greatest] => greatest - least,
        _ => 0,
    }
}

/// The spread without the tenth of the files that is least and the tenth that is greatest.
fn spread_of_most(files: &[Count]) -> Count {
    let tenth = files.len() / 10;
    spread(&files[tenth..files.len() - tenth])
}

/// How many of the pairs of a run of one side and a run of the other may contradict a change that all others show; `None`
/// where there are too few pairs to tell.
fn most_against(old: usize, new: usize) -> Option<usize> {
    let pairs = old * new;
    // Of the pairs for a change less those against it, the square has to exceed 5 n m (n + m + 1) / 3.
    let least = (5 * pairs * (old + new + 1) / 3).isqrt() + 1;
    Some(pairs.checked_sub(least)? / 2)
}

/// The difference of a run of `high` and a run of `low` that so many of the pairs stay below, or are equal to.
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
