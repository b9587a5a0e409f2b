//! Names of the functions that are inlined at an address, from the symbol tables and the DWARF of ELF objects.
//!
//! - [`ObjectFile`] is an object.
//! - [`CoveringSymbols`] has its symbols, which show if it is the profiled build.
//! - [`DebugInfo`] finds its debug information and returns [`Chains`]: for each address, the functions of the code there,
//!   innermost inlined function first. One walk over the entries covers all addresses: see `walk.rs`.
//! - [`MachineCode`] hashes the code of functions, for comparison with another build.
//!
//! Addresses are relative to the object, as in Callgrind's profiles. A caller with run-time addresses subtracts the load
//! address of the object.
//!
//! Objects are untrusted input. Paths are opened only as regular files, and the cost of reading a file is limited by
//! [`Limits`], whatever the file claims. [`Errors`] records damaged parts. They do not affect other results.
#![warn(missing_docs)]

mod chains;
mod debug_info;
mod dwarf;
mod error;
mod files;
mod kept;
mod limits;
mod line_rows;
mod lines;
mod machine_code;
mod names;
mod object_file;
mod parameters;
mod part;
mod regular_file;
mod scopes;
mod search;
mod section_reader;
mod stubs;
mod symbols;
mod unwind;
mod walk;

pub use chains::{
    ChainFunction, ChainFunctionId, ChainNode, ChainNodeId, Chains, Errors, FileId, SourcePlace,
    TableLine, TableLineId,
};
pub use debug_info::DebugInfo;
pub use error::Error;
pub use kept::KeptObjects;
pub use limits::Limits;
pub use lines::LineTableRow;
pub use machine_code::{CodePrints, MachineCode, NoPrint};
pub use object_file::ObjectFile;
pub use regular_file::open_regular;
pub use search::{DebugFile, DebugSource, Search};
pub use stubs::STUB;
pub use symbols::{CoveringSymbols, ElfSymbol, SymbolAddress, SymbolBinding, without_version};
pub use unwind::UnwindSections;

/// Returns the path that bytes of a profile or an object spell. On Unix, paths may be any bytes. Elsewhere, bytes that are not
/// UTF-8 are replaced.
pub fn path_from_bytes(bytes: &[u8]) -> std::borrow::Cow<'_, std::path::Path> {
    bstr::ByteSlice::to_path_lossy(bytes)
}
