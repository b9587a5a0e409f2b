//! Reads the inputs into [`Evidence`], and says what cannot be judged: a gate must not take silence for "clean".

use std::path::PathBuf;
use std::rc::Rc;

use cg_parse::findings::{Described, FoundError, FoundLeak, ProcessFindings, StackId};
use cg_parse::stream::Visitor;
use cg_stream::intern::Id as _;
use cg_stream::record::{
    EndRecord, ErrorKind, ErrorRecord, LeakKind, LeakRecord, RecordType, RunRecord, Tool,
};
use cg_stream::tool::Diagnostics;
use cg_stream::{Completeness, Framing, Line};

use crate::children::Children;
use crate::finding::{
    Details, ErrorDetails, Evidence, Finding, FindingNote, JudgedProcess, Leak, ProcessId,
};
use crate::reconcile;
use crate::stack::{KnownFrame, KnownStacks, Stack};

/// Reads all inputs. What keeps them from being judged is told to `diagnostics` as trouble.
///
/// With `allow_fragment`, records without their `run` and `end`, records that were filtered, and logs without a
/// summary are judged for what they show.
///
/// # Errors
/// Only internal ones.
pub(crate) fn collect(
    inputs: &[PathBuf],
    allow_fragment: bool,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Evidence> {
    let options = cg_parse::Options::default();
    let mut collector = Collector::new(allow_fragment);
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
    collector.children.pass_over(&mut evidence, diagnostics);
    reconcile::add_unprinted(&mut evidence);
    Ok(evidence)
}

struct Collector {
    allow_fragment: bool,
    evidence: Evidence,
    stacks: KnownStacks,
    /// Those of the input that is being read, by the ids that its reader gave them.
    frames: Vec<Option<KnownFrame>>,
    children: Children,
    source: String,
    /// `None` outside `run` and `end`.
    section: Option<OpenSection>,
    /// Whether the input has anything outside `run` and `end`.
    has_loose_records: bool,
    /// The process of the last record outside `run` and `end`.
    loose: Option<ProcessId>,
}

/// Tools with an error manager; the others write profiles, in which there is nothing to find.
const JUDGED: [Tool; 4] = [Tool::Memcheck, Tool::Helgrind, Tool::Drd, Tool::Nulgrind];

/// What lies between a `run` and its `end`.
struct OpenSection {
    process: ProcessId,
    records: u64,
}

impl Visitor for Collector {
    fn takes_findings(&self) -> bool {
        true
    }

    fn findings(
        &mut self,
        found: &ProcessFindings<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), cg_stream::Error> {
        if let Some(trouble) = found.trouble().filter(|_| found.has_only_preamble()) {
            let process = self.process_of(found.run());
            self.children.add(process, trouble);
            return Ok(());
        }
        self.begin_section(found.run(), diagnostics);
        for error in found.errors() {
            self.take_found_error(error, found);
        }
        for leak in found.leaks() {
            self.take_found_leak(leak, found);
        }
        match found.trouble() {
            Some(trouble) => {
                diagnostics.trouble(trouble);
                self.section = None;
            }
            None => {
                self.end_section(&EndRecord::default(), diagnostics);
                found.check_sums(diagnostics);
            }
        }
        Ok(())
    }

    fn line(
        &mut self,
        line: Line<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), cg_stream::Error> {
        match line.kind {
            RecordType::Run => {
                let run: RunRecord = line.parse()?;
                self.begin_section(run, diagnostics);
                return Ok(());
            }
            RecordType::End => {
                let end: EndRecord = line.parse()?;
                self.end_section(&end, diagnostics);
                return Ok(());
            }
            RecordType::Leak => {
                let leak: LeakRecord = line.parse()?;
                let Some(kind) = LeakKind::from_word(&leak.kind) else {
                    return Err(cg_stream::Error::at(
                        line.number,
                        format!(
                            "expected a leak kind (definite, indirect, possible or reachable), found \"{}\"",
                            leak.kind
                        ),
                    ));
                };
                self.take_leak(leak, kind);
            }
            RecordType::Error => {
                let error: ErrorRecord = line.parse()?;
                self.take_error(error);
            }
            _ => {}
        }
        match &mut self.section {
            Some(section) => section.records += 1,
            None => self.has_loose_records = true,
        }
        Ok(())
    }
}

impl Collector {
    fn new(allow_fragment: bool) -> Collector {
        Collector {
            allow_fragment,
            evidence: Evidence::default(),
            stacks: KnownStacks::default(),
            frames: Vec::new(),
            children: Children::default(),
            source: String::new(),
            section: None,
            has_loose_records: false,
            loose: None,
        }
    }

    fn begin_input(&mut self, source: String) {
        self.source = source;
        self.frames.clear();
        self.section = None;
        self.has_loose_records = false;
        self.loose = None;
    }

    fn take_leak(&mut self, leak: LeakRecord<'_>, kind: LeakKind) {
        let finding = Finding {
            process: self.current_process(leak.pid),
            details: Details::Leak(Leak {
                kind,
                bytes: leak.cost.get("bytes"),
                blocks: leak.cost.get("blocks"),
                indirect_bytes: leak.indirect_bytes,
            }),
            stack: self.stacks.intern(leak.stack),
            suppression: leak.suppression.map(|text| Rc::from(text.as_str())),
        };
        self.evidence.findings.push(finding);
    }

    fn take_error(&mut self, error: ErrorRecord<'_>) {
        let notes = error
            .notes
            .into_iter()
            .map(|note| FindingNote {
                what: note.what.map(|what| what.into_string()),
                stack: self.stacks.intern(note.stack),
            })
            .collect();
        let finding = Finding {
            process: self.current_process(error.pid),
            stack: self.stacks.intern(error.stack),
            suppression: error.suppression.map(|text| Rc::from(text.as_str())),
            details: Details::Error(ErrorDetails {
                kind: ErrorKind::from(error.kind.as_str()),
                what: error.what.into_string(),
                count: error.cost.get("count"),
                size: error.size,
                address: error.address.map(|address| address.into_string()),
                block: error.block,
                thread: error.thread,
                thread_name: error.thread_name.map(|name| name.into_string()),
                notes,
            }),
        };
        self.evidence.findings.push(finding);
    }

    fn take_found_leak(&mut self, leak: FoundLeak<'_>, found: &ProcessFindings<'_>) {
        let Some(kind) = LeakKind::from_word(leak.kind) else {
            return;
        };
        let finding = Finding {
            process: self.current_process(None),
            details: Details::Leak(Leak {
                kind,
                bytes: leak.bytes.into(),
                blocks: leak.blocks.into(),
                indirect_bytes: leak.indirect_bytes,
            }),
            stack: self.found_stack(leak.stack, found),
            suppression: leak.suppression.map(Rc::from),
        };
        self.evidence.findings.push(finding);
    }

    fn take_found_error(&mut self, error: FoundError<'_>, found: &ProcessFindings<'_>) {
        let Described {
            size,
            address,
            block,
        } = error.described();
        let address = address.map(str::to_owned);
        let notes = error.notes.into_iter().map(|note| FindingNote {
            what: note.what.map(|what| what.into_string()),
            stack: self.found_stack(note.stack, found),
        });
        let details = Details::Error(ErrorDetails {
            notes: notes.collect(),
            kind: ErrorKind::from(error.kind),
            what: error.what.into_string(),
            count: error.count.into(),
            size,
            address,
            block,
            thread: error.thread,
            thread_name: error.thread_name.map(str::to_owned),
        });
        let finding = Finding {
            process: self.current_process(None),
            details,
            stack: self.found_stack(error.stack, found),
            suppression: error.suppression.map(Rc::from),
        };
        self.evidence.findings.push(finding);
    }

    fn found_stack(&mut self, stack: StackId, found: &ProcessFindings<'_>) -> Stack {
        let frames = found.frames(stack);
        for &id in frames {
            if self.frames.len() <= id.index() {
                self.frames.resize(id.index() + 1, None);
            }
            let known = &mut self.frames[id.index()];
            if known.is_none() {
                *known = Some(self.stacks.frame(found.frame(id)));
            }
        }
        let frames = frames
            .iter()
            .filter_map(|id| self.frames[id.index()].clone());
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

    fn begin_section(&mut self, run: RunRecord, diagnostics: &mut Diagnostics) {
        let process = self.add_process(self.process_of(run));
        self.section = Some(OpenSection {
            process,
            records: 0,
        });
        let process = &mut self.evidence.processes[process.0];
        if let Some(reason) = cannot_judge(&process.run) {
            diagnostics.trouble(format!("{}: {reason}", process.title()));
            process.not_judged = Some(reason);
        }
    }

    fn end_section(&mut self, end: &EndRecord, diagnostics: &mut Diagnostics) {
        let Some(section) = self.section.take() else {
            self.has_loose_records = true;
            return;
        };
        let process = &mut self.evidence.processes[section.process.0];
        let is_complete = process.run.process.complete != Some(false);
        // A filter passes `end` on as it was, so it still says how many records there were before.
        let is_filtered = section.records < end.records;
        process.is_whole = is_complete && !is_filtered;
        let reason = if is_filtered {
            format!(
                "{} of its {} records were filtered out",
                end.records - section.records,
                end.records
            )
        } else {
            "it has no summary, as with -q, so nobody can tell whether it is whole".to_owned()
        };
        if process.is_whole || self.allow_fragment {
            return;
        }
        diagnostics.trouble(format!(
            "{}: {reason}; --allow-fragment judges what there is",
            process.title()
        ));
        process.not_judged = Some(reason);
    }

    fn end_input(&mut self, framing: Framing, diagnostics: &mut Diagnostics) {
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
    if JUDGED.contains(tool) {
        return None;
    }
    let mut why = format!("expected a run of memcheck, helgrind or drd, found one of {tool}");
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
