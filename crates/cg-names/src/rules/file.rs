//! Rule files for `cg-diff --rules`, in a subset of sed's syntax.

use std::borrow::Cow;

use regex::Regex;

use super::Part;

/// An error in a rule file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}")]
pub struct RuleError {
    /// The number of the line.
    pub line: usize,
    /// The expected text and the text found.
    pub message: String,
}

/// A rule of a file.
pub(super) struct FileRule {
    /// The line of the file, which is also the name of the rule.
    pub(super) line: String,
    pub(super) part: Part,
    pattern: Regex,
    /// The replacement in the syntax of the regex crate.
    replacement: String,
    /// True if all matches are replaced, false for only the first.
    all: bool,
}

impl FileRule {
    /// Applies the rule to a text; `None` without a match.
    pub(super) fn replace_in(&self, text: &str) -> Option<String> {
        let limit = usize::from(!self.all);
        match self
            .pattern
            .replacen(text, limit, self.replacement.as_str())
        {
            Cow::Owned(changed) => Some(changed),
            Cow::Borrowed(_) => None,
        }
    }
}

/// Parses one rule per line: `[fn|file|obj] s/PATTERN/REPLACEMENT/[g]`, with any delimiter. `#` begins a comment.
pub(super) fn parse(text: &str) -> Result<Vec<FileRule>, RuleError> {
    let mut rules = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let rule = parse_rule(line).map_err(|message| RuleError {
            line: number + 1,
            message,
        })?;
        rules.push(rule);
    }
    Ok(rules)
}

fn parse_rule(line: &str) -> Result<FileRule, String> {
    let (part, substitution) = match line.split_once(char::is_whitespace) {
        Some(("fn", rest)) => (Part::Function, rest.trim_start()),
        Some(("file", rest)) => (Part::Path, rest.trim_start()),
        Some(("obj", rest)) => (Part::Object, rest.trim_start()),
        _ => (Part::Any, line),
    };
    let expected = || format!("expected [fn|file|obj] s/PATTERN/REPLACEMENT/[g], found \"{line}\"");
    let body = substitution.strip_prefix('s').ok_or_else(expected)?;
    let delimiter = body.chars().next().ok_or_else(expected)?;
    if delimiter.is_alphanumeric() || delimiter == '\\' {
        return Err(expected());
    }
    let mut fields = split_unescaped(&body[delimiter.len_utf8()..], delimiter);
    let (Some(pattern), Some(replacement), Some(flags), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(expected());
    };
    if !matches!(flags.as_str(), "" | "g") {
        return Err(expected());
    }
    let pattern = Regex::new(&pattern).map_err(|error| error.to_string().replace('\n', " "))?;
    Ok(FileRule {
        line: line.to_owned(),
        part,
        pattern,
        replacement: sed_replacement(&replacement),
        all: flags == "g",
    })
}

/// Splits a text at delimiters. A delimiter after a backslash is part of its field.
fn split_unescaped(text: &str, delimiter: char) -> impl Iterator<Item = String> {
    let mut fields = vec![String::new()];
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        let field = fields.last_mut();
        match (c, field) {
            (c, _) if c == delimiter => fields.push(String::new()),
            ('\\', Some(field)) => match characters.next() {
                Some(next) if next == delimiter => field.push(next),
                Some(next) => field.extend(['\\', next]),
                None => field.push('\\'),
            },
            (c, Some(field)) => field.push(c),
            (_, None) => {}
        }
    }
    fields.into_iter()
}

/// Converts a replacement of sed to the syntax of the regex crate: `\1` becomes `${1}`, `&` becomes `${0}`, and the literal
/// `$` becomes `$$`.
fn sed_replacement(text: &str) -> String {
    let mut result = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '$' => result.push_str("$$"),
            '&' => result.push_str("${0}"),
            '\\' => match characters.next() {
                Some(digit @ '0'..='9') => {
                    result.extend(["${", digit.encode_utf8(&mut [0; 4]), "}"]);
                }
                Some(other) => result.push(other),
                None => result.push('\\'),
            },
            c => result.push(c),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::super::{Rules, Strength};
    use super::*;

    #[test]
    fn rule_files_use_the_syntax_of_sed() {
        let rules = Rules::with_file(
            "# checked in\n\nfn s/^old_(.*)/new_\\1/\nfile s|/srv/||g\ns,a\\,b,&c,\n",
        )
        .unwrap();
        let apply = |text, part| rules.apply(text, part, Strength::Build).0.into_owned();
        assert_eq!(apply("old_f", Part::Function), "new_f");
        assert_eq!(apply("old_f", Part::Path), "old_f");
        assert_eq!(apply("x/srv/y/srv/z", Part::Path), "xyz");
        assert_eq!(apply("a,ba,b", Part::Function), "a,bca,b");
    }

    #[test]
    fn an_invalid_line_is_an_error_with_its_number() {
        for (text, found) in [
            ("\nfoo\n", "2"),
            ("s/a/b\n", "1"),
            ("s/a/b/x\n", "1"),
            ("s/(/b/\n", "1"),
            ("s\n", "1"),
        ] {
            let error = Rules::with_file(text).err().unwrap();
            assert_eq!(error.line.to_string(), found, "{text:?}");
        }
    }
}
