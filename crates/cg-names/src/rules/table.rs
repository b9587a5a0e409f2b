//! The table of rules in `table.txt`, one row per rule, in the order of application. A new compiler suffix is a new row.

use std::sync::{LazyLock, OnceLock};

use super::{Part, Strength};
use crate::lists::lines;
use crate::pattern::NamePattern;

/// A row of the table.
pub(super) struct RuleRow {
    /// The name in counts of matches.
    pub(super) name: &'static str,
    pub(super) part: Part,
    pub(super) strength: Strength,
    /// Words of which every matching name contains at least one. This cheap check avoids the pattern for most names.
    hints: Vec<Hint>,
    /// The pattern in the syntax of [`crate::pattern`].
    pub(super) find: &'static str,
    /// Parsed on first use, because most comparisons need only a few rules.
    pattern: OnceLock<NamePattern>,
    pub(super) replacement: &'static str,
    /// The reason why names differ in this way between builds.
    pub(super) reason: &'static str,
    /// A name in a profile, and its normal form.
    pub(super) example: [&'static str; 2],
}

/// The rules in the order of application.
pub(super) static TABLE: LazyLock<Vec<RuleRow>> = LazyLock::new(|| {
    let mut rows = Vec::new();
    let mut fields = RowFields::default();
    for line in lines(include_str!("table.txt")) {
        if line.is_empty() {
            rows.extend(RuleRow::from_fields(&fields));
            fields = RowFields::default();
        } else {
            fields.read(line);
        }
    }
    rows.extend(RuleRow::from_fields(&fields));
    rows
});

/// The lines of a row by their first words. A missing line is empty.
#[derive(Default)]
struct RowFields {
    rule: &'static str,
    hint: &'static str,
    find: &'static str,
    with: &'static str,
    why: &'static str,
    example: &'static str,
}

impl RowFields {
    fn read(&mut self, line: &'static str) {
        let (field, value) = line.split_once(' ').unwrap_or_default();
        match field {
            "rule" => self.rule = value,
            "hint" => self.hint = value,
            "find" => self.find = value,
            "with" => self.with = value,
            "why" => self.why = value,
            "example" => self.example = value,
            _ => {}
        }
    }
}

impl RuleRow {
    /// Builds a row; `None` if a line is missing or invalid. A test finds invalid rows.
    fn from_fields(fields: &RowFields) -> Option<RuleRow> {
        if fields.hint.is_empty() || fields.find.is_empty() || fields.why.is_empty() {
            return None;
        }
        let mut head = fields.rule.split(' ');
        let (before, after) = fields.example.split_once(" → ")?;
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
            hints: fields.hint.split(' ').map(Hint::new).collect(),
            find: fields.find,
            pattern: OnceLock::new(),
            replacement: fields.with,
            reason: fields.why,
            example: [before, after],
        })
    }

    /// Returns true if the text contains one of the words. `characters` is the set of the text.
    pub(super) fn may_match(&self, text: &str, characters: TextCharacters) -> bool {
        let mut hints = self.hints.iter();
        hints.any(|hint| characters.include(hint.characters) && text.contains(hint.text))
    }

    /// Returns the pattern.
    pub(super) fn pattern(&self) -> &NamePattern {
        self.pattern
            .get_or_init(|| NamePattern::parse(self.find).expect("a test parses every row"))
    }
}

/// A word that a matching name can contain.
struct Hint {
    text: &'static str,
    characters: TextCharacters,
}

impl Hint {
    fn new(text: &'static str) -> Hint {
        Hint {
            text,
            characters: TextCharacters::new(text),
        }
    }
}

/// The set of bytes in a text, modulo 128. Most words of the table are missing in a name because of one character.
#[derive(Clone, Copy)]
pub(super) struct TextCharacters(u128);

impl TextCharacters {
    pub(super) fn new(text: &str) -> TextCharacters {
        /// The bit of each byte. Reading it is faster than a shift of 128 bits.
        static BITS: [u128; 256] = {
            let mut bits = [0_u128; 256];
            let mut byte = 0;
            while byte < bits.len() {
                bits[byte] = 1_u128 << (byte % 128);
                byte += 1;
            }
            bits
        };
        let bits = text.bytes().map(|byte| BITS[usize::from(byte)]);
        TextCharacters(bits.fold(0, |set, bit| set | bit))
    }

    /// Returns true if the set contains all characters of another set.
    fn include(self, other: TextCharacters) -> bool {
        other.0 & !self.0 == 0
    }
}
