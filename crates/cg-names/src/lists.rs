//! Lists of known names, which are text files: `[NAME]` begins a list, each row has a line, and `#` begins a comment.

use std::collections::HashMap;

/// The rows of each list of a file, by its name.
pub(crate) type Lists = HashMap<&'static str, Vec<&'static str>>;

/// Reads a file of lists.
pub(crate) fn read(text: &'static str) -> Lists {
    let lists = text.strip_prefix('[').unwrap_or(text).split("\n[");
    lists
        .filter_map(|list| list.split_once("]\n"))
        .map(|(name, rows)| (name, rows.lines().filter(|row| is_row(row)).collect()))
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

        $(pub(super) static $name: std::sync::LazyLock<&[&str]> =
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
