//! Derived events, threads with the same name, and two runs in one flame graph.

use std::fs;

use tests::tools::run;

const CACHE: &str = "# callgrind format\nevents: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\nfl=a.c\nfn=hot\n10 1000 100 50 3 20 10 1 5 2 80 7 4 1\nfn=cold\n20 900 0 0 40 0 0 30 0 0 0 0 0 0\n";

/// Samples of two events, with two threads and two processes of the same name.
const PERF: &str = "w 7/7  1.000001:  75000 cycles: \n\t 401131 slow+0x1 (/opt/w)\n\nw 7/8  1.000002:  37500 instructions: \n\t 401131 slow+0x1 (/opt/w)\n\nw 9/9  1.000003:  62500 instructions: \n\t 401131 fast+0x1 (/opt/w)\n\nw 9/9  1.000004:  25000 cycles: \n\t 401131 fast+0x1 (/opt/w)\n\nw 9/9  1.000005:  10 instructions: \n\t 401131 idle+0x1 (/opt/w)\n\n";

fn csv(args: &[&str], input: &str) -> String {
    let written = run(
        "cg-fmt",
        &[&["-f", "csv"], args, &["-"]].concat(),
        input.as_bytes(),
    );
    assert_eq!(written.status, 0, "{args:?}: {}", written.stderr);
    written.text().to_owned()
}

#[test]
fn derived_events_use_kcachegrinds_formulas_and_ratios_divide() {
    for (args, input, expected) in [
        // Ir + 10 Bm + 10 L1m + 20 Ge + 100 LLm: 1000 + 80 + 330 + 800, and 900 + 400 + 3000.
        (
            &["--columns", "CEst,CEst%,fn", "--sort", "CEst"][..],
            CACHE,
            "CEst,CEst%,fn\n4300,66.05,cold\n2210,33.95,hot\n",
        ),
        (
            &["--columns", "fn,L1m,LLm,D1m,Bm", "--sort", "-L1m"],
            CACHE,
            "fn,L1m,LLm,D1m,Bm\ncold,40,30,0,0\nhot,33,8,30,8\n",
        ),
        (
            &["--columns", "fn,D1-miss-rate", "--sort", "fn"],
            CACHE,
            "fn,D1-miss-rate\ncold,\nhot,0.20\n",
        ),
        (
            &["--columns", "fn,cost=Ir + 2 * (Dr + Dw)", "--sort", "cost"],
            CACHE,
            "fn,cost\nhot,1300\ncold,900\n",
        ),
        (
            &["--group-by", "file", "--columns", "CEst,CEst%,file"],
            CACHE,
            "CEst,CEst%,file\n6510,100.00,a.c\n",
        ),
        (
            &["--columns", "IPC,fn", "--sort", "IPC"],
            PERF,
            "IPC,fn\n2.50,fast\n0.50,slow\n,idle\n",
        ),
        (
            &["--columns", "IPC=instructions/cycles,fn", "--sort", "fn"],
            PERF,
            "IPC,fn\n2.50,fast\n,idle\n0.50,slow\n",
        ),
        (
            &["--columns", "incl.CPI,fn", "--sort", "CPI"],
            PERF,
            "incl.CPI,fn\n2.00,slow\n0.40,fast\n0.00,idle\n",
        ),
    ] {
        let written = csv(args, input);
        assert_eq!(written, expected, "{args:?}");
    }
    for (args, input, expected) in [
        (
            &["--columns", "IPC,fn"][..],
            CACHE,
            "there is no column IPC",
        ),
        (
            &["-f", "flamegraph", "--event", "IPC"],
            PERF,
            "IPC is a ratio, which does not add up",
        ),
        (
            &["--columns", "x=cycles/", "-f", "csv"],
            PERF,
            "expected an event",
        ),
        (
            &["--columns", "x=cycles+samples/instructions"],
            PERF,
            "brackets",
        ),
        (
            &["--columns", "x=cycle/instructions"],
            PERF,
            "there is no event cycle; there are ",
        ),
    ] {
        let refused = run("cg-fmt", &[args, &["-"]].concat(), input.as_bytes());
        assert_eq!(
            (refused.status, refused.stderr.lines().count()),
            (2, 1),
            "{args:?}"
        );
        assert!(
            refused.stderr.contains(expected),
            "{args:?}: {}",
            refused.stderr
        );
    }
}

#[test]
fn derived_sum_is_an_event_and_ratio_has_a_total_but_no_share() {
    let table = run(
        "cg-fmt",
        &["--event", "CEst", "--width", "0", "-"],
        CACHE.as_bytes(),
    );
    assert!(table.text().contains("6,510 (100.0%)"), "{}", table.text());
    let table = run(
        "cg-fmt",
        &["--event", "IPC", "--width", "0", "-"],
        PERF.as_bytes(),
    );
    let totals = table
        .text()
        .lines()
        .find(|line| line.contains("PROGRAM TOTALS"))
        .unwrap();
    // 100,010 instructions in 100,000 cycles.
    assert!(
        totals
            .split_whitespace()
            .any(|word| word.starts_with('1') && word.len() <= 4),
        "{totals}"
    );
    assert!(!table.text().contains("IPC%"));
    let listed = run("cg-fmt", &["--columns", "nothing", "-"], PERF.as_bytes());
    assert!(!listed.stderr.contains("IPC"), "{}", listed.stderr);
    // An unused derived event does not change the output.
    assert!(
        !run("cg-fmt", &["-"], CACHE.as_bytes())
            .text()
            .contains("CEst")
    );
    // For counters, the ratio is in the row of the dividend.
    let stat = "{\"type\":\"run\",\"stream\":1,\"tool\":\"perf-stat\",\"events\":[\"cycles\",\"instructions\"],\"total\":{\"cycles\":400,\"instructions\":100}}\n{\"type\":\"end\",\"records\":0}\n";
    let written = csv(&["--columns", "event,IPC"], stat);
    assert!(
        written.starts_with("event,IPC\ncycles,\ninstructions,0.25"),
        "{written}"
    );
}

#[test]
fn limits_accept_derived_sums() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["old.cg", "new.cg"].map(|name| folder.path().join(name));
    fs::write(&old, CACHE).unwrap();
    // One more last-level miss adds 100 to 6,510.
    fs::write(&new, CACHE.replace("40 0 0 30", "40 0 0 31")).unwrap();
    let [old, new] = [&old, &new].map(|path| path.to_str().unwrap());
    for (limit, status) in [
        ("CEst>+1%", 1),
        ("CEst>+2%", 0),
        ("CEst>+99", 1),
        ("CEst>+100", 0),
        ("CEst[^hot$]>+0", 0),
        ("worst.CEst>+1%", 1),
        ("IPC>+1", 2),
    ] {
        let judged = run("cg-diff", &["--fail-if", limit, old, new], b"");
        assert_eq!(judged.status, status, "{limit}: {}", judged.stderr);
    }
    let diff = run("cg-diff", &[old, new], b"");
    let shown = csv(
        &["--columns", "fn,CEst.old,CEst.new,CEst.delta"],
        diff.text(),
    );
    assert_eq!(
        shown,
        "fn,CEst.old,CEst.new,CEst.delta\ncold,4300,4400,100\n"
    );
}

#[test]
fn threads_and_processes_with_the_same_name_are_separate() {
    let threads = csv(
        &["--group-by", "thread", "--columns", "samples,thread"],
        PERF,
    );
    let mut threads: Vec<&str> = threads.lines().skip(1).collect();
    threads.sort_unstable();
    assert_eq!(threads, ["1,w (7)", "1,w (8)", "3,w (9)"]);
    assert_eq!(
        csv(
            &["--group-by", "process", "--columns", "samples,process"],
            PERF
        ),
        "samples,process\n3,w (9)\n2,w (7)\n"
    );
    for (option, regex, samples) in [
        ("--thread", "^8$", 1),
        ("--thread", "^w$", 5),
        ("--process", "^9$", 3),
        ("--process", "^w$", 5),
        ("--thread", "x", 0),
    ] {
        let kept = run("cg-filter", &[option, regex, "", "-"], PERF.as_bytes());
        let table = run(
            "cg-fmt",
            &[
                "--percent-of",
                "shown",
                "--group-by",
                "fn",
                "--columns",
                "samples",
                "-f",
                "csv",
            ],
            &kept.stdout,
        );
        let sum: u64 = table
            .text()
            .lines()
            .skip(1)
            .map(|line| line.parse::<u64>().unwrap())
            .sum();
        assert_eq!(sum, samples, "{option} {regex}");
    }
    // Two runs have different thread numbers, which do not distinguish stacks.
    let other = PERF
        .replace("7/7", "17/17")
        .replace("7/8", "17/18")
        .replace("9/9", "19/19");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other");
    fs::write(&file, other).unwrap();
    let same = run(
        "cg-diff",
        &[
            "--type",
            "stack",
            "--exit-code",
            "-",
            file.to_str().unwrap(),
        ],
        PERF.as_bytes(),
    );
    assert_eq!(same.status, 0, "{}", same.text());
    let without = PERF.replace("7/", "").replace("9/", "");
    let grouped = run(
        "cg-fmt",
        &["--group-by", "process", "-"],
        without.as_bytes(),
    );
    assert!(
        grouped.stderr.contains("perf script -F +pid"),
        "{}",
        grouped.stderr
    );
}

#[test]
fn flame_graph_of_two_runs_matches_cg_diff() {
    let (old, new) = ("stacks/before.folded", "stacks/after.folded");
    for format in ["flamegraph", "folded"] {
        let drawn = run("cg-fmt", &["-f", format, "--diff", old, new], b"");
        assert_eq!(drawn.status, 0, "{}", drawn.stderr);
        let diff = run(
            "cg-diff",
            &["--all", "--shares", "never", "--type", "stack", old, new],
            b"",
        );
        let expected = run("cg-fmt", &["-f", format, "-"], &diff.stdout);
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(drawn.text()), sorted(expected.text()), "{format}");
    }
    let added = run("cg-fmt", &["-f", "flamegraph", old, new], b"");
    assert!(
        added.stderr.contains("added up") && added.stderr.contains("--diff"),
        "{}",
        added.stderr
    );
    assert!(
        added.text().contains("<title>all (3,000 samples"),
        "{:.300}",
        added.text()
    );
    for (args, expected) in [
        (&["--diff", "-f", "flamegraph", old][..], "two inputs"),
        (&["--diff", "-f", "folded", old, new, new], "found 3"),
        (&["--diff", old, new], "cg-diff OLD NEW | cg-fmt"),
        (
            &["--diff", "-f", "folded", old, "dhat/3.19.0-heapy.dhat.json"],
            "nothing to compare",
        ),
    ] {
        let refused = run("cg-fmt", args, b"");
        assert_eq!(refused.status, 2, "{args:?}");
        assert!(
            refused.stderr.contains(expected),
            "{args:?}: {}",
            refused.stderr
        );
    }
}
