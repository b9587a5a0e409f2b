//! Recognises a format by content, never by file name.
//!
//! What a format shows itself by is known to its reader, and which of its functions says so to the list of formats; here
//! is in which order kinds of signs are asked for, and how much of an input has to be seen.

use std::io::Read;

use cg_reader::{Error, FARTHEST_LOOK, Head, Reach, excerpt};
use cg_stream::lines::LineReader;

use crate::format::{Format, Sign};
use crate::formats::FORMATS;
use crate::unsupported::{self, Binary};

/// The format of an input: the one asked for, else the one its first lines show.
pub(crate) fn format_of<R: Read>(
    lines: &mut LineReader<R>,
    asked_for: Option<&'static Format>,
) -> Result<&'static Format, Error> {
    if asked_for.is_none() && is_stream(lines)? {
        return Err(Error::whole(
            "this is a stream already; cg-filter, cg-diff, cg-fmt and leak-check read it as it is",
        ));
    }
    let mut seen = 0;
    loop {
        let (bytes, is_whole) = look(lines, seen)?;
        seen = bytes.len();
        if is_whole && seen == 0 {
            return Err(Error::whole("the input is empty"));
        }
        // How much of an input is seen at once, out of a pipe or a packed file, makes no difference to what it is.
        match unsupported::binary(bytes) {
            Binary::Is(message) => return Err(Error::whole(message)),
            Binary::MayBe if !is_whole => continue,
            Binary::MayBe | Binary::IsNot => {}
        }
        if let Some(format) = asked_for.or_else(|| recognise(&Head::new(bytes, is_whole))) {
            return Ok(format);
        }
        if is_whole || seen > FARTHEST_LOOK {
            return Err(unrecognised(bytes));
        }
    }
}

/// More of an input than was seen, and whether that is all of it. What is buffered already is looked at before anything is
/// waited for.
fn look<R: Read>(lines: &mut LineReader<R>, seen: usize) -> Result<(&[u8], bool), Error> {
    if lines.buffered().len() == seen {
        lines.peek_more().map_err(Error::Input)?;
    }
    let bytes = lines.buffered();
    Ok((bytes, bytes.len() == seen))
}

/// Whether an input is a stream already. Blocks only until its first line's beginning is there.
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
        // Keys may stand in any order; a whole first line tells.
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

/// The format that the beginning of an input shows, if it does.
fn recognise(head: &Head) -> Option<&'static Format> {
    let find = |shows: &dyn Fn(&Sign) -> bool| {
        FORMATS.iter().find(|format| format.signs.iter().any(shows))
    };
    let begins = |sign: &Sign| matches!(sign, Sign::Beginning(is_of) if is_of(head));
    if let Some(format) = find(&begins) {
        return Some(format);
    }
    let costs = cg_callgrind::recognise::recognise(head);
    let before = costs.map_or(usize::MAX, |(at, _)| at);
    if let Some(format) = by_line(head, before) {
        return Some(format);
    }
    match costs {
        Some((_, tool)) => {
            let tool = tool?;
            find(&|sign| matches!(sign, Sign::CostHeader(of) if *of == tool))
        }
        None if head.reach == Reach::Beginning => None,
        None => find(&|sign| matches!(sign, Sign::ManyLines(is_of) if is_of(head))),
    }
}

/// The format of the first line in front of this place that only one format has.
fn by_line(head: &Head, before: usize) -> Option<&'static Format> {
    // There may be a megabyte of lines: the signs to ask of each line are collected once.
    let signs = FORMATS.iter().flat_map(|format| {
        let signs = format.signs.iter();
        signs.filter_map(move |sign| match sign {
            Sign::Line(is_of) => Some((format, is_of)),
            _ => None,
        })
    });
    let signs: Vec<_> = signs.collect();
    let lines = head.whole_lines().take_while(|(at, _)| *at < before);
    let mut shown = lines.filter_map(|(_, line)| signs.iter().find(|(_, is_of)| is_of(line)));
    shown.next().map(|(format, _)| *format)
}

fn unrecognised(bytes: &[u8]) -> Error {
    if let Some(message) = unsupported::text(bytes) {
        return Error::whole(message);
    }
    let first = bytes
        .split(|byte| *byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty())
        .unwrap_or_default();
    Error::at(
        1,
        format!(
            "not recognised as a format that is read (cg-parse --help names them): it begins with {}; cg-parse --from FORMAT overrides",
            excerpt(first)
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Whether an input shows that it is of a format, whatever others it shows.
    fn shows(head: &Head, format: &Format) -> bool {
        format.signs.iter().any(|sign| match sign {
            Sign::Beginning(is_of) | Sign::ManyLines(is_of) => is_of(head),
            Sign::Line(is_of) => head.whole_lines().any(|(_, line)| is_of(line)),
            Sign::CostHeader(tool) => cg_callgrind::recognise::recognise(head)
                .is_some_and(|(_, found)| found == Some(*tool)),
        })
    }

    #[test]
    fn of_two_formats_that_an_input_shows_it_is_the_one_asked_first() {
        let samples = "a  7  1.000001:          2 c: \n\t      10 f (/x)\n\n".repeat(2000);
        let cases = [
            // What is at the beginning is asked in the order of the list.
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
            // It goes before a line in front of it, that before many lines.
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
            // Of lines and headers of costs the first shows it.
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
            // Many lines are asked about in the order of the list.
            ("@[\n    main;f 1\n]: 3\n".to_owned(), "bpftrace", "folded"),
        ];
        for (text, first, second) in cases {
            let head = Head::new(text.as_bytes(), true);
            for name in [first, second] {
                let format = Format::named(name).unwrap();
                assert!(shows(&head, format), "{name}: {text}");
            }
            let found = format_of(&mut LineReader::new(text.as_bytes()), None);
            assert_eq!(found.ok(), Format::named(first), "{text}");
        }
    }

    #[test]
    fn no_format_takes_a_text_that_is_none_of_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/others");
        let mut files = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            files += 1;
            // Of the first line alone, and of all.
            let first = bytes
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(bytes.len(), |end| end + 1);
            for end in [first, bytes.len()] {
                for format in FORMATS {
                    let is_taken = shows(&Head::new(&bytes[..end], true), format);
                    assert!(
                        !is_taken,
                        "{}: {format:?} takes its first {end} bytes",
                        path.display()
                    );
                }
            }
            let found = format_of(&mut LineReader::new(bytes.as_slice()), None);
            assert!(found.is_err(), "{}: {found:?}", path.display());
        }
        assert!(files > 150, "{files}");
    }

    #[test]
    fn a_beginning_of_nothing_but_samples_is_recognised_whatever_follows() {
        let sample = "a  7  1.000001:          2 c: \n\t      10 f (/x)\n\n";
        let samples = sample.repeat(cg_stacks::perf::LOOK / sample.len() + 1);
        let massif = "desc: (none)\ncmd: ./a\ntime_unit: i\n";
        for (text, expected) in [
            (format!("{samples}{massif}"), "perf"),
            (format!("# comment\n{samples}{massif}"), "perf"),
            // A program can print samples of its own.
            (format!("started\n{samples}{massif}"), "massif"),
            (format!("{sample}{massif}"), "massif"),
            (format!("started\n{samples}"), "perf"),
        ] {
            let recognised = format_of(&mut LineReader::new(text.as_bytes()), None);
            assert_eq!(recognised.ok(), Format::named(expected), "{}", &text[..40]);
        }
    }

    #[test]
    fn lines_with_separators_are_counters_only_if_they_have_the_fields_of_some() {
        for text in ["a;b;c 1\n", "1,2,3,4,5\n", "name,unit,event,10,x\n"] {
            let recognised = format_of(&mut LineReader::new(text.as_bytes()), None);
            assert_ne!(recognised.ok(), Format::named("perf-stat"), "{text}");
        }
    }

    #[test]
    fn what_no_format_begins_with_says_so() {
        const METRICS: &str =
            "this is output of perf stat without counters (--metric-only); perf stat -x,";
        const UNKNOWN: &str = "1: not recognised as a format that is read";
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
            // Of metrics alone there are no counts.
            (
                "# started on Sun Nov 22 04:03:52 2026\n\n\n2.014,\n",
                METRICS,
            ),
            ("cpu,GHz,\nCPU0,2.241,\nCPU1,2.244,\n", METRICS),
            ("{}\n{\"metric-value\" : \"1.974\"}\n", METRICS),
        ] {
            let refused = format_of(&mut LineReader::new(text.as_bytes()), None);
            let message = refused.unwrap_err().to_string();
            assert!(message.starts_with(expected), "{text}: {message}");
        }
    }
}
