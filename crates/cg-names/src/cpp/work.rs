//! A limit for names that `cpp_demangle` would read for minutes.
//!
//! After `cv`, `nw`, `na`, `dl` and `da` (conversions, `new` and `delete`) it tries two readings, and each contains all
//! readings of the rest. So 24 of them take 20 seconds, and each further one twice as long.

/// The maximum number of such operators. Honest names have a few; ten take about a millisecond.
const MOST: usize = 10;

/// Returns true if a mangled name has too many operators with two readings.
pub(super) fn takes_too_long(mangled: &str) -> bool {
    let name = mangled.as_bytes();
    let is_operator = |pair: &[u8]| matches!(pair, b"cv" | b"nw" | b"na" | b"dl" | b"da");
    if name.windows(2).filter(|pair| is_operator(pair)).count() <= MOST {
        return false;
    }
    // Identifiers such as OpenCV's namespace `cv` contain no operators.
    let (mut operators, mut position, mut is_after_identifier) = (0, 0, false);
    while position < name.len() {
        let (before, rest) = name.split_at(position);
        if let Some(length) = identifier(before, rest, is_after_identifier) {
            position += length;
            is_after_identifier = true;
            continue;
        }
        operators += usize::from(rest.get(..2).is_some_and(is_operator));
        position += 1;
        is_after_identifier = false;
    }
    operators > MOST
}

/// Returns the length of an identifier and its number, if `rest` begins with one for certain. Otherwise a number could hide
/// operators: the 5 in `Li5E`, `E5_` and `C15ident` is not the length of an identifier.
fn identifier(before: &[u8], rest: &[u8], is_after_identifier: bool) -> Option<usize> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length: usize = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let first = *rest.get(digits)?;
    let is_certain = match before {
        _ if is_after_identifier => true,
        // The kind of a constructor follows.
        [.., b'C', b'I'] => false,
        [.., b'N' | b'Z' | b'I' | b'K' | b'V' | b'P' | b'R' | b'O'] | [.., b'S', b't'] => true,
        [.., b'E'] => first.is_ascii_alphabetic() && first != b'E',
        _ => false,
    };
    let end = digits.checked_add(length)?;
    (is_certain && end <= rest.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_counted_outside_of_identifiers() {
        for (name, too_long) in [
            (format!("_ZN1a{}", "cvT_I".repeat(MOST)), false),
            (format!("_ZN1a{}", "cvT_I".repeat(MOST + 1)), true),
            (format!("_Z1fIX{}", "nwnadlda".repeat(3)), true),
            (format!("_ZN2cv1fE{}", "N2cv3MatE".repeat(20)), false),
            (format!("_ZN2cv6detail{}E", "3navI2cvE".repeat(20)), false),
            (format!("_Z1f{}", "RKSt7AnalysisP5naDada".repeat(20)), false),
            // Numbers that are not lengths.
            (format!("_ZN1aUlvE99_{}", "cvT_I".repeat(11)), true),
            (format!("_Z1fILi99E{}", "cvT_I".repeat(11)), true),
            (format!("_ZCI199a{}", "cvT_I".repeat(11)), true),
            (format!("_Z1fI999a{}", "cvT_I".repeat(11)), true),
        ] {
            assert_eq!(takes_too_long(&name), too_long, "{name}");
        }
    }
}
