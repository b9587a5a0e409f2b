//! Lists of known names in text files: `[NAME]` begins a list, each row is one line, and `#` begins a comment.

use std::collections::HashMap;
use std::ops::Deref;

/// The lists of a file, by name.
pub(crate) type Lists = HashMap<&'static str, List>;

/// The rows of a list, in order.
pub(crate) struct List {
    rows: Vec<&'static str>,
    /// True at the first byte of each row. Rules out most names without comparing rows.
    firsts: [bool; 256],
}

impl List {
    fn new(rows: Vec<&'static str>) -> List {
        let mut firsts = [false; 256];
        for row in &rows {
            firsts[usize::from(row.as_bytes()[0])] = true;
        }
        List { rows, firsts }
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
    let lists = text.strip_prefix('[').unwrap_or(text).split("\n[");
    lists
        .filter_map(|list| list.split_once("]\n"))
        .map(|(name, rows)| {
            let rows = rows.lines().filter(|row| is_row(row));
            (name, List::new(rows.collect()))
        })
        .collect()
}

fn is_row(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

/// Defines a constant for each list in a file. The file is read on the first access to one of them.
macro_rules! lists {
    ($file:literal: $($name:ident)*) => {
        static LISTS: std::sync::LazyLock<crate::lists::Lists> =
            std::sync::LazyLock::new(|| crate::lists::read(include_str!($file)));

        $(pub(super) static $name: std::sync::LazyLock<&crate::lists::List> =
            std::sync::LazyLock::new(|| &LISTS[stringify!($name)]);)*

        #[cfg(test)]
        #[test]
        fn every_list_in_the_file_has_a_constant() {
            let mut names = vec![$(stringify!($name)),*];
            names.sort_unstable();
            let mut in_file: Vec<&str> = LISTS.keys().copied().collect();
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
        let list = &lists["A"];
        assert_eq!(list.len() + lists["B"].len(), 4);
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
}
