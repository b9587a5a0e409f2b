//! Writes a table of stacks: `run`, a `stack` record for each row, `end`.
//!
//! Records are in the order of law 5 of `FORMAT.md`: by cost, largest first, then by the names of the blamed frame, then by
//! all other fields. So the order of the stacks in the input does not matter.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::BTreeMap;

use cg_collections::intern::Id;
use cg_collections::sorting::{Order as _, number_of_text};
use cg_names::blame::frame_to_blame_in_facts;
use cg_names::code_origin::{Facts, FactsFinder};
use cg_reader::{Error, Out};
use cg_stream::record::{
    Count, Counts, CountsPerRun, DiffRecord, DiffSummary, Frame, Name, PerRun, RecordType,
    RunRecord, Status, Total,
};
use cg_stream::rows::{Cells, NameRef, StackRef, StackRow};

use super::table::{FrameId, FrameParts, NameId, StackTable};

/// Writes the stacks of an input. `run` lacks only its events and its total. `read` is the result of reading the input. If
/// it is an error, writes the stacks read so far without `end` and returns the error.
pub(crate) fn write(
    run: RunRecord,
    table: &StackTable,
    read: Result<(), Error>,
    out: &mut Out,
) -> Result<(), Error> {
    if table.row_count() == 0 && read.is_err() {
        return read;
    }
    write_open(run, table, out)?;
    read?;
    out.end()
}

/// Writes the stacks of an input without `end`.
pub fn write_open(mut run: RunRecord, table: &StackTable, out: &mut Out) -> Result<(), Error> {
    check_counts(table)?;
    run.events = table.events().to_vec();
    let totals = (0..run.events.len()).map(|event| total(table, event));
    run.total = Total::One(Counts::from_row_with_zeros(&run.events, totals).into_owned());
    out.run(&run)?;
    write_rows(table, out)
}

/// Writes the stacks of a table to an open section with the same events.
pub fn write_rows(table: &StackTable, out: &mut Out) -> Result<(), Error> {
    out.expect(RecordType::Stack, table.row_count());
    let events = table.events().len();
    let writing = RowWriting::new(table);
    let is_zero = |event: &usize| (0..table.row_count()).all(|row| table.cost(row, *event) == 0);
    let ranked_by = (0..events).find(|event| !is_zero(event));
    let cost = |row| descending(ranked_by.map_or(0, |event| table.cost(row, event)));
    let mut counts = Vec::new();
    let mut stack = Vec::new();
    for position in writing.ordered_by(cost) {
        let row = table.row_at(position);
        let blamed = writing.blamed_parts(position);
        counts.clear();
        counts.extend((0..events).map(|event| table.cost(position, event)));
        stack.clear();
        stack.extend(table.frames_of(row.stack));
        let record = StackRow {
            name: blamed.name.map(NameRef::Id),
            file: blamed.file.map(NameRef::Id),
            line: blamed.line,
            obj: blamed.obj.map(NameRef::Id),
            thread_name: row.thread.map(NameRef::Id),
            tid: row.tid,
            process: row.process.map(NameRef::Id),
            pid: row.pid,
            estimated: row.estimated,
            cut: row.cut,
            time: row.time,
            labels: table.name(row.labels),
            cost: Cells::From(0, &counts),
            stack: StackRef::Ids(&stack),
        };
        out.row(record, table)?;
    }
    Ok(())
}

/// Writes the stacks of two runs as a diff of one event. Each run is one event of the table.
pub(crate) fn write_diff(
    mut run: RunRecord,
    event: &str,
    table: &StackTable,
    read: Result<(), Error>,
    out: &mut Out,
) -> Result<(), Error> {
    if table.row_count() == 0 && read.is_err() {
        return read;
    }
    check_counts(table)?;
    run.events = vec![event.to_owned()];
    run.runs = table.events().to_vec();
    let per_run = |entries: [Option<Count>; 2]| {
        CountsPerRun(vec![(Name::from(event), PerRun(entries.to_vec()))])
    };
    let totals = [0, 1].map(|side| Some(total(table, side)));
    run.total = Total::PerRun(per_run(totals).into_owned());
    let entries = |row: usize| {
        let costs = [0, 1].map(|side| table.cost(row, side));
        // A cost of 0 means that the run does not have the stack, unless both costs are 0.
        match costs {
            [0, 0] => costs.map(Some),
            _ => costs.map(|cost| (cost != 0).then_some(cost)),
        }
    };
    let status = |row: usize| match entries(row) {
        [None, _] => Status::Added,
        [_, None] => Status::Removed,
        [before, after] if before == after => Status::Same,
        _ => Status::Changed,
    };
    let mut rows = BTreeMap::new();
    for row in 0..table.row_count() {
        *rows.entry(status(row)).or_insert(0) += 1;
    }
    let summary = DiffSummary {
        relative_to: run.runs[0].clone(),
        rows,
        ..DiffSummary::default()
    };
    summary.put_into(&mut run);
    out.run(&run)?;

    let writing = RowWriting::new(table);
    let delta = |row: usize| table.cost(row, 1) - table.cost(row, 0);
    // Deltas of one size differ only in their sign.
    let by_delta = |row: usize| descending(2 * delta(row).abs() + Count::from(delta(row) > 0));
    for position in writing.ordered_by(by_delta) {
        let blamed = writing.blamed_frame(position);
        let delta = i64::try_from(delta(position)).ok();
        let record = DiffRecord {
            name: blamed.name,
            file: blamed.file,
            line: blamed.line,
            obj: blamed.obj,
            of: Name::from("stack"),
            status: status(position),
            cost: per_run(entries(position)),
            delta: delta.map_or_else(Counts::default, |delta| {
                Counts(vec![(Name::from(event), delta.into())])
            }),
            stack: table
                .frames_of(table.stack_at(position))
                .map(|frame| table.record_frame(&table.frames()[frame.index()]))
                .collect(),
            ..DiffRecord::default()
        };
        out.diff(record)?;
    }
    read?;
    out.end()
}

/// Returns the sum of an event over all rows.
fn total(table: &StackTable, event: usize) -> Count {
    (0..table.row_count())
        .map(|row| table.cost(row, event))
        .sum()
}

/// Returns an error if a count or a total exceeds 64 bits.
fn check_counts(table: &StackTable) -> Result<(), Error> {
    let fits = |count: Count| u64::try_from(count).is_ok() || i64::try_from(count).is_ok();
    for (event, name) in table.events().iter().enumerate() {
        let mut sum: Count = 0;
        for row in 0..table.row_count() {
            let cost = table.cost(row, event);
            let added = sum.checked_add(cost).filter(|_| fits(cost));
            sum = added.ok_or_else(|| beyond(name))?;
        }
        if !fits(sum) {
            return Err(beyond(name));
        }
    }
    Ok(())
}

fn beyond(event: &str) -> Error {
    Error::whole(format!("the sum of {event} is beyond 64 bits"))
}

/// Returns a number that is smaller for a larger count.
fn descending(count: Count) -> u128 {
    !(count as u128 ^ 1 << 127)
}

/// Data that is computed once for all rows.
struct RowWriting<'t> {
    table: &'t StackTable,
    /// The blamed frame of each row.
    blamed: Vec<Option<FrameId>>,
}

impl<'t> RowWriting<'t> {
    fn new(table: &'t StackTable) -> RowWriting<'t> {
        RowWriting {
            table,
            blamed: blamed_frames(table),
        }
    }

    fn blamed_parts(&self, row: usize) -> FrameParts {
        let parts = |frame: FrameId| self.table.frames()[frame.index()];
        self.blamed[row].map(parts).unwrap_or_default()
    }

    fn blamed_frame(&self, row: usize) -> Frame<'t> {
        self.table.record_frame(&self.blamed_parts(row))
    }

    /// Returns the rows sorted by the number `first`, then by their names, then by all other fields.
    fn ordered_by(&self, first: impl Fn(usize) -> u128) -> Vec<usize> {
        /// A row with its number and the ranks of its names.
        type Keyed = (u128, u128, usize);
        let texts = self.ranks_of_texts();
        let frames = self.ranks_of_frames(&texts);
        let rank = |text: Option<NameId>| text.map(|text| texts[text.index()]);
        let names = |row: usize| {
            let FrameParts {
                name, file, obj, ..
            } = self.blamed_parts(row);
            ranks_in_one([name, file, obj], &texts)
        };
        let mut keyed: Vec<Keyed> = (0..self.table.row_count())
            .map(|row| (first(row), names(row), row))
            .collect();
        let compare = |(_, a_names, a): &Keyed, (_, b_names, b): &Keyed| {
            let stacks = [*a, *b].map(|row| self.table.stack_at(row));
            let by_frames = || match stacks[0] == stacks[1] {
                true => Ordering::Equal,
                false => {
                    let [a, b] = stacks.map(|stack| {
                        let frames_of = self.table.frames_of(stack);
                        frames_of.map(|frame| frames[frame.index()])
                    });
                    a.cmp(b)
                }
            };
            let by_origin = || {
                let [a, b] = [*a, *b].map(|row| {
                    let row = self.table.row_at(row);
                    (
                        rank(row.thread),
                        row.tid,
                        rank(row.process),
                        row.pid,
                        (row.cut, row.estimated, row.time, rank(row.labels)),
                    )
                });
                a.cmp(&b)
            };
            a_names
                .cmp(b_names)
                .then_with(by_frames)
                .then_with(by_origin)
        };
        keyed.order_by_number(|(first, _, _)| *first, compare);
        keyed.into_iter().map(|(_, _, row)| row).collect()
    }

    /// Returns the rank of each text in the byte order of all texts.
    fn ranks_of_texts(&self) -> Vec<u32> {
        let texts: Vec<&str> = self.table.texts().collect();
        let start = |text: usize| number_of_text(texts[text].as_bytes());
        ranks(texts.len(), start, |a, b| texts[a].cmp(texts[b]))
    }

    /// Returns the rank of each frame in the order of all frames.
    fn ranks_of_frames(&self, texts: &[u32]) -> Vec<u32> {
        let frames = self.table.frames();
        let names = |frame: usize| {
            let FrameParts {
                name, file, obj, ..
            } = frames[frame];
            ranks_in_one([name, file, obj], texts)
        };
        let others = |frame: usize| {
            let FrameParts {
                line, addr, marks, ..
            } = frames[frame];
            (line, addr, marks)
        };
        ranks(frames.len(), names, |a, b| others(a).cmp(&others(b)))
    }
}

/// Returns the ranks of three texts in one number, so that one comparison is enough.
fn ranks_in_one(names: [Option<NameId>; 3], texts: &[u32]) -> u128 {
    names.into_iter().fold(0u128, |ranks, text| {
        ranks << 32 | text.map_or(0, |text| u128::from(texts[text.index()]) + 1)
    })
}

/// Returns the rank of each of `count` items in the order of a number, and among equal numbers in another order.
fn ranks(
    count: usize,
    number: impl Fn(usize) -> u128,
    order: impl Fn(usize, usize) -> Ordering,
) -> Vec<u32> {
    let mut sorted: Vec<usize> = (0..count).collect();
    sorted.order_by_number(|item| number(*item), |a, b| order(*a, *b));
    let mut ranks = vec![0; count];
    for (rank, position) in (0..).zip(sorted) {
        ranks[position] = rank;
    }
    ranks
}

/// Returns the blamed frame of each row. Finds it once per stack. Computes the facts of a frame only if they are needed, and
/// once.
fn blamed_frames(table: &StackTable) -> Vec<Option<FrameId>> {
    let facts: Vec<Cell<Option<Facts>>> = vec![Cell::new(None); table.frames().len()];
    let finder = RefCell::new(FactsFinder::default());
    let facts_of = |frame: FrameId| {
        let known = &facts[frame.index()];
        let found = known.get().unwrap_or_else(|| {
            let frame = table.record_frame(&table.frames()[frame.index()]);
            finder.borrow_mut().find(&frame)
        });
        known.set(Some(found));
        found
    };
    let mut frames: Vec<FrameId> = Vec::new();
    let mut blamed_by_stack = vec![None; table.stack_count()];
    let mut blamed_in = |row: usize| {
        let stack = table.stack_at(row)?;
        let known = &mut blamed_by_stack[stack.index()];
        if known.is_none() {
            frames.clear();
            frames.extend(table.frames_of(Some(stack)));
            let blamed = frame_to_blame_in_facts(frames.len(), |position| {
                frames.get(position).map(|frame| facts_of(*frame))
            });
            *known = frames.get(blamed).copied();
        }
        *known
    };
    (0..table.row_count()).map(&mut blamed_in).collect()
}
