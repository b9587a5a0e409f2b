//! Stubs of a procedure linkage table. They jump to an address that the loader writes: a function of another object.

use std::collections::BTreeMap;

use cg_collections::maps::{Map, Set};
use iced_x86::{Code, Decoder, DecoderOptions};
use object::{Endian, elf};

use crate::Error;
use crate::object_file::ObjectFile;

/// The suffix in the name of a function's stub.
pub const STUB: &str = "@plt";

/// The function whose address the loader writes to a slot.
#[derive(Clone, Debug)]
pub(crate) enum LoaderSlot<Name> {
    /// A function by its name, mostly of another object.
    Named(Name),
    /// A function of this object, by its address.
    At(u64),
}

/// The slots that the loader fills, by their addresses.
pub(crate) type LoaderSlots<Name> = Map<u64, LoaderSlot<Name>>;

// Relocations of x86-64 (System V ABI, AMD64 supplement, table 4.10).
const R_X86_64_64: u64 = 1;
const R_X86_64_GLOB_DAT: u64 = 6;
const R_X86_64_JUMP_SLOT: u64 = 7;
const R_X86_64_RELATIVE: u64 = 8;

/// The maximum length of a stub's code: an instruction of at most 15 bytes, which may follow `endbr64`.
const MAX_STUB_LEN: u64 = 20;

/// The sections in which linkers put stubs.
const SECTIONS: [&[u8]; 3] = [b".plt", b".plt.sec", b".plt.got"];
/// The lengths of stubs. A stub begins at a multiple of its length. Short stubs have their own section and contain only a
/// jump. There is no jump in the middle of a long stub.
const LENGTHS: [u64; 2] = [8, 16];

/// Returns the wanted slots of a 64-bit object, with names converted by `name`.
pub(crate) fn slots<Name>(
    object: &ObjectFile,
    is_wanted: impl Fn(u64) -> bool,
    name: impl Fn(&[u8]) -> Name,
) -> Result<LoaderSlots<Name>, Error> {
    let mut budget = object.budget();
    let mut read = |name: &[u8]| object.read(name, &mut budget);
    let (symbols, names) = (read(b".dynsym")?, read(b".dynstr")?);
    let word = |bytes: &[u8], at: usize| -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
        Some(object.endian().read_u64(bytes))
    };
    let name_of = |symbol: u64| -> Option<Name> {
        let at = usize::try_from(symbol).ok()?.checked_mul(24)?;
        let entry = symbols.get(at..at.checked_add(4)?)?.try_into().ok()?;
        let rest = names.get(usize::try_from(object.endian().read_u32(entry)).ok()?..)?;
        let found = rest.split(|byte| *byte == 0).next()?;
        (!found.is_empty()).then(|| name(found))
    };
    let mut slots = Map::default();
    for table in [b".rela.dyn".as_slice(), b".rela.plt"] {
        let table = read(table)?;
        for entry in table.chunks_exact(24) {
            let (Some(at), Some(info), Some(addend)) =
                (word(entry, 0), word(entry, 8), word(entry, 16))
            else {
                continue;
            };
            if !is_wanted(at) {
                continue;
            }
            let slot = match info & 0xffff_ffff {
                R_X86_64_RELATIVE => Some(LoaderSlot::At(addend)),
                R_X86_64_64 | R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT => {
                    name_of(info >> 32).map(LoaderSlot::Named)
                }
                _ => None,
            };
            if let Some(slot) = slot {
                slots.insert(at, slot);
            }
        }
    }
    Ok(slots)
}

/// Returns the slot that a stub at an address jumps through; `None` if there is no stub.
pub(crate) fn slot_of_stub(object: &ObjectFile, bitness: u32, address: u64) -> Option<u64> {
    let bytes = object.loaded_up_to(address, MAX_STUB_LEN)?;
    let mut decoder = Decoder::with_ip(bitness, &bytes, address, DecoderOptions::NONE);
    let mut instruction = decoder.decode();
    if matches!(instruction.code(), Code::Endbr64 | Code::Endbr32) {
        instruction = decoder.decode();
    }
    let is_jump = matches!(instruction.code(), Code::Jmp_rm64 | Code::Jmp_rm32);
    (is_jump && instruction.is_ip_rel_memory_operand()).then(|| instruction.ip_rel_memory_address())
}

impl ObjectFile {
    /// Returns the names of stubs at these addresses in the form of `perf`, for x86-64: `foo@plt`. Skips addresses without a
    /// stub.
    pub fn stubs(&self, addresses: &[u64]) -> BTreeMap<u64, Vec<u8>> {
        let sections = SECTIONS.iter().filter_map(|name| self.section(name));
        let sections: Vec<_> = sections.map(|section| section.addresses()).collect();
        if !self.is_64_bit() || self.machine() != elf::EM_X86_64 {
            return BTreeMap::new();
        }
        let in_stubs = addresses.iter().filter_map(|address| {
            let section = sections.iter().find(|section| section.contains(address))?;
            let slot =
                |length| slot_of_stub(self, 64, address - (address - section.start) % length);
            Some((*address, LENGTHS.map(slot)))
        });
        let in_stubs: Vec<(u64, [Option<u64>; 2])> = in_stubs.collect();
        // Read only the slots of sampled stubs, because an object has many more.
        let jumps = in_stubs.iter().flat_map(|(_, slots)| slots).flatten();
        let jumps: Set<u64> = jumps.copied().collect();
        if jumps.is_empty() {
            return BTreeMap::new();
        }
        let called = |name: &[u8]| [name, STUB.as_bytes()].concat();
        let known = slots(self, |at| jumps.contains(&at), called).unwrap_or_default();
        let name = |slot: &u64| match known.get(slot)? {
            LoaderSlot::Named(name) => Some(name.clone()),
            LoaderSlot::At(_) => None,
        };
        let named = in_stubs.iter().filter_map(|(address, slots)| {
            let name = slots.iter().flatten().find_map(name)?;
            Some((*address, name))
        });
        named.collect()
    }
}
