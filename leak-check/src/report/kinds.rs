//! Names and explanations of the kinds of findings, for formats with rules.

use cg_stream::record::LeakKind;

use super::ReportEntry;

/// Returns the name of the rule for the kind of a finding.
pub(super) fn rule(entry: &ReportEntry<'_>) -> String {
    match entry.finding.leak_kind() {
        Some(kind) => leak_rule(kind).to_owned(),
        None => entry.finding.kind().to_owned(),
    }
}

fn leak_rule(kind: LeakKind) -> &'static str {
    match kind {
        LeakKind::Definite => "DefiniteLeak",
        LeakKind::Indirect => "IndirectLeak",
        LeakKind::Possible => "PossibleLeak",
        LeakKind::Reachable => "ReachableLeak",
    }
}

/// Explains a rule in one sentence.
pub(super) fn meaning(rule: &str) -> &'static str {
    match rule {
        "DefiniteLeak" => "Nothing points to the block any more, so it can never be freed.",
        "IndirectLeak" => "Only lost blocks point to the block.",
        "PossibleLeak" => "Only pointers into the middle of the block are left.",
        "ReachableLeak" => "The block was still in use when the program ended.",
        "InvalidRead" => "The program reads memory that it may not access.",
        "InvalidWrite" => "The program writes memory that it may not access.",
        "InvalidJump" => "The program jumps to an address that is not code.",
        "InvalidFree" | "double-free" | "bad-free" => {
            "The program frees an address that is not a live block: it was freed before, or never allocated."
        }
        "MismatchedFree" | "alloc-dealloc-mismatch" | "new-delete-type-mismatch" => {
            "The program frees a block with a function that does not belong to its allocation."
        }
        "UninitCondition" => "A branch depends on memory that was never written.",
        "UninitValue" | "use-of-uninitialized-value" => {
            "The program uses memory that was never written."
        }
        "SyscallParam" => {
            "The program passes memory to the kernel that it never wrote or may not access."
        }
        "Overlap" => "Source and destination of a copy overlap.",
        "FishyValue" => "The size of an allocation looks like a negative number.",
        "ReallocSizeZero" => {
            "The program calls realloc with size 0, which implementations treat differently."
        }
        "FdBadClose" => "The program closes a file descriptor twice.",
        "FdNotClosed" => "The program leaves a file descriptor open.",
        "Race" | "ConflictingAccess" | "data-race" => {
            "Two threads access the same memory without a common lock, and at least one of them writes."
        }
        "LockOrder" | "lock-order-inversion" => {
            "Threads take locks in different orders, which can deadlock."
        }
        "FatalSignal" => "A signal ended the process.",
        "Unprinted" => "Valgrind counted errors that its log does not show.",
        "heap-buffer-overflow" => "The program accesses memory outside a heap block.",
        "heap-use-after-free" => "The program accesses a heap block that was freed.",
        "stack-buffer-overflow" | "stack-buffer-underflow" | "dynamic-stack-buffer-overflow" => {
            "The program accesses memory outside a variable on the stack."
        }
        "global-buffer-overflow" => "The program accesses memory outside a global variable.",
        "stack-use-after-return" | "stack-use-after-scope" => {
            "The program accesses a variable after the end of its lifetime."
        }
        "stack-overflow" => "The program exceeds the limit of its stack.",
        "thread-leak" => "The program neither joins nor detaches a thread.",
        rule if rule.starts_with(|first: char| first.is_ascii_lowercase()) => {
            "A sanitizer reports an error."
        }
        _ => "Valgrind reports an error.",
    }
}
