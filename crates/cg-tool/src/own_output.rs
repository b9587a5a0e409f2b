//! The check that `-o` may replace a file: the file is empty, or one of the tools wrote it.
//!
//! A program, a source file or a profile that the user names by mistake cannot be restored, but an output of the tools can
//! be created again. So a file is replaced only if it begins, or ends, like one of their outputs.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

/// The number of bytes that are read from either end of a file.
const LOOKED_AT: u64 = 4096;

/// The first words of the tools' reports: the profilers that the readers know, and the words for several profilers.
const PROFILERS: &str = "callgrind cachegrind memcheck helgrind drd massif dhat exp-dhat heaptrack asan lsan tsan msan ubsan hwasan \
    gungraun perf perf-stat pprof firefox folded speedscope cpuprofile heapprofile chrome-trace dtrace bpftrace \
    sample async-profiler gdb ghc instruments jfr jstack memray node-prof otlp perfetto rbspy stackprof \
    trace-events xctrace vtune visual-studio profile benchmarks cg-diff leak-check";

/// The columns of tables and of separated values, except the columns of events.
const COLUMNS: &str = "fn function functions file obj object line crate module thread process calls callee kind what snapshot event \
    status whose source stack benchmark";

/// Texts near the beginning of other outputs. An output contains all texts of one row, and begins with the first of them.
const FORMS: &[&[&str]] = &[
    // Streams, and leak-check -f json.
    &["{\"type\":\""],
    // Pages and pictures.
    &[
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<meta http-equiv=Content-Security-Policy content=",
    ],
    &[
        "<?xml",
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\"",
    ],
    &[
        "<?xml",
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flames\"",
    ],
    // Files for other viewers.
    &[
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"",
        "\"exporter\":\"cg-fmt",
    ],
    &["{\"meta\":{\"categories\":", "\"importedFrom\":\"cg-fmt"],
    &["# callgrind format\nversion: 1\ncreator: cg-fmt"],
    &["digraph {\n\ttooltip=\" \"\n\tgraph [fontname=Arial"],
    &["\u{1f}\u{8b}", PPROF_COMMENT],
    // Comments on pull requests, and leak-check's reports for code hosts.
    &["<!-- cg-diff"],
    &["<!-- leak-check"],
    &["<?xml", "<testsuites name=\"leak-check"],
    &["{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\""],
    &["[\n  {\n    \"check_name\": \""],
    &["[]\n"],
    &["::error "],
    &["::warning "],
    &["::notice "],
    // Completions and man pages.
    &[".ie \\n(.g .ds Aq", ".TH "],
    &["_cg__", "COMPREPLY=()"],
    &["_leak__check", "COMPREPLY=()"],
    &["#compdef cg-"],
    &["#compdef leak-check"],
    &["complete -c cg-"],
    &["complete -c leak-check"],
    &["\nuse builtin;\nuse str;\n\nset edit:completion:arg-completer["],
    &["\nusing namespace System.Management.Automation\n"],
];

/// The gzip comment of a compressed profile that cg-fmt wrote.
pub const PPROF_COMMENT: &str = "written by cg-fmt";

/// Returns true if a file may be replaced.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(super) fn is_replaceable(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut head)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOOKED_AT)))?;
    let mut tail = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut tail)?;
    // Each byte becomes one character, because only ASCII is compared.
    let text = |bytes: Vec<u8>| bytes.into_iter().map(char::from).collect::<String>();
    Ok(is_own(&text(head), &text(tail)))
}

fn is_own(head: &str, tail: &str) -> bool {
    let has_form = |form: &&[&str]| {
        let [first, others @ ..] = form else {
            return false;
        };
        head.starts_with(first) && others.iter().all(|word| head.contains(word))
    };
    head.is_empty()
        || FORMS.iter().any(has_form)
        || is_report(head)
        || has_known_columns(head)
        || is_folded_stacks(head)
        || is_own_suppressions(head)
        || ends_in_verdict(tail)
}

/// Returns true for a table or markdown: `callgrind: ./program (pid 7)`, `### perf`.
fn is_report(head: &str) -> bool {
    let line = head.lines().next().unwrap_or_default();
    let line = line.strip_prefix("### ").unwrap_or(line);
    PROFILERS.split(' ').any(|profiler| {
        let rest = line.strip_prefix(profiler);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(": ") || rest.starts_with(" ("))
    })
}

/// Returns true for separated values and tables without a heading: one of the first lines contains only names of columns.
fn has_known_columns(head: &str) -> bool {
    // The bytes of a byte order mark.
    let head = head.strip_prefix("\u{ef}\u{bb}\u{bf}").unwrap_or(head);
    head.lines().take(3).any(|line| {
        let fields: Vec<&str> = match line.strip_prefix("| ") {
            Some(cells) => cells
                .trim_end_matches('|')
                .split('|')
                .map(str::trim)
                .collect(),
            None if line.contains(['\t', ',']) => line.split(['\t', ',']).collect(),
            None => line
                .split("  ")
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .collect(),
        };
        let is_share = |(share, figure): (&&str, &&str)| {
            *share == "%" || share.strip_suffix('%') == Some(figure)
        };
        let has_share = fields.iter().skip(1).zip(&fields).any(is_share);
        let are_names = fields
            .iter()
            .all(|field| !field.is_empty() && !field.contains(' '));
        has_share
            || are_names
                && fields.len() > 1
                && fields
                    .iter()
                    .any(|field| COLUMNS.split(' ').any(|column| column == *field))
    })
}

/// Returns true for folded stacks: every line ends with a number.
fn is_folded_stacks(head: &str) -> bool {
    let is_stack = |line: &str| {
        line.rsplit_once(' ').is_some_and(|(stack, count)| {
            let count = count.strip_prefix('-').unwrap_or(count);
            !stack.is_empty()
                && count.bytes().all(|byte| byte.is_ascii_digit())
                && !count.is_empty()
        })
    };
    // The last line may be incomplete.
    let whole = head.rfind('\n').map_or("", |end| &head[..end]);
    !whole.is_empty() && whole.lines().all(is_stack)
}

/// Returns true for suppressions with leak-check's names: `definite in main, 30ea4759272abe89`.
fn is_own_suppressions(head: &str) -> bool {
    let mut lines = head.lines();
    let is_own_name = |name: &str| {
        name.rsplit_once(", ").is_some_and(|(_, print)| {
            print.len() == 16 && print.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    lines.next() == Some("{") && lines.next().is_some_and(is_own_name)
}

/// Returns true for a report of leak-check, which ends with its verdict.
fn ends_in_verdict(tail: &str) -> bool {
    let line = tail.lines().last().unwrap_or_default();
    let begins = ["clean: no ", "failed: ", "could not judge all input: "].iter();
    begins.into_iter().any(|begin| line.starts_with(begin)) && line.contains("; judged ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_people_and_of_profilers_are_not_outputs_of_the_tools() {
        for (head, expected) in [
            ("", true),
            ("\u{7f}ELF\u{2}\u{1}\u{1}\0", false),
            ("#!/bin/sh\necho mine\n", false),
            ("int main(void) {\n  return 0;\n}\n", false),
            ("# My project\n\nIt has a table:\n", false),
            (
                "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n",
                false,
            ),
            ("desc: --massif-out-file=m.out\ncmd: ./prog\n", false),
            ("==12== Memcheck, a memory error detector\n", false),
            ("{\"dhatFileVersion\":2,\"mode\":\"heap\"\n", false),
            ("name,price\napple,3\n", false),
            ("// parses a file, line by line\nfn f(file,line) {\n", false),
            ("{\n   known in OpenSSL\n   Memcheck:Leak\n", false),
            ("\u{1f}\u{8b}\u{8}\0\0\0\0\0", false),
            ("perfect: a novel\n", false),
            ("<?xml version=\"1.0\"?>\n<valgrindoutput>\n", false),
            ("{\"type\":\"run\",\"stream\":1", true),
            (
                "\u{1f}\u{8b}\u{8}\u{10}\0\0\0\0\0\u{ff}written by cg-fmt\0",
                true,
            ),
            ("a;b 3\nc 4\nd;e", true),
            ("1 Ir\n", false),
            ("tests\nfailed: 3 of 7\n", false),
            (
                "f\nfailed: 1 new finding (1 Race) in 1 process; judged 1 of 1 process\n",
                true,
            ),
            ("clean: no new findings; judged 2 of 2 processes\n", true),
            ("Ir,Ir%\n1,2\n", true),
            ("perf: ./busy\n", true),
            ("{\n   definite in make, 30ea4759272abe89\n", true),
        ] {
            assert_eq!(is_own(head, head), expected, "{head:?}");
        }
    }
}
