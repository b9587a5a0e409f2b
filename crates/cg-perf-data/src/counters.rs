//! Counters that were read with a sample, as `perf record -e '{a,b}:S'` asks for: only the first event of a group is sampled,
//! and what the others came to since its last sample is theirs.
//!
//! perf makes a sample of each (`evlist__deliver_sample` in tools/perf/util/session.c).

use cg_stream::maps::Map;

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
    /// How many words a value has with what follows it, and how many stand in front of its id.
    length: usize,
    before_id: usize,
}

impl<'a> CounterValues<'a> {
    /// Reads the values of a sample: `Some(None)` where they do not say whose they are.
    pub(crate) fn read(
        fields: &mut RecordFields<'a>,
        event: &EventAttribute,
    ) -> Option<Option<CounterValues<'a>>> {
        use read_format::*;
        let has = |bit: u64| u64::from(event.read_format & bit != 0);
        let times = has(TOTAL_TIME_ENABLED) + has(TOTAL_TIME_RUNNING);
        let length = 1 + has(ID) + has(LOST);
        let (words, before_id) = match has(GROUP) {
            // Of one counter the times stand behind the value.
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

    /// The values with their ids.
    fn iter(self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let of = move |value: usize, word: usize| self.words.get(value * self.length + word);
        (0..).map_while(move |value| Some((of(value, self.before_id)?, of(value, 0)?)))
    }
}

/// What each counter had at the sample before. Threads that inherited an event have its id, and counts of their own.
#[derive(Default)]
pub(crate) struct CounterStates {
    last: Map<(u64, Option<u32>), u64>,
}

impl CounterStates {
    /// The ids of the counters, and by how much each grew since the sample before; those that did not are left out.
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
