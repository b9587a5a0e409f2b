//! What records consist of besides names and counts: the frames of a stack, the notes of an error, the called function.

use serde::{Deserialize, Serialize};

use super::{Name, SharedTexts};

/// One frame of a stack, with what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Frame<'a> {
    /// The function.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The source file, with its directory where the input gives one.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The source line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The instruction address, `0x` and upper-case hex digits as the input has them.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub addr: Option<Name<'a>>,
}

impl Frame<'_> {
    /// The same frame to be kept among many: their names share their texts.
    pub(super) fn shared(&self, texts: &mut SharedTexts) -> Frame<'static> {
        Frame {
            name: texts.share_any(&self.name),
            file: texts.share_any(&self.file),
            line: self.line,
            obj: texts.share_any(&self.obj),
            addr: texts.share_any(&self.addr),
        }
    }

    /// The same frame, owning its names.
    pub fn into_owned(self) -> Frame<'static> {
        Frame {
            name: self.name.map(Name::into_owned),
            file: self.file.map(Name::into_owned),
            line: self.line,
            obj: self.obj.map(Name::into_owned),
            addr: self.addr.map(Name::into_owned),
        }
    }
}

/// A further description of an error, with its own stack: the address, the origin, the other thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Note<'a> {
    /// The sentence.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub what: Option<Name<'a>>,
    /// Innermost frame first; empty where there is none.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame<'a>>,
}

impl Note<'_> {
    /// The same note, owning its names.
    pub fn into_owned(self) -> Note<'static> {
        Note {
            what: self.what.map(Name::into_owned),
            stack: self.stack.into_iter().map(Frame::into_owned).collect(),
        }
    }
}

/// The heap block that an address is in or near, as Valgrind describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct HeapBlock {
    /// Its size in bytes.
    pub size: u64,
    /// How many bytes the address is from where the block begins; `after` it, from where it ends.
    pub offset: u64,
    /// Where the address is: `before`, `inside` or `after` the block.
    pub side: String,
    /// `allocated` or `freed`; else Valgrind's own word, such as `client-defined`.
    pub state: String,
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
