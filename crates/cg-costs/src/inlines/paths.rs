//! When two paths are of one source file.

/// Whether two paths are of one file: equal, or one is the other below a directory.
pub(super) fn is_same_file(a: &[u8], b: &[u8]) -> bool {
    let ends = |long: &[u8], short: &[u8]| {
        long.strip_suffix(short)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
    };
    !a.is_empty() && !b.is_empty() && (ends(a, b) || ends(b, a))
}

/// The last component of a path.
pub(super) fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}
