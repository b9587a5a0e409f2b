//! What makes a finding the same one in the next build: its kind and the normalised names of its own frames.
//!
//! Addresses, pids, line numbers, hashes of compilers and the frames of libc and the standard libraries change without
//! anybody touching the code, so none of them is part of it. Neither are bytes, blocks and counts: they follow the
//! input of a program rather than its code, and `--max-bytes` is there to limit them.

use std::borrow::Cow;

use cg_stream::record::Frame;

use crate::finding::Finding;
use crate::own;
use cg_names::whose;

/// A finding's identity over rebuilds and edits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Fingerprint {
    /// Normalised names of own frames, innermost first.
    pub(crate) frames: Vec<String>,
    /// A leak kind, or the error's kind as Valgrind's XML names it.
    pub(crate) kind: String,
}

impl Fingerprint {
    pub(crate) fn of(finding: &Finding) -> Fingerprint {
        Fingerprint {
            frames: own_names(own::stack_of_program(finding)),
            kind: finding.kind().to_owned(),
        }
    }

    /// 16 hex digits for formats that want a short text: FNV-1a, which is the same on every machine and in every
    /// version, unlike the hashes of the standard library.
    pub(crate) fn hex(&self) -> String {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let parts = std::iter::once(&self.kind).chain(&self.frames);
        for byte in parts.flat_map(|part| part.bytes().chain(std::iter::once(0))) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        format!("{hash:016x}")
    }
}

/// The names of the own frames, recursion folded. Where no frame is own, those of all that are no allocator's.
fn own_names(stack: &[Frame]) -> Vec<String> {
    let mut names = Vec::new();
    for frame in stack.iter().filter(|frame| whose::is_own(frame)) {
        push_folded(&mut names, frame_name(frame));
    }
    if names.is_empty() {
        let first = whose::innermost_own(stack).unwrap_or(0);
        for frame in &stack[first..] {
            push_folded(&mut names, frame_name(frame));
        }
    }
    names
}

/// Adds a name, unless it ends a repetition: however deep `a b a b a b` goes, it is `a b`.
fn push_folded(names: &mut Vec<String>, name: String) {
    /// Functions that call each other in turn; longer rounds are rare and only cost a longer fingerprint.
    const LONGEST_ROUND: usize = 8;
    names.push(name);
    let length = names.len();
    for round in 1..=LONGEST_ROUND.min(length / 2) {
        if names[length - round..] == names[length - 2 * round..length - round] {
            names.truncate(length - round);
            return;
        }
    }
}

fn frame_name(frame: &Frame) -> String {
    match (frame.name.as_deref(), frame.obj.as_deref()) {
        (Some(name), _) if name != "???" => normalised(name),
        (_, Some(object)) => object_name(object),
        _ => "???".to_owned(),
    }
}

/// A function's name without what compilers add to it: hashes, clones' suffixes, versions, numbers of closures.
pub(crate) fn normalised(name: &str) -> String {
    let mut name = Cow::Borrowed(name);
    if let Some((function, offset)) = name.rsplit_once('+')
        && !function.is_empty()
        && !offset.is_empty()
        && offset.bytes().all(|byte| byte.is_ascii_digit())
    {
        // `--sym-offsets=yes` writes `make_node+35`.
        name = Cow::Owned(function.to_owned());
    }
    let mut text = without_numbers(&without_disambiguators(&name));
    loop {
        let length = text.len();
        text.truncate(without_suffix(&text).len());
        if text.len() == length {
            return text;
        }
    }
}

/// `demo[8f3b2c1d9e0a7f65]::main` is `demo::main`: Rust's v0 crate disambiguators.
fn without_disambiguators(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(open) = rest.find('[') {
        let (before, bracket) = rest.split_at(open);
        text.push_str(before);
        match bracket.find(']') {
            Some(close)
                if close > 8 && bracket[1..close].bytes().all(|b| b.is_ascii_hexdigit()) =>
            {
                rest = &bracket[close + 1..];
            }
            _ => {
                text.push('[');
                rest = &bracket[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

/// `{closure#1}` is `{closure}`, `{lambda(int)#2}` is `{lambda(int)}`: another closure in front changes the number.
fn without_numbers(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(hash) = rest.find('#') {
        let digits = rest[hash + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let end = hash + 1 + digits;
        let is_number = digits > 0 && rest[end..].starts_with('}');
        text.push_str(&rest[..if is_number { hash } else { end }]);
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}

/// The name without the last of its suffixes, if it has any.
fn without_suffix(name: &str) -> &str {
    /// GCC's and LLVM's clones of a function.
    const CLONES: [&str; 9] = [
        "isra",
        "part",
        "constprop",
        "cold",
        "lto_priv",
        "llvm",
        "localalias",
        "warm",
        "specialized",
    ];
    if let Some((symbol, version)) = name.split_once('@')
        && version
            .trim_start_matches('@')
            .starts_with(|c: char| c.is_ascii_uppercase())
        && !symbol.is_empty()
    {
        // `memcpy@@GLIBC_2.14`.
        return symbol;
    }
    if let Some((path, hash)) = name.rsplit_once("::h")
        && hash.len() == 16
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return path;
    }
    let Some((rest, last)) = name.rsplit_once('.') else {
        return name;
    };
    if CLONES.contains(&last) {
        return rest;
    }
    if !last.is_empty()
        && last.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && last.bytes().any(|byte| byte.is_ascii_digit())
        && let Some((symbol, clone)) = rest.rsplit_once('.')
        && CLONES.contains(&clone)
    {
        return symbol;
    }
    name
}

/// The base name of an object, without the hash that Cargo adds to test binaries.
pub(crate) fn object_name(path: &str) -> String {
    let base = path.rsplit('/').next().unwrap_or(path);
    match base.rsplit_once('-') {
        Some((stem, hash))
            if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            stem.to_owned()
        }
        _ => base.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Name;

    #[test]
    fn what_compilers_add_is_not_part_of_a_name() {
        for (name, expected) in [
            ("make_node", "make_node"),
            ("make_node+35", "make_node"),
            ("make_node.isra.0", "make_node"),
            ("make_node.constprop.0.isra.0", "make_node"),
            ("make_node.part.3.cold", "make_node"),
            ("demo::f::h0123456789abcdef", "demo::f"),
            ("demo::f::h0123456789abcdef.llvm.123456", "demo::f"),
            (
                "demo[8f3b2c1d9e0a7f65]::f::{closure#12}",
                "demo::f::{closure}",
            ),
            ("demo::f::{{closure}}", "demo::f::{{closure}}"),
            (
                "f()::{lambda(int)#2}::operator()(int) const",
                "f()::{lambda(int)}::operator()(int) const",
            ),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("memcpy@GLIBC_2.2.5", "memcpy"),
            ("f(int [4])", "f(int [4])"),
            ("a.b", "a.b"),
            ("operator+(A, A)", "operator+(A, A)"),
            ("+1", "+1"),
        ] {
            assert_eq!(normalised(name), expected, "{name}");
        }
        assert_eq!(object_name("/t/debug/deps/demo-eeddf575c8605867"), "demo");
        assert_eq!(object_name("/t/demo-2.0"), "demo-2.0");
    }

    fn names(stack: &[&'static str]) -> Vec<String> {
        let stack: Vec<Frame> = stack
            .iter()
            .map(|name| Frame {
                name: Some(Name::from(*name)),
                ..Frame::default()
            })
            .collect();
        own_names(&stack)
    }

    #[test]
    fn only_own_frames_count_and_recursion_is_folded() {
        assert_eq!(
            names(&[
                "malloc",
                "make_node",
                "insert",
                "insert",
                "insert",
                "main",
                "(below main)"
            ]),
            ["make_node", "insert", "main"]
        );
        assert_eq!(
            names(&["malloc", "expr", "term", "expr", "term", "expr", "main"]),
            ["expr", "term", "expr", "main"]
        );
        assert_eq!(
            names(&["malloc", "expr", "term", "expr", "term", "main"]),
            ["expr", "term", "main"]
        );
    }

    #[test]
    fn a_stack_without_own_frames_is_named_by_what_it_has() {
        assert_eq!(
            names(&["calloc", "_dl_new", "_dl_init"]),
            ["_dl_new", "_dl_init"]
        );
        assert_eq!(names(&["malloc"]), ["malloc"]);
        assert!(names(&[]).is_empty());
    }

    #[test]
    fn the_short_text_is_the_same_everywhere() {
        let fingerprint = Fingerprint {
            frames: vec!["make_node".to_owned(), "main".to_owned()],
            kind: "definite".to_owned(),
        };
        // Computed with an independent implementation of FNV-1a over "definite\0make_node\0main\0".
        assert_eq!(fingerprint.hex(), "cc10f1052c47c1d1");
    }
}
