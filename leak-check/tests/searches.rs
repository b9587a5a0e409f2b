//! Leak searches before the end of a process count as in Valgrind's own exit status.

use needs::needs;

use crate::support::Bench;

/// Runs the steps of `STEPS`: `h` holds a block, `U` hides or shows its pointer, `f` frees it, `l` loses a block, and `F`
/// searches for leaks.
const STEPS: &str = "#include <stdint.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>
static volatile uintptr_t held;
__attribute__((noinline)) static void hold(void) { held = (uintptr_t)malloc(20); }
__attribute__((noinline)) static void lose(void) { void *volatile lost = malloc(10); lost = 0; }
int main(void) {
    for (const char *step = STEPS; *step; step++) {
        if (*step == 'h') hold();
        if (*step == 'U') held = ~held;
        if (*step == 'f') free((void *)held);
        if (*step == 'l') lose();
        if (*step == 'F') VALGRIND_DO_LEAK_CHECK;
    }
    return 0;
}
";

#[test]
fn leaks_of_every_search_count_as_in_valgrinds_exit_status() {
    needs!("gcc", "valgrind");
    let bench = Bench::from_text("steps.c", &STEPS.replace("STEPS;", "\"\";"));
    for (steps, last_search) in [
        ("hUFU", 0),
        ("hUFUf", 0),
        ("hFf", 0),
        ("hUF", 1),
        ("lFl", 1),
        ("lFhUFUf", 1),
        ("h", 0),
    ] {
        bench.compile("steps.c", STEPS, &[&format!("-DSTEPS=\"{steps}\"")]);
        let mut found = Vec::new();
        for file in ["out.log", "out.xml"] {
            let counted = i32::from(bench.valgrind(file, &[]) == 99);
            let run = bench.leak_check(&[file]);
            assert_eq!(
                run.status, counted,
                "{steps} {file}: {}{}",
                run.stdout, run.stderr
            );
            let run = bench.leak_check(&["--last-search", file]);
            assert_eq!(run.status, last_search, "{steps} {file}: {}", run.stdout);
            let run = bench.leak_check(&["--format=json", file]);
            let leaks = run.records(&["leak"]);
            let leaks = leaks.iter().filter(|leak| leak["status"] == "new");
            let fields = leaks.map(|leak| {
                (
                    leak["fn"].clone(),
                    leak["kind"].clone(),
                    leak["cost"].clone(),
                )
            });
            found.push(fields.collect::<Vec<_>>());
        }
        assert_eq!(found[0], found[1], "{steps}");
        // Text and XML have one baseline.
        for (known, judged) in [
            ("out.log", "out.xml"),
            ("out.xml", "out.log"),
            ("out.log", "out.log"),
        ] {
            bench.leak_check(&["--baseline=known.jsonl", "--update-baseline", known]);
            let run = bench.leak_check(&["--baseline=known.jsonl", judged]);
            assert_eq!(run.status, 0, "{steps} {judged}: {}", run.stdout);
        }
    }
}
