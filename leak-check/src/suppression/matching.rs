//! Matches suppressions with findings (`m_errormgr.c:supp_matches_callers`, `mc_errors.c`, `hg_errors.c`).
//!
//! Frame lines match from the innermost frame on, and need not reach the outermost one. Valgrind compares `fun:` with
//! mangled names, but reports have demangled ones. The mangled name is known if the report has Valgrind's own suppression
//! for the finding. Otherwise the pattern is compared with the demangled name, unchanged and demangled.

use cg_names::identity::normal_function_within_build;
use cg_names::paths::base_name;
use cg_stream::record::{ErrorKind, LeakKind, Tool};

use super::operators;
use super::parse::{FramePattern, FunctionPattern, Suppression};
use super::wildcard::{self, is_like};
use crate::finding::{Details, ErrorDetails, Finding};
use crate::stack::Stack;

/// A finding in the terms of suppressions.
pub(super) struct SuppressionTarget<'a> {
    /// Valgrind's name of the tool; `None` if it is unknown.
    tool: Option<&'static str>,
    /// The names of this kind of error in suppressions.
    kinds: Vec<String>,
    extra: Option<String>,
    leak_kind: Option<LeakKind>,
    stack: &'a Stack,
    /// The frame lines of Valgrind's suppression for this finding, one per frame of the stack.
    written: Vec<FramePattern>,
}

impl<'a> SuppressionTarget<'a> {
    /// Creates the target; `None` for findings that no suppression can match.
    pub(super) fn new(finding: &'a Finding, tool: Option<&Tool>) -> Option<SuppressionTarget<'a>> {
        let mut target = SuppressionTarget {
            tool: tool.and_then(tool_name),
            kinds: Vec::new(),
            extra: None,
            leak_kind: finding.leak_kind(),
            stack: &finding.stack,
            written: finding
                .suppression
                .as_deref()
                .map_or_else(Vec::new, written_frames),
        };
        match &finding.details {
            Details::Leak(_) => target.kinds.push("Leak".to_owned()),
            Details::Error(error) => {
                let kind = suppression_kind(error);
                if kind.is_from_core {
                    target.tool = Some("CoreError");
                }
                target.kinds = kind.names;
                target.extra = kind.extra;
            }
            Details::Unprinted(_) => return None,
        }
        Some(target)
    }

    fn matches_frame(&self, pattern: &FramePattern, position: usize) -> bool {
        let frame = &self.stack[position];
        match pattern {
            FramePattern::Function(pattern) => {
                let name = frame.name.as_deref().unwrap_or("???");
                let mangled = match self.written.get(position) {
                    Some(FramePattern::Function(mangled)) => Some(mangled.text.clone()),
                    _ => operators::mangled(name),
                };
                matches_function(pattern, name, mangled.as_deref())
            }
            FramePattern::Object(pattern) => match (&frame.obj, self.written.get(position)) {
                (Some(object), _) => is_like(pattern, object),
                (None, Some(FramePattern::Object(object))) => is_like(pattern, object),
                // A log has objects only for frames without a source file, so the object is unknown.
                (None, _) => is_like(pattern, "???"),
            },
            FramePattern::Source(pattern, line) => frame.file.as_deref().is_some_and(|file| {
                let base = base_name(file);
                (is_like(pattern, base) || is_like(pattern, file))
                    && line.is_none_or(|line| frame.line == Some(line))
            }),
            FramePattern::Any => true,
        }
    }
}

/// Returns true if a suppression matches.
pub(super) fn matches(suppression: &Suppression, target: &SuppressionTarget<'_>) -> bool {
    target
        .tool
        .is_none_or(|tool| suppression.tools.iter().any(|name| name == tool))
        && target.kinds.contains(&suppression.kind)
        && (suppression.extra.is_none() || suppression.extra == target.extra)
        && target
            .leak_kind
            .is_none_or(|kind| suppression.leak_kinds.contains(kind))
        && matches_stack(&suppression.frames, target)
}

/// Matches frame lines against the beginning of the stack.
fn matches_stack(patterns: &[FramePattern], target: &SuppressionTarget<'_>) -> bool {
    let is_any = |pattern: &FramePattern| *pattern == FramePattern::Any;
    wildcard::matches(
        patterns,
        target.stack.len(),
        false,
        is_any,
        |pattern, frame| target.matches_frame(pattern, frame),
    )
}

fn matches_function(pattern: &FunctionPattern, name: &str, mangled: Option<&str>) -> bool {
    if mangled.is_some_and(|mangled| is_like(&pattern.text, mangled))
        || is_like(&pattern.text, name)
    {
        return true;
    }
    if mangled.is_none()
        && pattern
            .words
            .as_ref()
            .is_some_and(|words| words.matches(name))
    {
        return true;
    }
    // Demanglers differ in blanks and in hashes.
    pattern.demangled.as_deref().is_some_and(|demangled| {
        let bare = |text: &str| normal_function_within_build(text).replace(' ', "");
        bare(demangled) == bare(name)
    })
}

/// Returns the name of a tool in suppressions.
pub(super) fn tool_name(tool: &Tool) -> Option<&'static str> {
    match tool {
        Tool::Memcheck => Some("Memcheck"),
        Tool::Helgrind => Some("Helgrind"),
        Tool::Drd => Some("drd"),
        _ => None,
    }
}

/// The kind of an error in suppressions.
pub(super) struct SuppressionKind {
    /// The possible names. New suppressions use the first one.
    pub(super) names: Vec<String>,
    pub(super) extra: Option<String>,
    /// True if Valgrind's core reports the error, for every tool.
    pub(super) is_from_core: bool,
}

/// Returns the kind of this error in suppressions.
pub(super) fn suppression_kind(error: &ErrorDetails) -> SuppressionKind {
    let size = error.size.unwrap_or(0);
    let mut extra = None;
    let names = match &error.kind {
        ErrorKind::UninitValue => vec![format!("Value{size}")],
        ErrorKind::UninitCondition => vec!["Cond".to_owned(), "Value0".to_owned()],
        ErrorKind::InvalidRead | ErrorKind::InvalidWrite => vec![format!("Addr{size}")],
        ErrorKind::SyscallParam => {
            extra = system_call(&error.what).map(str::to_owned);
            vec!["Param".to_owned()]
        }
        ErrorKind::FishyValue => {
            extra = function_and_argument(&error.what);
            vec!["FishyValue".to_owned()]
        }
        ErrorKind::InvalidFree | ErrorKind::MismatchedFree => vec!["Free".to_owned()],
        ErrorKind::InvalidJump => vec!["Jump".to_owned()],
        ErrorKind::InvalidMemPool => vec!["Mempool".to_owned()],
        ErrorKind::ClientCheck => vec!["User".to_owned()],
        ErrorKind::CoreMemError => vec!["CoreMem".to_owned()],
        ErrorKind::ReallocSizeZero => vec!["ReallocZero".to_owned()],
        ErrorKind::InvalidAlignment | ErrorKind::InvalidSizeAndAlignment => {
            vec!["BadAlign".to_owned()]
        }
        ErrorKind::InvalidSize => vec!["UnsafeZeroSize".to_owned(), "BadSize".to_owned()],
        ErrorKind::MismatchedAllocateDeallocateSize => vec!["SizeMismatch".to_owned()],
        ErrorKind::MismatchedAllocateDeallocateAlignment => vec!["AlignMismatch".to_owned()],
        // Overlap, and all errors of Helgrind, DRD and the core, have the same name in suppressions.
        other => vec![other.to_string()],
    };
    SuppressionKind {
        names,
        extra,
        is_from_core: matches!(
            &error.kind,
            ErrorKind::FdBadClose | ErrorKind::FdNotClosed | ErrorKind::FdBadUse
        ),
    }
}

/// Returns `write(buf)` for `Syscall param write(buf) points to uninitialised byte(s)`.
pub(crate) fn system_call(what: &str) -> Option<&str> {
    let rest = what.strip_prefix("Syscall param ")?;
    [" points to ", " contains "]
        .into_iter()
        .find_map(|verb| rest.split_once(verb))
        .map(|(parameter, _)| parameter)
}

/// Returns `malloc(size)` for `Argument 'size' of function malloc has a fishy (possibly negative) value: -3`.
fn function_and_argument(what: &str) -> Option<String> {
    let rest = what.strip_prefix("Argument '")?;
    let (argument, rest) = rest.split_once("' of function ")?;
    let (function, _) = rest.split_once(" has a fishy")?;
    Some(format!("{function}({argument})"))
}

/// Returns the frame lines of a suppression written by Valgrind.
pub(super) fn written_frames(text: &str) -> Vec<FramePattern> {
    super::parse::parse(text, "")
        .ok()
        .and_then(|suppressions| suppressions.into_iter().next())
        .map_or_else(Vec::new, |suppression| suppression.frames)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::finding::{Leak, ProcessId};
    use cg_stream::record::{Frame, Name};

    fn leak(stack: &[(&'static str, &'static str)], written: Option<&str>) -> Finding {
        Finding {
            process: ProcessId(0),
            details: Details::Leak(Leak {
                kind: LeakKind::Definite,
                bytes: 1,
                blocks: 1,
                indirect_bytes: 0,
                earlier_search: false,
            }),
            stack: stack
                .iter()
                .map(|(name, object)| Frame {
                    name: Some(Name::from(*name)),
                    obj: (!object.is_empty()).then(|| Name::from(*object)),
                    file: Some(Name::from("/src/tree.c")),
                    line: Some(7),
                    ..Frame::default()
                })
                .collect(),
            suppression: written.map(Rc::from),
        }
    }

    /// Returns true if a suppression with these lines matches a leak of `malloc`, `make`, `grow`, `grow`, `main`.
    fn suppresses(lines: &str) -> bool {
        let text = format!("{{\nn\nMemcheck:Leak\n{lines}\n}}\n");
        let suppression = super::super::parse::parse(&text, "f").unwrap().remove(0);
        let finding = leak(
            &[
                ("malloc", "/usr/libexec/valgrind/vgpreload.so"),
                ("make", "/bin/demo"),
                ("grow", "/bin/demo"),
                ("grow", "/bin/demo"),
                ("main", ""),
            ],
            None,
        );
        matches(
            &suppression,
            &SuppressionTarget::new(&finding, Some(&Tool::Memcheck)).unwrap(),
        )
    }

    #[test]
    fn frame_lines_match_from_the_innermost_frame_on() {
        assert!(suppresses("fun:malloc"));
        assert!(suppresses("fun:malloc\nfun:make\nfun:grow"));
        assert!(!suppresses("fun:make"));
        assert!(!suppresses("fun:malloc\nfun:grow"));
        assert!(suppresses("...\nfun:grow\nfun:main"));
        assert!(suppresses("fun:malloc\n...\nfun:main\n..."));
        assert!(!suppresses("...\nfun:main\nfun:grow"));
        assert!(!suppresses(
            "fun:malloc\nfun:make\nfun:grow\nfun:grow\nfun:main\nfun:start"
        ));
        assert!(suppresses(
            "obj:*vgpreload*\nobj:/bin/demo\n...\nsrc:tree.c:7"
        ));
        assert!(!suppresses("obj:/bin/demo"));
        assert!(suppresses("src:*/tree.c"));
        assert!(!suppresses("src:tree.c:8"));
        assert!(suppresses("match-leak-kinds: definite\nfun:m?ll*"));
        assert!(!suppresses(
            "match-leak-kinds: possible,reachable\nfun:malloc"
        ));
    }

    #[test]
    fn mangled_patterns_match_demangled_names() {
        let stack = [
            ("operator new(unsigned long)", ""),
            ("Tree::insert(int)", ""),
            ("demo::run", ""),
        ];
        let check = |lines: &str, written| {
            let text = format!("{{\nn\nMemcheck:Leak\n{lines}\n}}\n");
            let suppression = super::super::parse::parse(&text, "f").unwrap().remove(0);
            matches(
                &suppression,
                &SuppressionTarget::new(&leak(&stack, written), Some(&Tool::Memcheck)).unwrap(),
            )
        };
        assert!(check(
            "fun:_Znwm\nfun:_ZN4Tree6insertEi\nfun:_ZN4demo3run17h0123456789abcdefE",
            None
        ));
        assert!(check(
            "fun:_Znwm\n...\nfun:_RNvCs6xxl1lAjzDf_4demo3run",
            None
        ));
        assert!(!check("fun:_Znwm\nfun:_ZN4Tree6insertEl", None));
        assert!(check("fun:_Znw*\nfun:_ZN4Tree6insertE*", None));
        // A wildcard inside an identifier needs the mangled name, which only Valgrind's own suppression contains.
        assert!(check("fun:_Znw?", None));
        let wildcard = "fun:_Znw*\nfun:_ZN4Tr*";
        assert!(!check(wildcard, None));
        let written = "{\n<name>\nMemcheck:Leak\nmatch-leak-kinds: definite\nfun:_Znwm\nfun:_ZN4Tree6insertEi\nfun:_RNvCs_4demo3run\n}\n";
        assert!(check(wildcard, Some(written)));
    }

    #[test]
    fn wildcards_match_as_in_valgrind() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbcd", false),
            ("*b*c", "abcbc", true),
            ("a?c", "abc", true),
            ("a?", "a", false),
            ("abc", "ab", false),
            ("[a]", "a", false),
        ] {
            assert_eq!(is_like(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn errors_have_the_kinds_that_valgrind_gives_them() {
        let kind_of_size = |kind: &str, what: &str, size: Option<u64>| {
            let kind = suppression_kind(&ErrorDetails {
                kind: ErrorKind::from(kind),
                what: what.to_owned(),
                count: 1,
                size,
                address: None,
                block: None,
                thread: None,
                thread_name: None,
                notes: Vec::new(),
            });
            (kind.names[0].clone(), kind.extra)
        };
        let kind = |kind: &str, what: &str| kind_of_size(kind, what, None);
        for (name, size, expected) in [
            ("InvalidRead", 16, "Addr16"),
            ("InvalidWrite", 1, "Addr1"),
            ("UninitValue", 8, "Value8"),
        ] {
            assert_eq!(kind_of_size(name, "…", Some(size)).0, expected);
        }
        assert_eq!(kind("UninitCondition", "Conditional jump …").0, "Cond");
        assert_eq!(
            kind(
                "SyscallParam",
                "Syscall param write(buf) points to uninitialised byte(s)"
            ),
            ("Param".to_owned(), Some("write(buf)".to_owned()))
        );
        assert_eq!(
            kind(
                "FishyValue",
                "Argument 'size' of function malloc has a fishy (possibly negative) value: -3"
            ),
            ("FishyValue".to_owned(), Some("malloc(size)".to_owned()))
        );
        assert_eq!(kind("Race", "Possible data race").0, "Race");
    }
}
