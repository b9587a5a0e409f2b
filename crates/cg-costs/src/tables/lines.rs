//! Costs of lines and instructions, the most numerous rows of a profile. A row takes 16 bytes (its address and the
//! offset of its counts), plus the id of its source line and its packed counts.

use std::hash::{BuildHasher, Hash};
use std::ops::Range;

use cg_collections::intern::{Id, Keys, TooMany};
use cg_collections::maps::{Map, Set};
use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::costs::{Added, NoRoom, Signedness, add_inclusive_row};
use super::packed::PackedCosts;
use crate::ids::StringId;

cg_collections::ids! {
    /// A line or an instruction of a function.
    pub(crate) struct LineId;
    /// A line of a file.
    struct SourceId;
}

/// A source line or an instruction of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineKey<F> {
    /// The function that is charged.
    pub function: F,
    /// The file of the line.
    pub file: StringId,
    /// The line number.
    pub line: u64,
    /// The instruction, if addresses are kept.
    pub address: Option<u64>,
}

/// A line of a file. Interned, because many instructions and several functions share a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LineSource {
    file: StringId,
    line: u64,
    has_address: bool,
}

/// Lines with their self cost and the cost of their calls.
///
/// Profiles list the lines of a function together, so a row is looked up only in the current run. A function that occurs
/// again later has several rows for a line until `settle` merges them.
pub struct LineTable<F> {
    lines: Keys<SourceId, LineSource>,
    last_line: Option<(LineSource, SourceId)>,
    /// Runs of consecutive rows of one function.
    runs: Vec<RowRun<F>>,
    sources: Vec<SourceId>,
    /// The address of each row; 0 for a row without an address.
    addresses: Vec<u64>,
    /// Self cost.
    own: PackedCosts,
    /// The part of the self cost that belongs to deeper levels of a recursion.
    deeper: SomeCosts,
    /// The cost of the calls from a line, for rows with calls.
    calls: SomeCosts,
    /// Hash index of the rows of the last run, by source line and address.
    last_run: HashTable<u32>,
    hasher: FixedState,
    /// The function of the last run; `None` if `last_run` lacks rows of that run.
    last_function: Option<F>,
    /// The number of rows at which the table is next searched for functions with several runs.
    next_settling: usize,
    /// Scratch buffer for the counts of a row.
    counts: Vec<u64>,
}

/// Consecutive rows of one function.
struct RowRun<F> {
    function: F,
    /// The first row. The run ends at the start of the next run.
    start: usize,
}

/// Costs of few rows, stored sparsely.
struct SomeCosts {
    /// The index into `costs` plus one; 0 or no entry for a row without such costs.
    places: Vec<u32>,
    costs: PackedCosts,
}

/// The minimum number of rows at which an incomplete table is searched for repeated functions.
const MIN_ROWS_TO_SETTLE: usize = 64 * 1024;

impl<F: Copy + Eq + Hash> LineTable<F> {
    /// Creates an empty table with a column for each event.
    pub fn new(events: usize) -> LineTable<F> {
        LineTable {
            lines: Keys::default(),
            last_line: None,
            runs: Vec::new(),
            sources: Vec::new(),
            addresses: Vec::new(),
            own: PackedCosts::new(events),
            deeper: SomeCosts::new(events),
            calls: SomeCosts::new(events),
            last_run: HashTable::new(),
            hasher: FixedState::default(),
            last_function: None,
            next_settling: MIN_ROWS_TO_SETTLE,
            counts: Vec::new(),
        }
    }

    /// Returns the number of rows. A line can have several rows until `settle` merges them.
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    /// Iterates over all rows.
    pub(crate) fn all(&self) -> impl Iterator<Item = (LineId, LineKey<F>)> {
        let runs = self.runs.iter().enumerate();
        runs.flat_map(move |(position, run)| {
            let rows = self.rows(position);
            rows.filter_map(move |row| {
                let line = LineId::at(row).ok()?;
                Some((line, self.key(run.function, line)))
            })
        })
    }

    /// Returns the key of a row of this function.
    pub(crate) fn key(&self, function: F, line: LineId) -> LineKey<F> {
        let source = self.lines.get(self.sources[line.index()]);
        let address = self.addresses[line.index()];
        LineKey {
            function,
            file: source.file,
            line: source.line,
            address: source.has_address.then_some(address),
        }
    }

    /// Adds self cost to a line.
    #[inline]
    pub fn add_own(&mut self, key: LineKey<F>, counts: &[u64], signedness: Signedness) -> Added {
        let row = self.row(key, signedness)?;
        self.add_to(row, counts, signedness)
    }

    /// Adds the cost of calls from a line.
    pub fn add_calls(&mut self, key: LineKey<F>, counts: &[u64], signedness: Signedness) -> Added {
        let row = self.row(key, signedness)?;
        self.add_to(row, &[], signedness)?;
        self.calls.add(row, counts, signedness)
    }

    /// Adds the lines of another table. `function` maps a function of the other table to a function of this table, with true
    /// for a deeper recursion level. Deeper levels add only self cost, because inclusive cost belongs to the first level.
    /// Skips functions that map to `None`.
    pub(crate) fn absorb<G: Copy + Eq + Hash>(
        &mut self,
        other: &LineTable<G>,
        function: impl Fn(G) -> Option<(F, bool)>,
        signedness: Signedness,
    ) -> Added {
        let rows = other.len();
        self.sources.reserve(rows);
        self.addresses.reserve(rows);
        self.own.reserve(rows, other.own.byte_count());
        let sources: Vec<SourceId> = (other.lines.all().iter())
            .map(|source| self.lines.intern(*source))
            .collect::<Result<_, _>>()?;
        for (position, run) in other.runs.iter().enumerate() {
            let Some((function, is_deeper)) = function(run.function) else {
                continue;
            };
            self.open_run(function);
            for row in other.rows(position) {
                let into = self.push(sources[other.sources[row].index()], other.addresses[row])?;
                self.add_other_row(into, other, row, is_deeper, signedness)?;
            }
        }
        // These rows are not in `last_run`, so the following rows begin a new run, whatever their function is.
        self.last_function = None;
        self.settle_if_long(signedness)
    }

    /// Merges the rows of each line into one.
    pub(crate) fn settle(&mut self, signedness: Signedness) -> Added {
        let mut functions: Map<F, usize> = Map::default();
        let mut runs: Vec<(usize, usize)> = Vec::with_capacity(self.runs.len());
        for (position, run) in self.runs.iter().enumerate() {
            let next = functions.len();
            runs.push((*functions.entry(run.function).or_insert(next), position));
        }
        if functions.len() < runs.len() {
            runs.sort_unstable();
            let mut settled = LineTable::new(self.own.event_count());
            for runs in runs.chunk_by(|(a, _), (b, _)| a == b) {
                settled.open_run(self.runs[runs[0].1].function);
                for row in runs.iter().flat_map(|(_, position)| self.rows(*position)) {
                    let (source, address) = (self.sources[row], self.addresses[row]);
                    let into = match runs {
                        [_] => settled.push(source, address)?,
                        _ => settled.find(source, address)?,
                    };
                    settled.add_other_row(into, self, row, false, signedness)?;
                }
            }
            settled.lines = std::mem::take(&mut self.lines);
            *self = settled;
            self.last_function = None;
        }
        Ok(())
    }

    /// Returns the count of an event in the self cost of a row.
    pub(crate) fn own_count(&self, line: LineId, event: usize) -> u64 {
        self.own.count(line.index(), event)
    }

    /// Reads the self cost of a row into `out`.
    pub(crate) fn own(&self, line: LineId, out: &mut Vec<u64>) {
        self.own.read(line.index(), out);
    }

    /// Reads the inclusive cost of a row into `out`: its self cost in the function's first level plus its calls. Returns
    /// false, without a change, if there are neither deeper levels nor calls. The inclusive cost then equals the self cost.
    pub(crate) fn inclusive(
        &self,
        line: LineId,
        signedness: Signedness,
        out: &mut Vec<u64>,
    ) -> Result<bool, NoRoom> {
        let row = line.index();
        let (mut calls, mut deeper) = (Vec::new(), Vec::new());
        let has_calls = self.calls.read(row, &mut calls);
        let has_deeper = self.deeper.read(row, &mut deeper);
        if !has_calls && !has_deeper {
            return Ok(false);
        }
        self.own.read(row, out);
        // The deeper counts are a part of the self cost.
        for (cell, deeper) in out.iter_mut().zip(deeper) {
            *cell = cell.wrapping_sub(deeper);
        }
        if has_calls {
            add_inclusive_row(out, &calls, signedness)?;
        }
        Ok(true)
    }

    /// Adds cells for more events to every row.
    pub(crate) fn widen(&mut self, events: usize) {
        self.own.widen(events);
        self.deeper.costs.widen(events);
        self.calls.costs.widen(events);
    }

    /// Returns true if all counts keep their values when read as signed.
    pub(crate) fn fits_signed(&self) -> bool {
        [&self.own, &self.deeper.costs, &self.calls.costs]
            .iter()
            .all(|costs| costs.fits_signed())
    }

    /// Returns the rows of a run.
    fn rows(&self, run: usize) -> Range<usize> {
        let end = self.runs.get(run + 1).map_or(self.len(), |next| next.start);
        self.runs[run].start..end
    }

    /// Returns the row of a line. A new row has no costs yet.
    #[inline]
    fn row(&mut self, key: LineKey<F>, signedness: Signedness) -> Result<LineId, NoRoom> {
        if self.last_function != Some(key.function) {
            self.settle_if_long(signedness)?;
            self.open_run(key.function);
        }
        let source = LineSource {
            file: key.file,
            line: key.line,
            has_address: key.address.is_some(),
        };
        // Most instructions have the same line as the previous instruction.
        let source = match self.last_line {
            Some((last, id)) if last == source => id,
            _ => {
                let id = self.lines.intern(source)?;
                self.last_line = Some((source, id));
                id
            }
        };
        Ok(self.find(source, key.address.unwrap_or(0))?)
    }

    /// Settles a long table if more than a quarter of its rows belong to repeated functions. Checks again only when the
    /// table has doubled.
    fn settle_if_long(&mut self, signedness: Signedness) -> Added {
        if self.len() < self.next_settling {
            return Ok(());
        }
        let mut known: Set<F> = Set::default();
        let repeated = |(position, run): (usize, &RowRun<F>)| match known.insert(run.function) {
            true => 0,
            false => self.rows(position).len(),
        };
        let repeated: usize = self.runs.iter().enumerate().map(repeated).sum();
        if repeated > self.len() / 4 {
            self.settle(signedness)?;
        }
        self.next_settling = MIN_ROWS_TO_SETTLE.max(2 * self.len());
        Ok(())
    }

    /// Begins the rows of a function.
    fn open_run(&mut self, function: F) {
        // Clearing a hash table takes time proportional to its capacity, and few functions have many lines.
        if self.last_run.capacity() > 4096 {
            self.last_run = HashTable::new();
        } else {
            self.last_run.clear();
        }
        self.last_function = Some(function);
        self.runs.push(RowRun {
            function,
            start: self.len(),
        });
    }

    /// Finds the row of the last run with this source line and address, or adds it.
    #[inline]
    fn find(&mut self, source: SourceId, address: u64) -> Result<LineId, TooMany> {
        let hash = self.hasher.hash_one((source, address));
        let (sources, addresses) = (&self.sources, &self.addresses);
        let is_same = |row: &u32| {
            let row = *row as usize;
            sources[row] == source && addresses[row] == address
        };
        if let Some(row) = self.last_run.find(hash, is_same) {
            return LineId::at(*row as usize);
        }
        let row = u32::try_from(self.len()).map_err(|_| TooMany::Values)?;
        let line = self.push(source, address)?;
        let (sources, addresses, hasher) = (&self.sources, &self.addresses, &self.hasher);
        self.last_run.insert_unique(hash, row, |row| {
            hasher.hash_one((sources[*row as usize], addresses[*row as usize]))
        });
        Ok(line)
    }

    /// Adds a row without costs. The caller has to add costs next.
    #[inline]
    fn push(&mut self, source: SourceId, address: u64) -> Result<LineId, TooMany> {
        let line = LineId::at(self.len())?;
        self.sources.push(source);
        self.addresses.push(address);
        Ok(line)
    }

    #[inline]
    fn add_to(&mut self, line: LineId, counts: &[u64], signedness: Signedness) -> Added {
        if line.index() == self.own.len() {
            self.own.push(counts);
        } else if !counts.is_empty() {
            self.own.add(line.index(), counts, signedness)?;
        }
        Ok(())
    }

    /// Adds the costs of another table's row.
    fn add_other_row<G>(
        &mut self,
        line: LineId,
        other: &LineTable<G>,
        row: usize,
        is_deeper: bool,
        signedness: Signedness,
    ) -> Added {
        let mut counts = std::mem::take(&mut self.counts);
        if line.index() == self.own.len() {
            self.own.push_copy(&other.own, row);
        } else {
            other.own.read(row, &mut counts);
            self.own.add(line.index(), &counts, signedness)?;
        }
        if is_deeper {
            other.own.read(row, &mut counts);
            self.deeper.add(line, &counts, signedness)?;
        } else {
            if other.deeper.read(row, &mut counts) {
                self.deeper.add(line, &counts, signedness)?;
            }
            if other.calls.read(row, &mut counts) {
                self.calls.add(line, &counts, signedness)?;
            }
        }
        self.counts = counts;
        Ok(())
    }
}

impl SomeCosts {
    fn new(events: usize) -> SomeCosts {
        SomeCosts {
            places: Vec::new(),
            costs: PackedCosts::new(events),
        }
    }

    fn add(&mut self, line: LineId, counts: &[u64], signedness: Signedness) -> Added {
        let row = line.index();
        if self.places.len() <= row {
            self.places.resize(row + 1, 0);
        }
        match self.places[row].checked_sub(1) {
            Some(place) => self.costs.add_inclusive(place as usize, counts, signedness),
            None => {
                self.costs.push(counts);
                self.places[row] = u32::try_from(self.costs.len()).map_err(|_| TooMany::Values)?;
                Ok(())
            }
        }
    }

    /// Reads the costs of a row into `out`. Returns false if the row has no such costs.
    #[inline]
    fn read(&self, row: usize, out: &mut Vec<u64>) -> bool {
        match self.places.get(row).and_then(|place| place.checked_sub(1)) {
            Some(place) => {
                self.costs.read(place as usize, out);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(function: char, line: u64, address: Option<u64>) -> LineKey<char> {
        LineKey {
            function,
            file: StringId::FIRST,
            line,
            address,
        }
    }

    fn shown(table: &LineTable<char>) -> Vec<(LineKey<char>, u64, Option<u64>)> {
        let (mut own, mut inclusive) = (Vec::new(), Vec::new());
        let rows = table.all().map(|(line, key)| {
            table.own(line, &mut own);
            assert_eq!(own[0], table.own_count(line, 0));
            let has_calls = table
                .inclusive(line, Signedness::Unsigned, &mut inclusive)
                .unwrap();
            (key, own[0], has_calls.then(|| inclusive[0]))
        });
        rows.collect()
    }

    #[test]
    fn repeated_functions_are_settled() {
        let mut table = LineTable::new(1);
        let mut expected = std::collections::BTreeMap::new();
        // Rows are settled several times meanwhile. No two runs have the same lines.
        for number in 0..300_000u64 {
            let (function, line) = (if number / 7 % 2 == 0 { 'f' } else { 'g' }, number % 50_000);
            table
                .add_own(key(function, line, None), &[number], Signedness::Unsigned)
                .unwrap();
            let sums = expected.entry((function, line)).or_insert((0, None));
            sums.0 += number;
            if number % 11 == 0 {
                table
                    .add_calls(key(function, line, None), &[1], Signedness::Unsigned)
                    .unwrap();
                *sums.1.get_or_insert(0) += 1;
            }
            assert!(table.len() < 250_000);
        }
        table.settle(Signedness::Unsigned).unwrap();
        let rows = shown(&table);
        assert_eq!(rows.len(), expected.len());
        for (key, own, inclusive) in rows {
            let (sum, calls) = expected[&(key.function, key.line)];
            assert_eq!(
                (own, inclusive),
                (sum, calls.map(|calls| sum + calls)),
                "{key:?}"
            );
        }
    }

    #[test]
    fn address_0_differs_from_a_missing_address() {
        let mut table = LineTable::new(1);
        for (address, count) in [
            (None, 1),
            (Some(0), 2),
            (None, 4),
            (Some(8), 8),
            (Some(0), 16),
        ] {
            table
                .add_own(key('f', 7, address), &[count], Signedness::Unsigned)
                .unwrap();
        }
        assert_eq!(
            shown(&table),
            [
                (key('f', 7, None), 5, None),
                (key('f', 7, Some(0)), 18, None),
                (key('f', 7, Some(8)), 8, None),
            ]
        );
    }

    #[test]
    fn only_the_first_level_has_inclusive_cost() {
        let mut nodes = LineTable::new(1);
        for (node, line, own, calls) in [
            ('f', 1, 10, 100),
            ('2', 1, 7, 70),
            ('2', 2, 5, 50),
            ('f', 3, 3, 0),
        ] {
            let key = key(node, line, None);
            nodes.add_own(key, &[own], Signedness::Unsigned).unwrap();
            if calls > 0 {
                nodes
                    .add_calls(key, &[calls], Signedness::Unsigned)
                    .unwrap();
            }
        }
        let mut functions = LineTable::new(1);
        let function = |node| (node != 'x').then_some(('f', node == '2'));
        for _ in 0..2 {
            functions
                .absorb(&nodes, function, Signedness::Unsigned)
                .unwrap();
        }
        functions.settle(Signedness::Unsigned).unwrap();
        let expected = [
            (key('f', 1, None), 34, Some(220)),
            (key('f', 2, None), 10, Some(0)),
            (key('f', 3, None), 6, None),
        ];
        assert_eq!(shown(&functions), expected);
        let mut again = LineTable::new(1);
        again
            .absorb(
                &functions,
                |function| Some((function, false)),
                Signedness::Unsigned,
            )
            .unwrap();
        assert_eq!(shown(&again), expected);
    }

    #[test]
    fn calls_without_cost_are_calls() {
        let mut table = LineTable::new(1);
        table
            .add_calls(key('f', 1, None), &[], Signedness::Unsigned)
            .unwrap();
        assert_eq!(shown(&table), [(key('f', 1, None), 0, Some(0))]);
    }
}
