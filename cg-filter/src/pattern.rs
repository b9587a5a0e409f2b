//! Regular expressions as grep's options shape them.

use regex::bytes::{RegexSet, RegexSetBuilder};

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
pub(crate) struct Patterns(RegexSet);

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
        self.0.is_match(text)
    }
}

fn build(regexes: &[String], options: PatternOptions) -> Result<Patterns, String> {
    let shaped = regexes.iter().map(|regex| {
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
    });
    RegexSetBuilder::new(shaped)
        .case_insensitive(options.ignore_case)
        .build()
        .map(Patterns)
        .map_err(|error| {
            // The message of a syntax error is a drawing of several lines; the last one has the reason.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
        })
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
