//! The tables of a thread as columns that can be walked, however the profile has them.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::super::count::Decimal;
use super::document::{Document, Library, Table, Thread};
use crate::error::Error;
use crate::json::{Index, List, NotInList, Text};

/// Stacks, and what their frames are.
#[derive(Default)]
pub(super) struct Tables<'p, 'a> {
    pub(super) stacks: StackColumns,
    pub(super) frames: FrameColumns,
    pub(super) functions: FunctionColumns,
    /// By resource: its object.
    pub(super) resource_libs: Vec<Index>,
    /// By source: its name among the strings.
    pub(super) source_files: Vec<Index>,
    pub(super) strings: &'p [Text<'a>],
    pub(super) libs: &'p [Library<'a>],
}

#[derive(Default)]
pub(super) struct StackColumns {
    pub(super) frame: Vec<Index>,
    /// The rest of the stack, outwards.
    pub(super) prefix: Vec<Index>,
}

#[derive(Default)]
pub(super) struct FrameColumns {
    pub(super) function: Vec<Index>,
    /// In profiles of Firefox itself a frame has no function, but a text that tells of it.
    pub(super) location: Vec<Index>,
    pub(super) address: Vec<Option<i64>>,
    pub(super) line: Vec<Option<i64>>,
    pub(super) inline_depth: Vec<Index>,
    pub(super) category: Vec<Index>,
    /// Which of a JavaScript engine's compilers made the code, among the strings.
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
    pub(super) weight: Numbers<'a>,
    pub(super) cpu: Numbers<'a>,
}

/// A column of numbers.
pub(super) enum Numbers<'a> {
    Text(List<'a>),
    Values(Vec<Option<Decimal>>),
}

impl<'a> Numbers<'a> {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Numbers::Text(list) => list.is_empty(),
            Numbers::Values(values) => values.is_empty(),
        }
    }

    /// The numbers in turn; `None` for `null`.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = Result<Option<Decimal>, NotInList>> + '_> {
        match self {
            Numbers::Text(list) => Box::new(list.elements().enumerate().map(number)),
            Numbers::Values(values) => Box::new(values.iter().map(|value| Ok(*value))),
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

impl<'p, 'a> Tables<'p, 'a> {
    /// The tables of a thread: its own, else those that all threads share.
    pub(super) fn of(
        document: &'p Document<'a>,
        thread: &'p Thread<'a>,
    ) -> Result<Tables<'p, 'a>, Error> {
        let shared = &document.shared;
        let mut tables = Tables {
            strings: [&thread.strings, &shared.strings]
                .into_iter()
                .flatten()
                .next()
                .map_or(&[], Vec::as_slice),
            libs: thread.libs.as_deref().unwrap_or(&document.libs),
            ..Tables::default()
        };
        if let Some(stacks) = thread.stacks.as_ref().or(shared.stacks.as_ref()) {
            tables.stacks = stack_columns(stacks)?;
        }
        if let Some(frames) = thread.frames.as_ref().or(shared.frames.as_ref()) {
            tables.frames = frame_columns(frames)?;
        }
        if let Some(functions) = thread.functions.as_ref().or(shared.functions.as_ref()) {
            let of = "funcTable";
            tables.functions = FunctionColumns {
                name: indices(of, "name", functions.name)?,
                file: indices(of, "fileName", functions.file_name)?,
                source: indices(of, "source", functions.source)?,
                resource: indices(of, "resource", functions.resource)?,
                line: integers(of, "lineNumber", functions.line_number)?,
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

    /// The object that a frame is in: its own, or that of its function's resource.
    pub(super) fn lib_of(&self, frame: usize) -> Option<usize> {
        let at = |column: &[Index], row: usize| column.get(row).copied().and_then(Index::get);
        at(&self.frames.lib, frame).or_else(|| {
            let function = at(&self.frames.function, frame)?;
            let resource = at(&self.functions.resource, function)?;
            at(&self.resource_libs, resource)
        })
    }

    /// The address of a frame in its object.
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

/// An error about an element of a column.
pub(super) fn in_column(table: &str, column: &str, bad: &NotInList) -> Error {
    Error::whole(format!("{table}.{column}: {bad}"))
}

fn stack_columns(table: &Table) -> Result<StackColumns, Error> {
    let of = "stackTable";
    if table.data.is_some() {
        let [frame, prefix] = rows_as_columns(of, table, ["frame", "prefix"])?;
        return Ok(StackColumns {
            frame: as_indices(&frame),
            prefix: as_indices(&prefix),
        });
    }
    let frame = indices(of, "frame", table.frame)?;
    let mut prefix = indices(of, "prefix", table.prefix)?;
    if table.prefix.is_empty() {
        // Since version 66 a row says how far in front of it the rest of its stack stands, 0 for none.
        prefix = indices(of, "prefixOffset", table.prefix_offset)?;
        for (row, entry) in prefix.iter_mut().enumerate() {
            *entry = match entry.get() {
                None | Some(0) => Index::from(None),
                Some(offset) => {
                    let outer = row
                        .checked_sub(offset)
                        .and_then(|row| u32::try_from(row).ok());
                    if outer.is_none() {
                        return Err(Error::whole(format!(
                            "stackTable.prefixOffset: element {row}: expected a stack in front of this one, found {offset}"
                        )));
                    }
                    Index::from(outer)
                }
            };
        }
    }
    Ok(StackColumns { frame, prefix })
}

fn frame_columns(table: &Table) -> Result<FrameColumns, Error> {
    let of = "frameTable";
    if table.data.is_some() {
        let columns = [
            "location",
            "line",
            "category",
            "implementation",
            "inlineDepth",
        ];
        let [location, line, category, implementation, inline_depth] =
            rows_as_columns(of, table, columns)?;
        return Ok(FrameColumns {
            count: location.len(),
            location: as_indices(&location),
            line: line.iter().map(Cell::integer).collect(),
            category: as_indices(&category),
            implementation: as_indices(&implementation),
            inline_depth: as_indices(&inline_depth),
            ..FrameColumns::default()
        });
    }
    let function = indices(of, "func", table.func)?;
    Ok(FrameColumns {
        count: function.len(),
        function,
        location: Vec::new(),
        address: integers(of, "address", table.address)?,
        line: integers(of, "line", table.line)?,
        inline_depth: indices(of, "inlineDepth", table.inline_depth)?,
        category: indices(of, "category", table.category)?,
        implementation: indices(of, "implementation", table.implementation)?,
        lib: indices(of, "lib", table.lib)?,
    })
}

/// The columns of a table of samples, called `of` in messages.
pub(super) fn sample_columns<'a>(of: &str, table: &Table<'a>) -> Result<SampleColumns<'a>, Error> {
    if table.data.is_some() {
        let [stack, cpu] = rows_as_columns(of, table, ["stack", "threadCPUDelta"])?;
        let has_cpu = cpu.iter().any(|cell| *cell != Cell::Nothing);
        return Ok(SampleColumns {
            stack: as_indices(&stack),
            weight: Numbers::Values(Vec::new()),
            cpu: Numbers::Values(match has_cpu {
                true => cpu.iter().map(Cell::decimal).collect(),
                false => Vec::new(),
            }),
        });
    }
    Ok(SampleColumns {
        stack: indices(of, "stack", table.stack)?,
        weight: Numbers::Text(table.weight),
        cpu: Numbers::Text(table.thread_cpu_delta),
    })
}

/// What stands in a cell of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Cell {
    Integer(i64),
    Fraction(f64),
    /// `null`, no cell at all, or what is no number.
    #[default]
    Nothing,
}

impl Cell {
    fn integer(&self) -> Option<i64> {
        match self {
            Cell::Integer(number) => Some(*number),
            Cell::Fraction(_) | Cell::Nothing => None,
        }
    }

    fn decimal(&self) -> Option<Decimal> {
        match self {
            Cell::Integer(number) => Decimal::parse(number.to_string().as_bytes()),
            Cell::Fraction(number) => Decimal::parse(number.to_string().as_bytes()),
            Cell::Nothing => None,
        }
    }
}

fn as_indices(cells: &[Cell]) -> Vec<Index> {
    let index =
        |cell: &Cell| Index::from(cell.integer().and_then(|number| u32::try_from(number).ok()));
    cells.iter().map(index).collect()
}

/// These columns of a table whose rows are lists.
fn rows_as_columns<const N: usize>(
    of: &str,
    table: &Table,
    names: [&str; N],
) -> Result<[Vec<Cell>; N], Error> {
    let Some(data) = table.data else {
        return Ok(std::array::from_fn(|_| Vec::new()));
    };
    let none = BTreeMap::new();
    let schema = table.schema.as_ref().unwrap_or(&none);
    let positions = names.map(|name| schema.get(name).copied());
    let mut rows = serde_json::Deserializer::from_str(data.get());
    let mut columns = std::array::from_fn(|_| Vec::new());
    let into = Rows {
        positions,
        columns: &mut columns,
    };
    into.deserialize(&mut rows)
        .map_err(|error| Error::whole(format!("{of}.data: {error}")))?;
    Ok(columns)
}

/// Where the cells of rows go.
struct Rows<'c, const N: usize> {
    positions: [Option<usize>; N],
    columns: &'c mut [Vec<Cell>; N],
}

impl<'de, const N: usize> DeserializeSeed<'de> for Rows<'_, N> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Rows<'_, N> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        let Rows { positions, columns } = self;
        loop {
            let row = RowCells {
                positions: &positions,
                columns: &mut *columns,
            };
            if rows.next_element_seed(row)?.is_none() {
                return Ok(());
            }
        }
    }
}

/// Where the cells of one row go.
struct RowCells<'c, const N: usize> {
    positions: &'c [Option<usize>; N],
    columns: &'c mut [Vec<Cell>; N],
}

impl<'de, const N: usize> DeserializeSeed<'de> for RowCells<'_, N> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for RowCells<'_, N> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of cells")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<(), A::Error> {
        let mut found = [Cell::Nothing; N];
        for position in 0.. {
            let wanted = self
                .positions
                .iter()
                .position(|wanted| *wanted == Some(position));
            let is_there = match wanted {
                Some(column) => {
                    let cell = cells.next_element()?;
                    found[column] = cell.unwrap_or_default();
                    cell.is_some()
                }
                None => cells.next_element::<IgnoredAny>()?.is_some(),
            };
            if !is_there {
                break;
            }
        }
        for (column, cell) in self.columns.iter_mut().zip(found) {
            column.push(cell);
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CellVisitor;
        impl<'de> Visitor<'de> for CellVisitor {
            type Value = Cell;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a cell")
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Cell, E> {
                i64::try_from(number)
                    .map(Cell::Integer)
                    .map_err(|_| E::custom("a number is beyond 64 bits"))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Cell, E> {
                Ok(Cell::Integer(number))
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Cell, E> {
                Ok(Cell::Fraction(number))
            }
            fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Cell, E> {
                Ok(Cell::Nothing)
            }
            fn visit_unit<E: serde::de::Error>(self) -> Result<Cell, E> {
                Ok(Cell::Nothing)
            }
            fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Cell, E> {
                Ok(Cell::Nothing)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cell, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Cell::Nothing)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut object: A,
            ) -> Result<Cell, A::Error> {
                while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Cell::Nothing)
            }
        }
        deserializer.deserialize_any(CellVisitor)
    }
}
