//! The readers in Python and jq at the beginning of FORMAT.md, unmodified.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::io::Write as _;
use std::process::{Output, Stdio};

use needs::needs;
use tests::tools::stdout;
use tests::workspace;

/// Returns the document's code in a language.
fn code(language: &str) -> String {
    let text = std::fs::read_to_string(workspace().join("crates/cg-stream/FORMAT.md")).unwrap();
    let block = text.split(&format!("```{language}\n")).nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

fn read_by(program: &str, args: &[&str], stream: &[u8]) -> Output {
    let mut child = needs::command(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stream).unwrap();
    child.wait_with_output().unwrap()
}

/// Returns the functions of a profile from cg-fmt: count, percentage, name.
fn expected(stream: &[u8]) -> Vec<(String, f64, String)> {
    let columns = [
        "-f",
        "csv",
        "--group-by",
        "fn",
        "--columns",
        "Ir,Ir%,fn",
        "-n",
        "10",
        "-",
    ];
    let table = stdout("cg-fmt", &columns, stream);
    let mut rows = csv::Reader::from_reader(&table[..]);
    let row = |row: csv::StringRecord| {
        (
            row[0].to_owned(),
            row[1].parse().unwrap_or(0.0),
            row[2].to_owned(),
        )
    };
    rows.records().map(|record| row(record.unwrap())).collect()
}

fn check(printed: &[u8], stream: &[u8]) {
    let text = String::from_utf8(printed.to_vec()).unwrap();
    let rows = text.lines().map(|line| {
        let mut words = line.splitn(3, ' ');
        let mut next = || words.next().unwrap().to_owned();
        (
            next(),
            next().trim_end_matches('%').parse::<f64>().unwrap(),
            next(),
        )
    });
    let rows: Vec<_> = rows.collect();
    let expected = expected(stream);
    assert_eq!(rows.len(), 10, "{text}");
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!((&row.0, &row.2), (&expected.0, &expected.2), "{text}");
        assert!((row.1 - expected.1).abs() < 0.011, "{row:?} {expected:?}");
    }
}

#[test]
fn python_reader_agrees_with_cg_fmt() {
    needs!("python");
    let program = code("python");
    assert!(program.lines().count() <= 16, "{program}");
    let stream = stdout("cg-parse", &["pair/before.callgrind.out"], b"");
    let read = read_by("python3", &["-c", &program], &stream);
    assert_eq!(read.status.code(), Some(0));
    check(&read.stdout, &stream);
    // Concatenated streams are added up, and a truncated stream is an error.
    let twice = [&stream[..], &stream].concat();
    check(
        &read_by("python3", &["-c", &program], &twice).stdout,
        &twice,
    );
    let whole_lines = stream.len() - stream.rsplit(|byte| *byte == b'\n').nth(1).unwrap().len() - 1;
    assert_eq!(
        read_by("python3", &["-c", &program], &stream[..whole_lines])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn jq_reader_agrees_with_cg_fmt() {
    needs!("jq");
    let stream = stdout("cg-parse", &["pair/before.callgrind.out"], b"");
    let read = read_by("jq", &["-rs", &code("jq")], &stream);
    assert_eq!(read.status.code(), Some(0));
    check(&read.stdout, &stream);
}
