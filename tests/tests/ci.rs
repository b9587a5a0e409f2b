//! Tests of `examples/ci`. Only limits decide the verdict, regardless of errors of the code host. Each job posts one
//! comment. The tools are not built unnecessarily.
//!
//! The tests run the unmodified scripts. `tests/ci` has stand-ins for `gh`, `curl`, `cargo` and Valgrind that fail like the
//! real programs.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use needs::needs;
use serde_json::{Value, json};
use tests::{data, tools, transcript, workspace};

/// A machine of a code host: a folder with a workspace, a home folder and the data of the stand-ins.
struct Machine {
    folder: tempfile::TempDir,
}

/// The output and the exit status of a job.
#[derive(Debug)]
struct Ended {
    status: i32,
    stdout: String,
    stderr: String,
}

const GITHUB: &[(&str, &str)] = &[
    ("GITHUB_ACTIONS", "true"),
    ("GITHUB_EVENT_NAME", "pull_request"),
    ("GITHUB_EVENT_PATH", "../event.json"),
    ("GITHUB_JOB", "profile"),
    ("GITHUB_REPOSITORY", "me/repo"),
    ("GITHUB_STEP_SUMMARY", "../summary"),
    ("GITHUB_WORKFLOW", "profile"),
];

const COMMITTER: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "me"),
    ("GIT_AUTHOR_EMAIL", "me@example.org"),
    ("GIT_COMMITTER_NAME", "me"),
    ("GIT_COMMITTER_EMAIL", "me@example.org"),
];

const GITLAB: &[(&str, &str)] = &[
    ("CI_API_V4_URL", "https://gitlab.example/api/v4"),
    ("CI_JOB_NAME", "profile"),
    ("CI_MERGE_REQUEST_IID", "7"),
    ("CI_PROJECT_ID", "3"),
    ("COMMENT_TOKEN", "secret"),
    ("GITLAB_CI", "true"),
];

impl Machine {
    fn new() -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for folder in ["work", "home", "temporary"] {
            fs::create_dir(machine.path(folder)).unwrap();
        }
        let event = r#"{"pull_request":{"number":7}}"#;
        machine.write("event.json", event);
        machine.write("comments.json", "[]");
        machine.write("answers", "200\n");
        machine.write("calls", "");
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs lines of bash as a step of a job, with only the host's environment.
    fn run(&self, script: &str, environment: &[(&str, &str)]) -> Ended {
        let stubs = workspace().join("tests/ci");
        self.run_with(script, environment, &[&stubs])
    }

    fn run_with(&self, script: &str, environment: &[(&str, &str)], stubs: &[&Path]) -> Ended {
        let scripts = workspace().join("examples/ci");
        let mut path = Vec::from_iter(stubs.iter().map(|stub| stub.to_path_buf()));
        path.push(scripts);
        path.extend(std::env::split_paths(OsStr::new(&tools::path())));
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("temporary"))
            .env("LC_ALL", "C.UTF-8")
            .env("HOST", self.folder.path())
            .env("PAUSE", "0")
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        let left = fs::read_dir(self.path("temporary")).unwrap().count();
        assert_eq!(left, 0, "{script}: temporary files remain");
        Ended {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a step that must succeed.
    fn done(&self, script: &str, environment: &[(&str, &str)]) -> Ended {
        let ended = self.run(script, environment);
        assert_eq!(ended.status, 0, "{script}: {ended:?}");
        ended
    }

    /// Profiles a program of the stand-in for Valgrind.
    fn profile(&self, commit: &str, bench: &str, program: &str) {
        let script = format!("profile {bench} {program}");
        self.done(&script, &[("COMMIT", commit)]);
    }

    /// Counts the calls of stand-ins that contain these words.
    fn calls(&self, words: &str) -> usize {
        let calls = self.read("calls");
        calls.lines().filter(|call| call.contains(words)).count()
    }

    fn comments(&self) -> Vec<Value> {
        serde_json::from_str(&self.read("comments.json")).unwrap()
    }

    /// Returns the paths of the profiles and of the data about benchmarks.
    fn kept(&self) -> Vec<String> {
        let find = "cd profiles && find . -type f | sed 's,^./,,' | sort";
        let found = self.done(find, &[]).stdout;
        found.lines().map(str::to_owned).collect()
    }
}

#[test]
fn nondeterministic_programs_run_three_times_and_are_detected_once() {
    let machine = Machine::new();
    machine.profile("one", "calm", "steady 1000");
    machine.profile("one", "dice/fast", "random 1000");
    let runs = |commit| (commit, machine.calls("valgrind"));
    assert_eq!(runs("one"), ("one", 2 + 3));
    machine.profile("two", "calm", "steady 1000");
    machine.profile("two", "dice/fast", "random 1000");
    assert_eq!(runs("two"), ("two", 5 + 1 + 3));
    let files_of = |commit: &str| {
        let dice = format!("commit={commit}/bench=dice%2Ffast");
        [
            format!("commit={commit}/bench=calm/profile.jsonl.gz"),
            format!("{dice}/.runs/2.jsonl.gz"),
            format!("{dice}/.runs/3.jsonl.gz"),
            format!("{dice}/profile.jsonl.gz"),
        ]
    };
    let remembered = [".runs/calm", ".runs/dice%2Ffast"].map(str::to_owned);
    let all = Vec::from_iter([&remembered[..], &files_of("one"), &files_of("two")].concat());
    assert_eq!(machine.kept(), all);

    // Profiling a commit again replaces its runs. RUNS sets their number.
    machine.done("RUNS=2 profile dice/fast random 1", &[("COMMIT", "two")]);
    let third = "commit=two/bench=dice%2Ffast/.runs/3.jsonl.gz";
    let fewer = Vec::from_iter(all.into_iter().filter(|path| path != third));
    assert_eq!(machine.kept(), fewer);
    for wrong in ["RUNS=0", "RUNS=many", "KEEP=-1"] {
        let ended = machine.run(
            &format!("{wrong} profile calm steady 1"),
            &[("COMMIT", "x")],
        );
        assert_eq!(ended.status, 2, "{wrong}: {ended:?}");
    }
    // Two runs that cannot be compared are an error.
    let ended = machine.run("profile fickle fickle 1", &[("COMMIT", "one")]);
    assert_eq!(ended.status, 2, "{ended:?}");
    // A program that fails does not change the files.
    let ended = machine.run("RUNS=1 profile calm", &[("COMMIT", "one")]);
    assert_ne!(ended.status, 0, "{ended:?}");
    assert_eq!(machine.kept(), fewer);
}

#[test]
fn cache_keeps_the_most_recently_profiled_commits() {
    let machine = Machine::new();
    for (age, commit) in [(3, "old"), (2, "older than new"), (1, "new")] {
        machine.profile(commit, "words", "steady 10");
        let touch = format!("touch -d '{age} hours ago' 'profiles/commit={commit}'");
        machine.done(&touch, &[]);
    }
    machine.done("KEEP=2 profile words steady 10", &[("COMMIT", "now")]);
    let kept =
        ["commit=new", "commit=now"].map(|commit| format!("{commit}/bench=words/profile.jsonl.gz"));
    assert_eq!(machine.kept()[1..], kept);
}

/// The profiles of a commit: benchmarks and their programs.
type Profiles<'a> = &'a [(&'a str, &'a str)];

/// A name, the old and the new commit, and the limits; then the expected exit status and a part of the report.
type Case<'a> = (&'a str, Profiles<'a>, Profiles<'a>, &'a str, i32, &'a str);

#[test]
fn verdict_depends_only_on_limits_for_benchmarks_of_both_commits() {
    let calm = ("calm", "steady 1000");
    let slow = ("calm", "steady 1100");
    let parse = ("x/parse", "steady 1000 parse");
    let cases: [Case; 14] = [
        (
            "the same",
            &[calm],
            &[calm],
            "'Ir>+1%'",
            0,
            "<!-- cg-diff -->",
        ),
        (
            "worse",
            &[calm],
            &[slow],
            "'Ir>+1%'",
            1,
            "a limit is broken",
        ),
        ("worse, without limits", &[calm], &[slow], "", 0, "+100"),
        (
            "the first run",
            &[],
            &[slow],
            "'Ir>+1%'",
            0,
            "nothing to compare with",
        ),
        (
            "the first run, with a limit on a function",
            &[],
            &[slow],
            "'Ir[work]>+1%'",
            0,
            "nothing to compare with",
        ),
        (
            "a new benchmark",
            &[calm],
            &[calm, parse],
            "'Ir>+1%'",
            0,
            "### new: `x/parse`\n\n|",
        ),
        (
            "only new benchmarks",
            &[calm],
            &[parse],
            "'Ir>+1%'",
            0,
            "### new: `x/parse`",
        ),
        (
            "a new benchmark, and a worse one",
            &[calm],
            &[slow, parse],
            "'Ir>+1%'",
            1,
            "### new: `x/parse`",
        ),
        (
            "a benchmark was removed",
            &[calm, parse],
            &[calm],
            "'Ir>+1%'",
            0,
            "### gone: `x/parse`",
        ),
        ("nothing profiled", &[calm], &[], "'Ir>+1%'", 2, ""),
        (
            "one of two is worse",
            &[parse, calm],
            &[parse, slow],
            "'Ir>+1%'",
            1,
            "| `x/parse` | `Ir` | 1,010 | 1,010 |",
        ),
        (
            "a function in one of two benchmarks",
            &[parse, calm],
            &[parse, slow],
            "'Ir[parse]>+1%'",
            0,
            "within limits",
        ),
        (
            "a function in no benchmark",
            &[parse, calm],
            &[parse, calm],
            "'Ir[nosuch]>+1%'",
            2,
            "could not be judged",
        ),
        (
            "noise",
            &[("dice", "random 1000")],
            &[("dice", "random 1000")],
            "'Ir>+0.01%'",
            0,
            "several files per side (3, 3)",
        ),
    ];
    for (name, old, new, limits, expected, text) in cases {
        let machine = Machine::new();
        for (commit, profiles) in [("old", old), ("new", new)] {
            for (bench, program) in profiles {
                machine.profile(commit, bench, program);
            }
        }
        let script = format!("compare old new {limits}");
        let ended = machine.run(&script, &[]);
        assert_eq!(ended.status, expected, "{name}: {ended:?}");
        assert!(ended.stdout.contains(text), "{name}: {ended:?}");
        let unread = machine.run(&format!("{script} | true"), &[]);
        assert_eq!(unread.status, expected, "{name}, unread: {unread:?}");
        // Comparisons that are not judged are reported. On GitHub, the report is a visible notice.
        let on_github = machine.run(&script, GITHUB).stderr.contains("::notice::");
        let is_reported = ["### new", "### gone", "nothing to"]
            .iter()
            .any(|text| ended.stdout.contains(text));
        assert_eq!(on_github, is_reported, "{name}: {ended:?}");
    }
}

#[test]
fn unreadable_profile_exits_with_2() {
    let machine = Machine::new();
    for (commit, program) in [("old", "steady 1000"), ("new", "steady 1100")] {
        machine.profile(commit, "calm", program);
        machine.profile(commit, "words", "steady 10");
    }
    machine.done(
        "echo nonsense > profiles/commit=old/bench=words/profile.jsonl.gz",
        &[],
    );
    let ended = machine.run("compare old new 'Ir>+1%'", &[]);
    assert_eq!(ended.status, 2, "{ended:?}");
    for text in ["calm (new): Ir", "could not be judged"] {
        assert!(ended.stdout.contains(text), "{ended:?}");
    }
}

#[test]
fn base_is_the_first_parent_of_the_built_commit() {
    needs!("git", "jq");
    let machine = Machine::new();
    let repository = "git init -q -b main ../origin && cd ../origin
        commit() { git commit -q --allow-empty -m \"$1\"; }
        commit one && git checkout -q -b topic && commit two && git checkout -q main && commit three
        git checkout -q -b merge && git merge -q --no-ff -m four topic && git rev-parse main HEAD";
    let shas = machine.done(repository, &COMMITTER).stdout;
    let [main, merge] = Vec::from_iter(shas.lines()).try_into().unwrap();
    // Like actions/checkout: one commit without its parents.
    machine.done(
        "git clone -q --depth 1 -b merge \"file://$HOST/origin\" .",
        &[],
    );
    let gitlab = |target, base| {
        [
            ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", target),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", base),
        ]
    };
    let topic = "0000000000000000000000000000000000000000";
    for (name, head, environment, expected) in [
        ("the merge", topic, GITHUB.into(), main),
        (
            "the request itself, a merge",
            merge,
            GITHUB.into(),
            "base-of-the-event",
        ),
        (
            "merged results",
            topic,
            gitlab("target", "parted").into(),
            "target",
        ),
        (
            "a merge request",
            topic,
            gitlab("", "parted").into(),
            "parted",
        ),
        ("a push", topic, Vec::new(), ""),
    ] {
        let event =
            json!({"pull_request": {"head": {"sha": head}, "base": {"sha": "base-of-the-event"}}});
        machine.write("event.json", &event.to_string());
        let base = machine.done("base", &environment).stdout;
        assert_eq!(base, format!("{expected}\n"), "{name}");
    }
    machine.done(
        "git checkout -q --orphan alone && git commit -q --allow-empty -m alone",
        &COMMITTER,
    );
    assert_eq!(machine.done("base", GITHUB).stdout, "base-of-the-event\n");
    for event in ["{}", r#"{"pull_request":{"head":{"sha":"1"}}}"#] {
        machine.write("event.json", event);
        let ended = machine.run("base", GITHUB);
        assert_ne!(
            ended.status, 0,
            "a missing base must be an error: {ended:?}"
        );
    }
}

/// Posts a report as a comment.
fn comment(machine: &Machine, report: &str, host: &[(&str, &str)]) -> Ended {
    machine.write("work/comment.md", report);
    machine.done("comment comment.md", host)
}

#[test]
fn each_job_has_one_comment_with_the_last_report() {
    needs!("jq");
    for host in [GITHUB, GITLAB] {
        let machine = Machine::new();
        // A long discussion. The host's own user quotes a report, and on GitHub another user's comment begins like a report.
        let on_github = host == GITHUB;
        let name = if on_github {
            "profile/profile"
        } else {
            "profile"
        };
        let talk = |number| {
            let url = format!("https://github.com/me/repo/pull/7#issuecomment-{number}");
            let is_ours = number > 0 || !on_github;
            let quote = if is_ours { "> " } else { "" };
            let body = format!("{quote}<!-- cg-tools: {name} -->\nnice");
            json!({"id": number, "url": url, "viewerDidAuthor": is_ours, "body": body})
        };
        let talk = Value::from_iter((0..150).map(talk));
        machine.write("comments.json", &talk.to_string());
        comment(&machine, "first | report\n", host);
        comment(&machine, "second &+% report\n", host);
        let mut comments = machine.comments();
        assert_eq!(comments.len(), 151);
        let body = comments.pop().unwrap()["body"].take();
        let body = body.as_str().unwrap();
        assert_eq!(
            body,
            format!("<!-- cg-tools: {name} -->\nsecond &+% report\n")
        );
        assert_eq!(Value::Array(comments), talk);
        // Another job has a separate comment.
        machine.done("comment comment.md other", host);
        assert_eq!(machine.comments().len(), 152);
        assert_eq!(machine.read("summary"), "");
    }
}

#[test]
fn comment_that_cannot_be_posted_goes_into_the_summary_without_failing() {
    needs!("jq");
    // The host's answers, the number of calls, and the reason in the output.
    let refused = |host| -> [(&str, usize, &str); 6] {
        if host == GITHUB {
            [
                (
                    "read-only",
                    2,
                    "Resource not accessible by integration (HTTP 403)",
                ),
                ("404", 1, "Could not resolve to a PullRequest"),
                ("502", 3, "HTTP 502"),
                ("200\n502", 4, "HTTP 502"),
                ("rate", 1, "API rate limit already exceeded"),
                ("network", 3, "check your internet connection"),
            ]
        } else {
            [
                (
                    "read-only",
                    2,
                    "curl: (22) The requested URL returned error: 403",
                ),
                ("404", 1, "returned error: 404"),
                ("502", 3, "returned error: 502"),
                ("429", 1, "returned error: 429"),
                ("network", 3, "curl: (6) Could not resolve host"),
                ("timeout", 3, "curl: (28) Operation timed out"),
            ]
        }
    };
    for host in [GITHUB, GITLAB] {
        for (answers, calls, reason) in refused(host) {
            let machine = Machine::new();
            machine.write("answers", &format!("{answers}\n"));
            let ended = comment(&machine, "the report\n", host);
            let name = format!("{answers}: {ended:?}");
            let shown = if host == GITHUB {
                machine.read("summary")
            } else {
                ended.stdout.clone()
            };
            assert!(shown.starts_with("the report\n"), "{name}");
            assert!(ended.stdout.contains(reason), "{name}");
            assert_eq!(
                ended.stdout.contains("::notice::"),
                host == GITHUB,
                "{name}"
            );
            assert_eq!(machine.read("calls").lines().count(), calls, "{name}");
            assert_eq!(machine.comments().len(), 0, "{name}");
        }
    }
    // Without a token or a host, there are no calls.
    let without_token = [GITLAB, &[("COMMENT_TOKEN", "")]].concat();
    for environment in [without_token, Vec::new()] {
        let machine = Machine::new();
        let ended = comment(&machine, "the report\n", &environment);
        assert!(ended.stdout.starts_with("the report\n"), "{ended:?}");
        assert_eq!(machine.read("calls"), "");
    }
    let machine = Machine::new();
    machine.write("event.json", r#"{"ref":"refs/heads/main"}"#);
    let ended = comment(&machine, "the report\n", GITHUB);
    assert!(ended.stdout.contains("not for a pull request"), "{ended:?}");
}

#[test]
fn temporary_host_errors_are_retried() {
    needs!("jq");
    for (host, answers) in [
        (GITHUB, "502\n200\n502\n200\n"),
        (GITHUB, "network\nnetwork\n200\n"),
        (GITLAB, "502\n200\n502\n200\n"),
        (GITLAB, "timeout\nnetwork\n200\n"),
    ] {
        let machine = Machine::new();
        machine.write("answers", answers);
        comment(&machine, "the report\n", host);
        assert_eq!(machine.comments().len(), 1, "{answers}");
        assert_eq!(machine.read("summary"), "", "{answers}");
    }
}

#[test]
fn oversized_report_is_cut_between_lines_and_complete_in_the_summary() {
    needs!("jq");
    let machine = Machine::new();
    let report = "| é | a row of a table |\n".repeat(5_000);
    comment(&machine, &report, GITHUB);
    assert_eq!(machine.read("summary"), report);
    let comments = machine.comments();
    let body = comments[0]["body"].as_str().unwrap();
    assert!((60_000..65_536).contains(&body.len()), "{}", body.len());
    let rows = body.lines().filter(|line| line.starts_with("| "));
    assert!(rows.clone().count() > 2_000);
    assert!(rows.clone().all(|row| row == "| é | a row of a table |"));
    assert!(body.ends_with("has the rest.\n"), "{body}");
}

/// Writes a release like `scripts/release` does. Its programs print "released".
fn release(machine: &Machine, version: &str) {
    let script = format!(
        "mkdir -p ../release/v{version} && cd ../release/v{version}
        name=cg-tools-{version}-$(uname -m)-unknown-linux-gnu
        mkdir -p $name/bin
        for tool in cg-parse cg-filter cg-diff cg-fmt leak-check; do
            printf '#!/bin/sh\\necho released\\n' > $name/bin/$tool && chmod +x $name/bin/$tool
        done
        tar -czf $name.tar.gz $name && rm -r $name && sha256sum $name.tar.gz > SHA256SUMS"
    );
    machine.done(&script, &[]);
}

/// Writes the sources of a version that the install script needs. Returns the path of the script in the sources.
fn sources(machine: &Machine, version: &str) -> &'static str {
    let install = fs::read(workspace().join("examples/ci/action/install")).unwrap();
    let manifest = format!("[workspace.package]\nversion = \"{version}\"\n");
    machine.write("sources/Cargo.toml", &manifest);
    machine.write("sources/examples/ci/action/install", "");
    let path = machine.path("sources/examples/ci/action/install");
    fs::write(&path, install).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    "../sources/examples/ci/action/install"
}

#[test]
fn tools_are_downloaded_or_built_once_and_then_cached() {
    let job = [
        ("CARGO_PROFILE_RELEASE_LTO", "fat"),
        ("CARGO_PROFILE_RELEASE_DEBUG", "2"),
    ];
    let damage = "echo >> \"$(ls ../release/v1.2.3/*.gz)\"";
    // A name, the requested version, a command that damages the release, and the network's answers; then the expected output
    // of the programs (empty if there are none) and the number of builds.
    for (name, reference, damage, answers, expected, builds) in [
        ("a release", "v1.2.3", "", "200", "released", 0),
        ("a branch", "main", "", "200", "built", 5),
        ("the folder of the action", "", "", "200", "built", 5),
        (
            "a missing release",
            "v1.2.3",
            "rm -r ../release/v1.2.3",
            "200",
            "built",
            5,
        ),
        (
            "a release of other sources",
            "v1.2.4",
            "",
            "200",
            "built",
            5,
        ),
        (
            "a release that was tampered with",
            "v1.2.3",
            damage,
            "200",
            "built",
            5,
        ),
        (
            "a release without checksums",
            "v1.2.3",
            "rm ../release/v1.2.3/SHA256SUMS",
            "200",
            "built",
            5,
        ),
        ("an unavailable host", "v1.2.3", "", "503\n200", "built", 5),
        ("no network", "v1.2.3", "", "network", "", 1),
    ] {
        let machine = Machine::new();
        let install = sources(&machine, "1.2.3");
        release(&machine, "1.2.3");
        release(&machine, "1.2.4");
        machine.done(damage, &[]);
        machine.write("answers", &format!("{answers}\n"));
        let script = format!("PATH=$({install} \"{reference}\"):$PATH && cg-fmt && leak-check");
        let ended = machine.run(&script, &job);
        let printed = if expected.is_empty() {
            String::new()
        } else {
            format!("{expected}\n{expected}\n")
        };
        assert_eq!(
            (ended.status == 0, &ended.stdout),
            (!expected.is_empty(), &printed),
            "{name}: {ended:?}"
        );
        assert_eq!(machine.calls("cargo install"), builds, "{name}: {ended:?}");
        // The job's settings for its own program do not apply to the tools.
        assert_eq!(machine.calls("lto=false debug="), builds, "{name}");
        assert_eq!(machine.calls("debug=2"), 0, "{name}");
        if expected.is_empty() {
            continue;
        }
        // The second time, the tools come from the cache that --key names.
        machine.write("calls", "");
        let key = machine
            .done(&format!("{install} --key \"{reference}\""), &[])
            .stdout;
        assert!(
            machine
                .path("home/.cache/cg-tools")
                .join(key.trim())
                .exists(),
            "{name}: {key}"
        );
        assert_eq!(machine.done(&script, &job).stdout, printed, "{name}");
        assert_eq!(machine.read("calls"), "", "{name}");
        // Programs of another system do not run, so they are built again.
        machine.done(
            "printf '#!/nowhere\\n' > ~/.cache/cg-tools/*/bin/cg-diff",
            &[],
        );
        machine.write("answers", "200\n");
        assert_eq!(machine.done(&script, &job).status, 0, "{name}");
        assert_ne!(machine.read("calls"), "", "{name}");
    }
}

#[test]
fn named_tool_folder_keeps_one_version() {
    let machine = Machine::new();
    for version in ["1.2.3", "1.2.4"] {
        let install = sources(&machine, version);
        release(&machine, version);
        machine.done(&format!("{install} v{version} .cg-tools"), &[]);
    }
    let kept = machine.done("ls .cg-tools", &[]).stdout;
    assert!(
        kept.starts_with("cg-tools-v1.2.4-") && kept.lines().count() == 1,
        "{kept}"
    );
}

#[test]
fn cache_key_depends_on_sources_for_builds_and_version_for_releases() {
    let machine = Machine::new();
    let install = sources(&machine, "1.2.3");
    let keys = || {
        ["main", "", "v1.2.3"].map(|reference| {
            let script = format!("{install} --key '{reference}'");
            machine.done(&script, &[]).stdout
        })
    };
    let before = keys();
    assert_eq!(before[0], before[1]);
    machine.done(
        "mkdir ../sources/target && echo built > ../sources/target/cg-fmt",
        &[],
    );
    assert_eq!(keys(), before);
    machine.done("echo changed > ../sources/main.rs", &[]);
    let after = keys();
    assert_ne!(after[0], before[0]);
    assert_eq!(after[2], before[2]);
}

#[test]
fn action_at_the_root_matches_the_example() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    let example = read("examples/ci/action/action.yml")
        .replace(
            "$GITHUB_ACTION_PATH/install",
            "$GITHUB_ACTION_PATH/examples/ci/action/install",
        )
        .replace(
            "dirname \"$GITHUB_ACTION_PATH\"",
            "echo \"$GITHUB_ACTION_PATH/examples/ci\"",
        );
    assert_eq!(read("action.yml"), example);
}

#[test]
fn scripts_pass_shellcheck() {
    needs!("shellcheck");
    let scripts = [
        "action/install",
        "base",
        "comment",
        "compare",
        "leaks",
        "profile",
        "sanitize",
    ]
    .map(|name| format!("examples/ci/{name}"));
    let output = needs::command("shellcheck")
        .args(scripts)
        .arg("scripts/install")
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn readme_of_examples_names_every_file_and_its_session_runs() {
    let folder = workspace().join("examples/ci");
    let readme = folder.join("README.md");
    transcript::check(&readme, &data(""));
    let text = fs::read_to_string(&readme).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_named = ["`", "/`", " "]
            .iter()
            .any(|end| text.contains(&format!("`{name}{end}")));
        assert!(is_named || name == "README.md", "{name}");
    }
}

/// Returns the last shell block in a job that calls a script.
fn block_that_calls(yaml: &str, script: &str) -> String {
    let lines = Vec::from_iter(yaml.lines());
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut blocks = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.ends_with("run: |") || line.ends_with("- |"))
        .map(|(at, opening)| {
            let deeper = |line: &&&str| indent(line) > indent(opening);
            Vec::from_iter(lines[at + 1..].iter().take_while(deeper).copied()).join("\n")
        });
    blocks.rfind(|block| block.contains(script)).expect(script)
}

/// Runs the unmodified jobs with a real Valgrind.
#[test]
fn jobs_profile_compare_comment_and_fail() {
    needs!("valgrind", "jq");
    let read = |file: &str| fs::read_to_string(workspace().join("examples/ci").join(file)).unwrap();
    let github = block_that_calls(&read("github.yml"), "compare");
    let gitlab = block_that_calls(&read("gitlab.yml"), "compare").replace("$(base)", "$BASE");
    for (block, host) in [(github, GITHUB), (gitlab, GITLAB)] {
        let machine = Machine::new();
        let stubs = tempfile::tempdir().unwrap();
        for name in ["gh", "curl", "answer"] {
            let stub = workspace().join("tests/ci").join(name);
            fs::copy(stub, stubs.path().join(name)).unwrap();
        }
        let run = |script: &str, commit, base| {
            let environment = [host, &[("COMMIT", commit), ("BASE", base)]].concat();
            machine.run_with(script, &environment, &[stubs.path()])
        };
        // Two runs of one program differ by up to 0.1 %, because their environments have other lengths.
        let words = "a ".repeat(400);
        for (commit, text) in [("one", "a"), ("two", &words), ("three", "a")] {
            let ended = run(&format!("profile words /bin/echo {text}"), commit, "");
            assert_eq!(ended.status, 0, "{ended:?}");
        }
        for (commit, base, expected, text) in [
            ("two", "one", 1, "a limit is broken"),
            ("three", "one", 0, "<!-- cg-diff -->"),
            ("two", "none", 0, "no profile of the old commit"),
        ] {
            let ended = run(&block, commit, base);
            assert_eq!(ended.status, expected, "{ended:?}");
            let comments = machine.comments();
            assert_eq!(comments.len(), 1);
            let body = comments[0]["body"].as_str().unwrap();
            assert!(body.contains(text), "{body}");
            // A read-only token does not change the verdict.
            machine.write("answers", "read-only\n");
            assert_eq!(run(&block, commit, base).status, expected);
            machine.write("answers", "200\n");
        }
    }
}
