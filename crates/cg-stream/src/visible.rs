//! Text of other people's programs as it may be shown: names and messages are input and may hold anything.

use std::borrow::Cow;

/// Text with its control characters spelled out (`\n`, `\u{1b}`), so that it can neither steer a terminal nor pretend
/// to be something else: C0, DEL and C1, and the characters that change the direction of the text around them
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

/// What a text has in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// What [`visible`] may spell out: an ASCII control character, or a byte that begins one of the others.
    pub control: bool,
    /// One of the characters that were asked for.
    pub other: bool,
}

/// Looks for control characters and for two others, of ASCII and no letters. No early return, and blocks of one size, the last
/// of which overlaps those before it: the compiler then compares many bytes at once and none by itself, and almost every name is
/// scanned to its end anyway.
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
    fn what_steers_a_terminal_or_turns_text_around_is_spelled_out() {
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
    fn every_control_character_of_unicode_is_spelled_out_and_nothing_else() {
        let bidi = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            let is_spelled_out = character.is_control() || bidi.contains(character);
            assert_eq!(visible(&text) != text, is_spelled_out, "{character:?}");
        }
    }

    #[test]
    fn a_control_character_is_found_wherever_it_is() {
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
