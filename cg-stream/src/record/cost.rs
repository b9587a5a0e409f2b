//! Records of the tools that count events: functions, lines and call arcs.

use serde::{Deserialize, Serialize};

use super::{Counts, Name, is_zero};

/// A function: self cost in `cost`, inclusive cost in `incl`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "fn", default)]
pub struct FnRecord<'a> {
    /// The function's name.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The file the function itself is in, not that of code inlined into it.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The part this record is of, where parts are kept apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<u64>,
    /// The thread this record is of, where parts are kept apart and the profile names threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
    /// How often the function was called; 0 where that is not known.
    pub calls: u64,
    /// Self cost.
    #[serde(borrow)]
    pub cost: Counts<'a>,
    /// Inclusive cost; empty where the profile cannot tell it.
    #[serde(borrow, skip_serializing_if = "Counts::is_empty")]
    pub incl: Counts<'a>,
    /// The cycle this function is in, numbered from 1, where inclusive cost had to be computed over a cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
}

/// A source line inside a function. `file` is the line's own, so inlined code keeps the file it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "line", default)]
pub struct LineRecord<'a> {
    /// The function the line's cost belongs to.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The file of the line.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// Line number; 0 is an unknown line.
    pub line: u64,
    /// Instruction address (`0x…`), where the profile has them.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub addr: Option<Name<'a>>,
    /// The part this record is of, where parts are kept apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<u64>,
    /// The thread this record is of, where parts are kept apart and the profile names threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
    /// Self cost.
    #[serde(borrow)]
    pub cost: Counts<'a>,
    /// Self cost and that of the calls which leave from here, where any do.
    #[serde(borrow, skip_serializing_if = "Counts::is_empty")]
    pub incl: Counts<'a>,
}

/// The called end of an arc.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Callee<'a> {
    /// The called function's name.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The called function's file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The called function's ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
}

impl Callee<'_> {
    /// The same function, owning its names.
    pub fn into_owned(self) -> Callee<'static> {
        Callee {
            name: self.name.map(Name::into_owned),
            file: self.file.map(Name::into_owned),
            obj: self.obj.map(Name::into_owned),
        }
    }
}

/// A call arc: from a line of one function to another function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "call", default)]
pub struct CallRecord<'a> {
    /// The calling function's name.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The calling function's file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The calling function's ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The file of the call site, where it is not that of the calling function: the call was inlined from there.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub site: Option<Name<'a>>,
    /// Line number of the call site; 0 is an unknown line.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u64,
    /// The part this record is of, where parts are kept apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<u64>,
    /// The thread this record is of, where parts are kept apart and the profile names threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
    /// The called function.
    #[serde(borrow)]
    pub callee: Callee<'a>,
    /// How many calls were made.
    pub calls: u64,
    /// Inclusive cost of these calls.
    #[serde(borrow)]
    pub incl: Counts<'a>,
}
