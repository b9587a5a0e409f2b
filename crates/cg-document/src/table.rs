//! The data of all tables: columns, and rows in the order of display.
//!
//! A column is a name and a function from a row to a cell. So only shown cells are computed, and renderers do not depend on
//! the set of columns. Sorting, selecting columns and limiting rows are implemented here for all outputs.

use std::borrow::Cow;
use std::cmp::Ordering;

use cg_collections::sorting::Order as _;
use cg_stream::record::Count;

use crate::number::float;

/// The text for people in place of an unknown function name, as in Valgrind.
pub const NAMELESS: &str = "???";

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Empty,
    /// A function without a name: `???` for people, an empty cell for programs.
    Nameless,
    /// Text from the profile, shown exactly: a function, a file, an object.
    Name(&'a str),
    /// Text of the tool.
    Text(Cow<'a, str>),
    /// A caller or a callee with the number of calls.
    Called {
        /// The function.
        name: &'a str,
        /// The number of calls.
        calls: Count,
    },
    /// A function in a tree with its place.
    Placed {
        /// The lines of the tree before the name.
        lead: Cow<'a, str>,
        /// The function.
        name: &'a str,
        /// The place in a file or an object, such as `log.rs:12` or `in libc.so.6`; empty if unknown.
        place: String,
    },
    /// A count.
    Count(Count),
    /// A count that is at most this number.
    AtMost(Count),
    /// A difference of counts.
    Delta(Count),
    /// A number that identifies a thing: a source line, a snapshot, a part.
    Ordinal(u64),
    /// A share of a whole.
    Share {
        /// The share.
        part: Count,
        /// The count for 100 %; not 0.
        whole: Count,
    },
    /// A share that is at most this.
    ShareAtMost {
        /// The share.
        part: Count,
        /// The count for 100 %; not 0.
        whole: Count,
    },
    /// A quotient of two counts: an average, a rate.
    Quotient {
        /// The dividend.
        dividend: Count,
        /// The divisor; not 0.
        divisor: Count,
    },
    /// A difference relative to the old count.
    Change {
        /// The difference.
        delta: Count,
        /// The old count; not 0.
        from: Count,
    },
}

impl<'a> Cell<'a> {
    /// Creates a cell for a name; empty for `None`.
    #[inline]
    pub fn name(text: Option<&'a str>) -> Cell<'a> {
        text.map_or_else(|| Cell::Empty, Cell::Name)
    }

    /// Creates a cell for a function; [`Cell::Nameless`] if it has no name.
    pub fn function(name: Option<&'a str>) -> Cell<'a> {
        match name {
            None | Some("") => Cell::Nameless,
            Some(name) => Cell::Name(name),
        }
    }

    /// Creates a cell for a number that identifies a thing; empty for `None`.
    pub fn ordinal(number: Option<u64>) -> Cell<'a> {
        number.map_or_else(|| Cell::Empty, Cell::Ordinal)
    }

    /// Creates a cell for a count; empty for `None`.
    #[inline]
    pub fn count(count: Option<Count>) -> Cell<'a> {
        count.map_or_else(|| Cell::Empty, Cell::Count)
    }

    /// Creates a cell for a share; empty if `whole` is 0.
    pub fn share(part: Count, whole: Count) -> Cell<'a> {
        if whole == 0 {
            Cell::Empty
        } else {
            Cell::Share { part, whole }
        }
    }

    /// Converts a count or a share to an upper bound.
    #[must_use]
    pub fn as_bound(self) -> Cell<'a> {
        match self {
            Cell::Count(count) => Cell::AtMost(count),
            Cell::Share { part, whole } => Cell::ShareAtMost { part, whole },
            other => other,
        }
    }

    /// Creates a cell for a quotient; empty if `divisor` is 0.
    pub fn quotient(dividend: Count, divisor: Count) -> Cell<'a> {
        if divisor == 0 {
            Cell::Empty
        } else {
            Cell::Quotient { dividend, divisor }
        }
    }

    /// Creates a cell for a change; empty if the old count `from` is 0.
    pub fn change(delta: Count, from: Count) -> Cell<'a> {
        if from == 0 {
            Cell::Empty
        } else {
            Cell::Change { delta, from }
        }
    }

    /// Returns the percentage of a share or a change; `None` for other cells.
    pub fn percentage(&self) -> Option<f64> {
        // The order of operations equals that in callgrind_annotate, so that the last digit is equal too.
        match *self {
            Cell::Share { part, whole } | Cell::ShareAtMost { part, whole } => {
                Some(float(part) * 100.0 / float(whole))
            }
            Cell::Change { delta, from } => Some(float(delta) * 100.0 / float(from.abs())),
            _ => None,
        }
    }

    /// Returns the value of a quotient; `None` for other cells.
    pub fn ratio(&self) -> Option<f64> {
        match *self {
            Cell::Quotient { dividend, divisor } => Some(float(dividend) / float(divisor)),
            _ => None,
        }
    }

    /// Returns the number for sums of columns; `None` for cells that are not added up.
    pub fn number(&self) -> Option<Count> {
        match *self {
            Cell::Count(number) | Cell::Delta(number) => Some(number),
            _ => None,
        }
    }

    /// Compares cells for sorting: larger counts first, differences by their absolute value, texts by their bytes, empty
    /// cells last.
    fn order(&self, other: &Cell) -> Ordering {
        let rank = |cell: &Cell| match cell {
            Cell::Count(_) | Cell::AtMost(_) | Cell::Delta(_) => 0,
            Cell::Share { .. }
            | Cell::ShareAtMost { .. }
            | Cell::Change { .. }
            | Cell::Quotient { .. } => 1,
            Cell::Ordinal(_) => 2,
            Cell::Name(_) | Cell::Text(_) | Cell::Called { .. } | Cell::Placed { .. } => 3,
            Cell::Empty | Cell::Nameless => 4,
        };
        match (self, other) {
            (Cell::Count(a) | Cell::AtMost(a), Cell::Count(b) | Cell::AtMost(b)) => b.cmp(a),
            (Cell::Delta(a), Cell::Delta(b)) => b.abs().cmp(&a.abs()),
            (Cell::Quotient { .. }, Cell::Quotient { .. }) => {
                let size = |cell: &Cell| cell.ratio().unwrap_or_default();
                size(other).total_cmp(&size(self))
            }
            (Cell::Ordinal(a), Cell::Ordinal(b)) => a.cmp(b),
            (Cell::Name(a), Cell::Name(b)) => a.cmp(b),
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            (Cell::Called { name: a, .. }, Cell::Called { name: b, .. }) => a.cmp(b),
            (Cell::Placed { name: a, .. }, Cell::Placed { name: b, .. }) => a.cmp(b),
            (
                Cell::Share { .. } | Cell::ShareAtMost { .. } | Cell::Change { .. },
                Cell::Share { .. } | Cell::ShareAtMost { .. } | Cell::Change { .. },
            ) => {
                let size = |cell: &Cell| cell.percentage().unwrap_or_default().abs();
                size(other).total_cmp(&size(self))
            }
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

/// The layout of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Counts: right-aligned.
    Number,
    /// Percentages: right-aligned, close to their number.
    Percent,
    /// Texts: left-aligned. Shortening drops the last words.
    Text,
    /// Function names: left-aligned. Shortening drops the least important parts first.
    Name,
    /// Paths: left-aligned. Shortening keeps the end.
    Path,
}

/// The importance of a column. On a narrow screen, columns of less worth are shortened and left out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// The object of a function, if there is a file too.
    Object,
    /// The number of calls of a function.
    Calls,
    /// A figure of an event that does not rank the rows.
    Other,
    /// An inclusive cost.
    Inclusive,
    /// The reason for a figure.
    Explanation,
    /// The file; without a file, the object.
    File,
    /// A word or a number that distinguishes rows.
    Detail,
    /// A percentage.
    Share,
    /// A cost.
    Figure,
    /// The function.
    Name,
}

/// The audience of a column that was not requested by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// People and programs.
    All,
    /// People: tables and markdown. A column is left out if all its cells are empty.
    People,
    /// Programs: CSV and TSV.
    Programs,
    /// Nobody: the column is shown only on request.
    Nobody,
}

impl Audience {
    /// Returns [`Audience::All`] if the condition is true, or else [`Audience::Nobody`].
    pub fn all_if(condition: bool) -> Audience {
        match condition {
            true => Audience::All,
            false => Audience::Nobody,
        }
    }
}

/// A column: its names, its layout, and the function that computes its cells.
pub struct Column<'a> {
    /// The name for `--columns` and `--sort`, and the heading for programs.
    pub name: String,
    /// The heading for people.
    pub title: String,
    /// The layout of the cells.
    pub layout: Layout,
    /// The audience of the column.
    pub audience: Audience,
    /// The importance of the column on narrow screens.
    pub worth: Worth,
    /// The cell in the row of totals.
    pub total: Cell<'a>,
    cell: Box<dyn Fn(usize) -> Cell<'a> + 'a>,
    filter: Option<Box<dyn Fn(usize) -> Option<String> + 'a>>,
}

impl<'a> Column<'a> {
    /// Marks the cells of some rows as upper bounds.
    #[must_use]
    pub fn with_bounds(mut self, is_bound: impl Fn(usize) -> bool + 'a) -> Column<'a> {
        let cell = self.cell;
        self.cell = Box::new(move |row| match is_bound(row) {
            true => cell(row).as_bound(),
            false => cell(row),
        });
        self
    }

    /// Creates a column for all audiences, with its name as the title.
    pub fn new(
        name: impl Into<String>,
        layout: Layout,
        cell: impl Fn(usize) -> Cell<'a> + 'a,
    ) -> Column<'a> {
        let name = name.into();
        Column {
            title: name.clone(),
            name,
            layout,
            audience: Audience::All,
            worth: match layout {
                Layout::Path => Worth::File,
                Layout::Text => Worth::Detail,
                Layout::Percent => Worth::Share,
                Layout::Number => Worth::Figure,
                Layout::Name => Worth::Name,
            },
            total: Cell::Empty,
            cell: Box::new(cell),
            filter: None,
        }
    }

    /// Sets the heading for people.
    pub fn titled(self, title: impl Into<String>) -> Column<'a> {
        let title = title.into();
        Column { title, ..self }
    }

    /// Sets the audience.
    pub fn for_audience(self, audience: Audience) -> Column<'a> {
        Column { audience, ..self }
    }

    /// Sets the importance, which by default depends on the layout.
    pub fn worth(self, worth: Worth) -> Column<'a> {
        Column { worth, ..self }
    }

    /// Sets the cell in the row of totals.
    pub fn with_total(self, total: Cell<'a>) -> Column<'a> {
        Column { total, ..self }
    }

    /// Links the cells to the findings that they count. `filter` returns the address of a filtered page of findings
    /// (`html::filter_address`).
    pub fn with_filter(self, filter: impl Fn(usize) -> Option<String> + 'a) -> Column<'a> {
        let filter = Some(Box::new(filter) as Box<_>);
        Column { filter, ..self }
    }

    /// Returns the address of the findings that the cell of a row counts.
    pub fn filter(&self, row: usize) -> Option<String> {
        self.filter.as_ref()?(row)
    }

    /// Returns the cell of a row.
    pub fn cell(&self, row: usize) -> Cell<'a> {
        (self.cell)(row)
    }

    /// Returns true if the column is right-aligned, as numbers are.
    pub fn is_right_aligned(&self) -> bool {
        matches!(self.layout, Layout::Number | Layout::Percent)
    }
}

/// Columns and rows. A row is a number that only the columns can interpret.
pub struct Table<'a> {
    /// The columns from left to right.
    pub columns: Vec<Column<'a>>,
    /// The rows from top to bottom.
    pub rows: Vec<usize>,
    /// The positions of rows that begin a group. An empty line precedes them.
    pub group_starts: Vec<usize>,
    /// For a tree, the depth of each row, or else empty. The parent of a row is the last preceding row of lesser depth.
    pub depths: Vec<usize>,
}

/// The error for a requested column that the table does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no column {name}; there are {}", known.join(", "))]
pub struct UnknownColumn {
    name: String,
    known: Vec<String>,
}

/// The rows that [`Table::cut`] left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The number of rows.
    pub rows: usize,
    /// The sum of the measured column over these rows.
    pub sum: Count,
}

impl<'a> Table<'a> {
    /// Creates a table of these columns and rows.
    pub fn new(columns: Vec<Column<'a>>, rows: Vec<usize>) -> Table<'a> {
        Table {
            columns,
            rows,
            group_starts: Vec::new(),
            depths: Vec::new(),
        }
    }

    /// Returns the column with this name. Ignores case if there is no exact match.
    ///
    /// # Errors
    /// Returns an error if there is no such column.
    pub fn column(&self, name: &str) -> Result<&Column<'a>, UnknownColumn> {
        let position = self.position(name)?;
        Ok(&self.columns[position])
    }

    fn position(&self, name: &str) -> Result<usize, UnknownColumn> {
        let named = |is_name: &dyn Fn(&str) -> bool| {
            self.columns.iter().position(|column| is_name(&column.name))
        };
        named(&|column| column == name)
            .or_else(|| named(&|column| column.eq_ignore_ascii_case(name)))
            .ok_or_else(|| UnknownColumn {
                name: name.to_owned(),
                known: self
                    .columns
                    .iter()
                    .map(|column| column.name.clone())
                    .collect(),
            })
    }

    /// Sorts by a column: numbers largest first, names as bytes. Equal rows keep their order.
    ///
    /// # Errors
    /// Returns an error if there is no such column.
    pub fn sort(&mut self, name: &str) -> Result<(), UnknownColumn> {
        let column = self.column(name)?;
        let mut keyed: Vec<(Cell, usize)> = self
            .rows
            .iter()
            .map(|row| (column.cell(*row), *row))
            .collect();
        keyed.order_by(|(a, _), (b, _)| a.order(b));
        self.rows = keyed.into_iter().map(|(_, row)| row).collect();
        Ok(())
    }

    /// Shows a column to all audiences, because rows are sorted by it.
    pub fn show(&mut self, name: &str) {
        if let Ok(position) = self.position(name) {
            self.columns[position].audience = Audience::All;
        }
    }

    /// Keeps the first `top` rows. Returns the rows left out, with the sum of the column `measure` over them; `None` if all
    /// rows are kept.
    pub fn cut(&mut self, top: usize, measure: Option<&str>) -> Option<Cut> {
        let cut = self.rows.split_off(self.rows.len().min(top));
        if cut.is_empty() {
            return None;
        }
        let sum = measure
            .and_then(|name| self.column(name).ok())
            .map_or(0, |column| {
                cut.iter()
                    .filter_map(|row| column.cell(*row).number())
                    .sum()
            });
        Some(Cut {
            rows: cut.len(),
            sum,
        })
    }

    /// Keeps the columns with these names, in this order.
    ///
    /// # Errors
    /// Returns an error if there is no column of a name.
    pub fn choose(&mut self, names: &[String]) -> Result<(), UnknownColumn> {
        let mut positions = Vec::new();
        for name in names {
            let position = self.position(name)?;
            // A repeated name does not repeat the column.
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        let mut columns: Vec<Option<Column>> = self.columns.drain(..).map(Some).collect();
        let chosen = positions
            .into_iter()
            .filter_map(|position| columns[position].take());
        self.columns = chosen.collect();
        Ok(())
    }

    /// Keeps the columns for an audience. Leaves out empty columns, except for programs.
    pub fn choose_for(&mut self, audience: Audience) {
        let rows = &self.rows;
        self.columns.retain(|column| {
            let is_wanted = column.audience == Audience::All || column.audience == audience;
            let may_be_empty = audience == Audience::Programs
                || column.total != Cell::Empty
                || rows.iter().any(|row| column.cell(*row) != Cell::Empty);
            is_wanted && may_be_empty
        });
    }

    /// Returns true if any column has a number as its total.
    pub fn has_totals(&self) -> bool {
        self.columns
            .iter()
            .any(|column| column.total.number().is_some())
    }
}

#[cfg(test)]
mod tests;
