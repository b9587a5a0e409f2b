//! The attributes of an event: `struct perf_event_attr`.

use crate::fields::{FileEndian, RecordFields};

/// Bits of `sample_type`.
pub(crate) mod sample_type {
    pub(crate) const IP: u64 = 1;
    pub(crate) const TID: u64 = 1 << 1;
    pub(crate) const TIME: u64 = 1 << 2;
    pub(crate) const ADDR: u64 = 1 << 3;
    pub(crate) const READ: u64 = 1 << 4;
    pub(crate) const CALLCHAIN: u64 = 1 << 5;
    pub(crate) const ID: u64 = 1 << 6;
    pub(crate) const CPU: u64 = 1 << 7;
    pub(crate) const PERIOD: u64 = 1 << 8;
    pub(crate) const STREAM_ID: u64 = 1 << 9;
    pub(crate) const RAW: u64 = 1 << 10;
    pub(crate) const BRANCH_STACK: u64 = 1 << 11;
    pub(crate) const REGS_USER: u64 = 1 << 12;
    pub(crate) const STACK_USER: u64 = 1 << 13;
    pub(crate) const IDENTIFIER: u64 = 1 << 16;
}

/// Bits of `branch_sample_type`.
pub(crate) mod branch_type {
    pub(crate) const CALL_STACK: u64 = 1 << 11;
    pub(crate) const HW_INDEX: u64 = 1 << 17;
    pub(crate) const COUNTERS: u64 = 1 << 19;
}

const FLAG_INHERIT: u64 = 1 << 1;
const FLAG_FREQUENCY: u64 = 1 << 10;
const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;

/// The default maximum number of addresses in the kernel's call chains (`kernel.perf_event_max_stack`).
const MOST_ADDRESSES: u16 = 127;

/// A recorded event, with the fields of its samples.
#[derive(Clone, Debug)]
pub(crate) struct EventAttribute {
    pub(crate) kind: u32,
    pub(crate) config: u64,
    period_or_frequency: u64,
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    flags: u64,
    pub(crate) branch_type: u64,
    pub(crate) user_registers: u64,
    max_stack: u16,
    /// perf's name for it; empty until known.
    pub(crate) name: Vec<u8>,
}

impl EventAttribute {
    /// Reads an attribute. Older versions have only its first fields.
    pub(crate) fn read(bytes: &[u8], endian: FileEndian) -> Option<EventAttribute> {
        let mut fields = RecordFields::new(bytes, endian);
        let kind = fields.u32()?;
        let size = usize::try_from(fields.u32()?).ok()?;
        fields.bytes = fields
            .bytes
            .get(..size.saturating_sub(8))
            .unwrap_or(fields.bytes);
        let config = fields.u64()?;
        let period_or_frequency = fields.u64()?;
        let sample_type = fields.u64()?;
        let read_format = fields.u64()?;
        let flags = fields.u64()?;
        // wakeup_events, bp_type, config1, config2
        fields.take(24);
        let branch_type = fields.u64().unwrap_or(0);
        let user_registers = fields.u64().unwrap_or(0);
        // sample_stack_user, clockid, sample_regs_intr, aux_watermark
        fields.take(20);
        let max_stack = fields.u16().unwrap_or(0);
        Some(EventAttribute {
            kind,
            config,
            period_or_frequency,
            sample_type,
            read_format,
            // In the other byte order, bit fields begin at the other end of a word.
            flags: match endian {
                FileEndian::Little => flags,
                FileEndian::Big => flags.reverse_bits(),
            },
            branch_type,
            user_registers,
            max_stack,
            name: Vec::new(),
        })
    }

    pub(crate) fn has(&self, field: u64) -> bool {
        self.sample_type & field != 0
    }

    /// Returns the period of samples without their own; `None` if it varies.
    pub(crate) fn period(&self) -> Option<u64> {
        (self.flags & FLAG_FREQUENCY == 0).then_some(self.period_or_frequency)
    }

    /// Returns the samples per second, if the event is sampled by frequency.
    pub(crate) fn frequency(&self) -> Option<u64> {
        (self.flags & FLAG_FREQUENCY != 0).then_some(self.period_or_frequency)
    }

    /// Returns true if child threads have separate counts under the same id.
    pub(crate) fn is_inherited(&self) -> bool {
        self.flags & FLAG_INHERIT != 0
    }

    /// Returns the maximum number of addresses in a chain. A chain of this length may be cut.
    pub(crate) fn most_addresses(&self) -> usize {
        usize::from(match self.max_stack {
            0 => MOST_ADDRESSES,
            most => most,
        })
    }

    /// Returns true for perf's dummy event, which counts nothing.
    pub(crate) fn is_dummy(&self) -> bool {
        (self.kind, self.config) == (SOFTWARE, 9)
    }

    /// Returns the word of a sample that contains the event's id.
    pub(crate) fn id_position(&self) -> Option<usize> {
        use sample_type::*;
        if self.has(IDENTIFIER) {
            return Some(0);
        }
        let before = [IP, TID, TIME, ADDR];
        let words = before.iter().filter(|field| self.has(**field)).count();
        self.has(ID).then_some(words)
    }

    /// Returns the word of a sample that contains the time.
    pub(crate) fn time_position(&self) -> Option<usize> {
        use sample_type::*;
        let before = [IDENTIFIER, IP, TID];
        let words = before.iter().filter(|field| self.has(**field)).count();
        self.has(TIME).then_some(words)
    }

    /// Returns the position of the time in records other than samples, in words from the end. The event's other fields of
    /// this list follow the time.
    pub(crate) fn time_from_end(&self) -> Option<usize> {
        use sample_type::*;
        let from = [TIME, ID, STREAM_ID, CPU, IDENTIFIER];
        let words = from.iter().filter(|field| self.has(**field)).count();
        (self.has(TIME) && self.flags & FLAG_SAMPLE_ID_ALL != 0).then_some(words)
    }

    /// Returns perf's name for the event, derived from its numbers (`perf_evsel__name` in tools/perf/util/evsel.c).
    pub(crate) fn name_by_number(&self) -> String {
        let names: &[&str] = match self.kind {
            HARDWARE => &HARDWARE_EVENTS,
            SOFTWARE => &SOFTWARE_EVENTS,
            _ => &[],
        };
        let number = usize::try_from(self.config).ok();
        match (number.and_then(|number| names.get(number)), self.kind) {
            (Some(name), _) => (*name).to_owned(),
            (None, TRACEPOINT) => format!("tracepoint {}", self.config),
            (None, RAW) => format!("raw {:#x}", self.config),
            (None, kind) => format!("type {kind} config {:#x}", self.config),
        }
    }
}

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
const RAW: u32 = 4;

const HARDWARE_EVENTS: [&str; 10] = [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];
const SOFTWARE_EVENTS: [&str; 11] = [
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_half_of_an_events_number_belongs_to_it() {
        let name = |kind, config| {
            let attribute = EventAttribute {
                kind,
                config,
                period_or_frequency: 0,
                sample_type: 0,
                read_format: 0,
                flags: 0,
                branch_type: 0,
                user_registers: 0,
                max_stack: 0,
                name: Vec::new(),
            };
            attribute.name_by_number()
        };
        assert_eq!(name(HARDWARE, 1), "instructions");
        assert_eq!(name(HARDWARE, 1 << 32 | 1), "type 0 config 0x100000001");
        assert_eq!(name(SOFTWARE, 1), "task-clock");
        assert_eq!(name(SOFTWARE, 1 << 32 | 1), "type 1 config 0x100000001");
        assert_eq!(name(RAW, 1), "raw 0x1");
    }
}
