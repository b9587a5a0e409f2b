//! Recognises a format by content, never by file name.
//!
//! The readers know the signs of their formats, and the list of formats names the functions that check them. This module
//! decides how much of an input to read for that.

use std::io::Read;

use cg_reader::{Error, Head, Reach, excerpt};
use cg_stream::lines::LineReader;

use crate::format::Format;
use crate::formats::FORMATS;
use crate::recognition::Recognition;
use crate::unsupported::{self, Binary};

/// The error about an input without bytes.
pub(crate) const EMPTY: &str = "the input is empty";

/// The result of detection for an input that can be read.
pub(crate) enum Detected {
    Format(&'static Format),
    /// A text of no known format, or nothing, with an error message.
    OtherText(Error),
}

/// Returns the format of an input: `requested`, or the format that its first lines show. Reads no further than the decisive
/// line.
pub(crate) fn detect<R: Read>(
    lines: &mut LineReader<R>,
    requested: Option<&'static Format>,
) -> Result<Detected, Error> {
    if requested.is_none() && is_stream(lines)? {
        return Err(Error::whole(
            "this is a stream already; cg-filter, cg-diff, cg-fmt and leak-check read streams directly",
        ));
    }
    let mut recognition = Recognition::new(FORMATS);
    let mut is_checked = false;
    let mut seen = 0;
    loop {
        let (bytes, is_whole) = look(lines, seen)?;
        seen = bytes.len();
        if is_whole && seen == 0 {
            return Ok(Detected::OtherText(Error::whole(EMPTY)));
        }
        if !is_checked {
            match unsupported::match_binary(bytes) {
                Binary::Is(message) => return Err(Error::whole(message)),
                Binary::MayBe if !is_whole => continue,
                Binary::MayBe | Binary::IsNot => is_checked = true,
            }
        }
        let head = Head::new(bytes, is_whole);
        if let Some(format) = requested.or_else(|| recognition.judge(&head)) {
            return Ok(Detected::Format(format));
        }
        if head.reach != Reach::Beginning {
            if unsupported::is_suppression_file(head.bytes) {
                return Err(Error::whole(
                    "this is a suppression file; leak-check applies it with --suppressions FILE",
                ));
            }
            return Ok(Detected::OtherText(unrecognised(head.bytes)));
        }
    }
}

/// Returns more of an input than the `seen` bytes, and true if the input is complete. Reads only if the buffer contains
/// nothing new.
fn look<R: Read>(lines: &mut LineReader<R>, seen: usize) -> Result<(&[u8], bool), Error> {
    if lines.buffered().len() == seen {
        lines.peek_more().map_err(Error::Input)?;
    }
    let bytes = lines.buffered();
    Ok((bytes, bytes.len() == seen))
}

/// The maximum length of a stream's first line that does not begin with its type.
const LONGEST_FIRST_LINE: usize = 64 * 1024;

/// Returns true if an input is a stream. Blocks only until the beginning of the first line has arrived.
pub(crate) fn is_stream<R: Read>(lines: &mut LineReader<R>) -> Result<bool, Error> {
    let mut seen = 0;
    let mut searched = 0;
    loop {
        let (bytes, is_whole) = look(lines, seen)?;
        seen = bytes.len();
        let bytes = &bytes[..seen.min(LONGEST_FIRST_LINE)];
        let text = bytes.trim_ascii_start();
        if text.first().is_some_and(|byte| *byte != b'{') {
            return Ok(false);
        }
        if text.starts_with(b"{\"type\":") {
            return Ok(true);
        }
        // The keys can be in any order, so a complete first line is needed.
        let start = bytes.len() - text.len();
        searched = start.max(searched);
        let line_end = memchr::memchr(b'\n', &bytes[searched..]).map(|length| searched + length);
        if let Some(line_end) = line_end.or(is_whole.then_some(bytes.len())) {
            return Ok(has_type(&bytes[start..line_end]));
        }
        if seen > LONGEST_FIRST_LINE {
            return Ok(false);
        }
        searched = seen;
    }
}

/// Returns true if a line is an object with a type.
fn has_type(line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct TypedLine {
        #[serde(rename = "type")]
        _type: String,
    }
    // A profile may be one long line, so search it before it is parsed.
    memchr::memmem::find(line, b"\"type\"").is_some()
        && serde_json::from_slice::<TypedLine>(line).is_ok()
}

fn unrecognised(bytes: &[u8]) -> Error {
    if let Some(message) = unsupported::identify_text(bytes) {
        return Error::whole(message);
    }
    let first = bytes
        .split(|byte| *byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty())
        .unwrap_or_default();
    Error::at(
        1,
        format!(
            "not recognised as a supported format: it begins with {}; cg-parse --help lists the formats, --from FORMAT selects one",
            excerpt(first)
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::{fs, io};

    use crate::format::Sign;
    use crate::{input, packed};

    use super::*;

    fn test_data() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data")
    }

    /// Returns the files of texts of other kinds.
    fn others() -> Vec<PathBuf> {
        let entries = fs::read_dir(test_data().join("others")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Returns the decompressed contents of a file, up to the first error.
    fn read_unpacked(path: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        let reader = packed::unpacked(fs::File::open(path).unwrap()).unwrap();
        if let Ok(mut lines) = input::lines(reader) {
            let _ = lines.read_to_end(&mut bytes);
        }
        bytes
    }

    /// Returns the name of the format of an input, or the message of the error.
    fn detected(input: impl Read) -> Result<&'static str, String> {
        match detect(&mut LineReader::new(input), None) {
            Ok(Detected::Format(format)) => Ok(format.name),
            Ok(Detected::OtherText(error)) | Err(error) => Err(error.to_string()),
        }
    }

    /// Returns true if an input has a sign of the format. It may have signs of other formats, too.
    fn has_sign(head: &Head, format: &Format) -> bool {
        format.signs.iter().any(|sign| match sign {
            Sign::Beginning(matches) => matches(head),
            Sign::Line(matches) => head.whole_lines().any(matches),
            Sign::CostHeader(tool) => cg_callgrind::recognise::find_format(head) == Some(*tool),
            Sign::ManyLines(evidence) => {
                let mut evidence = evidence();
                let is_proven = head.whole_lines().any(|line| {
                    evidence.add(line);
                    evidence.is_proven()
                });
                is_proven || evidence.is_likely()
            }
        })
    }

    #[test]
    fn an_input_with_signs_of_two_formats_has_the_format_that_is_checked_first() {
        let samples = "a  7  1.000001:          2 c: \n\t      10 f (/x)\n\n".repeat(32);
        let cases = [
            // The first sign decides.
            (format!("{samples}<valgrindoutput>\n"), "perf", "xml"),
            (
                "==1== Memcheck\n<valgrindoutput>\n".to_owned(),
                "memcheck",
                "xml",
            ),
            (
                "<valgrindoutput><pid>1</pid>\n==1== Memcheck\n".to_owned(),
                "xml",
                "memcheck",
            ),
            // Signs of kind `Beginning` are checked in the order of the list.
            (
                r#"{"cmd":"<valgrindoutput><pid>","dhatFileVersion":2}"#.to_owned(),
                "xml",
                "dhat",
            ),
            (
                r#"{"dhatFileVersion":2,"threads":[{"samples":{}}]}"#.to_owned(),
                "dhat",
                "firefox",
            ),
            (
                r#"{"meta":{"stackwalk":1},"shared":{"frames":[]}}"#.to_owned(),
                "firefox",
                "speedscope",
            ),
            (
                r#"{"shared":{"frames":[]},"nodes":[{"id":1,"callFrame":{}}]}"#.to_owned(),
                "speedscope",
                "v8",
            ),
            (
                r#"{"traceEvents":[],"benchmark_exe":"a","profiles":[]}"#.to_owned(),
                "chrome-trace",
                "gungraun",
            ),
            // `Line` takes precedence over `ManyLines`.
            (
                "==1== Memcheck\nmain;f 1\nmain;g 2\n".to_owned(),
                "memcheck",
                "folded",
            ),
            // The first match of kind `Line` or `CostHeader` decides.
            (
                "==1== Memcheck\n==2==ERROR: AddressSanitizer: SEGV on unknown address 0x0\n"
                    .to_owned(),
                "memcheck",
                "sanitizers",
            ),
            (
                "a.c:1:2: runtime error: division by zero\n==1== Memcheck\n".to_owned(),
                "sanitizers",
                "memcheck",
            ),
            (
                "==1== Memcheck\nsnapshot=0\n".to_owned(),
                "memcheck",
                "massif",
            ),
            (
                "snapshot=0\n==1== Memcheck\n".to_owned(),
                "massif",
                "memcheck",
            ),
            (
                "==1== Memcheck\nversion: 1\nevents: Ir\nfn=f\n1 1\n".to_owned(),
                "memcheck",
                "callgrind",
            ),
            (
                "version: 1\nevents: Ir\nfn=f\n1 1\n==1== Memcheck\n".to_owned(),
                "callgrind",
                "memcheck",
            ),
            // Signs of kind `ManyLines` are checked in the order of the list.
            ("@[\n    main;f 1\n]: 3\n".to_owned(), "bpftrace", "folded"),
        ];
        for (text, first, second) in cases {
            let head = Head::new(text.as_bytes(), true);
            for name in [first, second] {
                let format = Format::find(name).unwrap();
                assert!(has_sign(&head, format), "{name}: {text}");
            }
            assert_eq!(detected(text.as_bytes()), Ok(first), "{text}");
        }
    }

    /// An input of which each read returns at most `size` bytes.
    struct Pieces<'a> {
        bytes: &'a [u8],
        size: usize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = out.len().min(self.size);
            self.bytes.read(&mut out[..length])
        }
    }

    #[test]
    fn the_format_does_not_depend_on_how_bytes_arrive() {
        let seeds = FORMATS
            .iter()
            .flat_map(|format| format.seeds_below(&test_data()).unwrap());
        let seeds = seeds.map(|path| (path, true));
        for (path, is_seed) in seeds.chain(others().into_iter().map(|path| (path, false))) {
            let bytes = read_unpacked(&path);
            let whole = detected(bytes.as_slice());
            assert_eq!(whole.is_ok(), is_seed, "{}: {whole:?}", path.display());
            for size in [1, 3, 4096] {
                let bytes = bytes.as_slice();
                let found = detected(Pieces { bytes, size });
                assert_eq!(found, whole, "{}: pieces of {size} bytes", path.display());
            }
        }
    }

    /// An input that fails after its beginning.
    struct OnlyBeginning<'a>(Option<&'a [u8]>);

    impl Read for OnlyBeginning<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let beginning = self.0.take().expect("the beginning decides");
            out[..beginning.len()].copy_from_slice(beginning);
            Ok(beginning.len())
        }
    }

    #[test]
    fn nothing_is_read_after_lines_that_decide() {
        let samples = "a  7  1.000001:          2 c: \n\t      10 f (/x)\n\n".repeat(16);
        for (beginning, expected) in [
            ("# callgrind format\n", "callgrind"),
            (
                "version: 1\ncreator: x\nevents: Ir\n\nfn=(1) main\n",
                "callgrind",
            ),
            ("==7== Memcheck, a memory error detector\n", "memcheck"),
            ("desc: (none)\ncmd: ./a\ntime_unit: i\n", "massif"),
            ("heap profile: 1: 2 [3: 4] @ heap/1048576\n", "pprof"),
            ("{\"dhatFileVersion\":2,\n", "dhat"),
            ("main;work;read 17\n".repeat(32).as_str(), "folded"),
            (samples.as_str(), "perf"),
        ] {
            let found = detected(OnlyBeginning(Some(beginning.as_bytes())));
            assert_eq!(found, Ok(expected), "{beginning}");
        }
    }

    #[test]
    fn texts_of_other_kinds_are_not_recognised() {
        let others = others();
        assert!(others.len() > 150, "{}", others.len());
        for path in others {
            let bytes = fs::read(&path).unwrap();
            // Checks the first line, and then the whole text.
            let first = bytes
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(bytes.len(), |end| end + 1);
            for end in [first, bytes.len()] {
                for format in FORMATS {
                    let is_recognised = has_sign(&Head::new(&bytes[..end], true), format);
                    assert!(
                        !is_recognised,
                        "{}: {format:?} recognises its first {end} bytes",
                        path.display()
                    );
                }
            }
            let found = detected(bytes.as_slice());
            assert!(found.is_err(), "{}: {found:?}", path.display());
        }
    }

    #[test]
    fn an_input_that_begins_with_only_samples_is_recognised_despite_later_lines() {
        let sample = "a  7  1.000001:          2 c: \n\t      10 f (/x)\n\n";
        let samples = sample.repeat(16);
        let massif = "desc: (none)\ncmd: ./a\ntime_unit: i\n";
        for (text, expected) in [
            (format!("{samples}{massif}"), "perf"),
            (format!("# comment\n{samples}{massif}"), "perf"),
            // After other output, the program itself may have printed the samples.
            (format!("started\n{samples}{massif}"), "massif"),
            (format!("{sample}{massif}"), "massif"),
            (format!("started\n{samples}"), "perf"),
        ] {
            assert_eq!(detected(text.as_bytes()), Ok(expected), "{}", &text[..40]);
        }
    }

    #[test]
    fn lines_with_separators_are_counters_only_if_their_fields_match() {
        for text in ["a;b;c 1\n", "1,2,3,4,5\n", "name,unit,event,10,x\n"] {
            assert_ne!(detected(text.as_bytes()), Ok("perf-stat"), "{text}");
        }
    }

    #[test]
    fn unrecognised_inputs_are_refused_with_a_reason() {
        const METRICS: &str =
            "this is output of perf stat without counters (--metric-only); perf stat -x,";
        const UNKNOWN: &str = "1: not recognised as a supported format";
        for (text, expected) in [
            ("", "the input is empty"),
            ("hello\n", UNKNOWN),
            ("a b 5\nc 3\n", UNKNOWN),
            ("x;y;z\n1;2;3\n", UNKNOWN),
            ("12:30:01: started\nserver 17: listening\n", UNKNOWN),
            ("[   12.345678] usb 1-1: new device\n", UNKNOWN),
            ("[1, 2,\n3]\n", "this is a JSON array"),
            ("[{\"a\": 1},\n", "this is a JSON array"),
            ("[error] no such file\n", UNKNOWN),
            (
                "goroutine 17 [running]:\nmain.main()\n",
                "this is a dump of goroutines",
            ),
            ("a\tb\n\t12 x\nc\td\n", UNKNOWN),
            ("{\"type\":\"run\"}\n", "this is a stream already"),
            // Output with metrics but without counts.
            (
                "# started on Sun Nov 22 04:03:52 2026\n\n\n2.014,\n",
                METRICS,
            ),
            ("cpu,GHz,\nCPU0,2.241,\nCPU1,2.244,\n", METRICS),
            ("{}\n{\"metric-value\" : \"1.974\"}\n", METRICS),
        ] {
            let message = detected(text.as_bytes()).unwrap_err();
            assert!(message.starts_with(expected), "{text}: {message}");
        }
    }
}
