//! Numbers as people read them.

use cg_stream::record::Count;

/// `64 bytes in 1 block`.
pub(crate) fn amount(bytes: Count, blocks: Count) -> String {
    format!(
        "{} in {}",
        plural(bytes, "byte", "bytes"),
        plural(blocks, "block", "blocks")
    )
}

/// `1 byte`, `1,234 bytes`.
pub(crate) fn plural(count: Count, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// The digits in groups of three, as Valgrind writes them.
pub(crate) fn grouped(count: Count) -> String {
    let digits = count.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
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
