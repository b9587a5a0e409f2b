//! Comparison of names in Rust's two mangling schemes.
//!
//! v0 names contain all type arguments. Legacy names contain no type arguments of functions, and only the names of the type
//! parameters of an `impl`. Therefore a legacy name is a pattern that matches the v0 names of all its instances. All other
//! parts must be equal: instances with different types never match each other.

use crate::structure::tokens::{TokenKind, tokens as structure_tokens};

/// The tokens of a name, for matching.
pub struct RustPath<'a> {
    /// `<Type as Trait>::function`, `<Type>::function` or `module::function`, for both schemes.
    tokens: Vec<&'a str>,
    /// The tokens with the first angle brackets replaced by the path of the trait, or of the type if there is no trait.
    flat: Vec<&'a str>,
}

/// Returns true for a name with type arguments after `::`, or with a type in angle brackets at the beginning. All v0 names
/// that contain more than the legacy name have this form. No names of other languages have it.
pub fn can_be_instance(name: &str) -> bool {
    name.starts_with('<') || name.contains("::<")
}

impl<'a> RustPath<'a> {
    /// Splits a name into tokens.
    pub fn new(name: &'a str) -> RustPath<'a> {
        let tokens = with_impl_in_front(tokenise(name));
        let flat = flatten(&tokens);
        RustPath { tokens, flat }
    }

    /// Returns the last two names of the path that are not closures. They are the same in a pattern and its instances.
    pub fn ending(&self) -> [&'a str; 2] {
        let mut depth = 0;
        let mut ending = [""; 2];
        for token in &self.flat {
            depth += nesting(token);
            if depth == 0 && token.starts_with(is_name_character) {
                ending = [ending[1], token];
            }
        }
        ending
    }

    /// Returns the number of tokens that this path has in common with a pattern; `None` if it is not an instance of the
    /// pattern.
    pub fn matches(&self, pattern: &RustPath) -> Option<usize> {
        if pattern.tokens.first() == Some(&"<") {
            match_tokens(&pattern.tokens, &self.tokens)
        } else {
            match_tokens(&pattern.tokens, &self.flat)
        }
    }
}

/// Returns the tokens of a name, without the parts that only one scheme has: white space, lifetimes, and the numbers of
/// closures.
fn tokenise(name: &str) -> Vec<&str> {
    let mut tokens: Vec<&str> = Vec::new();
    let mut follows_lifetime = false;
    let all = structure_tokens(name.as_bytes());
    for (position, token) in all.iter().enumerate() {
        // Tokens end at character boundaries, because all signs are ASCII.
        let text = &name[token.start..token.end()];
        let is_comma_of_lifetime = std::mem::take(&mut follows_lifetime) && text == ",";
        match token.kind {
            TokenKind::Blank => {}
            TokenKind::Quoted => follows_lifetime = true,
            TokenKind::Braces if text == "{{vtable.shim}}" => tokens.extend(["::", "{shim:vtable"]),
            // Remove the number after `#`, which legacy names do not have.
            TokenKind::Braces => tokens.push(text.split(['#', '}']).next().unwrap_or(text)),
            TokenKind::Separator => {
                let is_turbofish = matches!(&all[position + 1..], [open, rest @ ..]
                    if open.text == "<" && rest.first().is_none_or(|word| word.text != "impl"));
                if !is_turbofish {
                    tokens.push(text);
                }
            }
            TokenKind::Close if text == ">" && tokens.last() == Some(&"<") => {
                tokens.pop();
            }
            _ if is_comma_of_lifetime => {}
            _ => tokens.push(text),
        }
    }
    tokens
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Converts `module::<impl Trait for Type>::function` to `<Type as Trait>::function`. The legacy scheme writes the former if
/// an `impl` is in a different module than its type.
fn with_impl_in_front(tokens: Vec<&str>) -> Vec<&str> {
    let mut depth = 0;
    let start = tokens.windows(2).position(|pair| {
        let is_impl = depth == 0 && pair == ["<", "impl"];
        depth += nesting(pair[0]);
        is_impl
    });
    let Some(start) = start else {
        return tokens;
    };
    let end = start + group(&tokens[start..]);
    let inner = tokens.get(start + 2..end - 1).unwrap_or_default();
    let head = match top_level(inner, "for") {
        Some(position) => {
            let (trait_path, type_path) = (&inner[..position], &inner[position + 1..]);
            [type_path, &["as"], trait_path].concat()
        }
        None => inner.to_vec(),
    };
    [&["<"], &head[..], &[">"], &tokens[end..]].concat()
}

fn flatten<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    if tokens.first() != Some(&"<") {
        return tokens.to_vec();
    }
    let end = group(tokens);
    let inner = tokens.get(1..end - 1).unwrap_or_default();
    let inner = match top_level(inner, "as") {
        Some(position) => &inner[position + 1..],
        None => inner,
    };
    [inner, &tokens[end..]].concat()
}

/// Returns the change in the depth of brackets after a token.
fn nesting(token: &str) -> i32 {
    match token {
        "<" | "(" | "[" => 1,
        ">" | ")" | "]" => -1,
        _ => 0,
    }
}

/// Returns the length of the group that begins with the first token, including its brackets. Without a closing bracket, the
/// group contains all tokens.
fn group(tokens: &[&str]) -> usize {
    let mut depth = 0;
    for (position, token) in tokens.iter().enumerate() {
        depth += nesting(token);
        if depth == 0 {
            return position + 1;
        }
    }
    tokens.len()
}

fn top_level(tokens: &[&str], wanted: &str) -> Option<usize> {
    let mut depth = 0;
    tokens.iter().position(|token| {
        depth += nesting(token);
        depth == 0 && *token == wanted
    })
}

/// Matches tokens with a pattern and returns the number of equal tokens. Other tokens must be omitted in the pattern, or
/// correspond to a parameter of it.
fn match_tokens(pattern: &[&str], instance: &[&str]) -> Option<usize> {
    let (mut p, mut i) = (0, 0);
    let mut equal = 0;
    while p < pattern.len() || i < instance.len() {
        let found = instance.get(i).copied();
        match pattern.get(p).copied() {
            Some(_) if is_parameter(pattern, p) => {
                let length = argument(&instance[i..]);
                if length == 0 {
                    return None;
                }
                i += length;
                p += 1;
            }
            wanted if wanted == found => {
                equal += 1;
                p += 1;
                i += 1;
            }
            wanted if found == Some("<") && wanted != found && follows_name(instance, i) => {
                i += group(&instance[i..]);
            }
            // v0 omits parameters with default values, and the brackets if all parameters have default values.
            Some(",") if found == Some(">") && is_parameter(pattern, p + 1) => p += 2,
            Some("<") if follows_name(pattern, p) && has_only_parameters(&pattern[p..]) => {
                p += group(&pattern[p..]);
            }
            _ => return None,
        }
    }
    Some(equal)
}

/// Returns true for the name of a type parameter. All other types are primitive, or paths that begin with a crate.
fn is_parameter(tokens: &[&str], position: usize) -> bool {
    let is_name = |token: &&str| token.starts_with(|c: char| c.is_uppercase());
    tokens.get(position).is_some_and(is_name)
        && position > 0
        && tokens[position - 1] != "::"
        && !matches!(tokens.get(position + 1), None | Some(&"::" | &"<" | &"="))
}

/// Returns true if the brackets at the beginning contain only names of type parameters.
fn has_only_parameters(tokens: &[&str]) -> bool {
    (1..group(tokens) - 1).all(|position| tokens[position] == "," || is_parameter(tokens, position))
}

/// Returns true if a name precedes this position, so that type arguments can follow.
fn follows_name(tokens: &[&str], position: usize) -> bool {
    let before = position.checked_sub(1).map(|before| tokens[before]);
    before
        .is_some_and(|name| name != "as" && name.starts_with(|c| is_name_character(c) || c == '{'))
}

/// Returns the number of tokens in one type argument.
fn argument(tokens: &[&str]) -> usize {
    let mut depth = 0;
    for (position, token) in tokens.iter().enumerate() {
        let is_end = matches!(*token, "," | ";" | ">" | ")" | "]" | "as");
        if depth == 0 && is_end {
            return position;
        }
        depth += nesting(token);
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(legacy: &str, v0: &str) -> bool {
        let (pattern, instance) = (RustPath::new(legacy), RustPath::new(v0));
        let is_match = can_be_instance(v0) && instance.matches(&pattern).is_some();
        assert!(!is_match || pattern.ending() == instance.ending(), "{v0}");
        is_match
    }

    #[test]
    fn a_legacy_name_is_matched_by_its_instances() {
        for (legacy, v0) in [
            (
                "core::slice::sort::stable::quicksort::quicksort",
                "core::slice::sort::stable::quicksort::quicksort::<i64, <[i64]>::sort_by_key<core::cmp::Reverse<i64>, rs::main::{closure}>::{closure}>",
            ),
            (
                "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
                "<alloc::vec::Vec<u8> as core::ops::drop::Drop>::drop",
            ),
            (
                "<&T as core::fmt::Debug>::fmt",
                "<&&alloc::collections::btree::map::BTreeMap<usize, &str> as core::fmt::Debug>::fmt",
            ),
            (
                "<alloc::vec::Vec<T> as alloc::vec::spec_from_iter::SpecFromIter<T,I>>::from_iter",
                "<alloc::vec::Vec<rs::Handle<u32>> as alloc::vec::spec_from_iter::SpecFromIter<rs::Handle<u32>, core::iter::Map<core::ops::Range<u32>, rs::main::{closure}>>>::from_iter",
            ),
            (
                "<(T,alloc::vec::Vec<U>) as rs::Weigh>::weigh",
                "<(u8, alloc::vec::Vec<i32>) as rs::Weigh>::weigh",
            ),
            (
                "<[T; N] as core::fmt::Debug>::fmt",
                "<[u8; 16] as core::fmt::Debug>::fmt",
            ),
            (
                "hashbrown::raw::RawTable<T,A>::reserve_rehash",
                "<hashbrown::raw::RawTable<(alloc::string::String, usize)>>::reserve_rehash::<hashbrown::map::make_hasher<usize>::{closure}>",
            ),
            (
                "hashbrown::rustc_entry::<impl hashbrown::map::HashMap<K,V,S,A>>::rustc_entry",
                "<hashbrown::map::HashMap<usize, u8, rs::State>>::rustc_entry",
            ),
            (
                "core::slice::<impl [T]>::sort_by_key",
                "<[i64]>::sort_by_key::<u8, rs::main::{closure}>",
            ),
            (
                "rs::shapes::<impl core::convert::From<T> for rs::Shape<T>>::from",
                "<rs::Shape<u8> as core::convert::From<u8>>::from",
            ),
            (
                "core::hash::BuildHasher::hash_one",
                "<std::hash::random::RandomState as core::hash::BuildHasher>::hash_one::<&alloc::string::String>",
            ),
            (
                "core::ptr::drop_in_place<(u8,alloc::vec::Vec<i32>)>",
                "core::ptr::drop_in_place::<(u8, alloc::vec::Vec<i32>)>",
            ),
            (
                "std::rt::lang_start::{closure}",
                "std::rt::lang_start::<()>::{closure}",
            ),
            (
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
                "<rs::spawn<u32>::{closure} as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}",
            ),
            (
                "alloc::raw_vec::RawVecInner<A>::finish_grow",
                "<alloc::raw_vec::RawVecInner>::finish_grow",
            ),
            (
                "rs::Cursor<T>::advance",
                "<rs::Cursor<'_, u8>>::advance::<fn(&'_ u8) -> bool>",
            ),
        ] {
            assert!(is_match(legacy, v0), "{legacy} {v0}");
        }
    }

    #[test]
    fn parts_that_both_schemes_print_must_be_equal() {
        for (old, new) in [
            ("<rs::A as rs::Trait>::f", "<rs::B as rs::Trait>::f"),
            (
                "<rs::A<u8> as rs::Trait>::f",
                "<rs::A<u16> as rs::Trait>::f",
            ),
            ("rs::f::<u8>", "rs::f::<u16>"),
            ("<rs::A<u8>>::f", "<rs::A<u16>>::f"),
            ("rs::A<T>::f", "<rs::B<u8>>::f"),
            ("rs::A<u8>::f", "<rs::A>::f"),
            ("<rs::A<T> as rs::One>::f", "<rs::A<u8> as rs::Two>::f"),
            (
                "<&T as core::fmt::Debug>::fmt",
                "<str as core::fmt::Debug>::fmt",
            ),
            ("rs::f", "rs::f::<u8>::{closure}"),
            ("rs::f", "rs::g::<u8>"),
            (
                "core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
                "core::ptr::drop_in_place::<alloc::vec::Vec<u16>>",
            ),
        ] {
            assert!(!is_match(old, new), "{old} {new}");
        }
    }

    #[test]
    fn cpp_templates_and_overloads_are_not_instances() {
        for name in [
            "std::vector<int, std::allocator<int> >::push_back(int const&)",
            "void sort<int>(int*, int*)",
            "operator<(A const&, B const&)",
            "f(int)",
        ] {
            assert!(!can_be_instance(name), "{name}");
        }
    }

    #[test]
    fn truncated_names_match_nothing_and_do_not_panic() {
        for name in [
            "<",
            "<impl",
            "a::<impl ",
            "<>",
            ">",
            "{",
            "a::<",
            "<T",
            "'",
            "::",
        ] {
            let path = RustPath::new(name);
            assert_eq!(path.matches(&RustPath::new("a::f")), None, "{name}");
            RustPath::new("a::f::<u8>").matches(&path);
            path.matches(&path);
        }
    }
}
