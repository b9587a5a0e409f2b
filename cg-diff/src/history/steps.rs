//! The steps in a series of figures.

use std::cmp::Reverse;

use cg_collections::sorting::Order as _;
use cg_stream::record::Count;

/// A step is more than this many times as large as the median difference. With normal noise, one of 400 series of twelve
/// figures has a larger difference that also stands out from the others; with uniform noise, one of 700.
const STEP_IN_MEDIANS: Count = 8;

/// A step is at least this many times as large as the largest difference that is none.
const STEP_IN_NOISE: Count = 2;

/// With at most this many differences, there is no evidence of noise.
const FEW: usize = 2;

/// Returns the positions of the figures that differ from the figure before by a step.
///
/// If most figures are the same as the one before, the figures are exact, and each difference is a step. Otherwise, a step
/// stands out from the noise, which the median of the differences shows: a few steps do not change it.
pub(crate) fn find_steps(figures: &[Count]) -> Vec<usize> {
    let differences: Vec<Count> = figures
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    let median = median(&differences);
    let is_exact = median == 0 || differences.len() <= FEW;
    let least = if is_exact {
        0
    } else {
        median * STEP_IN_MEDIANS
    };
    let others = differences.iter().filter(|size| **size <= least);
    let noise = others.max().copied().unwrap_or(0);
    let is_step = |size: Count| size > least && (is_exact || size >= noise * STEP_IN_NOISE);
    let positions = differences.iter().enumerate();
    positions
        .filter(|(_, size)| is_step(**size))
        .map(|(position, _)| position + 1)
        .collect()
}

/// Returns the lower median; 0 for no figures.
fn median(figures: &[Count]) -> Count {
    let mut sorted = figures.to_vec();
    sorted.order_by_key(|size| Reverse(*size));
    sorted.reverse();
    let middle = sorted.len().saturating_sub(1) / 2;
    sorted.get(middle).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_of_exact_figures_is_a_step() {
        for (figures, expected) in [
            (&[5, 5, 5, 5][..], &[][..]),
            (&[4, 5, 5, 5], &[1]),
            (&[5, 5, 5, 4], &[3]),
            (&[9, 9, 9, 10, 9, 9, 9], &[3, 4]),
            (&[0, 7], &[1]),
            (&[0, 7, 9], &[1, 2]),
            (&[7], &[]),
            (&[], &[]),
        ] {
            assert_eq!(find_steps(figures), expected, "{figures:?}");
        }
    }

    /// A generator of numbers below 1000: a linear congruence.
    fn draw(state: &mut u64) -> Count {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Count::from((*state >> 33) % 1000)
    }

    #[test]
    fn a_step_stands_out_from_noise_at_any_position_and_noise_is_none() {
        let mut state = 44;
        let mut false_alarms = 0;
        for round in 0..2_000 {
            // Noise of 0.4 %.
            let mut figures: Vec<Count> = (0..12)
                .map(|_| 100_000 + draw(&mut state) * 8 / 10 - 400)
                .collect();
            false_alarms += find_steps(&figures).len();
            let at = 1 + round % 11;
            figures[at..]
                .iter_mut()
                .for_each(|figure| *figure += 20_000);
            let steps = find_steps(&figures);
            assert!(steps.contains(&at), "{figures:?}: {steps:?}");
        }
        // Four times the expected number.
        assert!(false_alarms < 12, "{false_alarms}");
    }
}
