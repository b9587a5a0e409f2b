//! The grammar of template arguments, and the declarations and constraints of C++20.

use super::rewriter::Rewriter;
use super::{BEGIN, END, MIDDLE};

impl Rewriter<'_> {
    pub(super) fn template_args_if_any(&mut self) -> Option<()> {
        match self.peek() {
            b'I' => self.template_args(),
            _ => Some(()),
        }
    }

    /// Copies the arguments of a template, or a pack of arguments.
    pub(super) fn template_args(&mut self) -> Option<()> {
        self.nest(|rewriter| {
            rewriter.copy(1)?;
            rewriter.until_end(Self::template_arg)
        })
    }

    fn template_arg(&mut self) -> Option<()> {
        if self.is_declaration() {
            let begin = self.output.len();
            self.hide(Self::declaration)?;
            let declaration = self.output.split_off(begin);
            return self.declared_arg(&declaration);
        }
        match self.peek() {
            b'Q' => {
                self.skip(1)?;
                self.push(&[b"X", BEGIN, b"X"]);
                self.hide(Self::expression)?;
                self.push(&[b"E", END, b"E"]);
                Some(())
            }
            b'X' => {
                self.copy(1)?;
                self.expression()?;
                self.copy_all(b"E")
            }
            b'L' => self.primary(),
            b'I' | b'J' => self.template_args(),
            _ => self.whole_type(),
        }
    }

    /// Copies an argument with its declaration, unless this is empty. In a pack, the declaration moves into the first
    /// argument. An empty pack has no place for it.
    fn declared_arg(&mut self, declaration: &[u8]) -> Option<()> {
        if declaration.is_empty() {
            return self.nest(Self::template_arg);
        }
        let is_pack = self.peek() == b'J';
        if is_pack {
            self.copy(1)?;
            (self.peek() != b'E').then_some(())?;
        }
        self.push(&[b"X", BEGIN, declaration, MIDDLE]);
        self.nest(Self::template_arg)?;
        self.push(&[END, b"E"]);
        match is_pack {
            true => self.until_end(Self::template_arg),
            false => Some(()),
        }
    }

    pub(super) fn is_declaration(&self) -> bool {
        matches!(self.rest(), [b'T', b'k' | b'n' | b'p' | b't' | b'y', ..])
    }

    /// Leaves out a declaration, except types and scopes to which the rest can refer: these become template arguments.
    pub(super) fn declaration(&mut self) -> Option<()> {
        self.is_declaration().then_some(())?;
        let begin = self.second();
        self.skip(2)?;
        match (begin, self.peek(), self.second()) {
            (b'y', ..) => {}
            (b'p', ..) => self.nest(Self::declaration)?,
            (b'n', b'D', b'a' | b'c') => self.skip(2)?,
            (b'n', b'a'..=b't' | b'v'..=b'z', _) => self.skip(1)?,
            (b'n', ..) => self.whole_type()?,
            (b'k', ..) => self.concept()?,
            _ => {
                while self.peek() != b'E' {
                    self.nest(Self::declaration)?;
                }
                self.skip(1)?;
            }
        }
        Some(())
    }

    /// Leaves out the name of a concept, and copies its scopes and arguments as template arguments.
    pub(super) fn concept(&mut self) -> Option<()> {
        let begin = self.output.len();
        let is_nested = self.peek() == b'N';
        if is_nested {
            self.push(&[b"L_Z"]);
            self.nested_name()?;
            self.push(&[b"E"]);
        } else {
            if self.rest().starts_with(b"St") {
                self.skip(2)?;
            }
            self.source_name()?;
            self.output.truncate(begin);
        }
        if self.peek() != b'I' {
            return Some(());
        }
        self.template_args()?;
        match is_nested {
            true => Some(()),
            // Clang counts the name of the concept, and g++ does not.
            false => self.has_no_references(),
        }
    }
}
