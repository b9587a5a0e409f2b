//! Reads the inputs and passes on what is kept.
//!
//! A line whose fate is known goes out at once, byte for byte, so a live pipe stays live. Where it is known only at the
//! end of the input (`--top`, `--threshold`, `--sort`, and functions under `--caller` and `--callee`) lines wait in
//! [`Held`], with all that follow them, so that the order stays.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cg_parse::stream::{self, Visitor};
use cg_stream::record::{Count, RecordType};
use cg_stream::sorting::Order as _;
use cg_stream::tool::{Diagnostics, Outcome};
use cg_stream::{Error, Line};

use crate::arcs::{ArcFunctionId, NeighbourFunctions};
use crate::count::{CountKey, Minimum, MinimumChange, MinimumPercent};
use crate::hold::Held;
use crate::predicate::{Match, NamePredicates, Types};
use crate::rank::{GroupId, Ranking, Selection};
use crate::record::RecordFields;

mod output;
pub(crate) mod runs;

use output::CountedOutput;
use runs::RunFigures;

/// What is to be kept. The default keeps everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) types: Types,
    /// Which records of raw profiles are wanted by name.
    pub(crate) records: cg_parse::Options,
    pub(crate) names: NamePredicates,
    pub(crate) minimums: Vec<Minimum>,
    pub(crate) minimum_percents: Vec<MinimumPercent>,
    pub(crate) minimum_changes: Vec<MinimumChange>,
    pub(crate) selection: Selection,
    pub(crate) sort: Option<CountKey>,
    pub(crate) exit_status: bool,
    pub(crate) prints: Prints,
}

/// What is printed of what is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Prints {
    /// The stream.
    #[default]
    Records,
    /// How many records, of each input.
    Counts,
    /// The names of the inputs that have any.
    Names,
}

impl Options {
    /// Whether records have to be ranked.
    fn ranks(&self) -> bool {
        self.sort.is_some() || !matches!(self.selection, Selection::All)
    }

    /// Whether `run` records have to be understood.
    fn ask_runs(&self) -> bool {
        self.ranks()
            || !self.minimums.is_empty()
            || !self.minimum_percents.is_empty()
            || !self.minimum_changes.is_empty()
    }

    /// How a raw profile is to be parsed: with the records that are asked for.
    fn parse_options(&self) -> cg_parse::Options {
        let asked = &self.records;
        // Stacks stand instead of calls and lines.
        let stacks = asked.stacks || self.types.are_only("stack");
        cg_parse::Options {
            calls: !stacks && (asked.calls || self.names.ask_arcs() || self.types.names("call")),
            lines: !stacks && (asked.lines || self.types.names("line")),
            stacks,
            ..asked.clone()
        }
    }

    /// The records that options ask for by name, and these options.
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

/// Passes on the records of all inputs that are to be kept.
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

/// A line on an input, as grep writes it.
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
    arcs: NeighbourFunctions,
    ranking: Ranking,
    candidates: Vec<PendingRecord>,
    held: Held<LineRole>,
    /// For each key that a condition names: whether any record or run has it.
    keys: Vec<KeyUse>,
    /// Whether a record passed. Until one does, dropped records are searched for names that only their frames have.
    has_passed: bool,
    /// Some record that was dropped has a frame that REGEX matches.
    would_match_frame: bool,
    /// Of the record types that options ask for, those that did not come by yet.
    missing: Vec<(RecordType, &'static str)>,
}

/// What is known of a line that waits.
enum LineRole {
    Run,
    End,
    /// It is kept whatever becomes of the others.
    Kept,
    Record {
        function: Option<ArcFunctionId>,
        group: Option<GroupId>,
    },
}

/// A record to be ranked if its function turns out to have the callers and callees that are asked for.
struct PendingRecord {
    function: ArcFunctionId,
    group: GroupId,
    cost: Count,
}

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
            arcs: NeighbourFunctions::default(),
            candidates: Vec::new(),
            held: Held::new(),
            keys,
            has_passed: false,
            would_match_frame: false,
        }
    }

    /// Judges a record by itself; `None` where it is dropped.
    fn judge(&mut self, line: &Line<'_>) -> Result<Option<LineRole>, Error> {
        let mut record = RecordFields::new(*line)?;
        let kind = record.kind()?;
        if kind == RecordType::Call && self.options.names.ask_arcs() {
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
            Match::AskArcs => {
                let is_line = kind == RecordType::Line;
                Some(self.arcs.function(&mut record, is_line)?)
            }
        };
        if !self.reaches_minimums(&mut record, line.number)? {
            return Ok(None);
        }
        let mut group = None;
        if self.options.ranks() {
            let is_diff = line.kind == RecordType::Diff;
            let ranked = self.ranking.group(&mut record, kind, is_diff, &self.runs)?;
            group = ranked.map(|(group, _)| group);
            match (ranked, function) {
                (Some((group, cost)), Some(function)) => self.candidates.push(PendingRecord {
                    function,
                    group,
                    cost,
                }),
                (Some((group, cost)), None) => self.ranking.add(group, cost),
                (None, _) => {}
            }
        }
        self.has_passed = true;
        Ok(Some(match (function, group) {
            (None, None) => LineRole::Kept,
            (function, group) => LineRole::Record { function, group },
        }))
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
        let mut count_of =
            |record: &mut RecordFields<'_>, key: &CountKey| -> Result<Count, Error> {
                let count = key.find(record)?;
                note(count.is_some());
                Ok(count.unwrap_or(0))
            };
        let mut all_reached = true;
        for Minimum { key, least } in &self.options.minimums {
            all_reached &= count_of(record, key)? >= *least;
        }
        for MinimumPercent { key, least } in &self.options.minimum_percents {
            let count = count_of(record, key)?;
            let total = self.runs.current_total(&key.event).ok_or_else(|| {
                Error::at(
                    line_number,
                    "expected a run record before this one: --min-percent needs its total",
                )
            })?;
            // 0 of 0 reaches no percentage.
            all_reached &= least.is_reached(count, total) && (count, total) != (0, 0);
        }
        for minimum in &self.options.minimum_changes {
            let change = minimum.key.find_change(record)?;
            note(change.is_some());
            all_reached &= change.is_some_and(|change| minimum.is_reached(change));
        }
        Ok(all_reached)
    }

    /// Lets a line go, or wait behind those that wait already.
    fn pass(&mut self, line: &Line<'_>, role: LineRole) -> Result<(), Error> {
        let can_wait = self.options.ranks() || matches!(role, LineRole::Record { .. });
        if can_wait || !self.held.is_empty() {
            return Ok(self.held.push(line.raw, role)?);
        }
        let is_record = matches!(role, LineRole::Kept);
        self.output.write(line.raw, is_record)?;
        Ok(())
    }

    /// Writes what waited, and returns how many records were kept.
    fn finish(mut self, diagnostics: &mut Diagnostics) -> anyhow::Result<u64> {
        self.complain(diagnostics);
        let (options, arcs, held) = (&self.options, &self.arcs, self.held);
        let is_matched = |function: ArcFunctionId| {
            let matched = arcs.match_function(function, &options.names);
            options.names.verdict(matched) == Match::Keep
        };
        for candidate in &self.candidates {
            if is_matched(candidate.function) {
                self.ranking.add(candidate.group, candidate.cost);
            }
        }
        let order = self.ranking.choose(options.selection, &self.runs);
        let ranking = &self.ranking;
        let is_kept = |role: &LineRole| match role {
            LineRole::Record { function, group } => {
                function.is_none_or(is_matched)
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

    /// Says which conditions could not be judged by what was read.
    fn complain(&self, diagnostics: &mut Diagnostics) {
        let asks_arcs = |role: &LineRole| match role {
            LineRole::Record { function, .. } => function.is_some(),
            _ => false,
        };
        if !self.has_passed && self.would_match_frame {
            diagnostics.warn(
                "no function to blame matches, but other frames do: --frame REGEX keeps records by any frame",
            );
        }
        for (kind, option) in &self.missing {
            diagnostics.warn(format!(
                "{option}: there are no {} records; a stream has those that it was written with (cg-parse {option})",
                kind.name()
            ));
        }
        if !self.arcs.is_any_known() && self.held.known().any(asks_arcs) {
            diagnostics.trouble(
                "--caller and --callee need call records, and the stream has none: write them with cg-parse --calls, or name the profile itself",
            );
        }
        let missing = self
            .keys
            .iter()
            .filter(|key_use| key_use.asked > 0 && key_use.found == 0)
            .map(|key_use| &key_use.key)
            .chain(self.ranking.missing_key());
        let events = self.runs.events();
        let is_no_event = |key: &&CountKey| !events.contains(&key.event);
        for key in missing.filter(is_no_event) {
            diagnostics.trouble(format!(
                "no record has \"{key}\"; the events are {}",
                events.join(", ")
            ));
        }
        let percents = self.options.minimum_percents.iter().map(|least| &least.key);
        for key in percents.filter(is_no_event).filter(|_| !events.is_empty()) {
            diagnostics.trouble(format!(
                "no run has a total of \"{}\"; the events are {}",
                key.event,
                events.join(", ")
            ));
        }
    }
}

/// Writes `run` records, then groups in their order, then what is not ranked, then `end` records. Only what is kept is
/// in memory.
fn write_sorted(
    held: Held<LineRole>,
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
                if self.options.ask_runs() {
                    self.runs.add(line.parse()?);
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
