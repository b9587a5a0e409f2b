//! DHAT's program points: `dhat.out.PID` of Valgrind's DHAT, and `dhat-heap.json` of the dhat-rs crate.
//!
//! Valgrind writes them in `dhat/dh_main.c` (see "File format notes" there); the file is one JSON object, whose frame
//! table comes last, so it is read whole. Versions:
//! - 2 (Valgrind 3.17 and later, dhat-rs): `mode` is `heap`, `copy`, `ad-hoc`, `rust-heap` or `rust-ad-hoc`; `bklt` says
//!   whether blocks have lifetimes, `bkacc` whether their accesses were counted.
//! - 1 (Valgrind 3.15 and 3.16): always what is `heap` now, under the keys `mi`, `ei`, `aps`, `tli`, `fb` and `fbk`.
//!
//! Valgrind can write what is no JSON: `"fs":]` for a stack all of whose frames were left out, and bytes of names that
//! are not UTF-8. dh_view refuses such files, and so does this parser, with the line.

use std::io::Read as _;

use cg_stream::blame::frame_to_blame;
use cg_stream::record::{Count, Counts, Frame, Name, ProgramPointRecord, RunRecord, Total};
use cg_stream::tool::Diagnostics;

use crate::{Error, Lines, Options, Out, frame_text};

mod file;

use file::{File, ProgramPoint};

pub(crate) fn parse(
    source: &str,
    lines: &mut Lines,
    _options: &Options,
    out: &mut Out,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let mut text = Vec::new();
    lines.read_to_end(&mut text).map_err(Error::Input)?;
    let file = File::read(&text)?;
    out.run(&run_record(source, &file)?)
        .map_err(Error::Output)?;
    let describe = if file.is_of_dhat_rs() {
        frame_text::frame_with_column
    } else {
        frame_text::frame
    };
    let frames: Vec<Frame> = file
        .frames
        .iter()
        .map(|text| describe(text.as_bytes()))
        .collect();
    let unknown = file.positions_beyond_frames();
    if unknown > 0 {
        diagnostics.warn(format!(
            "{source}: {unknown} positions in stacks are beyond the frame table, which has {}; their frames are written as {{}}",
            frames.len()
        ));
    }
    for (point, number) in file.points.iter().zip(1..) {
        let record = record(point, &file, &frames)
            .map_err(|message| Error::whole(format!("program point {number}: {message}")))?;
        out.record(&record).map_err(Error::Output)?;
    }
    out.end().map_err(Error::Output)
}

/// The costs of a point by event, as far as the file's mode has them.
fn costs(file: &File, point: &ProgramPoint) -> impl Iterator<Item = (&'static str, u64)> {
    let has_lifetimes = file.has_lifetimes.unwrap_or(false);
    let has_accesses = file.has_accesses.unwrap_or(false);
    [
        (true, "total_bytes", point.total_bytes),
        (true, "total_blocks", point.total_blocks),
        (has_lifetimes, "gmax_bytes", point.gmax_bytes),
        (has_lifetimes, "gmax_blocks", point.gmax_blocks),
        (has_lifetimes, "end_bytes", point.end_bytes),
        (has_lifetimes, "end_blocks", point.end_blocks),
        (has_accesses, "read_bytes", point.read_bytes),
        (has_accesses, "write_bytes", point.write_bytes),
    ]
    .into_iter()
    .filter(|(is_counted, _, _)| *is_counted)
    .map(|(_, event, count)| (event, count))
}

fn run_record(source: &str, file: &File) -> Result<RunRecord, Error> {
    let mut total: Vec<(&str, Count)> = costs(file, &ProgramPoint::default())
        .map(|(event, _)| (event, 0))
        .collect();
    for point in &file.points {
        for ((_, sum), (_, count)) in total.iter_mut().zip(costs(file, point)) {
            *sum += Count::from(count);
        }
    }
    if let Some((event, _)) = total.iter().find(|(_, sum)| u64::try_from(*sum).is_err()) {
        return Err(Error::whole(format!(
            "the sum of {event} does not fit in 64 bits"
        )));
    }
    let text = |name: &Option<Name>| name.as_deref().map(str::to_owned);
    let mut run = RunRecord::new("dhat");
    run.creator = file.is_of_dhat_rs().then(|| "dhat-rs".to_owned());
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
    for (key, name) in [
        ("mode", &file.mode),
        ("verb", &file.verb),
        ("byte_unit", &file.byte_unit),
        ("bytes_unit", &file.bytes_unit),
        ("blocks_unit", &file.blocks_unit),
        ("time_unit", &file.time_unit),
        ("mega_time_unit", &file.mega_time_unit),
    ] {
        if let Some(name) = text(name) {
            run.extra.insert(key.to_owned(), name.into());
        }
    }
    for (key, number) in [
        ("short_lived", file.short_lived),
        ("end_time", file.end_time),
        ("gmax_time", file.gmax_time),
    ] {
        if let Some(number) = number {
            run.extra.insert(key.to_owned(), number.into());
        }
    }
    Ok(run)
}

fn record<'a>(
    point: &ProgramPoint,
    file: &File,
    frames: &[Frame<'a>],
) -> Result<ProgramPointRecord<'a>, String> {
    let stack: Vec<Frame> = point
        .stack
        .iter()
        .map(|index| frames.get(*index as usize).cloned().unwrap_or_default())
        .collect();
    let blamed = stack
        .get(frame_to_blame(&stack))
        .cloned()
        .unwrap_or_default();
    Ok(ProgramPointRecord {
        name: blamed.name,
        file: blamed.file,
        line: blamed.line,
        obj: blamed.obj,
        cost: Counts(
            costs(file, point)
                .enumerate()
                .filter(|(position, (_, count))| *position == 0 || *count != 0)
                .map(|(_, (event, count))| (Name::from(event), Count::from(count)))
                .collect(),
        ),
        max_bytes: point.max_bytes,
        max_blocks: point.max_blocks,
        lifetime: point.lifetime,
        accesses: point.accesses()?,
        stack,
    })
}

#[cfg(test)]
mod tests;
