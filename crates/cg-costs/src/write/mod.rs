//! Writes a section: `run`, then functions, lines and arcs in a total order, then `end`. Or writes its stacks instead.

use cg_reader::{Error, Options, Out};
use cg_stream::record::{CostFacts, Counts, Name, RunRecord, SamplingFacts, Total};

use super::inlines::Inlines;
use super::section::Section;
use super::stacks;
use super::stacks::graph::StackGraph;
use records::RecordWriting;
use tables::SectionTables;

mod records;
pub(crate) mod tables;

/// The part and the thread of the rows, if parts are separate.
#[derive(Clone, Copy)]
pub(crate) struct PartAndThread {
    pub(crate) part: Option<u64>,
    pub(crate) thread: Option<u64>,
}

/// Writes a section, with the stacks of `graph` after its other records. Omits the `end` record if some of the section's input
/// could not be read. Returns a message if stacks are estimated.
///
/// # Errors
/// Returns an error if the output cannot be written, the total exceeds 64 bits, or stacks cannot be estimated.
pub fn write(
    section: &mut Section,
    inlines: Option<&Inlines>,
    graph: Option<&StackGraph>,
    options: &Options,
    out: &mut Out,
) -> Result<Option<String>, Error> {
    let settled = section.settle_lines();
    settled.map_err(|no_room| Error::whole(no_room.to_string()))?;
    let section = &*section;
    check_total(section)?;
    out.run(&run_record(section, inlines))?;
    let part = PartAndThread {
        part: section.run.part().filter(|_| options.per_part),
        thread: (section.run.thread.one().copied()).filter(|_| options.per_part),
    };
    let mut tables = SectionTables::new(section);
    let mut records = RecordWriting::new(&mut tables, inlines, part);
    records.write_functions(out)?;
    if options.lines || options.instr {
        records.write_lines(out)?;
    }
    if options.calls {
        records.write_arcs(out)?;
    }
    if let Some(inlines) = inlines {
        inlines.write(&mut tables, part, out)?;
    }
    let message = match graph {
        Some(graph) => stacks::write(section, graph, None, out)?,
        None => None,
    };
    finish(section, out)?;
    Ok(message)
}

/// Writes only the stacks of a section. Returns a message if stacks are estimated.
///
/// # Errors
/// Returns the errors of [`write()`], and an error if stacks cannot be estimated.
pub fn write_stacks(
    section: &Section,
    graph: &StackGraph,
    out: &mut Out,
) -> Result<Option<String>, Error> {
    check_total(section)?;
    let message = stacks::write(section, graph, Some(run_record(section, None)), out)?;
    finish(section, out)?;
    Ok(message)
}

fn check_total(section: &Section) -> Result<(), Error> {
    for (event, total) in section.events().iter().zip(section.total()) {
        if u64::try_from(*total).is_err() && i64::try_from(*total).is_err() {
            return Err(Error::whole(format!(
                "the sum of {event} is beyond 64 bits: {total}"
            )));
        }
    }
    Ok(())
}

fn finish(section: &Section, out: &mut Out) -> Result<(), Error> {
    if section.is_complete() {
        out.end()
    } else {
        out.cut(None).map(drop)
    }
}

fn run_record(section: &Section, inlines: Option<&Inlines>) -> RunRecord {
    let facts = &section.run;
    let total = Counts::from_row_with_zeros(section.events(), section.total().iter().copied());
    RunRecord {
        creator: facts.creator.one().cloned(),
        command: facts.command.one().cloned(),
        pid: facts.pid.one().copied(),
        source: facts.sources.clone(),
        events: section.events().to_vec(),
        total: Total::One(total.into_owned()),
        desc: facts.description(),
        sampling: SamplingFacts {
            units: facts.units.clone(),
            ..SamplingFacts::default()
        },
        costs: CostFacts {
            summary: differing_summary(section).unwrap_or_default(),
            inlines: inlines.map(|inlines| inlines.facts(section)),
            ..facts.facts()
        },
        ..RunRecord::new(facts.tool())
    }
}

/// Returns the files' own summary; `None` if it equals the sum of their cost lines.
fn differing_summary(section: &Section) -> Option<Counts<'static>> {
    let summary = &section.run.summary;
    let signedness = section.signedness();
    let summed = |event: &String| Some(signedness.count((*summary.get(event)?)?));
    let mut totals = section.events().iter().zip(section.total());
    let differs = totals.any(|(event, total)| summed(event).is_some_and(|count| count != *total));
    differs.then(|| {
        let counts = section
            .events()
            .iter()
            .filter_map(|event| Some((Name::from(event.clone()), summed(event)?)));
        Counts(counts.collect())
    })
}

#[cfg(test)]
mod tests;
