//! Common parts of readers of JSON: strings of any bytes, lists of numbers, error messages with a position, and a walker
//! over the tokens of a document. As [`Scanner`], it handles documents in memory that are nested too deeply or truncated. As
//! [`Window`], it reads documents without keeping them in memory.

mod items;
mod list;
mod scanner;
mod text;
mod walker;
mod window;

pub use items::{ItemList, items};
pub use list::{Index, List, ListElements, NotInList, integer};
pub use scanner::{Scanner, SliceSource};
use serde::Deserialize;
pub use text::{JsonText, bytes_or_empty, non_empty_string};
pub use walker::{JsonSource, Walker};
pub use window::{BufferSource, Window};

use crate::error::Error;

/// Reads a whole document.
pub fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|error| match error.is_eof() {
        true => Scanner::new(text).cut_short(),
        false => Scanner::new(text).explain(&error),
    })
}

/// Returns the message of serde_json without its position, which our messages contain elsewhere.
pub fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.find(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message,
    }
}

/// Returns the line of a position, counted from 1, and the start of that line.
pub fn line_at(text: &[u8], position: usize) -> (u64, usize) {
    let before = &text[..position.min(text.len())];
    let newlines = memchr::memchr_iter(b'\n', before).count() as u64;
    (
        newlines + 1,
        memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1),
    )
}
