//! Error messages for inputs that no reader supports, with a command that converts them.
//!
//! Binary files are identified by bytes at their beginning, before text formats are tried. Unrecognised text is often
//! identified by words of the program that printed it. Messages about binary files are fixed texts that contain no bytes of
//! the file.

use std::sync::LazyLock;

use cg_reader::json::Scanner;
use serde::de::IgnoredAny;

/// A kind of input that is not supported: a row of `unsupported.txt`.
struct Unsupported {
    /// The offset of `bytes` in a binary file; `None` for a printout.
    at: Option<usize>,
    /// The bytes that identify the input.
    bytes: Vec<u8>,
    /// The kind of input and a command or other advice, as the row has them.
    message: &'static str,
}

impl Unsupported {
    /// Parses what every input needs of a row. The message is split only for an input that matches.
    fn parse(row: &'static str) -> Option<Unsupported> {
        let (at, rest) = row.split_once('"')?;
        let mut quotes = rest.match_indices('"');
        let (length, _) = quotes.find(|(at, _)| !rest[..*at].ends_with('\\'))?;
        let sign = match &rest[..length] {
            plain if !plain.contains('\\') => plain.to_owned(),
            _ => serde_json::from_str(&row[at.len()..at.len() + length + 2]).ok()?,
        };
        let bytes = sign.chars().map(|byte| u8::try_from(byte).ok());
        Some(Unsupported {
            at: at.trim_end().parse().ok(),
            bytes: bytes.collect::<Option<_>>()?,
            message: rest[length + 1..].strip_prefix(" => ")?,
        })
    }

    /// Returns the kind of input, and a command or other advice.
    fn hint(&self) -> (&'static str, &'static str) {
        self.message.split_once(" => ").unwrap_or_default()
    }
}

/// All rows. Every input is matched against the binary rows, repeatedly until they are ruled out.
static ROWS: LazyLock<Vec<Unsupported>> = LazyLock::new(|| {
    let rows = include_str!("unsupported.txt").lines();
    rows.filter(|row| !row.starts_with('#'))
        .filter_map(Unsupported::parse)
        .collect()
});

// Inputs that need more than one string of bytes to be identified, each with its advice.
const LZ4_DATA: (&str, &str) = ("lz4 data", "lz4 -dc FILE | cg-parse");
const GOROUTINES: (&str, &str) = (
    "a dump of goroutines (?debug=2)",
    "cg-parse reads the output of ?debug=1",
);

/// Returns the hints for all inputs that no reader supports. Each hint has the kind of input, and a command that converts it
/// or other advice. In commands, `FILE` is the input and `PROGRAM` is the program to profile.
pub fn hints() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = ROWS.iter().map(Unsupported::hint);
    rows.chain([LZ4_DATA, GOROUTINES])
}

/// Returns the error message for a hint.
fn message((kind, advice): (&str, &str)) -> String {
    format!("this is {kind}; {advice}")
}

/// The result of matching the first bytes of an input against known binary files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// It is a known binary file. Contains a message about it.
    Is(String),
    /// More bytes are needed.
    MayBe,
    /// It is not a known binary file.
    IsNot,
}

/// Checks whether an input that begins with these bytes is a binary file. The first line of a text rules this out.
pub(crate) fn match_binary(bytes: &[u8]) -> Binary {
    if bytes.starts_with(LZ4) {
        return lz4(bytes);
    }
    let mut may_be = LZ4.starts_with(bytes);
    for row in ROWS.iter() {
        let Some(at) = row.at else {
            continue;
        };
        let (before, rest) = bytes.split_at(bytes.len().min(at));
        if before.contains(&b'\n') {
            continue;
        }
        // Earlier rows are more specific than later ones, so wait while an earlier one may still match.
        if rest.starts_with(&row.bytes) && !may_be {
            return Binary::Is(message(row.hint()));
        }
        may_be |= row.bytes.starts_with(rest);
    }
    if may_be { Binary::MayBe } else { Binary::IsNot }
}

/// The magic number of an LZ4 frame.
const LZ4: &[u8] = b"\x04\x22\x4d\x18";

/// Identifies LZ4 data. memray writes its recordings as LZ4. They begin with its name, which LZ4 stores uncompressed.
fn lz4(bytes: &[u8]) -> Binary {
    // The name follows the frame header, the size of the first block, and two bytes with the length of the literals.
    const NAME_AT: usize = 13;
    const NAME: &[u8] = b"memray\0";
    match bytes.get(NAME_AT..NAME_AT + NAME.len()) {
        Some(name) => {
            let memray = ROWS.iter().find(|row| name == NAME && row.bytes == NAME);
            Binary::Is(message(memray.map_or(LZ4_DATA, Unsupported::hint)))
        }
        None => Binary::MayBe,
    }
}

/// Returns a message about text that no reader recognised; `None` if its beginning does not identify it.
pub(crate) fn identify_text(bytes: &[u8]) -> Option<String> {
    /// The words that identify a printout are within this many bytes.
    const HEAD: usize = 4096;
    let head = bytes[..bytes.len().min(HEAD)].to_ascii_lowercase();
    let printout = ROWS
        .iter()
        .find(|row| row.at.is_none() && memchr::memmem::find(&head, &row.bytes).is_some());
    if let Some(row) = printout {
        return Some(message(row.hint()));
    }
    if head.starts_with(b"goroutine ") && memchr::memmem::find(&head, b"]:\n").is_some() {
        return Some(message(GOROUTINES));
    }
    match bytes.trim_ascii_start().first() {
        Some(b'{') => Some(match keys(bytes).as_slice() {
            [] => "this is JSON, but not a profile that cg-parse reads".to_owned(),
            keys => format!(
                "this is JSON with {}, but not a profile that cg-parse reads",
                keys.join(", ")
            ),
        }),
        Some(b'[') if is_array(bytes) => {
            Some("this is a JSON array, but not a profile that cg-parse reads".to_owned())
        }
        _ if bytes.contains(&0) => Some("this is binary data of an unknown kind".to_owned()),
        _ => None,
    }
}

/// Returns true if a text is a suppression file of Valgrind: comments, and blocks with a name and `Tool,Tool:Kind`.
pub(crate) fn is_suppression_file(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let is_word = |word: &[u8]| {
        !word.is_empty()
            && word
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    };
    lines.next() == Some(b"{")
        && lines.next().is_some()
        && lines.next().is_some_and(|line| {
            let mut parts = line.splitn(2, |byte| *byte == b':');
            let tools = parts.next().unwrap_or_default();
            tools.split(|byte| *byte == b',').all(is_word) && parts.next().is_some_and(is_word)
        })
}

/// Returns true if a text is a JSON array. Logs also begin with `[`, before a time or a level.
fn is_array(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    let mut scanner = Scanner::new(text);
    match scanner.skip_value() {
        Ok(value) => {
            value.len() == text.len() && serde_json::from_slice::<IgnoredAny>(value).is_ok()
        }
        // The end of the array has not been read.
        Err(_) => matches!(text[1..].trim_ascii_start(), [b'{' | b'[' | b'"', ..]),
    }
}

/// Returns the first keys of an object, quoted.
fn keys(bytes: &[u8]) -> Vec<String> {
    const MOST: usize = 5;
    const LONGEST: usize = 30;
    let mut keys = Vec::new();
    let mut scanner = Scanner::new(bytes);
    // The text may be truncated or not JSON at all. Use the keys before the first syntax error.
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
    fn every_binary_row_is_found_and_gives_advice() {
        for (row, at) in ROWS.iter().filter_map(|row| Some((row, row.at?))) {
            let mut file = vec![b'x'; at];
            file.extend_from_slice(&row.bytes);
            file.extend_from_slice(b"\0\xff\x1b[31m and some more");
            let (kind, advice) = row.hint();
            let message = format!("this is {kind}; {advice}");
            assert_eq!(match_binary(&file), Binary::Is(message));
            for length in 0..at + row.bytes.len() {
                assert_eq!(match_binary(&file[..length]), Binary::MayBe, "{kind}");
            }
        }
    }

    #[test]
    fn suppression_files_are_identified() {
        for (text, expected) in [
            ("# x\n{\n  <a>\n  Memcheck:Leak\n  fun:f\n}\n", true),
            ("{\r\n a\r\n Memcheck,Helgrind:Race\r\n", true),
            ("{\n\"a\": 1,\n\"b\": 2}\n", false),
            ("{\n a\n}\n", false),
            ("{\n", false),
            ("a\n{\n b\n Memcheck:Leak\n", false),
        ] {
            assert_eq!(is_suppression_file(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn every_row_can_be_parsed() {
        let rows = include_str!("unsupported.txt").lines();
        for row in rows.filter(|row| !row.is_empty() && !row.starts_with('#')) {
            let (kind, advice) = Unsupported::parse(row).unwrap().hint();
            assert!(row.ends_with(&format!("\" => {kind} => {advice}")), "{row}");
            assert!(!kind.is_empty() && !advice.is_empty(), "{row}");
        }
    }

    #[test]
    fn memray_recordings_are_distinguished_from_other_lz4_data() {
        let memray = b"\x04\x22\x4d\x18\x40\x40\xc0\xf6\x3a\0\0\xf9\x05memray\0\x0d\0";
        let message = |bytes: &[u8]| match match_binary(bytes) {
            Binary::Is(message) => message,
            other => format!("{other:?}"),
        };
        assert!(message(memray).contains("; memray transform csv -f -o memray.csv FILE writes"));
        let other = [&memray[..13], b"hello, world"].concat();
        assert!(message(&other).contains("; lz4 -dc FILE | cg-parse"));
        for length in 0..20 {
            assert_eq!(match_binary(&memray[..length]), Binary::MayBe);
        }
    }

    #[test]
    fn program_output_with_a_magic_word_is_not_a_binary_file() {
        for output in ["BZh\n", "ustar\n", "PK\n", "{(\n", "SQLite format 3\n"] {
            assert_eq!(match_binary(output.as_bytes()), Binary::IsNot, "{output}");
        }
    }

    #[test]
    fn text_is_identified_by_its_words_or_its_keys() {
        let cases = [
            (
                "<?xml version=\"1.0\"?>\n<svg width=\"1\">",
                Some("this is an SVG picture; cg-parse reads the profile that it was made from"),
            ),
            (
                "\n Performance counter stats for 'ls':\n",
                Some(
                    "this is a printout of perf stat; perf stat -x, -o stat.csv PROGRAM writes a file that cg-parse reads",
                ),
            ),
            (
                "{\"nodes\":[1,2],\"a\\u001bb\":{\"x\":1}}",
                Some(
                    "this is JSON with \"nodes\", \"a\u{1b}b\", but not a profile that cg-parse reads",
                ),
            ),
            (
                "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6}",
                Some(
                    "this is JSON with \"a\", \"b\", \"c\", \"d\", \"e\", …, but not a profile that cg-parse reads",
                ),
            ),
            (
                "{\"a\":1,\"b\":",
                Some("this is JSON with \"a\", \"b\", but not a profile that cg-parse reads"),
            ),
            (
                "{",
                Some("this is JSON, but not a profile that cg-parse reads"),
            ),
            (
                " [1]",
                Some("this is a JSON array, but not a profile that cg-parse reads"),
            ),
            ("a\0b", Some("this is binary data of an unknown kind")),
            ("hello\nworld\n", None),
        ];
        for (input, expected) in cases {
            assert_eq!(
                identify_text(input.as_bytes()).as_deref(),
                expected,
                "{input}"
            );
        }
    }
}
