//! The grammar of types.

use super::rewriter::{ANY_TYPE, Rewriter};
use super::{PACK, PACK_END};

fn is_qualifier(byte: u8) -> bool {
    matches!(byte, b'O' | b'R' | b'P' | b'K' | b'V')
}

impl Rewriter<'_> {
    /// Copies a type.
    pub(super) fn whole_type(&mut self) -> Option<()> {
        self.nest(|rewriter| match (rewriter.peek(), rewriter.second()) {
            (b'r' | b'V' | b'K' | b'P' | b'R' | b'O' | b'C' | b'G', _) => {
                rewriter.copy(1)?;
                rewriter.whole_type()
            }
            (b'D', _) => rewriter.type_with_d(),
            (b'F', _) => {
                rewriter.copy(1 + usize::from(rewriter.second() == b'Y'))?;
                rewriter.until_end(|rewriter| match (rewriter.peek(), rewriter.second()) {
                    (b'R' | b'O', b'E') => rewriter.copy(1),
                    _ => rewriter.whole_type(),
                })
            }
            (b'A', _) => {
                rewriter.copy(1 + rewriter.digits(1))?;
                if rewriter.peek() != b'_' {
                    rewriter.expression()?;
                }
                rewriter.copy_all(b"_")?;
                rewriter.whole_type()
            }
            (b'M', _) => {
                rewriter.copy(1)?;
                rewriter.whole_type()?;
                rewriter.whole_type()
            }
            (b'T', b's' | b'u' | b'e') => {
                rewriter.copy(2)?;
                rewriter.name()
            }
            (b'T', _) => {
                rewriter.template_parameter(ANY_TYPE)?;
                rewriter.template_args_if_any()
            }
            (b'U', b'0'..=b'9') => {
                rewriter.copy(1)?;
                rewriter.source_name()?;
                rewriter.template_args_if_any()?;
                rewriter.whole_type()
            }
            (b'u', _) => {
                rewriter.copy(1)?;
                rewriter.source_name()?;
                rewriter.template_args_if_any()
            }
            (b'S' | b'N' | b'Z' | b'U' | b'0'..=b'9', _) => rewriter.name(),
            (b'a'..=b'z', _) => rewriter.copy(1),
            _ => None,
        })
    }

    /// Copies a type that begins with `D`.
    fn type_with_d(&mut self) -> Option<()> {
        match self.second() {
            b't' | b'T' => self.decltype(),
            b'p' => self.pack(),
            b'o' | b'x' => {
                self.copy(2)?;
                self.whole_type()
            }
            b'O' => {
                self.copy(2)?;
                self.expression()?;
                self.copy_all(b"E")?;
                self.whole_type()
            }
            b'w' => {
                self.copy(2)?;
                self.until_end(Self::whole_type)?;
                self.whole_type()
            }
            b'v' if self.digits(2) > 0 => {
                self.number_and_underscore(2)?;
                self.whole_type()
            }
            b'F' if self.digits(2) > 0 => self.copy(3 + self.digits(2)),
            b'B' | b'U' if self.digits(2) > 0 => self.number_and_underscore(2),
            b'a' | b'c' | b'n' | b'i' | b's' | b'u' | b'f' | b'd' | b'e' | b'h' => self.copy(2),
            _ => None,
        }
    }

    /// Copies a pack expansion. Marks `DpOT_` by two types, of which the first names the qualifiers.
    fn pack(&mut self) -> Option<()> {
        let qualifiers = self.pack_qualifiers();
        if !qualifiers.is_empty() {
            let length = (PACK.len() + qualifiers.len()).to_string();
            self.push(&[b"u", length.as_bytes(), PACK, &qualifiers]);
        }
        self.copy(2)?;
        self.whole_type()?;
        if !qualifiers.is_empty() {
            self.push(&[PACK_END]);
        }
        Some(())
    }

    /// Returns the qualifiers of a pack whose pattern is only a qualified parameter; nothing for other patterns.
    fn pack_qualifiers(&self) -> Vec<u8> {
        let pattern = self.rest()[2..].iter().copied();
        let qualifiers: Vec<u8> = pattern.take_while(|byte| is_qualifier(*byte)).collect();
        let parameter = 2 + qualifiers.len();
        let end = parameter + 1 + self.digits(parameter + 1);
        let is_parameter = self.rest().get(parameter) == Some(&b'T')
            && self.rest().get(end) == Some(&b'_')
            && self.rest().get(end + 1) != Some(&b'I');
        match is_parameter && !self.is_in_closure {
            true => qualifiers,
            false => Vec::new(),
        }
    }

    pub(super) fn decltype(&mut self) -> Option<()> {
        self.copy(2)?;
        self.expression()?;
        self.copy_all(b"E")
    }
}
