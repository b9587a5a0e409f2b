use std::collections::BTreeSet;

use regex::Regex;

use super::*;

/// Returns all beginnings and ends of names, and the names without one of their characters.
pub(crate) fn with_variants<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let mut variants = BTreeSet::new();
    for name in names {
        for (at, character) in name.char_indices() {
            let (before, after) = name.split_at(at);
            let rest = &after[character.len_utf8()..];
            variants.extend([
                before.to_owned(),
                after.to_owned(),
                format!("{before}{rest}"),
            ]);
        }
    }
    variants
}

/// Returns the names of the pairs with which all tools are tested.
pub(crate) fn names_of_pairs() -> impl Iterator<Item = &'static str> {
    let pairs = include_str!("../../../../tests/data/names/pairs.tsv").lines();
    pairs.flat_map(|line| line.split('\t').take(2))
}

/// Returns all texts of at most five of these characters.
fn short_texts() -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut longest = texts.clone();
    for _ in 0..5 {
        let longer = longest
            .iter()
            .flat_map(|text| ["a", "b", "c", "-", "é"].map(|next| format!("{text}{next}")));
        longest = longer.collect();
        texts.extend_from_slice(&longest);
    }
    texts
}

#[test]
fn matches_and_groups_are_those_of_the_regex_crate() {
    let texts = short_texts();
    for source in [
        "a",
        "abc",
        "ab?c",
        "ab*c",
        "a+b",
        "a|ab",
        "ab|a",
        "(a|ab)(c|bcd|b)",
        "(a*)(ab)*b?c",
        "(a+?)(a*)b",
        "([^-]+?)-(a*)",
        "(a)|(b)",
        "(?:a|b)+c",
        "(a|b)*c",
        "(a|b|-)?(c)",
        "a{2}",
        "(a{1,3})(b)",
        "(?:ab){2}",
        "^a",
        "^(a.*)b$",
        "(.*)-(.*)",
        "a$",
        r"\ba(b*)\b",
        r"(\w+)-",
        r"\w\b",
        "[^a-b]c",
        "[-c](b)",
        r"[a\-]\-",
        "(a*)b(c|$)",
        "é+(a?)",
        "a.c",
    ] {
        let pattern = NamePattern::parse(source).unwrap();
        let regex = Regex::new(source).unwrap();
        let whole = Regex::new(&format!("^(?:{source})$")).unwrap();
        for text in &texts {
            assert_eq!(
                pattern.matches(text),
                whole.is_match(text),
                "{source} {text}"
            );
            let template = "<$1|$2>$$";
            let replaced = pattern.replace_all(text, template);
            assert_eq!(replaced.is_some(), regex.is_match(text), "{source} {text}");
            let replaced = replaced.as_ref().unwrap_or(text);
            assert_eq!(
                *replaced,
                regex.replace_all(text, template),
                "{source} {text}"
            );
        }
    }
}

#[test]
fn words_and_line_ends_are_those_of_the_regex_crate() {
    for source in [r"a\w*", r"a\b.*", "a.*", "a[^x]*b", r".*\bb"] {
        let pattern = NamePattern::parse(source).unwrap();
        let whole = Regex::new(&format!("^(?:{source})$")).unwrap();
        for middle in [
            "é",
            "क्षि",
            "_",
            "²",
            "…",
            "\n",
            "\u{200d}",
            "‿",
            "x",
            "·",
            "",
        ] {
            for text in [format!("a{middle}"), format!("a{middle}b")] {
                assert_eq!(
                    pattern.matches(&text),
                    whole.is_match(&text),
                    "{source} {text}"
                );
            }
        }
    }
}

#[test]
fn other_syntax_and_empty_matches_are_not_supported() {
    for source in [
        "",
        "a*",
        "a|b?",
        "^",
        "(",
        "a)",
        "(a",
        "[a",
        "[é]",
        "[\\w]",
        "a{2",
        "a{x}",
        "+a",
        "a**",
        "\\",
        "\\d",
        "(?i)a",
        "((((((a))))))",
    ] {
        assert!(NamePattern::parse(source).is_none(), "{source}");
    }
}

#[test]
fn time_grows_linearly_with_the_length_of_a_name() {
    let name = "a".repeat(50_000);
    let almost = format!("{name}b-!");
    for source in ["(a|a)*(a|a)*b", "(a+)*-", r"(\w*)(\w*)(\w*)-", "(.*)(.*)-"] {
        let pattern = NamePattern::parse(source).unwrap();
        assert!(!pattern.matches(&almost));
        assert_eq!(pattern.replace_all(&name, ""), None);
    }
}
