//! Edge cases: empty, truncated and oversized inputs, and the messages about them.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tests::data;
use tests::tools::{Run, run};

const MASSIF: &str = "desc: (none)\ncmd: ./p\ntime_unit: i\n#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n";

/// Writes a log of Memcheck with these options and leaks.
fn log(options: &str, leaks: &[(&str, u64)]) -> String {
    let mut text = format!(
        "==7== Memcheck, a memory error detector\n==7== Using Valgrind-3.19.0 and LibVEX\n==7== Command: ./p\n{options}==7== \n==7== HEAP SUMMARY:\n==7==     in use at exit: 4,000 bytes in 5 blocks\n==7== \n"
    );
    for (position, (words, bytes)) in leaks.iter().enumerate() {
        text += &format!(
            "==7== {bytes} bytes in 1 blocks are {words} in loss record {} of {}\n==7==    at 0x1: malloc (vg_replace_malloc.c:381)\n==7==    by 0x2: make (p.c:3)\n==7==    by 0x3: main (p.c:6)\n==7== \n",
            position + 1,
            leaks.len()
        );
    }
    text
}

const SUMMARY: &str = "==7== LEAK SUMMARY:\n==7==    definitely lost: 1,000 bytes in 1 blocks\n==7==    indirectly lost: 0 bytes in 0 blocks\n==7==      possibly lost: 0 bytes in 0 blocks\n==7==    still reachable: 3,000 bytes in 4 blocks\n==7==         suppressed: 0 bytes in 0 blocks\n==7== \n==7== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)\n";

fn run_on_files(tool: &str, args: &[&str], files: &[(&str, Vec<u8>)]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        paths.push(path.to_str().unwrap().to_owned());
    }
    let paths = paths.iter().map(String::as_str);
    run(
        tool,
        &args.iter().copied().chain(paths).collect::<Vec<_>>(),
        b"",
    )
}

#[test]
fn runs_without_findings_are_compared_if_they_measure_the_same() {
    let clean = fs::read(data("memcheck/3.27.1-clean.log")).unwrap();
    let clean_xml = fs::read(data("memcheck/3.27.1-clean.xml")).unwrap();
    let nothing = MASSIF.as_bytes().to_vec();
    for (a, b, expected) in [
        (&nothing, &clean, 2),
        (&clean_xml, &nothing, 2),
        (&clean, &clean_xml, 0),
        (&nothing, &nothing, 0),
    ] {
        for args in [&[][..], &["--fail-if", "bytes>+0"]] {
            let files = [("a", a.clone()), ("b", b.clone())];
            let compared = run_on_files("cg-diff", args, &files);
            // A limit on an event without records is not broken.
            let is_as_expected = expected == 2 || args.is_empty() || compared.status == 0;
            assert!(is_as_expected, "{}", compared.stderr);
            if args.is_empty() || expected == 2 {
                assert_eq!(compared.status, expected, "{}", compared.stderr);
            }
        }
    }
}

#[test]
fn hidden_leaks_do_not_count_as_a_rise() {
    let default = log("", &[("definitely lost", 1000)]) + SUMMARY;
    let all = log("", &[("definitely lost", 1000), ("still reachable", 3000)]) + SUMMARY;
    let by_fn = ["--by", "fn", "--fail-if", "bytes>+0"];
    let files = [("a.log", default.into_bytes()), ("b.log", all.into_bytes())];
    let judged = run_on_files("cg-diff", &by_fn, &files);
    assert_eq!(judged.status, 2, "{}", judged.stderr);
    assert!(
        judged.text().contains("\"broken_limits\":[]"),
        "{}",
        judged.text()
    );
    assert!(
        judged.stderr.contains("--show-leak-kinds"),
        "{}",
        judged.stderr
    );
}

#[test]
fn truncated_sample_is_omitted_with_an_error() {
    let chain = "w  7  812.000001:  1000 cycles: \n\t    401131 spin+0x1 (/opt/w)\n\t    4011a2 main+0x22 (/opt/w)\n\n";
    let last = chain.trim_end_matches('\n');
    for (end, status, samples) in [
        ("", 0, 2),
        // Only the last newline is missing.
        (last, 0, 3),
        (&last[..last.len() - 1], 2, 2),
        (&last[..last.len() - 8], 2, 2),
        (&last[..last.find("+0x22").unwrap()], 2, 2),
        (&last[..last.find("a2 main").unwrap()], 2, 2),
        (&last[..last.find("cles").unwrap()], 2, 2),
    ] {
        let text = [chain, chain, end].concat();
        let read = run("cg-parse", &["-"], text.as_bytes());
        assert_eq!(read.status, status, "{end:?}: {}", read.stderr);
        assert!(
            read.text().contains(&format!("\"samples\":{samples}}}")),
            "{end:?}: {}",
            read.text()
        );
    }
}

#[test]
fn truncated_packed_input_is_read_like_its_unpacked_prefix() {
    let massif = fs::read(data("massif/3.19.0-heapy_i.massif.out")).unwrap();
    let xml = fs::read(data("memcheck/3.27.1-leaky.xml")).unwrap();
    let text = log("", &[("definitely lost", 1000)]).into_bytes();
    for (whole, kept) in [
        (text.clone(), text.len() - 40),
        (xml.clone(), xml.len() / 2),
        (massif.clone(), massif.len() / 2),
    ] {
        let mut packed = GzEncoder::new(Vec::new(), Compression::none());
        packed.write_all(&whole).unwrap();
        let packed = packed.finish().unwrap();
        let cut = &packed[..kept];
        // Without compression, a block's text follows a header, so a prefix of it can be unpacked.
        let mut unpacked = Vec::new();
        let _ = std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(cut), &mut unpacked);
        assert!(unpacked.len() + 100 > kept && unpacked.len() < whole.len());
        let read = run("cg-parse", &["-"], cut);
        let first = run("cg-parse", &["-"], &unpacked);
        assert_eq!((read.status, first.status), (2, 2), "{}", read.stderr);
        assert_eq!(read.text(), first.text());
        assert!(read.text().lines().count() > 1, "{}", read.stderr);
        assert!(read.stderr.contains("ends early"), "{}", read.stderr);
    }
    // The text is complete, but the checksum after it is truncated, so the text may be incomplete.
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"a;b 3\n").unwrap();
    let packed = packed.finish().unwrap();
    let read = run("cg-parse", &["-"], &packed[..packed.len() - 4]);
    assert_eq!(read.status, 2);
    assert!(
        read.text().contains("\"samples\":3") && !read.text().contains("\"type\":\"end\""),
        "{}",
        read.text()
    );
}

#[test]
fn overflowing_sums_of_summaries_are_omitted() {
    let part = |summary: u64| {
        format!("part: 1\n\nevents: Ir\nsummary: {summary}\n\nfn=main\n3 5\n\ntotals: 5\n")
    };
    for (a, b, expected) in [
        (1 << 63, 1 << 63, None),
        ((1 << 63) + 100, (1 << 63) + 23, None),
        // Callgrind's own sums can be negative.
        (u64::MAX, 20, Some("\"summary\":{\"Ir\":19}")),
        (
            1 << 62,
            1 << 62,
            Some("\"summary\":{\"Ir\":9223372036854775808}"),
        ),
        (30, 12, Some("\"summary\":{\"Ir\":42}")),
    ] {
        let text = format!(
            "version: 1\ncreator: callgrind-3.19.0\npid: 7\ncmd: ./p\n{}{}",
            part(a),
            part(b)
        );
        let read = run("cg-parse", &["-"], text.as_bytes());
        match expected {
            Some(expected) => assert!(read.text().contains(expected), "{a} {b}: {}", read.text()),
            None => assert!(
                !read.text().contains("\"summary\""),
                "{a} {b}: {}",
                read.text()
            ),
        }
    }
}

#[test]
fn option_values_in_messages_are_escaped() {
    for (tool, option) in [
        ("cg-parse", "--snapshots"),
        ("cg-fmt", "--format"),
        ("cg-diff", "--shares"),
        ("cg-filter", "--min"),
        ("leak-check", "--max-bytes"),
    ] {
        let refused = run(tool, &[option, "x\u{202e}y\u{1b}[2J"], b"");
        assert_eq!(refused.status, 2, "{tool}");
        assert!(
            refused.stderr.contains("x\\u{202e}y\\u{1b}[2J"),
            "{tool}: {}",
            refused.stderr
        );
    }
}

#[test]
fn report_on_a_truncated_input_has_no_end_record() {
    let xml = fs::read(data("memcheck/3.27.1-leaky.xml")).unwrap();
    let cut = run("leak-check", &["-f", "json", "-"], &xml[..xml.len() / 2]);
    assert_eq!(cut.status, 2, "{}", cut.stderr);
    assert!(cut.text().contains("\"type\":\"error\""));
    assert!(!cut.text().contains("\"type\":\"end\""));
    for (tool, args) in [("cg-fmt", &["-"][..]), ("cg-filter", &["", "-"])] {
        assert_eq!(run(tool, args, &cut.stdout).status, 2, "{tool}");
    }
    let whole = run("leak-check", &["-f", "json", "-"], &xml);
    assert!(
        whole
            .text()
            .lines()
            .last()
            .unwrap()
            .starts_with("{\"type\":\"end\"")
    );
    assert_eq!(run("cg-fmt", &["-"], &whole.stdout).status, 0);
}
