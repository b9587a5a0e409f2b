//! Text that terminals, CI services and containers add to the end of a line.

/// Removes escape sequences from the end of a line, with the blanks and `\r` around them. These sequences reset a colour or
/// clear the rest of a terminal's line. Also removes the suffix of Docker's `json-file` driver.
pub(super) fn undecorated(line: &[u8]) -> &[u8] {
    const DOCKER_SUFFIX: &[u8] = br#"\n","stream":"std"#;
    let mut left = line;
    if left.ends_with(b"}")
        && let Some(end) = memchr::memmem::rfind(left, DOCKER_SUFFIX)
    {
        left = &left[..end];
    }
    while let Some(start) = last_sequence(left.trim_ascii_end()) {
        left = &left[..start];
    }
    left
}

/// Returns the position of the escape sequence at the end of the text (ECMA-48): `ESC [`, parameters and a letter, or
/// `ESC (` and a letter, with which `tput sgr0` chooses a character set.
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
    fn only_decorations_at_the_end_of_a_line_are_removed() {
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
