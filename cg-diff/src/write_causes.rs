//! Writes the causes of the difference of the totals.

use std::io::{self, Write};

use cg_stream::record::{Count, CycleSummary};
use cg_stream::rows::{CauseDetailRow, CauseName, CauseNames, CauseRow};
use cg_stream::writer::Writer;
use cg_tool::Diagnostics;

use crate::causes::{Cause, Causes, Detail};
use crate::runs::Runs;
use crate::write::ComparisonOutput;

/// Writes a record for each function with a cause.
pub(crate) fn write_causes(
    written: &ComparisonOutput,
    diagnostics: &mut Diagnostics,
    out: &mut Writer<&mut dyn Write>,
) -> io::Result<()> {
    let causes = written.causes;
    if causes.rows.is_empty() {
        return Ok(());
    }
    let runs = written.comparison.runs;
    let events = causes.events.iter();
    let mut names = CauseNames::new(events.map(|event| runs.events[*event].as_str()));
    let functions = causes.functions.iter();
    let functions: Vec<CauseName> = functions
        .map(|function| names.add(&function.name))
        .collect();
    for cause in &causes.rows {
        if !fits(cause) {
            diagnostics.error("--causes: left out a cause that exceeds 64 bits");
            continue;
        }
        let details = cause.details.iter();
        let row = CauseRow {
            function: functions[cause.node],
            bench: runs.bench.as_deref(),
            guess: causes.functions[cause.node].is_guess,
            cycle: cause.cycle,
            delta: &cause.delta,
            details: details
                .map(|detail| detail_row(runs, causes, &functions, detail))
                .collect(),
        };
        out.cause(&row, &names)?;
    }
    Ok(())
}

fn detail_row<'c>(
    runs: &'c Runs,
    causes: &'c Causes,
    functions: &[CauseName],
    detail: &'c Detail,
) -> CauseDetailRow<'c> {
    let site = detail.line.and_then(|line| line.site);
    CauseDetailRow {
        kind: detail.kind,
        function: detail.function.map(|node| functions[node]),
        guess: detail
            .function
            .is_some_and(|node| causes.functions[node].is_guess),
        calls: detail.calls,
        about: detail.is_about,
        entries: detail.entries,
        recorded: &detail.recorded,
        moved: &detail.moved,
        other: detail.other.map(|node| functions[node]),
        inlined: detail.inlined,
        line: detail.line.map(|line| line.line),
        site: site.map(|site| runs.names.symbols.text(site)),
        delta: &detail.delta,
    }
}

/// Returns true if all figures of a cause fit in 64 bits.
fn fits(cause: &Cause) -> bool {
    let is_signed = |count: &Count| i64::try_from(*count).is_ok();
    let is_written = |count: &Count| is_signed(count) || u64::try_from(*count).is_ok();
    cause.delta.iter().all(is_signed)
        && cause.details.iter().all(|detail| {
            let recorded = detail.recorded.iter().flatten();
            let calls = detail.calls.iter().flatten();
            let entries = detail.entries.iter().flatten();
            let mut counts = recorded.chain(calls).chain(entries).chain(&detail.moved);
            detail.delta.iter().all(is_signed) && counts.all(is_written)
        })
}

impl Causes<'_> {
    /// Returns the groups of several functions for the `run` record.
    pub(crate) fn cycle_summaries(&self, runs: &Runs) -> Vec<CycleSummary> {
        let cycles = self.cycles.iter().map(|cycle| {
            let deltas = self.events.iter().zip(&cycle.delta);
            let deltas = deltas.filter_map(|(event, delta)| {
                Some((runs.events[*event].clone(), i64::try_from(*delta).ok()?))
            });
            let name = self.functions[cycle.node].name.name.as_ref();
            CycleSummary {
                cycle: cycle.number,
                name: name.map_or_else(String::new, |name| name.as_str().to_owned()),
                members: cycle.members as u64,
                delta: deltas.collect(),
            }
        });
        cycles.collect()
    }
}
