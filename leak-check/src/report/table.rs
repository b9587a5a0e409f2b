//! The table at the end of a report, in the manner of the LEAK SUMMARY.

use cg_document::{Cell, Column, Layout, Table};
use cg_stream::record::Count;

use super::Report;
use crate::finding::LeakKind;
use crate::policy::Status;

/// The findings of one leak kind, or the errors.
#[derive(Default)]
struct Sums {
    bytes: Count,
    blocks: Count,
    /// How many findings have each status.
    findings: [Count; Status::ALL.len()],
}

impl Report<'_> {
    /// A row a leak kind and one for errors, with a column for each status. Statuses that nothing has are left out, but
    /// for `new`.
    pub(super) fn table(&self) -> Table<'static> {
        const ERRORS: usize = LeakKind::ALL.len();
        let mut rows: [Sums; ERRORS + 1] = Default::default();
        for (finding, ruling) in self.findings() {
            let row = finding.leak_kind().map_or(ERRORS, |kind| kind as usize);
            let (bytes, blocks) = finding.lost().unwrap_or_default();
            rows[row].bytes += bytes;
            rows[row].blocks += blocks;
            rows[row].findings[ruling.status as usize] += 1;
        }
        let mut columns = vec![Column::new("", Layout::Text, |row| {
            let name = LeakKind::ALL
                .get(row)
                .map_or("errors", |kind| kind.phrase());
            Cell::Text(name.into())
        })];
        let mut push = |name: String, cells: Vec<Option<Count>>| {
            columns.push(Column::new(name, Layout::Number, move |row| {
                Cell::count(cells[row])
            }));
        };
        let of_leaks = |count: fn(&Sums) -> Count| {
            let counts = rows[..ERRORS].iter().map(|row| Some(count(row)));
            counts.chain([None]).collect()
        };
        push("bytes".to_owned(), of_leaks(|row| row.bytes));
        push("blocks".to_owned(), of_leaks(|row| row.blocks));
        let found = rows.iter().map(|row| Some(row.findings.iter().sum()));
        push("found".to_owned(), found.collect());
        for status in Status::ALL {
            let counts = rows.iter().map(|row| row.findings[status as usize]);
            if status == Status::New || counts.clone().any(|count| count > 0) {
                let name = status.word().replace('_', " ");
                push(name, counts.map(Some).collect());
            }
        }
        Table::new(columns, (0..=ERRORS).collect())
    }
}
