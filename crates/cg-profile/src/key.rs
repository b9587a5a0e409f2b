//! The keys of records: records with equal keys are added up.

use std::hash::{Hash, Hasher};

use cg_collections::intern::{Id, Keys, Slices, Texts, TooMany};
use cg_stream::record::{Frame, FrameMarks, Name};

/// A function in a row: the fields `fn`, `file` and `obj` of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionKey {
    /// The function's name.
    pub name: Option<Symbol>,
    /// The function's file; in a `line` record, the file of the line.
    pub file: Option<Symbol>,
    /// The function's ELF object.
    pub obj: Option<Symbol>,
}

impl FunctionKey {
    /// Returns the function as a frame without other fields.
    pub fn frame(self, symbols: &Symbols) -> Frame<'_> {
        Frame {
            name: name(symbols, self.name),
            file: name(symbols, self.file),
            obj: name(symbols, self.obj),
            ..Frame::default()
        }
    }
}

cg_collections::ids! {
    /// A name in a [`Symbols`] table. Two symbols of a table are equal if their names are equal.
    pub struct Symbol;
    /// A stack in a [`Stacks`] table.
    pub struct StackId;
}

/// Every distinct name of a profile.
pub type Symbols = Texts<Symbol>;

/// Returns the name with this symbol in the form of records.
pub(super) fn name(symbols: &Symbols, symbol: Option<Symbol>) -> Option<Name<'_>> {
    symbol.map(|symbol| Name::from(symbols.text(symbol)))
}

/// The key of a row: records of one type whose keys are equal are added up.
///
/// Process ids and the instruction addresses of stacks are not part of the key, so the same leak in two processes is
/// one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// The function, or the function of the frame to blame.
    pub function: FunctionKey,
    /// The source line, or the line of the frame to blame.
    pub line: Option<u64>,
    /// The instruction's address, in a `line` or `call` record.
    pub addr: Option<Symbol>,
    /// The file of the call site in a `call` record, if it is not the function's file.
    pub site: Option<Symbol>,
    /// The inlined functions that contain the call, in a `call` record.
    pub inlined: Option<StackId>,
    /// The functions that may be the innermost one, in an `inline` record, as frames that have only a name.
    pub ambiguous: Option<StackId>,
    /// The called function, in a `call` record.
    pub callee: Option<FunctionKey>,
    /// The kind, in a `leak` or `error` record.
    pub kind: Option<Symbol>,
    /// The sentence, in an `error` record.
    pub what: Option<Symbol>,
    /// The snapshot's number, in a `heap` record.
    pub snapshot: Option<u64>,
    /// The part, if parts are separate.
    pub part: Option<u64>,
    /// The thread, if parts are separate.
    pub thread: Option<u64>,
    /// The thread's name, in a `stack` record.
    pub thread_name: Option<Symbol>,
    /// The thread's number, in a `stack` record.
    pub tid: Option<u64>,
    /// The process's name, in a `stack` record.
    pub process: Option<Symbol>,
    /// True if the stack lacks its outermost frames, in a `stack` record.
    pub cut: bool,
    /// True if only an earlier leak search reported the leak, in a `leak` record.
    pub earlier_search: bool,
    /// The time of the sample, in a `stack` record.
    pub time: Option<u64>,
    /// The labels in the form of a stream, in a `stack` record.
    pub labels: Option<Symbol>,
    /// The stack, if the type has one.
    pub stack: Option<StackId>,
}

impl Key {
    /// Returns the key of the `fn` row of a function, with the part and the thread of this key.
    pub(super) fn for_function(&self, function: FunctionKey) -> Key {
        Key {
            function,
            part: self.part,
            thread: self.thread,
            ..Key::default()
        }
    }
}

/// Packs two ids into a word; 0 means no id.
fn word<A: Id, B: Id>(a: Option<A>, b: Option<B>) -> u64 {
    let number = |index: Option<usize>| index.map_or(0, |index| index as u64 + 1);
    number(a.map(Id::index)) << 32 | number(b.map(Id::index))
}

/// Hashes as few words as possible, because each row is looked up by its key. A derived `Hash` takes two words for each
/// optional field.
impl Hash for FunctionKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(word(self.name, self.file));
        state.write_u64(word(self.obj, None::<Symbol>));
    }
}

/// One frame of an interned stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameKey {
    /// The frame's function, file and object.
    pub function: FunctionKey,
    /// The source line.
    pub line: Option<u64>,
    /// The file of the line, if it is not the function's file.
    pub site: Option<Symbol>,
    /// The frame's marks.
    pub marks: FrameMarks,
    /// The address, in a [profile whose frames differ by address](super::Profile::by_address).
    pub addr: Option<Symbol>,
}

cg_collections::ids! {
    /// A frame in a [`Stacks`] table.
    pub(super) struct FrameKeyId;
}

/// Every distinct stack of a profile. Stacks are equal if their frames are equal; addresses are not compared unless the
/// keys of the frames have them. A frame is stored once for all stacks that contain it: a million stacks have tens of millions of frames, but only some thousand
/// different ones.
#[derive(Clone, Default)]
pub struct Stacks {
    frames: Keys<FrameKeyId, FrameKey>,
    stacks: Slices<StackId, FrameKeyId>,
    /// The address of each frame of each stack, up to the last stack that has addresses.
    addresses: Vec<Option<Symbol>>,
}

/// The frames of a stack, innermost first.
#[derive(Clone, Copy, Debug, Default)]
pub struct StackFrames<'p> {
    frames: &'p [FrameKey],
    stack: &'p [FrameKeyId],
}

impl<'p> StackFrames<'p> {
    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.stack.len()
    }

    /// Returns true if there are no frames.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// Returns the frame at a position, counted from the innermost frame.
    pub fn get(&self, position: usize) -> Option<&'p FrameKey> {
        let id = self.stack.get(position)?;
        self.frames.get(id.index())
    }

    /// Returns the innermost frame.
    pub fn first(&self) -> Option<&'p FrameKey> {
        self.get(0)
    }

    /// Returns the outermost frame.
    pub fn last(&self) -> Option<&'p FrameKey> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Returns the innermost frames in which two stacks of a profile differ; `None` if one stack begins with the other.
    pub(super) fn first_difference(self, other: StackFrames<'p>) -> Option<[&'p FrameKey; 2]> {
        let mut pairs = self.stack.iter().zip(other.stack);
        let differing = pairs.find(|(a, b)| a != b)?;
        let frame = |id: &FrameKeyId| &self.frames[id.index()];
        Some([frame(differing.0), frame(differing.1)])
    }

    /// Returns the frame at a position, innermost first, with the index of its id.
    #[inline]
    pub fn get_numbered(self, position: usize) -> Option<(usize, &'p FrameKey)> {
        let id = self.stack.get(position)?;
        Some((id.index(), &self.frames[id.index()]))
    }

    /// Returns an iterator over the frames, innermost first, each with the index of its id.
    pub fn numbered(self) -> impl Iterator<Item = (usize, &'p FrameKey)> + Clone {
        let StackFrames { frames, stack } = self;
        (stack.iter()).map(move |id| (id.index(), &frames[id.index()]))
    }

    /// Returns an iterator over the frames, innermost first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'p FrameKey> + ExactSizeIterator + Clone {
        let StackFrames { frames, stack } = self;
        stack.iter().map(move |id| &frames[id.index()])
    }
}

impl Stacks {
    /// Interns a frame.
    pub(super) fn frame(&mut self, frame: FrameKey) -> Result<FrameKeyId, TooMany> {
        self.frames.intern(frame)
    }

    /// Reserves space for more stacks.
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

    /// Returns every distinct frame of all stacks, in arbitrary order.
    pub fn distinct_frames(&self) -> &[FrameKey] {
        self.frames.all()
    }

    /// Returns the frames of a stack, innermost first.
    pub fn frames(&self, id: StackId) -> StackFrames<'_> {
        StackFrames {
            frames: self.frames.all(),
            stack: self.stacks.get(id),
        }
    }

    /// Returns the frames of a stack; no frames if there is no stack.
    pub fn frames_of(&self, stack: Option<StackId>) -> StackFrames<'_> {
        stack.map_or_else(StackFrames::default, |stack| self.frames(stack))
    }

    /// Returns the instruction addresses of a stack's frames. If records with this stack had different addresses, these are
    /// the addresses that sort last as text, so that the order of the records does not matter.
    pub fn addresses(&self, id: StackId) -> impl Iterator<Item = Option<Symbol>> {
        let place = self.stacks.place(id);
        place.map(|position| self.addresses.get(position).copied().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_stored_once_and_each_stack_has_its_own_addresses() {
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
        let reversed = intern(&[("main", None), ("f", None)]);
        // The same stack with addresses that sort later, and earlier, as text.
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
        assert_eq!(shown(reversed), [("main", None), ("f", None)]);
    }
}
