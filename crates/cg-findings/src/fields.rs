//! Numbers in Memcheck's form, with thousands separators and changes: `1,024`, `1,024 (+24)`.

/// A number in Memcheck's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrintedAmount {
    pub(super) value: u64,
    /// True if a change follows the number.
    pub(super) is_delta: bool,
}

/// Parses the amount at the beginning of `bytes`, and returns it with the rest. Rejects numbers beyond `u64`.
pub(super) fn amount(bytes: &[u8]) -> Option<(PrintedAmount, &[u8])> {
    let (value, rest) = number(bytes)?;
    if let Some(change) = skip(rest, b" (+").or_else(|| skip(rest, b" (-"))
        && let Some((_, after)) = number(change)
        && let Some(rest) = skip(after, b")")
    {
        let is_delta = true;
        return Some((PrintedAmount { value, is_delta }, rest));
    }
    let is_delta = false;
    Some((PrintedAmount { value, is_delta }, rest))
}

/// Parses all of `bytes` as an amount, except blanks around it.
pub(super) fn whole_amount(bytes: &[u8]) -> Option<u64> {
    let (amount, rest) = amount(bytes.trim_ascii())?;
    rest.is_empty().then_some(amount.value)
}

/// Parses a number, with or without commas.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut length = 0;
    for (position, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                length = position + 1;
            }
            b',' if position > 0 && position == length => {}
            _ => break,
        }
    }
    (length > 0).then(|| (value, &bytes[length..]))
}

/// Returns the rest after `prefix`; `None` if `bytes` do not begin with it.
pub(super) fn skip<'a>(bytes: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    bytes.strip_prefix(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_may_have_commas_and_changes() {
        assert_eq!(whole_amount(b"47,031"), Some(47031));
        assert_eq!(whole_amount(b" 1,047,031 (+1,000) "), Some(1047031));
        assert_eq!(whole_amount(b"7 (-3)"), Some(7));
        assert_eq!(whole_amount(b"18446744073709551616"), None);
        assert_eq!(whole_amount(b"1 x"), None);
        assert_eq!(whole_amount(b""), None);
        assert_eq!(
            amount(b"32 (8 direct").map(|(amount, rest)| (amount.value, rest)),
            Some((32, &b" (8 direct"[..]))
        );
        assert_eq!(
            amount(b"1, and more").map(|(amount, rest)| (amount.value, rest)),
            Some((1, &b", and more"[..]))
        );
    }
}
