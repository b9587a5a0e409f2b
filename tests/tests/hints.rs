//! Tests of cg-parse's hints for unsupported inputs: every command in a hint works, and cg-parse reads its output.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tests::tools;

/// A hint and a test of its command.
struct HintRow {
    /// The name of the input in the message.
    input: &'static str,
    needs: &'static [&'static str],
    /// A bash script that makes the input, `given`, and other files that the command needs. The test data is in `$DATA`.
    makes: &'static str,
    /// A text that the stream of the command's output must contain.
    shows: &'static str,
    /// A stand-in for a program that cannot be installed here: its name and a bash script.
    stub: Option<(&'static str, &'static str)>,
}

const ROW: HintRow = HintRow {
    input: "",
    needs: &[],
    makes: "",
    shows: COUNT,
    stub: None,
};

/// A function in the packed folded stacks.
const COUNT: &str = "wordcount::count";
/// The program of `perf-data/6.1-spin.data`, used as the source of the printouts.
const SPIN: &str = "\"thread\":\"spin\"";
/// A stand-in for `perf record`, which is not allowed on every machine.
const PERF_RECORD: Option<(&str, &str)> = Some((
    "perf",
    "[ \"$*\" = 'record -g /bin/true' ] && cp $DATA/perf-data/6.1-spin.data perf.data",
));
/// A record that every profile of a program has.
const START: &str = "\"type\":\"fn\"";

const ROWS: &[HintRow] = &[
    // simpleperf's scripts/report_sample.py prints lines like `perf script`, with tabs after thread names and before frames.
    HintRow {
        input: "a report of simpleperf (report-sample --protobuf)",
        makes: "printf 'SIMPLEPERF\\1\\0\\0\\0\\0\\0' >given; touch perf.data",
        shows: "\"fn\":\"work\"",
        stub: Some((
            "report_sample.py",
            "[ \"$1\" = -i ] && [ -e \"$2\" ] || exit 1
            printf 'app\\t7/9 [001] 12.000345: 250000 cpu-clock:\\n\\t%16x work (/data/app)\\n\\t%16x main (/data/app)\\n\\n' 4096 8192",
        )),
        ..ROW
    },
    HintRow {
        input: "xz data",
        needs: &["archives"],
        makes: "xz -c $DATA/stacks/before.folded >given",
        ..ROW
    },
    HintRow {
        input: "lzma data",
        needs: &["archives"],
        makes: "xz --format=lzma -c $DATA/stacks/before.folded >given",
        ..ROW
    },
    HintRow {
        input: "bzip2 data",
        needs: &["archives"],
        makes: "bzip2 -c $DATA/stacks/before.folded >given",
        ..ROW
    },
    HintRow {
        input: "lz4 data",
        needs: &["archives"],
        makes: "lz4 -c $DATA/stacks/before.folded >given",
        ..ROW
    },
    // compress is rarely installed. It encodes up to 254 bytes as codes of nine bits, lowest bit first.
    HintRow {
        input: "compress data",
        needs: &["archives", "python"],
        makes: "python3 -c '
text = open(\"'$DATA'/stacks/before.folded\", \"rb\").read().splitlines(True)[1]
assert len(text) < 255
bits = sum(byte << 9 * at for at, byte in enumerate(text))
open(\"given\", \"wb\").write(b\"\\x1f\\x9d\\x90\" + bits.to_bytes((9 * len(text) + 7) // 8, \"little\"))'",
        ..ROW
    },
    HintRow {
        input: "a zip archive",
        needs: &["archives"],
        makes: "zip -q - -j $DATA/stacks/before.folded >given",
        ..ROW
    },
    // 7zFormat.txt of 7-Zip: the packed streams follow a header of 32 bytes, and the method Copy does not change them. With
    // `-so`, 7z writes them to standard output, and messages to standard error.
    HintRow {
        input: "a 7z archive",
        makes: "{ printf '7z\\274\\257\\047\\034\\0\\4%24s'; cat $DATA/stacks/before.folded; } >given",
        stub: Some(("7z", "[ \"$1 $2 $#\" = 'x -so 3' ] && tail -c +33 \"$3\"")),
        ..ROW
    },
    HintRow {
        input: "a tar archive",
        needs: &["archives"],
        makes: "tar -cf given -C $DATA/stacks before.folded",
        ..ROW
    },
    HintRow {
        input: "a recording of memray",
        needs: &["memray"],
        makes: "echo 'def hold(): return [bytearray(4096) for _ in range(99)]\nheld = hold()' >app.py
            memray run -q -f -o given app.py",
        shows: "\"fn\":\"hold\"",
        ..ROW
    },
    // memray leaves such a recording if the program is killed.
    HintRow {
        input: "a recording of memray",
        needs: &["memray", "archives"],
        makes: "echo 'def hold(): return [bytearray(4096) for _ in range(99)]\nheld = hold()' >app.py
            memray run -q -f -o packed app.py; lz4 -dc packed >given; rm packed",
        shows: "\"fn\":\"hold\"",
        ..ROW
    },
    HintRow {
        input: "a profile of Python's cProfile",
        needs: &["pyprof2calltree", "python"],
        makes: "echo 'def work(): return sum(range(99999))' >app.py; echo 'work()' >>app.py; python3 -m cProfile -o given app.py",
        shows: "work",
        ..ROW
    },
    // The format of older Python versions.
    HintRow {
        input: "a profile of Python's cProfile",
        needs: &["pyprof2calltree", "python"],
        makes: "python3 -c '
import cProfile, marshal
def work(): return sum(range(99999))
profile = cProfile.Profile()
profile.runcall(work)
profile.create_stats()
open(\"given\", \"wb\").write(marshal.dumps(profile.stats, 2))'",
        shows: "work",
        ..ROW
    },
    HintRow {
        input: "a static library",
        needs: &["gcc", "valgrind"],
        makes: "echo 'int f(void) { return 0; }' | gcc -c -o f.o -x c - && ar rc given f.o",
        shows: START,
        ..ROW
    },
    HintRow {
        input: "an ELF file (a program, a library or a core dump)",
        needs: &["valgrind"],
        makes: "cp /bin/true given",
        shows: START,
        ..ROW
    },
    // samply's `record --help`: `--save-only`, `-o FILE`, then the program. It writes a profile for the Firefox Profiler.
    HintRow {
        input: "a Mach-O file (a program or a library)",
        needs: &["archives"],
        makes: "printf '\\317\\372\\355\\376\\14\\0\\0\\1' >given",
        shows: "\"type\":\"stack\"",
        stub: Some((
            "samply",
            "[ \"$1 $2 $3 $5\" = 'record --save-only -o /bin/true' ] && gzip -dc $DATA/firefox/samply-bash.json.gz >\"$4\"",
        )),
    },
    HintRow {
        input: "a report of Nsight Systems (nsys)",
        makes: "printf 'NVIDIA Tegra Profiler Report 2024@1@3@140\\0\\1' >given",
        shows: SPIN,
        stub: PERF_RECORD,
        ..ROW
    },
    HintRow {
        input: "a trace of Tracy",
        makes: "printf 'tlZ\\4\\0\\1' >given",
        shows: SPIN,
        stub: PERF_RECORD,
        ..ROW
    },
    HintRow {
        input: "a recording of trace-cmd, which has events of the kernel",
        makes: "printf '\\27\\10Dtracing6\\0\\0\\10' >given",
        shows: SPIN,
        stub: PERF_RECORD,
        ..ROW
    },
    HintRow {
        input: "source code annotated by gprof (-A)",
        makes: "printf '*** File /home/dev/tally.c:\\n                #include <stdio.h>\\n' >given",
        shows: START,
        stub: Some((
            "gprof",
            "[ \"$*\" = '-b /bin/true gmon.out' ] && cat $DATA/gprof/2.40-tally-graph.txt",
        )),
        ..ROW
    },
    HintRow {
        input: "a profile of coz, which has speedups but no stacks",
        makes: "printf 'startup\\ttime=1763995200\\nruntime\\ttime=900\\n' >given",
        shows: SPIN,
        stub: PERF_RECORD,
        ..ROW
    },
    HintRow {
        input: "a recording of perf in version 1 of its format",
        makes: "printf 'PERFFILEh\\0\\0\\0' >given",
        shows: "\"fn\":\"work\"",
        stub: Some((
            "perf",
            "[ \"$*\" = 'script -i given' ] && printf 'app 7/9 12.000345: 250000 cpu-clock: \\n\\t%16x work (/app)\\n\\n' 4096",
        )),
        ..ROW
    },
    HintRow {
        input: "stacks of austin with three figures each (--full)",
        makes: "printf '# austin: 3.7.0\\n# mode: full\\n\\nP1;T0:1;/a/b.py:main:3 300,0,4096\\n' >given",
        shows: "main:3",
        stub: Some((
            "austin",
            "[ \"$*\" = '-o austin.txt python3 /bin/true' ] && printf 'P1;T0:1;/a/b.py:main:3 300\\n' >austin.txt",
        )),
        ..ROW
    },
    HintRow {
        input: "a trace of .NET (dotnet-trace)",
        makes: "printf 'Nettrace\\24\\0\\0\\0!FastSerialization.1' >given",
        shows: "\"type\":\"stack\"",
        stub: Some((
            "dotnet-trace",
            "[ \"$*\" = 'convert given --format Speedscope' ] && cp $DATA/speedscope/evented.json given.speedscope.json",
        )),
        ..ROW
    },
    HintRow {
        input: "a heap snapshot of V8, which has objects but no stacks",
        makes: "echo '{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\"]}},\"nodes\":[]}' >given",
        shows: "\"type\":\"stack\"",
        stub: Some((
            "node",
            "[ \"$*\" = '--heap-prof /bin/true' ] && cp $DATA/v8/node.heapprofile Heap.heapprofile",
        )),
        ..ROW
    },
    HintRow {
        input: "a recording of austin in its binary form",
        makes: "printf 'MOJ\\3\\1' >given",
        stub: Some(("mojo2austin", "[ \"$1\" = given ] && cp $DATA/stacks/before.folded \"$2\"")),
        ..ROW
    },
    HintRow {
        input: "a heap dump of a JVM (hprof), which has objects but no stacks",
        makes: "printf 'JAVA PROFILE 1.0.2\\0\\0\\0\\0\\10' >given",
        shows: "\"type\":\"stack\"",
        stub: Some((
            "jcmd",
            "[ \"$*\" = 'PID JFR.start settings=profile filename=profile.jfr' ] && cp $DATA/jfr/async-profiler.jfr profile.jfr",
        )),
        ..ROW
    },
    HintRow {
        input: "a profile of scalene",
        makes: "echo '{\"alloc_samples\":3,\"elapsed_time_sec\":1.5,\"growth_rate\":0.0}' >given",
        stub: Some((
            "py-spy",
            "[ \"$1 $2 $3 $4\" = 'record -f raw -o' ] && cp $DATA/stacks/before.folded \"$5\"",
        )),
        ..ROW
    },
    HintRow {
        input: "a log of node --prof",
        needs: &["npm"],
        makes: "echo 'function work(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(s + i); return s }
            for (let i = 0; i < 300; i++) work(100000)' >app.js; node --prof --no-logfile-per-isolate --logfile=given app.js",
        shows: "\"fn\":\"work\"",
        ..ROW
    },
    HintRow {
        input: "a printout of perf sched latency",
        makes: "printf '\\n %65s\\n  Task                  |   Runtime ms  | Switches | Avg delay ms    |\\n' >given; cp $DATA/perf-data/6.1-spin.data perf.data",
        shows: SPIN,
        ..ROW
    },
    HintRow {
        input: "a printout of perf sched timehist",
        makes: "printf '           time    cpu  task name                       wait time  sch delay   run time\\n' >given; cp $DATA/perf-data/6.1-spin.data perf.data",
        shows: SPIN,
        ..ROW
    },
    HintRow {
        input: "a printout of perf trace",
        makes: "printf '     0.000 ( 0.008 ms): ls/417 brk() = 0x55d6\\n' >given; cp $DATA/perf-data/6.1-spin.data perf.data",
        shows: SPIN,
        ..ROW
    },
    HintRow {
        input: "a printout of perf c2c",
        makes: "printf '%40sShared Data Cache Line Table\\n' >given; cp $DATA/perf-data/6.1-spin.data perf.data",
        shows: SPIN,
        ..ROW
    },
    HintRow {
        input: "a printout of perf diff",
        makes: "printf '# Event \\047cpu-clock:u\\047\\n#\\n# Baseline  Delta Abs  Shared Object\\n' >given; cp $DATA/perf-data/6.1-spin.data perf.data",
        shows: SPIN,
        ..ROW
    },
    HintRow {
        input: "a printout of perf annotate",
        makes: "cp $DATA/others/perf-annotate.txt given; cp $DATA/perf-data/6.1-spin.data perf.data",
        shows: SPIN,
        ..ROW
    },
    HintRow {
        input: "a printout of perf report",
        makes: "cp $DATA/others/perf-report.txt given; cp $DATA/perf-data/6.1-spin.data perf.data",
        shows: SPIN,
        ..ROW
    },
    HintRow {
        input: "a printout of perf stat",
        needs: &["perf"],
        makes: "cp $DATA/others/perf-stat.txt given",
        shows: "task-clock",
        ..ROW
    },
    HintRow {
        input: "output of perf stat without counters (--metric-only)",
        needs: &["perf"],
        makes: "echo '{\"metric-value\" : \"0.31\"}' >given",
        shows: "task-clock",
        ..ROW
    },
];

const PICTURES: &str = "which profile it was made of is not known";
const BEHIND: &str = "cg-parse reads the profile that it was made from";

/// Messages without a command: the input, the rest of the message, and the reason why there is no command.
const WITHOUT_COMMAND: &[(&str, &str, &str)] = &[
    ("an SVG picture", BEHIND, PICTURES),
    ("a web page", BEHIND, PICTURES),
    ("a PDF document", BEHIND, PICTURES),
    ("a PNG picture", BEHIND, PICTURES),
    (
        "a printout of callgrind_annotate or cg_annotate",
        BEHIND,
        "its file has any name",
    ),
    ("a printout of cg_annotate", BEHIND, "its file has any name"),
    ("a printout of ms_print", BEHIND, "its file has any name"),
    (
        "a printout of heaptrack_print",
        BEHIND,
        "its file has any name",
    ),
    (
        "an SQLite database",
        "cg-parse reads no databases",
        "nothing makes a profile of any database",
    ),
    (
        "an XML document",
        "cg-parse reads only XML of valgrind --xml=yes and of xctrace export",
        "what wrote it is not known",
    ),
    (
        "a dump of goroutines (?debug=2)",
        "cg-parse reads the output of ?debug=1",
        "the address of the program is not known",
    ),
];

#[test]
fn every_hint_has_a_row_and_every_row_has_a_hint() {
    let hints: BTreeSet<_> = cg_parse::hints().collect();
    let without_command = |input: &str, rest: &str| {
        let rows = WITHOUT_COMMAND.iter();
        rows.filter(|row| (row.0, row.1) == (input, rest)).count()
    };
    for (input, rest) in &hints {
        let is_tried = ROWS.iter().any(|row| row.input == *input);
        assert_eq!(
            usize::from(is_tried) + without_command(input, rest),
            1,
            "{input}; {rest}: needs one row that tries the command, or one that gives the reason for no command"
        );
    }
    let tried = ROWS.iter().map(|row| row.input);
    for input in tried.chain(WITHOUT_COMMAND.iter().map(|(input, ..)| *input)) {
        assert!(
            hints.iter().any(|hint| hint.0 == input),
            "{input}: no such hint"
        );
    }
}

#[test]
fn every_command_in_a_hint_works_and_its_output_is_read() {
    for row in ROWS {
        if needs::is_there(row.needs) {
            try_command(row);
        }
    }
}

/// Makes the input of a row, runs the command from cg-parse's message, and reads its output.
fn try_command(row: &HintRow) {
    let folder = tempfile::tempdir().unwrap();
    let (stubs, work) = (folder.path().join("stubs"), folder.path().join("work"));
    fs::create_dir(&stubs).unwrap();
    fs::create_dir(&work).unwrap();
    if let Some((name, script)) = row.stub {
        let stub = stubs.join(name);
        fs::write(&stub, format!("#!/bin/bash\n{script}\n")).unwrap();
        fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let bash = |script: &str| -> Output {
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("set -eo pipefail\n{script}")])
            .env("PATH", format!("{}:{}", stubs.display(), tools::path()))
            .env("DATA", tests::data(""))
            .current_dir(&work);
        command.output().unwrap()
    };
    let stderr = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let made = bash(row.makes);
    assert!(made.status.success(), "{}: {}", row.input, stderr(&made));
    let refused = bash("cg-parse given");
    let message = stderr(&refused);
    let rest = message
        .strip_prefix(&format!("cg-parse: given: this is {}; ", row.input))
        .unwrap_or_else(|| panic!("{}: {message}", row.input));
    assert_eq!(refused.status.code(), Some(2), "{}", row.input);
    let command = command_of(rest.trim_end());
    let filled = command
        .replace("FILE", "given")
        .replace("PROGRAM", "/bin/true");
    let before = files(&work);
    let run = bash(&filled);
    assert!(run.status.success(), "{command}: {}", stderr(&run));
    let read = if command.contains("cg-parse") {
        run
    } else {
        let written = Vec::from_iter(files(&work).difference(&before).cloned());
        let [written] = &written[..] else {
            panic!("{command}: expected one output file, found {written:?}");
        };
        bash(&format!("cg-parse {}", written.display()))
    };
    assert!(read.status.success(), "{command}: {}", stderr(&read));
    let stream = String::from_utf8(read.stdout).unwrap();
    assert!(stream.contains(row.shows), "{command}: {stream}");
}

/// Returns the command at the beginning of a text.
fn command_of(text: &str) -> &str {
    // The comma in `perf stat -x,` is part of the command.
    let comma = text
        .match_indices(", ")
        .map(|(at, _)| at)
        .find(|at| !text[..*at].ends_with("-x"));
    let words = [" writes ", " reads "].map(|word| text.find(word));
    let end = words.into_iter().chain([comma]).flatten().min();
    &text[..end.unwrap_or(text.len())]
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into())
        .collect()
}
