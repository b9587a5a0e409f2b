//! The state for adding rows to a profile: its names, and a cache from a reader's ids to the profile's ids.

use super::key::{FrameKeyId, StackId, Symbol};
use super::sum::Beyond;
use super::table::event_index;
use super::{FrameKey, FunctionKey, Names};
use cg_collections::intern::TooMany;
use cg_stream::record::{Count, Frame};
use cg_stream::rows::{
    self, AddressRef, Cells, KnownIds, NameRef, Named, NamesRef, RowTables, StackRef,
};

/// The id of a frame, and the address, which is usually not part of the frame's key.
type AddressedFrame = (FrameKeyId, Option<Symbol>);

/// Caches and buffers that are reused for the next row.
#[derive(Clone, Default)]
pub(super) struct LookedUp {
    ids: KnownIds<Symbol, AddressedFrame>,
    /// Maps the index of an event in the current run to its index in the profile.
    pub(super) events: Vec<usize>,
    /// Buffers: the stack that is being interned, and the addresses of its frames.
    frames: Vec<FrameKeyId>,
    addresses: Vec<Option<Symbol>>,
    text: Vec<u8>,
    /// True if the keys of frames have addresses.
    pub(super) is_by_address: bool,
}

/// The context for adding a row: the profile's names and events, the cache, and the reader's tables.
pub(super) struct Adding<'p> {
    pub(super) names: &'p mut Names,
    pub(super) events: &'p mut Vec<String>,
    known: &'p mut LookedUp,
    tables: &'p dyn RowTables,
}

impl<'p> Adding<'p> {
    pub(super) fn new(
        names: &'p mut Names,
        events: &'p mut Vec<String>,
        known: &'p mut LookedUp,
        tables: &'p dyn RowTables,
    ) -> Adding<'p> {
        known.ids.begin(tables);
        Adding {
            names,
            events,
            known,
            tables,
        }
    }

    /// Returns the symbol of a name.
    #[inline]
    pub(super) fn symbol(&mut self, of: Named, name: NameRef<'_>) -> Result<Symbol, TooMany> {
        match name {
            NameRef::Text(text) => self.names.symbols.intern(text),
            NameRef::Id(id) => match self.known.ids.name(of, id) {
                Some(symbol) => Ok(symbol),
                None => {
                    let symbol = self.names.symbols.intern(&self.tables.name(of, id))?;
                    self.known.ids.set_name(of, id, symbol);
                    Ok(symbol)
                }
            },
        }
    }

    /// Returns the symbol of an address.
    pub(super) fn address(&mut self, address: AddressRef<'_>) -> Result<Symbol, TooMany> {
        let address = match address {
            AddressRef::Text(text) => return self.names.symbols.intern(text),
            AddressRef::Number(address) => address,
        };
        let text = &mut self.known.text;
        text.clear();
        rows::address_text(address, text);
        let text = std::str::from_utf8(text).unwrap_or_default();
        self.names.symbols.intern(text)
    }

    /// Returns the id of a stack.
    pub(super) fn stack(&mut self, stack: StackRef<'_>) -> Result<StackId, TooMany> {
        match stack {
            StackRef::Ids(ids) => {
                self.intern(ids, |adding, id| match adding.known.ids.frame(*id) {
                    Some(frame) => Ok(*frame),
                    None => {
                        let frame = adding.frame(&adding.tables.frame(*id))?;
                        adding.known.ids.set_frame(*id, frame);
                        Ok(frame)
                    }
                })
            }
            StackRef::Frames(frames) => self.intern(frames, Adding::frame),
        }
    }

    /// Interns a stack with a frame for each item.
    #[inline]
    fn intern<T>(
        &mut self,
        items: &[T],
        frame: impl Fn(&mut Self, &T) -> Result<AddressedFrame, TooMany>,
    ) -> Result<StackId, TooMany> {
        let mut frames = std::mem::take(&mut self.known.frames);
        let mut addresses = std::mem::take(&mut self.known.addresses);
        frames.resize(items.len(), FrameKeyId::FIRST);
        addresses.resize(items.len(), None);
        for ((held, address), item) in frames.iter_mut().zip(&mut addresses).zip(items) {
            (*held, *address) = frame(self, item)?;
        }
        let has_addresses = addresses.iter().any(Option::is_some);
        let Names { symbols, stacks } = &mut *self.names;
        let id = stacks.intern(&frames, has_addresses.then_some(&addresses), symbols);
        (self.known.frames, self.known.addresses) = (frames, addresses);
        id
    }

    /// Interns the names as a stack of frames that have only a name; `None` if there are no names.
    pub(super) fn names_as_frames(
        &mut self,
        names: &NamesRef<'_>,
    ) -> Result<Option<StackId>, TooMany> {
        self.known.frames.clear();
        for name in names.iter() {
            let function = FunctionKey {
                name: Some(self.symbol(Named::Function, name)?),
                ..FunctionKey::default()
            };
            let frame = self.names.stacks.frame(FrameKey {
                function,
                ..FrameKey::default()
            })?;
            self.known.frames.push(frame);
        }
        if self.known.frames.is_empty() {
            return Ok(None);
        }
        let Names { symbols, stacks } = &mut *self.names;
        stacks.intern(&self.known.frames, None, symbols).map(Some)
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<AddressedFrame, TooMany> {
        let symbols = &mut self.names.symbols;
        let mut symbol = |name: &Option<cg_stream::record::Name<'_>>| {
            name.as_deref().map(|text| symbols.intern(text)).transpose()
        };
        let address = symbol(&frame.addr)?;
        let key = FrameKey {
            function: FunctionKey {
                name: symbol(&frame.name)?,
                file: symbol(&frame.file)?,
                obj: symbol(&frame.obj)?,
            },
            line: frame.line,
            site: symbol(&frame.site)?,
            marks: frame.marks(),
            addr: address.filter(|_| self.known.is_by_address),
        };
        Ok((self.names.stacks.frame(key)?, address))
    }

    /// Returns the frames of a stack in the form of records.
    pub(super) fn frames(&self, stack: StackRef<'_>) -> Vec<Frame<'static>> {
        match stack {
            StackRef::Ids(ids) => {
                let frames = ids.iter().map(|id| self.tables.frame(*id).into_owned());
                frames.collect()
            }
            StackRef::Frames(frames) => frames.iter().cloned().map(Frame::into_owned).collect(),
        }
    }

    /// Visits each count with the position of its event in the profile. An error contains the position of its event.
    #[inline]
    pub(super) fn counts(
        &mut self,
        cells: Cells<'_>,
        mut visit: impl FnMut(usize, Count) -> Result<(), Beyond>,
    ) -> Result<(), (usize, Beyond)> {
        match cells {
            Cells::Unsigned(cells) => {
                self.by_position(0, cells.iter().map(|cell| (*cell).into()), visit)
            }
            Cells::Signed(cells) => {
                let cells = cells.iter().map(|cell| cell.cast_signed().into());
                self.by_position(0, cells, visit)
            }
            Cells::From(first, counts) => self.by_position(first, counts.iter().copied(), visit),
            Cells::Named(counts) => {
                let mut next = 0;
                for (event, count) in counts.iter() {
                    let index = event_index(self.events, event, next);
                    visit(index, count).map_err(|beyond| (index, beyond))?;
                    next = index + 1;
                }
                Ok(())
            }
        }
    }

    #[inline]
    fn by_position(
        &self,
        first: usize,
        counts: impl Iterator<Item = Count>,
        mut visit: impl FnMut(usize, Count) -> Result<(), Beyond>,
    ) -> Result<(), (usize, Beyond)> {
        let events = self.known.events.get(first..).unwrap_or_default();
        for (position, (event, count)) in events.iter().zip(counts).enumerate() {
            if position == 0 || count != 0 {
                visit(*event, count).map_err(|beyond| (*event, beyond))?;
            }
        }
        Ok(())
    }
}
