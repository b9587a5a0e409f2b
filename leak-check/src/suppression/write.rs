//! Writes a suppression for each finding that remains, in the form that Valgrind reads.
//!
//! Runs of library frames become `...`, since they change with every update of libc and compiler; own frames stay, so
//! that one suppression does not hide another leak. Valgrind compares with mangled names. Where it did not tell them,
//! a pattern of the name's parts (`fun:*Tree*insert*`) stands for the mangled name and the demangled one.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use bstr::ByteSlice;
use cg_names::structure::ParsedName;
use cg_stream::record::Frame;

use super::matching;
use super::operators;
use super::parse::{self, FramePattern, Suppression};
use crate::finding::{Details, Evidence, Finding};
use crate::own::own_frames;
use crate::policy::{Ruling, Verdict};

/// What was written, and what no suppression can be written for.
pub(crate) struct Written {
    pub(crate) text: String,
    /// Findings without a stack.
    pub(crate) without_stack: usize,
}

/// Suppressions for all findings that are not excused, equal ones once.
pub(crate) fn suppressions_for(evidence: &Evidence, verdict: &Verdict) -> Written {
    let mut written = Written {
        text: String::new(),
        without_stack: 0,
    };
    let mut bodies = HashSet::new();
    let mut names: HashMap<String, u32> = HashMap::new();
    for (finding, ruling) in evidence.findings.iter().zip(&verdict.rulings) {
        if !ruling.status.is_shown() {
            continue;
        }
        let tool = evidence.process(finding.process).tool.as_deref();
        let Some(body) = body(finding, tool) else {
            written.without_stack += 1;
            continue;
        };
        if !bodies.insert(body.clone()) {
            continue;
        }
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
    written
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
    let name = format!("{kind}{noun}{place}, {}", ruling.fingerprint.hex());
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
fn body(finding: &Finding, tool: Option<&str>) -> Option<String> {
    let by_valgrind = finding
        .suppression
        .as_deref()
        .and_then(|text| parse::parse(text, "").ok())
        .and_then(|suppressions| suppressions.into_iter().next());
    let lines = frame_lines(&finding.stack, by_valgrind.as_ref());
    // Valgrind suppresses what it counts, and a signal is not counted.
    if lines.is_empty() || finding.is_fatal_signal() {
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

/// Frame lines from the innermost frame to the outermost own one.
fn frame_lines(stack: &[Frame], by_valgrind: Option<&Suppression>) -> Vec<String> {
    /// `VG_MAX_SUPP_CALLERS`.
    const MOST_LINES: usize = 24;
    let written = by_valgrind.map_or(&[][..], |suppression| &suppression.frames);
    let own = own_frames(stack);
    let last_own = own.iter().rposition(|own| *own);
    let has_own = last_own.is_some();
    let end = last_own.map_or(stack.len(), |last| last + 1);
    let mut lines: Vec<String> = Vec::new();
    let mut position = 0;
    while position < end {
        let run = if has_own {
            own[position..end].iter().take_while(|own| !**own).count()
        } else {
            0
        };
        let line = frame_line(&stack[position], written.get(position));
        // One library frame alone, such as malloc, is kept where its name is certain.
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

fn frame_line(frame: &Frame, by_valgrind: Option<&FramePattern>) -> String {
    match by_valgrind {
        Some(FramePattern::Function(pattern)) => return format!("fun:{}", pattern.text),
        Some(FramePattern::Object(pattern)) => return format!("obj:{pattern}"),
        _ => {}
    }
    match (frame.name.as_deref(), frame.obj.as_deref()) {
        (Some(name), _) if name != "???" => format!("fun:{}", name_pattern(name)),
        (_, Some(object)) => format!("obj:{object}"),
        _ => "obj:*".to_owned(),
    }
}

/// A pattern that matches a function's mangled name and its demangled one.
fn name_pattern(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_$.@".contains(c);
    if name.chars().all(is_plain) || name == "(below main)" {
        return name.to_owned();
    }
    if let Some(mangled) = operators::mangled(name) {
        return mangled;
    }
    let mut pattern = String::from("*");
    for part in path_parts(name) {
        pattern.push_str(part);
        pattern.push('*');
    }
    pattern
}

/// The identifiers of a C++ or Rust path that its mangled name has too, in the same order: without template arguments
/// and parameters, `std` (`St` when mangled), anonymous namespaces, closures and the second name of a constructor.
fn path_parts(name: &str) -> Vec<&str> {
    let path = ParsedName::new(name.as_bytes()).without_return_type();
    let path = path.to_str().unwrap_or(name);
    // `<demo::Tree as core::ops::Drop>::drop`: the type, then what follows.
    let (of_type, path) = match path.strip_prefix('<') {
        Some(inner) => {
            let end = closing(inner).unwrap_or(inner.len());
            let of_type = inner[..end].split(" as ").next().unwrap_or_default();
            (of_type, inner.get(end + 1..).unwrap_or_default())
        }
        None => ("", path),
    };
    let mut parts: Vec<&str> = Vec::new();
    for path in [of_type, path] {
        let mut depth = 0u32;
        let mut start = None;
        let path = path.strip_prefix("(anonymous namespace)").unwrap_or(path);
        for (position, c) in path.char_indices().chain([(path.len(), '(')]) {
            if depth == 0 && (c.is_alphanumeric() || c == '_') {
                start.get_or_insert(position);
                continue;
            }
            if let Some(start) = start.take() {
                let part = &path[start..position];
                if part == "operator" {
                    break;
                }
                // `~Tree` is `D1` when mangled, and `Tree::Tree` has `C1` for the second name.
                let is_destructor = path[..start].ends_with('~');
                if part != "std" && !is_destructor && parts.last() != Some(&part) {
                    parts.push(part);
                }
            }
            match c {
                '<' | '{' | '[' => depth += 1,
                '>' | '}' | ']' => depth = depth.saturating_sub(1),
                '(' if depth == 0 && !path[position..].starts_with("(anonymous namespace)") => {
                    break;
                }
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    parts
}

/// Where the `>` is that closes what was opened in front of this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            // `->` of a function type closes nothing.
            b'>' if position > 0 && text.as_bytes()[position - 1] == b'-' => {}
            b'>' if depth == 0 => return Some(position),
            b'>' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Name;

    #[test]
    fn patterns_match_mangled_and_demangled_names() {
        for (name, mangled) in [
            ("make_node", "make_node"),
            ("operator new[](unsigned long)", "_Znam"),
            ("Tree::insert(int)", "_ZN4Tree6insertEi"),
            ("Tree::Tree(Tree const&)", "_ZN4TreeC1ERKS_"),
            ("Tree::~Tree()", "_ZN4TreeD2Ev"),
            (
                "(anonymous namespace)::make(int)",
                "_ZN12_GLOBAL__N_14makeEi",
            ),
            (
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
            ),
            ("void grow<int>(int)", "_Z4growIiEvT_"),
            ("operator==(A const&, A const&)", "_ZeqRK1AS1_"),
            ("demo::tree::grow", "_ZN4demo4tree4grow17h0123456789abcdefE"),
            (
                "demo::tree::grow::{{closure}}",
                "_ZN4demo4tree4grow28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
            ),
            (
                "demo::grow::{closure#0}",
                "_RNCNvCs6xxl1lAjzDf_4demo4grow0B3_",
            ),
            (
                "<demo::Tree as core::ops::drop::Drop>::drop",
                "_ZN52_$LT$demo..Tree$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
            ),
        ] {
            let pattern = name_pattern(name);
            assert!(matching::is_like(&pattern, mangled), "{pattern} {mangled}");
            if !name.starts_with("operator") {
                assert!(matching::is_like(&pattern, name), "{pattern} {name}");
            }
        }
    }

    fn lines(names: &[&'static str]) -> Vec<String> {
        let stack: Vec<Frame> = names
            .iter()
            .map(|name| Frame {
                name: Some(Name::from(*name)),
                ..Frame::default()
            })
            .collect();
        frame_lines(&stack, None)
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
