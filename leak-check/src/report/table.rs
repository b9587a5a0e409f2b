//! The table at the end of a report, similar to the LEAK SUMMARY.

use std::collections::BTreeSet;

use cg_document::html::filter_address;
use cg_document::{Block, Cell, Column, Layout, Table};
use cg_parse::findings::Coverage;
use cg_stream::record::{Count, LeakKind};

use super::GateReport;
use crate::finding::JudgedProcess;
use crate::ruling::RulingStatus;

/// The totals of one leak kind, or of the errors.
#[derive(Default)]
struct KindTotals {
    bytes: Count,
    blocks: Count,
    /// The number of findings with each status.
    findings: [Count; RulingStatus::ALL.len()],
    /// The words of the kinds.
    kinds: BTreeSet<String>,
}

impl KindTotals {
    fn found(&self) -> Count {
        self.findings.iter().sum()
    }

    /// Returns the filter behind the count of a status, or of all statuses; `None` if the count is 0.
    fn filter(&self, status: Option<RulingStatus>) -> Option<String> {
        let count = status.map_or_else(|| self.found(), |status| self.findings[status as usize]);
        let kinds = self.kinds.iter().map(|kind| ("kind", kind.as_str()));
        let status = status.map(|status| ("status", status.word()));
        (count > 0).then(|| filter_address(kinds.chain(status)))
    }
}

/// Shown for a count that the log does not contain.
const UNKNOWN: &str = "–";

const ERRORS: usize = LeakKind::ALL.len();

impl GateReport<'_> {
    /// Returns the table: a row for each leak kind, unless no tool searched for leaks, and a row for errors. It has a column
    /// for `new` and for each other status that occurs.
    fn table(&self) -> Table<'static> {
        let rows = self.kind_totals();
        let filters =
            |status| -> Vec<Option<String>> { rows.iter().map(|row| row.filter(status)).collect() };
        let found = |row: usize| rows[row].found();
        let coverage = self.coverage();
        let is_known: [bool; ERRORS + 1] = std::array::from_fn(|row| match coverage.get(row) {
            Some([certain, not_shown, not_measured]) => {
                found(row) > 0 || (*certain > 0 && not_shown + not_measured == 0)
            }
            None => true,
        });
        let all = filters(None);
        let names = Column::new("", Layout::Text, |row| {
            let name = LeakKind::ALL
                .get(row)
                .map_or("errors", |kind| kind.phrase());
            Cell::Text(name.into())
        });
        let mut columns = vec![names.with_filter(move |row| all[row].clone())];
        let mut push = |name: &str, cells: Vec<Option<Count>>, filters: Vec<Option<String>>| {
            let column = Column::new(name, Layout::Number, move |row| {
                if is_known[row] {
                    Cell::count(cells[row])
                } else {
                    Cell::Text(UNKNOWN.into())
                }
            });
            columns.push(column.with_filter(move |row| filters.get(row).cloned().flatten()));
        };
        let leak_counts = |count: fn(&KindTotals) -> Count| {
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
            push("bytes", leak_counts(|row| row.bytes), Vec::new());
            push("blocks", leak_counts(|row| row.blocks), Vec::new());
        }
        let all = (0..=ERRORS).map(found).map(Some).collect();
        push("found", all, filters(None));
        for status in RulingStatus::ALL {
            let counts = rows.iter().map(|row| row.findings[status as usize]);
            if status == RulingStatus::New || counts.clone().any(|count| count > 0) {
                let counts = counts.map(Some).collect();
                push(&status.words(), counts, filters(Some(status)));
            }
        }
        let first = if has_leaks { 0 } else { ERRORS };
        Table::new(columns, (first..=ERRORS).collect())
    }

    fn kind_totals(&self) -> [KindTotals; ERRORS + 1] {
        let mut rows: [KindTotals; ERRORS + 1] = Default::default();
        for (finding, ruling) in self.findings() {
            let row = &mut rows[finding.leak_kind().map_or(ERRORS, |kind| kind as usize)];
            let (bytes, blocks) = finding.lost().unwrap_or_default();
            row.bytes += bytes;
            row.blocks += blocks;
            row.findings[ruling.status as usize] += 1;
            if !row.kinds.contains(finding.kind()) {
                row.kinds.insert(finding.kind().to_owned());
            }
        }
        rows
    }

    /// Returns the tables at the end.
    pub(super) fn tables(&self) -> Vec<Block<'static>> {
        std::iter::once(self.table())
            .chain(self.coverage_table())
            .map(Block::Table)
            .collect()
    }

    /// Returns a table with the number of processes in which each leak kind is certain, not shown, or not measured; `None`
    /// if every kind is certain in every process.
    fn coverage_table(&self) -> Option<Table<'static>> {
        let coverage = self.coverage();
        if coverage
            .iter()
            .all(|counts| counts[1..].iter().all(|count| *count == 0))
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

    /// Returns the number of processes with each coverage, for each leak kind. Excludes tools without a leak check.
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
