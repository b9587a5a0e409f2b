//! The samples of a recording, added up by stack and thread.

use cg_collections::maps::Map;
use cg_reader::{Error, plurals};
use cg_stream::record::{Count, FrameMarks, LabelValue, Name, RunRecord, SampleLabels};

use super::ChunkHeader;
use super::cursor::JfrCursor;
use super::facts::RecordingFacts;
use super::kinds::{
    ADDRESS, CPU_TIME, EVENTS, JfrCounts, KINDS, MALLOC, MALLOC_LIVE, OTHER_THREAD, SAMPLES,
    SLEEPING_SAMPLES, STATE, THREAD, TIME, TRACE, WALL_SAMPLES, WEIGHT, is_waiting,
};
use super::left_out::{LeftOut, StackTypes};
use super::metadata::{JfrTypes, Step, Taken, run};
use super::pools::JfrPools;
use crate::table::{FrameId, FrameParts, NameId, StackKey, StackKeyId, StackLinkId, StackTable};

/// A frame by numbers of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct JfrFrameKey {
    method: u64,
    line: u64,
    kind: u64,
}

/// The fields of one kind of event.
struct EventLayout {
    counts: JfrCounts,
    /// True if the event has the state of the thread. In other events, the number 0 is no state.
    has_state: bool,
    steps: Vec<Step>,
}

/// Reads chunks into a table of stacks.
#[derive(Default)]
pub(super) struct JfrSamples {
    table: StackTable,
    is_demangled: bool,
    /// True if samples are separate by time.
    keeps_times: bool,
    /// The start of the first chunk, in nanoseconds since 1970.
    first_start: Option<u64>,
    facts: RecordingFacts,
    mallocs: Vec<MallocEvent>,
    missing_traces: u64,
    missing_methods: u64,
    lost: u64,
    /// Samples of threads that sleep or wait.
    sleeping: u64,
    left_out: LeftOut,
}

/// An allocation of native memory, or a deallocation if `block` is `None`.
struct MallocEvent {
    time: u64,
    address: u64,
    block: Option<(StackKeyId, u64)>,
}

impl MallocEvent {
    fn new(numbers: &[u64], block: Option<(StackKeyId, u64)>) -> MallocEvent {
        MallocEvent {
            time: numbers[TIME],
            address: numbers[ADDRESS],
            block,
        }
    }
}

/// Caches of the table's ids for numbers of a chunk.
#[derive(Default)]
struct ChunkCaches {
    threads: Map<u64, Option<NameId>>,
    /// The label with the state, and true if a thread in this state waits.
    states: Map<u64, (Option<NameId>, bool)>,
    traces: Map<u64, (Option<StackLinkId>, bool)>,
    frames: Map<JfrFrameKey, FrameId>,
}

/// A chunk that is being read.
struct Chunk<'a> {
    cursor: JfrCursor<'a>,
    pools: JfrPools<'a>,
    frame_steps: Vec<Step>,
    ticks_per_second: u64,
    /// The clock of the chunk, if samples are separate by time.
    clock: Option<ChunkClock>,
}

/// Converts the ticks of a chunk to nanoseconds since the start of the recording.
struct ChunkClock {
    start: u64,
    start_ticks: u64,
    ticks_per_second: u64,
}

impl ChunkClock {
    fn time(&self, ticks: u64) -> Option<u64> {
        const SECOND: u128 = 1_000_000_000;
        let ticks = u128::from(ticks.saturating_sub(self.start_ticks));
        let since = (ticks * SECOND).checked_div(self.ticks_per_second.into())?;
        u64::try_from(u128::from(self.start) + since).ok()
    }
}

impl JfrSamples {
    pub(super) fn new(is_demangled: bool, keeps_times: bool) -> JfrSamples {
        JfrSamples {
            table: StackTable::new(EVENTS.map(|(event, _)| event)),
            is_demangled,
            keeps_times,
            ..JfrSamples::default()
        }
    }

    /// Reads a chunk, which may be truncated.
    pub(super) fn chunk(
        &mut self,
        bytes: &[u8],
        start: u64,
        header: &ChunkHeader,
    ) -> Result<(), Error> {
        let whole = JfrCursor::new(bytes, start);
        let (metadata, checkpoints, end) = landmarks(whole);
        let Some(metadata) = metadata else {
            end?;
            return Err(whole.error(
                "this chunk has no metadata, which describes its events: it was never finished",
            ));
        };
        let types = JfrTypes::read(metadata)?;
        let mut pools = JfrPools::default();
        let mut steps = Map::default();
        for checkpoint in checkpoints {
            pools.read(checkpoint, &types, &mut steps)?;
        }
        let frame = types.field_type(b"jdk.types.StackTrace", b"frames");
        let frame_steps = match frame {
            Some(frame) => types.steps(frame, &["method", "lineNumber", "type"])?,
            None => Vec::new(),
        };
        let first_start = *self.first_start.get_or_insert(header.start);
        let clock = self.keeps_times.then(|| ChunkClock {
            start: header.start.saturating_sub(first_start),
            start_ticks: header.start_ticks,
            ticks_per_second: header.ticks_per_second,
        });
        let chunk = Chunk {
            cursor: whole,
            pools,
            frame_steps,
            ticks_per_second: header.ticks_per_second.max(1),
            clock,
        };
        let read = self.events(&chunk, &types);
        self.facts.add_times(header);
        // An error in the events precedes `end` in the file, so it is reported first.
        read.and(end)
    }

    fn events(&mut self, chunk: &Chunk, types: &JfrTypes) -> Result<(), Error> {
        let mut layouts: Map<u64, EventLayout> = Map::default();
        let mut fact_layouts: Map<u64, (&'static [u8], Vec<Step>)> = Map::default();
        let mut others = StackTypes::default();
        for (id, name) in types.all() {
            if let Some((_, counts)) = KINDS.iter().find(|(known, _)| *known == name) {
                let layout = EventLayout {
                    counts: *counts,
                    has_state: types.has_field(id, b"state"),
                    steps: types.steps(id, &counts.wanted())?,
                };
                layouts.insert(id, layout);
            } else if let Some((name, wanted)) = RecordingFacts::wanted(name) {
                fact_layouts.insert(id, (name, types.steps(id, wanted)?));
            } else {
                others.add(id, name, types)?;
            }
        }
        let mut caches = ChunkCaches::default();
        let mut events = ChunkEvents::new(chunk.cursor);
        while let Some((type_id, mut cursor)) = events.next_whole() {
            if let Some(layout) = layouts.get(&type_id) {
                let mut taken = Taken::default();
                run(&layout.steps, &mut cursor, &mut taken)?;
                self.sample(layout, &taken.numbers, chunk, &mut caches)?;
            } else if let Some((name, steps)) = fact_layouts.get(&type_id) {
                let mut taken = Taken::default();
                run(steps, &mut cursor, &mut taken)?;
                self.facts.read(name, &taken, &chunk.pools, types);
            } else {
                self.left_out.add(type_id, &mut cursor, &others)?;
            }
        }
        Ok(())
    }

    fn sample(
        &mut self,
        layout: &EventLayout,
        numbers: &[u64],
        chunk: &Chunk,
        caches: &mut ChunkCaches,
    ) -> Result<(), Error> {
        let counts = layout.counts;
        let weight = numbers[WEIGHT];
        match counts {
            JfrCounts::Lost => {
                self.lost = self.lost.saturating_add(weight);
                return Ok(());
            }
            JfrCounts::Free => {
                self.mallocs.push(MallocEvent::new(numbers, None));
                return Ok(());
            }
            _ => {}
        }
        let thread = numbers[THREAD].max(numbers[OTHER_THREAD]);
        let thread = self.thread(thread, chunk, caches)?;
        let (stack, cut) = match caches.traces.get(&numbers[TRACE]) {
            Some(known) => *known,
            None => {
                let trace = self.trace(numbers[TRACE], chunk, caches)?;
                caches.traces.insert(numbers[TRACE], trace);
                trace
            }
        };
        let (labels, is_waiting) = match layout.has_state {
            true => self.state(numbers[STATE], chunk, caches)?,
            false => (None, false),
        };
        let row = self.table.row(StackKey {
            stack,
            thread,
            cut,
            labels,
            time: (chunk.clock.as_ref()).and_then(|clock| clock.time(numbers[TIME])),
            ..StackKey::default()
        })?;
        match counts {
            JfrCounts::Sample | JfrCounts::WallClock => {
                let (event, count) = match counts {
                    JfrCounts::WallClock => (WALL_SAMPLES, weight),
                    _ => (SAMPLES, 1),
                };
                if is_waiting {
                    self.sleeping = self.sleeping.saturating_add(count);
                    self.table.add(row, SLEEPING_SAMPLES, Count::from(count));
                } else {
                    self.table.add(row, event, Count::from(count));
                }
            }
            JfrCounts::Duration(event) => {
                let nanoseconds = u128::from(weight) * 1_000_000_000;
                let nanoseconds = nanoseconds / u128::from(chunk.ticks_per_second);
                self.table.add(row, event, 1);
                self.table.add(row, event + 1, nanoseconds as Count);
            }
            JfrCounts::One(event) => self.table.add(row, event, 1),
            JfrCounts::Field(event, _) => self.table.add(row, event, Count::from(weight)),
            JfrCounts::Period => {
                self.table.add(row, CPU_TIME, Count::from(weight));
                self.table.add(row, CPU_TIME + 1, 1);
            }
            JfrCounts::Malloc => {
                self.table.add(row, MALLOC, Count::from(weight));
                let block = Some((row, weight));
                self.mallocs.push(MallocEvent::new(numbers, block));
            }
            JfrCounts::Free | JfrCounts::Lost => {}
        }
        Ok(())
    }

    /// Looks up the name of a thread by its number.
    fn thread(
        &mut self,
        key: u64,
        chunk: &Chunk,
        caches: &mut ChunkCaches,
    ) -> Result<Option<NameId>, Error> {
        if let Some(known) = caches.threads.get(&key) {
            return Ok(*known);
        }
        let name = self.table.text_unless_empty(chunk.pools.thread(key))?;
        caches.threads.insert(key, name);
        Ok(name)
    }

    /// Looks up the label for a thread's state, and returns true if a thread in this state waits.
    fn state(
        &mut self,
        key: u64,
        chunk: &Chunk,
        caches: &mut ChunkCaches,
    ) -> Result<(Option<NameId>, bool), Error> {
        if let Some(known) = caches.states.get(&key) {
            return Ok(*known);
        }
        let name = chunk.pools.thread_state(key);
        let text = LabelValue::Text(Name::from_bytes(name).into_string());
        let label = (!name.is_empty()).then(|| ("state".to_owned(), text));
        let labels = SampleLabels::new(label);
        let labels = labels.map(|labels| self.table.text(labels.text().as_bytes()));
        let state = (labels.transpose()?, is_waiting(name));
        caches.states.insert(key, state);
        Ok(state)
    }

    /// Looks up a stack by its number; 0 means that there is no stack.
    fn trace(
        &mut self,
        key: u64,
        chunk: &Chunk,
        caches: &mut ChunkCaches,
    ) -> Result<(Option<StackLinkId>, bool), Error> {
        let Some((cut, position)) = chunk.pools.trace(key) else {
            self.missing_traces += u64::from(key != 0);
            return Ok((None, false));
        };
        let mut cursor = chunk.cursor.at(position);
        let mut frames = Vec::new();
        for _ in 0..cursor.number()? {
            let mut taken = Taken::default();
            let before = cursor.position;
            run(&chunk.frame_steps, &mut cursor, &mut taken)?;
            if cursor.position == before {
                return Err(cursor.error("expected frames with contents, found empty ones"));
            }
            let [method, line, kind, ..] = taken.numbers;
            let key = JfrFrameKey { method, line, kind };
            let frame = match caches.frames.get(&key) {
                Some(known) => *known,
                None => {
                    let frame = self.frame(key, &chunk.pools)?;
                    caches.frames.insert(key, frame);
                    frame
                }
            };
            frames.push(frame);
        }
        Ok((self.table.stack(&frames)?, cut))
    }

    fn frame(&mut self, key: JfrFrameKey, pools: &JfrPools) -> Result<FrameId, Error> {
        let (class, method) = pools.method(key.method).unwrap_or_else(|| {
            self.missing_methods += 1;
            (b"", b"")
        });
        let name = match (class, method) {
            (b"", name) => self.table.function(name, self.is_demangled)?,
            (class, method) => {
                let mut name: Vec<u8> = class.to_vec();
                // The JVM writes `/` between packages and before the numbers of hidden classes.
                name.iter_mut()
                    .filter(|byte| **byte == b'/')
                    .for_each(|byte| *byte = b'.');
                if !method.is_empty() {
                    name.push(b'.');
                    name.extend_from_slice(method);
                }
                self.table.text_unless_empty(&name)?
            }
        };
        let marks = FrameMarks {
            kernel: pools.frame_type(key.kind) == b"Kernel",
            ..FrameMarks::default()
        };
        // The JVM writes -1 or 0 for an unknown line.
        let line = (1..=i32::MAX as u64)
            .contains(&key.line)
            .then_some(key.line);
        Ok(self.table.frame(FrameParts {
            name,
            line,
            marks,
            ..FrameParts::default()
        })?)
    }

    /// Drops the events that do not occur, and adds the facts about the recording to `run`.
    pub(super) fn finish(&mut self, run: &mut RunRecord) {
        self.replay_mallocs();
        let table = &mut self.table;
        let has_cost =
            |event: &usize| (0..table.row_count()).any(|row| table.cost(row, *event) != 0);
        let kept: Vec<usize> = (0..EVENTS.len()).filter(has_cost).collect();
        for (event, unit) in kept.iter().map(|event| EVENTS[*event]) {
            if !unit.is_empty() {
                run.sampling.set_unit(event, unit);
            }
        }
        table.reorder_events(&kept);
        self.facts.describe(run);
    }

    pub(super) fn table(&self) -> &StackTable {
        &self.table
    }

    /// Adds the native memory that was not freed, if the recording has frees at all. Events of several threads are not in
    /// the order of their times.
    fn replay_mallocs(&mut self) {
        if self.mallocs.iter().all(|event| event.block.is_some()) {
            return;
        }
        self.mallocs.sort_by_key(|event| event.time);
        let mut live: Map<u64, (StackKeyId, u64)> = Map::default();
        for event in self.mallocs.drain(..) {
            match event.block {
                Some(block) => drop(live.insert(event.address, block)),
                None => drop(live.remove(&event.address)),
            }
        }
        for (row, size) in live.into_values() {
            self.table.add(row, MALLOC_LIVE, Count::from(size));
        }
    }

    /// Returns a message about the events that have stacks but are not read.
    pub(super) fn left_out(&self) -> Option<String> {
        self.left_out.message()
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        plurals([
            (
                self.missing_traces,
                "stack that a sample refers to is missing from the recording: this sample has no frames",
                "stacks that samples refer to are missing from the recording: these samples have no frames",
            ),
            (
                self.missing_methods,
                "method that a frame refers to is missing from the recording: this frame has no name",
                "methods that frames refer to are missing from the recording: these frames have no names",
            ),
            (
                self.lost,
                "sample of CPU time was lost, according to the recorder",
                "samples of CPU time were lost, according to the recorder",
            ),
            (
                self.sleeping,
                "sample is of a thread that sleeps or waits: it counts as sleeping_samples, not as samples or wall_samples",
                "samples are of threads that sleep or wait: they count as sleeping_samples, not as samples or wall_samples",
            ),
        ])
    }
}

/// The events of a chunk after its header: their types, and cursors over their contents.
struct ChunkEvents<'a> {
    cursor: JfrCursor<'a>,
}

impl<'a> ChunkEvents<'a> {
    fn new(chunk: JfrCursor<'a>) -> ChunkEvents<'a> {
        ChunkEvents {
            cursor: chunk.at(super::HEADER),
        }
    }

    fn next(&mut self) -> Result<Option<(u64, JfrCursor<'a>)>, Error> {
        let mut cursor = self.cursor;
        if cursor.is_at_end() {
            return Ok(None);
        }
        let size = cursor.number()?;
        let end = usize::try_from(size).ok();
        let end = end.and_then(|size| self.cursor.position.checked_add(size));
        let end = end.filter(|end| *end > cursor.position && *end <= cursor.end());
        let Some(end) = end else {
            return Err(self.cursor.error(format!(
                "expected an event that ends within its chunk, found one of {size} bytes"
            )));
        };
        let mut cursor = cursor.until(end);
        let type_id = cursor.number()?;
        self.cursor = self.cursor.at(end);
        Ok(Some((type_id, cursor)))
    }

    /// Returns the next event; `None` after the last complete one.
    fn next_whole(&mut self) -> Option<(u64, JfrCursor<'a>)> {
        self.next().ok().flatten()
    }
}

/// Returns the last metadata event of a chunk, its checkpoints, and an error if the events do not end where the chunk does.
fn landmarks<'a>(
    chunk: JfrCursor<'a>,
) -> (Option<JfrCursor<'a>>, Vec<JfrCursor<'a>>, Result<(), Error>) {
    let (mut metadata, mut checkpoints) = (None, Vec::new());
    let mut events = ChunkEvents::new(chunk);
    loop {
        match events.next() {
            Ok(Some((0, cursor))) => metadata = Some(cursor),
            Ok(Some((1, cursor))) => checkpoints.push(cursor),
            Ok(Some(_)) => {}
            Ok(None) => return (metadata, checkpoints, Ok(())),
            Err(error) => return (metadata, checkpoints, Err(error)),
        }
    }
}
