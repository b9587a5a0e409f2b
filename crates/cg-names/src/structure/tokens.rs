//! The one walker over function names: a name cut into tokens, each with how deep in brackets it stands.
//!
//! It knows what the demanglers of Valgrind, GNU, LLVM and Rust print, and which of their signs are no brackets: the `<`
//! of `operator<`, the `>` of `->`, a comparison inside parentheses.

use bstr::{BStr, ByteSlice};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier or a number; a C symbol with its `.` and `@`.
    Word,
    /// C++'s `operator` with its sign, or with the blank in front of the type or word that follows.
    Operator,
    /// What is in braces, these included: `{closure#0}`, `{lambda(int)#2}`, `{{vtable.shim}}`.
    Braces,
    /// `'lambda0'` of LLVM's demangler, `'_` of Rust's.
    Quoted,
    /// `::`.
    Separator,
    /// `<`, `(` or `[`.
    Open,
    /// `>`, `)` or `]`.
    Close,
    /// White space.
    Blank,
    /// Any other sign; `->` is one.
    Sign,
}

/// A piece of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameToken<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// Its text.
    pub text: &'a BStr,
    /// Where in the name it begins.
    pub start: usize,
    /// How many brackets are open around it. A bracket stands in what it opens or closes.
    pub depth: usize,
}

impl NameToken<'_> {
    /// Where in the name it ends.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Cuts a name into tokens. Every byte of the name is in one of them.
pub fn tokens(name: &[u8]) -> Vec<NameToken<'_>> {
    let mut tokens: Vec<NameToken> = Vec::with_capacity(name.len() / 4);
    let mut open: Vec<u8> = Vec::new();
    let mut start = 0;
    while start < name.len() {
        let rest = &name[start..];
        let (kind, length) = next(rest, tokens.last());
        let (kind, depth) = match kind {
            TokenKind::Open => {
                open.push(rest[0]);
                (kind, open.len())
            }
            TokenKind::Close => match close(&mut open, rest[0]) {
                Some(depth) => (kind, depth),
                // A bracket that closes nothing is a sign like any other.
                None => (TokenKind::Sign, open.len()),
            },
            _ => (kind, open.len()),
        };
        tokens.push(NameToken {
            kind,
            text: rest[..length].as_bstr(),
            start,
            depth,
        });
        start += length;
    }
    tokens
}

/// The kind and length of the token that a text begins with.
fn next(rest: &[u8], before: Option<&NameToken>) -> (TokenKind, usize) {
    match rest {
        [b':', b':', ..] => (TokenKind::Separator, 2),
        [b'-', b'>', ..] => (TokenKind::Sign, 2),
        [b'{', ..] => (TokenKind::Braces, braces(rest)),
        [b'<' | b'(' | b'[', ..] => (TokenKind::Open, 1),
        [b'>' | b')' | b']', ..] => (TokenKind::Close, 1),
        [b'\'', word @ ..] => {
            let length = 1 + word.iter().take_while(|byte| is_of_word(**byte)).count();
            // LLVM's demangler closes its quotes, Rust's lifetimes have none to close.
            let is_closed = length > 1 && rest.get(length) == Some(&b'\'');
            (TokenKind::Quoted, length + usize::from(is_closed))
        }
        [byte, ..] if byte.is_ascii_whitespace() => (TokenKind::Blank, 1),
        [byte, ..] if is_of_word(*byte) || is_inside_symbol(*byte) => {
            let word = rest
                .iter()
                .take_while(|byte| is_of_word(**byte) || is_inside_symbol(**byte))
                .count();
            let is_behind_word = before.is_some_and(|token| token.kind == TokenKind::Word);
            match &rest[..word] {
                b"operator" if !is_behind_word => match operator_sign(&rest[word..]) {
                    0 => (TokenKind::Word, word),
                    sign => (TokenKind::Operator, word + sign),
                },
                _ => (TokenKind::Word, word),
            }
        }
        _ => (TokenKind::Sign, 1),
    }
}

/// Pops all brackets up to the one that this one closes, and returns its depth. A `>` closes only a `<`: inside
/// parentheses it can also be a comparison.
fn close(open: &mut Vec<u8>, bracket: u8) -> Option<usize> {
    let wanted = match bracket {
        b'>' => b'<',
        b')' => b'(',
        _ => b'[',
    };
    let position = match bracket {
        b'>' => open
            .last()
            .filter(|last| **last == wanted)
            .map(|_| open.len() - 1),
        _ => open.iter().rposition(|opened| *opened == wanted),
    }?;
    open.truncate(position);
    Some(position + 1)
}

/// Letters, digits and what else a name has; all of UTF-8 beyond ASCII.
pub(crate) fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'~') || byte >= 0x80
}

/// What the names of symbols have and no identifier: `memcpy@@GLIBC_2.14`, `parse.isra.0`, `std.io.write`.
fn is_inside_symbol(byte: u8) -> bool {
    matches!(byte, b'.' | b'@')
}

/// The length of what is in braces, these included; all that is left where nothing closes them.
fn braces(text: &[u8]) -> usize {
    let mut depth = 0usize;
    for (position, byte) in text.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return position + 1;
        }
    }
    text.len()
}

/// The length of an operator's sign behind the word `operator`, 0 where that is a name like any other.
fn operator_sign(rest: &[u8]) -> usize {
    /// The longest first.
    const SIGNS: [&[u8]; 39] = [
        b"<=>", b"<<=", b">>=", b"->*", b"()", b"[]", b"<<", b">>", b"<=", b">=", b"==", b"!=",
        b"&&", b"||", b"++", b"--", b"+=", b"-=", b"*=", b"/=", b"%=", b"^=", b"&=", b"|=", b"->",
        b"+", b"-", b"*", b"/", b"%", b"^", b"&", b"|", b"~", b"!", b"=", b"<", b">", b",",
    ];
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(sign)) {
        return sign.len();
    }
    if rest.starts_with(b"\"\"") {
        // `operator""_km`, with or without a blank.
        let blank = usize::from(rest.get(2) == Some(&b' '));
        let suffix = rest[2 + blank..].iter();
        return 2 + blank + suffix.take_while(|byte| is_of_word(**byte)).count();
    }
    usize::from(rest.first() == Some(&b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of a name with their depths, brackets and blanks left out.
    fn words(name: &str) -> String {
        tokens(name.as_bytes())
            .iter()
            .filter(|token| {
                !matches!(
                    token.kind,
                    TokenKind::Open | TokenKind::Close | TokenKind::Blank
                )
            })
            .map(|token| format!("{}/{}", token.text, token.depth))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn brackets_are_told_from_signs_that_look_like_them() {
        for (name, expected) in [
            ("a::b<c>", "a/0 ::/0 b/0 c/1"),
            ("f<fn(u8) -> r>::g", "f/0 fn/1 u8/2 ->/1 r/1 ::/0 g/0"),
            ("operator<<(o)", "operator<</0 o/1"),
            ("operator< <int>(a)", "operator</0 int/1 a/1"),
            ("A::operator()(int)", "A/0 ::/0 operator()/0 int/1"),
            ("operator->", "operator->/0"),
            ("operator bool", "operator /0 bool/0"),
            ("operator\"\"_km(x)", "operator\"\"_km/0 x/1"),
            ("my_operator<int>", "my_operator/0 int/1"),
            ("operators::f", "operators/0 ::/0 f/0"),
            ("f<((a)>(b))>::g", "f/0 a/3 >/2 b/3 ::/0 g/0"),
            ("{lambda(f<int>)#1}::x", "{lambda(f<int>)#1}/0 ::/0 x/0"),
            ("'lambda0'(int)", "'lambda0'/0 int/1"),
            ("f<'_, u8>", "f/0 '_/1 ,/1 u8/1"),
            ("a>b)", "a/0 >/0 b/0 )/0"),
            ("memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14/0"),
        ] {
            assert_eq!(words(name), expected, "{name}");
        }
    }

    #[test]
    fn every_byte_is_in_one_token() {
        for name in [
            "",
            "<",
            "}{",
            "a{b",
            "'",
            "operator",
            "x\u{1F600}<\u{e9}>",
            "(((",
            "[[]",
        ] {
            let whole: Vec<u8> = tokens(name.as_bytes())
                .iter()
                .flat_map(|token| token.text.to_vec())
                .collect();
            assert_eq!(whole, name.as_bytes(), "{name}");
        }
    }
}
