//! What an input is that no reader takes, and which command makes something readable of it.
//!
//! Binary files show themselves by bytes at their beginning, before anything is taken for text; text that nobody
//! recognised often shows by some words what printed it. What is said of binary files is fixed text: none of their bytes
//! is shown.

use cg_reader::json::Scanner;
use serde::de::IgnoredAny;

/// How a kind of input is told, and what to do with it.
struct Unsupported {
    /// Where the bytes stand.
    at: usize,
    bytes: &'static [u8],
    /// What has them.
    of: &'static str,
    /// A command, or what else helps.
    then: &'static str,
}

const BINARY: &[Unsupported] = &[
    Unsupported {
        at: 0,
        bytes: b"SIMPLEPERF",
        // `cmd_report_sample.proto` of simpleperf: its recordings begin as those of perf.
        of: "a report of simpleperf (report-sample --protobuf)",
        then: "report_sample.py -i perf.data | cg-parse reads the recording that it was made of",
    },
    Unsupported {
        at: 0,
        bytes: b"\xfd7zXZ\0",
        of: "xz data",
        then: "xz -dc FILE | cg-parse",
    },
    Unsupported {
        at: 0,
        bytes: b"\x5d\0\0",
        of: "lzma data",
        then: "xz -dc FILE | cg-parse",
    },
    Unsupported {
        at: 4,
        bytes: b"1AY&SY",
        of: "bzip2 data",
        then: "bzip2 -dc FILE | cg-parse",
    },
    // Recordings that are not packed (`src/memray/_memray/records.h`: `MAGIC`).
    Unsupported {
        at: 0,
        bytes: b"memray\0",
        of: MEMRAY.0,
        then: MEMRAY.1,
    },
    Unsupported {
        at: 0,
        bytes: b"\x1f\x9d",
        of: "compress data",
        then: "gzip -dc FILE | cg-parse",
    },
    Unsupported {
        at: 0,
        bytes: b"PK\x03\x04",
        of: "a zip archive",
        then: "unzip -p FILE | cg-parse, with the name of a member behind FILE where it has several",
    },
    Unsupported {
        at: 0,
        bytes: b"7z\xbc\xaf\x27\x1c",
        of: "a 7z archive",
        then: "7z x -so FILE | cg-parse, with the name of a member behind FILE where it has several",
    },
    Unsupported {
        at: 0,
        bytes: b"!<arch>\n",
        of: "a static library",
        then: CALLGRIND,
    },
    Unsupported {
        at: 0,
        bytes: b"\x7fELF",
        of: "an ELF file (a program, a library or a core dump)",
        then: CALLGRIND,
    },
    Unsupported {
        at: 0,
        bytes: b"\xcf\xfa\xed\xfe",
        of: "a Mach-O file (a program or a library)",
        then: "samply record --save-only -o profile.json PROGRAM writes what cg-parse reads",
    },
    Unsupported {
        at: 0,
        bytes: b"SQLite format 3\0",
        of: "an SQLite database",
        then: "cg-parse reads no databases",
    },
    Unsupported {
        at: 0,
        bytes: b"gmon\x01\0\0\0",
        of: "a profile of gprof, which has no stacks",
        then: CALLGRIND,
    },
    Unsupported {
        at: 0,
        bytes: b"\xfb)\x03",
        of: "a profile of Python's cProfile",
        then: "pyprof2calltree -i FILE -o callgrind.out writes a profile for cg-parse",
    },
    Unsupported {
        at: 0,
        bytes: b"\xfb\xa9\x03",
        of: "a profile of Python's cProfile",
        then: "pyprof2calltree -i FILE -o callgrind.out writes a profile for cg-parse",
    },
    Unsupported {
        at: 0,
        bytes: b"{(\x03",
        of: "a profile of Python's cProfile",
        then: "pyprof2calltree -i FILE -o callgrind.out writes a profile for cg-parse",
    },
    Unsupported {
        at: 0,
        bytes: b"%PDF-",
        of: "a PDF document",
        then: "it is the profile behind it that cg-parse reads",
    },
    Unsupported {
        at: 0,
        bytes: b"\x89PNG\r\n",
        of: "a PNG picture",
        then: "it is the profile behind it that cg-parse reads",
    },
    Unsupported {
        at: 257,
        bytes: b"ustar",
        of: "a tar archive",
        then: "tar -xOf FILE | cg-parse, with the name of a member behind FILE where it has several",
    },
];

/// Words of the lines that printouts begin with.
const PRINTOUTS: &[(&str, &str, &str)] = &[
    ("<svg", "an SVG picture", BEHIND),
    ("<!doctype html", "a web page", BEHIND),
    ("<html", "a web page", BEHIND),
    (
        "profile data file",
        "a printout of callgrind_annotate or cg_annotate",
        BEHIND,
    ),
    ("-- cachegrind profile", "a printout of cg_annotate", BEHIND),
    ("ms_print arguments:", "a printout of ms_print", BEHIND),
    (
        "most calls to allocation functions",
        "a printout of heaptrack_print",
        BEHIND,
    ),
    ("flat profile:", "a printout of gprof", CALLGRIND),
    ("v8-version,", "a log of node --prof", V8),
    ("code-creation,builtin,", "a log of node --prof", V8),
    (
        "  task                  |   runtime ms",
        "a printout of perf sched latency",
        SAMPLES,
    ),
    (
        "           time    cpu  ",
        "a printout of perf sched timehist",
        SAMPLES,
    ),
    (" ms): ", "a printout of perf trace", SAMPLES),
    (
        "shared data cache line table",
        "a printout of perf c2c",
        SAMPLES,
    ),
    ("# baseline  delta", "a printout of perf diff", SAMPLES),
    ("# event '", "a printout of perf diff", SAMPLES),
    (
        " percent |\tsource code & disassembly of",
        "a printout of perf annotate",
        SAMPLES,
    ),
    (
        "performance counter stats for",
        "a printout of perf stat",
        COUNTERS,
    ),
    // What `--metric-only` prints: metrics are worked out of counts, which it leaves out.
    ("# started on ", METRICS, COUNTERS),
    ("{\"metric-value\" :", METRICS, COUNTERS),
    (",insn per cycle,", METRICS, COUNTERS),
    (",ghz,", METRICS, COUNTERS),
    (
        "# to display the perf.data header info",
        "a printout of perf report",
        SAMPLES,
    ),
    (
        "<?xml",
        "an XML document",
        "cg-parse reads that of valgrind --xml=yes and of xctrace export",
    ),
];

const SAMPLES: &str = "cg-parse perf.data reads the samples behind it";
const CALLGRIND: &str = "valgrind --tool=callgrind PROGRAM writes what cg-parse reads";
const V8: &str = "node --prof-process --preprocess FILE | cg-parse";
const METRICS: &str = "output of perf stat without counters (--metric-only)";
const COUNTERS: &str = "perf stat -x, -o stat.csv PROGRAM writes what cg-parse reads";
const BEHIND: &str = "cg-parse reads the profile that it was made of";

/// What the other messages say, each with what an input is: of packed data, and of text that no words show.
const MEMRAY: (&str, &str) = (
    "a recording of memray",
    "memray transform csv -f -o memray.csv FILE writes what cg-parse reads",
);
const LZ4_DATA: (&str, &str) = ("lz4 data", "lz4 -dc FILE | cg-parse");
const GOROUTINES: (&str, &str) = (
    "a dump of goroutines (?debug=2)",
    "cg-parse reads what ?debug=1 writes",
);

/// All that is said of inputs that no reader takes: what each is, and a command that makes something readable of it, or what
/// else helps. In commands `FILE` is the input and `PROGRAM` what is to be profiled.
pub fn hints() -> impl Iterator<Item = (&'static str, &'static str)> {
    let binary = BINARY.iter().map(|sign| (sign.of, sign.then));
    let printed = PRINTOUTS.iter().map(|(_, of, then)| (*of, *then));
    binary.chain(printed).chain([MEMRAY, LZ4_DATA, GOROUTINES])
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
    for sign in BINARY {
        let (before, rest) = bytes.split_at(bytes.len().min(sign.at));
        if before.contains(&b'\n') {
            continue;
        }
        // An earlier sign says more of a file than a later one: memray's is packed by LZ4.
        if rest.starts_with(sign.bytes) && !may_be {
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
        Some(NAME) => Binary::Is(said(MEMRAY)),
        Some(_) => Binary::Is(said(LZ4_DATA)),
        None => Binary::MayBe,
    }
}

/// A message about text that no reader recognised, as far as its beginning tells what it is.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    /// Printouts say what they are within this many bytes.
    const HEAD: usize = 4096;
    let head = bytes[..bytes.len().min(HEAD)].to_ascii_lowercase();
    let printout = PRINTOUTS
        .iter()
        .find(|(words, ..)| memchr::memmem::find(&head, words.as_bytes()).is_some());
    if let Some((_, of, then)) = printout {
        return Some(said((*of, *then)));
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
        for sign in BINARY {
            let mut file = vec![b'x'; sign.at];
            file.extend_from_slice(sign.bytes);
            file.extend_from_slice(b"\0\xff\x1b[31m and some more");
            let message = format!("this is {}; {}", sign.of, sign.then);
            assert_eq!(binary(&file), Binary::Is(message));
            for length in 0..sign.at + sign.bytes.len() {
                assert_eq!(binary(&file[..length]), Binary::MayBe, "{}", sign.of);
            }
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
