//! Compares patterns for mangled names with demangled names.
//!
//! Valgrind compares `fun:_ZN4demo4tree*17h*E` with the mangled name, which its reports do not contain. The mangled and the
//! demangled name have the same identifiers in the same order: `demo`, `tree`. So this module parses a pattern into
//! identifiers and wildcards. It skips hashes, back references and the numbers of implementations. A pattern that it
//! cannot parse completely matches nothing.

use bstr::ByteSlice as _;
use cg_names::structure::ParsedName;

use super::{operators, wildcard};

/// The identifiers and wildcards of a pattern for mangled names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordPattern(Vec<WordToken>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum WordToken {
    Word {
        text: String,
        /// True for the name of a crate, which is always the first in a path.
        is_root: bool,
    },
    /// `*`: any number of identifiers.
    Any,
}

impl WordPattern {
    /// Parses a pattern; `None` if it is not a pattern for mangled names, has no `*`, or has an unknown form.
    pub(super) fn new(pattern: &str) -> Option<WordPattern> {
        if !pattern.contains('*') {
            return None;
        }
        let mut scanner = WordScanner {
            rest: pattern,
            tokens: Vec::new(),
            is_root: false,
            is_cpp: pattern.starts_with("_Z"),
        };
        if let Some(rest) = pattern.strip_prefix("_ZN") {
            scanner.rest = rest;
            scanner.scan_nested()?;
        } else if let Some(rest) = pattern
            .strip_prefix("_R")
            .filter(|rest| !rest.starts_with('*'))
        {
            scanner.rest = rest;
            scanner.scan_v0()?;
        } else {
            // A pattern written by --write-suppressions, such as `_Z*4Tree6insert*`.
            let schemes = ["_Z", "_R", "_"].into_iter();
            let rest = schemes
                .filter_map(|prefix| pattern.strip_prefix(prefix))
                .next();
            scanner.rest = rest.unwrap_or(pattern);
            if !scanner.rest.starts_with('*') {
                return None;
            }
            scanner.scan_identifiers()?;
        }
        let has_words = scanner
            .tokens
            .iter()
            .any(|token| matches!(token, WordToken::Word { .. }));
        has_words.then_some(WordPattern(scanner.tokens))
    }

    /// Returns true if a demangled name has these identifiers.
    pub(super) fn matches(&self, name: &str) -> bool {
        // A fast check that rejects nearly all names.
        let has_last = self.0.iter().rev().find_map(|token| match token {
            WordToken::Word { text, .. } => Some(name.contains(text.as_str())),
            WordToken::Any => None,
        });
        if has_last != Some(true) {
            return false;
        }
        // Compare without return type and parameters, which patterns do not contain.
        let name = ParsedName::new(name.as_bytes());
        let Ok(path) = name.path().to_str() else {
            return false;
        };
        let words = words(path);
        let is_any = |token: &WordToken| *token == WordToken::Any;
        wildcard::matches(&self.0, words.len(), true, is_any, |token, word| {
            let found = words[word];
            matches!(token, WordToken::Word { text, is_root }
                if found.text == text && (!is_root || found.is_root))
        })
    }
}

/// The state of a scan: the rest of the pattern, and the tokens before it.
struct WordScanner<'a> {
    rest: &'a str,
    tokens: Vec<WordToken>,
    /// True if the next identifier is the name of a crate.
    is_root: bool,
    is_cpp: bool,
}

impl WordScanner<'_> {
    /// Scans the rest of `_ZN…E`: identifiers with their lengths. C++ and Rust's legacy scheme share this form.
    fn scan_nested(&mut self) -> Option<()> {
        loop {
            match self.rest.as_bytes().first() {
                None | Some(b'*' | b'0'..=b'9') => {
                    if !self.take_identifier_or_wildcard()? {
                        return Some(());
                    }
                }
                // Parameters may follow. They are not compared.
                Some(b'E') if matches!(self.rest, "E" | "E*") => return Some(()),
                Some(_) => return None,
            }
        }
    }

    /// Scans identifiers and wildcards, as in `*4Tree6insert*`. An identifier between wildcards may lack its length. `C?`
    /// and `D?` are the constructors and destructors of the preceding class.
    fn scan_identifiers(&mut self) -> Option<()> {
        let mut has_length = false;
        loop {
            has_length |= self.rest.starts_with(|c: char| c.is_ascii_digit());
            if let Some(text) = self
                .take_member_of_class()
                .or_else(|| self.take_bare_identifier())
            {
                let is_root = false;
                self.tokens.push(WordToken::Word { text, is_root });
            } else if !self.take_identifier_or_wildcard()? {
                return has_length.then_some(());
            }
        }
    }

    fn take_member_of_class(&mut self) -> Option<String> {
        let class = self.tokens.iter().rev().find_map(|token| match token {
            WordToken::Word { text, .. } => Some(text),
            WordToken::Any => None,
        })?;
        let (text, rest) = match (self.rest.strip_prefix("C?"), self.rest.strip_prefix("D?")) {
            (Some(rest), _) => (class.clone(), rest),
            (None, Some(rest)) => (format!("~{class}"), rest),
            (None, None) => return None,
        };
        self.rest = rest;
        Some(text)
    }

    fn take_bare_identifier(&mut self) -> Option<String> {
        let end = self.rest.find('*')?;
        let (text, rest) = self.rest.split_at(end);
        let is_identifier = text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_identifier {
            return None;
        }
        self.rest = rest;
        // In C++, each operator has two letters, and every identifier has its length.
        let symbol = operators::symbol(text).filter(|_| self.is_cpp);
        Some(symbol.map_or_else(|| text.to_owned(), |symbol| format!("operator{symbol}")))
    }

    /// Scans the rest of `_R…`.
    fn scan_v0(&mut self) -> Option<()> {
        loop {
            let Some(&byte) = self.rest.as_bytes().first() else {
                return Some(());
            };
            match byte {
                b'*' | b'0'..=b'9' => {
                    self.take_identifier_or_wildcard()?;
                    continue;
                }
                // The hash and the name of a crate follow.
                b'C' => self.is_root = true,
                // A namespace follows.
                b'N' => self.rest = self.rest.get(1..)?,
                // An implementation may have a number.
                b'M' | b'X' if self.rest[1..].starts_with('*') => {
                    self.rest = &self.rest[2..];
                    continue;
                }
                b's' | b'B' => {
                    let (number, rest) = self.rest[1..].split_once('_')?;
                    let is_number = number
                        .bytes()
                        .all(|byte| byte == b'*' || byte.is_ascii_alphanumeric());
                    if !is_number {
                        return None;
                    }
                    self.rest = rest;
                    continue;
                }
                byte if byte.is_ascii_alphabetic() => {}
                _ => return None,
            }
            self.rest = self.rest.get(1..)?;
        }
    }

    /// Takes `*` or `4name`. Returns `Some(false)` at the end, and `None` for anything else.
    fn take_identifier_or_wildcard(&mut self) -> Option<bool> {
        if self.rest.is_empty() {
            return Some(false);
        }
        if let Some(rest) = self.rest.strip_prefix('*') {
            self.rest = rest;
            if self.tokens.last() != Some(&WordToken::Any) {
                self.tokens.push(WordToken::Any);
            }
            return Some(true);
        }
        // Skip the hash at the end of a legacy name.
        if let Some(rest) = self.rest.strip_prefix("17h*") {
            self.rest = rest;
            return Some(true);
        }
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = self.rest[..digits].parse().ok()?;
        let rest = &self.rest[digits..];
        // The v0 scheme inserts a `_` before an identifier that begins with a digit or with `_`.
        let rest = match rest.strip_prefix('_') {
            Some(after) if after.starts_with(|c: char| c == '_' || c.is_ascii_digit()) => after,
            _ => rest,
        };
        let identifier = rest.get(..length)?;
        if identifier.contains('*') {
            return None;
        }
        self.rest = &rest[length..];
        let is_root = std::mem::take(&mut self.is_root);
        let text = unescaped(identifier);
        self.tokens
            .extend(words(&text).into_iter().map(|word| WordToken::Word {
                text: word.text.to_owned(),
                is_root,
            }));
        Some(true)
    }
}

/// Replaces escapes of Rust's legacy scheme, such as `$LT$`. Only the braces of closures need the right character; the
/// other escapes become blanks.
fn unescaped(identifier: &str) -> String {
    if !identifier.contains('$') {
        return identifier.to_owned();
    }
    let mut text = String::with_capacity(identifier.len());
    for (position, part) in identifier.split('$').enumerate() {
        match (position % 2, part) {
            (0, "_") if position == 0 => {}
            (0, part) => text.push_str(&part.replace("..", "::")),
            (_, "u7b") => text.push('{'),
            (_, "u7d") => text.push('}'),
            _ => text.push(' '),
        }
    }
    text
}

/// An identifier of a demangled name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word<'a> {
    text: &'a str,
    /// True if no `::` precedes it.
    is_root: bool,
}

/// Returns the identifiers of a path outside braces.
fn words(path: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut braces = 0_u32;
    for (position, c) in path.char_indices().chain([(path.len(), ' ')]) {
        if c.is_alphanumeric() || c == '_' || c == '~' {
            if braces == 0 {
                start.get_or_insert(position);
            }
            continue;
        }
        if let Some(start) = start.take() {
            let mut text = &path[start..position];
            if text == "operator" && braces == 0 {
                // The operator's symbol belongs to the identifier, which is the last one.
                text = path[start..].trim_end();
            }
            if text != "as" {
                words.push(Word {
                    text,
                    is_root: !path[..start].ends_with("::"),
                });
            }
            if text.len() > position - start {
                break;
            }
        }
        match c {
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_for_mangled_names_match_the_identifiers_of_demangled_ones() {
        const THREAD: &str = "_RNvM*NtNtCs*_3std6thread6threadNtB*_6Thread3new";
        const RECV: &str = "_RNvM*NtNtNtCs*_3std4sync4mpmc4listINtB*_7ChannelNtNtCs*_4test5event13CompletedTestE4recv*";
        for (pattern, name, expected) in [
            (THREAD, "<std::thread::thread::Thread>::new", true),
            (THREAD, "<demo::std::thread::thread::Thread>::new", false),
            (THREAD, "<std::thread::thread::Thread>::new_inner", false),
            (THREAD, "<std::thread::thread::Thread>::new::inner", false),
            (
                THREAD,
                "<demo::Pool<std::thread::thread::Thread>>::new",
                false,
            ),
            (
                RECV,
                "<std::sync::mpmc::list::Channel<test::event::CompletedTest>>::recv",
                true,
            ),
            (
                RECV,
                "<std::sync::mpmc::list::Channel<test::event::CompletedTest>>::recv::{closure#1}",
                true,
            ),
            (
                RECV,
                "<std::sync::mpmc::list::Channel<demo::event::CompletedTest>>::recv",
                false,
            ),
            (
                RECV,
                "<std::sync::mpmc::list::Channel<demo::test::event::CompletedTest>>::recv",
                false,
            ),
            (
                "_ZN3std6thread*6Thread3new17h*E",
                "std::thread::Thread::new",
                true,
            ),
            (
                "_ZN3std6thread*6Thread3new17h*E",
                "std::thread::thread::Thread::new",
                true,
            ),
            (
                "_ZN3std6thread*6Thread3new17h*E",
                "demo::std::thread::Thread::new",
                false,
            ),
            (
                "_ZN4std24list16Channel$LT$T$GT$4recv17h*E",
                "std2::Channel<T>::recv",
                false,
            ),
            (
                "_ZN4list16Channel$LT$T$GT$4recv17h*E",
                "list::Channel<T>::recv",
                true,
            ),
            (
                "_ZN4demo4grow28_$u7b$$u7b$closure$u7d$$u7d$17h*E",
                "demo::grow::{{closure}}",
                true,
            ),
            (
                "_ZN52_$LT$demo..Tree$u20$as$u20$core..ops..drop..Drop$GT$4drop17h*E",
                "<demo::Tree as core::ops::drop::Drop>::drop",
                true,
            ),
            ("_ZN4Tree6insertE*", "Tree::insert(Node*, int)", true),
            ("_ZN4Tree6insertE*", "Tree::insertion(int)", false),
            ("_ZN4Tree*", "Tree::insert(int)", true),
            ("_ZN4Tree*", "Trees::insert(Tree)", false),
            ("_ZN4Tree*", "void Tree::insert<int>(int)", true),
            ("*3inv*", "inv(int)", true),
            ("*3inv*", "demo::inv", true),
            ("*3inv*", "invoke(int)", false),
            (
                "*4Tree6insert*",
                "(anonymous namespace)::Tree::insert(int)",
                true,
            ),
            ("*4Tree6insert*", "Tree::grow(insert)", false),
            (
                "*6vector*9push_back*",
                "std::vector<int>::push_back(int&&)",
                true,
            ),
        ] {
            let pattern_of_words = WordPattern::new(pattern);
            let matches = pattern_of_words.is_some_and(|pattern| pattern.matches(name));
            assert_eq!(matches, expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_unknown_form_is_rejected() {
        for pattern in [
            "_Znw*",
            "_ZN4Tree6insertEi",
            "_ZN4Tree6insertEi*",
            "_ZN4Tr*",
            "_ZNSt6vector*",
            "_ZN4Tree?",
            "*Tree*",
            "*",
            "alloc_impl*",
            "_RNvCs*demo",
        ] {
            assert_eq!(WordPattern::new(pattern), None, "{pattern}");
        }
    }
}
