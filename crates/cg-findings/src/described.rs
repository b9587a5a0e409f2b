//! The figures in Valgrind's sentences about errors: `Invalid read of size 8`, and the description of an address by
//! `m_addrinfo.c:pp_addrinfo`, `Address 0x4a435ec is 1,234 bytes after a block of size 40 alloc'd`.

use cg_stream::record::HeapBlock;

use super::fields::{amount, skip};

/// What the sentences of an error tell in figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described<'a> {
    /// How many bytes were read, written or used.
    pub size: Option<u64>,
    /// The address, as the log has it.
    pub address: Option<&'a str>,
    /// The heap block that the address is in or near.
    pub block: Option<HeapBlock>,
}

impl<'a> Described<'a> {
    /// Takes the sentence of an error and those of its notes apart.
    pub fn of(what: &'a str, notes: impl Iterator<Item = &'a str>) -> Described<'a> {
        let mut described = Described {
            size: size(what),
            // Races and invalid jumps name the address in the sentence itself.
            address: what.split(' ').find_map(hexadecimal),
            block: None,
        };
        for note in notes {
            let note = note.trim();
            if let Some(description) = note.strip_prefix("Address ") {
                let address = description.split(' ').next().and_then(hexadecimal);
                described.address = address.or(described.address);
                described.block = block(description);
                break;
            }
            // That of a fatal signal.
            if let Some((_, address)) = note.split_once(" at address ") {
                described.address = described.address.or(hexadecimal(address));
            }
        }
        described
    }
}

/// `… of size 8`, with more behind it or not.
fn size(what: &str) -> Option<u64> {
    const STARTS: [&str; 5] = [
        "Invalid read of size ",
        "Invalid write of size ",
        "Use of uninitialised value of size ",
        "Possible data race during ",
        "Conflicting ",
    ];
    if !STARTS.iter().any(|start| what.starts_with(start)) {
        return None;
    }
    let (_, size) = what.split_once(" size ")?;
    Some(amount(size.as_bytes())?.0.value)
}

fn hexadecimal(word: &str) -> Option<&str> {
    let word = word.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
    let digits = word.strip_prefix("0x")?;
    let is_address = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_address.then_some(word)
}

/// What follows `Address `; the block may be `recently re-allocated`.
fn block(description: &str) -> Option<HeapBlock> {
    let (_, rest) = description.split_once(" is ")?;
    let (offset, rest) = amount(rest.as_bytes())?;
    let rest = skip(rest, b" bytes ")?;
    let (side, rest) = ["before", "inside", "after"]
        .into_iter()
        .find_map(|side| Some((side, skip(rest, side.as_bytes())?)))?;
    let of_size = memchr::memmem::find(rest, b" of size ")?;
    let (size, rest) = amount(&rest[of_size + b" of size ".len()..])?;
    let state = std::str::from_utf8(rest).ok()?.trim();
    Some(HeapBlock {
        size: size.value,
        offset: offset.value,
        side: side.to_owned(),
        state: match state {
            "alloc'd" => "allocated",
            "free'd" => "freed",
            other => other,
        }
        .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `size address side+offset/size state`.
    fn check(what: &str, notes: &[&str], expected: &str) {
        let described = Described::of(what, notes.iter().copied());
        let block = described.block.map(|block| {
            let HeapBlock {
                size,
                offset,
                side,
                state,
            } = block;
            format!("{side}+{offset}/{size} {state}")
        });
        let text = format!(
            "{} {} {}",
            described
                .size
                .map_or("-".to_owned(), |size| size.to_string()),
            described.address.unwrap_or("-"),
            block.as_deref().unwrap_or("-")
        );
        assert_eq!(text, expected, "{what}");
    }

    #[test]
    fn sentences_are_taken_apart() {
        check(
            "Invalid read of size 8",
            &["Address 0x4a435e8 is 0 bytes after a block of size 16 alloc'd"],
            "8 0x4a435e8 after+0/16 allocated",
        );
        check(
            "Invalid write of size 1",
            &[
                "Address 0x4a435c8 is 1,008 bytes inside a block of size 8,040 free'd",
                "Block was alloc'd at",
            ],
            "1 0x4a435c8 inside+1008/8040 freed",
        );
        check(
            "Invalid read of size 4",
            &["Address 0x10 is not stack'd, malloc'd or (recently) free'd"],
            "4 0x10 -",
        );
        check(
            "Invalid read of size 1",
            &["Address 0x1FF is 1 bytes before a recently re-allocated block of size 2 alloc'd"],
            "1 0x1FF before+1/2 allocated",
        );
        check(
            "Syscall param write(buf) points to uninitialised byte(s)",
            &["Address 0x4a4 is 4 bytes inside a block of size 32 client-defined"],
            "- 0x4a4 inside+4/32 client-defined",
        );
        check(
            "Possible data race during read of size 4 at 0x10C044 by thread #3",
            &["This conflicts with a previous write of size 4 by thread #2"],
            "4 0x10C044 -",
        );
        check(
            "Conflicting load by thread 1 at 0x0010c044 size 4",
            &[],
            "4 0x0010c044 -",
        );
        check(
            "Process terminating with default action of signal 11 (SIGSEGV)",
            &["Access not within mapped region at address 0x0"],
            "- 0x0 -",
        );
        check("Invalid size value: 0", &[], "- - -");
        check(
            "Invalid read of size x",
            &["Address 0x4 is 1 bytes"],
            "- 0x4 -",
        );
        check(
            "Use of uninitialised value of size 8",
            &["Uninitialised value was created by a heap allocation"],
            "8 - -",
        );
    }
}
