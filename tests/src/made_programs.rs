//! Small programs in C, C++ and Rust in two versions that differ by one known cause.
//!
//! `drive` runs a loop and calls `step`, which calls `leaf` and `helper`. `audit` is called in some rounds. The source
//! controls inlining, so two versions have only the intended difference.

use std::path::Path;

/// A programming language, with its compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramLanguage {
    C,
    Cpp,
    Rust,
}

/// The options for the compilers of C, C++ and Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompilerFlags {
    pub c: &'static str,
    pub rust: &'static str,
}

/// All builds, from no optimisation to link-time optimisation.
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

/// The known cause of the difference between two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownCause {
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

/// All causes.
pub const KNOWN_CAUSES: [KnownCause; 10] = [
    KnownCause::MoreCalls,
    KnownCause::Dearer,
    KnownCause::Constant,
    KnownCause::Inlined,
    KnownCause::NoLongerInlined,
    KnownCause::Renamed,
    KnownCause::Moved,
    KnownCause::Deleted,
    KnownCause::Added,
    KnownCause::OtherInput,
];

/// A version of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramVersion {
    /// The number of calls to `step`, if there is no argument.
    steps: u32,
    /// The number of rounds of the loop in `leaf`.
    rounds: u32,
    /// True if `leaf` does more work in each round.
    is_dearer: bool,
    is_helper_inlined: bool,
    leaf: &'static str,
    /// True if `leaf` is in a separate file (in Rust, a separate module).
    is_leaf_apart: bool,
    has_audit: bool,
    /// The argument of the program: the number of calls to `step`; empty for the default.
    pub argument: &'static str,
}

/// The version that all others are compared with.
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

impl KnownCause {
    /// Returns the old version and the new version.
    pub fn versions(self) -> [ProgramVersion; 2] {
        let new = match self {
            KnownCause::MoreCalls => ProgramVersion {
                steps: 700,
                ..FIRST
            },
            KnownCause::Dearer => ProgramVersion {
                is_dearer: true,
                ..FIRST
            },
            KnownCause::Constant => ProgramVersion {
                rounds: 1_500,
                ..FIRST
            },
            KnownCause::Inlined | KnownCause::NoLongerInlined => ProgramVersion {
                is_helper_inlined: true,
                ..FIRST
            },
            KnownCause::Renamed => ProgramVersion {
                leaf: "twig",
                ..FIRST
            },
            KnownCause::Moved => ProgramVersion {
                is_leaf_apart: true,
                ..FIRST
            },
            KnownCause::Deleted | KnownCause::Added => ProgramVersion {
                has_audit: false,
                ..FIRST
            },
            KnownCause::OtherInput => ProgramVersion {
                argument: "650",
                ..FIRST
            },
        };
        match self {
            KnownCause::NoLongerInlined | KnownCause::Added => [new, FIRST],
            _ => [FIRST, new],
        }
    }
}

impl ProgramVersion {
    /// Returns true if two versions are the same program and differ at most by the argument.
    pub fn is_same_program(self, other: ProgramVersion) -> bool {
        ProgramVersion {
            argument: "",
            ..self
        } == ProgramVersion {
            argument: "",
            ..other
        }
    }

    /// Writes the sources into a folder, and returns the command that builds `program` from them.
    ///
    /// # Panics
    /// Panics if the sources cannot be written.
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
