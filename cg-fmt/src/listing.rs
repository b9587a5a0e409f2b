//! The columns of records that add up: functions, lines, calls, findings, allocations.

use std::cmp::Ordering;

use cg_stream::profile::{FunctionKey, Profile, Symbol, Table as Rows};
use cg_stream::record::{Count, RecordType};

use crate::dhat;
use crate::options::{Events, Options, PercentOf};
use cg_document::{Audience, Cell, Column, Layout, Table};

/// To people all events are shown up to this many; more make lines that nobody can read.
const FEW_EVENTS: usize = 3;

/// The events of a listing, with what 100 % of each is.
pub(crate) struct EventColumns {
    pub(crate) events: Vec<EventColumn>,
    of: PercentOf,
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct EventColumn {
    /// Its position in the profile's events.
    pub(crate) index: usize,
    pub(crate) name: String,
    /// What 100 % is.
    pub(crate) whole: Count,
    pub(crate) audience: Audience,
}

impl EventColumns {
    /// The events that a record type has, the chosen ones first.
    pub(crate) fn choose(
        profile: &Profile,
        kind: RecordType,
        options: &Options,
    ) -> anyhow::Result<EventColumns> {
        let indexes = events_of(profile, kind);
        let names: Vec<&str> = indexes
            .iter()
            .map(|index| profile.events()[*index].as_str())
            .collect();
        let telling: &[&str] = match kind {
            RecordType::ProgramPoint => &dhat::TELLING_EVENTS,
            _ => &[],
        };
        let (chosen, others) = choose_events(&names, telling, options)?;
        let wholes = wholes(profile, kind, options.percent_of);
        let column = |position: &usize, audience| EventColumn {
            index: indexes[*position],
            name: names[*position].to_owned(),
            whole: wholes.get(indexes[*position]).copied().unwrap_or(0),
            audience,
        };
        let rest = options.events.audience_of_others();
        Ok(EventColumns {
            events: chosen
                .iter()
                .map(|position| column(position, Audience::All))
                .chain(others.iter().map(|position| column(position, rest)))
                .collect(),
            of: options.percent_of,
        })
    }

    /// The events that people do not see because there are too many.
    pub(crate) fn hidden(&self) -> Vec<&str> {
        let hidden = self.events.iter();
        hidden
            .filter(|event| event.audience == Audience::Programs)
            .map(|event| event.name.as_str())
            .collect()
    }

    /// The event that rows are sorted and measured by.
    pub(crate) fn first(&self) -> Option<&EventColumn> {
        self.events.first()
    }
}

impl Events {
    /// Who sees the events that are not chosen: nobody, where somebody chose.
    pub(crate) fn audience_of_others(&self) -> Audience {
        match self {
            Events::Named(_) => Audience::Nobody,
            Events::Fitting | Events::All => Audience::Programs,
        }
    }
}

/// Positions of the events to show, and of the others. Where there are too many for people, they see the first, those
/// that tell most, and the one sorted by.
pub(crate) fn choose_events(
    names: &[&str],
    telling: &[&str],
    options: &Options,
) -> anyhow::Result<(Vec<usize>, Vec<usize>)> {
    let all = 0..names.len();
    let chosen: Vec<usize> = match &options.events {
        Events::All => all.clone().collect(),
        Events::Fitting if names.len() <= FEW_EVENTS => all.clone().collect(),
        Events::Fitting => {
            let sorted_by = options.sort.as_deref().unwrap_or_default();
            all.clone()
                .filter(|position| {
                    let name = names[*position];
                    *position == 0 || telling.contains(&name) || mentions_event(sorted_by, name)
                })
                .collect()
        }
        Events::Named(wanted) => {
            let mut chosen = Vec::new();
            for event in wanted {
                let position = names.iter().position(|name| name == event);
                let position = position.ok_or_else(|| {
                    anyhow::anyhow!("there is no event {event}; there are {}", names.join(", "))
                })?;
                if !chosen.contains(&position) {
                    chosen.push(position);
                }
            }
            chosen
        }
    };
    let others = all.filter(|position| !chosen.contains(position)).collect();
    Ok((chosen, others))
}

/// Whether a column's name is one of an event's: `Ir`, `incl.Ir`, `Ir%`, `Ir.delta`.
fn mentions_event(column: &str, event: &str) -> bool {
    let column = column.strip_prefix("incl.").unwrap_or(column);
    column
        .strip_prefix(event)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['%', '.']))
}

/// The positions of the events that records of a type have. A stream of findings has the events of errors and of leaks.
pub(crate) fn events_of(profile: &Profile, kind: RecordType) -> Vec<usize> {
    (0..profile.events().len())
        .filter(|index| has_event(kind, &profile.events()[*index]))
        .collect()
}

/// Whether records of a type can have an event.
pub(crate) fn has_event(kind: RecordType, event: &str) -> bool {
    match kind {
        RecordType::Leak => matches!(event, "bytes" | "blocks"),
        RecordType::Error => event == "count",
        RecordType::Heap => event == "bytes",
        _ => true,
    }
}

/// What 100 % of each event is.
fn wholes(profile: &Profile, kind: RecordType, percent_of: PercentOf) -> Vec<Count> {
    let rows = profile.table(kind);
    let mut sums = vec![0; profile.events().len()];
    for row in 0..rows.len() {
        for (sum, count) in sums.iter_mut().zip(rows.cost(row)) {
            *sum += count;
        }
    }
    if percent_of == PercentOf::Shown {
        return sums;
    }
    // A total of 0 is one that nobody gave: fragments have none, nor have findings in every stream.
    let totals = profile.total().iter().copied().chain(std::iter::repeat(0));
    totals
        .zip(sums)
        .map(|(total, sum)| if total == 0 { sum } else { total })
        .collect()
}

/// The rows of a record type as a table, in the order of their cost.
pub(crate) fn table<'a>(
    profile: &'a Profile,
    kind: RecordType,
    events: &EventColumns,
) -> Table<'a> {
    let rows = profile.table(kind);
    let mut columns = Vec::new();
    if kind != RecordType::Call {
        push_events(&mut columns, events, "", move |row| Some(rows.cost(row)));
    }
    if matches!(kind, RecordType::Fn | RecordType::Line | RecordType::Call) {
        push_events(&mut columns, events, "incl.", move |row| rows.incl(row));
    }
    push_beside(&mut columns, rows, kind);
    if kind == RecordType::ProgramPoint {
        dhat::push_columns(&mut columns, profile, rows);
    }
    push_keys(&mut columns, profile, rows, kind);
    if kind != RecordType::Call {
        set_totals(&mut columns, events);
    }
    Table::new(columns, order_by_cost(profile, kind, events))
}

/// A column a count and one a percentage, for each event.
pub(crate) fn push_events<'a>(
    columns: &mut Vec<Column<'a>>,
    events: &EventColumns,
    prefix: &str,
    counts: impl Fn(usize) -> Option<&'a [Count]> + Copy + 'a,
) {
    for (position, event) in events.events.iter().enumerate() {
        let EventColumn { index, whole, .. } = *event;
        let count =
            move |row| counts(row).map(|counts: &[Count]| counts.get(index).copied().unwrap_or(0));
        let name = format!("{prefix}{}", event.name);
        let percent = match event.audience {
            Audience::All if position == 0 => Audience::All,
            Audience::All => Audience::People,
            _ => Audience::Nobody,
        };
        columns.push(
            Column::new(&name, Layout::Number, move |row| Cell::count(count(row)))
                .for_audience(event.audience),
        );
        columns.push(
            Column::new(format!("{name}%"), Layout::Percent, move |row| {
                count(row).map_or(Cell::Empty, |count| Cell::share(count, whole))
            })
            .titled("%")
            .for_audience(percent),
        );
    }
}

/// Writes what 100 % is into the row of totals.
pub(crate) fn set_totals(columns: &mut [Column], events: &EventColumns) {
    let label = match events.of {
        PercentOf::Total => "PROGRAM TOTALS",
        PercentOf::Shown => "TOTALS OF WHAT IS SHOWN",
    };
    for event in &events.events {
        for column in columns.iter_mut() {
            if column.name == event.name {
                column.total = Cell::Count(event.whole);
            } else if column.name.strip_suffix('%') == Some(&event.name) {
                column.total = Cell::share(event.whole, event.whole);
            }
        }
    }
    if let Some(column) = columns
        .iter_mut()
        .find(|column| column.layout == Layout::Name)
    {
        column.total = Cell::Text(label.into());
    }
}

/// Numbers that stand beside the cost.
fn push_beside<'a>(columns: &mut Vec<Column<'a>>, rows: &'a Rows, kind: RecordType) {
    let mut number = |name: &str, count: fn(&'a Rows, usize) -> Option<Count>| {
        columns.push(Column::new(name, Layout::Number, move |row| {
            Cell::count(count(rows, row))
        }));
    };
    match kind {
        RecordType::Fn | RecordType::Call => {
            number("calls", |rows, row| Some(rows.calls(row)));
        }
        RecordType::Leak => number("indirect_bytes", |rows, row| {
            rows.beside().indirect_bytes.count(row)
        }),
        RecordType::Heap => number("places", |rows, row| rows.beside().places.count(row)),
        _ => {}
    }
}

/// The columns that say what a row is of.
fn push_keys<'a>(
    columns: &mut Vec<Column<'a>>,
    profile: &'a Profile,
    rows: &'a Rows,
    kind: RecordType,
) {
    let text = move |symbol: Option<Symbol>| Cell::name(profile.text(symbol));
    if matches!(kind, RecordType::Leak | RecordType::Error) {
        columns.push(Column::new("kind", Layout::Text, move |row| {
            text(rows.key(row).kind)
        }));
    }
    if kind == RecordType::Error {
        columns.push(Column::new("what", Layout::Text, move |row| {
            text(rows.key(row).what)
        }));
    }
    if kind == RecordType::Heap {
        columns.push(Column::new("snapshot", Layout::Number, move |row| {
            Cell::ordinal(rows.key(row).snapshot)
        }));
    }
    push_function(columns, "", move |row| rows.key(row).function, profile);
    if kind != RecordType::Fn {
        columns.insert(
            columns.len() - 1,
            Column::new("line", Layout::Number, move |row| {
                Cell::ordinal(rows.key(row).line)
            }),
        );
    }
    if kind == RecordType::Line {
        columns.insert(
            columns.len() - 1,
            Column::new("addr", Layout::Text, move |row| text(rows.key(row).addr)),
        );
    }
    if kind == RecordType::Call {
        let has_sites = (0..rows.len()).any(|row| rows.key(row).site.is_some());
        columns.insert(
            columns.len() - 2,
            Column::new("site", Layout::Path, move |row| text(rows.key(row).site)).for_audience(
                match has_sites {
                    true => Audience::All,
                    false => Audience::Nobody,
                },
            ),
        );
        let callee = move |row| rows.key(row).callee.unwrap_or_default();
        push_function(columns, "callee.", callee, profile);
    }
    let mut where_any = |name: &str, number: fn(&'a Rows, usize) -> Option<u64>| {
        let audience = match (0..rows.len()).any(|row| number(rows, row).is_some()) {
            true => Audience::All,
            false => Audience::Nobody,
        };
        columns.push(
            Column::new(name, Layout::Number, move |row| {
                Cell::ordinal(number(rows, row))
            })
            .for_audience(audience),
        );
    };
    where_any("cycle", |rows, row| rows.beside().cycle.get(row));
    where_any("part", |rows, row| rows.key(row).part);
    where_any("thread", |rows, row| rows.key(row).thread);
}

/// Function, file and object, in this order.
pub(crate) fn push_function<'a>(
    columns: &mut Vec<Column<'a>>,
    prefix: &str,
    key: impl Fn(usize) -> FunctionKey + Copy + 'a,
    profile: &'a Profile,
) {
    let title = |word: &str| match prefix {
        "" => word.to_owned(),
        _ if word == "function" => "callee".to_owned(),
        _ => format!("callee's {word}"),
    };
    let text = move |symbol: Option<Symbol>| Cell::name(profile.text(symbol));
    columns.push(
        Column::new(format!("{prefix}fn"), Layout::Name, move |row| {
            text(key(row).name)
        })
        .titled(title("function")),
    );
    columns.push(
        Column::new(format!("{prefix}file"), Layout::Path, move |row| {
            text(key(row).file)
        })
        .titled(title("file")),
    );
    columns.push(
        Column::new(format!("{prefix}obj"), Layout::Path, move |row| {
            text(key(row).obj)
        })
        .titled(title("object")),
    );
}

/// All rows by cost (of calls: by inclusive cost), largest first, then by names as bytes.
fn order_by_cost(profile: &Profile, kind: RecordType, events: &EventColumns) -> Vec<usize> {
    let rows = profile.table(kind);
    let first = events.first().map_or(0, |event| event.index);
    let cost = |row: usize| {
        let counts = match kind {
            RecordType::Call => rows.incl(row).unwrap_or_default(),
            _ => rows.cost(row),
        };
        counts.get(first).copied().unwrap_or(0)
    };
    let mut keyed: Vec<(Count, usize)> = (0..rows.len()).map(|row| (cost(row), row)).collect();
    keyed.sort_by(|(a_cost, a), (b_cost, b)| {
        b_cost
            .cmp(a_cost)
            .then_with(|| order_of_keys(profile, rows, *a, *b))
    });
    keyed.into_iter().map(|(_, row)| row).collect()
}

/// Keys by their names and numbers; two rows never have equal ones but for their stacks.
fn order_of_keys(profile: &Profile, rows: &Rows, a: usize, b: usize) -> Ordering {
    let (a, b) = (rows.key(a), rows.key(b));
    order_of_functions(profile, &a.function, &b.function)
        .then_with(|| profile.text(a.site).cmp(&profile.text(b.site)))
        .then_with(|| a.line.cmp(&b.line))
        .then_with(|| profile.text(a.addr).cmp(&profile.text(b.addr)))
        .then_with(|| match (&a.callee, &b.callee) {
            (Some(a), Some(b)) => order_of_functions(profile, a, b),
            _ => Ordering::Equal,
        })
        .then_with(|| profile.text(a.kind).cmp(&profile.text(b.kind)))
        .then_with(|| profile.text(a.what).cmp(&profile.text(b.what)))
        .then_with(|| (a.snapshot, a.part, a.thread).cmp(&(b.snapshot, b.part, b.thread)))
}

/// Functions by name, file and object, as bytes.
pub(crate) fn order_of_functions(profile: &Profile, a: &FunctionKey, b: &FunctionKey) -> Ordering {
    let order = |a: Option<Symbol>, b: Option<Symbol>| profile.text(a).cmp(&profile.text(b));
    order(a.name, b.name)
        .then_with(|| order(a.file, b.file))
        .then_with(|| order(a.obj, b.obj))
}

/// What the rows of a record type are called in a sentence.
pub(crate) fn noun(kind: RecordType, count: usize) -> &'static str {
    let (one, many) = match kind {
        RecordType::Fn => ("function", "functions"),
        RecordType::Line => ("line", "lines"),
        RecordType::Call => ("call arc", "call arcs"),
        RecordType::Leak => ("leak record", "leak records"),
        RecordType::Error => ("error", "errors"),
        RecordType::Heap => ("allocation stack", "allocation stacks"),
        RecordType::ProgramPoint => ("program point", "program points"),
        RecordType::Stack => ("stack", "stacks"),
        RecordType::Snapshot => ("snapshot", "snapshots"),
        _ => ("record", "records"),
    };
    if count == 1 { one } else { many }
}
