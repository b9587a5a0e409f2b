//! The parts of a function's name, as demanglers print it: return type, path, parameters, and what stands behind them.
//!
//! Crate, module and short name are views of the path. Names of C are a path of one segment.

pub mod shorten;
pub mod tokens;

use bstr::{BStr, BString, ByteSlice};

use tokens::{NameToken, TokenKind, tokens};

/// A function's name taken apart.
#[derive(Clone, Debug)]
pub struct ParsedName<'a> {
    name: &'a [u8],
    tokens: Vec<NameToken<'a>>,
    /// The tokens of the path.
    path: std::ops::Range<usize>,
    /// Where the parameters end, or the path where there are none: qualifiers and compilers' suffixes follow.
    end: usize,
}

impl<'a> ParsedName<'a> {
    /// Takes a name apart. Any bytes are a name.
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

    /// The name without return type, parameters, qualifiers and suffixes: `std::vector<int>::push_back`.
    pub fn path(&self) -> &'a BStr {
        self.text(self.path.clone())
    }

    /// The name without its return type: `std::vector<int>::push_back(int&&) [clone .cold]`.
    pub fn without_return_type(&self) -> &'a BStr {
        self.name[self.start_of(self.path.start)..].as_bstr()
    }

    /// What stands behind path and parameters: ` const`, ` [clone .isra.0]`.
    pub fn suffix(&self) -> &'a BStr {
        self.name[self.start_of(self.end)..].as_bstr()
    }

    /// The function's own name, without path and generic arguments: `push_back`. Of a closure, the function that it
    /// stands in.
    pub fn short_name(&self) -> BString {
        let mut segments = self.segments();
        while segments.len() > 1 && is_closure(segments[segments.len() - 1].text.as_ref()) {
            segments.pop();
        }
        segments
            .pop()
            .map(|segment| segment.text)
            .unwrap_or_default()
    }

    /// The first segment of the path: the crate of a Rust function, the outermost namespace or class of a C++ one.
    /// `None` for a name without a path, as C's are.
    pub fn crate_name(&self) -> Option<BString> {
        self.scope().into_iter().next()
    }

    /// The path without the function: its module in Rust, its namespace or class in C++. Types written in Rust's manner
    /// (`Parser`) are left out where they stand in a module, so `demo::parse::Parser::next` is in `demo::parse`.
    pub fn module_name(&self) -> Option<BString> {
        let mut scope = self.scope();
        // What follows a type is in it, not in a module: nested functions and closures.
        let is_type = |segment: &BString| segment.first().is_some_and(u8::is_ascii_uppercase);
        if let Some(position) = scope.iter().skip(1).position(is_type) {
            scope.truncate(position + 1);
        }
        (!scope.is_empty()).then(|| bstr::join("::", scope).into())
    }

    /// [`ParsedName::crate_name`] of a function in this file. The methods of built-in types are `core`'s, but for those
    /// that the file says are of `alloc` or `std`: `<[u8]>::to_vec`.
    pub fn crate_name_in(&self, file: &str) -> Option<BString> {
        self.library_of_built_in(file).or_else(|| self.crate_name())
    }

    /// [`ParsedName::module_name`] of a function in this file.
    pub fn module_name_in(&self, file: &str) -> Option<BString> {
        let module = self.module_name()?;
        Some(match self.library_of_built_in(file) {
            Some(library) => {
                let behind = module.find("::").map_or(&b""[..], |at| &module[at..]);
                [&library[..], behind].concat().into()
            }
            None => module,
        })
    }

    /// The library that a file is of, for a method of a built-in type.
    fn library_of_built_in(&self, file: &str) -> Option<BString> {
        let (_, behind) = file.rsplit_once("library/")?;
        let (library, _) = behind.split_once("/src/")?;
        let (kind, of_trait, _) = implementor(&self.tokens[self.path.clone()])?;
        let is_known = matches!(library, "alloc" | "core" | "std");
        (is_known && is_at_home_in_core(kind, of_trait)).then(|| library.into())
    }

    /// True for a name of one segment: C's, and those that debug information gives to inlined functions.
    pub fn is_bare(&self) -> bool {
        self.segments().len() == 1
    }

    /// True for a closure that has no path: `{closure#0}`, as debug information names it.
    pub fn is_bare_closure(&self) -> bool {
        self.is_bare() && is_closure(self.path())
    }

    /// True where a generic argument of the function or of a type in its path is this one and nothing more.
    pub fn has_generic_argument(&self, wanted: &str) -> bool {
        let mut rest = &self.tokens[self.path.clone()];
        while let Some(open) = rest.iter().position(|token| token.kind == TokenKind::Open) {
            let (group, behind) = rest[open..].split_at(group(&rest[open..]));
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
            rest = behind;
        }
        false
    }

    /// The crates that `<Type as Trait>` in front of the path names, where it is there.
    pub fn implementor(&self) -> Option<Implementor> {
        let path = &self.tokens[self.path.clone()];
        let (kind, of_trait, _) = implementor(path)?;
        let first = |tokens: &[NameToken]| home_of_path(tokens).into_iter().next();
        Some(Implementor {
            of_type: first(kind).filter(|_| built_in(kind).is_none()),
            of_trait: of_trait.and_then(first),
        })
    }

    /// The identifiers of the path in their order, without generic arguments and closures: what the mangled name has too.
    pub fn identifiers(&self) -> Vec<&'a BStr> {
        let path = &self.tokens[self.path.clone()];
        let (of_type, behind) = match implementor(path) {
            Some((kind, _, behind)) => (kind, behind),
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
        let mut identifiers = outermost(of_type);
        identifiers.extend(outermost(behind));
        identifiers
    }

    /// Where in the name the segments of its path begin; generic arguments and closures belong to the one before them.
    pub fn segment_starts(&self) -> Vec<usize> {
        let path = &self.tokens[self.path.clone()];
        let Some(first) = path.first() else {
            return vec![0];
        };
        let depth = outermost_depth(path);
        let behind = path.windows(2).filter_map(|pair| {
            let begins = pair[0].kind == TokenKind::Separator
                && pair[0].depth == depth
                && pair[1].kind != TokenKind::Braces
                && pair[1].text != "<";
            begins.then_some(pair[1].start)
        });
        std::iter::once(first.start).chain(behind).collect()
    }

    /// The segments before the function's own name, without generic arguments. Empty where there are none.
    fn scope(&self) -> Vec<BString> {
        let path = &self.tokens[self.path.clone()];
        let (mut scope, rest) = match implementor(path) {
            Some((kind, of_trait, behind)) => (home_of(kind, of_trait), behind),
            None => (Vec::new(), path),
        };
        let mut own: Vec<BString> = segments(self.name, rest)
            .into_iter()
            .map(|segment| segment.text)
            .collect();
        // Closures and shims belong to the function they stand in.
        while own
            .last()
            .is_some_and(|segment| is_closure(segment.as_ref()) || segment.is_empty())
        {
            own.pop();
        }
        own.pop();
        scope.extend(own);
        scope.retain(|segment| !segment.is_empty() && !is_closure(segment.as_ref()));
        scope
    }

    fn segments(&self) -> Vec<Segment> {
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

/// The crates of `<Type as Trait>`; `None` where it has none, as a built-in type and a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementor {
    /// The crate of the type.
    pub of_type: Option<BString>,
    /// The crate of the trait.
    pub of_trait: Option<BString>,
}

/// The types of Rust that are words.
pub(crate) const PRIMITIVES: [&str; 17] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64", "bool", "char", "str",
];

/// What stands in front of a type's path in Rust.
const TYPE_WORDS: [&str; 4] = ["mut", "const", "dyn", "impl"];

/// A piece of a path between `::`.
struct Segment {
    /// Without generic arguments.
    text: BString,
}

/// How deep these tokens stand where they are in no bracket of their own.
fn outermost_depth(tokens: &[NameToken]) -> usize {
    tokens.first().map_or(0, |token| {
        token.depth - usize::from(token.kind == TokenKind::Open)
    })
}

/// Finds the path among these tokens, which are those of a name or of a declarator in parentheses, and where the
/// parameters behind it end.
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
            // A conversion's type follows, or `new` and `delete`: all up to the parameters is the name.
            TokenKind::Operator if token.text.ends_with(b" ") => {
                let parameters = here.iter().position(|token| {
                    token.kind == TokenKind::Open && token.text == "(" && token.depth == depth + 1
                });
                let end = parameters.map_or(within.end, |length| position + length);
                let behind = end + parameters.map_or(0, |_| group(&tokens[end..within.end]));
                return (start..end, behind);
            }
            TokenKind::Blank if is_suffix(here) => return (start..position, position),
            TokenKind::Blank => start = position + 1,
            TokenKind::Open => {
                let end = position + group(here);
                if token.text == "("
                    && let Some(separator) = goes_on(&tokens[end..within.end])
                {
                    position = end + separator;
                    continue;
                }
                if token.text == "(" {
                    let is_declarator = start == position
                        && matches!(tokens[position + 1..end].first(), Some(first) if first.text == "*" || first.text == "&");
                    if is_declarator && position > within.start {
                        // `void (*f<int>(int))(char)`: a function that returns a pointer to one.
                        let (path, _) = find_path(tokens, position + 2..end - 1);
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

/// `decltype` or `decltype ` right in front.
fn is_decltype_before(tokens: &[NameToken]) -> bool {
    tokens
        .iter()
        .rev()
        .find(|token| token.kind != TokenKind::Blank)
        .is_some_and(|token| token.text == "decltype")
}

/// The position of the `::` with which a path goes on behind a group in parentheses: `run(int)::{lambda()#1}`,
/// `A::f() const::{lambda()#1}`, `(anonymous namespace)::f`.
fn goes_on(behind: &[NameToken]) -> Option<usize> {
    const QUALIFIERS: [&str; 4] = ["const", "volatile", "&", "noexcept"];
    let position = behind.iter().position(|token| {
        token.kind != TokenKind::Blank && !QUALIFIERS.iter().any(|word| token.text == word)
    })?;
    (behind[position].kind == TokenKind::Separator).then_some(position)
}

/// True for ` [clone .cold]`, which compilers' clones have behind C's names too.
fn is_suffix(tokens: &[NameToken]) -> bool {
    matches!(tokens, [_, open, word, ..] if open.text == "[" && word.text == "clone")
}

/// How many tokens the group has that begins with this bracket, its brackets included; all that are left where nothing
/// closes it.
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

/// Type, trait and what follows of a path that begins with `<Type as Trait>` or `<Type>`.
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
    let behind = match path.get(end) {
        Some(token) if token.kind == TokenKind::Separator => end + 1,
        _ => end,
    };
    let behind = path.get(behind..).unwrap_or_default();
    Some(match inner.iter().position(is_as) {
        Some(position) => (&inner[..position], Some(&inner[position + 1..]), behind),
        None => (inner, None, behind),
    })
}

/// Where the type before `::` is at home: the segments of its own path, or of the trait's where the type is a built-in
/// one, a reference or a parameter.
fn home_of(kind: &[NameToken], of_trait: Option<&[NameToken]>) -> Vec<BString> {
    let of_trait = of_trait.map(home_of_path).unwrap_or_default();
    let own = match built_in(kind) {
        Some(_) if of_trait.len() > 1 => return of_trait,
        Some(module) => return vec!["core".into(), module.into()],
        None => home_of_path(kind),
    };
    match own.len() {
        ..=1 if of_trait.len() > 1 => of_trait,
        _ => own,
    }
}

/// Whether [`home_of`] is `core` because the type, or the one that the trait's path begins with, is built in.
fn is_at_home_in_core(kind: &[NameToken], of_trait: Option<&[NameToken]>) -> bool {
    let begins_built_in = |path: &[NameToken]| {
        implementor(behind_blanks(path))
            .is_some_and(|(kind, of_trait, _)| is_at_home_in_core(kind, of_trait))
    };
    built_in(kind).is_some() && of_trait.is_none_or(begins_built_in)
}

fn behind_blanks<'t, 'a>(tokens: &'t [NameToken<'a>]) -> &'t [NameToken<'a>] {
    let blanks = tokens
        .iter()
        .take_while(|token| token.kind == TokenKind::Blank);
    &tokens[blanks.count()..]
}

/// The module of `core` that has the methods of a type without a crate: a number, `str`, a slice, a pointer, …, also
/// behind references. A slice of somebody's type is a slice. `None` for any other type.
fn built_in(kind: &[NameToken]) -> Option<&'static str> {
    let is_front = |token: &NameToken| {
        matches!(token.kind, TokenKind::Blank | TokenKind::Quoted)
            || token.text == "&"
            || token.text == "mut"
    };
    let front = kind.iter().take_while(|token| is_front(token)).count();
    let (first, behind) = kind[front..].split_first()?;
    if first.text == "*" {
        return Some("ptr");
    }
    if first.kind == TokenKind::Open {
        let is_array = behind
            .iter()
            .any(|token| token.text == ";" && token.depth == first.depth);
        return match first.text.as_bytes() {
            b"[" if is_array => Some("array"),
            b"[" => Some("slice"),
            b"(" => Some("tuple"),
            _ => None,
        };
    }
    let is_whole = behind.iter().all(|token| token.kind == TokenKind::Blank);
    let word = PRIMITIVES.iter().find(|word| first.text == **word)?;
    is_whole.then_some(match *word {
        "bool" | "char" | "str" => *word,
        _ => "num",
    })
}

/// The identifiers that a type's path begins with, behind `&`, `*`, `[` and words such as `dyn`.
fn home_of_path(tokens: &[NameToken]) -> Vec<BString> {
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
    if let Some((kind, of_trait, _)) = implementor(path) {
        return home_of(kind, of_trait);
    }
    let mut home = Vec::new();
    let mut rest = path;
    while let [word, behind @ ..] = rest
        && word.kind == TokenKind::Word
        && word.text.bytes().all(tokens::is_of_word)
    {
        home.push(BString::from(word.text));
        // A crate's disambiguator and generic arguments stand between a name and the next.
        rest = behind;
        while let [open, ..] = rest
            && open.kind == TokenKind::Open
            && open.text != "("
        {
            rest = &rest[group(rest)..];
        }
        match rest {
            [separator, behind @ ..] if separator.kind == TokenKind::Separator => rest = behind,
            _ => break,
        }
    }
    home
}

/// The segments of a path, without generic arguments, disambiguators and the parameters of the functions it leads
/// through.
fn segments(name: &[u8], path: &[NameToken]) -> Vec<Segment> {
    let mut segments = vec![Segment {
        text: BString::default(),
    }];
    let mut position = 0;
    while let Some(token) = path.get(position) {
        let last = segments.len() - 1;
        match token.kind {
            TokenKind::Separator => segments.push(Segment {
                text: BString::default(),
            }),
            TokenKind::Operator => {
                // A conversion's type belongs to the name, generic arguments do not.
                let rest = match token.text.ends_with(b" ") {
                    true => text_of(name, &path[position..]),
                    false => token.text,
                };
                segments[last].text = rest.into();
                return segments;
            }
            TokenKind::Open => {
                let length = group(&path[position..]);
                let text = text_of(name, &path[position..position + length]);
                // `(anonymous namespace)`, `(below main)`: where a name is expected, what is in parentheses is one.
                if segments[last].text.is_empty() && token.text == "(" {
                    segments[last].text = text.into();
                }
                position += length;
                if token.text == "(" {
                    position += goes_on(&path[position..]).unwrap_or(0);
                }
                continue;
            }
            TokenKind::Blank => {}
            _ => segments[last].text.extend_from_slice(token.text),
        }
        position += 1;
    }
    segments
}

/// True for what has no name of its own: closures, lambdas and shims.
fn is_closure(segment: &BStr) -> bool {
    segment.starts_with(b"{") || segment.starts_with(b"'lambda")
}

#[cfg(test)]
mod tests;
