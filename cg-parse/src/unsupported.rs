//! What an input is that no reader takes, and which command makes something readable of it.
//!
//! Binary files show themselves by bytes at their beginning, before anything is taken for text; text that nobody
//! recognised often shows by some words what printed it. What is said of binary files is fixed text: none of their bytes
//! is shown.

use std::sync::LazyLock;

use cg_reader::json::Scanner;
use serde::de::IgnoredAny;

/// How a kind of input is told, and what to do with it: a row of `unsupported.txt`.
struct Unsupported {
    /// Where the bytes stand in a binary file; `None` of a printout.
    at: Option<usize>,
    bytes: Vec<u8>,
    /// What has them.
    of: &'static str,
    /// A command, or what else helps.
    then: &'static str,
}

impl Unsupported {
    fn of_row(row: &'static str) -> Option<Unsupported> {
        let (sign, said) = row.split_once(" => ")?;
        let (of, then) = said.split_once(" => ")?;
        let (at, sign) = sign.split_at(sign.find('"')?);
        let sign: String = serde_json::from_str(sign).ok()?;
        let bytes = sign.chars().map(|byte| u8::try_from(byte).ok());
        Some(Unsupported {
            at: at.trim_end().parse().ok(),
            bytes: bytes.collect::<Option<_>>()?,
            of,
            then,
        })
    }
}

/// All rows. Every input is held against those of binary files, more than once while it is not known what it is.
static ROWS: LazyLock<Vec<Unsupported>> = LazyLock::new(|| {
    let rows = include_str!("unsupported.txt").lines();
    rows.filter(|row| !row.starts_with('#'))
        .filter_map(Unsupported::of_row)
        .collect()
});

/// What inputs are that show themselves by more than a few bytes, each with what helps.
const LZ4_DATA: (&str, &str) = ("lz4 data", "lz4 -dc FILE | cg-parse");
const GOROUTINES: (&str, &str) = (
    "a dump of goroutines (?debug=2)",
    "cg-parse reads what ?debug=1 writes",
);

/// All that is said of inputs that no reader takes: what each is, and a command that makes something readable of it, or what
/// else helps. In commands `FILE` is the input and `PROGRAM` what is to be profiled.
pub fn hints() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = ROWS.iter().map(|sign| (sign.of, sign.then));
    rows.chain([LZ4_DATA, GOROUTINES])
}

/// How they are put.
fn said((of, then): (&str, &str)) -> String {
    format!("this is {of}; {then}")
}

/// What the first bytes of an input say of binary files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// It is one; a message about it.
    Is(String),
    /// More bytes have to be seen.
    MayBe,
    /// It is none of those that are known.
    IsNot,
}

/// Whether an input that begins with these bytes is a binary file; text shows within its first line that it is none.
pub(crate) fn binary(bytes: &[u8]) -> Binary {
    if bytes.starts_with(LZ4) {
        return lz4(bytes);
    }
    let mut may_be = LZ4.starts_with(bytes);
    for sign in ROWS.iter() {
        let Some(at) = sign.at else {
            continue;
        };
        let (before, rest) = bytes.split_at(bytes.len().min(at));
        if before.contains(&b'\n') {
            continue;
        }
        // An earlier sign says more of a file than a later one: memray's is packed by LZ4.
        if rest.starts_with(&sign.bytes) && !may_be {
            return Binary::Is(said((sign.of, sign.then)));
        }
        may_be |= sign.bytes.starts_with(rest);
    }
    if may_be { Binary::MayBe } else { Binary::IsNot }
}

/// What frames of LZ4 begin with.
const LZ4: &[u8] = b"\x04\x22\x4d\x18";

/// What data of LZ4 is. memray packs its recordings by itself: they begin with its name, which packing leaves as it is.
fn lz4(bytes: &[u8]) -> Binary {
    // Behind the header of the frame, the size of its first block, and two bytes for the length of what is not packed.
    const NAME_AT: usize = 13;
    const NAME: &[u8] = b"memray\0";
    match bytes.get(NAME_AT..NAME_AT + NAME.len()) {
        Some(name) => {
            let memray = ROWS.iter().find(|sign| name == NAME && sign.bytes == NAME);
            Binary::Is(said(memray.map_or(LZ4_DATA, |sign| (sign.of, sign.then))))
        }
        None => Binary::MayBe,
    }
}

/// A message about text that no reader recognised, as far as its beginning tells what it is.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    /// Printouts say what they are within this many bytes.
    const HEAD: usize = 4096;
    let head = bytes[..bytes.len().min(HEAD)].to_ascii_lowercase();
    let printout = ROWS
        .iter()
        .find(|sign| sign.at.is_none() && memchr::memmem::find(&head, &sign.bytes).is_some());
    if let Some(sign) = printout {
        return Some(said((sign.of, sign.then)));
    }
    if head.starts_with(b"goroutine ") && memchr::memmem::find(&head, b"]:\n").is_some() {
        return Some(said(GOROUTINES));
    }
    match bytes.trim_ascii_start().first() {
        Some(b'{') => Some(match keys(bytes).as_slice() {
            [] => "this is JSON, and no profile that cg-parse reads".to_owned(),
            keys => format!(
                "this is JSON with {}, and no profile that cg-parse reads",
                keys.join(", ")
            ),
        }),
        Some(b'[') if is_array(bytes) => {
            Some("this is a JSON array, and no profile that cg-parse reads".to_owned())
        }
        _ if bytes.contains(&0) => Some("this is binary data of an unknown kind".to_owned()),
        _ => None,
    }
}

/// Whether a text is a list of JSON's: logs begin with times and levels in brackets.
fn is_array(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    let mut scanner = Scanner::new(text);
    match scanner.skip_value() {
        Ok(value) => {
            value.len() == text.len() && serde_json::from_slice::<IgnoredAny>(value).is_ok()
        }
        // Not seen to its end.
        Err(_) => matches!(text[1..].trim_ascii_start(), [b'{' | b'[' | b'"', ..]),
    }
}

/// The first keys of an object, quoted, as far as it can be read.
fn keys(bytes: &[u8]) -> Vec<String> {
    const MOST: usize = 5;
    const LONGEST: usize = 30;
    let mut keys = Vec::new();
    let mut scanner = Scanner::new(bytes);
    // It is not known to be JSON, nor to be whole: the keys in front of the first mistake are those that are wanted.
    scanner.any_key(|key, _| {
        if keys.len() == MOST {
            keys.push("…".to_owned());
            return Some(true);
        }
        let key: String = serde_json::from_slice(&[b"\"", key, b"\""].concat()).ok()?;
        let text: String = key.chars().take(LONGEST).collect();
        keys.push(format!("\"{text}\""));
        None
    });
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_is_found_and_says_what_to_do() {
        for (sign, at) in ROWS.iter().filter_map(|sign| Some((sign, sign.at?))) {
            let mut file = vec![b'x'; at];
            file.extend_from_slice(&sign.bytes);
            file.extend_from_slice(b"\0\xff\x1b[31m and some more");
            let message = format!("this is {}; {}", sign.of, sign.then);
            assert_eq!(binary(&file), Binary::Is(message));
            for length in 0..at + sign.bytes.len() {
                assert_eq!(binary(&file[..length]), Binary::MayBe, "{}", sign.of);
            }
        }
    }

    #[test]
    fn every_row_is_a_sign() {
        let rows = include_str!("unsupported.txt").lines();
        for row in rows.filter(|row| !row.is_empty() && !row.starts_with('#')) {
            assert!(Unsupported::of_row(row).is_some(), "{row}");
        }
    }

    #[test]
    fn a_recording_of_memray_is_no_other_lz4_data() {
        let memray = b"\x04\x22\x4d\x18\x40\x40\xc0\xf6\x3a\0\0\xf9\x05memray\0\x0d\0";
        let said = |bytes: &[u8]| match binary(bytes) {
            Binary::Is(message) => message,
            other => format!("{other:?}"),
        };
        assert!(said(memray).contains("; memray transform csv -f -o memray.csv FILE writes"));
        let other = [&memray[..13], b"hello, world"].concat();
        assert!(said(&other).contains("; lz4 -dc FILE | cg-parse"));
        for length in 0..20 {
            assert_eq!(binary(&memray[..length]), Binary::MayBe);
        }
    }

    #[test]
    fn a_program_that_prints_such_words_is_no_file_of_the_kind() {
        for output in [
            "gmon starts\n",
            "BZh\n",
            "ustar\n",
            "PK\n",
            "{(\n",
            "SQLite format 3\n",
        ] {
            assert_eq!(binary(output.as_bytes()), Binary::IsNot, "{output}");
        }
    }

    #[test]
    fn text_is_told_by_its_words_or_its_keys() {
        let cases = [
            (
                "<?xml version=\"1.0\"?>\n<svg width=\"1\">",
                Some("this is an SVG picture; cg-parse reads the profile that it was made of"),
            ),
            (
                "\n Performance counter stats for 'ls':\n",
                Some(
                    "this is a printout of perf stat; perf stat -x, -o stat.csv PROGRAM writes what cg-parse reads",
                ),
            ),
            (
                "{\"nodes\":[1,2],\"a\\u001bb\":{\"x\":1}}",
                Some(
                    "this is JSON with \"nodes\", \"a\u{1b}b\", and no profile that cg-parse reads",
                ),
            ),
            (
                "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6}",
                Some(
                    "this is JSON with \"a\", \"b\", \"c\", \"d\", \"e\", …, and no profile that cg-parse reads",
                ),
            ),
            (
                "{\"a\":1,\"b\":",
                Some("this is JSON with \"a\", \"b\", and no profile that cg-parse reads"),
            ),
            (
                "{",
                Some("this is JSON, and no profile that cg-parse reads"),
            ),
            (
                " [1]",
                Some("this is a JSON array, and no profile that cg-parse reads"),
            ),
            ("a\0b", Some("this is binary data of an unknown kind")),
            ("hello\nworld\n", None),
        ];
        for (input, expected) in cases {
            assert_eq!(text(input.as_bytes()).as_deref(), expected, "{input}");
        }
    }
}
