//! The data behind every listing: columns that say what a row holds, and the rows in the order they are shown.
//!
//! A column is a name and a function from a row to a cell, so nothing is computed for what nobody looks at, and a
//! renderer knows neither where a cell is from nor which columns there are. Sorting, choosing and cutting happen here,
//! once for all outputs.

use std::borrow::Cow;
use std::cmp::Ordering;

use cg_stream::record::Count;
use cg_stream::sorting::Order as _;

use crate::number::float;

/// What people read where the name of a function is not known, as Valgrind has it.
pub const NAMELESS: &str = "???";

/// What stands in one place of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing is known.
    Empty,
    /// A function whose name is not known: people read `???`, programs nothing.
    Nameless,
    /// Text from the profile, to be shown exactly: a function, a file, an object.
    Name(&'a str),
    /// Text of our own.
    Text(Cow<'a, str>),
    /// A function at the other end of calls, and how many there were.
    Called {
        /// The function.
        name: &'a str,
        /// How many calls.
        calls: Count,
    },
    /// A function in a tree, and where in its file or object it is.
    Placed {
        /// The lines that lead to it.
        lead: Cow<'a, str>,
        /// The function.
        name: &'a str,
        /// `log.rs:12`, `in libc.so.6`; empty where nothing is known.
        place: String,
    },
    /// A count.
    Count(Count),
    /// A difference of counts.
    Delta(Count),
    /// A number that names something: a source line, a snapshot, a part.
    Ordinal(u64),
    /// A share of a whole.
    Share {
        /// The share.
        part: Count,
        /// What 100 % is; not 0.
        whole: Count,
    },
    /// So much of one for each of another: an average, a rate.
    Quotient {
        /// So much of one.
        dividend: Count,
        /// For so much of the other; not 0.
        divisor: Count,
    },
    /// A difference as a share of what there was.
    Change {
        /// The difference.
        delta: Count,
        /// What there was; not 0.
        from: Count,
    },
}

impl<'a> Cell<'a> {
    /// A name, empty where there is none.
    #[inline]
    pub fn name(text: Option<&'a str>) -> Cell<'a> {
        text.map_or_else(|| Cell::Empty, Cell::Name)
    }

    /// The name of a function that is there, whether or not its name is known.
    pub fn function(name: Option<&'a str>) -> Cell<'a> {
        match name {
            None | Some("") => Cell::Nameless,
            Some(name) => Cell::Name(name),
        }
    }

    /// A number that names something, empty where there is none.
    pub fn ordinal(number: Option<u64>) -> Cell<'a> {
        number.map_or_else(|| Cell::Empty, Cell::Ordinal)
    }

    /// A count, empty where there is none.
    #[inline]
    pub fn count(count: Option<Count>) -> Cell<'a> {
        count.map_or_else(|| Cell::Empty, Cell::Count)
    }

    /// A share, empty where there is no whole to be a share of.
    pub fn share(part: Count, whole: Count) -> Cell<'a> {
        if whole == 0 {
            Cell::Empty
        } else {
            Cell::Share { part, whole }
        }
    }

    /// A quotient, empty where there is nothing to divide by.
    pub fn quotient(dividend: Count, divisor: Count) -> Cell<'a> {
        if divisor == 0 {
            Cell::Empty
        } else {
            Cell::Quotient { dividend, divisor }
        }
    }

    /// A change, empty where there was nothing before.
    pub fn change(delta: Count, from: Count) -> Cell<'a> {
        if from == 0 {
            Cell::Empty
        } else {
            Cell::Change { delta, from }
        }
    }

    /// The percentage that a share or a change is.
    pub fn percentage(&self) -> Option<f64> {
        // The order of operations is callgrind_annotate's, so that the last digit shown is too.
        match *self {
            Cell::Share { part, whole } => Some(float(part) * 100.0 / float(whole)),
            Cell::Change { delta, from } => Some(float(delta) * 100.0 / float(from.abs())),
            _ => None,
        }
    }

    /// The number that a quotient is.
    pub fn ratio(&self) -> Option<f64> {
        match *self {
            Cell::Quotient { dividend, divisor } => Some(float(dividend) / float(divisor)),
            _ => None,
        }
    }

    /// The number to add up where columns are summed.
    pub fn number(&self) -> Option<Count> {
        match *self {
            Cell::Count(number) | Cell::Delta(number) => Some(number),
            _ => None,
        }
    }

    /// Larger counts first, differences by their size, texts by their bytes, empty cells last.
    fn order(&self, other: &Cell) -> Ordering {
        let rank = |cell: &Cell| match cell {
            Cell::Count(_) | Cell::Delta(_) => 0,
            Cell::Share { .. } | Cell::Change { .. } | Cell::Quotient { .. } => 1,
            Cell::Ordinal(_) => 2,
            Cell::Name(_) | Cell::Text(_) | Cell::Called { .. } | Cell::Placed { .. } => 3,
            Cell::Empty | Cell::Nameless => 4,
        };
        match (self, other) {
            (Cell::Count(a), Cell::Count(b)) => b.cmp(a),
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
                Cell::Share { .. } | Cell::Change { .. },
                Cell::Share { .. } | Cell::Change { .. },
            ) => {
                let size = |cell: &Cell| cell.percentage().unwrap_or_default().abs();
                size(other).total_cmp(&size(self))
            }
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

/// How a column is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Counts: right-aligned.
    Number,
    /// Percentages: right-aligned, close to the number they belong to.
    Percent,
    /// Texts: left-aligned; where they must be shortened, the last words go.
    Text,
    /// Function names: left-aligned; where they must be shortened, what says least goes first.
    Name,
    /// Paths: left-aligned; where they must be shortened, the end stays.
    Path,
}

/// How much a column is worth on a narrow screen. What is worth less is shortened and left out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// The object that a function is in, where there is a file too.
    Object,
    /// How often a function was called.
    Calls,
    /// A figure beside the one that rows are ranked by: of another event.
    Other,
    /// The same of what it called.
    Inclusive,
    /// Why a figure is what it is.
    Explanation,
    /// The file; where there is none, the object.
    File,
    /// A word or a number that tells rows apart.
    Detail,
    /// A percentage.
    Share,
    /// A cost.
    Figure,
    /// The function.
    Name,
}

/// Who sees a column that nobody asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everybody.
    All,
    /// People: tables and markdown. The column is left out where it is empty throughout.
    People,
    /// Programs: CSV and TSV.
    Programs,
    /// Nobody.
    Nobody,
}

impl Audience {
    /// Everybody where it is so, else nobody.
    pub fn all_if(is_so: bool) -> Audience {
        match is_so {
            true => Audience::All,
            false => Audience::Nobody,
        }
    }
}

/// A column: its names, its layout, and the function that knows its cells.
pub struct Column<'a> {
    /// What `--columns` and `--sort` call it, and the heading for programs.
    pub name: String,
    /// The heading for people.
    pub title: String,
    /// How it is laid out.
    pub layout: Layout,
    /// Who sees it.
    pub audience: Audience,
    /// How soon it gives way to others.
    pub worth: Worth,
    /// What stands in the row of totals.
    pub total: Cell<'a>,
    cell: Box<dyn Fn(usize) -> Cell<'a> + 'a>,
    filter: Option<Box<dyn Fn(usize) -> Option<String> + 'a>>,
}

impl<'a> Column<'a> {
    /// A column for everybody, titled as it is named.
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

    /// With another heading for people.
    pub fn titled(self, title: impl Into<String>) -> Column<'a> {
        let title = title.into();
        Column { title, ..self }
    }

    /// For some.
    pub fn for_audience(self, audience: Audience) -> Column<'a> {
        Column { audience, ..self }
    }

    /// That gives way sooner or later than others of its layout.
    pub fn worth(self, worth: Worth) -> Column<'a> {
        Column { worth, ..self }
    }

    /// With a cell in the row of totals.
    pub fn with_total(self, total: Cell<'a>) -> Column<'a> {
        Column { total, ..self }
    }

    /// With cells that tell what of a page of findings they count, as its address says it (`html::filter_address`).
    pub fn with_filter(self, filter: impl Fn(usize) -> Option<String> + 'a) -> Column<'a> {
        let filter = Some(Box::new(filter) as Box<_>);
        Column { filter, ..self }
    }

    /// What of a page of findings the cell of a row counts.
    pub fn filter(&self, row: usize) -> Option<String> {
        self.filter.as_ref()?(row)
    }

    /// What stands in a row.
    pub fn cell(&self, row: usize) -> Cell<'a> {
        (self.cell)(row)
    }

    /// Numbers stand right.
    pub fn is_right_aligned(&self) -> bool {
        matches!(self.layout, Layout::Number | Layout::Percent)
    }
}

/// Columns and rows. A row is a number that only the columns can interpret.
pub struct Table<'a> {
    /// From left to right.
    pub columns: Vec<Column<'a>>,
    /// From top to bottom.
    pub rows: Vec<usize>,
    /// Rows that begin a new group: an empty line stands before them.
    pub group_starts: Vec<usize>,
    /// For a tree, the depth of each row; else empty. The parent of a row is the last row before it of lesser depth.
    pub depths: Vec<usize>,
}

/// A column was asked for that the table does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no column {name}; there are {}", known.join(", "))]
pub struct UnknownColumn {
    name: String,
    known: Vec<String>,
}

/// What [`Table::cut`] left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How many rows.
    pub rows: usize,
    /// The sum of the measured column over the rows left out.
    pub sum: Count,
}

impl<'a> Table<'a> {
    /// These columns of these rows.
    pub fn new(columns: Vec<Column<'a>>, rows: Vec<usize>) -> Table<'a> {
        Table {
            columns,
            rows,
            group_starts: Vec::new(),
            depths: Vec::new(),
        }
    }

    /// The column with this name; where there is none, the one whose name differs in case alone.
    ///
    /// # Errors
    /// Where there is none.
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

    /// Sorts by a column: numbers largest first, names as bytes. Rows that are equal keep their order.
    ///
    /// # Errors
    /// Where there is no such column.
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

    /// Shows a column to everybody: what rows are sorted by is seen.
    pub fn show(&mut self, name: &str) {
        if let Ok(position) = self.position(name) {
            self.columns[position].audience = Audience::All;
        }
    }

    /// Keeps the first rows, and says what was left out, measured by a column's sum.
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
    /// Where there is none of a name.
    pub fn choose(&mut self, names: &[String]) -> Result<(), UnknownColumn> {
        let mut positions = Vec::new();
        for name in names {
            let position = self.position(name)?;
            // A name given twice has its column once.
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

    /// Keeps the columns for an audience. For people, columns without content are left out.
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

    /// True where some column has a total that is a number.
    pub fn has_totals(&self) -> bool {
        self.columns
            .iter()
            .any(|column| column.total.number().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::separated::{ValueReader, write_csv};
    use crate::text::{self, Screen};
    use crate::{Block, Document};

    fn table() -> Table<'static> {
        const NAMES: [&str; 3] = ["b", "c", "a"];
        const COUNTS: [Count; 3] = [2, 7, 7];
        Table::new(
            vec![
                Column::new("Ir", Layout::Number, |row| Cell::Count(COUNTS[row])),
                Column::new("fn", Layout::Name, |row| Cell::Name(NAMES[row])),
                Column::new("why", Layout::Text, |_| Cell::Empty),
            ],
            vec![0, 1, 2],
        )
    }

    #[test]
    fn numbers_sort_down_and_names_up_and_ties_keep_their_order() {
        let mut table = table();
        table.sort("Ir").unwrap();
        assert_eq!(table.rows, [1, 2, 0]);
        table.sort("fn").unwrap();
        assert_eq!(table.rows, [2, 0, 1]);
    }

    #[test]
    fn a_function_without_a_name_is_shown_to_people_alone() {
        for nameless in [None, Some("")] {
            let column = || Column::new("fn", Layout::Name, move |_| Cell::function(nameless));
            let document = Document {
                blocks: vec![Block::Table(Table::new(vec![column()], vec![0]))],
            };
            let mut shown = Vec::new();
            text::write(&document, Screen::default(), &mut shown).unwrap();
            assert_eq!(shown, b"fn\n???\n");
            let mut csv = Vec::new();
            write_csv(&document, ValueReader::Program, &mut csv).unwrap();
            assert_eq!(csv, b"fn\n\"\"\n");
        }
        assert_eq!(Cell::function(Some("f")), Cell::Name("f"));
    }

    #[test]
    fn deltas_sort_by_size_whatever_their_sign() {
        assert_eq!(Cell::Delta(-9).order(&Cell::Delta(8)), Ordering::Less);
        let change = |delta| Cell::change(delta, 100);
        assert_eq!(change(-9).order(&change(8)), Ordering::Less);
        assert_eq!(Cell::Empty.order(&change(8)), Ordering::Greater);
    }

    #[test]
    fn a_cut_says_what_it_left_out() {
        let mut table = table();
        assert_eq!(table.cut(1, Some("Ir")), Some(Cut { rows: 2, sum: 14 }));
        assert_eq!(table.cut(1, Some("Ir")), None);
    }

    #[test]
    fn columns_without_content_are_for_programs_only() {
        let names = |table: &Table| -> Vec<String> {
            table
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect()
        };
        let mut people = table();
        people.choose_for(Audience::People);
        assert_eq!(names(&people), ["Ir", "fn"]);
        let mut programs = table();
        programs.choose_for(Audience::Programs);
        assert_eq!(names(&programs), ["Ir", "fn", "why"]);
    }

    #[test]
    fn columns_are_found_whatever_their_case_and_the_exact_name_first() {
        let mut table = table();
        table
            .choose(&["FN".into(), "ir".into(), "fn".into()])
            .unwrap();
        let names: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        assert_eq!(names, ["fn", "Ir"]);
        let two = |first: &str, second: &str| {
            let column = |name: &str| Column::new(name, Layout::Number, |_| Cell::Empty);
            Table::new(vec![column(first), column(second)], Vec::new())
        };
        assert_eq!(two("dr", "Dr").column("Dr").unwrap().name, "Dr");
    }

    #[test]
    fn an_unknown_column_is_an_error_that_names_the_known() {
        let error = table()
            .choose(&["fn".to_owned(), "Dr".to_owned()])
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no column Dr; there are Ir, fn, why"
        );
    }

    #[test]
    fn percentages_are_of_the_old_figure_whatever_its_sign() {
        assert_eq!(Cell::change(50, -100).percentage(), Some(50.0));
        assert_eq!(Cell::change(50, 0), Cell::Empty);
        assert_eq!(Cell::share(1, 8).percentage(), Some(12.5));
    }
}
