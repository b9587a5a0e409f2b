//! Slices: begin and end events on tracks, each with a time on the clock of its packet.
//!
//! The packets of a track may come from several sequences, so the track's events are sorted by time before nesting.

use std::cmp::Reverse;

use cg_collections::intern::TooMany;
use cg_collections::maps::Map;
use cg_reader::Error;
use cg_stream::record::Count;

use super::super::table::{FrameParts, NameId, StackKey, StackLinkId, StackTable};
use super::super::wire::MessageBytes;
use super::names::{TraceNames, WantedFields};

/// All slices of a trace, before nesting.
#[derive(Default)]
pub(super) struct TraceSlices {
    /// The events of each track, in file order.
    tracks: Map<u64, Vec<SliceEvent>>,
    last: u64,
    /// The number of ends without a beginning. An earlier, overwritten part of the trace had the beginnings.
    unbegun: u64,
    /// The number of slices that end after a slice around them.
    overlapping: u64,
}

struct SliceEvent {
    /// In nanoseconds.
    time: u64,
    mark: TrackMark,
}

/// The effect of an event on a slice.
#[derive(Clone, Copy)]
pub(super) enum TrackMark {
    Begins(Option<NameId>),
    Ends,
    /// A whole slice, with its duration in nanoseconds.
    Lasts(Option<NameId>, u64),
}

impl SliceEvent {
    /// Returns the sort key. If slices begin at the same time, the longest contains the others. Other events at the same
    /// time keep their order.
    fn order(&self) -> (u64, Reverse<u64>) {
        let length = match self.mark {
            TrackMark::Begins(_) | TrackMark::Ends => u64::MAX,
            TrackMark::Lasts(_, length) => length,
        };
        (self.time, Reverse(length))
    }
}

/// A slice that has not ended yet.
struct OpenSlice {
    stack: StackLinkId,
    /// The earliest known end of the slice or of one around it; `u64::MAX` if unknown.
    ends: u64,
    /// True if another event ends it.
    is_open_ended: bool,
}

/// The fields of a track event.
#[derive(Default)]
pub(super) struct TrackEvent<'a> {
    pub(super) kind: u64,
    pub(super) name_id: u64,
    pub(super) name: &'a [u8],
    pub(super) track: Option<u64>,
    /// Chrome's older form, used before events had kinds.
    pub(super) legacy: Option<MessageBytes<'a>>,
    /// Microseconds since the last event.
    pub(super) delta: Option<u64>,
    /// The absolute time in microseconds.
    pub(super) absolute: Option<u64>,
    /// The duration of a [`COMPLETE`] slice in microseconds.
    pub(super) duration: u64,
}

pub(super) const BEGIN: u64 = 1;
pub(super) const END: u64 = 2;
/// Kinds that only Chrome's older form has, by the letters of their phases: a whole slice, and the beginning of a slice
/// without a thread.
pub(super) const COMPLETE: u64 = b'X' as u64;
pub(super) const ASYNCHRONOUS: u64 = b'b' as u64;

impl<'a> TrackEvent<'a> {
    pub(super) fn read(message: MessageBytes<'a>) -> Result<TrackEvent<'a>, Error> {
        let mut event = TrackEvent::default();
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
            let legacy = WantedFields::read(legacy, [1, 2, 3])?;
            event.kind = match u8::try_from(legacy.numbers[1]) {
                Ok(b'B') => BEGIN,
                Ok(b'E') => END,
                Ok(b'X') => COMPLETE,
                Ok(b'b' | b'S') => ASYNCHRONOUS,
                _ => 0,
            };
            event.duration = legacy.numbers[2];
            if event.name_id == 0 {
                event.name_id = legacy.numbers[0];
            }
        }
        Ok(event)
    }
}

impl TraceSlices {
    /// Adds a slice, the beginning of a slice, or the end of the last open slice of a track.
    pub(super) fn add(&mut self, track: u64, time: u64, mark: TrackMark) {
        let length = match mark {
            TrackMark::Lasts(_, length) => length,
            TrackMark::Begins(_) | TrackMark::Ends => 0,
        };
        self.last = self.last.max(time.saturating_add(length));
        let events = self.tracks.entry(track).or_default();
        events.push(SliceEvent { time, mark });
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
            events.sort_by_key(SliceEvent::order);
            let mut track = OpenTrack {
                origin: super::packets::origin(names.track_origin(track), table)?,
                event: time,
                open: Vec::new(),
                open_ended: 0,
                since: 0,
                overlapping: 0,
            };
            for event in events {
                track.go_to(event.time, table)?;
                match event.mark {
                    TrackMark::Begins(name) => track.begin(name, None, table)?,
                    TrackMark::Lasts(name, length) => {
                        track.begin(name, Some(event.time.saturating_add(length)), table)?;
                    }
                    TrackMark::Ends if track.open_ended == 0 => self.unbegun += 1,
                    TrackMark::Ends => track.end(),
                }
            }
            // A slice without an end lasts to the end of the trace.
            track.go_to(self.last, table)?;
            self.overlapping += track.overlapping;
        }
        Ok(())
    }

    /// Returns the number of slices that end after a slice around them.
    pub(super) fn overlapping(&self) -> u64 {
        self.overlapping
    }

    /// Returns the number of ends without a beginning.
    pub(super) fn unbegun(&self) -> u64 {
        self.unbegun
    }
}

/// The open slices of a track at some time.
struct OpenTrack {
    /// The key of the track, without a stack.
    origin: StackKey,
    event: usize,
    /// Outermost first.
    open: Vec<OpenSlice>,
    /// The number of open slices that another event ends.
    open_ended: usize,
    /// The time up to which costs were added.
    since: u64,
    overlapping: u64,
}

impl OpenTrack {
    /// Adds the costs up to this time, and closes the slices with a known end up to it.
    fn go_to(&mut self, time: u64, table: &mut StackTable) -> Result<(), TooMany> {
        while let Some(innermost) = self.open.last() {
            let (until, has_ended) = (innermost.ends.min(time), innermost.ends <= time);
            if until > self.since {
                let row = table.row(StackKey {
                    stack: Some(innermost.stack),
                    ..self.origin
                })?;
                table.add(row, self.event, Count::from(until - self.since));
                self.since = until;
            }
            if !has_ended {
                break;
            }
            let cut = self.close().is_some_and(|slice| slice.is_open_ended);
            self.overlapping += u64::from(cut);
        }
        self.since = time;
        Ok(())
    }

    fn begin(
        &mut self,
        name: Option<NameId>,
        ends: Option<u64>,
        table: &mut StackTable,
    ) -> Result<(), TooMany> {
        let frame = table.frame(FrameParts {
            name,
            ..FrameParts::default()
        })?;
        let outer = self.open.last();
        let outer_ends = outer.map_or(u64::MAX, |outer| outer.ends);
        let stack = table.push(outer.map(|outer| outer.stack), frame)?;
        self.overlapping += u64::from(ends.is_some_and(|ends| ends > outer_ends));
        self.open_ended += usize::from(ends.is_none());
        self.open.push(OpenSlice {
            stack,
            ends: ends.unwrap_or(u64::MAX).min(outer_ends),
            is_open_ended: ends.is_none(),
        });
        Ok(())
    }

    /// Closes the innermost slice that another event ends, and all slices inside it.
    fn end(&mut self) {
        while self.close().is_some_and(|slice| !slice.is_open_ended) {
            self.overlapping += 1;
        }
    }

    fn close(&mut self) -> Option<OpenSlice> {
        let slice = self.open.pop()?;
        self.open_ended -= usize::from(slice.is_open_ended);
        Some(slice)
    }
}

/// The clocks of a sequence. Clocks from number 64 on belong to the sequence, and may count from packet to packet.
#[derive(Default)]
pub(super) struct SequenceClocks {
    own: Map<u64, OwnClock>,
    /// The clock of packets without a clock; 0 is the trace's clock.
    default: u64,
}

#[derive(Clone, Copy)]
struct OwnClock {
    /// The time of the last packet in nanoseconds, on the trace's clock.
    now: u64,
    /// The clock's value when it was set, in its own unit, and the trace's time then.
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
                clocks.push(WantedFields::read(clock, [1, 2, 3, 4])?.numbers);
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

    /// Returns the time of a packet in nanoseconds.
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
