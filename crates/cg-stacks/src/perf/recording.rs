//! What the samples of a recording came to, from whichever form of it they were read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_reader::{Error, Out};
use cg_stream::record::{Name, RunRecord, ThreadFacts};
use cg_stream::sorting::Order as _;

use crate::table::{NameId, StackTable};
use crate::write;

/// Counts samples.
pub const SAMPLES: &str = "samples";

/// The samples of a recording, all read.
pub struct Recording {
    /// What is known of the run, without its threads, its units and, unless the recording says it, its duration.
    pub run: RunRecord,
    /// Its first event is `samples`; those behind it are `events`.
    pub table: StackTable,
    /// The events that were sampled.
    pub events: Vec<SampledEvent>,
    /// What each thread was called last, by process and thread.
    pub threads: BTreeMap<(Option<u64>, Option<u64>), NameId>,
    /// From the first sample to the last in nanoseconds, where that is known.
    pub duration: Option<u64>,
    /// The time of the earliest sample, by the clock that the table's times are of.
    pub begin: Option<u64>,
}

/// An event that was sampled.
pub struct SampledEvent {
    /// What its costs are called.
    pub name: String,
    /// How many samples are of it.
    pub samples: u64,
    /// Whether a sample of it had a period.
    pub has_period: bool,
}

impl SampledEvent {
    /// An event without samples that perf calls so.
    pub fn new(name: &[u8]) -> SampledEvent {
        let mut name = Name::from_bytes(name).into_string();
        if name == SAMPLES {
            // What a recording called so itself is no count of samples.
            name.push_str(":period");
        }
        SampledEvent {
            name,
            samples: 0,
            has_period: false,
        }
    }

    /// What its cost is counted in, where it is not the event itself.
    fn unit(&self) -> Option<&'static str> {
        let base = self.name.split(':').next().unwrap_or_default();
        match base {
            _ if !self.has_period => Some(SAMPLES),
            "cpu-clock" | "task-clock" => Some("ns"),
            _ => None,
        }
    }
}

impl Recording {
    /// Writes the records of the samples. `read` tells whether the recording was read to its end.
    ///
    /// # Errors
    /// Where the sink refuses a row; and what `read` is, behind what could be read.
    pub fn write(self, read: Result<(), Error>, out: &mut Out) -> Result<(), Error> {
        let Recording {
            mut run,
            mut table,
            events,
            threads: names,
            duration,
            begin,
        } = self;
        for event in &events {
            if let Some(unit) = event.unit() {
                let units = &mut run.sampling.units;
                units.insert(event.name.clone(), unit.to_owned());
            }
        }
        run.sampling.duration = run.sampling.duration.or(duration);
        // The name of a process is that of its first thread.
        let process = |pid: Option<u64>| names.get(&(Some(pid?), pid)).copied();
        table.change_rows(|row| {
            row.process = process(row.pid);
            row.time = row.time.map(|time| time.saturating_sub(begin.unwrap_or(0)));
        })?;
        let text = |name| table.name(name).map(str::to_owned);
        let facts = names.iter().map(|((pid, tid), name)| ThreadFacts {
            pid: *pid,
            process: text(process(*pid)),
            thread: *tid,
            thread_name: text(Some(*name)),
            ..ThreadFacts::default()
        });
        run.threads = facts.collect();
        // By how often each was sampled, so that the order of the samples makes no difference.
        let mut order: Vec<usize> = (0..events.len()).collect();
        order.order_by_key(|event| (Reverse(events[*event].samples), &events[*event].name));
        let order: Vec<usize> = order
            .into_iter()
            .map(|event| event + 1)
            .chain([0])
            .collect();
        table.reorder_events(&order);
        write::write(run, &table, read, out)
    }
}
