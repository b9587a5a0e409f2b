//! The sentences inside a report, between its stacks. Output of the program is excluded.

/// The role of a sentence in its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sentence {
    /// The access, before the error's main stack: `WRITE of size 1 at 0x602 thread T0`.
    Access,
    /// A note, before a stack that belongs to it: `freed by thread T0 here:`.
    Note,
    /// A sentence without a stack: `0x602 is located 3 bytes inside of 16-byte region [0x600,0x610)`.
    Remark,
}

/// The beginnings of sentences, with their roles.
const STARTS: [(&str, Sentence); 34] = [
    // AddressSanitizer (`asan_errors.cpp`, `asan_descriptions.cpp`) and HWAddressSanitizer.
    ("READ of size ", Sentence::Access),
    ("WRITE of size ", Sentence::Access),
    ("ACCESS of size ", Sentence::Access),
    ("freed by thread ", Sentence::Note),
    ("freed here:", Sentence::Note),
    ("allocated by thread ", Sentence::Note),
    ("allocated here:", Sentence::Note),
    ("previously allocated by thread ", Sentence::Note),
    ("previously allocated here:", Sentence::Note),
    ("previously freed by thread ", Sentence::Note),
    ("registered at:", Sentence::Note),
    ("object passed to delete has wrong type:", Sentence::Remark),
    ("size of the allocated type: ", Sentence::Remark),
    ("size of the deallocated type: ", Sentence::Remark),
    ("Cause: ", Sentence::Remark),
    // MemorySanitizer (`msan_report.cpp`).
    ("Uninitialized value was ", Sentence::Note),
    ("Uninitialized value is ", Sentence::Note),
    ("Memory was marked as uninitialized", Sentence::Note),
    // ThreadSanitizer (`tsan_report.cpp`), and its form in Go.
    ("Read of size ", Sentence::Access),
    ("Write of size ", Sentence::Access),
    ("Atomic read of size ", Sentence::Access),
    ("Atomic write of size ", Sentence::Access),
    ("Read at 0x", Sentence::Access),
    ("Write at 0x", Sentence::Access),
    ("Previous ", Sentence::Note),
    ("Mutex M", Sentence::Note),
    ("As if synchronized via sleep:", Sentence::Note),
    ("and:", Sentence::Note),
    ("Location is ", Sentence::Note),
    ("Goroutine ", Sentence::Note),
    ("Cycle in lock order graph: ", Sentence::Remark),
    ("And ", Sentence::Remark),
    // All sanitizers, about signals.
    ("The signal is caused by ", Sentence::Remark),
    ("Thread T", Sentence::Note),
];

/// Returns the role and the text of a sentence; `None` if the line is not a sentence of a report.
pub(super) fn find_sentence(line: &[u8]) -> Option<(Sentence, &[u8])> {
    let text = line.trim_ascii_start();
    let text = without_pid(text).unwrap_or(text);
    let is = |(words, _): &&(&str, Sentence)| text.starts_with(words.as_bytes());
    if let Some((_, sentence)) = STARTS.iter().find(is) {
        return Some((*sentence, text.strip_suffix(b":").unwrap_or(text)));
    }
    let has = |words: &str| memchr::memmem::find(text, words.as_bytes()).is_some();
    // `Address 0x7f is located in stack of thread T0 at offset 36 in frame`: the frame's line follows.
    if text.starts_with(b"Address 0x") && has(" is located in stack of ") {
        return Some((Sentence::Note, text));
    }
    let is_place = text.starts_with(b"0x") && has(" is located ");
    let is_variable = text.starts_with(b"[") && has(" <== Memory access at offset ");
    let is_memory = text.starts_with(b"0x") && has(": note: ");
    (is_place || is_variable || is_memory).then_some((Sentence::Remark, text))
}

/// Removes `==PID==`.
fn without_pid(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"==")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
    rest[digits.count()..].strip_prefix(b"==")
}

/// Returns the number of the thread in a sentence: `thread T3`, `goroutine 7`. The main thread is number 0, but Go's main
/// goroutine has no number.
pub(super) fn find_thread(sentence: &[u8]) -> Option<u64> {
    if memchr::memmem::find(sentence, b"main thread").is_some() {
        return Some(0);
    }
    const WORDS: [&[u8]; 3] = [b"thread T", b"by goroutine ", b" T"];
    WORDS.iter().find_map(|words| {
        let rest = &sentence[memchr::memmem::rfind(sentence, words)? + words.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
        crate::fields::whole_amount(&rest[..digits.count()])
    })
}

/// Returns the number and the name of the thread in `Thread T2 'worker' (tid=7, running) created by …`.
pub(super) fn named_thread(sentence: &[u8]) -> Option<(u64, &[u8])> {
    let rest = sentence.strip_prefix(b"Thread T")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = crate::fields::whole_amount(&rest[..digits])?;
    let rest = &rest[digits..];
    // ThreadSanitizer quotes the name, AddressSanitizer has it in parentheses.
    let quoted = rest
        .strip_prefix(b" '")
        .and_then(|name| Some(&name[..memchr::memmem::find(name, b"' (tid=")?]));
    let name = quoted.or_else(|| {
        let name = rest.strip_prefix(b" (")?;
        let end = memchr::memmem::find(name, b") created by ")?;
        (!name.starts_with(b"tid=")).then_some(&name[..end])
    })?;
    Some((number, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_a_program_is_not_a_sentence() {
        for (line, expected) in [
            (
                "  Previous write of size 4 at 0x5 by thread T1:",
                Some((
                    Sentence::Note,
                    "Previous write of size 4 at 0x5 by thread T1",
                )),
            ),
            (
                "WRITE of size 1 at 0x6 thread T0",
                Some((Sentence::Access, "WRITE of size 1 at 0x6 thread T0")),
            ),
            (
                "==7==The signal is caused by a READ memory access.",
                Some((
                    Sentence::Remark,
                    "The signal is caused by a READ memory access.",
                )),
            ),
            (
                "    [48, 64) 'a' (line 18) <== Memory access at offset 68 overflows this variable",
                Some((
                    Sentence::Remark,
                    "[48, 64) 'a' (line 18) <== Memory access at offset 68 overflows this variable",
                )),
            ),
            ("    [32, 36) 'n.addr'", None),
            ("HINT: this may be a false positive", None),
            ("==7==Hint: address points to the zero page.", None),
            ("program output", None),
            ("  0x0c04: 00 00", None),
        ] {
            let found = find_sentence(line.as_bytes())
                .map(|(kind, text)| (kind, std::str::from_utf8(text).unwrap()));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn threads_have_numbers_and_names() {
        assert_eq!(find_thread(b"WRITE of size 1 at 0x6 thread T3"), Some(3));
        assert_eq!(
            find_thread(b"Write of size 4 at 0x5 by main thread:"),
            Some(0)
        );
        assert_eq!(find_thread(b"Read at 0x00c by goroutine 8:"), Some(8));
        assert_eq!(
            find_thread(b"SEGV on unknown address 0x0 (pc 0x1 bp 0x2 sp 0x3 T5)"),
            Some(5)
        );
        assert_eq!(find_thread(b"Read at 0x00c by main goroutine:"), None);
        let named = |line: &'static str| named_thread(line.as_bytes());
        assert_eq!(
            named("Thread T2 'worker one' (tid=7, running) created by main thread at:"),
            Some((2, &b"worker one"[..]))
        );
        assert_eq!(
            named("Thread T1 (pool) created by T0 here:"),
            Some((1, &b"pool"[..]))
        );
        assert_eq!(named("Thread T1 created by T0 here:"), None);
        assert_eq!(
            named("Thread T2 (tid=7, running) created by main thread at:"),
            None
        );
    }
}
