//! What makes two records the same record.

use super::symbols::{Symbol, Symbols};
use crate::record::{Callee, Frame, Name};

/// A function as rows name it: what a record says of `fn`, `file` and `obj`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionKey {
    /// The function's name.
    pub name: Option<Symbol>,
    /// Its file; of a `line` record, the file of the line.
    pub file: Option<Symbol>,
    /// Its ELF object.
    pub obj: Option<Symbol>,
}

/// A stack of one [`Stacks`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(u32);

/// The key of a row: records of one type whose keys are equal are added up.
///
/// Process, thread name and instruction addresses of stacks are no part of it, so the same leak in two processes is one
/// row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// The function, or that of the frame to blame.
    pub function: FunctionKey,
    /// The source line, or that of the frame to blame.
    pub line: Option<u64>,
    /// Of a `line` record: the instruction's address.
    pub addr: Option<Symbol>,
    /// Of a `call` record: the called function.
    pub callee: Option<FunctionKey>,
    /// Of a `leak` or `error` record: its kind.
    pub kind: Option<Symbol>,
    /// Of an `error` record: its sentence.
    pub what: Option<Symbol>,
    /// Of a `heap` record: its snapshot.
    pub snapshot: Option<u64>,
    /// The part, where parts are kept apart.
    pub part: Option<u64>,
    /// The thread, where parts are kept apart.
    pub thread: Option<u64>,
    /// The stack, where the type has one.
    pub stack: Option<StackId>,
}

/// One frame of an interned stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameKey {
    /// The frame's function, file and object.
    pub function: FunctionKey,
    /// The source line.
    pub line: Option<u64>,
}

/// Interned stacks: frames of equal stacks are held once. Addresses are kept of the first of equals, for display.
#[derive(Clone, Default)]
pub struct Stacks {
    frames: Vec<FrameKey>,
    addresses: Vec<Option<Symbol>>,
    /// Where each stack ends in `frames`; it begins where the one before it ends.
    ends: Vec<u32>,
    index: std::collections::HashMap<Box<[FrameKey]>, StackId, foldhash::fast::FixedState>,
}

impl Stacks {
    pub(super) fn intern(&mut self, stack: &[Frame], symbols: &mut Symbols) -> StackId {
        let frames: Box<[FrameKey]> = stack
            .iter()
            .map(|frame| FrameKey {
                function: function_key(symbols, &frame.name, &frame.file, &frame.obj),
                line: frame.line,
            })
            .collect();
        if let Some(id) = self.index.get(&frames) {
            return *id;
        }
        let id = StackId(u32::try_from(self.ends.len()).unwrap_or(u32::MAX));
        self.frames.extend_from_slice(&frames);
        self.addresses.extend(
            stack
                .iter()
                .map(|frame| frame.addr.as_deref().map(|addr| symbols.intern(addr))),
        );
        self.ends
            .push(u32::try_from(self.frames.len()).unwrap_or(u32::MAX));
        self.index.insert(frames, id);
        id
    }

    /// The frames of a stack, innermost first.
    pub fn frames(&self, id: StackId) -> &[FrameKey] {
        &self.frames[self.range(id)]
    }

    /// The instruction addresses of its frames, as the first record with this stack had them.
    pub fn addresses(&self, id: StackId) -> &[Option<Symbol>] {
        &self.addresses[self.range(id)]
    }

    fn range(&self, StackId(index): StackId) -> std::ops::Range<usize> {
        let index = index as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start as usize..self.ends[index] as usize
    }
}

/// The key for names as records have them.
pub(super) fn function_key(
    symbols: &mut Symbols,
    name: &Option<Name>,
    file: &Option<Name>,
    obj: &Option<Name>,
) -> FunctionKey {
    let mut intern = |name: &Option<Name>| name.as_deref().map(|text| symbols.intern(text));
    FunctionKey {
        name: intern(name),
        file: intern(file),
        obj: intern(obj),
    }
}

/// The key for the called end of an arc.
pub(super) fn callee_key(symbols: &mut Symbols, callee: &Callee) -> FunctionKey {
    function_key(symbols, &callee.name, &callee.file, &callee.obj)
}
