//! The tables of a thread as columns. Hides the two layouts of tables: lists of columns, and lists of rows.

use std::collections::BTreeMap;

use cg_reader::Error;
use cg_reader::json::{self, Index, JsonText, List, NotInList, Scanner};

use super::super::count::Decimal;
use super::document::{ColumnTable, FirefoxDocument, FirefoxThread, Library};

/// The tables that describe the stacks of a thread.
#[derive(Default)]
pub(super) struct DocumentTables<'p, 'a> {
    pub(super) stacks: StackColumns,
    pub(super) frames: FrameColumns,
    pub(super) functions: FunctionColumns,
    /// The object of each resource.
    pub(super) resource_libs: Vec<Index>,
    /// The name of each source, as an index of `strings`.
    pub(super) source_files: Vec<Index>,
    pub(super) strings: &'p [JsonText<'a>],
    pub(super) libs: &'p [Library<'a>],
}

#[derive(Default)]
pub(super) struct StackColumns {
    pub(super) frame: Vec<Index>,
    /// The stack of the callers.
    pub(super) prefix: Vec<Index>,
}

#[derive(Default)]
pub(super) struct FrameColumns {
    pub(super) function: Vec<Index>,
    /// A text that describes the frame. Profiles of Firefox itself have it in place of a function.
    pub(super) location: Vec<Index>,
    pub(super) address: Vec<Option<i64>>,
    pub(super) line: Vec<Option<i64>>,
    pub(super) inline_depth: Vec<Index>,
    pub(super) category: Vec<Index>,
    /// The JavaScript compiler that made the code, as an index of `strings`.
    pub(super) implementation: Vec<Index>,
    pub(super) lib: Vec<Index>,
    pub(super) count: usize,
}

#[derive(Default)]
pub(super) struct FunctionColumns {
    pub(super) name: Vec<Index>,
    pub(super) file: Vec<Index>,
    pub(super) source: Vec<Index>,
    pub(super) resource: Vec<Index>,
    pub(super) line: Vec<Option<i64>>,
}

/// The samples of a thread.
pub(super) struct SampleColumns<'a> {
    pub(super) stack: Vec<Index>,
    pub(super) weight: NumberColumn<'a>,
    pub(super) cpu: NumberColumn<'a>,
    /// The times of the samples in ms; empty if there are `deltas`.
    pub(super) times: NumberColumn<'a>,
    /// The ms since the previous sample.
    pub(super) deltas: NumberColumn<'a>,
}

/// A column of numbers.
pub(super) enum NumberColumn<'a> {
    Text(List<'a>),
    Values(Vec<Option<Decimal>>),
}

impl<'a> NumberColumn<'a> {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            NumberColumn::Text(list) => list.is_empty(),
            NumberColumn::Values(values) => values.is_empty(),
        }
    }

    /// Iterates over the numbers; `None` for `null`.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = Result<Option<Decimal>, NotInList>> + '_> {
        match self {
            NumberColumn::Text(list) => Box::new(list.elements().enumerate().map(number)),
            NumberColumn::Values(values) => Box::new(values.iter().map(|value| Ok(*value))),
        }
    }
}

fn number((position, element): (usize, &[u8])) -> Result<Option<Decimal>, NotInList> {
    match element {
        b"null" => Ok(None),
        digits => Decimal::parse(digits)
            .map(Some)
            .ok_or_else(|| NotInList::new(position, "a number of 64 bits or null", digits)),
    }
}

impl<'p, 'a> DocumentTables<'p, 'a> {
    /// Returns the tables of a thread. Uses the shared tables for those that the thread lacks.
    pub(super) fn new(
        document: &'p FirefoxDocument<'a>,
        thread: &'p FirefoxThread<'a>,
    ) -> Result<DocumentTables<'p, 'a>, Error> {
        let shared = &document.shared;
        let mut tables = DocumentTables {
            strings: [&thread.strings, &shared.strings]
                .into_iter()
                .flatten()
                .next()
                .map_or(&[], |strings| strings.as_slice()),
            libs: thread.libs.as_deref().unwrap_or(&document.libs),
            ..DocumentTables::default()
        };
        if let Some(stacks) = thread.stacks.as_ref().or(shared.stacks.as_ref()) {
            tables.stacks = stack_columns(stacks)?;
        }
        if let Some(frames) = thread.frames.as_ref().or(shared.frames.as_ref()) {
            tables.frames = frame_columns(frames)?;
        }
        if let Some(functions) = thread.functions.as_ref().or(shared.functions.as_ref()) {
            let table_name = "funcTable";
            tables.functions = FunctionColumns {
                name: indices(table_name, "name", functions.name)?,
                file: indices(table_name, "fileName", functions.file_name)?,
                source: indices(table_name, "source", functions.source)?,
                resource: indices(table_name, "resource", functions.resource)?,
                line: integers(table_name, "lineNumber", functions.line_number)?,
            };
        }
        if let Some(resources) = thread.resources.as_ref().or(shared.resources.as_ref()) {
            tables.resource_libs = indices("resourceTable", "lib", resources.lib)?;
        }
        if let Some(sources) = thread.sources.as_ref().or(shared.sources.as_ref()) {
            tables.source_files = indices("sources", "filename", sources.filename)?;
        }
        Ok(tables)
    }

    /// Returns the object of a frame, or else of the resource of its function.
    pub(super) fn lib_of(&self, frame: usize) -> Option<usize> {
        let at = |column: &[Index], row: usize| column.get(row).copied().and_then(Index::get);
        at(&self.frames.lib, frame).or_else(|| {
            let function = at(&self.frames.function, frame)?;
            let resource = at(&self.functions.resource, function)?;
            at(&self.resource_libs, resource)
        })
    }

    /// Returns the address of a frame, relative to its object.
    pub(super) fn address_of(&self, frame: usize) -> Option<u64> {
        let address = self.frames.address.get(frame).copied().flatten()?;
        u64::try_from(address).ok()
    }
}

fn indices(table: &str, column: &str, list: List) -> Result<Vec<Index>, Error> {
    list.indices().map_err(|bad| in_column(table, column, &bad))
}

fn integers(table: &str, column: &str, list: List) -> Result<Vec<Option<i64>>, Error> {
    list.integers()
        .map_err(|bad| in_column(table, column, &bad))
}

/// Creates an error about an element of a column.
pub(super) fn in_column(table: &str, column: &str, bad: &NotInList) -> Error {
    Error::whole(format!("{table}.{column}: {bad}"))
}

fn stack_columns(table: &ColumnTable) -> Result<StackColumns, Error> {
    let table_name = "stackTable";
    if table.data.is_some() {
        let [frame, prefix] = rows_as_columns(table_name, table, ["frame", "prefix"])?;
        return Ok(StackColumns {
            frame: as_indices(&frame),
            prefix: as_indices(&prefix),
        });
    }
    let frame = indices(table_name, "frame", table.frame)?;
    let mut prefix = indices(table_name, "prefix", table.prefix)?;
    if table.prefix.is_empty() {
        // Since version 66 a row has the distance back to the row of its callers; 0 means that there are no callers.
        prefix = indices(table_name, "prefixOffset", table.prefix_offset)?;
        for (row, entry) in prefix.iter_mut().enumerate() {
            *entry = match entry.get() {
                None | Some(0) => Index::from(None),
                Some(offset) => {
                    let outer = row
                        .checked_sub(offset)
                        .and_then(|row| u32::try_from(row).ok());
                    if outer.is_none() {
                        return Err(Error::whole(format!(
                            "stackTable.prefixOffset: element {row}: expected a number of at most {row}, found {offset}"
                        )));
                    }
                    Index::from(outer)
                }
            };
        }
    }
    Ok(StackColumns { frame, prefix })
}

fn frame_columns(table: &ColumnTable) -> Result<FrameColumns, Error> {
    let table_name = "frameTable";
    if table.data.is_some() {
        let columns = [
            "location",
            "line",
            "category",
            "implementation",
            "inlineDepth",
        ];
        let [location, line, category, implementation, inline_depth] =
            rows_as_columns(table_name, table, columns)?;
        return Ok(FrameColumns {
            count: location.len(),
            location: as_indices(&location),
            line: line.iter().map(cell_integer).collect(),
            category: as_indices(&category),
            implementation: as_indices(&implementation),
            inline_depth: as_indices(&inline_depth),
            ..FrameColumns::default()
        });
    }
    let function = indices(table_name, "func", table.func)?;
    Ok(FrameColumns {
        count: function.len(),
        function,
        location: Vec::new(),
        address: integers(table_name, "address", table.address)?,
        line: integers(table_name, "line", table.line)?,
        inline_depth: indices(table_name, "inlineDepth", table.inline_depth)?,
        category: indices(table_name, "category", table.category)?,
        implementation: indices(table_name, "implementation", table.implementation)?,
        lib: indices(table_name, "lib", table.lib)?,
    })
}

/// Returns the columns of a table of samples.
pub(super) fn sample_columns<'a>(
    table_name: &str,
    table: &ColumnTable<'a>,
) -> Result<SampleColumns<'a>, Error> {
    if table.data.is_some() {
        let [stack, cpu, time] =
            rows_as_columns(table_name, table, ["stack", "threadCPUDelta", "time"])?;
        let cpu: Vec<_> = cpu.into_iter().map(Decimal::parse).collect();
        return Ok(SampleColumns {
            stack: as_indices(&stack),
            weight: NumberColumn::Values(Vec::new()),
            cpu: NumberColumn::Values(match cpu.iter().any(Option::is_some) {
                true => cpu,
                false => Vec::new(),
            }),
            times: NumberColumn::Values(time.into_iter().map(Decimal::parse).collect()),
            deltas: NumberColumn::Values(Vec::new()),
        });
    }
    Ok(SampleColumns {
        stack: indices(table_name, "stack", table.stack)?,
        weight: NumberColumn::Text(table.weight),
        cpu: NumberColumn::Text(table.thread_cpu_delta),
        times: NumberColumn::Text(table.time),
        deltas: NumberColumn::Text(table.time_deltas),
    })
}

/// The JSON text of a cell; `null` if the row has no such cell.
type JsonCell<'a> = &'a [u8];

/// Returns the integer in a cell; `None` if the cell is not an integer.
fn cell_integer(cell: &JsonCell) -> Option<i64> {
    json::integer(cell).flatten()
}

fn as_indices(cells: &[JsonCell]) -> Vec<Index> {
    let number = |cell| cell_integer(cell).and_then(|number| u32::try_from(number).ok());
    cells.iter().map(|cell| Index::from(number(cell))).collect()
}

/// Returns the named columns of a table whose rows are lists.
fn rows_as_columns<'a, const N: usize>(
    table_name: &str,
    table: &ColumnTable<'a>,
    names: [&str; N],
) -> Result<[Vec<JsonCell<'a>>; N], Error> {
    let mut columns = std::array::from_fn(|_| Vec::new());
    let Some(data) = table.data else {
        return Ok(columns);
    };
    let none = BTreeMap::new();
    let schema = table.schema.as_ref().unwrap_or(&none);
    let positions = names.map(|name| schema.get(name).copied());
    let mut read_all = || -> Result<(), Error> {
        let mut rows = Scanner::new(data.get().as_bytes());
        rows.expect(b'[')?;
        while rows.next_element()? {
            read_row(&mut rows, &positions, &mut columns)?;
        }
        Ok(())
    };
    read_all().map_err(|error| Error::whole(format!("{table_name}.data: {error}")))?;
    Ok(columns)
}

/// Reads the next row, and appends its cells at `positions` to `columns`.
fn read_row<'a, const N: usize>(
    rows: &mut Scanner<'a>,
    positions: &[Option<usize>; N],
    columns: &mut [Vec<JsonCell<'a>>; N],
) -> Result<(), Error> {
    for column in columns.iter_mut() {
        column.push(b"null");
    }
    rows.expect(b'[')?;
    let mut position = 0;
    while rows.next_element()? {
        let cell = rows.skip_value()?;
        let wanted = positions
            .iter()
            .position(|wanted| *wanted == Some(position));
        if let Some(last) = wanted.and_then(|column| columns[column].last_mut()) {
            *last = cell;
        }
        position += 1;
    }
    Ok(())
}
