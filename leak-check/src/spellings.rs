//! What users of other programs type by habit, and what to write instead.

use cg_stream::tool::Spellings;

/// The habits that this tool knows.
pub(crate) const SPELLINGS: Spellings = &[
    (&["help"], "--help"),
    (&["version"], "--version"),
    (&["check", "report"], "leak-check FILE"),
    (
        &[
            "-i",
            "--input",
            "--in",
            "--log",
            "--log-file",
            "--xml-file",
            "-l",
        ],
        "leak-check FILE: inputs are named without an option",
    ),
    (
        &["-r", "-R", "--recursive", "--dir", "-d"],
        "leak-check DIR: the logs in a directory are judged together",
    ),
    (
        &[
            "--leak-kinds",
            "--show-leak-kinds",
            "--kinds",
            "--kind",
            "-k",
            "--leak-kind",
            "--fail-on",
            "--show-reachable",
            "--show-possibly-lost",
        ],
        "--errors-for-leak-kinds KINDS",
    ),
    (
        &["--definite", "--definite-only", "--only-definite"],
        "--errors-for-leak-kinds definite",
    ),
    (
        &[
            "--all",
            "-a",
            "--all-leaks",
            "--strict",
            "--reachable",
            "--still-reachable",
        ],
        "--errors-for-leak-kinds all",
    ),
    (
        &["--leaks-only", "--only-leaks", "--no-error"],
        "--no-errors",
    ),
    (
        &["--errors-only", "--only-errors", "--no-leaks"],
        "--errors-for-leak-kinds none",
    ),
    (
        &[
            "--error-exitcode",
            "--exit-code",
            "--exitcode",
            "--exit-status",
            "--fail",
            "--error-exit",
        ],
        "nothing: the exit status is 1 where there are findings",
    ),
    (
        &[
            "--no-fail",
            "--exit-zero",
            "--warn-only",
            "--warn",
            "--soft-fail",
            "--allow-failure",
        ],
        "|| [ $? = 1 ] behind leak-check, which lets findings pass and nothing else",
    ),
    (
        &[
            "--gen-suppressions",
            "--suppressions-out",
            "--write-suppression",
            "--print-suppressions",
            "--generate-suppressions",
        ],
        "--write-suppressions",
    ),
    (
        &[
            "--suppression",
            "--supp",
            "-s",
            "--suppress",
            "--suppressions-file",
            "--supps",
        ],
        "--suppressions FILE",
    ),
    (
        &[
            "--filter",
            "--fn",
            "--include",
            "--function",
            "--grep",
            "-e",
            "--regexp",
            "--match",
            "--focus",
            "--path",
        ],
        "--only REGEX",
    ),
    (
        &["--object", "--lib", "--library", "--dso", "--obj"],
        "--only-obj REGEX",
    ),
    (
        &["--exclude", "--skip", "--hide", "--not", "--invert-match"],
        "--ignore REGEX",
    ),
    (
        &["--ignore-from", "--ignores", "--exclude-file"],
        "--ignore-file FILE",
    ),
    (
        &[
            "--known",
            "--base",
            "-b",
            "--allowlist",
            "--whitelist",
            "--accepted",
        ],
        "--baseline FILE",
    ),
    (
        &[
            "--update",
            "-u",
            "--save-baseline",
            "--write-baseline",
            "--create-baseline",
            "--bless",
            "--accept",
        ],
        "--baseline FILE --update-baseline",
    ),
    (
        &["--diff", "--compare"],
        "cg-diff OLD NEW, or --baseline FILE",
    ),
    (
        &[
            "--max-leaks",
            "--max",
            "--limit",
            "--max-leaked",
            "--threshold",
            "--min-bytes",
            "--tolerance",
        ],
        "--max-bytes N",
    ),
    (&["--max-count", "--max-findings", "-m"], "--max-blocks N"),
    (&["--growth"], "--max-growth N|P% with --baseline"),
    (
        &["--processes", "--expected", "--min-processes"],
        "--expect N",
    ),
    (
        &[
            "--leak-check",
            "--track-origins",
            "--num-callers",
            "--xml",
            "--tool",
            "--trace-children",
            "--track-fds",
        ],
        "nothing: that is an option of valgrind itself, whose log is read here",
    ),
    (
        &[
            "-v",
            "--verbose",
            "--full",
            "--full-stacks",
            "--backtrace",
            "--stacks",
            "--stack",
        ],
        "--all-frames",
    ),
    (&["--silent", "--no-warnings", "--brief"], "-q"),
    (&["-j"], "-f json"),
    (&["--ci", "--annotations", "--github-actions"], "-f github"),
    (&["--codequality", "--code-quality"], "-f gitlab"),
    (
        &[
            "--xunit",
            "--format=xunit",
            "--format=xml",
            "--format=junit-xml",
            "--format=junitxml",
        ],
        "-f junit",
    ),
    (
        &[
            "--plain",
            "--stdio",
            "-t",
            "--format=txt",
            "--format=plain",
            "--format=table",
            "--format=human",
        ],
        "-f text",
    ),
    (
        &["--md", "--comment", "--format=md", "--format=comment"],
        "-f markdown",
    ),
    (&["--page", "--web", "--format=htm"], "-f html"),
    (&["--format=jsonl", "--format=ndjson"], "-f json"),
    (
        &["--fmt", "--output-format", "--report", "-F", "-T"],
        "-f FORMAT",
    ),
    (
        &[
            "--csv",
            "--tsv",
            "--format=csv",
            "--format=tsv",
            "--columns",
            "--sort",
            "--top",
            "-n",
            "-N",
            "--group-by",
            "--tree",
        ],
        "| cg-fmt with that option behind cg-parse, which lists findings",
    ),
    (
        &["-c", "--count", "--summary", "--stat", "--totals"],
        "| tail -n 1 behind leak-check, which ends in the verdict",
    ),
    (
        &[
            "--out",
            "--output-file",
            "--report-file",
            "--save",
            "--out-file",
        ],
        "-o FILE",
    ),
    (&["--no-color", "--no-colour"], "--color never"),
    (&["--colour"], "--color WHEN"),
    (
        &[
            "--source-root",
            "--src",
            "--srcdir",
            "--strip",
            "--strip-prefix",
            "--fullpath-after",
        ],
        "--root DIR",
    ),
    (
        &["--no-default", "--no-builtin", "--no-std"],
        "--no-default-suppressions",
    ),
    (
        &["--allow-empty", "--allow-missing", "--partial"],
        "--allow-fragment",
    ),
    (
        &["-o .csv", "-o .tsv", "-o .xlsx", "-o .svg"],
        "| cg-fmt with that option behind cg-parse, which lists findings",
    ),
];
