//! Why a reader stops.

use cg_costs::tables::NoRoom;
use cg_reader::Error;
use cg_stream::intern::TooMany;

/// Why reading stops at a line.
pub(crate) enum Refusal {
    /// The format does not know this line; it may be the rest of the line before it.
    Unknown(String),
    /// The format knows the line, but something in it is wrong.
    Line(String),
    /// An error that has nothing to do with the line.
    Other(Error),
}

impl From<String> for Refusal {
    fn from(message: String) -> Refusal {
        Refusal::Line(message)
    }
}

impl From<NoRoom> for Refusal {
    fn from(no_room: NoRoom) -> Refusal {
        Refusal::Line(no_room.to_string())
    }
}

impl From<TooMany> for Refusal {
    fn from(too_many: TooMany) -> Refusal {
        Refusal::Line(too_many.to_string())
    }
}

impl Refusal {
    pub(crate) fn at(self, line_number: u64) -> Error {
        match self {
            Refusal::Unknown(message) | Refusal::Line(message) => Error::at(line_number, message),
            Refusal::Other(error) => error,
        }
    }
}
