//! Integer shares, and the division of sums by shares without a remainder.

/// The share 1. Shares are fixed-point fractions, and the product of a share and a count fits in 128 bits.
pub(super) const WHOLE: u64 = 1 << 62;

/// The maximum remainder of a share that is attributed to rounding and not to a cost of the program.
pub(super) const ROUNDING: u64 = WHOLE >> 20;

/// Returns `share` times `number`, rounded down.
pub(super) fn part(share: u64, number: u128) -> u128 {
    u128::from(share) * number / u128::from(WHOLE)
}

/// Returns the fraction `numerator / denominator` of a share. The fraction is at most 1.
pub(super) fn part_of_share(share: u64, numerator: u64, denominator: u128) -> u64 {
    let product = u128::from(share) * u128::from(numerator) / denominator.max(1);
    u64::try_from(product).unwrap_or(WHOLE).min(WHOLE)
}

/// Divides a sum in proportion to weights, by the method of largest remainders. The parts add up to the sum, and each part
/// is the exact value rounded down or up. If all weights are 0, all parts are 0.
pub(super) fn apportion(sum: u64, weights: &[u64]) -> Vec<u64> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if all == 0 {
        return vec![0; weights.len()];
    }
    if weights.len() == 1 {
        return vec![sum];
    }
    let exact = |weight: &u64| {
        let product = u128::from(sum) * u128::from(*weight);
        // No part is larger than the sum.
        ((product / all) as u64, product % all)
    };
    let (mut parts, remainders): (Vec<u64>, Vec<u128>) = weights.iter().map(exact).unzip();
    let given: u64 = parts.iter().sum();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|position| (std::cmp::Reverse(remainders[*position]), *position));
    // The missing sum is smaller than the number of parts with a remainder.
    let missing = usize::try_from(sum - given).unwrap_or(usize::MAX);
    for position in order.into_iter().take(missing) {
        parts[position] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_remainder_is_rounded_up() {
        assert_eq!(apportion(20, &[39, 18]), [14, 6]);
        assert_eq!(apportion(37, &[39, 18]), [25, 12]);
        assert_eq!(apportion(1, &[1, 1, 1]), [1, 0, 0]);
        assert_eq!(apportion(5, &[0, 0]), [0, 0]);
        assert_eq!(
            apportion(u64::MAX, &[WHOLE, WHOLE]),
            [1 << 63, (1 << 63) - 1]
        );
        assert_eq!(apportion(7, &[0, 1]), [0, 7]);
    }

    #[test]
    fn a_whole_share_is_the_whole_number() {
        assert_eq!(part(WHOLE, u128::from(u64::MAX)), u128::from(u64::MAX));
        assert_eq!(part_of_share(WHOLE, u64::MAX, u128::from(u64::MAX)), WHOLE);
        assert_eq!(part_of_share(WHOLE, 1, 2), WHOLE / 2);
        assert_eq!(part_of_share(WHOLE, 0, 0), 0);
    }
}
