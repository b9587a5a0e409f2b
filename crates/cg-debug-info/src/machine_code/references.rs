//! The targets of addresses in instructions: constants, and functions by name, including functions of other objects.

use cg_collections::maps::Map;
use cg_names::demangle::demangle_str;
use cg_names::identity::normal_function_within_build;

use crate::object_file::ObjectFile;
use crate::stubs::{LoaderSlot, LoaderSlots, slot_of_stub, slots};
use crate::symbols::without_version;
use crate::{CoveringSymbols, Error};

/// The target of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A target that is not compared.
    Unknown,
    /// A function's name, and the offset from its start.
    Named(String, u64),
    /// The bytes of a constant.
    Constant(Vec<u8>),
}

/// The slots that the loader fills, and a cache of functions by address.
pub(super) struct References {
    /// The addresses to which the loader writes the address of a function.
    slots: LoaderSlots<String>,
    functions: Map<u64, Reference>,
}

/// The references together with their object.
pub(super) struct Around<'a> {
    references: &'a mut References,
    object: &'a ObjectFile,
    symbols: &'a CoveringSymbols,
    bitness: u32,
}

impl References {
    pub(super) fn new(object: &ObjectFile) -> Result<References, Error> {
        Ok(References {
            // Relocations of 32-bit objects have another format, so their targets are not compared.
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

/// Returns a name without the parts that differ between builds.
fn stable(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(without_version(name));
    normal_function_within_build(&demangle_str(&name)).into_owned()
}

impl Around<'_> {
    /// Returns the function at an address: by its symbol or, for a stub, by the name of the function that the stub jumps to.
    pub(super) fn function(&mut self, address: u64) -> Reference {
        if let Some(known) = self.references.functions.get(&address) {
            return known.clone();
        }
        let found = self
            .named(address)
            .or_else(|| self.stub_target(address))
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

    fn stub_target(&self, address: u64) -> Option<Reference> {
        self.in_slot(slot_of_stub(self.object, self.bitness, address)?)
    }

    /// Returns the function whose address the loader writes to this address.
    fn in_slot(&self, address: u64) -> Option<Reference> {
        match self.references.slots.get(&address)? {
            LoaderSlot::Named(name) => Some(Reference::Named(name.clone(), 0)),
            LoaderSlot::At(function) => self.named(*function),
        }
    }

    /// Returns the data at an address: the function whose address the loader writes there, or `size` bytes of a constant.
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
