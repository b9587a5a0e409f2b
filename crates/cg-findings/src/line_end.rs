//! What terminals and CI services put at the end of a line.

/// A line without the escape sequences at its end, which reset a colour or clear the rest of a terminal's line, and without
/// blanks and `\r` around these.
pub(super) fn undecorated(line: &[u8]) -> &[u8] {
    let mut left = line;
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
