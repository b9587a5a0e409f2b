//! Numbers of 106 bits, as the unevaluated sum of two floats. The inclusive cost of a call is a fraction, and for great
//! totals 53 bits are not exact to the unit.
//!
//! The algorithms are Dekker's (1971) and Knuth's. Errors are within a few units of the last of 104 bits. The crates with
//! these algorithms depend on a macro library and a mathematics library, which is too much for four operations.

use cg_stream::record::Count;

/// `high + low`, where `low` is at most half a unit of the last place of `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Double {
    high: f64,
    low: f64,
}

impl Double {
    pub(super) const ZERO: Double = Double {
        high: 0.0,
        low: 0.0,
    };

    /// Converts a count; exact for up to 106 bits.
    pub(super) fn from_count(count: Count) -> Double {
        let high = count as f64;
        let low = (count - high as Count) as f64;
        Double::normal(high, low)
    }

    /// Normalises the sum of two numbers, of which the first is not smaller than the second.
    fn normal(high: f64, low: f64) -> Double {
        let sum = high + low;
        Double {
            high: sum,
            low: low - (sum - high),
        }
    }

    pub(super) fn plus(self, other: Double) -> Double {
        let sum = self.high + other.high;
        let added = sum - self.high;
        let error = (self.high - (sum - added)) + (other.high - added);
        Double::normal(sum, error + self.low + other.low)
    }

    pub(super) fn times(self, other: Double) -> Double {
        let product = self.high * other.high;
        // Not a fused multiplication, because on the target processors it would be a library call.
        let (a, b) = (split(self.high), split(other.high));
        let error = ((a.0 * b.0 - product) + a.0 * b.1 + a.1 * b.0) + a.1 * b.1;
        Double::normal(
            product,
            error + (self.high * other.low + self.low * other.high),
        )
    }

    pub(super) fn over(self, divisor: Double) -> Double {
        let first = self.high / divisor.high;
        let left = self.minus_product(first, divisor);
        let second = left.high / divisor.high;
        let third = left.minus_product(second, divisor).high / divisor.high;
        Double::normal(first, second).plus(Double::normal(third, 0.0))
    }

    /// Returns `self - factor × other`.
    pub(super) fn minus_product(self, factor: f64, other: Double) -> Double {
        self.plus(other.times(Double {
            high: -factor,
            low: 0.0,
        }))
    }

    /// Converts a float.
    pub(super) fn from_float(value: f64) -> Double {
        Double {
            high: value,
            low: 0.0,
        }
    }

    pub(super) fn negated(self) -> Double {
        Double {
            high: -self.high,
            low: -self.low,
        }
    }

    /// Returns the nearest float.
    pub(super) fn nearest(self) -> f64 {
        self.high
    }

    pub(super) fn is_zero(self) -> bool {
        self.high == 0.0
    }

    /// Returns the floor and the fraction, which is at least 0 and below 1. A number just below an integer counts as the
    /// integer if a float cannot represent the fraction. `None` beyond 126 bits.
    pub(super) fn floor(self) -> Option<(Count, f64)> {
        const GREATEST: f64 = (1u128 << 126) as f64;
        if !(-GREATEST..GREATEST).contains(&self.high) {
            return None;
        }
        let (high, low) = (self.high.floor(), self.low.floor());
        let mut integer = high as Count + low as Count;
        let mut fraction = (self.high - high) + (self.low - low);
        if fraction >= 1.0 {
            integer += 1;
            fraction -= 1.0;
        }
        Some((integer, fraction))
    }
}

/// Splits a float into the sum of two floats with half of its bits (Veltkamp 1968).
fn split(value: f64) -> (f64, f64) {
    const HALF: f64 = ((1u64 << 27) + 1) as f64;
    let shifted = HALF * value;
    let high = shifted - (shifted - value);
    (high, value - high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_100_bits_are_exact() {
        let large = (1 << 100) + 12_345;
        assert_eq!(Double::from_count(large).floor(), Some((large, 0.0)));
        assert_eq!(Double::from_count(-large).floor(), Some((-large, 0.0)));
        let product = Double::from_count((1 << 50) + 1).times(Double::from_count((1 << 50) - 1));
        assert_eq!(product.floor(), Some(((1 << 100) - 1, 0.0)));
        let sum = Double::from_count(large).plus(Double::from_count(-12_345));
        assert_eq!(sum.floor(), Some((1 << 100, 0.0)));
    }

    #[test]
    fn a_quotient_times_its_divisor_is_the_dividend() {
        let (dividend, divisor) = (10_000_000_000_000_000_019, 7_654_321);
        let quotient = Double::from_count(dividend).over(Double::from_count(divisor));
        assert_eq!(quotient.floor().unwrap().0, dividend / divisor);
        let back = quotient.times(Double::from_count(divisor));
        let rest = back.plus(Double::from_count(-dividend));
        assert!(rest.high.abs() < 1e-9, "{rest:?}");
    }

    #[test]
    fn floor_rounds_down() {
        let third = Double::from_count(1).over(Double::from_count(3));
        assert_eq!(third.floor().unwrap().0, 0);
        let (floor, fraction) = Double::from_count(-1)
            .over(Double::from_count(3))
            .floor()
            .unwrap();
        assert_eq!(floor, -1);
        assert!((fraction - 2.0 / 3.0).abs() < 1e-15);
        assert_eq!(Double::from_count(7).floor(), Some((7, 0.0)));
        let below = |low: f64| Double { high: 5.0, low }.floor();
        assert_eq!(below(-0.25), Some((4, 0.75)));
        assert_eq!(below(-1e-20), Some((5, 0.0)));
    }
}
