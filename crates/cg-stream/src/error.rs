//! The errors of reading and writing a stream.

use std::io;

use thiserror::Error as ThisError;

/// An error of reading or writing a stream. Its text is `LINE: message` if it is about a line, so that callers put `FILE:`
/// before it.
#[derive(Debug, ThisError)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

#[derive(Debug, ThisError)]
enum ErrorKind {
    #[error(transparent)]
    Io(io::Error),
    #[error("{line}: {message}")]
    Record { line: u64, message: String },
    #[error("{0}")]
    Whole(String),
}

impl Error {
    /// Creates the error of a line that does not parse as a record.
    pub(crate) fn record(line: u64, error: &serde_json::Error) -> Error {
        // serde_json ends its messages with "at line 1 column N". Each line is parsed separately, so only the column is
        // useful.
        let message = error.to_string();
        let text = message.split(" at line ").next().unwrap_or(&message);
        Error::at(
            line,
            format!("not a stream record: {text} (column {})", error.column()),
        )
    }

    /// Creates an error about a line of a stream.
    pub fn at(line: u64, message: impl Into<String>) -> Error {
        Error(Box::new(ErrorKind::Record {
            line,
            message: message.into(),
        }))
    }

    /// Creates an error about a stream as a whole.
    pub fn whole(message: impl Into<String>) -> Error {
        Error(Box::new(ErrorKind::Whole(message.into())))
    }

    /// Adds a line number to an error about the stream as a whole; does not change other errors.
    #[must_use]
    pub(crate) fn with_line(self, line: u64) -> Error {
        match *self.0 {
            ErrorKind::Whole(message) => Error::at(line, message),
            kind => Error(Box::new(kind)),
        }
    }

    /// Returns the number of the line with the error, counted from 1; `None` if the error is not about a line.
    pub fn line(&self) -> Option<u64> {
        match *self.0 {
            ErrorKind::Io(_) | ErrorKind::Whole(_) => None,
            ErrorKind::Record { line, .. } => Some(line),
        }
    }

    /// Returns the I/O error; `None` if this is another error.
    pub fn as_io(&self) -> Option<&io::Error> {
        match &*self.0 {
            ErrorKind::Io(error) => Some(error),
            ErrorKind::Record { .. } | ErrorKind::Whole(_) => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error(Box::new(ErrorKind::Io(error)))
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        match *error.0 {
            ErrorKind::Io(error) => error,
            kind => io::Error::new(io::ErrorKind::InvalidData, Error(Box::new(kind))),
        }
    }
}
