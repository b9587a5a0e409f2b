//! heaptrack's recordings: `heaptrack.PROGRAM.PID.zst`, `.gz` of old versions, or unpacked.
//!
//! `heaptrack_interpret` writes them (`src/interpret/heaptrack_interpret.cpp` of KDE/heaptrack). Numbers are hexadecimal
//! without `0x`, indices are counted from 1 and 0 is none, but for kinds of allocations, which are counted from 0:
//!
//! ```text
//! v VERSION FORMAT        heaptrack's version, 10400 for 1.4.0; formats 0 to 3
//! X COMMAND               as it was given, line breaks and all
//! I PAGESIZE PAGES        the machine
//! A                       attached to a program that was running; what was counted before does not count
//! S leak:PATTERN          a leak that the program's author knows of
//! s SIZE TEXT             a string; before format 3 without its size
//! i IP MODULE [FN [FILE LINE [FN FILE LINE]…]]     an instruction pointer: innermost, then what that is inlined into
//! t IP PARENT             a trace: the parent is the caller's
//! a SIZE TRACE            a kind of allocation
//! + KIND, - KIND          a block is allocated, a block is freed; format 0: `+ SIZE TRACE ADDRESS`, `- ADDRESS`
//! c MS, R PAGES           a time stamp, and the memory of the process at it
//! # …                     a comment; there are some at the end
//! ```
//!
//! Costs are not in the file: it is played. heaptrack's own readers cut stacks below `main` and above `operator new`,
//! leave out leaks that they have suppressions of their own for, take a command's further lines for records, and print
//! inlined frames in the wrong order; here stacks are whole, and only the recording's own suppressions count.

use cg_reader::{Error, Head, Options, Out, Reading, Snapshots};
use cg_stream::record::{
    Count, Counts, Frame, HeaptrackFacts, Name, RunRecord, SnapshotRecord, Total,
};
use cg_stream::rows::{Cells, NoTables, ProgramPointRow, Row, StackRef};
use cg_stream::sorting::Order as _;

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

/// True where an input begins as recordings do.
pub fn is_recording(head: &Head) -> bool {
    let mut lines = head.whole_lines().map(|(_, line)| line);
    let is_version = |line: &[u8]| {
        line.strip_prefix(b"v ").is_some_and(|rest| {
            let is_number = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b' ';
            !rest.is_empty() && rest.iter().all(is_number)
        })
    };
    lines.next().is_some_and(is_version)
        && lines.next().is_some_and(|line| {
            // Raw ones begin with `x` or `m`.
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
    reading.warn_of(
        recording.replay.unknown_frees,
        "frees are of blocks that were allocated before heaptrack was attached, and are not counted",
    );
    if read.is_ok() && recording.ends_in_change {
        reading.warn(
            "the heap changes behind the last time stamp, so the program did not end by itself: leaked_bytes \
             are those that lived when the recording ended",
        );
    }
    write(reading.source, &mut recording, reading.options, reading.out)?;
    read?;
    reading.out.end()
}

/// The events of a recording, in the order that rows are ranked by.
const EVENTS: [&str; 5] = [
    "total_bytes",
    "allocations",
    "temporary",
    "peak_bytes",
    "leaked_bytes",
];

/// Where leaked bytes are counted, and where those that a suppression of the recording matches.
const LEAKED: usize = 4;
const SUPPRESSED: usize = 5;

/// What the heap held at some snapshots, where that is written: levels, which are no costs of program points.
const LEVEL_EVENT: &str = "bytes";

/// Stands behind the other events in recordings that have suppressions.
const SUPPRESSED_EVENT: &str = "suppressed_bytes";

type TraceCosts = [u64; EVENTS.len() + 1];

/// What was allocated at one trace.
struct AllocationPoint {
    trace: u32,
    costs: TraceCosts,
}

/// Writes all but the end.
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
    let mut frames = FrameTable::new(symbols.frames(options.demangle));
    write_points(symbols, &frames, points, events.len(), &total, out)?;
    let trees = recording.trees.as_ref();
    let tree = |moment| trees.and_then(|trees: &HeapTrees| trees.of(moment));
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

/// What was allocated at each trace.
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
            .is_some_and(|is| *is)
    };
    let mut of_traces: Vec<&AllocationKind> =
        kinds.iter().filter(|kind| kind.allocations > 0).collect();
    of_traces.order_by_key(|kind| kind.trace);
    of_traces
        .chunk_by(|one, other| one.trace == other.trace)
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

/// Writes the points in the order of their costs, and of their names where these are equal.
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
