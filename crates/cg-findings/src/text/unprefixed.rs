//! Relevant lines without Valgrind's prefix: the beginning of an XML document, and reports that a run never began.
//!
//! If Valgrind cannot start, there is no pid for a prefix. Then the launcher or the core's first steps report the error
//! after `valgrind: ` (`launcher-linux.c`, `m_main.c`, `m_options.c`, `m_ume`, `m_libcassert.c`), or the shell reports that
//! it did not find Valgrind.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use crate::line_end::undecorated;

/// The kind of such a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unprefixed<'a> {
    /// The line has the opening or closing tag of a document, or the tag of its first element. In the latter case, the
    /// beginning of the document is missing.
    Document,
    /// Valgrind or the shell reports that the run did not start, with this message.
    NotStarted(&'a [u8]),
}

/// Classifies a line without a prefix; `None` for an irrelevant one.
pub(super) fn classify(line: &[u8]) -> Option<Unprefixed<'_>> {
    /// Built once, because every line of a program's output is searched.
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
        // GNU programs quote the name of a program that they could not start.
        let rest = [&b"'"[..], "\u{2019}".as_bytes()]
            .into_iter()
            .find_map(|quote| rest.strip_prefix(quote))
            .unwrap_or(rest);
        let message = rest.strip_prefix(b": ")?;
        (is_word && is_refusal(message.trim_ascii_start())).then_some(Unprefixed::NotStarted(word))
    })
}

/// Returns true if the message means that the run never began. Valgrind prints other messages in the same form.
fn is_refusal(message: &[u8]) -> bool {
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
    /// From `strerror`, shells, and failed assertions.
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
    let has = |part: &&str| memmem::find(message, part.as_bytes()).is_some();
    STARTS
        .iter()
        .any(|start| message.starts_with(start.as_bytes()))
        || PARTS.iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_never_began_is_recognised() {
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
            let found = classify(line.as_bytes());
            assert!(matches!(found, Some(Unprefixed::NotStarted(_))), "{line}");
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
            assert_eq!(classify(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_document_is_recognised_by_its_tags() {
        for line in [
            "x <valgrindoutput>",
            "</valgrindoutput>",
            "<protocolversion>4</protocolversion>",
        ] {
            assert_eq!(
                classify(line.as_bytes()),
                Some(Unprefixed::Document),
                "{line}"
            );
        }
        assert_eq!(classify(b"&lt;valgrindoutput&gt;"), None);
    }
}
