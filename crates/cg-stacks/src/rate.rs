//! The sample rate, in the form of the `run` record.

use serde_json::Number;

/// Rounds a sample rate to a thousandth, which is finer than the accuracy of a timer. Returns an integer if the result is
/// one; `None` if the rate is not a positive, finite number.
pub(super) fn samples_a_second(rate: f64) -> Option<Number> {
    let thousandths = (rate * 1000.0).round();
    if !(thousandths > 0.0 && thousandths < 1e15) {
        return None;
    }
    match thousandths % 1000.0 {
        0.0 => Some(((thousandths / 1000.0) as u64).into()),
        _ => Number::from_f64(thousandths / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rates_are_integers() {
        let text = |rate| samples_a_second(rate).map(|rate| rate.to_string());
        assert_eq!(text(1000.0).as_deref(), Some("1000"));
        assert_eq!(text(1000.0 / 3.344_481).as_deref(), Some("299"));
        assert_eq!(text(1000.0 / 1.001_001).as_deref(), Some("999"));
        assert_eq!(text(0.5).as_deref(), Some("0.5"));
        assert_eq!(text(f64::INFINITY), None);
        assert_eq!(text(f64::NAN), None);
        assert_eq!(text(0.0), None);
    }
}
