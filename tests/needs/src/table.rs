//! The table of capabilities that tests need on their machine.

/// Something that a test may need.
#[derive(Debug)]
pub struct Capability {
    /// The name, for [`needs!`](crate::needs).
    pub name: &'static str,
    /// The use that the tests make of it.
    pub purpose: &'static str,
    /// A bash script that exits with 0 if the capability works.
    pub probe: &'static str,
    /// The packages to install. Its own requirements are earlier in the table.
    pub install: Install,
    /// Its commands. If a broken one precedes a working one in the path, the working one gets a launcher.
    pub commands: &'static [&'static str],
}

/// The installer of a capability, with the packages' names. Versions are pinned if the source offers several.
#[derive(Debug)]
pub enum Install {
    /// Packages of Debian and its derivatives, for the whole machine.
    Debian(&'static [&'static str]),
    /// Python packages, into a virtual environment in the build folder.
    Python(&'static [&'static str]),
    /// Node packages, into a folder in the build folder.
    Node(&'static [&'static str]),
    /// A crate with its options, into the build folder.
    Cargo(&'static [&'static str]),
}

use Install::{Cargo, Debian, Node, Python};

/// All capabilities. Each depends only on earlier ones.
///
/// Probes do what the tests do: a compiler compiles, a browser shows a page, Valgrind runs a program.
pub const CAPABILITIES: &[Capability] = &[
    Capability {
        name: "gcc",
        purpose: "compiles programs to profile",
        probe: "echo '#include <stdlib.h>\nint main(void) { return 0; }' | gcc -g -x c -o /dev/null - && objcopy --version && nm --version",
        install: Debian(&["gcc", "libc6-dev", "binutils"]),
        commands: &["gcc", "objcopy", "nm"],
    },
    Capability {
        name: "g++",
        purpose: "compiles programs in C++",
        probe: "echo '#include <vector>\nint main() { return std::vector<int>().size(); }' | g++ -g -x c++ -o /dev/null -",
        install: Debian(&["g++"]),
        commands: &["g++"],
    },
    Capability {
        name: "clang",
        purpose: "compiles programs with another compiler's debug information",
        probe: "echo 'int main(void) { return 0; }' | clang -g -x c -o /dev/null -",
        install: Debian(&["clang"]),
        commands: &["clang"],
    },
    Capability {
        name: "dwp",
        purpose: "packs split debug information",
        probe: "dwp --version",
        install: Debian(&["binutils-gold"]),
        commands: &["dwp"],
    },
    Capability {
        name: "dwz",
        purpose: "puts debug information of two files into a third, as distributions do",
        probe: "dwz --version",
        install: Debian(&["dwz"]),
        commands: &["dwz"],
    },
    Capability {
        name: "llvm-symbolizer",
        purpose: "names inlined functions by another reader of debug information",
        probe: "llvm-symbolizer --version",
        install: Debian(&["llvm"]),
        commands: &["llvm-symbolizer"],
    },
    // 3.19 is the oldest version that the tests have run with. The probe runs a program, because Debian's Valgrind needs
    // symbols of the C library for that.
    Capability {
        name: "valgrind",
        purpose: "writes the profiles and logs for comparison with other reports",
        probe: "version=$(valgrind --version) && [ \"$(printf '%s\\n' valgrind-3.19 \"$version\" | sort -V | head -n 1)\" = valgrind-3.19 ] &&
            valgrind -q /bin/true && valgrind -q --tool=dhat --dhat-out-file=/dev/null /bin/true",
        install: Debian(&["valgrind", "libc6-dbg"]),
        commands: &["valgrind", "vgdb", "callgrind_control"],
    },
    Capability {
        name: "annotate",
        purpose: "Valgrind's own reports, which the tools' figures are compared with",
        // The reports must have Valgrind's version. The Perl scripts print their version and fail.
        probe: "version=$(valgrind --version) && for report in callgrind_annotate cg_annotate ms_print; do
            $report --version 2>&1 | grep -q \"^$report-${version#valgrind-}\" || exit; done",
        install: Debian(&["valgrind", "libc6-dbg", "perl", "python3"]),
        commands: &["callgrind_annotate", "cg_annotate", "ms_print"],
    },
    Capability {
        name: "libc-debug",
        purpose: "debug information of the C library, found by its build id",
        probe: "id=$(LC_ALL=C readelf -n \"$(ldd /bin/true | grep -o '/[^ ]*/libc\\.so[^ ]*')\" | sed -n 's/.*Build ID: //p') &&
            [ -n \"$id\" ] && [ -e \"/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug\" ]",
        install: Debian(&["libc6-dbg"]),
        commands: &[],
    },
    Capability {
        name: "perf",
        purpose: "records and prints samples",
        probe: "perf --version",
        install: Debian(&["linux-perf"]),
        commands: &["perf"],
    },
    Capability {
        name: "heaptrack",
        purpose: "records heaps and prints what it finds in them",
        probe: "heaptrack --version && heaptrack_print --version",
        install: Debian(&["heaptrack"]),
        commands: &["heaptrack", "heaptrack_print"],
    },
    Capability {
        name: "archives",
        purpose: "packs profiles, and unpacks them with the commands in messages",
        probe: "for packer in xz bzip2 lz4 tar gzip; do $packer --version || exit; done && unzip -v && zip -v",
        install: Debian(&["xz-utils", "bzip2", "lz4", "tar", "gzip", "unzip", "zip"]),
        commands: &["xz", "bzip2", "lz4", "unzip", "zip"],
    },
    Capability {
        name: "dot",
        purpose: "draws the graphs that cg-fmt writes",
        probe: "echo 'digraph { a -> b }' | dot -Tsvg",
        install: Debian(&["graphviz"]),
        commands: &["dot"],
    },
    Capability {
        name: "go",
        purpose: "`go tool pprof` reads what cg-fmt writes",
        probe: "go version && go tool pprof -h 2>&1 | grep -q usage",
        install: Debian(&["golang-go"]),
        commands: &["go"],
    },
    Capability {
        name: "browser",
        purpose: "opens pages in a real Chromium and clicks in them",
        probe: "folder=$(mktemp -d) && trap 'rm -rf \"$folder\"' EXIT &&
            chromium --headless --no-sandbox --disable-gpu --user-data-dir=\"$folder\" --dump-dom 'data:text/html,<p>shown' | grep -q shown",
        install: Debian(&["chromium", "fonts-dejavu-core"]),
        commands: &["chromium"],
    },
    Capability {
        name: "git",
        purpose: "makes repositories for the examples for CI",
        probe: "git --version",
        install: Debian(&["git"]),
        commands: &["git"],
    },
    Capability {
        name: "jq",
        purpose: "finds commits and comments for the examples for CI",
        probe: "jq --version",
        install: Debian(&["jq"]),
        commands: &["jq"],
    },
    Capability {
        name: "shellcheck",
        purpose: "checks the scripts of the examples for CI",
        probe: "printf '#!/bin/sh\\necho\\n' | shellcheck -",
        install: Debian(&["shellcheck"]),
        commands: &["shellcheck"],
    },
    Capability {
        name: "script",
        purpose: "gives a tool a terminal",
        probe: "script -q -c true /dev/null",
        install: Debian(&["bsdutils"]),
        commands: &["script"],
    },
    Capability {
        name: "python",
        purpose: "runs readers and examples in Python, and installs their packages",
        probe: "python3 -c 'import ensurepip, venv'",
        install: Debian(&["python3", "python3-venv"]),
        commands: &["python3"],
    },
    Capability {
        name: "gprof2dot",
        purpose: "reads the callgrind files that cg-fmt writes",
        probe: "gprof2dot --help",
        install: Python(&["gprof2dot==2025.4.14"]),
        commands: &["gprof2dot"],
    },
    Capability {
        name: "pyprof2calltree",
        purpose: "converts a profile of cProfile to Callgrind's format",
        probe: "pyprof2calltree --help",
        install: Python(&["pyprof2calltree==1.4.5"]),
        commands: &["pyprof2calltree"],
    },
    Capability {
        name: "memray",
        purpose: "records the memory of a Python program",
        probe: "memray transform --help",
        install: Python(&["memray==1.20.0"]),
        commands: &["memray"],
    },
    Capability {
        name: "jsonschema",
        purpose: "checks files against speedscope's schema",
        probe: "python3 -c 'import jsonschema'",
        install: Python(&["jsonschema==4.26.0"]),
        commands: &[],
    },
    Capability {
        name: "duckdb",
        purpose: "runs the queries of examples/fleet",
        probe: "python3 -c 'import duckdb; duckdb.connect().execute(\"select 1\").fetchall()'",
        install: Python(&["duckdb==2.0.0"]),
        commands: &[],
    },
    Capability {
        name: "jre",
        purpose: "runs Spark",
        probe: "java -version",
        install: Debian(&["default-jre-headless"]),
        commands: &["java"],
    },
    Capability {
        name: "spark",
        purpose: "runs the queries of examples/fleet",
        probe: "python3 -c 'import pyspark' && java -version",
        install: Python(&["pyspark==4.3.0"]),
        commands: &[],
    },
    Capability {
        name: "npm",
        purpose: "installs Node packages",
        probe: "node --version && npm --version",
        install: Debian(&["npm"]),
        commands: &["node", "npm"],
    },
    Capability {
        name: "typescript",
        purpose: "checks the types in the scripts of pages",
        probe: "tsc --version",
        install: Node(&["typescript@7.0.2"]),
        commands: &["tsc"],
    },
    Capability {
        name: "esbuild",
        purpose: "builds the scripts that pages contain",
        probe: "esbuild --version",
        install: Node(&["esbuild@0.28.2"]),
        commands: &["esbuild"],
    },
    Capability {
        name: "speedscope",
        purpose: "opens the files that cg-fmt writes",
        probe: "[ -d \"$NEEDS_FOLDER/node/node_modules/speedscope/dist\" ] || [ -d \"$(npm root --global)/speedscope/dist\" ]",
        install: Node(&["speedscope@1.25.0"]),
        commands: &[],
    },
    Capability {
        name: "axe",
        purpose: "checks the accessibility of pages",
        probe: "[ -e \"$NEEDS_FOLDER/node/node_modules/axe-core/axe.min.js\" ] || [ -e \"$(npm root --global)/axe-core/axe.min.js\" ]",
        install: Node(&["axe-core@4.14.1"]),
        commands: &[],
    },
    Capability {
        name: "inferno",
        purpose: "reads the folded stacks that cg-fmt writes",
        probe: "echo 'a;b 1' | inferno-flamegraph",
        install: Cargo(&["inferno@0.12.8", "--no-default-features", "--features", "cli"]),
        commands: &["inferno-flamegraph"],
    },
    Capability {
        name: "nextest",
        purpose: "runs examples/nextest",
        // Older versions do not give a test its name as a variable.
        probe: "oldest='cargo-nextest 0.9.138' && version=$(cargo nextest --version | head -n 1) &&
            [ \"$(printf '%s\\n' \"$oldest\" \"$version\" | sort -V | head -n 1)\" = \"$oldest\" ]",
        install: Cargo(&["cargo-nextest@0.9.143", "--no-default-features", "--features", "default-no-update"]),
        commands: &["cargo-nextest"],
    },
];
