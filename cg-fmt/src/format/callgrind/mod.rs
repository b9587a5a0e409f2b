//! A callgrind file of what a stream has of functions, lines and calls, for KCachegrind, callgrind_annotate, gprof2dot,
//! speedscope and cg-parse.
//!
//! The format is described in chapter "Callgrind Format Specification" of Valgrind's manual. The file is written so
//! that all its readers come to the same figures: each id is defined once, every function has one block and every
//! called function has one, object, file and name of a callee stand before each call, cost lines have all events, and
//! there is one part. `fi=` and `fe=` are only written if there are records of lines, since some readers do not know
//! them.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use cg_document::number::plural;
use cg_stream::intern::{Id, Texts};
use cg_stream::profile::Profile;
use cg_stream::record::Count;
use cg_stream::tool::Diagnostics;
use cg_stream::visible::visible;

use super::call_graph::{
    DrawnGraph, FunctionNames, GraphArc, GraphFunctionId, GraphSource, RecursionShape,
};
use super::holds::{FormatHolds, Held};
use crate::output::Export;

mod levels;

use levels::{RecursionLevel, levels};

/// Stands for an unknown name.
const UNKNOWN: &str = "???";

const HOLDS: FormatHolds = FormatHolds {
    format: "files of Callgrind",
    one_event: false,
    held: &[Held::Files, Held::Lines, Held::Objects],
};

/// Writes functions, lines and calls with all their events, or those that were asked for.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let source = GraphSource::of(profile, options, &HOLDS, diagnostics)?;
    let graph = DrawnGraph::of(&source, options, RecursionShape::ByLevel, diagnostics)?;
    // Where levels are told apart already, arcs are written as they are.
    let recursive = match graph.has_levels() {
        true => vec![false; graph.all().len()],
        false => graph.recursive(),
    };
    let levels: Vec<_> = graph
        .all()
        .zip(recursive)
        .map(|((_, function), is_recursive)| levels(function, is_recursive))
        .collect();
    let mut file = CallgrindFile {
        has_lines: graph.all().any(|(_, function)| !function.lines.is_empty()),
        has_objects: graph.all().any(|(names, _)| names.obj.is_some()),
        out: export.out,
        objects: Ids::default(),
        files: Ids::default(),
        functions: vec![[None; 2]; graph.all().len()],
        numbers: 0,
        object: None,
        lost_sites: 0,
        negative: 0,
        deeper: levels.iter().filter(|(_, deeper)| deeper.is_some()).count() as u64,
    };
    file.header(profile, &graph)?;
    for (position, (names, _)) in graph.all().enumerate() {
        let (first, deeper) = &levels[position];
        file.function((position, false), names, first, &graph, &levels)?;
        if let Some(deeper) = deeper {
            file.function((position, true), names, deeper, &graph, &levels)?;
        }
    }
    writeln!(file.out, "\ntotals: {}", LineCosts(&graph.totals()))?;
    file.out.flush()?;
    file.say(&graph, diagnostics);
    Ok(())
}

/// A function's first level, and its deeper ones.
type Levels<'n> = [(RecursionLevel<'n>, Option<RecursionLevel<'n>>)];

/// The file while it is written.
struct CallgrindFile<'n, W: Write> {
    out: W,
    /// Whether costs are of lines.
    has_lines: bool,
    /// Whether any function has an object.
    has_objects: bool,
    objects: Ids,
    files: Ids,
    /// The id of each function, and that of its deeper levels, once they were written.
    functions: Vec<[Option<usize>; 2]>,
    numbers: usize,
    /// The object that the last `ob=` line named.
    object: Option<&'n str>,
    /// Call sites whose line is in a file that cannot be named.
    lost_sites: u64,
    /// Functions with a negative cost.
    negative: u64,
    /// Functions whose deeper levels are not told by the stream.
    deeper: u64,
}

impl<'n, W: Write> CallgrindFile<'n, W> {
    fn header(&mut self, profile: &Profile, graph: &DrawnGraph) -> io::Result<()> {
        let out = &mut self.out;
        writeln!(out, "# callgrind format\nversion: 1")?;
        writeln!(out, "creator: cg-fmt-{}", env!("CARGO_PKG_VERSION"))?;
        let run = profile.run_record().unwrap_or_default();
        if let Some(pid) = run.pid {
            writeln!(out, "pid: {pid}")?;
        }
        if let Some(command) = &run.command {
            writeln!(out, "cmd: {}", visible(command))?;
        }
        writeln!(out, "positions: line")?;
        for event in &graph.columns {
            let long = run.costs.event_names.get(event);
            match (run.costs.derived.get(event), long) {
                (Some(formula), Some(long)) => {
                    writeln!(out, "event: {} = {formula} : {long}", word(event))?
                }
                (Some(formula), None) => writeln!(out, "event: {} = {formula}", word(event))?,
                (None, Some(long)) => writeln!(out, "event: {} : {long}", word(event))?,
                (None, None) => {}
            }
        }
        let events: Vec<String> = graph.columns.iter().map(|event| word(event)).collect();
        writeln!(out, "events: {}", events.join(" "))?;
        writeln!(out, "summary: {}", LineCosts(&graph.totals()))
    }

    /// The block of a function, or of its deeper levels.
    fn function(
        &mut self,
        position: (usize, bool),
        names: FunctionNames<'n>,
        level: &RecursionLevel<'n>,
        graph: &DrawnGraph<'n>,
        levels: &Levels<'n>,
    ) -> io::Result<()> {
        writeln!(self.out)?;
        let object = names.obj.unwrap_or(UNKNOWN);
        if self.has_objects && self.object != Some(object) {
            writeln!(self.out, "ob={}", self.objects.of(object)?)?;
            self.object = Some(object);
        }
        let own_file = names.file.unwrap_or(UNKNOWN);
        writeln!(self.out, "fl={}", self.files.of(own_file)?)?;
        let name = self.name(position, names);
        writeln!(self.out, "fn={name}")?;
        let mut file = own_file;
        for line in &level.lines {
            if self.has_lines {
                self.position(line.file.unwrap_or(own_file), own_file, &mut file)?;
            }
            self.negative += u64::from(line.cost.iter().any(|count| *count < 0));
            writeln!(self.out, "{} {}", line.line, LineCosts(&line.cost))?;
        }
        // callgrind_annotate warns of a source in which nothing costs anything by itself, so what costs nothing does so
        // where it calls.
        let calls = level
            .arcs
            .iter()
            .filter(|arc| arc.site.is_none() && arc.line > 0);
        if let Some(line) = calls.map(|arc| arc.line).next()
            && level.lines.is_empty()
        {
            writeln!(
                self.out,
                "{line} {}",
                LineCosts(&vec![0; graph.columns.len()])
            )?;
        }
        for arc in &level.arcs {
            let line = match arc.site {
                Some(site) if self.has_lines => {
                    self.position(site, own_file, &mut file)?;
                    arc.line
                }
                Some(_) => {
                    self.lost_sites += 1;
                    0
                }
                None => {
                    self.position(own_file, own_file, &mut file)?;
                    arc.line
                }
            };
            self.call(arc, line, [own_file, file], graph, levels)?;
        }
        // A function without costs and calls is there all the same: somebody calls it.
        if level.lines.is_empty() && level.arcs.is_empty() && own_file == UNKNOWN {
            writeln!(self.out, "0 {}", LineCosts(&vec![0; graph.columns.len()]))?;
        }
        Ok(())
    }

    /// The id of a function or of its deeper levels, with the name on first use. As in Callgrind, functions of one name
    /// in two files have two ids.
    fn name(&mut self, (position, is_deeper): (usize, bool), names: FunctionNames) -> String {
        let number = &mut self.functions[position][usize::from(is_deeper)];
        match *number {
            Some(number) => format!("({number})"),
            None => {
                self.numbers += 1;
                *number = Some(self.numbers);
                let name = one_line(names.name.unwrap_or(UNKNOWN));
                let level = match names.outer_levels + usize::from(is_deeper) {
                    0 => String::new(),
                    outer => format!("'{}", outer + 1),
                };
                format!("({}) {name}{level}", self.numbers)
            }
        }
    }

    /// Says which file the next lines are in.
    fn position(&mut self, wanted: &'n str, own: &'n str, file: &mut &'n str) -> io::Result<()> {
        if *file != wanted {
            let key = if wanted == own { "fe" } else { "fi" };
            writeln!(self.out, "{key}={}", self.files.of(wanted)?)?;
            *file = wanted;
        }
        Ok(())
    }

    fn call(
        &mut self,
        arc: &GraphArc<'n>,
        line: u64,
        [own_file, file]: [&str; 2],
        graph: &DrawnGraph<'n>,
        levels: &Levels<'n>,
    ) -> io::Result<()> {
        let callee = graph.names(arc.callee);
        if self.has_objects {
            writeln!(
                self.out,
                "cob={}",
                self.objects.of(callee.obj.unwrap_or(UNKNOWN))?
            )?;
        }
        // Left out, it is the file of the caller for some readers, for others that in force, and for callgrind_annotate as
        // it names them relative to its folder.
        let file_of_callee = callee.file.unwrap_or(UNKNOWN);
        if file_of_callee != own_file || file != own_file {
            writeln!(self.out, "cfi={}", self.files.of(file_of_callee)?)?;
        }
        let is_deeper = enters_deeper(arc.callee, arc, levels);
        let name = self.name((arc.callee.index(), is_deeper), callee);
        writeln!(self.out, "cfn={name}")?;
        writeln!(self.out, "calls={} 0", arc.calls)?;
        writeln!(self.out, "{line} {}", LineCosts(&arc.incl))
    }

    fn say(&self, graph: &DrawnGraph, diagnostics: &mut Diagnostics) {
        if graph.is_of_stacks {
            diagnostics
                .warn("the calls are those of stacks: calls= says how many stacks have them");
        }
        if self.deeper > 0 {
            diagnostics.warn(format!(
                "{}: how its cost divides into levels is not in the stream, so f'2 has what exceeds the inclusive cost (the profile itself, or cg-parse --levels, has it)",
                plural(self.deeper.into(), "function is recursive", "functions are recursive")
            ));
        }
        if !graph.has_calls {
            diagnostics.warn(
                "there are no records of calls, so inclusive cost is self cost (cg-parse --calls adds them)",
            );
        }
        if self.lost_sites > 0 {
            diagnostics.warn(format!(
                "{} in another file than its function's without a line (cg-parse --lines keeps it)",
                plural(self.lost_sites.into(), "call site", "call sites")
            ));
        }
        let unequal = graph.with_other_inclusive_cost();
        if graph.has_calls && unequal > 0 {
            diagnostics.warn(format!(
                "{} than the calls into it sum to, so viewers show less or more: it is of several parts, or of a stream that lacks calls",
                plural(unequal as Count, "function has another inclusive cost", "functions have another inclusive cost")
            ));
        }
        if graph.addresses > 0 {
            diagnostics.warn("addresses are left out: costs are of lines");
        }
        if self.negative > 0 {
            diagnostics.warn(format!(
                "{} negative: KCachegrind reads them as 0",
                plural(self.negative.into(), "cost is", "costs are")
            ));
        }
    }
}

/// Whether an arc leads to the callee's deeper levels: its calls cost nothing, so the callee was active already.
fn enters_deeper(callee: GraphFunctionId, arc: &GraphArc, levels: &Levels) -> bool {
    let has_deeper = levels
        .get(callee.index())
        .is_some_and(|(_, deeper)| deeper.is_some());
    has_deeper && arc.calls > 0 && arc.incl.iter().all(|count| *count == 0)
}

cg_stream::ids! {
    struct CompressedId;
}

/// Compressed names: a name is written in full once, and from then on as its number.
#[derive(Default)]
struct Ids(Texts<CompressedId>);

impl Ids {
    /// The number of a name, with the name on first use.
    fn of(&mut self, name: &str) -> io::Result<String> {
        let known = self.0.len();
        let number = self.0.intern(name).map_err(io::Error::other)?.index() + 1;
        Ok(match self.0.len() > known {
            true => format!("({number}) {}", one_line(name)),
            false => format!("({number})"),
        })
    }
}

/// The counts of a line.
struct LineCosts<'c>(&'c [Count]);

impl fmt::Display for LineCosts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, count) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{count}")?;
        }
        Ok(())
    }
}

/// A name without line breaks; the format allows other control characters.
fn one_line(name: &str) -> Cow<'_, str> {
    match name.contains(['\n', '\r']) {
        true => visible(name),
        false => name.into(),
    }
}

/// The name of an event as a word.
fn word(event: &str) -> String {
    visible(event)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join("_")
}
