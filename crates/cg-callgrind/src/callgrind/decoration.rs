//! Callgrind's suffixes of function names: `name['level]['caller]*`.
//!
//! `fib'2` means the second and deeper activations of `fib` (`dump.c:print_mangled_fn`, `--separate-recs`). `fib'2'main`
//! means the same activations, reached from `main` (`--separate-callers`). A quote is not sufficient evidence: clang writes
//! lambdas as `main::'lambda'(int)`, Rust has lifetimes, and a symbol may contain any characters. So this module only
//! splits names. The rest of the profile decides whether the pieces have a meaning: a level needs the name without the
//! level, and a chain of callers needs a call from its first caller.

use std::ops::Range;

use cg_reader::number::whole_u64;

/// The possible meanings of a name that contains a quote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decoration {
    /// The name without the recursion level at its end; `None` if it has no level.
    pub(crate) without_level: Option<Range<usize>>,
    /// The name as a chain of callers; `None` if it cannot be one.
    pub(crate) chain: Option<CallerChain>,
}

/// A name with its callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallerChain {
    /// The function's name, without level and callers.
    pub(crate) function: Range<usize>,
    pub(crate) has_level: bool,
    pub(crate) first_caller: Range<usize>,
}

/// Splits a name; `None` if it has no decoration, which is the case for almost every name.
pub(crate) fn parse_decoration(name: &[u8]) -> Option<Decoration> {
    memchr::memchr(b'\'', name)?;
    let decoration = Decoration {
        without_level: without_level(name),
        chain: chain_of(name),
    };
    (decoration != Decoration::default()).then_some(decoration)
}

fn without_level(name: &[u8]) -> Option<Range<usize>> {
    let quote = memchr::memrchr(b'\'', name)?;
    (quote > 0 && is_level(&name[quote + 1..])).then_some(0..quote)
}

/// Returns true for a level. Callgrind writes levels from 2 on.
fn is_level(text: &[u8]) -> bool {
    is_number(text) && !matches!(text, b"1" | [b'0', ..])
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

fn chain_of(name: &[u8]) -> Option<CallerChain> {
    let pieces = pieces(name)?;
    let (function, rest) = pieces.split_first()?;
    let has_level = rest
        .first()
        .is_some_and(|piece| is_level(&name[piece.clone()]));
    let callers = if has_level { &rest[1..] } else { rest };
    // Callers have no level, so with a number among them the text is an ordinary name.
    let is_name = |piece: &Range<usize>| !piece.is_empty() && !is_number(&name[piece.clone()]);
    if !is_name(function) || !callers.iter().all(is_name) {
        return None;
    }
    Some(CallerChain {
        function: function.clone(),
        has_level,
        first_caller: callers.first()?.clone(),
    })
}

/// A name with all its callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DecoratedWithCallers<'n> {
    /// The function's name.
    pub(crate) function: &'n [u8],
    /// The number of the function's activation, counted from 1.
    pub(crate) level: u64,
    /// The callers, nearest first.
    pub(crate) callers: Vec<&'n [u8]>,
}

/// Splits a chain of callers; `None` for other names.
pub(crate) fn parse_callers(name: &[u8]) -> Option<DecoratedWithCallers<'_>> {
    memchr::memchr(b'\'', name)?;
    let chain = chain_of(name)?;
    let pieces = pieces(name)?;
    let first_caller = if chain.has_level { 2 } else { 1 };
    Some(DecoratedWithCallers {
        function: &name[chain.function],
        level: match chain.has_level {
            true => level(&name[pieces[1].clone()]),
            false => 1,
        },
        callers: pieces[first_caller..]
            .iter()
            .map(|piece| &name[piece.clone()])
            .collect(),
    })
}

/// Returns the level at the end of a name; 1 if it has no level.
pub(crate) fn parse_level(name: &[u8]) -> u64 {
    match without_level(name) {
        Some(function) => level(&name[function.end + 1..]),
        None => 1,
    }
}

fn level(digits: &[u8]) -> u64 {
    whole_u64(digits).unwrap_or(u64::MAX)
}

/// Splits a name at the quotes that can separate names: quotes outside all brackets that do not belong to one of clang's
/// quoted words. Returns `None` if brackets do not match.
///
/// Names with many callers are long, and most of the time of reading them is spent here. So the search jumps from one
/// bracket or quote to the next.
fn pieces(name: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut pieces = Vec::new();
    let (mut start, mut depth, mut at) = (0, 0usize, 0);
    while let Some(passed) = name[at..].iter().position(|byte| SEPARATES[*byte as usize]) {
        at += passed;
        if let Some(length) = operator_symbol(name, at) {
            at += length;
            continue;
        }
        match name[at] {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b'>' if at > 0 && name[at - 1] == b'-' => {}
            b'\'' if depth > 0 => {}
            b'\'' => {
                if let Some(length) = quoted_word(&name[at..]) {
                    at += length;
                    continue;
                }
                pieces.push(start..at);
                start = at + 1;
            }
            _ => depth = depth.checked_sub(1)?,
        }
        at += 1;
    }
    pieces.push(start..name.len());
    (depth == 0).then_some(pieces)
}

/// True for the bytes that [`pieces`] inspects: brackets and quotes.
const SEPARATES: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"()[]{}<>'";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// Returns the length of the symbol of a C++ operator at this position; `None` if there is no operator. Its characters do
/// not count as brackets.
fn operator_symbol(name: &[u8], at: usize) -> Option<usize> {
    let before = name[..at].strip_suffix(b"operator")?;
    if before
        .last()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    {
        return None;
    }
    let rest = &name[at..];
    if rest.starts_with(b"()") || rest.starts_with(b"[]") {
        return Some(2);
    }
    let length = rest.iter().take_while(|byte| b"<>=".contains(byte)).count();
    (length > 0).then_some(length)
}

/// Returns the length of `'lambda'`, `'lambda0'` or `'unnamed'` with its quotes; `None` for other texts.
fn quoted_word(text: &[u8]) -> Option<usize> {
    let length = memchr::memchr(b'\'', &text[1..])?;
    let word = &text[1..=length];
    let digits = word
        .strip_prefix(b"lambda")
        .or_else(|| word.strip_prefix(b"unnamed"))?;
    // A function may be called lambda. After clang's word comes `(`, `::` or the end of a type.
    let follows = text.get(length + 2).copied();
    let is_quoted = digits.iter().all(u8::is_ascii_digit)
        && matches!(
            follows,
            Some(b'(' | b':' | b'>' | b',' | b'&' | b' ') | None
        );
    is_quoted.then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (name, without its level, function of the chain, its first caller)
    fn read(name: &str) -> (Option<&str>, Option<&str>, Option<&str>) {
        let decoration = parse_decoration(name.as_bytes()).unwrap_or_default();
        let chain = decoration.chain;
        (
            decoration.without_level.map(|range| &name[range]),
            chain.as_ref().map(|chain| &name[chain.function.clone()]),
            chain
                .as_ref()
                .map(|chain| &name[chain.first_caller.clone()]),
        )
    }

    #[test]
    fn levels_and_chains_are_split() {
        assert_eq!(read("fib"), (None, None, None));
        assert_eq!(read("fib'2"), (Some("fib"), None, None));
        assert_eq!(read("fib'main"), (None, Some("fib"), Some("main")));
        assert_eq!(
            read("fib'2'main'(below main)"),
            (None, Some("fib"), Some("main"))
        );
        assert_eq!(
            read("operator==<a, b>(a, b)'my_operator<c>()'d"),
            (
                None,
                Some("operator==<a, b>(a, b)"),
                Some("my_operator<c>()")
            )
        );
        assert_eq!(
            read("p::operator->() const'q::operator<=>(q)"),
            (
                None,
                Some("p::operator->() const"),
                Some("q::operator<=>(q)")
            )
        );
        assert_eq!(
            read("a::operator<(int)'b<c>::operator()(int)'d"),
            (
                None,
                Some("a::operator<(int)"),
                Some("b<c>::operator()(int)")
            )
        );
    }

    #[test]
    fn quotes_of_clang_and_rust_do_not_split_names() {
        assert_eq!(read("main::'lambda'(int)"), (None, None, None));
        assert_eq!(
            read("main::'lambda'(int)::operator()(int) const'2"),
            (
                Some("main::'lambda'(int)::operator()(int) const"),
                None,
                None
            )
        );
        assert_eq!(
            read("std::sort<main::'lambda0'()>(int*)'main"),
            (
                None,
                Some("std::sort<main::'lambda0'()>(int*)"),
                Some("main")
            )
        );
        assert_eq!(read("<&'a str as demo::T<'a>>::f"), (None, None, None));
    }

    #[test]
    fn a_text_with_a_number_among_callers_is_a_name() {
        assert_eq!(read("a'b'c'2'3"), (Some("a'b'c'2"), None, None));
        assert_eq!(read("f'1"), (None, None, None));
    }
}
