//! The rules by which names of two builds are seen to mean the same: one table, a row a rule.
//!
//! Names are normalised for the join only; what is shown is what a run said. A rule erases what a build puts into a
//! name and nobody wrote: hashes, counters, directories. The tests hold every rule to its example.

mod file;
mod table;

pub use file::RuleError;

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::Regex;

use crate::demangle::demangle_str;
use table::{RuleRow, TABLE};

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
    /// It erases what differs between builds, not between functions.
    Build,
    /// It erases what distinguishes the compiler's parts and copies of one function; their costs add up.
    Part,
    /// It erases what distinguishes functions of one build too, so names alone do not say which is which.
    Counter,
}

/// The table for people: what each rule is called, why it is there, and what it does to a name.
pub fn table() -> String {
    let mut text = "Rules by which names are joined, in the order they are applied:\n".to_owned();
    for row in TABLE.iter() {
        let [before, after] = row.example;
        text += &format!(
            "  {}\n    {}\n    {before} → {after}\n",
            row.name, row.reason
        );
    }
    text += "What joins without rewriting a name:\n";
    for (_, name, what) in MatchedRules::WITHOUT_RULE {
        text += &format!("  {name}\n    {what}\n");
    }
    text
}

/// Each rule's example of a function's name: as a profile has it, and what is left of it.
pub fn examples_of_functions() -> impl Iterator<Item = [&'static str; 2]> {
    let of_functions = TABLE.iter().filter(|row| row.part == Part::Function);
    of_functions.map(|row| row.example)
}

/// Rules ready to be applied: those of a rule file first, then the table.
pub struct Rules {
    rules: Vec<Rule>,
}

struct Rule {
    name: String,
    part: Part,
    strength: Strength,
    hints: &'static [&'static str],
    /// Compiled when it is first needed: a comparison of equal names needs none.
    pattern: OnceLock<Regex>,
    source: String,
    replacement: String,
    all: bool,
}

/// Which rules changed a name, by position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchedRules(u64);

/// Makes the ways to join without a rule of the table: a constant of each, with its bit, its name and what it joins.
macro_rules! without_rule {
    ($($(#[$meta:meta])* $way:ident $bit:literal $name:literal: $what:literal;)*) => {
        impl MatchedRules {
            $($(#[$meta])* pub const $way: MatchedRules = MatchedRules(1 << $bit);)*

            /// The ways to join without a rule of the table: the name of each, and what it joins.
            const WITHOUT_RULE: &[(MatchedRules, &str, &str)] =
                &[$((MatchedRules::$way, $name, $what)),*];
        }
    };
}

without_rule! {
    /// A name that was mangled.
    DEMANGLED 56 "mangled":
        "names that one run has mangled and another does not";
    /// A path that ends as the other's does, in another directory.
    DIRECTORY 63 "directory":
        "paths that end alike, where their directories can be two homes of one tree; the longest ending wins";
    /// An object that holds the same functions under another name.
    OBJECT 62 "object":
        "an object that one run lacks and one of another name that holds the same functions, or none where a run has no \
         objects at all";
    /// Another line of the same function.
    LINE 61 "line":
        "frames and arcs whose line moved within their function";
    /// Another file, of which one is of code that is inlined: the first line of a function decides about its file.
    INLINED_FILE 59 "inlined-file":
        "a function's file, where that is a header or a library's: Callgrind names it by its first line of code";
    /// The other of Rust's mangling schemes.
    MANGLING 57 "mangling":
        "Rust names of which one run has type arguments (v0) and another none, or parameters (legacy)";
    /// Other frames of the allocator at the inner end of a stack.
    ALLOCATOR 58 "allocator":
        "stacks that differ in their frames of the allocator alone";
    /// The text that `--join` captures.
    CAPTURE 60 "capture":
        "functions in whose names --join captures the same text";
}

impl MatchedRules {
    /// None of them.
    pub const NONE: MatchedRules = MatchedRules(0);

    /// Takes in what else matched.
    pub fn add(&mut self, other: MatchedRules) {
        self.0 |= other.0;
    }
}

/// How many rules [`MatchedRules`] can tell apart.
const MOST_RULES: usize = 56;

impl Rules {
    /// The rules of the table.
    pub fn of_table() -> Rules {
        Rules {
            rules: TABLE.iter().map(Rule::of_row).collect(),
        }
    }

    /// The rules of a rule file, then those of the table.
    ///
    /// # Errors
    /// Where the file has a line that is no rule, or one more than there can be.
    pub fn with_file(text: &str) -> Result<Rules, RuleError> {
        let mut rules = file::parse(text)?;
        let most = MOST_RULES - TABLE.len();
        if rules.len() > most {
            return Err(RuleError {
                line: text.lines().count(),
                message: format!("expected {most} rules at most, found {}", rules.len()),
            });
        }
        rules.extend(TABLE.iter().map(Rule::of_row));
        Ok(Rules { rules })
    }

    /// The name as the join sees it, by the rules up to a strength, and which of them changed it.
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
        for (position, rule) in self.rules.iter().enumerate() {
            if rule.strength > strength || !rule.is_for(part) || !rule.may_match(&result) {
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
            matched.0 |= 1 << position;
        }
        (result, matched)
    }

    /// The names of the rules that matched, in the order they are applied.
    pub fn names(&self, matched: MatchedRules) -> impl Iterator<Item = &str> {
        self.rules
            .iter()
            .enumerate()
            .filter(move |(position, _)| matched.0 & 1 << position != 0)
            .map(|(_, rule)| rule.name.as_str())
            .chain(
                MatchedRules::WITHOUT_RULE
                    .iter()
                    .filter(move |(without_rule, _, _)| matched.0 & without_rule.0 != 0)
                    .map(|(_, name, _)| *name),
            )
    }
}

impl Rule {
    fn of_row(row: &'static RuleRow) -> Rule {
        Rule {
            name: row.name.to_owned(),
            part: row.part,
            strength: row.strength,
            hints: &row.hints,
            pattern: OnceLock::new(),
            source: row.pattern.to_owned(),
            replacement: row.replacement.to_owned(),
            all: true,
        }
    }

    fn pattern(&self) -> &Regex {
        self.pattern.get_or_init(|| {
            Regex::new(&self.source).expect(
                "a rule file's patterns are compiled as it is read, the table's by its test",
            )
        })
    }

    fn may_match(&self, text: &str) -> bool {
        self.hints.is_empty() || self.hints.iter().any(|hint| text.contains(hint))
    }

    fn is_for(&self, part: Part) -> bool {
        self.part == part
            || self.part == Part::Any
            || (self.part == Part::Path && part == Part::Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_a_rule() {
        let rows = include_str!("table.txt").split("\n\n").skip(1);
        let named = |row: &str| row.split(' ').nth(1).unwrap_or_default().to_owned();
        let in_file: Vec<String> = rows.map(named).collect();
        let read: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
        assert_eq!(read, in_file);
    }

    #[test]
    fn every_rule_does_to_its_example_what_it_says() {
        let rules = Rules::of_table();
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
            assert_eq!(again, after, "{} has more to do", row.name);
        }
    }

    #[test]
    fn rules_that_can_join_functions_of_one_build_wait() {
        let rules = Rules::of_table();
        let name = "demo::main::{closure#2}.llvm.123";
        let (build, _) = rules.apply(name, Part::Function, Strength::Build);
        assert_eq!(build, "demo::main::{closure#2}");
    }

    #[test]
    fn names_that_only_resemble_a_rule_stay() {
        let rules = Rules::of_table();
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
