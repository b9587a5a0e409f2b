//! The call chain of a sample: converts its lines to frames.
//!
//! perf prints the functions inlined at an address before their host function, each with the same address and `(inlined)`
//! instead of the object. They belong to the object of the host function.
//!
//! A perf without libdw asks binutils' `addr2line`. Then the innermost frame of such a group has the name of the host
//! function: `work`, `operator() (inlined)`, `run (inlined)`, `work`. Its own name is lost. The reader marks it as inlined,
//! so it does not look like a recursion. The last frame of the group is the host itself. If the host's debug information and
//! symbol have different names, perf prints the name from the debug information, and wrongly `(inlined)`.

use cg_collections::intern::{Id, TooMany};
use cg_stream::record::FrameMarks;

use super::frame::{FoundFrame, PerfFrames, source_line};
use crate::table::{FrameId, FrameParts, StackTable};

/// The maximum number of addresses in a chain, both in the kernel (`kernel.perf_event_max_stack`) and in `perf script`.
const MOST_ADDRESSES: usize = 127;

/// The frames of a sample while its lines are read, innermost first.
#[derive(Default)]
pub(super) struct PerfChain {
    frames: Vec<FrameId>,
    /// The address of each frame, and whether the frame is inlined.
    places: Vec<FrameAddress>,
    has_inlined: bool,
}

/// The address of a frame, and whether perf printed the frame as inlined.
#[derive(Clone, Copy)]
struct FrameAddress {
    address: u64,
    is_inlined: bool,
}

/// The frames of a complete chain.
pub(super) struct FinishedChain<'c> {
    /// Innermost first.
    pub(super) frames: &'c [FrameId],
    /// True if outer frames may be missing.
    pub(super) is_cut: bool,
    /// The number of frames that have the name of their inliner.
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

    /// Adds the next outer frame.
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

    /// Adds a source line to the last frame.
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
            parts.file = table.text_unless_empty(file)?;
            parts.line = Some(line);
        }
        parts.marks.inlined |= is_inlined;
        last.is_inlined |= is_inlined;
        self.has_inlined |= is_inlined;
        *frame = table.frame(parts)?;
        Ok(())
    }

    /// Returns the frames of the complete chain.
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

    /// Gives inlined frames the object of their host function. Returns the number of frames that have the host's name
    /// instead of their own.
    fn place_inlined(&mut self, table: &mut StackTable) -> Result<u64, TooMany> {
        let mut misnamed = 0;
        let mut start = 0;
        while start < self.places.len() {
            let (end, host) = self.group_at(start);
            let group = start..end;
            misnamed += place_group(
                &mut self.frames[group.clone()],
                &mut self.places[group],
                host,
                table,
            )?;
            start = end;
        }
        Ok(misnamed)
    }

    /// Returns the end of the group of frames at one address. The flag is true if inlined frames come first and a frame that
    /// is not inlined ends the group. A recursive function has one group per call.
    fn group_at(&self, start: usize) -> (usize, bool) {
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

/// Does the same for the group of one address. If `has_host`, the last frame is the host function.
fn place_group(
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
        // The host function has only the name from its debug information, and no object.
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
        // The host function has different names in its debug information and as a symbol.
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
