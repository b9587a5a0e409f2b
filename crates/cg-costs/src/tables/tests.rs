//! Rows of lines across tables.

use super::*;
use crate::ids::StringId;

fn key(function: char, line: u64) -> LineKey<char> {
    LineKey {
        function,
        file: StringId::FIRST,
        line,
        address: None,
    }
}

/// Returns function, line number and self cost of each row.
fn rows(table: &LineTable<char>) -> Vec<(char, u64, Vec<u64>)> {
    let mut own = Vec::new();
    let row = |(line, key): (_, LineKey<char>)| {
        table.own(line, &mut own);
        (key.function, key.line, own.clone())
    };
    table.all().map(row).collect()
}

fn part(lines: &[(char, u64, u64)]) -> LineTable<char> {
    let mut part = LineTable::new(1);
    for (function, line, cost) in lines {
        part.add_own(key(*function, *line), &[*cost], Signedness::Unsigned)
            .unwrap();
    }
    part
}

fn absorb(table: &mut LineTable<char>, part: &LineTable<char>) {
    let same = |function| (function != 'x').then_some((function, false));
    table.absorb(part, same, Signedness::Unsigned).unwrap();
}

#[test]
fn line_that_follows_a_part_is_added_to_the_row_of_the_part() {
    let mut table = LineTable::new(1);
    absorb(&mut table, &part(&[('f', 1, 5), ('f', 2, 6)]));
    for (line, cost) in [(2, 10), (1, 20)] {
        table
            .add_own(key('f', line), &[cost], Signedness::Unsigned)
            .unwrap();
    }
    table.settle(Signedness::Unsigned).unwrap();
    assert_eq!(rows(&table), [('f', 1, vec![25]), ('f', 2, vec![16])]);
    // The same after rows were merged.
    table
        .add_own(key('f', 2), &[100], Signedness::Unsigned)
        .unwrap();
    table.settle(Signedness::Unsigned).unwrap();
    assert_eq!(rows(&table), [('f', 1, vec![25]), ('f', 2, vec![116])]);
}

#[test]
fn lines_of_two_parts_add_up_by_function_and_line() {
    let (first, second) = (
        part(&[('f', 1, 1), ('g', 1, 2), ('f', 3, 4)]),
        part(&[('g', 1, 8), ('x', 1, 16), ('f', 1, 32)]),
    );
    let mut table = LineTable::new(1);
    absorb(&mut table, &first);
    absorb(&mut table, &second);
    table.settle(Signedness::Unsigned).unwrap();
    let mut found = rows(&table);
    found.sort();
    assert_eq!(
        found,
        [('f', 1, vec![33]), ('f', 3, vec![4]), ('g', 1, vec![10])]
    );
}

#[test]
fn lines_have_no_counts_of_events_that_came_later() {
    let mut table = part(&[('f', 1, 5)]);
    table.widen(2);
    table
        .add_own(key('f', 1), &[1, 7], Signedness::Unsigned)
        .unwrap();
    table
        .add_own(key('f', 2), &[2], Signedness::Unsigned)
        .unwrap();
    assert_eq!(rows(&table), [('f', 1, vec![6, 7]), ('f', 2, vec![2, 0])]);
}

#[test]
fn number_of_calls_beyond_64_bits_is_an_error_and_changes_nothing() {
    let mut calls = u64::MAX - 1;
    assert_eq!(add_calls(&mut calls, 1), Ok(()));
    assert_eq!(add_calls(&mut calls, 1), Err(NoRoom::Sum));
    assert_eq!(calls, u64::MAX);
}
