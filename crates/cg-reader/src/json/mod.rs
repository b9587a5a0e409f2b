//! What readers of JSON share: names that may be any bytes, columns of numbers, a scanner for what nests too deeply or
//! ends too early for a parser, one for documents that are not held, and messages that say where.

mod list;
mod scanner;
mod text;
mod window;

pub use list::{Index, List, ListElements, NotInList, integer};
pub use scanner::Scanner;
use serde::Deserialize;
pub use text::{JsonText, bytes_of, string_of};
pub use window::Window;

use crate::error::Error;

/// Reads a whole document.
pub fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|error| explain(text, 0, &error))
}

/// What is wrong with a document; the parser that says so began at `start`.
pub fn explain(text: &[u8], start: usize, error: &serde_json::Error) -> Error {
    if error.is_eof() {
        return cut_short(text);
    }
    let position = start + offset_of(&text[start..], error.line(), error.column());
    let (line, line_start) = line_at(text, position);
    Error::at(
        line,
        format!(
            "{} (column {})",
            without_place(error),
            position - line_start
        ),
    )
}

/// The error for a document that ends too early.
pub fn cut_short(text: &[u8]) -> Error {
    let (line, start) = line_at(text, text.len());
    Error::at(
        line,
        format!(
            "expected more of the JSON, found the end of the file in column {}: it is cut short",
            text.len() - start + 1
        ),
    )
}

/// serde_json's messages end with the place, which stands elsewhere in ours.
pub fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.find(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message,
    }
}

/// The line that a position is in, counted from 1, and where that line starts.
pub fn line_at(text: &[u8], position: usize) -> (u64, usize) {
    let before = &text[..position.min(text.len())];
    let newlines = memchr::memchr_iter(b'\n', before).count() as u64;
    (
        newlines + 1,
        memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1),
    )
}

/// The position of a line and column, both counted from 1.
fn offset_of(text: &[u8], line: usize, column: usize) -> usize {
    let line_start = match line {
        0 | 1 => 0,
        _ => memchr::memchr_iter(b'\n', text)
            .nth(line - 2)
            .map_or(text.len(), |newline| newline + 1),
    };
    (line_start + column).min(text.len())
}
