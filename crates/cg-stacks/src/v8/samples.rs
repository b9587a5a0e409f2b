//! The costs of samples: their number, and the time between them.

use cg_reader::json::ListElements;
use cg_reader::number::whole_u64;
use cg_reader::{Error, Reading};
use cg_stream::record::{Count, RunRecord};

use super::super::count::{Carry, Decimal};
use super::super::table::{StackKey, StackKeyId, StackTable};
use super::call_node::CallNode;
use super::document::V8Document;
use super::nodes::V8Nodes;

/// Adds samples to a table. Times are in ns since the beginning of the profile.
#[derive(Default)]
pub(super) struct V8Samples {
    event: usize,
    time: usize,
    keeps_times: bool,
    carry: Carry,
    /// The sum of all deltas.
    now: Count,
    /// The row of the last sample.
    open: Option<StackKeyId>,
    /// The latest time of all samples.
    latest: Count,
    /// The number of samples that are earlier than the samples before them.
    backwards: u64,
    /// True if the end of the profile is of another clock than its beginning.
    pub(super) has_two_clocks: bool,
}

impl V8Samples {
    pub(super) fn new(table: &mut StackTable, run: &mut RunRecord, keeps_times: bool) -> V8Samples {
        run.sampling.set_unit("time", "ns");
        V8Samples {
            event: table.event("samples"),
            time: table.event("time"),
            keeps_times,
            ..V8Samples::default()
        }
    }

    /// Adds the hit counts of nodes, for a profile without a list of samples.
    pub(super) fn add_hits(
        &self,
        all: &[CallNode],
        nodes: &V8Nodes,
        table: &mut StackTable,
    ) -> Result<(), Error> {
        for (position, node) in all.iter().enumerate() {
            if let Some(hits) = node.hit_count.filter(|hits| *hits > 0) {
                table.count(
                    StackKey::from_stack(nodes.stack(position)),
                    self.event,
                    hits.into(),
                )?;
            }
        }
        Ok(())
    }

    /// Adds the samples of a complete profile, and the times between them.
    pub(super) fn add_all(
        &mut self,
        document: &V8Document,
        nodes: &V8Nodes,
        table: &mut StackTable,
    ) -> Result<(), Error> {
        let mut deltas = Deltas::from_document(document);
        for element in document.samples.elements() {
            let id = whole_u64(element)
                .ok_or_else(|| Error::unexpected_text("the id of a node", element))?;
            let stack = nodes.stack(nodes.position(id)?);
            let delta = deltas.next()?;
            self.add(StackKey::from_stack(stack), delta, table)?;
        }
        let end = deltas.end(document)?;
        match deltas.are_all_read() {
            true => {
                let known = self.end_on_one_clock(document.start_time, end);
                self.has_two_clocks = end != known;
                self.finish(known, table);
                Ok(())
            }
            false => Err(Error::whole(
                "expected as many times as samples, found more",
            )),
        }
    }

    /// Adds a sample, with the µs since the previous one.
    pub(super) fn add(
        &mut self,
        key: StackKey,
        delta: Option<Decimal>,
        table: &mut StackTable,
    ) -> Result<(), Error> {
        if let Some(delta) = delta {
            let beyond = || Error::whole("the sum of the times is beyond 64 bits");
            let time = self.carry.add(delta, 1000).ok_or_else(beyond)?;
            self.now = self.now.checked_add(time).ok_or_else(beyond)?;
            self.backwards += u64::from(delta.digits < 0);
            self.charge(self.now, table);
        }
        let time = u64::try_from(self.latest).ok();
        let row = table.row(StackKey {
            time: time.filter(|_| self.keeps_times && delta.is_some()),
            ..key
        })?;
        table.add(row, self.event, 1);
        // A sample without a time does not end the previous sample.
        self.open = delta.map(|_| row).or(self.open);
        Ok(())
    }

    /// Returns the end of a profile, in ns since its beginning; `None` if the beginning is of another clock. Some programs
    /// write 0 for the beginning and the time since the machine started for the end.
    pub(super) fn end_on_one_clock(&self, begin: Option<f64>, end: Option<Count>) -> Option<Count> {
        const SECOND: Count = 1_000_000_000;
        let is_after_all = |end: &Count| end - self.now > self.now.max(SECOND);
        end.filter(|end| begin != Some(0.0) || !is_after_all(end))
    }

    /// Adds the time up to the end of the profile, if known, and prepares for the next profile.
    pub(super) fn finish(&mut self, end: Option<Count>, table: &mut StackTable) {
        if let Some(end) = end {
            self.charge(end, table);
        }
        (self.now, self.open, self.latest) = (0, None, 0);
    }

    /// Adds the time up to now to the last sample.
    fn charge(&mut self, now: Count, table: &mut StackTable) {
        if let Some(row) = self.open
            && now > self.latest
        {
            table.add(row, self.time, now - self.latest);
        }
        self.latest = now.max(self.latest);
    }

    /// Warns about samples in the wrong order.
    pub(super) fn warn(&self, reading: &mut Reading) {
        reading.warn_count(
            self.backwards,
            "sample is earlier than the sample before it; it counts as taken at the same time",
            "samples are earlier than the samples before them; they count as taken at the same time",
        );
    }
}

/// Adds the bytes of nodes.
pub(super) fn add_sizes(
    all: &[CallNode],
    nodes: &V8Nodes,
    table: &mut StackTable,
) -> Result<(), Error> {
    let event = table.event("bytes");
    for (position, node) in all.iter().enumerate() {
        if let Some(bytes) = node.self_size.filter(|bytes| *bytes > 0) {
            table.count(
                StackKey::from_stack(nodes.stack(position)),
                event,
                bytes.into(),
            )?;
        }
    }
    Ok(())
}

/// The times between samples.
enum Deltas<'a> {
    /// Deltas from the file.
    Written(ListElements<'a>),
    /// Differences between the times of samples, in µs.
    Between {
        stamps: ListElements<'a>,
        last: Option<Count>,
        /// The zero of times: the beginning of the profile, or the first sample.
        begin: Option<Count>,
    },
    None,
}

impl<'a> Deltas<'a> {
    fn from_document(document: &V8Document<'a>) -> Deltas<'a> {
        if !document.time_deltas.is_empty() {
            return Deltas::Written(document.time_deltas.elements());
        }
        if document.timestamps.is_empty() {
            return Deltas::None;
        }
        let first = document.timestamps.elements().next();
        let first = first.and_then(|stamp| micros(stamp).ok());
        // Some versions used different clocks for samples and for start and end.
        let is_before = |end: Option<Count>| end.zip(first).is_some_and(|(end, first)| end < first);
        let start = in_micros(document.start_time);
        let start = start.filter(|_| !is_before(in_micros(document.end_time)));
        let begin = match document.timestamps.elements().count() {
            // The times are between samples: each sample lasts from one time to the next.
            stamps if stamps == document.samples.elements().count() + 1 => first,
            _ => start.or(first),
        };
        Deltas::Between {
            stamps: document.timestamps.elements(),
            last: begin,
            begin,
        }
    }

    /// Returns the end of the profile, in ns since its beginning; `None` if unknown.
    fn end(&mut self, document: &V8Document) -> Result<Option<Count>, Error> {
        match self {
            Deltas::Written(_) => Ok(document.duration().map(Count::from)),
            Deltas::Between { stamps, begin, .. } => {
                let end = match stamps.next() {
                    Some(one_more) => Some(micros(one_more)?),
                    None => in_micros(document.end_time),
                };
                Ok(end.zip(*begin).map(|(end, begin)| (end - begin) * 1000))
            }
            Deltas::None => Ok(None),
        }
    }

    fn next(&mut self) -> Result<Option<Decimal>, Error> {
        let fewer = || Error::whole("expected as many times as samples, found fewer");
        match self {
            Deltas::Written(elements) => time(elements.next().ok_or_else(fewer)?).map(Some),
            Deltas::Between { stamps, last, .. } => {
                let stamp = micros(stamps.next().ok_or_else(fewer)?)?;
                let digits = stamp - last.unwrap_or(stamp);
                *last = Some(stamp);
                Ok(Some(Decimal {
                    digits,
                    decimals: 0,
                    is_rounded: false,
                }))
            }
            Deltas::None => Ok(None),
        }
    }

    fn are_all_read(&mut self) -> bool {
        match self {
            Deltas::Written(elements)
            | Deltas::Between {
                stamps: elements, ..
            } => elements.next().is_none(),
            Deltas::None => true,
        }
    }
}

/// Converts seconds to whole µs.
fn in_micros(seconds: Option<f64>) -> Option<Count> {
    seconds.map(|time| (time * 1e6).round() as Count)
}

/// Parses a time as whole µs.
fn micros(element: &[u8]) -> Result<Count, Error> {
    let stamp = time(element)?;
    Ok(stamp.digits / Count::pow(10, stamp.decimals))
}

/// Parses a time in µs.
pub(super) fn time(element: &[u8]) -> Result<Decimal, Error> {
    Decimal::parse(element).ok_or_else(|| Error::unexpected_text("a time of 64 bits", element))
}
