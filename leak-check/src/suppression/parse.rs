//! The grammar of suppression files (`m_errormgr.c:load_one_suppressions_file`).
//!
//! ```text
//! {
//!    a name
//!    Memcheck:Leak
//!    match-leak-kinds: definite,possible
//!    fun:malloc
//!    ...
//!    obj:*/libfoo.so*
//! }
//! ```
//! Blank lines, lines that begin with `#`, and blanks around a line are ignored. `Param` and `FishyValue` have an extra line
//! before the frames, `Leak` may have one.

use std::borrow::Cow;
use std::fmt;

use cg_names::demangle::demangle_str;

use super::words::WordPattern;
use crate::finding::LeakKinds;

/// One entry of a suppression file.
#[derive(Clone, Debug)]
pub(crate) struct Suppression {
    pub(crate) name: String,
    /// `FILE:LINE`.
    pub(crate) place: String,
    /// Valgrind's names of the tools.
    pub(crate) tools: Vec<String>,
    pub(crate) kind: String,
    /// The system call of `Param`, or the function and argument of `FishyValue`.
    pub(crate) extra: Option<String>,
    /// The leak kinds of `Leak`.
    pub(crate) leak_kinds: LeakKinds,
    pub(crate) frames: Vec<FramePattern>,
}

impl Suppression {
    /// Returns true if a pattern for a function's mangled name cannot be compared with demangled names.
    pub(crate) fn needs_mangled_names(&self) -> bool {
        self.frames.iter().any(|frame| match frame {
            FramePattern::Function(pattern) => {
                let text = pattern.text.as_str();
                (text.starts_with("_Z") || text.starts_with("_R"))
                    && text.contains(['*', '?'])
                    && pattern.words.is_none()
                    && !["_Znw", "_Zna", "_Zdl", "_Zda"]
                        .iter()
                        .any(|known| text.starts_with(known))
            }
            _ => false,
        })
    }
}

/// A line that matches frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FramePattern {
    /// `fun:`, compared with the mangled name.
    Function(FunctionPattern),
    /// `obj:`, compared with the whole path.
    Object(String),
    /// `src:`, a file and perhaps a line.
    Source(String, Option<u64>),
    /// `...`: any number of frames, including none.
    Any,
}

/// A pattern for the name of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FunctionPattern {
    pub(crate) text: String,
    /// The demangled name, if `text` is one mangled name.
    pub(crate) demangled: Option<String>,
    /// The identifiers, if `text` is a pattern for mangled names.
    pub(crate) words: Option<WordPattern>,
}

impl FunctionPattern {
    fn new(text: &str) -> FunctionPattern {
        FunctionPattern {
            text: text.to_owned(),
            demangled: match demangle_str(text) {
                Cow::Owned(demangled) => Some(demangled),
                Cow::Borrowed(_) => None,
            },
            words: WordPattern::new(text),
        }
    }
}

/// A syntax error in a suppression file.
#[derive(Debug)]
pub(crate) struct MalformedSuppression {
    line: usize,
    message: String,
}

impl fmt::Display for MalformedSuppression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

/// The lines of a suppression file without comments and blank lines.
struct SuppressionLines<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    /// The number of the last returned line.
    number: usize,
}

impl<'a> SuppressionLines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        for (position, line) in self.lines.by_ref() {
            let line = line.trim_matches([' ', '\t', '\r']);
            if !line.is_empty() && !line.starts_with('#') {
                self.number = position + 1;
                return Some(line);
            }
        }
        None
    }

    fn expect(&mut self, what: &str) -> Result<&'a str, MalformedSuppression> {
        match self.next() {
            Some("}") => Err(self.malformed(format!("expected {what}, found \"}}\""))),
            Some(line) => Ok(line),
            None => Err(self.malformed(format!("expected {what}, found the end of the file"))),
        }
    }

    fn malformed(&self, message: impl Into<String>) -> MalformedSuppression {
        MalformedSuppression {
            line: self.number,
            message: message.into(),
        }
    }
}

/// Parses the suppressions in a text. `file` is the file name for their places.
pub(crate) fn parse(text: &str, file: &str) -> Result<Vec<Suppression>, MalformedSuppression> {
    let mut lines = SuppressionLines {
        lines: text.lines().enumerate(),
        number: 1,
    };
    let mut all = Vec::new();
    while let Some(line) = lines.next() {
        if line != "{" {
            return Err(lines.malformed(format!("expected \"{{\", found \"{line}\"")));
        }
        all.push(parse_entry(&mut lines, file)?);
    }
    Ok(all)
}

fn parse_entry(
    lines: &mut SuppressionLines<'_>,
    file: &str,
) -> Result<Suppression, MalformedSuppression> {
    let place = format!("{file}:{}", lines.number);
    let name = lines.expect("the name of a suppression")?.to_owned();
    let first = lines.expect("tool:kind")?;
    let Some((tools, kind)) = first.split_once(':') else {
        return Err(lines.malformed(format!("expected tool:kind, found \"{first}\"")));
    };
    let tools: Vec<String> = tools
        .split(',')
        .map(|tool| tool.trim().to_owned())
        .collect();
    let is_for_memcheck = tools.iter().any(|tool| tool == "Memcheck");
    let mut suppression = Suppression {
        name,
        place,
        tools,
        kind: kind.trim().to_owned(),
        extra: None,
        leak_kinds: LeakKinds::ALL,
        frames: Vec::new(),
    };
    if is_for_memcheck && matches!(suppression.kind.as_str(), "Param" | "FishyValue") {
        suppression.extra = Some(lines.expect("a system call or function")?.to_owned());
    }
    // Valgrind does not check the syntax of suppressions for other tools.
    let is_for_others = !suppression
        .tools
        .iter()
        .any(|tool| matches!(tool.as_str(), "Memcheck" | "Helgrind" | "drd" | "CoreError"));
    loop {
        let line = match lines.next() {
            Some("}") => break,
            Some(line) => line,
            None => {
                return Err(lines.malformed("expected \"}\", found the end of the file"));
            }
        };
        if is_for_others {
            continue;
        }
        if suppression.kind == "Leak"
            && suppression.frames.is_empty()
            && let Some(kinds) = line.strip_prefix("match-leak-kinds:")
        {
            suppression.leak_kinds = kinds
                .trim()
                .parse()
                .map_err(|error| lines.malformed(format!("{error}")))?;
            continue;
        }
        suppression.frames.push(frame_pattern(line).ok_or_else(|| {
            lines.malformed(format!(
                "expected \"...\" or a line beginning with fun:, obj: or src:, found \"{line}\""
            ))
        })?);
    }
    let frames = &suppression.frames;
    if !is_for_others && frames.iter().all(|frame| *frame == FramePattern::Any) {
        return Err(lines.malformed("expected at least one line that is not \"...\", found none"));
    }
    Ok(suppression)
}

fn frame_pattern(line: &str) -> Option<FramePattern> {
    if line == "..." {
        return Some(FramePattern::Any);
    }
    if let Some(name) = line.strip_prefix("fun:") {
        return Some(FramePattern::Function(FunctionPattern::new(name)));
    }
    if let Some(path) = line.strip_prefix("obj:") {
        return Some(FramePattern::Object(path.to_owned()));
    }
    let source = line.strip_prefix("src:")?;
    let with_line = source
        .rsplit_once(':')
        .and_then(|(file, line)| Some((file, line.parse().ok()?)));
    Some(match with_line {
        Some((file, line)) => FramePattern::Source(file.to_owned(), Some(line)),
        None => FramePattern::Source(source.to_owned(), None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::LeakKind;

    #[test]
    fn an_entry_is_parsed_as_in_valgrind() {
        let text = "# comment\n\n{\n  a name\n\tMemcheck,Helgrind:Leak  \n match-leak-kinds: definite\n fun:mal*\n # within\n ...\n obj:*/lib.so\n src:a.c:12\n}\n";
        let [entry] = parse(text, "f.supp").unwrap().try_into().unwrap();
        assert_eq!(entry.name, "a name");
        assert_eq!(entry.place, "f.supp:3");
        assert_eq!(entry.tools, ["Memcheck", "Helgrind"]);
        assert!(entry.leak_kinds.contains(LeakKind::Definite));
        assert!(!entry.leak_kinds.contains(LeakKind::Possible));
        assert_eq!(
            entry.frames,
            [
                FramePattern::Function(FunctionPattern::new("mal*")),
                FramePattern::Any,
                FramePattern::Object("*/lib.so".to_owned()),
                FramePattern::Source("a.c".to_owned(), Some(12)),
            ]
        );
    }

    #[test]
    fn param_and_fishy_value_have_an_extra_line() {
        let text = "{\n n\n Memcheck:Param\n write(buf)\n fun:write\n}\n{\n n\n Memcheck:FishyValue\n malloc(size)\n fun:malloc\n}\n";
        let entries = parse(text, "f").unwrap();
        assert_eq!(entries[0].extra.as_deref(), Some("write(buf)"));
        assert_eq!(entries[1].extra.as_deref(), Some("malloc(size)"));
        assert_eq!(entries[1].frames.len(), 1);
    }

    #[test]
    fn an_entry_that_valgrind_refuses_is_an_error_with_its_line() {
        for (text, line, message) in [
            ("x\n", 1, "expected \"{\""),
            ("{\n", 1, "expected the name"),
            ("{\nn\nCond\n}\n", 3, "expected tool:kind"),
            ("{\nn\nMemcheck:Cond\nfun:f\n", 4, "found the end"),
            ("{\nn\nMemcheck:Cond\nfnu:f\n}\n", 4, "found \"fnu:f\""),
            ("{\nn\nMemcheck:Cond\n...\n}\n", 5, "at least one line"),
            (
                "{\nn\nMemcheck:Leak\nmatch-leak-kinds: lost\nfun:f\n}\n",
                4,
                "found \"lost\"",
            ),
            (
                "{\nn\nMemcheck:Param\n}\n",
                4,
                "expected a system call or function",
            ),
        ] {
            let error = parse(text, "f").unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.message.contains(message), "{text:?}: {error}");
        }
    }
}
