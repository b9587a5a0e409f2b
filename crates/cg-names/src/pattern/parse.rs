//! Translation of a pattern's text into steps.

use super::{CharacterSet, GROUPS, NonAscii, PatternStep, character_bits};

/// Parses a pattern. Returns its steps, and a text that every match contains; `None` if the syntax is not supported.
pub(super) fn parse(source: &'static str) -> Option<(Vec<PatternStep>, &'static str)> {
    let mut parser = PatternParser {
        source,
        at: 0,
        steps: Vec::with_capacity(32),
        groups: 0,
        depth: 0,
        required: "",
    };
    parser.parse_alternatives()?;
    if parser.at < source.len() {
        return None;
    }
    parser.steps.push(PatternStep::Found);
    Some((parser.steps, parser.required))
}

struct PatternParser {
    source: &'static str,
    /// The position of the next byte to read.
    at: usize,
    steps: Vec<PatternStep>,
    /// The number of groups so far.
    groups: usize,
    /// The number of open parentheses.
    depth: usize,
    /// The longest text so far that is outside of parentheses and not optional.
    required: &'static str,
}

/// The number of times that an item may occur.
struct Repetition {
    least: usize,
    /// `None` for any number.
    most: Option<usize>,
    /// True if fewer occurrences are preferred.
    is_lazy: bool,
}

impl PatternParser {
    /// Parses `a|b|c`, up to the closing parenthesis or the end.
    fn parse_alternatives(&mut self) -> Option<()> {
        let mut jumps = Vec::new();
        loop {
            let start = self.steps.len();
            self.parse_sequence()?;
            if !self.eat("|") {
                break;
            }
            let length = self.steps.len() - start;
            let either = PatternStep::Either {
                first: 1,
                second: length + 2,
            };
            self.steps.insert(start, either);
            jumps.push(self.steps.len());
            self.steps.push(PatternStep::Ahead(0));
        }
        if self.depth == 0 && !jumps.is_empty() {
            self.required = "";
        }
        let end = self.steps.len();
        for jump in jumps {
            self.steps[jump] = PatternStep::Ahead(end - jump);
        }
        Some(())
    }

    fn parse_sequence(&mut self) -> Option<()> {
        while !matches!(self.peek(), None | Some(b'|' | b')')) {
            let start = self.steps.len();
            self.parse_item()?;
            let repetition = self.parse_repetition()?;
            if self.depth == 0
                && repetition.least > 0
                && let Some(PatternStep::Text(text)) = self.steps.get(start)
                && text.len() > self.required.len()
            {
                self.required = *text;
            }
            self.repeat(start, &repetition);
        }
        Some(())
    }

    fn parse_item(&mut self) -> Option<()> {
        let step = if self.eat("(") {
            return self.parse_group();
        } else if self.eat("[") {
            PatternStep::One(self.parse_set()?)
        } else if self.eat(".") {
            PatternStep::One(CharacterSet::ALL_EXCEPT_LINE_END)
        } else if self.eat("\\w") {
            PatternStep::One(CharacterSet::WORD)
        } else if self.eat("\\b") {
            PatternStep::AtWordEdge
        } else if self.eat("^") {
            PatternStep::AtStart
        } else if self.eat("$") {
            PatternStep::AtEnd
        } else {
            PatternStep::Text(self.parse_text()?)
        };
        self.steps.push(step);
        Some(())
    }

    /// Parses a group after its opening parenthesis.
    fn parse_group(&mut self) -> Option<()> {
        let mut slot = None;
        if !self.eat("?:") {
            slot = Some(2 * self.groups);
            self.groups += 1;
            if self.groups > GROUPS {
                return None;
            }
        }
        self.steps.extend(slot.map(PatternStep::Save));
        self.depth += 1;
        self.parse_alternatives()?;
        self.depth -= 1;
        self.steps
            .extend(slot.map(|slot| PatternStep::Save(slot + 1)));
        self.eat(")").then_some(())
    }

    /// Parses a text without special characters. A repetition after it belongs to its last character only.
    fn parse_text(&mut self) -> Option<&'static str> {
        let source = self.source;
        let is_escaped = self.eat("\\");
        let rest = &source[self.at..];
        let first = rest.chars().next()?;
        let is_valid = match is_escaped {
            true => first.is_ascii_punctuation(),
            false => !is_special(first),
        };
        if !is_valid {
            return None;
        }
        let (_, more) = rest.split_at(first.len_utf8());
        let mut more = &more[..more.find(is_special).unwrap_or(more.len())];
        let after = rest.as_bytes().get(first.len_utf8() + more.len());
        if matches!(after, Some(b'?' | b'*' | b'+' | b'{'))
            && let Some((last, _)) = more.char_indices().next_back()
        {
            more = &more[..last];
        }
        let length = first.len_utf8() + more.len();
        self.at += length;
        Some(&rest[..length])
    }

    /// Parses a set after its opening bracket.
    fn parse_set(&mut self) -> Option<CharacterSet> {
        let is_negated = self.eat("^");
        let mut ascii = 0;
        while !self.eat("]") {
            let first = self.parse_set_character()?;
            let next = self.source.as_bytes().get(self.at + 1);
            let mut last = first;
            if self.peek() == Some(b'-') && next != Some(&b']') {
                self.at += 1;
                last = self.parse_set_character()?;
            }
            ascii |= character_bits(first, last);
        }
        Some(if is_negated {
            CharacterSet {
                ascii: !ascii,
                others: NonAscii::Included,
            }
        } else {
            CharacterSet {
                ascii,
                others: NonAscii::Excluded,
            }
        })
    }

    fn parse_set_character(&mut self) -> Option<u8> {
        let is_escaped = self.eat("\\");
        let byte = self.peek()?;
        if !byte.is_ascii() || is_escaped && byte.is_ascii_alphanumeric() {
            return None;
        }
        self.at += 1;
        Some(byte)
    }

    fn parse_repetition(&mut self) -> Option<Repetition> {
        let (least, most) = if self.eat("?") {
            (0, Some(1))
        } else if self.eat("*") {
            (0, None)
        } else if self.eat("+") {
            (1, None)
        } else if self.eat("{") {
            let least = self.parse_number()?;
            let most = if self.eat(",") {
                self.parse_number()?
            } else {
                least
            };
            if !self.eat("}") {
                return None;
            }
            (least, Some(most))
        } else {
            return Some(Repetition {
                least: 1,
                most: Some(1),
                is_lazy: false,
            });
        };
        Some(Repetition {
            least,
            most,
            is_lazy: self.eat("?"),
        })
    }

    fn parse_number(&mut self) -> Option<usize> {
        let rest = &self.source[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.at += digits;
        rest[..digits].parse().ok()
    }

    /// Repeats the item that consists of all steps from a position.
    fn repeat(&mut self, start: usize, repetition: &Repetition) {
        if (repetition.least, repetition.most) == (1, Some(1)) {
            return;
        }
        let item = self.steps.split_off(start);
        let take_or_skip = |distance| match repetition.is_lazy {
            false => PatternStep::Either {
                first: 1,
                second: distance,
            },
            true => PatternStep::Either {
                first: distance,
                second: 1,
            },
        };
        for _ in 0..repetition.least {
            self.steps.extend_from_slice(&item);
        }
        match repetition.most {
            None => {
                self.steps.push(take_or_skip(item.len() + 2));
                self.steps.extend_from_slice(&item);
                self.steps.push(PatternStep::Back(item.len() + 1));
            }
            Some(most) => {
                for _ in repetition.least..most {
                    self.steps.push(take_or_skip(item.len() + 1));
                    self.steps.extend_from_slice(&item);
                }
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    /// Reads a text if it is next.
    fn eat(&mut self, text: &str) -> bool {
        let rest = self.source.as_bytes().get(self.at..).unwrap_or_default();
        let is_next = rest.starts_with(text.as_bytes());
        if is_next {
            self.at += text.len();
        }
        is_next
    }
}

/// Returns true for characters that do not match themselves.
fn is_special(character: char) -> bool {
    matches!(
        character,
        '\\' | '.' | '[' | '(' | ')' | '|' | '?' | '*' | '+' | '{' | '^' | '$'
    )
}
