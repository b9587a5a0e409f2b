//! A finding as one plain sentence: "reads 8 bytes just past a 16-byte block allocated at parse.rs:10".
//!
//! The subject is the blamed function. Unknown messages of Valgrind are used unchanged.

use cg_document::number::{grouped, plural};
use cg_stream::record::{Count, ErrorKind, LeakKind};

use crate::finding::{Details, ErrorDetails, Finding, Leak, Unprinted};
use crate::paths::Paths;
use crate::sanitizers::sanitizer_sentence;
use crate::stack::Stack;
use crate::suppression::system_call;

/// Returns the sentence without its subject and without a full stop.
pub(crate) fn sentence(finding: &Finding, paths: &Paths) -> String {
    match &finding.details {
        Details::Leak(leak) => leak_sentence(leak),
        Details::Error(error) => error_sentence(error, &finding.stack, paths),
        Details::Unprinted(Unprinted::Leaks {
            kind,
            bytes,
            blocks,
        }) => format!(
            "{} {}, in loss records that Valgrind did not print (use --leak-check=full --show-leak-kinds=all)",
            amount(*bytes, *blocks),
            kind.phrase()
        ),
        Details::Unprinted(Unprinted::Errors { contexts }) => format!(
            "the tool counted {} beyond what it printed (for a forked child, add the parent's log: it counts its parent's errors)",
            plural(*contexts, "error", "errors")
        ),
    }
}

/// Returns `64 bytes in 1 block`.
pub(crate) fn amount(bytes: Count, blocks: Count) -> String {
    format!(
        "{} in {}",
        plural(bytes, "byte", "bytes"),
        plural(blocks, "block", "blocks")
    )
}

fn leak_sentence(leak: &Leak) -> String {
    let amount = amount(leak.bytes, leak.blocks);
    let sentence = match leak.kind {
        LeakKind::Definite if leak.indirect_bytes > 0 => format!(
            "leaks {amount}, definitely lost, and with {} {} more",
            if leak.blocks == 1 { "it" } else { "them" },
            plural(Count::from(leak.indirect_bytes), "byte", "bytes")
        ),
        LeakKind::Definite => format!("leaks {amount}, definitely lost"),
        LeakKind::Indirect => {
            format!("leaks {amount}, indirectly lost: only lost blocks point there")
        }
        LeakKind::Possible => {
            format!("may leak {amount}, possibly lost: only pointers into the middle are left")
        }
        LeakKind::Reachable if leak.earlier_search => format!("holds {amount}"),
        LeakKind::Reachable => format!("still holds {amount} at exit"),
    };
    match leak.earlier_search {
        true => sentence + ", in an earlier leak search",
        false => sentence,
    }
}

fn error_sentence(error: &ErrorDetails, stack: &Stack, paths: &Paths) -> String {
    if let Some(sentence) = sanitizer_sentence(error, paths) {
        return sentence;
    }
    let sized = |verb: &str| {
        let bytes = error.size?;
        Some(format!("{verb} {}", plural(bytes.into(), "byte", "bytes")))
    };
    let sentence = match &error.kind {
        ErrorKind::InvalidRead => sized("reads"),
        ErrorKind::InvalidWrite => sized("writes"),
        ErrorKind::UninitCondition => Some("decides on uninitialised memory".to_owned()),
        ErrorKind::UninitValue => sized("uses")
            .map(|uses| format!("{uses} of uninitialised memory as an address or operand")),
        ErrorKind::SyscallParam => system_call(&error.what).map(|parameter| {
            let bytes = if error.what.contains("unaddressable") {
                "memory it may not access"
            } else {
                "uninitialised memory"
            };
            format!("passes {bytes} to the system call {parameter}")
        }),
        ErrorKind::InvalidFree => Some(format!("calls {} on", called(stack, "free"))),
        ErrorKind::MismatchedFree => Some(format!("calls {} on", called(stack, "free"))),
        ErrorKind::InvalidJump => Some("jumps to an address that is not code".to_owned()),
        ErrorKind::Overlap => error
            .what
            .strip_prefix("Source and destination overlap in ")
            .map(|call| format!("copies between overlapping blocks with {call}")),
        ErrorKind::FishyValue => fishy_value(&error.what),
        ErrorKind::FatalSignal => fatal_signal(&error.what),
        _ => None,
    };
    let Some(mut sentence) = sentence else {
        return with_notes(lower_first(&error.what), error, paths);
    };
    match &error.kind {
        ErrorKind::InvalidFree | ErrorKind::MismatchedFree => {
            sentence.push(' ');
            sentence.push_str(
                &block(error, paths)
                    .or_else(|| address(error))
                    .unwrap_or_else(|| "an address that is not a block".to_owned()),
            );
            sentence
        }
        ErrorKind::InvalidRead | ErrorKind::InvalidWrite => {
            // A comma separates the size of the access from a number that follows.
            let place = block(error, paths)
                .map(
                    |block| match block.starts_with(|first: char| first.is_ascii_digit()) {
                        true => format!(", {block}"),
                        false => format!(" {block}"),
                    },
                )
                .or_else(|| address(error).map(|address| format!(" at {address}")));
            sentence.push_str(&place.unwrap_or_default());
            sentence
        }
        _ => with_notes(sentence, error, paths),
    }
}

/// Returns the called function: the innermost frame if it is not the program's own, else `otherwise`.
fn called<'a>(stack: &'a Stack, otherwise: &'a str) -> &'a str {
    stack
        .first()
        .filter(|_| !stack.own()[0])
        .and_then(|frame| frame.name.as_deref())
        .map_or(otherwise, |name| name.split('(').next().unwrap_or(name))
}

/// Describes the block that contains or is near the address: `just past a 16-byte block allocated at parse.rs:10`.
pub(crate) fn block(error: &ErrorDetails, paths: &Paths) -> Option<String> {
    let block = error.block.as_ref()?;
    let distance = plural(block.offset.into(), "byte", "bytes");
    let is_free = matches!(
        &error.kind,
        ErrorKind::InvalidFree | ErrorKind::MismatchedFree
    );
    let side = match (block.side.as_str(), block.offset) {
        ("inside", 0) if is_free => String::new(),
        ("inside", 0) => "at the start of ".to_owned(),
        ("inside", _) => format!("{distance} into "),
        ("after", 0) => "just past ".to_owned(),
        ("after", _) => format!("{distance} past "),
        (side, _) => format!("{distance} {side} "),
    };
    let note_place = |start: &str| {
        let mut notes = error.notes.iter();
        let note = notes.find(|note| note.starts_with(start));
        note.map(|note| place(&note.stack, paths))
    };
    // The first word is Valgrind's, the others are the sanitizers'.
    let first_place = |starts: &[&str]| starts.iter().find_map(|start| note_place(start));
    let described = first_place(&["Address ", "freed ", "allocated "]).unwrap_or_default();
    let history = match block.state.as_str() {
        "allocated" => format!("allocated {described}"),
        "freed" => {
            let allocated = first_place(&["Block was alloc'd", "previously allocated "]);
            let allocated = allocated.map(|place| format!(" and allocated {place}"));
            format!("freed {described}{}", allocated.unwrap_or_default())
        }
        // Use `client-defined`, and words of later versions, unchanged.
        other => other.to_owned(),
    };
    let size = grouped(block.size.into());
    let article = if size.starts_with('8')
        || size == "11"
        || size == "18"
        || size.starts_with("11,")
        || size.starts_with("18,")
    {
        "an"
    } else {
        "a"
    };
    Some(format!("{side}{article} {size}-byte block {history}"))
}

/// Describes an address outside any block.
fn address(error: &ErrorDetails) -> Option<String> {
    let address = error.address.as_deref()?;
    let value = u64::from_str_radix(address.trim_start_matches("0x"), 16).ok();
    if value.is_some_and(|value| value < 4096) {
        // The first page is never mapped, so the program used a null pointer with an offset.
        return Some(format!("{address}, through a null pointer"));
    }
    let note = error
        .notes
        .iter()
        .find(|note| note.starts_with("Address "))?;
    let (_, description) = note.what.as_deref()?.split_once(" is ")?;
    if description.starts_with("not stack'd") {
        return Some(format!(
            "{address}, which is not in a block, not on a stack, and not recently freed"
        ));
    }
    Some(format!("{address}, which is {}", description.trim()))
}

/// Returns `passes -3 as size to malloc`.
fn fishy_value(what: &str) -> Option<String> {
    let rest = what.strip_prefix("Argument '")?;
    let (argument, rest) = rest.split_once("' of function ")?;
    let (function, value) = rest.split_once(" has a fishy (possibly negative) value:")?;
    Some(format!(
        "passes {} as {argument} to {function}",
        value.trim()
    ))
}

/// Returns `is ended by SIGSEGV` for `Process terminating with default action of signal 11 (SIGSEGV)`.
fn fatal_signal(what: &str) -> Option<String> {
    let (_, signal) = what.split_once(" of signal ")?;
    Some(match signal.split_once(" (") {
        Some((_, name)) => format!("is ended by {}", name.trim_end_matches(')')),
        None => format!("is ended by signal {signal}"),
    })
}

/// Appends the notes to the sentence. Notes of an unknown form keep Valgrind's words.
fn with_notes(mut sentence: String, error: &ErrorDetails, paths: &Paths) -> String {
    for note in &error.notes {
        let Some(what) = note.what.as_deref().map(str::trim) else {
            continue;
        };
        let addition = if let Some(by) = what.strip_prefix("Uninitialised value was created by ") {
            match by {
                // The description of the block already contains the allocation.
                "a heap allocation" if block(error, paths).is_some() => continue,
                "a heap allocation" => format!("allocated {}", place(&note.stack, paths)),
                "a stack allocation" => format!("a variable of {}", function(&note.stack)),
                _ => format!("created by {by} {}", place(&note.stack, paths)),
            }
        } else if let Some(block) = block(error, paths).filter(|_| note.starts_with("Address ")) {
            block
        } else if what.starts_with("Block was alloc'd") {
            continue;
        } else {
            lower_first(what)
        };
        sentence.push_str(", ");
        sentence.push_str(&addition);
    }
    sentence
}

/// Returns the place of a stack: `at parse.rs:10`, otherwise `in parse_line` or `in libfoo.so`.
pub(crate) fn place(stack: &Stack, paths: &Paths) -> String {
    let Some(frame) = stack.blamed_frame() else {
        return "at an unknown place".to_owned();
    };
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("at {}:{line}", paths.shown(file)),
        (Some(file), None) => format!("in {}", paths.shown(file)),
        _ => format!("in {}", function(stack)),
    }
}

fn function(stack: &Stack) -> &str {
    stack
        .blamed_frame()
        .and_then(|frame| {
            let name = frame.name.as_deref().filter(|name| *name != "???");
            name.or(frame.obj.as_deref())
        })
        .unwrap_or("an unknown function")
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !chars.as_str().starts_with(|c: char| c.is_uppercase()) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::finding::{FindingNote, ProcessId};
    use cg_parse::findings::Described;
    use cg_stream::record::{Frame, Name};

    /// A function, a file and a line.
    type FrameText = (&'static str, &'static str, u64);

    fn stack(frames: &[FrameText]) -> Stack {
        frames
            .iter()
            .map(|(name, file, line)| Frame {
                name: Some(Name::from(*name)),
                file: (!file.is_empty()).then(|| Name::from(*file)),
                line: (*line > 0).then_some(*line),
                ..Frame::default()
            })
            .collect()
    }

    fn check(kind: &str, what: &str, notes: &[(&str, &[FrameText])], expected: &str) {
        let described = Described::parse(what, notes.iter().map(|(what, _)| *what));
        let finding = Finding {
            process: ProcessId(0),
            details: Details::Error(ErrorDetails {
                kind: ErrorKind::from(kind),
                what: what.to_owned(),
                count: 1,
                size: described.size,
                address: described.address.map(str::to_owned),
                block: described.block,
                thread: None,
                thread_name: None,
                notes: notes
                    .iter()
                    .map(|(what, frames)| FindingNote {
                        what: Some((*what).to_owned()),
                        stack: stack(frames),
                    })
                    .collect(),
            }),
            stack: stack(&[("free", "", 0), ("parse", "parse.rs", 3)]),
            suppression: None::<Rc<str>>,
        };
        assert_eq!(sentence(&finding, &Paths::default()), expected);
    }

    #[test]
    fn errors_read_as_plain_sentences() {
        let allocated: &[_] = &[("malloc", "", 0), ("parse", "parse.rs", 10)];
        let freed: &[_] = &[("free", "", 0), ("drop", "drop.c", 4)];
        check(
            "InvalidRead",
            "Invalid read of size 8",
            &[(
                "Address 0x4a435e8 is 0 bytes after a block of size 16 alloc'd",
                allocated,
            )],
            "reads 8 bytes just past a 16-byte block allocated at parse.rs:10",
        );
        check(
            "InvalidWrite",
            "Invalid write of size 1",
            &[
                (
                    "Address 0x4a435c8 is 1,008 bytes inside a block of size 8,040 free'd",
                    freed,
                ),
                ("Block was alloc'd at", allocated),
            ],
            "writes 1 byte, 1,008 bytes into an 8,040-byte block freed at drop.c:4 and allocated at parse.rs:10",
        );
        check(
            "InvalidRead",
            "Invalid read of size 4",
            &[(
                "Address 0x10 is not stack'd, malloc'd or (recently) free'd",
                &[],
            )],
            "reads 4 bytes at 0x10, through a null pointer",
        );
        check(
            "InvalidRead",
            "Invalid read of size 4",
            &[("Address 0x1ffeffe7a0 is on thread 1's stack", &[])],
            "reads 4 bytes at 0x1ffeffe7a0, which is on thread 1's stack",
        );
        check(
            "InvalidFree",
            "Invalid free() / delete / delete[] / realloc()",
            &[
                (
                    "Address 0x4a435c0 is 0 bytes inside a block of size 40 free'd",
                    freed,
                ),
                ("Block was alloc'd at", allocated),
            ],
            "calls free on a 40-byte block freed at drop.c:4 and allocated at parse.rs:10",
        );
        check(
            "UninitCondition",
            "Conditional jump or move depends on uninitialised value(s)",
            &[(
                "Uninitialised value was created by a heap allocation",
                allocated,
            )],
            "decides on uninitialised memory, allocated at parse.rs:10",
        );
        check(
            "UninitCondition",
            "Conditional jump or move depends on uninitialised value(s)",
            &[(
                "Uninitialised value was created by a stack allocation",
                allocated,
            )],
            "decides on uninitialised memory, a variable of parse",
        );
        check(
            "SyscallParam",
            "Syscall param write(buf) points to uninitialised byte(s)",
            &[(
                "Address 0x4a435e8 is 4 bytes inside a block of size 32 alloc'd",
                allocated,
            )],
            "passes uninitialised memory to the system call write(buf), 4 bytes into a 32-byte block allocated at parse.rs:10",
        );
        check(
            "FishyValue",
            "Argument 'size' of function malloc has a fishy (possibly negative) value: -3",
            &[],
            "passes -3 as size to malloc",
        );
        check(
            "Overlap",
            "Source and destination overlap in memcpy(0x4a43604, 0x4a43600, 20)",
            &[],
            "copies between overlapping blocks with memcpy(0x4a43604, 0x4a43600, 20)",
        );
        check(
            "Race",
            "Possible data race during read of size 4 at 0x10C044 by thread #3",
            &[(
                "This conflicts with a previous write of size 4 by thread #2",
                &[],
            )],
            "possible data race during read of size 4 at 0x10C044 by thread #3, this conflicts with a previous write of size 4 by thread #2",
        );
        check("NewKind", "Something new", &[], "something new");
    }

    #[test]
    fn the_sentence_of_a_leak_has_its_size_and_kind() {
        let sentence_in = |earlier_search, kind, bytes, blocks, indirect_bytes| {
            leak_sentence(&Leak {
                kind,
                bytes,
                blocks,
                indirect_bytes,
                earlier_search,
            })
        };
        let sentence =
            |kind, bytes, blocks, indirect| sentence_in(false, kind, bytes, blocks, indirect);
        assert_eq!(
            sentence_in(true, LeakKind::Definite, 64, 1, 0),
            "leaks 64 bytes in 1 block, definitely lost, in an earlier leak search"
        );
        assert_eq!(
            sentence(LeakKind::Definite, 64, 1, 0),
            "leaks 64 bytes in 1 block, definitely lost"
        );
        assert_eq!(
            sentence(LeakKind::Definite, 3_200, 2, 1),
            "leaks 3,200 bytes in 2 blocks, definitely lost, and with them 1 byte more"
        );
        assert_eq!(
            sentence(LeakKind::Reachable, 1, 1, 0),
            "still holds 1 byte in 1 block at exit"
        );
    }
}
