//! What can go wrong with a profile.

use std::{fmt, io};

use cg_stream::intern::TooMany;

/// Why a profile could not be parsed.
#[derive(Debug)]
pub enum Error {
    /// The input is not what its format allows.
    Malformed {
        /// The line, counted from 1; `None` where the input as a whole is meant.
        line: Option<u64>,
        /// What was expected and what was found.
        message: String,
    },
    /// The input could not be read.
    Input(io::Error),
    /// The output could not be written; nothing further is worth doing.
    Output(io::Error),
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
            Error::Malformed {
                line: Some(line),
                message,
            } => format!("{file}:{line}: {message}"),
            Error::Malformed {
                line: None,
                message,
            } => format!("{file}: {message}"),
            Error::Input(error) | Error::Output(error) => format!("{file}: {error}"),
        }
    }
}

/// `LINE: message` for an input that is malformed, so that a file's name and a colon in front of it make the usual form.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Malformed {
                line: Some(line),
                message,
            } => write!(f, "{line}: {message}"),
            Error::Malformed {
                line: None,
                message,
            } => f.write_str(message),
            Error::Input(_) => f.write_str("cannot read the input"),
            Error::Output(_) => f.write_str("cannot write the stream"),
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

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Malformed { .. } => None,
            Error::Input(error) | Error::Output(error) => Some(error),
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
