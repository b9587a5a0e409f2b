//! The packets of a trace, each read in the state of its sequence.

use cg_collections::intern::TooMany;
use cg_collections::maps::Map;
use cg_reader::{Error, plurals};
use cg_stream::record::{Count, Name, RunRecord};

use super::super::rate::samples_a_second;
use super::super::table::{StackKey, StackLinkId, StackTable};
use super::super::wire::{MessageBytes, WireValue};
use super::heap::{HeapSample, Heaps};
use super::interned::Interned;
use super::names::{THREAD_TRACK, TraceNames, TraceOrigin, WantedFields};
use super::slices::{
    ASYNCHRONOUS, BEGIN, COMPLETE, END, SequenceClocks, TraceSlices, TrackEvent, TrackMark,
};

/// Reads packets into a table of stacks.
pub(super) struct PacketReader<'n, 'a> {
    names: &'n TraceNames<'a>,
    is_demangled: bool,
    table: StackTable,
    sequences: Map<u64, Sequence<'a>>,
    heaps: Heaps,
    slices: TraceSlices,
    /// The number of samples whose stack is missing, samples that the profiler lost, and incomplete heaps.
    lost_stacks: u64,
    lost_samples: u64,
    lost_heaps: u64,
    /// The number of slices in Chrome's older form without a thread, and without a duration.
    asynchronous: u64,
    unended: u64,
    frequency: u64,
}

/// The state of one writer, from its earlier packets.
#[derive(Default)]
struct Sequence<'a> {
    interned: Interned<'a>,
    clocks: SequenceClocks,
    /// The thread of `streaming_profile_packet`, and of slices without a track.
    thread: Option<(u64, u64)>,
    default_track: Option<u64>,
    /// The time of the last slice with a relative time, in microseconds.
    reference: u64,
}

/// The fields of a packet that determine the meaning of the others.
#[derive(Default)]
struct PacketHead {
    sequence: u64,
    is_cleared: bool,
    timestamp: u64,
    clock: Option<u64>,
}

/// Returns the key of samples from an origin, without the stack.
pub(super) fn origin(place: TraceOrigin, table: &mut StackTable) -> Result<StackKey, TooMany> {
    let thread = match (place.thread, place.tid) {
        (b"", Some(tid)) => Some(table.text(tid.to_string().as_bytes())?),
        (name, _) => table.text_unless_empty(name)?,
    };
    Ok(StackKey {
        thread,
        process: table.text_unless_empty(place.process)?,
        pid: place.pid,
        ..StackKey::default()
    })
}

impl<'n, 'a> PacketReader<'n, 'a> {
    pub(super) fn new(names: &'n TraceNames<'a>, is_demangled: bool) -> PacketReader<'n, 'a> {
        PacketReader {
            names,
            is_demangled,
            table: StackTable::default(),
            sequences: Map::default(),
            heaps: Heaps::default(),
            slices: TraceSlices::default(),
            lost_stacks: 0,
            lost_samples: 0,
            lost_heaps: 0,
            asynchronous: 0,
            unended: 0,
            frequency: 0,
        }
    }

    pub(super) fn packet(&mut self, packet: MessageBytes<'a>) -> Result<(), Error> {
        let mut head = PacketHead::default();
        let mut fields = packet.fields();
        while let Some((number, value)) = fields.next()? {
            match number {
                8 => head.timestamp = value.number(),
                10 => head.sequence = value.number(),
                13 => head.is_cleared |= value.number() & 1 != 0,
                41 => head.is_cleared |= value.number() != 0,
                58 => head.clock = Some(value.number()),
                _ => {}
            }
        }
        let mut sequence = self.sequences.remove(&head.sequence).unwrap_or_default();
        if head.is_cleared {
            sequence = Sequence::default();
        }
        let read = self.contents(packet, &head, &mut sequence);
        self.sequences.insert(head.sequence, sequence);
        read
    }

    fn contents(
        &mut self,
        packet: MessageBytes<'a>,
        head: &PacketHead,
        sequence: &mut Sequence<'a>,
    ) -> Result<(), Error> {
        // Fields can precede the data that they refer to, so this data is read first.
        let mut fields = packet.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value.message()) {
                (6, Some(snapshot)) => sequence.clocks.set(snapshot)?,
                (12, Some(data)) => sequence.interned.read(data)?,
                (44, Some(thread)) => {
                    let [pid, tid, reference] = WantedFields::read(thread, [1, 2, 6])?.numbers;
                    sequence.thread = Some((tid, pid));
                    sequence.reference = reference;
                }
                (59, Some(defaults)) => self.defaults(defaults, sequence)?,
                _ => {}
            }
        }
        let mut fields = packet.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value.message()) {
                (11, Some(event)) => self.slice(TrackEvent::read(event)?, head, sequence)?,
                (37, Some(heap)) => self.heap(heap, sequence)?,
                (54, Some(samples)) => self.streaming_samples(samples, sequence)?,
                (66, Some(sample)) => self.perf_sample(sample, sequence)?,
                (135, Some(sample)) => self.stack_sample(sample, sequence)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn defaults(
        &mut self,
        message: MessageBytes<'a>,
        sequence: &mut Sequence<'a>,
    ) -> Result<(), Error> {
        let defaults = WantedFields::read(message, [11, 12, 58])?;
        if let Some(track_defaults) = defaults.messages[0] {
            sequence.default_track = Some(WantedFields::read(track_defaults, [11])?.numbers[0]);
        }
        if let Some(sample_defaults) = defaults.messages[1]
            && let Some(timebase) = WantedFields::read(sample_defaults, [1])?.messages[0]
        {
            self.frequency = WantedFields::read(timebase, [2])?.numbers[0];
        }
        sequence.clocks.set_default(defaults.numbers[2]);
        Ok(())
    }

    /// Counts a sample with a stack of the sequence.
    fn count(
        &mut self,
        callstack: u64,
        origin: StackKey,
        sequence: &mut Sequence<'a>,
        events: &[(&str, u64)],
    ) -> Result<(), Error> {
        let stack = self.stack(callstack, sequence)?;
        let row = self.table.row(StackKey { stack, ..origin })?;
        for (event, count) in events {
            let event = self.table.event(event);
            self.table.add(row, event, Count::from(*count));
        }
        Ok(())
    }

    fn stack(
        &mut self,
        callstack: u64,
        sequence: &mut Sequence<'a>,
    ) -> Result<Option<StackLinkId>, Error> {
        let table = &mut self.table;
        let stack = sequence
            .interned
            .stack(callstack, self.names, self.is_demangled, table)?;
        self.lost_stacks += u64::from(stack.is_none() && callstack != 0);
        Ok(stack.flatten())
    }

    fn perf_sample(
        &mut self,
        sample: MessageBytes<'a>,
        sequence: &mut Sequence<'a>,
    ) -> Result<(), Error> {
        /// The unwinder reported no error.
        const NONE: u64 = 1;
        let (mut pid, mut tid, mut callstack, mut error) = (0, 0, 0, NONE);
        let mut fields = sample.fields();
        while let Some((number, value)) = fields.next()? {
            match number {
                2 => pid = value.number(),
                3 => tid = value.number(),
                4 => callstack = value.number(),
                16 => error = value.number(),
                // Lost or skipped samples; 19 is the profiler's own status.
                17 => {
                    self.lost_samples = self.lost_samples.saturating_add(value.number());
                    return Ok(());
                }
                18 => {
                    self.lost_samples += 1;
                    return Ok(());
                }
                19 => return Ok(()),
                _ => {}
            }
        }
        let origin = StackKey {
            cut: error != NONE,
            ..origin(self.names.thread_origin(tid, pid), &mut self.table)?
        };
        self.count(callstack, origin, sequence, &[("samples", 1)])
    }

    fn streaming_samples(
        &mut self,
        samples: MessageBytes<'a>,
        sequence: &mut Sequence<'a>,
    ) -> Result<(), Error> {
        let (tid, pid) = sequence.thread.unwrap_or_default();
        let origin = origin(self.names.thread_origin(tid, pid), &mut self.table)?;
        let mut callstacks = Vec::new();
        samples.push_numbers(1, &mut callstacks)?;
        for callstack in callstacks {
            self.count(callstack, origin, sequence, &[("samples", 1)])?;
        }
        Ok(())
    }

    fn stack_sample(
        &mut self,
        sample: MessageBytes<'a>,
        sequence: &mut Sequence<'a>,
    ) -> Result<(), Error> {
        let sample = WantedFields::read(sample, [1, 2, 6, 9, 10, 11])?;
        let [_, task, callstack, _, counter, weight] = sample.numbers;
        let task = sample.messages[0].or(sequence.interned.tasks.get(&task).copied());
        let [pid, tid] = task.map_or(Ok([0; 2]), |task| {
            Ok::<_, Error>(WantedFields::read(task, [2, 3])?.numbers)
        })?;
        let origin = origin(self.names.thread_origin(tid, pid), &mut self.table)?;
        let counter = sample.messages[3].or(sequence.interned.counters.get(&counter).copied());
        let name = match counter {
            Some(counter) => {
                Name::from_bytes(WantedFields::read(counter, [2])?.text(0)).into_string()
            }
            None => String::new(),
        };
        let events = [("samples", 1), (&name[..], weight)];
        let events = if name.is_empty() {
            &events[..1]
        } else {
            &events
        };
        self.count(callstack, origin, sequence, events)
    }

    fn heap(&mut self, packet: MessageBytes<'a>, sequence: &mut Sequence<'a>) -> Result<(), Error> {
        let mut is_continued = false;
        let mut dumps = Vec::new();
        let mut fields = packet.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (1..=4, WireValue::Bytes(message)) => {
                    sequence.interned.read_heap_tables(number, message)?
                }
                (5, WireValue::Bytes(dump)) => dumps.push(dump),
                (6, _) => is_continued = value.number() != 0,
                _ => {}
            }
        }
        for dump in dumps {
            let pid = WantedFields::read(dump, [1])?.numbers[0];
            let origin = origin(self.names.thread_origin(0, pid), &mut self.table)?;
            let mut fields = dump.fields();
            while let Some((number, value)) = fields.next()? {
                match (number, value.message()) {
                    (2, Some(sample)) => {
                        let sample = HeapSample::read(sample)?;
                        let stack = self.stack(sample.callstack, sequence)?;
                        let row = self.table.row(StackKey { stack, ..origin })?;
                        self.heaps.add(row, &sample);
                    }
                    // Another session profiled the process, or the buffer overran or is corrupted.
                    (4 | 7 | 8, None) => self.lost_heaps += u64::from(value.number() != 0),
                    _ => {}
                }
            }
        }
        if !is_continued {
            self.heaps.end_dump();
        }
        Ok(())
    }

    fn slice(
        &mut self,
        event: TrackEvent<'a>,
        head: &PacketHead,
        sequence: &mut Sequence<'a>,
    ) -> Result<(), Error> {
        let time = match (event.absolute, event.delta) {
            (Some(absolute), _) => absolute.saturating_mul(1000),
            (None, Some(delta)) => {
                sequence.reference = sequence.reference.wrapping_add(delta);
                sequence.reference.saturating_mul(1000)
            }
            (None, None) => sequence.clocks.time(head.clock, head.timestamp),
        };
        self.asynchronous += u64::from(event.kind == ASYNCHRONOUS);
        if ![BEGIN, END, COMPLETE].contains(&event.kind) {
            return Ok(());
        }
        let thread = sequence.thread.map(|(tid, _)| tid | THREAD_TRACK);
        let track = event
            .track
            .or(sequence.default_track)
            .or(thread)
            .unwrap_or(0);
        let name = match event.name {
            b"" => sequence
                .interned
                .event_name(event.name_id)
                .unwrap_or_default(),
            name => name,
        };
        let mark = match event.kind {
            BEGIN => TrackMark::Begins(self.table.text_unless_empty(name)?),
            END => TrackMark::Ends,
            // Chrome writes -1 for slices that are still open.
            _ if i64::try_from(event.duration).is_err() => {
                self.unended += 1;
                return Ok(());
            }
            _ => TrackMark::Lasts(
                self.table.text_unless_empty(name)?,
                event.duration.saturating_mul(1000),
            ),
        };
        self.slices.add(track, time, mark);
        Ok(())
    }

    /// Returns the stacks and the warnings. Adds the facts about the recording to `run`.
    pub(super) fn finish(
        mut self,
        run: &mut RunRecord,
    ) -> Result<(StackTable, Vec<String>), Error> {
        self.heaps.finish(&mut self.table);
        self.slices.finish(self.names, &mut self.table)?;
        let events = self.table.events();
        let units = Heaps::units()
            .map(|event| (event, "bytes"))
            .chain([("time", "ns")]);
        for (event, unit) in units {
            if events.iter().any(|known| known == event) {
                run.sampling.set_unit(event, unit);
            }
        }
        run.sampling.sample_rate = samples_a_second(self.frequency as f64);
        let warnings = plurals([
            (
                self.lost_stacks,
                "sample has no stack: the packet with the stack is missing from the trace",
                "samples have no stack: the packets with the stacks are missing from the trace",
            ),
            (
                self.lost_samples,
                "record or sample was lost, according to the profiler",
                "records or samples were lost, according to the profiler",
            ),
            (
                self.lost_heaps,
                "heap dump is incomplete, according to heapprofd",
                "heap dumps are incomplete, according to heapprofd",
            ),
            (
                self.slices.unbegun(),
                "end of a slice has no beginning in the trace: it is not counted",
                "ends of slices have no beginning in the trace: they are not counted",
            ),
            (
                self.slices.overlapping(),
                "slice ends after a slice around it: it is counted up to the outer end",
                "slices end after a slice around them: they are counted up to its end",
            ),
            (
                self.unended,
                "slice has no duration: it is not counted",
                "slices have no duration: they are not counted",
            ),
            (
                self.asynchronous,
                "asynchronous slice of Chrome has no thread: it is not counted",
                "asynchronous slices of Chrome have no thread: they are not counted",
            ),
        ]);
        Ok((self.table, warnings))
    }
}
