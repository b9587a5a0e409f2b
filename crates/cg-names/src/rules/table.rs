//! The table of rules, a row a rule, in the order they are applied. A new compiler suffix is a row of `table.txt`.

use std::sync::LazyLock;

use super::{Part, Strength};

/// A row of the table.
pub(super) struct RuleRow {
    /// The name it is counted under.
    pub(super) name: &'static str,
    pub(super) part: Part,
    pub(super) strength: Strength,
    /// What a name has at least one of where the pattern matches: a cheap look that spares most names the pattern.
    pub(super) hints: Vec<&'static str>,
    pub(super) pattern: &'static str,
    pub(super) replacement: &'static str,
    /// Why names differ by this between builds.
    pub(super) reason: &'static str,
    /// A name as a profile has it, and what the join sees.
    pub(super) example: [&'static str; 2],
}

/// The rules in the order they are applied.
pub(super) static TABLE: LazyLock<Vec<RuleRow>> = LazyLock::new(|| {
    let rows = include_str!("table.txt").split("\n\n");
    rows.filter_map(RuleRow::read).collect()
});

impl RuleRow {
    /// Reads a row; `None` of what is none, which the tests see.
    fn read(row: &'static str) -> Option<RuleRow> {
        let field = |name: &str| {
            let value = |line: &'static str| line.strip_prefix(name)?.strip_prefix(' ');
            row.lines().find_map(value)
        };
        let mut head = field("rule")?.split(' ');
        let (before, after) = field("example")?.split_once(" → ")?;
        Some(RuleRow {
            name: head.next()?,
            part: match head.next()? {
                "function" => Part::Function,
                "object" => Part::Object,
                "path" => Part::Path,
                "sentence" => Part::Sentence,
                _ => return None,
            },
            strength: match head.next()? {
                "build" => Strength::Build,
                "part" => Strength::Part,
                "counter" => Strength::Counter,
                _ => return None,
            },
            hints: field("hint")?.split(' ').collect(),
            pattern: field("find")?,
            replacement: field("with").unwrap_or_default(),
            reason: field("why")?,
            example: [before, after],
        })
    }
}
