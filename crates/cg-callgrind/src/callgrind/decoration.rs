//! What Callgrind hangs on a function's name: `name['level]['caller]*`.
//!
//! `fib'2` is the second and deeper activations of `fib` (`dump.c:print_mangled_fn`, `--separate-recs`), and
//! `fib'2'main` the same where they were reached from `main` (`--separate-callers`). A quote alone says little: clang
//! writes lambdas as `main::'lambda'(int)`, Rust has lifetimes, and a symbol may be called anything. So a name is only
//! taken apart here, and whether the parts mean something is decided by the rest of the profile: a level needs the
//! name without it, a chain of callers needs a call from its first caller.

use std::ops::Range;

use cg_reader::number::whole_u64;

/// The possible readings of a name with a quote in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decoration {
    /// The name without a recursion level at its end, where it has one.
    pub(crate) without_level: Option<Range<usize>>,
    /// The name as a chain of callers, where it can be one.
    pub(crate) chain: Option<CallerChain>,
}

/// A name with its callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallerChain {
    /// The function itself, without level and callers.
    pub(crate) function: Range<usize>,
    pub(crate) has_level: bool,
    pub(crate) first_caller: Range<usize>,
}

/// Takes a name apart; `None` for one without decoration, which is almost every name.
pub(crate) fn decoration_of(name: &[u8]) -> Option<Decoration> {
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

/// Levels are written from 2 on.
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
    // Callers carry no level, so a number among them shows that this is just a name.
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

/// A name with its callers, all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DecoratedWithCallers<'n> {
    /// The function itself.
    pub(crate) function: &'n [u8],
    /// Which of its activations it is, counted from 1.
    pub(crate) level: u64,
    /// The nearest first.
    pub(crate) callers: Vec<&'n [u8]>,
}

/// Takes a chain of callers apart; `None` for a name that is none.
pub(crate) fn callers_of(name: &[u8]) -> Option<DecoratedWithCallers<'_>> {
    memchr::memchr(b'\'', name)?;
    let chain = chain_of(name)?;
    let pieces = pieces(name)?;
    let behind = if chain.has_level { 2 } else { 1 };
    Some(DecoratedWithCallers {
        function: &name[chain.function],
        level: match chain.has_level {
            true => level(&name[pieces[1].clone()]),
            false => 1,
        },
        callers: pieces[behind..]
            .iter()
            .map(|piece| &name[piece.clone()])
            .collect(),
    })
}

/// The level at the end of a name; 1 where it has none.
pub(crate) fn level_of(name: &[u8]) -> u64 {
    match without_level(name) {
        Some(function) => level(&name[function.end + 1..]),
        None => 1,
    }
}

fn level(digits: &[u8]) -> u64 {
    whole_u64(digits).unwrap_or(u64::MAX)
}

/// The pieces between quotes that can separate names: those outside all brackets that do not begin or end one of
/// clang's quoted words. `None` where brackets do not match.
///
/// Names with many callers are long, and splitting takes most of the time of reading them, so the search jumps from one
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

/// The bytes that [`pieces`] looks at: brackets and quotes.
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

/// The length of the rest of a C++ operator's name, where that is what begins here: its brackets are not brackets.
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

/// The length of `'lambda'`, `'lambda0'` or `'unnamed'` with its quotes, where this is one.
fn quoted_word(text: &[u8]) -> Option<usize> {
    let length = memchr::memchr(b'\'', &text[1..])?;
    let word = &text[1..=length];
    let digits = word
        .strip_prefix(b"lambda")
        .or_else(|| word.strip_prefix(b"unnamed"))?;
    // A function may be called lambda; clang's word is followed by `(`, `::` or the end of a type.
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
        let decoration = decoration_of(name.as_bytes()).unwrap_or_default();
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
    fn levels_and_chains_are_taken_apart() {
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
    fn quotes_of_clang_and_rust_separate_nothing() {
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
    fn a_number_among_callers_makes_it_a_name() {
        assert_eq!(read("a'b'c'2'3"), (Some("a'b'c'2"), None, None));
        assert_eq!(read("f'1"), (None, None, None));
    }
}
