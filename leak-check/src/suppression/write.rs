//! Writes a suppression for each remaining finding, in Valgrind's format.
//!
//! Several library frames in a row become `...`, because they change with every update of libc and the compiler. Own frames
//! stay, to keep a suppression from hiding another leak. Valgrind compares suppressions with mangled names. If the report
//! lacks these, the suppression has a pattern of the identifiers with their lengths (`fun:_Z*4Tree6insert*`).

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use cg_stream::record::{Frame, Tool};

use super::matching;
use super::name_pattern::{Scheme, is_rust_name_with_types, name_pattern};
use super::parse::{self, FramePattern, Suppression};
use crate::finding::{Details, Evidence, Finding};
use crate::policy::Verdict;
use crate::ruling::Ruling;
use crate::stack::Stack;

/// Suppressions, and the numbers of problems with them.
pub(crate) struct Written {
    pub(crate) text: String,
    /// The number of findings that no suppression can match.
    pub(crate) without_stack: usize,
    /// The number of suppressions without an own function, which also match similar findings in the same objects.
    pub(crate) without_own_function: usize,
}

/// Writes suppressions for all findings that are not excused. Merges equal suppressions.
pub(crate) fn suppressions_for(evidence: &Evidence, verdict: &Verdict) -> Written {
    let mut written = Written {
        text: String::new(),
        without_stack: 0,
        without_own_function: 0,
    };
    let mut bodies = HashSet::new();
    let mut names: HashMap<String, u32> = HashMap::new();
    for (finding, ruling) in evidence.findings.iter().zip(&verdict.rulings) {
        if !ruling.status.is_shown() {
            continue;
        }
        let tool = evidence.process(finding.process).run.tool.as_ref();
        let mut is_written = false;
        for &scheme in schemes(finding) {
            let Some(body) = body(finding, tool, scheme) else {
                written.without_stack += 1;
                break;
            };
            if !bodies.insert(body.clone()) {
                continue;
            }
            is_written = true;
            let name = name(finding, ruling);
            let equals = names.entry(name.clone()).or_default();
            *equals += 1;
            let number = match *equals {
                1 => String::new(),
                number => format!(" {number}"),
            };
            // Writing to a string cannot fail.
            let _ = write!(written.text, "{{\n   {name}{number}\n{body}}}\n");
        }
        if is_written && !names_own_function(&finding.stack) {
            written.without_own_function += 1;
        }
    }
    written
}

/// Returns the mangling schemes to write suppressions for: both if a name of the stack may have either scheme.
fn schemes(finding: &Finding) -> &'static [Scheme] {
    let is_known = finding.suppression.is_some();
    let own = finding.stack.own();
    let has_own = own.contains(&true);
    let mut names = finding
        .stack
        .iter()
        .zip(own)
        .filter(|(_, own)| *own || !has_own)
        .filter_map(|(frame, _)| frame.name.as_deref());
    if !is_known && names.any(is_rust_name_with_types) {
        &[Scheme::Legacy, Scheme::V0]
    } else {
        &[Scheme::V0]
    }
}

/// Returns the name of a suppression, `definite leak in make_node, 8c1f…`: kind, place, and the fingerprint from reports.
fn name(finding: &Finding, ruling: &Ruling) -> String {
    let kind = finding.kind();
    let noun = if finding.leak_kind().is_some() {
        " leak"
    } else {
        ""
    };
    let place = ruling
        .blame
        .and_then(|blame| finding.stack[blame].name.as_deref())
        .map(|name| format!(" in {}", shortened(name)))
        .unwrap_or_default();
    let name = format!("{kind}{noun}{place}, {}", ruling.fingerprint(finding).hex());
    name.replace(['\n', '\r', '{', '}'], " ")
}

/// Shortens a name to 80 characters, because names of templates can be very long.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 80;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Returns the lines between the name and the closing brace; `None` if no suppression can match the finding.
fn body(finding: &Finding, tool: Option<&Tool>, scheme: Scheme) -> Option<String> {
    let by_valgrind = finding
        .suppression
        .as_deref()
        .and_then(|text| parse::parse(text, "").ok())
        .and_then(|suppressions| suppressions.into_iter().next());
    let lines = frame_lines(&finding.stack, by_valgrind.as_ref(), scheme);
    // Valgrind suppresses only what it counts, which excludes signals and the errors of sanitizers.
    let is_sanitizer_error = tool.is_some_and(Tool::is_sanitizer) && finding.leak_kind().is_none();
    if lines.is_empty() || finding.is_fatal_signal() || is_sanitizer_error {
        return None;
    }
    let mut body = String::new();
    match &finding.details {
        Details::Leak(leak) => {
            let _ = write!(
                body,
                "   Memcheck:Leak\n   match-leak-kinds: {}\n",
                leak.kind.word()
            );
        }
        Details::Error(error) => {
            let kind = matching::suppression_kind(error);
            let tool = match tool.and_then(matching::tool_name) {
                _ if kind.is_from_core => "CoreError",
                Some(tool) => tool,
                None => "Memcheck",
            };
            // Prefer Valgrind's own word, because it fits the user's version of Valgrind.
            let word = by_valgrind
                .as_ref()
                .map_or(kind.names[0].as_str(), |suppression| &suppression.kind);
            let _ = writeln!(body, "   {tool}:{word}");
            if let Some(extra) = &kind.extra {
                let _ = writeln!(body, "   {extra}");
            }
        }
        Details::Unprinted(_) => return None,
    }
    for line in lines {
        let _ = writeln!(body, "   {line}");
    }
    Some(body)
}

/// Returns true if any own frame has a name. A stack without own frames needs a name in any frame.
fn names_own_function(stack: &Stack) -> bool {
    let own = stack.own();
    let has_own = own.contains(&true);
    stack.iter().zip(own).any(|(frame, own)| {
        (own || !has_own) && frame.name.as_deref().is_some_and(|name| name != "???")
    })
}

/// Returns the frame lines, from the innermost frame to the outermost own one.
fn frame_lines(stack: &Stack, by_valgrind: Option<&Suppression>, scheme: Scheme) -> Vec<String> {
    /// Valgrind's `VG_MAX_SUPP_CALLERS`.
    const MOST_LINES: usize = 24;
    let written = by_valgrind.map_or(&[][..], |suppression| &suppression.frames);
    let own = stack.own();
    let last_own = own.iter().rposition(|own| *own);
    // Without own names, only the sequence of frames distinguishes leaks, so write every frame.
    let has_own = last_own.is_some() && names_own_function(stack);
    let end = match last_own {
        Some(last) if has_own => last + 1,
        _ => stack.len(),
    };
    let mut lines: Vec<String> = Vec::new();
    let mut position = 0;
    while position < end {
        let run = if has_own {
            own[position..end].iter().take_while(|own| !**own).count()
        } else {
            0
        };
        let line = frame_line(&stack[position], written.get(position), scheme);
        // A single library frame, such as malloc, is kept if its name is certain.
        if run > 1 || (run == 1 && line.contains('*') && written.get(position).is_none()) {
            lines.push("...".to_owned());
        } else {
            lines.push(line);
        }
        position += run.max(1);
    }
    lines.truncate(MOST_LINES);
    while lines.last().is_some_and(|line| line == "...") {
        lines.pop();
    }
    lines
}

fn frame_line(frame: &Frame, by_valgrind: Option<&FramePattern>, scheme: Scheme) -> String {
    match by_valgrind {
        Some(FramePattern::Function(pattern)) => return format!("fun:{}", pattern.text),
        Some(FramePattern::Object(pattern)) => return format!("obj:{pattern}"),
        _ => {}
    }
    match (frame.name.as_deref(), frame.obj.as_deref()) {
        (Some(name), _) if name != "???" => format!("fun:{}", name_pattern(name, scheme)),
        (_, Some(object)) => format!("obj:{object}"),
        _ => "obj:*".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Name;

    #[test]
    fn a_stack_without_own_names_is_written_frame_by_frame() {
        let frame = |name: Option<&'static str>, object: &'static str| Frame {
            name: name.map(Name::from),
            obj: Some(Name::from(object)),
            ..Frame::default()
        };
        let stack = [
            frame(Some("malloc"), "/usr/libexec/valgrind/vgpreload.so"),
            frame(Some("strdup"), "/usr/lib/libc.so.6"),
            frame(None, "/bin/demo"),
            frame(Some("(below main)"), "/usr/lib/libc.so.6"),
        ];
        let stack = Stack::from_iter(stack);
        assert!(!names_own_function(&stack));
        assert_eq!(
            frame_lines(&stack, None, Scheme::V0),
            [
                "fun:malloc",
                "fun:strdup",
                "obj:/bin/demo",
                "fun:(below main)"
            ]
        );
    }

    fn lines(names: &[&'static str]) -> Vec<String> {
        let stack: Stack = names
            .iter()
            .map(|name| Frame {
                name: Some(Name::from(*name)),
                ..Frame::default()
            })
            .collect();
        frame_lines(&stack, None, Scheme::V0)
    }

    #[test]
    fn runs_of_library_frames_become_dots_and_frames_outside_main_are_left_out() {
        assert_eq!(
            lines(&["malloc", "make", "main", "(below main)"]),
            ["fun:malloc", "fun:make", "fun:main"]
        );
        assert_eq!(
            lines(&["malloc", "strdup", "make", "std::call(int)", "main"]),
            ["...", "fun:make", "...", "fun:main"]
        );
        assert_eq!(
            lines(&["calloc", "_dl_init"]),
            ["fun:calloc", "fun:_dl_init"]
        );
        assert!(lines(&[]).is_empty());
    }

    #[test]
    fn a_suppression_has_at_most_24_frame_lines() {
        let mut names = vec!["malloc"];
        names.extend(["a", "b"].repeat(30));
        assert_eq!(lines(&names).len(), 24);
    }
}
