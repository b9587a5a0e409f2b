//! What the addresses in instructions are of: functions by name, also those of other objects, and constants.

use cg_names::demangle::demangle_str;
use cg_names::identity::function_of_build;
use cg_stream::maps::Map;

use crate::object_file::ObjectFile;
use crate::stubs::{LoaderSlot, LoaderSlots, slot_of_stub, slots};
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
    slots: LoaderSlots<String>,
    functions: Map<u64, Reference>,
}

/// The references together with the object that they are of.
pub(super) struct Around<'a> {
    references: &'a mut References,
    object: &'a ObjectFile,
    symbols: &'a CoveringSymbols,
    bitness: u32,
}

impl References {
    pub(super) fn of(object: &ObjectFile) -> Result<References, Error> {
        Ok(References {
            // Of 32 bits, relocations look otherwise, and what they lead to is not compared.
            slots: match object.is_64_bit() {
                true => slots(object, |_| true, stable)?,
                false => LoaderSlots::default(),
            },
            functions: Map::default(),
        })
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
        self.in_slot(slot_of_stub(self.object, self.bitness, address)?)
    }

    /// What the loader puts at an address.
    fn in_slot(&self, address: u64) -> Option<Reference> {
        match self.references.slots.get(&address)? {
            LoaderSlot::Named(name) => Some(Reference::Named(name.clone(), 0)),
            LoaderSlot::At(function) => self.named(*function),
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
