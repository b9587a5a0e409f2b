//! Slices: what began and ended on a track, at times of the clock that a packet names.
//!
//! Packets of one track can come from several sequences, so its events are put in the order of their times before they are nested.

use cg_reader::Error;
use cg_stream::record::Count;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::super::table::{FrameParts, NameId, StackKey, StackLinkId, StackTable};
use super::super::wire::MessageBytes;
use super::names::{TraceNames, WantedFields};

/// All slices of a trace, until they are nested.
#[derive(Default)]
pub(super) struct TraceSlices {
    /// By track, in the order of the file.
    tracks: HashMap<u64, Vec<SliceEvent>, FixedState>,
    last: u64,
    /// Ends without a beginning, which an earlier part of the trace had that was overwritten.
    unbegun: u64,
}

struct SliceEvent {
    /// Nanoseconds.
    time: u64,
    /// `None` where a slice ends.
    begins: Option<Option<NameId>>,
}

/// What a track event says.
pub(super) struct TrackEvent<'a> {
    pub(super) kind: u64,
    pub(super) name_id: u64,
    pub(super) name: &'a [u8],
    pub(super) track: Option<u64>,
    /// What Chrome wrote before there were kinds.
    pub(super) legacy: Option<MessageBytes<'a>>,
    /// Microseconds since the last event, and since the thread's reference.
    pub(super) delta: Option<u64>,
    pub(super) absolute: Option<u64>,
}

pub(super) const BEGIN: u64 = 1;
pub(super) const END: u64 = 2;

impl<'a> TrackEvent<'a> {
    pub(super) fn read(message: MessageBytes<'a>) -> Result<TrackEvent<'a>, Error> {
        let mut event = TrackEvent {
            kind: 0,
            name_id: 0,
            name: &[],
            track: None,
            legacy: None,
            delta: None,
            absolute: None,
        };
        let mut fields = message.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value.message()) {
                (1, None) => event.delta = Some(value.number()),
                (6, Some(legacy)) => event.legacy = Some(legacy),
                (9, None) => event.kind = value.number(),
                (10, None) => event.name_id = value.number(),
                (11, None) => event.track = Some(value.number()),
                (16, None) => event.absolute = Some(value.number()),
                (23, Some(name)) => event.name = name.bytes,
                _ => {}
            }
        }
        if let (0, Some(legacy)) = (event.kind, event.legacy) {
            let legacy = WantedFields::of(legacy, [1, 2])?;
            event.kind = match u8::try_from(legacy.numbers[1]) {
                Ok(b'B') => BEGIN,
                Ok(b'E') => END,
                _ => 0,
            };
            if event.name_id == 0 {
                event.name_id = legacy.numbers[0];
            }
        }
        Ok(event)
    }
}

impl TraceSlices {
    /// Takes the beginning of a slice, or the end of the last that is open on its track.
    pub(super) fn add(&mut self, track: u64, time: u64, begins: Option<Option<NameId>>) {
        self.last = self.last.max(time);
        let events = self.tracks.entry(track).or_default();
        events.push(SliceEvent { time, begins });
    }

    /// Adds the time in all slices to a table.
    pub(super) fn finish(
        &mut self,
        names: &TraceNames,
        table: &mut StackTable,
    ) -> Result<(), Error> {
        let mut tracks: Vec<_> = self.tracks.drain().collect();
        tracks.sort_unstable_by_key(|(track, _)| *track);
        if tracks.is_empty() {
            return Ok(());
        }
        let time = table.event("time");
        for (track, mut events) in tracks {
            events.sort_by_key(|event| event.time);
            let origin = super::packets::origin(names.of_track(track), table)?;
            let mut open: Vec<StackLinkId> = Vec::new();
            let mut since = 0;
            // A slice without an end goes to the end of the trace.
            let end = SliceEvent {
                time: self.last,
                begins: None,
            };
            for event in events.iter().chain([&end]) {
                if let Some(stack) = open.last()
                    && event.time > since
                {
                    let row = table.row(StackKey {
                        stack: Some(*stack),
                        ..origin
                    })?;
                    table.add(row, time, Count::from(event.time - since));
                }
                since = event.time;
                match event.begins {
                    Some(name) => {
                        let frame = table.frame(FrameParts {
                            name,
                            ..FrameParts::default()
                        })?;
                        open.push(table.push(open.last().copied(), frame)?);
                    }
                    None if open.pop().is_none() => {
                        self.unbegun += u64::from(!std::ptr::eq(event, &end));
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// How many slices ended that had not begun.
    pub(super) fn unbegun(&self) -> u64 {
        self.unbegun
    }
}

/// The clocks of a sequence: those with numbers from 64 on are its own, and can count from one packet to the next.
#[derive(Default)]
pub(super) struct SequenceClocks {
    own: HashMap<u64, OwnClock, FixedState>,
    /// The clock of packets that name none; 0 is the trace's.
    default: u64,
}

#[derive(Clone, Copy)]
struct OwnClock {
    /// The time of the last packet, in nanoseconds, as the trace's clock has it.
    now: u64,
    /// What it was set to, in its own unit, and when that was.
    set_to: u64,
    set_at: u64,
    unit: u64,
    is_incremental: bool,
}

impl SequenceClocks {
    pub(super) fn set_default(&mut self, clock: u64) {
        self.default = clock;
    }

    /// Sets the clocks of a `ClockSnapshot`.
    pub(super) fn set(&mut self, snapshot: MessageBytes) -> Result<(), Error> {
        const FIRST_OWN: u64 = 64;
        let mut clocks = Vec::new();
        let mut fields = snapshot.fields();
        while let Some((number, value)) = fields.next()? {
            if let (1, Some(clock)) = (number, value.message()) {
                clocks.push(WantedFields::of(clock, [1, 2, 3, 4])?.numbers);
            }
        }
        let is_own = |clock: &&[u64; 4]| clock[0] >= FIRST_OWN;
        let trace = clocks.iter().find(|clock| !is_own(clock));
        let set_at = trace.map_or(0, |[_, time, ..]| *time);
        for [id, set_to, is_incremental, unit] in clocks.iter().filter(is_own) {
            let clock = OwnClock {
                now: set_at,
                set_to: *set_to,
                set_at,
                unit: (*unit).max(1),
                is_incremental: *is_incremental != 0,
            };
            self.own.insert(*id, clock);
        }
        Ok(())
    }

    /// The time of a packet in nanoseconds.
    pub(super) fn time(&mut self, clock: Option<u64>, timestamp: u64) -> u64 {
        let Some(own) = self.own.get_mut(&clock.unwrap_or(self.default)) else {
            return timestamp;
        };
        let scaled = |count: u64| count.saturating_mul(own.unit);
        let time = match own.is_incremental {
            true => own.now.saturating_add(scaled(timestamp)),
            false => own
                .set_at
                .saturating_add(scaled(timestamp.saturating_sub(own.set_to))),
        };
        own.now = time;
        time
    }
}
