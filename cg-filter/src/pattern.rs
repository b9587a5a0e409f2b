//! Regular expressions as grep's options shape them.

use memchr::memchr;
use regex::bytes::{Regex, RegexSet, RegexSetBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::{ExtractKind, Extractor};

/// How all regular expressions of a command line are meant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PatternOptions {
    pub(crate) ignore_case: bool,
    pub(crate) fixed_strings: bool,
    pub(crate) whole_words: bool,
    pub(crate) whole_names: bool,
}

/// Regular expressions of which any may match. They are looked for in bytes: a name need not be UTF-8.
#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    set: RegexSet,
    /// Finds the literal texts of which every match has one; `None` where the patterns have no such texts.
    literals: Option<Regex>,
}

impl Patterns {
    /// The patterns for the values of one flag, `None` where it was not given.
    pub(crate) fn new(
        flag: &str,
        regexes: &[String],
        options: PatternOptions,
    ) -> anyhow::Result<Option<Patterns>> {
        if regexes.is_empty() {
            return Ok(None);
        }
        // Each is tried alone first, so that the message can say which one is wrong.
        for regex in regexes {
            build(std::slice::from_ref(regex), options)
                .map_err(|reason| anyhow::anyhow!("{flag}: \"{regex}\": {reason}"))?;
        }
        build(regexes, options)
            .map(Some)
            .map_err(|reason| anyhow::anyhow!("{flag}: {reason}"))
    }

    /// Whether any of them is found in these bytes.
    pub(crate) fn match_in(&self, text: &[u8]) -> bool {
        self.set.is_match(text)
    }

    /// Whether any of them may be found in a text of this line of JSON. Where it is false, no text of it has a match: what
    /// has no backslash stands there as it is.
    ///
    /// One search over the line spares most dropped records the walk over their fields. Of a stream with calls that takes
    /// 0.6 times the instructions, since both ends of a call are looked at.
    pub(crate) fn may_match_within(&self, line: &[u8]) -> bool {
        self.literals
            .as_ref()
            .is_none_or(|literals| literals.is_match(line) || memchr(b'\\', line).is_some())
    }
}

fn build(regexes: &[String], options: PatternOptions) -> Result<Patterns, String> {
    let shaped: Vec<String> = regexes
        .iter()
        .map(|regex| {
            let regex = match options.fixed_strings {
                true => regex::escape(regex),
                false => regex.clone(),
            };
            if options.whole_names {
                format!("^(?:{regex})$")
            } else if options.whole_words {
                // Half boundaries, as in ripgrep: a whole one would ask for a word character at a pattern's own edge.
                format!(r"\b{{start-half}}(?:{regex})\b{{end-half}}")
            } else {
                regex
            }
        })
        .collect();
    let set = RegexSetBuilder::new(&shaped)
        .case_insensitive(options.ignore_case)
        .build()
        .map_err(|error| {
            // The message of a syntax error is a drawing of several lines; the last one has the reason.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
        })?;
    Ok(Patterns {
        set,
        literals: literals(&shaped, options.ignore_case),
    })
}

/// What finds the texts of which every match of these patterns has one: those that it begins with, or else those that
/// it ends with.
fn literals(patterns: &[String], ignore_case: bool) -> Option<Regex> {
    /// So few are searched for with vector instructions; a word in any case is cut to fewer letters.
    const MOST: usize = 32;
    let mut texts = Vec::new();
    for pattern in patterns {
        let pattern = ParserBuilder::new()
            .utf8(false)
            .case_insensitive(ignore_case)
            .build()
            .parse(pattern)
            .ok()?;
        let of_kind = |kind| {
            let found = Extractor::new()
                .kind(kind)
                .limit_total(MOST)
                .extract(&pattern);
            let texts: Option<Vec<String>> = found
                .literals()?
                .iter()
                .map(|literal| std::str::from_utf8(literal.as_bytes()).ok())
                .map(|text| text.filter(|text| !text.is_empty()).map(regex::escape))
                .collect();
            texts
        };
        texts.extend(of_kind(ExtractKind::Prefix).or_else(|| of_kind(ExtractKind::Suffix))?);
    }
    Regex::new(&texts.join("|")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(regexes: &[&str], options: PatternOptions, text: &str) -> bool {
        let regexes: Vec<String> = regexes.iter().map(|regex| (*regex).to_owned()).collect();
        let patterns = Patterns::new("REGEX", &regexes, options).unwrap();
        patterns.is_none_or(|patterns| patterns.match_in(text.as_bytes()))
    }

    #[test]
    fn any_pattern_may_match_and_the_empty_one_always_does() {
        let plain = PatternOptions::default();
        assert!(matches(&["^b", "a$"], plain, "a"));
        assert!(!matches(&["^b", "a$"], plain, "c"));
        assert!(matches(&[""], plain, ""));
    }

    #[test]
    fn options_mean_what_they_mean_to_grep() {
        let plain = PatternOptions::default();
        let words = PatternOptions {
            whole_words: true,
            ..plain
        };
        let names = PatternOptions {
            whole_names: true,
            ..plain
        };
        let fixed = PatternOptions {
            fixed_strings: true,
            ..plain
        };
        let any_case = PatternOptions {
            ignore_case: true,
            ..plain
        };
        assert!(matches(&["push"], words, "Vec<T>::push"));
        assert!(!matches(&["push"], words, "push_back"));
        assert!(matches(&["<T>"], words, "Vec::<T>::push"));
        assert!(matches(&["a|b"], names, "b"));
        assert!(!matches(&["a|b"], names, "ab"));
        assert!(matches(
            &["operator()(int*)"],
            fixed,
            "f::operator()(int*) const"
        ));
        assert!(matches(&["MALLOC"], any_case, "malloc"));
    }

    #[test]
    fn a_line_is_only_ruled_out_if_none_of_its_texts_can_match() {
        let may_match = |regexes: &[&str], options, line: &str| {
            let regexes: Vec<String> = regexes.iter().map(|&regex| regex.into()).collect();
            let patterns = Patterns::new("REGEX", &regexes, options).unwrap().unwrap();
            patterns.may_match_within(line.as_bytes())
        };
        let plain = PatternOptions::default();
        let any_case = PatternOptions {
            ignore_case: true,
            ..plain
        };
        let names = PatternOptions {
            whole_names: true,
            ..plain
        };
        let line = r#"{"fn":"main","callee":{"fn":"malloc"}}"#;
        for (regexes, options, expect) in [
            (&["^malloc$"][..], plain, true),
            (&["malloc"], names, true),
            (&["^free$"], plain, false),
            (&["^free$", "alloc$"], plain, true),
            (&["^free$", "new"], plain, false),
            (&["MALLOC"], any_case, true),
            (&["FREE"], any_case, false),
            (&[".*loc$"], plain, true),
            (&[".*free$"], plain, false),
            // These match a text that has no bytes, or any.
            (&["^$"], plain, true),
            (&["x*"], plain, true),
            (&["free|"], plain, true),
            (&["^[^x]+$"], plain, true),
            (&[""], plain, true),
        ] {
            assert_eq!(may_match(regexes, options, line), expect, "{regexes:?}");
        }
        // A text with an escape has to be decoded first.
        assert!(may_match(&["free"], plain, r#"{"fn":"\u0066ree"}"#));
    }

    #[test]
    fn a_wrong_pattern_is_named_with_its_flag() {
        let error = Patterns::new(
            "--file",
            &["a".into(), "b(".into()],
            PatternOptions::default(),
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "--file: \"b(\": unclosed group"
        );
    }
}
