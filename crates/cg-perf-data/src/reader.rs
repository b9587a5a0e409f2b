//! From records to stacks that are written.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use cg_reader::{Error, Lines, Options, Out};
use cg_stacks::perf::{Recording, SAMPLES, SampledEvent};
use cg_stacks::table::{NameId, StackKey, StackTable};
use cg_stream::Diagnostics;
use cg_stream::intern::{Id as _, TooMany};
use cg_stream::record::RunRecord;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::attributes::EventAttribute;
use crate::container::{Container, RecordHeader};
use crate::features::Features;
use crate::fields::RecordFields;
use crate::kernel::RecordedKernel;
use crate::locations::{CodePlace, MappedObjectId, ObjectKind};
use crate::names::{KnownBuilds, NameSources, other_builds};
use crate::processes::{CodeMapping, Processes};
use crate::records::{
    KernelSymbol, MappedCode, ProcessorMode, RecordedBuildId, ThreadBirth, ThreadName, kind,
};
use crate::rounds::Rounds;
use crate::sample::RawSample;
use crate::stacks::{SampleStack, StackBuilder};
use crate::unwinder::{StackEnd, StackFollower};

/// Reads a recording: a [`cg_reader::ReadRecords`].
pub fn parse(
    source: &str,
    lines: &mut Lines,
    options: &Options,
    out: &mut Out,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let mut container = Container::open(lines)?;
    let mut reader = RecordingReader::new(options, &mut container);
    let path = Path::new(source);
    reader.builds.beside = path.parent().filter(|_| path.is_file()).map(Path::to_owned);
    let read = reader.read(&mut container);
    if container.traced_bytes > 0 {
        diagnostics.warn(format!(
            "{source}: {} bytes that a processor traced by itself are not read; perf script --itrace=i10us -i FILE | cg-parse reads samples of them",
            container.traced_bytes
        ));
    }
    reader.write(source, read, out, diagnostics)
}

/// An event, and how often it was sampled.
struct ReadEvent {
    attribute: EventAttribute,
    samples: u64,
    has_period: bool,
}

/// A recording while it is read.
struct RecordingReader<'o> {
    options: &'o Options,
    events: Vec<ReadEvent>,
    events_by_id: HashMap<u64, usize, FixedState>,
    features: Features,
    builds: KnownBuilds,
    kernel: RecordedKernel,
    kernel_object: Option<MappedObjectId>,
    processes: Processes,
    stacks: StackBuilder,
    follower: StackFollower,
    /// By process and thread: what it was called last.
    threads: HashMap<(u32, u32), NameId, FixedState>,
    times: Option<(u64, u64)>,
    ends: StackEnds,
    /// What perf says that it lost.
    lost: u64,
    /// Records that were too short for what they had to hold, or of no event that is described.
    left_out: u64,
}

/// How the stacks ended that were followed here.
#[derive(Clone, Copy, Debug, Default)]
struct StackEnds {
    followed: u64,
    copied: u64,
    lost: u64,
}

impl<'o> RecordingReader<'o> {
    fn new(options: &'o Options, container: &mut Container) -> RecordingReader<'o> {
        let mut reader = RecordingReader {
            options,
            events: Vec::new(),
            events_by_id: HashMap::default(),
            features: Features::new(container.endian),
            builds: KnownBuilds::default(),
            kernel: RecordedKernel::default(),
            kernel_object: None,
            processes: Processes::default(),
            stacks: StackBuilder::new(),
            follower: StackFollower::default(),
            threads: HashMap::default(),
            times: None,
            ends: StackEnds::default(),
            lost: 0,
            left_out: 0,
        };
        for (attribute, ids) in std::mem::take(&mut container.attributes) {
            reader.add_event(attribute, ids.into_iter());
        }
        reader
    }

    fn add_event(&mut self, attribute: EventAttribute, ids: impl Iterator<Item = u64>) {
        let position = self.events.len();
        self.stacks.table.event(&position.to_string());
        self.events.push(ReadEvent {
            attribute,
            samples: 0,
            has_period: false,
        });
        self.events_by_id.extend(ids.map(|id| (id, position)));
    }

    fn read(&mut self, container: &mut Container) -> Result<(), Error> {
        let mut rounds = Rounds::default();
        let read = self.read_records(container, &mut rounds);
        let ready = rounds.finish();
        self.hand_on(&mut rounds, ready, container)?;
        read?;
        container.read_features(&mut self.features)?;
        match self.left_out {
            0 => Ok(()),
            left_out => Err(Error::whole(format!(
                "records that are too short, or of no event that the recording describes: {left_out}, left out"
            ))),
        }
    }

    fn read_records(
        &mut self,
        container: &mut Container,
        rounds: &mut Rounds,
    ) -> Result<(), Error> {
        let mut record = Vec::new();
        while container.next(&mut record)? {
            let Some((header, body)) = RecordHeader::split(&record, container.endian) else {
                continue;
            };
            let ready = match header.kind {
                // What was packed comes later than it was written, so the ends of rounds tell nothing of it.
                kind::FINISHED_ROUND if container.is_packed => 0,
                kind::FINISHED_ROUND => rounds.finish_round(),
                kind::FIRST_OF_PERF.. => {
                    self.record_of_perf(header, body);
                    0
                }
                _ => match self
                    .time(header, body)
                    .filter(|time| !matches!(*time, 0 | u64::MAX))
                {
                    Some(time) => {
                        rounds.push(time, &record);
                        rounds.overflow()
                    }
                    None => {
                        self.record(header, body)?;
                        0
                    }
                },
            };
            self.hand_on(rounds, ready, container)?;
        }
        Ok(())
    }

    /// Takes the records that are ready.
    fn hand_on(
        &mut self,
        rounds: &mut Rounds,
        ready: usize,
        container: &Container,
    ) -> Result<(), Error> {
        if ready == 0 {
            return Ok(());
        }
        for position in 0..ready {
            let record = rounds.record(position);
            if let Some((header, body)) = RecordHeader::split(record, container.endian) {
                self.record(header, body)?;
            }
        }
        rounds.forget(ready);
        Ok(())
    }

    /// The event of a sample.
    fn event(&self, body: &RecordFields) -> Option<usize> {
        if self.events.len() == 1 {
            return Some(0);
        }
        let position = self.events.first()?.attribute.id_position()?;
        let words =
            RecordFields::new(body.bytes, body.endian).words(body.bytes.len() as u64 / 8)?;
        self.events_by_id.get(&words.get(position)?).copied()
    }

    /// When a record was written.
    fn time(&self, header: RecordHeader, body: RecordFields) -> Option<u64> {
        let mut fields = body;
        let words = fields.words(body.bytes.len() as u64 / 8)?;
        if header.kind == kind::SAMPLE {
            let event = &self.events.get(self.event(&body)?)?.attribute;
            return words.get(event.time_position()?);
        }
        // Records that are no samples end alike, whatever event they were written for.
        let event = &self.events.first()?.attribute;
        let count = body.bytes.len() / 8;
        words.get(count.checked_sub(event.time_from_end()?)?)
    }

    /// A record that perf wrote itself.
    fn record_of_perf(&mut self, header: RecordHeader, mut body: RecordFields) {
        match header.kind {
            kind::ATTRIBUTE => {
                let size = body.bytes.get(4..8).and_then(|size| size.try_into().ok());
                let size = size.map_or(0, |size| body.endian.u32(size) as usize);
                let attribute = body.take(size);
                let attribute =
                    attribute.and_then(|bytes| EventAttribute::read(bytes, body.endian));
                let ids = body.words(body.bytes.len() as u64 / 8);
                if let (Some(attribute), Some(ids)) = (attribute, ids) {
                    self.add_event(attribute, ids.iter());
                }
            }
            kind::EVENT_UPDATE => {
                const NAME: u64 = 2;
                if let (Some(NAME), Some(id)) = (body.u64(), body.u64())
                    && let Some(event) = self.events_by_id.get(&id)
                {
                    self.events[*event].attribute.name = body.text().to_vec();
                }
            }
            kind::BUILD_ID => {
                if let Some(build) = RecordedBuildId::read(body, header.misc) {
                    self.builds.by_path.insert(build.path, build.id);
                }
            }
            kind::FEATURE => self.features.add_record(body),
            _ => {}
        }
    }

    /// A record that the kernel wrote, or perf in its place.
    fn record(&mut self, header: RecordHeader, body: RecordFields) -> Result<(), Error> {
        let done = match header.kind {
            kind::SAMPLE => return self.sample(header, body),
            kind::MMAP | kind::MMAP2 => {
                match MappedCode::read(body, header.misc, header.kind == kind::MMAP2) {
                    Some(Some(mapped)) => return self.mapped(header, mapped),
                    read => read.map(drop),
                }
            }
            kind::COMM => match ThreadName::read(body, header.misc) {
                Some(named) => {
                    let name = self.stacks.table.given(named.name)?;
                    let ThreadName {
                        pid, tid, is_exec, ..
                    } = named;
                    self.processes.rename(pid, tid, name, is_exec);
                    Some(())
                }
                None => None,
            },
            kind::FORK => {
                let birth = ThreadBirth::read(body, header.misc);
                birth.map(|birth| self.processes.fork(birth))
            }
            kind::EXIT => {
                let death = ThreadBirth::read(body, header.misc);
                death.map(|death| self.processes.exit(death.pid, death.tid))
            }
            kind::LOST => lost(body, 1).map(|lost| self.lost = self.lost.saturating_add(lost)),
            kind::LOST_SAMPLES => {
                lost(body, 0).map(|lost| self.lost = self.lost.saturating_add(lost))
            }
            kind::KSYMBOL => match KernelSymbol::read(body) {
                Some(symbol) => return Ok(self.kernel_symbol(symbol)?),
                None => None,
            },
            _ => Some(()),
        };
        self.left_out += u64::from(done.is_none());
        Ok(())
    }

    fn mapped(&mut self, header: RecordHeader, mapped: MappedCode) -> Result<(), Error> {
        let Some(end) = mapped.start.checked_add(mapped.length) else {
            self.left_out += 1;
            return Ok(());
        };
        if mapped.length == 0 {
            return Ok(());
        }
        let mode = ProcessorMode::of(header.misc);
        if mode == ProcessorMode::Elsewhere {
            return Ok(());
        }
        let is_kernel = mapped.pid == u32::MAX || mode == ProcessorMode::Kernel;
        let (kind, path) = match is_kernel {
            true => (ObjectKind::of_kernel(mapped.path), mapped.path),
            false => (ObjectKind::of_process(mapped.pid, mapped.path), mapped.path),
        };
        let mut offset = mapped.offset;
        let mut name = path;
        if is_kernel {
            // What is of the kernel is asked for by address.
            offset = mapped.start;
            if kind == ObjectKind::Kernel {
                let end = memchr::memchr(b']', path).map_or(path.len(), |end| end + 1);
                name = &path[..end];
                self.kernel.reference = Some((path[end..].to_vec(), mapped.offset));
                if let Some(id) = mapped.build_id {
                    self.kernel.build_id = Some(id.to_vec());
                }
            }
        }
        let object = self.stacks.locations.object(kind, name, mapped.build_id)?;
        if kind == ObjectKind::Kernel {
            self.kernel_object = Some(object);
        }
        let mapping = CodeMapping {
            start: mapped.start,
            end,
            offset,
            object,
        };
        match is_kernel {
            true => self.processes.map_kernel(mapping),
            false => {
                self.processes.map(mapped.pid, mapping)?;
                self.stacks.note_dump(mapped.pid, path);
            }
        }
        Ok(())
    }

    fn kernel_symbol(&mut self, symbol: KernelSymbol) -> Result<(), TooMany> {
        let end = symbol.start.checked_add(symbol.length);
        match end.filter(|end| *end > symbol.start && !symbol.is_gone) {
            Some(end) => {
                let object =
                    (self.stacks.locations).object(ObjectKind::KernelMade, symbol.name, None)?;
                self.processes.map_kernel(CodeMapping {
                    start: symbol.start,
                    end,
                    offset: symbol.start,
                    object,
                });
            }
            None => self.processes.unmap_kernel(symbol.start),
        }
        Ok(())
    }

    fn sample(&mut self, header: RecordHeader, body: RecordFields) -> Result<(), Error> {
        let event = self.event(&body);
        let read = event.and_then(|event| {
            let sample = RawSample::read(body, &self.events.get(event)?.attribute)?;
            Some((event, sample))
        });
        let Some((event, sample)) = read else {
            self.left_out += 1;
            return Ok(());
        };
        let (pid, tid) = (
            sample.pid.unwrap_or(u32::MAX),
            sample.tid.unwrap_or(u32::MAX),
        );
        let thread = self.thread(pid, tid, sample.tid.is_some())?;
        if let Some(time) = sample.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        let space = Rc::clone(self.processes.space(pid));
        let mut stack = SampleStack {
            user: &space,
            kernel: &self.processes.kernel,
            kernel_object: self.kernel_object,
            time: sample.time.unwrap_or(u64::MAX),
            search: &self.options.search,
            demangle: self.options.demangle,
            builder: &mut self.stacks,
        };
        let addresses = stack.chain(&sample, ProcessorMode::of(header.misc))?;
        let mut is_cut = addresses >= self.events[event].attribute.most_addresses();
        if let Some(user) = &sample.user {
            let end = stack.follow(user, &mut self.follower, &self.builds)?;
            self.ends.followed += 1;
            self.ends.copied += u64::from(end == StackEnd::Copied);
            self.ends.lost += u64::from(end == StackEnd::Lost);
            is_cut = end != StackEnd::Whole;
        }
        stack.at_least(&sample, ProcessorMode::of(header.misc))?;
        let known = |id: u32| (id != u32::MAX).then_some(u64::from(id));
        let row = self.stacks.finish(StackKey {
            thread,
            pid: sample.pid.and_then(known),
            tid: sample.tid.and_then(known),
            cut: is_cut,
            ..StackKey::default()
        })?;
        let counted = &mut self.events[event];
        counted.samples += 1;
        counted.has_period |= sample.period.is_some();
        self.stacks.table.add(row, 0, 1);
        let period = sample.period.unwrap_or(1);
        self.stacks.table.add(row, event + 1, period.into());
        Ok(())
    }

    /// What the thread of a sample is called: as perf calls those that it knows no name of, where there is none.
    fn thread(&mut self, pid: u32, tid: u32, is_known: bool) -> Result<Option<NameId>, TooMany> {
        if !is_known {
            return Ok(None);
        }
        let name = match (self.processes.name(tid), tid) {
            (Some(name), _) => name,
            (None, 0) => self.stacks.table.text(b"swapper")?,
            (None, tid) => {
                let number = tid.cast_signed();
                self.stacks.table.text(format!(":{number}").as_bytes())?
            }
        };
        self.threads.insert((pid, tid), name);
        Ok(Some(name))
    }

    /// Names everything and writes it.
    fn write(
        mut self,
        source: &str,
        read: Result<(), Error>,
        out: &mut Out,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Error> {
        let names = self.event_names();
        let mut run = RunRecord::new("perf");
        run.source = vec![source.to_owned()];
        self.features.tell(&mut run);
        let sampled = self
            .events
            .iter()
            .filter(|event| !event.attribute.is_dummy());
        run.sampling.sample_rate = (sampled
            .filter_map(|event| event.attribute.frequency())
            .next())
        .map(Into::into);
        for build in self.features.build_ids() {
            self.builds.by_path.insert(build.path, build.id);
        }
        self.builds.are_all = true;
        if self.kernel.build_id.is_none() {
            self.kernel.build_id = (self.builds.by_path)
                .get(&b"[kernel.kallsyms]"[..])
                .cloned();
        }
        self.kernel.release = self.features.os_release();
        self.tell(source, diagnostics);

        let mut table = StackTable::new([SAMPLES]);
        let mut events: Vec<SampledEvent> = Vec::new();
        // By column of what was read: the column that is written.
        let mut columns = vec![0];
        for (event, name) in self.events.iter().zip(&names) {
            let new = SampledEvent::new(name);
            let known = events.iter().position(|known| known.name == new.name);
            if event.samples == 0 {
                columns.push(0);
                continue;
            }
            let position = known.unwrap_or(events.len());
            if known.is_none() {
                events.push(new);
            }
            events[position].samples += event.samples;
            events[position].has_period |= event.has_period;
            columns.push(table.event(&events[position].name));
        }
        self.name_stacks(source, &columns, &mut table, diagnostics)?;
        let mut threads = BTreeMap::new();
        let known = |id: u32| (id != u32::MAX).then_some(u64::from(id));
        for ((pid, tid), name) in &self.threads {
            let name = table.text(self.stacks.table.text_of(*name).as_bytes())?;
            threads.insert((known(*pid), known(*tid)), name);
        }
        let recording = Recording {
            run,
            table,
            events,
            threads,
            duration: self.times.map(|(first, last)| last - first).filter(|time| *time > 0),
        };
        recording.write(read, out)
    }

    /// What events are called: as perf says, else by their numbers.
    fn event_names(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<Vec<u8>> = (self.events.iter())
            .map(|event| match event.attribute.name.is_empty() {
                true => event.attribute.name_by_number().into_bytes(),
                false => event.attribute.name.clone(),
            })
            .collect();
        for (position, described) in self.features.events().into_iter().enumerate() {
            let by_id = described
                .ids
                .iter()
                .find_map(|id| self.events_by_id.get(id));
            let event = by_id
                .copied()
                .or(described.ids.is_empty().then_some(position));
            if let Some(name) = event.and_then(|event| names.get_mut(event)) {
                *name = described.name;
            }
        }
        names
    }

    /// Puts the stacks into `table`, their frames named.
    fn name_stacks(
        &self,
        source: &str,
        columns: &[usize],
        table: &mut StackTable,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), TooMany> {
        let StackBuilder {
            table: read,
            locations,
            ..
        } = &self.stacks;
        let sources = NameSources {
            locations,
            builds: &self.builds,
            kernel: &self.kernel,
            search: &self.options.search,
            demangle: self.options.demangle,
            read,
        };
        let mut names = sources.find(table)?;
        let others = other_builds(
            self.follower.files(),
            locations,
            &self.builds,
            &self.options.search,
        );
        let mut through_others = 0u64;
        let mut frames = Vec::new();
        for position in 0..read.row_count() {
            let row = read.row_at(position);
            let samples = u64::try_from(read.cost(position, 0)).unwrap_or(u64::MAX);
            frames.clear();
            let mut is_cut = row.cut;
            let mut is_other = false;
            for frame in read.frames_of(row.stack) {
                let number = read.frames()[frame.index()].addr.unwrap_or(0) as usize;
                let location = &locations.all()[number];
                if location.is_unwound && is_other {
                    is_cut = true;
                    through_others += samples;
                    break;
                }
                is_other = matches!(location.place, CodePlace::Object(object, _) if others.contains(&object.index()));
                names.push(number, location, samples, &mut frames);
            }
            let stack = table.stack(&frames)?;
            let thread = read.name(row.thread).unwrap_or_default();
            let thread = table.given(thread.as_bytes())?;
            let cut = is_cut;
            let written = table.row(StackKey {
                stack,
                thread,
                cut,
                ..row
            })?;
            for (column, to) in columns.iter().enumerate() {
                if column == 0 || *to > 0 {
                    table.add(written, *to, read.cost(position, column));
                }
            }
        }
        names.tell(source, locations, diagnostics);
        if through_others > 0 {
            diagnostics.warn(format!(
                "{source}: {through_others} stacks are cut at objects that are another build now than was recorded; --debug-root DIR looks below DIR too"
            ));
        }
        Ok(())
    }

    /// Says what a reader of the figures should know.
    fn tell(&self, source: &str, diagnostics: &mut Diagnostics) {
        if self.lost > 0 {
            diagnostics.warn(format!(
                "{source}: perf lost {} samples or other records while it recorded",
                self.lost
            ));
        }
        let StackEnds {
            followed,
            copied,
            lost,
        } = self.ends;
        if copied + lost > 0 {
            let share = (copied + lost) as f64 / followed as f64 * 100.0;
            diagnostics.warn(format!(
                "{source}: {} of {followed} stacks ({share:.1} %) are cut: {copied} where perf's copy of the stack ends (perf record --call-graph dwarf,65528 copies more), {lost} at code of which nothing says who called it",
                copied + lost
            ));
        }
    }
}

/// How much was lost, behind so many words.
fn lost(mut body: RecordFields, words: u64) -> Option<u64> {
    body.words(words)?;
    body.u64()
}
