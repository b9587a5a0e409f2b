//! The table of rules in `table.txt`, one row per rule, in the order of application. A new compiler suffix is a new row.

use std::sync::LazyLock;

use super::{Part, Strength};

/// A row of the table.
pub(super) struct RuleRow {
    /// The name in counts of matches.
    pub(super) name: &'static str,
    pub(super) part: Part,
    pub(super) strength: Strength,
    /// Words of which every matching name contains at least one. This cheap check avoids the pattern for most names.
    pub(super) hints: Vec<&'static str>,
    pub(super) pattern: &'static str,
    pub(super) replacement: &'static str,
    /// The reason why names differ in this way between builds.
    pub(super) reason: &'static str,
    /// A name in a profile, and its normal form.
    pub(super) example: [&'static str; 2],
}

/// The rules in the order of application.
pub(super) static TABLE: LazyLock<Vec<RuleRow>> = LazyLock::new(|| {
    let rows = include_str!("table.txt").split("\n\n");
    rows.filter_map(RuleRow::read).collect()
});

impl RuleRow {
    /// Parses a row; `None` if it is invalid. A test finds invalid rows.
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
