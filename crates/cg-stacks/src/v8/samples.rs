//! What samples cost: how many there were, and the time between them.

use cg_reader::json::ListElements;
use cg_reader::number::whole_u64;
use cg_reader::{Error, excerpt};
use cg_stream::Diagnostics;
use cg_stream::record::{Count, RunRecord};

use super::super::count::{Carry, Decimal};
use super::super::table::{StackKey, StackLinkId, StackTable};
use super::call_node::CallNode;
use super::document::V8Document;
use super::nodes::V8Nodes;

/// Adds samples to a table.
pub(super) struct V8Samples {
    event: usize,
    time: usize,
    /// Whether the nodes say how many samples they had.
    has_hits: bool,
    carry: Carry,
    /// Deltas below 0.
    backwards: u64,
}

impl V8Samples {
    pub(super) fn new(table: &mut StackTable, run: &mut RunRecord) -> V8Samples {
        let units = &mut run.sampling.units;
        units.insert("time".to_owned(), "ns".to_owned());
        V8Samples {
            event: table.event("samples"),
            time: table.event("time"),
            has_hits: false,
            carry: Carry::default(),
            backwards: 0,
        }
    }

    /// Adds the hit counts of nodes.
    pub(super) fn add_hits(
        &mut self,
        all: &[CallNode],
        nodes: &V8Nodes,
        table: &mut StackTable,
    ) -> Result<(), Error> {
        self.has_hits = all.iter().any(|node| node.hit_count.is_some());
        for (position, node) in all.iter().enumerate() {
            if let Some(hits) = node.hit_count.filter(|hits| *hits > 0) {
                let row = table.row(row(nodes.stack(position)))?;
                table.add(row, self.event, hits.into());
            }
        }
        Ok(())
    }

    /// Adds the samples of a profile that is whole, and the times between them.
    pub(super) fn add_all(
        &mut self,
        document: &V8Document,
        nodes: &V8Nodes,
        table: &mut StackTable,
    ) -> Result<(), Error> {
        let mut deltas = Deltas::of(document);
        for element in document.samples.elements() {
            let id = whole_u64(element).ok_or_else(|| {
                Error::whole(format!(
                    "expected the id of a node, found {}",
                    excerpt(element)
                ))
            })?;
            let stack = nodes.stack(nodes.position(id)?);
            let delta = deltas.next()?;
            self.add(row(stack), delta, table)?;
        }
        match deltas.are_all_read() {
            true => Ok(()),
            false => Err(Error::whole(
                "expected as many times as samples, found more",
            )),
        }
    }

    /// Adds a sample, with the µs since the one before it.
    pub(super) fn add(
        &mut self,
        row: StackKey,
        delta: Option<Decimal>,
        table: &mut StackTable,
    ) -> Result<(), Error> {
        let row = table.row(row)?;
        if !self.has_hits {
            table.add(row, self.event, 1);
        }
        let Some(delta) = delta else {
            return Ok(());
        };
        if delta.digits < 0 {
            self.backwards += 1;
            return Ok(());
        }
        let time: Option<Count> = self.carry.add(delta, 1000);
        let time = time.ok_or_else(|| Error::whole("the sum of the times is beyond 64 bits"))?;
        table.add(row, self.time, time);
        Ok(())
    }

    /// Says what did not count.
    pub(super) fn warn(&self, source: &str, diagnostics: &mut Diagnostics) {
        if self.backwards > 0 {
            diagnostics.warn(format!(
                "{source}: {} times between samples are below 0; they count as 0",
                self.backwards
            ));
        }
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
            let row = table.row(row(nodes.stack(position)))?;
            table.add(row, event, bytes.into());
        }
    }
    Ok(())
}

fn row(stack: Option<StackLinkId>) -> StackKey {
    StackKey {
        stack,
        ..StackKey::default()
    }
}

/// The times between samples.
enum Deltas<'a> {
    /// As they are written.
    Written(ListElements<'a>),
    /// Of times at which samples were taken, the last of which was this.
    Between(ListElements<'a>, Option<Count>),
    None,
}

impl<'a> Deltas<'a> {
    fn of(document: &V8Document<'a>) -> Deltas<'a> {
        if !document.time_deltas.is_empty() {
            return Deltas::Written(document.time_deltas.elements());
        }
        if document.timestamps.is_empty() {
            return Deltas::None;
        }
        let mut stamps = document.timestamps.elements();
        if document.timestamps.elements().count() == document.samples.elements().count() + 1 {
            // They are between samples: each lasts from its own time to the next.
            let first = stamps.next().and_then(|stamp| micros(stamp).ok());
            return Deltas::Between(stamps, first);
        }
        let in_micros = |seconds: Option<f64>| seconds.map(|time| (time * 1e6).round() as Count);
        let first = document.timestamps.elements().next();
        let first = first.and_then(|stamp| micros(stamp).ok());
        // Some took start and end from another clock than the times of samples.
        let is_before = |end: Option<Count>| end.zip(first).is_some_and(|(end, first)| end < first);
        let start = in_micros(document.start_time);
        let start = start.filter(|_| !is_before(in_micros(document.end_time)));
        Deltas::Between(stamps, start)
    }

    fn next(&mut self) -> Result<Option<Decimal>, Error> {
        let fewer = || Error::whole("expected as many times as samples, found fewer");
        match self {
            Deltas::Written(elements) => time(elements.next().ok_or_else(fewer)?).map(Some),
            Deltas::Between(elements, last) => {
                let stamp = micros(elements.next().ok_or_else(fewer)?)?;
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
            Deltas::Written(elements) | Deltas::Between(elements, _) => elements.next().is_none(),
            Deltas::None => true,
        }
    }
}

/// A time in whole µs.
fn micros(element: &[u8]) -> Result<Count, Error> {
    let stamp = time(element)?;
    Ok(stamp.digits / Count::pow(10, stamp.decimals))
}

/// A time as it is written, in µs.
pub(super) fn time(element: &[u8]) -> Result<Decimal, Error> {
    Decimal::parse(element).ok_or_else(|| {
        Error::whole(format!(
            "expected a time of 64 bits, found {}",
            excerpt(element)
        ))
    })
}
