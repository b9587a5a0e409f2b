//! Prints of a function's machine code: hashes that can be compared with another build. One print covers all instructions,
//! another only the executed instructions.
//!
//! The linker puts code and data at different addresses in each build, without a change of the function. So instead of a
//! relative address, a print contains the thing at this address: the instruction of the same function, the name of another
//! function, or the bytes of a constant. Prints ignore writable data, and data of which only the address is taken.

use iced_x86::{Decoder, DecoderOptions};

use crate::object_file::ObjectFile;
use crate::{CoveringSymbols, Error, SymbolAddress};
use instructions::FunctionInstructions;
use references::References;

mod instructions;
mod references;

/// The version of the format of prints. It changes with the format, and with iced-x86, whose numbers of registers and
/// mnemonics are part of the hashes. Prints of different versions cannot be compared.
const VERSION: u32 = 1;

/// The maximum length of a function to decode. No compiler writes longer functions.
const MAX_FUNCTION_LEN: u64 = 1 << 20;

/// The maximum number of bytes to decode per byte of a file. Symbols may overlap, so it is more than 1.
const DECODED_PER_BYTE: u64 = 4;

/// The code of an object.
pub struct MachineCode {
    object: ObjectFile,
    bitness: u32,
    symbols: CoveringSymbols,
    references: References,
    /// The number of bytes that may still be decoded.
    left: u64,
}

/// The prints of a function's machine code. Equal prints mean equal code. A print consists of `x86-64.1`, the number of
/// instructions, a hash of the instructions, and a hash without constants, addresses and padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePrints {
    /// The print of all instructions; `None` if the function has several copies, or data between its instructions.
    pub all: Option<String>,
    /// The print of the executed instructions.
    pub ran: String,
}

/// The reason for which a function's code has no print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NoPrint {
    /// No symbol with the function's name covers the executed addresses.
    #[error("no symbol with the function's name at the executed addresses")]
    OtherSymbols,
    /// At some executed address no instruction begins.
    #[error("no instruction begins at an executed address")]
    OtherInstructions,
    /// The function is too long, or too much code has been decoded.
    #[error("the code exceeds the size limit")]
    TooLarge,
}

impl MachineCode {
    /// Reads the symbols and references of an object. A debug file may have further symbols.
    ///
    /// # Errors
    /// Returns an error if the object cannot be read or is not for x86.
    pub fn new(object: ObjectFile, debug: Option<&ObjectFile>) -> Result<MachineCode, Error> {
        let bitness = match object.machine() {
            object::elf::EM_X86_64 => 64,
            object::elf::EM_386 => 32,
            machine => return Err(Error::Processor(machine.0)),
        };
        let files: Vec<&ObjectFile> = std::iter::once(&object).chain(debug).collect();
        let symbols = CoveringSymbols::all(&files)?;
        let references = References::new(&object)?;
        let left = object.length().saturating_mul(DECODED_PER_BYTE);
        Ok(MachineCode {
            object,
            bitness,
            symbols,
            references,
            left,
        })
    }

    /// Computes the prints of a function, given its executed addresses in order. `is_called` returns true if a symbol has
    /// the function's name.
    ///
    /// # Errors
    /// Returns an error if the function does not have these addresses in this object.
    pub fn prints(
        &mut self,
        is_called: impl Fn(&[u8]) -> bool,
        ran: &[SymbolAddress],
    ) -> Result<CodePrints, NoPrint> {
        let mut places = Vec::new();
        let mut rest = ran;
        while let Some(first) = rest.first() {
            let mut here = self.symbols.at(*first);
            let symbol = here.find(|symbol| is_called(&symbol.name));
            let range = symbol.ok_or(NoPrint::OtherSymbols)?.addresses.clone();
            let inside = rest.partition_point(|address| *address < range.end);
            places.push((range, &rest[..inside]));
            rest = &rest[inside..];
        }
        let mut all = Vec::new();
        let mut ran_prints = Vec::new();
        for (range, ran) in places {
            let instructions = self.decode(range, ran)?;
            let references = &mut self.references;
            let mut around = references.around(&self.object, &self.symbols, self.bitness);
            if instructions.are_whole {
                all.push(instructions.print(&mut around, |_| true));
            }
            ran_prints.push(instructions.print(&mut around, |instruction| instruction.ran));
        }
        let name = match self.bitness {
            64 => "x86-64",
            _ => "x86",
        };
        // The program's input decides which copies of a function run, so prints of several copies cannot be compared.
        let is_one = all.len() == 1 && ran_prints.len() == 1;
        let ran = instructions::CodePrint::combine(ran_prints);
        Ok(CodePrints {
            all: is_one.then(|| all[0].text(name, VERSION)),
            ran: ran.text(name, VERSION),
        })
    }

    /// Decodes the instructions of a range of code.
    fn decode(
        &mut self,
        range: std::ops::Range<u64>,
        ran: &[SymbolAddress],
    ) -> Result<FunctionInstructions, NoPrint> {
        let length = range.end - range.start;
        self.left = (self.left.checked_sub(length))
            .filter(|_| length <= MAX_FUNCTION_LEN)
            .ok_or(NoPrint::TooLarge)?;
        let bytes = self.object.loaded(range.start, length);
        let bytes = bytes.ok_or(NoPrint::OtherInstructions)?;
        let mut decoder = Decoder::with_ip(self.bitness, &bytes, range.start, DecoderOptions::NONE);
        FunctionInstructions::read(&mut decoder, &bytes, ran).ok_or(NoPrint::OtherInstructions)
    }
}
