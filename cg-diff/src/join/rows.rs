//! The rows of a comparison, with the records of each profile that they consist of.

use cg_names::rules::MatchedRules;
use cg_profile::{FunctionKey, Key};
use cg_stream::record::RecordType;

use super::functions::Certainty;
use super::{Joined, Map};
use crate::runs::Runs;

/// The sides that have a record, one bit per side.
pub(crate) type Sides = u128;

/// The maximum number of sides.
pub(crate) const MOST_SIDES: usize = Sides::BITS as usize;

/// A row of the comparison: joined records of one or more runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinedRow {
    pub(crate) kind: RecordType,
    /// The rules that joined the records.
    pub(crate) matched: MatchedRules,
    /// The certainty of the join.
    pub(crate) certainty: Certainty,
    /// The sides that have the row.
    pub(crate) sides: Sides,
}

/// The rows of functions, by function, part and thread of a record.
pub(crate) struct FunctionRows {
    by_record: Map<(FunctionKey, Option<u64>, Option<u64>), usize>,
}

impl FunctionRows {
    pub(crate) fn collect(runs: &Runs, joined: &Joined) -> FunctionRows {
        let mut by_record = Map::default();
        for (row, joined_row) in joined.rows.iter().enumerate() {
            if joined_row.kind != RecordType::Fn {
                continue;
            }
            for (position, profile) in runs.profiles.iter().enumerate() {
                let table = profile.table(RecordType::Fn);
                for record in joined.records(row, position) {
                    let key = table.key(*record as usize);
                    by_record.insert((key.function, key.part, key.thread), row);
                }
            }
        }
        FunctionRows { by_record }
    }

    /// Returns the row of a function in a record with this key, if it has a row.
    pub(crate) fn row(&self, function: FunctionKey, key: &Key) -> Option<usize> {
        (self.by_record)
            .get(&(function, key.part, key.thread))
            .copied()
    }
}

/// The records of one profile, grouped by row.
pub(super) struct RowMembers {
    /// The position of each row's first record in `records`, and the number of records.
    starts: Vec<u32>,
    records: Vec<u32>,
}

/// The row of a record that is not compared.
pub(super) const NOT_COMPARED: u32 = u32::MAX;

impl RowMembers {
    /// Returns the records of a row, by their positions in the profile's table.
    pub(super) fn row_records(&self, row: usize) -> &[u32] {
        &self.records[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Groups the records of a profile by row, given the row of each record.
    pub(super) fn new(rows: usize, types: &[(RecordType, Vec<u32>)]) -> RowMembers {
        let records = || {
            types.iter().flat_map(|(_, rows)| {
                let compared = rows
                    .iter()
                    .enumerate()
                    .filter(|(_, row)| **row != NOT_COMPARED);
                compared.map(|(record, row)| (record as u32, *row as usize))
            })
        };
        let mut starts = vec![0u32; rows + 1];
        for (_, row) in records() {
            starts[row + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; starts[rows] as usize];
        for (record, row) in records() {
            sorted[next[row] as usize] = record;
            next[row] += 1;
        }
        RowMembers {
            starts,
            records: sorted,
        }
    }
}
