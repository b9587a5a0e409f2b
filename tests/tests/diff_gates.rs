//! Verdicts of cg-diff: a condition that matches nothing, or sides that cannot be compared, never give a clean verdict.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::Path;

use needs::needs;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::tools;

/// Writes a callgrind profile of functions that `main` calls: name, calls, cost.
fn callgrind(functions: &[(&str, u64, u64)]) -> String {
    let mut text = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 7\ncmd: ./p\npart: 1\n\ndesc: Trigger: Program termination\n\nevents: Ir\n\nfl=p.c\n".to_owned();
    for (name, _, cost) in functions {
        text += &format!("fn={name}\n1 {cost}\n\n");
    }
    text += "fn=main\n9 5\n";
    let mut total = 5;
    for (name, calls, cost) in functions {
        text += &format!("cfn={name}\ncalls={calls} 1\n9 {cost}\n");
        total += cost;
    }
    text + &format!("\ntotals: {total}\n")
}

fn cachegrind(cost: u64) -> String {
    format!(
        "cmd: ./p\nevents: Ir\nfl=p.c\nfn=hot\n1 {cost}\nfn=main\n9 5\nsummary: {}\n",
        cost + 5
    )
}

/// Writes a stream with inlined functions, like `cg-parse --inline`.
fn inlined(calls: u64) -> String {
    let record = |kind: &str, more: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"fn\":\"hot\",\"file\":\"p.c\"{more},\"cost\":{{\"Ir\":90}},\"incl\":{{\"Ir\":90}}}}\n"
        )
    };
    [
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"events\":[\"Ir\"],\"total\":{\"Ir\":90}}\n",
        &record("fn", &format!(",\"calls\":{calls}")),
        &record("inline", ",\"stack\":[{\"fn\":\"hot\",\"file\":\"p.c\"}]"),
        "{\"type\":\"end\",\"records\":2}\n",
    ]
    .concat()
}

/// Writes an old and a new profile of each producer. In the new profile, `hot` costs half as much again and has more calls.
fn profiles() -> TempDir {
    let home = TempDir::new().unwrap();
    let log = "==7== Memcheck, a memory error detector\n==7== Command: ./p\n==7== \n==7== \n==7== HEAP SUMMARY:\n==7==     in use at exit: 0 bytes in 0 blocks\n==7==   total heap usage: 1 allocs, 1 frees, 8 bytes allocated\n==7== \n==7== All heap blocks were freed -- no leaks are possible\n==7== \n==7== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n".to_owned();
    for (name, text) in [
        (
            "old.cg",
            callgrind(&[("hot", 110, 1000), ("cold", 1, 500), ("gone", 3, 200)]),
        ),
        (
            "new.cg",
            callgrind(&[("hot", 1120, 1500), ("cold", 1, 500), ("new", 7, 340)]),
        ),
        // The same function under another name, with the same cost and calls.
        (
            "renamed.cg",
            callgrind(&[("heated", 110, 1000), ("cold", 1, 500), ("gone", 3, 200)]),
        ),
        ("old.cc", cachegrind(1000)),
        ("new.cc", cachegrind(1500)),
        ("old.folded", "main;hot 1000\nmain 500\n".to_owned()),
        ("new.folded", "main;hot 1500\nmain 500\n".to_owned()),
        ("old.inline", inlined(110)),
        ("new.inline", inlined(1120)),
        ("old.log", log.clone()),
        ("new.log", log),
        (
            "old.stat",
            "10000,,instructions:u,1000,100.00,,\n".to_owned(),
        ),
    ] {
        fs::write(home.path().join(name), text).unwrap();
    }
    home
}

/// Compares two profiles. Returns the exit status and standard error.
fn judge(home: &Path, conditions: &str, [old, new]: [&str; 2]) -> (i32, String) {
    let [old, new] = [old, new].map(|name| home.join(name).to_str().unwrap().to_owned());
    let mut args: Vec<&str> = conditions.split_whitespace().collect();
    args.extend([old.as_str(), new.as_str()]);
    let run = tools::run("cg-diff", &args, b"");
    (run.status, run.stderr)
}

const CG: [&str; 2] = ["old.cg", "new.cg"];
const CC: [&str; 2] = ["old.cc", "new.cc"];
const FOLDED: [&str; 2] = ["old.folded", "new.folded"];
const INLINE: [&str; 2] = ["old.inline", "new.inline"];
const LOGS: [&str; 2] = ["old.log", "new.log"];

/// Conditions, the compared files, a part of standard error, and the exit status; true if `--allow-unmatched` accepts the
/// condition.
const CONDITIONS: [(&str, [&str; 2], &str, i32, bool); 43] = [
    ("--fail-if=Ir>+60%", CG, "", 0, false),
    ("--fail-if=Ir>+5%", CG, "Ir>+5%: the total rose", 1, false),
    ("--fail-if=Ir[^hot$]>+60%", CG, "", 0, false),
    ("--fail-if=Ir[^hot$]>+5%", CG, "hot rose", 1, false),
    // A function in only one of the profiles is enough.
    ("--fail-if=Ir[^gone$]>+5%", CG, "", 0, false),
    ("--fail-if=Ir[^new$]>+5%", CG, "new is new", 1, false),
    (
        "--fail-if=Ir[^hit$]>+5%",
        CG,
        "\"^hit$\" matches no function",
        2,
        true,
    ),
    (
        "--fail-if=Ir[^hit$]>1",
        CG,
        "\"^hit$\" matches no function",
        2,
        true,
    ),
    (
        "--fail-if=Ir[^hit$]<1",
        CG,
        "\"^hit$\" matches no function",
        2,
        true,
    ),
    (
        "--fail-if=worst.Ir[^hit$]>+5%",
        CG,
        "\"^hit$\" matches no function",
        2,
        true,
    ),
    (
        "--fail-if=any.Ir[^hit$]>+5%",
        CG,
        "\"^hit$\" matches no function",
        2,
        true,
    ),
    (
        "--fail-if=incl.Ir[^hit$]>+5%",
        CG,
        "\"^hit$\" matches no function",
        2,
        true,
    ),
    (
        "--fail-if=calls[^hit$]>+5%",
        CG,
        "\"^hit$\" matches no function",
        2,
        true,
    ),
    (
        "--fail-if=Ir[^hot$]>+60% --fail-if=Ir[^hit$]>+5%",
        CG,
        "\"^hit$\" matches no function",
        2,
        true,
    ),
    // Limits on either name apply to a renamed function.
    (
        "--fail-if=Ir[^hot$]>+5%",
        ["old.cg", "renamed.cg"],
        "",
        0,
        false,
    ),
    (
        "--fail-if=Ir[^hot$]>900",
        ["old.cg", "renamed.cg"],
        "heated (hot) is 1,000",
        1,
        false,
    ),
    (
        "--fail-if=Ir[^heated$]>900",
        ["renamed.cg", "old.cg"],
        "hot (heated) is 1,000",
        1,
        false,
    ),
    ("--fail-if=DLmr>+5%", CG, "no run counts DLmr", 2, false),
    (
        "--fail-if=calls>+5%",
        CG,
        "the total rose from 114 to 1,128",
        1,
        false,
    ),
    (
        "--fail-if=calls[^hot$]>+10%",
        CG,
        "hot rose from 110 to 1,120",
        1,
        false,
    ),
    ("--fail-if=incl.Ir[^main$]>+5%", CG, "main rose", 1, false),
    ("--fail-if=calls>+5%", CC, "no run counts calls", 2, false),
    (
        "--fail-if=calls[^hot$]>+5%",
        CC,
        "no run counts calls",
        2,
        false,
    ),
    (
        "--fail-if=incl.Ir[^main$]>+5%",
        CC,
        "no run has inclusive cost for Ir",
        2,
        false,
    ),
    (
        "--fail-if=calls>+5%",
        ["old.cg", "new.cc"],
        "new.cc does not record",
        2,
        false,
    ),
    (
        "--fail-if=incl.Ir[^main$]>+5%",
        ["old.cc", "new.cg"],
        "old.cc does not record",
        2,
        false,
    ),
    (
        "--fail-if=calls[^hot$]>+5%",
        FOLDED,
        "no run counts calls",
        2,
        false,
    ),
    (
        "--fail-if=incl.samples[^main$]>0",
        FOLDED,
        "main rose",
        1,
        false,
    ),
    (
        "--type=stack --fail-if=incl.samples[^hot$]>+5%",
        FOLDED,
        "no run has inclusive cost",
        2,
        false,
    ),
    ("--fail-if=calls[^hot$]>+10%", INLINE, "hot rose", 1, false),
    ("--fail-if=calls>+10%", INLINE, "the total rose", 1, false),
    ("--fail-if=Ir[^hot$]>+10%", INLINE, "", 0, false),
    ("--fail-if=calls>+0", LOGS, "no run counts calls", 2, false),
    // If no errors or leaks were found, nothing is unmatched.
    ("--fail-if=bytes[^hot$]>+0", LOGS, "", 0, false),
    ("--fail-if=worst.count>+0", LOGS, "", 0, false),
    ("--fail-if=bytes>+0 --exit-code", LOGS, "", 0, false),
    ("--type=leak,error --exit-code", LOGS, "", 0, false),
    (
        "--type=leak --exit-code",
        CG,
        "--type leak: no run has such records",
        2,
        true,
    ),
    (
        "--type=leak --exit-code",
        CC,
        "--type leak: no run has such records",
        2,
        true,
    ),
    (
        "--type=fn,stack --fail-if=Ir>+60%",
        CG,
        "--type stack: no run has such records",
        2,
        true,
    ),
    (
        "--type=fn --exit-code",
        LOGS,
        "--type fn: no run has such records",
        2,
        true,
    ),
    (
        "--fail-if=instructions:u[hot]>+5%",
        ["old.stat", "old.stat"],
        "matches no function",
        2,
        true,
    ),
    (
        "--fail-if=worst.instructions:u>+5%",
        ["old.stat", "old.stat"],
        "the runs have no functions",
        2,
        true,
    ),
];

#[test]
fn condition_without_a_match_exits_with_2() {
    let home = profiles();
    for (conditions, sides, message, expected, _) in CONDITIONS {
        let (status, stderr) = judge(home.path(), conditions, sides);
        assert_eq!(status, expected, "{conditions} {sides:?}: {stderr}");
        assert!(stderr.contains(message), "{conditions} {sides:?}: {stderr}");
    }
}

#[test]
fn allow_unmatched_changes_only_unmatched_conditions() {
    let home = profiles();
    for (conditions, sides, message, expected, is_accepted) in CONDITIONS {
        let allowed = format!("--allow-unmatched {conditions}");
        let (status, stderr) = judge(home.path(), &allowed, sides);
        let expected = if is_accepted { 0 } else { expected };
        assert_eq!(status, expected, "{conditions} {sides:?}: {stderr}");
        // The message about the unmatched condition stays.
        assert!(stderr.contains(message), "{conditions} {sides:?}: {stderr}");
        let (_, without) = judge(home.path(), conditions, sides);
        assert_eq!(stderr, without, "{conditions} {sides:?}");
    }
}

#[test]
fn additional_condition_never_hides_an_undecided_one() {
    let home = profiles();
    for (conditions, sides, ..) in CONDITIONS.into_iter().filter(|row| row.3 == 2) {
        for further in [
            "--exit-code",
            "--fail-if=Ir>+60%",
            "--fail-if=bytes>+0",
            "--fail-if=Ir[^hot$]>+60%",
        ] {
            let (status, _) = judge(home.path(), &format!("{conditions} {further}"), sides);
            assert_eq!(status, 2, "{conditions} {further} {sides:?}");
        }
    }
}

#[test]
fn empty_conditions_are_usage_errors() {
    let home = profiles();
    fs::write(home.path().join("limits"), "# none agreed\n\n").unwrap();
    let limits = format!("--limits={}", home.path().join("limits").display());
    for (conditions, message) in [
        ("--fail-if=Ir[]>+5%", "found none"),
        ("--fail-if=", "expected > >= < or <="),
        ("--join=", "found none"),
        (&limits, "limits: expected one limit per line, found none"),
    ] {
        let (status, stderr) = judge(home.path(), conditions, CG);
        assert_eq!(status, 2, "{conditions}");
        assert!(stderr.contains(message), "{conditions}: {stderr}");
    }
}

#[test]
fn limit_is_judged_if_one_benchmark_has_the_function() {
    let home = TempDir::new().unwrap();
    for (bench, function) in [("a", "hot"), ("b", "other")] {
        let folder = home.path().join(bench);
        fs::create_dir(&folder).unwrap();
        for name in ["x.out", "x.out.old"] {
            fs::write(folder.join(name), callgrind(&[(function, 1, 100)])).unwrap();
        }
    }
    let folder = home.path().to_str().unwrap();
    for (limit, expected) in [
        ("Ir[^hot$]>+5%", 0),
        ("Ir[^other$]>+5%", 0),
        ("Ir[^hit$]>+5%", 2),
    ] {
        let run = tools::run("cg-diff", &["--fail-if", limit, folder], b"");
        assert_eq!(run.status, expected, "{limit}: {}", run.stderr);
    }
}

#[test]
fn benchmark_with_files_of_two_layouts_is_not_judged() {
    let home = TempDir::new().unwrap();
    let [old, new] = ["old", "new"].map(|side| home.path().join(side));
    for side in [&old, &new] {
        let folder = side.join("group/fib.10");
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join("callgrind.fib.10.out"),
            callgrind(&[("hot", 1, 100)]),
        )
        .unwrap();
    }
    let [old, new] = [old, new].map(|side| side.to_str().unwrap().to_owned());
    let compare = |options: &[&str]| {
        let run = tools::run("cg-diff", &[options, &[&old, &new]].concat(), b"");
        (run.status, run.stderr)
    };
    assert_eq!(compare(&["--fail-if=Ir>+5%"]).0, 0);
    for side in [&old, &new] {
        let left = Path::new(side).join("group/fib.10/callgrind.fib.10.t1.p1.out");
        fs::write(left, callgrind(&[("hot", 1, 90)])).unwrap();
    }
    for (options, expected) in [
        (&["--fail-if=Ir>+5%"][..], 2),
        (&["--exit-code"], 2),
        (&[], 0),
    ] {
        let (status, stderr) = compare(options);
        assert_eq!(status, expected, "{options:?}: {stderr}");
        assert!(
            stderr.contains("are of two layouts"),
            "{options:?}: {stderr}"
        );
    }
    // cg-parse warns too: read together, they would be counted twice.
    let run = tools::run("cg-parse", &[&new], b"");
    assert!(run.stderr.contains("are of two layouts"), "{}", run.stderr);
}

/// A program that Callgrind dumps in parts and as a whole.
#[test]
fn part_of_a_run_is_not_compared_with_a_whole_run() {
    needs!("gcc", "valgrind");
    let home = TempDir::new().unwrap();
    let program = "int hot(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }\nint cold(int n) { return hot(n) + 1; }\nint main(void) { int s = 0; for (int i = 0; i < 3; i++) s += cold(1000); return s == 1; }\n";
    fs::write(home.path().join("p.c"), program).unwrap();
    let script = "gcc -g -O0 -o p p.c\nrun() { valgrind -q --tool=callgrind --callgrind-out-file=$1 ${@:2} ./p; }\n\
        run whole; run parts --dump-before=cold; run again --dump-before=cold; run file --dump-before=cold --combine-dumps=yes";
    let status = needs::command("bash")
        .args(["-ec", script])
        .current_dir(home.path())
        .status();
    assert!(status.unwrap().success());
    let parse = |inputs: &[&str], to: &str| -> Value {
        let paths: Vec<String> = inputs
            .iter()
            .map(|name| home.path().join(name).to_str().unwrap().to_owned())
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let run = tools::run("cg-parse", &paths, b"");
        assert_eq!(run.status, 0, "{}", run.stderr);
        fs::write(home.path().join(to), &run.stdout).unwrap();
        serde_json::from_str(run.text().lines().next().unwrap()).unwrap()
    };
    // Three dumps before the calls, and one at the end in a file without a number.
    let all = ["parts.1", "parts.2", "parts.3", "parts"];
    assert_eq!(parse(&all, "together")["partial"], Value::Null);
    let lacking = &parse(&["parts.1", "parts.3", "parts"], "lacking")["partial"][0];
    assert_eq!(
        (&lacking["parts"], &lacking["last"]),
        (&json!([[1, 1], [3, 4]]), &json!(4))
    );
    assert_eq!(
        parse(&["parts.1", "parts.2", "parts.3"], "unfinished")["partial"][0]["parts"],
        json!([[1, 3]])
    );
    assert_eq!(parse(&["file"], "combined")["partial"], Value::Null);
    let streams = ["parts.1", "parts.2", "parts.3", "parts"].map(|name| {
        parse(&[name], "one");
        fs::read(home.path().join("one")).unwrap()
    });
    fs::write(home.path().join("concatenated"), streams.concat()).unwrap();

    let limit = "--fail-if=Ir>+5%";
    for (new, expected) in [
        ("parts.1", 2),
        ("parts.2", 2),
        ("parts", 2),
        ("lacking", 2),
        ("unfinished", 2),
        ("together", 0),
        ("combined", 0),
        ("concatenated", 0),
    ] {
        for sides in [["whole", new], [new, "whole"]] {
            let (status, stderr) = judge(home.path(), limit, sides);
            assert_eq!(status, expected, "{sides:?}: {stderr}");
            assert_eq!(
                stderr.contains("give all parts of a run together"),
                expected == 2,
                "{stderr}"
            );
            // Without a condition, it is only a note.
            assert_eq!(judge(home.path(), "", sides).0, 0, "{sides:?}");
        }
    }
    assert_eq!(judge(home.path(), "--exit-code", ["whole", "parts.1"]).0, 2);
    // Compare parts with parts.
    assert_eq!(
        judge(home.path(), limit, ["parts.2", "again.2"]),
        (0, String::new())
    );
    assert_eq!(judge(home.path(), limit, ["parts.2", "unfinished"]).0, 2);
    let (status, stderr) = judge(home.path(), limit, ["parts.2", "parts.3"]);
    assert!(
        status == 0 && stderr.contains("contain different parts: 2 (--dump-before=cold)"),
        "{stderr}"
    );

    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let [whole, again] = [path("whole"), path("again")];
    let parts = all.map(path);
    let mut args = vec!["--statistic=sum", limit, "--before", &whole, "--after"];
    args.extend(parts.iter().map(String::as_str));
    let run = tools::run("cg-diff", &args, b"");
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (0, ""),
        "parts in separate files are one run"
    );
    args.push(&again);
    assert_eq!(
        tools::run("cg-diff", &args, b"").status,
        2,
        "a part of another run is not"
    );
}

#[test]
fn cache_events_are_not_judged_between_different_caches() {
    let home = TempDir::new().unwrap();
    let write = |name: &str, cache: &str, misses: u64| {
        let text = format!(
            "# callgrind format\nversion: 1\ncmd: ./p\ndesc: I1 cache: 32768 B, 64 B, 8-way associative\ndesc: LL cache: {cache}\nevents: Ir DLmr DLdmr SpLoss2\nfl=a.c\nfn=f\n1 10 {misses} 2 3\ntotals: 10 {misses} 2 3\n"
        );
        fs::write(home.path().join(name), text).unwrap();
    };
    write("small", "8388608 B, 64 B, 16-way associative", 9);
    write("large", "33554432 B, 64 B, 16-way associative", 2);
    write("more", "8388608 B, 64 B, 16-way associative", 10);
    for (conditions, sides, expected) in [
        ("--fail-if=DLmr>+0", ["small", "large"], 2),
        ("--fail-if=DLmr[^f$]>+0", ["small", "large"], 2),
        ("--fail-if=worst.DLmr>+0", ["large", "small"], 2),
        ("--fail-if=DLdmr>+0", ["small", "large"], 2),
        ("--fail-if=SpLoss2>+0", ["small", "large"], 2),
        ("--exit-code", ["small", "large"], 2),
        ("--fail-if=Ir>+0", ["small", "large"], 0),
        ("--fail-if=DLmr>+0", ["small", "more"], 1),
        ("--fail-if=DLmr>+0", ["small", "small"], 0),
        ("--exit-code", ["small", "small"], 0),
    ] {
        let (status, stderr) = judge(home.path(), conditions, sides);
        assert_eq!(status, expected, "{conditions} {sides:?}: {stderr}");
        assert_eq!(
            stderr.contains("have different caches"),
            sides[1] == "large" || sides[0] == "large",
            "{stderr}"
        );
    }
}
