//! What users of other programs type by habit, and what to write instead.

use cg_stream::tool::Spellings;

/// The habits that this tool knows.
pub(crate) const SPELLINGS: Spellings = &[
    // Where to begin.
    (&["help"], "--help"),
    (&["version"], "--version"),
    (
        &["report", "show", "table", "view", "top", "list"],
        "cg-fmt FILE",
    ),
    (&["annotate", "source"], "--source"),
    (&["flamegraph", "flame", "folded"], "-f flamegraph"),
    (&["diff"], "cg-diff OLD NEW | cg-fmt"),
    (&["tree", "callgraph"], "--tree both"),
    (
        &["csv", "json", "html", "markdown"],
        "-f csv, -f json, -f html, -f markdown",
    ),
    (
        &["-i", "--input", "--in", "--file", "--profile"],
        "cg-fmt FILE: inputs are named without an option",
    ),
    (
        &["-v", "--verbose"],
        "nothing: all remarks are made; -q silences them",
    ),
    (&["--silent", "--no-warnings"], "-q"),
    // How many rows.
    (&["-N"], "-n N"),
    (
        &[
            "--limit",
            "--head",
            "-l",
            "--rows",
            "--max",
            "--max-rows",
            "--nodecount",
            "-nodecount",
            "--count",
            "--lines",
            "-m",
            "-k",
            "-top",
            "--first",
        ],
        "-n N",
    ),
    (&["-a", "--all", "--full-list"], "-n all"),
    (&["--tail"], "-n N --reverse"),
    (
        &["--summary", "--total", "--totals", "--stat", "--stats"],
        "-n 0",
    ),
    // In which order.
    (
        &[
            "-s",
            "-S",
            "--sort-by",
            "--order",
            "--order-by",
            "--key",
            "--by-cost",
        ],
        "--sort COLUMN",
    ),
    (&["-r", "--ascending", "--asc", "--reversed"], "--reverse"),
    (
        &["--descending", "--desc", "--sort-desc"],
        "--sort COLUMN, which puts the largest first",
    ),
    (
        &[
            "--inclusive",
            "--incl",
            "--cum",
            "-cum",
            "--cumulative",
            "--children",
            "--total-time",
        ],
        "--sort incl",
    ),
    (
        &["--exclusive", "--self", "-flat", "--flat", "--no-children"],
        "--sort self",
    ),
    (&["--calls"], "--sort calls"),
    // Which columns.
    (
        &[
            "--cols", "-c", "-C", "--column", "--fields", "-F", "--field", "--select", "--keep",
        ],
        "--columns COLUMNS",
    ),
    (
        &[
            "--show",
            "-e",
            "--metric",
            "--metrics",
            "--sample_index",
            "-sample_index",
            "--counter",
            "--counters",
        ],
        "--events EVENTS",
    ),
    (
        &["--show-percs", "--percent", "--percentages", "--pct", "-p"],
        "--columns EVENT,EVENT%,fn",
    ),
    (&["--percentage", "--relative"], "--percent-of shown"),
    (
        &["--ratio", "--derive", "--formula"],
        "--columns 'IPC=instructions/cycles,fn'",
    ),
    (
        &[
            "--no-header",
            "--no-headers",
            "--headerless",
            "-H",
            "--headerless-csv-output",
        ],
        "-f csv and | tail -n +2 behind cg-fmt",
    ),
    // Summed by what.
    (
        &[
            "-g",
            "--group",
            "--groupby",
            "--by-what",
            "--aggregate",
            "--agg",
        ],
        "--group-by WHAT",
    ),
    (
        &[
            "--dso",
            "--dsos",
            "--by-dso",
            "--lib",
            "--library",
            "--by-lib",
            "--by-library",
            "--binary",
            "--object",
            "--objects",
        ],
        "--group-by obj",
    ),
    (&["--files", "--by-files", "-files"], "--group-by file"),
    (&["--crates", "--package", "--packages"], "--group-by crate"),
    (
        &["--modules", "--namespace", "--namespaces"],
        "--group-by module",
    ),
    (
        &[
            "--functions",
            "-functions",
            "--symbol",
            "--symbols",
            "--fn",
            "--by-symbol",
        ],
        "--group-by fn; cg-filter REGEX keeps functions by name",
    ),
    (
        &["--threads", "--per-thread", "--tid", "--tids", "--by-tid"],
        "--group-by thread",
    ),
    (
        &[
            "--processes",
            "--per-process",
            "--pid",
            "--pids",
            "--comm",
            "--by-pid",
            "--by-comm",
        ],
        "--group-by process",
    ),
    (
        &["--tree=crate", "--tree=file"],
        "--group-by WHAT; --tree has callers, callees and both",
    ),
    // Views.
    (
        &[
            "--callgraph",
            "--call-graph",
            "--calltree",
            "--call-tree",
            "-G",
            "-tree",
        ],
        "--tree both",
    ),
    (
        &[
            "--caller",
            "--inverted",
            "--bottom-up",
            "--invert",
            "--who-calls",
        ],
        "--tree callers",
    ),
    (&["--callee", "--calling", "--top-down"], "--tree callees"),
    (
        &[
            "--annotate",
            "--auto",
            "-list",
            "--list",
            "--src",
            "--line-by-line",
            "-A",
        ],
        "--source",
    ),
    (
        &[
            "--include",
            "-I",
            "--source-dir",
            "--srcdir",
            "--source-path",
            "-source_path",
        ],
        "--source=DIR",
    ),
    (
        &["-B", "--after-context", "--before-context", "-U"],
        "--context N with --source",
    ),
    (&["--line"], "--type line"),
    (&["--inlines", "--inlined", "--show-inlines"], "--inline"),
    (
        &["--symfs", "--debug-dir"],
        "--debug-root DIR with --inline",
    ),
    (
        &[
            "--percent-limit",
            "--min-percent",
            "--cutoff",
            "-nodefraction",
            "--nodefraction",
        ],
        "--threshold PERCENT for trees and pictures, or cg-filter --min-percent EVENT=P before cg-fmt",
    ),
    (
        &["--no-fold", "--full-stacks", "--full-stack"],
        "--all-frames",
    ),
    // Which records: that is cg-filter's.
    (
        &[
            "--filter",
            "--grep",
            "--match",
            "--only",
            "--symbol-filter",
            "--regex",
            "--function",
            "--include-fn",
        ],
        "cg-filter REGEX before cg-fmt",
    ),
    (
        &["--focus", "-focus", "--parent"],
        "cg-filter --frame REGEX before cg-fmt",
    ),
    (
        &[
            "--ignore",
            "-ignore",
            "--hide",
            "-hide",
            "--exclude",
            "--skip",
        ],
        "cg-filter -v REGEX before cg-fmt",
    ),
    (&["--min"], "cg-filter --min EVENT=N before cg-fmt"),
    (
        &[
            "--base",
            "-base",
            "--diff_base",
            "-diff_base",
            "--baseline",
            "--compare",
            "--old",
            "--new",
        ],
        "cg-diff OLD NEW | cg-fmt",
    ),
    // Formats.
    (&["-j", "-json"], "-f json"),
    (
        &[
            "-t", "--text", "-text", "--txt", "--stdio", "--plain", "--ascii",
        ],
        "-f table",
    ),
    (
        &[
            "--fmt",
            "--to",
            "-O",
            "--output-format",
            "--out-format",
            "--type-of-output",
            "-T",
        ],
        "-f FORMAT",
    ),
    (
        &["--out", "--output-file", "--outfile", "--save", "--write"],
        "-o FILE",
    ),
    (
        &[
            "--flame",
            "--flame-graph",
            "-flame",
            "--flames",
            "--fg",
            "-svg",
        ],
        "-f flamegraph -o FILE.svg",
    ),
    (
        &[
            "--web",
            "-web",
            "--browser",
            "--open",
            "--gui",
            "-http",
            "--http",
            "--page",
        ],
        "-f html -o FILE.html, and open that",
    ),
    (
        &["--png", "-png", "--pdf", "-pdf", "--gif", "--image"],
        "-f flamegraph, or -f dot and | dot -Tpng behind cg-fmt",
    ),
    (&["-dot", "--graph", "--graphviz"], "-f dot"),
    (&["--proto", "-proto", "--pb"], "-f pprof"),
    (
        &["--collapsed", "--collapse", "--stacks-folded"],
        "-f folded",
    ),
    (
        &["--chrome", "--perfetto", "--trace"],
        "-f speedscope, which Perfetto reads too",
    ),
    (&["--kcachegrind"], "-f callgrind"),
    (
        &["--xlsx", "--xls", "--spreadsheet", "--ods"],
        "--excel -o FILE.csv",
    ),
    (&["--yaml", "--xml", "--parquet"], "-f json"),
    (
        &[
            "-d",
            "--delimiter",
            "--separator",
            "--sep",
            "-D",
            "--ofs",
            "--fs",
        ],
        "-f csv or -f tsv",
    ),
    (
        &["--raw", "-b", "--bytes", "--no-commas"],
        "-f csv, which has bare numbers",
    ),
    (
        &["--human", "--human-readable"],
        "nothing: tables have thousands separators",
    ),
    (
        &[
            "--format=text",
            "--format=txt",
            "--format=plain",
            "--format=ascii",
            "--format=pretty",
            "--format=pprint",
            "--format=xtab",
        ],
        "-f table",
    ),
    (
        &[
            "--format=yaml",
            "--format=xml",
            "--format=ndjson",
            "--format=parquet",
        ],
        "-f json",
    ),
    (
        &[
            "--format=xlsx",
            "--format=xls",
            "--format=excel",
            "--format=ods",
        ],
        "--excel -o FILE.csv",
    ),
    (
        &["--format=png", "--format=pdf", "--format=jpg"],
        "-f flamegraph, or -f dot and | dot -Tpng behind cg-fmt",
    ),
    (
        &["--format=flame", "--format=flames", "--format=fg"],
        "-f flamegraph",
    ),
    (&["--format=collapsed", "--format=collapse"], "-f folded"),
    (
        &["--format=proto", "--format=pb", "--format=pb.gz"],
        "-f pprof",
    ),
    (
        &["--format=chrome", "--format=perfetto", "--format=trace"],
        "-f speedscope, which Perfetto reads too",
    ),
    (&["--format=kcachegrind", "--format=kcg"], "-f callgrind"),
    (
        &["--format=graphviz", "--format=gv", "--format=graph"],
        "-f dot",
    ),
    (
        &["--format=web", "--format=page", "--format=htm"],
        "-f html",
    ),
    (&["--format=peek", "--format=list"], "--source"),
    (
        &[
            "--group-by=dso",
            "--group-by=library",
            "--group-by=lib",
            "--group-by=binary",
        ],
        "--group-by obj",
    ),
    (
        &["--group-by=package", "--group-by=pkg"],
        "--group-by crate",
    ),
    (
        &["--group-by=symbol", "--group-by=sym", "--group-by=name"],
        "--group-by fn",
    ),
    (&["--group-by=tid"], "--group-by thread"),
    (&["--group-by=pid", "--group-by=comm"], "--group-by process"),
    (&["--group-by=line"], "--type line"),
    (&["--by=object"], "--group-by obj"),
    (&["--type=function", "--type=functions"], "--type fn"),
    (&["--type=lines"], "--type line"),
    (&["--type=calls"], "--type call"),
    (&["--type=leaks"], "--type leak"),
    (&["--type=errors"], "--type error"),
    (
        &["--type=stacks", "--type=sample", "--type=samples"],
        "--type stack",
    ),
    (
        &["-o .png", "-o .pdf", "-o .jpg", "-o .jpeg", "-o .gif"],
        "-o FILE.svg, or -f dot and | dot -Tpng behind cg-fmt",
    ),
    (&["-o .xlsx", "-o .xls", "-o .ods"], "--excel -o FILE.csv"),
    (&["-o .yaml", "-o .yml", "-o .parquet"], "-o FILE.jsonl"),
    // How it looks.
    (&["-w", "--x", "--cols-wide"], "--width COLUMNS"),
    (
        &[
            "--wide",
            "--no-truncate",
            "--no-trunc",
            "--full",
            "--full-names",
            "--no-wrap",
        ],
        "--width 0",
    ),
    (
        &["--no-color", "--no-colour", "--monochrome", "-M"],
        "--color never",
    ),
    (&["--colour", "--colors", "--coloured"], "--color WHEN"),
    (
        &["--demangle", "--no-demangle"],
        "cg-parse --no-demangle before cg-fmt; names are demangled otherwise",
    ),
    (&["--snapshot", "--detailed"], "--tree snapshot=N"),
    (
        &["--title", "--name"],
        "nothing: the heading is that of the profile",
    ),
    (
        &["--merge", "--sum", "--combine"],
        "cg-fmt FILE FILE: several inputs are added up",
    ),
];
