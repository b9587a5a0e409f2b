//! The columns of the record types that add up: functions, lines, calls, findings, allocations.

use std::cell::RefCell;
use std::cmp::Reverse;

use cg_collections::sorting::Order as _;
use cg_document::{Audience, Cell, Column, Layout, Table, Worth};
use cg_profile::{Key, Profile, Rows, Symbol};
use cg_stream::record::{Count, LeakKind, RecordType};

use super::{leaks, points};
use crate::report::columns::{code, inclusive_bound, push_events, push_function, set_totals};
use crate::report::events::EventColumns;
use crate::report::owners::FunctionOwners;

/// Returns the rows of a record type as a table, sorted by cost.
pub(crate) fn table<'a>(
    profile: &'a Profile,
    kind: RecordType,
    events: &EventColumns,
) -> Table<'a> {
    rows_table(profile, profile.table(kind), kind, events)
}

/// Returns these rows as a table, sorted by cost. The rows need not be in the profile.
pub(crate) fn rows_table<'a>(
    profile: &'a Profile,
    rows: &'a Rows,
    kind: RecordType,
    events: &EventColumns,
) -> Table<'a> {
    let mut columns = Vec::new();
    if kind != RecordType::Call {
        push_events(&mut columns, events, "", move |row| Some(rows.cost(row)));
    }
    // Cachegrind does not record calls, so it has no inclusive cost.
    let has_incl = rows.is_empty() || (0..rows.len()).any(|row| rows.incl_or_bound(row).is_some());
    if has_incl && matches!(kind, RecordType::Fn | RecordType::Line | RecordType::Call) {
        push_inclusive(&mut columns, rows, events);
    }
    push_numbers(&mut columns, rows, kind);
    if kind == RecordType::ProgramPoint {
        let before = columns.len();
        points::push_columns(&mut columns, profile, rows);
        for column in &mut columns[before..] {
            column.worth = Worth::Other;
        }
    }
    push_keys(&mut columns, profile, rows, kind);
    let owners = RefCell::new(FunctionOwners::new(profile));
    columns.push(code(move |row| {
        owners.borrow_mut().find_function_owner(rows.function(row))
    }));
    match kind {
        RecordType::Call => {}
        RecordType::Leak => {
            let costs = move |row| (rows.key(row).kind, Some(rows.cost(row)));
            leaks::share_by_kind(&mut columns, rows, events, ("", costs));
        }
        _ => set_totals(&mut columns, events),
    }
    Table::new(columns, order_by_cost(profile, rows, kind, events))
}

/// Adds the columns of inclusive costs, some of which may be upper bounds.
fn push_inclusive<'a>(columns: &mut Vec<Column<'a>>, rows: &'a Rows, events: &EventColumns) {
    let mut inclusive = Vec::new();
    push_events(&mut inclusive, events, "incl.", move |row| {
        rows.incl_or_bound(row)
    });
    let is_bound = move |row: usize| rows.incl_bound(row).is_some();
    if !(0..rows.len()).any(is_bound) {
        columns.extend(inclusive);
        return;
    }
    let inclusive = inclusive.into_iter();
    columns.extend(inclusive.map(|column| column.with_bounds(is_bound)));
    columns.push(inclusive_bound(is_bound));
}

/// Adds the columns of numbers that are not costs of events.
fn push_numbers<'a>(columns: &mut Vec<Column<'a>>, rows: &'a Rows, kind: RecordType) {
    let mut number = |name: &str, count: fn(&'a Rows, usize) -> Option<Count>| {
        columns.push(
            Column::new(name, Layout::Number, move |row| {
                Cell::count(count(rows, row))
            })
            .worth(Worth::Calls),
        );
    };
    match kind {
        RecordType::Fn | RecordType::Call => {
            let calls: fn(&'a Rows, usize) -> Option<Count> =
                |rows, row| rows.numbers().calls.count(row);
            if rows.is_empty() || (0..rows.len()).any(|row| calls(rows, row).is_some()) {
                number("calls", calls);
            }
        }
        RecordType::Leak => number("indirect_bytes", |rows, row| {
            rows.numbers().indirect_bytes.count(row)
        }),
        RecordType::Heap => number("places", |rows, row| rows.numbers().places.count(row)),
        _ => {}
    }
}

/// Adds the columns that identify a row.
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
        columns.push(
            Column::new("what", Layout::Text, move |row| text(rows.key(row).what))
                .worth(Worth::Explanation),
        );
    }
    if kind == RecordType::Heap {
        columns.push(Column::new("snapshot", Layout::Number, move |row| {
            Cell::ordinal(rows.key(row).snapshot)
        }));
    }
    push_function(columns, "", move |row| rows.function(row), profile);
    if kind != RecordType::Fn {
        columns.insert(
            columns.len() - 1,
            Column::new("line", Layout::Number, move |row| {
                Cell::ordinal(rows.key(row).line)
            })
            .worth(Worth::File),
        );
    }
    if kind == RecordType::Line {
        columns.insert(
            columns.len() - 1,
            Column::new("addr", Layout::Text, move |row| text(rows.key(row).addr)),
        );
    }
    if kind == RecordType::Call {
        let has_sites = rows.used_fields().site.is_some();
        columns.insert(
            columns.len() - 2,
            Column::new("site", Layout::Path, move |row| text(rows.key(row).site))
                .for_audience(Audience::all_if(has_sites)),
        );
        let callee = move |row| rows.key(row).callee.unwrap_or_default();
        push_function(columns, "callee.", callee, profile);
    }
    push_optional_keys(columns, profile, rows, kind);
}

/// Adds the columns of keys that only some profiles have.
fn push_optional_keys<'a>(
    columns: &mut Vec<Column<'a>>,
    profile: &'a Profile,
    rows: &'a Rows,
    kind: RecordType,
) {
    let used = rows.used_fields();
    let mut push_number = |name: &str, is_used, number: fn(&'a Rows, usize) -> Option<u64>| {
        let audience = Audience::all_if(is_used);
        columns.push(
            Column::new(name, Layout::Number, move |row| {
                Cell::ordinal(is_used.then(|| number(rows, row)).flatten())
            })
            .for_audience(audience)
            .worth(Worth::Calls),
        );
    };
    let has_cycles = (0..rows.len()).any(|row| rows.numbers().cycle.get(row).is_some());
    push_number("cycle", has_cycles, |rows, row| {
        rows.numbers().cycle.get(row)
    });
    push_number("part", used.part.is_some(), |rows, row| rows.key(row).part);
    if kind != RecordType::Stack {
        push_number("thread", used.thread.is_some(), |rows, row| {
            rows.key(row).thread
        });
        return;
    }
    if used.time.is_some() {
        push_number("time_of_sample", true, |rows, row| rows.key(row).time);
    }
    let mut push_name = |name: &str, symbol: fn(&Key) -> Option<Symbol>| {
        if symbol(&used).is_some() {
            columns.push(Column::new(name, Layout::Text, move |row| {
                Cell::name(profile.text(symbol(&rows.key(row))))
            }));
        }
    };
    push_name("thread", |key| key.thread_name);
    push_name("process", |key| key.process);
    push_name("labels", |key| key.labels);
}

/// Returns all rows sorted by cost (for calls, by inclusive cost), largest first, then by key. Leaks are sorted by kind
/// first, beginning with definitely lost.
fn order_by_cost(
    profile: &Profile,
    rows: &Rows,
    kind: RecordType,
    events: &EventColumns,
) -> Vec<usize> {
    let first = events.first_index();
    let cost = |row: usize| {
        let counts = match kind {
            RecordType::Call => rows.incl(row).unwrap_or_default(),
            _ => rows.cost(row),
        };
        counts.get(first).copied().unwrap_or(0)
    };
    let severity = |row: usize| {
        let kind = (kind == RecordType::Leak).then(|| profile.text(rows.key(row).kind));
        kind.flatten().and_then(LeakKind::from_word)
    };
    let key = |row: usize| (severity(row), Reverse(cost(row)));
    let mut keyed: Vec<_> = (0..rows.len()).map(|row| (key(row), row)).collect();
    keyed.order_by(|(a_key, a), (b_key, b)| {
        a_key
            .cmp(b_key)
            // The functions come first in this order, and take less time than whole keys.
            .then_with(|| profile.order_of_functions(&rows.function(*a), &rows.function(*b)))
            .then_with(|| profile.order_of_keys(&rows.key(*a), &rows.key(*b)))
    });
    keyed.into_iter().map(|(_, row)| row).collect()
}
