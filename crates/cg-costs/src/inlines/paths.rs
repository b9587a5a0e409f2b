//! Comparison of paths of source files.

/// Returns true if two paths mean the same file: they are equal, or one ends with the other after a slash.
pub(super) fn is_same_file(a: &[u8], b: &[u8]) -> bool {
    let ends = |long: &[u8], short: &[u8]| {
        long.strip_suffix(short)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
    };
    !a.is_empty() && !b.is_empty() && (ends(a, b) || ends(b, a))
}

/// Returns the last component of a path.
pub(super) fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}
