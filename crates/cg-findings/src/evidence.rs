//! The evidence for leaks in the log of a process: the leak kinds that Memcheck searched for and printed.
//!
//! A kind is certain if a summary counts it. XML before protocol 6 (Valgrind 3.26) has no summary, but contains Valgrind's
//! options. These show which kinds Valgrind printed, if all options about leaks are known. There is no other evidence.

use std::fmt;
use std::str::FromStr;

use cg_stream::record::{LeakKind, RunRecord, Tool};

/// A set of leak kinds, as in `--errors-for-leak-kinds` and `match-leak-kinds`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeakKinds([bool; 4]);

impl LeakKinds {
    /// Every kind.
    pub const ALL: LeakKinds = LeakKinds([true; 4]);
    /// Valgrind's default for `--show-leak-kinds` and `--errors-for-leak-kinds`.
    pub const DEFAULT: LeakKinds = LeakKinds([true, false, true, false]);

    /// Adds a kind to the set, or removes it.
    pub fn set(&mut self, kind: LeakKind, is_in: bool) {
        self.0[kind as usize] = is_in;
    }

    /// Returns all possible sets.
    pub fn every() -> impl Iterator<Item = LeakKinds> {
        (0..1u8 << LeakKind::ALL.len())
            .map(|bits| LeakKinds(LeakKind::ALL.map(|kind| bits & (1 << kind as u8) != 0)))
    }

    /// Returns true if the set contains a kind.
    pub fn contains(self, kind: LeakKind) -> bool {
        self.0[kind as usize]
    }
}

impl fmt::Display for LeakKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == LeakKinds::ALL {
            return f.write_str("all");
        }
        let words: Vec<&str> = LeakKind::ALL
            .into_iter()
            .filter(|kind| self.contains(*kind))
            .map(LeakKind::word)
            .collect();
        match words.as_slice() {
            [] => f.write_str("none"),
            words => f.write_str(&words.join(",")),
        }
    }
}

/// The error for a text that is not a set of leak kinds.
#[derive(Debug, thiserror::Error)]
#[error("expected all, none or some of definite,indirect,possible,reachable, found \"{0}\"")]
pub struct InvalidLeakKinds(String);

impl FromStr for LeakKinds {
    type Err = InvalidLeakKinds;

    fn from_str(text: &str) -> Result<LeakKinds, InvalidLeakKinds> {
        let mut kinds = LeakKinds::default();
        match text {
            "all" => return Ok(LeakKinds::ALL),
            "none" => return Ok(kinds),
            _ => {}
        }
        for word in text.split(',') {
            let kind = LeakKind::from_word(word.trim())
                .ok_or_else(|| InvalidLeakKinds(word.to_owned()))?;
            kinds.0[kind as usize] = true;
        }
        Ok(kinds)
    }
}

/// How far a log covers one leak kind in one process, in the order of less and less coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// All leaks of the kind are in the loss records or in the summary.
    Certain,
    /// Valgrind may have omitted loss records, and there is no summary.
    NotShown,
    /// There was no search for leaks: the tool has no leak check, or the check was disabled.
    NotMeasured,
}

impl Coverage {
    /// All values, in their order.
    pub const ALL: [Coverage; 3] = [Coverage::Certain, Coverage::NotShown, Coverage::NotMeasured];

    /// Returns the coverage of a leak kind in a run. `is_whole` must be true only if all records of the run were read.
    pub fn from_run(run: &RunRecord, is_whole: bool, kind: LeakKind) -> Coverage {
        if !may_have_leaks(run) {
            return Coverage::NotMeasured;
        }
        let facts = &run.process;
        if run.tool.as_ref().is_some_and(Tool::is_sanitizer) {
            // LeakSanitizer treats pointers into the middle of a block like pointers to its start, and does not report
            // reachable blocks.
            return match kind {
                LeakKind::Definite | LeakKind::Indirect if facts.leak_summary.is_some() => {
                    Coverage::Certain
                }
                _ => Coverage::NotMeasured,
            };
        }
        let is_empty = facts
            .heap_summary
            .is_some_and(|heap| heap.in_use_blocks == 0);
        if facts.all_heap_blocks_freed || is_empty || facts.leak_summary.is_some() {
            return Coverage::Certain;
        }
        // There is a HEAP SUMMARY even without a leak check.
        if facts.heap_summary.is_some() || facts.exec {
            return Coverage::NotMeasured;
        }
        let options = LeakOptions::from_run(run);
        match options.doubt {
            Some(LeakDoubt::SwitchedOff) => Coverage::NotMeasured,
            None if is_whole && options.shown.contains(kind) => Coverage::Certain,
            _ => Coverage::NotShown,
        }
    }

    /// Returns the words for reports.
    pub fn words(self) -> &'static str {
        match self {
            Coverage::Certain => "certain",
            Coverage::NotShown => "not shown",
            Coverage::NotMeasured => "not measured",
        }
    }
}

/// Returns true if the tool of a run may search for leaks. An unknown tool may.
pub fn may_have_leaks(run: &RunRecord) -> bool {
    run.tool.as_ref().is_none_or(Tool::looks_for_leaks)
}

/// Memcheck's options about leaks. If an option is repeated, the last one counts, as in Valgrind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakOptions {
    /// `--show-leak-kinds`, including the older options for single kinds.
    pub shown: LeakKinds,
    /// `--errors-for-leak-kinds`; `None` if the option is missing.
    pub counted: Option<LeakKinds>,
    /// The reason why the options do not determine the printed kinds.
    pub doubt: Option<LeakDoubt>,
}

/// A reason why Valgrind's options do not determine the printed leak kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeakDoubt {
    /// The log does not contain the options: a text log has them only with `-v`, and a document may lack a part.
    OptionsNotLogged,
    /// `--leak-check=no`. In XML, Valgrind 3.19 makes a full check anyway, but other versions may not.
    SwitchedOff,
    /// `--xtree-leak=yes` writes the leaks to another file.
    Elsewhere,
    /// This option is about leaks or errors, and no Valgrind up to 3.27 has it.
    Unknown(String),
}

impl LeakOptions {
    /// Reads the options of a run.
    pub fn from_run(run: &RunRecord) -> LeakOptions {
        let mut found = LeakOptions {
            shown: LeakKinds::DEFAULT,
            counted: None,
            doubt: None,
        };
        let (mut is_xml, mut is_off, mut is_elsewhere) = (false, false, false);
        for option in &run.process.options {
            let Some((name, value)) = name_and_value(option, run.tool.as_deref()) else {
                continue;
            };
            match (name, value) {
                ("xml", value) => is_xml = value == "yes",
                // In XML, `summary` means a full check, because XML has no place for a summary (mc_main.c,
                // mc_post_clo_init).
                ("leak-check", value) => is_off = !matches!(value, "full" | "yes" | "summary"),
                ("xtree-leak", value) => is_elsewhere = value != "no",
                ("show-leak-kinds", kinds) => {
                    // Valgrind refuses an invalid value, so assume that nothing is printed.
                    found.shown = kinds.parse().unwrap_or_default();
                }
                ("errors-for-leak-kinds", kinds) => found.counted = kinds.parse().ok(),
                ("show-reachable", "yes") => found.shown = LeakKinds::ALL,
                ("show-reachable", "no") => found.shown.set(LeakKind::Reachable, false),
                ("show-possibly-lost", value) => {
                    found.shown.set(LeakKind::Possible, value == "yes");
                }
                _ if is_unknown(name) => {
                    found.doubt = Some(LeakDoubt::Unknown(option.clone()));
                }
                _ => {}
            }
        }
        if is_off {
            found.doubt = Some(LeakDoubt::SwitchedOff);
        } else if is_elsewhere {
            found.doubt = Some(LeakDoubt::Elsewhere);
        } else if !is_xml {
            found.doubt = found.doubt.or(Some(LeakDoubt::OptionsNotLogged));
        }
        found
    }
}

/// Returns the name and the value of an option, without dashes; the value may be empty. `--TOOL:option`, allowed in
/// .valgrindrc and VALGRIND_OPTS, applies only to that tool: returns `None` for an option of another tool (`m_main.c`,
/// `main_process_cmd_line_options`).
pub(super) fn name_and_value<'a>(
    option: &'a str,
    tool: Option<&str>,
) -> Option<(&'a str, &'a str)> {
    let option = option.trim_start_matches('-');
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    match name.split_once(':') {
        None => Some((name, value)),
        // If the tool of the run is unknown, the option may apply.
        Some((prefix, name)) => tool
            .is_none_or(|tool| tool == prefix)
            .then_some((name, value)),
    }
}

/// Returns true if an option with this name seems to be about leaks or errors and is not a known one. Other options do not
/// hide leaks or errors.
fn is_unknown(name: &str) -> bool {
    /// The beginnings of words about leaks and errors.
    const ABOUT: [&str; 12] = [
        "leak", "lost", "loss", "lose", "reach", "possib", "definite", "indirect", "kind", "xtree",
        "error", "suppress",
    ];
    /// The options with such words in the core, Memcheck, Helgrind and DRD of Valgrind 3.14 to 3.27, except the options in
    /// [`LeakOptions`]. None of these hides leaks or errors.
    const KNOWN: [&str; 16] = [
        "leak-check-heuristics",
        "leak-resolution",
        "xtree-leak-file",
        "xtree-memory",
        "xtree-memory-file",
        "xtree-compress-strings",
        "error-exitcode",
        "error-limit",
        "error-markers",
        "exit-on-first-error",
        "show-error-list",
        "undef-value-errors",
        "vgdb-error",
        "suppressions",
        "default-suppressions",
        "gen-suppressions",
    ];
    let mut words = name.split('-');
    words.any(|word| ABOUT.iter().any(|about| word.starts_with(about))) && !KNOWN.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_options(tool: &str, options: &str) -> LeakOptions {
        let mut run = RunRecord {
            tool: Some(Tool::from(tool)),
            ..RunRecord::default()
        };
        let options = options.split_whitespace().map(str::to_owned);
        run.process.options = options.collect();
        LeakOptions::from_run(&run)
    }

    #[test]
    fn options_have_the_same_meaning_as_in_memcheck() {
        for (options, shown) in [
            ("", "definite,possible"),
            ("--show-leak-kinds=all", "all"),
            ("--show-leak-kinds=none", "none"),
            ("--show-leak-kinds=definite", "definite"),
            (
                "--show-leak-kinds=definite --show-possibly-lost=yes",
                "definite,possible",
            ),
            (
                "--show-reachable=yes --show-possibly-lost=no",
                "definite,indirect,reachable",
            ),
            ("--show-possibly-lost=no --show-reachable=yes", "all"),
            ("--show-reachable=no", "definite,possible"),
            (
                "--show-leak-kinds=all --show-reachable=no",
                "definite,indirect,possible",
            ),
            // Words of the program's command line are not options.
            ("--leak-check=full -q ./x", "definite,possible"),
            ("--memcheck:show-leak-kinds=none", "none"),
            (
                "--memcheck:show-leak-kinds=none --show-leak-kinds=all",
                "all",
            ),
            ("--helgrind:show-leak-kinds=none", "definite,possible"),
            (
                "--xml-user-comment=--memcheck:show-leak-kinds=none",
                "definite,possible",
            ),
        ] {
            assert_eq!(
                parse_options("memcheck", options).shown.to_string(),
                shown,
                "{options}"
            );
        }
    }

    #[test]
    fn counted_kinds_are_known_only_if_the_option_is_present() {
        let counted = |option: &str| parse_options("memcheck", option).counted;
        assert_eq!(counted("--errors-for-leak-kinds=all"), Some(LeakKinds::ALL));
        assert_eq!(counted("--leak-check=full"), None);
    }

    #[test]
    fn unknown_options_about_leaks_or_errors_are_doubts() {
        let unknown = |option: &str| Some(LeakDoubt::Unknown(option.to_owned()));
        for (options, doubt) in [
            ("--xml=yes", None),
            ("--xml=yes --leak-check=full", None),
            ("--xml=yes --leak-check=yes", None),
            ("--xml=yes --leak-check=summary", None),
            ("--xml=yes --leak-check=no", Some(LeakDoubt::SwitchedOff)),
            (
                "--xml=yes --memcheck:leak-check=no",
                Some(LeakDoubt::SwitchedOff),
            ),
            ("--xml=yes --leak-check=no --leak-check=full", None),
            ("--xml=yes --leak-check=later", Some(LeakDoubt::SwitchedOff)),
            ("--xml=yes --xtree-leak=yes", Some(LeakDoubt::Elsewhere)),
            ("--xml=yes --xtree-leak=yes --xtree-leak=no", None),
            ("--xml=yes --xtree-leak-file=a.kcg", None),
            ("", Some(LeakDoubt::OptionsNotLogged)),
            ("--leak-check=full", Some(LeakDoubt::OptionsNotLogged)),
            ("--xml=yes --leak-scan=off", unknown("--leak-scan=off")),
            (
                "--xml=yes --memcheck:leak-scan=off",
                unknown("--memcheck:leak-scan=off"),
            ),
            ("--xml=yes --drd:leak-scan=off", None),
            ("--xml=yes --hide-errors", unknown("--hide-errors")),
            ("--xml=yes --show-kinds=none", unknown("--show-kinds=none")),
            ("--xml=yes --colours=no --frobnicate -x", None),
        ] {
            assert_eq!(parse_options("memcheck", options).doubt, doubt, "{options}");
        }
    }

    /// Checks all options of Valgrind 3.19, and further ones of other versions.
    #[test]
    fn all_options_of_valgrind_are_known() {
        const LATER: &str = "--modify-fds=high --show-realloc-size-zero=no --realloc-zero-bytes-frees=yes \
            --scheduling-quantum=9 --enable-debuginfod=no --xtree-compress-strings=yes --max-threads=9 \
            --show-emwarns=yes --track-fds=bad --cache-size=1";
        const VERSION_3_19: &str = "--quiet --verbose -q -v -s --trace-children=yes --trace-children-skip=a \
            --trace-children-skip-by-arg=a --child-silent-after-fork=yes --vgdb=no --vgdb-error=1 --vgdb-stop-at=exit \
            --track-fds=all --time-stamp=yes --log-fd=2 --log-file=a --log-socket=a --xml-fd=1 --xml-file=a \
            --xml-socket=a --xml-user-comment=leak-error --demangle=no --num-callers=50 --error-limit=no \
            --exit-on-first-error=no --error-exitcode=9 --error-markers=a,b --show-error-list=yes \
            --keep-debuginfo=yes --show-below-main=yes --default-suppressions=no --suppressions=a \
            --gen-suppressions=all --input-fd=0 --dsymutil=no --max-stackframe=1 --main-stacksize=1 --alignment=16 \
            --redzone-size=16 --xtree-memory=full --xtree-memory-file=a --fullpath-after= --extra-debuginfo-path=a \
            --debuginfo-server=a --allow-mismatched-debuginfo=yes --smc-check=all --read-inline-info=yes \
            --read-var-info=yes --vgdb-poll=1 --vgdb-shadow-registers=no --vgdb-prefix=a --run-libc-freeres=no \
            --run-cxx-freeres=no --sim-hints=none --fair-sched=yes --kernel-variant=none --merge-recursive-frames=1 \
            --num-transtab-sectors=1 --avg-transtab-entry-size=1 --aspace-minaddr=0x1 --valgrind-stacksize=1 \
            --require-text-symbol=a --soname-synonyms=a --sigill-diagnostics=no --unw-stack-scan-thresh=1 \
            --unw-stack-scan-frames=1 --resync-filter=no --leak-resolution=low --leak-check-heuristics=all \
            --xtree-leak-file=a --undef-value-errors=no --track-origins=yes --partial-loads-ok=no \
            --expensive-definedness-checks=no --freelist-vol=1 --freelist-big-blocks=1 --workaround-gcc296-bugs=yes \
            --ignore-ranges=a --ignore-range-below-sp=a --malloc-fill=a --free-fill=a --keep-stacktraces=none \
            --show-mismatched-frees=no --stats=yes --sanity-level=1 --trace-flags=0 --trace-syscalls=yes \
            --trace-malloc=yes --progress-interval=1 --command-line-only=yes --free-is-write=yes --track-lockorders=no \
            --history-level=none --delta-stacktrace=no --conflict-cache-size=1 --check-stack-refs=no \
            --ignore-thread-creation=yes --cmp-race-err-addrs=no --hg-sanity-flags=0 --vts-pruning=never \
            --check-stack-var=yes --exclusive-threshold=1 --first-race-only=yes --join-list-vol=1 \
            --report-signal-unlocked=no --segment-merging=no --shared-threshold=1 --show-confl-seg=no \
            --show-stack-usage=yes --trace-alloc=yes --trace-mutex=yes --vex-iropt-level=1";
        let options = VERSION_3_19.split_whitespace();
        for option in options.chain(LATER.split_whitespace()) {
            let options = format!("--xml=yes {option}");
            assert_eq!(parse_options("memcheck", &options).doubt, None, "{option}");
        }
    }

    #[test]
    fn leak_kinds_are_parsed_as_in_valgrind() {
        let kinds = |text: &str| text.parse::<LeakKinds>();
        assert_eq!(kinds("all").unwrap(), LeakKinds::ALL);
        assert_eq!(kinds("none").unwrap(), LeakKinds::default());
        let two = kinds("definite,possible").unwrap();
        assert!(two.contains(LeakKind::Definite) && two.contains(LeakKind::Possible));
        assert!(!two.contains(LeakKind::Indirect) && !two.contains(LeakKind::Reachable));
        assert!(kinds("definite,lost").is_err());
        assert!(kinds("").is_err());
    }
}
