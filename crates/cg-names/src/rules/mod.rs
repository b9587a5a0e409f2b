//! Rules that find equal names in two builds: a table with one row per rule.
//!
//! Names are normalised only for the join. Outputs show the original names. A rule removes text that the build, not the
//! programmer, put into a name: hashes, counters, directories. A test checks each rule with its example.

mod file;
mod table;

pub use file::RuleError;

use std::borrow::Cow;

use crate::demangle::demangle_str;
use file::FileRule;
use table::{RuleRow, TABLE, TextCharacters};

/// The part of a record's key that a rule rewrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The function's name.
    Function,
    /// The paths of the file and of the object.
    Path,
    /// Only the path of the object.
    Object,
    /// The sentence of an error.
    Sentence,
    /// All parts. The default in a rule file.
    Any,
}

/// The kind of differences that a rule removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Differences between builds, not between functions.
    Build,
    /// Differences between the parts and copies that a compiler makes of one function. Their costs can be added.
    Part,
    /// Differences that also distinguish functions of one build. Names alone then do not identify a function.
    Counter,
}

/// Returns the table for people: the name and the reason of each rule, and an example.
pub fn table() -> String {
    let mut text = "Rules for joining names, in the order of application:\n".to_owned();
    for row in TABLE.iter() {
        let [before, after] = row.example;
        text += &format!(
            "  {}\n    {}\n    {before} → {after}\n",
            row.name, row.reason
        );
    }
    text += "Joins without a change to a name:\n";
    for (_, name, description) in MatchedRules::WITHOUT_RULE {
        text += &format!("  {name}\n    {description}\n");
    }
    text
}

/// Returns the example of each rule for functions: the name in a profile and its normal form.
pub fn function_examples() -> impl Iterator<Item = [&'static str; 2]> {
    let function_rules = TABLE.iter().filter(|row| row.part == Part::Function);
    function_rules.map(|row| row.example)
}

/// Rules in the order of application: the rules of a rule file, then the table.
pub struct Rules {
    rules: Vec<Rule>,
}

enum Rule {
    Row(&'static RuleRow),
    File(FileRule),
}

/// The set of rules that changed a name, by position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchedRules(u64);

/// Defines the ways to join without a rule of the table. Each is a constant, with a bit, a name and a description.
macro_rules! without_rule {
    ($($(#[$meta:meta])* $way:ident $bit:literal $name:literal: $description:literal;)*) => {
        impl MatchedRules {
            $($(#[$meta])* pub const $way: MatchedRules = MatchedRules(1 << $bit);)*

            /// The ways to join without a rule of the table, with their names and descriptions.
            const WITHOUT_RULE: &[(MatchedRules, &str, &str)] =
                &[$((MatchedRules::$way, $name, $description)),*];
        }
    };
}

without_rule! {
    /// One name was mangled.
    DEMANGLED 56 "mangled":
        "names that are mangled in one run and not in the other";
    /// The paths have the same ending in different directories.
    DIRECTORY 63 "directory":
        "paths with the same ending, if their directories can be two locations of one tree; the longest ending wins";
    /// The objects contain the same functions and have different names.
    OBJECT 62 "object":
        "objects with different names and the same functions, if each is missing in the other run; also functions without \
         an object, if a run has no objects at all";
    /// The lines differ within the same function.
    LINE 61 "line":
        "frames and arcs whose line moved within their function";
    /// The files differ because of inlined code: the first line of a function decides which file it has.
    INLINED_FILE 59 "inlined-file":
        "functions in different files, if a file is a header or belongs to a library: Callgrind uses the file of the first \
         line of code";
    /// The names use different mangling schemes of Rust.
    MANGLING 57 "mangling":
        "Rust names that have type arguments in one run (v0 mangling), and type parameters or nothing in the other (legacy)";
    /// The stacks have different frames of the allocator at their inner end.
    ALLOCATOR 58 "allocator":
        "stacks that differ only in frames of the allocator";
    /// `--join` captures the same text.
    CAPTURE 60 "capture":
        "functions in whose names --join captures the same text";
}

impl MatchedRules {
    /// The empty set.
    pub const NONE: MatchedRules = MatchedRules(0);

    /// Returns true if there are no rules.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds the rules of another set.
    pub fn add(&mut self, other: MatchedRules) {
        self.0 |= other.0;
    }
}

/// The maximum number of rules in [`MatchedRules`].
const MOST_RULES: usize = 56;

impl Rules {
    /// Returns the rules of the table.
    pub fn from_table() -> Rules {
        Rules {
            rules: TABLE.iter().map(Rule::Row).collect(),
        }
    }

    /// Returns the rules of a rule file, followed by the rules of the table.
    ///
    /// # Errors
    /// Returns an error if the file has a line that is not a rule, or too many rules.
    pub fn with_file(text: &str) -> Result<Rules, RuleError> {
        let rules = file::parse(text)?;
        let most = MOST_RULES - TABLE.len();
        if rules.len() > most {
            return Err(RuleError {
                line: text.lines().count(),
                message: format!("expected at most {most} rules, found {}", rules.len()),
            });
        }
        let rules = rules.into_iter().map(Rule::File);
        Ok(Rules {
            rules: rules.chain(TABLE.iter().map(Rule::Row)).collect(),
        })
    }

    /// Applies the rules up to a strength. Returns the normalised name, and the rules that changed it.
    pub fn apply<'a>(
        &self,
        text: &'a str,
        part: Part,
        strength: Strength,
    ) -> (Cow<'a, str>, MatchedRules) {
        let mut result = Cow::Borrowed(text);
        let mut matched = MatchedRules::default();
        if part == Part::Function
            && let Cow::Owned(demangled) = demangle_str(text)
        {
            result = Cow::Owned(demangled);
            matched = MatchedRules::DEMANGLED;
        }
        let mut characters = TextCharacters::new(&result);
        for (position, rule) in self.rules.iter().enumerate() {
            if rule.strength() > strength || !rule.is_for(part) {
                continue;
            }
            let Some(changed) = rule.replace_in(&result, characters) else {
                continue;
            };
            characters = TextCharacters::new(&changed);
            result = Cow::Owned(changed);
            matched.0 |= 1 << position;
        }
        (result, matched)
    }

    /// Returns the names of the rules that matched, in the order of application.
    pub fn names(&self, matched: MatchedRules) -> impl Iterator<Item = &str> {
        self.rules
            .iter()
            .enumerate()
            .filter(move |(position, _)| matched.0 & 1 << position != 0)
            .map(|(_, rule)| rule.name())
            .chain(
                MatchedRules::WITHOUT_RULE
                    .iter()
                    .filter(move |(without_rule, _, _)| matched.0 & without_rule.0 != 0)
                    .map(|(_, name, _)| *name),
            )
    }
}

impl Rule {
    fn name(&self) -> &str {
        match self {
            Rule::Row(row) => row.name,
            Rule::File(rule) => &rule.line,
        }
    }

    fn strength(&self) -> Strength {
        match self {
            Rule::Row(row) => row.strength,
            Rule::File(_) => Strength::Build,
        }
    }

    fn is_for(&self, part: Part) -> bool {
        let own = match self {
            Rule::Row(row) => row.part,
            Rule::File(rule) => rule.part,
        };
        own == part || own == Part::Any || (own == Part::Path && part == Part::Object)
    }

    /// Applies the rule to a text with these characters; `None` if that changes nothing.
    fn replace_in(&self, text: &str, characters: TextCharacters) -> Option<String> {
        let changed = match self {
            Rule::Row(row) if !row.may_match(text, characters) => return None,
            Rule::Row(row) => row.pattern().replace_all(text, row.replacement)?,
            Rule::File(rule) => rule.replace_in(text)?,
        };
        (changed != text).then_some(changed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use regex::Regex;

    use super::*;
    use crate::pattern::tests::{names_of_pairs, with_variants};

    #[test]
    fn every_row_of_the_table_can_be_parsed() {
        let rows = include_str!("table.txt").split("\n\n").skip(1);
        let name = |row: &str| row.split(' ').nth(1).unwrap_or_default().to_owned();
        let in_file: Vec<String> = rows.map(name).collect();
        let read: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
        assert_eq!(read, in_file);
    }

    #[test]
    fn every_rule_normalises_its_example() {
        let rules = Rules::from_table();
        for row in TABLE.iter() {
            let [before, after] = row.example;
            let part = if row.part == Part::Path {
                Part::Object
            } else {
                row.part
            };
            let (result, matched) = rules.apply(before, part, Strength::Counter);
            assert_eq!(result, after, "{}", row.name);
            let names: Vec<&str> = rules.names(matched).collect();
            assert!(names.contains(&row.name), "{}: {names:?}", row.name);
            assert!(!row.reason.is_empty());
            let (again, _) = rules.apply(after, part, Strength::Counter);
            assert_eq!(again, after, "{} changes its result again", row.name);
        }
    }

    /// Names with characters of other scripts, with line ends, and with almost the suffixes of compilers.
    const UNUSUAL_NAMES: [&str; 30] = [
        "demo::f::h0123456789abcdefé",
        "demo::f::h0123456789abcdef·g::h0123456789abcdef",
        "größe.part.0",
        "größe.7",
        "groesse.7",
        "größe+0x1f",
        "a\nb+12",
        "größe@@GLIBC_2.14",
        "größe[0123456789abcdef]::f[0123456]",
        "demo::größe::{closure#1}::{closure_env#22}<T>::{{constant}}",
        "{impl#1}é{impl#x}",
        "J$$Lambda$82.0x00007fa9d8007a08/12.run",
        "J$$Lambda$82/12.run",
        "J.lambda$größe$0",
        "lambda$a$b$12x lambda$a$b$12",
        "a.b.isra.0.constprop.1.cold.2",
        "f [clone .part.0] [clone .cold]",
        "f (.isra.0)",
        "f [clone .llvm.0AF] .__uniq.12",
        "init (.lto_priv.3.4)",
        "run(int)::'lambda'(größe)::'lambda1'",
        "$_12é $_3 'unnamed1' {unnamed type#2}",
        "sum.omp_outlined..3._omp_fn.1",
        "/lib/libgröße-2.31.so.6",
        "/usr/lib/gcc/größe/12.2.0/x.h",
        "/usr/lib/llvm-14/lib/clang/14.0.6/é",
        "é-0123456789abcdef.d",
        "at 0xé 0x1Fé 0xff",
        "0x1Fé",
        "/a/toolchains/x/toolchains/é/lib",
    ];

    fn sample_names() -> BTreeSet<String> {
        let examples = TABLE.iter().flat_map(|row| row.example);
        with_variants(examples.chain(UNUSUAL_NAMES).chain(names_of_pairs()))
    }

    #[test]
    fn patterns_of_the_table_replace_the_same_as_the_regex_crate() {
        let names = sample_names();
        for row in TABLE.iter() {
            let regex = Regex::new(row.find).unwrap();
            for name in &names {
                let replaced = row.pattern().replace_all(name, row.replacement);
                let expected = match regex.replace_all(name, row.replacement) {
                    Cow::Owned(expected) => Some(expected),
                    Cow::Borrowed(_) => None,
                };
                assert_eq!(replaced, expected, "{}: {name}", row.name);
            }
        }
    }

    #[test]
    fn rule_changes_no_name_that_contains_none_of_its_words() {
        let names = sample_names();
        for row in TABLE.iter() {
            for name in &names {
                if !row.may_match(name, TextCharacters::new(name)) {
                    let replaced = row.pattern().replace_all(name, row.replacement);
                    let is_changed = replaced.is_some_and(|replaced| replaced != *name);
                    assert!(!is_changed, "{}: {name}", row.name);
                }
            }
        }
    }

    #[test]
    fn build_rules_keep_functions_of_one_build_separate() {
        let rules = Rules::from_table();
        let name = "demo::main::{closure#2}.llvm.123";
        let (build, _) = rules.apply(name, Part::Function, Strength::Build);
        assert_eq!(build, "demo::main::{closure#2}");
    }

    #[test]
    fn names_that_only_resemble_a_pattern_stay_unchanged() {
        let rules = Rules::from_table();
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
        ] {
            let (result, matched) = rules.apply(name, Part::Function, Strength::Counter);
            assert_eq!((result.as_ref(), matched), (name, MatchedRules::default()));
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
}
