//! Lines without Valgrind's prefix that matter all the same: a document of XML begins, or a run never began.
//!
//! What keeps Valgrind from starting is said before there is a process to name: by the launcher and by the core's first
//! steps (`launcher-linux.c`, `m_main.c`, `m_options.c`, `m_ume`, `m_libcassert.c`; `valgrind: ` in front), or by the shell
//! that did not find Valgrind.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use crate::line_end::undecorated;

/// What such a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unprefixed<'a> {
    /// It has a tag of a document: the first or the last one, or that of the first element, whose document's beginning is
    /// missing.
    Document,
    /// Valgrind, or who was to start it, gave up; with these words.
    NotStarted(&'a [u8]),
}

/// What a line without a prefix says, where it is any of this.
pub(super) fn of(line: &[u8]) -> Option<Unprefixed<'_>> {
    /// Made once: every line of a program's output is searched for them.
    static VERSION: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("<protocolversion>"));
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("valgrind"));
    if VERSION.find(line).is_some() {
        return Some(Unprefixed::Document);
    }
    NAME.find_iter(line).find_map(|at| {
        let (before, word) = line.split_at(at);
        let rest = &word[b"valgrind".len()..];
        if (before.ends_with(b"<") || before.ends_with(b"</")) && rest.starts_with(b"output") {
            return Some(Unprefixed::Document);
        }
        let is_word = undecorated(before)
            .last()
            .is_none_or(|byte| !byte.is_ascii_alphanumeric() && !b"_-.<>".contains(byte));
        // GNU's programs quote the name of what they could not start.
        let rest = [&b"'"[..], "\u{2019}".as_bytes()]
            .into_iter()
            .find_map(|quote| rest.strip_prefix(quote))
            .unwrap_or(rest);
        let said = rest.strip_prefix(b": ")?;
        (is_word && is_refusal(said.trim_ascii_start())).then_some(Unprefixed::NotStarted(word))
    })
}

/// Whether these are words with which a run ends before it began. Valgrind says other things in this way too.
fn is_refusal(said: &[u8]) -> bool {
    const STARTS: [&str; 21] = [
        "Unknown option",
        "Bad option",
        "no program specified",
        "failed to start tool",
        "FATAL",
        "Fatal error",
        "fatal error",
        "Cannot ",
        "cannot ",
        "Can't ",
        "can't ",
        "Could not ",
        "couldn't ",
        "Unable to ",
        "unable to ",
        "Invalid ",
        "Startup or configuration error",
        "INTERNAL ERROR",
        "the 'impossible' happened",
        "mmap(",
        "wrong ELF executable class",
    ];
    /// Of `strerror`, of shells, and of failed assertions.
    const PARTS: [&str; 17] = [
        "No such file or directory",
        "not found",
        "Permission denied",
        "s a directory",
        "Not a directory",
        "cannot execute",
        "bad interpreter",
        "Exec format error",
        "Text file busy",
        "Argument list too long",
        "Too many levels of symbolic links",
        "File name too long",
        "Operation not permitted",
        "Input/output error",
        "Cannot allocate memory",
        "corrupted shared library",
        ": Assertion '",
    ];
    let has = |part: &&str| memmem::find(said, part.as_bytes()).is_some();
    STARTS
        .iter()
        .any(|start| said.starts_with(start.as_bytes()))
        || PARTS.iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_never_began_is_told_from_other_lines() {
        for line in [
            "valgrind: ./nothere: No such file or directory",
            "valgrind: nothere: command not found",
            "valgrind: ./leak.c: Permission denied",
            "valgrind: /usr: is a directory",
            "valgrind: ./a: cannot execute binary file",
            "valgrind: no program specified",
            "valgrind: Unknown option: --no-such-option",
            "valgrind: Bad option: --num-callers=x",
            "valgrind: failed to start tool 'nosuch' for platform 'amd64-linux': No such file or directory",
            "valgrind: Cannot create log file '/nonexistent/x': No such file or directory",
            "valgrind: Invalid --log-socket spec of '127.0.0.1:1'",
            "valgrind:  Fatal error at startup: a function redirection",
            "valgrind: Startup or configuration error:",
            "valgrind: the 'impossible' happened:",
            "valgrind: INTERNAL ERROR: Valgrind received a signal 11 (SIGSEGV) - exiting",
            "valgrind: m_mallocfree.c:303 (get_bszB_as_is): Assertion 'bszB_lo == bszB_hi' failed.",
            "valgrind: mmap(0x400000, 8192) failed in UME with error 22 (Invalid argument).",
            "valgrind: wrong ELF executable class (eg. 32-bit instead of 64-bit)",
            "2026-01-01T00:00:00.1Z valgrind: ./nothere: No such file or directory",
            "\u{1b}[31mvalgrind: ./nothere: No such file or directory",
            "bash: line 1: valgrind: command not found",
            "sh: 1: valgrind: not found",
            "bash: /usr/bin/valgrind: No such file or directory",
            "env: \u{2018}valgrind\u{2019}: No such file or directory",
            "timeout: failed to run command 'valgrind': No such file or directory",
        ] {
            let said = of(line.as_bytes());
            assert!(matches!(said, Some(Unprefixed::NotStarted(_))), "{line}");
        }
        for line in [
            "valgrind: warning (non-fatal): readlink(\"/proc/self/exe\") failed.",
            "valgrind: continuing, however --trace-children=yes will not work.",
            "valgrind: failed to connect to logging server '127.0.0.1:1500'.",
            "valgrind: running ./test1",
            "checking for valgrind... not found",
            "my-valgrind: not found",
            "valgrind.supp: No such file or directory",
            "valgrind --leak-check=full ./a: no such test",
            "",
        ] {
            assert_eq!(of(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_document_is_known_by_its_tags() {
        for line in [
            "x <valgrindoutput>",
            "</valgrindoutput>",
            "<protocolversion>4</protocolversion>",
        ] {
            assert_eq!(of(line.as_bytes()), Some(Unprefixed::Document), "{line}");
        }
        assert_eq!(of(b"&lt;valgrindoutput&gt;"), None);
    }
}
