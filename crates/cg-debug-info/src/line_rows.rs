//! The rows of a line table, and the code of each row.
//!
//! gimli computes all registers of a row. Lookups need the address, the file and the line, and they read millions of rows.

use gimli::{LineProgramHeader, Reader as _, constants};

use crate::dwarf::{Slice, Stop};
use crate::limits::Steps;

/// The code of a row of a line table: from its address to that of the next row.
#[derive(Clone, Copy)]
pub(crate) struct LineSpan {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) file: u64,
    /// The line, counted from 1; 0 if it is unknown.
    pub(crate) line: u32,
    /// The address of the first row in the sequence.
    pub(crate) sequence: u64,
}

/// Calls `each` with the code of the rows of a line table. Skips rows without code.
pub(crate) fn for_each_span<'a>(
    program: gimli::IncompleteLineProgram<Slice<'a>>,
    steps: &mut Steps,
    mut each: impl FnMut(&LineProgramHeader<Slice<'a>>, LineSpan),
) -> Result<(), Stop> {
    let mut last: Option<LineRow> = None;
    let mut sequence = None;
    for_each_row(program, steps, &mut |header, row| {
        let begun = *sequence.get_or_insert(row.address);
        if let Some(last) = last.take()
            && last.address < row.address
        {
            let span = LineSpan {
                begin: last.address,
                end: row.address,
                file: last.file,
                line: last.line,
                sequence: begun,
            };
            each(header, span);
        }
        match row.is_end {
            true => sequence = None,
            false => last = Some(row),
        }
    })
}

/// A row of a line table.
#[derive(Clone, Copy)]
struct LineRow {
    address: u64,
    file: u64,
    line: u32,
    /// True if the row only ends a sequence.
    is_end: bool,
}

/// Calls `each` with the rows of a line table.
fn for_each_row<'a>(
    program: gimli::IncompleteLineProgram<Slice<'a>>,
    steps: &mut Steps,
    each: &mut impl FnMut(&LineProgramHeader<Slice<'a>>, LineRow),
) -> Result<(), Stop> {
    // Only processors with very long instruction words have several operations per instruction.
    if (program.header().line_encoding()).maximum_operations_per_instruction == 1 {
        return Registers::run(program.header(), steps, each);
    }
    let mut rows = program.rows();
    while let Some((header, row)) = rows.next_row()? {
        steps.take(20)?;
        let row = LineRow {
            address: row.address(),
            file: row.file_index(),
            line: row.line().map_or(0, |line| short(line.get())),
            is_end: row.end_sequence(),
        };
        each(header, row);
    }
    Ok(())
}

/// The registers of the state machine that rows need (DWARF 5, section 6.2.2).
struct Registers {
    address: u64,
    file: u64,
    line: u64,
    /// True if the linker discarded the code of the sequence.
    is_discarded: bool,
}

impl Registers {
    const INITIAL: Registers = Registers {
        address: 0,
        file: 1,
        line: 1,
        is_discarded: false,
    };

    /// Runs the program of a table. Ignores `DW_LNE_define_file`, which no compiler writes.
    fn run<'a>(
        header: &LineProgramHeader<Slice<'a>>,
        steps: &mut Steps,
        each: &mut impl FnMut(&LineProgramHeader<Slice<'a>>, LineRow),
    ) -> Result<(), Stop> {
        let encoding = header.line_encoding();
        let base = header.opcode_base();
        let length = u64::from(encoding.minimum_instruction_length);
        let special = |opcode: u8| {
            let adjusted = opcode.wrapping_sub(base);
            let line = i64::from(encoding.line_base) + i64::from(adjusted % encoding.line_range);
            (line, u64::from(adjusted / encoding.line_range) * length)
        };
        let specials: [(i64, u64); 256] = std::array::from_fn(|opcode| special(opcode as u8));
        let mut input = header.raw_program_buf();
        let mut registers = Registers::INITIAL;
        while let Ok(opcode) = input.read_u8() {
            let mut is_row = false;
            match (opcode, constants::DwLns(opcode)) {
                _ if opcode >= base => {
                    let (line, advance) = specials[usize::from(opcode)];
                    registers.advance_line(line);
                    registers.advance(advance, header)?;
                    is_row = true;
                }
                (0, _) => {
                    if registers.run_extended(header, &mut input)? {
                        registers.add_row(true, header, steps, each)?;
                        registers = Registers::INITIAL;
                    }
                }
                (_, constants::DW_LNS_copy) => is_row = true,
                (_, constants::DW_LNS_advance_pc) => {
                    let advance = length.wrapping_mul(uleb128(&mut input)?);
                    registers.advance(advance, header)?;
                }
                (_, constants::DW_LNS_advance_line) => {
                    registers.advance_line(input.read_sleb128()?);
                }
                (_, constants::DW_LNS_set_file) => registers.file = uleb128(&mut input)?,
                (_, constants::DW_LNS_const_add_pc) => {
                    registers.advance(specials[255].1, header)?;
                }
                (_, constants::DW_LNS_fixed_advance_pc) => {
                    registers.advance(input.read_u16()?.into(), header)?;
                }
                (_, constants::DW_LNS_set_column | constants::DW_LNS_set_isa) => {
                    uleb128(&mut input)?;
                }
                (
                    _,
                    constants::DW_LNS_negate_stmt
                    | constants::DW_LNS_set_basic_block
                    | constants::DW_LNS_set_prologue_end
                    | constants::DW_LNS_set_epilogue_begin,
                ) => {}
                _ => {
                    let lengths = header.standard_opcode_lengths().slice();
                    for _ in 0..lengths.get(usize::from(opcode) - 1).copied().unwrap_or(0) {
                        uleb128(&mut input)?;
                    }
                }
            }
            if is_row {
                registers.add_row(false, header, steps, each)?;
            }
        }
        Ok(())
    }

    /// Runs an extended opcode. Returns true if it ends the sequence.
    fn run_extended<'a>(
        &mut self,
        header: &LineProgramHeader<Slice<'a>>,
        input: &mut Slice<'a>,
    ) -> Result<bool, Stop> {
        let length = uleb128(input)?;
        let length = usize::try_from(length).map_err(|_| gimli::Error::UnsupportedOffset)?;
        let mut rest = input.split(length)?;
        match constants::DwLne(rest.read_u8()?) {
            constants::DW_LNE_end_sequence => return Ok(true),
            constants::DW_LNE_set_address => {
                let size = header.address_size();
                let address = rest.read_address(size)?;
                // Linkers give discarded code the address 0, -1 or -2, or the addend of its relocation. Addresses ascend
                // within a sequence, so a lower one is discarded too.
                let lowest = u64::MAX >> (64 - 8 * u32::from(size.clamp(1, 8))) & !1;
                self.is_discarded = address < self.address || address >= lowest;
                if !self.is_discarded {
                    self.address = address;
                }
            }
            _ => {}
        }
        Ok(false)
    }

    fn advance(&mut self, by: u64, header: &LineProgramHeader<Slice>) -> Result<(), Stop> {
        if !self.is_discarded {
            let address = self.address.checked_add(by);
            let bits = 8 * u32::from(header.address_size().clamp(1, 8));
            let address = address.filter(|address| *address <= u64::MAX >> (64 - bits));
            self.address = address.ok_or(gimli::Error::AddressOverflow)?;
        }
        Ok(())
    }

    /// Adds to the line, which does not become negative.
    fn advance_line(&mut self, by: i64) {
        self.line = match by < 0 {
            true => self.line.saturating_sub(by.unsigned_abs()),
            false => self.line.wrapping_add(by as u64),
        };
    }

    fn add_row<'a>(
        &self,
        is_end: bool,
        header: &LineProgramHeader<Slice<'a>>,
        steps: &mut Steps,
        each: &mut impl FnMut(&LineProgramHeader<Slice<'a>>, LineRow),
    ) -> Result<(), Stop> {
        if self.is_discarded {
            return Ok(());
        }
        steps.take(20)?;
        let row = LineRow {
            address: self.address,
            file: self.file,
            line: short(self.line),
            is_end,
        };
        each(header, row);
        Ok(())
    }
}

/// Returns a line number; 0 if it is too large.
fn short(line: u64) -> u32 {
    u32::try_from(line).unwrap_or(0)
}

/// Reads a number, which mostly has one byte.
fn uleb128(input: &mut Slice) -> Result<u64, gimli::Error> {
    match input.slice().first() {
        Some(byte) if *byte < 0x80 => input.read_u8().map(u64::from),
        _ => input.read_uleb128(),
    }
}
