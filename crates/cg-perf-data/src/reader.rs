//! Converts records to stacks.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use cg_collections::intern::TooMany;
use cg_collections::maps::Map;
use cg_reader::{Error, Options, Reading, plural};
use cg_stacks::table::{NameId, StackKey};

use crate::attributes::EventAttribute;
use crate::container::{Container, RecordHeader};
use crate::counters::CounterStates;
use crate::directory;
use crate::features::Features;
use crate::fields::{FileEndian, RecordFields};
use crate::kernel::RecordedKernel;
use crate::locations::{MappedObjectId, ObjectKind};
use crate::names::KnownBuilds;
use crate::processes::{CodeMapping, Processes};
use crate::records::{
    KernelSymbol, MappedCode, ProcessorMode, RecordedBuildId, ThreadBirth, ThreadName, kind,
};
use crate::rounds::Rounds;
use crate::sample::RawSample;
use crate::stacks::{SampleStack, StackBuilder};
use crate::unwinder::{StackEnd, StackFollower};

/// Reads a recording: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut container = Container::open(reading.lines)?;
    let mut reader = RecordingReader::new(reading.options, &mut container);
    let path = Path::new(reading.source);
    reader.builds.beside = path.parent().filter(|_| path.exists()).map(Path::to_owned);
    let read = reader.read(&mut container, path);
    if container.traced_bytes > 0 {
        let source = reading.source;
        reading.diagnostics.warn(format!(
            "{source}: {} not read; for samples of the trace, run perf script --itrace=i10us -i FILE | cg-parse",
            plural(
                container.traced_bytes,
                "byte of hardware trace is",
                "bytes of hardware trace are"
            )
        ));
    }
    reader.write(reading.source, read, reading.out, reading.diagnostics)
}

/// An event with the number of its samples.
pub(crate) struct ReadEvent {
    pub(crate) attribute: EventAttribute,
    pub(crate) samples: u64,
    pub(crate) has_period: bool,
}

/// The state of reading a recording.
pub(crate) struct RecordingReader<'o> {
    pub(crate) options: &'o Options,
    pub(crate) events: Vec<ReadEvent>,
    pub(crate) events_by_id: Map<u64, usize>,
    pub(crate) features: Features,
    pub(crate) builds: KnownBuilds,
    pub(crate) kernel: RecordedKernel,
    pub(crate) kernel_object: Option<MappedObjectId>,
    pub(crate) processes: Processes,
    pub(crate) stacks: StackBuilder,
    pub(crate) follower: StackFollower,
    /// The last name of each thread, by pid and tid.
    pub(crate) threads: Map<(u32, u32), NameId>,
    pub(crate) times: Option<(u64, u64)>,
    pub(crate) ends: StackEnds,
    counters: CounterStates,
    /// The processors on which perf recorded, as the index of a directory lists them.
    processors: BTreeSet<u64>,
    /// The numbers of the files in a directory.
    thread_files: Vec<u32>,
    /// The events of the current sample, each with its period if known.
    counted: Vec<(usize, Option<u64>)>,
    /// The number of lost records, according to perf.
    pub(crate) lost: u64,
    /// The number of records that were too short, or had an event without a description.
    pub(crate) left_out: u64,
}

/// The ends of the stacks unwound by this reader.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StackEnds {
    pub(crate) followed: u64,
    pub(crate) copied: u64,
    pub(crate) lost: u64,
}

impl<'o> RecordingReader<'o> {
    fn new(options: &'o Options, container: &mut Container) -> RecordingReader<'o> {
        let mut reader = RecordingReader {
            options,
            events: Vec::new(),
            events_by_id: Map::default(),
            features: Features::new(container.endian),
            builds: KnownBuilds::default(),
            kernel: RecordedKernel::default(),
            kernel_object: None,
            processes: Processes::default(),
            stacks: StackBuilder::new(),
            follower: StackFollower::default(),
            threads: Map::default(),
            times: None,
            ends: StackEnds::default(),
            counters: CounterStates::default(),
            processors: BTreeSet::new(),
            thread_files: Vec::new(),
            counted: Vec::new(),
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

    fn read(&mut self, container: &mut Container, path: &Path) -> Result<(), Error> {
        let mut rounds = Rounds::default();
        let read = self.read_records(container, &mut rounds, u64::MAX);
        let read = read.and_then(|_| match container.has_other_files() {
            true => self.read_directory(path, container.endian, &mut rounds),
            false => Ok(()),
        });
        let ready = rounds.finish();
        self.process_ready(&mut rounds, ready, container)?;
        read?;
        container.read_features(&mut self.features)?;
        if container.has_other_files() {
            let has_one_each = self.features.has_a_thread_for_each_processor();
            let count = if has_one_each {
                self.processors.len()
            } else {
                0
            };
            directory::check_numbers(&self.thread_files, count)?;
        }
        match self.left_out {
            0 => Ok(()),
            left_out => Err(Error::whole(format!(
                "records omitted because they are too short or their event is unknown: {left_out}"
            ))),
        }
    }

    /// Reads the records in the files beside the main file of a directory. As in perf, each file is read in turn, so that
    /// the times of waiting records are similar.
    fn read_directory(
        &mut self,
        path: &Path,
        endian: FileEndian,
        rounds: &mut Rounds,
    ) -> Result<(), Error> {
        const AT_ONCE: u64 = 2 << 20;
        let mut files = directory::open_files(path)?;
        self.thread_files = files.numbers;
        let open = |lines| Container::open_records(lines, endian);
        let mut containers: Vec<Container> = files.lines.iter_mut().map(open).collect();
        while !containers.is_empty() {
            let mut unfinished = Vec::new();
            for mut container in containers {
                let until = container.position() + AT_ONCE;
                if self.read_records(&mut container, rounds, until)? {
                    unfinished.push(container);
                }
            }
            containers = unfinished;
        }
        Ok(())
    }

    /// Reads records up to a position of the input. Returns false if there are no more.
    fn read_records(
        &mut self,
        container: &mut Container,
        rounds: &mut Rounds,
        until: u64,
    ) -> Result<bool, Error> {
        let mut record = Vec::new();
        while container.next(&mut record)? {
            let Some((header, body)) = RecordHeader::split(&record, container.endian) else {
                continue;
            };
            let ready = match header.kind {
                // Compressed records and records of other files arrive late, so the end of a round does not bound their
                // times.
                kind::FINISHED_ROUND if container.is_packed || container.has_other_files() => 0,
                kind::FINISHED_ROUND => rounds.finish_round(),
                kind::FIRST_OF_PERF.. => {
                    self.perf_record(header, body);
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
            self.process_ready(rounds, ready, container)?;
            if container.position() >= until {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Processes the records that are ready.
    fn process_ready(
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

    /// Returns the event of a sample.
    fn event(&self, body: &RecordFields) -> Option<usize> {
        if self.events.len() == 1 {
            return Some(0);
        }
        let position = self.events.first()?.attribute.id_position()?;
        let words =
            RecordFields::new(body.bytes, body.endian).words(body.bytes.len() as u64 / 8)?;
        self.events_by_id.get(&words.get(position)?).copied()
    }

    /// Returns the time of a record.
    fn time(&self, header: RecordHeader, body: RecordFields) -> Option<u64> {
        let mut fields = body;
        let words = fields.words(body.bytes.len() as u64 / 8)?;
        if header.kind == kind::SAMPLE {
            let event = &self.events.get(self.event(&body)?)?.attribute;
            return words.get(event.time_position()?);
        }
        // Records other than samples have the same end for all events.
        let event = &self.events.first()?.attribute;
        let count = body.bytes.len() / 8;
        words.get(count.checked_sub(event.time_from_end()?)?)
    }

    /// Processes a record that perf wrote itself.
    fn perf_record(&mut self, header: RecordHeader, mut body: RecordFields) {
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
            kind::ID_INDEX => {
                // `id_index_entry`: id, index, processor, thread.
                let count = body.u64().unwrap_or(0);
                let words = count.checked_mul(4).and_then(|words| body.words(words));
                if let Some(words) = words {
                    self.processors.extend(words.iter().skip(2).step_by(4));
                }
            }
            kind::FEATURE => self.features.add_record(body),
            _ => {}
        }
    }

    /// Processes a record of the kernel, or one that perf wrote on behalf of the kernel.
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
                    let name = self.stacks.table.text_unless_empty(named.name)?;
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
        let mode = ProcessorMode::from_misc(header.misc);
        if mode == ProcessorMode::Elsewhere {
            return Ok(());
        }
        let is_kernel = mapped.pid == u32::MAX || mode == ProcessorMode::Kernel;
        let (kind, path) = match is_kernel {
            true => (ObjectKind::from_kernel_path(mapped.path), mapped.path),
            false => (
                ObjectKind::from_process_path(mapped.pid, mapped.path),
                mapped.path,
            ),
        };
        let mut offset = mapped.offset;
        let mut name = path;
        if is_kernel {
            // Kernel symbols are looked up by address, not by file offset.
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
        self.count(event, &sample);
        if self.counted.is_empty() {
            return Ok(());
        }
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
        let addresses = stack.chain(&sample, ProcessorMode::from_misc(header.misc))?;
        let mut is_cut = addresses >= self.events[event].attribute.most_addresses();
        if let Some(user) = &sample.user {
            let end = stack.follow(user, &mut self.follower, &self.builds)?;
            self.ends.followed += 1;
            self.ends.copied += u64::from(end == StackEnd::Copied);
            self.ends.lost += u64::from(end == StackEnd::Lost);
            is_cut = end != StackEnd::Whole;
        }
        stack.at_least(&sample, ProcessorMode::from_misc(header.misc))?;
        let known = |id: u32| (id != u32::MAX).then_some(u64::from(id));
        let row = self.stacks.finish(StackKey {
            thread,
            pid: sample.pid.and_then(known),
            tid: sample.tid.and_then(known),
            cut: is_cut,
            time: sample.time.filter(|_| self.options.times),
            ..StackKey::default()
        })?;
        for (event, period) in &self.counted {
            let counted = &mut self.events[*event];
            counted.samples += 1;
            counted.has_period |= period.is_some();
            self.stacks.table.add(row, 0, 1);
            let period = period.unwrap_or(1);
            self.stacks.table.add(row, event + 1, period.into());
        }
        Ok(())
    }

    /// Sets `counted` for a sample: its event, or the events whose counters were read with it and grew.
    fn count(&mut self, event: usize, sample: &RawSample) {
        self.counted.clear();
        let Some(values) = sample.counters else {
            self.counted.push((event, sample.period));
            return;
        };
        let is_inherited = self.events[event].attribute.is_inherited();
        let tid = sample.tid.filter(|_| is_inherited);
        for (id, growth) in self.counters.growth(values, tid) {
            match self.events_by_id.get(&id) {
                Some(event) => self.counted.push((*event, Some(growth))),
                None => self.left_out += 1,
            }
        }
    }

    /// Returns the name of a sample's thread; as in perf, `:TID` if the name is unknown.
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
}

/// Returns the number of lost records, which follows `words` words.
fn lost(mut body: RecordFields, words: u64) -> Option<u64> {
    body.words(words)?;
    body.u64()
}
