//! What terminals, CI services and containers put at the end of a line.

/// A line without the escape sequences at its end, which reset a colour or clear the rest of a terminal's line, and without
/// blanks and `\r` around these; and without what Docker's `json-file` driver puts behind it.
pub(super) fn undecorated(line: &[u8]) -> &[u8] {
    const BEHIND: &[u8] = br#"\n","stream":"std"#;
    let mut left = line;
    if left.ends_with(b"}")
        && let Some(end) = memchr::memmem::rfind(left, BEHIND)
    {
        left = &left[..end];
    }
    while let Some(start) = last_sequence(left.trim_ascii_end()) {
        left = &left[..start];
    }
    left
}

/// Where the escape sequence begins that this text ends with (ECMA-48): `ESC [`, parameters and a letter, or `ESC (` and a
/// letter, by which `tput sgr0` chooses a character set.
fn last_sequence(text: &[u8]) -> Option<usize> {
    const ESCAPE: u8 = 0x1b;
    let (last, rest) = text.split_last()?;
    if !(b'@'..=b'~').contains(last) {
        return None;
    }
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b';' | b':' | b'?');
    let parameters = rest.iter().rev().take_while(|byte| is_parameter(byte));
    let parameters = parameters.count();
    let start = &rest[..rest.len() - parameters];
    let begins =
        start.ends_with(&[ESCAPE, b'[']) || (parameters == 0 && start.ends_with(&[ESCAPE, b'(']));
    begins.then(|| start.len() - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_decorates_a_lines_end_is_taken_off() {
        for (line, expected) in [
            ("==1== a\x1b[0m", "==1== a"),
            ("==1== a\x1b[m", "==1== a"),
            ("==1== a\x1b[1;31m\x1b[0m", "==1== a"),
            ("==1== a\x1b[K", "==1== a"),
            ("==1== a\x1b[0K\r", "==1== a"),
            ("==1== a \t\x1b[0m \x1b[0K\r", "==1== a \t"),
            ("==1== a\x1b(B\x1b[m", "==1== a"),
            ("==1== \x1b[0m", "==1== "),
            ("==1== a\r", "==1== a\r"),
            ("==1== ", "==1== "),
            ("==1== a[0m", "==1== a[0m"),
            ("==1== operator[]", "==1== operator[]"),
            ("\x1b[0m", ""),
            (
                r#"{"log":"==1== a\n","stream":"stderr","time":"2026-11-23T01:02:03.4Z"}"#,
                r#"{"log":"==1== a"#,
            ),
            (r#"{"a":"\n","stream":1}"#, r#"{"a":"\n","stream":1}"#),
            ("", ""),
        ] {
            assert_eq!(
                undecorated(line.as_bytes()),
                expected.as_bytes(),
                "{line:?}"
            );
        }
    }
}
