//! Parses the text that describes a frame in profiles of Firefox itself.
//!
//! - `0x7f1122334455`: an absolute address;
//! - `name (in libxul.so)`: a name and an object. After symbolication ` + 1234` or ` (file.cpp:12)` follows;
//! - `name (https://example.org/a.js:12:3)`: a name and a place. Since version 32 the number of the source follows: `[7]`.
//!   If another script loaded the script, its URL follows ` -> `;
//! - `https://example.org/a.js:12`: the code of a script outside functions;
//! - any other text is a name: `(root)`, or a label of the browser.

/// The parts of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TextLocation<'a> {
    pub(super) name: &'a str,
    pub(super) object: &'a str,
    pub(super) file: &'a str,
    pub(super) line: Option<u64>,
}

/// Parses a text that is an address.
pub(super) fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

pub(super) fn location(text: &str) -> TextLocation<'_> {
    object(text)
        .or_else(|| script(text))
        .unwrap_or(TextLocation {
            name: text,
            ..TextLocation::default()
        })
}

/// Parses `name (in object)` and the text that may follow it.
fn object(text: &str) -> Option<TextLocation<'_>> {
    let (name, rest) = text.rsplit_once(" (in ")?;
    let (object, rest) = rest.split_once(')')?;
    let mut location = TextLocation {
        name,
        object,
        ..TextLocation::default()
    };
    let rest = rest.trim_start();
    if let Some(place) = rest
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        && let Some((file, line)) = numbered(place)
    {
        (location.file, location.line) = (file, Some(line));
    } else if !(rest.is_empty() || rest.starts_with('+')) {
        return None;
    }
    Some(location)
}

/// Parses `name (url:line)` or `url:line`.
fn script(text: &str) -> Option<TextLocation<'_>> {
    let text = match text.rsplit_once('[') {
        Some((front, index)) if index.strip_suffix(']').is_some_and(is_number) => front,
        _ => text,
    };
    let (name, place) = match text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("))
    {
        Some((name, place)) => (name, place),
        None => ("", text),
    };
    let place = place.rsplit_once(" -> ").map_or(place, |(_, last)| last);
    let (front, line) = numbered(place)?;
    // A column may follow the line.
    let (file, line) = numbered(front).unwrap_or((front, line));
    Some(TextLocation {
        name: if name.is_empty() { file } else { name },
        file,
        line: Some(line),
        ..TextLocation::default()
    })
}

/// Splits `front:NUMBER`.
fn numbered(text: &str) -> Option<(&str, u64)> {
    let (front, digits) = text.rsplit_once(':')?;
    let number = is_number(digits).then(|| digits.parse().ok())??;
    Some((front, number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_locations_are_parsed() {
        for (text, name, object, file, line) in [
            ("(root)", "(root)", "", "", None),
            ("f (in XUL)", "f", "XUL", "", None),
            ("f (in libc.so.6) + 1234", "f", "libc.so.6", "", None),
            (
                "ns::f(int) (in XUL) (a.cpp:12)",
                "ns::f(int)",
                "XUL",
                "a.cpp",
                Some(12),
            ),
            ("g (file:///s.js:8)", "g", "", "file:///s.js", Some(8)),
            (
                "g (https://x.org/s.js:8:17)[3]",
                "g",
                "",
                "https://x.org/s.js",
                Some(8),
            ),
            (
                "g (resource://a.js -> resource://b.js:150)",
                "g",
                "",
                "resource://b.js",
                Some(150),
            ),
            (
                "https://x.org/s.js:12",
                "https://x.org/s.js",
                "",
                "https://x.org/s.js",
                Some(12),
            ),
            ("a[0]", "a[0]", "", "", None),
            ("std::sort", "std::sort", "", "", None),
        ] {
            let expected = TextLocation {
                name,
                object,
                file,
                line,
            };
            assert_eq!(location(text), expected, "{text}");
        }
        assert_eq!(address("0x10"), Some(16));
        assert_eq!(address("0xyz"), None);
    }
}
