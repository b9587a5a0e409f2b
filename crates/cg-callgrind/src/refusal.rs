//! The reasons for which a reader stops.

use cg_collections::intern::TooMany;
use cg_costs::tables::NoRoom;
use cg_reader::Error;

/// The reason for which reading stops at a line.
pub(crate) enum Refusal {
    /// The format does not define this line. It may be the rest of the previous line.
    Unknown(String),
    /// The format defines the line, but its contents are invalid.
    Line(String),
    /// An error that does not concern the line.
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
    /// Converts to an error at this line.
    pub(crate) fn at(self, line_number: u64) -> Error {
        match self {
            Refusal::Unknown(message) | Refusal::Line(message) => Error::at(line_number, message),
            Refusal::Other(error) => error,
        }
    }
}
