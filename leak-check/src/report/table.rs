//! The table at the end of a report, in the manner of the LEAK SUMMARY.

use cg_stream::record::Count;

use super::Report;
use crate::finding::LeakKind;
use crate::numbers::grouped;
use crate::policy::Status;

impl Report<'_> {
    /// The sums for the table at the end.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = LeakKind::ALL
            .iter()
            .map(|kind| Row::new(kind.phrase(), true))
            .collect();
        rows.push(Row::new("errors", false));
        for (finding, ruling) in self.findings() {
            let row = match finding.leak_kind() {
                Some(kind) => &mut rows[kind as usize],
                None => &mut rows[LeakKind::ALL.len()],
            };
            if let Some((bytes, blocks)) = finding.lost() {
                let lost = row.lost.get_or_insert((0, 0));
                lost.0 += bytes;
                lost.1 += blocks;
            }
            row.findings[ruling.status as usize] += 1;
        }
        rows
    }
}

/// A row of the table at the end of a report.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) is_of_leaks: bool,
    /// Bytes and blocks, where there were any.
    pub(crate) lost: Option<(Count, Count)>,
    /// How many findings have each status.
    pub(crate) findings: [u64; Status::ALL.len()],
}

impl Row {
    fn new(name: &'static str, is_of_leaks: bool) -> Row {
        Row {
            name,
            is_of_leaks,
            lost: None,
            findings: [0; Status::ALL.len()],
        }
    }
}

/// The table as text, its head first. Statuses that nothing has are left out, but for `new`.
pub(crate) fn table_cells(rows: &[Row]) -> Vec<Vec<String>> {
    let statuses: Vec<Status> = Status::ALL
        .into_iter()
        .filter(|status| {
            *status == Status::New || rows.iter().any(|row| row.findings[*status as usize] > 0)
        })
        .collect();
    let mut head: Vec<String> = ["", "bytes", "blocks", "found"].map(str::to_owned).into();
    head.extend(
        statuses
            .iter()
            .map(|status| status.word().replace('_', " ")),
    );
    let mut table = vec![head];
    for row in rows {
        let (bytes, blocks) = match row.lost {
            Some((bytes, blocks)) => (grouped(bytes), grouped(blocks)),
            None if row.is_of_leaks => ("0".to_owned(), "0".to_owned()),
            None => (String::new(), String::new()),
        };
        let mut cells = vec![row.name.to_owned(), bytes, blocks];
        cells.push(row.findings.iter().sum::<u64>().to_string());
        cells.extend(
            statuses
                .iter()
                .map(|status| row.findings[*status as usize].to_string()),
        );
        table.push(cells);
    }
    table
}
