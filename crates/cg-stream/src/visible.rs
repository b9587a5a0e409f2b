//! Escaping of control characters in text that comes from an input, such as names and messages.

use std::borrow::Cow;

/// Returns the text with its control characters escaped (`\n`, `\u{1b}`), so that it can neither control a terminal nor
/// look like other text. These are C0, DEL and C1, and the characters that change the direction of the text around them
/// (Unicode's Bidi_Control property).
pub fn visible(text: &str) -> Cow<'_, str> {
    if !find(text, [' ', ' ']).control || !text.contains(is_control) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_control(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The special characters that a text contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// True if [`visible`] may have to escape a character: an ASCII control character, or a byte that begins one of the
    /// others.
    pub control: bool,
    /// True if the text contains one of the two wanted characters.
    pub other: bool,
}

/// Searches for control characters and for two other ASCII characters, which must not be letters. It has no early return and
/// uses blocks of one size, of which the last overlaps the previous one. So the compiler vectorizes the whole loop, and
/// almost every name is scanned to its end anyway.
pub fn find(text: &str, others: [char; 2]) -> Found {
    let (bytes, others) = (text.as_bytes(), others.map(|other| other as u8));
    let block = |found: Found, bytes: &[u8; 32]| {
        bytes.iter().fold(found, |found, byte| Found {
            control: found.control | (*byte < 0x20) | matches!(*byte, 0x7f | 0xc2 | 0xd8 | 0xe2),
            other: found.other | (*byte == others[0]) | (*byte == others[1]),
        })
    };
    match bytes.last_chunk() {
        Some(last) => {
            let blocks = bytes.as_chunks().0.iter();
            blocks.fold(block(Found::default(), last), block)
        }
        None => {
            let mut padded = [b'a'; 32];
            padded[..bytes.len()].copy_from_slice(bytes);
            block(Found::default(), &padded)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_and_direction_changes_are_escaped() {
        for (text, shown) in [
            ("a\x1b[2J\n\t\r\x07", "a\\u{1b}[2J\\n\\t\\r\\u{7}"),
            ("\x7f \u{9b}2J \u{85}", "\\u{7f} \\u{9b}2J \\u{85}"),
            (
                "\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}",
                "\\u{202a}\\u{202e}\\u{2066}\\u{2069}\\u{200e}\\u{200f}\\u{61c}",
            ),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn exactly_the_control_characters_of_unicode_are_escaped() {
        let bidi = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            let is_escaped = character.is_control() || bidi.contains(character);
            assert_eq!(visible(&text) != text, is_escaped, "{character:?}");
        }
    }

    #[test]
    fn a_control_character_is_found_at_any_position() {
        for length in 1..70 {
            for place in 0..length {
                for (found, is_control) in [('\x1b', true), ('\u{2066}', true), (',', false)] {
                    let text: String = (0..length)
                        .map(|position| if position == place { found } else { 'a' })
                        .collect();
                    assert_eq!(visible(&text) != text, is_control, "{text:?}");
                    let both = find(&text, ['"', ',']);
                    assert_eq!(
                        (both.control, both.other),
                        (is_control, !is_control),
                        "{text:?}"
                    );
                    assert_eq!(
                        find(&text.replace(found, "b"), [',', '"']),
                        Found::default()
                    );
                }
            }
        }
    }

    #[test]
    fn other_text_is_borrowed() {
        for text in ["demo::main", "é “…” → ص 日本語", ""] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }
}
