//! heaptrack's recordings: `heaptrack.PROGRAM.PID.zst`, `.gz` for old versions, or uncompressed.
//!
//! `heaptrack_interpret` writes them (`src/interpret/heaptrack_interpret.cpp` of KDE/heaptrack). Numbers are hexadecimal
//! without `0x`. Indices begin at 1, and 0 means that there is nothing. Only kinds of allocations are counted from 0:
//!
//! ```text
//! v VERSION FORMAT        heaptrack's version, 10400 for 1.4.0; formats 0 to 3
//! X COMMAND               unchanged, with any line breaks
//! I PAGESIZE PAGES        the machine
//! A                       attached to a running program; earlier events do not count
//! S leak:PATTERN          a leak that the program's author knows of
//! s SIZE TEXT             a string; before format 3 without its size
//! i IP MODULE [FN [FILE LINE [FN FILE LINE]…]]     an instruction pointer: innermost function, then its inliners
//! t IP PARENT             a trace; the parent is the caller's trace
//! a SIZE TRACE            a kind of allocation
//! + KIND, - KIND          a block is allocated, a block is freed; format 0: `+ SIZE TRACE ADDRESS`, `- ADDRESS`
//! c MS, R PAGES           a time stamp, and the memory of the process at that time
//! # …                     a comment; the file ends with comments
//! ```
//!
//! The file contains no costs. They are computed by a replay of the events. heaptrack's own readers cut stacks below `main`
//! and above `operator new`, and omit leaks that match built-in suppressions. They mistake the further lines of a command
//! for records, and print inlined frames in the wrong order. Here stacks are complete, and only the recording's suppressions
//! count.

use cg_collections::sorting::Order as _;
use cg_reader::{Error, Head, Options, Out, Reading, Snapshots};
use cg_stream::record::{
    Count, Counts, Frame, HeaptrackFacts, Name, RunRecord, SnapshotRecord, Total,
};
use cg_stream::rows::{Cells, NoTables, ProgramPointRow, Row, StackRef};

use super::frames::FrameTable;

mod reader;
mod replay;
mod suppressions;
mod symbols;
mod timeline;
mod trees;

use reader::Recording;
use replay::AllocationKind;
use symbols::SymbolTables;
use trees::HeapTrees;

/// Returns true if an input begins like a recording.
pub fn is_recording(head: &Head) -> bool {
    let mut lines = head.whole_lines();
    let is_version = |line: &[u8]| {
        line.strip_prefix(b"v ").is_some_and(|rest| {
            let is_number = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b' ';
            !rest.is_empty() && rest.iter().all(is_number)
        })
    };
    lines.next().is_some_and(is_version)
        && lines.next().is_some_and(|line| {
            // Raw recordings have `x` or `m`.
            matches!(
                line,
                [
                    b'X' | b'I' | b's' | b't' | b'c' | b'S' | b'x' | b'm',
                    b' ',
                    ..
                ] | [b'A' | b'X']
            )
        })
}

/// Reads a recording of heaptrack: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut recording = Recording::new(reading.options.snapshots == Snapshots::All);
    let read = recording.read(reading.lines);
    if recording.replay.kinds().is_empty() && read.is_err() {
        return read;
    }
    reading.warn_count(
        recording.replay.unknown_frees,
        "free of a block that was allocated before heaptrack was attached; it is not counted",
        "frees of blocks that were allocated before heaptrack was attached; they are not counted",
    );
    if read.is_ok() && recording.ends_in_change {
        reading.warn(
            "the heap changes after the last time stamp, so the program did not exit normally: leaked_bytes are \
             the bytes that were live when the recording ended",
        );
    }
    write(reading.source, &mut recording, reading.options, reading.out)?;
    read?;
    reading.out.end()
}

/// The events of a recording. Rows are ranked by the first event with a cost.
const EVENTS: [&str; 5] = [
    "total_bytes",
    "allocations",
    "temporary",
    "peak_bytes",
    "leaked_bytes",
];

// The positions of leaked bytes, and of leaked bytes that match a suppression of the recording.
const LEAKED: usize = 4;
const SUPPRESSED: usize = 5;

/// The event of `heap` records: the bytes in the heap at a snapshot. Program points do not have it.
const LEVEL_EVENT: &str = "bytes";

/// Follows the other events in recordings with suppressions.
const SUPPRESSED_EVENT: &str = "suppressed_bytes";

type TraceCosts = [u64; EVENTS.len() + 1];

/// The costs of the allocations at one trace.
struct AllocationPoint {
    trace: u32,
    costs: TraceCosts,
}

/// Writes all records except `end`.
fn write(
    source: &str,
    recording: &mut Recording,
    options: &Options,
    out: &mut Out,
) -> Result<(), Error> {
    let last = recording.timeline.last_moment(&recording.replay);
    if let Some(trees) = &mut recording.trees {
        trees.finish(&recording.replay, last)?;
    }
    let points = points(recording)?;
    let mut total: [Count; EVENTS.len() + 1] = [0; EVENTS.len() + 1];
    for point in &points {
        for (sum, cost) in total.iter_mut().zip(point.costs) {
            *sum += Count::from(cost);
        }
    }
    let events: Vec<&str> = match recording.suppressions.is_empty() {
        true => EVENTS.to_vec(),
        false => [&EVENTS[..], &[SUPPRESSED_EVENT]].concat(),
    };
    out.run(&run_record(source, recording, &events, &total)?)?;
    let symbols = &recording.symbols;
    let mut frames = FrameTable::new(symbols.frames(options.demangle))?;
    write_points(symbols, &frames, points, events.len(), &total, out)?;
    let trees = recording.trees.as_ref();
    let tree = |moment| trees.and_then(|trees: &HeapTrees| trees.get(moment));
    recording.timeline.snapshots(
        &recording.replay,
        &mut |mut snapshot: SnapshotRecord, moment| {
            let tree = tree(moment);
            if tree.is_some() && snapshot.detail == "empty" {
                snapshot.detail = "detailed".to_owned();
            }
            out.row(Row::Snapshot(&snapshot), &NoTables)?;
            match tree {
                Some(tree) => tree.write(&snapshot, symbols, &mut frames, events.len(), out),
                None => Ok(()),
            }
        },
    )
}

/// Returns the costs of the allocations at each trace.
fn points(recording: &Recording) -> Result<Vec<AllocationPoint>, Error> {
    let kinds = recording.replay.kinds();
    let suppressed = match recording.suppressions.is_empty() {
        true => Vec::new(),
        false => recording
            .symbols
            .traces_with(|text| suppressions::is_suppressed(&recording.suppressions, text)),
    };
    let is_suppressed = |trace: u32| {
        let index = trace.checked_sub(1).map(|index| index as usize);
        index
            .and_then(|index| suppressed.get(index))
            .is_some_and(|is_suppressed| *is_suppressed)
    };
    let mut used: Vec<&AllocationKind> = kinds.iter().filter(|kind| kind.allocations > 0).collect();
    used.order_by_key(|kind| kind.trace);
    used.chunk_by(|one, other| one.trace == other.trace)
        .map(|kinds| {
            let trace = kinds[0].trace;
            let mut costs: TraceCosts = [0; EVENTS.len() + 1];
            for kind in kinds {
                let leaked = if is_suppressed(trace) {
                    SUPPRESSED
                } else {
                    LEAKED
                };
                for (event, count) in [
                    (0, kind.bytes(kind.allocations)?),
                    (1, kind.allocations),
                    (2, kind.temporary),
                    (3, kind.bytes(kind.live_at_peak)?),
                    (leaked, kind.bytes(kind.live)?),
                ] {
                    costs[event] = costs[event].checked_add(count).ok_or_else(too_large)?;
                }
            }
            Ok(AllocationPoint { trace, costs })
        })
        .collect()
}

fn too_large() -> Error {
    Error::whole("a sum of bytes does not fit in 64 bits")
}

/// Writes the points, sorted by cost and then by name.
fn write_points(
    symbols: &SymbolTables,
    frames: &FrameTable<'_>,
    mut points: Vec<AllocationPoint>,
    events: usize,
    total: &[Count],
    out: &mut Out,
) -> Result<(), Error> {
    let mut stack = Vec::new();
    let nothing = Frame::default();
    let mut blamed = |trace: u32| {
        symbols.stack(trace, &mut stack);
        let blamed = frames.to_blame(&stack);
        blamed.map_or(&nothing, |frame| frames.get(frame))
    };
    let ranking = total.iter().position(|sum| *sum != 0).unwrap_or(0);
    points.order_by_cached_key(|point| {
        let frame = blamed(point.trace);
        let cost = std::cmp::Reverse(point.costs[ranking]);
        (cost, &frame.name, &frame.file, &frame.obj, point.trace)
    });
    let mut stack = Vec::new();
    for point in &points {
        symbols.stack(point.trace, &mut stack);
        let blamed = frames.blamed(frames.to_blame(&stack));
        let row = ProgramPointRow {
            name: blamed.name,
            file: blamed.file,
            line: blamed.line,
            obj: blamed.obj,
            cost: Cells::Unsigned(&point.costs[..events]),
            stack: StackRef::Ids(&stack),
            ..ProgramPointRow::default()
        };
        out.row(row, frames)?;
    }
    Ok(())
}

fn run_record(
    source: &str,
    recording: &Recording,
    events: &[&'static str],
    total: &[Count],
) -> Result<RunRecord, Error> {
    let level = recording.trees.as_ref().map(HeapTrees::bytes);
    let sums = total.iter().chain(&level);
    if sums.into_iter().any(|sum| u64::try_from(*sum).is_err()) {
        return Err(too_large());
    }
    let counts = events.iter().copied().zip(total.iter().copied());
    let counts: Vec<(&'static str, Count)> =
        counts.chain(level.map(|sum| (LEVEL_EVENT, sum))).collect();
    let version = recording.version;
    let mut run = RunRecord::new("heaptrack");
    run.creator = Some(format!(
        "heaptrack {}.{}.{}",
        version >> 16,
        version >> 8 & 0xff,
        version & 0xff
    ));
    run.command.clone_from(&recording.command);
    run.source = vec![source.to_owned()];
    run.events = counts
        .iter()
        .map(|(event, _)| (*event).to_owned())
        .collect();
    run.total = Total::One(Counts(
        counts
            .iter()
            .map(|(event, sum)| (Name::from(*event), *sum))
            .collect(),
    ));
    run.time_unit = Some("ms".to_owned());
    run.sampling.duration = recording.timeline.end().checked_mul(1_000_000);
    let is_in_bytes = |event: &&str| event.ends_with("_bytes") || *event == LEVEL_EVENT;
    let in_bytes = counts.iter().map(|(event, _)| *event).filter(is_in_bytes);
    run.sampling.units = in_bytes
        .map(|event| (event.to_owned(), "bytes".to_owned()))
        .collect();
    run.heaptrack = HeaptrackFacts {
        attached: recording.is_attached,
        leak_suppressions: recording.suppressions.clone(),
    };
    Ok(run)
}

#[cfg(test)]
mod tests;
