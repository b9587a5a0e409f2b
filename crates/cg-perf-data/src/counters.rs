//! Counters that were read with a sample, as with `perf record -e '{a,b}:S'`: only the first event of a group is sampled,
//! and the growth of the other counters since its previous sample is attributed to their events.
//!
//! perf makes one sample per counter (`evlist__deliver_sample` in tools/perf/util/session.c).

use cg_collections::maps::Map;

use crate::attributes::EventAttribute;
use crate::fields::{RecordFields, RecordWords};

/// Bits of `read_format`.
mod read_format {
    pub(super) const TOTAL_TIME_ENABLED: u64 = 1;
    pub(super) const TOTAL_TIME_RUNNING: u64 = 1 << 1;
    pub(super) const ID: u64 = 1 << 2;
    pub(super) const GROUP: u64 = 1 << 3;
    pub(super) const LOST: u64 = 1 << 4;
}

/// Values of counters, each with the id of its event: `struct read_format` of perf_event_open(2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterValues<'a> {
    words: RecordWords<'a>,
    /// The number of words per value, including the fields after it.
    length: usize,
    /// The number of words before the id.
    before_id: usize,
}

impl<'a> CounterValues<'a> {
    /// Reads the values of a sample; `Some(None)` if they have no ids.
    pub(crate) fn read(
        fields: &mut RecordFields<'a>,
        event: &EventAttribute,
    ) -> Option<Option<CounterValues<'a>>> {
        use read_format::*;
        let has = |bit: u64| u64::from(event.read_format & bit != 0);
        let times = has(TOTAL_TIME_ENABLED) + has(TOTAL_TIME_RUNNING);
        let length = 1 + has(ID) + has(LOST);
        let (words, before_id) = match has(GROUP) {
            // Without `PERF_FORMAT_GROUP`, the times follow the value.
            0 => (fields.words(length + times)?, 1 + times),
            _ => {
                let count = fields.u64()?;
                fields.words(times)?;
                (fields.words(count.checked_mul(length)?)?, 1)
            }
        };
        let length = length + (1 - has(GROUP)) * times;
        Some((has(ID) != 0).then_some(CounterValues {
            words,
            length: length as usize,
            before_id: before_id as usize,
        }))
    }

    /// Iterates over the ids and values.
    fn iter(self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let get = move |value: usize, word: usize| self.words.get(value * self.length + word);
        (0..).map_while(move |value| Some((get(value, self.before_id)?, get(value, 0)?)))
    }
}

/// The value of each counter at the previous sample. Threads that inherited an event share its id but have separate counts.
#[derive(Default)]
pub(crate) struct CounterStates {
    last: Map<(u64, Option<u32>), u64>,
}

impl CounterStates {
    /// Iterates over the ids of the counters that grew since the previous sample, with their growth.
    pub(crate) fn growth<'c>(
        &'c mut self,
        values: CounterValues<'c>,
        tid: Option<u32>,
    ) -> impl Iterator<Item = (u64, u64)> + 'c {
        let growth = move |(id, value)| {
            let last = self.last.insert((id, tid), value).unwrap_or(0);
            (id, u64::wrapping_sub(value, last))
        };
        values.iter().map(growth).filter(|(_, growth)| *growth > 0)
    }
}
