//! Cells of tables, and the order of rows.

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
fn numbers_sort_down_and_names_up_and_ties_keep_the_order() {
    let mut table = table();
    table.sort("Ir").unwrap();
    assert_eq!(table.rows, [1, 2, 0]);
    table.sort("fn").unwrap();
    assert_eq!(table.rows, [2, 0, 1]);
}

#[test]
fn only_people_see_a_text_for_unknown_names() {
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
fn upper_bounds_are_marked_for_people_and_sort_like_counts() {
    const COUNTS: [Count; 3] = [200, 7000, 1000];
    let is_bound = |row| row == 1;
    let count = Column::new("Ir", Layout::Number, |row| Cell::Count(COUNTS[row]));
    let share = Column::new("Ir%", Layout::Percent, |row| Cell::share(COUNTS[row], 8000));
    let columns = [count, share].map(|column| column.with_bounds(is_bound));
    let mut table = Table::new(columns.into(), vec![0, 1, 2]);
    table.sort("Ir").unwrap();
    assert_eq!(table.rows, [1, 2, 0]);
    let document = Document {
        blocks: vec![Block::Table(table)],
    };
    let mut shown = Vec::new();
    text::write(&document, Screen::default(), &mut shown).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("≤7,000 (≤87.50%)"), "{shown}");
    assert!(shown.contains(" 1,000  (12.50%)"), "{shown}");
    let mut csv = Vec::new();
    write_csv(&document, ValueReader::Program, &mut csv).unwrap();
    assert_eq!(csv, b"Ir,Ir%\n7000,87.50\n1000,12.50\n200,2.50\n");
}

#[test]
fn deltas_sort_by_absolute_value() {
    assert_eq!(Cell::Delta(-9).order(&Cell::Delta(8)), Ordering::Less);
    let change = |delta| Cell::change(delta, 100);
    assert_eq!(change(-9).order(&change(8)), Ordering::Less);
    assert_eq!(Cell::Empty.order(&change(8)), Ordering::Greater);
}

#[test]
fn a_cut_returns_the_number_and_sum_of_the_rows_left_out() {
    let mut table = table();
    assert_eq!(table.cut(1, Some("Ir")), Some(Cut { rows: 2, sum: 14 }));
    assert_eq!(table.cut(1, Some("Ir")), None);
}

#[test]
fn empty_columns_are_only_for_programs() {
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
fn columns_are_found_ignoring_case_but_exact_names_first() {
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
fn an_unknown_column_is_an_error_with_the_known_columns() {
    let error = table()
        .choose(&["fn".to_owned(), "Dr".to_owned()])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no column Dr; there are Ir, fn, why"
    );
}

#[test]
fn percentages_are_relative_to_the_absolute_old_figure() {
    assert_eq!(Cell::change(50, -100).percentage(), Some(50.0));
    assert_eq!(Cell::change(50, 0), Cell::Empty);
    assert_eq!(Cell::share(1, 8).percentage(), Some(12.5));
}
