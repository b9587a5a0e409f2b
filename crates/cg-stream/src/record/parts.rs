//! The parts of records: the frames of a stack, the notes of an error, the called function.

use serde::{Deserialize, Serialize};

use super::{Name, SharedTexts, is_nothing};

/// One frame of a stack. Its unknown fields are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Frame<'a> {
    /// The function.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The source file, with its directory if the input has it.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The source line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The file of `line`, if it is not the function's file. Then `line` is a call in inlined code from that file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub site: Option<Name<'a>>,
    /// The ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The instruction address as `0x` and the hex digits of the input.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub addr: Option<Name<'a>>,
    /// True if the frame is in the operating system's kernel.
    #[serde(skip_serializing_if = "is_nothing")]
    pub kernel: bool,
    /// True if the code was generated while the program ran.
    #[serde(skip_serializing_if = "is_nothing")]
    pub jit: bool,
    /// True if the function was inlined into the next outer frame.
    #[serde(skip_serializing_if = "is_nothing")]
    pub inlined: bool,
    /// True if the frame belongs to the thread that woke this one.
    #[serde(skip_serializing_if = "is_nothing")]
    pub waker: bool,
}

/// The marks of a frame. Each has the meaning of the field of [`Frame`] with the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameMarks {
    /// True if the frame is in the kernel.
    pub kernel: bool,
    /// True if the code was generated while the program ran.
    pub jit: bool,
    /// True if the function was inlined into the next outer frame.
    pub inlined: bool,
    /// True if the frame belongs to the thread that woke this one.
    pub waker: bool,
}

impl<'a> Frame<'a> {
    /// Returns the marks of the frame.
    pub fn marks(&self) -> FrameMarks {
        FrameMarks {
            kernel: self.kernel,
            jit: self.jit,
            inlined: self.inlined,
            waker: self.waker,
        }
    }

    /// Returns the frame with its marks replaced by these.
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
    /// Returns the same frame with owned names.
    pub fn into_owned(self) -> Frame<'static> {
        self.with_names(Name::into_owned)
    }

    /// Returns the same frame with names that share their texts with equal names.
    pub(super) fn shared(self, texts: &mut SharedTexts) -> Frame<'static> {
        self.with_names(|name| texts.share(&name))
    }

    fn with_names(self, mut convert: impl FnMut(Name<'a>) -> Name<'static>) -> Frame<'static> {
        let marks = self.marks();
        let mut convert = |name: Option<Name<'a>>| name.map(&mut convert);
        Frame {
            name: convert(self.name),
            file: convert(self.file),
            line: self.line,
            site: convert(self.site),
            obj: convert(self.obj),
            addr: convert(self.addr),
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
    /// The stack, innermost frame first; empty if the note has none.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame<'a>>,
}

impl Note<'_> {
    /// Returns the same note with owned names.
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
    /// The size of the block in bytes.
    pub size: u64,
    /// The number of bytes from the block's start to the address; from the block's end if `side` is `after`.
    pub offset: u64,
    /// The side of the block on which the address is: `before`, `inside` or `after`.
    pub side: String,
    /// `allocated` or `freed`; otherwise Valgrind's own word, such as `client-defined`.
    pub state: String,
}

/// A function that a record refers to: the callee of an arc, or the earlier name of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct FunctionName<'a> {
    /// The function.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The function's file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The function's ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
}

impl FunctionName<'_> {
    /// Returns the same function with owned names.
    pub fn into_owned(self) -> FunctionName<'static> {
        FunctionName {
            name: self.name.map(Name::into_owned),
            file: self.file.map(Name::into_owned),
            obj: self.obj.map(Name::into_owned),
        }
    }
}
