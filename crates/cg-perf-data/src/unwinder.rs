//! Unwinding of stacks that perf only copied (`--call-graph dwarf`), with the unwind information in the objects.
//!
//! framehop does the unwinding: with `.eh_frame` or `.debug_frame`, and with frame pointers in code without these. A frame
//! counts only if its address is mapped. Unwinding stops after a frame in a missing object, instead of guessing.

use std::path::PathBuf;
use std::sync::Arc;

use cg_collections::intern::Id as _;
use cg_collections::maps::Map;
use cg_debug_info::UnwindSections;
use cg_reader::Search;
use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{Error, ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};

use crate::locations::{Locations, MappedObjectId, ObjectKind};
use crate::names::{FoundFile, KnownBuilds};
use crate::processes::AddressSpace;
use crate::sample::UserState;

type SectionBytes = Arc<[u8]>;

/// The end of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StackEnd {
    /// At the outermost frame, which has no caller.
    Whole,
    /// At the end of perf's copy.
    Copied,
    /// At a frame whose caller is unknown.
    Lost,
}

/// Unwinds stacks.
#[derive(Default)]
pub(crate) struct StackFollower {
    spaces: Map<u32, SpaceUnwinder>,
    objects: Map<MappedObjectId, Option<ObjectFrames>>,
}

/// The unwind information of an object, and its file.
struct ObjectFrames {
    sections: UnwindSections,
    eh_frame: Option<SectionBytes>,
    eh_frame_hdr: Option<SectionBytes>,
    debug_frame: Option<SectionBytes>,
    file: PathBuf,
}

/// The unwinder for one state of one process.
enum SpaceUnwinder {
    X86(UnwinderX86_64<SectionBytes>, CacheX86_64),
    Arm(UnwinderAarch64<SectionBytes>, CacheAarch64),
}

/// The supported processors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Processor {
    X86,
    Arm,
}

/// The numbers of registers (`asm/perf_regs.h`).
mod register {
    pub(super) const X86_BP: u32 = 6;
    pub(super) const X86_SP: u32 = 7;
    pub(super) const X86_IP: u32 = 8;
    pub(super) const ARM_FP: u32 = 29;
    pub(super) const ARM_LR: u32 = 30;
    pub(super) const ARM_SP: u32 = 31;
    pub(super) const ARM_PC: u32 = 32;
}

/// The registers that perf records on 64-bit x86: all except `ds`, `es`, `fs` and `gs`, which the kernel does not provide.
const X86_REGISTERS: u64 = 0xff_0fff;
/// The registers on 64-bit Arm: 31 general-purpose registers, the stack pointer and the program counter.
const ARM_REGISTERS: u64 = 0x1_ffff_ffff;

/// The maximum number of cached process states.
const MOST_SPACES: usize = 256;
/// The maximum number of frames, more than fit into perf's copy of a stack, unless they are empty.
const MOST_FRAMES: usize = 4096;

impl Processor {
    fn detect(user: &UserState) -> Option<Processor> {
        let is = |registers| user.is_64_bit && user.mask & registers == registers;
        match user.mask {
            mask if mask >> 24 == 0
                && is(1 << 6 | 1 << 7 | 1 << 8)
                && mask & !X86_REGISTERS == 0 =>
            {
                Some(Processor::X86)
            }
            mask if mask & ARM_REGISTERS == ARM_REGISTERS && is(ARM_REGISTERS) => {
                Some(Processor::Arm)
            }
            _ => None,
        }
    }
}

impl StackFollower {
    /// Adds the frames of a stack, innermost first. The flag is true for return addresses.
    pub(crate) fn follow(
        &mut self,
        space: &AddressSpace,
        locations: &Locations,
        builds: &KnownBuilds,
        search: &Search,
        user: &UserState,
        frames: &mut Vec<(u64, bool)>,
    ) -> StackEnd {
        let Some(processor) = Processor::detect(user) else {
            return StackEnd::Lost;
        };
        for mapping in space.iter() {
            let object = locations.get(mapping.object);
            if object.kind == ObjectKind::File {
                self.objects.entry(mapping.object).or_insert_with(|| {
                    match FoundFile::find(object, builds, search) {
                        FoundFile::Found(file) => ObjectFrames::read(&file),
                        FoundFile::OtherBuild(_) | FoundFile::Missing => None,
                    }
                });
            }
        }
        if self.spaces.len() >= MOST_SPACES && !self.spaces.contains_key(&space.version) {
            self.spaces.clear();
        }
        let StackFollower { spaces, objects } = self;
        let unwinder = spaces
            .entry(space.version)
            .or_insert_with(|| SpaceUnwinder::new(space, objects, processor));
        // `None` if nothing is mapped at an address; true if a frame there can be unwound.
        let at = |address: FrameAddress| {
            let mapping = space.find(address.address_for_lookup())?;
            let object = locations.get(mapping.object);
            let is_known = object.kind != ObjectKind::File
                || object.path == b"[vdso]"
                || objects.get(&mapping.object).is_some_and(Option::is_some);
            Some(is_known)
        };
        let word = |number| user.register(number).unwrap_or(0);
        let read = |stack_pointer: u64| {
            move |address: u64| {
                let start = address.checked_sub(stack_pointer).ok_or(())?;
                let start = usize::try_from(start).map_err(drop)?;
                let bytes = user.stack.get(start..).and_then(|rest| rest.first_chunk());
                bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or(())
            }
        };
        match unwinder {
            SpaceUnwinder::X86(unwinder, cache) => {
                let [ip, sp, bp] = [register::X86_IP, register::X86_SP, register::X86_BP].map(word);
                let registers = UnwindRegsX86_64::new(ip, sp, bp);
                walk(
                    &*unwinder,
                    cache,
                    registers,
                    UnwindRegsX86_64::bp,
                    ip,
                    &mut read(sp),
                    at,
                    frames,
                )
            }
            SpaceUnwinder::Arm(unwinder, cache) => {
                let [pc, lr] = [register::ARM_PC, register::ARM_LR].map(word);
                let [sp, fp] = [register::ARM_SP, register::ARM_FP].map(word);
                let mask = PtrAuthMask::from_max_known_address(unwinder.max_known_code_address());
                let registers = UnwindRegsAarch64::new_with_ptr_auth_mask(mask, lr, sp, fp);
                walk(
                    &*unwinder,
                    cache,
                    registers,
                    UnwindRegsAarch64::fp,
                    pc,
                    &mut read(sp),
                    at,
                    frames,
                )
            }
        }
    }

    /// Returns the files that were used for unwinding.
    pub(crate) fn files(&self) -> impl Iterator<Item = (MappedObjectId, &PathBuf)> {
        let files = self.objects.iter();
        files.filter_map(|(object, frames)| Some((*object, &frames.as_ref()?.file)))
    }
}

/// Unwinds frame by frame.
#[expect(
    clippy::too_many_arguments,
    reason = "two processors share it, and each argument differs between them"
)]
fn walk<U: Unwinder>(
    unwinder: &U,
    cache: &mut U::Cache,
    mut registers: U::UnwindRegs,
    frame_pointer: fn(&U::UnwindRegs) -> u64,
    pc: u64,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
    at: impl Fn(FrameAddress) -> Option<bool>,
    frames: &mut Vec<(u64, bool)>,
) -> StackEnd {
    let mut address = FrameAddress::from_instruction_pointer(pc);
    for count in 0..MOST_FRAMES {
        let is_known = at(address);
        if count == 0 || is_known.is_some() {
            frames.push((address.address(), address.is_return_address()));
        }
        if is_known != Some(true) {
            return StackEnd::Lost;
        }
        let next = unwinder.unwind_frame(address, &mut registers, cache, read);
        address = match next.map(|next| next.map(FrameAddress::from_return_address)) {
            Ok(Some(Some(address))) => address,
            Ok(Some(None) | None) | Err(Error::ReturnAddressIsNull) => return StackEnd::Whole,
            // The kernel starts programs with a frame pointer of 0, and their first function has no other information on its
            // frame.
            Err(_) if frame_pointer(&registers) == 0 => return StackEnd::Whole,
            Err(Error::CouldNotReadStack(_)) => return StackEnd::Copied,
            Err(_) => return StackEnd::Lost,
        };
    }
    StackEnd::Lost
}

impl ObjectFrames {
    fn read(file: &cg_debug_info::ObjectFile) -> Option<ObjectFrames> {
        let mut sections = file.unwind_sections().ok()?;
        let shared = |bytes: &mut Vec<u8>| SectionBytes::from(std::mem::take(bytes));
        Some(ObjectFrames {
            eh_frame: sections.eh_frame.as_mut().map(|(_, bytes)| shared(bytes)),
            eh_frame_hdr: sections
                .eh_frame_hdr
                .as_mut()
                .map(|(_, bytes)| shared(bytes)),
            debug_frame: sections.debug_frame.as_mut().map(shared),
            sections,
            file: file.path().to_owned(),
        })
    }
}

impl SpaceUnwinder {
    fn new(
        space: &AddressSpace,
        objects: &Map<MappedObjectId, Option<ObjectFrames>>,
        processor: Processor,
    ) -> SpaceUnwinder {
        let mut unwinder = match processor {
            Processor::X86 => SpaceUnwinder::X86(UnwinderX86_64::new(), CacheX86_64::new()),
            Processor::Arm => SpaceUnwinder::Arm(UnwinderAarch64::new(), CacheAarch64::new()),
        };
        for mapping in space.iter() {
            let Some(Some(object)) = objects.get(&mapping.object) else {
                continue;
            };
            let length = mapping.end - mapping.start;
            let offsets = mapping.offset..mapping.offset.saturating_add(length);
            // The run-time address of the object's own address 0.
            let base = (object.sections.address_shift(offsets))
                .map(|shift| mapping.offset.wrapping_add(shift))
                .and_then(|start| mapping.start.checked_sub(start));
            let Some(base) = base else {
                continue;
            };
            let range = |section: &Option<(std::ops::Range<u64>, Vec<u8>)>| {
                section.as_ref().map(|(range, _)| range.clone())
            };
            let sections = ExplicitModuleSectionInfo {
                eh_frame_svma: range(&object.sections.eh_frame),
                eh_frame: object.eh_frame.clone(),
                eh_frame_hdr_svma: range(&object.sections.eh_frame_hdr),
                eh_frame_hdr: object.eh_frame_hdr.clone(),
                debug_frame: object.debug_frame.clone(),
                ..ExplicitModuleSectionInfo::default()
            };
            let name = mapping.object.index().to_string();
            let module = Module::new(name, mapping.start..mapping.end, base, sections);
            match &mut unwinder {
                SpaceUnwinder::X86(unwinder, _) => unwinder.add_module(module),
                SpaceUnwinder::Arm(unwinder, _) => unwinder.add_module(module),
            }
        }
        unwinder
    }
}
