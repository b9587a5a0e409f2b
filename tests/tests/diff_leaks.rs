//! Comparisons of leaks that Valgrind counted and did not print.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::Path;

use needs::needs;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::tools;

/// Compares two logs. Returns the exit status and standard error.
fn judge(home: &Path, conditions: &str, [old, new]: [&str; 2]) -> (i32, String) {
    let [old, new] = [old, new].map(|name| home.join(name).to_str().unwrap().to_owned());
    let mut args: Vec<&str> = conditions.split_whitespace().collect();
    args.extend([old.as_str(), new.as_str()]);
    let run = tools::run("cg-diff", &args, b"");
    (run.status, run.stderr)
}

/// Runs a program that loses 100 bytes and one without leaks, with every kind of log.
fn logs() -> TempDir {
    let home = TempDir::new().unwrap();
    let leak = "#include <stdlib.h>\nvoid *make(int n) { return malloc(n); }\nint main(void) { volatile char *p = make(100); p[0] = 1; p = 0; p = make(1); free((void *)p); return 0; }\n";
    fs::write(home.path().join("leak.c"), leak).unwrap();
    fs::write(
        home.path().join("clean.c"),
        leak.replace("p = 0;", "free((void *)p);"),
    )
    .unwrap();
    let script = "gcc -g -O0 -o leak leak.c; gcc -g -O0 -o clean clean.c
        for program in leak clean; do
            log() { valgrind ${@:2} --log-file=$program.$1 ./$program; }
            xml() { valgrind ${@:2} --leak-check=full --xml=yes --xml-file=$program.$1 ./$program; }
            log full --leak-check=full; log summary --leak-check=summary; log no --leak-check=no; log quiet -q --leak-check=full
            log reachable --leak-check=full --show-leak-kinds=reachable
            xml xml; xml hidden.xml --memcheck:show-leak-kinds=none; xml tree.xml --xtree-leak=yes --xtree-leak-file=tree
        done 2>/dev/null";
    let status = needs::command("bash")
        .args(["-ec", script])
        .current_dir(home.path())
        .status();
    assert!(status.unwrap().success());
    home
}

#[test]
fn leaks_without_loss_records_are_judged_or_undecided() {
    needs!("gcc", "valgrind");
    let home = logs();
    // The statuses for a limit on all bytes and for --exit-code, then the same with the sides swapped.
    for (old, new, expected) in [
        ("clean.full", "leak.full", [1, 1, 0, 1]),
        ("clean.summary", "leak.summary", [1, 1, 0, 1]),
        ("clean.full", "leak.summary", [1, 1, 0, 1]),
        ("clean.full", "leak.reachable", [1, 1, 0, 1]),
        ("clean.xml", "leak.summary", [1, 1, 0, 1]),
        ("clean.xml", "leak.xml", [1, 1, 0, 1]),
        ("leak.summary", "leak.summary", [0; 4]),
        // The same leak, printed and not printed.
        ("leak.full", "leak.summary", [0; 4]),
        ("clean.full", "clean.summary", [0; 4]),
        // No leak check. It is not needed if no memory was in use at exit.
        ("clean.full", "leak.no", [2; 4]),
        ("clean.full", "clean.no", [0; 4]),
        ("leak.no", "leak.no", [2, 0, 2, 0]),
        ("clean.full", "leak.hidden.xml", [2; 4]),
        ("leak.xml", "leak.hidden.xml", [2; 4]),
        ("leak.hidden.xml", "leak.hidden.xml", [2; 4]),
        ("clean.xml", "leak.tree.xml", [2; 4]),
        ("clean.full", "leak.quiet", [2; 4]),
    ] {
        let found = [
            judge(home.path(), "--fail-if=bytes>+0", [old, new]),
            judge(home.path(), "--exit-code", [old, new]),
            judge(home.path(), "--fail-if=bytes>+0", [new, old]),
            judge(home.path(), "--exit-code", [new, old]),
        ];
        let statuses = [0, 1, 2, 3].map(|at| found[at].0);
        assert_eq!(statuses, expected, "{old} {new}: {found:?}");
    }
    let status =
        |conditions: &str, old: &str, new: &str| judge(home.path(), conditions, [old, new]).0;
    // Leaks that were not printed can belong to any function. They do not affect comparisons of errors.
    assert_eq!(
        status("--fail-if=bytes[make]>+0", "clean.full", "leak.full"),
        1
    );
    assert_eq!(
        status("--fail-if=bytes[make]>+0", "clean.full", "leak.summary"),
        2
    );
    assert_eq!(
        status("--fail-if=bytes[.]>+0", "clean.full", "leak.summary"),
        1
    );
    assert_eq!(
        status("--by=fn --fail-if=bytes>+0", "clean.full", "leak.summary"),
        1
    );
    assert_eq!(status("--fail-if=count>+0", "clean.full", "leak.no"), 0);
    assert_eq!(
        status("--type=error --exit-code", "clean.full", "leak.hidden.xml"),
        0
    );
    assert_eq!(
        status(
            "--allow-fragment --fail-if=bytes>+0",
            "clean.full",
            "leak.quiet"
        ),
        1
    );
}

#[test]
fn rows_of_unprinted_leaks_add_up_to_the_totals_in_both_directions() {
    needs!("gcc", "valgrind");
    let home = logs();
    let compare = |old: &str, new: &str| -> Vec<Value> {
        let [old, new] = [old, new].map(|name| home.path().join(name).to_str().unwrap().to_owned());
        let run = tools::run("cg-diff", &[&old, &new], b"");
        run.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    for (old, new, sign) in [
        ("clean.full", "leak.summary", 1),
        ("leak.summary", "clean.full", -1),
    ] {
        let records = compare(old, new);
        let totals = &records[0]["total"]["bytes"];
        assert_eq!(
            totals[1].as_i64().unwrap() - totals[0].as_i64().unwrap(),
            sign * 100
        );
        let rows: Vec<&Value> = records
            .iter()
            .filter(|record| record["type"] == "diff")
            .collect();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["fn"], "[not printed]");
        assert_eq!(
            (&rows[0]["kind"], &rows[0]["delta"]),
            (
                &json!("definite"),
                &json!({"bytes": sign * 100, "blocks": sign})
            )
        );
    }
    // A filter keeps the summary, so the removed leaks count as not printed.
    let log = home.path().join("leak.full");
    let none = tools::run("cg-filter", &["nosuch", log.to_str().unwrap()], b"");
    fs::write(home.path().join("filtered"), &none.stdout).unwrap();
    assert_eq!(
        judge(home.path(), "--fail-if=bytes>+0", ["filtered", "filtered"]).0,
        2
    );
}
