//! What counts are in the units of a viewer: exact, as a decimal shifts its point.

use std::fmt;

use cg_stream::record::Count;

/// By which power of ten counts are smaller than what is written, and what that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitScale {
    /// How many digits of a count stand behind the point; below 0, how many zeros are added.
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
    /// Of nanoseconds, in milliseconds.
    pub(crate) const NS: UnitScale = UnitScale {
        decimals: 6,
        kind: ScaleKind::Time,
    };

    /// Of nanoseconds, in microseconds.
    pub(crate) const NS_IN_MICROS: UnitScale = UnitScale {
        decimals: 3,
        kind: ScaleKind::Time,
    };

    /// Of a unit as a stream has it: `ns`, `bytes`, `0.001 samples`.
    pub(crate) fn of(unit: Option<&str>) -> UnitScale {
        let unit = unit.unwrap_or_default();
        // Counts are multiples of what stands in front of the unit.
        let (fraction, word) = match unit.split_once(' ') {
            Some((factor, word)) => match factor.strip_prefix("0.") {
                // More digits than a stream keeps are no unit.
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

    pub(crate) fn is_of_time(self) -> bool {
        self.kind == ScaleKind::Time
    }

    /// What the Firefox Profiler calls it; it knows no more.
    pub(crate) fn weight_type(self) -> &'static str {
        match self.kind {
            ScaleKind::Time => "tracing-ms",
            ScaleKind::Bytes => "bytes",
            ScaleKind::Counts => "samples",
        }
    }

    /// How long a count lasts; of what is no time, a microsecond each.
    pub(crate) fn nanoseconds(self, count: Count) -> Count {
        let of_one = if self.is_of_time() { 6 } else { 3 };
        let power = Count::pow(10, (of_one - self.decimals).unsigned_abs());
        match self.decimals <= of_one {
            true => count.saturating_mul(power),
            false => count / power,
        }
    }

    /// A count as a number: of time in milliseconds.
    pub(crate) fn of_count(self, count: Count) -> ScaledCount {
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
            let scale = UnitScale::of(unit);
            assert_eq!(scale.weight_type(), kind, "{unit:?}");
            assert_eq!(scale.of_count(count).to_string(), expected, "{unit:?}");
        }
    }
}
