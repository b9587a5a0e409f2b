//! Converts the stacks of a thread's tables to the table of stacks.

use std::collections::{BTreeMap, BTreeSet};

use cg_reader::json::{Index, JsonText};
use cg_reader::{Error, get_checked};
use cg_stream::record::FrameMarks;

use super::super::address;
use super::super::table::{FrameId, FrameParts, StackLinkId, StackTable};
use super::super::tree;
use super::columns::DocumentTables;
use super::document::{Category, Library};
use super::location;
use super::symbols::SidecarSymbols;

/// The inputs for making frames.
pub(super) struct Frames<'p, 'a> {
    pub(super) tables: &'p DocumentTables<'p, 'a>,
    pub(super) categories: &'p [Category<'a>],
    pub(super) symbols: &'p SidecarSymbols,
    pub(super) is_demangled: bool,
    /// True if addresses of calls are return addresses, which are the addresses of the next instructions.
    pub(super) has_return_addresses: bool,
}

/// The stacks of a thread, by row of its stack table.
pub(super) struct ThreadStacks {
    stacks: Vec<Option<StackLinkId>>,
    /// The same stacks as stacks of samples, whose innermost address is not a return address. `None` if no address is a
    /// return address.
    leaves: Option<Vec<Option<StackLinkId>>>,
}

impl ThreadStacks {
    /// Returns the number of stacks.
    pub(super) fn count(&self) -> usize {
        self.stacks.len()
    }

    /// Returns the stack of a sample; `None` if the sample has no stack.
    pub(super) fn at(&self, row: Index) -> Result<Option<StackLinkId>, Error> {
        let Some(row) = row.get() else {
            return Ok(None);
        };
        let stacks = self.leaves.as_ref().unwrap_or(&self.stacks);
        get_checked(stacks, row, "stacks").copied()
    }
}

impl Frames<'_, '_> {
    /// Converts all stacks.
    pub(super) fn stacks(&self, table: &mut StackTable) -> Result<ThreadStacks, Error> {
        let columns = &self.tables.stacks;
        let outer = |row: usize| Ok(columns.prefix.get(row).and_then(|row| row.get()));
        let calls = self.frames(table, self.has_return_addresses)?;
        let stacks = tree::stacks(table, columns.frame.len(), outer, |row, _, frames| {
            calls.push_to(self.frame_of_stack(row)?, frames)
        })?;
        let leaves = match self.has_return_addresses {
            false => None,
            true => {
                let leaves = self.frames(table, false)?;
                let mut row_frames = Vec::new();
                let mut leaf_stacks = Vec::with_capacity(stacks.len());
                for row in 0..stacks.len() {
                    row_frames.clear();
                    leaves.push_to(self.frame_of_stack(row)?, &mut row_frames)?;
                    let mut stack = outer(row)?.and_then(|outer| stacks[outer]);
                    for frame in row_frames.iter().rev() {
                        stack = Some(table.push(stack, *frame)?);
                    }
                    leaf_stacks.push(stack);
                }
                Some(leaf_stacks)
            }
        };
        Ok(ThreadStacks { stacks, leaves })
    }

    fn frame_of_stack(&self, row: usize) -> Result<usize, Error> {
        self.tables.stacks.frame[row]
            .get()
            .ok_or_else(|| Error::whole(format!("stack {row} has no frame")))
    }

    /// Converts all frames. `are_calls` is true if the addresses are return addresses.
    fn frames(&self, table: &mut StackTable, are_calls: bool) -> Result<FramesByRow, Error> {
        let mut by_row = FramesByRow::default();
        for row in 0..self.tables.frames.count {
            if self.tables.frames.location.is_empty() {
                self.add_function_frames(row, table, &mut by_row.frames)?;
            } else {
                let frame = self.frame_at_location(row, are_calls, table)?;
                by_row.frames.push(frame);
            }
            by_row.ends.push(by_row.frames.len());
        }
        Ok(by_row)
    }

    fn text(&self, index: Option<Index>) -> Result<&[u8], Error> {
        let Some(position) = index.and_then(Index::get) else {
            return Ok(&[]);
        };
        get_checked(self.tables.strings, position, "strings").map(JsonText::as_bytes)
    }

    fn marks(&self, row: usize) -> Result<FrameMarks, Error> {
        let frames = &self.tables.frames;
        let category = frames.category.get(row).and_then(|category| category.get());
        let category = category.and_then(|category| self.categories.get(category));
        let category = category.map_or(&[][..], |category| category.name.as_bytes());
        let implementation = self.text(frames.implementation.get(row).copied())?;
        Ok(FrameMarks {
            kernel: category == b"Kernel",
            jit: category.starts_with(b"JIT")
                || matches!(implementation, b"baseline" | b"ion" | b"blinterp"),
            inlined: frames
                .inline_depth
                .get(row)
                .and_then(|depth| depth.get())
                .is_some_and(|depth| depth > 0),
            waker: false,
        })
    }

    /// Adds the addresses of frames without a name, by object.
    pub(super) fn collect_unnamed_addresses(
        &self,
        into: &mut BTreeMap<usize, BTreeSet<u64>>,
    ) -> Result<(), Error> {
        let tables = self.tables;
        for row in 0..tables.frames.function.len() {
            let function = tables.frames.function[row].get();
            let name = function.and_then(|function| tables.functions.name.get(function));
            if is_address(self.text(name.copied())?)
                && let (Some(lib), Some(address)) = (tables.lib_of(row), tables.address_of(row))
            {
                into.entry(lib).or_default().insert(address);
            }
        }
        Ok(())
    }

    /// Adds the frames of a row that refers to a function.
    fn add_function_frames(
        &self,
        row: usize,
        table: &mut StackTable,
        into: &mut Vec<FrameId>,
    ) -> Result<(), Error> {
        let DocumentTables {
            frames,
            functions,
            source_files,
            libs,
            ..
        } = self.tables;
        let function = frames.function.get(row).copied().and_then(Index::get);
        let function_cell = |column: &[Index]| function.and_then(|row| column.get(row).copied());
        if let Some(function) = function {
            get_checked(&functions.name, function, "functions")?;
        }
        let name = self.text(function_cell(&functions.name))?;
        let file = match function_cell(&functions.source).and_then(Index::get) {
            Some(source) => self.text(source_files.get(source).copied())?,
            None => self.text(function_cell(&functions.file))?,
        };
        let lib = self.tables.lib_of(row);
        let object = lib
            .and_then(|lib| libs.get(lib))
            .map_or(&[][..], Library::object);
        let address = self.tables.address_of(row);
        let marks = self.marks(row)?;
        let is_kernel = marks.kernel || address::marks_of(object).kernel;
        let marks = FrameMarks {
            kernel: is_kernel,
            ..marks
        };
        if is_address(name)
            && let (Some(lib), Some(address)) = (lib, address)
            && !object.is_empty()
        {
            return self.add_frames_at_address(lib, object, address, marks, table, into);
        }
        let line = |column: &[Option<i64>], row: usize| {
            let line = column.get(row).copied().flatten();
            line.and_then(|line| u64::try_from(line).ok())
                .filter(|line| *line > 0)
        };
        let frame = FrameParts {
            name: table.function(name, self.is_demangled)?,
            file: table.text_unless_empty(file)?,
            line: line(&frames.line, row).or_else(|| line(&functions.line, function?)),
            obj: table.text_unless_empty(object)?,
            addr: address,
            marks,
        };
        into.push(table.frame(frame)?);
        Ok(())
    }

    /// Adds the frames of an address in an object. Uses the names from the sidecar file or from the object.
    fn add_frames_at_address(
        &self,
        lib: usize,
        object: &[u8],
        address: u64,
        marks: FrameMarks,
        table: &mut StackTable,
        into: &mut Vec<FrameId>,
    ) -> Result<(), Error> {
        let Some(symbols) = self.symbols.get(lib, address) else {
            let frame = FrameParts {
                marks,
                ..address::in_object(table, object, address)?
            };
            into.push(table.frame(frame)?);
            return Ok(());
        };
        for (level, symbol) in symbols.iter().enumerate() {
            let frame = FrameParts {
                name: table.function(&symbol.name, self.is_demangled)?,
                file: table.text_unless_empty(&symbol.file)?,
                line: symbol.line,
                obj: table.text_unless_empty(object)?,
                addr: Some(address),
                marks: FrameMarks {
                    inlined: marks.inlined || level + 1 < symbols.len(),
                    ..marks
                },
            };
            into.push(table.frame(frame)?);
        }
        Ok(())
    }

    /// Returns the frame of a row that has a text.
    fn frame_at_location(
        &self,
        row: usize,
        is_call: bool,
        table: &mut StackTable,
    ) -> Result<FrameId, Error> {
        let frames = &self.tables.frames;
        let text = self.text(frames.location.get(row).copied())?;
        let marks = self.marks(row)?;
        let text = cg_stream::record::Name::from_bytes(text);
        if let Some(address) = location::address(&text) {
            let address = if is_call {
                address.wrapping_sub(1)
            } else {
                address
            };
            let holds = |lib: &&Library| match (lib.start, lib.end) {
                (Some(start), Some(end)) => (start..end).contains(&address),
                _ => false,
            };
            let parts = match self.tables.libs.iter().find(holds) {
                Some(lib) => {
                    let offset = address - lib.start.unwrap_or_default();
                    address::in_object(table, lib.object(), offset)?
                }
                None => address::anywhere(table, address)?,
            };
            return Ok(table.frame(FrameParts { marks, ..parts })?);
        }
        let parsed = location::location(&text);
        let line = frames.line.get(row).copied().flatten();
        let line = line
            .and_then(|line| u64::try_from(line).ok())
            .or(parsed.line);
        let frame = FrameParts {
            name: table.function(parsed.name.as_bytes(), self.is_demangled)?,
            file: table.text_unless_empty(parsed.file.as_bytes())?,
            line: line.filter(|line| *line > 0),
            obj: table.text_unless_empty(parsed.object.as_bytes())?,
            addr: None,
            marks,
        };
        Ok(table.frame(frame)?)
    }
}

/// Returns true for a text like `0x1ab77`, which replaces the name of an unknown function.
pub(super) fn is_address(name: &[u8]) -> bool {
    name.strip_prefix(b"0x")
        .is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit))
}

/// The frames of each row. A row can have several frames.
#[derive(Default)]
struct FramesByRow {
    frames: Vec<FrameId>,
    ends: Vec<usize>,
}

impl FramesByRow {
    /// Adds the frames of a row, innermost first.
    fn push_to(&self, row: usize, into: &mut Vec<FrameId>) -> Result<(), Error> {
        let end = get_checked(&self.ends, row, "frames")?;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        into.extend_from_slice(&self.frames[start..*end]);
        Ok(())
    }
}
