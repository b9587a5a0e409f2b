//! A sample: the fields that its event's `sample_type` names, in the order of perf_event_open(2).

use crate::attributes::{EventAttribute, branch_type, sample_type};
use crate::counters::CounterValues;
use crate::fields::{RecordFields, RecordWords};

/// What is read of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawSample<'a> {
    pub(crate) ip: Option<u64>,
    pub(crate) pid: Option<u32>,
    pub(crate) tid: Option<u32>,
    pub(crate) time: Option<u64>,
    pub(crate) period: Option<u64>,
    /// What the counters had that were read with it.
    pub(crate) counters: Option<CounterValues<'a>>,
    pub(crate) chain: Option<RecordWords<'a>>,
    /// The calls that the processor itself remembered, the last first: three words each, of which the first two are from where
    /// and to where.
    pub(crate) calls: Option<RecordWords<'a>>,
    /// What takes it to follow the stack of the program.
    pub(crate) user: Option<UserState<'a>>,
}

/// Registers of the program, and the innermost part of its stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserState<'a> {
    /// Whether the program is one of 64 bits.
    pub(crate) is_64_bit: bool,
    /// Which registers were kept.
    pub(crate) mask: u64,
    pub(crate) registers: RecordWords<'a>,
    /// From the stack pointer on.
    pub(crate) stack: &'a [u8],
}

impl UserState<'_> {
    /// A register by its number in `asm/perf_regs.h`.
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
    /// Reads a sample of an event; `None` where it ends before its fields do.
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

/// Reads branches; `Some(None)` where they are no stack of calls.
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

/// Reads registers and stack; `Some(None)` where the thread had none, as those of the kernel.
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
