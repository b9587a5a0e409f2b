//! The crate and the module in a function's name: Rust paths and C++ scopes.
//!
//! Names are what demanglers print, not source, so this reads them by their brackets: generic arguments, parameter lists
//! and return types are skipped, `<T as Trait>::f` belongs where `T` is at home.

/// The first segment of a function's path: the crate of a Rust function, the outermost namespace or class of a C++ one.
/// `None` for a name without a path, as C's are.
pub fn crate_name(function: &str) -> Option<String> {
    segments(function).into_iter().next()
}

/// The path of a function without the function: its module in Rust, its namespace or class in C++. Types written in
/// Rust's manner (`Parser`) are left out where they stand in a module, so `demo::parse::Parser::next` is in
/// `demo::parse`.
pub fn module_name(function: &str) -> Option<String> {
    let mut segments = segments(function);
    if segments.is_empty() {
        return None;
    }
    // What follows a type is in it, not in a module: nested functions and closures.
    let is_type = |segment: &String| segment.starts_with(|c: char| c.is_ascii_uppercase());
    if let Some(position) = segments.iter().skip(1).position(is_type) {
        segments.truncate(position + 1);
    }
    Some(segments.join("::"))
}

/// The segments before the function's own name, without generic arguments. Empty where there are none.
fn segments(function: &str) -> Vec<String> {
    let name = without_return_type(function);
    let mut segments = Vec::new();
    let mut rest = name;
    if let Some((implementor, after)) = leading_angle(name) {
        segments = home_of(implementor);
        rest = after;
    }
    let mut own = path_segments(rest);
    // Closures and shims belong to the function they stand in.
    while own
        .last()
        .is_some_and(|segment| segment.starts_with('{') || segment.is_empty())
    {
        own.pop();
    }
    own.pop();
    segments.extend(own);
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// Where the type before `::` is at home: the segments of its own path, or of the trait's where the type is a built-in
/// one, a reference or a parameter.
fn home_of(implementor: &str) -> Vec<String> {
    let (kind, of_trait) = match split_as(implementor) {
        Some((kind, of_trait)) => (kind, Some(of_trait)),
        None => (implementor, None),
    };
    let segments_of = |path: &str| -> Vec<String> {
        if let Some((inner, _)) = leading_angle(path) {
            return home_of(inner);
        }
        let path = path
            .trim_start_matches(['&', '*', '(', '[', ' '])
            .trim_start_matches("mut ")
            .trim_start_matches("const ")
            .trim_start_matches("dyn ");
        path_segments(path)
            .into_iter()
            .take_while(|segment| is_identifier(segment))
            .collect()
    };
    let own = segments_of(kind);
    if own.len() > 1 {
        return own;
    }
    let of_trait = of_trait.map(segments_of).unwrap_or_default();
    if of_trait.len() > 1 { of_trait } else { own }
}

fn is_identifier(segment: &str) -> bool {
    !segment.is_empty()
        && segment
            .chars()
            .all(|character| character.is_alphanumeric() || character == '_')
}

/// `T` and the rest of `<T>::rest`.
fn leading_angle(name: &str) -> Option<(&str, &str)> {
    let inside = name.strip_prefix('<')?;
    let mut scan = Scan {
        depth: 1,
        before: None,
    };
    for (index, character) in inside.char_indices() {
        scan.step(character);
        if scan.depth == 0 {
            let rest = &inside[index + 1..];
            return Some((&inside[..index], rest.strip_prefix("::").unwrap_or(rest)));
        }
    }
    None
}

/// Both sides of ` as ` outside brackets.
fn split_as(inside: &str) -> Option<(&str, &str)> {
    let mut scan = Scan::default();
    for (index, character) in inside.char_indices() {
        if scan.depth == 0 && inside[index..].starts_with(" as ") {
            return Some((&inside[..index], &inside[index + 4..]));
        }
        scan.step(character);
    }
    None
}

/// The segments of a path, without generic arguments, up to the parameter list.
fn path_segments(path: &str) -> Vec<String> {
    const ANONYMOUS: &str = "(anonymous namespace)";
    let mut segments = vec![String::new()];
    let mut scan = Scan::default();
    let mut rest = path;
    while let Some(character) = rest.chars().next() {
        if scan.depth == 0 {
            if let Some(after) = rest.strip_prefix("::") {
                segments.push(String::new());
                rest = after;
                continue;
            }
            if let Some(after) = rest.strip_prefix(ANONYMOUS) {
                push(&mut segments, ANONYMOUS);
                rest = after;
                continue;
            }
            let is_at_start = segments.last().is_some_and(String::is_empty);
            if is_at_start && is_operator(rest) {
                // What follows is brackets and signs that belong to the name.
                push(&mut segments, "operator");
                return segments;
            }
            if character == '(' && !is_at_start {
                return segments;
            }
        }
        // Generic arguments and disambiguators are skipped; of `{closure#0}` the brace tells enough.
        let was_outside = scan.depth == 0;
        scan.step(character);
        if was_outside && (scan.depth == 0 || character == '{') {
            push(&mut segments, character.encode_utf8(&mut [0; 4]));
        }
        rest = &rest[character.len_utf8()..];
    }
    segments
}

fn push(segments: &mut [String], text: &str) {
    if let Some(segment) = segments.last_mut() {
        segment.push_str(text);
    }
}

/// Whether C++'s `operator` stands here as a word.
fn is_operator(rest: &str) -> bool {
    rest.strip_prefix("operator")
        .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// The name behind a C++ return type: what follows the last blank outside brackets before the parameter list.
fn without_return_type(function: &str) -> &str {
    let mut scan = Scan::default();
    let mut start = 0;
    for (index, character) in function.char_indices() {
        if scan.depth == 0 {
            let here = &function[index..];
            let is_word_start = index == start || function[..index].ends_with("::");
            if is_word_start && is_operator(here) {
                break;
            }
            if character == '(' && !here.starts_with("(anonymous namespace)") && index > start {
                break;
            }
            if character == ' ' {
                start = index + 1;
            }
        }
        scan.step(character);
    }
    let name = &function[start..];
    // `f [clone .cold]` is `f`.
    if name.starts_with('[') {
        function
    } else {
        name
    }
}

/// The depth of brackets while walking over a name.
#[derive(Default)]
struct Scan {
    depth: usize,
    before: Option<char>,
}

impl Scan {
    fn step(&mut self, character: char) {
        match character {
            '<' | '(' | '[' | '{' => self.depth += 1,
            // `->` is no bracket.
            '>' if self.before == Some('-') => {}
            '>' | ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.before = Some(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_and_modules_are_found_in_the_names_demanglers_print() {
        for (function, crate_of, module_of) in [
            ("demo::main", Some("demo"), Some("demo")),
            (
                "demo::parse::Parser::next",
                Some("demo"),
                Some("demo::parse"),
            ),
            (
                "demo::parse::Parser<T>::next::<u8>",
                Some("demo"),
                Some("demo::parse"),
            ),
            (
                "demo::parse::Parser::next::skip_blanks",
                Some("demo"),
                Some("demo::parse"),
            ),
            (
                "demo::parse::next::{closure#0}",
                Some("demo"),
                Some("demo::parse"),
            ),
            (
                "demo::parse::next::{{closure}}",
                Some("demo"),
                Some("demo::parse"),
            ),
            ("demo[1a2b]::parse::next", Some("demo"), Some("demo::parse")),
            (
                "<demo::parse::Parser as core::iter::Iterator>::next",
                Some("demo"),
                Some("demo::parse"),
            ),
            (
                "<demo::parse::Parser>::next",
                Some("demo"),
                Some("demo::parse"),
            ),
            (
                "<alloc::vec::Vec<T, A> as core::iter::Extend<demo::X>>::extend",
                Some("alloc"),
                Some("alloc::vec"),
            ),
            (
                "<&demo::log::Line as core::fmt::Debug>::fmt",
                Some("demo"),
                Some("demo::log"),
            ),
            (
                "<&T as core::fmt::Debug>::fmt",
                Some("core"),
                Some("core::fmt"),
            ),
            (
                "<u8 as alloc::slice::hack::ConvertVec>::to_vec",
                Some("alloc"),
                Some("alloc::slice::hack"),
            ),
            (
                "<[A] as core::slice::cmp::SlicePartialEq<B>>::equal",
                Some("core"),
                Some("core::slice::cmp"),
            ),
            (
                "<F as core::ops::function::FnOnce<(A,)>>::call_once",
                Some("core"),
                Some("core::ops::function"),
            ),
            (
                "<dyn demo::Shape as core::any::Any>::type_id",
                Some("demo"),
                Some("demo"),
            ),
            (
                "<<demo::a::B as demo::C>::D as demo::E>::f",
                Some("demo"),
                Some("demo::a"),
            ),
            (
                "core::fmt::impls::<impl core::fmt::Debug for u64>::fmt",
                Some("core"),
                Some("core::fmt::impls"),
            ),
            (
                "core::ptr::drop_in_place<alloc::string::String>",
                Some("core"),
                Some("core::ptr"),
            ),
            (
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
                Some("core"),
                Some("core::ops::function"),
            ),
            (
                "<fn(u8) -> demo::R as core::ops::function::FnOnce<(u8,)>>::call_once",
                Some("core"),
                Some("core::ops::function"),
            ),
            (
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
                Some("std"),
                Some("std::vector"),
            ),
            ("void std::sort<int*>(int*, int*)", Some("std"), Some("std")),
            (
                "std::map<int, A>::iterator ns::find<int>(int)",
                Some("ns"),
                Some("ns"),
            ),
            (
                "ns::operator<<(std::ostream&, A const&)",
                Some("ns"),
                Some("ns"),
            ),
            (
                "bool ns::operator==<A>(A const&, A const&)",
                Some("ns"),
                Some("ns"),
            ),
            ("ns::A::operator()(int) const", Some("ns"), Some("ns")),
            ("ns::A::operator bool() const", Some("ns"), Some("ns")),
            (
                "(anonymous namespace)::helper(int)",
                Some("(anonymous namespace)"),
                Some("(anonymous namespace)"),
            ),
            (
                "ns::(anonymous namespace)::helper(int)",
                Some("ns"),
                Some("ns::(anonymous namespace)"),
            ),
            ("operator new(unsigned long)", None, None),
            ("main", None, None),
            ("malloc", None, None),
            ("f(std::string)", None, None),
            ("f [clone .cold]", None, None),
            ("???", None, None),
            ("0x00000000000080d8", None, None),
            ("", None, None),
            ("<", None, None),
            ("::", None, None),
        ] {
            assert_eq!(
                crate_name(function).as_deref(),
                crate_of,
                "crate of {function}"
            );
            assert_eq!(
                module_name(function).as_deref(),
                module_of,
                "module of {function}"
            );
        }
    }
}
