//! What can go wrong with a profile.

use std::io;

use cg_stream::intern::TooMany;
use thiserror::Error as ThisError;

/// Why a profile could not be parsed: `LINE: message` for an input that is malformed, so that a file's name and a colon in front
/// of it make the usual form.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The input is not what its format allows.
    #[error("{}{message}", line.map(|line| format!("{line}: ")).unwrap_or_default())]
    Malformed {
        /// The line, counted from 1; `None` where the input as a whole is meant.
        line: Option<u64>,
        /// What was expected and what was found.
        message: String,
    },
    /// The input could not be read.
    #[error("cannot read the input")]
    Input(#[source] io::Error),
    /// The output could not be written; nothing further is worth doing.
    #[error("cannot write the stream")]
    Output(#[source] io::Error),
}

impl Error {
    /// An error about a line.
    pub fn at(line: u64, message: impl Into<String>) -> Error {
        Error::Malformed {
            line: Some(line),
            message: message.into(),
        }
    }

    /// An error about the input as a whole.
    pub fn whole(message: impl Into<String>) -> Error {
        Error::Malformed {
            line: None,
            message: message.into(),
        }
    }

    /// The same: something else was expected than these bytes of the line.
    pub fn unexpected(line: u64, expected: &str, found: &[u8]) -> Error {
        Error::at(
            line,
            format!("expected {expected}, found {}", excerpt(found)),
        )
    }

    /// Something else was expected than these bytes.
    pub fn unexpected_text(expected: &str, found: &[u8]) -> Error {
        Error::whole(format!("expected {expected}, found {}", excerpt(found)))
    }

    /// `FILE:LINE: message`.
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

/// What a sink says of rows that it was handed is about the input, unless it is that they cannot be written.
impl From<cg_stream::Error> for Error {
    fn from(error: cg_stream::Error) -> Error {
        match error.as_io() {
            Some(_) => Error::Output(error.into()),
            None => Error::whole(error.to_string()),
        }
    }
}

/// One of so many things that an input numbers.
///
/// # Errors
/// Where it has fewer.
pub fn one_of<'t, T>(all: &'t [T], position: usize, what: &str) -> Result<&'t T, Error> {
    let count = all.len();
    let beyond = || format!("expected one of {count} {what}, found number {position}");
    all.get(position).ok_or_else(|| Error::whole(beyond()))
}

/// At most 60 bytes of a line, for a message that quotes what was found.
pub fn excerpt(line: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST)]).into_owned();
    if line.len() > LONGEST {
        format!("\"{text}…\"")
    } else {
        format!("\"{text}\"")
    }
}
