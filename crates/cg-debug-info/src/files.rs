//! The paths of source files, from the headers of line tables.

use std::rc::Rc;

use cg_collections::maps::Map;
use gimli::{Dwarf, Reader, Section};

use crate::chains::{Builder, FileId};
use crate::dwarf::{DwarfUnits, OpenUnit, Slice};
use crate::limits::Steps;

/// A cache of file tables and of the paths built from them.
#[derive(Default)]
pub(crate) struct FileTables<'a> {
    tables: Map<usize, Option<Rc<gimli::LineProgramHeader<Slice<'a>>>>>,
    files: Map<(usize, u64), Option<FileId>>,
}

/// The maximum number of tables in the cache.
const MAX_TABLES: usize = 16;
/// The maximum length of a path. No system has longer paths, so a longer one is damaged.
const MAX_PATH_LEN: usize = 1 << 14;

impl<'a> FileTables<'a> {
    /// Returns the file with this number in the table of a unit. Before DWARF 5, numbers begin at 1 and 0 means no file.
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
        if self.tables.len() >= MAX_TABLES && !self.tables.contains_key(&offset) {
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

/// Reads the header of a unit's line table; `None` if the header exceeds the limit, which no compiler reaches.
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

/// Returns the length of the header according to its own field. This is the cost of reading it.
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

/// Builds the path of a file from its directory and its name. A relative directory is below the compilation directory.
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
    (path.len() <= MAX_PATH_LEN && !path.is_empty()).then_some(path)
}
