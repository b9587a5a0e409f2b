//! The matcher of wildcards, for Valgrind's patterns for names, for their words, and for the frame lines of suppressions.

/// Matches each pattern against one item. A pattern for which `is_any` is true matches any number of items: as few as
/// possible, and one more whenever a later pattern fails (backtracking). With `to_end`, all items must be matched.
pub(super) fn matches<P>(
    patterns: &[P],
    n_items: usize,
    to_end: bool,
    is_any: impl Fn(&P) -> bool,
    is_like: impl Fn(&P, usize) -> bool,
) -> bool {
    let (mut position, mut item) = (0, 0);
    let mut retry = None;
    loop {
        match patterns.get(position) {
            None if item == n_items || !to_end => return true,
            Some(pattern) if is_any(pattern) => {
                position += 1;
                retry = Some((position, item));
                continue;
            }
            Some(pattern) if item < n_items && is_like(pattern, item) => {
                position += 1;
                item += 1;
                continue;
            }
            _ => {}
        }
        match retry {
            Some((after, start)) if start < n_items => {
                retry = Some((after, start + 1));
                (position, item) = (after, start + 1);
            }
            _ => return false,
        }
    }
}

/// Matches a text against Valgrind's wildcards: `*` is any text, `?` is any character.
pub(super) fn is_like(pattern: &str, text: &str) -> bool {
    let text = text.as_bytes();
    let is_any = |byte: &u8| *byte == b'*';
    matches(pattern.as_bytes(), text.len(), true, is_any, |byte, at| {
        *byte == b'?' || *byte == text[at]
    })
}
