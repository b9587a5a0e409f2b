//! Counts as people read them, for the tools that write for people.

use crate::record::Count;

/// The digits in groups of three, with commas between them as Valgrind writes them, whatever the locale.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let shown: Vec<String> = [0, 999, 1_000, 1_234_567, -1_000].map(grouped).into();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567", "-1,000"]);
    }
}
