//! The report as a stream: the records of the inputs, each with its status and its fingerprint.

use std::io::{self, Write};

use cg_stream::record::{
    Count, Counts, ErrorRecord, Frame, LeakRecord, Name, Note, Record, RecordType, RunRecord, Total,
};
use cg_stream::writer::Writer;
use serde::Serialize;

use super::GateReport;
use crate::finding::{Details, ErrorDetails, Finding, Leak, Unprinted};
use crate::ruling::{Ruling, RulingStatus};
use crate::stack::Stack;

/// A record with the decision about it.
#[derive(Serialize)]
struct Judged<'a, R> {
    #[serde(flatten)]
    record: R,
    status: &'static str,
    fingerprint: &'a str,
    /// The size per process in the baseline, if the leak grew.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<Counts<'a>>,
    /// The signal that ended the process of a leak.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_by: Option<String>,
}

impl Record for Judged<'_, LeakRecord<'_>> {
    const TYPE: RecordType = RecordType::Leak;
}

impl Record for Judged<'_, ErrorRecord<'_>> {
    const TYPE: RecordType = RecordType::Error;
}

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::new(output);
    let processes = &report.evidence.processes;
    if processes.is_empty() && report.could_not_judge() {
        // Without an `end` record, because no verdict is possible.
        let mut run = RunRecord {
            stream: cg_stream::record::VERSION,
            ..RunRecord::default()
        };
        add_reasons(report, &mut run);
        writer.run(&run)?;
    }
    let by_process = report.findings_by_process().into_iter();
    for (position, (process, findings)) in processes.iter().zip(by_process).enumerate() {
        let mut run = process.run.clone();
        if position == 0 {
            add_reasons(report, &mut run);
        }
        run.stream = cg_stream::record::VERSION;
        run.source = vec![process.source.clone()];
        run.events = ["bytes", "blocks", "count"].map(str::to_owned).into();
        let mut total: [Count; 3] = [0; 3];
        for (finding, _) in &findings {
            match (&finding.details, finding.lost()) {
                (_, Some((bytes, blocks))) => {
                    total[0] += bytes;
                    total[1] += blocks;
                }
                (Details::Error(error), None) => total[2] += error.count,
                (Details::Unprinted(Unprinted::Errors { contexts }), None) => total[2] += contexts,
                _ => {}
            }
        }
        run.total = Total::One(Counts::from_row_with_zeros(&run.events, total).into_owned());
        writer.run(&run)?;
        for (finding, ruling) in findings {
            write_finding(&mut writer, report, finding, ruling, process.run.pid)?;
        }
        // For a truncated input, omit `end`, so readers see that the report is truncated too.
        if !process.is_cut {
            writer.end()?;
        }
    }
    writer.flush()
}

/// Adds the reasons why the inputs could not be judged to the first `run` record.
fn add_reasons(report: &GateReport<'_>, run: &mut RunRecord) {
    if report.could_not_judge() {
        run.extra
            .insert("troubles".to_owned(), report.reasons.into());
    }
}

fn write_finding(
    writer: &mut Writer<&mut dyn Write>,
    report: &GateReport<'_>,
    finding: &Finding,
    ruling: &Ruling,
    pid: Option<u64>,
) -> io::Result<()> {
    let status = ruling.status.word();
    let fingerprint = ruling.fingerprint(finding).hex();
    let baseline = known_size(report, finding, ruling);
    let process = report.evidence.process(finding.process);
    let ended_by = process.ended_by().filter(|_| finding.leak_kind().is_some());
    match &finding.details {
        Details::Leak(leak) => writer.record(&Judged {
            record: leak_record(finding, leak, pid),
            status,
            fingerprint: &fingerprint,
            baseline,
            ended_by,
        }),
        Details::Error(error) => writer.record(&Judged {
            record: error_record(finding, error, pid),
            status,
            fingerprint: &fingerprint,
            baseline,
            ended_by,
        }),
        Details::Unprinted(Unprinted::Leaks {
            kind,
            bytes,
            blocks,
        }) => {
            let leak = Leak {
                kind: *kind,
                bytes: *bytes,
                blocks: *blocks,
                indirect_bytes: 0,
                earlier_search: false,
            };
            writer.record(&Judged {
                record: leak_record(finding, &leak, pid),
                status,
                fingerprint: &fingerprint,
                baseline,
                ended_by,
            })
        }
        Details::Unprinted(Unprinted::Errors { contexts }) => writer.record(&Judged {
            record: ErrorRecord {
                kind: Name::from(finding.kind()),
                what: Name::from("errors that Valgrind counted and did not print"),
                cost: Counts::from([("count", *contexts)]),
                pid,
                ..ErrorRecord::default()
            },
            status,
            fingerprint: &fingerprint,
            baseline,
            ended_by,
        }),
    }
}

/// Returns the size of a known leak in the baseline; `None` unless the leak grew.
fn known_size(
    report: &GateReport<'_>,
    finding: &Finding,
    ruling: &Ruling,
) -> Option<Counts<'static>> {
    if !matches!(ruling.status, RulingStatus::Known | RulingStatus::Grown) {
        return None;
    }
    let known = report
        .verdict
        .growth
        .get(ruling.fingerprint(finding))?
        .known;
    Some(Counts::from([
        ("bytes", known.bytes),
        ("blocks", known.blocks),
        ("indirect_bytes", known.indirect_bytes),
    ]))
}

fn leak_record<'a>(finding: &'a Finding, leak: &Leak, pid: Option<u64>) -> LeakRecord<'a> {
    let blamed = blamed(&finding.stack);
    LeakRecord {
        name: blamed.name,
        file: blamed.file,
        line: blamed.line,
        obj: blamed.obj,
        kind: Name::from(leak.kind.word()),
        cost: Counts::from([("bytes", leak.bytes), ("blocks", leak.blocks)]),
        indirect_bytes: leak.indirect_bytes,
        earlier_search: leak.earlier_search,
        pid,
        stack: finding.stack.to_vec(),
        suppression: finding.suppression.as_deref().map(Name::from),
    }
}

fn error_record<'a>(
    finding: &'a Finding,
    error: &'a ErrorDetails,
    pid: Option<u64>,
) -> ErrorRecord<'a> {
    let blamed = blamed(&finding.stack);
    ErrorRecord {
        name: blamed.name,
        file: blamed.file,
        line: blamed.line,
        obj: blamed.obj,
        kind: Name::from(&*error.kind),
        what: Name::from(error.what.as_str()),
        cost: Counts::from([("count", error.count)]),
        size: error.size,
        address: error.address.as_deref().map(Name::from),
        block: error.block.clone(),
        thread: error.thread,
        thread_name: error.thread_name.as_deref().map(Name::from),
        pid,
        stack: finding.stack.to_vec(),
        notes: error
            .notes
            .iter()
            .map(|note| Note {
                what: note.what.as_deref().map(Name::from),
                stack: note.stack.to_vec(),
            })
            .collect(),
        suppression: finding.suppression.as_deref().map(Name::from),
    }
}

/// Returns the blamed frame by the rule for streams, which ignores `--only`.
fn blamed(stack: &Stack) -> Frame<'static> {
    stack.blamed_frame().cloned().unwrap_or_default()
}
