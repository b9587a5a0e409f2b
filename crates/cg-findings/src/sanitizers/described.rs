//! The numbers in a sanitizer's sentences: `WRITE of size 1 at 0x602 thread T0`, `0x602 is located 2 bytes after 10-byte
//! region [0x600,0x60a)`.

use cg_stream::record::HeapBlock;
use memchr::memmem;

use crate::described::Described;
use crate::fields::{amount, skip, whole_amount};

/// Parses the sentences of an error and of its notes.
pub(crate) fn parse<'a>(
    what: &'a str,
    notes: impl Iterator<Item = &'a str> + Clone,
) -> Described<'a> {
    let is_freed = notes.clone().any(|note| note.starts_with("freed by "));
    let is_allocated = notes.clone().any(|note| note.contains("allocated "));
    let state = match (is_freed, is_allocated) {
        (true, _) => "freed",
        (false, true) => "allocated",
        _ => "unknown",
    };
    Described {
        size: number_after(what, " of size "),
        address: [" at 0x", " address 0x", " on 0x"]
            .iter()
            .find_map(|words| find_address(what, words)),
        block: notes.into_iter().find_map(|note| block(note, state)),
    }
}

fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    Some(amount(rest.as_bytes())?.0.value)
}

fn find_address<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let at = text.find(words)? + words.len() - "0x".len();
    let digits = text[at + 2..]
        .bytes()
        .take_while(u8::is_ascii_hexdigit)
        .count();
    (digits > 0).then(|| &text[at..at + 2 + digits])
}

/// Parses `0x602 is located 2 bytes to the right of 10-byte region [0x600,0x60a)`. Since version 16, LLVM prints `after` and
/// `before`.
fn block(note: &str, state: &str) -> Option<HeapBlock> {
    let (_, rest) = note.split_once(" is located ")?;
    let (offset, rest) = amount(rest.as_bytes())?;
    let rest = skip(rest, b" bytes ")?;
    const SIDES: [(&str, &str); 5] = [
        ("to the right of ", "after"),
        ("to the left of ", "before"),
        ("inside of ", "inside"),
        ("after ", "after"),
        ("before ", "before"),
    ];
    let (side, rest) = SIDES
        .iter()
        .find_map(|(words, side)| Some((*side, skip(rest, words.as_bytes())?)))?;
    let rest = skip(rest, b"a ").unwrap_or(rest);
    let end = memmem::find(rest, b"-byte region ")?;
    Some(HeapBlock {
        size: whole_amount(&rest[..end])?,
        offset: offset.value,
        side: side.to_owned(),
        state: state.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with `size address side+offset/size state`.
    fn check(what: &str, notes: &[&str], expected: &str) {
        let described = parse(what, notes.iter().copied());
        let block = described.block.map(|block| {
            format!(
                "{}+{}/{} {}",
                block.side, block.offset, block.size, block.state
            )
        });
        let size = described.size.map(|size| size.to_string());
        let fields = [size.as_deref(), described.address, block.as_deref()];
        assert_eq!(
            fields.map(|field| field.unwrap_or("-")).join(" "),
            expected,
            "{what}"
        );
    }

    #[test]
    fn sentences_of_sanitizers_are_parsed() {
        check(
            "heap-buffer-overflow: WRITE of size 1 at 0x60200000001c thread T0",
            &[
                "0x60200000001c is located 2 bytes to the right of 10-byte region [0x602000000010,0x60200000001a)",
                "allocated by thread T0 here",
            ],
            "1 0x60200000001c after+2/10 allocated",
        );
        check(
            "heap-use-after-free: READ of size 8 at 0x613 thread T0",
            &[
                "0x613 is located 3 bytes inside of 16-byte region [0x610,0x620)",
                "freed by thread T0 here",
                "previously allocated by thread T0 here",
            ],
            "8 0x613 inside+3/16 freed",
        );
        check(
            "heap-buffer-overflow: READ of size 4 at 0x60c thread T0",
            &[
                "0x60c is located 4 bytes before 16-byte region [0x610,0x620)",
                "allocated by thread T0 here",
            ],
            "4 0x60c before+4/16 allocated",
        );
        check(
            "data race: Write of size 4 at 0x7b04 by thread T2",
            &[],
            "4 0x7b04 -",
        );
        check(
            "alloc-dealloc-mismatch (malloc vs operator delete) on 0x602",
            &[],
            "- 0x602 -",
        );
        check(
            "use-of-uninitialized-value",
            &["Address 0x7f is located in stack of thread T0"],
            "- - -",
        );
    }
}
