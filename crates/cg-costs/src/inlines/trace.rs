//! The cost lines of a profile, spooled until all input has been read. Inlined functions are looked up for all addresses at
//! once, and a table of all instructions would need far more memory.
//!
//! A line takes a few bytes, about as many as in the profile. Beyond a limit, the lines go to a temporary file. So memory
//! grows with the number of different addresses, not with the number of lines. Reading the lines back takes most of the
//! time. The addresses are needed first, so they are collected while lines are added.

use std::io::{self, Read, Seek, SeekFrom, Write};

use cg_collections::intern::Id as _;
use cg_collections::maps::{Map, Set};
use tempfile::SpooledTempFile;

use super::addresses::AddressSet;
use crate::ids::FileFunctionId;
use crate::ids::{FunctionId, StringId};
use crate::packing::{from_zigzag, put, put_difference, take, take_difference, zigzag};

/// The place of a cost inside its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// The instruction; `None` if the profile has no addresses.
    pub address: Option<u64>,
    /// The file of the line.
    pub file: StringId,
    /// The line number; 0 if it is unknown.
    pub line: u64,
}

/// The kind of a line's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountsKind {
    /// Self cost.
    Own,
    /// Inclusive cost of calls.
    Calls,
    /// Inclusive cost of calls that belong to a recursion. The callee is this function or a function in its cycle.
    CallsBack,
}

/// One cost line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traced<'a> {
    pub(crate) function: FunctionId,
    /// True if the cost belongs to the inclusive cost of the function's first level.
    pub(crate) is_first: bool,
    pub(crate) at: At,
    pub(crate) counted: CountsKind,
    /// The counts, without trailing zeros.
    pub(crate) counts: &'a [u64],
}

impl<'a> Traced<'a> {
    /// Creates a line of self cost.
    pub(super) fn own(
        function: FunctionId,
        is_first: bool,
        at: At,
        counts: &'a [u64],
    ) -> Traced<'a> {
        Traced {
            function,
            is_first,
            at,
            counted: CountsKind::Own,
            counts,
        }
    }
}

/// All cost lines so far.
pub struct CostLines {
    file: SpooledTempFile,
    /// Write buffer.
    pending: Vec<u8>,
    written: u64,
    /// The line that the next line is delta-encoded against.
    last: Last,
    /// The addresses of each object's lines. The objects are in the order of their first use.
    objects: Vec<(StringId, AddressSet)>,
    positions: Map<StringId, usize>,
    /// The number of objects in complete parts.
    ended_objects: usize,
    /// The position of the object of the last line's node; `None` if the node has had no address yet.
    last_object: Option<usize>,
    has_lines_without_address: bool,
    /// Arcs between the nodes of the current part.
    arcs: Set<(FileFunctionId, FileFunctionId)>,
    parts: Vec<PartTrace>,
    /// The offset at which the current part begins.
    begin: u64,
    error: Option<io::Error>,
}

#[derive(Clone, Copy, Default)]
struct Last {
    node: usize,
    address: u64,
    file: usize,
    line: u64,
}

impl Last {
    /// Writes the place of a line, which becomes the last line.
    fn put(&mut self, at: At, out: &mut Vec<u8>) {
        if let Some(address) = at.address {
            put_difference(out, address.wrapping_sub(self.address));
            self.address = address;
        }
        let file = at.file.index();
        if file != self.file {
            put_difference(out, (file as u64).wrapping_sub(self.file as u64));
            self.file = file;
        }
        put_difference(out, at.line.wrapping_sub(self.line));
        self.line = at.line;
    }
}

/// The offsets of a part in the file: its lines from `begin` on, then the functions of its nodes up to `end`.
struct PartTrace {
    begin: u64,
    lines_end: u64,
    end: u64,
    has_levels: bool,
}

/// The function that a node folds into.
#[derive(Clone, Copy, Debug)]
pub struct TracedNode {
    /// The function under the file's own name.
    pub node: FileFunctionId,
    /// The function in the section.
    pub function: FunctionId,
    /// True for a deeper level of a recursion.
    pub is_deeper: bool,
    /// The cycle of the function; `None` if the function is not in a cycle that is a recursion.
    pub circle: Option<usize>,
}

/// The number of bytes kept in memory. A profile of 100 MB takes about 30 MB here.
const IN_MEMORY: usize = 64 << 20;
const BUFFER: usize = 1 << 16;

// The bits of a line's first byte.
const OTHER_NODE: u8 = 1;
const CALLS: u8 = 2;
const HAS_ADDRESS: u8 = 4;
const OTHER_FILE: u8 = 8;
/// The position of the first of the bits that contain the number of counts.
const COUNTS: u32 = 4;
/// The minimum number of counts that is written as a separate number.
const MANY: usize = 15;
/// The first byte of a line with an address and one count.
const SHORT: u8 = HAS_ADDRESS | 1 << COUNTS;

impl Default for CostLines {
    fn default() -> CostLines {
        CostLines {
            file: SpooledTempFile::new(IN_MEMORY),
            pending: Vec::with_capacity(BUFFER + 256),
            written: 0,
            last: Last::default(),
            objects: Vec::new(),
            positions: Map::default(),
            ended_objects: 0,
            last_object: None,
            has_lines_without_address: false,
            arcs: Set::default(),
            parts: Vec::new(),
            begin: 0,
            error: None,
        }
    }
}

impl CostLines {
    /// Adds a line of a node. With a callee, it is a line of calls. `object` returns the node's object. If the line cannot
    /// be kept, `CostLines::read` returns the error.
    #[inline]
    pub fn add(
        &mut self,
        node: FileFunctionId,
        object: impl FnOnce() -> StringId,
        at: At,
        callee: Option<FileFunctionId>,
        counts: &[u64],
    ) {
        let is_other = node.index() != self.last.node;
        if is_other {
            self.last_object = None;
        }
        self.add_address(object, at);
        let is_other_file = at.file.index() != self.last.file;
        // Most lines are of this kind: one event, and numbers that take one byte.
        if let (Some(address), None, &[count]) = (at.address, callee, counts)
            && !is_other
            && !is_other_file
            && let difference = zigzag(address.wrapping_sub(self.last.address))
            && let lines = zigzag(at.line.wrapping_sub(self.last.line))
            && count | difference | lines < 0x80
            && count != 0
        {
            (self.last.address, self.last.line) = (address, at.line);
            let bytes = [SHORT, difference as u8, lines as u8, count as u8];
            self.pending.extend_from_slice(&bytes);
            if self.pending.len() >= BUFFER {
                self.flush();
            }
            return;
        }
        if let Some(callee) = callee {
            self.arcs.insert((node, callee));
        }
        let length = counts
            .iter()
            .rposition(|count| *count != 0)
            .map_or(0, |last| last + 1);
        let (node, last) = (node.index(), &mut self.last);
        let out = &mut self.pending;
        let mut first = u8::try_from(length.min(MANY)).unwrap_or(0) << COUNTS;
        if is_other {
            first |= OTHER_NODE;
        }
        if callee.is_some() {
            first |= CALLS;
        }
        if at.address.is_some() {
            first |= HAS_ADDRESS;
        }
        if is_other_file {
            first |= OTHER_FILE;
        }
        out.push(first);
        if is_other {
            put(out, node as u64);
            last.node = node;
        }
        last.put(at, out);
        if let Some(callee) = callee {
            put(out, callee.index() as u64);
        }
        if length >= MANY {
            put(out, length as u64);
        }
        for count in &counts[..length] {
            put(out, *count);
        }
        if out.len() >= BUFFER {
            self.flush();
        }
    }

    #[inline]
    fn add_address(&mut self, object: impl FnOnce() -> StringId, at: At) {
        let Some(address) = at.address else {
            self.has_lines_without_address = true;
            return;
        };
        let position = match self.last_object {
            Some(position) => position,
            None => self.position(object()),
        };
        self.objects[position].1.insert(address);
    }

    fn position(&mut self, object: StringId) -> usize {
        let objects = &mut self.objects;
        let position = *self.positions.entry(object).or_insert_with(|| {
            objects.push((object, AddressSet::default()));
            objects.len() - 1
        });
        self.last_object = Some(position);
        position
    }

    /// Returns true if any line has no address.
    pub(super) fn has_lines_without_address(&self) -> bool {
        self.has_lines_without_address
    }

    /// Takes the addresses of complete parts, by object, in the order of the objects' first use.
    pub(super) fn take_addresses(&mut self) -> impl Iterator<Item = (StringId, AddressSet)> {
        self.last_object = None;
        self.positions.clear();
        std::mem::take(&mut self.objects)
            .into_iter()
            .take(self.ended_objects)
    }

    /// Returns the pairs of caller and callee in the current part.
    pub fn arcs(&self) -> impl Iterator<Item = (FileFunctionId, FileFunctionId)> {
        self.arcs.iter().copied()
    }

    /// Ends a part. `nodes` has the functions of its nodes. `has_levels` is true if deeper levels of a recursion have
    /// separate nodes.
    pub fn end_part(&mut self, has_levels: bool, nodes: impl Iterator<Item = TracedNode>) {
        self.flush();
        let lines_end = self.written;
        for node in nodes {
            put(&mut self.pending, node.node.index() as u64);
            put(
                &mut self.pending,
                (node.function.index() as u64) << 1 | u64::from(node.is_deeper),
            );
            put(
                &mut self.pending,
                node.circle.map_or(0, |circle| circle as u64 + 1),
            );
            if self.pending.len() >= BUFFER {
                self.flush();
            }
        }
        self.flush();
        self.parts.push(PartTrace {
            begin: self.begin,
            lines_end,
            end: self.written,
            has_levels,
        });
        self.arcs.clear();
        self.begin = self.written;
        self.last = Last::default();
        self.last_object = None;
        self.ended_objects = self.objects.len();
    }

    fn flush(&mut self) {
        if self.error.is_none()
            && let Err(error) = self.file.write_all(&self.pending)
        {
            self.error = Some(error);
        }
        self.written += self.pending.len() as u64;
        self.pending.clear();
    }

    /// Passes all lines of complete parts to `lines`.
    ///
    /// # Errors
    /// Returns an error if the lines could not be kept.
    pub(crate) fn read(&mut self, lines: &mut impl TakeLines) -> io::Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut functions: Vec<Option<NodeFunction>> = Vec::new();
        let mut counts = Vec::new();
        for part in &self.parts {
            functions.clear();
            pieces(&mut self.file, part.lines_end..part.end, |bytes| {
                let (node, bytes) = take(bytes)?;
                let (function, bytes) = take(bytes)?;
                let (circle, rest) = take(bytes)?;
                let node = usize::try_from(node).ok()?;
                if functions.len() <= node {
                    functions.resize(node + 1, None);
                }
                functions[node] = Some(NodeFunction {
                    function: FunctionId::at(usize::try_from(function >> 1).ok()?).ok()?,
                    is_deeper: function & 1 != 0,
                    circle,
                });
                Some(rest)
            })?;
            let mut last = Last::default();
            // The function of the last line's node.
            let mut function = functions.first().copied().flatten();
            pieces(&mut self.file, part.begin..part.lines_end, |bytes| {
                let mut run = CostRun {
                    bytes,
                    address: last.address,
                    line: last.line,
                    file: last.file,
                };
                if run.peek().is_some() {
                    if let Some(node) = function {
                        lines.run(node.function, !node.is_deeper, &mut run);
                    }
                    // Skip the remaining lines of the run.
                    run.by_ref().for_each(drop);
                    (last.address, last.line) = (run.address, run.line);
                    return Some(run.bytes);
                }
                let (line, rest) = read_line(bytes, last, &mut counts)?;
                if line.last.node != last.node {
                    function = functions.get(line.last.node).copied().flatten();
                }
                last = line.last;
                if let Some(node) = function {
                    let counted = match line.callee {
                        None => CountsKind::Own,
                        Some(callee) => match functions.get(callee).copied().flatten() {
                            Some(callee) if node.calls_back(callee) => CountsKind::CallsBack,
                            _ => CountsKind::Calls,
                        },
                    };
                    // Without levels, a whole recursion is at one level, and only calls out of it are first-level cost.
                    let is_nested = counted == CountsKind::CallsBack && !part.has_levels;
                    lines.line(&Traced {
                        function: node.function,
                        is_first: !node.is_deeper && !is_nested,
                        at: line.at,
                        counted,
                        counts: &counts,
                    });
                }
                Some(rest)
            })?;
        }
        Ok(())
    }
}

/// A consumer of lines that are read back.
pub(crate) trait TakeLines {
    fn line(&mut self, line: &Traced);

    /// Takes a run of lines of a function. `is_first` applies to each line.
    fn run(&mut self, function: FunctionId, is_first: bool, run: &mut CostRun) {
        while let Some((address, line, count)) = run.next() {
            if let Some(at) = run.at(address, line) {
                self.line(&Traced::own(function, is_first, at, &[count]));
            }
        }
    }
}

impl<See: FnMut(&Traced)> TakeLines for See {
    fn line(&mut self, line: &Traced) {
        self(line);
    }
}

/// A run of lines of the most frequent form: self cost of one function in one file. Each line has an address, a line number
/// near the previous one, and one small count.
pub(crate) struct CostRun<'b> {
    bytes: &'b [u8],
    address: u64,
    line: u64,
    file: usize,
}

impl<'b> CostRun<'b> {
    /// Returns the differences to the next address and line with its count, and the bytes after them.
    #[inline(always)]
    fn peek(&self) -> Option<([u8; 3], &'b [u8])> {
        match self.bytes {
            [
                SHORT,
                address @ ..0x80,
                line @ ..0x80,
                count @ ..0x80,
                rest @ ..,
            ] => Some(([*address, *line, *count], rest)),
            _ => None,
        }
    }

    /// Returns the place of a line of the run.
    #[inline]
    pub(super) fn at(&self, address: u64, line: u64) -> Option<At> {
        Some(At {
            address: Some(address),
            file: StringId::at(self.file).ok()?,
            line,
        })
    }
}

impl Iterator for CostRun<'_> {
    /// An address, its line number, and its count.
    type Item = (u64, u64, u64);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, u64, u64)> {
        let ([address, line, count], rest) = self.peek()?;
        self.address = self.address.wrapping_add(from_zigzag(address.into()));
        self.line = self.line.wrapping_add(from_zigzag(line.into()));
        self.bytes = rest;
        Some((self.address, self.line, count.into()))
    }
}

/// The function that a node folds into, when read back.
#[derive(Clone, Copy)]
struct NodeFunction {
    function: FunctionId,
    is_deeper: bool,
    /// The number of the function's cycle, counted from 1; 0 if it is not in a cycle.
    circle: u64,
}

impl NodeFunction {
    /// Returns true if a call of this callee can lead back to the function.
    fn calls_back(self, callee: NodeFunction) -> bool {
        self.function == callee.function || (self.circle != 0 && self.circle == callee.circle)
    }
}

/// A line as it was written, without its counts.
struct CostLine {
    last: Last,
    at: At,
    callee: Option<usize>,
}

/// Reads a line; `None` if `bytes` ends within it.
#[inline(always)]
fn read_line<'b>(
    bytes: &'b [u8],
    mut last: Last,
    counts: &mut Vec<u64>,
) -> Option<(CostLine, &'b [u8])> {
    let (first, mut rest) = bytes.split_first()?;
    if first & OTHER_NODE != 0 {
        let (node, after) = take(rest)?;
        last.node = usize::try_from(node).ok()?;
        rest = after;
    }
    let mut address = None;
    if first & HAS_ADDRESS != 0 {
        let (difference, after) = take_difference(rest)?;
        last.address = last.address.wrapping_add(difference);
        address = Some(last.address);
        rest = after;
    }
    if first & OTHER_FILE != 0 {
        let (file, after) = take_difference(rest)?;
        last.file = usize::try_from((last.file as u64).wrapping_add(file)).ok()?;
        rest = after;
    }
    let (difference, after) = take_difference(rest)?;
    last.line = last.line.wrapping_add(difference);
    rest = after;
    let at = At {
        address,
        file: StringId::at(last.file).ok()?,
        line: last.line,
    };
    let mut callee = None;
    if first & CALLS != 0 {
        let (node, after) = take(rest)?;
        callee = Some(usize::try_from(node).ok()?);
        rest = after;
    }
    let mut length = usize::from(first >> COUNTS);
    if length == MANY {
        let (many, after) = take(rest)?;
        length = usize::try_from(many).ok()?;
        rest = after;
    }
    counts.clear();
    for _ in 0..length {
        let (count, after) = take(rest)?;
        counts.push(count);
        rest = after;
    }
    Some((CostLine { last, at, callee }, rest))
}

/// Reads a range of the file piece by piece. `read` takes one piece from the beginning of the bytes and returns the rest, or
/// `None` if the bytes end within the piece.
fn pieces(
    file: &mut SpooledTempFile,
    range: std::ops::Range<u64>,
    mut read: impl FnMut(&[u8]) -> Option<&[u8]>,
) -> io::Result<()> {
    file.seek(SeekFrom::Start(range.start))?;
    let mut file = file.take(range.end - range.start);
    let mut bytes: Vec<u8> = Vec::with_capacity(2 * BUFFER);
    loop {
        let more = (&mut file).take(BUFFER as u64).read_to_end(&mut bytes)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty()
            && let Some(after) = read(rest)
        {
            rest = after;
        }
        let left = rest.len();
        if more == 0 {
            return match left {
                0 => Ok(()),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        bytes.drain(..bytes.len() - left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back_unchanged() {
        let id = |index| FileFunctionId::at(index).unwrap();
        let function = |index| FunctionId::at(index).unwrap();
        let file = |index| StringId::at(index).unwrap();
        let mut trace = CostLines::default();
        let many: Vec<u64> = (0..40).collect();
        let mut expected = Vec::new();
        for part in 0..2 {
            // Enough lines for buffers to end within lines.
            for round in 0..30_000u64 {
                // Several consecutive lines have the same node, as in most profiles.
                let node = (round / 6 % 7) as usize;
                let (address, name, line) = match round % 6 {
                    0 => (None, round as usize % 5, round % 99),
                    1 => (Some(u64::MAX - round * 1000), 3, u64::MAX - round),
                    2 => (Some(round), round as usize % 4, round),
                    _ => (Some(round), 2, round % 50),
                };
                let at = At {
                    address,
                    file: file(name),
                    line,
                };
                let small = [round % 300];
                let counts = match round % 5 {
                    0 => &[u64::MAX, 0, round, 0][..],
                    1 => &many,
                    2 => &[],
                    _ => &small,
                };
                // From a function in a cycle, one call goes back into the cycle and one leaves it.
                let callee = [None, Some(6), Some(5), None, None, None][(round % 6) as usize];
                trace.add(id(node), || file(node % 2), at, callee.map(id), counts);
                let counted = match callee {
                    None => CountsKind::Own,
                    Some(callee) if callee == node || (node.is_multiple_of(3) && callee == 6) => {
                        CountsKind::CallsBack
                    }
                    Some(_) => CountsKind::Calls,
                };
                let is_nested = counted == CountsKind::CallsBack && part == 1;
                let kept = counts
                    .iter()
                    .rposition(|count| *count != 0)
                    .map_or(0, |last| last + 1);
                expected.push((
                    node + part,
                    node.is_multiple_of(2) && !is_nested,
                    at,
                    counted,
                    counts[..kept].to_vec(),
                ));
            }
            let nodes = (0..7).map(|node| TracedNode {
                node: id(node),
                function: function(node + part),
                is_deeper: node % 2 == 1,
                circle: (node % 3 == 0).then_some(4),
            });
            trace.end_part(part == 0, nodes);
        }
        let mut found = Vec::new();
        for _ in 0..2 {
            found.clear();
            trace
                .read(&mut |line: &Traced| {
                    found.push((
                        line.function.index(),
                        line.is_first,
                        line.at,
                        line.counted,
                        line.counts.to_vec(),
                    ));
                })
                .unwrap();
        }
        assert!(found == expected);
    }
}
