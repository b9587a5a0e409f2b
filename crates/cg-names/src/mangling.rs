//! Which names of Rust's two mangling schemes are of the same function.
//!
//! v0 prints every type argument. The legacy scheme prints none of a function's, and the type parameters of an `impl`
//! by their names. So a legacy name is a pattern, and the v0 names of all its instances match it. What both print must
//! be equal: instances of different types never match each other.

use crate::structure::tokens::{TokenKind, tokens as structure_tokens};

/// A name cut into tokens, so that it can be matched.
pub struct RustPath<'a> {
    /// `<Type as Trait>::function`, `<Type>::function` or `module::function`, whichever way the scheme writes it.
    tokens: Vec<&'a str>,
    /// The same with the trait's, else the type's own path in place of what is in the first angle brackets.
    flat: Vec<&'a str>,
}

/// True for a name with type arguments behind `::` or a type in angle brackets in front. All names that v0 prints more in
/// are such, and none of another language.
pub fn can_be_instance(name: &str) -> bool {
    name.starts_with('<') || name.contains("::<")
}

impl<'a> RustPath<'a> {
    /// Cuts a name into tokens.
    pub fn new(name: &'a str) -> RustPath<'a> {
        let tokens = with_impl_in_front(tokenise(name));
        let flat = flatten(&tokens);
        RustPath { tokens, flat }
    }

    /// The last two names of the path that are not closures. A pattern and its instances have them in common.
    pub fn ending(&self) -> [&'a str; 2] {
        let mut depth = 0;
        let mut ending = [""; 2];
        for token in &self.flat {
            depth += nesting(token);
            if depth == 0 && token.starts_with(is_of_name) {
                ending = [ending[1], token];
            }
        }
        ending
    }

    /// How many tokens a pattern and its instance have in common; `None` where this is no instance of the pattern.
    pub fn matches(&self, pattern: &RustPath) -> Option<usize> {
        if pattern.tokens.first() == Some(&"<") {
            match_tokens(&pattern.tokens, &self.tokens)
        } else {
            match_tokens(&pattern.tokens, &self.flat)
        }
    }
}

/// The tokens of a name but for what only one scheme has: white space, lifetimes, the numbers of closures.
fn tokenise(name: &str) -> Vec<&str> {
    let mut tokens: Vec<&str> = Vec::new();
    let mut is_behind_lifetime = false;
    let all = structure_tokens(name.as_bytes());
    for (position, token) in all.iter().enumerate() {
        // Tokens are cut between ASCII signs, so each is as valid as the name.
        let text = &name[token.start..token.end()];
        let is_comma_of_lifetime = std::mem::take(&mut is_behind_lifetime) && text == ",";
        match token.kind {
            TokenKind::Blank => {}
            TokenKind::Quoted => is_behind_lifetime = true,
            TokenKind::Braces if text == "{{vtable.shim}}" => tokens.extend(["::", "{shim:vtable"]),
            // Legacy names have no number, and no other scheme has one in front of it.
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

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `module::<impl Trait for Type>::function`, which is how the legacy scheme writes an `impl` that is in another module
/// than its type, as `<Type as Trait>::function`.
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
            let (of_trait, of_type) = (&inner[..position], &inner[position + 1..]);
            [of_type, &["as"], of_trait].concat()
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

/// By how much a token changes the depth of brackets.
fn nesting(token: &str) -> i32 {
    match token {
        "<" | "(" | "[" => 1,
        ">" | ")" | "]" => -1,
        _ => 0,
    }
}

/// The length of the group that begins with the first token, its brackets included; all that is left where none
/// closes it.
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

/// The number of tokens that are equal, where what is not equal is left out or a parameter in the pattern.
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
            wanted if found == Some("<") && wanted != found && is_behind_name(instance, i) => {
                i += group(&instance[i..]);
            }
            // v0 leaves out parameters that have their defaults, or the brackets where all of them have.
            Some(",") if found == Some(">") && is_parameter(pattern, p + 1) => p += 2,
            Some("<") if is_behind_name(pattern, p) && is_of_parameters(&pattern[p..]) => {
                p += group(&pattern[p..]);
            }
            _ => return None,
        }
    }
    Some(equal)
}

/// True for the name of a type parameter: all other types are paths from their crate, or primitive.
fn is_parameter(tokens: &[&str], position: usize) -> bool {
    let is_name = |token: &&str| token.starts_with(|c: char| c.is_uppercase());
    tokens.get(position).is_some_and(is_name)
        && position > 0
        && tokens[position - 1] != "::"
        && !matches!(tokens.get(position + 1), None | Some(&"::" | &"<" | &"="))
}

/// True where the brackets that these tokens begin with hold nothing but names of type parameters.
fn is_of_parameters(tokens: &[&str]) -> bool {
    (1..group(tokens) - 1).all(|position| tokens[position] == "," || is_parameter(tokens, position))
}

/// True where arguments of what is named in front can be.
fn is_behind_name(tokens: &[&str], position: usize) -> bool {
    let before = position.checked_sub(1).map(|before| tokens[before]);
    before.is_some_and(|name| name != "as" && name.starts_with(|c| is_of_name(c) || c == '{'))
}

/// The length of one type argument.
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
    fn what_both_print_must_be_equal() {
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
    fn templates_and_overloads_of_cpp_are_no_instances() {
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
    fn names_that_are_cut_off_match_nothing_and_do_no_harm() {
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
