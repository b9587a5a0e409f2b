//! The columns of a diff: old, new, delta and change for each event, or one column per run if there are more than two runs.

use cg_document::{Audience, Cell, Column, Layout, Table, Worth};
use cg_names::code_origin::{CodeOwner, is_address};
use cg_names::paths::base_name;
use cg_stream::record::{Count, CountsPerRun, DiffRecord};

use super::{DiffEvent, Diffs, why};
use crate::options::{GroupBy, Options};
use crate::report::columns::{code, inclusive_bound};

impl Diffs<'_> {
    /// Returns the records as a table with all columns.
    pub(crate) fn all_columns(&self, options: &Options) -> anyhow::Result<Table<'_>> {
        Ok(self.table(&self.events(options)?))
    }

    /// Returns the records as a table, in the order of the diff.
    pub(super) fn table<'t>(&'t self, events: &[DiffEvent<'t>]) -> Table<'t> {
        let mut columns = Vec::new();
        // A group of benchmarks has its own column of names.
        if self.group_by != Some(GroupBy::Bench) {
            let bench = text_column(&self.records, "bench", "bench", Layout::Path, |record| {
                Cell::name(record.bench())
            });
            columns.push(bench.for_audience(match self.is_suite {
                true => Audience::All,
                false => Audience::Nobody,
            }));
        }
        for event in events {
            self.push_event(&mut columns, "", event);
        }
        for event in events {
            self.push_event(&mut columns, "incl.", event);
        }
        let records = &self.records;
        if records.iter().any(|record| record.incl_bound.is_some()) {
            columns.push(inclusive_bound(|row| records[row].incl_bound.is_some()));
        }
        for run in 0..self.runs.len() {
            columns.push(
                Column::new(
                    format!("calls.{}", self.run_column(run)),
                    Layout::Number,
                    move |row| Cell::count(records[row].calls.0.get(run).copied().flatten()),
                )
                .for_audience(Audience::Programs)
                .worth(Worth::Calls),
            );
        }
        columns.push(Column::new("status", Layout::Text, move |row| {
            Cell::Text(records[row].status.name().into())
        }));
        match self.group_by {
            Some(by) => columns.extend([
                text_column(records, "kind", "kind", Layout::Text, |record| {
                    Cell::name(record.kind.as_deref())
                })
                .for_audience(Audience::all_if(
                    records.iter().any(|record| record.kind.is_some()),
                )),
                Column::new(by.column(), Layout::Name, move |row| {
                    let record = &records[row];
                    let label = record.name.as_deref().or(record.file.as_deref());
                    Cell::name(label.or(record.obj.as_deref()))
                })
                .titled(by.noun(1)),
            ]),
            None => self.push_keys(&mut columns),
        }
        if let Some(column) = columns
            .iter_mut()
            .find(|column| column.layout == Layout::Name)
        {
            column.total = Cell::Text(self.total_name().into());
        }
        Table::new(columns, (0..records.len()).collect())
    }

    /// Returns the name of the row of totals.
    pub(super) fn total_name(&self) -> &'static str {
        match self.is_suite {
            true => "SUM OF ALL BENCHMARKS",
            false => "PROGRAM TOTALS",
        }
    }

    fn push_event<'t>(
        &'t self,
        columns: &mut Vec<Column<'t>>,
        prefix: &'static str,
        event: &DiffEvent<'t>,
    ) {
        let DiffEvent { name, total, .. } = *event;
        let records = &self.records;
        let is_self = prefix.is_empty();
        // People see the figures that the rows are ranked by.
        let audience = match (is_self, self.is_inclusive) {
            (true, false) | (false, true) => event.audience,
            _ if event.audience == Audience::Nobody => Audience::Nobody,
            _ => Audience::Programs,
        };
        // If cg-diff compared shares, the counts of two runs are not comparable, so people see the change in points instead.
        let change_audience = match audience {
            Audience::All if self.is_by_shares() => Audience::Programs,
            audience => audience,
        };
        let full_name = format!("{prefix}{name}");
        let counts = move |row: usize| self_or_inclusive(&records[row], is_self);
        self.push_runs(columns, prefix, event, audience);
        let base = self.base;
        let last = self.runs.len().saturating_sub(1);
        // Computed from the entries, because a record may lack `delta`, for example if it exceeds 64 bits.
        let delta = move |row: usize| {
            let counts = counts(row);
            let at = |run| entry(counts, name, run).unwrap_or(0);
            let is_known = records[row].is_change_known(is_self);
            (is_known && (is_self || !counts.is_empty())).then(|| at(last) - at(base))
        };
        let (before, after) = self.ends(total);
        let total_delta = after.unwrap_or(0) - before.unwrap_or(0);
        let total_cell = |cell: Cell<'t>| if is_self { cell } else { Cell::Empty };
        if self.is_by_shares() {
            let wholes = (before.unwrap_or(0), after.unwrap_or(0));
            columns.push(
                Column::new(format!("{full_name}.points"), Layout::Percent, move |row| {
                    let counts = counts(row);
                    let at = |run| entry(counts, name, run).unwrap_or(0);
                    points((at(base), at(last)), wholes)
                })
                .titled("points")
                .for_audience(audience),
            );
        }
        columns.push(
            Column::new(format!("{full_name}.delta"), Layout::Number, move |row| {
                delta(row).map_or(Cell::Empty, Cell::Delta)
            })
            .titled(format!("{full_name} delta"))
            .for_audience(change_audience)
            .with_total(total_cell(Cell::Delta(total_delta))),
        );
        columns.push(
            Column::new(format!("{full_name}.delta%"), Layout::Percent, move |row| {
                let from = entry(counts(row), name, base).unwrap_or(0);
                delta(row).map_or(Cell::Empty, |delta| Cell::change(delta, from))
            })
            .titled("%")
            .for_audience(change_audience)
            .with_total(total_cell(Cell::change(total_delta, before.unwrap_or(0)))),
        );
        let whole = move |row: usize| self.old_total(records[row].bench(), name, total);
        columns.push(
            Column::new(
                format!("{full_name}.delta%total"),
                Layout::Number,
                move |row| delta(row).map_or(Cell::Empty, |delta| Cell::change(delta, whole(row))),
            )
            .titled("% of total")
            .for_audience(Audience::Nobody),
        );
    }

    /// Adds the columns with an event's counts in each run.
    fn push_runs<'t>(
        &'t self,
        columns: &mut Vec<Column<'t>>,
        prefix: &'static str,
        event: &DiffEvent<'t>,
        audience: Audience,
    ) {
        let DiffEvent { name, total, .. } = *event;
        let records = &self.records;
        let is_self = prefix.is_empty();
        let full_name = format!("{prefix}{name}");
        let bound = move |row: usize| records[row].incl_bound.as_deref().filter(|_| !is_self);
        let counts = move |row: usize| {
            bound(row).unwrap_or_else(|| self_or_inclusive(&records[row], is_self))
        };
        for run in 0..self.runs.len() {
            let word = self.run_column(run);
            let column = Column::new(format!("{full_name}.{word}"), Layout::Number, move |row| {
                Cell::count(entry(counts(row), name, run))
            });
            columns.push(
                column
                    .with_bounds(move |row| bound(row).is_some())
                    .titled(format!("{full_name} {}", self.run_title(run)))
                    .for_audience(audience)
                    .with_total(match is_self {
                        true => Cell::count(total.0.get(run).copied().flatten()),
                        false => Cell::Empty,
                    }),
            );
            if self.is_by_shares() {
                let whole = total.0.get(run).copied().flatten().unwrap_or(0);
                columns.push(
                    Column::new(
                        format!("{full_name}.{word}%"),
                        Layout::Percent,
                        move |row| {
                            let count = entry(counts(row), name, run);
                            count.map_or(Cell::Empty, |count| Cell::share(count, whole))
                        },
                    )
                    .titled("%")
                    .for_audience(audience),
                );
            }
        }
    }

    /// Adds the columns that identify a record, and other columns of texts.
    fn push_keys<'t>(&'t self, columns: &mut Vec<Column<'t>>) {
        let records = &self.records;
        let mut text = |name: &str, title: &str, layout, audience, cell: RecordCell<'t>| {
            columns.push(text_column(records, name, title, layout, cell).for_audience(audience));
        };
        let (has_kinds, has_sites, has_lines, has_callees) = (
            records.iter().any(|record| record.kind.is_some()),
            records.iter().any(|record| record.site.is_some()),
            records.iter().any(|record| record.line.is_some()),
            records.iter().any(|record| record.callee.is_some()),
        );
        let if_any = |any: bool| if any { Audience::All } else { Audience::Nobody };
        use Layout::{Name as Function, Path, Text};
        let all = Audience::All;
        text("kind", "kind", Text, if_any(has_kinds), |record| {
            Cell::name(record.kind.as_deref())
        });
        text("what", "what", Text, if_any(has_kinds), |record| {
            Cell::name(record.what.as_ref().map(|what| what.as_str()))
        });
        text("fn", "function", Function, all, function_cell);
        text("file", "file", Path, all, |record| {
            Cell::name(record.file.as_deref())
        });
        text("site", "call site", Path, if_any(has_sites), |record| {
            Cell::name(record.site.as_deref())
        });
        text(
            "line",
            "line",
            Layout::Number,
            if_any(has_lines),
            |record| Cell::ordinal(record.line),
        );
        text("obj", "object", Path, Audience::Programs, |record| {
            Cell::name(record.obj.as_deref())
        });
        text(
            "callee.fn",
            "callee",
            Function,
            if_any(has_callees),
            |record| {
                let callee = record.callee.as_ref();
                Cell::name(callee.and_then(|callee| callee.name.as_deref()))
            },
        );
        self.push_explanations(columns);
        columns.push(code(move |row| {
            let record: &DiffRecord = &records[row];
            let names = [&record.name, &record.file, &record.obj];
            CodeOwner::from_names(names.map(Option::as_deref))
        }));
    }

    /// Adds the columns that explain the change of a record.
    fn push_explanations<'t>(&'t self, columns: &mut Vec<Column<'t>>) {
        use Layout::{Name as Function, Text};
        let all = Audience::All;
        let records = &self.records;
        let has_guesses = Audience::all_if(records.iter().any(|record| record.guess));
        let mut text = |name: &str, title: &str, layout, audience, cell: RecordCell<'t>| {
            columns.push(text_column(records, name, title, layout, cell).for_audience(audience));
        };
        text("was", "was", Function, all, |record| {
            let was = record.was.as_ref();
            Cell::name(was.and_then(|was| was.name.as_deref()))
        });
        // If a row joins two names by a guess, the reader has to see this.
        text("guess", "guess", Text, has_guesses, |record| {
            match record.guess {
                true => Cell::Text("guess".into()),
                false => Cell::Empty,
            }
        });
        text("why", "why", Text, all, |record| {
            why::describe_reason(record).map_or(Cell::Empty, |why| Cell::Text(why.into()))
        });
        text("explained_by", "explained by", Function, all, |record| {
            let callee = record.explained_by.as_ref();
            Cell::name(callee.and_then(|callee| callee.name.as_deref()))
        });
        text("joined", "joined by", Text, Audience::Nobody, |record| {
            let rules: Vec<&str> = record.joined.iter().map(|rule| rule.as_str()).collect();
            match rules.is_empty() {
                true => Cell::Empty,
                false => Cell::Text(rules.join(", ").into()),
            }
        });
    }

    /// Returns the names of the runs in the names of columns.
    pub(crate) fn run_columns(&self) -> Vec<String> {
        let runs = 0..self.runs.len();
        runs.map(|run| self.run_column(run).to_owned()).collect()
    }

    /// Returns the name of a run's columns: `old` and `new` if there are two runs.
    fn run_column(&self, run: usize) -> &str {
        match (self.runs.len(), run) {
            (2, 0) => "old",
            (2, _) => "new",
            _ => &self.runs[run],
        }
    }

    /// Returns the heading of a run: the name of its file without the directory, if this is unique.
    pub(super) fn run_title(&self, run: usize) -> &str {
        let base_name = |path: &'_ str| {
            path.rsplit_once('/')
                .map_or(0, |(directory, _)| directory.len() + 1)
        };
        let column = self.run_column(run);
        let title = &column[base_name(column)..];
        let same = self
            .runs
            .iter()
            .filter(|other| &other[base_name(other)..] == title)
            .count();
        if same > 1 { column } else { title }
    }
}

/// Returns the difference between the shares of two wholes, in percentage points.
fn points(counts: (Count, Count), wholes: (Count, Count)) -> Cell<'static> {
    let difference = || {
        let old = counts.0.checked_mul(wholes.1)?;
        let new = counts.1.checked_mul(wholes.0)?;
        Some((new.checked_sub(old)?, wholes.0.checked_mul(wholes.1)?))
    };
    difference().map_or(Cell::Empty, |(delta, from)| Cell::change(delta, from))
}

/// Returns the self cost of a record, or its inclusive cost.
fn self_or_inclusive<'r, 't>(record: &'r DiffRecord<'t>, is_self: bool) -> &'r CountsPerRun<'t> {
    match is_self {
        true => &record.cost,
        false => &record.incl,
    }
}

/// Returns the entry of a run for an event. A missing event counts as 0 if the run has the record.
fn entry(counts: &CountsPerRun, event: &str, run: usize) -> Option<Count> {
    match counts.get(event) {
        Some(entries) => entries.0.get(run).copied().flatten(),
        None => counts
            .0
            .iter()
            .any(|(_, entries)| matches!(entries.0.get(run), Some(Some(_))))
            .then_some(0),
    }
}

/// Returns the cell of a column for a record.
type RecordCell<'t> = fn(&'t DiffRecord) -> Cell<'t>;

/// Returns the cell of a record's function.
fn function_cell<'t>(record: &'t DiffRecord) -> Cell<'t> {
    const BELOW: &str = "places below the threshold";
    let object = record.obj.as_deref();
    match (&record.places, record.name.as_deref(), object) {
        // An address is unique only in its object.
        (None, Some(name), Some(object)) if is_address(name) => Cell::Placed {
            lead: "".into(),
            name,
            place: format!("in {}", base_name(object)),
        },
        (None, name, _) => Cell::function(name),
        (Some(_), None, _) => Cell::Placed {
            lead: BELOW.into(),
            name: "",
            place: "".into(),
        },
        (Some(_), Some(name), _) => Cell::Placed {
            lead: "".into(),
            name,
            place: BELOW.into(),
        },
    }
}

/// Makes a column with texts of records.
fn text_column<'t>(
    records: &'t [DiffRecord<'t>],
    name: &str,
    title: &str,
    layout: Layout,
    cell: RecordCell<'t>,
) -> Column<'t> {
    let column = Column::new(name, layout, move |row| cell(&records[row]));
    let worth = match name {
        "obj" => Worth::Object,
        "guess" | "why" | "explained_by" | "joined" => Worth::Explanation,
        "line" | "was" => Worth::Detail,
        _ => column.worth,
    };
    column.titled(title).worth(worth)
}
