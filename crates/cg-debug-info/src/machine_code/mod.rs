//! What the machine code of a function is, in a form that can be compared with that of another build: of all its
//! instructions, and of those that ran.
//!
//! Where linking puts code and data differs from build to build, and no function changes by that. So an address that an
//! instruction counts from where it stands is not compared, but what is there: which instruction of the function itself,
//! the name of another function, the bytes of a constant. Data that can be written, and data whose address alone is taken,
//! are not looked at.

use iced_x86::{Decoder, DecoderOptions};

use crate::object_file::ObjectFile;
use crate::{CoveringSymbols, Error, SymbolAddress};
use instructions::FunctionInstructions;
use references::References;

mod instructions;
mod references;

/// Which version of the forms below a print is of. It changes with them, and with iced-x86, whose numbers of registers and
/// mnemonics are part of them: prints of different versions say nothing of each other.
const VERSION: u32 = 1;

/// Longer functions than any compiler writes are not taken apart.
const LONGEST_FUNCTION: u64 = 1 << 20;

/// So many bytes of code are decoded for each byte of a file: symbols may overlap.
const DECODED_PER_BYTE: u64 = 4;

/// The code of an object.
pub struct MachineCode {
    object: ObjectFile,
    bitness: u32,
    symbols: CoveringSymbols,
    references: References,
    /// How many bytes may still be decoded.
    left: u64,
}

/// What a function's machine code is known by. Equal prints are equal code; a print is `x86-64.1`, the number of
/// instructions, a hash of them and one of them without constants, addresses and padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePrints {
    /// Of all its instructions; none where it has several places, or data between its instructions.
    pub all: Option<String>,
    /// Of those that ran.
    pub ran: String,
}

/// Why the code of a function has no print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NoPrint {
    /// No symbol of its name is where it ran.
    #[error("no symbol of its name is where it ran")]
    OtherSymbols,
    /// It ran where no instruction begins.
    #[error("it ran where no instruction begins")]
    OtherInstructions,
    /// It is longer, or there is more, than is decoded.
    #[error("it is longer than what is decoded")]
    TooLarge,
}

impl MachineCode {
    /// The code of an object, whose symbols may be in a debug file.
    ///
    /// # Errors
    /// Where it cannot be read, and where it is of another processor than x86.
    pub fn of(object: ObjectFile, debug: Option<&ObjectFile>) -> Result<MachineCode, Error> {
        let bitness = match object.machine() {
            object::elf::EM_X86_64 => 64,
            object::elf::EM_386 => 32,
            machine => return Err(Error::Processor(machine.0)),
        };
        let files: Vec<&ObjectFile> = std::iter::once(&object).chain(debug).collect();
        let symbols = CoveringSymbols::all(&files)?;
        let references = References::of(&object)?;
        let left = object.length().saturating_mul(DECODED_PER_BYTE);
        Ok(MachineCode {
            object,
            bitness,
            symbols,
            references,
            left,
        })
    }

    /// The prints of a function that ran at these addresses, which are sorted. `is_called` says whether a symbol has its
    /// name.
    ///
    /// # Errors
    /// Where the addresses are not those of the function in this object.
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
        let mut of_ran = Vec::new();
        for (range, ran) in places {
            let instructions = self.decode(range, ran)?;
            let references = &mut self.references;
            let mut around = references.around(&self.object, &self.symbols, self.bitness);
            if instructions.are_whole {
                all.push(instructions.print(&mut around, |_| true));
            }
            of_ran.push(instructions.print(&mut around, |instruction| instruction.ran));
        }
        let name = match self.bitness {
            64 => "x86-64",
            _ => "x86",
        };
        // Which copies of a function ran is the input's doing.
        let is_one = all.len() == 1 && of_ran.len() == 1;
        let of_ran = instructions::CodePrint::of_several(of_ran);
        Ok(CodePrints {
            all: is_one.then(|| all[0].text(name, VERSION)),
            ran: of_ran.text(name, VERSION),
        })
    }

    /// The instructions of a range of code.
    fn decode(
        &mut self,
        range: std::ops::Range<u64>,
        ran: &[SymbolAddress],
    ) -> Result<FunctionInstructions, NoPrint> {
        let length = range.end - range.start;
        self.left = (self.left.checked_sub(length))
            .filter(|_| length <= LONGEST_FUNCTION)
            .ok_or(NoPrint::TooLarge)?;
        let bytes = self.object.loaded(range.start, length);
        let bytes = bytes.ok_or(NoPrint::OtherInstructions)?;
        let mut decoder = Decoder::with_ip(self.bitness, &bytes, range.start, DecoderOptions::NONE);
        FunctionInstructions::read(&mut decoder, &bytes, ran).ok_or(NoPrint::OtherInstructions)
    }
}
