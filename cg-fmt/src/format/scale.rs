//! Exact conversion of counts to the units of a viewer, by shifting the decimal point.

use std::fmt;

use cg_stream::record::Count;

/// The factor between counts and written numbers, a power of ten, and the kind of the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitScale {
    /// The number of digits of a count after the decimal point. If it is negative, the number of zeros to append.
    decimals: i32,
    kind: ScaleKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScaleKind {
    Time,
    Bytes,
    Counts,
}

impl UnitScale {
    /// Converts nanoseconds to milliseconds.
    pub(crate) const NS: UnitScale = UnitScale {
        decimals: 6,
        kind: ScaleKind::Time,
    };

    /// Converts nanoseconds to microseconds.
    pub(crate) const NS_IN_MICROS: UnitScale = UnitScale {
        decimals: 3,
        kind: ScaleKind::Time,
    };

    /// Parses a unit of a stream: `ns`, `bytes`, `0.001 samples`.
    pub(crate) fn parse(unit: Option<&str>) -> UnitScale {
        let unit = unit.unwrap_or_default();
        // The factor before the unit is the value of one count.
        let (fraction, word) = match unit.split_once(' ') {
            Some((factor, word)) => match factor.strip_prefix("0.") {
                // Streams keep at most 18 digits, so a longer factor is not a unit.
                Some(digits) if digits.len() <= 18 && digits.trim_start_matches('0') == "1" => {
                    (digits.len() as i32, word)
                }
                _ => (0, unit),
            },
            None => (0, unit),
        };
        let (decimals, kind) = match word {
            "ns" | "nanoseconds" => (6, ScaleKind::Time),
            "µs" | "us" | "microseconds" => (3, ScaleKind::Time),
            "ms" | "milliseconds" => (0, ScaleKind::Time),
            "s" | "seconds" => (-3, ScaleKind::Time),
            "bytes" => (0, ScaleKind::Bytes),
            _ => (0, ScaleKind::Counts),
        };
        UnitScale {
            decimals: decimals + fraction,
            kind,
        }
    }

    pub(crate) fn is_time(self) -> bool {
        self.kind == ScaleKind::Time
    }

    /// Returns the name of the unit in the Firefox Profiler, which knows only these three.
    pub(crate) fn weight_type(self) -> &'static str {
        match self.kind {
            ScaleKind::Time => "tracing-ms",
            ScaleKind::Bytes => "bytes",
            ScaleKind::Counts => "samples",
        }
    }

    /// Returns the duration of a count. If the unit is not a time, one count lasts a microsecond.
    pub(crate) fn nanoseconds(self, count: Count) -> Count {
        let exponent = if self.is_time() { 6 } else { 3 };
        let power = Count::pow(10, (exponent - self.decimals).unsigned_abs());
        match self.decimals <= exponent {
            true => count.saturating_mul(power),
            false => count / power,
        }
    }

    /// Converts a count to a decimal number; times are in milliseconds.
    pub(crate) fn convert(self, count: Count) -> ScaledCount {
        ScaledCount {
            count,
            decimals: self.decimals,
        }
    }
}

/// A count with a decimal point.
#[derive(Clone, Copy)]
pub(crate) struct ScaledCount {
    count: Count,
    decimals: i32,
}

impl fmt::Display for ScaledCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = match usize::try_from(self.decimals) {
            Ok(decimals) => decimals,
            Err(_) if self.count == 0 => 0,
            Err(_) => {
                let zeros = self.decimals.unsigned_abs() as usize;
                return write!(f, "{}{:0zeros$}", self.count, 0);
            }
        };
        if self.count < 0 {
            f.write_str("-")?;
        }
        let digits = format!(
            "{:0width$}",
            self.count.unsigned_abs(),
            width = decimals + 1
        );
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        f.write_str(whole)?;
        match fraction.trim_end_matches('0') {
            "" => Ok(()),
            fraction => write!(f, ".{fraction}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_in_other_units() {
        for (unit, count, kind, expected) in [
            (Some("ns"), 1_500_000, "tracing-ms", "1.5"),
            (Some("ns"), -1, "tracing-ms", "-0.000001"),
            (Some("nanoseconds"), 6_000_000, "tracing-ms", "6"),
            (Some("µs"), 12, "tracing-ms", "0.012"),
            (Some("ms"), 7, "tracing-ms", "7"),
            (Some("s"), 2, "tracing-ms", "2000"),
            (Some("s"), 0, "tracing-ms", "0"),
            (Some("bytes"), 5_000_000_000, "bytes", "5000000000"),
            (Some("0.001 samples"), 1250, "samples", "1.25"),
            (Some("0.01 ms"), 125, "tracing-ms", "1.25"),
            (Some("0.7 ms"), 125, "samples", "125"),
            (Some("0.0000000000000000001 ms"), 125, "samples", "125"),
            (Some("joules"), 3, "samples", "3"),
            (None, 3, "samples", "3"),
        ] {
            let scale = UnitScale::parse(unit);
            assert_eq!(scale.weight_type(), kind, "{unit:?}");
            assert_eq!(scale.convert(count).to_string(), expected, "{unit:?}");
        }
    }
}
