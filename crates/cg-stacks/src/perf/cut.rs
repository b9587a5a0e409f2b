//! Whether the last line of a text, which lacks its end, lacks more than that.

/// What a frame has behind its address, as the fields that perf was asked for decide: alike in all frames of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrintedParts {
    symbol: bool,
    offset: bool,
    object: bool,
}

impl PrintedParts {
    /// What all frames have before one was seen.
    pub(super) const ALL: PrintedParts = PrintedParts {
        symbol: true,
        offset: true,
        object: true,
    };

    /// What one has: `401131 grease+0x1 (/opt/wheel)` has all.
    pub(super) fn of(line: &[u8]) -> PrintedParts {
        let line = line.trim_ascii();
        PrintedParts {
            symbol: line.contains(&b' '),
            offset: memchr::memmem::find(line, b"+0x").is_some(),
            object: line.ends_with(b")"),
        }
    }

    /// What both have.
    pub(super) fn and(self, other: PrintedParts) -> PrintedParts {
        PrintedParts {
            symbol: self.symbol && other.symbol,
            offset: self.offset && other.offset,
            object: self.object && other.object,
        }
    }

    /// Whether it has all of these.
    pub(super) fn have(self, others: PrintedParts) -> bool {
        self.and(others) == others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_is_cut_lacks_what_others_have() {
        let all = PrintedParts::of(b"          401131 grease+0x1 (/opt/wheel)");
        let unknown = PrintedParts::of(b"    7f1c [unknown] (/lib/libc.so.6)");
        let names = PrintedParts::of(b"    7f1c main");
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
            let parts = PrintedParts::of(line.as_bytes());
            assert_eq!(parts.have(others), expected, "{line}");
        }
    }
}
