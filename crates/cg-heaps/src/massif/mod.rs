//! Massif's snapshots: `massif.out.PID`, the `.ms` files of `--xtree-memory`, and the Massif export of heaptrack.
//!
//! Valgrind writes them in `massif/ms_main.c` and `coregrind/m_xtree.c` (manual, section 9.2.8). The grammar in use:
//!
//! ```text
//! file     := header snapshot*                heaptrack writes its header last
//! header   := "desc: " text "\n" "cmd: " text "\n" "time_unit: " ("i" | "ms" | "B" | "s") "\n"
//! snapshot := "snapshot=" n "time=" t "mem_heap_B=" n "mem_heap_extra_B=" n "mem_stacks_B=" n
//!             "heap_tree=" ("empty" | ("detailed" | "peak") tree)         each on a separate line
//! tree     := " "{depth} "n" children ": " bytes " " description "\n" tree{children}
//! ```
//!
//! Files that were concatenated with `cat` are read separately: a second header ends a file, and so does a snapshot after
//! heaptrack's header.
//!
//! Blank lines and lines that begin with `#` are separators. `ms_print` removes the text after any `#`, even in a name, and
//! this parser does not. The file contains the command unchanged, so its arguments may contain line breaks. `ms_print` fails
//! at such line breaks.
//!
//! A `run` record contains the total of the `heap` records after it, and the peak snapshot is unknown until its mark is
//! read. Therefore the text of trees that may be requested is kept until the end. All other trees are only checked, so
//! memory grows with the largest tree. For all snapshots, the trees are kept in a temporary file.

use std::mem;

use cg_names::frame_text::FrameText;
use cg_reader::{Error, Lines, Options, Out, Reading, Snapshots};
use cg_stream::Diagnostics;
use cg_stream::record::{Count, Counts, Description, Name, RunRecord, Total};
use cg_stream::rows::{NoTables, Row};

mod kept;
mod shape;
mod snapshot;
mod tree;

use kept::KeptTrees;
use snapshot::Snapshot;

/// The events of trees. Every run has bytes. Some snapshots of an xtree file count blocks.
const EVENTS: [&str; 2] = ["bytes", "blocks"];

/// Returns true for a line that occurs only in Massif's files.
pub fn is_header_line(line: &[u8]) -> bool {
    if let Some(number) = line.strip_prefix(b"snapshot=") {
        return !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    }
    let unit = line.strip_prefix(b"time_unit:").map(<[u8]>::trim_ascii);
    matches!(unit, Some(b"i" | b"ms" | b"B"))
}

/// Reads Massif's snapshots: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut is_begun = false;
    loop {
        let mut massif = Massif::new(reading.options);
        let read = massif.read(reading.lines, is_begun);
        if massif.snapshots.is_empty() {
            read?;
            return Err(Error::whole(
                "expected a snapshot= line, found none: the file is cut short",
            ));
        }
        let has_wanted_tree = !massif.kept.is_empty();
        let adds_up = massif.write(reading.source, reading.out, reading.diagnostics)?;
        is_begun = read?;
        if let Snapshots::Number(number) = reading.options.snapshots
            && !has_wanted_tree
        {
            reading.error(massif.no_tree(number));
        }
        if adds_up {
            reading.out.end()?;
        } else {
            reading.out.cut(None)?;
        }
        if !is_begun {
            return Ok(());
        }
    }
}

/// The part of a file that has been read.
struct Massif {
    described: FrameText,
    desc: Option<String>,
    /// True if the header follows the snapshots. heaptrack writes it there.
    has_header_last: bool,
    command: Option<String>,
    time_unit: Option<String>,
    /// The complete snapshots.
    snapshots: Vec<Snapshot>,
    kept: KeptTrees,
}

impl Massif {
    fn new(options: &Options) -> Massif {
        Massif {
            described: FrameText {
                has_column: false,
                demangle: options.demangle,
            },
            desc: None,
            has_header_last: false,
            command: None,
            time_unit: None,
            snapshots: Vec::new(),
            kept: KeptTrees::new(options.snapshots),
        }
    }

    /// Reads to the end of the file or to the first invalid line. If `is_begun` is true, begins with the current line, at
    /// which the previous file ended. Returns true if another file begins at the current line.
    fn read(&mut self, lines: &mut Lines, mut is_begun: bool) -> Result<bool, Error> {
        let mut after_separator = false;
        while mem::take(&mut is_begun) || lines.advance().map_err(Error::Input)? {
            let line = lines.last_line();
            if self.continue_command(line) {
                continue;
            }
            if is_separator(line) {
                after_separator |= line.starts_with(b"#---");
                continue;
            }
            after_separator = false;
            if let Some(number) = line.strip_prefix(b"snapshot=") {
                let number = snapshot::number(number, "snapshot=", lines.line_number())?;
                if self.has_header_last {
                    return Ok(true);
                }
                let snapshot = Snapshot::read(number, lines, &mut self.kept)?;
                self.snapshots.push(snapshot);
            } else if let Some(text) = header_value(line, b"desc:") {
                if self.desc.is_some() && !self.snapshots.is_empty() {
                    return Ok(true);
                }
                self.has_header_last = !self.snapshots.is_empty();
                self.desc = Some(text);
            } else if let Some(text) = header_value(line, b"cmd:") {
                self.command = Some(text);
            } else if let Some(text) = header_value(line, b"time_unit:") {
                self.time_unit = Some(text);
            } else {
                return Err(snapshot::unexpected("a snapshot= line", lines));
            }
        }
        if after_separator {
            return Err(snapshot::cut_short("a snapshot= line", lines));
        }
        Ok(false)
    }

    /// Adds the line to the command, whose arguments may contain line breaks. Returns false if the line is not part of the
    /// command. The command ends at `time_unit:`, or at a snapshot if that line is missing.
    fn continue_command(&mut self, line: &[u8]) -> bool {
        let Some(command) = &mut self.command else {
            return false;
        };
        let ends = [&b"time_unit:"[..], b"#-----------", b"snapshot="];
        if self.time_unit.is_some() || ends.iter().any(|end| line.starts_with(end)) {
            return false;
        }
        command.push('\n');
        command.push_str(&Name::from_bytes(line));
        true
    }

    /// Writes all records except `end`. Returns false if figures do not add up.
    fn write(
        &mut self,
        source: &str,
        out: &mut Out,
        diagnostics: &mut Diagnostics,
    ) -> Result<bool, Error> {
        out.run(&self.run_record(source)?)?;
        let mut adds_up = true;
        let mut text = Vec::new();
        for (index, snapshot) in self.snapshots.iter().enumerate() {
            if let Some(tree) = &snapshot.tree
                && tree.bytes != snapshot.record.heap_bytes
            {
                adds_up = false;
                diagnostics.error(format!(
                    "{source}:{}: the tree of snapshot {} sums to {}, but its mem_heap_B is {}",
                    tree.line, snapshot.record.snapshot, tree.bytes, snapshot.record.heap_bytes
                ));
            }
            out.row(Row::Snapshot(&snapshot.record), &NoTables)?;
            if self.kept.take(index, &mut text).map_err(Error::Input)? {
                adds_up &=
                    tree::write_records(&text, source, snapshot, self.described, out, diagnostics)?;
            }
        }
        Ok(adds_up)
    }

    fn run_record(&self, source: &str) -> Result<RunRecord, Error> {
        let mut run = RunRecord::new("massif");
        run.creator = self
            .desc
            .as_deref()
            .filter(|desc| matches!(*desc, "heaptrack" | "xtree.produce_report"))
            .map(str::to_owned);
        run.command = self.command.clone();
        run.source = vec![source.to_owned()];
        let mut total: Vec<Count> = vec![0];
        for index in self.kept.indexes() {
            let Some(tree) = &self.snapshots[index].tree else {
                continue;
            };
            let event = self.snapshots[index].event();
            total.resize(total.len().max(event + 1), 0);
            total[event] += Count::from(tree.bytes);
        }
        let sums = || EVENTS.into_iter().zip(total.iter().copied());
        if let Some((event, _)) = sums().find(|(_, sum)| u64::try_from(*sum).is_err()) {
            return Err(Error::whole(format!(
                "the sum of {event} over the snapshots does not fit in 64 bits"
            )));
        }
        run.events = sums().map(|(event, _)| event.to_owned()).collect();
        let total = sums().map(|(event, count)| (Name::from(event), count));
        run.total = Total::One(Counts(total.collect()));
        let desc = self.desc.clone().filter(|text| text != "(none)");
        run.desc = desc.map(Description::Text);
        run.time_unit.clone_from(&self.time_unit);
        Ok(run)
    }

    /// Returns the error message for a requested snapshot without a tree. Lists the snapshots with a tree.
    fn no_tree(&self, number: u64) -> String {
        let problem = if self
            .snapshots
            .iter()
            .any(|snapshot| snapshot.record.snapshot == number)
        {
            format!("snapshot {number} has no tree")
        } else {
            format!("there is no snapshot {number}")
        };
        let detailed: Vec<String> = self
            .snapshots
            .iter()
            .filter(|snapshot| snapshot.tree.is_some())
            .map(|snapshot| snapshot.record.snapshot.to_string())
            .collect();
        if detailed.is_empty() {
            format!("{problem}; no snapshot has a tree")
        } else {
            format!("{problem}; snapshots with a tree: {}", detailed.join(", "))
        }
    }
}

/// Returns the text after the key of a header line.
fn header_value(line: &[u8], key: &[u8]) -> Option<String> {
    let text = line.strip_prefix(key)?;
    let text = text.strip_prefix(b" ").unwrap_or(text);
    Some(Name::from_bytes(text).into_string())
}

/// Returns true for a separator line.
fn is_separator(line: &[u8]) -> bool {
    line.trim_ascii_start()
        .first()
        .is_none_or(|byte| *byte == b'#')
}

#[cfg(test)]
mod tests;
