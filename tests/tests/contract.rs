//! The common contract of all five tools: help, versions, exit statuses, and errors in input and output.

use std::fs::File;
use std::process::{Command, Stdio};

use tests::tools::{self, TOOLS, run};

const PROFILE: &str = "pair/before.callgrind.out";
const LOG: &str = "memcheck/3.27.1-leaky.log";

/// Each tool, the arguments before its one input, and a suitable profile.
const READERS: [(&str, &[&str], &str); 5] = [
    ("cg-parse", &[], PROFILE),
    ("cg-filter", &[""], PROFILE),
    ("cg-diff", &[PROFILE], PROFILE),
    ("cg-fmt", &[], PROFILE),
    ("leak-check", &[], LOG),
];

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

/// Returns the stream of a profile, from cg-parse.
fn stream_of(profile: &str) -> Vec<u8> {
    let stream = run("cg-parse", &[profile], b"");
    assert_eq!(stream.status, 0, "{}", stream.stderr);
    stream.stdout
}

#[test]
fn version_is_one_line_with_the_name() {
    for tool in TOOLS {
        let version = run(tool, &["--version"], b"");
        let expect = format!("{tool} {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!((version.status, version.text()), (0, expect.as_str()));
    }
}

#[test]
fn unknown_flag_is_a_usage_error() {
    for tool in TOOLS {
        let refused = run(tool, &["--no-such-flag"], b"");
        assert_eq!((refused.status, refused.text()), (2, ""), "{tool}");
        assert!(
            refused.stderr.contains("--no-such-flag"),
            "{tool}: {}",
            refused.stderr
        );
    }
}

#[test]
fn unreadable_input_is_reported_once_with_status_2() {
    for (tool, args, _) in READERS {
        for (input, expect) in [
            ("no/such/file", "no/such/file: No such file"),
            ("memcheck", "memcheck: is a directory"),
        ] {
            let refused = run(tool, &with(args, &[input]), b"");
            assert_eq!(refused.status, 2, "{tool} {input}");
            // leak-check reads the files in a folder, and this folder has sources next to its logs.
            let expect = match (tool, input) {
                ("leak-check", "memcheck") => "memcheck/errors.c:1: not recognised",
                _ => expect,
            };
            let messages: Vec<&str> = refused
                .stderr
                .lines()
                .filter(|line| line.contains(expect) && line.starts_with(&format!("{tool}: ")))
                .collect();
            assert_eq!(messages.len(), 1, "{tool}: {}", refused.stderr);
        }
    }
}

#[test]
fn empty_and_binary_inputs_are_errors() {
    let junk: Vec<u8> = (0..100_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for (tool, args, _) in READERS {
        for input in [
            &b""[..],
            b"\n\n",
            b"\0",
            &junk,
            b"{",
            b"[1,2]\n",
            b"hello\nworld\n",
        ] {
            let refused = run(tool, &with(args, &["-"]), input);
            assert_eq!(
                refused.status,
                2,
                "{tool} on {:?}: {}",
                &input[..input.len().min(20)],
                refused.stderr
            );
            assert!(
                refused.stderr.starts_with(&format!("{tool}: ")),
                "{tool}: {}",
                refused.stderr
            );
        }
    }
}

#[test]
fn closed_pipe_prints_no_error() {
    for (tool, args, profile) in READERS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = tools::command(tool)
            .args(args)
            .arg(profile)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        // The status counts leaks even if no program reads the report.
        let status = i32::from(tool == "leak-check");
        assert_eq!(
            (output.status.code(), stderr.as_str()),
            (Some(status), ""),
            "{tool}"
        );
    }
}

#[test]
fn full_disk_is_an_error() {
    for (tool, args, profile) in READERS {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = tools::command(tool)
            .args(args)
            .arg(profile)
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{tool}: {stderr}");
        assert!(
            stderr.contains("No space left on device"),
            "{tool}: {stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{tool}: {stderr}");
    }
}

#[test]
fn help_on_a_full_disk_is_an_error() {
    for tool in TOOLS {
        for flag in ["--help", "-h", "--version", "--generate=man"] {
            let full = File::options().write(true).open("/dev/full").unwrap();
            let output = tools::command(tool)
                .arg(flag)
                .stdout(full)
                .stderr(Stdio::piped())
                .output()
                .unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{tool} {flag}: {stderr}");
            assert!(
                stderr.contains("No space left on device"),
                "{tool} {flag}: {stderr}"
            );
        }
    }
}

#[test]
fn closed_standard_output_is_an_error_and_the_null_device_is_not() {
    let shell = |tool: &str, args: &[&str], redirection: &str| {
        let script = format!("exec \"$@\" {redirection}");
        let output = Command::new("bash")
            .args(["-c", &script, "bash"])
            .arg(tools::folder().join(tool))
            .args(args)
            .current_dir(tests::data(""))
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), stderr)
    };
    for (tool, args, profile) in READERS {
        let args = with(args, &[profile]);
        for args in [&args[..], &["--help"], &["--generate=man"]] {
            let (status, stderr) = shell(tool, args, ">&-");
            assert_eq!(status, 2, "{tool} {args:?}: {stderr}");
            assert!(
                stderr.ends_with(": standard output: is closed\n"),
                "{tool} {args:?}: {stderr}"
            );
            for null in [">/dev/null", "1<>/dev/null"] {
                let (status, stderr) = shell(tool, args, null);
                assert!(status < 2, "{tool} {args:?} {null}: {stderr}");
            }
        }
    }
}

#[test]
fn truncated_stream_is_an_error() {
    for (tool, args, profile) in READERS {
        if tool == "cg-parse" {
            continue;
        }
        let stream = stream_of(profile);
        let text = String::from_utf8(stream.clone()).unwrap();
        let end = text.trim_end().rfind('\n').unwrap() + 1;
        // Without `end`, and with half a record at the end.
        for length in [end, end - 30] {
            let cut = run(tool, &with(args, &["-"]), &stream[..length]);
            assert_eq!(cut.status, 2, "{tool}: {}", cut.stderr);
            assert!(cut.stderr.contains("<stdin>"), "{tool}: {}", cut.stderr);
        }
    }
}

#[test]
fn every_prefix_of_a_small_stream_ends_in_a_known_status() {
    let lines = String::from_utf8(stream_of(PROFILE)).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let small = [lines[0], lines[1], lines[lines.len() - 1]].join("\n");
    for (tool, args, _) in READERS {
        if tool == "cg-parse" {
            continue;
        }
        for length in (0..small.len()).step_by(7) {
            let cut = run(tool, &with(args, &["-"]), &small.as_bytes()[..length]);
            assert_eq!(cut.status, 2, "{tool} {length}: {}", cut.stderr);
        }
    }
}

#[test]
fn fragment_can_be_viewed_but_not_judged() {
    let stream = String::from_utf8(stream_of(LOG)).unwrap();
    let fragment: Vec<&str> = stream
        .lines()
        .filter(|line| line.contains("\"leak\""))
        .collect();
    let fragment = fragment.join("\n") + "\n";
    for (tool, args, status) in [
        ("cg-filter", &[][..], 0),
        ("cg-fmt", &[], 0),
        ("leak-check", &[], 2),
        ("leak-check", &["--allow-fragment"], 1),
    ] {
        let seen = run(tool, args, fragment.as_bytes());
        assert_eq!(seen.status, status, "{tool} {args:?}: {}", seen.stderr);
    }
}

#[test]
fn unknown_records_and_fields_are_not_errors() {
    let mut stream = String::from_utf8(stream_of(PROFILE)).unwrap();
    let end = stream.trim_end().rfind('\n').unwrap() + 1;
    stream.insert_str(end, "{\"type\":\"weather\",\"degrees\":[1.5,null]}\n");
    let stream = stream.replace("\"calls\":", "\"later\":{\"x\":[\"y\"]},\"calls\":");
    for (tool, args, _) in READERS {
        if matches!(tool, "cg-parse" | "leak-check") {
            continue;
        }
        let seen = run(tool, &with(args, &["-"]), stream.as_bytes());
        assert_eq!(seen.status, 0, "{tool}: {}", seen.stderr);
    }
}

#[test]
fn stream_of_another_version_is_an_error_with_a_line_number() {
    for (tool, args, profile) in READERS {
        let stream = String::from_utf8(stream_of(profile)).unwrap();
        let later = stream.replace("\"stream\":1,", "\"stream\":2,");
        assert_ne!(stream, later);
        // Also after a stream of this version.
        for (input, line) in [
            (later.clone(), 1),
            (stream.clone() + &later, stream.lines().count() + 1),
        ] {
            let refused = run(tool, &with(args, &["-"]), input.as_bytes());
            assert_eq!(refused.status, 2, "{tool}");
            if tool != "cg-parse" {
                let start =
                    format!("{tool}: <stdin>:{line}: expected a stream of version 1, found");
                let message = refused.stderr.lines().find(|line| line.starts_with(&start));
                assert!(message.is_some(), "{tool}: {}", refused.stderr);
            }
        }
    }
}

#[test]
fn lines_can_end_with_carriage_return_and_line_feed() {
    for (tool, args, profile) in READERS {
        if tool == "cg-parse" {
            continue;
        }
        let stream = String::from_utf8(stream_of(profile)).unwrap();
        let plain = run(tool, &with(args, &["-"]), stream.as_bytes());
        let windows = run(
            tool,
            &with(args, &["-"]),
            stream.replace('\n', "\r\n").as_bytes(),
        );
        assert_eq!(
            (windows.status, &windows.stderr),
            (plain.status, &plain.stderr),
            "{tool}"
        );
        if tool != "cg-filter" {
            assert_eq!(windows.text(), plain.text(), "{tool}");
        }
    }
}

#[test]
fn packed_input_gives_the_same_result() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write as _;
    for (tool, args, profile) in READERS {
        // cg-parse reads the profile, the other tools read its stream.
        let input = match tool {
            "cg-parse" => std::fs::read(tests::data(profile)).unwrap(),
            _ => stream_of(profile),
        };
        let plain = run(tool, &with(args, &["-"]), &input);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&input).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = compress_to_vec(&input[..], CompressionLevel::Fastest);
        for packed in [&gzip, &zstd] {
            assert_eq!(run(tool, &with(args, &["-"]), packed), plain, "{tool}");
            let cut = run(tool, &with(args, &["-"]), &packed[..packed.len() / 2]);
            assert_eq!(cut.status, 2, "{tool}");
            assert!(cut.stderr.contains("data ends early"), "{}", cut.stderr);
        }
    }
}

#[test]
fn unsupported_input_is_named_in_one_line_of_plain_text() {
    let recording = [&b"SIMPLEPERF\0\x1b[31m"[..], &[0xff; 9000]].concat();
    let picture = b"<?xml version=\"1.0\"?>\n<svg>\n<title>main</title>\n</svg>\n";
    let archive = [&[b'x'; 257][..], b"ustar\0", b"\nevents: Ir\nfn=f\n1 2\n"].concat();
    let program = std::fs::read(tools::folder().join("cg-parse")).unwrap();
    let cases: [(&[u8], &str); 4] = [
        (
            &recording,
            "this is a report of simpleperf (report-sample --protobuf); report_sample.py -i perf.data | cg-parse reads the \
             recording that it was made from",
        ),
        (
            picture,
            "this is an SVG picture; cg-parse reads the profile that it was made from",
        ),
        (
            &archive,
            "this is a tar archive; tar -xOf FILE | cg-parse, with the name of a member after FILE if it has several",
        ),
        (
            &program,
            "this is an ELF file (a program, a library or a core dump); valgrind --tool=callgrind PROGRAM writes \
             a profile that cg-parse reads",
        ),
    ];
    for (tool, args, _) in READERS {
        for (input, message) in cases {
            let refused = run(tool, &with(args, &["-"]), input);
            assert_eq!(refused.status, 2, "{tool}");
            let expected = format!("{tool}: <stdin>: {message}");
            assert!(
                refused.stderr.lines().any(|line| line == expected),
                "{tool}: {}",
                refused.stderr
            );
            let raw = refused.stderr.bytes().find(|byte| *byte == 0x1b);
            assert_eq!(raw, None, "{tool}");
        }
    }
    let stream = run("cg-parse", &[], &stream_of(PROFILE));
    assert_eq!((stream.status, stream.stdout.len()), (2, 0));
    assert_eq!(
        stream.stderr,
        "cg-parse: <stdin>: this is a stream already; cg-filter, cg-diff, cg-fmt and leak-check read streams directly\n"
    );
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for (tool, args, profile) in READERS {
        let first = run(tool, &with(args, &[profile]), b"");
        let second = run(tool, &with(args, &[profile]), b"");
        assert_eq!(first, second, "{tool}");
    }
}
