//! An ELF file: its sections, read one at a time on demand, and its links to other files.
//!
//! Does not map files into memory, because a file that shrinks while it is mapped kills the process.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use gimli::RunTimeEndian;
use object::read::elf::{
    CompressionHeader, FileHeader, NoteIterator, ProgramHeader, SectionHeader,
};
use object::{Endian, Endianness, FileKind, ReadCache, ReadRef, elf};

use crate::regular_file::{self, RegularFile};
use crate::section_reader::{FilePart, Inflated, SectionBytes, SectionReader};
use crate::{Error, Limits};

/// An open object or debug file. Only its table of sections has been read.
pub struct ObjectFile {
    path: PathBuf,
    file: RegularFile,
    limits: Limits,
    endian: Endianness,
    is_64_bit: bool,
    machine: elf::Machine,
    sections: Vec<ObjectSection>,
    build_id: Option<Vec<u8>>,
}

/// The facts that an ELF file's tables contain.
struct ElfTables {
    endian: Endianness,
    machine: elf::Machine,
    sections: Vec<ObjectSection>,
    build_id: Option<Vec<u8>>,
}

/// A section.
pub(crate) struct ObjectSection {
    name: Vec<u8>,
    compression: SectionCompression,
    /// The offset in the file of the bytes, compressed or not, after the compression header.
    offset: u64,
    /// The number of bytes in the file.
    stored: u64,
    /// The claimed size in bytes after decompression.
    size: u64,
    pub(crate) address: u64,
    pub(crate) is_code: bool,
    /// True if the section is loaded, and neither writable nor executable.
    is_constant: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SectionCompression {
    None,
    Zlib,
    Zstandard,
    Unknown,
}

/// The number of bytes that may still be read from a file; see [`Limits`].
pub(crate) struct Budget {
    plain: u64,
    decompressed: u64,
}

/// The maximum number of sections. No linked object has more. Relocatable files with one section per function are not read
/// here.
const MAX_SECTIONS: u32 = 0xffff;
/// The maximum length of a link, or of the notes of a section or segment. Real ones have a few dozen bytes.
const MAX_LINK_LEN: u64 = 1 << 16;
const SHF_WRITE: u64 = 1;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;

impl ObjectFile {
    /// Opens an ELF file, with 32 or 64 bits and any byte order.
    pub fn open(path: &Path, limits: &Limits) -> Result<ObjectFile, Error> {
        let file = regular_file::open(path)?;
        let cache = ReadCache::new(&file.file);
        let (is_64_bit, tables) = match FileKind::parse(&cache)? {
            FileKind::Elf32 => (false, read_tables::<elf::FileHeader32<Endianness>>(&cache)?),
            FileKind::Elf64 => (true, read_tables::<elf::FileHeader64<Endianness>>(&cache)?),
            _ => return Err(Error::Malformed("not ELF".to_owned())),
        };
        drop(cache);
        Ok(ObjectFile {
            path: path.to_owned(),
            file,
            limits: limits.clone(),
            endian: tables.endian,
            is_64_bit,
            machine: tables.machine,
            sections: tables.sections,
            build_id: tables.build_id,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the build id that the linker has assigned.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    pub(crate) fn is_64_bit(&self) -> bool {
        self.is_64_bit
    }

    /// Returns the processor of the code.
    pub(crate) fn machine(&self) -> elf::Machine {
        self.machine
    }

    /// Returns the length of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.file.length
    }

    pub(crate) fn endian(&self) -> Endianness {
        self.endian
    }

    pub(crate) fn dwarf_endian(&self) -> RunTimeEndian {
        match self.endian {
            Endianness::Little => RunTimeEndian::Little,
            Endianness::Big => RunTimeEndian::Big,
        }
    }

    /// Returns true if the file has DWARF, even if it is only skeletons of split units.
    pub fn has_debug_info(&self) -> bool {
        let has = |name: &[u8]| self.section(name).is_some_and(|section| section.stored > 0);
        has(b".debug_info") || has(b".debug_info.dwo")
    }

    /// Finds a section by its name. Also finds the name with a `z` for GNU's older form of compression.
    pub(crate) fn section(&self, name: &[u8]) -> Option<&ObjectSection> {
        self.sections.iter().find(|section| {
            section.name == name
                || (section.name.strip_prefix(b".z"))
                    .is_some_and(|rest| Some(rest) == name.get(1..))
        })
    }

    /// Returns the address that corresponds to the beginning of the file, from the first section in memory. Profilers'
    /// addresses are relative to it, and an object's load address is the run-time address of this place.
    pub fn base_address(&self) -> Option<u64> {
        let in_memory = |section: &&ObjectSection| section.address > 0 && section.stored > 0;
        let first = self
            .sections
            .iter()
            .filter(in_memory)
            .min_by_key(|section| section.address)?;
        first.address.checked_sub(first.offset)
    }

    /// Returns the address of the code at an offset in the file; `None` if there is no code.
    pub fn address_at(&self, offset: u64) -> Option<u64> {
        self.sections.iter().find_map(|section| {
            let inside = offset.checked_sub(section.offset)?;
            let is_there = section.is_code && inside < section.stored;
            is_there.then(|| section.address.checked_add(inside))?
        })
    }

    /// Iterates over the address ranges of the sections of code.
    pub(crate) fn code(&self) -> impl Iterator<Item = std::ops::Range<u64>> {
        (self.sections.iter())
            .filter(|section| section.is_code)
            .map(ObjectSection::addresses)
    }

    /// Iterates over the sections of code: their ranges in the file and their addresses.
    pub(crate) fn code_in_file(&self) -> impl Iterator<Item = (std::ops::Range<u64>, u64)> {
        (self.sections.iter())
            .filter(|section| section.is_code)
            .map(|section| {
                let end = section.offset.saturating_add(section.stored);
                (section.offset..end, section.address)
            })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the budget for reading this file.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            plain: self.file.length,
            decompressed: (self.file.length.saturating_mul(self.limits.ratio))
                .max(self.limits.decompressed),
        }
    }

    /// Reads the bytes of a section; empty if there is no such section.
    pub(crate) fn read(&self, name: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Error> {
        let Some(section) = self.section(name) else {
            return Ok(Vec::new());
        };
        let mut reader = self.reader(section, budget)?;
        let length = usize::try_from(section.size_in_memory()).map_err(|_| Error::TooLarge)?;
        let mut bytes = vec![0; length];
        (reader.read(&mut bytes)).map_err(|error| section.failure(&error))?;
        Ok(bytes)
    }

    /// Returns a reader of a section that can skip parts of it. Charges the budget for the whole section.
    pub(crate) fn reader(
        &self,
        section: &ObjectSection,
        budget: &mut Budget,
    ) -> Result<SectionReader<'_>, Error> {
        budget.plain = (budget.plain.checked_sub(section.stored)).ok_or(Error::TooLarge)?;
        let end = section.offset.checked_add(section.stored);
        let end = end.filter(|end| *end <= self.file.length);
        let stored = FilePart {
            file: &self.file.file,
            begin: section.offset,
            end: end.ok_or_else(outside)?,
        };
        if section.compression == SectionCompression::None {
            return Ok(SectionReader::new(SectionBytes::Plain(stored)));
        }
        budget.decompressed =
            (budget.decompressed.checked_sub(section.size)).ok_or(Error::TooLarge)?;
        let bytes = match section.compression {
            SectionCompression::Zlib => SectionBytes::decompressed(Inflated::new(stored)),
            SectionCompression::Zstandard => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(stored);
                let decoder = decoder.map_err(|error| Error::Compression(error.to_string()))?;
                SectionBytes::decompressed(decoder)
            }
            SectionCompression::None | SectionCompression::Unknown => {
                return Err(Error::Compression("unknown compression".to_owned()));
            }
        };
        Ok(SectionReader::new(bytes))
    }

    fn bytes(&self, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
        let end = offset.checked_add(length);
        if end.is_none_or(|end| end > self.file.length) {
            return Err(outside());
        }
        let length = usize::try_from(length).map_err(|_| Error::TooLarge)?;
        let mut bytes = vec![0; length];
        let mut file = &self.file.file;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads code from an address on; `None` if there are not enough bytes.
    pub(crate) fn loaded(&self, address: u64, length: u64) -> Option<Vec<u8>> {
        self.in_memory(address, length, |section| section.is_code)
    }

    /// Reads code from an address on, up to the end of the section or `length` bytes.
    pub(crate) fn loaded_up_to(&self, address: u64, length: u64) -> Option<Vec<u8>> {
        let mut code = self.code();
        let section = code.find(|range| range.contains(&address))?;
        self.loaded(address, length.min(section.end - address))
    }

    /// Reads constants at an address; `None` if there are not enough bytes.
    pub(crate) fn constant(&self, address: u64, length: u64) -> Option<Vec<u8>> {
        self.in_memory(address, length, |section| section.is_constant)
    }

    fn in_memory(
        &self,
        address: u64,
        length: u64,
        is_one: fn(&ObjectSection) -> bool,
    ) -> Option<Vec<u8>> {
        let section = self.sections.iter().find(|section| {
            let inside = address.checked_sub(section.address);
            let end = inside.and_then(|inside| inside.checked_add(length));
            is_one(section)
                && section.compression == SectionCompression::None
                && end.is_some_and(|end| end <= section.stored)
        })?;
        let offset = section.offset.checked_add(address - section.address)?;
        self.bytes(offset, length).ok()
    }

    fn link(&self, name: &[u8]) -> Option<Vec<u8>> {
        let section = self.section(name)?;
        let is_short =
            section.stored <= MAX_LINK_LEN && section.compression == SectionCompression::None;
        is_short.then(|| self.bytes(section.offset, section.stored).ok())?
    }

    /// Reads `.gnu_debuglink`: the name of the debug file and the checksum of its contents.
    pub(crate) fn debug_link(&self) -> Option<(Vec<u8>, u32)> {
        let link = self.link(b".gnu_debuglink")?;
        let name = link.split(|byte| *byte == 0).next()?.to_vec();
        let at = (name.len() + 1).next_multiple_of(4);
        let checksum = link.get(at..at + 4)?.try_into().ok()?;
        (!name.is_empty()).then(|| (name, self.endian.read_u32(checksum)))
    }

    /// Reads `.gnu_debugaltlink`: the file into which dwz moved shared debug information, and its build id.
    pub(crate) fn alternate_link(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let link = self.link(b".gnu_debugaltlink")?;
        let end = link.iter().position(|byte| *byte == 0)?;
        Some((link[..end].to_vec(), link[end + 1..].to_vec()))
    }
}

impl ObjectSection {
    pub(crate) fn addresses(&self) -> std::ops::Range<u64> {
        self.address..self.address.saturating_add(self.size)
    }

    /// Returns the number of bytes after decompression.
    pub(crate) fn size_in_memory(&self) -> u64 {
        match self.compression {
            SectionCompression::None => self.stored,
            _ => self.size,
        }
    }

    /// Converts an error of reading. A compressed section is then damaged or shorter than it claims.
    fn failure(&self, error: &std::io::Error) -> Error {
        match (self.compression, error.kind()) {
            (SectionCompression::None, kind) => Error::Io(kind.into()),
            (_, std::io::ErrorKind::UnexpectedEof) => {
                Error::Compression("fewer bytes than the section claims".to_owned())
            }
            _ => Error::Compression(error.to_string()),
        }
    }
}

fn outside() -> Error {
    Error::Malformed("a section is outside of the file".to_owned())
}

fn read_tables<Elf: FileHeader<Endian = Endianness>>(
    cache: &ReadCache<&File>,
) -> Result<ElfTables, Error> {
    let header = Elf::parse(cache)?;
    let endian = header.endian()?;
    // In a relocatable file, the addresses of every section begin at 0.
    if header.e_type(endian) == elf::ET_REL && !is_without_addresses(header, endian, cache) {
        return Err(Error::Malformed("a relocatable file".to_owned()));
    }
    if header.shnum(endian, cache)? > MAX_SECTIONS {
        return Err(Error::TooLarge);
    }
    let table = header.sections(endian, cache)?;
    let mut sections = Vec::new();
    for section in table.iter() {
        // A debug file has sections of code without their bytes.
        let (offset, stored) = section.file_range(endian).unwrap_or((0, 0));
        let name = table.section_name(endian, section)?.to_vec();
        let flags = section.sh_flags(endian).0;
        let mut found = ObjectSection {
            compression: SectionCompression::None,
            offset,
            stored,
            size: section.sh_size(endian).into(),
            address: section.sh_addr(endian).into(),
            is_code: flags & SHF_EXECINSTR != 0,
            is_constant: flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR) == SHF_ALLOC,
            name,
        };
        if let Some((compression, offset, stored)) = section.compression(endian, cache)? {
            found.compression = match compression.ch_type(endian) {
                elf::ELFCOMPRESS_ZLIB => SectionCompression::Zlib,
                elf::ELFCOMPRESS_ZSTD => SectionCompression::Zstandard,
                _ => SectionCompression::Unknown,
            };
            (found.offset, found.stored) = (offset, stored);
            found.size = compression.ch_size(endian).into();
        } else if found.name.starts_with(b".zdebug_") && stored >= 12 {
            // GNU's older form: `ZLIB`, then the size in eight bytes, big-endian.
            let intro = (cache.read_bytes_at(offset, 12))
                .map_err(|()| Error::Malformed("a section is cut short".to_owned()))?;
            if let Some(size) = intro
                .strip_prefix(b"ZLIB")
                .and_then(|size| size.try_into().ok())
            {
                found.compression = SectionCompression::Zlib;
                (found.offset, found.stored) = (offset + 12, stored - 12);
                found.size = u64::from_be_bytes(size);
            }
        }
        sections.push(found);
    }
    Ok(ElfTables {
        endian,
        machine: header.e_machine(endian),
        sections,
        build_id: find_build_id(header, endian, cache),
    })
}

/// Finds the build id in the notes of sections, then in those of segments, because a file can lack sections. The owner and
/// the type identify the note: linkers merge notes, so neither the name of the section nor the position is fixed.
fn find_build_id<Elf: FileHeader<Endian = Endianness>>(
    header: &Elf,
    endian: Endianness,
    cache: &ReadCache<&File>,
) -> Option<Vec<u8>> {
    let find = |mut notes: NoteIterator<'_, Elf>| {
        while let Ok(Some(note)) = notes.next() {
            let is_build_id = note.name() == elf::ELF_NOTE_GNU
                && note.n_type(endian) == elf::NT_GNU_BUILD_ID
                && !note.desc().is_empty();
            if is_build_id {
                return Some(note.desc().to_vec());
            }
        }
        None
    };
    let table = header.sections(endian, cache).ok()?;
    let in_sections = table.iter().find_map(|section| {
        let is_short = section.sh_size(endian).into() <= MAX_LINK_LEN;
        let notes = is_short.then(|| section.notes(endian, cache).ok().flatten());
        find(notes.flatten()?)
    });
    in_sections.or_else(|| {
        let segments = header.program_headers(endian, cache).ok()?;
        segments.iter().find_map(|segment| {
            let is_short = segment.p_filesz(endian).into() <= MAX_LINK_LEN;
            let notes = is_short.then(|| segment.notes(endian, cache).ok().flatten());
            find(notes.flatten()?)
        })
    })
}

/// Returns true for relocatable files that need no relocation: split units, even in a file with code, and dwz's alternate
/// files.
fn is_without_addresses<Elf: FileHeader<Endian = Endianness>>(
    header: &Elf,
    endian: Endianness,
    cache: &ReadCache<&File>,
) -> bool {
    header.sections(endian, cache).is_ok_and(|table| {
        let has_code =
            |section: &Elf::SectionHeader| section.sh_flags(endian).0 & SHF_EXECINSTR != 0;
        table.section_by_name(endian, b".debug_info.dwo").is_some()
            || table.section_by_name(endian, b".zdebug_info.dwo").is_some()
            || !table.iter().any(has_code)
    })
}
