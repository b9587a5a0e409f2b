//! One module an output. Each takes a document and a writer; none knows where the figures are from.

pub(crate) mod csv;
pub(crate) mod markdown;
pub(crate) mod table;

/// Text as it may be printed: control characters, which names of other people's programs may hold, are spelled out.
pub(crate) fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return text.into();
    }
    text.chars()
        .map(|character| match character {
            character if character.is_control() => character.escape_default().to_string(),
            character => character.to_string(),
        })
        .collect()
}
