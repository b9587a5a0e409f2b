//! Parsers for numbers in profiles, decimal or hexadecimal with `0x`.

/// Parses a number at the beginning of `bytes`, and returns it with the rest. `None` if there is no digit or the number
/// exceeds `u64`.
// Without inlining it took a twelfth of the time to read Callgrind's files.
#[inline(always)]
pub fn leading_u64(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut length = 0;
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    match length {
        0 => None,
        1 if value == 0 && matches!(bytes, [_, b'x' | b'X', ..]) => leading_hex(&bytes[2..]),
        // 19 digits cannot overflow, and longer numbers are rare.
        1..=19 => Some((value, &bytes[length..])),
        _ => long_decimal(&bytes[..length]).map(|value| (value, &bytes[length..])),
    }
}

/// Parses a number that may exceed `u64`.
#[cold]
fn long_decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, digit| {
        value
            .checked_mul(10)?
            .checked_add(u64::from(digit.wrapping_sub(b'0')))
    })
}

/// Parses a hexadecimal number without `0x`, like [`leading_u64`].
#[inline]
pub fn leading_hex(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut length = 0;
    while let Some(digit) = bytes
        .get(length)
        .and_then(|byte| (*byte as char).to_digit(16))
    {
        if value >> 60 != 0 {
            return None;
        }
        value = value << 4 | u64::from(digit);
        length += 1;
    }
    if length == 0 {
        None
    } else {
        Some((value, &bytes[length..]))
    }
}

/// Parses all of `bytes` as one number.
pub fn whole_u64(bytes: &[u8]) -> Option<u64> {
    leading_u64(bytes).and_then(|(value, rest)| rest.is_empty().then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_hexadecimal_numbers_have_at_most_64_bits() {
        assert_eq!(leading_u64(b"12 34"), Some((12, &b" 34"[..])));
        assert_eq!(whole_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole_u64(b"18446744073709551616"), None);
        assert_eq!(whole_u64(b"0000000000000000000000007"), Some(7));
        assert_eq!(whole_u64(b"0x10"), Some(16));
        assert_eq!(whole_u64(b"0xFFFFFFFFFFFFFFFF"), Some(u64::MAX));
        assert_eq!(whole_u64(b"0x10000000000000000"), None);
        assert_eq!(whole_u64(b"0x"), None);
        assert_eq!(whole_u64(b""), None);
        assert_eq!(whole_u64(b"1x"), None);
    }
}
