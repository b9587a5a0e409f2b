//! Numbers in a variable-length encoding, with seven bits per byte.

#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes a number that is read as signed. Numbers close to 0 are short, whatever their sign.
pub(crate) fn put_difference(out: &mut Vec<u8>, difference: u64) {
    put(out, zigzag(difference));
}

#[inline]
pub(crate) fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

/// Reads the number at the beginning of `bytes`. Returns it and the rest; `None` if the number is incomplete. Most numbers
/// take one byte.
#[inline(always)]
pub(crate) fn take(bytes: &[u8]) -> Option<(u64, &[u8])> {
    match bytes.split_first() {
        Some((byte, rest)) if byte & 0x80 == 0 => Some((u64::from(*byte), rest)),
        _ => take_long(bytes),
    }
}

fn take_long(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (position, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[position + 1..]));
        }
    }
    None
}

#[inline]
pub(crate) fn take_difference(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = take(bytes)?;
    Some((from_zigzag(number), rest))
}

#[inline]
pub(crate) fn from_zigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}
