//! The prefix of Valgrind's own lines, `m_libcprint.c:add_to__vmessage_buf`.
//!
//! `==PID== ` for users, `--PID-- ` for debugging, `**PID** ` for messages of the client; with `--time-stamp=yes`
//! `==DD:HH:MM:SS.mmm PID== `. Other text may precede the prefix: output of the program without a newline, the prefix of a
//! CI service, or a `>` for each level of self-hosting.

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineMark {
    /// `==`, and `??` for a line without a kind.
    User,
    /// `--`
    Debug,
    /// `**`
    Client,
}

/// The parts of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefixed<'a> {
    pub(super) mark: LineMark,
    pub(super) pid: u64,
    /// The column of the prefix.
    pub(super) column: usize,
    /// The text after the prefix and its blank.
    pub(super) message: &'a [u8],
}

/// Finds the first prefix in a line.
pub(super) fn split(line: &[u8]) -> Option<Prefixed<'_>> {
    if let Some(prefixed) = prefix_at(line, 0) {
        return Some(prefixed);
    }
    memchr::memchr3_iter(b'=', b'-', b'*', line)
        .filter(|column| *column > 0)
        .find_map(|column| prefix_at(line, column))
}

fn prefix_at<'a>(line: &'a [u8], column: usize) -> Option<Prefixed<'a>> {
    let [first, second, rest @ ..] = &line[column..] else {
        return None;
    };
    if first != second {
        return None;
    }
    let mark = match first {
        b'=' | b'?' => LineMark::User,
        b'-' => LineMark::Debug,
        b'*' => LineMark::Client,
        _ => return None,
    };
    let ends = |(pid, rest): (u64, &'a [u8])| Some((pid, rest.strip_prefix(&[*first, *first])?));
    let (pid, rest) = pid(rest)
        .and_then(ends)
        .or_else(|| pid(after_time_stamp(rest)?).and_then(ends))?;
    let message = match rest {
        [b' ', message @ ..] => message,
        [] | [b'\r'] => rest,
        _ => return None,
    };
    Some(Prefixed {
        mark,
        pid,
        column,
        message,
    })
}

fn pid(bytes: &[u8]) -> Option<(u64, &[u8])> {
    /// The number of digits in the largest pid of any system.
    const LONGEST: usize = 10;
    let digits = bytes
        .iter()
        .take(LONGEST)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let pid = bytes[..digits]
        .iter()
        .fold(0u64, |pid, digit| pid * 10 + u64::from(digit - b'0'));
    (digits > 0).then(|| (pid, &bytes[digits..]))
}

/// Returns the text after `DD:HH:MM:SS.mmm `. The days may have more digits.
fn after_time_stamp(bytes: &[u8]) -> Option<&[u8]> {
    let length = bytes.iter().take(32).position(|byte| *byte == b' ')?;
    let (stamp, rest) = bytes.split_at(length);
    let is_stamp = stamp
        .iter()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'))
        && stamp.iter().filter(|byte| **byte == b':').count() == 3;
    is_stamp.then(|| &rest[1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(LineMark, u64, usize, &str)>) {
        assert_eq!(
            split(line.as_bytes()).map(|found| (
                found.mark,
                found.pid,
                found.column,
                std::str::from_utf8(found.message).unwrap()
            )),
            expected,
            "{line}"
        );
    }

    #[test]
    fn prefixes_are_found_at_any_column() {
        use LineMark::{Client, Debug, User};
        check("==12== x", Some((User, 12, 0, "x")));
        check("==12==  Address", Some((User, 12, 0, " Address")));
        check("==12== ", Some((User, 12, 0, "")));
        check("==12==", Some((User, 12, 0, "")));
        check("--12-- REDIR", Some((Debug, 12, 0, "REDIR")));
        check("**12** hello", Some((Client, 12, 0, "hello")));
        check("==00:00:00:01.060 31196== x", Some((User, 31196, 0, "x")));
        check(
            "client text==25208== 272 bytes",
            Some((User, 25208, 11, "272 bytes")),
        );
        check(">>==7== x", Some((User, 7, 2, "x")));
        check(
            "2024-05-01T10:00:00.1234567Z ==7== x",
            Some((User, 7, 29, "x")),
        );
        check(
            "==1==    by 0x1: operator==(A) (a==2== b.c:1)",
            Some((User, 1, 0, "   by 0x1: operator==(A) (a==2== b.c:1)")),
        );
    }

    #[test]
    fn other_lines_have_no_prefix() {
        for line in [
            "",
            "=",
            "==",
            "==x== y",
            "==12=",
            "==12==y",
            "== 12 ==",
            "a -- 1 -- b",
            "==99999999999== x",
        ] {
            check(line, None);
        }
    }
}
