//! Packs in demangled names. `cpp_demangle` prints `int, char&&` for the pack `T&&...` of `int` and `char`, and only `&&` for an
//! empty one.

use super::{PACK_END_TEXT, PACK_TEXT};

/// Qualifies each type of the marked packs, and removes empty packs.
pub(super) fn expand(name: &str) -> String {
    let mut expanded = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, from)) = rest.split_once(PACK_TEXT) {
        let (qualifiers, from) = from.split_once(", ").unwrap_or((from, ""));
        let (pack, after) = from.split_once(PACK_END_TEXT).unwrap_or((from, ""));
        let pack = pack.strip_suffix(", ").unwrap_or(pack);
        expanded.push_str(before);
        expanded.push_str(&qualified(pack, qualifiers).join(", "));
        rest = after;
    }
    expanded.push_str(rest);
    expanded
}

/// Removes the separators of empty packs.
pub(super) fn without_empty_packs(mut name: String) -> String {
    for (empty, replacement) in [
        (", , ", ", "),
        (", >", ">"),
        ("<, ", "<"),
        (", )", ")"),
        ("(, ", "("),
    ] {
        while name.contains(empty) {
            name = name.replace(empty, replacement);
        }
    }
    name
}

/// Qualifies each type of a pack that `cpp_demangle` printed.
fn qualified(pack: &str, qualifiers: &str) -> Vec<String> {
    let suffix: String = qualifiers.chars().rev().map(text_of).collect();
    if pack.trim().is_empty() || pack.trim() == suffix.trim() {
        return Vec::new();
    }
    let mut types: Vec<String> = split_types(pack).map(str::to_owned).collect();
    let (Some(first), count) = (types.first(), types.len()) else {
        return types;
    };
    // `cpp_demangle` does not qualify a pack whose first type is a reference.
    let is_last_qualified = !is_reference(first);
    // The qualifiers of a pointer to a function are inside of its text.
    let has_functions = types.iter().any(|text| text.contains("(*"));
    if count == 1 || has_functions || (!is_last_qualified && !suffix.trim_matches('&').is_empty()) {
        return types;
    }
    if is_last_qualified
        && let Some(last) = types.last_mut()
        && let Some(plain) = last.strip_suffix(&suffix)
    {
        *last = plain.to_owned();
    }
    let qualify = |plain: &String| match is_reference(plain) {
        true if suffix == "&" && plain.ends_with("&&") => plain[..plain.len() - 1].to_owned(),
        true => plain.clone(),
        false => format!("{plain}{suffix}"),
    };
    types.iter().map(qualify).collect()
}

fn is_reference(text: &str) -> bool {
    // References to arrays and functions: `int (&) [3]`.
    text.ends_with('&') || text.contains("(&)") || text.contains("(&&)")
}

fn text_of(qualifier: char) -> &'static str {
    match qualifier {
        'O' => "&&",
        'R' => "&",
        'P' => "*",
        'K' => " const",
        _ => " volatile",
    }
}

/// Splits types at the commas outside of brackets.
fn split_types(types: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    types
        .split(move |next| {
            depth += match next {
                '<' | '(' | '[' | '{' => 1,
                '>' | ')' | ']' | '}' => -1,
                _ => 0,
            };
            next == ',' && depth == 0
        })
        .map(str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_of_a_pack_is_qualified() {
        for (name, expected) in [
            ("f(cg$PO, int, char&&, cg$E)", "f(int&&, char&&)"),
            ("f(cg$PO, int&, char, cg$E)", "f(int&, char&&)"),
            ("f(cg$PO, int, char&, cg$E)", "f(int&&, char&)"),
            ("f(cg$PR, int, char&, cg$E)", "f(int&, char&)"),
            ("f(cg$PR, int&&, char, cg$E)", "f(int&, char&)"),
            (
                "f(cg$PRK, int, char const&, cg$E)",
                "f(int const&, char const&)",
            ),
            (
                "f(cg$PO, a<int, b>, (c)(d, e)&&, cg$E, int)",
                "f(a<int, b>&&, (c)(d, e)&&, int)",
            ),
            (
                "f(cg$PO, int, char (&) [3], cg$E)",
                "f(int&&, char (&) [3])",
            ),
            ("f(cg$PO, long&&, cg$E)", "f(long&&)"),
            ("f<int, >(int, cg$PO, &&, cg$E)", "f<int>(int)"),
            ("f<>(cg$PRK,  const&, cg$E)", "f<>()"),
            ("a<cg$PO, int, long&&, cg$E>", "a<int&&, long&&>"),
            ("f(int)", "f(int)"),
        ] {
            assert_eq!(without_empty_packs(expand(name)), expected, "{name}");
        }
    }
}
