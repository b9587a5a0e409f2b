//! What users of other programs type by habit, and what to write instead.

use cg_stream::tool::{FILES_OF_VIEWS, Spellings};

/// The habits that this tool knows.
pub(crate) const SPELLINGS: Spellings = &[
    (&["help"], "--help"),
    (&["version"], "--version"),
    (&["parse", "read", "convert", "import"], "cg-parse FILE"),
    (
        &["-i", "--input", "--in", "--file", "--profile"],
        "cg-parse FILE: inputs are named without an option",
    ),
    (
        &["-j", "--json", "--jsonl", "--ndjson"],
        "nothing: the output is JSON lines",
    ),
    (
        &["--pretty", "--indent", "--table", "--text", "-p"],
        "| cg-fmt behind cg-parse, or | jq .",
    ),
    (
        &["--tag", "--meta", "--metadata", "-t", "--env", "-D"],
        "--label KEY=VALUE",
    ),
    (
        &[
            "--format",
            "-f",
            "--input-format",
            "--tool",
            "--kind",
            "-T",
            "--type",
        ],
        "--from FORMAT for the input; cg-fmt -f has output formats",
    ),
    (
        &["-l", "--line-level", "--per-line", "--source", "--by-line"],
        "--lines",
    ),
    (
        &[
            "-c",
            "--arcs",
            "--edges",
            "--call-graph",
            "--callgraph",
            "-g",
            "--graph",
        ],
        "--calls",
    ),
    (
        &[
            "-s",
            "--traces",
            "--callchains",
            "--folded",
            "--collapse",
            "--flamegraph",
        ],
        "--stacks; cg-fmt -f folded or -f flamegraph draws them",
    ),
    (&["--inlines", "--inlined", "--show-inlines"], "--inline"),
    (
        &[
            "--addr",
            "--address",
            "--addresses",
            "--asm",
            "--instructions",
            "--dump-instr",
        ],
        "--instr",
    ),
    (
        &["--no-inline"],
        "nothing: inlined functions are told apart with --inline alone",
    ),
    (&["--all", "-a", "--full"], "--calls --lines"),
    (
        &[
            "--thread",
            "--threads",
            "--per-thread",
            "--separate-threads",
            "--parts",
            "--part",
            "--separate",
        ],
        "--per-part",
    ),
    (
        &["--merge", "--sum", "--add", "--combine", "-m"],
        "nothing: several inputs are added up; --per-part keeps them apart",
    ),
    (&["--peak"], "--snapshots peak"),
    (&["--all-snapshots", "--detailed"], "--snapshots all"),
    (
        &["-C", "--demangle"],
        "nothing: names are demangled; --no-demangle leaves them",
    ),
    (&["--raw-names", "--mangled"], "--no-demangle"),
    (
        &["--normalize", "--canonical", "--stable"],
        "--stable-names",
    ),
    (
        &["--symfs", "--debug-dir", "--debug-path", "--sysroot"],
        "--debug-root DIR",
    ),
    (
        &["--partition", "--partitions", "--hive"],
        "--partition-by KEY,KEY -o DIR",
    ),
    (
        &["-z", "--gzip", "--compress", "--zstd"],
        "| gzip behind cg-parse; packed streams are read as they are",
    ),
    (&["--out", "--output-file", "--save"], "-o FILE"),
    (
        &["-r", "-R", "--recursive"],
        "cg-parse DIR: of a directory the results of benchmarks are read",
    ),
    (
        &["-v", "--verbose"],
        "nothing: all remarks are made; -q silences them",
    ),
    (&["--silent", "--no-warnings"], "-q"),
    (
        &[
            "--csv",
            "--tsv",
            "--html",
            "--markdown",
            "--columns",
            "--fields",
            "--sort",
            "--tree",
            "--top",
            "-n",
            "-N",
            "--limit",
            "--head",
            "--group-by",
            "--width",
            "--events",
            "--event",
        ],
        "| cg-fmt with that option behind cg-parse",
    ),
    (
        &[
            "--filter",
            "--fn",
            "--grep",
            "-e",
            "--regexp",
            "--function",
            "--min",
            "--exclude",
            "--threshold",
        ],
        "| cg-filter with that condition behind cg-parse",
    ),
    (&["--diff", "--compare"], "cg-diff OLD NEW"),
    (
        FILES_OF_VIEWS,
        "| cg-fmt with that option behind cg-parse, which writes streams",
    ),
];
