//! The mappings of a process: lines of `/proc/PID/maps`, or pprof's shorter ones, `400000-4b8000: /opt/prog (@1000)`.

use cg_reader::{Error, Lines};

/// The objects in an address space.
#[derive(Default)]
pub(super) struct ObjectMaps {
    mappings: Vec<LegacyMapping>,
}

struct LegacyMapping {
    start: u64,
    end: u64,
    offset: u64,
    object: Vec<u8>,
}

/// Returns true if the mappings follow this line.
pub(super) fn begins(line: &[u8]) -> bool {
    [&b"MAPPED_LIBRARIES:"[..], b"--- Memory map: ---"]
        .iter()
        .any(|words| memchr::memmem::find(line, words).is_some())
}

impl ObjectMaps {
    /// Reads mappings to the end of the input. Skips other lines.
    pub(super) fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while let Some(line) = lines.next_line().map_err(Error::Input)? {
            self.read_line(line);
        }
        Ok(())
    }

    pub(super) fn read_line(&mut self, line: &[u8]) {
        self.mappings.extend(mapping(line));
    }

    /// Iterates over the objects in file order.
    pub(super) fn objects(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.mappings
            .iter()
            .map(|mapping| mapping.object.as_slice())
    }

    /// Returns the object at an address, and the offset in its file.
    pub(super) fn find(&self, address: u64) -> Option<(&[u8], u64)> {
        let holds = |mapping: &&LegacyMapping| (mapping.start..mapping.end).contains(&address);
        // If an object is mapped in several parts, some producers omit the first.
        let would_hold = |mapping: &&LegacyMapping| {
            let start = mapping.start.saturating_sub(mapping.offset);
            (start..mapping.start).contains(&address)
        };
        let mapping = self
            .mappings
            .iter()
            .find(holds)
            .or_else(|| self.mappings.iter().find(would_hold))?;
        let offset = address
            .wrapping_sub(mapping.start)
            .wrapping_add(mapping.offset);
        Some((&mapping.object, offset))
    }
}

/// Parses a line; `None` if it is not a mapping of code in a file.
fn mapping(line: &[u8]) -> Option<LegacyMapping> {
    let (range, rest) = word(line);
    let range = range.strip_suffix(b":").unwrap_or(range);
    let hyphen = memchr::memchr(b'-', range)?;
    let (start, end) = (hex(&range[..hyphen])?, hex(&range[hyphen + 1..])?);
    let (second, rest) = word(rest);
    let is_permissions = |word: &[u8]| {
        word.len() >= 3
            && word
                .iter()
                .all(|byte| matches!(byte, b'-' | b'r' | b'w' | b'x' | b'p' | b's'))
    };
    let (offset, object) = if is_permissions(second) {
        if !second.contains(&b'x') {
            return None;
        }
        let (offset, rest) = word(rest);
        let (_device, rest) = word(rest);
        let (_inode, rest) = word(rest);
        (hex(offset)?, rest.trim_ascii())
    } else {
        let (mark, _) = word(rest);
        let offset = mark
            .strip_prefix(b"(@")
            .and_then(|mark| mark.strip_suffix(b")"))
            .map_or(Some(0), hex)?;
        (offset, second)
    };
    (!object.is_empty()).then(|| LegacyMapping {
        start,
        end,
        offset,
        object: object.to_vec(),
    })
}

/// Splits a text after its first word.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let length = text
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(text.len());
    text.split_at(length)
}

fn hex(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_objects() {
        let mut maps = ObjectMaps::default();
        for line in [
            "00400000-00401000 r--p 00000000 fe:01 12 /opt/my prog",
            "00401000-00402000 r-xp 00001000 fe:01 12 /opt/my prog",
            "7f00-8f00: /lib/x.so (@3000)",
            "9f00-af00: /lib/y.so",
            "7ffd000-7ffe000 r-xp 00000000 00:00 0",
            "build=/x",
        ] {
            maps.read_line(line.as_bytes());
        }
        let found = |address| maps.find(address);
        assert_eq!(found(0x401010), Some((&b"/opt/my prog"[..], 0x1010)));
        assert_eq!(found(0x400010), Some((&b"/opt/my prog"[..], 0x10)));
        assert_eq!(found(0x7f10), Some((&b"/lib/x.so"[..], 0x3010)));
        assert_eq!(found(0x9f10), Some((&b"/lib/y.so"[..], 0x10)));
        assert_eq!(found(0x7ffd010), None);
        assert_eq!(found(0x402000), None);
    }
}
