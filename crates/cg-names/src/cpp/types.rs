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
            b'p' if self.is_qualified_pack() => self.qualified_pack(),
            b'p' | b'o' | b'x' => {
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

    /// Returns true for a pack expansion whose pattern is a qualified parameter: `DpOT_`.
    fn is_qualified_pack(&self) -> bool {
        let pattern = &self.rest()[2..];
        let qualifiers = pattern
            .iter()
            .take_while(|byte| is_qualifier(**byte))
            .count();
        let parameter = &pattern[qualifiers..];
        let digits = parameter
            .iter()
            .skip(1)
            .take_while(|byte| byte.is_ascii_digit());
        let after = parameter.get(1 + digits.count()..);
        qualifiers > 0
            && !self.is_in_closure
            && parameter.first() == Some(&b'T')
            && after.is_some_and(|after| after.starts_with(b"_") && !after.starts_with(b"_I"))
    }

    /// Copies `DpOT_` between two types that name its qualifiers.
    fn qualified_pack(&mut self) -> Option<()> {
        let qualifiers = self.rest()[2..]
            .iter()
            .take_while(|byte| is_qualifier(**byte));
        let name: Vec<u8> = PACK.iter().chain(qualifiers).copied().collect();
        self.push(&[b"u", name.len().to_string().as_bytes(), &name]);
        self.copy(2)?;
        self.whole_type()?;
        self.push(&[PACK_END]);
        Some(())
    }

    pub(super) fn decltype(&mut self) -> Option<()> {
        self.copy(2)?;
        self.expression()?;
        self.copy_all(b"E")
    }
}
