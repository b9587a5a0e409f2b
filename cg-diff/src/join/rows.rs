//! The rows of a comparison, and which records of each profile they are made of.

use cg_names::rules::MatchedRules;
use cg_stream::profile::{FunctionKey, Key};
use cg_stream::record::RecordType;

use super::functions::Certainty;
use super::{Joined, Map};
use crate::runs::Runs;

/// The sides that have a record, a bit each.
pub(crate) type Sides = u128;

/// The most sides there can be.
pub(crate) const MOST_SIDES: usize = Sides::BITS as usize;

/// A row of the comparison: one record of some runs, or several that were seen to be the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinedRow {
    pub(crate) of: RecordType,
    /// The rules that joined it.
    pub(crate) matched: MatchedRules,
    /// How sure the join is.
    pub(crate) certainty: Certainty,
    /// The sides that have it.
    pub(crate) sides: Sides,
}

/// The rows of functions, by what records of any type say of a function.
pub(crate) struct FunctionRows {
    by_record: Map<(FunctionKey, Option<u64>, Option<u64>), usize>,
}

impl FunctionRows {
    pub(crate) fn of(runs: &Runs, joined: &Joined) -> FunctionRows {
        let mut by_record = Map::default();
        for (row, joined_row) in joined.rows.iter().enumerate() {
            if joined_row.of != RecordType::Fn {
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

    /// The row of a function that a record names, if it has one; `of` is the record's key.
    pub(crate) fn row(&self, function: FunctionKey, of: &Key) -> Option<usize> {
        (self.by_record)
            .get(&(function, of.part, of.thread))
            .copied()
    }
}

/// The records of one profile, grouped by row.
pub(super) struct RowMembers {
    /// Where the records of each row begin in `records`; one more at the end.
    starts: Vec<u32>,
    records: Vec<u32>,
}

/// The row of a record that is left out.
pub(super) const NOT_COMPARED: u32 = u32::MAX;

impl RowMembers {
    /// The records that a row is made of, by their position in the profile's table.
    pub(super) fn of(&self, row: usize) -> &[u32] {
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
