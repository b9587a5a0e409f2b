//! Laws of the verdict, checked with programs that the real Valgrind runs.

use needs::needs;

use crate::support::Bench;

const POSSIBLE: &str = "#include <stdlib.h>\nchar *k; int main(void) { char *p = malloc(77); k = p + 5; p = 0; return 0; }\n";
const REACHABLE: &str =
    "#include <stdlib.h>\nvoid *k; int main(void) { k = malloc(77); return 0; }\n";

fn programs() -> [Bench; 5] {
    [
        Bench::new("clean.c"),
        Bench::new("leak.c"),
        Bench::new("errors.c"),
        Bench::from_text("poss.c", POSSIBLE),
        Bench::from_text("reach.c", REACHABLE),
    ]
}

const KINDS: [&str; 4] = ["definite,possible", "definite", "all", "none"];

fn verdict(bench: &Bench, file: &str, kinds: &str) -> i32 {
    let kinds = format!("--errors-for-leak-kinds={kinds}");
    let run = bench.leak_check(&[&kinds, file]);
    assert!((0..=2).contains(&run.status), "{}", run.stderr);
    run.status
}

#[test]
fn xml_is_judged_like_its_log_or_more_cautiously() {
    needs!("gcc", "valgrind");
    let mut differ = 0;
    for bench in programs() {
        for options in [
            &[][..],
            &["--leak-check=no"],
            &["--leak-check=summary"],
            &["--show-leak-kinds=definite"],
            &["--show-leak-kinds=all", "--errors-for-leak-kinds=all"],
            &["--show-possibly-lost=no"],
        ] {
            bench.valgrind("out.log", options);
            bench.valgrind("out.xml", options);
            for kinds in KINDS {
                let log = verdict(&bench, "out.log", kinds);
                let xml = verdict(&bench, "out.xml", kinds);
                assert!(
                    xml == log || xml == 2 || (log, xml) == (2, 1),
                    "{options:?} {kinds}: log {log}, XML {xml}"
                );
                differ += u32::from(xml != log);
            }
        }
    }
    assert!(
        differ > 0,
        "XML that hides a kind is undecided, a log is not"
    );
}

#[test]
fn an_option_that_only_shows_more_does_not_reverse_the_verdict() {
    needs!("gcc", "valgrind");
    for bench in programs() {
        for file in ["out.log", "out.xml"] {
            bench.valgrind(file, &[]);
            let before = KINDS.map(|kinds| verdict(&bench, file, kinds));
            for more in [
                &["--show-leak-kinds=all", "-v"][..],
                &["--show-reachable=yes", "--track-origins=yes", "-s"],
                &["--errors-for-leak-kinds=all", "--gen-suppressions=all"],
            ] {
                bench.valgrind(file, more);
                for (kinds, before) in KINDS.into_iter().zip(before) {
                    let after = verdict(&bench, file, kinds);
                    let is_reversed = (before, after) == (0, 1) || (before, after) == (1, 0);
                    assert!(
                        !is_reversed,
                        "{file} {more:?} {kinds}: {before}, then {after}"
                    );
                }
            }
        }
    }
}

#[test]
fn no_prefix_is_clean_unless_the_whole_is() {
    needs!("gcc", "valgrind");
    for bench in [
        Bench::new("clean.c"),
        Bench::from_text("reach.c", REACHABLE),
    ] {
        for (file, options) in [
            ("out.log", &["-v"][..]),
            ("out.xml", &["--show-leak-kinds=all"]),
            ("out.log", &["-s", "--leak-check=no"]),
        ] {
            bench.valgrind(file, options);
            let whole = bench.read(file);
            let last = whole.trim_end().rfind('\n').unwrap();
            let clean = verdict(&bench, file, "all") == 0;
            // Each prefix needs a run of leak-check, so test only some line ends.
            let lines: Vec<usize> = whole.match_indices('\n').map(|(end, _)| end).collect();
            let step = lines.len().div_ceil(40);
            for end in lines.into_iter().step_by(step) {
                bench.write("cut", &whole[..end]);
                if end < last || !clean {
                    let status = verdict(&bench, "cut", "all");
                    assert_ne!(status, 0, "the first {end} bytes of {file} {options:?}");
                }
            }
        }
    }
}
