//! The table at the end of a report, in the manner of the LEAK SUMMARY.

use cg_document::{Block, Cell, Column, Layout, Table};
use cg_parse::findings::Coverage;
use cg_stream::record::{Count, LeakKind};

use super::GateReport;
use crate::finding::JudgedProcess;
use crate::ruling::RulingStatus;

/// The findings of one leak kind, or the errors.
#[derive(Default)]
struct KindTotals {
    bytes: Count,
    blocks: Count,
    /// How many findings have each status.
    findings: [Count; RulingStatus::ALL.len()],
}

/// Shown where a log does not tell a count: 0 would say that there is none.
const UNKNOWN: &str = "–";

const ERRORS: usize = LeakKind::ALL.len();

impl GateReport<'_> {
    /// A row a leak kind, if leaks were looked for, and one for errors, with a column for each status. Statuses that
    /// nothing has are left out, but for `new`.
    fn table(&self) -> Table<'static> {
        let mut rows: [KindTotals; ERRORS + 1] = Default::default();
        for (finding, ruling) in self.findings() {
            let row = finding.leak_kind().map_or(ERRORS, |kind| kind as usize);
            let (bytes, blocks) = finding.lost().unwrap_or_default();
            rows[row].bytes += bytes;
            rows[row].blocks += blocks;
            rows[row].findings[ruling.status as usize] += 1;
        }
        let found = |row: usize| rows[row].findings.iter().sum::<Count>();
        let coverage = self.coverage();
        let is_told: [bool; ERRORS + 1] = std::array::from_fn(|row| match coverage.get(row) {
            Some([certain, not_shown, not_measured]) => {
                found(row) > 0 || (*certain > 0 && not_shown + not_measured == 0)
            }
            None => true,
        });
        let mut columns = vec![Column::new("", Layout::Text, |row| {
            let name = LeakKind::ALL
                .get(row)
                .map_or("errors", |kind| kind.phrase());
            Cell::Text(name.into())
        })];
        let mut push = |name: String, cells: Vec<Option<Count>>| {
            columns.push(Column::new(name, Layout::Number, move |row| {
                if is_told[row] {
                    Cell::count(cells[row])
                } else {
                    Cell::Text(UNKNOWN.into())
                }
            }));
        };
        let of_leaks = |count: fn(&KindTotals) -> Count| {
            let counts = rows[..ERRORS].iter().map(|row| Some(count(row)));
            counts.chain([None]).collect()
        };
        let has_leaks = self.evidence.processes.is_empty()
            || self
                .evidence
                .processes
                .iter()
                .any(JudgedProcess::may_have_leaks)
            || (0..ERRORS).any(|row| found(row) > 0);
        if has_leaks {
            push("bytes".to_owned(), of_leaks(|row| row.bytes));
            push("blocks".to_owned(), of_leaks(|row| row.blocks));
        }
        push(
            "found".to_owned(),
            (0..=ERRORS).map(found).map(Some).collect(),
        );
        for status in RulingStatus::ALL {
            let counts = rows.iter().map(|row| row.findings[status as usize]);
            if status == RulingStatus::New || counts.clone().any(|count| count > 0) {
                let name = status.word().replace('_', " ");
                push(name, counts.map(Some).collect());
            }
        }
        let first = if has_leaks { 0 } else { ERRORS };
        Table::new(columns, (first..=ERRORS).collect())
    }

    /// The tables at the end.
    pub(super) fn tables(&self) -> Vec<Block<'static>> {
        std::iter::once(self.table())
            .chain(self.coverage_table())
            .map(Block::Table)
            .collect()
    }

    /// In how many processes each leak kind is certain, not shown, or not measured; `None` where all are certain.
    fn coverage_table(&self) -> Option<Table<'static>> {
        let coverage = self.coverage();
        if coverage
            .iter()
            .all(|of| of[1..].iter().all(|count| *count == 0))
        {
            return None;
        }
        let mut columns = vec![Column::new("processes", Layout::Text, |row: usize| {
            Cell::Text(LeakKind::ALL[row].phrase().into())
        })];
        for (position, state) in Coverage::ALL.into_iter().enumerate() {
            columns.push(Column::new(
                state.words(),
                Layout::Number,
                move |row: usize| Cell::Count(coverage[row][position]),
            ));
        }
        Some(Table::new(columns, (0..ERRORS).collect()))
    }

    /// For each leak kind, in how many processes it has each coverage. Tools without a leak check have no part in it.
    fn coverage(&self) -> [[Count; Coverage::ALL.len()]; ERRORS] {
        let mut counts = [[0; Coverage::ALL.len()]; ERRORS];
        let processes = self.evidence.processes.iter();
        for process in processes.filter(|process| process.may_have_leaks()) {
            for kind in LeakKind::ALL {
                counts[kind as usize][process.coverage(kind) as usize] += 1;
            }
        }
        counts
    }
}
