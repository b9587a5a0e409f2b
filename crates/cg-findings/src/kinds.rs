//! Finds the kind of an error by its sentence. Text logs have only the sentence, XML has both.
//!
//! The sentences come from `mc_errors.c`, `hg_errors.c` and `drd_error.c` of Valgrind 3.14 to 3.28, and from `m_errormgr.c`
//! and `clo_track_fds` for descriptors. Kinds have the names that XML uses.

use cg_stream::record::{ErrorKind, Tool};

/// Returns the kind of an error with an unknown sentence.
pub(super) fn unknown_kind(tool: Option<&Tool>) -> ErrorKind {
    match tool {
        // DRD's generic errors can have any sentence.
        Some(Tool::Drd) => ErrorKind::GenericErr,
        _ => ErrorKind::Unknown,
    }
}

/// Returns the kind of a sentence in the version of Valgrind that wrote the log.
pub(super) fn kind_in_version(
    kind: ErrorKind,
    sentence: &[u8],
    version: Option<(u64, u64)>,
) -> ErrorKind {
    let is_dubious =
        kind == ErrorKind::Misc && memchr::memmem::find(sentence, b": dubious: ").is_some();
    // Helgrind has this kind since 3.21.
    if is_dubious && version.is_none_or(|version| version >= (3, 21)) {
        return ErrorKind::Dubious;
    }
    kind
}

/// A tool and a kind of its errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentenceKind {
    /// The tool; `None` for errors about descriptors, which all tools report.
    pub(super) tool: Option<Tool>,
    pub(super) name: ErrorKind,
}

/// Returns the kind of the error with this sentence; `None` if the sentence is not an error's.
pub(super) fn find_kind(sentence: &[u8]) -> Option<SentenceKind> {
    let kind = |tool, name| {
        Some(SentenceKind {
            tool: Some(tool),
            name,
        })
    };
    if let Some(name) = memcheck_kind(sentence) {
        return kind(Tool::Memcheck, name);
    }
    if let Some(name) = helgrind_kind(sentence) {
        return kind(Tool::Helgrind, name);
    }
    if let Some(name) = drd_kind(sentence) {
        return kind(Tool::Drd, name);
    }
    descriptor_kind(sentence).map(|name| SentenceKind { tool: None, name })
}

fn memcheck_kind(sentence: &[u8]) -> Option<ErrorKind> {
    let begins = |start: &str| sentence.starts_with(start.as_bytes());
    let has = |part: &str| memchr::memmem::find(sentence, part.as_bytes()).is_some();
    Some(match sentence.first()? {
        b'I' if begins("Invalid read of size ") => ErrorKind::InvalidRead,
        b'I' if begins("Invalid write of size ") => ErrorKind::InvalidWrite,
        b'I' if begins("Invalid free() / ") => ErrorKind::InvalidFree,
        b'I' if begins("Invalid alignment value: ") => ErrorKind::InvalidAlignment,
        b'I' if begins("Invalid size value: ") && has(" alignment value: ") => {
            ErrorKind::InvalidSizeAndAlignment
        }
        b'I' if begins("Invalid size value: ") => ErrorKind::InvalidSize,
        b'I' if begins("Illegal memory pool address") => ErrorKind::InvalidMemPool,
        b'C' if begins("Conditional jump or move depends on uninitialised value") => {
            ErrorKind::UninitCondition
        }
        b'U' if begins("Use of uninitialised value of size ") => ErrorKind::UninitValue,
        b'U' if begins("Un") && has(" found during client check request") => ErrorKind::ClientCheck,
        b'U' if begins("Unsafe allocation with size of zero") => ErrorKind::InvalidSize,
        b'S' if begins("Syscall param ") => ErrorKind::SyscallParam,
        b'S' if begins("Source and destination overlap in ") => ErrorKind::Overlap,
        b'J' if begins("Jump to the invalid address stated on the next line") => {
            ErrorKind::InvalidJump
        }
        b'M' if begins("Mismatched free() / ") => ErrorKind::MismatchedFree,
        b'M' if begins("Mismatched ") && has(" alignment ") => {
            ErrorKind::MismatchedAllocateDeallocateAlignment
        }
        b'M' if begins("Mismatched ") && has(" size value: ") => {
            ErrorKind::MismatchedAllocateDeallocateSize
        }
        b'A' if begins("Argument '") && has(" has a fishy (possibly negative) value: ") => {
            ErrorKind::FishyValue
        }
        // From Valgrind 3.22 to 3.25. Later versions have the sentence about unsafe allocations.
        _ if has("() invalid size value: ") => ErrorKind::InvalidSize,
        // The function is realloc up to Valgrind 3.26, and the called function from 3.27 on.
        _ if sentence.ends_with(b"() with size 0") => ErrorKind::ReallocSizeZero,
        _ if sentence.ends_with(b" contains unaddressable byte(s)") => ErrorKind::CoreMemError,
        _ => return None,
    })
}

/// Finds Helgrind's errors. Only Helgrind names threads as `Thread #N`.
fn helgrind_kind(sentence: &[u8]) -> Option<ErrorKind> {
    if sentence.starts_with(b"Possible data race during ") {
        return Some(ErrorKind::Race);
    }
    let rest = sentence.strip_prefix(b"Thread #")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = &rest[digits..];
    let begins = |start: &str| rest.starts_with(start.as_bytes());
    Some(if begins(": lock order \"") {
        ErrorKind::LockOrder
    } else if begins(" unlocked a not-locked lock at ") {
        ErrorKind::UnlockUnlocked
    } else if begins(" unlocked lock at ") {
        ErrorKind::UnlockForeign
    } else if begins(" unlocked an invalid lock at ") {
        ErrorKind::UnlockBogus
    } else if begins("'s call to ") {
        ErrorKind::PthAPIerror
    } else if begins(": ") {
        ErrorKind::Misc
    } else {
        return None;
    })
}

fn drd_kind(sentence: &[u8]) -> Option<ErrorKind> {
    let has = |part: &str| memchr::memmem::find(sentence, part.as_bytes()).is_some();
    let begins = |start: &str| sentence.starts_with(start.as_bytes());
    Some(
        if begins("Conflicting load by thread ") || begins("Conflicting store by thread ") {
            ErrorKind::ConflictingAccess
        } else if begins("Lock on ") && has(" was held during ") {
            ErrorKind::HoldtimeErr
        } else if begins("Probably a race condition: condition variable ") {
            ErrorKind::CondRaceErr
        } else if has(": mutex 0x") || (begins("The object at address ") && has(" is not a mutex"))
        {
            ErrorKind::MutexErr
        } else if has(": cond 0x") {
            ErrorKind::CondErr
        } else if has(": semaphore 0x") {
            ErrorKind::SemaphoreErr
        } else if has(": barrier 0x") {
            ErrorKind::BarrierErr
        } else if has(": rwlock 0x") {
            ErrorKind::RwlockErr
        } else if begins("Not a ") {
            ErrorKind::GenericErr
        } else {
            return None;
        },
    )
}

/// Finds errors about file descriptors, which Valgrind's core reports from 3.23 on.
fn descriptor_kind(sentence: &[u8]) -> Option<ErrorKind> {
    let begins = |start: &str| sentence.starts_with(start.as_bytes());
    if is_open_descriptor(sentence) {
        return Some(ErrorKind::FdNotClosed);
    }
    if !begins("File descriptor ") {
        return None;
    }
    Some(if sentence.ends_with(b" is already closed") {
        ErrorKind::FdBadClose
    } else {
        ErrorKind::FdBadUse
    })
}

/// Returns true for the sentence of a descriptor that is open at exit: an error, or before Valgrind 3.23 only a remark.
pub(super) fn is_open_descriptor(sentence: &[u8]) -> bool {
    sentence.starts_with(b"Open file descriptor ")
        || (sentence.starts_with(b"Open AF_")
            && memchr::memmem::find(sentence, b" socket ").is_some())
}
