//! Small programs in C, C++ and Rust whose two versions differ by one cause, which is known because it was put there.
//!
//! `drive` runs in a loop and calls `step`, which calls `leaf` and `helper`; `audit` is called now and then. What a
//! compiler may inline is said in the source, so that a version differs from another by what it is meant to.

use std::path::Path;

/// A programming language, with its compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramLanguage {
    C,
    Cpp,
    Rust,
}

/// How a program is built: what a compiler of C and that of Rust are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompilerFlags {
    pub c: &'static str,
    pub rust: &'static str,
}

/// The builds that programs are made by.
pub const BUILDS: [CompilerFlags; 4] = [
    CompilerFlags {
        c: "-O0 -g",
        rust: "-C opt-level=0 -g",
    },
    CompilerFlags {
        c: "-O1 -g",
        rust: "-C opt-level=1 -g",
    },
    CompilerFlags {
        c: "-O2 -g",
        rust: "-C opt-level=2 -g",
    },
    CompilerFlags {
        c: "-O2 -g -flto",
        rust: "-C opt-level=3 -C lto=fat -g",
    },
];

/// What is known of why two versions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    MoreCalls,
    Dearer,
    Constant,
    Inlined,
    NoLongerInlined,
    Renamed,
    Moved,
    Deleted,
    Added,
    OtherInput,
}

/// All of them.
pub const KNOWN: [Known; 10] = [
    Known::MoreCalls,
    Known::Dearer,
    Known::Constant,
    Known::Inlined,
    Known::NoLongerInlined,
    Known::Renamed,
    Known::Moved,
    Known::Deleted,
    Known::Added,
    Known::OtherInput,
];

/// A version of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramVersion {
    /// How often `step` is called, without an argument that says so.
    steps: u32,
    /// How often the loop of `leaf` runs.
    rounds: u32,
    /// Whether `leaf` does more in each round.
    is_dearer: bool,
    is_helper_inlined: bool,
    leaf: &'static str,
    /// Whether `leaf` is in a file, in Rust in a module, of its own.
    is_leaf_apart: bool,
    has_audit: bool,
    /// What the program is told when it runs.
    pub argument: &'static str,
}

/// The first version of everything.
const FIRST: ProgramVersion = ProgramVersion {
    steps: 400,
    rounds: 1_000,
    is_dearer: false,
    is_helper_inlined: false,
    leaf: "leaf",
    is_leaf_apart: false,
    has_audit: true,
    argument: "",
};

impl Known {
    /// The old version and the new one.
    pub fn versions(self) -> [ProgramVersion; 2] {
        let new = match self {
            Known::MoreCalls => ProgramVersion {
                steps: 700,
                ..FIRST
            },
            Known::Dearer => ProgramVersion {
                is_dearer: true,
                ..FIRST
            },
            Known::Constant => ProgramVersion {
                rounds: 1_500,
                ..FIRST
            },
            Known::Inlined | Known::NoLongerInlined => ProgramVersion {
                is_helper_inlined: true,
                ..FIRST
            },
            Known::Renamed => ProgramVersion {
                leaf: "twig",
                ..FIRST
            },
            Known::Moved => ProgramVersion {
                is_leaf_apart: true,
                ..FIRST
            },
            Known::Deleted | Known::Added => ProgramVersion {
                has_audit: false,
                ..FIRST
            },
            Known::OtherInput => ProgramVersion {
                argument: "650",
                ..FIRST
            },
        };
        match self {
            Known::NoLongerInlined | Known::Added => [new, FIRST],
            _ => [FIRST, new],
        }
    }
}

impl ProgramVersion {
    /// Whether two versions are one program, run differently.
    pub fn is_same_program(self, other: ProgramVersion) -> bool {
        ProgramVersion {
            argument: "",
            ..self
        } == ProgramVersion {
            argument: "",
            ..other
        }
    }

    /// Writes the sources into a folder, and returns the command that builds `program` of them.
    ///
    /// # Panics
    /// Where they cannot be written.
    pub fn write(self, folder: &Path, language: ProgramLanguage, build: CompilerFlags) -> String {
        let (main, apart, source, beside) = match language {
            ProgramLanguage::Rust => ("program.rs", "apart.rs", self.rust(), self.rust_leaf()),
            ProgramLanguage::C => ("program.c", "apart.h", self.c(), self.c_leaf()),
            ProgramLanguage::Cpp => ("program.cc", "apart.h", self.c(), self.c_leaf()),
        };
        std::fs::write(folder.join(main), source).unwrap();
        if self.is_leaf_apart {
            std::fs::write(folder.join(apart), beside).unwrap();
        }
        match language {
            ProgramLanguage::Rust => {
                format!("rustc -C codegen-units=1 {} -o program {main}", build.rust)
            }
            ProgramLanguage::C => format!("gcc {} -o program {main}", build.c),
            ProgramLanguage::Cpp => format!("g++ {} -o program {main}", build.c),
        }
    }

    fn c_leaf(self) -> String {
        let more = match self.is_dearer {
            true => "x ^= x >> 11; x += i * 3; KEEP(x);",
            false => "",
        };
        format!(
            "APART u64 {}(u64 x) {{
  for (u64 i = 0; i < {}; i++) {{ x = x * 31 + i; KEEP(x); {more} }}
  return x;
}}
",
            self.leaf, self.rounds
        )
    }

    fn c(self) -> String {
        let inlining = match self.is_helper_inlined {
            true => "static inline __attribute__((always_inline))",
            false => "APART",
        };
        let leaf = match self.is_leaf_apart {
            true => "#include \"apart.h\"\n".to_owned(),
            false => self.c_leaf(),
        };
        let (audit, audited) = match self.has_audit {
            true => (AUDIT_IN_C, "if (i % 4 == 0) sum += audit(i);"),
            false => ("", ""),
        };
        format!(
            "#include <stdlib.h>
typedef unsigned long u64;
#define APART __attribute__((noipa))
#define KEEP(x) __asm__ volatile(\"\" : \"+r\"(x))
{leaf}{inlining} u64 helper(u64 x) {{
  for (u64 i = 0; i < 40; i++) {{ x ^= x >> 7; x *= 40503; KEEP(x); }}
  return x;
}}
{audit}APART u64 step(u64 x) {{ return {leaf_name}(x + 1) ^ helper(x); }}
APART u64 drive(u64 steps) {{
  u64 sum = 0;
  for (u64 i = 0; i < steps; i++) {{ sum += step(i); {audited} }}
  return sum;
}}
int main(int argc, char **argv) {{ return drive(argc > 1 ? strtoul(argv[1], 0, 10) : {steps}) == 1; }}
",
            leaf_name = self.leaf,
            steps = self.steps
        )
    }

    fn rust_leaf(self) -> String {
        let more = match self.is_dearer {
            true => "x ^= x >> 11; x = black_box(x.wrapping_add(i * 3));",
            false => "",
        };
        format!(
            "use std::hint::black_box;
#[inline(never)]
pub fn {}(mut x: u64) -> u64 {{
    let mut i = 0;
    while i < {} {{
        x = black_box(x.wrapping_mul(31).wrapping_add(i));
        {more}
        i += 1;
    }}
    x
}}
",
            self.leaf, self.rounds
        )
    }

    fn rust(self) -> String {
        let inlining = match self.is_helper_inlined {
            true => "always",
            false => "never",
        };
        let leaf = match self.is_leaf_apart {
            true => format!(
                "mod apart;\nuse apart::{};\nuse std::hint::black_box;\n",
                self.leaf
            ),
            false => self.rust_leaf(),
        };
        let (audit, audited) = match self.has_audit {
            true => (
                AUDIT_IN_RUST,
                "if i % 4 == 0 { sum = sum.wrapping_add(audit(i)); }",
            ),
            false => ("", ""),
        };
        format!(
            "{leaf}#[inline({inlining})]
fn helper(mut x: u64) -> u64 {{
    let mut i = 0;
    while i < 40 {{
        x ^= x >> 7;
        x = black_box(x.wrapping_mul(40503));
        i += 1;
    }}
    x
}}
{audit}#[inline(never)]
fn step(x: u64) -> u64 {{
    {leaf_name}(x + 1) ^ helper(x)
}}
#[inline(never)]
fn drive(steps: u64) -> u64 {{
    let mut sum: u64 = 0;
    let mut i = 0;
    while i < steps {{
        sum = sum.wrapping_add(step(i));
        {audited}
        i += 1;
    }}
    sum
}}
fn main() {{
    let steps = std::env::args().nth(1).map_or({steps}, |steps| steps.parse().unwrap());
    black_box(drive(black_box(steps)));
}}
",
            leaf_name = self.leaf,
            steps = self.steps
        )
    }
}

const AUDIT_IN_C: &str = "APART u64 audit(u64 x) {
  for (u64 i = 0; i < 60; i++) { x += x << 3; KEEP(x); }
  return x;
}
";

const AUDIT_IN_RUST: &str = "#[inline(never)]
fn audit(mut x: u64) -> u64 {
    let mut i = 0;
    while i < 60 {
        x = black_box(x.wrapping_add(x << 3));
        i += 1;
    }
    x
}
";
