//! DHAT's program points: `dhat.out.PID` of Valgrind's DHAT, and `dhat-heap.json` of the dhat-rs crate.
//!
//! Valgrind writes them in `dhat/dh_main.c` (see "File format notes" there). The file is one JSON object. Its frame table is
//! at the end, so the whole file is read into memory. Versions:
//! - 2 (Valgrind 3.17 and later, dhat-rs): `mode` is `heap`, `copy`, `ad-hoc`, `rust-heap` or `rust-ad-hoc`. `bklt` is true
//!   if blocks have lifetimes, and `bkacc` if their accesses were counted.
//! - 1 (Valgrind 3.15 and 3.16): always the mode `heap`, with the keys `mi`, `ei`, `aps`, `tli`, `fb` and `fbk`.
//!
//! Valgrind can write invalid JSON: `"fs":]` for a stack without frames, and names that are not UTF-8. dh_view refuses such
//! files. This parser also refuses them, with an error that has the line.

use cg_collections::intern::Id as _;
use cg_names::frame_text::FrameText;
use cg_reader::{Error, Head, Reading, plural};
use cg_stream::record::{Count, Counts, DhatFacts, Frame, Name, RunRecord, Total};
use cg_stream::rows::{Cells, FrameId, ProgramPointRow, StackRef};

use super::frames::FrameTable;

mod file;

use file::{DhatFile, ProgramPoint};

/// Returns true if an input begins like a DHAT file.
pub fn is_document(head: &Head) -> bool {
    let text = head.bytes.trim_ascii_start();
    let beginning = &text[..text.len().min(4096)];
    text.starts_with(b"{") && memchr::memmem::find(beginning, b"\"dhatFileVersion\"").is_some()
}

/// Reads a profile of DHAT: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let file = DhatFile::read(&text)?;
    let events: Vec<&DhatEvent> = EVENTS.iter().filter(|event| event.is_in(&file)).collect();
    reading
        .out
        .run(&run_record(reading.source, &file, &events)?)?;
    let described = FrameText {
        has_column: file.is_from_dhat_rs(),
        demangle: reading.options.demangle,
    };
    let texts = file.frames.iter().map(|text| text.as_bytes());
    let mut frames = FrameTable::new(texts.map(|text| described.frame(text)))?;
    let nothing = frames.add(Frame::default())?;
    let mut beyond = 0;
    let mut stack = Vec::new();
    let mut cost: Vec<Count> = Vec::new();
    for (point, number) in file.points.iter().zip(1..) {
        let in_point = |message| Error::whole(format!("program point {number}: {message}"));
        stack.clear();
        for position in point.stack().map_err(in_point)? {
            let is_in_table = (position as usize) < file.frames.len();
            beyond += usize::from(!is_in_table);
            stack.push(match is_in_table {
                true => FrameId::at(position as usize)?,
                false => nothing,
            });
        }
        cost.clear();
        cost.extend(events.iter().map(|event| Count::from((event.count)(point))));
        let blamed = frames.blamed(frames.to_blame(&stack));
        let accesses = point.accesses().map_err(in_point)?;
        let row = ProgramPointRow {
            name: blamed.name,
            file: blamed.file,
            line: blamed.line,
            obj: blamed.obj,
            cost: Cells::From(0, &cost),
            max_bytes: point.max_bytes,
            max_blocks: point.max_blocks,
            lifetime: point.lifetime,
            accesses: accesses.as_deref(),
            stack: StackRef::Ids(&stack),
        };
        reading.out.row(row, &frames)?;
    }
    if beyond > 0 {
        // DHAT does not write such files. Files that were shortened by hand for a test have such positions.
        reading.warn(format!(
            "{} written as {{}}: the frame table has only {}",
            plural(beyond as u64, "frame of a stack is", "frames of stacks are"),
            plural(file.frames.len() as u64, "frame", "frames")
        ));
    }
    reading.out.end()
}

/// An event of the stream.
struct DhatEvent {
    name: &'static str,
    counted: Availability,
    count: fn(&ProgramPoint) -> u64,
}

/// The files that have an event.
#[derive(Clone, Copy)]
enum Availability {
    Always,
    /// If blocks have lifetimes.
    Live,
    /// If accesses were counted.
    Accessed,
}

const EVENTS: [DhatEvent; 8] = [
    event("total_bytes", Availability::Always, |point| {
        point.total_bytes
    }),
    event("total_blocks", Availability::Always, |point| {
        point.total_blocks
    }),
    event("gmax_bytes", Availability::Live, |point| point.gmax_bytes),
    event("gmax_blocks", Availability::Live, |point| point.gmax_blocks),
    event("end_bytes", Availability::Live, |point| point.end_bytes),
    event("end_blocks", Availability::Live, |point| point.end_blocks),
    event("read_bytes", Availability::Accessed, |point| {
        point.read_bytes
    }),
    event("write_bytes", Availability::Accessed, |point| {
        point.write_bytes
    }),
];

const fn event(
    name: &'static str,
    counted: Availability,
    count: fn(&ProgramPoint) -> u64,
) -> DhatEvent {
    DhatEvent {
        name,
        counted,
        count,
    }
}

impl DhatEvent {
    fn is_in(&self, file: &DhatFile) -> bool {
        match self.counted {
            Availability::Always => true,
            Availability::Live => file.has_lifetimes == Some(true),
            Availability::Accessed => file.has_accesses == Some(true),
        }
    }
}

fn run_record(source: &str, file: &DhatFile, events: &[&DhatEvent]) -> Result<RunRecord, Error> {
    let total: Vec<(&str, Count)> = events
        .iter()
        .map(|event| {
            let counts = file.points.iter().map(event.count);
            (event.name, counts.map(Count::from).sum())
        })
        .collect();
    if let Some((event, _)) = total.iter().find(|(_, sum)| u64::try_from(*sum).is_err()) {
        return Err(Error::whole(format!(
            "the sum of {event} does not fit in 64 bits"
        )));
    }
    let text = |name: &Option<Name>| name.as_deref().map(str::to_owned);
    let mut run = RunRecord::new("dhat");
    run.creator = file.is_from_dhat_rs().then(|| "dhat-rs".to_owned());
    run.command = text(&file.command);
    run.pid = file.pid;
    run.source = vec![source.to_owned()];
    run.events = total.iter().map(|(event, _)| (*event).to_owned()).collect();
    run.total = Total::One(Counts(
        total
            .into_iter()
            .map(|(event, sum)| (Name::from(event), sum))
            .collect(),
    ));
    run.time_unit = text(&file.time_unit);
    run.dhat = DhatFacts {
        blocks_unit: text(&file.blocks_unit),
        byte_unit: text(&file.byte_unit),
        bytes_unit: text(&file.bytes_unit),
        end_time: file.end_time,
        gmax_time: file.gmax_time,
        mega_time_unit: text(&file.mega_time_unit),
        mode: text(&file.mode),
        short_lived: file.short_lived,
        verb: text(&file.verb),
    };
    Ok(run)
}

#[cfg(test)]
mod tests;
