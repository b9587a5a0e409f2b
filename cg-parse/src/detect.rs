//! Recognises a format by content, never by file name.
//!
//! The readers know the signs of their formats, and the list of formats names the functions that check them. This module
//! decides in which order signs are checked, and how much of an input to read before that.

use std::io::Read;

use cg_reader::{Error, FARTHEST_LOOK, Head, Reach, excerpt};
use cg_stream::lines::LineReader;

use crate::format::{Format, Sign};
use crate::formats::FORMATS;
use crate::unsupported::{self, Binary};

/// Returns the format of an input: `requested`, or the format that its first lines show.
pub(crate) fn detect_format<R: Read>(
    lines: &mut LineReader<R>,
    requested: Option<&'static Format>,
) -> Result<&'static Format, Error> {
    if requested.is_none() && is_stream(lines)? {
        return Err(Error::whole(
            "this is a stream already; cg-filter, cg-diff, cg-fmt and leak-check read streams directly",
        ));
    }
    let mut seen = 0;
    loop {
        let (bytes, is_whole) = look(lines, seen)?;
        seen = bytes.len();
        if is_whole && seen == 0 {
            return Err(Error::whole("the input is empty"));
        }
        // The amount of data in one read, from a pipe or a compressed file, must not affect the result.
        match unsupported::match_binary(bytes) {
            Binary::Is(message) => return Err(Error::whole(message)),
            Binary::MayBe if !is_whole => continue,
            Binary::MayBe | Binary::IsNot => {}
        }
        if let Some(format) = requested.or_else(|| recognise(&Head::new(bytes, is_whole))) {
            return Ok(format);
        }
        if is_whole || seen > FARTHEST_LOOK {
            return Err(unrecognised(bytes));
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

/// Returns true if an input is a stream. Blocks only until the beginning of the first line has arrived.
pub(crate) fn is_stream<R: Read>(lines: &mut LineReader<R>) -> Result<bool, Error> {
    let mut seen = 0;
    loop {
        let (bytes, is_whole) = look(lines, seen)?;
        seen = bytes.len();
        let text = bytes.trim_ascii_start();
        if text.first().is_some_and(|byte| *byte != b'{') {
            return Ok(false);
        }
        if text.starts_with(b"{\"type\":") {
            return Ok(true);
        }
        // The keys can be in any order, so a complete first line is needed.
        let line_end = memchr::memchr(b'\n', text).or(is_whole.then_some(text.len()));
        if let Some(line_end) = line_end {
            #[derive(serde::Deserialize)]
            struct TypedLine {
                #[serde(rename = "type")]
                _type: String,
            }
            return Ok(serde_json::from_slice::<TypedLine>(&text[..line_end]).is_ok());
        }
        if seen > FARTHEST_LOOK {
            return Ok(false);
        }
    }
}

/// Returns the format that the beginning of an input shows, if any.
fn recognise(head: &Head) -> Option<&'static Format> {
    let find = |has_sign: &dyn Fn(&Sign) -> bool| {
        FORMATS
            .iter()
            .find(|format| format.signs.iter().any(has_sign))
    };
    let begins = |sign: &Sign| matches!(sign, Sign::Beginning(matches) if matches(head));
    if let Some(format) = find(&begins) {
        return Some(format);
    }
    let costs = cg_callgrind::recognise::recognise(head);
    let before = costs.map_or(usize::MAX, |(at, _)| at);
    if let Some(format) = recognise_by_line(head, before) {
        return Some(format);
    }
    match costs {
        Some((_, tool)) => {
            let tool = tool?;
            find(&|sign| matches!(sign, Sign::CostHeader(summed) if *summed == tool))
        }
        None if head.reach == Reach::Beginning => None,
        None => find(&|sign| matches!(sign, Sign::ManyLines(matches) if matches(head))),
    }
}

/// Returns the format of the first line before offset `before` that occurs in only one format.
fn recognise_by_line(head: &Head, before: usize) -> Option<&'static Format> {
    // The head can have a megabyte of lines, so collect the signs only once.
    let signs = FORMATS.iter().flat_map(|format| {
        let signs = format.signs.iter();
        signs.filter_map(move |sign| match sign {
            Sign::Line(matches) => Some((format, matches)),
            _ => None,
        })
    });
    let signs: Vec<_> = signs.collect();
    let lines = head.whole_lines().take_while(|(at, _)| *at < before);
    let mut found = lines.filter_map(|(_, line)| signs.iter().find(|(_, matches)| matches(line)));
    found.next().map(|(format, _)| *format)
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
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Returns true if an input has a sign of the format. It may have signs of other formats, too.
    fn has_sign(head: &Head, format: &Format) -> bool {
        format.signs.iter().any(|sign| match sign {
            Sign::Beginning(matches) | Sign::ManyLines(matches) => matches(head),
            Sign::Line(matches) => head.whole_lines().any(|(_, line)| matches(line)),
            Sign::CostHeader(tool) => cg_callgrind::recognise::recognise(head)
                .is_some_and(|(_, found)| found == Some(*tool)),
        })
    }

    #[test]
    fn an_input_with_signs_of_two_formats_has_the_format_that_is_checked_first() {
        let samples = "a  7  1.000001:          2 c: \n\t      10 f (/x)\n\n".repeat(2000);
        let cases = [
            // Signs of kind `Beginning` are checked in the order of the list.
            (format!("{samples}<valgrindoutput>\n"), "perf", "xml"),
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
            // `Beginning` takes precedence over an earlier `Line`, and `Line` over `ManyLines`.
            (
                "==1== Memcheck\n<valgrindoutput>\n".to_owned(),
                "xml",
                "memcheck",
            ),
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
            let found = detect_format(&mut LineReader::new(text.as_bytes()), None);
            assert_eq!(found.ok(), Format::find(first), "{text}");
        }
    }

    #[test]
    fn texts_of_other_kinds_are_not_recognised() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/others");
        let mut files = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            files += 1;
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
            let found = detect_format(&mut LineReader::new(bytes.as_slice()), None);
            assert!(found.is_err(), "{}: {found:?}", path.display());
        }
        assert!(files > 150, "{files}");
    }

    #[test]
    fn an_input_that_begins_with_only_samples_is_recognised_despite_later_lines() {
        let sample = "a  7  1.000001:          2 c: \n\t      10 f (/x)\n\n";
        let samples = sample.repeat(cg_stacks::perf::LOOK / sample.len() + 1);
        let massif = "desc: (none)\ncmd: ./a\ntime_unit: i\n";
        for (text, expected) in [
            (format!("{samples}{massif}"), "perf"),
            (format!("# comment\n{samples}{massif}"), "perf"),
            // After other output, the program itself may have printed the samples.
            (format!("started\n{samples}{massif}"), "massif"),
            (format!("{sample}{massif}"), "massif"),
            (format!("started\n{samples}"), "perf"),
        ] {
            let recognised = detect_format(&mut LineReader::new(text.as_bytes()), None);
            assert_eq!(recognised.ok(), Format::find(expected), "{}", &text[..40]);
        }
    }

    #[test]
    fn lines_with_separators_are_counters_only_if_their_fields_match() {
        for text in ["a;b;c 1\n", "1,2,3,4,5\n", "name,unit,event,10,x\n"] {
            let recognised = detect_format(&mut LineReader::new(text.as_bytes()), None);
            assert_ne!(recognised.ok(), Format::find("perf-stat"), "{text}");
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
            let refused = detect_format(&mut LineReader::new(text.as_bytes()), None);
            let message = refused.unwrap_err().to_string();
            assert!(message.starts_with(expected), "{text}: {message}");
        }
    }
}
