//! Detection of an incomplete last line.

/// The parts of a frame after its address. They depend on the selected fields and are the same in all frames of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrintedParts {
    symbol: bool,
    offset: bool,
    object: bool,
}

impl PrintedParts {
    /// The parts of all frames, before the first frame was read.
    pub(super) const ALL: PrintedParts = PrintedParts {
        symbol: true,
        offset: true,
        object: true,
    };

    /// Returns the parts of a frame. `401131 grease+0x1 (/opt/wheel)` has all of them.
    pub(super) fn from_line(line: &[u8]) -> PrintedParts {
        let line = line.trim_ascii();
        PrintedParts {
            symbol: memchr::memchr2(b' ', b'\t', line).is_some(),
            // The offset precedes the object, so its plus sign is mostly the last one.
            offset: memchr::memrchr_iter(b'+', line).any(|plus| line[plus..].starts_with(b"+0x")),
            object: line.ends_with(b")"),
        }
    }

    /// Returns the parts that both have.
    pub(super) fn and(self, other: PrintedParts) -> PrintedParts {
        PrintedParts {
            symbol: self.symbol && other.symbol,
            offset: self.offset && other.offset,
            object: self.object && other.object,
        }
    }

    /// Returns true if it has all of these parts.
    pub(super) fn have(self, others: PrintedParts) -> bool {
        self.and(others) == others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_frame_lacks_parts_of_the_others() {
        let all = PrintedParts::from_line(b"          401131 grease+0x1 (/opt/wheel)");
        let unknown = PrintedParts::from_line(b"    7f1c [unknown] (/lib/libc.so.6)");
        let names = PrintedParts::from_line(b"    7f1c main");
        for (line, others, expected) in [
            ("7f1c2a04524a __libc_start_ca", all, false),
            (
                "7f1c2a04524a __libc_start_call_main+0x7a (/usr/lib",
                all,
                false,
            ),
            ("7f1c2a", all, false),
            ("7f1c2a", names, false),
            ("7f1c2a __libc", names, true),
            ("7f1c2a __libc (/usr/lib)", all.and(unknown), true),
            ("7f1c2a __libc (/usr/lib)", all, false),
            ("7f1c2a __libc+0x1 (/usr/lib)", all, true),
        ] {
            let parts = PrintedParts::from_line(line.as_bytes());
            assert_eq!(parts.have(others), expected, "{line}");
        }
    }
}
