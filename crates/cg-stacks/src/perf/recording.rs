//! The samples of a recording, added up. The readers of perf's text and of `perf.data` share it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_collections::sorting::Order as _;
use cg_reader::{Error, Out};
use cg_stream::record::{Name, RunRecord, ThreadFacts};

use crate::table::{NameId, StackTable};
use crate::write;

/// The event that counts samples.
pub const SAMPLES: &str = "samples";

/// The samples of a recording.
pub struct Recording {
    /// The facts about the run, except its threads and units, and its duration unless the recording contains it.
    pub run: RunRecord,
    /// The table. Its first event is `samples`; `events` are the others.
    pub table: StackTable,
    /// The sampled events.
    pub events: Vec<SampledEvent>,
    /// The last name of each thread, by pid and tid.
    pub threads: BTreeMap<(Option<u64>, Option<u64>), NameId>,
    /// The nanoseconds from the first to the last sample; `None` if unknown.
    pub duration: Option<u64>,
    /// The time of the earliest sample, on the same clock as the times in the table.
    pub begin: Option<u64>,
}

/// A sampled event.
pub struct SampledEvent {
    /// The event's name in the stream.
    pub name: String,
    /// The number of its samples.
    pub samples: u64,
    /// True if one of its samples had a period.
    pub has_period: bool,
}

impl SampledEvent {
    /// Creates an event without samples from perf's name for it.
    pub fn new(name: &[u8]) -> SampledEvent {
        let mut name = Name::from_bytes(name).into_string();
        if name == SAMPLES {
            // An event that the recording names so does not count samples.
            name.push_str(":period");
        }
        SampledEvent {
            name,
            samples: 0,
            has_period: false,
        }
    }

    /// Returns the unit of its cost; `None` if the cost counts the event itself.
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
    /// Writes the records of the samples. `read` is the result of reading the recording.
    ///
    /// # Errors
    /// Returns an error if the sink rejects a row; otherwise the error in `read`, after writing everything that was read.
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
        // The name of a process is its first thread's name.
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
        // Sorted by number of samples, so the order of samples does not matter.
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
