//! Errors of readers.

use std::io;

use cg_collections::intern::TooMany;
use thiserror::Error as ThisError;

/// The reason why a profile could not be read. The text of a malformed input is `LINE: message`, so that `FILE:` before it
/// makes the usual form.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The input does not conform to its format.
    #[error("{}{message}", line.map(|line| format!("{line}: ")).unwrap_or_default())]
    Malformed {
        /// The line number, counted from 1; `None` for an error about the input as a whole.
        line: Option<u64>,
        /// The expected and the found text.
        message: String,
    },
    /// The input could not be read.
    #[error("cannot read the input")]
    Input(#[source] io::Error),
    /// The output could not be written. Reading on is useless.
    #[error("cannot write the stream")]
    Output(#[source] io::Error),
}

impl Error {
    /// Creates an error about a line.
    pub fn at(line: u64, message: impl Into<String>) -> Error {
        Error::Malformed {
            line: Some(line),
            message: message.into(),
        }
    }

    /// Creates an error about the input as a whole.
    pub fn whole(message: impl Into<String>) -> Error {
        Error::Malformed {
            line: None,
            message: message.into(),
        }
    }

    /// Creates an error about a line that has `found` instead of `expected`.
    pub fn unexpected(line: u64, expected: &str, found: &[u8]) -> Error {
        Error::at(
            line,
            format!("expected {expected}, found {}", excerpt(found)),
        )
    }

    /// Creates an error about an input that has `found` instead of `expected`.
    pub fn unexpected_text(expected: &str, found: &[u8]) -> Error {
        Error::whole(format!("expected {expected}, found {}", excerpt(found)))
    }

    /// Adds a line to an error about a malformed input without one.
    #[must_use]
    pub fn or_at(self, line: u64) -> Error {
        match self {
            Error::Malformed {
                line: None,
                message,
            } => Error::at(line, message),
            other => other,
        }
    }

    /// Returns `FILE:LINE: message`.
    pub fn in_file(&self, file: &str) -> String {
        match self {
            Error::Malformed { line: Some(_), .. } => format!("{file}:{self}"),
            Error::Malformed { line: None, .. } => format!("{file}: {self}"),
            Error::Input(error) | Error::Output(error) => format!("{file}: {error}"),
        }
    }
}

impl From<TooMany> for Error {
    fn from(too_many: TooMany) -> Error {
        Error::whole(too_many.to_string())
    }
}

/// Errors from the sink concern the input, except write errors.
impl From<cg_stream::Error> for Error {
    fn from(error: cg_stream::Error) -> Error {
        match error.as_io() {
            Some(_) => Error::Output(error.into()),
            None => Error::whole(error.to_string()),
        }
    }
}

/// Returns the element at a position that an input contains. `what` names the elements in the message.
///
/// # Errors
/// Returns an error if there are fewer elements.
pub fn get_checked<'t, T>(all: &'t [T], position: usize, what: &str) -> Result<&'t T, Error> {
    let count = all.len();
    let beyond = || format!("expected one of {count} {what}, found number {position}");
    all.get(position).ok_or_else(|| Error::whole(beyond()))
}

/// Quotes at most 60 bytes of a line for a message.
pub fn excerpt(line: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST)]).into_owned();
    if line.len() > LONGEST {
        format!("\"{text}…\"")
    } else {
        format!("\"{text}\"")
    }
}
