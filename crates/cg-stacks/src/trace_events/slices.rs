//! The slices of threads: pairs beginnings with ends, then nests the slices by their times.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_reader::{Error, Reading, plural};
use cg_stream::record::Count;

use super::super::table::{StackKey, StackKeyId, StackLinkId, StackTable};
use super::names::{NamedSliceId, SliceNameId, SliceNames};

/// The slices of a thread in file order. Times are in ns.
#[derive(Default)]
pub(super) struct ThreadSlices {
    marks: Vec<SliceMark>,
    slices: Vec<TimeSlice>,
    /// The time of the last mark.
    last: Option<i64>,
    /// True if a mark is earlier than the one before it.
    is_shuffled: bool,
}

/// A beginning or an end.
#[derive(Clone, Copy)]
struct SliceMark {
    at: i64,
    named: NamedSliceId,
    is_end: bool,
}

/// A slice. Its end is provisional while it is open.
#[derive(Clone, Copy)]
struct TimeSlice {
    begin: i64,
    end: i64,
    named: NamedSliceId,
    is_open: bool,
}

impl ThreadSlices {
    pub(super) fn whole(&mut self, begin: i64, end: i64, named: NamedSliceId) {
        self.slices.push(TimeSlice {
            begin,
            end,
            named,
            is_open: false,
        });
    }

    pub(super) fn mark(&mut self, at: i64, named: NamedSliceId, is_end: bool) {
        self.is_shuffled |= self.last.is_some_and(|last| at < last);
        self.last = Some(at);
        self.marks.push(SliceMark { at, named, is_end });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.slices.is_empty()
    }

    /// Pairs beginnings with ends. Returns the slices, and the number of ends without a beginning. A slice without an end
    /// lasts until `trace_end`.
    fn paired(mut self, names: &SliceNames, trace_end: i64) -> (Vec<TimeSlice>, u64) {
        if self.is_shuffled {
            self.marks.sort_by_key(|mark| (mark.at, !mark.is_end));
        }
        let mut open = OpenSlices::default();
        let mut postponed: Vec<SliceMark> = Vec::new();
        let mut strays = 0;
        for together in self.marks.chunk_by(|a, b| a.at == b.at) {
            for mark in together {
                if !mark.is_end {
                    open.begin(names.name(mark.named), self.slices.len());
                    self.slices.push(TimeSlice {
                        begin: mark.at,
                        end: trace_end,
                        named: mark.named,
                        is_open: true,
                    });
                } else if !open.end(mark, names, &mut self.slices) {
                    postponed.push(*mark);
                }
            }
            // The end of a slice without length may precede its beginning.
            for mark in postponed.drain(..) {
                strays += u64::from(!open.end(&mark, names, &mut self.slices));
            }
        }
        (self.slices, strays)
    }
}

/// The open slices in the order of their beginnings, by position.
#[derive(Default)]
struct OpenSlices {
    /// Some of these may already have been ended by name.
    all: Vec<usize>,
    by_name: BTreeMap<SliceNameId, Vec<usize>>,
}

impl OpenSlices {
    fn begin(&mut self, name: SliceNameId, position: usize) {
        self.all.push(position);
        self.by_name.entry(name).or_default().push(position);
    }

    /// Ends the last open slice with the mark's name, or the last open slice if the mark has no name. Returns false if there
    /// is none.
    fn end(&mut self, mark: &SliceMark, names: &SliceNames, slices: &mut [TimeSlice]) -> bool {
        while self.all.pop_if(|last| !slices[*last].is_open).is_some() {}
        let name = match names.is_empty(mark.named) {
            true => self.all.last().map(|last| names.name(slices[*last].named)),
            false => Some(names.name(mark.named)),
        };
        let same_name = name.and_then(|name| self.by_name.get_mut(&name));
        let Some(position) = same_name.and_then(Vec::pop) else {
            return false;
        };
        slices[position].end = mark.at;
        slices[position].is_open = false;
        true
    }
}

/// Returns the beginning of the first slice and the end of the last slice of all threads; `None` if there are no slices.
pub(super) fn span(threads: &[ThreadSlices]) -> Option<(i64, i64)> {
    let span_of_marks = |thread: &ThreadSlices| {
        let times = || thread.marks.iter().map(|mark| mark.at);
        Some((times().min()?, times().max()?))
    };
    let span_of_slices = |thread: &ThreadSlices| {
        let begin = thread.slices.iter().map(|slice| slice.begin).min()?;
        Some((begin, thread.slices.iter().map(|slice| slice.end).max()?))
    };
    let spans = threads
        .iter()
        .flat_map(|thread| [span_of_marks(thread), span_of_slices(thread)]);
    spans.flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Adds the slices of threads to a table, and counts the ones that do not nest.
pub(super) struct Nesting<'t> {
    table: &'t mut StackTable,
    names: &'t SliceNames,
    trace_end: i64,
    /// The beginning of the trace, if the output keeps times.
    begin: Option<i64>,
    /// The times at which spans are cut, in order.
    cuts: Vec<i64>,
    time: usize,
    count: usize,
    strays: u64,
    unended: u64,
    /// Slices without time of their own.
    without_time: u64,
    cut: u64,
    /// The total time that was cut off.
    cut_off: Count,
}

/// A slice that may contain others.
struct OuterSlice {
    stack: StackLinkId,
    key: StackKey,
    end: i64,
    /// True once it had time of its own and was counted.
    is_counted: bool,
}

impl<'t> Nesting<'t> {
    pub(super) fn new(
        table: &'t mut StackTable,
        names: &'t SliceNames,
        trace_end: i64,
        begin: Option<i64>,
    ) -> Nesting<'t> {
        Nesting {
            time: table.event("time"),
            count: table.event("slices"),
            table,
            names,
            trace_end,
            begin,
            cuts: Vec::new(),
            strays: 0,
            unended: 0,
            without_time: 0,
            cut: 0,
            cut_off: 0,
        }
    }

    /// Cuts spans at these times since the beginning.
    pub(super) fn cut_at(&mut self, cuts: &[u64]) {
        let cuts = cuts.iter().filter_map(|cut| i64::try_from(*cut).ok());
        let begin = self.begin.unwrap_or(0);
        self.cuts = cuts.filter_map(|cut| cut.checked_add(begin)).collect();
    }

    pub(super) fn table(&mut self) -> &mut StackTable {
        self.table
    }

    /// Adds the slices of a thread.
    pub(super) fn thread(&mut self, thread: ThreadSlices, place: StackKey) -> Result<(), Error> {
        let (mut slices, strays) = thread.paired(self.names, self.trace_end);
        self.strays += strays;
        slices.sort_by_key(|slice| (slice.begin, Reverse(slice.end)));
        let mut outer: Vec<OuterSlice> = Vec::new();
        // The time up to which costs were added.
        let mut until = i64::MIN;
        for mut slice in slices {
            self.end_before(slice.begin, &mut outer, &mut until)?;
            self.unended += u64::from(slice.is_open);
            self.fit(&mut slice, &mut outer, &mut until)?;
            self.charge(outer.last_mut(), slice.begin, &mut until)?;
            let frame = self.names.frame(slice.named);
            let stack = self
                .table
                .push(outer.last().map(|outer| outer.stack), frame)?;
            let key = StackKey {
                stack: Some(stack),
                ..place
            };
            outer.push(OuterSlice {
                stack,
                key,
                end: slice.end,
                is_counted: false,
            });
        }
        self.end_before(i64::MAX, &mut outer, &mut until)
    }

    /// Returns the row of a stack, at this time if times are kept.
    fn row_at(&mut self, key: StackKey, at: i64) -> Result<StackKeyId, Error> {
        let time = self.begin.map(|begin| i128::from(at) - i128::from(begin));
        let time = time.and_then(|time| u64::try_from(time).ok());
        Ok(self.table.row(StackKey { time, ..key })?)
    }

    /// Closes the slices that end at or before this time.
    fn end_before(
        &mut self,
        at: i64,
        outer: &mut Vec<OuterSlice>,
        until: &mut i64,
    ) -> Result<(), Error> {
        while let Some(mut ended) = outer.pop_if(|slice| slice.end <= at) {
            let end = ended.end;
            self.charge(Some(&mut ended), end, until)?;
            self.without_time += u64::from(!ended.is_counted);
        }
        Ok(())
    }

    /// If a slice ends after the slice around it, cuts one of the two: whichever loses less.
    fn fit(
        &mut self,
        slice: &mut TimeSlice,
        outer: &mut Vec<OuterSlice>,
        until: &mut i64,
    ) -> Result<(), Error> {
        while let Some(around) = outer.last()
            && slice.end > around.end
        {
            let beyond = Count::from(slice.end) - Count::from(around.end);
            if slice.is_open {
                slice.end = around.end;
                return Ok(());
            }
            let inside = Count::from(around.end) - Count::from(slice.begin);
            self.cut += 1;
            self.cut_off += inside.min(beyond);
            if beyond <= inside {
                slice.end = around.end;
                return Ok(());
            }
            let mut cut = outer.pop();
            self.charge(cut.as_mut(), slice.begin, until)?;
            self.without_time += u64::from(cut.is_some_and(|cut| !cut.is_counted));
        }
        Ok(())
    }

    /// Adds the time up to now to the innermost slice.
    fn charge(
        &mut self,
        innermost: Option<&mut OuterSlice>,
        now: i64,
        until: &mut i64,
    ) -> Result<(), Error> {
        if let Some(slice) = innermost
            && now > *until
        {
            let inside = |cut: &i64| *until < *cut && *cut < now;
            let cuts: Vec<i64> = self.cuts.iter().copied().filter(inside).collect();
            let mut start = *until;
            for end in cuts.into_iter().chain([now]) {
                let row = self.row_at(slice.key, start)?;
                let time = Count::from(end) - Count::from(start);
                self.table.add(row, self.time, time);
                if !std::mem::replace(&mut slice.is_counted, true) {
                    self.table.add(row, self.count, 1);
                }
                start = end;
            }
        }
        *until = now.max(*until);
        Ok(())
    }

    /// Warns about slices that do not nest or have no end.
    pub(super) fn warn(&self, reading: &mut Reading) {
        reading.warn_count(
            self.unended,
            "slice has no end; it lasts to the end of the trace or of the slice around it",
            "slices have no end; they last to the end of the trace or of the slice around them",
        );
        reading.warn_count(
            self.without_time,
            "slice has no time of its own and is not counted",
            "slices have no time of their own and are not counted",
        );
        reading.warn_count(
            self.strays,
            "end of a slice has no beginning and is omitted",
            "ends of slices have no beginning and are omitted",
        );
        if self.cut > 0 {
            reading.warn(format!(
                "{}, by {} ns in total",
                plural(
                    self.cut,
                    "slice overlaps another without nesting; it is cut",
                    "slices overlap without nesting; they are cut"
                ),
                self.cut_off
            ));
        }
    }
}
