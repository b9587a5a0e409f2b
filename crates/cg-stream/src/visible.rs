//! Text of other people's programs as it may be shown: names and messages are input and may hold anything.

use std::borrow::Cow;

/// Text with its control characters spelled out (`\n`, `\u{1b}`), so that it can neither steer a terminal nor pretend
/// to be something else: C0, DEL and C1, and the characters that change the direction of the text around them
/// (Unicode's Bidi_Control property).
pub fn visible(text: &str) -> Cow<'_, str> {
    if !may_hold_control(text.as_bytes()) || !text.contains(is_control) {
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

/// True if [`visible`] may spell something out, or the text has one of two other characters of ASCII.
pub fn may_need_more(text: &str, others: [char; 2]) -> bool {
    let others = others.map(|other| other as u8);
    any(text.as_bytes(), |byte| {
        may_be_of_control(byte) | (byte == others[0]) | (byte == others[1])
    })
}

fn may_hold_control(bytes: &[u8]) -> bool {
    any(bytes, may_be_of_control)
}

/// True for an ASCII control character, and for a byte that begins one of the other control characters.
#[inline]
fn may_be_of_control(byte: u8) -> bool {
    (byte < 0x20) | matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2)
}

/// True if any byte is so. No early return: the compiler then compares sixteen bytes at once, and almost every name is scanned
/// to its end anyway. The last sixteen overlap those before them, so there is no rest.
#[inline]
fn any(bytes: &[u8], is: impl Fn(u8) -> bool) -> bool {
    let Some(last) = bytes.last_chunk::<16>() else {
        return bytes.iter().any(|byte| is(*byte));
    };
    let mut found = [false; 16];
    for block in bytes.as_chunks::<16>().0.iter().chain([last]) {
        for (found, byte) in found.iter_mut().zip(block) {
            *found |= is(*byte);
        }
    }
    found.contains(&true)
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
        for length in 1..50 {
            for place in 0..length {
                for (found, is_control) in [('\x1b', true), ('\u{2066}', true), (',', false)] {
                    let text: String = (0..length)
                        .map(|position| if position == place { found } else { 'a' })
                        .collect();
                    assert_eq!(visible(&text) != text, is_control, "{text:?}");
                    assert!(may_need_more(&text, [',', '"']), "{text:?}");
                    assert!(!may_need_more(&text.replace(found, "b"), [',', '"']));
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
