//! The paths of source files, out of the headers of line tables.

use std::rc::Rc;

use cg_stream::maps::Map;
use gimli::{Dwarf, Reader, Section};

use crate::chains::{Builder, FileId};
use crate::dwarf::{DwarfUnits, OpenUnit, Slice};
use crate::limits::Steps;

/// The file tables that were read: a path that was put together once is not put together again.
#[derive(Default)]
pub(crate) struct FileTables<'a> {
    tables: Map<usize, Option<Rc<gimli::LineProgramHeader<Slice<'a>>>>>,
    files: Map<(usize, u64), Option<FileId>>,
}

/// Tables kept at a time.
const MOST_TABLES: usize = 16;
/// Longer paths than any system has are damage.
const LONGEST_PATH: usize = 1 << 14;

impl<'a> FileTables<'a> {
    /// The file with a number in the table of a unit. Numbers begin at 1 before DWARF 5, and 0 is none.
    pub(crate) fn file(
        &mut self,
        units: &DwarfUnits<'a>,
        open: &OpenUnit<'a>,
        number: u64,
        builder: &mut Builder,
        steps: &mut Steps,
    ) -> Option<FileId> {
        let offset = open.line_program?.0;
        if let Some(file) = self.files.get(&(offset, number)) {
            return *file;
        }
        if self.tables.len() >= MOST_TABLES && !self.tables.contains_key(&offset) {
            self.tables.clear();
        }
        let table = (self.tables.entry(offset))
            .or_insert_with(|| {
                program(units, open, steps).map(|program| Rc::new(program.header().clone()))
            })
            .clone();
        let file = table.and_then(|table| path(units.dwarf, open, &table, number));
        let file = file.map(|path| builder.file(path));
        self.files.insert((offset, number), file);
        file
    }
}

/// A unit's line table, of which the header has been read; none where that is larger than any compiler makes one.
pub(crate) fn program<'a>(
    units: &DwarfUnits<'a>,
    open: &OpenUnit<'a>,
    steps: &mut Steps,
) -> Option<gimli::IncompleteLineProgram<Slice<'a>>> {
    let offset = open.line_program?;
    let length = header_length(units.dwarf, offset)?;
    if length > units.limits.file_table {
        return None;
    }
    steps.take(20 * length).ok()?;
    let unit = &open.unit;
    let program = units.dwarf.debug_line.program(
        offset,
        unit.header.address_size(),
        unit.comp_dir,
        unit.name,
    );
    program.ok()
}

/// How long the header says it is, which is what reading it costs.
fn header_length(dwarf: &Dwarf<Slice>, offset: gimli::DebugLineOffset) -> Option<u64> {
    let mut input = *dwarf.debug_line.reader();
    input.skip(offset.0).ok()?;
    let (_, format) = input.read_initial_length().ok()?;
    let version = input.read_u16().ok()?;
    if version >= 5 {
        input.skip(2).ok()?;
    }
    input.read_word(format).ok().map(|length| length as u64)
}

/// The path of a file: its directory, below that of the compilation where it is relative, and its name.
pub(crate) fn path(
    dwarf: &Dwarf<Slice>,
    open: &OpenUnit,
    table: &gimli::LineProgramHeader<Slice>,
    number: u64,
) -> Option<Vec<u8>> {
    let file = table.file(number)?;
    let name = dwarf.attr_string(&open.unit, file.path_name()).ok()?;
    let directory =
        (file.directory(table)).and_then(|directory| dwarf.attr_string(&open.unit, directory).ok());
    let mut path = Vec::new();
    for part in [open.unit.comp_dir, directory, Some(name)]
        .into_iter()
        .flatten()
    {
        if part.starts_with(b"/") {
            path.clear();
        } else if !path.is_empty() && !path.ends_with(b"/") {
            path.push(b'/');
        }
        path.extend_from_slice(part.slice());
    }
    (path.len() <= LONGEST_PATH && !path.is_empty()).then_some(path)
}
