//! Markup that is being written: HTML, and SVG in it or by itself.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::visible;

/// Tags that are our own, and text that is input. The only way for text into markup is [`Markup::text`], so nothing that
/// a name holds is ever markup.
#[derive(Default)]
pub(crate) struct Markup(String);

impl Markup {
    /// Markup of our own.
    pub(crate) fn tag(&mut self, tag: &'static str) {
        self.0.push_str(tag);
    }

    /// Text, between tags or in an attribute with quotes around it.
    pub(crate) fn text(&mut self, text: &str) {
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

    /// A whole number, as an attribute or as text.
    pub(crate) fn integer(&mut self, number: usize) {
        // A String takes everything, so there are no errors of writing.
        let _ = write!(self.0, "{number}");
    }

    /// A number with at most two decimals.
    pub(crate) fn decimal(&mut self, number: f64) {
        let text = format!("{number:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        self.0.push_str(if text == "-0" { "0" } else { text });
    }

    /// What is markup or script already: our own, or of letters that are none.
    pub(crate) fn trusted(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// What was written.
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

/// Text that people see, without the two characters that XML has no way to write.
fn drawable(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    match text.contains(['\u{fffe}', '\u{ffff}']) {
        true => text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}").into(),
        false => text,
    }
}

/// Appends a text to an address: bytes that are no letters or digits, and none of `plain`, are percent-encoded.
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
