//! Writes a section: `run`, then functions, lines and arcs in a total order, then `end`.

use std::cmp::Ordering;
use std::io;

use cg_stream::record::{
    CallRecord, CostFacts, Count, Counts, FnRecord, FunctionName, LineRecord, Name, RunRecord,
    Total,
};

use super::{ArcId, ArcKey, FunctionId, FunctionKey, LineId, LineKey, Section, StringId};
use crate::error::Error;
use crate::format::{Options, Out};

impl Section {
    /// Writes all of it. Without an `end` record where something that belongs to it could not be read.
    ///
    /// # Errors
    /// Where the output cannot be written, and where the total is beyond 64 bits.
    pub(crate) fn write(&self, options: &Options, out: &mut Out) -> Result<(), Error> {
        for (event, total) in self.events.iter().zip(&self.total) {
            if u64::try_from(*total).is_err() && i64::try_from(*total).is_err() {
                return Err(Error::whole(format!(
                    "the sum of {event} is {total}, which 64 bits cannot hold"
                )));
            }
        }
        self.write_records(options, out).map_err(Error::Output)
    }

    fn write_records(&self, options: &Options, out: &mut Out) -> io::Result<()> {
        out.run(&self.run_record())?;
        let labels = Labels {
            part: self.run.part.one().copied().filter(|_| options.per_part),
            thread: self.run.thread.one().copied().filter(|_| options.per_part),
        };
        let ranking = self.ranking_event();
        self.write_functions(labels, ranking, out)?;
        if options.lines || options.instr {
            self.write_lines(labels, ranking, out)?;
        }
        if options.calls {
            self.write_arcs(labels, ranking, out)?;
        }
        if self.is_complete {
            out.end()
        } else {
            out.flush()
        }
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

    /// The event that ranks: the first that anything costs at all. xtrees begin with those of what is still allocated,
    /// which may be nothing.
    fn ranking_event(&self) -> usize {
        let functions = &self.functions;
        let is_counted = |event: &usize| {
            self.present().any(|(function, _)| {
                let counts = [functions.own(function), functions.inclusive(function)];
                counts.iter().any(|counts| counts[*event] != 0)
            })
        };
        (0..self.events.len()).find(is_counted).unwrap_or(0)
    }

    fn write_functions(&self, labels: Labels, ranking: usize, out: &mut Out) -> io::Result<()> {
        let functions = &self.functions;
        let mut rows: Vec<(FunctionId, FunctionKey)> = self.present().collect();
        rows.sort_unstable_by(|(a, key_a), (b, key_b)| {
            self.by_cost(ranking, functions.own(*a), functions.own(*b))
                .then_with(|| self.by_function(*key_a, *key_b))
        });
        let cycles = self.cycles.numbers();
        for (function, key) in rows {
            out.record(&FnRecord {
                name: self.name(key.name),
                file: self.name(key.file),
                obj: self.name(key.object),
                part: labels.part,
                thread: labels.thread,
                calls: self
                    .has_inclusive
                    .then_some(functions.facts(function).calls),
                cost: self.counts(functions.own(function)),
                incl: if self.has_inclusive {
                    self.counts(functions.inclusive(function))
                } else {
                    Counts::default()
                },
                cycle: cycles.get(&function).copied(),
            })?;
        }
        Ok(())
    }

    fn write_lines(&self, labels: Labels, ranking: usize, out: &mut Out) -> io::Result<()> {
        let lines = &self.lines;
        let mut rows: Vec<(LineId, LineKey)> = lines.all().collect();
        rows.sort_unstable_by(|(a, key_a), (b, key_b)| {
            let place = |key: &LineKey| (key.line, key.address);
            self.by_cost(ranking, lines.own(*a), lines.own(*b))
                .then_with(|| {
                    self.by_function(self.key_of(key_a.function), self.key_of(key_b.function))
                })
                .then_with(|| self.by_string(key_a.file, key_b.file))
                .then_with(|| place(key_a).cmp(&place(key_b)))
        });
        for (line, key) in rows {
            let function = self.key_of(key.function);
            out.record(&LineRecord {
                name: self.name(function.name),
                file: self.name(key.file),
                obj: self.name(function.object),
                line: key.line,
                addr: key
                    .address
                    .map(|address| Name::from(format!("0x{address:x}"))),
                part: labels.part,
                thread: labels.thread,
                cost: self.counts(lines.own(line)),
                incl: if *lines.facts(line) {
                    self.counts(lines.inclusive(line))
                } else {
                    Counts::default()
                },
            })?;
        }
        Ok(())
    }

    fn write_arcs(&self, labels: Labels, ranking: usize, out: &mut Out) -> io::Result<()> {
        let arcs = &self.arcs;
        let mut rows: Vec<(ArcId, ArcKey)> = arcs.all().collect();
        rows.sort_unstable_by(|(a, key_a), (b, key_b)| {
            let ends = |key: &ArcKey| (self.key_of(key.caller), self.key_of(key.callee));
            let ((caller_a, callee_a), (caller_b, callee_b)) = (ends(key_a), ends(key_b));
            self.by_cost(ranking, arcs.inclusive(*a), arcs.inclusive(*b))
                .then_with(|| self.by_function(caller_a, caller_b))
                .then_with(|| self.by_function(callee_a, callee_b))
                .then_with(|| self.by_string(key_a.site, key_b.site))
                .then_with(|| key_a.line.cmp(&key_b.line))
        });
        for (arc, key) in rows {
            let (caller, callee) = (self.key_of(key.caller), self.key_of(key.callee));
            out.record(&CallRecord {
                name: self.name(caller.name),
                file: self.name(caller.file),
                obj: self.name(caller.object),
                site: self.name(key.site),
                line: key.line,
                part: labels.part,
                thread: labels.thread,
                callee: FunctionName {
                    name: self.name(callee.name),
                    file: self.name(callee.file),
                    obj: self.name(callee.object),
                },
                calls: *arcs.facts(arc),
                incl: self.counts(arcs.inclusive(arc)),
            })?;
        }
        Ok(())
    }

    /// A name, unless it is not given.
    fn name(&self, id: StringId) -> Option<Name<'_>> {
        (id != StringId::NOT_GIVEN).then(|| Name::from_bytes(self.strings.get(id)))
    }

    fn counts(&self, row: &[u64]) -> Counts<'_> {
        let counts = row.iter().map(|cell| self.signedness.count(*cell));
        Counts::from_row(&self.events, counts)
    }

    /// Descending by an event.
    fn by_cost(&self, event: usize, a: &[u64], b: &[u64]) -> Ordering {
        let count = |row: &[u64]| -> Option<Count> {
            row.get(event).map(|cell| self.signedness.count(*cell))
        };
        count(b).cmp(&count(a))
    }

    fn by_function(&self, a: FunctionKey, b: FunctionKey) -> Ordering {
        self.by_string(a.name, b.name)
            .then_with(|| self.by_string(a.file, b.file))
            .then_with(|| self.by_string(a.object, b.object))
    }

    fn by_string(&self, a: StringId, b: StringId) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.strings.get(a).cmp(self.strings.get(b))
    }
}

/// What tells the sections of parts and threads apart in every record.
#[derive(Clone, Copy)]
struct Labels {
    part: Option<u64>,
    thread: Option<u64>,
}
