//! Writes a section: `run`, then functions, lines and arcs in a total order, then `end`; or its stacks instead.

use cg_reader::{Error, Options, Out};
use cg_stream::record::{CostFacts, Counts, Name, RunRecord, Total};

use super::inlines::Inlines;
use super::section::Section;
use super::stacks;
use super::stacks::graph::StackGraph;
use records::RecordWriting;
use tables::SectionTables;

mod records;
pub(crate) mod tables;

/// The part and the thread that rows are of, where they are kept apart.
#[derive(Clone, Copy)]
pub(crate) struct PartOf {
    pub(crate) part: Option<u64>,
    pub(crate) thread: Option<u64>,
}

/// Writes all of a section. Without an `end` record where something that belongs to it could not be read.
///
/// # Errors
/// Where the output cannot be written, and where the total is beyond 64 bits.
pub fn write(
    section: &mut Section,
    inlines: Option<&Inlines>,
    options: &Options,
    out: &mut Out,
) -> Result<(), Error> {
    let settled = section.settle_lines();
    settled.map_err(|no_room| Error::whole(no_room.to_string()))?;
    let section = &*section;
    check_total(section)?;
    out.run(&run_record(section, inlines))?;
    let of = PartOf {
        part: section.run.part().filter(|_| options.per_part),
        thread: (section.run.thread.one().copied()).filter(|_| options.per_part),
    };
    let mut tables = SectionTables::new(section);
    let mut records = RecordWriting::new(&mut tables, inlines, of);
    records.write_functions(out)?;
    if options.lines || options.instr {
        records.write_lines(out)?;
    }
    if options.calls {
        records.write_arcs(out)?;
    }
    if let Some(inlines) = inlines {
        inlines.write(&mut tables, of, out)?;
    }
    finish(section, out)
}

/// Writes the stacks that were kept of a section instead; says what of them is estimated.
///
/// # Errors
/// As [`write()`], and where there are none to be told.
pub fn write_stacks(
    section: &Section,
    graph: &StackGraph,
    out: &mut Out,
) -> Result<Option<String>, Error> {
    check_total(section)?;
    let said = stacks::write(section, graph, run_record(section, None), out)?;
    finish(section, out)?;
    Ok(said)
}

fn check_total(section: &Section) -> Result<(), Error> {
    for (event, total) in section.events().iter().zip(section.total()) {
        if u64::try_from(*total).is_err() && i64::try_from(*total).is_err() {
            return Err(Error::whole(format!(
                "the sum of {event} is {total}, which 64 bits cannot hold"
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
        costs: CostFacts {
            summary: differing_summary(section).unwrap_or_default(),
            inlines: inlines.map(|inlines| inlines.facts(section)),
            ..facts.facts()
        },
        ..RunRecord::new(facts.tool())
    }
}

/// The files' own summary, where it is not the sum of their cost lines.
fn differing_summary(section: &Section) -> Option<Counts<'static>> {
    let summary = &section.run.summary;
    let signedness = section.signedness();
    let said = |event: &String| Some(signedness.count((*summary.get(event)?)?));
    let mut totals = section.events().iter().zip(section.total());
    let differs = totals.any(|(event, total)| said(event).is_some_and(|count| count != *total));
    differs.then(|| {
        let counts = section
            .events()
            .iter()
            .filter_map(|event| Some((Name::from(event.clone()), said(event)?)));
        Counts(counts.collect())
    })
}
