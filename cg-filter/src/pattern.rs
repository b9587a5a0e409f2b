//! Regular expressions with the options of grep.

use memchr::memchr;
use regex::bytes::{Regex, RegexSet, RegexSetBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::{ExtractKind, Extractor};

/// The options for all regular expressions of a command line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PatternOptions {
    pub(crate) ignore_case: bool,
    pub(crate) fixed_strings: bool,
    pub(crate) whole_words: bool,
    pub(crate) whole_names: bool,
}

/// Regular expressions, of which any may match. They match bytes, because a name need not be UTF-8.
#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    set: RegexSet,
    /// Finds a literal text that every match contains; `None` if the patterns have no such texts.
    literals: Option<Regex>,
}

impl Patterns {
    /// Compiles the patterns of one flag; `None` if it was not given.
    pub(crate) fn new(
        flag: &str,
        regexes: &[String],
        options: PatternOptions,
    ) -> anyhow::Result<Option<Patterns>> {
        if regexes.is_empty() {
            return Ok(None);
        }
        // Try each pattern separately, to name the wrong one in the message.
        for regex in regexes {
            build(std::slice::from_ref(regex), options)
                .map_err(|reason| anyhow::anyhow!("{flag}: \"{regex}\": {reason}"))?;
        }
        build(regexes, options)
            .map(Some)
            .map_err(|reason| anyhow::anyhow!("{flag}: {reason}"))
    }

    /// Returns true if any pattern matches these bytes.
    pub(crate) fn match_in(&self, text: &[u8]) -> bool {
        self.set.is_match(text)
    }

    /// Returns true if any pattern may match a text in this line of JSON. If it returns false, no text in the line matches:
    /// texts without a backslash are unescaped.
    ///
    /// For most dropped records, one search over the line replaces the walk over the fields. A stream with calls takes 0.6
    /// times the instructions, because both functions of a call are checked.
    pub(crate) fn may_match_within(&self, line: &[u8]) -> bool {
        self.literals
            .as_ref()
            .is_none_or(|literals| literals.is_match(line) || memchr(b'\\', line).is_some())
    }
}

fn build(regexes: &[String], options: PatternOptions) -> Result<Patterns, String> {
    let patterns: Vec<String> = regexes
        .iter()
        .map(|regex| {
            let regex = match options.fixed_strings {
                true => regex::escape(regex),
                false => regex.clone(),
            };
            if options.whole_names {
                format!("^(?:{regex})$")
            } else if options.whole_words {
                // Half boundaries, like in ripgrep: a full one requires a word character at the edge of the pattern.
                format!(r"\b{{start-half}}(?:{regex})\b{{end-half}}")
            } else {
                regex
            }
        })
        .collect();
    let set = RegexSetBuilder::new(&patterns)
        .case_insensitive(options.ignore_case)
        .build()
        .map_err(|error| {
            // The message of a syntax error has several lines; the last one has the reason.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
        })?;
    Ok(Patterns {
        set,
        literals: literals(&patterns, options.ignore_case),
    })
}

/// Makes a regex for literal texts of which every match contains one: the possible prefixes of a match, or else the possible
/// suffixes.
fn literals(patterns: &[String], ignore_case: bool) -> Option<Regex> {
    /// The maximum number of texts that are searched for with vector instructions. If case is ignored, words are shortened
    /// to stay below it.
    const MOST: usize = 32;
    let mut texts = Vec::new();
    for pattern in patterns {
        let pattern = ParserBuilder::new()
            .utf8(false)
            .case_insensitive(ignore_case)
            .build()
            .parse(pattern)
            .ok()?;
        let extract = |kind| {
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
        texts.extend(extract(ExtractKind::Prefix).or_else(|| extract(ExtractKind::Suffix))?);
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
    fn any_pattern_may_match_and_an_empty_pattern_always_does() {
        let plain = PatternOptions::default();
        assert!(matches(&["^b", "a$"], plain, "a"));
        assert!(!matches(&["^b", "a$"], plain, "c"));
        assert!(matches(&[""], plain, ""));
    }

    #[test]
    fn options_work_like_in_grep() {
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
    fn line_is_ruled_out_only_if_no_text_in_it_can_match() {
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
            // These patterns match an empty text, or any text.
            (&["^$"], plain, true),
            (&["x*"], plain, true),
            (&["free|"], plain, true),
            (&["^[^x]+$"], plain, true),
            (&[""], plain, true),
        ] {
            assert_eq!(may_match(regexes, options, line), expect, "{regexes:?}");
        }
        // A text with an escape sequence has to be decoded first.
        assert!(may_match(&["free"], plain, r#"{"fn":"\u0066ree"}"#));
    }

    #[test]
    fn message_names_the_wrong_pattern_and_its_flag() {
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
