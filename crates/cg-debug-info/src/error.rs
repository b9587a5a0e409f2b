//! Why an object or its debug information could not be read.

use std::fmt;
use std::io;

/// What went wrong with one object or debug file. It does not name the file, which its caller knows.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It could not be opened or read.
    Io(io::Error),
    /// A directory, a device, a FIFO or a socket: nothing of the kind is opened, since paths come from profiles.
    NotRegular,
    /// Not an ELF file that can be read; the reader's words.
    Malformed(String),
    /// A section, or all of them together, claim more than is read of one file. See [`Limits`](crate::Limits).
    TooLarge,
    /// A section is compressed in a way that is not known, or what came out is not what it claims.
    Compression(String),
    /// No DWARF in the object, and no debug file for it was found.
    NoDebugInfo,
    /// Its code is of a processor that is not decoded; the number that ELF has for it.
    Processor(u16),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::NotRegular => f.write_str("not a regular file"),
            Error::Malformed(what) => write!(f, "not a usable ELF file: {what}"),
            Error::TooLarge => f.write_str("its sections claim more than is read of one file"),
            Error::Compression(what) => write!(f, "cannot decompress its sections: {what}"),
            Error::NoDebugInfo => f.write_str("no debug information"),
            Error::Processor(number) => {
                write!(
                    f,
                    "code of another processor than x86: {}",
                    processor(*number)
                )
            }
        }
    }
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

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
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
