//! What the addresses in instructions are of: functions by name, also those of other objects, and constants.

use cg_names::demangle::demangle_str;
use cg_names::identity::function_of_build;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use iced_x86::{Code, Decoder, DecoderOptions};
use object::Endian;

use crate::object_file::ObjectFile;
use crate::symbols::without_version;
use crate::{CoveringSymbols, Error};

/// What is at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// Something that is not compared.
    Unknown,
    /// So far behind the start of this function.
    Named(String, u64),
    /// A constant of these bytes.
    Constant(Vec<u8>),
}

/// What the loader puts where, and what was looked up.
pub(super) struct References {
    /// Addresses that the loader writes an address to: of a function of that name, or of one of this object.
    slots: HashMap<u64, Slot, FixedState>,
    functions: HashMap<u64, Reference, FixedState>,
}

#[derive(Clone)]
enum Slot {
    Named(String),
    At(u64),
}

/// The references together with the object that they are of.
pub(super) struct Around<'a> {
    references: &'a mut References,
    object: &'a ObjectFile,
    symbols: &'a CoveringSymbols,
    bitness: u32,
}

// Relocations of x86-64 (System V ABI, AMD64 supplement, table 4.10).
const R_X86_64_64: u64 = 1;
const R_X86_64_GLOB_DAT: u64 = 6;
const R_X86_64_JUMP_SLOT: u64 = 7;
const R_X86_64_RELATIVE: u64 = 8;

/// An instruction is at most 15 bytes long; `endbr64` may stand before it.
const STUB: u64 = 20;

impl References {
    pub(super) fn of(object: &ObjectFile) -> Result<References, Error> {
        let mut references = References {
            slots: HashMap::default(),
            functions: HashMap::default(),
        };
        // Of 32 bits, relocations look otherwise, and what they lead to is not compared.
        if object.is_64_bit() {
            references.read_slots(object)?;
        }
        Ok(references)
    }

    fn read_slots(&mut self, object: &ObjectFile) -> Result<(), Error> {
        let mut budget = object.budget();
        let mut read = |name: &[u8]| object.read(name, &mut budget);
        let (symbols, names) = (read(b".dynsym")?, read(b".dynstr")?);
        let word = |bytes: &[u8], at: usize| -> Option<u64> {
            let bytes = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
            Some(object.endian().read_u64(bytes))
        };
        let name_of = |symbol: u64| -> Option<String> {
            let at = usize::try_from(symbol).ok()?.checked_mul(24)?;
            let entry = symbols.get(at..at.checked_add(4)?)?.try_into().ok()?;
            let rest = names.get(usize::try_from(object.endian().read_u32(entry)).ok()?..)?;
            let name = rest.split(|byte| *byte == 0).next()?;
            (!name.is_empty()).then(|| stable(name))
        };
        for table in [b".rela.dyn".as_slice(), b".rela.plt"] {
            let table = read(table)?;
            for entry in table.chunks_exact(24) {
                let (Some(at), Some(info), Some(addend)) =
                    (word(entry, 0), word(entry, 8), word(entry, 16))
                else {
                    continue;
                };
                let slot = match info & 0xffff_ffff {
                    R_X86_64_RELATIVE => Some(Slot::At(addend)),
                    R_X86_64_64 | R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT => {
                        name_of(info >> 32).map(Slot::Named)
                    }
                    _ => None,
                };
                if let Some(slot) = slot {
                    self.slots.insert(at, slot);
                }
            }
        }
        Ok(())
    }

    pub(super) fn around<'a>(
        &'a mut self,
        object: &'a ObjectFile,
        symbols: &'a CoveringSymbols,
        bitness: u32,
    ) -> Around<'a> {
        Around {
            references: self,
            object,
            symbols,
            bitness,
        }
    }
}

/// A name without what tells builds apart.
fn stable(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(without_version(name));
    function_of_build(&demangle_str(&name)).into_owned()
}

impl Around<'_> {
    /// The function at an address: by its symbol, or of a stub that jumps to what the loader found, by that name.
    pub(super) fn function(&mut self, address: u64) -> Reference {
        if let Some(known) = self.references.functions.get(&address) {
            return known.clone();
        }
        let found = self
            .named(address)
            .or_else(|| self.behind_stub(address))
            .unwrap_or(Reference::Unknown);
        let functions = &mut self.references.functions;
        functions.insert(address, found.clone());
        found
    }

    fn named(&self, address: u64) -> Option<Reference> {
        let symbol = self.symbols.preferred_at(address)?;
        let offset = address - symbol.addresses.start;
        Some(Reference::Named(stable(&symbol.name), offset))
    }

    fn behind_stub(&self, address: u64) -> Option<Reference> {
        let bytes = self.object.loaded_up_to(address, STUB)?;
        let mut decoder = Decoder::with_ip(self.bitness, &bytes, address, DecoderOptions::NONE);
        let mut instruction = decoder.decode();
        if matches!(instruction.code(), Code::Endbr64 | Code::Endbr32) {
            instruction = decoder.decode();
        }
        let is_jump = matches!(instruction.code(), Code::Jmp_rm64 | Code::Jmp_rm32);
        let slot = (is_jump && instruction.is_ip_rel_memory_operand())
            .then(|| instruction.ip_rel_memory_address())?;
        self.in_slot(slot)
    }

    /// What the loader puts at an address.
    fn in_slot(&self, address: u64) -> Option<Reference> {
        match self.references.slots.get(&address)? {
            Slot::Named(name) => Some(Reference::Named(name.clone(), 0)),
            Slot::At(function) => self.named(*function),
        }
    }

    /// What data an address is of: what the loader puts there, or so many bytes of a constant.
    pub(super) fn data(&mut self, address: u64, size: usize) -> Reference {
        if size == 0 {
            return Reference::Unknown;
        }
        if let Some(slot) = self.in_slot(address) {
            return slot;
        }
        let bytes = self.object.constant(address, size as u64);
        bytes.map_or(Reference::Unknown, Reference::Constant)
    }
}
