//! Checks the explanations of cg-diff on pairs of small programs in C, C++ and Rust with one known cause of the difference.
//!
//! The statements are the reason of a row, its machine code change, its inlining, and the causes. Each is compared with
//! independent evidence: the text of the profile, `objdump`, and the known cause. `CG_TESTS_FULL=1 cargo test -p tests
//! known_causes -- --nocapture` checks all pairs and prints the shares.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use needs::needs;
use serde_json::Value;
use tests::made_programs::{
    BUILDS, CompilerFlags, KNOWN_CAUSES, KnownCause, ProgramLanguage, ProgramVersion,
};
use tests::second_reader::{CallgrindFunctions, Disassembly, code_change, parse_disassembly};
use tests::{shell, tools};

/// A version of a program, built and profiled.
struct MadeProgram {
    profile: PathBuf,
    functions: CallgrindFunctions,
    code: BTreeMap<String, Disassembly>,
}

impl MadeProgram {
    fn build(
        version: ProgramVersion,
        language: ProgramLanguage,
        build: CompilerFlags,
        folder: &Path,
    ) -> MadeProgram {
        std::fs::create_dir(folder).unwrap();
        let build = version.write(folder, language, build);
        shell(folder, &build);
        MadeProgram::run(version, folder, folder.join("profile"))
    }

    /// Profiles a built program.
    fn run(version: ProgramVersion, folder: &Path, profile: PathBuf) -> MadeProgram {
        let run = format!(
            "valgrind -q --tool=callgrind --dump-instr=yes --toggle-collect='*drive*' --callgrind-out-file={} ./program {} >/dev/null",
            profile.display(),
            version.argument
        );
        shell(folder, &run);
        let listing = shell(folder, "objdump -d --no-show-raw-insn -C program");
        MadeProgram {
            functions: CallgrindFunctions::read(&profile),
            code: parse_disassembly(&listing),
            profile,
        }
    }

    /// Returns the number of calls to a function, found by the last part of its name.
    fn calls_to(&self, name: &str) -> i128 {
        let named = |(call, _): &(&(String, String), &i128)| short(&call.1) == name;
        let calls = self.functions.calls.iter().filter(named);
        calls.map(|(_, calls)| calls).sum()
    }

    fn calls_between(&self, caller: &str, callee: &str) -> i128 {
        let calls = (self.functions.calls.iter())
            .filter(|((from, to), _)| (short(from), short(to)) == (caller, callee));
        calls.map(|(_, calls)| calls).sum()
    }

    fn code_of(&self, name: &str) -> Option<&Disassembly> {
        let mut named = (self.code.iter()).filter(|(function, _)| short(function) == name);
        named.next().map(|(_, code)| code)
    }
}

/// Shortens a name to its last part without arguments and hash: `program::drive` and `drive(unsigned long)` become `drive`.
fn short(name: &str) -> &str {
    let name = name.split('(').next().unwrap();
    let parts: Vec<&str> = name.split("::").collect();
    let is_hash = |part: &str| part.len() == 17 && part.starts_with('h');
    match parts[..] {
        [.., name, last] if is_hash(last) => name,
        [.., last] => last,
        [] => name,
    }
}

fn short_of(record: &Value) -> &str {
    short(record["fn"].as_str().unwrap_or(""))
}

/// Two versions and their comparison.
struct Pair {
    known: KnownCause,
    old: MadeProgram,
    new: MadeProgram,
    /// The records of `cg-diff --causes --code`.
    rows: Vec<Value>,
    /// The records of `cg-diff --inline`.
    inlined: Vec<Value>,
}

/// The results of all checks.
#[derive(Debug, Default)]
struct Score {
    statements: usize,
    untrue: Vec<String>,
    /// The number of expected statements.
    expected: usize,
    /// The expected statements that cg-diff did not make.
    missing: Vec<String>,
    sums: usize,
    inexact: Vec<String>,
}

impl Score {
    fn count_statement(&mut self, is_true: bool, describe: impl FnOnce() -> String) {
        self.statements += 1;
        if !is_true {
            self.untrue.push(describe());
        }
    }

    fn expect(&mut self, is_present: bool, describe: impl FnOnce() -> String) {
        self.expected += 1;
        if !is_present {
            self.missing.push(describe());
        }
    }
}

fn diff(args: &[&str], old: &MadeProgram, new: &MadeProgram) -> Vec<Value> {
    let profiles = [&old.profile, &new.profile].map(|path| path.to_str().unwrap());
    let run = tools::run("cg-diff", &[args, &profiles[..]].concat(), b"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    (run.text().lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

impl Pair {
    fn compare(known: KnownCause, old: MadeProgram, new: MadeProgram) -> Pair {
        Pair {
            rows: diff(&["--causes", "--code"], &old, &new),
            inlined: diff(&["--inline", "--all"], &old, &new),
            known,
            old,
            new,
        }
    }

    fn rows_of_type<'r>(rows: &'r [Value], kind: &'static str) -> impl Iterator<Item = &'r Value> {
        rows.iter().filter(move |row| row["type"] == kind)
    }

    /// Returns the row of a function, found by the last part of its name.
    fn row(&self, name: &str) -> Option<&Value> {
        Pair::rows_of_type(&self.rows, "diff").find(|row| short_of(row) == name)
    }

    fn judge(&self, score: &mut Score) {
        self.judge_sum(score);
        for row in Pair::rows_of_type(&self.rows, "diff").filter(|row| self.is_of_program(row)) {
            self.judge_why(row, score);
            self.judge_code(row, score);
        }
        for cause in Pair::rows_of_type(&self.rows, "cause") {
            self.judge_cause(cause, score);
        }
        self.judge_inlining(score);
        self.judge_missing(score);
    }

    fn is_of_program(&self, row: &Value) -> bool {
        row["obj"]
            .as_str()
            .is_some_and(|obj| obj.ends_with("/program"))
    }

    /// The deltas of the causes sum to the difference of the totals from the independent reader.
    fn judge_sum(&self, score: &mut Score) {
        let causes = Pair::rows_of_type(&self.rows, "cause");
        let sum: i64 = causes
            .map(|cause| cause["delta"]["Ir"].as_i64().unwrap_or(0))
            .sum();
        let total = self.new.functions.total() - self.old.functions.total();
        score.sums += 1;
        if i128::from(sum) != total {
            score.inexact.push(format!("{sum} for {total}"));
        }
    }

    /// The reason of a row has the same numbers of calls as the profiles, and its parts add up. A callee in a reason is
    /// called in only one of the profiles.
    fn judge_why(&self, row: &Value, score: &mut Score) {
        let why = &row["why"];
        if why.is_null() {
            return;
        }
        let name = short_of(row);
        let was = row["was"]["fn"].as_str().map_or(name, short);
        if why["cause"] == "callees" {
            for callee in why["callees"].as_array().unwrap() {
                let to = short(callee["fn"].as_str().unwrap());
                let calls = [
                    self.old.calls_between(was, to),
                    self.new.calls_between(name, to),
                ];
                let found = [0, 1].map(|side| i128::from(callee["calls"][side].as_i64().unwrap()));
                let is_true = found == calls && calls.contains(&0) && calls != [0, 0];
                score.count_statement(is_true, || format!("{name}: {why}, expected {calls:?}"));
            }
            return;
        }
        let calls = [self.old.calls_to(was), self.new.calls_to(name)];
        let found = [0, 1].map(|side| i128::from(why["calls"][side].as_i64().unwrap_or(-1)));
        let parts = ["by_calls", "by_cost_per_call"].map(|part| why[part].as_i64().unwrap_or(0));
        let delta = row["delta"]["Ir"].as_i64().unwrap();
        // The cost per call of an unchanged function cannot be a reason.
        let is_possible = why["cause"] == "calls" || self.is_touched(name);
        let is_true = calls == found && parts[0] + parts[1] == delta && is_possible;
        score.count_statement(is_true, || {
            format!("{name}: {why} of {delta}, expected {calls:?}")
        });
    }

    /// Returns true if the known cause can change the function's self cost per call.
    fn is_touched(&self, name: &str) -> bool {
        let touched: &[&str] = match self.known {
            KnownCause::MoreCalls | KnownCause::OtherInput => &["drive"],
            KnownCause::Dearer | KnownCause::Constant => &["leaf"],
            KnownCause::Inlined | KnownCause::NoLongerInlined => &["step", "helper"],
            KnownCause::Renamed => &["leaf", "twig"],
            KnownCause::Moved => &["leaf", "step"],
            KnownCause::Deleted | KnownCause::Added => &["drive", "audit"],
        };
        touched.contains(&name)
    }

    fn judge_code(&self, row: &Value, score: &mut Score) {
        let Some(found) = row["code"].as_str() else {
            return;
        };
        let name = short_of(row);
        let was = row["was"]["fn"].as_str().map_or(name, short);
        let codes = self.old.code_of(was).zip(self.new.code_of(name));
        let expected = codes.map_or("not disassembled", |(old, new)| code_change(old, new));
        score.count_statement(found == expected, || {
            format!("{name}: code {found}, by objdump {expected}")
        });
    }

    /// A detail about calls has the same numbers of calls as the profiles. Own code is a cause only at a changed function, or
    /// at `step` and `drive`, which call one. A function that came or went is called in only one of the profiles.
    fn judge_cause(&self, cause: &Value, score: &mut Score) {
        let name = short_of(cause);
        let old = |name| {
            if self.known == KnownCause::Renamed && name == "twig" {
                "leaf"
            } else {
                name
            }
        };
        let details = cause["details"].as_array().unwrap();
        let is_contracted = |detail: &Value| detail["kind"] == "gone" || detail["kind"] == "new";
        // The calls of a function that came or went count as calls of its caller.
        let has_contracted = details.iter().any(is_contracted);
        for detail in details {
            let to = short_of(detail);
            let is_true = match detail["kind"].as_str().unwrap() {
                "calls" | "moved" if has_contracted => continue,
                "calls" | "moved" => {
                    let found =
                        [0, 1].map(|side| i128::from(detail["calls"][side].as_i64().unwrap()));
                    let calls = [
                        self.old.calls_between(old(name), old(to)),
                        self.new.calls_between(name, to),
                    ];
                    calls == found
                }
                "own" => self.is_touched(name) || name == "step" || name == "drive",
                "gone" => self.old.calls_to(to) > 0 && self.new.calls_to(to) == 0,
                "new" => self.old.calls_to(to) == 0 && self.new.calls_to(to) > 0,
                _ => false,
            };
            score.count_statement(is_true, || format!("{name}: {detail}"));
        }
    }

    /// Only the inlining of `helper` into `step` differs.
    fn judge_inlining(&self, score: &mut Score) {
        let mut is_present = false;
        for row in Pair::rows_of_type(&self.inlined, "diff").filter(|row| self.is_of_program(row)) {
            if row["out_of_line"].is_null() {
                continue;
            }
            let out = |side: usize| row["out_of_line"]["Ir"][side].as_i64().unwrap_or(0);
            let hosts = row["hosts"].as_array().map_or(&[][..], Vec::as_slice);
            let is_true = short_of(row) == "helper"
                && hosts.len() == 1
                && short_of(&hosts[0]) == "step"
                && match self.known {
                    KnownCause::Inlined => out(0) > 0 && out(1) == 0,
                    KnownCause::NoLongerInlined => out(0) == 0 && out(1) > 0,
                    _ => false,
                };
            is_present |= is_true;
            score.count_statement(is_true, || format!("inlining: {row}"));
        }
        if matches!(
            self.known,
            KnownCause::Inlined | KnownCause::NoLongerInlined
        ) {
            score.expect(is_present, || "helper's inlining".to_owned());
        }
    }

    /// Checks the statements that are expected for the known cause.
    fn judge_missing(&self, score: &mut Score) {
        let cause = |row: &str| {
            self.row(row)
                .map_or(&Value::Null, |row| &row["why"]["cause"])
        };
        let has_cause = |name: &str, kinds: &[&str], callee: &str| {
            let first = Pair::rows_of_type(&self.rows, "cause").next();
            first.is_some_and(|cause| {
                let mut details = cause["details"].as_array().unwrap().iter();
                short_of(cause) == name
                    && details.any(|detail| {
                        kinds.contains(&detail["kind"].as_str().unwrap())
                            && short_of(detail) == callee
                    })
            })
        };
        let status = |row: &str| self.row(row).map_or(&Value::Null, |row| &row["status"]);
        let code = |row: &str| self.row(row).map_or(&Value::Null, |row| &row["code"]);
        let mut expect =
            |is_present, statement: &str| score.expect(is_present, || statement.to_owned());
        match self.known {
            KnownCause::MoreCalls | KnownCause::OtherInput => {
                expect(cause("step") == "calls", "step is called more often");
                expect(cause("leaf") == "calls", "leaf is called more often");
                expect(code("leaf") == "same", "leaf has the same code");
                expect(
                    has_cause("drive", &["calls"], "step"),
                    "drive calls step more often",
                );
            }
            KnownCause::Dearer | KnownCause::Constant => {
                expect(cause("leaf") == "cost_per_call", "leaf costs more a call");
                expect(!code("leaf").is_null(), "a change of leaf's code");
                expect(
                    has_cause("leaf", &["own"], ""),
                    "leaf costs more a call, first",
                );
            }
            KnownCause::Inlined | KnownCause::NoLongerInlined => {
                expect(cause("step") == "callees", "step's calls of helper");
            }
            KnownCause::Renamed => {
                expect(status("twig") == "renamed", "twig was leaf");
                expect(code("twig") == "same", "twig has leaf's code");
            }
            KnownCause::Moved => expect(
                !["added", "removed"]
                    .iter()
                    .any(|gone| status("leaf") == *gone),
                "leaf is in another file",
            ),
            KnownCause::Deleted | KnownCause::Added => {
                expect(cause("drive") == "callees", "drive's calls of audit");
                expect(
                    has_cause("drive", &["gone", "new"], "audit"),
                    "drive's calls of audit, first",
                );
            }
        }
    }
}

#[test]
fn statements_on_known_causes_are_true_and_causes_add_up() {
    needs!("gcc", "g++", "valgrind");
    let languages = [
        ProgramLanguage::C,
        ProgramLanguage::Cpp,
        ProgramLanguage::Rust,
    ];
    // By default, each cause is checked in some of the languages and builds.
    let stride = needs::size(1, 7);
    let mut score = Score::default();
    let mut pairs = 0;
    let all = languages
        .iter()
        .flat_map(|language| BUILDS.iter().map(move |build| (*language, *build)))
        .flat_map(|(language, build)| KNOWN_CAUSES.map(|known| (language, build, known)));
    for (language, build, known) in all.step_by(stride) {
        let folder = tempfile::tempdir().unwrap();
        let [old_version, new_version] = known.versions();
        let old_folder = folder.path().join("old");
        let old = MadeProgram::build(old_version, language, build, &old_folder);
        let new = match old_version.is_same_program(new_version) {
            true => MadeProgram::run(new_version, &old_folder, folder.path().join("again")),
            false => MadeProgram::build(new_version, language, build, &folder.path().join("new")),
        };
        let before = (score.untrue.len(), score.missing.len(), score.inexact.len());
        Pair::compare(known, old, new).judge(&mut score);
        pairs += 1;
        let lists = [&mut score.untrue, &mut score.missing, &mut score.inexact];
        for (list, before) in lists.into_iter().zip([before.0, before.1, before.2]) {
            for failure in &mut list[before..] {
                *failure = format!("{known:?} in {language:?}, {}: {failure}", build.c);
            }
        }
    }
    println!(
        "{pairs} pairs: {} statements, {} untrue; {} expected statements, {} missing; {} sums, {} inexact",
        score.statements,
        score.untrue.len(),
        score.expected,
        score.missing.len(),
        score.sums,
        score.inexact.len()
    );
    let lists = [&score.untrue, &score.missing, &score.inexact];
    let all = lists.map(|list| list.join("\n")).join("\n");
    assert!(
        score.untrue.len() * 100 <= score.statements,
        "untrue:\n{all}"
    );
    assert!(
        score.missing.len() * 10 <= score.expected,
        "missing:\n{all}"
    );
    assert!(score.inexact.is_empty(), "inexact:\n{all}");
    assert!(score.statements >= 4 * pairs, "{score:?}");
    println!("{all}");
}
