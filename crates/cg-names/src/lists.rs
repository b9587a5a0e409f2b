//! Lists of known names, which are text files: `[NAME]` begins a list, each row has a line, and `#` begins a comment.

use std::collections::HashMap;
use std::ops::Deref;

/// The lists of a file, by name.
pub(crate) type Lists = HashMap<&'static str, List>;

/// A list: its rows, in order.
pub(crate) struct List {
    rows: Vec<&'static str>,
    /// By byte: whether a row begins with it. Few names begin as any row does.
    firsts: [bool; 256],
}

impl List {
    fn of(rows: Vec<&'static str>) -> List {
        let mut firsts = [false; 256];
        for row in &rows {
            firsts[usize::from(row.as_bytes()[0])] = true;
        }
        List { rows, firsts }
    }

    /// True if a row is this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.may_begin(name) && self.rows.contains(&name)
    }

    /// True if the text begins with a row.
    pub(crate) fn begins(&self, text: &str) -> bool {
        self.may_begin(text) && self.rows.iter().any(|row| text.starts_with(row))
    }

    /// True if the text has a row in it.
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
            (name, List::of(rows.collect()))
        })
        .collect()
}

fn is_row(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

/// Makes a constant of each list of a file. The file is read when the first of them is asked for.
macro_rules! lists {
    ($file:literal: $($name:ident)*) => {
        static LISTS: std::sync::LazyLock<crate::lists::Lists> =
            std::sync::LazyLock::new(|| crate::lists::read(include_str!($file)));

        $(pub(super) static $name: std::sync::LazyLock<&crate::lists::List> =
            std::sync::LazyLock::new(|| &LISTS[stringify!($name)]);)*

        #[cfg(test)]
        #[test]
        fn every_list_of_the_file_is_read() {
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
    fn a_list_says_of_any_text_what_its_rows_say() {
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
