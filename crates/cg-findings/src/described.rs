//! The numbers in Valgrind's sentences about errors: `Invalid read of size 8`, and descriptions of addresses
//! (`m_addrinfo.c:pp_addrinfo`): `Address 0x4a435ec is 1,234 bytes after a block of size 40 alloc'd`.

use cg_stream::record::HeapBlock;

use super::fields::{amount, skip};

/// The numbers in the sentences of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described<'a> {
    /// The number of bytes that were read, written or used.
    pub size: Option<u64>,
    /// The address, in the form of the log.
    pub address: Option<&'a str>,
    /// The heap block that contains or is near the address.
    pub block: Option<HeapBlock>,
}

impl<'a> Described<'a> {
    /// Parses the sentences of an error and of its notes.
    pub fn parse(what: &'a str, notes: impl Iterator<Item = &'a str>) -> Described<'a> {
        let mut described = Described {
            size: size(what),
            // In races and invalid jumps, the sentence itself contains the address.
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
            // The address of a fatal signal.
            if let Some((_, address)) = note.split_once(" at address ") {
                described.address = described.address.or(hexadecimal(address));
            }
        }
        described
    }
}

/// Returns the number after `size` in `… of size 8 …`.
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

/// Parses the text after `Address `. The block may be `recently re-allocated`.
fn block(description: &str) -> Option<HeapBlock> {
    let (_, rest) = description.split_once(" is ")?;
    let (offset, rest) = amount(rest.as_bytes())?;
    let rest = skip(rest, b" bytes ")?;
    let (side, rest) = ["before", "inside", "after"]
        .into_iter()
        .find_map(|side| Some((side, skip(rest, side.as_bytes())?)))?;
    let size = memchr::memmem::find(rest, b" of size ")? + b" of size ".len();
    let (size, rest) = amount(&rest[size..])?;
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

    /// Compares with `size address side+offset/size state`.
    fn check(what: &str, notes: &[&str], expected: &str) {
        let described = Described::parse(what, notes.iter().copied());
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
    fn sentences_are_parsed() {
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
