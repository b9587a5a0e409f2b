//! The calls and lines of a page with their costs, and the text of the lines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use cg_collections::maps::Map;
use cg_profile::{FunctionKey, Profile, Symbol};
use cg_sources::Places;
use cg_stream::record::{Count, RecordType, add_counts_growing};
use cg_viewer::{PageData, PageText};

use super::functions::{FunctionsOf, PageFunction, PageFunctions};
use crate::report::source::source_lines;

/// The number of lines to show before and after a line with a cost.
const CONTEXT: u64 = 4;
/// The maximum gap between two shown ranges of lines that is shown too.
const GAP: u64 = 40;
/// The maximum number of files of a page. The files with the largest cost are kept.
const MOST_FILES: usize = 400;

/// The caller, the callee and the place of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CallPlace {
    side: u32,
    from: PageFunction,
    to: PageFunction,
    line: u64,
    /// The file of the line; empty if it is the file of the function.
    site: PageText,
}

#[derive(Default)]
struct CallCost {
    calls: Count,
    incl: Vec<Count>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinePlace {
    side: u32,
    function: PageFunction,
    /// The file; empty if it is the file of the function.
    file: PageText,
    line: u64,
}

/// The lines of a file that belong to functions of this file, and their cost in the first event.
#[derive(Default)]
struct LinesOfFile {
    cost: Count,
    lines: BTreeSet<u64>,
}

/// The calls and lines of a profile, or of both runs of a diff.
#[derive(Default)]
pub(super) struct Code {
    calls: BTreeMap<CallPlace, CallCost>,
    lines: BTreeMap<LinePlace, Vec<Count>>,
    files: Map<PageText, LinesOfFile>,
}

impl Code {
    /// Adds the calls and lines of a profile, with the events at these positions. `side` is 0 or 1 for a run of a diff.
    pub(super) fn add(
        &mut self,
        profile: &Profile,
        side: Option<usize>,
        events: &[Option<usize>],
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) {
        let mut known = FunctionsOf::new(profile, side.is_some());
        let side = side.unwrap_or(0) as u32;
        let own = own_files(profile);
        let picked = |cost: &[Count]| -> Vec<Count> {
            let count = |event: &Option<usize>| cost.get((*event)?).copied();
            events
                .iter()
                .map(|event| count(event).unwrap_or(0))
                .collect()
        };
        let calls = profile.table(RecordType::Call);
        for (row, key) in calls.keys().iter().enumerate() {
            let place = CallPlace {
                side,
                from: known.get(key.function, functions, data),
                to: known.get(key.callee.unwrap_or_default(), functions, data),
                line: key.line.unwrap_or(0),
                site: data.optional_text(profile.text(key.site)),
            };
            let sum = self.calls.entry(place).or_default();
            sum.calls += calls.calls(row);
            add_counts_growing(&mut sum.incl, &picked(calls.incl(row).unwrap_or_default()));
        }
        let lines = profile.table(RecordType::Line);
        for (row, key) in lines.keys().iter().enumerate() {
            let FunctionKey { name, file, obj } = key.function;
            let files = own.get(&(name, obj)).map_or(&[][..], Vec::as_slice);
            let is_own = files.is_empty() || files.contains(&file);
            let function = FunctionKey {
                file: if is_own { file } else { files[0] },
                ..key.function
            };
            let path = data.optional_text(profile.text(file));
            let cost = picked(lines.cost(row));
            let line = key.line.unwrap_or(0);
            if is_own && line > 0 {
                let of_file = self.files.entry(path).or_default();
                of_file.cost += cost.first().copied().unwrap_or(0);
                of_file.lines.insert(line);
            }
            let place = LinePlace {
                side,
                function: known.get(function, functions, data),
                file: if is_own { PageText::default() } else { path },
                line,
            };
            add_counts_growing(self.lines.entry(place).or_default(), &cost);
        }
    }

    /// Writes calls and lines with this number of events, and the text of the lines that are found.
    pub(super) fn write(&self, events: usize, places: &Places, data: &mut PageData) {
        let calls = || self.calls.keys();
        let lines = || self.lines.keys();
        let is_new = |side: u32| side != 0;
        if calls().any(|call| is_new(call.side)) || lines().any(|line| is_new(line.side)) {
            data.numbers("c.side", calls().map(|call| call.side));
            data.numbers("l.side", lines().map(|line| line.side));
        }
        data.numbers("c.from", calls().map(|call| call.from));
        data.numbers("c.to", calls().map(|call| call.to));
        data.numbers("c.line", calls().map(|call| call.line));
        data.numbers("c.site", calls().map(|call| call.site.0));
        let counts: Vec<Option<Count>> = self.calls.values().map(|of| Some(of.calls)).collect();
        data.counts("c.calls", &counts);
        data.numbers("l.fn", lines().map(|line| line.function));
        data.numbers("l.file", lines().map(|line| line.file.0));
        data.numbers("l.line", lines().map(|line| line.line));
        for event in 0..events {
            let of = |cost: &Vec<Count>| Some(cost.get(event).copied().unwrap_or(0));
            let incl: Vec<_> = self.calls.values().map(|call| of(&call.incl)).collect();
            data.counts(&format!("c.incl.{event}"), &incl);
            let cost: Vec<_> = self.lines.values().map(of).collect();
            data.counts(&format!("l.self.{event}"), &cost);
        }
        self.write_texts(places, data);
    }

    fn write_texts(&self, places: &Places, data: &mut PageData) {
        let mut files: Vec<(&PageText, &LinesOfFile)> = self.files.iter().collect();
        files.sort_by_key(|(file, of)| (std::cmp::Reverse(of.cost), **file));
        let (mut paths, mut numbers, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (file, of) in files.into_iter().take(MOST_FILES) {
            let path = data.text_with(*file).to_owned();
            for (number, text) in source_lines(places, &path, &ranges(&of.lines)) {
                paths.push(file.0);
                numbers.push(number);
                texts.push(data.text(&text).0);
            }
        }
        data.numbers("src.file", paths);
        data.numbers("src.line", numbers);
        data.numbers("src.text", texts);
    }

    pub(super) fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }
}

/// The name and the object of a function.
type NamedIn = (Option<Symbol>, Option<Symbol>);

/// Returns the files of each function.
fn own_files(profile: &Profile) -> Map<NamedIn, Vec<Option<Symbol>>> {
    let mut own: Map<_, Vec<_>> = Map::default();
    for key in profile.table(RecordType::Fn).keys() {
        let FunctionKey { name, file, obj } = key.function;
        let files: &mut Vec<_> = own.entry((name, obj)).or_default();
        if !files.contains(&file) {
            files.push(file);
        }
    }
    own
}

/// Returns ranges with the lines and their context, sorted and without overlaps.
fn ranges(lines: &BTreeSet<u64>) -> Vec<RangeInclusive<u64>> {
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for line in lines {
        let (start, end) = (
            line.saturating_sub(CONTEXT).max(1),
            line.saturating_add(CONTEXT),
        );
        match ranges.last_mut() {
            Some(last) if start <= last.end().saturating_add(GAP) => *last = *last.start()..=end,
            _ => ranges.push(start..=end),
        }
    }
    ranges
}
