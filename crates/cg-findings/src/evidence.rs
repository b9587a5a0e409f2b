//! What the log of a process tells of its leaks: which kinds Memcheck looked for and showed, and by what that is known.
//!
//! A kind is certain where a summary counts it. XML before protocol 6 (Valgrind 3.26) has none; of that Valgrind's options,
//! which XML repeats, tell what it was to show, if all of them that bear on it are understood. Nothing else is evidence.

use std::fmt;
use std::str::FromStr;

use cg_stream::record::{LeakKind, RunRecord, Tool};

/// A set of leak kinds, as `--errors-for-leak-kinds` and `match-leak-kinds` have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeakKinds([bool; 4]);

impl LeakKinds {
    /// Every kind.
    pub const ALL: LeakKinds = LeakKinds([true; 4]);
    /// Valgrind's default for what is shown and for what is an error.
    pub const DEFAULT: LeakKinds = LeakKinds([true, false, true, false]);

    /// Puts a kind into the set, or takes it out.
    pub fn set(&mut self, kind: LeakKind, is_in: bool) {
        self.0[kind as usize] = is_in;
    }

    /// All sets there are.
    pub fn every() -> impl Iterator<Item = LeakKinds> {
        (0..1u8 << LeakKind::ALL.len())
            .map(|bits| LeakKinds(LeakKind::ALL.map(|kind| bits & (1 << kind as u8) != 0)))
    }

    /// Whether a kind is in the set.
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

/// Why a text is no set of leak kinds.
#[derive(Debug, thiserror::Error)]
#[error("expected all, none or some of definite,indirect,possible,reachable, found \"{0}\"")]
pub struct NoLeakKinds(String);

impl FromStr for LeakKinds {
    type Err = NoLeakKinds;

    fn from_str(text: &str) -> Result<LeakKinds, NoLeakKinds> {
        let mut kinds = LeakKinds::default();
        match text {
            "all" => return Ok(LeakKinds::ALL),
            "none" => return Ok(kinds),
            _ => {}
        }
        for word in text.split(',') {
            let kind =
                LeakKind::from_word(word.trim()).ok_or_else(|| NoLeakKinds(word.to_owned()))?;
            kinds.0[kind as usize] = true;
        }
        Ok(kinds)
    }
}

/// What is known of one leak kind in one process; the greatest is the least known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// All that is lost is in the loss records or in the summary.
    Certain,
    /// Valgrind may have left out loss records, and there is no summary.
    NotShown,
    /// Leaks were not searched for: the tool has no leak check, or it was switched off.
    NotMeasured,
}

impl Coverage {
    /// All of them, in the order of their numbers.
    pub const ALL: [Coverage; 3] = [Coverage::Certain, Coverage::NotShown, Coverage::NotMeasured];

    /// What a run tells of a leak kind; `is_whole` where all its records are there.
    pub fn of(run: &RunRecord, is_whole: bool, kind: LeakKind) -> Coverage {
        if !may_have_leaks(run) {
            return Coverage::NotMeasured;
        }
        let facts = &run.process;
        if run.tool.as_ref().is_some_and(Tool::is_sanitizer) {
            // LeakSanitizer takes pointers into the middle of a block for pointers to it, and does not report what is
            // reachable.
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
        // Without a leak check the heap is summed up all the same.
        if facts.heap_summary.is_some() || facts.exec {
            return Coverage::NotMeasured;
        }
        let options = LeakOptions::of(run);
        match options.doubt {
            Some(LeakDoubt::SwitchedOff) => Coverage::NotMeasured,
            None if is_whole && options.shown.contains(kind) => Coverage::Certain,
            _ => Coverage::NotShown,
        }
    }

    /// The words of reports.
    pub fn words(self) -> &'static str {
        match self {
            Coverage::Certain => "certain",
            Coverage::NotShown => "not shown",
            Coverage::NotMeasured => "not measured",
        }
    }
}

/// Whether the tool of a run looks for leaks at all, as far as is known.
pub fn may_have_leaks(run: &RunRecord) -> bool {
    run.tool.as_ref().is_none_or(Tool::looks_for_leaks)
}

/// What Memcheck's own options asked for. The last one of several counts, as in Valgrind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakOptions {
    /// `--show-leak-kinds`, with the older options for single kinds.
    pub shown: LeakKinds,
    /// `--errors-for-leak-kinds`, where it was given.
    pub counted: Option<LeakKinds>,
    /// Why what is shown cannot be told by the options.
    pub doubt: Option<LeakDoubt>,
}

/// Why Valgrind's options do not tell which leaks are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeakDoubt {
    /// There are none: a log of text says them only with `-v`, and a part may have been cut out of a document.
    NotTold,
    /// `--leak-check=no`. In XML Valgrind makes a full check all the same (3.19), which is nothing to rely on.
    SwitchedOff,
    /// `--xtree-leak=yes` writes them to another file.
    Elsewhere,
    /// This option is about leaks or errors, and no Valgrind up to 3.27 has it.
    Unknown(String),
}

impl LeakOptions {
    /// What the options of a run say.
    pub fn of(run: &RunRecord) -> LeakOptions {
        let mut asked = LeakOptions {
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
                // With XML a summary is a full check: it has nowhere to stand (mc_main.c, mc_post_clo_init).
                ("leak-check", value) => is_off = !matches!(value, "full" | "yes" | "summary"),
                ("xtree-leak", value) => is_elsewhere = value != "no",
                ("show-leak-kinds", kinds) => {
                    // A value that Valgrind would have refused is taken to show nothing.
                    asked.shown = kinds.parse().unwrap_or_default();
                }
                ("errors-for-leak-kinds", kinds) => asked.counted = kinds.parse().ok(),
                ("show-reachable", "yes") => asked.shown = LeakKinds::ALL,
                ("show-reachable", "no") => asked.shown.set(LeakKind::Reachable, false),
                ("show-possibly-lost", value) => {
                    asked.shown.set(LeakKind::Possible, value == "yes");
                }
                _ if is_unknown(name) => {
                    asked.doubt = Some(LeakDoubt::Unknown(option.clone()));
                }
                _ => {}
            }
        }
        if is_off {
            asked.doubt = Some(LeakDoubt::SwitchedOff);
        } else if is_elsewhere {
            asked.doubt = Some(LeakDoubt::Elsewhere);
        } else if !is_xml {
            asked.doubt = asked.doubt.or(Some(LeakDoubt::NotTold));
        }
        asked
    }
}

/// Name and value of an option, without its dashes; the value is empty where there is none. `--TOOL:option`, as .valgrindrc
/// and VALGRIND_OPTS take it, is an option of that tool alone: `None` for another one's (`m_main.c`,
/// `main_process_cmd_line_options`).
pub(super) fn name_and_value<'a>(
    option: &'a str,
    tool: Option<&str>,
) -> Option<(&'a str, &'a str)> {
    let option = option.trim_start_matches('-');
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    match name.split_once(':') {
        None => Some((name, value)),
        // Whose option it is cannot be told without the tool.
        Some((of, name)) => tool.is_none_or(|tool| tool == of).then_some((name, value)),
    }
}

/// Whether an option of this name is about leaks or errors, and none that is known. All others show what they show without
/// hiding any of these.
fn is_unknown(name: &str) -> bool {
    /// What words begin with that are about leaks, errors, and whether they are told.
    const ABOUT: [&str; 12] = [
        "leak", "lost", "loss", "lose", "reach", "possib", "definite", "indirect", "kind", "xtree",
        "error", "suppress",
    ];
    /// The options with such words of Valgrind 3.14 to 3.27, its core's and those of Memcheck, Helgrind and DRD, of which
    /// none hides what is judged but those that [`LeakOptions::of`] reads.
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

    fn options_of(tool: &str, options: &str) -> LeakOptions {
        let mut run = RunRecord {
            tool: Some(Tool::from(tool)),
            ..RunRecord::default()
        };
        let options = options.split_whitespace().map(str::to_owned);
        run.process.options = options.collect();
        LeakOptions::of(&run)
    }

    #[test]
    fn options_are_read_as_memcheck_reads_them() {
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
            // A program's own words are not among them.
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
                options_of("memcheck", options).shown.to_string(),
                shown,
                "{options}"
            );
        }
    }

    #[test]
    fn what_counts_is_known_where_it_was_given() {
        let counted = |option: &str| options_of("memcheck", option).counted;
        assert_eq!(counted("--errors-for-leak-kinds=all"), Some(LeakKinds::ALL));
        assert_eq!(counted("--leak-check=full"), None);
    }

    #[test]
    fn options_tell_what_is_shown_only_where_they_are_understood() {
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
            ("", Some(LeakDoubt::NotTold)),
            ("--leak-check=full", Some(LeakDoubt::NotTold)),
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
            assert_eq!(options_of("memcheck", options).doubt, doubt, "{options}");
        }
    }

    /// All that Valgrind 3.19 lists, and what other versions have besides.
    #[test]
    fn no_option_of_valgrinds_is_unknown() {
        const LATER: &str = "--modify-fds=high --show-realloc-size-zero=no --realloc-zero-bytes-frees=yes \
            --scheduling-quantum=9 --enable-debuginfod=no --xtree-compress-strings=yes --max-threads=9 \
            --show-emwarns=yes --track-fds=bad --cache-size=1";
        const OF_3_19: &str = "--quiet --verbose -q -v -s --trace-children=yes --trace-children-skip=a \
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
        for option in OF_3_19.split_whitespace().chain(LATER.split_whitespace()) {
            let options = format!("--xml=yes {option}");
            assert_eq!(options_of("memcheck", &options).doubt, None, "{option}");
        }
    }

    #[test]
    fn leak_kinds_read_as_valgrind_reads_them() {
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
