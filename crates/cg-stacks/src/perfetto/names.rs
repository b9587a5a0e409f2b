//! What is named anywhere in a trace: threads, processes and tracks, and the symbols of modules.

use cg_reader::Error;
use cg_stream::maps::Map;

use super::super::pprof::tables::ById;
use super::super::wire::MessageBytes;

/// Marks the numbers that slices of old get for their tracks, which were those of threads.
pub(super) const THREAD_TRACK: u64 = 1 << 63;

#[derive(Default)]
pub(super) struct TraceNames<'a> {
    /// By thread: its name, and its process.
    pub(super) threads: ById<(&'a [u8], u64)>,
    pub(super) processes: ById<&'a [u8]>,
    pub(super) tracks: ById<TraceTrack<'a>>,
    /// By build id and address: functions, the innermost inlined one first.
    pub(super) symbols: Map<(&'a [u8], u64), Vec<SymbolLine<'a>>>,
}

/// A track of slices.
#[derive(Clone, Copy, Default)]
pub(super) struct TraceTrack<'a> {
    name: &'a [u8],
    parent: u64,
    thread: Option<u64>,
    process: Option<u64>,
}

/// A function at an address.
#[derive(Clone, Copy, Default)]
pub(super) struct SymbolLine<'a> {
    pub(super) function: &'a [u8],
    pub(super) file: &'a [u8],
    pub(super) line: u64,
}

/// Where something ran.
#[derive(Clone, Copy, Default)]
pub(super) struct TraceOrigin<'a> {
    pub(super) thread: &'a [u8],
    /// For a thread without a name.
    pub(super) tid: Option<u64>,
    pub(super) process: &'a [u8],
    pub(super) pid: Option<u64>,
}

/// The fields of a message that are wanted, numbers and texts alike.
pub(super) struct WantedFields<'a, const N: usize> {
    pub(super) numbers: [u64; N],
    pub(super) messages: [Option<MessageBytes<'a>>; N],
}

impl<'a, const N: usize> WantedFields<'a, N> {
    /// Reads the fields with these numbers; of several of one number the first text and the last number count.
    pub(super) fn of(
        message: MessageBytes<'a>,
        wanted: [u64; N],
    ) -> Result<WantedFields<'a, N>, Error> {
        let mut found = WantedFields {
            numbers: [0; N],
            messages: [None; N],
        };
        let mut fields = message.fields();
        while let Some((number, value)) = fields.next()? {
            if let Some(slot) = wanted.iter().position(|wanted| *wanted == number) {
                found.numbers[slot] = value.number();
                found.messages[slot] = found.messages[slot].or(value.message());
            }
        }
        Ok(found)
    }

    pub(super) fn text(&self, slot: usize) -> &'a [u8] {
        self.messages[slot].map_or(&[], |message| message.bytes)
    }
}

impl<'a> TraceNames<'a> {
    pub(super) fn read(&mut self, packet: MessageBytes<'a>) -> Result<(), Error> {
        let mut fields = packet.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value.message()) {
                (2, Some(tree)) => self.process_tree(tree)?,
                (43, Some(process)) => drop(self.process(process)?),
                (44, Some(thread)) => drop(self.thread(thread)?),
                (60, Some(track)) => self.track(track)?,
                (61, Some(module)) => self.module(module)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn process_tree(&mut self, tree: MessageBytes<'a>) -> Result<(), Error> {
        let mut fields = tree.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value.message()) {
                (1, Some(process)) => {
                    let process = WantedFields::of(process, [1, 3])?;
                    self.processes.insert(process.numbers[0], process.text(1));
                }
                (2, Some(thread)) => {
                    let thread = WantedFields::of(thread, [1, 2, 3])?;
                    let [tid, _, pid] = thread.numbers;
                    self.threads.insert(tid, (thread.text(1), pid));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A process's descriptor: which one it is of.
    fn process(&mut self, process: MessageBytes<'a>) -> Result<u64, Error> {
        let process = WantedFields::of(process, [1, 6])?;
        let pid = process.numbers[0];
        if !process.text(1).is_empty() {
            self.processes.insert(pid, process.text(1));
        }
        Ok(pid)
    }

    /// A thread's descriptor.
    fn thread(&mut self, thread: MessageBytes<'a>) -> Result<u64, Error> {
        let thread = WantedFields::of(thread, [1, 2, 5])?;
        let [pid, tid, _] = thread.numbers;
        let known = self.threads.entry(tid).or_default();
        known.1 = pid;
        if !thread.text(2).is_empty() {
            known.0 = thread.text(2);
        }
        Ok(tid)
    }

    fn track(&mut self, track: MessageBytes<'a>) -> Result<(), Error> {
        let wanted = WantedFields::of(track, [1, 2, 3, 4, 5, 10])?;
        let [uuid, _, _, _, parent, _] = wanted.numbers;
        let mut track = TraceTrack {
            name: wanted.text(1),
            parent,
            ..TraceTrack::default()
        };
        if track.name.is_empty() {
            track.name = wanted.text(5);
        }
        track.process = wanted.messages[2].map(|of| self.process(of)).transpose()?;
        track.thread = wanted.messages[3].map(|of| self.thread(of)).transpose()?;
        self.tracks.insert(uuid, track);
        Ok(())
    }

    fn module(&mut self, module: MessageBytes<'a>) -> Result<(), Error> {
        let build_id = WantedFields::of(module, [2])?.text(0);
        let mut fields = module.fields();
        while let Some((number, value)) = fields.next()? {
            let (3, Some(symbols)) = (number, value.message()) else {
                continue;
            };
            let address = WantedFields::of(symbols, [1])?.numbers[0];
            let mut functions = Vec::new();
            let mut fields = symbols.fields();
            while let Some((number, value)) = fields.next()? {
                if let (2, Some(line)) = (number, value.message()) {
                    let line = WantedFields::of(line, [1, 2, 3])?;
                    functions.push(SymbolLine {
                        function: line.text(0),
                        file: line.text(1),
                        line: line.numbers[2],
                    });
                }
            }
            self.symbols.insert((build_id, address), functions);
        }
        Ok(())
    }

    /// Where a thread of a process ran; 0 is none.
    pub(super) fn of_thread(&self, tid: u64, pid: u64) -> TraceOrigin<'a> {
        let (thread, of) = self.threads.get(&tid).copied().unwrap_or_default();
        let pid = [pid, of].into_iter().find(|pid| *pid != 0);
        TraceOrigin {
            thread,
            tid: (tid != 0).then_some(tid),
            process: pid
                .and_then(|pid| self.processes.get(&pid))
                .copied()
                .unwrap_or_default(),
            pid,
        }
    }

    /// Where the slices of a track ran: in the thread or process that it or one of its parents is of. A track that is no thread's
    /// goes by its own name.
    pub(super) fn of_track(&self, uuid: u64) -> TraceOrigin<'a> {
        if uuid & THREAD_TRACK != 0 && !self.tracks.contains_key(&uuid) {
            return self.of_thread(uuid ^ THREAD_TRACK, 0);
        }
        /// Tracks within tracks; more would be a circle.
        const DEEPEST: usize = 64;
        let mut name: &[u8] = &[];
        let mut next = self.tracks.get(&uuid);
        for _ in 0..DEEPEST {
            let Some(track) = next else {
                break;
            };
            if let Some(tid) = track.thread {
                let mut origin = self.of_thread(tid, 0);
                if !name.is_empty() {
                    origin.thread = name;
                }
                return origin;
            }
            if name.is_empty() {
                name = track.name;
            }
            if let Some(pid) = track.process {
                return TraceOrigin {
                    thread: name,
                    ..self.of_thread(0, pid)
                };
            }
            next = self.tracks.get(&track.parent).filter(|_| track.parent != 0);
        }
        TraceOrigin {
            thread: name,
            ..TraceOrigin::default()
        }
    }
}
