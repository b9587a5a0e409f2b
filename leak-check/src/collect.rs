//! Reads the inputs into [`Evidence`], and says what cannot be judged: a gate must not take silence for "clean".

use std::path::PathBuf;
use std::rc::Rc;

use cg_stream::record::{Count, DiffRecord, ErrorKind, LeakKind, RecordType, RunRecord, Tool};
use cg_stream::rows::{Cells, ErrorRow, KnownIds, LeakRow, Row, RowSink, RowTables, StackRef};
use cg_stream::tool::Diagnostics;
use cg_stream::{Completeness, Framing};

use crate::children::Children;
use crate::finding::{
    Details, ErrorDetails, Evidence, Finding, FindingNote, JudgedProcess, Leak, ProcessId,
};
use crate::reconcile;
use crate::stack::{KnownFrame, KnownStacks, Stack};

/// What is judged although it may not be all there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lenience {
    /// Records without their `run` and `end`, records that were filtered, and logs without a preamble or a summary are
    /// judged for what they show.
    pub(crate) fragments: bool,
    /// Children that may have executed another program are passed over.
    pub(crate) exec: bool,
}

/// Reads all inputs. What keeps them from being judged is told to `diagnostics` as trouble.
///
/// # Errors
/// Only internal ones.
pub(crate) fn collect(
    inputs: &[PathBuf],
    lenience: Lenience,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Evidence> {
    let options = cg_parse::Options::default();
    let mut collector = Collector::new(lenience.fragments);
    for path in inputs {
        let source = if path.as_os_str() == "-" {
            "<stdin>".to_owned()
        } else {
            path.display().to_string()
        };
        collector.begin_input(source);
        let framing = cg_parse::stream::read(path, &options, diagnostics, &mut collector)?;
        collector.end_input(framing, diagnostics);
    }
    let mut evidence = collector.evidence;
    collector
        .children
        .pass_over(lenience.exec, &mut evidence, diagnostics);
    reconcile::add_unprinted(&mut evidence);
    Ok(evidence)
}

struct Collector {
    allow_fragment: bool,
    evidence: Evidence,
    stacks: KnownStacks,
    /// Frames by the ids that the reader of the input gave them.
    known: KnownIds<(), KnownFrame>,
    children: Children,
    source: String,
    /// `None` outside `run` and `end`.
    section: Option<OpenSection>,
    /// Whether the input has anything outside `run` and `end`.
    has_loose_records: bool,
    /// The process of the last record outside `run` and `end`.
    loose: Option<ProcessId>,
    /// What keeps processes of the input from being judged.
    troubles: Vec<String>,
}

/// Tools with an error manager; the others write profiles, in which there is nothing to find.
const JUDGED: [Tool; 4] = [Tool::Memcheck, Tool::Helgrind, Tool::Drd, Tool::Nulgrind];

/// What lies between a `run` and its `end`.
struct OpenSection {
    process: ProcessId,
    records: u64,
    /// The number of `troubles` before it.
    troubles: usize,
}

impl RowSink for Collector {
    fn run(&mut self, run: &RunRecord) -> Result<(), cg_stream::Error> {
        let troubles = self.troubles.len();
        let mut process = self.process_of(run.clone());
        if let Some(reason) = cannot_judge(&process.run) {
            self.troubles.push(format!("{}: {reason}", process.title()));
            process.not_judged = Some(reason);
        }
        self.section = Some(OpenSection {
            process: self.add_process(process),
            records: 0,
            troubles,
        });
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>, tables: &dyn RowTables) -> Result<(), cg_stream::Error> {
        self.known.begin(tables);
        match row {
            Row::Leak(leak) => self.take_leak(leak, tables)?,
            Row::Error(error) => self.take_error(error, tables),
            _ => {}
        }
        self.count_record();
        Ok(())
    }

    fn diff(&mut self, _record: DiffRecord<'_>) -> Result<(), cg_stream::Error> {
        self.count_record();
        Ok(())
    }

    fn end(&mut self, records: u64) -> Result<(), cg_stream::Error> {
        let Some(section) = self.section.take() else {
            self.has_loose_records = true;
            return Ok(());
        };
        let process = &mut self.evidence.processes[section.process.0];
        let is_complete = process.run.process.complete != Some(false);
        // A filter passes `end` on unchanged, so `end` then counts more records than were read.
        let is_filtered = section.records < records;
        process.is_whole = is_complete && !is_filtered;
        if process.is_whole || self.allow_fragment {
            return Ok(());
        }
        let reason = if is_filtered {
            format!(
                "{} of its {records} records were filtered out",
                records - section.records,
            )
        } else if process.facts().quiet {
            "it has no summary, as with -q, so nobody can tell whether it is whole".to_owned()
        } else {
            "its log has no preamble, so nobody can tell what stood above".to_owned()
        };
        self.troubles.push(format!(
            "{}: {reason}; --allow-fragment judges what there is",
            process.title()
        ));
        process.not_judged = Some(reason);
        Ok(())
    }

    /// A process of which nothing but the preamble is known may be a child that need not be judged.
    fn cut(&mut self, why: Option<&str>) -> Result<bool, cg_stream::Error> {
        let Some(section) = self.section.take() else {
            return Ok(false);
        };
        let process = &mut self.evidence.processes[section.process.0];
        process.is_cut = true;
        let Some(why) = why else {
            return Ok(false);
        };
        if !process.facts().only_preamble {
            return Ok(false);
        }
        self.troubles.truncate(section.troubles);
        let child = self.evidence.processes.split_off(section.process.0);
        for process in child {
            self.children.add(process, why);
        }
        Ok(true)
    }

    fn wants(&self, of: RecordType) -> bool {
        matches!(of, RecordType::Leak | RecordType::Error)
    }
}

impl Collector {
    fn new(allow_fragment: bool) -> Collector {
        Collector {
            allow_fragment,
            evidence: Evidence::default(),
            stacks: KnownStacks::default(),
            known: KnownIds::default(),
            children: Children::default(),
            source: String::new(),
            section: None,
            has_loose_records: false,
            loose: None,
            troubles: Vec::new(),
        }
    }

    fn begin_input(&mut self, source: String) {
        self.source = source;
        self.section = None;
        self.has_loose_records = false;
        self.loose = None;
    }

    fn count_record(&mut self) {
        match &mut self.section {
            Some(section) => section.records += 1,
            None => self.has_loose_records = true,
        }
    }

    fn take_leak(
        &mut self,
        leak: &LeakRow<'_>,
        tables: &dyn RowTables,
    ) -> Result<(), cg_stream::Error> {
        let kind = LeakKind::from_word(leak.kind).ok_or_else(|| {
            cg_stream::Error::whole(format!(
                "expected a leak kind (definite, indirect, possible or reachable), found \"{}\"",
                leak.kind
            ))
        })?;
        let [bytes, blocks] = ["bytes", "blocks"].map(|event| self.count(leak.cost, event));
        let finding = Finding {
            process: self.current_process(leak.pid),
            details: Details::Leak(Leak {
                kind,
                bytes,
                blocks,
                indirect_bytes: leak.indirect_bytes,
            }),
            stack: self.stack(leak.stack, tables),
            suppression: leak.suppression.map(Rc::from),
        };
        self.evidence.findings.push(finding);
        Ok(())
    }

    fn take_error(&mut self, error: &ErrorRow<'_>, tables: &dyn RowTables) {
        let notes = error.notes.iter().map(|note| FindingNote {
            what: note.what.map(str::to_owned),
            stack: self.stack(note.stack, tables),
        });
        let notes = notes.collect();
        let finding = Finding {
            process: self.current_process(error.pid),
            stack: self.stack(error.stack, tables),
            suppression: error.suppression.map(Rc::from),
            details: Details::Error(ErrorDetails {
                kind: ErrorKind::from(error.kind),
                what: error.what.to_owned(),
                count: self.count(error.cost, "count"),
                size: error.size,
                address: error.address.map(str::to_owned),
                block: error.block.cloned(),
                thread: error.thread,
                thread_name: error.thread_name.map(str::to_owned),
                notes,
            }),
        };
        self.evidence.findings.push(finding);
    }

    /// The count of an event in a row.
    fn count(&self, cells: Cells<'_>, event: &str) -> Count {
        let section = self.section.as_ref();
        let events = section.map(|section| &self.evidence.process(section.process).run.events);
        cells.get(event, events.map(Vec::as_slice).unwrap_or_default())
    }

    fn stack(&mut self, stack: StackRef<'_>, tables: &dyn RowTables) -> Stack {
        let ids = match stack {
            StackRef::Frames(frames) => return self.stacks.intern(frames),
            StackRef::Ids(ids) => ids,
        };
        for id in ids {
            if self.known.frame(*id).is_none() {
                let frame = self.stacks.frame(&tables.frame(*id));
                self.known.set_frame(*id, frame);
            }
        }
        let frames = ids.iter().filter_map(|id| self.known.frame(*id).cloned());
        self.stacks.of_known(frames)
    }

    /// The process of a record: that of the section, else one for each pid of loose records in a row.
    fn current_process(&mut self, pid: Option<u64>) -> ProcessId {
        if let Some(section) = &self.section {
            return section.process;
        }
        if let Some(id) = self.loose
            && self.evidence.process(id).run.pid == pid
        {
            return id;
        }
        let id = self.add_process(JudgedProcess {
            source: self.source.clone(),
            run: RunRecord {
                pid,
                ..RunRecord::default()
            },
            ..JudgedProcess::default()
        });
        self.loose = Some(id);
        id
    }

    fn add_process(&mut self, process: JudgedProcess) -> ProcessId {
        self.evidence.processes.push(process);
        ProcessId(self.evidence.processes.len() - 1)
    }

    fn process_of(&self, run: RunRecord) -> JudgedProcess {
        // A stream names the input it was parsed from, which says more than "<stdin>".
        let source = match run.source.as_slice() {
            [] => self.source.clone(),
            sources => sources.join(", "),
        };
        JudgedProcess {
            source,
            run,
            ..JudgedProcess::default()
        }
    }

    fn end_input(&mut self, framing: Framing, diagnostics: &mut Diagnostics) {
        for trouble in self.troubles.drain(..) {
            diagnostics.trouble(trouble);
        }
        match framing.completeness() {
            _ if self.has_loose_records && !self.allow_fragment => diagnostics.trouble(format!(
                "{}: a fragment of a stream, without run and end records; --allow-fragment judges it",
                self.source
            )),
            // The reader has said why, unless nothing at all came out of the input.
            Completeness::Empty | Completeness::CutShort if !diagnostics.had_trouble() => {
                diagnostics.trouble(format!("{}: nothing whole to judge", self.source));
            }
            _ => {}
        }
    }
}

/// Why there is nothing to judge in a run of this sort, if so.
fn cannot_judge(run: &RunRecord) -> Option<String> {
    if run.is_diff() {
        return Some("expected the findings of a run, found a comparison of several".to_owned());
    }
    let tool = run.tool.as_ref()?;
    if JUDGED.contains(tool) || tool.is_sanitizer() {
        return None;
    }
    let mut why =
        format!("expected a run of memcheck, helgrind, drd or a sanitizer, found one of {tool}");
    // What these count as not freed may be reachable still, which is no leak to Memcheck; they cannot tell.
    let not_freed = match tool {
        Tool::Heaptrack => "leaked_bytes",
        Tool::Dhat => "end_bytes",
        _ => return Some(why),
    };
    why.push_str(&format!(
        ", which does not tell lost blocks from reachable ones; cg-diff --fail-if '{not_freed}>+0' OLD NEW holds what \
         was not freed to an earlier run"
    ));
    Some(why)
}
