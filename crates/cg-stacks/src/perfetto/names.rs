//! The names in a trace: of threads, processes and tracks, and the symbols of modules.

use cg_collections::maps::Map;
use cg_reader::Error;

use super::super::pprof::tables::ById;
use super::super::wire::MessageBytes;

/// Marks the track numbers of older slices, which are thread numbers.
pub(super) const THREAD_TRACK: u64 = 1 << 63;

#[derive(Default)]
pub(super) struct TraceNames<'a> {
    /// The name and process of each thread.
    pub(super) threads: ById<(&'a [u8], u64)>,
    pub(super) processes: ById<&'a [u8]>,
    pub(super) tracks: ById<TraceTrack<'a>>,
    /// The functions at each build id and address, the innermost inlined function first.
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

/// The thread and process of a sample or slice.
#[derive(Clone, Copy, Default)]
pub(super) struct TraceOrigin<'a> {
    pub(super) thread: &'a [u8],
    /// The number of the thread, used if it has no name.
    pub(super) tid: Option<u64>,
    pub(super) process: &'a [u8],
    pub(super) pid: Option<u64>,
}

/// The requested fields of a message. Each has a slot for a number and one for a text.
pub(super) struct WantedFields<'a, const N: usize> {
    pub(super) numbers: [u64; N],
    pub(super) messages: [Option<MessageBytes<'a>>; N],
}

impl<'a, const N: usize> WantedFields<'a, N> {
    /// Reads the fields with these numbers. If a field is repeated, the first text and the last number are kept.
    pub(super) fn read(
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
                    let process = WantedFields::read(process, [1, 3])?;
                    self.processes.insert(process.numbers[0], process.text(1));
                }
                (2, Some(thread)) => {
                    let thread = WantedFields::read(thread, [1, 2, 3])?;
                    let [tid, _, pid] = thread.numbers;
                    self.threads.insert(tid, (thread.text(1), pid));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the descriptor of a process. Returns its pid.
    fn process(&mut self, process: MessageBytes<'a>) -> Result<u64, Error> {
        let process = WantedFields::read(process, [1, 6])?;
        let pid = process.numbers[0];
        if !process.text(1).is_empty() {
            self.processes.insert(pid, process.text(1));
        }
        Ok(pid)
    }

    /// Reads the descriptor of a thread. Returns its tid.
    fn thread(&mut self, thread: MessageBytes<'a>) -> Result<u64, Error> {
        let thread = WantedFields::read(thread, [1, 2, 5])?;
        let [pid, tid, _] = thread.numbers;
        let known = self.threads.entry(tid).or_default();
        known.1 = pid;
        if !thread.text(2).is_empty() {
            known.0 = thread.text(2);
        }
        Ok(tid)
    }

    fn track(&mut self, track: MessageBytes<'a>) -> Result<(), Error> {
        let wanted = WantedFields::read(track, [1, 2, 3, 4, 5, 10])?;
        let [uuid, _, _, _, parent, _] = wanted.numbers;
        let mut track = TraceTrack {
            name: wanted.text(1),
            parent,
            ..TraceTrack::default()
        };
        if track.name.is_empty() {
            track.name = wanted.text(5);
        }
        track.process = wanted.messages[2]
            .map(|inner| self.process(inner))
            .transpose()?;
        track.thread = wanted.messages[3]
            .map(|inner| self.thread(inner))
            .transpose()?;
        self.tracks.insert(uuid, track);
        Ok(())
    }

    fn module(&mut self, module: MessageBytes<'a>) -> Result<(), Error> {
        let build_id = WantedFields::read(module, [2])?.text(0);
        let mut fields = module.fields();
        while let Some((number, value)) = fields.next()? {
            let (3, Some(symbols)) = (number, value.message()) else {
                continue;
            };
            let address = WantedFields::read(symbols, [1])?.numbers[0];
            let mut functions = Vec::new();
            let mut fields = symbols.fields();
            while let Some((number, value)) = fields.next()? {
                if let (2, Some(line)) = (number, value.message()) {
                    let line = WantedFields::read(line, [1, 2, 3])?;
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

    /// Returns the origin of a thread in a process. A number 0 means unknown.
    pub(super) fn thread_origin(&self, tid: u64, pid: u64) -> TraceOrigin<'a> {
        let (thread, known_pid) = self.threads.get(&tid).copied().unwrap_or_default();
        let pid = [pid, known_pid].into_iter().find(|pid| *pid != 0);
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

    /// Returns the origin of a track: the thread or process of the track or its nearest parent. If there is no thread, the
    /// track's own name is used.
    pub(super) fn track_origin(&self, uuid: u64) -> TraceOrigin<'a> {
        if uuid & THREAD_TRACK != 0 && !self.tracks.contains_key(&uuid) {
            return self.thread_origin(uuid ^ THREAD_TRACK, 0);
        }
        /// The maximum nesting of tracks. Deeper nesting is a cycle.
        const DEEPEST: usize = 64;
        let mut name: &[u8] = &[];
        let mut next = self.tracks.get(&uuid);
        for _ in 0..DEEPEST {
            let Some(track) = next else {
                break;
            };
            if let Some(tid) = track.thread {
                let mut origin = self.thread_origin(tid, 0);
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
                    ..self.thread_origin(0, pid)
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
