//! Suppressions of leaks that the program's author knows of: `leak:PATTERN`, as in LeakSanitizer
//! (`__lsan_default_suppressions`).

/// Returns true if a pattern matches a text by the rules of LeakSanitizer's `TemplateMatch`. It can match anywhere, `^` and
/// `$` match only at the ends of the text, and `*` matches anything.
pub(super) fn is_suppressed(patterns: &[String], text: &[u8]) -> bool {
    patterns
        .iter()
        .any(|pattern| pattern.as_bytes() == text || is_in(pattern.as_bytes(), text))
}

fn is_in(pattern: &[u8], text: &[u8]) -> bool {
    if text.is_empty() {
        return false;
    }
    let (mut is_at_start, mut pattern) = match pattern.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let mut text = text;
    let mut follows_star = false;
    loop {
        match pattern {
            [] => return true,
            [b'*', rest @ ..] => {
                pattern = rest;
                is_at_start = false;
                follows_star = true;
            }
            [b'$', ..] => return text.is_empty() || follows_star,
            _ => {
                let end = memchr::memchr2(b'*', b'$', pattern).unwrap_or(pattern.len());
                let (piece, rest) = pattern.split_at(end);
                let Some(found) = memchr::memmem::find(text, piece) else {
                    return false;
                };
                if is_at_start && found > 0 {
                    return false;
                }
                text = &text[found + piece.len()..];
                pattern = rest;
                is_at_start = false;
                follows_star = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_leak_sanitizer() {
        for (pattern, text, expected) in [
            ("init", "my_init_all", true),
            ("init", "main", false),
            ("^init", "my_init", false),
            ("^my*all", "my_init_all", true),
            ("init$", "my_init_all", false),
            ("all$", "my_init_all", true),
            // Each piece matches at its first occurrence.
            ("in*l$", "my_init_all", false),
            ("in*ll$", "my_init_all", true),
            ("libGL*.so*", "/usr/lib/libGLX.so.0", true),
            ("*", "anything", true),
            ("x", "", false),
            ("a$b", "a$b", true),
        ] {
            let patterns = [pattern.to_owned()];
            assert_eq!(
                is_suppressed(&patterns, text.as_bytes()),
                expected,
                "{pattern} {text}"
            );
        }
        assert!(!is_suppressed(&[], b"main"));
    }
}
