//! Which functions were inlined at an address, by name: out of the symbol tables and the DWARF of ELF objects.
//!
//! [`ObjectFile`] is an object; [`CoveringSymbols`] tell whether it is the one that was profiled; [`DebugInfo`] finds its debug
//! information and answers with [`Chains`]: for each address the functions whose code is there, the inlined ones first.
//! Addresses are as the object counts them, which is what callgrind writes; who has run-time addresses takes off where the
//! object was loaded. One walk over the entries answers for all addresses: see `walk.rs`.
//!
//! [`MachineCode`] says by what code of a function is known, so that it can be compared with that of another build.
//!
//! Objects are input like any other: paths are opened as regular files only, and what reading them costs is limited by
//! [`Limits`], whatever they claim. What is damaged is said in [`Troubles`] and keeps nothing else from being found.
#![warn(missing_docs)]

mod chains;
mod debug_info;
mod dwarf;
mod error;
mod files;
mod kept;
mod limits;
mod lines;
mod machine_code;
mod names;
mod object_file;
mod parameters;
mod regular_file;
mod scopes;
mod search;
mod stubs;
mod symbols;
mod unwind;
mod walk;

pub use chains::{
    ChainFunction, ChainFunctionId, ChainNode, ChainNodeId, Chains, FileId, SourcePlace, TableLine,
    TableLineId, Troubles,
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
