//! Sentences of a text log, but for those of errors, leaks and summaries: what begins, goes on, or stands apart.

use cg_stream::record::Name;

use crate::fields::{amount, skip, whole_amount};
use crate::process::FatalSignal;

/// `used_suppression:  N name file:line`, with ` suppressed: B bytes in K blocks` behind it for leaks. Names have blanks.
pub(super) fn used_suppression(message: &[u8]) -> Option<(&[u8], u64)> {
    let (count, rest) = amount(skip(message, b"used_suppression:")?.trim_ascii())?;
    let rest = match memchr::memmem::rfind(rest, b" suppressed: ") {
        Some(end) => &rest[..end],
        None => rest,
    };
    let end = memchr::memrchr(b' ', rest.trim_ascii_end())?;
    Some((rest[..end].trim_ascii(), count.value))
}

/// `Thread 2:` or `Thread 2 worker:`: the thread that what follows is about.
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

/// Helgrind's number of the thread that did what the sentence says.
pub(super) fn thread_of_sentence(sentence: &[u8]) -> Option<u64> {
    let number = memchr::memmem::find(sentence, b"hread #")? + b"hread #".len();
    amount(&sentence[number..]).map(|(thread, _)| thread.value)
}

/// Notes that some errors have before their sentence.
pub(super) fn is_early_note(said: &[u8]) -> bool {
    said == b"Acquired at:" || is_first_observation(said)
}

fn is_first_observation(said: &[u8]) -> bool {
    said.starts_with(b"Lock at 0x") && said.ends_with(b" was first observed")
}

/// Sentences that go on with an error after an empty line.
pub(super) fn is_continuation(said: &[u8]) -> bool {
    const STARTS: [&str; 6] = [
        "This conflicts with a previous ",
        "followed by a later acquisition of lock at ",
        "Required order was established by acquisition of lock at ",
        "Observed (incorrect) order is: acquisition of lock at ",
        "Address 0x",
        "LogBlock was alloc'd ",
    ];
    STARTS
        .iter()
        .any(|start| said.starts_with(start.as_bytes()))
        || is_first_observation(said)
}

/// DRD's line in the place of a stack that is not there. XML has nothing in that place.
pub(super) fn stands_for_a_stack(said: &[u8]) -> bool {
    said.starts_with(b"(thread finished")
}

/// Lines that are not part of the block before them, even without an empty line between.
pub(super) fn stands_apart(message: &[u8]) -> bool {
    begins_run_line(message) || has_stack_without_error(message)
}

/// Lines between blocks that say nothing of a block.
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

/// What DRD's `--trace-…` options print, often with a stack: `store 0x404030 size 4 val 1/0x1 (thread 1 / vc [ 1: 1 ])`,
/// `[1] mutex_init      mutex 0x1fff000590`.
fn is_trace_of_drd(message: &[u8]) -> bool {
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

/// Messages that can have a stack and are no errors.
pub(super) fn has_stack_without_error(message: &[u8]) -> bool {
    const STARTS: [&str; 6] = [
        "Warning: ",
        "WARNING: ",
        "valgrind: ",
        "Unrecognised instruction at address ",
        "Your program just tried to execute an instruction",
        "Process terminating with ",
    ];
    is_trace_of_drd(message)
        || STARTS
            .iter()
            .any(|start| message.starts_with(start.as_bytes()))
}

/// `12 errors in context 3 of 19:`
pub(super) fn count_of_context(message: &[u8]) -> Option<u64> {
    let (count, rest) = amount(message)?;
    let (_, rest) = amount(skip(rest, b" errors in context ")?)?;
    let (_, rest) = amount(skip(rest, b" of ")?)?;
    (rest == b":").then_some(count.value)
}

/// `Process terminating with default action of signal 11 (SIGSEGV)`, with `: dumping core` behind it or not.
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

/// `Access not within mapped region at address 0x10`; advice on the stack's size can follow.
pub(super) fn signal_event(said: &[u8], signal: &mut FatalSignal) {
    if signal.event.is_some() {
        return;
    }
    let text = Name::from_bytes(said).into_string();
    match text.split_once(" at address ") {
        Some((event, address)) => {
            signal.event = Some(event.to_owned());
            signal.address = Some(address.to_owned());
        }
        None => signal.event = Some(text),
    }
}

/// `Thread #2 was created` or `Thread #1 is the program's root thread`
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
    fn headers_name_a_thread() {
        assert_eq!(thread_header(b"Thread 2:"), Some((2, &b""[..])));
        assert_eq!(thread_header(b"Thread 2 a b:"), Some((2, &b"a b"[..])));
        for line in ["Thread #2: x", "Thread 2", "Thread :", "Thread 2: x"] {
            assert_eq!(thread_header(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn names_of_suppressions_have_blanks() {
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
    fn signals_have_number_name_and_event() {
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
