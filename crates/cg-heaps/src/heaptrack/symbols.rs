//! The places of allocations: strings, instruction pointers and traces, identified by their indices in the file.

use std::borrow::Cow;
use std::ops::Range;

use cg_collections::intern::Id as _;
use cg_names::demangle::demangle_path;
use cg_stream::record::{Frame, Name};
use cg_stream::rows::FrameId;

/// The maximum number of frames in a stack, including inlined frames. heaptrack records at most 64 frames, so a file with
/// far longer stacks is not from heaptrack.
const LONGEST_STACK: u32 = 16 * 1024;

/// An index in the file, counted from 1; 0 means that there is nothing.
pub(super) type FileIndex = u32;

/// The tables of a recording.
#[derive(Debug, Default)]
pub(super) struct SymbolTables {
    /// All strings, concatenated.
    text: Vec<u8>,
    strings: Vec<Range<usize>>,
    pointers: Vec<InstructionPointer>,
    /// The places of all instruction pointers, each innermost first.
    places: Vec<FunctionPlace>,
    traces: Vec<AllocationTrace>,
}

#[derive(Debug)]
struct InstructionPointer {
    address: u64,
    module: FileIndex,
    places: Range<u32>,
}

/// A function and a line in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FunctionPlace {
    pub(super) function: FileIndex,
    pub(super) file: FileIndex,
    pub(super) line: u64,
}

#[derive(Debug)]
struct AllocationTrace {
    pointer: FileIndex,
    /// The caller's trace.
    parent: FileIndex,
    /// The number of frames in the stack that ends here.
    depth: u32,
}

impl SymbolTables {
    pub(super) fn add_string(&mut self, text: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        self.strings.push(start..self.text.len());
    }

    /// Adds an instruction pointer with its places, innermost first. All places except the last are inlined.
    pub(super) fn add_pointer(
        &mut self,
        address: u64,
        module: FileIndex,
        places: &[FunctionPlace],
    ) -> Result<(), String> {
        let names = places.iter().flat_map(|place| [place.function, place.file]);
        if let Some(unknown) = std::iter::once(module)
            .chain(names)
            .find(|index| *index as usize > self.strings.len())
        {
            return Err(format!("there is no string {unknown:x}"));
        }
        let start = self.places.len();
        match places {
            [] => self.places.push(FunctionPlace::default()),
            places => self.places.extend_from_slice(places),
        }
        let (Ok(start), Ok(end)) = (start.try_into(), self.places.len().try_into()) else {
            return Err("the number of frames does not fit in 32 bits".to_owned());
        };
        self.pointers.push(InstructionPointer {
            address,
            module,
            places: start..end,
        });
        Ok(())
    }

    /// Adds a trace. The caller's trace must precede it, so every stack ends.
    pub(super) fn add_trace(
        &mut self,
        pointer: FileIndex,
        parent: FileIndex,
    ) -> Result<(), String> {
        let frames = match pointer
            .checked_sub(1)
            .map(|index| self.pointers.get(index as usize))
        {
            None => 0,
            Some(Some(pointer)) => pointer.places.end - pointer.places.start,
            Some(None) => return Err(format!("there is no instruction pointer {pointer:x}")),
        };
        let below = match parent
            .checked_sub(1)
            .map(|index| self.traces.get(index as usize))
        {
            None => 0,
            Some(Some(parent)) => parent.depth,
            Some(None) => return Err(format!("there is no trace {parent:x} yet")),
        };
        let depth = below.saturating_add(frames);
        if depth > LONGEST_STACK {
            return Err(format!("a stack has more than {LONGEST_STACK} frames"));
        }
        if self.traces.len() >= FileIndex::MAX as usize {
            return Err("the number of traces does not fit in 32 bits".to_owned());
        }
        self.traces.push(AllocationTrace {
            pointer,
            parent,
            depth,
        });
        Ok(())
    }

    /// Returns true if the index is 0 or belongs to a trace.
    pub(super) fn has_trace(&self, trace: FileIndex) -> bool {
        trace as usize <= self.traces.len()
    }

    /// Returns the frames of all instruction pointers. [`SymbolTables::stack`] numbers the frames in this order.
    pub(super) fn frames(&self, is_demangled: bool) -> impl Iterator<Item = Frame<'_>> {
        self.pointers.iter().flat_map(move |pointer| {
            let places = &self.places[pointer.places.start as usize..pointer.places.end as usize];
            let obj = self.name(pointer.module);
            let addr = Name::from(format!("0x{:X}", pointer.address));
            places
                .iter()
                .enumerate()
                .map(move |(position, place)| Frame {
                    name: self.function(place.function, is_demangled),
                    file: self.name(place.file),
                    line: (place.line != 0).then_some(place.line),
                    obj: obj.clone(),
                    addr: Some(addr.clone()),
                    inlined: position + 1 < places.len(),
                    ..Frame::default()
                })
        })
    }

    /// Replaces `stack` by the frames of a trace, innermost first. The ids are positions in [`SymbolTables::frames`].
    pub(super) fn stack(&self, trace: FileIndex, stack: &mut Vec<FrameId>) {
        stack.clear();
        let mut next = trace;
        while let Some(trace) = next
            .checked_sub(1)
            .and_then(|index| self.traces.get(index as usize))
        {
            let pointer = trace
                .pointer
                .checked_sub(1)
                .and_then(|index| self.pointers.get(index as usize));
            for position in pointer.map_or(0..0, |pointer| pointer.places.clone()) {
                stack.extend(FrameId::at(position as usize));
            }
            next = trace.parent;
        }
    }

    /// Returns, for each trace, true if a function, a file or a module in its stack matches.
    pub(super) fn traces_with(&self, matches: impl Fn(&[u8]) -> bool) -> Vec<bool> {
        let strings: Vec<bool> = self
            .strings
            .iter()
            .map(|range| matches(&self.text[range.clone()]))
            .collect();
        let string = |index: FileIndex| {
            index
                .checked_sub(1)
                .is_some_and(|index| strings[index as usize])
        };
        let pointers: Vec<bool> = self
            .pointers
            .iter()
            .map(|pointer| {
                let places = pointer.places.start as usize..pointer.places.end as usize;
                string(pointer.module)
                    || self.places[places]
                        .iter()
                        .any(|place| string(place.function) || string(place.file))
            })
            .collect();
        let mut traces: Vec<bool> = Vec::with_capacity(self.traces.len());
        for trace in &self.traces {
            let at = |found: &[bool], index: FileIndex| {
                index
                    .checked_sub(1)
                    .is_some_and(|index| found[index as usize])
            };
            traces.push(at(&traces, trace.parent) || at(&pointers, trace.pointer));
        }
        traces
    }

    fn bytes(&self, index: FileIndex) -> Option<&[u8]> {
        let range = self.strings.get(index.checked_sub(1)? as usize)?;
        Some(&self.text[range.clone()]).filter(|text| !text.is_empty())
    }

    fn name(&self, index: FileIndex) -> Option<Name<'_>> {
        self.bytes(index).map(Name::from_bytes)
    }

    fn function(&self, index: FileIndex, is_demangled: bool) -> Option<Name<'_>> {
        let name = self.bytes(index)?;
        match demangle_path(name) {
            // heaptrack demangles only C++ names. Rust's legacy names keep their hash, and v0 names stay mangled.
            Cow::Owned(demangled) if is_demangled => {
                Some(Name::from_bytes(&demangled).into_owned())
            }
            _ => Some(Name::from_bytes(name)),
        }
    }
}
