//! Errors from reading an object or its debug information.

use std::io;

use thiserror::Error as ThisError;

/// An error with one object or debug file. The message does not contain the file's name, which the caller knows.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A directory, a device, a FIFO or a socket. These are refused, because paths come from profiles.
    #[error("not a regular file")]
    NotRegular,
    /// The file is not a valid ELF file. Contains the reader's message.
    #[error("not a usable ELF file: {0}")]
    Malformed(String),
    /// A section, or the sum of all sections, exceeds the size limit. See [`Limits`](crate::Limits).
    #[error("the sections exceed the size limit for one file")]
    TooLarge,
    /// A section has an unknown compression, or its decompressed size is wrong.
    #[error("cannot decompress its sections: {0}")]
    Compression(String),
    /// The object has no DWARF, and there is no debug file for it.
    #[error("no debug information")]
    NoDebugInfo,
    /// The code is for an unsupported processor. Contains ELF's number of the processor.
    #[error("code for a processor other than x86: {}", processor(*.0))]
    Processor(u16),
}

/// Returns the name of a processor.
fn processor(number: u16) -> String {
    use object::elf;
    let named = match elf::Machine(number) {
        elf::EM_AARCH64 => "aarch64",
        elf::EM_ARM => "arm",
        elf::EM_RISCV => "riscv",
        elf::EM_PPC64 => "ppc64",
        elf::EM_S390 => "s390x",
        _ => return format!("number {number}"),
    };
    named.to_owned()
}

impl From<object::Error> for Error {
    fn from(error: object::Error) -> Error {
        Error::Malformed(error.to_string())
    }
}

impl From<gimli::Error> for Error {
    fn from(error: gimli::Error) -> Error {
        Error::Malformed(error.to_string())
    }
}
