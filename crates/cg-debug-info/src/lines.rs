//! The lines of addresses, from line tables.

use std::ops::Range;

use cg_collections::maps::{Map, Set};

use crate::chains::{Builder, FileId, SourcePlace, TableLine};
use crate::dwarf::{DwarfUnits, OpenUnit, Stop};
use crate::files::{path, program};
use crate::limits::Steps;
use crate::line_rows::{LineSpan, for_each_span};

/// The code of one row of a line table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineTableRow {
    /// The first address of the row.
    pub begin: u64,
    /// The first address of the next row.
    pub end: u64,
    /// The source line of this code.
    pub place: SourcePlace,
}

/// Adds the rows of a unit's line table that overlap one of `ranges`. The ranges are sorted and do not overlap each other.
///
/// If several units share a table, it is read only for the first unit. `seen` has the tables that were read.
pub(crate) fn rows<'a>(
    units: &DwarfUnits<'a>,
    open: &OpenUnit<'a>,
    ranges: &[Range<u64>],
    seen: &mut Set<usize>,
    builder: &mut Builder,
    steps: &mut Steps,
    kept: &mut Vec<LineTableRow>,
) -> Result<(), Stop> {
    let Some(offset) = open.line_program else {
        return Ok(());
    };
    if !seen.insert(offset.0) {
        return Ok(());
    }
    let Some(program) = program(units, open, steps) else {
        return Ok(());
    };
    // Addresses ascend within a sequence, so the next row is nearly always in the same range.
    let (mut next, mut last_begin) = (0, u64::MAX);
    let mut overlaps = |begin: u64, end: u64| {
        let is_passed = |range: &Range<u64>| range.end <= begin;
        if begin < last_begin {
            next = ranges.partition_point(is_passed);
        } else if ranges.get(next).is_some_and(is_passed) {
            next += ranges[next..].partition_point(is_passed);
        }
        last_begin = begin;
        ranges.get(next).is_some_and(|range| range.start < end)
    };
    let mut files: Map<u64, Option<FileId>> = Map::default();
    for_each_span(program, steps, |header, span| {
        let LineSpan { begin, end, .. } = span;
        if begin != 0 && overlaps(begin, end) {
            let file = *(files.entry(span.file)).or_insert_with(|| {
                path(units.dwarf, open, header, span.file).map(|path| builder.file(path))
            });
            let line = span.line;
            kept.push(LineTableRow {
                begin,
                end,
                place: SourcePlace { file, line },
            });
        }
    })
}

/// Contiguous rows of a line table with the same line.
#[derive(Clone, Copy)]
struct Run {
    end: u64,
    line: u32,
    /// The file of the first row.
    file: u64,
    begins_sequence: bool,
}

/// Sets the entry of a unit's line table for each of `addresses`, which are sorted.
///
/// Skips sequences at address 0: the linker discarded their code.
pub(crate) fn set_lines<'a>(
    units: &DwarfUnits<'a>,
    open: &OpenUnit<'a>,
    addresses: &[u64],
    seen: &mut Set<usize>,
    builder: &mut Builder,
    steps: &mut Steps,
) -> Result<(), Stop> {
    let is_new = |offset: gimli::DebugLineOffset| seen.insert(offset.0);
    if !open.line_program.is_some_and(is_new) {
        return Ok(());
    }
    let Some(program) = program(units, open, steps) else {
        return Ok(());
    };
    let mut files: Map<u64, Option<FileId>> = Map::default();
    let mut run: Option<Run> = None;
    // The first address that is not before the end of the last row, and this end.
    let (mut next, mut last_end) = (0, 0);
    for_each_span(program, steps, |header, span| {
        let LineSpan {
            begin,
            end,
            file,
            line,
            sequence,
        } = span;
        if sequence == 0 {
            return;
        }
        let mut current = match run {
            Some(run) if (run.end, run.line) == (begin, line) => run,
            _ => Run {
                end,
                line,
                file,
                begins_sequence: begin == sequence,
            },
        };
        current.end = end;
        run = Some(current);
        if begin != last_end {
            next = addresses.partition_point(|address| *address < begin);
        }
        last_end = end;
        if addresses.get(next).is_some_and(|address| *address < end) {
            let from = next;
            next += addresses[from..].partition_point(|address| *address < end);
            let mut path_of = |number| {
                *(files.entry(number)).or_insert_with(|| {
                    path(units.dwarf, open, header, number).map(|path| builder.file(path))
                })
            };
            let line = TableLine {
                line,
                file: path_of(file),
                first_file: path_of(current.file),
                begins_sequence: current.begins_sequence,
            };
            builder.set_line(from..next, line);
        }
    })
}
