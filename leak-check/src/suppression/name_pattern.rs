//! Builds a suppression's pattern for a mangled name from the demangled name.
//!
//! Mangled names of C++ and of both Rust schemes contain the identifiers of the path in order, each preceded by its length.
//! In Rust's legacy scheme, the demangled name determines everything except the hash.

use bstr::ByteSlice as _;
use cg_names::structure::ParsedName;

use super::operators;

/// A mangling scheme of Rust's compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Legacy,
    V0,
}

/// Returns a pattern for the mangled name, or the mangled name itself if the demangled name determines it.
pub(super) fn name_pattern(name: &str, scheme: Scheme) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_$.@".contains(c);
    if name.chars().all(is_plain) || name == "(below main)" {
        return name.to_owned();
    }
    if let Some(mangled) = operators::mangled(name) {
        return mangled;
    }
    let function = ParsedName::new(name.as_bytes());
    let rust = RustName::new(name);
    let prefix = match &rust {
        Some(rust) if rust.has_types && scheme == Scheme::Legacy => return rust.legacy(),
        Some(rust) if rust.has_types => "_R*",
        Some(_) => "_*",
        None if function.is_bare() && function.path() == function.without_return_type() => {
            // An inlined function has the same name in Valgrind's suppressions.
            return name.to_owned();
        }
        None => "_Z*",
    };
    let mut pattern = String::from(prefix);
    for piece in pieces(function.path().to_str().unwrap_or(name), rust.is_none()) {
        if piece.is_adjacent {
            pattern.truncate(pattern.trim_end_matches('*').len());
        }
        pattern.push_str(&piece.text);
        pattern.push('*');
    }
    pattern
}

/// A known part of a mangled name.
struct Piece {
    text: String,
    /// True if this piece follows the previous one directly.
    is_adjacent: bool,
}

/// Returns the identifiers of a C++ or Rust path that also occur in its mangled name, in the same order. Excludes template
/// arguments, anonymous namespaces, closures, and names that C++ abbreviates (`St` for `std`).
fn pieces(path: &str, is_cpp: bool) -> Vec<Piece> {
    // For `<demo::Tree as core::ops::Drop>::drop`, use the path of the type, the trait's name without its path, and the
    // rest. In the mangled name, the trait's path may be a back reference.
    let (qualified, path) = match path.strip_prefix('<') {
        Some(inner) => {
            let end = closing(inner).unwrap_or(inner.len());
            (&inner[..end], inner.get(end + 1..).unwrap_or_default())
        }
        None => ("", path),
    };
    let mut pieces: Vec<Piece> = Vec::new();
    let (type_path, trait_path) = qualified.split_once(" as ").unwrap_or((qualified, ""));
    let trait_name = identifiers(trait_path).pop();
    for (_, part) in identifiers(type_path).into_iter().chain(trait_name) {
        // A primitive type is mangled as a letter.
        let is_named = type_path.contains("::") || trait_name.is_some_and(|(_, name)| name == part);
        if is_named && part.is_ascii() {
            pieces.push(Piece {
                text: format!("{}{part}", part.len()),
                is_adjacent: false,
            });
        }
    }
    let path = path.strip_prefix("(anonymous namespace)").unwrap_or(path);
    let mut before: Option<(usize, &str)> = None;
    for (start, part) in identifiers(path) {
        let end = start + part.len();
        // True if the previous identifier has its length in the pattern, and only `::` follows it.
        let follows = before.is_some_and(|(end, _)| matches!(&path[end..start], "::" | "::~"));
        let text = match before {
            Some((_, class)) if is_cpp && class == part => {
                let letter = if path[..start].ends_with('~') {
                    'D'
                } else {
                    'C'
                };
                format!("{letter}?")
            }
            _ if is_cpp && part == "operator" => {
                let letters = operators::letters(path[end..].trim());
                pieces.extend(letters.map(|letters| Piece {
                    text: letters.to_owned(),
                    is_adjacent: false,
                }));
                break;
            }
            _ if is_cpp && is_abbreviated(part, &path[..start]) => continue,
            // The v0 scheme inserts a `_` before this identifier, the other schemes do not.
            _ if !is_cpp && part.starts_with('_') => format!("*{part}"),
            _ if !part.is_ascii() => String::new(),
            _ => format!("{}{part}", part.len()),
        };
        let has_length = text.starts_with(|c: char| c.is_ascii_digit());
        pieces.push(Piece {
            is_adjacent: follows && (has_length || text.ends_with('?')),
            text,
        });
        before = (has_length || is_cpp).then_some((end, part));
    }
    pieces
}

/// Returns true for names that the Itanium ABI abbreviates: `St` is `std`, `Sa` is `std::allocator`, and so on.
fn is_abbreviated(part: &str, before: &str) -> bool {
    const STD_NAMES: [&str; 9] = [
        "allocator",
        "basic_string",
        "string",
        "basic_istream",
        "istream",
        "basic_ostream",
        "ostream",
        "basic_iostream",
        "iostream",
    ];
    (before.is_empty() && part == "std") || (before == "std::" && STD_NAMES.contains(&part))
}

/// Returns the identifiers outside brackets, each with its position.
fn identifiers(path: &str) -> Vec<(usize, &str)> {
    let mut identifiers = Vec::new();
    let mut depth = 0_u32;
    let mut start = None;
    for (position, c) in path.char_indices().chain([(path.len(), ' ')]) {
        if depth == 0 && (c.is_alphanumeric() || c == '_') {
            start.get_or_insert(position);
            continue;
        }
        if let Some(start) = start.take() {
            identifiers.push((start, &path[start..position]));
        }
        match c {
            '<' | '{' | '[' | '(' => depth += 1,
            '>' | '}' | ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    identifiers
}

/// Returns the position of the `>` that closes a bracket before this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            // The `->` of a function type is not a bracket.
            b'>' if position > 0 && text.as_bytes()[position - 1] == b'-' => {}
            b'>' if depth == 0 => return Some(position),
            b'>' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns true for a Rust name that contains a type: such a name is mangled differently in the two schemes, but may be
/// demangled alike.
pub(super) fn is_rust_name_with_types(name: &str) -> bool {
    RustName::new(name).is_some_and(|name| name.has_types)
}

/// A demangled name of a Rust function that is not inlined.
struct RustName<'a> {
    path: &'a str,
    /// True if the name has a type in angle brackets. The v0 scheme splits the type into its parts; in the legacy scheme it
    /// is one identifier.
    has_types: bool,
}

impl<'a> RustName<'a> {
    fn new(name: &'a str) -> Option<RustName<'a>> {
        let function = ParsedName::new(name.as_bytes());
        let whole = function.without_return_type();
        // C++ names have parameters, Rust names do not.
        if whole[function.path().len()..].starts_with(b"(") || function.is_bare() {
            return None;
        }
        Some(RustName {
            path: name,
            has_types: name.contains('<'),
        })
    }

    /// Returns the name in the legacy scheme, with a wildcard for the hash.
    fn legacy(&self) -> String {
        let mut mangled = String::from("_ZN");
        for segment in segments(self.path) {
            let mut escaped = String::new();
            for c in segment.replace("::", "..").chars() {
                match c {
                    '<' => escaped.push_str("$LT$"),
                    '>' => escaped.push_str("$GT$"),
                    '&' => escaped.push_str("$RF$"),
                    '*' => escaped.push_str("$BP$"),
                    ',' => escaped.push_str("$C$"),
                    '(' => escaped.push_str("$LP$"),
                    ')' => escaped.push_str("$RP$"),
                    c if c.is_ascii_alphanumeric() || c == '_' || c == '.' => escaped.push(c),
                    c => escaped.push_str(&format!("$u{:x}$", u32::from(c))),
                }
            }
            if escaped.starts_with('$') {
                escaped.insert(0, '_');
            }
            mangled.push_str(&format!("{}{escaped}", escaped.len()));
        }
        mangled.push_str("17h*E");
        mangled
    }
}

/// Splits a path at each `::` outside brackets.
fn segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let mut depth = 0_u32;
    let mut start = 0;
    for (position, c) in path.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if path[..position].ends_with('-') => {}
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && path[position..].starts_with("::") => {
                segments.push(&path[start..position]);
                start = position + 2;
            }
            _ => {}
        }
    }
    segments.push(&path[start..]);
    segments
}

#[cfg(test)]
mod tests {
    use super::super::wildcard::is_like;
    use super::super::words::WordPattern;
    use super::*;

    #[test]
    fn patterns_match_the_mangled_and_the_demangled_name() {
        for (name, mangled) in [
            ("make_node", "make_node"),
            ("operator new[](unsigned long)", "_Znam"),
            ("Tree::insert(int)", "_ZN4Tree6insertEi"),
            ("Tree::Tree(Tree const&)", "_ZN4TreeC1ERKS_"),
            ("Tree::~Tree()", "_ZN4TreeD2Ev"),
            (
                "(anonymous namespace)::make(int)",
                "_ZN12_GLOBAL__N_14makeEi",
            ),
            (
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
            ),
            ("void grow<int>(int)", "_Z4growIiEvT_"),
            ("operator==(A const&, A const&)", "_ZeqRK1AS1_"),
            ("demo::tree::grow", "_ZN4demo4tree4grow17h0123456789abcdefE"),
            (
                "demo::tree::grow::{{closure}}",
                "_ZN4demo4tree4grow28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
            ),
            (
                "demo::grow::{closure#0}",
                "_RNCNvCs6xxl1lAjzDf_4demo4grow0B3_",
            ),
            (
                "<demo::Tree as core::ops::drop::Drop>::drop",
                "_ZN52_$LT$demo..Tree$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
            ),
            (
                "<demo::tree::Tree as demo::tree::Grow>::grow",
                "_RNvXs_NtCs1_4demo4treeNtB4_4TreeNtB4_4Grow4grow",
            ),
            (
                "<demo::tree::Tree as demo::tree::Grow>::grow",
                "_ZN53_$LT$demo..tree..Tree$u20$as$u20$demo..tree..Grow$GT$4grow17h0123456789abcdefE",
            ),
            (
                "alloc::vec::Vec<T,A>::push",
                "_ZN5alloc3vec16Vec$LT$T$C$A$GT$4push17h0123456789abcdefE",
            ),
            ("demo::lose::<u64>", "_RINvCs1_4demo4loseyEB2_"),
        ] {
            let scheme = match mangled.starts_with("_R") {
                true => Scheme::V0,
                false => Scheme::Legacy,
            };
            let pattern = name_pattern(name, scheme);
            assert!(is_like(&pattern, mangled), "{pattern} {mangled}");
            if !name.starts_with("operator") {
                let words = WordPattern::new(&pattern);
                let matches = name == pattern || words.is_some_and(|words| words.matches(name));
                assert!(matches, "{pattern} {name}");
            }
        }
    }

    #[test]
    fn patterns_do_not_match_similar_names() {
        for (name, pattern, neighbours) in [
            ("inv(int)", "_Z*3inv*", ["_Z6invertv", "_Z4invoi", "invert"]),
            (
                "Tree::insert(int)",
                "_Z*4Tree6insert*",
                [
                    "_ZN4Tree9insert_atEi",
                    "_ZN5Trees6insertEi",
                    "_ZN4Tree4Node6insertEi",
                ],
            ),
            (
                "Tree::Tree(int)",
                "_Z*4TreeC?*",
                ["_ZN4Tree6insertEi", "_ZN4TreeD1Ev", "_ZN4TreeaSERKS_"],
            ),
            (
                "main::{lambda(int)#1}::operator()(int) const",
                "_Z*4main*cl*",
                ["main", "_Z3runv", "_ZZ5main2vENKUliE_clEi"],
            ),
            (
                "demo::tree::grow",
                "_*4demo4tree4grow*",
                [
                    "_ZN4demo4tree5grows17h0123456789abcdefE",
                    "_ZN4demo8treetops4grow17h0123456789abcdefE",
                    "_RNvNtNtCs1_4demo4tree3big4grow",
                ],
            ),
        ] {
            assert_eq!(name_pattern(name, Scheme::V0), pattern);
            for neighbour in neighbours {
                assert!(!is_like(pattern, neighbour), "{pattern} {neighbour}");
            }
        }
    }
}
