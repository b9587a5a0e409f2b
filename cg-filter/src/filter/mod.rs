//! Reads the inputs and passes on the kept records.
//!
//! A decided line is written at once, byte for byte, so that a live pipe stays live. Some lines can be decided only at the
//! end of the input: all lines with `--top`, `--threshold` and `--sort`, and functions with `--caller` and `--callee`. They
//! wait in [`BufferedLines`], together with all lines after them, to keep the order.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cg_collections::sorting::Order as _;
use cg_parse::stream::{self, Visitor};
use cg_stream::record::{Count, RecordType};
use cg_stream::{Error, Line};
use cg_tool::{Diagnostics, Outcome};

use crate::arcs::{ArcFunctionId, NeighbourFunctions};
use crate::count::{CountKey, Minimum, MinimumChange, MinimumPercent};
use crate::hold::BufferedLines;
use crate::label::WantedLabel;
use crate::predicate::{Match, NamePredicates, Types};
use crate::rank::{GroupId, Ranking, Selection};
use crate::record::{Field, RecordFields};
use crate::time::{RunTime, RunTimes, TimeRange};

mod output;
pub(crate) mod runs;

use output::CountedOutput;
use runs::RunFigures;

/// The conditions, the order and the form of the output. The default keeps everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) types: Types,
    /// The records to make of raw profiles.
    pub(crate) records: cg_parse::Options,
    pub(crate) names: NamePredicates,
    pub(crate) labels: Vec<WantedLabel>,
    pub(crate) time: Option<TimeRange>,
    pub(crate) minimums: Vec<Minimum>,
    pub(crate) minimum_percents: Vec<MinimumPercent>,
    pub(crate) minimum_changes: Vec<MinimumChange>,
    pub(crate) selection: Selection,
    pub(crate) sort: Option<CountKey>,
    pub(crate) exit_status: bool,
    pub(crate) prints: Prints,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Prints {
    /// The stream.
    #[default]
    Records,
    /// The number of kept records of each input.
    Counts,
    /// The names of the inputs with kept records.
    Names,
}

impl Options {
    /// Returns true if records have to be ranked.
    fn ranks(&self) -> bool {
        self.sort.is_some() || !matches!(self.selection, Selection::All)
    }

    /// Returns true if `run` records have to be parsed.
    fn needs_runs(&self) -> bool {
        self.ranks()
            || !self.minimums.is_empty()
            || !self.minimum_percents.is_empty()
            || !self.minimum_changes.is_empty()
            || self.time.is_some()
    }

    /// Returns the options for parsing a raw profile, with the wanted records.
    fn parse_options(&self) -> cg_parse::Options {
        let asked = &self.records;
        let stacks = asked.stacks || self.types.are_only("stack");
        // Stacks alone replace other records.
        let are_alone = stacks && !asked.calls && !asked.lines;
        cg_parse::Options {
            calls: !are_alone
                && (asked.calls || self.names.needs_arcs() || self.types.names("call")),
            lines: !are_alone && (asked.lines || self.types.names("line")),
            stacks,
            times: asked.times || self.time.is_some(),
            cuts: self.time.map(|range| [range.from, range.to]),
            ..asked.clone()
        }
    }

    /// Returns the record types that options ask for, with these options.
    fn asked_records(&self) -> Vec<(RecordType, &'static str)> {
        let asked = &self.records;
        [
            (asked.calls, RecordType::Call, "--calls"),
            (asked.lines, RecordType::Line, "--lines"),
            (asked.inline, RecordType::Inline, "--inline"),
            (asked.stacks, RecordType::Stack, "--stacks"),
        ]
        .into_iter()
        .filter_map(|(is_asked, kind, option)| is_asked.then_some((kind, option)))
        .collect()
    }
}

/// Filters all inputs.
pub(crate) fn run(
    files: &[PathBuf],
    options: Options,
    output: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    let parse_options = options.parse_options();
    let exit_status = options.exit_status;
    let files = cg_parse::without_empty_bases(files);
    let kept = match options.prints {
        Prints::Records => {
            let mut filter = Filter::new(options, output);
            for file in &files {
                stream::read_lines(file, &parse_options, diagnostics, &mut filter)?;
            }
            filter.finish(diagnostics)?
        }
        prints => {
            let mut kept = 0;
            for file in &files {
                let mut nowhere = io::sink();
                let mut filter = Filter::new(options.clone(), &mut nowhere);
                stream::read_lines(file, &parse_options, diagnostics, &mut filter)?;
                let records = filter.finish(diagnostics)?;
                write_summary(file, records, prints, files.len() > 1, output)?;
                kept += records;
            }
            output.flush()?;
            kept
        }
    };
    Ok(match exit_status && kept == 0 {
        true => Outcome::No,
        false => Outcome::Done,
    })
}

/// Writes the count or the name of an input, like grep.
fn write_summary(
    file: &Path,
    records: u64,
    prints: Prints,
    are_several: bool,
    output: &mut dyn Write,
) -> io::Result<()> {
    let name = match file.as_os_str().as_encoded_bytes() {
        b"-" => b"(standard input)",
        name => name,
    };
    match prints {
        Prints::Names if records == 0 => return Ok(()),
        Prints::Names => output.write_all(name)?,
        _ => {
            if are_several {
                output.write_all(name)?;
                output.write_all(b":")?;
            }
            write!(output, "{records}")?;
        }
    }
    output.write_all(b"\n")
}

struct Filter<'w> {
    options: Options,
    output: CountedOutput<'w>,
    runs: RunFigures,
    times: RunTimes,
    arcs: NeighbourFunctions,
    ranking: Ranking,
    candidates: Vec<PendingRecord>,
    held: BufferedLines<LineRole>,
    /// The use of each key in the conditions.
    keys: Vec<KeyUse>,
    /// True if a record passed. Until then, the frames of dropped records are also searched, for a hint.
    has_passed: bool,
    /// True if REGEX matches a frame of a dropped record.
    would_match_frame: bool,
    /// The record types that options ask for and that have not occurred yet.
    missing: Vec<(RecordType, &'static str)>,
}

/// The role of a waiting line.
enum LineRole {
    Run,
    End,
    /// A line that is kept in any case.
    Kept,
    Record {
        function: Option<ArcFunctionId>,
        group: Option<GroupId>,
        time: Option<RunTime>,
    },
}

/// A record to rank, if its function turns out to have the wanted callers and callees, and its time to be in the range.
struct PendingRecord {
    function: Option<ArcFunctionId>,
    time: Option<RunTime>,
    group: GroupId,
    cost: Count,
}

/// A key in a condition, with the numbers of records that were searched for it and that have it.
struct KeyUse {
    key: CountKey,
    asked: u64,
    found: u64,
}

impl<'w> Filter<'w> {
    fn new(options: Options, output: &'w mut dyn Write) -> Filter<'w> {
        let minimums = options.minimums.iter().map(|minimum| &minimum.key);
        let percents = options.minimum_percents.iter().map(|minimum| &minimum.key);
        let changes = options.minimum_changes.iter().map(|minimum| &minimum.key);
        let keys = minimums
            .chain(percents)
            .chain(changes)
            .map(|key| KeyUse {
                key: key.clone(),
                asked: 0,
                found: 0,
            })
            .collect();
        Filter {
            ranking: Ranking::new(options.sort.clone()),
            missing: options.asked_records(),
            options,
            output: CountedOutput::new(output),
            runs: RunFigures::default(),
            times: RunTimes::default(),
            arcs: NeighbourFunctions::default(),
            candidates: Vec::new(),
            held: BufferedLines::new(),
            keys,
            has_passed: false,
            would_match_frame: false,
        }
    }

    /// Judges a record without the rest of the stream; `None` if it is dropped.
    fn judge(&mut self, line: &Line<'_>) -> Result<Option<LineRole>, Error> {
        let mut record = RecordFields::new(*line)?;
        let kind = record.kind()?;
        if kind == RecordType::Call && self.options.names.needs_arcs() {
            self.arcs.add(&mut record, &self.options.names)?;
        }
        if !self.options.types.allow(line, &mut record)? {
            return Ok(None);
        }
        if line.kind == RecordType::Other {
            return Ok(Some(LineRole::Kept));
        }
        let function = match self.options.names.judge(&mut record, kind)? {
            Match::Drop => {
                if !self.has_passed && !self.would_match_frame {
                    self.would_match_frame =
                        self.options.names.would_match_frame(&mut record, kind)?;
                }
                return Ok(None);
            }
            Match::Keep => None,
            Match::NeedsArcs => {
                let is_line = kind == RecordType::Line;
                Some(self.arcs.function(&mut record, is_line)?)
            }
        };
        for label in &self.options.labels {
            if !label.is_in(&mut record)? {
                return Ok(None);
            }
        }
        if !self.reaches_minimums(&mut record, line.number)? {
            return Ok(None);
        }
        let time = match self.options.time.is_some() {
            true => match self.time_of(&mut record, kind)? {
                None => return Ok(None),
                time => time,
            },
            false => None,
        };
        let mut group = None;
        if self.options.ranks() {
            let is_diff = line.kind == RecordType::Diff;
            let ranked = self.ranking.group(&mut record, kind, is_diff, &self.runs)?;
            group = ranked.map(|(group, _)| group);
            match ranked {
                Some((group, cost)) if function.is_some() || time.is_some() => {
                    self.candidates.push(PendingRecord {
                        function,
                        time,
                        group,
                        cost,
                    });
                }
                Some((group, cost)) => self.ranking.add(group, cost),
                None => {}
            }
        }
        self.has_passed = true;
        Ok(Some(match (function, group, time) {
            (None, None, None) => LineRole::Kept,
            (function, group, time) => LineRole::Record {
                function,
                group,
                time,
            },
        }))
    }

    /// Returns the time of a sample; `None` for a record without a time.
    fn time_of(
        &mut self,
        record: &mut RecordFields<'_>,
        kind: RecordType,
    ) -> Result<Option<RunTime>, Error> {
        let text = match kind {
            RecordType::Stack => record.label(Field::Time)?,
            _ => Default::default(),
        };
        let at = std::str::from_utf8(&text).ok();
        let at = at.and_then(|at| at.parse().ok());
        self.times.untimed += u64::from(at.is_none());
        Ok(at.map(|at| self.times.note(at)))
    }

    fn reaches_minimums(
        &mut self,
        record: &mut RecordFields<'_>,
        line_number: u64,
    ) -> Result<bool, Error> {
        let mut keys = self.keys.iter_mut();
        let mut note = |is_found: bool| {
            if let Some(key_use) = keys.next() {
                key_use.asked += 1;
                key_use.found += u64::from(is_found);
            }
        };
        let mut find_count =
            |record: &mut RecordFields<'_>, key: &CountKey| -> Result<Count, Error> {
                let count = key.find(record)?;
                note(count.is_some());
                Ok(count.unwrap_or(0))
            };
        let mut all_reached = true;
        for Minimum { key, least } in &self.options.minimums {
            all_reached &= find_count(record, key)? >= *least;
        }
        for MinimumPercent { key, least } in &self.options.minimum_percents {
            let count = find_count(record, key)?;
            let total = self.runs.current_total(&key.event).ok_or_else(|| {
                Error::at(
                    line_number,
                    "expected a run record before this record; --min-percent needs its total",
                )
            })?;
            // 0 of a total of 0 reaches no percentage.
            all_reached &= least.is_reached(count, total) && (count, total) != (0, 0);
        }
        for minimum in &self.options.minimum_changes {
            let change = minimum.key.find_change(record)?;
            note(change.is_some());
            all_reached &= change.is_some_and(|change| minimum.is_reached(change));
        }
        Ok(all_reached)
    }

    /// Writes a line, or adds it to the waiting lines.
    fn pass(&mut self, line: &Line<'_>, role: LineRole) -> Result<(), Error> {
        let can_wait = self.options.ranks() || matches!(role, LineRole::Record { .. });
        if can_wait || !self.held.is_empty() {
            return Ok(self.held.push(line.raw, role)?);
        }
        let is_record = matches!(role, LineRole::Kept);
        self.output.write(line.raw, is_record)?;
        Ok(())
    }

    /// Writes the waiting lines. Returns the number of kept records.
    fn finish(mut self, diagnostics: &mut Diagnostics) -> anyhow::Result<u64> {
        self.report_unjudged(diagnostics);
        let (options, arcs, held) = (&self.options, &self.arcs, self.held);
        let is_matched = |function: ArcFunctionId| {
            let matched = arcs.match_function(function, &options.names);
            options.names.verdict(matched) == Match::Keep
        };
        let (times, range) = (&self.times, options.time);
        let is_in_time = |time: Option<RunTime>| match (time, range) {
            (Some(time), Some(range)) => times.is_inside(time, range),
            _ => true,
        };
        for candidate in &self.candidates {
            if candidate.function.is_none_or(is_matched) && is_in_time(candidate.time) {
                self.ranking.add(candidate.group, candidate.cost);
            }
        }
        let order = self.ranking.choose(options.selection, &self.runs);
        let ranking = &self.ranking;
        let is_kept = |role: &LineRole| match role {
            LineRole::Record {
                function,
                group,
                time,
            } => {
                function.is_none_or(is_matched)
                    && is_in_time(*time)
                    && group.is_none_or(|group| ranking.is_chosen(group))
            }
            _ => true,
        };
        let output = &mut self.output;
        if options.sort.is_none() {
            held.replay(is_kept, |role, line| {
                let is_record = !matches!(role, LineRole::Run | LineRole::End);
                output.write(line, is_record)
            })?;
        } else {
            write_sorted(held, &order, is_kept, output)?;
        }
        output.flush()?;
        Ok(output.records)
    }

    /// Reports conditions that could not be judged with these inputs.
    fn report_unjudged(&self, diagnostics: &mut Diagnostics) {
        let needs_arcs = |role: &LineRole| match role {
            LineRole::Record { function, .. } => function.is_some(),
            _ => false,
        };
        if !self.has_passed && self.would_match_frame {
            diagnostics.warn(
                "no blamed function matches, but other frames do; --frame REGEX keeps records by any frame",
            );
        }
        if self.times.untimed > 0 && self.times.records == 0 {
            diagnostics.error(
                "--time: no record has a time; give the profile itself, or write the stream with cg-parse --times",
            );
        }
        for (kind, option) in &self.missing {
            diagnostics.warn(format!(
                "{option}: there are no {} records; if the input is a stream, write it with cg-parse {option}",
                kind.name()
            ));
        }
        if !self.arcs.has_call_records() && self.held.metadata().any(needs_arcs) {
            diagnostics.error(
                "--caller and --callee need call records, but the stream has none; write it with cg-parse --calls, or give the profile itself",
            );
        }
        let missing = self
            .keys
            .iter()
            .filter(|key_use| key_use.asked > 0 && key_use.found == 0)
            .map(|key_use| &key_use.key)
            .chain(self.ranking.missing_key());
        let events = self.runs.events();
        let is_unknown = |key: &&CountKey| !events.contains(&key.event);
        for key in missing.filter(is_unknown) {
            diagnostics.error(format!(
                "no record has \"{key}\"; the events are {}",
                events.join(", ")
            ));
        }
        let percents = self.options.minimum_percents.iter().map(|least| &least.key);
        for key in percents.filter(is_unknown).filter(|_| !events.is_empty()) {
            diagnostics.error(format!(
                "no run has a total of \"{}\"; the events are {}",
                key.event,
                events.join(", ")
            ));
        }
    }
}

/// Writes `run` records, then the groups in their order, then records that are not ranked, then `end` records. Only kept
/// lines are in memory.
fn write_sorted(
    held: BufferedLines<LineRole>,
    order: &[GroupId],
    is_kept: impl Fn(&LineRole) -> bool,
    output: &mut CountedOutput<'_>,
) -> anyhow::Result<()> {
    let ranks: HashMap<GroupId, usize> = order.iter().copied().zip(1..).collect();
    let mut lines: Vec<((usize, bool), Vec<u8>)> = Vec::new();
    held.replay(is_kept, |role, line| {
        let place = match role {
            LineRole::Run => 0,
            LineRole::Record {
                group: Some(group), ..
            } => ranks.get(group).copied().unwrap_or(order.len()),
            LineRole::Record { group: None, .. } | LineRole::Kept => order.len() + 1,
            LineRole::End => order.len() + 2,
        };
        let is_record = !matches!(role, LineRole::Run | LineRole::End);
        lines.push(((place, is_record), line.to_vec()));
        Ok(())
    })?;
    lines.order_by_key(|((place, _), _)| *place);
    for ((_, is_record), line) in lines {
        output.write(&line, is_record)?;
    }
    Ok(())
}

impl Visitor for Filter<'_> {
    fn line(&mut self, line: Line<'_>) -> Result<(), Error> {
        if !self.missing.is_empty() {
            self.missing.retain(|(kind, _)| *kind != line.kind);
        }
        let role = match line.kind {
            RecordType::Run => {
                if self.options.needs_runs() {
                    let run = line.parse()?;
                    self.times.begin(&run);
                    self.runs.add(run);
                }
                Some(LineRole::Run)
            }
            RecordType::End => Some(LineRole::End),
            _ => self.judge(&line)?,
        };
        match role {
            Some(role) => self.pass(&line, role),
            None => Ok(()),
        }
    }

    fn blank_line(&mut self, raw: &[u8]) -> Result<(), Error> {
        if self.held.is_empty() {
            self.output.write(raw, false)?;
        }
        Ok(())
    }

    fn before_waiting(&mut self) -> Result<(), Error> {
        Ok(self.output.flush()?)
    }
}
