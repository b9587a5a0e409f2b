//! The rules by which names of two builds are seen to mean the same: one table, a row a rule.
//!
//! Names are normalised for the join only; what is shown is what a run said. A rule erases what a build puts into a
//! name and nobody wrote: hashes, counters, directories. The tests hold every rule to its example.

use std::borrow::Cow;
use std::cell::OnceCell;

use anyhow::Context;
use regex::Regex;

/// The part of a record's key that a rule rewrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The function's name.
    Function,
    /// The file's and the object's path.
    Path,
    /// The object's path alone.
    Object,
    /// The sentence of an error.
    Sentence,
    /// All three: what a rule file means where it does not say.
    Any,
}

/// How much a rule takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// What is erased tells builds apart, not functions.
    Build,
    /// What is erased tells the parts and copies of one function apart that a compiler made; their costs add up.
    Part,
    /// What is erased tells functions of one build apart too, so names alone do not say which is which.
    Counter,
}

/// A row of the table.
pub struct Row {
    /// The name it is counted under.
    name: &'static str,
    part: Part,
    strength: Strength,
    pattern: &'static str,
    replacement: &'static str,
    /// Why names differ by this between builds.
    reason: &'static str,
    /// A name as a profile has it, and what the join sees.
    example: [&'static str; 2],
}

use Part::{Function, Object, Path, Sentence};
use Strength::{Build, Counter};

/// The rules in the order they are applied.
const TABLE: &[Row] = &[
    Row {
        name: "llvm-suffix",
        part: Function,
        strength: Build,
        pattern: r"\.llvm\.[0-9A-F]+",
        replacement: "",
        reason: "ThinLTO makes a local symbol global and appends a hash of its module",
        example: ["demo::sort.llvm.2614985587368234107", "demo::sort"],
    },
    Row {
        name: "lto-private",
        part: Function,
        strength: Build,
        pattern: r"\.lto_priv\.[0-9]+",
        replacement: "",
        reason: "GCC's LTO numbers local symbols of one name in the order it meets them",
        example: ["init.lto_priv.3", "init"],
    },
    Row {
        name: "legacy-hash",
        part: Function,
        strength: Build,
        pattern: r"::h[0-9a-f]{16}\b",
        replacement: "",
        reason: "rustc's legacy mangling ends in a hash of crate, compiler and type parameters",
        example: ["core::fmt::write::h463b2c6f0ba30854", "core::fmt::write"],
    },
    Row {
        name: "legacy-hash-mangled",
        part: Function,
        strength: Build,
        pattern: r"^(_?_ZN.*)17h[0-9a-f]{16}E",
        replacement: "${1}E",
        reason: "the same hash where a profile has mangled names",
        example: [
            "_ZN4core3fmt5write17h463b2c6f0ba30854E",
            "_ZN4core3fmt5writeE",
        ],
    },
    Row {
        name: "crate-disambiguator",
        part: Function,
        strength: Build,
        pattern: r"([A-Za-z_][A-Za-z0-9_]*)\[[0-9a-f]{8,16}\]",
        replacement: "$1",
        reason: "rustc's v0 mangling tells crates of one name apart by a hash of metadata and version",
        example: [
            "<demo[93c5cdd1b5cbf1d5]::Log as core[8f3a1b2c4d5e6f70]::fmt::Debug>::fmt",
            "<demo::Log as core::fmt::Debug>::fmt",
        ],
    },
    Row {
        name: "crate-disambiguator-mangled",
        part: Function,
        strength: Build,
        pattern: r"Cs[0-9A-Za-z]{8,12}_([0-9]+[A-Za-z_])",
        replacement: "C$1",
        reason: "the same hash, in base 62, where a profile has mangled names",
        example: ["_RNvCs6xxl1lAjzDf_1a3fib", "_RNvC1a3fib"],
    },
    Row {
        name: "closure-number",
        part: Function,
        strength: Counter,
        pattern: r"\{closure#[0-9]+\}|\{\{closure\}\}",
        replacement: "{closure}",
        reason: "closures are numbered in source order, so one more shifts all that follow; legacy names have no number",
        example: ["demo::main::{closure#2}", "demo::main::{closure}"],
    },
    Row {
        name: "impl-number",
        part: Function,
        strength: Counter,
        pattern: r"\{impl#[0-9]+\}",
        replacement: "{impl}",
        reason: "debug information numbers the impl blocks of a module in source order",
        example: ["demo::{impl#4}::fmt", "demo::{impl}::fmt"],
    },
    Row {
        name: "lambda-number",
        part: Function,
        strength: Counter,
        pattern: r"\{lambda\(([^{}]*)\)#[0-9]+\}|'lambda[0-9]*'",
        replacement: "{lambda($1)}",
        reason: "C++ compilers number the lambdas of a function in source order",
        example: [
            "run(int)::{lambda(int)#2}::operator()(int) const",
            "run(int)::{lambda(int)}::operator()(int) const",
        ],
    },
    Row {
        name: "unnamed-number",
        part: Function,
        strength: Counter,
        pattern: r"\{unnamed type#[0-9]+\}",
        replacement: "{unnamed type}",
        reason: "C++ compilers number unnamed types in source order",
        example: ["f({unnamed type#3})", "f({unnamed type})"],
    },
    Row {
        name: "compiler-clone",
        part: Function,
        strength: Strength::Part,
        pattern: r"(\.(isra|part|constprop|cold|localalias)(\.[0-9]+)*)+\b|( \[clone \.[^\]]*\])+",
        replacement: "",
        reason: "GCC and LLVM split, specialise and copy functions as they see fit",
        example: ["parse.isra.0.part.1.cold", "parse"],
    },
    Row {
        name: "unknown-address",
        part: Function,
        strength: Counter,
        pattern: r"^0x[0-9a-fA-F]+$",
        replacement: "0x…",
        reason: "a function without a symbol is named by its address, which every build moves",
        example: ["0x0000000000401136", "0x…"],
    },
    Row {
        name: "address",
        part: Sentence,
        strength: Build,
        pattern: r"\b0x[0-9a-fA-F]+",
        replacement: "0x…",
        reason: "the sentence of an error names addresses, which every run moves",
        example: [
            "Possible data race during read of size 4 at 0x30A234 by thread #1",
            "Possible data race during read of size 4 at 0x… by thread #1",
        ],
    },
    Row {
        name: "rustc-commit",
        part: Path,
        strength: Build,
        pattern: r"/rustc/([0-9a-f]{40}|[0-9]+\.[0-9]+\.[0-9]+)/",
        replacement: "/rustc/",
        reason: "the standard library's files carry the compiler's commit",
        example: [
            "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/fmt/mod.rs",
            "/rustc/library/core/src/fmt/mod.rs",
        ],
    },
    Row {
        name: "rust-source",
        part: Path,
        strength: Build,
        pattern: r"^.*/lib/rustlib/src/rust/",
        replacement: "/rustc/",
        reason: "with the rust-src component installed the standard library's files are in the toolchain",
        example: [
            "/home/dev/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/fmt/mod.rs",
            "/rustc/library/core/src/fmt/mod.rs",
        ],
    },
    Row {
        name: "cargo-registry",
        part: Path,
        strength: Build,
        pattern: r"^.*/registry/src/[^/]+-[0-9a-f]{16}/([^/]+?)-[0-9]+\.[0-9]+\.[0-9]+[^/]*/",
        replacement: "registry/$1/",
        reason: "a dependency lies under the cargo home of whoever built, the registry's hash and its own version",
        example: [
            "/home/dev/.cargo/registry/src/index.example.org-1949cf8c6b5b557f/memchr-2.7.4/src/lib.rs",
            "registry/memchr/src/lib.rs",
        ],
    },
    Row {
        name: "cargo-git",
        part: Path,
        strength: Build,
        pattern: r"^.*/git/checkouts/([^/]+)-[0-9a-f]{16}/[0-9a-f]{7,40}/",
        replacement: "git/$1/",
        reason: "a git dependency lies under the cargo home of whoever built and its commit",
        example: [
            "/home/dev/.cargo/git/checkouts/ring-0123456789abcdef/a1b2c3d/src/lib.rs",
            "git/ring/src/lib.rs",
        ],
    },
    Row {
        name: "cargo-hash",
        part: Path,
        strength: Build,
        pattern: r"([^/])-[0-9a-f]{16}(/|\.|$)",
        replacement: "$1$2",
        reason: "cargo appends a hash of metadata and flags to what it builds",
        example: [
            "/srv/demo/target/release/deps/demo-eeddf575c8605867",
            "/srv/demo/target/release/deps/demo",
        ],
    },
    Row {
        name: "rust-toolchain",
        part: Path,
        strength: Build,
        pattern: r"^.*/toolchains/[^/]+/",
        replacement: "toolchain/",
        reason: "toolchain directories are named by channel, date and host",
        example: [
            "/home/dev/.rustup/toolchains/nightly-2026-01-05-x86_64-unknown-linux-gnu/lib/libstd.so",
            "toolchain/lib/libstd.so",
        ],
    },
    Row {
        name: "compiler-version",
        part: Path,
        strength: Build,
        pattern: r"/(c\+\+|gcc/[^/]+|clang|llvm)[-/][0-9]+(\.[0-9]+)*/",
        replacement: "/$1/",
        reason: "C and C++ compilers keep headers and libraries in directories named by their version",
        example: [
            "/usr/include/c++/12/bits/stl_algo.h",
            "/usr/include/c++/bits/stl_algo.h",
        ],
    },
    Row {
        name: "nix-store",
        part: Path,
        strength: Build,
        pattern: r"/nix/store/[0-9a-z]{32}-",
        replacement: "/nix/store/",
        reason: "Nix keeps every build in a directory named by its hash",
        example: [
            "/nix/store/3n58xw4373jp0ljirf06d8077j15pc4j-glibc-2.37-8/lib/crt1.o",
            "/nix/store/glibc-2.37-8/lib/crt1.o",
        ],
    },
    Row {
        name: "library-version",
        part: Object,
        strength: Build,
        pattern: r"(-[0-9]+(\.[0-9]+)+)?\.so(\.[0-9]+)*$",
        replacement: ".so",
        reason: "shared libraries carry their version in their file name",
        example: [
            "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
            "/usr/lib/x86_64-linux-gnu/libstdc++.so",
        ],
    },
];

/// The table for people: what each rule is called, why it is there, and what it does to a name.
pub fn help() -> String {
    let mut text = "Rules by which names are joined, in the order they are applied:\n".to_owned();
    for row in TABLE {
        let [before, after] = row.example;
        text += &format!(
            "  {}\n    {}\n    {before} → {after}\n",
            row.name, row.reason
        );
    }
    text += "What joins without rewriting a name:\n";
    for (_, name, what) in Fired::WITHOUT_RULE {
        text += &format!("  {name}\n    {what}\n");
    }
    text
}

/// Rules ready to be applied: those of a rule file first, then the table.
pub struct Rules {
    rules: Vec<Rule>,
}

struct Rule {
    name: String,
    part: Part,
    strength: Strength,
    /// Compiled when it is first needed: a comparison of equal names needs none.
    pattern: OnceCell<Regex>,
    source: String,
    replacement: String,
    all: bool,
}

/// Which rules changed a name, by position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fired(u64);

impl Fired {
    /// A path that ends as the other's does, in another directory.
    pub const DIRECTORY: Fired = Fired(1 << 63);
    /// An object that holds the same functions under another name.
    pub const OBJECT: Fired = Fired(1 << 62);
    /// Another line of the same function.
    pub const LINE: Fired = Fired(1 << 61);
    /// Another file, of which one is of code that is inlined: the first line of a function decides about its file.
    pub const INLINED_FILE: Fired = Fired(1 << 59);
    /// The text that `--join` captures.
    pub const CAPTURE: Fired = Fired(1 << 60);
    /// Other frames of the allocator at the inner end of a stack.
    pub const ALLOCATOR: Fired = Fired(1 << 58);
    /// The other of Rust's mangling schemes.
    pub const MANGLING: Fired = Fired(1 << 57);

    /// What joins without a row of the table, with its name and what it joins.
    const WITHOUT_RULE: [(Fired, &str, &str); 7] = [
        (
            Fired::DIRECTORY,
            "directory",
            "paths that end alike, where their directories can be two homes of one tree; the longest ending wins",
        ),
        (
            Fired::OBJECT,
            "object",
            "an object that one run lacks and one of another name that holds the same functions",
        ),
        (
            Fired::LINE,
            "line",
            "frames and arcs whose line moved within their function",
        ),
        (
            Fired::INLINED_FILE,
            "inlined-file",
            "a function's file, where that is a header or a library's: Callgrind names it by its first line of code",
        ),
        (
            Fired::MANGLING,
            "mangling",
            "Rust names of which one run has type arguments (v0) and another none, or parameters (legacy)",
        ),
        (
            Fired::ALLOCATOR,
            "allocator",
            "stacks that differ in their frames of the allocator alone",
        ),
        (
            Fired::CAPTURE,
            "capture",
            "functions in whose names --join captures the same text",
        ),
    ];

    /// Takes in what else fired.
    pub fn add(&mut self, other: Fired) {
        self.0 |= other.0;
    }
}

/// How many rules [`Fired`] can tell apart.
const MOST_RULES: usize = 57;

impl Rules {
    /// The rules of the table, behind those of a rule file.
    ///
    /// # Errors
    /// Where the file has a line that is no rule, with its number.
    pub fn new(rule_file: Option<&str>) -> anyhow::Result<Rules> {
        let mut rules = match rule_file {
            Some(text) => parse_rule_file(text)?,
            None => Vec::new(),
        };
        for row in TABLE {
            rules.push(Rule {
                name: row.name.to_owned(),
                part: row.part,
                strength: row.strength,
                pattern: OnceCell::new(),
                source: row.pattern.to_owned(),
                replacement: row.replacement.to_owned(),
                all: true,
            });
        }
        anyhow::ensure!(
            rules.len() <= MOST_RULES,
            "{} rules are too many, {MOST_RULES} with those built in is the most",
            rules.len()
        );
        Ok(Rules { rules })
    }

    /// The name as the join sees it, by the rules up to a strength, and which of them changed it.
    pub fn apply<'a>(
        &self,
        text: &'a str,
        part: Part,
        strength: Strength,
    ) -> (Cow<'a, str>, Fired) {
        let mut result = Cow::Borrowed(text);
        let mut fired = Fired::default();
        for (position, rule) in self.rules.iter().enumerate() {
            if rule.strength > strength || !rule.is_for(part) {
                continue;
            }
            let limit = usize::from(!rule.all);
            let changed = match rule
                .pattern()
                .replacen(&result, limit, rule.replacement.as_str())
            {
                Cow::Owned(changed) if changed != *result => changed,
                _ => continue,
            };
            result = Cow::Owned(changed);
            fired.0 |= 1 << position;
        }
        (result, fired)
    }

    /// The names of the rules that fired, in the order they are applied.
    pub fn names(&self, fired: Fired) -> impl Iterator<Item = &str> {
        self.rules
            .iter()
            .enumerate()
            .filter(move |(position, _)| fired.0 & 1 << position != 0)
            .map(|(_, rule)| rule.name.as_str())
            .chain(
                Fired::WITHOUT_RULE
                    .into_iter()
                    .filter(move |(without_rule, _, _)| fired.0 & without_rule.0 != 0)
                    .map(|(_, name, _)| name),
            )
    }
}

impl Rule {
    fn pattern(&self) -> &Regex {
        self.pattern.get_or_init(|| {
            Regex::new(&self.source).expect(
                "a rule file's patterns are compiled as it is read, the table's by its test",
            )
        })
    }

    fn is_for(&self, part: Part) -> bool {
        self.part == part
            || self.part == Part::Any
            || (self.part == Part::Path && part == Part::Object)
    }
}

/// A rule a line: `[fn|file|obj] s/PATTERN/REPLACEMENT/[g]`, with any delimiter; `#` begins a comment.
fn parse_rule_file(text: &str) -> anyhow::Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        rules.push(parse_rule(line).with_context(|| format!("{}", number + 1))?);
    }
    Ok(rules)
}

fn parse_rule(line: &str) -> anyhow::Result<Rule> {
    let (part, substitution) = match line.split_once(char::is_whitespace) {
        Some(("fn", rest)) => (Part::Function, rest.trim_start()),
        Some(("file", rest)) => (Part::Path, rest.trim_start()),
        Some(("obj", rest)) => (Part::Object, rest.trim_start()),
        _ => (Part::Any, line),
    };
    let expected = || format!("expected [fn|file|obj] s/PATTERN/REPLACEMENT/[g], found \"{line}\"");
    let body = substitution.strip_prefix('s').with_context(expected)?;
    let delimiter = body.chars().next().with_context(expected)?;
    anyhow::ensure!(
        !delimiter.is_alphanumeric() && delimiter != '\\',
        expected()
    );
    let mut fields = split_unescaped(&body[delimiter.len_utf8()..], delimiter);
    let (Some(pattern), Some(replacement), Some(flags), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        anyhow::bail!(expected());
    };
    anyhow::ensure!(flags.is_empty() || flags == "g", expected());
    let compiled = Regex::new(&pattern)
        .map_err(|error| anyhow::anyhow!("{}", error.to_string().replace('\n', " ")))?;
    Ok(Rule {
        name: line.to_owned(),
        part,
        strength: Strength::Build,
        pattern: OnceCell::from(compiled),
        source: pattern,
        replacement: sed_replacement(&replacement),
        all: flags == "g",
    })
}

/// The fields between delimiters; a delimiter behind a backslash belongs to its field.
fn split_unescaped(text: &str, delimiter: char) -> impl Iterator<Item = String> {
    let mut fields = vec![String::new()];
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        let field = fields.last_mut();
        match (c, field) {
            (c, _) if c == delimiter => fields.push(String::new()),
            ('\\', Some(field)) => match characters.next() {
                Some(next) if next == delimiter => field.push(next),
                Some(next) => field.extend(['\\', next]),
                None => field.push('\\'),
            },
            (c, Some(field)) => field.push(c),
            (_, None) => {}
        }
    }
    fields.into_iter()
}

/// sed's `\1` and `&` as the regex crate writes them; `$` stands for itself in sed.
fn sed_replacement(text: &str) -> String {
    let mut result = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '$' => result.push_str("$$"),
            '&' => result.push_str("${0}"),
            '\\' => match characters.next() {
                Some(digit @ '0'..='9') => {
                    result.extend(["${", digit.encode_utf8(&mut [0; 4]), "}"]);
                }
                Some(other) => result.push(other),
                None => result.push('\\'),
            },
            c => result.push(c),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_does_to_its_example_what_it_says() {
        let rules = Rules::new(None).unwrap();
        for row in TABLE {
            let [before, after] = row.example;
            let part = if row.part == Part::Path {
                Part::Object
            } else {
                row.part
            };
            let (result, fired) = rules.apply(before, part, Strength::Counter);
            assert_eq!(result, after, "{}", row.name);
            let names: Vec<&str> = rules.names(fired).collect();
            assert!(names.contains(&row.name), "{}: {names:?}", row.name);
            assert!(!row.reason.is_empty());
            let (again, _) = rules.apply(after, part, Strength::Counter);
            assert_eq!(again, after, "{} has more to do", row.name);
        }
    }

    #[test]
    fn rules_that_can_join_functions_of_one_build_wait() {
        let rules = Rules::new(None).unwrap();
        let name = "demo::main::{closure#2}.llvm.123";
        let (build, _) = rules.apply(name, Part::Function, Strength::Build);
        assert_eq!(build, "demo::main::{closure#2}");
    }

    #[test]
    fn names_that_only_resemble_a_rule_stay() {
        let rules = Rules::new(None).unwrap();
        for name in [
            "<[u8]>::to_vec",
            "demo::h264::decode",
            "core::array::from_fn::<[u8; 16]>",
            "llvm.memcpy",
            "hash[12]",
            "part.of.name",
            "demo::part::cold",
            "operator()",
            "0xbeef::f",
            "(below main)",
            "_RNvNtCsabc_4core3fmt5write",
        ] {
            let (result, fired) = rules.apply(name, Part::Function, Strength::Counter);
            assert_eq!((result.as_ref(), fired), (name, Fired::default()));
        }
        for path in [
            "src/main.rs",
            "/usr/bin/demo",
            "/srv/build/demo.c",
            "libfoo.rs",
        ] {
            let (result, _) = rules.apply(path, Part::Path, Strength::Counter);
            assert_eq!(result, path);
        }
    }

    #[test]
    fn a_rule_file_is_sed_in_short() {
        let rules = Rules::new(Some(
            "# checked in\n\nfn s/^old_(.*)/new_\\1/\nfile s|/srv/||g\ns,a\\,b,&c,\n",
        ))
        .unwrap();
        let apply = |text, part| rules.apply(text, part, Strength::Build).0.into_owned();
        assert_eq!(apply("old_f", Part::Function), "new_f");
        assert_eq!(apply("old_f", Part::Path), "old_f");
        assert_eq!(apply("x/srv/y/srv/z", Part::Path), "xyz");
        assert_eq!(apply("a,ba,b", Part::Function), "a,bca,b");
    }

    #[test]
    fn a_line_that_is_no_rule_is_an_error_with_its_number() {
        for (text, found) in [
            ("\nfoo\n", "2"),
            ("s/a/b\n", "1"),
            ("s/a/b/x\n", "1"),
            ("s/(/b/\n", "1"),
            ("s\n", "1"),
        ] {
            let error = Rules::new(Some(text)).err().unwrap();
            assert_eq!(error.to_string(), found, "{text:?}");
        }
    }
}
