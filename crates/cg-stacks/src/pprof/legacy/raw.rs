//! The output of `pprof --raw` (gperftools) and `jeprof --raw`: the symbols of a profile, then the profile.
//!
//! ```text
//! file    := "--- symbol\n" "binary=" path "\n" (address " " names "\n")* "---\n" "--- " kind "\n" profile
//! names   := name ("--" name)*                   outermost first: an inlined function follows its inliner
//! kind    := "profile" | "heap" | "growth" | "contention"
//! ```
//!
//! If the program has several functions of one name, the name ends in an address: `main<0000000000001278>`. The body is in
//! one of the other formats; a heap is written in machine words, with bytes as counts. The callers' addresses are the same
//! as in the symbols, except in output of a server (`/pprof/profile`), where they are larger by one.

use cg_reader::number::whole_u64;
use cg_reader::{Error, Lines};

use super::{LegacyKind, LegacyProfile, LegacySymbol, SymbolsByAddress};

/// Returns true if a file with this first line is in this format.
pub(super) fn begins(line: &[u8]) -> bool {
    line.trim_ascii_end() == b"--- symbol"
}

/// Reads the symbols, then the profile after them.
pub(super) fn read(lines: &mut Lines, profile: &mut LegacyProfile) -> Result<(), Error> {
    let mut symbols = SymbolsByAddress::default();
    let mut is_open = false;
    loop {
        if !lines.advance().map_err(Error::Input)? {
            return Err(Error::whole(
                "expected a profile after the symbols, found the end of the file: it is cut short",
            ));
        }
        let (line, number) = (lines.last_line().trim_ascii_end(), lines.line_number());
        match line {
            b"--- symbol" if !is_open => is_open = true,
            b"---" | b"" => {}
            _ if line.starts_with(b"binary=") => {}
            b"--- profile" | b"--- heap" | b"--- growth" | b"--- contention" => break,
            _ => {
                let (address, names) = symbol(line).ok_or_else(|| {
                    Error::unexpected(number, "an address and its function", line)
                })?;
                symbols.insert(address, names);
            }
        }
    }
    let head = lines.peek(HEAD).map_err(Error::Input)?;
    let kind = super::kind(head).filter(|kind| *kind != LegacyKind::Raw);
    let kind = kind.ok_or_else(|| {
        Error::whole(
            "expected a profile of gperftools or jemalloc after the symbols, found another",
        )
    })?;
    profile.is_raw = true;
    let read = super::read(kind, lines, profile);
    // Callers were moved back into their calls, which may be one byte too far.
    for address in &profile.addresses {
        let found = symbols
            .get(address)
            .or_else(|| symbols.get(&address.wrapping_add(1)));
        if let Some(found) = found {
            profile
                .symbols
                .entry(*address)
                .or_insert_with(|| found.clone());
        }
    }
    read
}

/// The number of bytes from which the formats are recognised.
const HEAD: usize = 4096;

/// Parses a line such as `0x55664d460181 outer--inner`.
fn symbol(line: &[u8]) -> Option<(u64, Vec<LegacySymbol>)> {
    let blank = memchr::memchr(b' ', line)?;
    let address = whole_u64(&line[..blank]).filter(|_| line.starts_with(b"0x"))?;
    let mut names = Vec::new();
    let mut rest = &line[blank + 1..];
    loop {
        let end = memchr::memmem::find(rest, b"--")
            .filter(|end| !rest.starts_with(b"operator") && *end > 0);
        names.push(LegacySymbol {
            name: without_address(&rest[..end.unwrap_or(rest.len())]).to_vec(),
            file: Vec::new(),
            line: None,
        });
        match end {
            Some(end) => rest = &rest[end + 2..],
            None => break,
        }
    }
    names.reverse();
    Some((address, names))
}

/// Removes a suffix such as `<0000000000001278>`.
fn without_address(name: &[u8]) -> &[u8] {
    let digits = name.strip_suffix(b">").and_then(|name| {
        let open = memchr::memrchr(b'<', name)?;
        Some((open, &name[open + 1..]))
    });
    match digits {
        Some((open, digits))
            if open > 0 && digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit) =>
        {
            &name[..open]
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_symbols_has_an_address_and_functions() {
        for (line, expected) in [
            ("0x10 main", Some("10 main")),
            (
                "0x10 outer<0000000000001278>--inner",
                Some("10 inner outer"),
            ),
            ("0x10 operator--", Some("10 operator--")),
            ("0x10 std::vector<int>", Some("10 std::vector<int>")),
            ("10 main", None),
            ("0x10", None),
        ] {
            let found = symbol(line.as_bytes()).map(|(address, names)| {
                let names: Vec<_> = names
                    .iter()
                    .map(|symbol| String::from_utf8_lossy(&symbol.name))
                    .collect();
                format!("{address:x} {}", names.join(" "))
            });
            assert_eq!(found.as_deref(), expected, "{line}");
        }
    }
}
