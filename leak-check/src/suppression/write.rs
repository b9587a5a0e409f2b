//! Writes a suppression for each finding that remains, in the form that Valgrind reads.
//!
//! Runs of library frames become `...`, since they change with every update of libc and compiler; own frames stay, so
//! that one suppression does not hide another leak. Valgrind compares with mangled names. Where it did not tell them,
//! a pattern of the name's identifiers with their lengths (`fun:_Z*4Tree6insert*`) is what is known of the mangled name.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use cg_stream::record::{Frame, Tool};

use super::matching;
use super::name_pattern::{Scheme, has_types_of_rust, name_pattern};
use super::parse::{self, FramePattern, Suppression};
use crate::finding::{Details, Evidence, Finding};
use crate::policy::Verdict;
use crate::ruling::Ruling;
use crate::stack::Stack;

/// What was written, and what no suppression can be written for.
pub(crate) struct Written {
    pub(crate) text: String,
    /// Findings without a stack.
    pub(crate) without_stack: usize,
    /// Suppressions without the name of a function of the program's own: they match all that is alike in its object.
    pub(crate) of_objects: usize,
}

/// Suppressions for all findings that are not excused, equal ones once.
pub(crate) fn suppressions_for(evidence: &Evidence, verdict: &Verdict) -> Written {
    let mut written = Written {
        text: String::new(),
        without_stack: 0,
        of_objects: 0,
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
            written.of_objects += 1;
        }
    }
    written
}

/// The schemes to write a suppression for: both where a name of the stack looks alike in them and is not.
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
    if !is_known && names.any(has_types_of_rust) {
        &[Scheme::Legacy, Scheme::V0]
    } else {
        &[Scheme::V0]
    }
}

/// `definite leak in make_node, 8c1f…`: what it is, where, and the fingerprint that reports call it by.
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

/// The beginning of a name; those of templates can be pages long.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 80;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// The lines between the name and the closing brace.
fn body(finding: &Finding, tool: Option<&Tool>, scheme: Scheme) -> Option<String> {
    let by_valgrind = finding
        .suppression
        .as_deref()
        .and_then(|text| parse::parse(text, "").ok())
        .and_then(|suppressions| suppressions.into_iter().next());
    let lines = frame_lines(&finding.stack, by_valgrind.as_ref(), scheme);
    // Valgrind suppresses what it counts, and a signal is not counted; nor does it know the errors of sanitizers.
    let is_no_error_of_its = tool.is_some_and(Tool::is_sanitizer) && finding.leak_kind().is_none();
    if lines.is_empty() || finding.is_fatal_signal() || is_no_error_of_its {
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
            let kind = matching::kind_of(error);
            let tool = match tool.and_then(matching::tool_name) {
                _ if kind.is_of_core => "CoreError",
                Some(tool) => tool,
                None => "Memcheck",
            };
            // Valgrind's own word, where it gave one, is the one that this version of it reads.
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

/// True if the name of an own function is known; if no frame is own, that of any function.
fn names_own_function(stack: &Stack) -> bool {
    let own = stack.own();
    let has_own = own.contains(&true);
    stack.iter().zip(own).any(|(frame, own)| {
        (own || !has_own) && frame.name.as_deref().is_some_and(|name| name != "???")
    })
}

/// Frame lines from the innermost frame to the outermost own one.
fn frame_lines(stack: &Stack, by_valgrind: Option<&Suppression>, scheme: Scheme) -> Vec<String> {
    /// `VG_MAX_SUPP_CALLERS`.
    const MOST_LINES: usize = 24;
    let written = by_valgrind.map_or(&[][..], |suppression| &suppression.frames);
    let own = stack.own();
    let last_own = own.iter().rposition(|own| *own);
    // Without own names only the sequence of frames tells leaks apart, so every frame is written.
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
    fn objects_alone_are_written_frame_by_frame_and_counted() {
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
    fn runs_of_library_frames_become_dots_and_what_started_the_program_is_left_out() {
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
    fn valgrind_reads_no_more_than_24_lines() {
        let mut names = vec!["malloc"];
        names.extend(["a", "b"].repeat(30));
        assert_eq!(lines(&names).len(), 24);
    }
}
