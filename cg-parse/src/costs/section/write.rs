//! Writes a section: `run`, then functions, lines and arcs in a total order, then `end`.

use cg_stream::record::{CostFacts, Counts, Name, RunRecord, Total};
use cg_stream::writer::rendered::RenderedLabels;

use super::Section;
use super::records::Records;
use crate::costs::stacks::{self, StackGraph};
use crate::error::Error;
use crate::format::{Options, Out};

impl Section {
    /// Writes all of it. Without an `end` record where something that belongs to it could not be read.
    ///
    /// # Errors
    /// Where the output cannot be written, and where the total is beyond 64 bits.
    pub(crate) fn write(&mut self, options: &Options, out: &mut Out) -> Result<(), Error> {
        let settled = self.lines.settle(self.signedness);
        settled.map_err(|no_room| Error::whole(no_room.to_string()))?;
        self.check_total()?;
        self.write_records(options, out)
    }

    /// Writes the stacks that were kept of it instead; says what of them is estimated.
    ///
    /// # Errors
    /// As [`Section::write`], and where there are none to be told.
    pub(crate) fn write_stacks(
        &self,
        graph: &StackGraph,
        out: &mut Out,
    ) -> Result<Option<String>, Error> {
        self.check_total()?;
        let said = stacks::write(self, graph, self.run_record(), out)?;
        self.finish(out)?;
        Ok(said)
    }

    fn check_total(&self) -> Result<(), Error> {
        for (event, total) in self.events.iter().zip(&self.total) {
            if u64::try_from(*total).is_err() && i64::try_from(*total).is_err() {
                return Err(Error::whole(format!(
                    "the sum of {event} is {total}, which 64 bits cannot hold"
                )));
            }
        }
        Ok(())
    }

    fn write_records(&self, options: &Options, out: &mut Out) -> Result<(), Error> {
        out.run(&self.run_record()).map_err(Error::Output)?;
        let labels = RenderedLabels {
            part: self.run.part.one().copied().filter(|_| options.per_part),
            thread: self.run.thread.one().copied().filter(|_| options.per_part),
        };
        let mut records = Records::new(self, labels);
        records.write_functions(out).map_err(Error::Output)?;
        if options.lines || options.instr {
            records.write_lines(out)?;
        }
        if options.calls {
            records.write_arcs(out).map_err(Error::Output)?;
        }
        if let Some(inlines) = &self.inlines {
            inlines.write(self, labels, out).map_err(Error::Output)?;
        }
        self.finish(out)
    }

    fn finish(&self, out: &mut Out) -> Result<(), Error> {
        let ended = if self.is_complete {
            out.end()
        } else {
            out.flush()
        };
        ended.map_err(Error::Output)
    }

    fn run_record(&self) -> RunRecord {
        let facts = &self.run;
        RunRecord {
            creator: facts.creator.one().cloned(),
            command: facts.command.one().cloned(),
            pid: facts.pid.one().copied(),
            source: facts.sources.clone(),
            events: self.events.clone(),
            total: Total::One(
                Counts::from_row_with_zeros(&self.events, self.total.iter().copied()).into_owned(),
            ),
            desc: facts.description(),
            costs: CostFacts {
                summary: self.differing_summary().unwrap_or_default(),
                inlines: (self.inlines.as_ref()).map(|inlines| inlines.facts(self)),
                ..facts.facts()
            },
            ..RunRecord::new(facts.tool())
        }
    }

    /// The files' own summary, where it is not the sum of their cost lines.
    fn differing_summary(&self) -> Option<Counts<'static>> {
        let summary = &self.run.summary;
        let differs = self.events.iter().zip(&self.total).any(|(event, total)| {
            summary
                .get(event)
                .is_some_and(|count| self.signedness.count(*count) != *total)
        });
        differs.then(|| {
            let counts = self.events.iter().filter_map(|event| {
                let count = self.signedness.count(*summary.get(event)?);
                Some((Name::from(event.clone()), count))
            });
            Counts(counts.collect())
        })
    }
}
