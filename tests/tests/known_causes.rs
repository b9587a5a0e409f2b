//! Two versions of small programs in C, C++ and Rust that differ by one cause, which is known because it was put there:
//! what is said of why they differ, and whether it is true.
//!
//! A sentence is a reason of a row, its word on machine code, its word on inlining, and a cause. Each is held against what
//! shares no code with the tools: the profile's own text, `objdump`, and what was changed. `CG_TESTS_FULL=1 cargo test -p
//! tests known_causes -- --nocapture` makes all pairs and prints the shares.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use needs::needs;
use serde_json::Value;
use tests::made_programs::{BUILDS, CompilerFlags, KNOWN, Known, ProgramLanguage, ProgramVersion};
use tests::second_reader::{CallgrindFunctions, Disassembly, code_change, disassembled};
use tests::{shell, tools};

/// A version, built and profiled.
struct MadeProgram {
    profile: PathBuf,
    functions: CallgrindFunctions,
    code: BTreeMap<String, Disassembly>,
}

impl MadeProgram {
    fn of(
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

    /// Profiles a program that was built.
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
            code: disassembled(&listing),
            profile,
        }
    }

    /// The cost a function has, by the last part of its name.
    fn calls_of(&self, name: &str) -> i128 {
        let named = |(of, _): &(&(String, String), &i128)| short(&of.1) == name;
        let calls = self.functions.calls.iter().filter(named);
        calls.map(|(_, calls)| calls).sum()
    }

    fn calls_between(&self, caller: &str, callee: &str) -> i128 {
        let calls = (self.functions.calls.iter())
            .filter(|((from, to), _)| (short(from), short(to)) == (caller, callee));
        calls.map(|(_, calls)| calls).sum()
    }

    fn code_of(&self, name: &str) -> Option<&Disassembly> {
        let mut named = self.code.iter().filter(|(of, _)| short(of) == name);
        named.next().map(|(_, code)| code)
    }
}

/// The last part of a name, without arguments and hash: `program::drive`, `drive(unsigned long)` and `drive` are `drive`.
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

/// Two versions, and what is said of them.
struct Pair {
    known: Known,
    old: MadeProgram,
    new: MadeProgram,
    /// What `cg-diff --causes --code` writes.
    rows: Vec<Value>,
    /// What `cg-diff --inline` writes.
    inlined: Vec<Value>,
}

/// What came of the sentences of all pairs.
#[derive(Debug, Default)]
struct Score {
    sentences: usize,
    untrue: Vec<String>,
    /// What had to be said, and what of it was not.
    expected: usize,
    silent: Vec<String>,
    sums: usize,
    inexact: Vec<String>,
}

impl Score {
    fn say(&mut self, is_true: bool, what: impl FnOnce() -> String) {
        self.sentences += 1;
        if !is_true {
            self.untrue.push(what());
        }
    }

    fn expect(&mut self, is_said: bool, what: impl FnOnce() -> String) {
        self.expected += 1;
        if !is_said {
            self.silent.push(what());
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
    fn of(known: Known, old: MadeProgram, new: MadeProgram) -> Pair {
        Pair {
            rows: diff(&["--causes", "--code"], &old, &new),
            inlined: diff(&["--inline", "--all"], &old, &new),
            known,
            old,
            new,
        }
    }

    fn of_type<'r>(rows: &'r [Value], of: &'static str) -> impl Iterator<Item = &'r Value> {
        rows.iter().filter(move |row| row["type"] == of)
    }

    /// A row of a function of the program.
    fn row(&self, name: &str) -> Option<&Value> {
        Pair::of_type(&self.rows, "diff").find(|row| short_of(row) == name)
    }

    fn judge(&self, score: &mut Score) {
        self.judge_sum(score);
        for row in Pair::of_type(&self.rows, "diff").filter(|row| self.is_of_program(row)) {
            self.judge_why(row, score);
            self.judge_code(row, score);
        }
        for cause in Pair::of_type(&self.rows, "cause") {
            self.judge_cause(cause, score);
        }
        self.judge_inlining(score);
        self.judge_silence(score);
    }

    fn is_of_program(&self, row: &Value) -> bool {
        row["obj"]
            .as_str()
            .is_some_and(|obj| obj.ends_with("/program"))
    }

    /// Σ delta is the difference of the totals that a second reader finds.
    fn judge_sum(&self, score: &mut Score) {
        let causes = Pair::of_type(&self.rows, "cause");
        let sum: i64 = causes
            .map(|cause| cause["delta"]["Ir"].as_i64().unwrap_or(0))
            .sum();
        let total = self.new.functions.total() - self.old.functions.total();
        score.sums += 1;
        if i128::from(sum) != total {
            score.inexact.push(format!("{sum} for {total}"));
        }
    }

    /// A split of a change has the calls of the profiles and their parts add up; calls that came and went did.
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
                let told = [0, 1].map(|side| i128::from(callee["calls"][side].as_i64().unwrap()));
                let is_true = told == calls && calls.contains(&0) && calls != [0, 0];
                score.say(is_true, || format!("{name}: {why}, in truth {calls:?}"));
            }
            return;
        }
        let calls = [self.old.calls_of(was), self.new.calls_of(name)];
        let told = [0, 1].map(|side| i128::from(why["calls"][side].as_i64().unwrap_or(-1)));
        let parts = ["by_calls", "by_cost_per_call"].map(|part| why[part].as_i64().unwrap_or(0));
        let delta = row["delta"]["Ir"].as_i64().unwrap();
        // What a call of a function that nobody touched costs is no reason.
        let is_possible = why["cause"] == "calls" || self.is_touched(name);
        let is_true = calls == told && parts[0] + parts[1] == delta && is_possible;
        score.say(is_true, || {
            format!("{name}: {why} of {delta}, in truth {calls:?}")
        });
    }

    /// Functions whose own cost for a call may differ by what was changed.
    fn is_touched(&self, name: &str) -> bool {
        let touched: &[&str] = match self.known {
            Known::MoreCalls | Known::OtherInput => &["drive"],
            Known::Dearer | Known::Constant => &["leaf"],
            Known::Inlined | Known::NoLongerInlined => &["step", "helper"],
            Known::Renamed => &["leaf", "twig"],
            Known::Moved => &["leaf", "step"],
            Known::Deleted | Known::Added => &["drive", "audit"],
        };
        touched.contains(&name)
    }

    fn judge_code(&self, row: &Value, score: &mut Score) {
        let Some(told) = row["code"].as_str() else {
            return;
        };
        let name = short_of(row);
        let was = row["was"]["fn"].as_str().map_or(name, short);
        let codes = self.old.code_of(was).zip(self.new.code_of(name));
        let is = codes.map_or("not disassembled", |(old, new)| code_change(old, new));
        score.say(told == is, || {
            format!("{name}: code {told}, by objdump {is}")
        });
    }

    /// A cause has the calls of the profiles, and is at a function that was touched, or called by one, or by its callees.
    fn judge_cause(&self, cause: &Value, score: &mut Score) {
        let name = short_of(cause);
        let told = [0, 1].map(|side| i128::from(cause["calls"][side].as_i64().unwrap()));
        let old = |name| {
            if self.known == Known::Renamed && name == "twig" {
                "leaf"
            } else {
                name
            }
        };
        let is_true = match cause["kind"].as_str().unwrap() {
            "calls" => {
                let to = short(cause["callee"]["fn"].as_str().unwrap());
                let calls = [
                    self.old.calls_between(old(name), old(to)),
                    self.new.calls_between(name, to),
                ];
                calls == told
            }
            "cost-per-call" => self.is_touched(name) || name == "step" || name == "drive",
            _ => told[0] != told[1],
        };
        score.say(is_true, || format!("{name}: {cause}"));
    }

    /// Nothing but `helper` was inlined or no longer is, and into `step`.
    fn judge_inlining(&self, score: &mut Score) {
        let mut is_said = false;
        for row in Pair::of_type(&self.inlined, "diff").filter(|row| self.is_of_program(row)) {
            if row["out_of_line"].is_null() {
                continue;
            }
            let out = |side: usize| row["out_of_line"]["Ir"][side].as_i64().unwrap_or(0);
            let hosts = row["hosts"].as_array().map_or(&[][..], Vec::as_slice);
            let is_true = short_of(row) == "helper"
                && hosts.len() == 1
                && short_of(&hosts[0]) == "step"
                && match self.known {
                    Known::Inlined => out(0) > 0 && out(1) == 0,
                    Known::NoLongerInlined => out(0) == 0 && out(1) > 0,
                    _ => false,
                };
            is_said |= is_true;
            score.say(is_true, || format!("inlining: {row}"));
        }
        if matches!(self.known, Known::Inlined | Known::NoLongerInlined) {
            score.expect(is_said, || "helper's inlining".to_owned());
        }
    }

    /// What has to be said where this is the cause.
    fn judge_silence(&self, score: &mut Score) {
        let cause = |row: &str| {
            self.row(row)
                .map_or(&Value::Null, |row| &row["why"]["cause"])
        };
        let has_cause = |kind: &str, name: &str, callee: &str| {
            let first = Pair::of_type(&self.rows, "cause").next();
            first.is_some_and(|cause| {
                let to = cause["callee"]["fn"].as_str().map_or("", short);
                cause["kind"] == kind && short_of(cause) == name && to == callee
            })
        };
        let status = |row: &str| self.row(row).map_or(&Value::Null, |row| &row["status"]);
        let code = |row: &str| self.row(row).map_or(&Value::Null, |row| &row["code"]);
        let mut expect = |is_said, what: &str| score.expect(is_said, || what.to_owned());
        match self.known {
            Known::MoreCalls | Known::OtherInput => {
                expect(cause("step") == "calls", "step is called more often");
                expect(cause("leaf") == "calls", "leaf is called more often");
                expect(code("leaf") == "same", "leaf has the same code");
                expect(
                    has_cause("calls", "drive", "step"),
                    "drive calls step more often",
                );
            }
            Known::Dearer | Known::Constant => {
                expect(cause("leaf") == "cost_per_call", "leaf costs more a call");
                expect(!code("leaf").is_null(), "what became of leaf's code");
                expect(
                    has_cause("cost-per-call", "leaf", ""),
                    "leaf costs more a call, first",
                );
            }
            Known::Inlined | Known::NoLongerInlined => {
                expect(cause("step") == "callees", "step's calls of helper");
            }
            Known::Renamed => {
                expect(status("twig") == "renamed", "twig was leaf");
                expect(code("twig") == "same", "twig has leaf's code");
            }
            Known::Moved => expect(
                !["added", "removed"]
                    .iter()
                    .any(|gone| status("leaf") == *gone),
                "leaf is in another file",
            ),
            Known::Deleted | Known::Added => {
                expect(cause("drive") == "callees", "drive's calls of audit");
                expect(
                    has_cause("calls", "drive", "audit"),
                    "drive's calls of audit, first",
                );
            }
        }
    }
}

#[test]
fn sentences_on_pairs_with_a_known_cause_are_true_and_causes_add_up() {
    needs!("gcc", "g++", "valgrind");
    let languages = [
        ProgramLanguage::C,
        ProgramLanguage::Cpp,
        ProgramLanguage::Rust,
    ];
    // By default each cause once, in changing languages and builds.
    let stride = needs::size(1, 7);
    let mut score = Score::default();
    let mut pairs = 0;
    let all = languages
        .iter()
        .flat_map(|language| BUILDS.iter().map(move |build| (*language, *build)))
        .flat_map(|(language, build)| KNOWN.map(|known| (language, build, known)));
    for (language, build, known) in all.step_by(stride) {
        let folder = tempfile::tempdir().unwrap();
        let [old_version, new_version] = known.versions();
        let old_folder = folder.path().join("old");
        let old = MadeProgram::of(old_version, language, build, &old_folder);
        let new = match old_version.is_same_program(new_version) {
            true => MadeProgram::run(new_version, &old_folder, folder.path().join("again")),
            false => MadeProgram::of(new_version, language, build, &folder.path().join("new")),
        };
        let before = (score.untrue.len(), score.silent.len(), score.inexact.len());
        Pair::of(known, old, new).judge(&mut score);
        pairs += 1;
        let lists = [&mut score.untrue, &mut score.silent, &mut score.inexact];
        for (list, before) in lists.into_iter().zip([before.0, before.1, before.2]) {
            for said in &mut list[before..] {
                *said = format!("{known:?} in {language:?}, {}: {said}", build.c);
            }
        }
    }
    println!(
        "{pairs} pairs: {} sentences, {} untrue; {} that had to be said, {} were not; {} sums, {} inexact",
        score.sentences,
        score.untrue.len(),
        score.expected,
        score.silent.len(),
        score.sums,
        score.inexact.len()
    );
    let lists = [&score.untrue, &score.silent, &score.inexact];
    let all = lists.map(|list| list.join("\n")).join("\n");
    assert!(
        score.untrue.len() * 100 <= score.sentences,
        "untrue:\n{all}"
    );
    assert!(score.silent.len() * 10 <= score.expected, "silent:\n{all}");
    assert!(score.inexact.is_empty(), "inexact:\n{all}");
    assert!(score.sentences >= 4 * pairs, "{score:?}");
    println!("{all}");
}
