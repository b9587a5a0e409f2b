//! The chain of calls of a sample, from its lines to frames.
//!
//! perf prints functions that were inlined at an address in front of the function that has it, each with the same address
//! and `(inlined)` in place of the object. They are of the object of that function.
//!
//! Where perf asks binutils' `addr2line`, as it does unless it was built with libdw, the innermost one of such a row has the
//! name of the function that all of them were inlined into: `work`, `operator() (inlined)`, `run (inlined)`, `work`. What it
//! is called is lost. It is marked as inlined, which it is, so that nobody takes it for a recursion. The last of such a row
//! is the function itself; where its debug information calls it by another name than the symbol, perf prints that name, and
//! that it was inlined, which it was not.

use cg_stream::intern::{Id, TooMany};
use cg_stream::record::FrameMarks;

use super::frame::{FoundFrame, PerfFrames, source_line};
use crate::table::{FrameId, FrameParts, StackTable};

/// How many addresses the kernel follows a chain for (`kernel.perf_event_max_stack`), and `perf script` prints.
const MOST_ADDRESSES: usize = 127;

/// The frames of a sample while its lines are read, innermost first.
#[derive(Default)]
pub(super) struct PerfChain {
    frames: Vec<FrameId>,
    /// By frame: its address and whether it is inlined.
    places: Vec<FrameAddress>,
    has_inlined: bool,
}

/// The address of a frame, and whether perf printed it as inlined there.
#[derive(Clone, Copy)]
struct FrameAddress {
    address: u64,
    is_inlined: bool,
}

/// What a chain came to.
pub(super) struct FinishedChain<'c> {
    /// Innermost first.
    pub(super) frames: &'c [FrameId],
    /// There may be frames further out.
    pub(super) is_cut: bool,
    /// Frames to which perf gave the name of the function they were inlined into.
    pub(super) misnamed: u64,
}

impl PerfChain {
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.places.clear();
        self.has_inlined = false;
    }

    /// Adds the next frame outwards.
    #[inline]
    pub(super) fn push(&mut self, found: FoundFrame, texts: &PerfFrames) {
        let place = FrameAddress {
            address: found.address,
            is_inlined: found.is_inlined,
        };
        for inner in texts.inner(found) {
            self.frames.push(*inner);
            self.places.push(place);
        }
        self.frames.push(found.frame);
        self.places.push(place);
        self.has_inlined |= found.is_inlined;
    }

    /// Takes the line of source behind the frame that was added last.
    pub(super) fn source_line(
        &mut self,
        text: &[u8],
        table: &mut StackTable,
    ) -> Result<(), TooMany> {
        let (place, is_inlined) = source_line(text);
        let (Some(frame), Some(last)) = (self.frames.last_mut(), self.places.last_mut()) else {
            return Ok(());
        };
        let mut parts = table.frames()[frame.index()];
        if let Some((file, line)) = place {
            parts.file = table.given(file)?;
            parts.line = Some(line);
        }
        parts.marks.inlined |= is_inlined;
        last.is_inlined |= is_inlined;
        self.has_inlined |= is_inlined;
        *frame = table.frame(parts)?;
        Ok(())
    }

    /// The frames, once all are there.
    #[inline]
    pub(super) fn finish(&mut self, table: &mut StackTable) -> Result<FinishedChain<'_>, TooMany> {
        let misnamed = match self.has_inlined {
            true => self.place_inlined(table)?,
            false => 0,
        };
        let is_cut = self.places.len() >= MOST_ADDRESSES && {
            let addresses = self.places.iter().filter(|place| !place.is_inlined);
            addresses.count() as u64 >= MOST_ADDRESSES as u64 + misnamed
        };
        Ok(FinishedChain {
            frames: &self.frames,
            is_cut,
            misnamed,
        })
    }

    /// Gives inlined frames the object of their function, and counts those to which perf gave the name of that
    /// function.
    fn place_inlined(&mut self, table: &mut StackTable) -> Result<u64, TooMany> {
        let mut misnamed = 0;
        let mut start = 0;
        while start < self.places.len() {
            let (end, host) = self.row_at(start);
            let row = start..end;
            misnamed += place_row(
                &mut self.frames[row.clone()],
                &mut self.places[row],
                host,
                table,
            )?;
            start = end;
        }
        Ok(misnamed)
    }

    /// The end of the group of frames that were printed for one address, and whether the group ends with a frame that
    /// is not inlined, behind inlined ones. A function that calls itself has a group for each call.
    fn row_at(&self, start: usize) -> (usize, bool) {
        let address = self.places[start].address;
        let mut has_inlined = false;
        for (position, place) in self.places.iter().enumerate().skip(start) {
            match place.is_inlined {
                _ if place.address != address => return (position, false),
                true => has_inlined = true,
                false if has_inlined => return (position + 1, true),
                false if position > start => return (position, false),
                false => {}
            }
        }
        (self.places.len(), false)
    }
}

/// Does so for the group of one address. With `has_host` its last frame is the function itself.
fn place_row(
    frames: &mut [FrameId],
    places: &mut [FrameAddress],
    has_host: bool,
    table: &mut StackTable,
) -> Result<u64, TooMany> {
    let parts = |frame: FrameId, table: &StackTable| table.frames()[frame.index()];
    let (Some(first), Some(last)) = (frames.first().copied(), frames.last().copied()) else {
        return Ok(0);
    };
    let is_first_inlined = places[0].is_inlined;
    if !places.iter().any(|place| place.is_inlined) {
        return Ok(0);
    }
    if is_first_inlined && !has_host {
        // Of the function itself there is the name that its debug information has, and no object.
        let mut function = parts(last, table);
        function.marks.inlined = false;
        let last = frames.len() - 1;
        frames[last] = table.frame(function)?;
        places[last].is_inlined = false;
        return Ok(0);
    }
    let symbol = parts(if has_host { last } else { first }, table);
    let first = parts(first, table);
    let is_misnamed = !is_first_inlined && (first.name, first.obj) == (symbol.name, symbol.obj);
    let inner = frames.len() - 1;
    for (frame, place) in frames[..inner].iter_mut().zip(places.iter()) {
        if place.is_inlined || is_misnamed {
            let inlined = parts(*frame, table);
            *frame = table.frame(FrameParts {
                obj: symbol.obj,
                marks: FrameMarks {
                    inlined: true,
                    ..inlined.marks
                },
                ..inlined
            })?;
        }
    }
    if !has_host {
        // The function itself is called by another name in its debug information than as a symbol.
        let function = parts(last, table);
        frames[inner] = table.frame(FrameParts {
            file: function.file,
            line: function.line,
            ..symbol
        })?;
        places[inner].is_inlined = false;
    }
    Ok(u64::from(is_misnamed))
}
