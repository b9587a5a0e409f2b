//! Reads the inputs into [`Evidence`]. Reports inputs that cannot be judged, because silence must not count as clean.

use std::path::PathBuf;
use std::rc::Rc;

use cg_document::number::plural;
use cg_stream::record::{Count, DiffRecord, ErrorKind, LeakKind, RecordType, RunRecord, Tool};
use cg_stream::rows::{Cells, ErrorRow, KnownIds, LeakRow, Row, RowSink, RowTables, StackRef};
use cg_stream::{Completeness, Framing};
use cg_tool::Diagnostics;

use crate::children::Children;
use crate::finding::{
    Details, ErrorDetails, Evidence, Finding, FindingNote, JudgedProcess, Leak, ProcessId,
};
use crate::reconcile;
use crate::stack::{KnownFrame, KnownStacks, Stack};

/// Incomplete inputs to accept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lenience {
    /// True to accept records without `run` and `end`, filtered records, and logs without a preamble or a summary.
    pub(crate) fragments: bool,
    /// True to skip children that may have executed another program.
    pub(crate) exec: bool,
    /// The exit status of the job that wrote the inputs. With 0, an input needs no report.
    pub(crate) job_status: Option<u8>,
}

/// Reads all inputs. Reports as an error in `diagnostics` whatever prevents a judgement.
///
/// # Errors
/// Returns only internal errors.
pub(crate) fn collect(
    inputs: &[PathBuf],
    lenience: Lenience,
    options: &cg_parse::Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Evidence> {
    let mut collector = Collector::new(lenience.fragments);
    for path in inputs {
        let source = if path.as_os_str() == "-" {
            "<stdin>".to_owned()
        } else {
            path.display().to_string()
        };
        collector.begin_input(source);
        let Some(status) = lenience.job_status else {
            let framing = cg_parse::stream::read(path, options, diagnostics, &mut collector)?;
            collector.end_input(framing, diagnostics);
            continue;
        };
        let errors_before = diagnostics.errors().len();
        // Only an empty directory is left among the inputs.
        let framing = match path.is_dir() {
            true => Framing::default(),
            false => cg_parse::stream::read_job_output(path, options, diagnostics, &mut collector)?,
        };
        let is_read = diagnostics.errors().len() == errors_before;
        match framing.completeness() {
            Completeness::Empty if is_read => collector.without_report(status, diagnostics),
            _ => collector.end_input(framing, diagnostics),
        }
    }
    let mut evidence = collector.evidence;
    collector
        .children
        .skip_or_report(lenience.exec, &mut evidence, diagnostics);
    reconcile::add_unprinted(&mut evidence);
    Ok(evidence)
}

struct Collector {
    allow_fragment: bool,
    evidence: Evidence,
    stacks: KnownStacks,
    /// Frames by the reader's ids.
    known: KnownIds<(), KnownFrame>,
    children: Children,
    source: String,
    /// `None` outside `run` and `end`.
    section: Option<OpenSection>,
    /// True if the input has a record outside `run` and `end`.
    has_loose_records: bool,
    /// The process of the last record outside `run` and `end`.
    loose: Option<ProcessId>,
    /// The reasons why processes of the input cannot be judged.
    errors: Vec<String>,
}

/// Tools with an error manager. The others write profiles, which contain no findings.
const JUDGED: [Tool; 4] = [Tool::Memcheck, Tool::Helgrind, Tool::Drd, Tool::Nulgrind];

/// The section between a `run` record and its `end` record.
struct OpenSection {
    process: ProcessId,
    records: u64,
    /// The number of `errors` before the section.
    errors_before: usize,
}

impl RowSink for Collector {
    fn run(&mut self, run: &RunRecord) -> Result<(), cg_stream::Error> {
        let errors_before = self.errors.len();
        let mut process = self.new_process(run.clone());
        if let Some(reason) = reason_not_to_judge(&process.run) {
            self.errors.push(format!("{}: {reason}", process.title()));
            process.not_judged = Some(reason);
        }
        self.section = Some(OpenSection {
            process: self.add_process(process),
            records: 0,
            errors_before,
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
        // A filter does not change `end`, so after a filter `end` counts more records than were read.
        let is_filtered = section.records < records;
        process.is_whole = is_complete && !is_filtered;
        if process.is_whole || self.allow_fragment {
            return Ok(());
        }
        let reason = if is_filtered {
            format!(
                "{} filtered out, of {records}",
                plural(
                    (records - section.records).into(),
                    "record was",
                    "records were"
                ),
            )
        } else if process.facts().quiet {
            "the log has no summary (Valgrind -q) and may be truncated".to_owned()
        } else {
            "the log has no preamble, so its beginning is missing".to_owned()
        };
        self.errors.push(format!(
            "{}: {reason}; --allow-fragment accepts it",
            process.title()
        ));
        process.not_judged = Some(reason);
        Ok(())
    }

    /// Sets aside a process whose log has only a preamble: it may be a child that need not be judged.
    fn cut(&mut self, why: Option<&str>) -> Result<bool, cg_stream::Error> {
        let Some(section) = self.section.take() else {
            return Ok(false);
        };
        let process = &mut self.evidence.processes[section.process.0];
        process.is_cut = true;
        let reason = why.unwrap_or("its stream is truncated");
        process.not_judged.get_or_insert_with(|| reason.to_owned());
        let Some(why) = why else {
            return Ok(false);
        };
        if !process.facts().only_preamble {
            return Ok(false);
        }
        self.errors.truncate(section.errors_before);
        let child = self.evidence.processes.split_off(section.process.0);
        for process in child {
            self.children.add(process, why);
        }
        Ok(true)
    }

    fn wants(&self, record_type: RecordType) -> bool {
        matches!(record_type, RecordType::Leak | RecordType::Error)
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
            errors: Vec::new(),
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
                earlier_search: leak.earlier_search,
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

    /// Returns the count of an event in a row.
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
        self.stacks.intern_frames(frames)
    }

    /// Returns the process of a record. Outside a section, consecutive records with the same pid share a process.
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

    fn new_process(&self, run: RunRecord) -> JudgedProcess {
        // A stream names its original input, which is more useful than "<stdin>".
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

    /// Ends an input without a report. Only a job that succeeded shows that there was nothing to report.
    fn without_report(&mut self, job_status: u8, diagnostics: &mut Diagnostics) {
        if job_status == 0 {
            self.evidence.without_report.push(self.source.clone());
            return;
        }
        diagnostics.error(format!(
            "{}: no report, but the exit status of the job is {job_status} (--job-status): find out why the job failed",
            self.source
        ));
    }

    fn end_input(&mut self, framing: Framing, diagnostics: &mut Diagnostics) {
        for error in self.errors.drain(..) {
            diagnostics.error(error);
        }
        match framing.completeness() {
            _ if self.has_loose_records && !self.allow_fragment => {
                if let Some(loose) = self.loose {
                    let reason = "its records are outside run and end records".to_owned();
                    self.evidence.processes[loose.0].not_judged = Some(reason);
                }
                diagnostics.error(format!(
                    "{}: the stream has records outside run and end records; --allow-fragment accepts it",
                    self.source
                ));
            }
            // The reader has already reported the reason, unless the input has no records at all.
            Completeness::Empty | Completeness::CutShort if !diagnostics.has_errors() => {
                diagnostics.error(format!(
                    "{}: the input has no complete run to judge",
                    self.source
                ));
            }
            _ => {}
        }
    }
}

/// Returns the reason why leak-check cannot judge this kind of run; `None` if it can.
fn reason_not_to_judge(run: &RunRecord) -> Option<String> {
    if run.is_diff() {
        return Some("expected the findings of one run, found a comparison of runs".to_owned());
    }
    let tool = run.tool.as_ref()?;
    if JUDGED.contains(tool) || tool.is_sanitizer() {
        return None;
    }
    let mut reason =
        format!("expected a run of memcheck, helgrind, drd or a sanitizer, found one of {tool}");
    // These tools do not distinguish lost blocks from reachable blocks, which are not leaks to Memcheck.
    let not_freed = match tool {
        Tool::Heaptrack => "leaked_bytes",
        Tool::Dhat => "end_bytes",
        _ => return Some(reason),
    };
    reason.push_str(&format!(
        ", which does not distinguish lost blocks from reachable blocks; \
         cg-diff --fail-if '{not_freed}>+0' OLD NEW compares unfreed memory with an earlier run"
    ));
    Some(reason)
}
