//! The calls and lines of a page with their costs, and the text of the lines.

use std::ops::RangeInclusive;

use cg_collections::maps::Map;
use cg_profile::{FunctionKey, Profile, Symbol};
use cg_sources::Places;
use cg_stream::record::{Count, RecordType};
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

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinePlace {
    side: u32,
    function: PageFunction,
    /// The file; empty if it is the file of the function.
    file: PageText,
    line: u64,
}

/// Places with their costs. Equal places are added up when all are known.
struct CodeCosts<P> {
    places: Vec<P>,
    /// The counts of the first place, then those of the others.
    counts: Vec<Count>,
    /// The number of counts of a place.
    width: usize,
}

/// A place of a function in a run.
trait CodePlace: Copy + Ord {
    /// Returns the run and the function, which determine the order first.
    fn run_and_function(&self) -> (u32, PageFunction);
}

impl CodePlace for CallPlace {
    fn run_and_function(&self) -> (u32, PageFunction) {
        (self.side, self.from)
    }
}

impl CodePlace for LinePlace {
    fn run_and_function(&self) -> (u32, PageFunction) {
        (self.side, self.function)
    }
}

impl<P: CodePlace> CodeCosts<P> {
    fn new(width: usize) -> CodeCosts<P> {
        CodeCosts {
            places: Vec::new(),
            counts: Vec::new(),
            width,
        }
    }

    fn push(&mut self, place: P, counts: impl IntoIterator<Item = Count>) {
        self.places.push(place);
        self.counts.extend(counts);
    }

    /// Sorts the places, and adds up the counts of equal ones.
    fn summed(&self) -> CodeCosts<P> {
        let mut summed = CodeCosts::new(self.width);
        let order = self.order();
        for same in order.chunk_by(|a, b| self.places[*a] == self.places[*b]) {
            let counts = |at: usize| &self.counts[at * self.width..(at + 1) * self.width];
            summed.push(self.places[same[0]], counts(same[0]).iter().copied());
            let start = summed.counts.len() - self.width;
            for other in &same[1..] {
                for (sum, count) in summed.counts[start..].iter_mut().zip(counts(*other)) {
                    *sum += count;
                }
            }
        }
        summed
    }

    /// Returns the positions of the places in their order. A function has few places, so the functions are put in order
    /// first, without comparisons.
    fn order(&self) -> Vec<usize> {
        let functions = self.places.iter().map(|place| place.run_and_function().1.0);
        let functions = functions.max().map_or(0, |last| last as usize + 1);
        let bucket = |place: &P| {
            let (side, function) = place.run_and_function();
            side as usize * functions + function.0 as usize
        };
        let mut starts = vec![0; 2 * functions + 1];
        for place in &self.places {
            starts[bucket(place) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![0; self.places.len()];
        for (position, place) in self.places.iter().enumerate() {
            let next = &mut next[bucket(place)];
            order[*next] = position;
            *next += 1;
        }
        for range in starts.windows(2) {
            order[range[0]..range[1]].sort_unstable_by_key(|at| (self.places[*at], *at));
        }
        order
    }

    /// Returns a count of each place.
    fn column(&self, at: usize) -> Vec<Option<Count>> {
        let counts = self.counts.iter().skip(at).step_by(self.width);
        counts.map(|count| Some(*count)).collect()
    }
}

/// The lines of a file that belong to functions of this file, and their cost in the first event.
#[derive(Default)]
struct LinesOfFile {
    cost: Count,
    lines: Vec<u64>,
}

/// The calls and lines of a profile, or of both runs of a diff.
pub(super) struct Code {
    /// The number of calls, and their inclusive cost by event.
    calls: CodeCosts<CallPlace>,
    /// The self cost by event.
    lines: CodeCosts<LinePlace>,
    files: Map<PageText, LinesOfFile>,
}

impl Code {
    /// Creates the code without any calls and lines, for this number of events.
    pub(super) fn new(events: usize) -> Code {
        Code {
            calls: CodeCosts::new(1 + events),
            lines: CodeCosts::new(events),
            files: Map::default(),
        }
    }

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
        let picked = |cost: &'_ [Count], event: &Option<usize>| {
            event
                .and_then(|event| cost.get(event))
                .copied()
                .unwrap_or(0)
        };
        let calls = profile.table(RecordType::Call);
        for (row, key) in calls.keys().enumerate() {
            let place = CallPlace {
                side,
                from: known.get(key.function, functions, data),
                to: known.get(key.callee.unwrap_or_default(), functions, data),
                line: key.line.unwrap_or(0),
                site: known.text(key.site, data),
            };
            let incl = calls.incl(row).unwrap_or_default();
            let incl = events.iter().map(|event| picked(incl, event));
            self.calls
                .push(place, [calls.calls(row)].into_iter().chain(incl));
        }
        let lines = profile.table(RecordType::Line);
        for (row, key) in lines.keys().enumerate() {
            let FunctionKey { name, file, obj } = key.function;
            let files = own.get(&(name, obj)).map_or(&[][..], Vec::as_slice);
            let is_own = files.is_empty() || files.contains(&file);
            let function = FunctionKey {
                file: if is_own { file } else { files[0] },
                ..key.function
            };
            let path = known.text(file, data);
            let cost = lines.cost(row);
            let line = key.line.unwrap_or(0);
            if is_own && line > 0 {
                let of_file = self.files.entry(path).or_default();
                of_file.cost += events.first().map_or(0, |event| picked(cost, event));
                of_file.lines.push(line);
            }
            let place = LinePlace {
                side,
                function: known.get(function, functions, data),
                file: if is_own { PageText::default() } else { path },
                line,
            };
            let cost = events.iter().map(|event| picked(cost, event));
            self.lines.push(place, cost);
        }
    }

    /// Writes calls and lines, and the text of the lines that are found.
    pub(super) fn write(&mut self, places: &Places, data: &mut PageData) {
        let (call_costs, line_costs) = (self.calls.summed(), self.lines.summed());
        let calls = || call_costs.places.iter();
        let lines = || line_costs.places.iter();
        let is_new = |side: u32| side != 0;
        if calls().any(|call| is_new(call.side)) || lines().any(|line| is_new(line.side)) {
            data.numbers("c.side", calls().map(|call| call.side));
            data.numbers("l.side", lines().map(|line| line.side));
        }
        data.numbers("c.from", calls().map(|call| call.from));
        data.numbers("c.to", calls().map(|call| call.to));
        data.numbers("c.line", calls().map(|call| call.line));
        data.numbers("c.site", calls().map(|call| call.site.0));
        data.counts("c.calls", &call_costs.column(0));
        data.numbers("l.fn", lines().map(|line| line.function));
        data.numbers("l.file", lines().map(|line| line.file.0));
        data.numbers("l.line", lines().map(|line| line.line));
        for event in 0..line_costs.width {
            data.counts(&format!("c.incl.{event}"), &call_costs.column(1 + event));
            data.counts(&format!("l.self.{event}"), &line_costs.column(event));
        }
        self.write_texts(places, data);
    }

    fn write_texts(&mut self, places: &Places, data: &mut PageData) {
        for of_file in self.files.values_mut() {
            of_file.lines.sort_unstable();
            of_file.lines.dedup();
        }
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
        !self.lines.places.is_empty()
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.places.is_empty()
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

/// Returns ranges with these sorted lines and their context, without overlaps.
fn ranges(lines: &[u64]) -> Vec<RangeInclusive<u64>> {
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
