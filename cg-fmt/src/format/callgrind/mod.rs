//! A callgrind file with the functions, lines and calls of a stream, for KCachegrind, callgrind_annotate, gprof2dot,
//! speedscope and cg-parse.
//!
//! The format is described in chapter "Callgrind Format Specification" of Valgrind's manual. The file is written so that all
//! its readers compute the same figures. Each id is defined once. Every function has exactly one block, including functions
//! that are only called. The object, file and name of the callee precede each call. Cost lines have all events. There is one
//! part. `fi=` and `fe=` are written only if there are line records, because some readers do not know them.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use cg_collections::intern::{Id, Texts};
use cg_document::number::plural;
use cg_profile::Profile;
use cg_stream::record::Count;
use cg_stream::visible::visible;
use cg_tool::Diagnostics;

use super::call_graph::{
    DrawnGraph, FunctionNames, GraphArc, GraphFunctionId, GraphSource, RecursionShape,
};
use super::holds::{FormatHolds, Held};
use crate::export::Export;

mod levels;

use levels::{RecursionLevel, levels};

/// The text for an unknown name.
const UNKNOWN: &str = "???";

const HOLDS: FormatHolds = FormatHolds {
    format: "files of Callgrind",
    one_event: false,
    held: &[Held::Files, Held::Lines, Held::Objects],
};

/// Writes functions, lines and calls with all their events, or the requested ones.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let source = GraphSource::new(profile, options, &HOLDS, diagnostics)?;
    let graph = DrawnGraph::build(&source, options, RecursionShape::ByLevel, diagnostics)?;
    // If the graph has levels already, arcs are written unchanged.
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
    file.warn(&graph, diagnostics);
    Ok(())
}

/// For each function, its first level and its deeper levels.
type Levels<'n> = [(RecursionLevel<'n>, Option<RecursionLevel<'n>>)];

/// The state of a file that is being written.
struct CallgrindFile<'n, W: Write> {
    out: W,
    /// True if there are costs of lines.
    has_lines: bool,
    /// True if any function has an object.
    has_objects: bool,
    objects: Ids,
    files: Ids,
    /// The id of each function and the id of its deeper levels, once they are written.
    functions: Vec<[Option<usize>; 2]>,
    /// The number of ids so far.
    numbers: usize,
    /// The object of the last `ob=` line.
    object: Option<&'n str>,
    /// The number of call sites whose line is lost because it is in another file than the function.
    lost_sites: u64,
    /// The number of lines with a negative cost.
    negative: u64,
    /// The number of functions whose deeper levels were computed.
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

    /// Writes the block of a function, or of its deeper levels.
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
            writeln!(self.out, "ob={}", self.objects.number(object)?)?;
            self.object = Some(object);
        }
        let own_file = names.file.unwrap_or(UNKNOWN);
        writeln!(self.out, "fl={}", self.files.number(own_file)?)?;
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
        // callgrind_annotate warns about a source without self cost, so a function without self cost gets a zero cost at the
        // line of its first call.
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
        // A function without costs and calls still needs a block if another function calls it.
        if level.lines.is_empty() && level.arcs.is_empty() && own_file == UNKNOWN {
            writeln!(self.out, "0 {}", LineCosts(&vec![0; graph.columns.len()]))?;
        }
        Ok(())
    }

    /// Returns the id of a function or of its deeper levels, with the name on first use. As in Callgrind, functions with the
    /// same name in two files have two ids.
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

    /// Writes the file of the next lines, if it changes.
    fn position(&mut self, wanted: &'n str, own: &'n str, file: &mut &'n str) -> io::Result<()> {
        if *file != wanted {
            let key = if wanted == own { "fe" } else { "fi" };
            writeln!(self.out, "{key}={}", self.files.number(wanted)?)?;
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
                self.objects.number(callee.obj.unwrap_or(UNKNOWN))?
            )?;
        }
        // Without `cfi=`, some readers assume the file of the caller, and others the file in force. So leave it out only if
        // all three are equal.
        let file_of_callee = callee.file.unwrap_or(UNKNOWN);
        if file_of_callee != own_file || file != own_file {
            writeln!(self.out, "cfi={}", self.files.number(file_of_callee)?)?;
        }
        let is_deeper = enters_deeper(arc.callee, arc, levels);
        let name = self.name((arc.callee.index(), is_deeper), callee);
        writeln!(self.out, "cfn={name}")?;
        writeln!(self.out, "calls={} 0", arc.calls)?;
        writeln!(self.out, "{line} {}", LineCosts(&arc.incl))
    }

    fn warn(&self, graph: &DrawnGraph, diagnostics: &mut Diagnostics) {
        if graph.is_from_stacks {
            diagnostics.warn("the calls are derived from stacks: calls= is the number of stacks");
        }
        if self.deeper > 0 {
            diagnostics.warn(format!(
                "{}: the stream has no costs of recursion levels, so f'2 has the cost beyond the inclusive cost (cg-parse --levels keeps the levels)",
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
                "{} in another file than the function (cg-parse --lines keeps the lines)",
                plural(
                    self.lost_sites.into(),
                    "call site has no line, because it is",
                    "call sites have no line, because they are"
                )
            ));
        }
        let unequal = graph.count_inconsistent_inclusive_costs();
        if graph.has_calls && unequal > 0 {
            diagnostics.warn(format!(
                "inclusive cost differs from the incoming calls for {}, so viewers show another cost: the profile has several parts, or the stream lacks calls",
                plural(unequal as Count, "function", "functions")
            ));
        }
        if graph.addresses > 0 {
            diagnostics.warn("addresses are left out: the file has costs of lines");
        }
        if self.negative > 0 {
            diagnostics.warn(format!(
                "{} negative: KCachegrind reads them as 0",
                plural(self.negative.into(), "cost is", "costs are")
            ));
        }
    }
}

/// Returns true if an arc leads to the callee's deeper levels: its calls cost nothing, so the callee was already active.
fn enters_deeper(callee: GraphFunctionId, arc: &GraphArc, levels: &Levels) -> bool {
    let has_deeper = levels
        .get(callee.index())
        .is_some_and(|(_, deeper)| deeper.is_some());
    has_deeper && arc.calls > 0 && arc.incl.iter().all(|count| *count == 0)
}

cg_collections::ids! {
    struct CompressedId;
}

/// Compressed names: a name is written in full on first use, and later as its number.
#[derive(Default)]
struct Ids(Texts<CompressedId>);

impl Ids {
    /// Returns the number of a name, with the name on first use.
    fn number(&mut self, name: &str) -> io::Result<String> {
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

/// Escapes line breaks in a name. The format allows other control characters.
fn one_line(name: &str) -> Cow<'_, str> {
    match name.contains(['\n', '\r']) {
        true => visible(name),
        false => name.into(),
    }
}

/// Returns the name of an event without blanks.
fn word(event: &str) -> String {
    visible(event)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join("_")
}
