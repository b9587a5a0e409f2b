//! The stack of a sample: converts addresses to locations, by the mappings at the time of the sample.

use std::hash::BuildHasher as _;

use cg_collections::intern::{Id as _, TooMany};
use cg_collections::maps::Map;
use cg_reader::Search;
use cg_stacks::perf::SAMPLES;
use cg_stacks::table::{FrameId, FrameParts, NameId, StackKey, StackKeyId, StackTable};
use foldhash::fast::FixedState;

use crate::fields::RecordWords;
use crate::jit::MadeCode;
use crate::locations::{CodePlace, Location, Locations, MappedObjectId, ObjectKind};
use crate::names::KnownBuilds;
use crate::processes::AddressSpace;
use crate::records::ProcessorMode;
use crate::sample::{RawSample, UserState};
use crate::unwinder::{StackEnd, StackFollower};

/// The locations, and stacks of locations. In this table, the address of a frame is the number of its location.
pub(crate) struct StackBuilder {
    pub(crate) table: StackTable,
    pub(crate) locations: Locations,
    /// A direct-mapped cache by address.
    recent: Vec<Option<RecentAddress>>,
    hasher: FixedState,
    /// The frame of each location.
    location_frames: Vec<FrameId>,
    made: Map<u32, MadeCode>,
    /// The jitdump files of each process.
    dumps: Map<u32, Vec<Vec<u8>>>,
    /// The current stack, innermost first.
    frames: Vec<FrameId>,
    followed: Vec<(u64, bool)>,
}

/// An address in one state of a process, with its frame.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RecentAddress {
    version: u32,
    address: u64,
    how: FoundBy,
    frame: FrameId,
}

/// The way in which an address was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FoundBy {
    is_kernel: bool,
    is_caller: bool,
    is_unwound: bool,
}

impl FoundBy {
    fn number(self) -> u64 {
        let FoundBy {
            is_kernel,
            is_caller,
            is_unwound,
        } = self;
        u64::from(is_kernel) | u64::from(is_caller) << 1 | u64::from(is_unwound) << 2
    }
}

const RECENT: usize = 1 << 14;

/// Words of a chain from this value on are not addresses: they give the context of the next addresses (`enum
/// perf_callchain_context`).
const FIRST_CONTEXT: u64 = -4095i64 as u64;
const CONTEXT_KERNEL: u64 = -128i64 as u64;
const CONTEXT_USER: u64 = -512i64 as u64;

/// The beginning of the kernel's half of the address space, on 64-bit processors.
const KERNEL_HALF: u64 = 1 << 63;

/// The stack of a sample under construction.
pub(crate) struct SampleStack<'s> {
    pub(crate) user: &'s AddressSpace,
    pub(crate) kernel: &'s AddressSpace,
    /// The kernel's object, if the recording has one.
    pub(crate) kernel_object: Option<MappedObjectId>,
    pub(crate) time: u64,
    pub(crate) search: &'s Search,
    pub(crate) demangle: bool,
    pub(crate) builder: &'s mut StackBuilder,
}

impl StackBuilder {
    pub(crate) fn new() -> StackBuilder {
        StackBuilder {
            table: StackTable::new([SAMPLES]),
            locations: Locations::default(),
            recent: vec![None; RECENT],
            hasher: FixedState::default(),
            location_frames: Vec::new(),
            made: Map::default(),
            dumps: Map::default(),
            frames: Vec::new(),
            followed: Vec::new(),
        }
    }

    /// Remembers a jitdump file (`jit-PID.dump`), which the runtime maps to announce it to perf.
    pub(crate) fn note_dump(&mut self, pid: u32, path: &[u8]) {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        if name.starts_with(b"jit-") && name.ends_with(b".dump") {
            let dumps = self.dumps.entry(pid).or_default();
            if !dumps.iter().any(|known| known == path) {
                dumps.push(path.to_vec());
                self.made.remove(&pid);
            }
        }
    }

    /// Returns the row of the current stack, and clears the stack.
    pub(crate) fn finish(&mut self, key: StackKey) -> Result<StackKeyId, TooMany> {
        let stack = self.table.stack(&self.frames)?;
        self.frames.clear();
        self.table.row(StackKey { stack, ..key })
    }
}

impl SampleStack<'_> {
    /// Adds the addresses of the kernel's chain. As in perf, the calls recorded by the processor replace the program's part.
    /// Returns the number of addresses from the chain.
    pub(crate) fn chain(
        &mut self,
        sample: &RawSample,
        mode: ProcessorMode,
    ) -> Result<usize, TooMany> {
        let Some(chain) = sample.chain else {
            return Ok(0);
        };
        let mut mode = mode;
        let mut is_caller = false;
        let mut addresses = 0;
        for word in chain.iter() {
            if word >= FIRST_CONTEXT {
                mode = match word {
                    CONTEXT_KERNEL => ProcessorMode::Kernel,
                    CONTEXT_USER => ProcessorMode::User,
                    _ => ProcessorMode::Elsewhere,
                };
                is_caller = false;
                if let (ProcessorMode::User, Some(calls)) = (mode, sample.calls) {
                    self.calls(calls)?;
                    break;
                }
                continue;
            }
            self.push(mode, word, is_caller, false)?;
            is_caller = true;
            addresses += 1;
        }
        Ok(addresses)
    }

    /// Adds the running code and its calls. Each call has caller and callee address, last call first.
    fn calls(&mut self, calls: RecordWords) -> Result<(), TooMany> {
        let mut words = calls.iter();
        let mut is_first = true;
        while let (Some(from), Some(to), Some(_)) = (words.next(), words.next(), words.next()) {
            if std::mem::take(&mut is_first) {
                self.push(ProcessorMode::User, to, false, false)?;
            }
            self.push(ProcessorMode::User, from, false, false)?;
        }
        Ok(())
    }

    /// Unwinds the stack of the program.
    pub(crate) fn follow(
        &mut self,
        state: &UserState,
        follower: &mut StackFollower,
        builds: &KnownBuilds,
    ) -> Result<StackEnd, TooMany> {
        let mut followed = std::mem::take(&mut self.builder.followed);
        followed.clear();
        let locations = &self.builder.locations;
        let end = follower.follow(
            self.user,
            locations,
            builds,
            self.search,
            state,
            &mut followed,
        );
        for (position, (address, is_caller)) in followed.iter().enumerate() {
            self.push(ProcessorMode::User, *address, *is_caller, position > 0)?;
        }
        self.builder.followed = followed;
        Ok(end)
    }

    /// Adds the sampled address if the stack is empty.
    pub(crate) fn at_least(
        &mut self,
        sample: &RawSample,
        mode: ProcessorMode,
    ) -> Result<(), TooMany> {
        match sample.ip {
            Some(ip) if self.builder.frames.is_empty() => self.push(mode, ip, false, false),
            _ => Ok(()),
        }
    }

    /// Adds the next outer frame.
    fn push(
        &mut self,
        mode: ProcessorMode,
        address: u64,
        is_caller: bool,
        is_unwound: bool,
    ) -> Result<(), TooMany> {
        let how = FoundBy {
            is_kernel: mode == ProcessorMode::Kernel,
            is_caller,
            is_unwound,
        };
        let version = match mode {
            ProcessorMode::Kernel => self.kernel.version,
            ProcessorMode::User => self.user.version,
            ProcessorMode::Elsewhere => 0,
        };
        let builder = &mut *self.builder;
        let word = address ^ u64::from(version) << 48 ^ how.number() << 45;
        let slot = builder.hasher.hash_one(word) as usize % RECENT;
        if let Some(recent) = builder.recent[slot]
            && (recent.version, recent.address, recent.how) == (version, address, how)
        {
            builder.frames.push(recent.frame);
            return Ok(());
        }
        let (place, is_lasting) = self.place(mode, address, is_caller)?;
        let builder = &mut *self.builder;
        let location = builder.locations.location(Location {
            place,
            is_kernel: how.is_kernel,
            is_caller: is_caller && !matches!(place, CodePlace::Made(_)),
            is_unwound,
        })?;
        if location.index() == builder.location_frames.len() {
            let frame = FrameParts {
                addr: Some(location.index() as u64),
                ..FrameParts::default()
            };
            builder.location_frames.push(builder.table.frame(frame)?);
        }
        let frame = builder.location_frames[location.index()];
        builder.frames.push(frame);
        builder.recent[slot] = is_lasting.then_some(RecentAddress {
            version,
            address,
            how,
            frame,
        });
        Ok(())
    }

    /// Returns the place of an address. The flag is true if the place stays valid until the mappings change.
    fn place(
        &mut self,
        mode: ProcessorMode,
        address: u64,
        is_caller: bool,
    ) -> Result<(CodePlace, bool), TooMany> {
        let space = match mode {
            ProcessorMode::Kernel => self.kernel,
            ProcessorMode::User => self.user,
            ProcessorMode::Elsewhere => return Ok((CodePlace::Nowhere, true)),
        };
        // If a call is the last instruction of a mapping, its return address is after the mapping.
        let wanted = address.wrapping_sub(u64::from(is_caller));
        let Some(mapping) = space.find(wanted) else {
            return Ok(match (mode, self.kernel_object) {
                // The kernel's mapping is incomplete: it lacks the code that ran at boot.
                (ProcessorMode::Kernel, Some(kernel)) if wanted >= KERNEL_HALF => {
                    (CodePlace::Object(kernel, address), true)
                }
                _ => (CodePlace::Nowhere, true),
            });
        };
        let kind = self.builder.locations.get(mapping.object).kind;
        if let ObjectKind::Made(pid) = kind {
            return Ok(match self.made(pid, wanted)? {
                Some(name) => (CodePlace::Made(name), false),
                None => (CodePlace::Object(mapping.object, address), false),
            });
        }
        let offset = mapping.offset_of(wanted).wrapping_add(address - wanted);
        Ok((CodePlace::Object(mapping.object, offset), true))
    }

    /// Returns the name of generated code in a process.
    fn made(&mut self, pid: u32, address: u64) -> Result<Option<NameId>, TooMany> {
        let StackBuilder {
            made, dumps, table, ..
        } = &mut *self.builder;
        if !made.contains_key(&pid) {
            let dumps = dumps.get(&pid).map_or(&[][..], Vec::as_slice);
            let code = MadeCode::read_process(pid, dumps, self.search, table, self.demangle)?;
            made.insert(pid, code);
        }
        Ok(made.get(&pid).and_then(|made| made.at(address, self.time)))
    }
}
