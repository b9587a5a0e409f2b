//! A writer of markup: HTML, embedded SVG and separate SVG files.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::visible;

/// A text of fixed tags and escaped input. Input enters only through [`Markup::text`], so names are never markup.
#[derive(Default)]
pub struct Markup(String);

impl Markup {
    /// Appends fixed markup.
    pub fn tag(&mut self, tag: &'static str) {
        self.0.push_str(tag);
    }

    /// Appends escaped text, for use between tags or in a quoted attribute.
    pub fn text(&mut self, text: &str) {
        let text = drawable(text);
        let mut rest = &*text;
        while let Some(position) = rest.find(['&', '<', ']', '"', '\'']) {
            self.0.push_str(&rest[..position]);
            self.0.push_str(match rest.as_bytes()[position] {
                // XML only refuses `]]>`. Names have many `>`, so `]` is escaped instead.
                b']' => "&#93;",
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'"' => "&quot;",
                _ => "&#39;",
            });
            rest = &rest[position + 1..];
        }
        self.0.push_str(rest);
    }

    /// Appends an integer.
    pub fn integer(&mut self, number: usize) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.0, "{number}");
    }

    /// Appends a number with at most two decimals.
    pub fn decimal(&mut self, number: f64) {
        let text = format!("{number:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        self.0.push_str(if text == "-0" { "0" } else { text });
    }

    /// Appends markup or script that is known to be safe.
    pub fn trusted(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// Returns the markup.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Returns the visible form of a text, without the two characters that XML cannot represent.
fn drawable(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    match text.contains(['\u{fffe}', '\u{ffff}']) {
        true => text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}").into(),
        false => text,
    }
}

/// Appends a text to an address. Percent-encodes all bytes except letters, digits and the bytes of `plain`.
pub fn push_encoded(address: &mut String, text: &str, plain: &[u8]) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            address.push(byte as char);
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_text_between_tags_and_in_attributes() {
        let mut markup = Markup::default();
        markup.text("</td><script>alert(\"1\")</script>&amp;'\u{1b}\u{202e}\u{ffff}é]]>");
        assert_eq!(
            markup.into_string(),
            "&lt;/td>&lt;script>alert(&quot;1&quot;)&lt;/script>&amp;amp;&#39;\\u{1b}\\u{202e}\u{fffd}é&#93;&#93;>"
        );
    }

    #[test]
    fn numbers_are_short() {
        let mut markup = Markup::default();
        for number in [0.0, -0.001, 12.5, 100.0, 7.127] {
            markup.decimal(number);
            markup.tag(" ");
        }
        assert_eq!(markup.into_string(), "0 0 12.5 100 7.13 ");
    }
}
