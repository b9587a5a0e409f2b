//! The distinct frames of the stacks to write, so that a format converts each frame once.

use cg_collections::intern::{Id as _, Made};
use cg_collections::maps::{Map, OrderedSet};
use cg_profile::{Key, Profile, Symbol};
use cg_stream::record::Frame;

/// Frames by number.
#[derive(Default)]
pub(super) struct FrameSet<'a> {
    frames: OrderedSet<Frame<'a>>,
    /// Cache of frame numbers by index in the profile, for frames without an address.
    known: Made<usize>,
    /// Cache of frame numbers by index and address.
    known_at: Map<(usize, usize), usize>,
}

impl<'a> FrameSet<'a> {
    pub(super) fn all(&self) -> &OrderedSet<Frame<'a>> {
        &self.frames
    }

    /// Puts the numbers of a row's frames in `numbers`. A record without a stack gets the number of its blamed frame.
    pub(super) fn number_row(&mut self, profile: &'a Profile, key: &Key, numbers: &mut Vec<usize>) {
        numbers.clear();
        if let Some(stack) = key.stack {
            let addresses = profile.stacks().addresses(stack);
            let frames = profile.stacks().frames(stack).numbered();
            for ((position, frame), address) in frames.zip(addresses) {
                let known = self.known(position, address);
                let number = known.unwrap_or_else(|| {
                    let frame = profile.names().frame(frame, address);
                    let number = self.frames.insert_full(frame).0;
                    self.set_known(position, address, number);
                    number
                });
                numbers.push(number);
            }
        }
        if numbers.is_empty() {
            let blamed = Frame {
                line: key.line,
                ..key.function.frame(profile.symbols())
            };
            numbers.push(self.frames.insert_full(blamed).0);
        }
    }

    /// Puts the numbers of these frames in `numbers`.
    pub(super) fn number_frames(&mut self, frames: &[Frame<'a>], numbers: &mut Vec<usize>) {
        numbers.clear();
        for frame in frames {
            let number = match self.frames.get_index_of(frame) {
                Some(known) => known,
                None => self.frames.insert_full(frame.clone()).0,
            };
            numbers.push(number);
        }
    }

    fn known(&self, position: usize, address: Option<Symbol>) -> Option<usize> {
        match address {
            None => self.known.get(position).copied(),
            Some(address) => self.known_at.get(&(position, address.index())).copied(),
        }
    }

    fn set_known(&mut self, position: usize, address: Option<Symbol>, number: usize) {
        match address {
            None => self.known.set(position, number),
            Some(address) => {
                self.known_at.insert((position, address.index()), number);
            }
        }
    }
}
