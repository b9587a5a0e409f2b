//! Patterns for the tables of this crate: a part of the syntax of the regex crate, with the same results.
//!
//! A pattern is prepared in a few thousand instructions. The regex crate compiles the patterns of `occupation/names.txt` in
//! 131 million, more than a small report needs for everything else. Patterns that users write are left to the regex crate.
//!
//! | syntax | match |
//! |---|---|
//! | `x`, `\.` | this character; a backslash precedes punctuation |
//! | `.` | any character except a line end |
//! | `\w` | a letter, a digit, `_`, or another character of words in any script |
//! | `[a-z_]`, `[^/]` | a character of an ASCII set, or any other character |
//! | `(a\|b)`, `(?:a\|b)` | an alternative, with or without a group for the replacement |
//! | `?` `*` `+` `{2}` `{2,4}` | repetitions of the preceding character, set or group; a `?` after them prefers fewer |
//! | `^` `$` `\b` | the beginning and the end of the name, and an edge of a word |

mod parse;
mod search;
#[cfg(test)]
pub(crate) mod tests;

use search::PatternSearch;

/// A pattern for names.
pub(crate) struct NamePattern {
    /// The program that [`PatternSearch`] follows.
    steps: Vec<PatternStep>,
    /// The ASCII characters with which a match can begin, one bit each.
    first_characters: u128,
    /// The ASCII characters that can be the second one of a match, one bit each.
    second_characters: u128,
    /// A text that every match contains. Empty if none is known.
    required: &'static str,
}

/// A step of a pattern. Distances are counted in steps, so a sequence of steps can be copied.
#[derive(Clone, Copy)]
enum PatternStep {
    /// This text follows.
    Text(&'static str),
    /// A character of this set follows.
    One(CharacterSet),
    /// The search continues at the first distance ahead. If that fails, it continues at the second.
    Either { first: usize, second: usize },
    /// The search continues at this distance ahead.
    Ahead(usize),
    /// The search continues at this distance back.
    Back(usize),
    /// A group begins or ends here. Its position is saved in this slot.
    Save(usize),
    /// The name begins here.
    AtStart,
    /// The name ends here.
    AtEnd,
    /// A word begins or ends here.
    AtWordEdge,
    /// The pattern ends here.
    Found,
}

/// A set of characters.
#[derive(Clone, Copy)]
struct CharacterSet {
    /// The ASCII characters in the set, one bit each.
    ascii: u128,
    others: NonAscii,
}

/// The characters outside ASCII in a set.
#[derive(Clone, Copy)]
enum NonAscii {
    Excluded,
    Included,
    /// Only characters of words.
    Words,
}

/// The maximum number of groups in a pattern.
const GROUPS: usize = 5;

/// The beginning and the end of each group, if the match contains the group.
type SavedPositions = [Option<usize>; 2 * GROUPS];

/// A match in a name.
struct PatternMatch {
    start: usize,
    end: usize,
    saved: SavedPositions,
}

impl NamePattern {
    /// Parses a pattern. Returns `None` if its syntax is not supported, or if it matches the empty text.
    pub(crate) fn parse(source: &'static str) -> Option<NamePattern> {
        let (steps, required) = parse::parse(source)?;
        let first = next_characters(&steps, vec![(0, 0)]);
        if first.includes_end {
            return None;
        }
        Some(NamePattern {
            first_characters: first.ascii,
            second_characters: next_characters(&steps, first.after).ascii,
            steps,
            required,
        })
    }

    /// Returns true if the pattern matches the whole name. The first two characters exclude most patterns.
    #[inline]
    pub(crate) fn matches(&self, name: &str) -> bool {
        let may_continue = match name.as_bytes().get(1) {
            Some(byte) => !byte.is_ascii() || (self.second_characters >> *byte) & 1 != 0,
            None => true,
        };
        self.may_begin(name, 0) && may_continue && self.search_whole(name)
    }

    fn search_whole(&self, name: &str) -> bool {
        name.contains(self.required)
            && PatternSearch::new(&self.steps, name, true)
                .find_end(0)
                .is_some()
    }

    /// Replaces all matches in a name; `None` without a match. In the replacement, `$1` is the text of the first group, and
    /// `$$` is a dollar sign.
    pub(crate) fn replace_all(&self, name: &str, replacement: &str) -> Option<String> {
        let mut result = String::new();
        let mut end = 0;
        while let Some(found) = self.find(name, end) {
            result.push_str(&name[end..found.start]);
            found.push_replacement(name, replacement, &mut result);
            end = found.end;
        }
        // A match is never empty, so the end of the last match is not 0.
        (end > 0).then(|| result + &name[end..])
    }

    /// Finds the first match at or after a position.
    fn find(&self, name: &str, from: usize) -> Option<PatternMatch> {
        let is_anchored = matches!(self.steps.first(), Some(PatternStep::AtStart));
        let last = if is_anchored { 1 } else { name.len() };
        let mut search = PatternSearch::new(&self.steps, name, false);
        let (start, end) = (from..last)
            .filter(|start| self.may_begin(name, *start))
            .find_map(|start| Some((start, search.find_end(start)?)))?;
        Some(PatternMatch {
            start,
            end,
            saved: search.saved,
        })
    }

    /// Returns true if the character at a position can be the first one of a match.
    #[inline]
    fn may_begin(&self, name: &str, at: usize) -> bool {
        match name.as_bytes().get(at) {
            Some(byte) if byte.is_ascii() => (self.first_characters >> *byte) & 1 != 0,
            Some(_) => name.is_char_boundary(at),
            None => false,
        }
    }
}

impl PatternMatch {
    /// Appends the replacement of the match in a name.
    fn push_replacement(&self, name: &str, replacement: &str, result: &mut String) {
        let mut rest = replacement;
        while let Some((text, after)) = rest.split_once('$') {
            result.push_str(text);
            match after.as_bytes().first() {
                Some(digit @ b'1'..=b'9') => result.push_str(self.group(name, digit - b'1')),
                _ => result.push('$'),
            }
            rest = after.get(1..).unwrap_or_default();
        }
        result.push_str(rest);
    }

    /// Returns the text of a group, which is empty if the match does not contain the group. The first group is 0.
    fn group<'a>(&self, name: &'a str, group: u8) -> &'a str {
        let slot = 2 * usize::from(group);
        match self.saved.get(slot..slot + 2) {
            Some(&[Some(start), Some(end)]) => &name[start..end],
            _ => "",
        }
    }
}

/// The characters that can follow at some positions of a pattern.
struct NextCharacters {
    /// The ASCII characters, one bit each.
    ascii: u128,
    /// The positions after these characters, and after characters outside ASCII.
    after: Vec<PatternPosition>,
    /// True if the pattern can end.
    includes_end: bool,
}

/// A step of a pattern, and a position in the text of the step.
type PatternPosition = (usize, usize);

/// Returns the characters that can follow at positions of a pattern.
fn next_characters(steps: &[PatternStep], mut pending: Vec<PatternPosition>) -> NextCharacters {
    let mut next = NextCharacters {
        ascii: 0,
        after: Vec::new(),
        includes_end: false,
    };
    let mut seen = vec![false; steps.len()];
    while let Some((at, offset)) = pending.pop() {
        if offset == 0 && std::mem::replace(&mut seen[at], true) {
            continue;
        }
        match steps[at] {
            PatternStep::Text(text) => {
                let byte = text.as_bytes()[offset];
                if byte.is_ascii() {
                    next.ascii |= character_bits(byte, byte);
                }
                let is_last = offset + 1 == text.len();
                next.after.push(if is_last {
                    (at + 1, 0)
                } else {
                    (at, offset + 1)
                });
            }
            PatternStep::One(set) => {
                next.ascii |= set.ascii;
                next.after.push((at + 1, 0));
            }
            PatternStep::Either { first, second } => {
                pending.extend([(at + first, 0), (at + second, 0)]);
            }
            PatternStep::Ahead(distance) => pending.push((at + distance, 0)),
            PatternStep::Back(distance) => pending.push((at - distance, 0)),
            PatternStep::Save(_)
            | PatternStep::AtStart
            | PatternStep::AtEnd
            | PatternStep::AtWordEdge => pending.push((at + 1, 0)),
            PatternStep::Found => next.includes_end = true,
        }
    }
    next
}

impl CharacterSet {
    /// The set of `\w`.
    const WORD: CharacterSet = CharacterSet {
        ascii: character_bits(b'0', b'9')
            | character_bits(b'A', b'Z')
            | character_bits(b'a', b'z')
            | character_bits(b'_', b'_'),
        others: NonAscii::Words,
    };

    /// The set of `.`.
    const ALL_EXCEPT_LINE_END: CharacterSet = CharacterSet {
        ascii: !character_bits(b'\n', b'\n'),
        others: NonAscii::Included,
    };

    /// Returns the length of the character at a position; `None` if it is missing or not in the set.
    fn width_at(self, text: &str, at: usize) -> Option<usize> {
        let byte = *text.as_bytes().get(at)?;
        if byte.is_ascii() {
            return ((self.ascii >> byte) & 1 != 0).then_some(1);
        }
        let character = text[at..].chars().next()?;
        let is_included = match self.others {
            NonAscii::Excluded => false,
            NonAscii::Included => true,
            NonAscii::Words => is_word_character(character),
        };
        is_included.then(|| character.len_utf8())
    }
}

/// Returns true for a character of words in any script, as the regex crate defines it.
fn is_word_character(character: char) -> bool {
    regex_syntax::is_word_character(character)
}

/// Returns the bits of a range of ASCII characters.
const fn character_bits(first: u8, last: u8) -> u128 {
    (u128::MAX << first) & (u128::MAX >> (127 - last))
}
