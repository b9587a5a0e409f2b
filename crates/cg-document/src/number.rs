//! Formats numbers for people.

use cg_stream::record::Count;

/// Returns the digits in groups of three, separated by commas in every locale, as in Valgrind's output.
pub fn grouped(count: Count) -> String {
    let digits = count.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if count < 0 {
        text.push('-');
    }
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Marks a number as an upper bound: `≤1,234`.
pub fn at_most(number: &str) -> String {
    format!("≤{number}")
}

/// Returns a count with its noun: `1 byte`, `1,234 bytes`.
pub fn plural(count: Count, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Returns a difference with grouped digits and its sign. 0 has no sign.
pub fn signed(delta: Count) -> String {
    let sign = if delta > 0 { "+" } else { "" };
    format!("{sign}{}", grouped(delta))
}

/// Returns a share in the form of callgrind_annotate: `( 3.25%)`, with one decimal if two do not fit.
pub fn annotate_percent(percent: f64) -> String {
    if -9.995 < percent && percent < 99.995 {
        format!("({percent:5.2}%)")
    } else {
        format!("({percent:5.1}%)")
    }
}

/// Returns a share for a sentence: `3.25%`.
pub fn percent(percent: f64) -> String {
    format!("{percent:.2}%")
}

/// Converts a count to a float. Almost every count fits in 64 bits, which a processor converts in hardware.
#[inline]
pub(crate) fn float(count: Count) -> f64 {
    match i64::try_from(count) {
        Ok(count) => count as f64,
        Err(_) => wide_float(count),
    }
}

// A separate function, because otherwise the compiler merges both conversions into the slow one.
#[cold]
#[inline(never)]
fn wide_float(count: Count) -> f64 {
    count as f64
}

/// Appends a number with two decimals, like `{:.2}`, with a tenth of the instructions.
pub fn push_hundredths(value: f64, text: &mut Vec<u8>) {
    let hundredths = value.abs() * 100.0;
    let floor = hundredths as i64;
    // The distance from the middle between two hundredths. Its sign is exact, even though the product was rounded.
    let beyond_half = value.abs().mul_add(100.0, -(floor as f64 + 0.5));
    let is_certain = hundredths < 1e12 && beyond_half != 0.0;
    if !is_certain {
        text.extend_from_slice(format!("{value:.2}").as_bytes());
        return;
    }
    if value.is_sign_negative() {
        text.push(b'-');
    }
    let hundredths = floor.unsigned_abs() + u64::from(beyond_half > 0.0);
    text.extend_from_slice(itoa::Buffer::new().format(hundredths / 100).as_bytes());
    text.push(b'.');
    text.push(b'0' + (hundredths / 10 % 10) as u8);
    text.push(b'0' + (hundredths % 10) as u8);
}

/// Returns a change for a sentence: `+3.25%`. A change that rounds to 0 has no sign.
pub fn signed_percent(percent: f64) -> String {
    let text = format!("{percent:+.2}%");
    match text.as_str() {
        "+0.00%" | "-0.00%" => "0.00%".to_owned(),
        _ => text,
    }
}

/// Returns bytes with two decimals, in the largest binary unit in which the value is at least 1.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

/// Returns bytes that are a round number of a binary unit, without trailing zeros: `1.5 MiB`.
pub fn round_bytes(bytes: u128) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let magnitude = bytes.checked_ilog2().unwrap_or(0) / 10;
    let magnitude = (magnitude as usize).min(UNITS.len() - 1);
    if bytes == 0 {
        return "0".to_owned();
    }
    // The division is exact, because the divisor is a power of two.
    let value = bytes as f64 / (1_u128 << (10 * magnitude)) as f64;
    format!("{value} {}", UNITS[magnitude])
}

/// Returns a quotient in the form of dh_view: at most two decimals, and commas between thousands.
pub fn quotient(value: f64) -> String {
    let text = format!("{:.2}", value.abs());
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let sign = if value < 0.0 && text != "0" { "-" } else { "" };
    let (whole, decimals) = text.split_at(text.find('.').unwrap_or(text.len()));
    match whole.parse::<Count>() {
        Ok(count) => format!("{sign}{}{decimals}", grouped(count)),
        // More than 128 bits, which quotients of counts never reach.
        Err(_) => format!("{sign}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_thousands() {
        for (count, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (-123_456, "-123,456"),
            (Count::from(u64::MAX), "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(count), text);
        }
        assert_eq!(plural(1, "byte", "bytes"), "1 byte");
        assert_eq!(plural(1_000, "byte", "bytes"), "1,000 bytes");
        assert_eq!(signed(1_000), "+1,000");
        assert_eq!(signed(0), "0");
        assert_eq!(signed(-1), "-1");
    }

    #[test]
    fn percentages_have_the_form_of_callgrind_annotate() {
        for (percent, text) in [
            (0.0, "( 0.00%)"),
            (3.254, "( 3.25%)"),
            (99.99, "(99.99%)"),
            (99.996, "(100.0%)"),
            (100.0, "(100.0%)"),
            (468.6, "(468.6%)"),
            (-9.99, "(-9.99%)"),
            (-10.0, "(-10.0%)"),
        ] {
            assert_eq!(annotate_percent(percent), text);
        }
    }

    #[test]
    fn hundredths_equal_those_of_the_standard_library() {
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 11
        };
        let ratios = (0..100_000).map(|round: u32| {
            let (part, whole) = (random() >> (round % 53), (random() >> (round % 41)) + 1);
            let sign = if round.is_multiple_of(3) { -1.0 } else { 1.0 };
            sign * (part as f64) * 100.0 / whole as f64
        });
        // Multiples of half a hundredth, and the adjacent numbers.
        let halves = (0..4000).flat_map(|step| {
            let half = f64::from(step) / 200.0;
            [half, -half, half.next_up(), half.next_down()]
        });
        let ends = [
            0.0,
            -0.0,
            1e12,
            1e300,
            f64::MIN_POSITIVE,
            f64::INFINITY,
            f64::NAN,
        ];
        for value in ratios.chain(halves).chain(ends) {
            let mut text = Vec::new();
            push_hundredths(value, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), format!("{value:.2}"));
        }
    }

    #[test]
    fn quotients_have_at_most_two_decimals() {
        for (value, text) in [
            (2180.0, "2,180"),
            (377_168.316_6, "377,168.32"),
            (0.5, "0.5"),
            (-0.25, "-0.25"),
            (0.001, "0"),
            (100.0, "100"),
        ] {
            assert_eq!(quotient(value), text);
        }
    }

    #[test]
    fn changes_have_a_sign_unless_they_round_to_zero() {
        assert_eq!(signed_percent(5.0), "+5.00%");
        assert_eq!(signed_percent(-0.001), "0.00%");
        assert_eq!(signed_percent(-12.345), "-12.35%");
    }

    #[test]
    fn bytes_have_the_largest_suitable_unit() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.50 KiB"),
            (1 << 20, "1.00 MiB"),
            (u64::MAX, "16.00 EiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
