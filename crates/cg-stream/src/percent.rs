//! Percentages in option values, compared with counts without floating point.

use std::fmt;
use std::str::FromStr;

use crate::record::Count;

/// A percentage, exact to nine decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent {
    billionths: Count,
}

const DECIMALS: usize = 9;

impl Percent {
    /// Returns true if a count is at least this share of a total.
    pub fn is_reached(self, count: Count, total: Count) -> bool {
        let (count, share) = self.scaled(count, total);
        count >= share
    }

    /// Returns true if a count is more than this share of a total. Any positive count is more than any share of 0.
    pub fn is_exceeded(self, count: Count, total: Count) -> bool {
        let (count, share) = self.scaled(count, total);
        count > share
    }

    /// Scales the count and its share of the total to the same unit, so that both compare as integers.
    fn scaled(self, count: Count, total: Count) -> (Count, Count) {
        const HUNDRED: Count = 100 * 10_i128.pow(DECIMALS as u32);
        (
            count.saturating_mul(HUNDRED),
            total.saturating_mul(self.billionths),
        )
    }
}

impl fmt::Display for Percent {
    /// Writes the decimal number, without `%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = 10_i128.pow(DECIMALS as u32);
        let fraction = format!("{:0DECIMALS$}", self.billionths % one);
        write!(f, "{}", self.billionths / one)?;
        match fraction.trim_end_matches('0') {
            "" => Ok(()),
            fraction => write!(f, ".{fraction}"),
        }
    }
}

impl FromStr for Percent {
    type Err = String;

    /// Parses a decimal number, with or without `%`.
    fn from_str(text: &str) -> Result<Percent, String> {
        let wrong = || format!("expected a percentage, found \"{text}\"");
        let digits = text.strip_suffix('%').unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction:0<DECIMALS$}");
        if fraction.len() > DECIMALS
            || whole.len() > DECIMALS
            || digits.len() == digits.matches('.').count()
            || !all.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(wrong());
        }
        let billionths = all.parse().map_err(|_| wrong())?;
        Ok(Percent { billionths })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_compared_exactly() {
        let percent = |text: &str| text.parse::<Percent>();
        for text in ["0", "5", "0.01", "12.5", "100"] {
            assert_eq!(
                percent(text).map(|percent| percent.to_string()),
                Ok(text.to_owned())
            );
        }
        assert!(percent("0.5").unwrap().is_reached(5, 1000));
        assert!(!percent("0.500000001%").unwrap().is_reached(5, 1000));
        assert!(
            percent("100")
                .unwrap()
                .is_reached(u64::MAX.into(), u64::MAX.into())
        );
        assert!(
            !percent("100")
                .unwrap()
                .is_reached(Count::from(u64::MAX) - 1, u64::MAX.into())
        );
        for wrong in ["", ".", "%", "x", "-1", "1.0000000001", "1e3", "1..2"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
        assert_eq!(percent("5."), percent("05.0"));
        assert_eq!(percent(".5"), percent("0.5%"));
        assert!(percent("50").unwrap().is_exceeded(6, 10));
        assert!(!percent("50").unwrap().is_exceeded(5, 10));
        assert!(percent("1000").unwrap().is_exceeded(1, 0));
    }
}
