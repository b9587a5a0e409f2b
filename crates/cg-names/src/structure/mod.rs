//! The parts of a demangled function name: return type, path, parameters and suffix.
//!
//! Crate, module and short name are derived from the path. The path of a C name has one segment.

pub mod shorten;
pub mod tokens;

use std::borrow::Cow;

use bstr::{BStr, BString, ByteSlice};

use tokens::{NameToken, TokenKind, tokens};

/// A function's name, split into its parts.
#[derive(Clone, Debug)]
pub struct ParsedName<'a> {
    name: &'a [u8],
    tokens: Vec<NameToken<'a>>,
    /// The tokens of the path.
    path: std::ops::Range<usize>,
    /// The end of the parameters, or of the path if there are none. Qualifiers and compiler suffixes follow.
    end: usize,
}

impl<'a> ParsedName<'a> {
    /// Splits a name into its parts. Accepts any bytes.
    pub fn new(name: &'a [u8]) -> ParsedName<'a> {
        let tokens = tokens(name);
        let (path, end) = find_path(&tokens, 0..tokens.len());
        ParsedName {
            name,
            tokens,
            path,
            end,
        }
    }

    /// Returns the name without return type, parameters, qualifiers and suffixes: `std::vector<int>::push_back`.
    pub fn path(&self) -> &'a BStr {
        self.text(self.path.clone())
    }

    /// Returns the name without its return type: `std::vector<int>::push_back(int&&) [clone .cold]`.
    pub fn without_return_type(&self) -> &'a BStr {
        self.name[self.start_of(self.path.start)..].as_bstr()
    }

    /// Returns the text after path and parameters: ` const`, ` [clone .isra.0]`.
    pub fn suffix(&self) -> &'a BStr {
        self.name[self.start_of(self.end)..].as_bstr()
    }

    /// Returns the function's own name, without path and generic arguments: `push_back`. For a closure, returns the name of
    /// the function that contains it.
    pub fn short_name(&self) -> BString {
        let mut segments = self.segments();
        while segments.len() > 1 && is_closure(&segments[segments.len() - 1]) {
            segments.pop();
        }
        segments.pop().map(Cow::into_owned).unwrap_or_default()
    }

    /// Returns the first segment of the path: the crate of a Rust function, or the outermost namespace or class of a C++
    /// function; `None` for a name without a path, such as a C name.
    pub fn crate_name(&self) -> Option<Cow<'a, BStr>> {
        self.scope().into_iter().next()
    }

    /// Returns the path without the function: the module in Rust, the namespace or class in C++. Omits types in a module if
    /// their names are capitalised as in Rust, so `demo::parse::Parser::next` is in `demo::parse`.
    pub fn module_name(&self) -> Option<BString> {
        let mut scope = self.scope();
        // Nested functions and closures follow a type. They are in the type, not in a module.
        let is_type = |segment: &Segment| segment.first().is_some_and(u8::is_ascii_uppercase);
        if let Some(position) = scope.iter().skip(1).position(is_type) {
            scope.truncate(position + 1);
        }
        let parts = scope.iter().map(|segment| segment.as_bytes());
        (!scope.is_empty()).then(|| bstr::join("::", parts).into())
    }

    /// Returns the [`ParsedName::crate_name`] of a function in this file. Methods of built-in types belong to `core`, unless
    /// the file belongs to `alloc` or `std`: `<[u8]>::to_vec`.
    pub fn crate_name_in(&self, file: &str) -> Option<BString> {
        let of_path = || self.crate_name().map(Cow::into_owned);
        self.library_of_built_in(file).or_else(of_path)
    }

    /// Returns the [`ParsedName::module_name`] of a function in this file.
    pub fn module_name_in(&self, file: &str) -> Option<BString> {
        let module = self.module_name()?;
        Some(match self.library_of_built_in(file) {
            Some(library) => {
                let rest = module.find("::").map_or(&b""[..], |at| &module[at..]);
                [&library[..], rest].concat().into()
            }
            None => module,
        })
    }

    /// Returns the library of a file, for a method of a built-in type.
    fn library_of_built_in(&self, file: &str) -> Option<BString> {
        let (_, rest) = file.rsplit_once("library/")?;
        let (library, _) = rest.split_once("/src/")?;
        let (kind, trait_path, _) = implementor(&self.tokens[self.path.clone()])?;
        let is_known = matches!(library, "alloc" | "core" | "std");
        (is_known && has_core_as_home(kind, trait_path)).then(|| library.into())
    }

    /// Returns true for a name with one segment. C functions have such names, and inlined functions in debug information.
    pub fn is_bare(&self) -> bool {
        let path = &self.tokens[self.path.clone()];
        let depth = outermost_depth(path);
        path.iter()
            .filter(|token| token.depth == depth)
            .take_while(|token| token.kind != TokenKind::Operator)
            .all(|token| token.kind != TokenKind::Separator)
    }

    /// Returns true for a closure without a path, as debug information names it: `{closure#0}`.
    pub fn is_bare_closure(&self) -> bool {
        self.is_bare() && is_closure(self.path())
    }

    /// Returns true if a generic argument of the function, or of a type in its path, equals `wanted`.
    pub fn has_generic_argument(&self, wanted: &str) -> bool {
        let mut rest = &self.tokens[self.path.clone()];
        while let Some(open) = rest.iter().position(|token| token.kind == TokenKind::Open) {
            let (group, after_group) = rest[open..].split_at(group(&rest[open..]));
            if group[0].text == "<" {
                let inner = &group[1..group.len().max(2) - 1];
                let depth = group[0].depth;
                let mut arguments = inner.split(|token| token.depth == depth && token.text == ",");
                if arguments
                    .any(|argument| text_of(self.name, argument).trim_ascii() == wanted.as_bytes())
                {
                    return true;
                }
            }
            rest = after_group;
        }
        false
    }

    /// Returns the crates in `<Type as Trait>` at the beginning of the path, if any.
    pub fn implementor(&self) -> Option<Implementor> {
        let path = &self.tokens[self.path.clone()];
        let (kind, trait_path, _) = implementor(path)?;
        let first = |tokens: &[NameToken<'a>]| {
            let first = home_of_path(tokens).into_iter().next();
            first.map(Cow::into_owned)
        };
        Some(Implementor {
            type_crate: first(kind).filter(|_| built_in(kind).is_none()),
            trait_crate: trait_path.and_then(first),
        })
    }

    /// Returns the identifiers of the path in order, without generic arguments and closures. The mangled name contains them,
    /// too.
    pub fn identifiers(&self) -> Vec<&'a BStr> {
        let path = &self.tokens[self.path.clone()];
        let (kind, rest) = match implementor(path) {
            Some((kind, _, rest)) => (kind, rest),
            None => (&[][..], path),
        };
        let outermost = |tokens: &'_ [NameToken<'a>]| -> Vec<&'a BStr> {
            let depth = outermost_depth(tokens);
            tokens
                .iter()
                .take_while(|token| token.kind != TokenKind::Operator)
                .filter(|token| token.depth == depth && token.kind == TokenKind::Word)
                .map(|token| token.text)
                .filter(|text| !TYPE_WORDS.iter().any(|word| text == word))
                .collect()
        };
        let mut identifiers = outermost(kind);
        identifiers.extend(outermost(rest));
        identifiers
    }

    /// Returns the offsets of the segments of the path. Generic arguments and closures belong to the segment before them.
    pub fn segment_starts(&self) -> Vec<usize> {
        let path = &self.tokens[self.path.clone()];
        let Some(first) = path.first() else {
            return vec![0];
        };
        let depth = outermost_depth(path);
        let others = path.windows(2).filter_map(|pair| {
            let begins = pair[0].kind == TokenKind::Separator
                && pair[0].depth == depth
                && pair[1].kind != TokenKind::Braces
                && pair[1].text != "<";
            begins.then_some(pair[1].start)
        });
        std::iter::once(first.start).chain(others).collect()
    }

    /// Returns the segments before the function's own name, without generic arguments.
    fn scope(&self) -> Vec<Segment<'a>> {
        let path = &self.tokens[self.path.clone()];
        let (mut scope, rest) = match implementor(path) {
            Some((kind, trait_path, rest)) => (home_of(kind, trait_path), rest),
            None => (Vec::new(), path),
        };
        let mut own = segments(self.name, rest);
        // Closures and shims belong to the function that contains them.
        while own
            .last()
            .is_some_and(|segment| is_closure(segment) || segment.is_empty())
        {
            own.pop();
        }
        own.pop();
        if scope.is_empty() {
            scope = own;
        } else {
            scope.extend(own);
        }
        scope.retain(|segment| !segment.is_empty() && !is_closure(segment));
        scope
    }

    fn segments(&self) -> Vec<Segment<'a>> {
        segments(self.name, &self.tokens[self.path.clone()])
    }

    fn text(&self, tokens: std::ops::Range<usize>) -> &'a BStr {
        self.name[self.start_of(tokens.start)..self.start_of(tokens.end)].as_bstr()
    }

    fn start_of(&self, token: usize) -> usize {
        self.tokens
            .get(token)
            .map_or(self.name.len(), |token| token.start)
    }
}

/// The crates of `<Type as Trait>`; `None` for a built-in type or a type parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementor {
    /// The crate of the type.
    pub type_crate: Option<BString>,
    /// The crate of the trait.
    pub trait_crate: Option<BString>,
}

/// Rust's built-in types whose names are words.
pub(crate) const PRIMITIVES: [&str; 17] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64", "bool", "char", "str",
];

/// Words that precede the path of a type in Rust.
const TYPE_WORDS: [&str; 4] = ["mut", "const", "dyn", "impl"];

/// A piece of a path between `::`, without generic arguments.
type Segment<'a> = Cow<'a, BStr>;

/// Returns the depth of those tokens that are not inside a bracket in `tokens`.
fn outermost_depth(tokens: &[NameToken]) -> usize {
    tokens.first().map_or(0, |token| {
        token.depth - usize::from(token.kind == TokenKind::Open)
    })
}

/// Finds the path in the tokens of a name or of a declarator in parentheses. Returns the path and the end of its parameters.
fn find_path(
    tokens: &[NameToken],
    within: std::ops::Range<usize>,
) -> (std::ops::Range<usize>, usize) {
    let depth = within
        .start
        .checked_sub(1)
        .map_or(0, |open| tokens[open].depth);
    let mut start = within.start;
    let mut position = within.start;
    while position < within.end {
        let token = &tokens[position];
        let here = &tokens[position..within.end];
        match token.kind {
            // The type of a conversion follows, or `new` or `delete`. The name ends before the parameters.
            TokenKind::Operator if token.text.ends_with(b" ") => {
                let parameters = here.iter().position(|token| {
                    token.kind == TokenKind::Open && token.text == "(" && token.depth == depth + 1
                });
                let end = parameters.map_or(within.end, |length| position + length);
                let parameters_end =
                    end + parameters.map_or(0, |_| group(&tokens[end..within.end]));
                return (start..end, parameters_end);
            }
            TokenKind::Blank if is_suffix(here) => return (start..position, position),
            TokenKind::Blank => start = position + 1,
            TokenKind::Open => {
                let end = position + group(here);
                if token.text == "("
                    && let Some(separator) = continuation(&tokens[end..within.end])
                {
                    position = end + separator;
                    continue;
                }
                if token.text == "(" {
                    let is_declarator = start == position
                        && matches!(tokens[position + 1..end].first(), Some(first) if first.text == "*" || first.text == "&");
                    if is_declarator && position > within.start {
                        // `void (*f<int>(int))(char)`: a function that returns a function pointer. A name that was cut
                        // short has no closing bracket.
                        let is_closed = tokens[end - 1].kind == TokenKind::Close;
                        let inside = position + 2..end - usize::from(is_closed);
                        let (path, _) = find_path(tokens, inside);
                        return (path, within.end);
                    }
                    let is_decltype = is_decltype_before(&tokens[within.start..position]);
                    if !is_decltype && position > start {
                        return (start..position, end);
                    }
                }
                position = end;
                continue;
            }
            _ => {}
        }
        position += 1;
    }
    (start..within.end, within.end)
}

/// Returns true if the last token, except blanks, is `decltype`.
fn is_decltype_before(tokens: &[NameToken]) -> bool {
    tokens
        .iter()
        .rev()
        .find(|token| token.kind != TokenKind::Blank)
        .is_some_and(|token| token.text == "decltype")
}

/// Returns the position of a `::` with which a path continues after a group in parentheses: `run(int)::{lambda()#1}`,
/// `A::f() const::{lambda()#1}`, `(anonymous namespace)::f`.
fn continuation(rest: &[NameToken]) -> Option<usize> {
    const QUALIFIERS: [&str; 4] = ["const", "volatile", "&", "noexcept"];
    let position = rest.iter().position(|token| {
        token.kind != TokenKind::Blank && !QUALIFIERS.iter().any(|word| token.text == word)
    })?;
    (rest[position].kind == TokenKind::Separator).then_some(position)
}

/// Returns true for ` [clone .cold]`, the suffix of a clone. C names also have it.
fn is_suffix(tokens: &[NameToken]) -> bool {
    matches!(tokens, [_, open, word, ..] if open.text == "[" && word.text == "clone")
}

/// Returns the number of tokens in the group that begins with this bracket, including both brackets. Without a closing
/// bracket, the group contains all tokens.
pub(crate) fn group(tokens: &[NameToken]) -> usize {
    let Some(first) = tokens.first() else {
        return 0;
    };
    tokens
        .iter()
        .position(|token| token.kind == TokenKind::Close && token.depth == first.depth)
        .map_or(tokens.len(), |close| close + 1)
}

fn text_of<'a>(name: &'a [u8], tokens: &[NameToken]) -> &'a [u8] {
    match tokens {
        [] => b"",
        [first, ..] => &name[first.start..tokens[tokens.len() - 1].end()],
    }
}

/// Splits a path that begins with `<Type as Trait>` or `<Type>` into the type, the trait and the rest.
#[allow(clippy::type_complexity)]
fn implementor<'t, 'a>(
    path: &'t [NameToken<'a>],
) -> Option<(
    &'t [NameToken<'a>],
    Option<&'t [NameToken<'a>]>,
    &'t [NameToken<'a>],
)> {
    let first = path.first().filter(|token| token.text == "<")?;
    let end = group(path);
    let inner = &path[1..end.max(2) - 1];
    let is_as = |token: &NameToken| token.depth == first.depth && token.text == "as";
    let rest = match path.get(end) {
        Some(token) if token.kind == TokenKind::Separator => end + 1,
        _ => end,
    };
    let rest = path.get(rest..).unwrap_or_default();
    Some(match inner.iter().position(is_as) {
        Some(position) => (&inner[..position], Some(&inner[position + 1..]), rest),
        None => (inner, None, rest),
    })
}

/// Returns the segments of the home of a type: its own path, or the path of the trait if the type is built in, a reference
/// or a type parameter.
fn home_of<'a>(kind: &[NameToken<'a>], trait_path: Option<&[NameToken<'a>]>) -> Vec<Segment<'a>> {
    let trait_home = trait_path.map(home_of_path).unwrap_or_default();
    let own = match built_in(kind) {
        Some(_) if trait_home.len() > 1 => return trait_home,
        Some(module) => {
            return ["core", module]
                .map(|name| Cow::Borrowed(name.into()))
                .into();
        }
        None => home_of_path(kind),
    };
    match own.len() {
        ..=1 if trait_home.len() > 1 => trait_home,
        _ => own,
    }
}

/// Returns true if [`home_of`] is `core` because the type, or the type at the beginning of the trait's path, is built in.
fn has_core_as_home(kind: &[NameToken], trait_path: Option<&[NameToken]>) -> bool {
    let begins_built_in = |path: &[NameToken]| {
        implementor(skip_blanks(path))
            .is_some_and(|(kind, trait_path, _)| has_core_as_home(kind, trait_path))
    };
    built_in(kind).is_some() && trait_path.is_none_or(begins_built_in)
}

fn skip_blanks<'t, 'a>(tokens: &'t [NameToken<'a>]) -> &'t [NameToken<'a>] {
    let blanks = tokens
        .iter()
        .take_while(|token| token.kind == TokenKind::Blank);
    &tokens[blanks.count()..]
}

/// Returns the module of `core` with the methods of a type without a crate: a number, `str`, a slice, a pointer, …. Skips
/// references. A slice of any type is a slice. Returns `None` for other types.
fn built_in(kind: &[NameToken]) -> Option<&'static str> {
    let is_front = |token: &NameToken| {
        matches!(token.kind, TokenKind::Blank | TokenKind::Quoted)
            || token.text == "&"
            || token.text == "mut"
    };
    let front = kind.iter().take_while(|token| is_front(token)).count();
    let (first, rest) = kind[front..].split_first()?;
    if first.text == "*" {
        return Some("ptr");
    }
    if first.kind == TokenKind::Open {
        let is_array = rest
            .iter()
            .any(|token| token.text == ";" && token.depth == first.depth);
        return match first.text.as_bytes() {
            b"[" if is_array => Some("array"),
            b"[" => Some("slice"),
            b"(" => Some("tuple"),
            _ => None,
        };
    }
    let is_whole = rest.iter().all(|token| token.kind == TokenKind::Blank);
    let word = PRIMITIVES.iter().find(|word| first.text == **word)?;
    is_whole.then_some(match *word {
        "bool" | "char" | "str" => *word,
        _ => "num",
    })
}

/// Returns the identifiers at the beginning of a type's path, after `&`, `*`, `[` and words such as `dyn`.
fn home_of_path<'a>(tokens: &[NameToken<'a>]) -> Vec<Segment<'a>> {
    let first = tokens.iter().position(|token| {
        let is_front = match token.kind {
            TokenKind::Blank | TokenKind::Quoted | TokenKind::Sign => true,
            TokenKind::Open => token.text != "<",
            TokenKind::Word => TYPE_WORDS.iter().any(|word| token.text == word),
            _ => false,
        };
        !is_front
    });
    let path = &tokens[first.unwrap_or(tokens.len())..];
    if let Some((kind, trait_path, _)) = implementor(path) {
        return home_of(kind, trait_path);
    }
    let mut home = Vec::new();
    let mut rest = path;
    while let [word, after_word @ ..] = rest
        && word.kind == TokenKind::Word
        && word.text.bytes().all(tokens::is_word_byte)
    {
        home.push(Cow::Borrowed(word.text));
        // A disambiguator of a crate and generic arguments can precede the next name.
        rest = after_word;
        while let [open, ..] = rest
            && open.kind == TokenKind::Open
            && open.text != "("
        {
            rest = &rest[group(rest)..];
        }
        match rest {
            [separator, after_separator @ ..] if separator.kind == TokenKind::Separator => {
                rest = after_separator;
            }
            _ => break,
        }
    }
    home
}

/// Returns the segments of a path, without generic arguments, disambiguators, and parameters of functions inside the path.
fn segments<'a>(name: &'a [u8], path: &[NameToken<'a>]) -> Vec<Segment<'a>> {
    let none = || Cow::Borrowed(BStr::new(b""));
    let mut segments = Vec::with_capacity(4);
    segments.push(none());
    let mut position = 0;
    while let Some(token) = path.get(position) {
        let last = segments.len() - 1;
        match token.kind {
            TokenKind::Separator => segments.push(none()),
            TokenKind::Operator => {
                // The type of a conversion is part of the name, generic arguments are not.
                let rest = match token.text.ends_with(b" ") {
                    true => text_of(name, &path[position..]),
                    false => token.text,
                };
                segments[last] = Cow::Borrowed(rest.as_bstr());
                return segments;
            }
            TokenKind::Open => {
                let length = group(&path[position..]);
                let text = text_of(name, &path[position..position + length]);
                // In the place of a name, parentheses contain a name: `(anonymous namespace)`, `(below main)`.
                if segments[last].is_empty() && token.text == "(" {
                    segments[last] = Cow::Borrowed(text.as_bstr());
                }
                position += length;
                if token.text == "(" {
                    position += continuation(&path[position..]).unwrap_or(0);
                }
                continue;
            }
            TokenKind::Blank => {}
            _ if segments[last].is_empty() => segments[last] = Cow::Borrowed(token.text),
            _ => segments[last].to_mut().extend_from_slice(token.text),
        }
        position += 1;
    }
    segments
}

/// Returns true for a closure, a lambda or a shim, which have no names of their own.
fn is_closure(segment: &BStr) -> bool {
    segment.starts_with(b"{") || segment.starts_with(b"'lambda")
}

#[cfg(test)]
mod tests;
