//! Why an object or its debug information could not be read.

use std::io;

use thiserror::Error as ThisError;

/// What went wrong with one object or debug file. It does not name the file, which its caller knows.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// It could not be opened or read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A directory, a device, a FIFO or a socket: nothing of the kind is opened, since paths come from profiles.
    #[error("not a regular file")]
    NotRegular,
    /// Not an ELF file that can be read; the reader's words.
    #[error("not a usable ELF file: {0}")]
    Malformed(String),
    /// A section, or all of them together, claim more than is read of one file. See [`Limits`](crate::Limits).
    #[error("its sections claim more than is read of one file")]
    TooLarge,
    /// A section is compressed in a way that is not known, or what came out is not what it claims.
    #[error("cannot decompress its sections: {0}")]
    Compression(String),
    /// No DWARF in the object, and no debug file for it was found.
    #[error("no debug information")]
    NoDebugInfo,
    /// Its code is of a processor that is not decoded; the number that ELF has for it.
    #[error("code of another processor than x86: {}", processor(*.0))]
    Processor(u16),
}

/// What a processor is called.
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
