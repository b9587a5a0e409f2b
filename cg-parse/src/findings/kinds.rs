//! From an error's sentence to its kind: text logs have only the sentence, XML has both.
//!
//! The sentences are those of `mc_errors.c`, `hg_errors.c` and `drd_error.c` from Valgrind 3.14 to 3.28, and of
//! `m_errormgr.c` and `clo_track_fds` for descriptors. Kinds are called what XML calls them.

/// The kind of an error that has a stack and a sentence, and none of the sentences known here.
pub(super) fn of_unknown(tool: Option<&str>) -> &'static str {
    match tool {
        // DRD's generic errors can have any sentence.
        Some("drd") => "GenericErr",
        _ => "Unknown",
    }
}

/// The kind that a sentence had in the version that wrote it.
pub(super) fn of_version(
    kind: &'static str,
    sentence: &[u8],
    version: Option<(u64, u64)>,
) -> &'static str {
    let is_dubious = kind == "Misc" && memchr::memmem::find(sentence, b": dubious: ").is_some();
    // Helgrind has had this kind since 3.21.
    if is_dubious && version.is_none_or(|version| version >= (3, 21)) {
        return "Dubious";
    }
    kind
}

/// A tool and a kind of its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentenceKind {
    /// The tool, where the sentence gives it away: all tools have the errors about descriptors.
    pub(super) tool: Option<&'static str>,
    pub(super) name: &'static str,
}

/// The kind of the error that has this sentence; `None` where it is not that of an error.
pub(super) fn of(sentence: &[u8]) -> Option<SentenceKind> {
    let kind = |tool, name| {
        Some(SentenceKind {
            tool: Some(tool),
            name,
        })
    };
    if let Some(name) = of_memcheck(sentence) {
        return kind("memcheck", name);
    }
    if let Some(name) = of_helgrind(sentence) {
        return kind("helgrind", name);
    }
    if let Some(name) = of_drd(sentence) {
        return kind("drd", name);
    }
    of_descriptor(sentence).map(|name| SentenceKind { tool: None, name })
}

fn of_memcheck(sentence: &[u8]) -> Option<&'static str> {
    let begins = |start: &str| sentence.starts_with(start.as_bytes());
    let has = |part: &str| memchr::memmem::find(sentence, part.as_bytes()).is_some();
    Some(match sentence.first()? {
        b'I' if begins("Invalid read of size ") => "InvalidRead",
        b'I' if begins("Invalid write of size ") => "InvalidWrite",
        b'I' if begins("Invalid free() / ") => "InvalidFree",
        b'I' if begins("Invalid alignment value: ") => "InvalidAlignment",
        b'I' if begins("Invalid size value: ") && has(" alignment value: ") => {
            "InvalidSizeAndAlignment"
        }
        b'I' if begins("Invalid size value: ") => "InvalidSize",
        b'I' if begins("Illegal memory pool address") => "InvalidMemPool",
        b'C' if begins("Conditional jump or move depends on uninitialised value") => {
            "UninitCondition"
        }
        b'U' if begins("Use of uninitialised value of size ") => "UninitValue",
        b'U' if begins("Un") && has(" found during client check request") => "ClientCheck",
        b'U' if begins("Unsafe allocation with size of zero") => "InvalidSize",
        b'S' if begins("Syscall param ") => "SyscallParam",
        b'S' if begins("Source and destination overlap in ") => "Overlap",
        b'J' if begins("Jump to the invalid address stated on the next line") => "InvalidJump",
        b'M' if begins("Mismatched free() / ") => "MismatchedFree",
        b'M' if begins("Mismatched ") && has(" alignment ") => {
            "MismatchedAllocateDeallocateAlignment"
        }
        b'M' if begins("Mismatched ") && has(" size value: ") => "MismatchedAllocateDeallocateSize",
        b'A' if begins("Argument '") && has(" has a fishy (possibly negative) value: ") => {
            "FishyValue"
        }
        // Valgrind 3.22 to 3.25; later ones have the sentence about unsafe allocations.
        _ if has("() invalid size value: ") => "InvalidSize",
        // The function is realloc up to Valgrind 3.26, and the one that was called from 3.27 on.
        _ if sentence.ends_with(b"() with size 0") => "ReallocSizeZero",
        _ if sentence.ends_with(b" contains unaddressable byte(s)") => "CoreMemError",
        _ => return None,
    })
}

/// Helgrind's sentences name its threads as `Thread #N`, those of the other tools do not.
fn of_helgrind(sentence: &[u8]) -> Option<&'static str> {
    if sentence.starts_with(b"Possible data race during ") {
        return Some("Race");
    }
    let rest = sentence.strip_prefix(b"Thread #")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let said = &rest[digits..];
    let begins = |start: &str| said.starts_with(start.as_bytes());
    Some(if begins(": lock order \"") {
        "LockOrder"
    } else if begins(" unlocked a not-locked lock at ") {
        "UnlockUnlocked"
    } else if begins(" unlocked lock at ") {
        "UnlockForeign"
    } else if begins(" unlocked an invalid lock at ") {
        "UnlockBogus"
    } else if begins("'s call to ") {
        "PthAPIerror"
    } else if begins(": ") {
        "Misc"
    } else {
        return None;
    })
}

fn of_drd(sentence: &[u8]) -> Option<&'static str> {
    let has = |part: &str| memchr::memmem::find(sentence, part.as_bytes()).is_some();
    let begins = |start: &str| sentence.starts_with(start.as_bytes());
    Some(
        if begins("Conflicting load by thread ") || begins("Conflicting store by thread ") {
            "ConflictingAccess"
        } else if begins("Lock on ") && has(" was held during ") {
            "HoldtimeErr"
        } else if begins("Probably a race condition: condition variable ") {
            "CondRaceErr"
        } else if has(": mutex 0x") || (begins("The object at address ") && has(" is not a mutex"))
        {
            "MutexErr"
        } else if has(": cond 0x") {
            "CondErr"
        } else if has(": semaphore 0x") {
            "SemaphoreErr"
        } else if has(": barrier 0x") {
            "BarrierErr"
        } else if has(": rwlock 0x") {
            "RwlockErr"
        } else if begins("Not a ") {
            "GenericErr"
        } else {
            return None;
        },
    )
}

/// From Valgrind 3.23 on, what is wrong with file descriptors is an error of the core.
fn of_descriptor(sentence: &[u8]) -> Option<&'static str> {
    let begins = |start: &str| sentence.starts_with(start.as_bytes());
    if is_open_descriptor(sentence) {
        return Some("FdNotClosed");
    }
    if !begins("File descriptor ") {
        return None;
    }
    Some(if sentence.ends_with(b" is already closed") {
        "FdBadClose"
    } else {
        "FdBadUse"
    })
}

/// True for the sentence of a descriptor that is open at exit, which is an error or, before 3.23, a mere remark.
pub(super) fn is_open_descriptor(sentence: &[u8]) -> bool {
    sentence.starts_with(b"Open file descriptor ")
        || (sentence.starts_with(b"Open AF_")
            && memchr::memmem::find(sentence, b" socket ").is_some())
}
