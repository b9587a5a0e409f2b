//! Every tool gives the same output, status and messages for a raw profile and for its stream. Inside a tool, the rows of
//! a raw profile do not become text, but a stream is text.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use cg_parse::FORMATS;
use tests::data;
use tests::tools::{Run, command, run};

/// Profiles with special cases, in addition to the first profile of each format.
const MORE: &[&str] = &[
    "callgrind/3.14.0-weird_default.callgrind.out",
    "callgrind/3.19.0-leaky_xtleak.kcg",
    "callgrind/3.19.0-parts_multi.callgrind.out",
    "callgrind/3.19.0-rec_instr_jumps.callgrind.out",
    "callgrind/3.19.0-sepc_callers3.callgrind.out",
    "callgrind/pprof-go-gg_calltree.callgrind",
    "callgrind/xdebug-cachegrind.out.w",
    "cachegrind/3.19.0-diff_rec_O2.cgdiff.out",
    "massif/3.19.0-heapy_xtmemory.ms",
    "massif/3.27.1-leaky3.massif.out",
    "dhat/3.27.1-weird.dhat.json",
    "dhat/dhat-rs-dhat-heap-trim.json",
    "memcheck/3.27.1-weird.log",
    "memcheck/3.27.1-weird.xml",
    "memcheck/3.27.1-drd_threads2.log",
    "memcheck/3.27.1-helgrind_threads2.xml",
    "perf/6.1-busy_dwarf_srcline.perf.txt",
    "perf/6.1-busy_two_events.perf.txt",
    "folded/heaptrack-leaky2.folded",
    "stacks/after.folded",
    "pprof/go-cpu.pb.gz",
    "pprof/jemalloc.heap",
    "firefox/samply-import-fp.json.gz",
    "speedscope/evented.json",
    "v8/node.heapprofile",
];

fn profiles() -> impl Iterator<Item = &'static str> {
    FORMATS
        .iter()
        .map(|format| format.seeds[0])
        .chain(MORE.iter().copied())
}

/// Options of cg-fmt, and the options of cg-parse that put the same data into the stream.
const VIEWS: &[(&[&str], &[&str])] = &[
    (&[], &["--snapshots", "all"]),
    (&["-f", "csv"], &[]),
    (&["-f", "tsv", "--by", "function"], &[]),
    (&["-f", "markdown"], &["--snapshots", "all"]),
    (&["-f", "markdown", "--top", "3", "--width", "80"], &[]),
    (&["-f", "json"], &[]),
    (&["-f", "json", "--type", "call"], &["--calls"]),
    (&["-f", "csv", "--group-by", "obj"], &[]),
    (&["-f", "csv", "--tree=callees"], &["--calls"]),
    (&["--tree=both", "--top", "5"], &["--calls"]),
    (&["--peek", "ma"], &["--calls"]),
    (&["-f", "csv", "--group-by", "whose"], &[]),
    (&["-f", "csv", "--type", "line"], &["--lines"]),
    (&["-f", "csv", "--type", "call"], &["--calls"]),
    (&["--source"], &["--lines", "--calls"]),
    (&["-f", "html", "--type", "fn"], &[]),
    (&["-f", "svg"], &["--snapshots", "all"]),
    (&["-f", "folded"], &["--stacks"]),
    (&["-f", "folded", "--names", "stable"], &["--stacks"]),
    (&["-f", "flamegraph"], &["--stacks"]),
    (&["-f", "speedscope"], &["--stacks", "--times"]),
    (&["-f", "pprof"], &["--stacks"]),
    (&["-f", "firefox"], &["--stacks", "--times"]),
    (&["-f", "trace"], &["--stacks", "--times"]),
    (&["-f", "callgrind"], &["--calls", "--lines", "--levels"]),
    (&["-f", "dot"], &["--calls"]),
];

/// Runs a tool on the stream from cg-parse. Combines the messages of both, under the name of the tool.
fn run_on_stream(tool: &str, args: &[&str], parse: &Run) -> Run {
    let after = run(tool, args, &parse.stdout);
    let stderr = parse.stderr.replace("cg-parse: ", &format!("{tool}: "));
    Run {
        stderr: stderr + &after.stderr,
        ..after
    }
}

#[test]
fn cg_fmt_shows_a_profile_like_its_stream() {
    for profile in profiles() {
        // Many views use the same stream.
        let mut parsed = BTreeMap::new();
        for (args, parse) in VIEWS {
            let parse: &Run = parsed
                .entry(*parse)
                .or_insert_with(|| run("cg-parse", &[parse, &[profile][..]].concat(), b""));
            let raw = run("cg-fmt", &[args, &[profile][..]].concat(), b"");
            if parse.status != 0 {
                assert_eq!(raw.status, 2, "{profile} {args:?}");
                continue;
            }
            let is_usage = raw.stderr.contains("try '--help'");
            assert!(!is_usage, "{args:?} is a usage error: {}", raw.stderr);
            let streamed = run_on_stream("cg-fmt", args, parse);
            assert!(raw == streamed, "{profile} {args:?}\n{raw:?}\n{streamed:?}");
        }
    }
}

/// A page of a file has more data than a page of its stream, because cg-fmt can read a file twice: estimated stacks of
/// calls, and times of samples. A pipe is read once.
#[test]
fn page_of_a_pipe_equals_the_page_of_its_stream() {
    let mut pages = 0;
    for profile in profiles().filter(|profile| data(profile).is_file()) {
        let bytes = fs::read(data(profile)).unwrap();
        let parse = run(
            "cg-parse",
            &["--snapshots", "all", "--calls", "--lines", "-"],
            &bytes,
        );
        let raw = run("cg-fmt", &["-f", "html", "-"], &bytes);
        let streamed = run_on_stream("cg-fmt", &["-f", "html"], &parse);
        let [raw_status, status] = [raw.status, streamed.status];
        assert!(
            raw.stdout == streamed.stdout && raw_status == status,
            "{profile}"
        );
        pages += usize::from(status == 0);
    }
    assert!(pages > 30, "{pages}");
}

#[test]
fn cg_filter_filters_a_profile_like_its_stream() {
    for profile in profiles() {
        for (args, parse) in [
            (&[""][..], &[][..]),
            (&["ma", "--top", "2"], &[]),
            (&["-v", "m"], &[]),
            (&["--type", "call", ""], &["--calls"]),
            (&["--type", "line", ""], &["--lines"]),
            (&["--calls", "m"], &["--calls"]),
            (&["--lines", "-v", "m"], &["--lines"]),
            (&["--instr", "--calls", "m"], &["--instr", "--calls"]),
            (&["--per-part", ""], &["--per-part"]),
            (&["--stacks", "m"], &["--stacks"]),
            (&["--type", "stack", "m"], &["--stacks"]),
            (&["--snapshots", "all", ""], &["--snapshots", "all"]),
        ] {
            let parse = run("cg-parse", &[parse, &[profile][..]].concat(), b"");
            if parse.status != 0 {
                continue;
            }
            let raw = run("cg-filter", &[args, &[profile][..]].concat(), b"");
            let streamed = run_on_stream("cg-filter", args, &parse);
            assert!(raw == streamed, "{profile} {args:?}\n{raw:?}\n{streamed:?}");
        }
    }
}

/// Runs a tool in a folder.
fn run_in(folder: &Path, tool: &str, args: &[&str]) -> (i32, Vec<u8>, String) {
    let output = command(tool)
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), output.stdout, stderr)
}

/// Pairs of different runs. If there is only one file of a format, the file is compared with itself.
const PAIRS: &[[&str; 2]] = &[
    ["pair/before.callgrind.out", "pair/after.callgrind.out"],
    [
        "callgrind/3.14.0-rec_sep.callgrind.out",
        "callgrind/3.19.0-rec_default.callgrind.out",
    ],
    [
        "cachegrind/3.14.0-rec_default.cachegrind.out",
        "cachegrind/3.27.1-rec_default.cachegrind.out",
    ],
    [
        "massif/3.19.0-heapy_i.massif.out",
        "massif/3.27.1-leaky3.massif.out",
    ],
    ["dhat/3.19.0-inl.dhat.json", "dhat/3.19.0-heapy.dhat.json"],
    ["heaptrack/1.4.0-shapes.zst", "heaptrack/1.4.0-shapes.zst"],
    ["memcheck/3.14.0-leaky.xml", "memcheck/3.27.1-leaky.log"],
    [
        "memcheck/3.27.1-helgrind_threads2.log",
        "memcheck/3.27.1-drd_threads2.xml",
    ],
    [
        "perf/6.1-busy.perf.txt",
        "perf/6.1-busy_dwarf_srcline.perf.txt",
    ],
    ["stacks/before.folded", "stacks/after.folded"],
    ["pprof/go-cpu.pb.gz", "pprof/gperftools.cpu"],
    ["firefox/small-v55.json", "firefox/small-v70.json"],
    ["speedscope/evented.json", "speedscope/small.json"],
    ["v8/node.cpuprofile", "v8/node.cpuprofile"],
    ["printouts/bpftrace.txt", "printouts/dtrace.txt"],
    ["printouts/vtune.csv", "printouts/sample.txt"],
    ["printouts/xctrace.xml", "printouts/visual-studio.csv"],
    ["perf-stat/6.1-counters.csv", "perf-stat/6.1-counters.csv"],
    [
        "gungraun/0.20-compared.summary.json",
        "gungraun/0.20-compared.summary.json",
    ],
];

#[test]
fn cg_diff_compares_profiles_like_their_streams() {
    let folder = tempfile::tempdir().unwrap();
    let [raw, streams] = ["raw", "streams"].map(|name| folder.path().join(name));
    for profiles in PAIRS {
        for folder in [&raw, &streams] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder).unwrap();
        }
        let names = ["old", "new"];
        for (profile, name) in profiles.iter().zip(names) {
            fs::copy(data(profile), raw.join(name)).unwrap();
        }
        for (args, parse) in [
            (&["--all"][..], &["--calls"][..]),
            (&["--all", "--inclusive"], &["--calls"]),
            (&[], &["--calls"]),
            (
                &["--calls", "--lines", "--type", "fn,line,call"],
                &["--calls", "--lines"],
            ),
            (
                &["--stacks", "--type", "stack", "--allow-unmatched"],
                &["--stacks"],
            ),
        ] {
            let is_parsed = names.map(|name| {
                let (status, stream, _) = run_in(&raw, "cg-parse", &[parse, &[name]].concat());
                fs::write(streams.join(name), stream).unwrap();
                status == 0
            });
            if is_parsed != [true, true] {
                continue;
            }
            let args = [args, &names].concat();
            let [(raw_status, raw, _), (status, stdout, _)] =
                [&raw, &streams].map(|folder| run_in(folder, "cg-diff", &args));
            assert!(
                raw_status == status && raw == stdout,
                "{profiles:?} {args:?}: {raw_status} {status}\n{}\n{}",
                String::from_utf8_lossy(&raw),
                String::from_utf8_lossy(&stdout)
            );
        }
    }
}

#[test]
fn leak_check_judges_a_log_like_its_stream() {
    for log in profiles().filter(|profile| profile.starts_with("memcheck/")) {
        let parse = run("cg-parse", &[log], b"");
        for format in [
            "text", "markdown", "html", "json", "junit", "sarif", "github", "gitlab",
        ] {
            let raw = run("leak-check", &["-f", format, log], b"");
            let streamed = run_on_stream("leak-check", &["-f", format], &parse);
            assert!(
                (raw.status, &raw.stdout) == (streamed.status, &streamed.stdout),
                "{log} {format}\n{raw:?}\n{streamed:?}"
            );
        }
    }
}
