//! The width of a text in a terminal.

/// The width of a text in columns. Most names, paths and numbers are ASCII, so their characters need no table.
pub(crate) trait TextWidth {
    fn width(&self) -> usize;
}

impl TextWidth for str {
    fn width(&self) -> usize {
        let is_printable = |byte: u8| matches!(byte, b' '..=b'~');
        match self.bytes().all(is_printable) {
            true => self.len(),
            false => unicode_width::UnicodeWidthStr::width(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_has_the_width_of_the_tables() {
        for character in (0..0x3000).filter_map(char::from_u32) {
            let text = format!("a{character}b");
            let expected = unicode_width::UnicodeWidthStr::width(text.as_str());
            assert_eq!(TextWidth::width(text.as_str()), expected, "{text:?}");
        }
    }
}
