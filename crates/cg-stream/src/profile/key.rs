//! What makes two records the same record.

use std::hash::{Hash, Hasher};

use crate::intern::{Id, Keys, Slices, Texts, TooMany};
use crate::record::{Frame, FrameMarks, Name};

/// A function as rows name it: what a record says of `fn`, `file` and `obj`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionKey {
    /// The function's name.
    pub name: Option<Symbol>,
    /// Its file; of a `line` record, the file of the line.
    pub file: Option<Symbol>,
    /// Its ELF object.
    pub obj: Option<Symbol>,
}

impl FunctionKey {
    /// The function as a frame of which nothing else is known.
    pub fn frame(self, symbols: &Symbols) -> Frame<'_> {
        Frame {
            name: symbols.name(self.name),
            file: symbols.name(self.file),
            obj: symbols.name(self.obj),
            ..Frame::default()
        }
    }
}

crate::ids! {
    /// A name of a [`Symbols`] table. Two symbols of a table are equal where their names are.
    pub struct Symbol;
    /// A stack of one [`Stacks`] table.
    pub struct StackId;
}

/// Every distinct name of a profile.
pub type Symbols = Texts<Symbol>;

impl Symbols {
    /// A name as records have it, if it is given.
    pub fn name(&self, symbol: Option<Symbol>) -> Option<Name<'_>> {
        symbol.map(|symbol| Name::from(self.text(symbol)))
    }
}

/// The key of a row: records of one type whose keys are equal are added up.
///
/// Process ids and the instruction addresses of stacks are not part of the key, so the same leak in two processes is
/// one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// The function, or that of the frame to blame.
    pub function: FunctionKey,
    /// The source line, or that of the frame to blame.
    pub line: Option<u64>,
    /// Of a `line` or `call` record: the instruction's address.
    pub addr: Option<Symbol>,
    /// Of a `call` record: the file of the call site, where it is not that of the function.
    pub site: Option<Symbol>,
    /// Of a `call` record: the inlined functions that the call leaves from.
    pub inlined: Option<StackId>,
    /// Of an `inline` record: the functions of which each may be the innermost, as frames that have only a name.
    pub ambiguous: Option<StackId>,
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
    /// Of a `stack` record: the thread's name.
    pub thread_name: Option<Symbol>,
    /// Of a `stack` record: the thread's number.
    pub tid: Option<u64>,
    /// Of a `stack` record: the process's name.
    pub process: Option<Symbol>,
    /// Of a `stack` record: whether the stack lacks its outermost frames.
    pub cut: bool,
    /// Of a `stack` record: when its sample was taken.
    pub time: Option<u64>,
    /// Of a `stack` record: its labels, as a stream has them.
    pub labels: Option<Symbol>,
    /// The stack, where the type has one.
    pub stack: Option<StackId>,
}

impl Key {
    /// The key of the `fn` row of a function, of the part and the thread that this row is of.
    pub(super) fn of_function(&self, function: FunctionKey) -> Key {
        Key {
            function,
            part: self.part,
            thread: self.thread,
            ..Key::default()
        }
    }
}

/// Two ids in a word; 0 stands for none.
fn word<A: Id, B: Id>(a: Option<A>, b: Option<B>) -> u64 {
    let number = |index: Option<usize>| index.map_or(0, |index| index as u64 + 1);
    number(a.map(Id::index)) << 32 | number(b.map(Id::index))
}

/// In as few words as there can be: what is derived takes two for each optional field, and rows are found by their keys.
impl Hash for FunctionKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(word(self.name, self.file));
        state.write_u64(word(self.obj, None::<Symbol>));
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Names every field, so that the compiler reports a new field that has no place in the hash yet.
        let Key {
            function,
            line,
            addr,
            site,
            inlined,
            ambiguous,
            callee,
            kind,
            what,
            snapshot,
            part,
            thread,
            thread_name,
            tid,
            process,
            cut,
            time,
            labels,
            stack,
        } = self;
        // Fields share a word where hardly any type of record has both, or both are small and stand apart in it.
        for word in [
            word(function.name, function.file),
            word(function.obj, *stack),
            line.unwrap_or(u64::MAX) ^ word(*thread_name, *process),
            word(*addr, *site) ^ word(*kind, *what) ^ u64::from(*cut),
            word(*inlined, *ambiguous) ^ snapshot.or(*time).unwrap_or(u64::MAX),
            part.unwrap_or_else(|| word(*labels, None::<Symbol>))
                .rotate_left(32)
                ^ thread.or(*tid).unwrap_or(u64::MAX),
        ] {
            state.write_u64(word);
        }
        if let Some(callee) = callee {
            callee.hash(state);
        }
    }
}

/// One frame of an interned stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameKey {
    /// The frame's function, file and object.
    pub function: FunctionKey,
    /// The source line.
    pub line: Option<u64>,
    /// The file of the line, where it is not the function's own.
    pub site: Option<Symbol>,
    /// What the frame is marked as.
    pub marks: FrameMarks,
}

crate::ids! {
    /// A frame that stacks have.
    pub(super) struct FrameKeyId;
}

/// Every distinct stack of a profile. Stacks are equal if their frames are; addresses are not compared. A frame is kept
/// once, however many stacks it is in: a million stacks have tens of millions of frames, and some thousand different
/// ones.
#[derive(Clone, Default)]
pub struct Stacks {
    frames: Keys<FrameKeyId, FrameKey>,
    stacks: Slices<StackId, FrameKeyId>,
    /// The address of each frame of each stack; ends with the last stack that has addresses.
    addresses: Vec<Option<Symbol>>,
}

/// The frames of a stack, innermost first.
#[derive(Clone, Copy, Debug, Default)]
pub struct StackFrames<'p> {
    frames: &'p [FrameKey],
    stack: &'p [FrameKeyId],
}

impl<'p> StackFrames<'p> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.stack.len()
    }

    /// True without frames.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// A frame by its position.
    pub fn get(&self, position: usize) -> Option<&'p FrameKey> {
        let id = self.stack.get(position)?;
        self.frames.get(id.index())
    }

    /// The innermost frame.
    pub fn first(&self) -> Option<&'p FrameKey> {
        self.get(0)
    }

    /// The outermost frame.
    pub fn last(&self) -> Option<&'p FrameKey> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The innermost frames in which two stacks of a profile differ; `None` where one begins as the other is.
    pub(super) fn first_difference(self, other: StackFrames<'p>) -> Option<[&'p FrameKey; 2]> {
        let mut pairs = self.stack.iter().zip(other.stack);
        let differing = pairs.find(|(a, b)| a != b)?;
        let frame = |id: &FrameKeyId| &self.frames[id.index()];
        Some([frame(differing.0), frame(differing.1)])
    }

    /// All of them, innermost first, each with the index of its id.
    pub fn numbered(self) -> impl Iterator<Item = (usize, &'p FrameKey)> + Clone {
        let StackFrames { frames, stack } = self;
        (stack.iter()).map(move |id| (id.index(), &frames[id.index()]))
    }

    /// All of them, innermost first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'p FrameKey> + ExactSizeIterator + Clone {
        let StackFrames { frames, stack } = self;
        stack.iter().map(move |id| &frames[id.index()])
    }
}

impl Stacks {
    /// The id of a frame.
    pub(super) fn frame(&mut self, frame: FrameKey) -> Result<FrameKeyId, TooMany> {
        self.frames.intern(frame)
    }

    /// Makes room for so many stacks.
    pub(super) fn reserve(&mut self, stacks: usize) {
        self.stacks.reserve(stacks);
    }

    /// Interns a stack of these frames, innermost first, with their addresses if they have any.
    pub(super) fn intern(
        &mut self,
        frames: &[FrameKeyId],
        addresses: Option<&[Option<Symbol>]>,
        symbols: &Symbols,
    ) -> Result<StackId, TooMany> {
        let known = self.stacks.len();
        let id = self.stacks.intern(frames)?;
        let Some(addresses) = addresses else {
            return Ok(id);
        };
        let place = self.stacks.place(id);
        if self.stacks.len() > known {
            self.addresses.resize(place.start, None);
            self.addresses.extend_from_slice(addresses);
            return Ok(id);
        }
        if self.addresses.len() < place.end {
            self.addresses.resize(place.end, None);
        }
        let held = &mut self.addresses[place];
        let text = |address: &Option<Symbol>| address.map(|address| symbols.text(address));
        if held.iter().map(text).lt(addresses.iter().map(text)) {
            held.copy_from_slice(addresses);
        }
        Ok(id)
    }

    /// Every distinct frame of all stacks, in no order that means anything.
    pub fn distinct_frames(&self) -> &[FrameKey] {
        self.frames.all()
    }

    /// The frames of a stack, innermost first.
    pub fn frames(&self, id: StackId) -> StackFrames<'_> {
        StackFrames {
            frames: self.frames.all(),
            stack: self.stacks.get(id),
        }
    }

    /// The frames of a stack; none where there is no stack.
    pub fn frames_of(&self, stack: Option<StackId>) -> StackFrames<'_> {
        stack.map_or_else(StackFrames::default, |stack| self.frames(stack))
    }

    /// The instruction addresses of a stack's frames. If records with this stack had different addresses, the list that
    /// is greatest as text is kept, so that the order of the records makes no difference.
    pub fn addresses(&self, id: StackId) -> impl Iterator<Item = Option<Symbol>> {
        let place = self.stacks.place(id);
        place.map(|position| self.addresses.get(position).copied().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_kept_once_and_addresses_stay_with_their_stacks() {
        let (mut stacks, mut symbols) = (Stacks::default(), Symbols::default());
        let mut intern = |frames: &[(&str, Option<&str>)]| {
            let mut ids = Vec::new();
            let mut addresses = Vec::new();
            for (name, address) in frames {
                let function = FunctionKey {
                    name: Some(symbols.intern(name).unwrap()),
                    ..FunctionKey::default()
                };
                ids.push(
                    stacks
                        .frame(FrameKey {
                            function,
                            ..FrameKey::default()
                        })
                        .unwrap(),
                );
                addresses.push(address.map(|address| symbols.intern(address).unwrap()));
            }
            let has_addresses = addresses.iter().any(Option::is_some);
            let addresses = has_addresses.then_some(addresses.as_slice());
            stacks.intern(&ids, addresses, &symbols).unwrap()
        };
        let without = intern(&[("f", None), ("main", None)]);
        let with = intern(&[("main", Some("0x1"))]);
        let behind = intern(&[("main", None), ("f", None)]);
        // The same stack with addresses that come later, and earlier, as texts.
        assert_eq!(intern(&[("f", None), ("main", Some("0x9"))]), without);
        assert_eq!(intern(&[("f", None), ("main", Some("0x2"))]), without);
        assert_eq!(stacks.frames.len(), 2);
        let shown = |id: StackId| -> Vec<(&str, Option<&str>)> {
            let names = stacks.frames(id).iter().map(|frame| frame.function.name);
            let texts = |symbol: Option<Symbol>| symbol.map(|symbol| symbols.text(symbol));
            let names = names.map(|name| texts(name).unwrap());
            names.zip(stacks.addresses(id).map(texts)).collect()
        };
        assert_eq!(shown(without), [("f", None), ("main", Some("0x9"))]);
        assert_eq!(shown(with), [("main", Some("0x1"))]);
        assert_eq!(shown(behind), [("main", None), ("f", None)]);
    }
}
