//! The instructions of a function, and their prints.

use std::ops::Range;

use iced_x86::{ConstantOffsets, Decoder, Instruction, Mnemonic, OpKind, Register};

use super::references::{Around, Reference};

/// An instruction, with the range of its bytes.
pub(super) struct CodeInstruction {
    decoded: Instruction,
    constants: ConstantOffsets,
    bytes: Range<usize>,
    /// True if the instruction was executed.
    pub(super) ran: bool,
}

/// The instructions of one function, in address order.
pub(super) struct FunctionInstructions {
    bytes: Vec<u8>,
    all: Vec<CodeInstruction>,
    /// True if all bytes of the function are instructions.
    pub(super) are_whole: bool,
}

impl FunctionInstructions {
    /// Decodes a function; `None` if an executed address is not the beginning of an instruction.
    pub(super) fn read(
        decoder: &mut Decoder<'_>,
        bytes: &[u8],
        ran: &[u64],
    ) -> Option<FunctionInstructions> {
        let mut function = FunctionInstructions {
            bytes: bytes.to_vec(),
            all: Vec::new(),
            are_whole: true,
        };
        let mut ran = ran.iter().copied().peekable();
        while decoder.can_decode() {
            let begin = decoder.position();
            let decoded = decoder.decode();
            let address = decoded.ip();
            // An executed address before this instruction is in the middle of the previous one.
            if ran.peek().is_some_and(|next| *next < address) {
                return None;
            }
            let ran = ran.next_if_eq(&address).is_some();
            if decoded.is_invalid() {
                if ran {
                    return None;
                }
                function.are_whole = false;
                continue;
            }
            function.all.push(CodeInstruction {
                constants: decoder.get_constant_offsets(&decoded),
                decoded,
                bytes: begin..decoder.position(),
                ran,
            });
        }
        ran.next().is_none().then_some(function)
    }

    /// Computes the print of some of the instructions, as if there were no others.
    pub(super) fn print(
        &self,
        around: &mut Around<'_>,
        is_one: impl Fn(&CodeInstruction) -> bool,
    ) -> CodePrint {
        let mut print = CodePrint::default();
        // The number of preceding instructions, in total and without padding; `None` for an instruction that is not
        // selected.
        let mut places: Vec<Option<[u64; 2]>> = Vec::with_capacity(self.all.len());
        let mut next = [0, 0];
        for instruction in &self.all {
            let is_one = is_one(instruction);
            places.push(is_one.then_some(next));
            next[0] += u64::from(is_one);
            next[1] += u64::from(is_one && !instruction.is_padding());
        }
        for (instruction, place) in self.all.iter().zip(&places) {
            if place.is_none() {
                continue;
            }
            print.instructions += 1;
            let target = instruction
                .target()
                .map(|target| self.inside(target, &places));
            self.add_bytes(instruction, &mut print.exact);
            match target {
                None => {}
                Some(BranchTarget::Place(place)) => print.exact.number(place[0]),
                Some(BranchTarget::NotSelected) => print.exact.number(u64::MAX),
                Some(BranchTarget::Outside(address)) => {
                    add(&mut print.exact, &around.function(address))
                }
            }
            if let Some((address, size)) = instruction.data() {
                add(&mut print.exact, &around.data(address, size));
            }
            if !instruction.is_padding() {
                instruction.add_shape(&mut print.shape);
                if let Some(BranchTarget::Place(place)) = target {
                    print.shape.number(place[1]);
                }
            }
        }
        print
    }

    /// Hashes the bytes of an instruction, with relative addresses replaced by zeros.
    fn add_bytes(&self, instruction: &CodeInstruction, hash: &mut Fnv) {
        let constants = &instruction.constants;
        let displacement = (instruction.decoded.is_ip_rel_memory_operand()).then(|| {
            (
                constants.displacement_offset(),
                constants.displacement_size(),
            )
        });
        let immediate = (instruction.target().is_some())
            .then(|| (constants.immediate_offset(), constants.immediate_size()));
        let distances = [displacement, immediate];
        for (position, byte) in self.bytes[instruction.bytes.clone()].iter().enumerate() {
            let is_distance = distances
                .iter()
                .flatten()
                .any(|(offset, size)| (*offset..offset.saturating_add(*size)).contains(&position));
            hash.byte(if is_distance { 0 } else { *byte });
        }
        // With lengths, different sequences of instructions never give the same bytes.
        hash.number(instruction.bytes.len() as u64);
    }

    /// Returns the kind of a branch target.
    fn inside(&self, target: u64, places: &[Option<[u64; 2]>]) -> BranchTarget {
        let found = self
            .all
            .binary_search_by_key(&target, |one| one.decoded.ip());
        match found.map(|index| places[index]) {
            Ok(Some(place)) => BranchTarget::Place(place),
            Ok(None) => BranchTarget::NotSelected,
            Err(_) => BranchTarget::Outside(target),
        }
    }
}

/// The target of a branch.
#[derive(Clone, Copy)]
enum BranchTarget {
    /// A selected instruction, by the number of preceding instructions, in total and without padding.
    Place([u64; 2]),
    /// An instruction of the function that is not selected.
    NotSelected,
    /// An address outside the function.
    Outside(u64),
}

fn add(hash: &mut Fnv, reference: &Reference) {
    match reference {
        Reference::Unknown => hash.byte(0),
        Reference::Named(name, offset) => {
            hash.byte(1);
            hash.bytes(name.as_bytes());
            hash.number(*offset);
        }
        Reference::Constant(bytes) => {
            hash.byte(2);
            hash.bytes(bytes);
        }
    }
}

impl CodeInstruction {
    fn is_padding(&self) -> bool {
        matches!(self.decoded.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
    }

    /// Returns the target of a direct branch or call; `None` for other instructions.
    fn target(&self) -> Option<u64> {
        let is_near = self.decoded.op_count() > 0
            && matches!(
                self.decoded.op0_kind(),
                OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
            );
        is_near.then(|| self.decoded.near_branch_target())
    }

    /// Returns the address and size of an operand with a relative address; `None` if there is none. The size is 0 if the
    /// instruction only computes the address.
    fn data(&self) -> Option<(u64, usize)> {
        let size = match self.decoded.mnemonic() {
            Mnemonic::Lea => 0,
            _ => self.decoded.memory_size().size(),
        };
        (self.decoded.is_ip_rel_memory_operand())
            .then(|| (self.decoded.ip_rel_memory_address(), size))
    }

    /// Hashes the operation and its registers, without constants and addresses.
    fn add_shape(&self, hash: &mut Fnv) {
        let decoded = &self.decoded;
        hash.number(decoded.mnemonic() as u64);
        let prefixes = [
            decoded.has_lock_prefix(),
            decoded.has_rep_prefix(),
            decoded.has_repne_prefix(),
        ];
        hash.bytes(&prefixes.map(u8::from));
        for operand in 0..decoded.op_count() {
            match decoded.op_kind(operand) {
                OpKind::Register => {
                    hash.byte(1);
                    hash.number(decoded.op_register(operand) as u64);
                }
                OpKind::Memory => {
                    hash.byte(2);
                    let is_relative = decoded.is_ip_rel_memory_operand();
                    let base = match is_relative {
                        true => Register::RIP,
                        false => decoded.memory_base(),
                    };
                    for part in [base, decoded.memory_index(), decoded.segment_prefix()] {
                        hash.number(part as u64);
                    }
                    hash.number(decoded.memory_index_scale().into());
                    hash.number(decoded.memory_size() as u64);
                }
                OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => hash.byte(3),
                OpKind::FarBranch16 | OpKind::FarBranch32 => hash.byte(4),
                OpKind::Immediate8
                | OpKind::Immediate8_2nd
                | OpKind::Immediate16
                | OpKind::Immediate32
                | OpKind::Immediate64
                | OpKind::Immediate8to16
                | OpKind::Immediate8to32
                | OpKind::Immediate8to64
                | OpKind::Immediate32to64 => hash.byte(5),
                // The operands of string instructions.
                implied => {
                    hash.byte(6);
                    hash.number(implied as u64);
                }
            }
        }
    }
}

/// The number of instructions, an exact hash, and a hash without constants and addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CodePrint {
    instructions: u64,
    exact: Fnv,
    shape: Fnv,
}

impl CodePrint {
    /// Combines the prints of several copies of a function, in any order.
    pub(super) fn combine(mut places: Vec<CodePrint>) -> CodePrint {
        if let [one] = places[..] {
            return one;
        }
        places.sort_unstable();
        let mut print = CodePrint::default();
        for place in places {
            print.instructions += place.instructions;
            print.exact.number(place.exact.0);
            print.shape.number(place.shape.0);
        }
        print
    }

    pub(super) fn text(&self, processor: &str, version: u32) -> String {
        format!(
            "{processor}.{version} {} {:016x} {:016x}",
            self.instructions, self.exact.0, self.shape.0
        )
    }
}

/// A 64-bit FNV-1a hash. Hashes are written to streams, so they must not depend on the version of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }

    fn number(&mut self, number: u64) {
        number
            .to_le_bytes()
            .into_iter()
            .for_each(|byte| self.byte(byte));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        bytes.iter().for_each(|byte| self.byte(*byte));
    }
}
