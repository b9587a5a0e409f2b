//! Comparison of paths. Two paths belong to the same file if they have the same ending and their beginnings can be two
//! locations of one directory tree.

/// Returns the last component of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns the number of components of a path.
pub fn depth(path: &str) -> usize {
    path.split('/').count()
}

/// Returns the last `count` components of a path, or the whole path if it has fewer.
pub fn suffix(path: &str, count: usize) -> &str {
    let mut end = path.len();
    for _ in 0..count {
        match path[..end].rfind('/') {
            Some(slash) => end = slash,
            None => return path,
        }
    }
    &path[end + 1..]
}

/// Removes the longest common ending of whole components from two paths. Returns the two locations that remain.
pub fn without_common_ending<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    let (mut a, mut b) = (a, b);
    while let (Some((a_home, a_name)), Some((b_home, b_name))) =
        (a.rsplit_once('/'), b.rsplit_once('/'))
    {
        if a_name != b_name {
            return (a, b);
        }
        (a, b) = (a_home, b_home);
    }
    // At least one of the paths is a single component.
    let (a_name, b_name) = (base_name(a), base_name(b));
    if a_name == b_name {
        let home = |path: &'a str| path.rsplit_once('/').map_or("", |(home, _)| home);
        (home(a), home(b))
    } else {
        (a, b)
    }
}

/// Returns the length of the generic prefix of a path: the location of Rust's library or of cargo's packages. For other long
/// paths, the prefix is everything except the last three components.
pub fn generic_prefix_len(path: &str) -> usize {
    /// Paths up to this length are not shortened.
    const SHORT: usize = 36;
    /// The number of components to keep.
    const COMPONENTS: usize = 3;
    let after_slash = |at: usize| path[at..].find('/').map(|slash| at + slash + 1);
    if let Some(start) = path
        .strip_prefix("/rustc/")
        .and_then(|_| after_slash("/rustc/".len()))
    {
        return start;
    }
    const PACKAGES: &str = "/registry/src/";
    if let Some(start) = path
        .find(PACKAGES)
        .and_then(|at| after_slash(at + PACKAGES.len()))
    {
        return start;
    }
    match path.len() > SHORT {
        true => path.len() - suffix(path, COMPONENTS).len(),
        false => 0,
    }
}

/// Returns true if a path is inside a directory, at any depth. The empty directory name contains all paths.
pub fn is_inside(path: &str, home: &str) -> bool {
    home.is_empty()
        || path
            .strip_prefix(home)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns true for a file whose code is usually inlined into other files: a header, or the source of a library.
pub fn is_mostly_inlined(path: &str) -> bool {
    const HEADERS: [&str; 8] = ["h", "hh", "hpp", "hxx", "inl", "ipp", "tcc", "tpp"];
    let extension = base_name(path)
        .rsplit_once('.')
        .map(|(_, extension)| extension);
    extension.is_some_and(|extension| HEADERS.contains(&extension))
        || path.starts_with("/rustc/")
        || path.starts_with("registry/")
        || path.contains("/include/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_prefixes_end_before_the_informative_components() {
        for (path, expected) in [
            ("src/main.rs", "src/main.rs"),
            (
                "/usr/include/c++/12/bits/stl_vector.h",
                "12/bits/stl_vector.h",
            ),
            ("/usr/include/stdio.h", "/usr/include/stdio.h"),
            (
                "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/iter/range.rs",
                "library/core/src/iter/range.rs",
            ),
            (
                "/home/dev/.cargo/registry/src/index-0123456789abcdef/serde-1.0.1/src/de/mod.rs",
                "serde-1.0.1/src/de/mod.rs",
            ),
            (
                "/home/dev/projects/server/src/storage/table.rs",
                "src/storage/table.rs",
            ),
            // 36 characters are short enough, and 37 are not.
            (
                "/home/dev/projects/site/src/table.rs",
                "/home/dev/projects/site/src/table.rs",
            ),
            (
                "/home/dev/projects/sites/src/table.rs",
                "sites/src/table.rs",
            ),
            ("/rustc/", "/rustc/"),
            ("/a/registry/src/", "/a/registry/src/"),
            (
                "a-name-without-any-directory-that-is-very-long.rs",
                "a-name-without-any-directory-that-is-very-long.rs",
            ),
        ] {
            assert_eq!(&path[generic_prefix_len(path)..], expected, "{path}");
        }
    }

    #[test]
    fn suffixes_consist_of_whole_components() {
        assert_eq!(suffix("/home/a/src/main.rs", 1), "main.rs");
        assert_eq!(suffix("/home/a/src/main.rs", 2), "src/main.rs");
        assert_eq!(suffix("/home/a/src/main.rs", 9), "/home/a/src/main.rs");
        assert_eq!(suffix("src/main.rs", 2), "src/main.rs");
        assert_eq!(suffix("", 1), "");
        assert_eq!(base_name("main.rs"), "main.rs");
        assert_eq!(depth("/a/b"), 3);
    }

    #[test]
    fn locations_are_the_parts_before_the_common_ending() {
        assert_eq!(
            without_common_ending("/home/a/src/main.rs", "/srv/b/c/src/main.rs"),
            ("/home/a", "/srv/b/c")
        );
        assert_eq!(
            without_common_ending("src/main.rs", "/home/b/src/main.rs"),
            ("", "/home/b")
        );
        assert_eq!(without_common_ending("a.c", "b.c"), ("a.c", "b.c"));
        assert_eq!(without_common_ending("/a/x.c", "/a/x.c"), ("", ""));
        assert_eq!(
            without_common_ending("/src/net/init.c", "/src/gui/init.c"),
            ("/src/net", "/src/gui")
        );
    }

    #[test]
    fn headers_and_libraries_are_mostly_inlined() {
        assert!(is_mostly_inlined("/usr/include/c++/12/bits/stl_iterator.h"));
        assert!(is_mostly_inlined("/usr/include/c++/12/vector"));
        assert!(is_mostly_inlined("/rustc/library/core/src/iter/range.rs"));
        assert!(!is_mostly_inlined("src/main.rs"));
        assert!(!is_mostly_inlined("h"));
    }

    #[test]
    fn containment_in_a_directory_compares_whole_components() {
        assert!(is_inside("/home/a/b", "/home/a"));
        assert!(!is_inside("/home/ab/b", "/home/a"));
        assert!(is_inside("x", ""));
    }
}
