//! What records consist of besides names and counts: the frames of a stack, the notes of an error, the called function.

use serde::{Deserialize, Serialize};

use super::{Name, SharedTexts, is_nothing};

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
    /// The file that `line` is a line of, where it is not the function's own: `line` is then a call of something that was
    /// inlined, in code that came from there.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub site: Option<Name<'a>>,
    /// The ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The instruction address, `0x` and upper-case hex digits as the input has them.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub addr: Option<Name<'a>>,
    /// The frame is of the operating system's kernel.
    #[serde(skip_serializing_if = "is_nothing")]
    pub kernel: bool,
    /// The code was made while the program ran.
    #[serde(skip_serializing_if = "is_nothing")]
    pub jit: bool,
    /// The function was inlined into the next frame outwards.
    #[serde(skip_serializing_if = "is_nothing")]
    pub inlined: bool,
    /// The frame is of the stack that woke the thread whose stack this is.
    #[serde(skip_serializing_if = "is_nothing")]
    pub waker: bool,
}

/// What a frame is marked as; each is the field of [`Frame`] of that name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameMarks {
    /// Of the kernel.
    pub kernel: bool,
    /// Made while the program ran.
    pub jit: bool,
    /// Inlined into the next frame outwards.
    pub inlined: bool,
    /// Of the stack that woke the thread.
    pub waker: bool,
}

impl<'a> Frame<'a> {
    /// What the frame is marked as.
    pub fn marks(&self) -> FrameMarks {
        FrameMarks {
            kernel: self.kernel,
            jit: self.jit,
            inlined: self.inlined,
            waker: self.waker,
        }
    }

    /// The frame with these marks and no other.
    pub fn with_marks(self, marks: FrameMarks) -> Frame<'a> {
        Frame {
            kernel: marks.kernel,
            jit: marks.jit,
            inlined: marks.inlined,
            waker: marks.waker,
            ..self
        }
    }
}

impl<'a> Frame<'a> {
    /// The same frame, owning its names.
    pub fn into_owned(self) -> Frame<'static> {
        self.with_names(Name::into_owned)
    }

    /// The same frame to be kept among many: their names share their texts.
    pub(super) fn shared(self, texts: &mut SharedTexts) -> Frame<'static> {
        self.with_names(|name| texts.share(&name))
    }

    fn with_names(self, mut held: impl FnMut(Name<'a>) -> Name<'static>) -> Frame<'static> {
        let marks = self.marks();
        let mut held = |name: Option<Name<'a>>| name.map(&mut held);
        Frame {
            name: held(self.name),
            file: held(self.file),
            line: self.line,
            site: held(self.site),
            obj: held(self.obj),
            addr: held(self.addr),
            ..Frame::default()
        }
        .with_marks(marks)
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

/// A function as another record names it: the called end of an arc, what a function was called before.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct FunctionName<'a> {
    /// The function.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// Its file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// Its ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
}

impl FunctionName<'_> {
    /// The same function, owning its names.
    pub fn into_owned(self) -> FunctionName<'static> {
        FunctionName {
            name: self.name.map(Name::into_owned),
            file: self.file.map(Name::into_owned),
            obj: self.obj.map(Name::into_owned),
        }
    }
}
