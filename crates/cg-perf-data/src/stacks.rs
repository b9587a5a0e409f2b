//! The stack of a sample: addresses to locations, each looked up in what is mapped at the time.

use std::hash::BuildHasher as _;

use cg_reader::Search;
use cg_stacks::perf::SAMPLES;
use cg_stacks::table::{FrameId, FrameParts, NameId, StackKey, StackKeyId, StackTable};
use cg_stream::intern::{Id as _, TooMany};
use cg_stream::maps::Map;
use foldhash::fast::FixedState;

use crate::fields::RecordWords;
use crate::jit::MadeCode;
use crate::locations::{CodePlace, Location, Locations, MappedObjectId, ObjectKind};
use crate::names::KnownBuilds;
use crate::processes::AddressSpace;
use crate::records::ProcessorMode;
use crate::sample::{RawSample, UserState};
use crate::unwinder::{StackEnd, StackFollower};

/// Locations, and stacks of them: in this table the address of a frame is the number of its location.
pub(crate) struct StackBuilder {
    pub(crate) table: StackTable,
    pub(crate) locations: Locations,
    /// Direct-mapped cache by address.
    recent: Vec<Option<RecentAddress>>,
    hasher: FixedState,
    /// By location: its frame.
    frame_of: Vec<FrameId>,
    made: Map<u32, MadeCode>,
    /// Files that a runtime wrote of its code, by process.
    dumps: Map<u32, Vec<Vec<u8>>>,
    /// The stack that is being built, innermost first.
    frames: Vec<FrameId>,
    followed: Vec<(u64, bool)>,
}

/// An address of a state of a process, looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RecentAddress {
    version: u32,
    address: u64,
    how: FoundBy,
    frame: FrameId,
}

/// How an address came into a stack.
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

/// Words of a chain that are no addresses say whose the following are; no address is as high
/// (`enum perf_callchain_context`).
const FIRST_CONTEXT: u64 = -4095i64 as u64;
const CONTEXT_KERNEL: u64 = -128i64 as u64;
const CONTEXT_USER: u64 = -512i64 as u64;

/// Where the half of the addresses begins that processors of 64 bits leave to the kernel.
const KERNEL_HALF: u64 = 1 << 63;

/// A sample's stack while it is built.
pub(crate) struct SampleStack<'s> {
    pub(crate) user: &'s AddressSpace,
    pub(crate) kernel: &'s AddressSpace,
    /// The kernel itself, where the recording says of it.
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
            frame_of: Vec::new(),
            made: Map::default(),
            dumps: Map::default(),
            frames: Vec::new(),
            followed: Vec::new(),
        }
    }

    /// Notes a file that is mapped for perf to see: `jit-PID.dump`.
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

    /// The row of the stack that was built.
    pub(crate) fn finish(&mut self, key: StackKey) -> Result<StackKeyId, TooMany> {
        let stack = self.table.stack(&self.frames)?;
        self.frames.clear();
        self.table.row(StackKey { stack, ..key })
    }
}

impl SampleStack<'_> {
    /// Adds the addresses that the kernel followed; in the place of the program's those that the processor remembered, as
    /// perf has it. How many are of the kernel's chain.
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

    /// Adds the code that runs, and the calls that led there: each is from where and to where, the last first.
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

    /// Follows the stack of the program.
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

    /// Adds where the sample was taken, if nothing else is there.
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

    /// Adds the next frame outwards.
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
        if location.index() == builder.frame_of.len() {
            let frame = FrameParts {
                addr: Some(location.index() as u64),
                ..FrameParts::default()
            };
            builder.frame_of.push(builder.table.frame(frame)?);
        }
        let frame = builder.frame_of[location.index()];
        builder.frames.push(frame);
        builder.recent[slot] = is_lasting.then_some(RecentAddress {
            version,
            address,
            how,
            frame,
        });
        Ok(())
    }

    /// What is at an address, and whether that stays while nothing else is mapped.
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
        // A call that is the last instruction of a mapping returns behind it.
        let wanted = address.wrapping_sub(u64::from(is_caller));
        let Some(mapping) = space.find(wanted) else {
            return Ok(match (mode, self.kernel_object) {
                // The mapping of the kernel has not all of it: what it ran at its start is outside.
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

    /// What a process calls code that it made.
    fn made(&mut self, pid: u32, address: u64) -> Result<Option<NameId>, TooMany> {
        let StackBuilder {
            made, dumps, table, ..
        } = &mut *self.builder;
        if !made.contains_key(&pid) {
            let dumps = dumps.get(&pid).map_or(&[][..], Vec::as_slice);
            let code = MadeCode::of_process(pid, dumps, self.search, table, self.demangle)?;
            made.insert(pid, code);
        }
        Ok(made.get(&pid).and_then(|made| made.at(address, self.time)))
    }
}
