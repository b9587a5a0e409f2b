//! Sentences of a text log other than errors, leaks and summaries: notes, and lines between blocks.

use cg_stream::record::Name;

use crate::fields::{amount, skip, whole_amount};
use crate::process::FatalSignal;

/// Parses `used_suppression:  N name file:line`, followed by ` suppressed: B bytes in K blocks` for leaks. A name may
/// contain blanks.
pub(super) fn used_suppression(message: &[u8]) -> Option<(&[u8], u64)> {
    let (count, rest) = amount(skip(message, b"used_suppression:")?.trim_ascii())?;
    let rest = match memchr::memmem::rfind(rest, b" suppressed: ") {
        Some(end) => &rest[..end],
        None => rest,
    };
    let end = memchr::memrchr(b' ', rest.trim_ascii_end())?;
    Some((rest[..end].trim_ascii(), count.value))
}

/// Parses the header of the following blocks, `Thread 2:` or `Thread 2 worker:`.
pub(super) fn thread_header(message: &[u8]) -> Option<(u64, &[u8])> {
    let rest = skip(message, b"Thread ")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let thread = whole_amount(&rest[..digits])?;
    let name = rest[digits..].strip_suffix(b":")?;
    match name {
        [] => Some((thread, name)),
        [b' ', name @ ..] => Some((thread, name)),
        _ => None,
    }
}

/// Returns Helgrind's number of the thread in a sentence.
pub(super) fn find_thread(sentence: &[u8]) -> Option<u64> {
    let number = memchr::memmem::find(sentence, b"hread #")? + b"hread #".len();
    amount(&sentence[number..]).map(|(thread, _)| thread.value)
}

/// Returns true for a note that precedes the sentence of its error.
pub(super) fn is_early_note(sentence: &[u8]) -> bool {
    sentence == b"Acquired at:" || is_first_observation(sentence)
}

fn is_first_observation(sentence: &[u8]) -> bool {
    sentence.starts_with(b"Lock at 0x") && sentence.ends_with(b" was first observed")
}

/// Returns true for a sentence that continues an error even after an empty line.
pub(super) fn is_continuation(sentence: &[u8]) -> bool {
    const STARTS: [&str; 6] = [
        "This conflicts with a previous ",
        "followed by a later acquisition of lock at ",
        "Required order was established by acquisition of lock at ",
        "Observed (incorrect) order is: acquisition of lock at ",
        "Address 0x",
        "Block was alloc'd ",
    ];
    STARTS
        .iter()
        .any(|start| sentence.starts_with(start.as_bytes()))
        || is_first_observation(sentence)
}

/// Returns true for DRD's line that replaces a missing stack. XML omits the line.
pub(super) fn replaces_stack(sentence: &[u8]) -> bool {
    sentence.starts_with(b"(thread finished")
}

/// Returns true for a line that does not belong to the preceding block, even without an empty line between.
pub(super) fn is_separate_message(message: &[u8]) -> bool {
    begins_run_line(message) || has_stack_without_error(message) || early_end(message).is_some()
}

/// Returns the reason for which Valgrind ends the process early, if this line announces it (`m_errormgr.c`,
/// `m_aspacemgr/aspacemgr-linux.c`).
pub(super) fn early_end(message: &[u8]) -> Option<&'static str> {
    let message = message.trim_ascii_start();
    if message.starts_with(b"Exit program on first error") {
        return Some(EXIT_ON_FIRST_ERROR);
    }
    message
        .starts_with(b"Valgrind's memory management: out of memory")
        .then_some(
            "Valgrind ran out of memory (\"out of memory\"); give it more, or run a smaller test",
        )
}

/// The effect of Valgrind's `--exit-on-first-error=yes`.
pub(crate) const EXIT_ON_FIRST_ERROR: &str = "Valgrind ended the process at its first error (--exit-on-first-error=yes), so \
     later errors and leaks are unknown; rerun it without that option";

/// Returns true for a line about the whole run.
pub(super) fn begins_run_line(message: &[u8]) -> bool {
    const STARTS: [&str; 7] = [
        "HEAP SUMMARY:",
        "LEAK SUMMARY:",
        "ERROR SUMMARY:",
        "FILE DESCRIPTORS:",
        "---",
        "Process terminating with ",
        "More than ",
    ];
    STARTS
        .iter()
        .any(|start| message.starts_with(start.as_bytes()))
}

/// Returns true for output of DRD's `--trace-…` options, which often has a stack:
/// `store 0x404030 size 4 val 1/0x1 (thread 1 / vc [ 1: 1 ])`, `[1] mutex_init      mutex 0x1fff000590`.
fn is_drd_trace(message: &[u8]) -> bool {
    if let Some(rest) = message.strip_prefix(b"[") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        return digits > 0 && rest[digits..].starts_with(b"] ");
    }
    const ACCESSES: [&str; 4] = ["load ", "store ", "start ", "end "];
    ACCESSES
        .iter()
        .find_map(|access| skip(message, access.as_bytes()))
        .is_some_and(|rest| {
            rest.trim_ascii_start().starts_with(b"0x")
                && memchr::memmem::find(rest, b" size ").is_some()
                && memchr::memmem::find(rest, b" (thread ").is_some()
        })
}

/// Returns true for a message that may have a stack but is not an error.
pub(super) fn has_stack_without_error(message: &[u8]) -> bool {
    const STARTS: [&str; 6] = [
        "Warning: ",
        "WARNING: ",
        "valgrind: ",
        "Unrecognised instruction at address ",
        "Your program just tried to execute an instruction",
        "Process terminating with ",
    ];
    is_drd_trace(message)
        || STARTS
            .iter()
            .any(|start| message.starts_with(start.as_bytes()))
}

/// Returns the count in `12 errors in context 3 of 19:`.
pub(super) fn parse_context_count(message: &[u8]) -> Option<u64> {
    let (count, rest) = amount(message)?;
    let (_, rest) = amount(skip(rest, b" errors in context ")?)?;
    let (_, rest) = amount(skip(rest, b" of ")?)?;
    (rest == b":").then_some(count.value)
}

/// Parses `Process terminating with default action of signal 11 (SIGSEGV)`, which `: dumping core` may follow.
pub(super) fn fatal_signal(message: &[u8], thread: u64) -> Option<FatalSignal> {
    let text = skip(
        message,
        b"Process terminating with default action of signal ",
    )?;
    let (number, rest) = match amount(text) {
        Some((number, rest)) => (Some(number.value), rest),
        None => (None, text),
    };
    let name = rest.trim_ascii_start();
    let name = skip(name, b"(").unwrap_or(name);
    let end = memchr::memchr(b')', name).unwrap_or(name.len());
    Some(FatalSignal {
        number,
        name: Name::from_bytes(&name[..end]).into_string(),
        thread: Some(thread),
        ..FatalSignal::default()
    })
}

/// Reads `Access not within mapped region at address 0x10`. Ignores the advice about stack sizes that may follow.
pub(super) fn signal_event(sentence: &[u8], signal: &mut FatalSignal) {
    if signal.event.is_some() {
        return;
    }
    let text = Name::from_bytes(sentence).into_string();
    match text.split_once(" at address ") {
        Some((event, address)) => {
            signal.event = Some(event.to_owned());
            signal.address = Some(address.to_owned());
        }
        None => signal.event = Some(text),
    }
}

/// Parses `Thread #2 was created` or `Thread #1 is the program's root thread`.
pub(super) fn announced_thread(message: &[u8]) -> Option<(u64, bool)> {
    let (thread, rest) = amount(skip(message, b"Thread #")?)?;
    match rest {
        b" was created" => Some((thread.value, false)),
        b" is the program's root thread" => Some((thread.value, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_header_has_a_number_and_a_name() {
        assert_eq!(thread_header(b"Thread 2:"), Some((2, &b""[..])));
        assert_eq!(thread_header(b"Thread 2 a b:"), Some((2, &b"a b"[..])));
        for line in ["Thread #2: x", "Thread 2", "Thread :", "Thread 2: x"] {
            assert_eq!(thread_header(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn names_of_suppressions_may_contain_blanks() {
        assert_eq!(
            used_suppression(
                b"used_suppression:      3 a b c* /d/e.supp:2 suppressed: 3,200 bytes in 32 blocks"
            ),
            Some((&b"a b c*"[..], 3))
        );
        assert_eq!(
            used_suppression(b"used_suppression:      4 inv leaky.supp:10"),
            Some((&b"inv"[..], 4))
        );
        assert_eq!(used_suppression(b"REDIR: 0x1"), None);
    }

    #[test]
    fn a_signal_has_a_number_a_name_and_an_event() {
        let text = b"Process terminating with default action of signal 11 (SIGSEGV): dumping core";
        let mut signal = fatal_signal(text, 3).unwrap();
        signal_event(
            b"Access not within mapped region at address 0x10",
            &mut signal,
        );
        signal_event(
            b"If you believe this happened as a result of a stack",
            &mut signal,
        );
        assert_eq!((signal.number, signal.name.as_str()), (Some(11), "SIGSEGV"));
        assert_eq!(
            signal.event.as_deref(),
            Some("Access not within mapped region")
        );
        assert_eq!(signal.address.as_deref(), Some("0x10"));
        assert_eq!(signal.thread, Some(3));
    }
}
