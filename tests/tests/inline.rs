//! Inlined functions of programs with known inlining, run under the real callgrind. Functions of 100 and 1000 `nop`s are
//! inlined into three functions, directly and through each other.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::Path;

use needs::needs;
use serde_json::Value;
use tempfile::TempDir;
use tests::tools::{self, Run};
use tests::{shell, workspace};

/// Builds and profiles the program. The folder contains the program as `nops` and its profile as `profile`.
fn profiled(build: &str, valgrind: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let programs = workspace().join("crates/cg-debug-info/tests/programs");
    for name in ["nops.c", "nops.rs"] {
        std::fs::copy(programs.join(name), folder.path().join(name)).unwrap();
    }
    let run = format!(
        "{build}; valgrind -q --tool=callgrind --callgrind-out-file=profile {valgrind} ./nops >/dev/null"
    );
    shell(folder.path(), &run);
    folder
}

fn parse(folder: &Path, args: &[&str]) -> Run {
    let profile = folder.join("profile");
    let args = [args, &[profile.to_str().unwrap()]].concat();
    let run = tools::run("cg-parse", &args, b"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    run
}

fn records(run: &Run) -> Vec<Value> {
    lines_of(&run.stdout)
}

fn lines_of(stream: &[u8]) -> Vec<Value> {
    let lines = stream.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn records_of_type<'r>(records: &'r [Value], kind: &str) -> Vec<&'r Value> {
    records
        .iter()
        .filter(|record| record["type"] == kind)
        .collect()
}

fn ir(record: &Value) -> u64 {
    record["cost"]["Ir"].as_u64().unwrap()
}

/// Shortens a name to its last part without arguments: `nops::outer::<u8>`, `outer<u8>` and `outer(void)` become `outer`.
fn short(name: &Value) -> &str {
    let name = name.as_str().unwrap().split(['<', '(']).next().unwrap();
    name.trim_end_matches("::").rsplit("::").next().unwrap()
}

/// Returns the self cost of a function in the places where it is inlined.
fn inlined(records: &[Value], name: &str) -> u64 {
    records_of_type(records, "inline")
        .into_iter()
        .filter(|record| {
            short(&record["fn"]) == name && record["stack"].as_array().unwrap().len() > 1
        })
        .map(ir)
        .sum()
}

/// Returns the fields that identify a function.
fn function(record: &Value) -> [String; 3] {
    ["fn", "file", "obj"].map(|field| record[field].to_string())
}

/// Checks that the `inline` records sum to the total, and, by their last frames, to the `fn` records.
fn check_sums(records: &[Value]) {
    let total = records[0]["total"]["Ir"].as_u64().unwrap();
    let inlines = records_of_type(records, "inline");
    assert_eq!(inlines.iter().map(|record| ir(record)).sum::<u64>(), total);
    let mut by_host: BTreeMap<[String; 3], u64> = BTreeMap::new();
    for record in &inlines {
        let host = record["stack"].as_array().unwrap().last().unwrap();
        *by_host.entry(function(host)).or_default() += ir(record);
        let innermost = &record["stack"][0];
        assert_eq!(
            (&record["fn"], &record["file"]),
            (&innermost["fn"], &innermost["file"])
        );
    }
    let functions = records_of_type(records, "fn").into_iter();
    let functions: BTreeMap<_, _> = functions
        .map(|record| (function(record), ir(record)))
        .collect();
    assert_eq!(by_host, functions);
}

/// Also checks the relations between inclusive costs.
fn check_laws(records: &[Value]) {
    check_sums(records);
    let inlines = records_of_type(records, "inline");
    // The inclusive cost of a chain is never less than the cost of a chain inside it.
    let mut inclusive: BTreeMap<String, u64> = BTreeMap::new();
    for record in &inlines {
        inclusive.insert(
            record["stack"].to_string(),
            record["incl"]["Ir"].as_u64().unwrap(),
        );
    }
    for record in &inlines {
        let own = record["incl"]["Ir"].as_u64().unwrap();
        let mut outer = record["stack"].as_array().unwrap().clone();
        outer.remove(0);
        if let Some(frame) = outer.first_mut() {
            let fields = frame.as_object_mut().unwrap();
            fields.remove("line");
            fields.remove("site");
            assert!(
                inclusive[&Value::from(outer).to_string()] >= own,
                "{record}"
            );
        }
    }
}

#[test]
fn cost_of_inlined_functions_is_exact_in_every_build() {
    needs!("gcc", "g++", "valgrind");
    for build in [
        "gcc -O2 -g -o nops nops.c",
        "gcc -O2 -g1 -gdwarf-4 -no-pie -o nops nops.c",
        "gcc -O2 -g -static -o nops nops.c",
        "gcc -O2 -g -gz=zlib -o nops nops.c",
        "gcc -O2 -g -gdwarf-4 -gsplit-dwarf -o nops nops.c",
        "gcc -O2 -g -o nops nops.c; objcopy --only-keep-debug nops nops.debug; strip nops; objcopy --add-gnu-debuglink=nops.debug nops",
        "g++ -O2 -g -o nops -x c++ nops.c",
        "rustc -O -C debuginfo=1 -o nops nops.rs",
        "rustc -O -C debuginfo=line-tables-only -o nops nops.rs",
        "rustc -O -C debuginfo=2 -C symbol-mangling-version=v0 -o nops nops.rs",
    ] {
        let folder = profiled(build, "--dump-instr=yes");
        let records = records(&parse(folder.path(), &["--inline"]));
        assert_eq!(inlined(&records, "work"), 27_000, "{build}");
        assert_eq!(inlined(&records, "outer"), 800, "{build}");
        check_laws(&records);
    }
}

#[test]
fn inlining_changes_no_other_record() {
    needs!("gcc", "g++", "valgrind");
    for build in [
        "gcc -O2 -g -o nops nops.c",
        "g++ -O2 -g1 -static -o nops -x c++ nops.c",
        "rustc -O -C debuginfo=1 -o nops nops.rs",
    ] {
        check_other_records(&profiled(build, "--dump-instr=yes --cache-sim=yes"));
    }
}

fn check_other_records(folder: &TempDir) {
    let all = ["--lines", "--calls"];
    let without = parse(folder.path(), &all);
    let with = parse(folder.path(), &[&all[..], &["--inline"]].concat());
    // `call` records are split by the chain at the call site. Without the chains, their sums are the same.
    let others = |run: &Run| -> BTreeMap<String, [u64; 2]> {
        let mut sums: BTreeMap<String, [u64; 2]> = BTreeMap::new();
        for mut record in records(run) {
            if ["run", "end", "inline"].contains(&record["type"].as_str().unwrap()) {
                continue;
            }
            let fields = record.as_object_mut().unwrap();
            fields.remove("inlined");
            if fields["type"] == "call" {
                let calls = fields.remove("calls").unwrap().as_u64().unwrap();
                let incl = fields.remove("incl").unwrap();
                let incl = incl["Ir"].as_u64().unwrap_or(0) + incl["Dr"].as_u64().unwrap_or(0);
                let sum = sums.entry(record.to_string()).or_default();
                *sum = [sum[0] + calls, sum[1] + incl];
            } else {
                assert_eq!(sums.insert(record.to_string(), [0, 0]), None);
            }
        }
        sums
    };
    assert_eq!(others(&with), others(&without));
    let mut run = records(&with).remove(0);
    let inlines = run.as_object_mut().unwrap().remove("inlines").unwrap();
    assert_eq!(run, records(&without)[0]);
    let own = inlines["objects"]
        .as_array()
        .unwrap()
        .iter()
        .find(|object| object["debug"] == "object")
        .unwrap();
    // In a static program, the profile may name a C library function by another symbol at its address.
    let [agrees, named] = ["agrees", "named"].map(|field| own[field].as_u64().unwrap());
    assert!(named > 0 && agrees * 100 >= named * 99, "{inlines}");
}

#[test]
fn object_of_another_build_is_rejected_with_a_warning() {
    needs!("gcc", "valgrind");
    let folder = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    // In the new program, the functions have other addresses.
    shell(
        folder.path(),
        "(echo 'int first(int x) { for (int i = 0; i < 99; i++) x = x * x + i; return x; }'; cat nops.c) > other.c; gcc -O1 -g -o nops other.c",
    );
    let run = parse(folder.path(), &["--inline"]);
    assert!(run.stderr.contains("another build"), "{}", run.stderr);
    let records = records(&run);
    assert_eq!(inlined(&records, "work"), 0);
    let objects = records[0]["inlines"]["objects"].as_array().unwrap();
    let own = objects
        .iter()
        .find(|object| object["unresolved"] == "another build")
        .unwrap();
    assert!(
        own["agrees"].as_u64().unwrap() * 2 < own["named"].as_u64().unwrap(),
        "{own}"
    );
    check_laws(&records);
}

#[test]
fn debug_root_with_another_build_has_no_effect() {
    needs!("gcc", "valgrind");
    let folder = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    let without = parse(folder.path(), &["--inline"]);
    shell(
        folder.path(),
        "mkdir stand-ins; (echo 'int first(int x) { for (int i = 0; i < 99; i++) x = x * x + i; return x; }'; cat nops.c) > other.c; gcc -O1 -g -o stand-ins/nops other.c",
    );
    let roots = folder.path().join("stand-ins");
    let with = parse(
        folder.path(),
        &["--inline", "--debug-root", roots.to_str().unwrap()],
    );
    assert_eq!(inlined(&records(&with), "work"), 27_000);
    assert_eq!(records(&with), records(&without));
}

#[test]
fn moved_object_is_found_below_a_debug_root() {
    needs!("gcc", "valgrind");
    let folder = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    shell(folder.path(), "mkdir elsewhere; mv nops elsewhere");
    let missing = parse(folder.path(), &["--inline"]);
    assert!(
        missing.stderr.contains("--debug-root") && missing.stderr.contains("nops"),
        "{}",
        missing.stderr
    );
    let root = folder.path().join("elsewhere");
    let found = parse(
        folder.path(),
        &["--inline", "--debug-root", root.to_str().unwrap()],
    );
    assert_eq!(inlined(&records(&found), "work"), 27_000);
    // A FIFO in the object's place is not opened.
    shell(folder.path(), "mkfifo nops");
    assert!(
        parse(folder.path(), &["--inline"])
            .stderr
            .contains("--debug-root")
    );
}

#[test]
fn c_library_is_resolved_with_its_debug_package() {
    needs!("gcc", "valgrind");
    let folder = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    let records = records(&parse(folder.path(), &["--inline", "--instr"]));
    check_sums(&records);
    let objects = records[0]["inlines"]["objects"].as_array().unwrap();
    let is_libc = |name: &Value| name.as_str().unwrap_or_default().ends_with("/libc.so.6");
    let libc = objects
        .iter()
        .find(|object| is_libc(&object["obj"]))
        .unwrap();
    assert_eq!(libc["debug"], "build-id", "{libc}");
    let figure = |field: &str| libc[field].as_u64().unwrap();
    assert!(
        figure("named") > 0 && figure("agrees") * 1000 >= figure("named") * 999,
        "{libc}"
    );
    // At each address, the chain is as deep as in binutils.
    let lines: Vec<&Value> = records_of_type(&records, "line")
        .into_iter()
        .filter(|record| is_libc(&record["obj"]))
        .collect();
    let object = libc["obj"].as_str().unwrap();
    let addresses: Vec<&str> = lines
        .iter()
        .map(|line| line["addr"].as_str().unwrap())
        .collect();
    let oracle = needs::command("addr2line")
        .args(["-a", "-i", "-e", object])
        .args(&addresses)
        .output()
        .unwrap();
    let oracle = String::from_utf8(oracle.stdout).unwrap();
    let depths: Vec<usize> = oracle
        .split("0x")
        .skip(1)
        .map(|frames| frames.lines().count() - 1)
        .collect();
    assert_eq!(depths.len(), lines.len());
    let mut inlined = 0;
    for (line, depth) in lines.iter().zip(depths) {
        let chain = line["inlined"].as_array().map_or(0, Vec::len);
        assert_eq!(chain + 1, depth, "{line}");
        inlined += usize::from(chain > 0);
    }
    assert!(inlined > 20, "{inlined} of {}", lines.len());
}

#[test]
fn equal_lines_at_the_border_of_two_files_are_one_line_in_valgrind() {
    needs!("gcc", "valgrind");
    let folder = tempfile::tempdir().unwrap();
    // The code of `b` follows that of `a` without a gap, and the last line of `a` has the number of the first line of `b`.
    let files = [
        ("a.c", "#line 8\nint a(int x) {\n    return x * 3; }\n"),
        (
            "b.c",
            "static inline __attribute__((always_inline)) int in(int y) {\n    y ^= 5;\n    return y > 3 ? y * 7 : y;\n}\n\
             #line 9\nint b(int y) { return in(y); }\n",
        ),
        (
            "main.c",
            "int a(int); int b(int);\nint main(void) { int s = 0; for (int i = 0; i < 10; i++) s += a(i) + b(i); return s & 1; }\n",
        ),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    shell(
        folder.path(),
        "gcc -O0 -g -falign-functions=1 -c a.c b.c main.c; gcc a.o b.o main.o -o prog
        valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=profile ./prog || true",
    );
    let records = records(&parse(folder.path(), &["--inline"]));
    let b = records
        .iter()
        .find(|record| record["type"] == "fn" && record["fn"] == "b");
    assert!(b.unwrap()["file"].as_str().unwrap().ends_with("/a.c"));
    assert!(inlined(&records, "in") > 50, "{records:#?}");
}

#[test]
fn parts_add_up_or_stay_separate_with_per_part() {
    needs!("gcc", "valgrind");
    let folder = profiled(
        "gcc -O2 -g -o nops nops.c",
        "--dump-instr=yes --dump-before=g --combine-dumps=yes",
    );
    let sums = records(&parse(folder.path(), &["--inline"]));
    assert_eq!(inlined(&sums, "work"), 27_000);
    check_laws(&sums);
    let parts = records(&parse(folder.path(), &["--inline", "--per-part"]));
    assert!(records_of_type(&parts, "run").len() > 5);
    assert_eq!(inlined(&parts, "work"), 27_000);
}

#[test]
fn concatenated_streams_equal_reading_all_profiles_together() {
    needs!("gcc", "valgrind");
    let folder = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    shell(
        folder.path(),
        "valgrind -q --tool=callgrind --dump-instr=yes --toggle-collect=main --callgrind-out-file=second ./nops >/dev/null",
    );
    let second = folder.path().join("second").display().to_string();
    let both = parse(folder.path(), &["--inline", &second]);
    let one = parse(folder.path(), &["--inline"]).stdout;
    let other = tools::run("cg-parse", &["--inline", &second], b"").stdout;
    let together = tools::stdout("cg-fmt", &["-f", "json"], &[one, other].concat());
    let (both, together) = (records(&both), lines_of(&together));
    let facts = |records: &[Value]| {
        let facts = records[0]["inlines"].as_object().unwrap().clone();
        let mut objects: Vec<String> = (facts["objects"].as_array().unwrap().iter())
            .map(Value::to_string)
            .collect();
        objects.sort();
        (facts["resolved"].clone(), objects)
    };
    assert_eq!(facts(&both), facts(&together));
    let chains = |records: &[Value]| -> BTreeMap<String, [String; 2]> {
        let inlines = records_of_type(records, "inline").into_iter();
        inlines
            .map(|record| {
                let figures = ["cost", "incl"].map(|field| record[field].to_string());
                (record["stack"].to_string(), figures)
            })
            .collect()
    };
    assert_eq!(chains(&both), chains(&together));
    assert!(inlined(&together, "work") > 27_000);
}

#[test]
fn tables_and_trees_show_inlined_functions_like_others() {
    needs!("gcc", "valgrind");
    let folder = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    let stream = parse(folder.path(), &["--inline"]).stdout;
    let columns = "Ir,incl.Ir,out_of_line,inlined,hosts,fn,file,obj";
    let args = ["-f", "csv", "--top", "all", "--columns", columns];
    let table = tools::stdout("cg-fmt", &args, &stream);
    let table = String::from_utf8(table).unwrap();
    let object = folder.path().join("nops").display().to_string();
    let row = |name: &str| -> Vec<String> {
        let rows = table.lines().filter(|row| row.ends_with(&object));
        let mut rows = rows.map(|row| row.split(',').map(str::to_owned).collect::<Vec<_>>());
        rows.find(|row| row[5] == name).unwrap()
    };
    assert!(table.starts_with(columns));
    // Self cost, inclusive cost, out of line, inlined, hosts.
    let figures =
        |name: &str| [0, 1, 2, 3, 4].map(|column| row(name)[column].parse::<u64>().unwrap());
    assert_eq!(figures("work"), [27_000, 27_000, 0, 27_000, 3]);
    assert_eq!(figures("outer"), [800, 16_800, 0, 800, 2]);
    let [own, inclusive, out_of_line, inlined, hosts] = figures("f");
    assert_eq!(
        (inlined, hosts, out_of_line, inclusive),
        (0, 0, own, own + 14_700)
    );
    // Trees of the functions inlined into a function, and of the functions that it is inlined into.
    let tree = |which: &str| {
        let tree = tools::stdout("cg-fmt", &["--tree", which, "--threshold", "0.1"], &stream);
        String::from_utf8(tree).unwrap()
    };
    let lines = |tree: &str, name: &str| -> Vec<String> {
        let mut lines = tree.lines().map(|line| {
            line.split(" (").next().unwrap().trim().to_owned()
                + " "
                + line
                    .split(')')
                    .nth(1)
                    .unwrap_or_default()
                    .split('(')
                    .next()
                    .unwrap()
                    .trim()
        });
        let first = lines
            .find(|line| line.ends_with(&format!(" {name}")))
            .unwrap();
        std::iter::once(first).chain(lines.take(2)).collect()
    };
    let callees = tree("callees");
    assert_eq!(lines(&callees, "g")[1], "11,000 └─ work");
    let callers = tree("callers");
    assert_eq!(
        lines(&callers, "work")[..2],
        ["27,000 work".to_owned(), "16,000 ├─ outer".to_owned()]
    );
    // Filters match the innermost function, or any function in the chain.
    for (args, expected) in [(&["^work$"][..], 27_000), (&["--frame", "^outer$"], 16_800)] {
        let kept = tools::stdout("cg-filter", args, &stream);
        let kept = String::from_utf8(kept).unwrap();
        let sum: u64 = kept
            .lines()
            .filter(|line| line.contains("\"inline\""))
            .map(|line| ir(&serde_json::from_str(line).unwrap()))
            .sum();
        assert_eq!(sum, expected, "{args:?}");
    }
}

/// Returns the rows around a function in a tree of calls, with single blanks.
fn group<'t>(tree: &'t str, function: &str) -> Vec<String> {
    let is_middle = |row: &&str| row.ends_with(&format!("*  {function}"));
    let mut groups = tree.split("\n\n");
    let group: &'t str = groups
        .find(|group| group.lines().any(|row| is_middle(&row)))
        .unwrap();
    let words = |row: &str| row.split_whitespace().collect::<Vec<_>>().join(" ");
    group.lines().map(words).collect()
}

#[test]
fn call_trees_show_callers_as_in_the_source() {
    needs!("gcc", "valgrind");
    let folder = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    let columns = ["--columns", "Ir,incl.Ir,role,fn", "--top", "all"];
    let tree = |folder: &TempDir, which: &str, threshold: &str| {
        let stream = parse(folder.path(), &["--inline", "--calls"]).stdout;
        let args = [&["--tree", which, "--threshold", threshold], &columns[..]].concat();
        let from_stream = tools::stdout("cg-fmt", &args, &stream);
        let profile = folder.path().join("profile").display().to_string();
        let args = [&args[..], &["--inline", &profile]].concat();
        let from_profile = tools::run("cg-fmt", &args, b"");
        assert_eq!(from_profile.stdout, from_stream);
        String::from_utf8(from_stream).unwrap()
    };
    let callers = group(&tree(&folder, "callers", "0"), "work");
    let callers: Vec<&str> = (callers.iter().map(String::as_str))
        // The C library's callers of main do not matter.
        .filter(|row| !row.ends_with("(1x)"))
        .collect();
    assert_eq!(
        callers,
        [
            "16,000 16,000 < outer (inlined into)",
            "14,000 14,000 < f (inlined into)",
            "< main (7x)",
            "2,000 2,000 < main (inlined into)",
            "11,000 11,000 < g (inlined into)",
            "< main (11x)",
            "27,000 27,000 * work",
        ]
    );
    // f runs 7 times: 700 Ir in outer itself, and 14,000 Ir in work, which outer contains twice.
    let callees = group(&tree(&folder, "callees", "0.5"), "f");
    assert_eq!(
        callees[1..],
        [
            "700 14,700 > outer (inlined)",
            "14,000 14,000 > work (inlined)"
        ]
    );

    // Calls from inlined code, through a function without self cost.
    let source = concat!(
        "#define INLINE static inline __attribute__((always_inline))\n",
        "#define NOPS(n) __asm__ volatile(\".rept \" #n \"\\n nop\\n .endr\")\n",
        "__attribute__((noinline)) void leaf(void) { NOPS(1000); }\n",
        "INLINE void probe(void) { NOPS(100); leaf(); NOPS(100); }\n",
        "INLINE void step(void) { probe(); }\n",
        "__attribute__((noinline)) void host(void) { step(); NOPS(10); }\n",
        "int main(void) { for (int i = 0; i < 5; i++) host(); step(); return 0; }\n",
    );
    let folder = profiled(
        &format!("cat > calls.c <<'C'\n{source}C\ngcc -O2 -g -o nops calls.c"),
        "--dump-instr=yes",
    );
    // With call and return instructions, each call costs 1,001 in leaf and 201 in probe.
    let both = tree(&folder, "both", "0");
    assert_eq!(
        group(&both, "leaf"),
        ["6,006 < probe (6x)", "6,006 6,006 * leaf"]
    );
    let probe = group(&both, "probe");
    assert_eq!(probe.last().unwrap(), "6,006 > leaf (6x)");
    assert!(
        probe.contains(&"1,206 7,212 * probe".to_owned()),
        "{probe:?}"
    );
    let host = group(&both, "host");
    let middle = host.iter().position(|row| row.ends_with("* host")).unwrap();
    assert_eq!(
        host[middle + 1..],
        [
            "1,005 6,010 > probe (inlined through step)",
            "5,005 > leaf (5x)"
        ]
    );
    // Without calls, the tree shows inlined functions and omits the same intermediate function.
    let stream = parse(folder.path(), &["--inline"]).stdout;
    let args = ["--tree", "callees", "--threshold", "0"];
    let inlined = String::from_utf8(tools::stdout("cg-fmt", &args, &stream)).unwrap();
    assert!(inlined.contains("calls.c, through step)\n"), "{inlined}");
    assert!(!inlined.contains(" step ("), "{inlined}");
}

/// Returns the inclusive cost of a function in the places where it is inlined.
fn inlined_inclusive(records: &[Value], name: &str) -> u64 {
    records_of_type(records, "inline")
        .into_iter()
        .filter(|record| {
            short(&record["fn"]) == name && record["stack"].as_array().unwrap().len() > 1
        })
        .map(|record| record["incl"]["Ir"].as_u64().unwrap())
        .sum()
}

#[test]
fn inclusive_cost_of_code_inlined_into_a_recursion_covers_all_levels() {
    needs!("valgrind");
    // `rec` calls itself from `step`; `even` and `odd` call each other. `own` and `out` are inlined at each level.
    let source = concat!(
        "#define INLINE static inline __attribute__((always_inline))\n",
        "#define NOINLINE __attribute__((noinline, noclone))\n",
        "#define NOPS(n) __asm__ volatile(\".rept \" #n \"\\n nop\\n .endr\" ::: \"memory\")\n",
        "NOINLINE void leaf(void) { NOPS(499); }\n",
        "INLINE void own(void) { NOPS(1000); }\n",
        "INLINE void out(void) { NOPS(99); leaf(); }\n",
        "NOINLINE void rec(volatile int *n);\n",
        "INLINE void step(volatile int *n) { NOPS(10); rec(n); NOPS(10); }\n",
        "NOINLINE void rec(volatile int *n) { own(); out(); if ((*n)-- > 0) step(n); NOPS(1); }\n",
        "NOINLINE void odd(volatile int *n);\n",
        "NOINLINE void even(volatile int *n) { own(); if ((*n)-- > 0) { odd(n); NOPS(1); } NOPS(1); }\n",
        "NOINLINE void odd(volatile int *n) { if ((*n)-- > 0) { even(n); NOPS(1); } NOPS(1); }\n",
        "int main(void) { volatile int n = CALLS; WHICH(&n); NOPS(1); return 0; }\n",
    );
    let run = |which: &str, calls: u64, valgrind: &str| {
        let build = format!(
            "cat > rec.c <<'C'\n{source}C\ngcc -O2 -g -DWHICH={which} -DCALLS={calls} -o nops rec.c"
        );
        let folder = profiled(&build, &format!("--dump-instr=yes {valgrind}"));
        let records = records(&parse(folder.path(), &["--inline"]));
        check_laws(&records);
        for record in records_of_type(&records, "inline") {
            assert!(
                record["incl"]["Ir"].as_u64() >= record["cost"]["Ir"].as_u64(),
                "{record}"
            );
        }
        records
    };
    for levels in [
        "",
        "--separate-recs=10",
        "--separate-callers=3",
        "--separate-recs=1",
    ] {
        let records = run("rec", 4, levels);
        // Five levels. `out` costs 99 + 1, plus 499 + 1 in leaf.
        assert_eq!(inlined_inclusive(&records, "own"), 5_000, "{levels}");
        assert_eq!(
            inlined_inclusive(&records, "out"),
            5 * (100 + 500),
            "{levels}"
        );
        // All recursive calls come from step, so the outermost call includes the others.
        let step = inlined_inclusive(&records, "step");
        let (own, all) = (inlined(&records, "step"), 4 * (1_000 + 600 + 21));
        match levels {
            // The profile does not record which calls are nested.
            "--separate-recs=1" => assert_eq!(step, own, "{levels}"),
            _ => assert!((all..all + 100).contains(&step), "{levels}: {step}"),
        }
        // The levels are even, odd, even, odd, even.
        let records = run("even", 4, levels);
        assert_eq!(inlined_inclusive(&records, "own"), 3_000, "{levels}");
    }
}

#[test]
fn other_formats_have_every_chain_with_its_cost() {
    needs!("gcc", "valgrind");
    let folder = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    let stream = parse(folder.path(), &["--inline"]);
    let read = records(&stream);
    let total = read[0]["total"]["Ir"].as_u64().unwrap();
    // Costs by names, outermost first.
    let chains = |records: &[Value], kind: &str| -> BTreeMap<String, u64> {
        let mut chains: BTreeMap<String, u64> = BTreeMap::new();
        for record in records_of_type(records, kind) {
            let frames = record["stack"].as_array().unwrap().iter().rev();
            let names: Vec<&str> = frames
                .map(|frame| frame["fn"].as_str().unwrap_or("???"))
                .collect();
            let cost = record["cost"].as_object().unwrap();
            let cost = cost.get("Ir").or_else(|| cost.get("samples"));
            *chains.entry(names.join(";")).or_default() += cost.unwrap().as_u64().unwrap();
        }
        chains.retain(|_, cost| *cost > 0);
        chains
    };
    let expected = chains(&read, "inline");
    assert_eq!(expected["f;outer;work"], 14_000);
    assert_eq!(expected.values().sum::<u64>(), total);
    let written = |args: &[&str]| -> Vec<u8> {
        let run = tools::run("cg-fmt", args, &stream.stdout);
        assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
        run.stdout
    };
    for format in ["folded", "speedscope", "pprof", "firefox"] {
        let again = tools::run("cg-parse", &[], &written(&["-f", format]));
        assert_eq!(again.status, 0, "{format}: {}", again.stderr);
        assert_eq!(
            chains(&self::records(&again), "stack"),
            expected,
            "{format}"
        );
    }
    // Widths of a flame graph are shares of the total.
    let picture = written(&["-f", "flamegraph", "--threshold", "0"]);
    let picture = String::from_utf8(picture).unwrap();
    let titles = picture.split("<title>").skip(1);
    let drawn: u64 = titles
        .filter_map(|title| title.strip_prefix("work ("))
        .map(|title| {
            title
                .split(' ')
                .next()
                .unwrap()
                .replace(',', "")
                .parse::<u64>()
                .unwrap()
        })
        .sum();
    assert_eq!(drawn, 27_000);
    // Callgrind's format has only functions, with the cost of the functions inlined into them.
    let functions = tools::run("cg-parse", &[], &written(&["-f", "callgrind"]));
    let functions = records(&functions);
    assert_eq!(functions[0]["total"]["Ir"].as_u64().unwrap(), total);
    let costs = |records: &[Value]| -> BTreeMap<[String; 3], u64> {
        records_of_type(records, "fn")
            .into_iter()
            .map(|record| (function(record), ir(record)))
            .collect()
    };
    assert_eq!(costs(&functions), costs(&read));
}

#[test]
fn source_lines_have_their_functions_as_headings() {
    needs!("gcc", "valgrind");
    let folder = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = format!("--source={}", path(""));
    let stream = parse(
        folder.path(),
        &["--inline", "--instr", "--lines", "--calls"],
    );
    let from_stream = tools::stdout("cg-fmt", &[&source], &stream.stdout);
    let from_profile = tools::run("cg-fmt", &[&source, "--inline", &path("profile")], b"");
    assert_eq!(from_profile.text(), String::from_utf8(from_stream).unwrap());
    let text = from_profile.text();
    let headings = text.lines().filter_map(|line| line.split_once("-- "));
    let headings: Vec<(&str, &str)> = headings
        .map(|(figures, name)| {
            (
                figures.split(' ').find(|word| !word.is_empty()).unwrap(),
                name,
            )
        })
        .collect();
    assert_eq!(
        headings[..2],
        [
            ("27,000", "work, inlined into 3 functions"),
            ("800", "outer, inlined into 2 functions")
        ]
    );
    // Code that was not inlined is under its function's name.
    let own: Vec<&str> = headings[2..].iter().map(|(_, name)| *name).collect();
    assert_eq!(own, ["f", "g", "main"]);
    let without = tools::run("cg-fmt", &[&source, &path("profile")], b"");
    let unheaded: Vec<&str> = text.lines().filter(|line| !line.contains("-- ")).collect();
    assert_eq!(unheaded, without.text().lines().collect::<Vec<_>>());
}

#[test]
fn inlining_by_the_compiler_moves_no_cost_in_a_diff() {
    needs!("gcc", "valgrind");
    // The same function, out of line and inlined.
    let old = profiled(
        "sed -i '2s/static inline/static/; 2s/always_inline/noinline/' nops.c; gcc -O2 -g -o nops nops.c",
        "--dump-instr=yes",
    );
    let new = profiled("gcc -O2 -g -o nops nops.c", "--dump-instr=yes");
    let path = |folder: &TempDir, name: &str| folder.path().join(name).display().to_string();
    let profiles = [path(&old, "profile"), path(&new, "profile")];
    let raw = tools::run("cg-diff", &["--inline", &profiles[0], &profiles[1]], b"");
    assert_eq!(raw.status, 0, "{}", raw.stderr);
    let streams: Vec<String> = [&old, &new]
        .map(|folder| {
            let stream = path(folder, "stream");
            std::fs::write(&stream, parse(folder.path(), &["--inline"]).stdout).unwrap();
            stream
        })
        .into();
    let from_streams = tools::run("cg-diff", &[&streams[0], &streams[1]], b"");
    for run in [&raw, &from_streams] {
        let records = records(run);
        let row = records
            .iter()
            .find(|record| record["fn"] == "work")
            .unwrap();
        let entries = |field: &str| {
            let entries = row[field]["Ir"].as_array().unwrap();
            [0, 1].map(|run| entries[run].as_u64().unwrap())
        };
        // Out of line, each of its 27 calls (7 times 2 in f, 11 in g, 2 in main) has one more instruction, the return.
        assert_eq!(entries("cost"), [27_027, 27_000]);
        assert_eq!(entries("out_of_line"), [27_027, 0]);
        assert_eq!(entries("gone_inline"), [0, 27_000]);
        assert!(!records.iter().any(|record| {
            record["why"]["cause"]
                .as_str()
                .is_some_and(|cause| cause.contains("inlin"))
        }));
        // Without inline records, the callers would appear to be slower.
        assert!(records.iter().all(
            |record| record["fn"] != "g" || record["delta"]["Ir"].as_i64().unwrap().abs() < 100
        ));
    }
    assert!(
        !from_streams.stderr.contains("are known"),
        "{}",
        from_streams.stderr
    );
    // If inlining is known on only one side, functions are compared including inlined code, with a warning.
    shell(new.path(), "mv nops elsewhere");
    let unknown = parse(new.path(), &["--inline"]);
    std::fs::write(&streams[1], unknown.stdout).unwrap();
    let unequal = tools::run("cg-diff", &["--all", &streams[0], &streams[1]], b"");
    let warning = "inlined functions of nops are unknown in ";
    assert!(unequal.stderr.contains(warning), "{}", unequal.stderr);
    let plain = tools::run("cg-diff", &["--all", &profiles[0], &profiles[1]], b"");
    let program_rows = |run: &Run| -> BTreeMap<String, String> {
        let records = records(run).into_iter();
        let rows = records
            .filter(|row| ["f", "g", "main", "work"].contains(&row["fn"].as_str().unwrap_or("")));
        rows.map(|row| (row["fn"].to_string(), row["cost"].to_string()))
            .collect()
    };
    assert_eq!(program_rows(&unequal), program_rows(&plain));
    // Each side can have its own directory of objects.
    shell(new.path(), "mkdir kept; mv elsewhere kept/nops");
    let kept = path(&new, "kept");
    let found = tools::run(
        "cg-diff",
        &[
            "--inline",
            "--debug-root-new",
            &kept,
            &profiles[0],
            &profiles[1],
        ],
        b"",
    );
    assert_eq!(found.stdout, raw.stdout, "{}", found.stderr);
    let report = tools::stdout("cg-fmt", &[], &from_streams.stdout);
    let report = String::from_utf8(report).unwrap();
    assert!(
        report.contains("inlined into f, g, main: 27,027 Ir out of line before, 0 now"),
        "{report}"
    );
}

#[test]
fn lines_identify_the_function_only_if_it_is_unambiguous() {
    needs!("gcc", "valgrind");
    // `first` and `second` are on one line, and both are inlined into host.
    let source = concat!(
        "#define NOPS __asm__ volatile(\".rept 500\\n nop\\n .endr\")\n",
        "static inline __attribute__((always_inline)) void first(void){ NOPS; } static inline __attribute__((always_inline)) void second(void){ NOPS; }\n",
        "static inline __attribute__((always_inline)) void third(void){\n",
        "  NOPS; }\n",
        "__attribute__((noinline)) void host(void){ first();\n second();\n third(); }\n",
        "int main(void){ host(); return 0; }\n",
    );
    let build = format!("cat > two.c <<'C'\n{source}C\ngcc -O2 -g -o nops two.c");
    let folder = profiled(&build, "");
    let run = parse(folder.path(), &["--inline"]);
    assert!(run.stderr.contains("--dump-instr=yes"), "{}", run.stderr);
    let records = records(&run);
    check_sums(&records);
    assert_eq!(
        (inlined(&records, "third"), inlined(&records, "first")),
        (500, 0)
    );
    let ambiguous: Vec<&Value> = records_of_type(&records, "inline")
        .into_iter()
        .filter(|record| record["ambiguous"] == serde_json::json!(["first", "second"]))
        .collect();
    assert_eq!(ambiguous.len(), 1);
    assert_eq!(
        (ambiguous[0]["fn"].as_str(), ir(ambiguous[0])),
        (Some("host"), 1000)
    );

    let whole = profiled("gcc -O2 -g -o nops nops.c", "");
    let records = self::records(&parse(whole.path(), &["--inline"]));
    assert_eq!(
        (inlined(&records, "work"), inlined(&records, "outer")),
        (27_000, 800)
    );
    check_sums(&records);
    // In another build, the same lines belong to other functions.
    shell(
        whole.path(),
        "(seq -s ';' 1 0; seq 40 | sed 's/.*//'; cat nops.c) > other.c; gcc -O2 -g -o nops other.c",
    );
    let run = parse(whole.path(), &["--inline"]);
    assert!(run.stderr.contains("another build"), "{}", run.stderr);
    assert_eq!(inlined(&self::records(&run), "work"), 0);
}

#[test]
fn inline_option_warns_for_profiles_without_addresses_of_objects() {
    for (profile, why) in [
        (
            "cachegrind/3.14.0-rec_default.cachegrind.out",
            "neither addresses nor objects",
        ),
        ("memcheck/3.14.0-leaky.xml", "--read-inline-info=no"),
        ("memcheck/3.27.1-clean.log", "--read-inline-info=no"),
        ("massif/3.19.0-empty.massif.out", "--read-inline-info=no"),
        ("dhat/3.19.0-heapy.dhat.json", "--read-inline-info=no"),
        ("perf/6.1-busy.perf.txt", "that the profiler found"),
    ] {
        let path = workspace().join("tests/data").join(profile);
        let path = path.to_str().unwrap();
        let without = tools::run("cg-parse", &[path], b"");
        let with = tools::run("cg-parse", &["--inline", path], b"");
        assert_eq!(
            (with.status, &with.stdout),
            (0, &without.stdout),
            "{profile}"
        );
        assert_eq!(
            with.stderr.matches("--inline has no effect here").count(),
            1,
            "{profile}"
        );
        assert!(with.stderr.contains(why), "{profile}: {}", with.stderr);
    }
}
