//! Samples: the fields selected by the event's `sample_type`, in the order of perf_event_open(2).

use crate::attributes::{EventAttribute, branch_type, sample_type};
use crate::counters::CounterValues;
use crate::fields::{RecordFields, RecordWords};

/// The fields of a sample that are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawSample<'a> {
    pub(crate) ip: Option<u64>,
    pub(crate) pid: Option<u32>,
    pub(crate) tid: Option<u32>,
    pub(crate) time: Option<u64>,
    pub(crate) period: Option<u64>,
    /// The values of the counters that were read with the sample.
    pub(crate) counters: Option<CounterValues<'a>>,
    pub(crate) chain: Option<RecordWords<'a>>,
    /// The calls recorded by the processor, last call first. Each has three words, of which the first two are caller and
    /// callee address.
    pub(crate) calls: Option<RecordWords<'a>>,
    /// The state from which the program's stack can be unwound.
    pub(crate) user: Option<UserState<'a>>,
}

/// The registers of the program, and the innermost part of its stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserState<'a> {
    /// True for a 64-bit program.
    pub(crate) is_64_bit: bool,
    /// The set of recorded registers.
    pub(crate) mask: u64,
    pub(crate) registers: RecordWords<'a>,
    /// The stack, from the stack pointer on.
    pub(crate) stack: &'a [u8],
}

impl UserState<'_> {
    /// Returns a register by its number in `asm/perf_regs.h`; `None` if it was not recorded.
    pub(crate) fn register(&self, number: u32) -> Option<u64> {
        if self.mask >> number & 1 == 0 {
            return None;
        }
        let below = self.mask & ((1 << number) - 1);
        self.registers.get(below.count_ones() as usize)
    }
}

const ABI_NONE: u64 = 0;
const ABI_64: u64 = 2;

impl<'a> RawSample<'a> {
    /// Reads a sample of an event; `None` if it is too short for its fields.
    pub(crate) fn read(
        mut fields: RecordFields<'a>,
        event: &EventAttribute,
    ) -> Option<RawSample<'a>> {
        use sample_type::*;
        let mut sample = RawSample::default();
        let skip_word = |fields: &mut RecordFields, field| match event.has(field) {
            true => fields.u64().map(drop),
            false => Some(()),
        };
        skip_word(&mut fields, IDENTIFIER)?;
        if event.has(IP) {
            sample.ip = Some(fields.u64()?);
        }
        if event.has(TID) {
            sample.pid = Some(fields.u32()?);
            sample.tid = Some(fields.u32()?);
        }
        if event.has(TIME) {
            sample.time = Some(fields.u64()?);
        }
        for field in [ADDR, ID, STREAM_ID, CPU] {
            skip_word(&mut fields, field)?;
        }
        sample.period = match event.has(PERIOD) {
            true => Some(fields.u64()?),
            false => event.period(),
        };
        if event.has(READ) {
            sample.counters = CounterValues::read(&mut fields, event)?;
        }
        if event.has(CALLCHAIN) {
            let count = fields.u64()?;
            sample.chain = Some(fields.words(count)?);
        }
        if event.has(RAW) {
            let length = fields.u32()?;
            fields.take(usize::try_from(length).ok()?)?;
        }
        if event.has(BRANCH_STACK) {
            sample.calls = read_branches(&mut fields, event.branch_type)?;
        }
        if event.has(REGS_USER) {
            sample.user = read_user_state(&mut fields, event)?;
        }
        Some(sample)
    }
}

/// Reads branches; `Some(None)` if they are not a call stack.
fn read_branches<'a>(fields: &mut RecordFields<'a>, kind: u64) -> Option<Option<RecordWords<'a>>> {
    let count = fields.u64()?;
    if kind & branch_type::HW_INDEX != 0 {
        fields.u64()?;
    }
    let branches = fields.words(count.checked_mul(3)?)?;
    if kind & branch_type::COUNTERS != 0 {
        fields.words(count)?;
    }
    Some((kind & branch_type::CALL_STACK != 0 && count > 0).then_some(branches))
}

/// Reads registers and stack; `Some(None)` if the thread has none, as kernel threads.
fn read_user_state<'a>(
    fields: &mut RecordFields<'a>,
    event: &EventAttribute,
) -> Option<Option<UserState<'a>>> {
    let abi = fields.u64()?;
    let mask = event.user_registers;
    let registers = match abi {
        ABI_NONE => fields.words(0)?,
        _ => fields.words(mask.count_ones().into())?,
    };
    if !event.has(sample_type::STACK_USER) {
        return Some(None);
    }
    let length = usize::try_from(fields.u64()?).ok()?;
    let bytes = fields.take(length)?;
    let kept = match length {
        0 => 0,
        _ => usize::try_from(fields.u64()?).ok()?,
    };
    Some((abi != ABI_NONE).then_some(UserState {
        is_64_bit: abi == ABI_64,
        mask,
        registers,
        stack: bytes.get(..kept).unwrap_or(bytes),
    }))
}
