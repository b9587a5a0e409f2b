//! The kinds of errors of sanitizers, and the signals because of which they end a process.

use cg_stream::record::{Name, Tool};
use memchr::memmem;

use crate::process::FatalSignal;

/// Returns the kind of an error: the first word of its `SUMMARY`, or without one of the text after `ERROR: …Sanitizer: `.
///
/// ThreadSanitizer's kind is the text before a `(` instead, with hyphens for its blanks: `data-race`.
pub(super) fn report_kind(tool: &Tool, head: &[u8], summary: Option<&[u8]>) -> String {
    let named = summary.unwrap_or(head);
    let kind = match *tool == Tool::Tsan {
        true => head.split(|byte| *byte == b'(').next().unwrap_or(head),
        false => named.split(|byte| *byte == b' ').next().unwrap_or(named),
    };
    let kind = Name::from_bytes(kind.trim_ascii()).into_string();
    kind.trim_end_matches(':').replace(' ', "-").to_lowercase()
}

/// Returns the check of UndefinedBehaviorSanitizer with this sentence, by its name in `-fsanitize=` (`ubsan_handlers.cpp`,
/// `ubsan_checks.inc`). The `SUMMARY` has only `undefined-behavior`.
pub(super) fn undefined_behaviour_check(sentence: &[u8]) -> String {
    if let Some(check) = sentence.strip_prefix(MINIMAL) {
        let end = memchr::memchr(b' ', check).unwrap_or(check.len());
        return String::from_utf8_lossy(&check[..end]).into_owned();
    }
    /// Parts of sentences, with their checks. The order matters: the sentence of a check may contain parts of later checks.
    const PARTS: [(&str, &str); 29] = [
        ("left shift of ", "shift-base"),
        ("shift exponent ", "shift-exponent"),
        ("unsigned integer overflow: ", "unsigned-integer-overflow"),
        ("signed integer overflow: ", "signed-integer-overflow"),
        ("negation of ", "signed-integer-overflow"),
        ("division of ", "signed-integer-overflow"),
        ("division by zero", "integer-divide-by-zero"),
        ("out of bounds for type ", "bounds"),
        ("misaligned address ", "alignment"),
        ("assumption of ", "alignment"),
        ("insufficient space for an object", "object-size"),
        ("null pointer of type", "null"),
        ("does not point to an object of type", "vptr"),
        ("bool'", "bool"),
        ("is not a valid value for type", "enum"),
        (
            "outside the range of representable values",
            "float-cast-overflow",
        ),
        ("variable length array bound", "vla-bound"),
        ("without returning a value", "return"),
        ("reached an unreachable program point", "unreachable"),
        ("which is not a valid argument", "builtin"),
        ("assumption is violated during execution", "builtin"),
        ("offset to null pointer", "pointer-overflow"),
        ("overflowed to ", "pointer-overflow"),
        ("produced null pointer", "pointer-overflow"),
        ("null pointer passed as argument", "nonnull-attribute"),
        (
            "null pointer returned from function",
            "returns-nonnull-attribute",
        ),
        ("through pointer to incorrect function type", "function"),
        ("control flow integrity check", "cfi"),
        ("implicit conversion from type", "implicit-conversion"),
    ];
    let has = |part: &str| memmem::find(sentence, part.as_bytes()).is_some();
    PARTS
        .iter()
        .find(|(part, _)| has(part))
        .map_or("undefined-behavior", |(_, check)| check)
        .to_owned()
}

/// The beginning of a sentence about an error of the minimal runtime, whose own name of the check follows.
pub(super) const MINIMAL: &[u8] = b"undefined behavior: ";

/// Returns the signal in `SEGV on unknown address 0x0 (pc …)` (`sanitizer_symbolizer_report.cpp`); `None` for other errors.
pub(super) fn signal(head: &[u8]) -> Option<FatalSignal> {
    const SIGNALS: [(&str, u64, &str); 6] = [
        ("SEGV on ", 11, "SIGSEGV"),
        ("BUS on ", 7, "SIGBUS"),
        ("FPE on ", 8, "SIGFPE"),
        ("ILL on ", 4, "SIGILL"),
        ("ABRT on ", 6, "SIGABRT"),
        ("TRAP on ", 5, "SIGTRAP"),
    ];
    let is = |signal: &&(&str, u64, &str)| head.starts_with(signal.0.as_bytes());
    let (_, number, name) = SIGNALS.iter().find(is)?;
    let words = head.split(|byte| *byte == b' ');
    let address = words.clone().find(|word| word.starts_with(b"0x"));
    Some(FatalSignal {
        number: Some(*number),
        name: (*name).to_owned(),
        address: address.map(|address| Name::from_bytes(address).into_string()),
        ..FatalSignal::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_error_is_the_sanitizers_own_word() {
        for (tool, head, summary, expected) in [
            (
                Tool::Asan,
                "attempting double-free on 0x6 in thread T0:",
                Some("double-free a.c:1 in f"),
                "double-free",
            ),
            (
                Tool::Asan,
                "heap-use-after-free on address 0x6 at pc",
                None,
                "heap-use-after-free",
            ),
            (
                Tool::Asan,
                "negative-size-param: (size=-3)",
                Some("negative-size-param a.c:3 in f"),
                "negative-size-param",
            ),
            (
                Tool::Tsan,
                "data race",
                Some("data race a.c:1 in f"),
                "data-race",
            ),
            (
                Tool::Tsan,
                "lock-order-inversion (potential deadlock)",
                None,
                "lock-order-inversion",
            ),
            (Tool::Tsan, "DATA RACE", None, "data-race"),
            (
                Tool::Msan,
                "use-of-uninitialized-value",
                None,
                "use-of-uninitialized-value",
            ),
        ] {
            let summary = summary.map(str::as_bytes);
            assert_eq!(
                report_kind(&tool, head.as_bytes(), summary),
                expected,
                "{head}"
            );
        }
    }

    #[test]
    fn the_kind_of_undefined_behaviour_is_its_check() {
        for (sentence, expected) in [
            (
                "signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'",
                "signed-integer-overflow",
            ),
            (
                "negation of -2147483648 cannot be represented in type 'int'; cast to an unsigned",
                "signed-integer-overflow",
            ),
            (
                "left shift of 1 by 31 places cannot be represented in type 'int'",
                "shift-base",
            ),
            (
                "shift exponent 40 is too large for 32-bit type 'int'",
                "shift-exponent",
            ),
            ("index 4 out of bounds for type 'int [4]'", "bounds"),
            (
                "store to address 0x7ff with insufficient space for an object of type 'int'",
                "object-size",
            ),
            (
                "store to misaligned address 0x55 for type 'int', which requires 4 byte alignment",
                "alignment",
            ),
            ("load of null pointer of type 'int'", "null"),
            (
                "load of value 7, which is not a valid value for type 'volatile bool'",
                "bool",
            ),
            (
                "load of value 9, which is not a valid value for type 'E'",
                "enum",
            ),
            (
                "1e+30 is outside the range of representable values of type 'int'",
                "float-cast-overflow",
            ),
            (
                "addition of unsigned offset to 0x7f overflowed to 0x7e",
                "pointer-overflow",
            ),
            (
                "member call on address 0x7f which does not point to an object of type 'S'",
                "vptr",
            ),
            (
                "passing zero to clz(), which is not a valid argument",
                "builtin",
            ),
            (
                "execution reached the end of a value-returning function without returning a value",
                "return",
            ),
            ("division by zero", "integer-divide-by-zero"),
            (
                "variable length array bound evaluates to non-positive value -1",
                "vla-bound",
            ),
            (
                "unsigned integer overflow: 1 - 2 cannot be represented in type 'unsigned int'",
                "unsigned-integer-overflow",
            ),
            ("something new", "undefined-behavior"),
        ] {
            assert_eq!(
                undefined_behaviour_check(sentence.as_bytes()),
                expected,
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_signal_has_its_address() {
        let segv = signal(b"SEGV on unknown address 0x00000010 (pc 0x55 bp 0x7f T0)").unwrap();
        assert_eq!((segv.number, &*segv.name), (Some(11), "SIGSEGV"));
        assert_eq!(segv.address.as_deref(), Some("0x00000010"));
        assert!(signal(b"stack-overflow on address 0x1").is_none());
    }
}
