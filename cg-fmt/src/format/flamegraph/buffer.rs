//! The buffer of a picture. It appends escaped texts and formatted numbers, and allocates nothing for them.

use std::io::Write as _;

use cg_document::number::grouped;
use cg_stream::record::Count;
use cg_stream::visible::visible;

/// The text of a picture, or of a part of a picture.
#[derive(Default)]
pub(super) struct PictureBuffer(Vec<u8>);

impl PictureBuffer {
    pub(super) fn with_capacity(bytes: usize) -> PictureBuffer {
        PictureBuffer(Vec::with_capacity(bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Appends markup or a text without special characters.
    pub(super) fn push(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Appends bytes of another buffer.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Appends a copy of the bytes from `start` to `end`.
    pub(super) fn repeat(&mut self, start: usize, end: usize) {
        self.0.extend_from_within(start..end);
    }

    /// Appends a text, escaped for XML. Replaces the two characters that XML cannot hold.
    pub(super) fn push_escaped(&mut self, text: &str) {
        let text = visible(text);
        let bytes = text.as_bytes();
        let mut copied = 0;
        for (position, byte) in bytes.iter().enumerate() {
            let (escaped, length) = match byte {
                b'&' => ("&amp;", 1),
                b'<' => ("&lt;", 1),
                b'>' => ("&gt;", 1),
                b'"' => ("&quot;", 1),
                // U+FFFE and U+FFFF.
                0xef if matches!(&bytes[position..], [_, 0xbf, 0xbe | 0xbf, ..]) => ("\u{fffd}", 3),
                _ => continue,
            };
            self.push_bytes(&bytes[copied..position]);
            self.push(escaped);
            copied = position + length;
        }
        self.push_bytes(&bytes[copied..]);
    }

    /// Appends an integer.
    pub(super) fn push_integer(&mut self, number: usize) {
        self.push_digits(number as u64, 1);
    }

    /// Appends a count.
    pub(super) fn push_count(&mut self, count: Count) {
        match u64::try_from(count) {
            Ok(number) => self.push_digits(number, 1),
            // Writing to a Vec cannot fail.
            Err(_) => {
                let _ = write!(self.0, "{count}");
            }
        }
    }

    /// Appends a count like [`grouped`].
    pub(super) fn push_grouped(&mut self, count: Count) {
        match u64::try_from(count) {
            Ok(number) => self.push_groups(number),
            Err(_) => self.push(&grouped(count)),
        }
    }

    fn push_groups(&mut self, number: u64) {
        if number < 1000 {
            self.push_digits(number, 1);
            return;
        }
        self.push_groups(number / 1000);
        self.push(",");
        self.push_digits(number % 1000, 3);
    }

    /// Appends a share in percent with `%`. The digits are those of the share as a float under `{:.2}` or `{:.4}`.
    pub(super) fn push_percent(&mut self, part: Count, whole: Count, decimals: PercentDecimals) {
        let decimals = decimals as usize;
        match percent_units(part, whole, decimals as u32) {
            Some(units) => {
                let one = 10_u64.pow(decimals as u32);
                self.push_digits(units / one, 1);
                self.push(".");
                self.push_digits(units % one, decimals);
                self.push("%");
            }
            None => {
                let percent = part as f64 * 100.0 / whole as f64;
                // Writing to a Vec cannot fail.
                let _ = write!(self.0, "{percent:.decimals$}%");
            }
        }
    }

    /// Appends the digits of a number, and zeros before them if there are fewer than `least`.
    fn push_digits(&mut self, mut number: u64, least: usize) {
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        while number > 0 || digits.len() - start < least {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        self.push_bytes(&digits[start..]);
    }
}

/// The number of decimals of a percentage.
#[derive(Clone, Copy, Debug)]
pub(super) enum PercentDecimals {
    Two = 2,
    Four = 4,
}

/// Returns a share in units of its last decimal, rounded; `None` if a float of the share may round to another unit.
fn percent_units(part: Count, whole: Count, decimals: u32) -> Option<u64> {
    let (part, whole) = (u64::try_from(part).ok()?, u64::try_from(whole).ok()?);
    if part > whole {
        return None;
    }
    let scaled = u128::from(part) * 10_u128.pow(2 + decimals);
    let whole = u128::from(whole);
    let units = scaled.checked_div(whole)?;
    let twice_rest = 2 * (scaled - units * whole);
    // The float differs from the share by less than 2^-50 of the share, which has at most a million units. So it rounds to
    // the same unit, unless the share is within 2^-30 of the middle between two units.
    let is_certain = twice_rest.abs_diff(whole) > whole >> 28;
    let rounded = units + u128::from(twice_rest > whole);
    u64::try_from(rounded).ok().filter(|_| is_certain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(push: impl FnOnce(&mut PictureBuffer)) -> String {
        let mut buffer = PictureBuffer::default();
        push(&mut buffer);
        String::from_utf8(buffer.0).unwrap()
    }

    #[test]
    fn names_are_text_and_never_markup() {
        for (text, escaped) in [
            ("", ""),
            ("main", "main"),
            ("a<b>&\"c\"'", "a&lt;b&gt;&amp;&quot;c&quot;'"),
            ("<>", "&lt;&gt;"),
            ("\u{fffe}a\u{ffff}", "\u{fffd}a\u{fffd}"),
            // These characters begin with the same byte as U+FFFE.
            ("\u{fffd}\u{ff1c}\u{f000}", "\u{fffd}\u{ff1c}\u{f000}"),
            ("\u{1b}<\u{202e}é", "\\u{1b}&lt;\\u{202e}é"),
        ] {
            assert_eq!(pushed(|buffer| buffer.push_escaped(text)), escaped);
        }
    }

    #[test]
    fn integers_equal_those_of_the_standard_library() {
        let counts = (0..20).map(|power| Count::pow(10, power));
        let counts = counts.flat_map(|count| [count - 1, count, count + 1, -count]);
        let ends = [Count::from(u64::MAX), Count::from(u64::MAX) + 1];
        for count in counts.chain(ends) {
            let text = pushed(|buffer| buffer.push_count(count));
            assert_eq!(text, count.to_string());
            let text = pushed(|buffer| buffer.push_grouped(count));
            assert_eq!(text, grouped(count));
        }
    }

    #[test]
    fn percentages_have_the_digits_of_their_float() {
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 1
        };
        // Shares of any size, and shares in the middle between two units.
        let any = (0..50_000_u32).map(|round| {
            let whole = (random() >> (round % 60)) + 1;
            [Count::from(random() % whole), Count::from(whole)]
        });
        let any: Vec<[Count; 2]> = any.collect();
        let steps = || 0..Count::from(2000);
        let halves = steps().map(|step| [step, 2_000_000]);
        let large = steps().map(|step| [step << 40, 2_000_000 << 40]);
        let most = Count::from(u64::MAX);
        let ends: [[Count; 2]; 5] = [[0, 1], [1, 1], [0, 0], [3, 2], [most - 1, most]];
        for [part, whole] in any.into_iter().chain(halves).chain(large).chain(ends) {
            let percent = part as f64 * 100.0 / whole as f64;
            let two = pushed(|buffer| buffer.push_percent(part, whole, PercentDecimals::Two));
            assert_eq!(two, format!("{percent:.2}%"), "{part}/{whole}");
            let four = pushed(|buffer| buffer.push_percent(part, whole, PercentDecimals::Four));
            assert_eq!(four, format!("{percent:.4}%"), "{part}/{whole}");
        }
    }
}
