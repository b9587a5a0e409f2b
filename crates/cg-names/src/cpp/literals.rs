//! Literals in demangled names: Valgrind writes `5ul`, and `cpp_demangle` writes `(unsigned long)5`.

use std::borrow::Cow;

const SUFFIXES: [(&str, &str); 5] = [
    ("(unsigned int)", "u"),
    ("(unsigned long)", "ul"),
    ("(unsigned long long)", "ull"),
    ("(long)", "l"),
    ("(long long)", "ll"),
];

/// Writes the types of literals as suffixes.
pub(super) fn with_suffixes(name: &str) -> Cow<'_, str> {
    if !name.contains("(unsigned ") && !name.contains("(long") {
        return Cow::Borrowed(name);
    }
    let mut result = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(begin) = rest.find('(') {
        let (before, from) = rest.split_at(begin);
        result.push_str(before);
        rest = match literal(from) {
            Some((number, suffix, after)) => {
                result.push_str(number);
                result.push_str(suffix);
                after
            }
            None => {
                result.push('(');
                &from[1..]
            }
        };
    }
    result.push_str(rest);
    Cow::Owned(result)
}

/// Splits `(long)-5, …` into the number, the suffix and the rest.
fn literal(text: &str) -> Option<(&str, &'static str, &str)> {
    let known = SUFFIXES.iter();
    let mut found = known.filter_map(|(begin, suffix)| Some((text.strip_prefix(begin)?, *suffix)));
    let (value, suffix) = found.next()?;
    let digits = value.strip_prefix('-').unwrap_or(value);
    let after = digits.trim_start_matches(|next: char| next.is_ascii_digit());
    let number = &value[..value.len() - after.len()];
    (after.len() < digits.len()).then_some((number, suffix, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_numbers_become_suffixes() {
        for (name, expected) in [
            ("f<(unsigned long)5>()", "f<5ul>()"),
            ("f<(long)-5, (unsigned int)0>()", "f<-5l, 0u>()"),
            ("f<(long long)5, (unsigned long long)7>()", "f<5ll, 7ull>()"),
            ("f<((unsigned long)1)+(2)>()", "f<(1ul)+(2)>()"),
            ("f<(char)65>(unsigned long)", "f<(char)65>(unsigned long)"),
            ("f(unsigned long)::g()", "f(unsigned long)::g()"),
            (
                "f((unsigned long)(x), (long)-y)",
                "f((unsigned long)(x), (long)-y)",
            ),
            ("f(long)", "f(long)"),
        ] {
            assert_eq!(with_suffixes(name), expected);
        }
    }
}
