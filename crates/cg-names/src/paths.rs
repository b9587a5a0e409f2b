//! Directories: two paths are of one file where they end alike and their beginnings can be two homes of one tree.

/// The last component of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// How many components a path has.
pub fn depth(path: &str) -> usize {
    path.split('/').count()
}

/// The last `count` components of a path, or all of it where it has fewer.
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

/// Both paths without the longest ending of whole components that they share.
pub fn homes<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    let (mut a, mut b) = (a, b);
    while let (Some((a_home, a_name)), Some((b_home, b_name))) =
        (a.rsplit_once('/'), b.rsplit_once('/'))
    {
        if a_name != b_name {
            return (a, b);
        }
        (a, b) = (a_home, b_home);
    }
    // One of them is a single component.
    let (a_name, b_name) = (base_name(a), base_name(b));
    if a_name == b_name {
        let home = |path: &'a str| path.rsplit_once('/').map_or("", |(home, _)| home);
        (home(a), home(b))
    } else {
        (a, b)
    }
}

/// The length of the uninteresting beginning of a path: the location of Rust's library or of cargo's packages; of other
/// long paths all but the last three components.
pub fn little_said(path: &str) -> usize {
    /// Paths up to this length are not shortened.
    const SHORT: usize = 36;
    /// How many components are kept.
    const COMPONENTS: usize = 3;
    let behind = |at: usize| path[at..].find('/').map(|slash| at + slash + 1);
    if let Some(start) = path
        .strip_prefix("/rustc/")
        .and_then(|_| behind("/rustc/".len()))
    {
        return start;
    }
    const PACKAGES: &str = "/registry/src/";
    if let Some(start) = path
        .find(PACKAGES)
        .and_then(|at| behind(at + PACKAGES.len()))
    {
        return start;
    }
    match path.len() > SHORT {
        true => path.len() - suffix(path, COMPONENTS).len(),
        false => 0,
    }
}

/// True where a path lies in a directory, at any depth. Everything lies in the directory without a name.
pub fn lies_in(path: &str, home: &str) -> bool {
    home.is_empty()
        || path
            .strip_prefix(home)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// True for a file whose code is mostly inlined elsewhere: a header, or the source of a library.
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
    fn what_is_little_said_is_in_front() {
        for (path, said) in [
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
            ("/rustc/", "/rustc/"),
            ("/a/registry/src/", "/a/registry/src/"),
            (
                "a-name-without-any-directory-that-is-very-long.rs",
                "a-name-without-any-directory-that-is-very-long.rs",
            ),
        ] {
            assert_eq!(&path[little_said(path)..], said, "{path}");
        }
    }

    #[test]
    fn suffixes_are_of_whole_components() {
        assert_eq!(suffix("/home/a/src/main.rs", 1), "main.rs");
        assert_eq!(suffix("/home/a/src/main.rs", 2), "src/main.rs");
        assert_eq!(suffix("/home/a/src/main.rs", 9), "/home/a/src/main.rs");
        assert_eq!(suffix("src/main.rs", 2), "src/main.rs");
        assert_eq!(suffix("", 1), "");
        assert_eq!(base_name("main.rs"), "main.rs");
        assert_eq!(depth("/a/b"), 3);
    }

    #[test]
    fn homes_are_what_differs() {
        assert_eq!(
            homes("/home/a/src/main.rs", "/srv/b/c/src/main.rs"),
            ("/home/a", "/srv/b/c")
        );
        assert_eq!(homes("src/main.rs", "/home/b/src/main.rs"), ("", "/home/b"));
        assert_eq!(homes("a.c", "b.c"), ("a.c", "b.c"));
        assert_eq!(homes("/a/x.c", "/a/x.c"), ("", ""));
        assert_eq!(
            homes("/src/net/init.c", "/src/gui/init.c"),
            ("/src/net", "/src/gui")
        );
    }

    #[test]
    fn headers_and_libraries_are_inlined() {
        assert!(is_mostly_inlined("/usr/include/c++/12/bits/stl_iterator.h"));
        assert!(is_mostly_inlined("/usr/include/c++/12/vector"));
        assert!(is_mostly_inlined("/rustc/library/core/src/iter/range.rs"));
        assert!(!is_mostly_inlined("src/main.rs"));
        assert!(!is_mostly_inlined("h"));
    }

    #[test]
    fn lying_in_a_directory_is_by_components() {
        assert!(lies_in("/home/a/b", "/home/a"));
        assert!(!lies_in("/home/ab/b", "/home/a"));
        assert!(lies_in("x", ""));
    }
}
