//! Lists of known names in text files: `[NAME]` begins a list, each row is one line, and `#` begins a comment.

use std::ops::Deref;

use memchr::memchr;

/// The lists of a file, with their names.
pub(crate) type Lists = Vec<(&'static str, List)>;

/// The rows of a list, in order.
pub(crate) struct List {
    rows: Vec<&'static str>,
    /// True at the first byte of each row. Rules out most names without comparing rows.
    firsts: [bool; 256],
}

impl List {
    fn new() -> List {
        List {
            rows: Vec::new(),
            firsts: [false; 256],
        }
    }

    fn add(&mut self, row: &'static str) {
        self.firsts[usize::from(row.as_bytes()[0])] = true;
        self.rows.push(row);
    }

    /// Returns true if a row equals this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.may_begin(name) && self.rows.contains(&name)
    }

    /// Returns true if the text begins with a row.
    pub(crate) fn begins(&self, text: &str) -> bool {
        self.may_begin(text) && self.rows.iter().any(|row| text.starts_with(row))
    }

    /// Returns true if the text contains a row.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.rows.iter().any(|row| text.contains(row))
    }

    fn may_begin(&self, text: &str) -> bool {
        let first = text.as_bytes().first();
        first.is_some_and(|first| self.firsts[usize::from(*first)])
    }
}

impl Deref for List {
    type Target = [&'static str];

    fn deref(&self) -> &[&'static str] {
        &self.rows
    }
}

/// Reads a file of lists.
pub(crate) fn read(text: &'static str) -> Lists {
    let mut lists = Lists::new();
    for line in lines(text).filter(|line| is_row(line)) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
        {
            lists.push((name, List::new()));
        } else if let Some((_, list)) = lists.last_mut() {
            list.add(line);
        }
    }
    lists
}

/// Returns the list with a name.
pub(crate) fn find<'a>(lists: &'a [(&'static str, List)], name: &str) -> &'a List {
    let found = lists.iter().find(|(known, _)| *known == name);
    let (_, list) = found.expect("a test compares the constants with the lists of the file");
    list
}

/// Returns the lines of a text, without their ends.
pub(crate) fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    })
}

fn is_row(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

/// The lines of a text, with a hash table that the compiler builds. The first lookup needs no preparation.
pub(crate) struct NameSet<const SLOTS: usize> {
    text: &'static str,
    /// The position of a line in the text plus one, or 0. A line is in the first free slot from its hash onwards.
    slots: [u16; SLOTS],
}

impl<const SLOTS: usize> NameSet<SLOTS> {
    /// Builds the set. Every line ends with a line end, the text is shorter than 64 KiB, and it has fewer lines than slots.
    pub(crate) const fn new(text: &'static str) -> NameSet<SLOTS> {
        let bytes = text.as_bytes();
        assert!(bytes.len() < u16::MAX as usize);
        let mut slots = [0; SLOTS];
        let mut line = 0;
        let mut hash = HASH_OF_NOTHING;
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'\n' {
                let mut slot = hash as usize % SLOTS;
                while slots[slot] != 0 {
                    slot = (slot + 1) % SLOTS;
                }
                slots[slot] = line as u16 + 1;
                line = at + 1;
                hash = HASH_OF_NOTHING;
            } else {
                hash = add_to_hash(hash, bytes[at]);
            }
            at += 1;
        }
        NameSet { text, slots }
    }

    /// Returns true if a line equals this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        let hash = name.bytes().fold(HASH_OF_NOTHING, add_to_hash);
        let mut slot = hash as usize % SLOTS;
        while self.slots[slot] != 0 {
            let line = usize::from(self.slots[slot] - 1);
            let rest = &self.text.as_bytes()[line..];
            if rest.starts_with(name.as_bytes()) && rest.get(name.len()) == Some(&b'\n') {
                return true;
            }
            slot = (slot + 1) % SLOTS;
        }
        false
    }
}

/// The start of FNV-1a, which is good enough for short names.
const HASH_OF_NOTHING: u32 = 0x811c_9dc5;

const fn add_to_hash(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// Defines a constant for each list in a file. The file is read on the first access to one of them.
macro_rules! lists {
    ($file:literal: $($name:ident)*) => {
        static LISTS: std::sync::LazyLock<crate::lists::Lists> =
            std::sync::LazyLock::new(|| crate::lists::read(include_str!($file)));

        $(pub(super) static $name: std::sync::LazyLock<&crate::lists::List> =
            std::sync::LazyLock::new(|| crate::lists::find(&LISTS, stringify!($name)));)*

        #[cfg(test)]
        #[test]
        fn every_list_in_the_file_has_a_constant() {
            let mut names = vec![$(stringify!($name)),*];
            names.sort_unstable();
            let mut in_file: Vec<&str> = LISTS.iter().map(|(name, _)| *name).collect();
            in_file.sort_unstable();
            assert_eq!(in_file, names);
        }
    };
}

pub(crate) use lists;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_in_a_list_agree_with_its_rows() {
        let lists = read("[A]\n# A comment.\nmalloc\nma\n\n_Zn\n[B]\nx\n");
        let list = find(&lists, "A");
        assert_eq!(list.len() + find(&lists, "B").len(), 4);
        for text in [
            "", "m", "ma", "max", "malloc", "mallocx", "_Zn", "_Znwm", "_", "x_Zn", "é",
        ] {
            assert_eq!(list.contains(text), list.rows.contains(&text), "{text}");
            let begins = list.iter().any(|row| text.starts_with(row));
            assert_eq!(list.begins(text), begins, "{text}");
            assert_eq!(
                list.is_in(text),
                list.iter().any(|row| text.contains(row)),
                "{text}"
            );
        }
    }

    #[test]
    fn set_of_names_contains_its_lines_and_nothing_else() {
        const TEXT: &str = "malloc\nma\nfree\nrealloc\nx\n";
        static NAMES: NameSet<8> = NameSet::new(TEXT);
        for length in 0..=TEXT.len() {
            for start in 0..=TEXT.len() - length {
                let name = &TEXT[start..start + length];
                if !name.contains('\n') {
                    let is_line = TEXT.lines().any(|line| line == name);
                    assert_eq!(NAMES.contains(name), is_line, "{name}");
                }
            }
        }
        assert!(!NAMES.contains("é"));
    }
}
