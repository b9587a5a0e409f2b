//! Tokens of function names, with their depth in brackets. All code that examines brackets uses these tokens.
//!
//! The tokenizer knows the output of the demanglers of Valgrind, GNU, LLVM and Rust, and the signs that are not brackets:
//! the `<` of `operator<`, the `>` of `->`, a comparison inside parentheses.

use bstr::{BStr, ByteSlice};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier or a number; a C symbol, including `.` and `@`.
    Word,
    /// C++'s `operator` with its sign, or with the blank before the type or word that follows.
    Operator,
    /// Braces with their contents: `{closure#0}`, `{lambda(int)#2}`, `{{vtable.shim}}`.
    Braces,
    /// `'lambda0'` from LLVM's demangler, or `'_` from Rust's.
    Quoted,
    /// `::`.
    Separator,
    /// `<`, `(` or `[`.
    Open,
    /// `>`, `)` or `]`.
    Close,
    /// White space.
    Blank,
    /// Any other sign, including `->`.
    Sign,
}

/// A token of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameToken<'a> {
    /// The kind of the token.
    pub kind: TokenKind,
    /// The text of the token.
    pub text: &'a BStr,
    /// The offset of its beginning in the name.
    pub start: usize,
    /// The number of open brackets. For a bracket, this includes the bracket itself.
    pub depth: usize,
}

impl NameToken<'_> {
    /// Returns the offset of its end in the name.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Splits a name into tokens. Every byte of the name is in one token.
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
                // A closing bracket without an opening one is an ordinary sign.
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

/// Returns the kind and the length of the token at the beginning of a text.
fn next(rest: &[u8], before: Option<&NameToken>) -> (TokenKind, usize) {
    match rest {
        [b':', b':', ..] => (TokenKind::Separator, 2),
        [b'-', b'>', ..] => (TokenKind::Sign, 2),
        [b'{', ..] => (TokenKind::Braces, braces(rest)),
        [b'<' | b'(' | b'[', ..] => (TokenKind::Open, 1),
        [b'>' | b')' | b']', ..] => (TokenKind::Close, 1),
        [b'\'', word @ ..] => {
            let length = 1 + word.iter().take_while(|byte| is_word_byte(**byte)).count();
            // LLVM's demangler closes its quotes. Rust's lifetimes have no closing quote.
            let is_closed = length > 1 && rest.get(length) == Some(&b'\'');
            (TokenKind::Quoted, length + usize::from(is_closed))
        }
        [byte, ..] if byte.is_ascii_whitespace() => (TokenKind::Blank, 1),
        [byte, ..] if is_word_byte(*byte) || is_inside_symbol(*byte) => {
            let word = rest
                .iter()
                .take_while(|byte| is_word_byte(**byte) || is_inside_symbol(**byte))
                .count();
            let follows_word = before.is_some_and(|token| token.kind == TokenKind::Word);
            match &rest[..word] {
                b"operator" if !follows_word => match operator_sign(&rest[word..]) {
                    0 => (TokenKind::Word, word),
                    sign => (TokenKind::Operator, word + sign),
                },
                _ => (TokenKind::Word, word),
            }
        }
        _ => (TokenKind::Sign, 1),
    }
}

/// Pops all brackets up to the one that this bracket closes, and returns its depth. A `>` closes only an immediately open
/// `<`, because inside parentheses it can also be a comparison.
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

/// Returns true for letters, digits, other characters of identifiers, and all bytes beyond ASCII.
pub(crate) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'~') || byte >= 0x80
}

/// Returns true for characters that symbols contain and identifiers do not: `memcpy@@GLIBC_2.14`, `parse.isra.0`,
/// `std.io.write`.
fn is_inside_symbol(byte: u8) -> bool {
    matches!(byte, b'.' | b'@')
}

/// Returns the length of the text in braces, including the braces. Without a closing brace, returns the length of the whole
/// text.
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

/// Returns the length of the operator's sign after the word `operator`; 0 if the word is an ordinary name.
fn operator_sign(rest: &[u8]) -> usize {
    /// Sorted by length, longest first.
    const SIGNS: [&[u8]; 39] = [
        b"<=>", b"<<=", b">>=", b"->*", b"()", b"[]", b"<<", b">>", b"<=", b">=", b"==", b"!=",
        b"&&", b"||", b"++", b"--", b"+=", b"-=", b"*=", b"/=", b"%=", b"^=", b"&=", b"|=", b"->",
        b"+", b"-", b"*", b"/", b"%", b"^", b"&", b"|", b"~", b"!", b"=", b"<", b">", b",",
    ];
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(sign)) {
        return sign.len();
    }
    if rest.starts_with(b"\"\"") {
        // `operator""_km`, with or without a blank before `_km`.
        let blank = usize::from(rest.get(2) == Some(&b' '));
        let suffix = rest[2 + blank..].iter();
        return 2 + blank + suffix.take_while(|byte| is_word_byte(**byte)).count();
    }
    usize::from(rest.first() == Some(&b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tokens of a name with their depths, without brackets and blanks.
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
    fn brackets_are_distinguished_from_similar_signs() {
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
