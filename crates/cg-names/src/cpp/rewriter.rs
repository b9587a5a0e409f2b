//! The rewriter, and the grammar of names. The grammar is that of the Itanium C++ ABI, section 5.1.

use super::{BEGIN, END, RETURN_TYPE};

/// The replacement of a template parameter as a type. Both count as one type.
pub(super) const ANY_TYPE: &[u8] = b"3cg$";
/// The replacement of a parameter in an expression.
pub(super) const ANY_VALUE: &[u8] = b"Lb1E";

/// Limits the recursion. `cpp_demangle` has a similar limit.
const MAX_DEPTH: usize = 96;

/// The treatment of template parameters in declarations and constraints. Some have no argument at their place, so that
/// `cpp_demangle` cannot print them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameters {
    Kept,
    Replaced,
}

/// Returns a name that `cpp_demangle` reads; `None` if nothing was rewritten, or if the name is outside of the grammar.
pub(super) fn rewrite(mangled: &str, parameters: Parameters) -> Option<String> {
    let is_reference = |pair: &[u8]| {
        pair[0] == b'S'
            && (pair[1] == b'_' || pair[1].is_ascii_digit() || pair[1].is_ascii_uppercase())
    };
    let last_reference = mangled.as_bytes().windows(2).rposition(is_reference);
    let mut rewriter = Rewriter {
        input: mangled.as_bytes(),
        at: 0,
        references_end: last_reference.map_or(0, |at| at + 1),
        output: Vec::with_capacity(mangled.len()),
        is_hidden: false,
        is_in_closure: false,
        parameters,
        last: LastPart::Other,
        depth: 0,
    };
    rewriter.copy_all(b"_Z")?;
    rewriter.encoding(false)?;
    let is_whole = rewriter.at == mangled.len() && rewriter.output != mangled.as_bytes();
    is_whole.then(|| String::from_utf8(rewriter.output).ok())?
}

/// The last part of a name that was copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastPart {
    Constructor,
    ConstructorTemplate,
    /// A conversion has no return type, even as a template.
    Conversion,
    /// The template arguments of another name. Their last byte is here in the output.
    Template {
        end: usize,
    },
    Other,
}

/// Copies a mangled name and rewrites parts. Methods return `None` for text outside of the grammar.
pub(super) struct Rewriter<'a> {
    input: &'a [u8],
    at: usize,
    /// The end of the last text that may refer to a type or scope by number.
    references_end: usize,
    pub(super) output: Vec<u8>,
    /// True in a declaration or constraint.
    pub(super) is_hidden: bool,
    /// True in the parameters of a closure, whose packs are not expanded.
    pub(super) is_in_closure: bool,
    parameters: Parameters,
    last: LastPart,
    depth: usize,
}

impl Rewriter<'_> {
    pub(super) fn rest(&self) -> &[u8] {
        &self.input[self.at..]
    }

    /// Returns the next byte; 0 at the end.
    pub(super) fn peek(&self) -> u8 {
        self.rest().first().copied().unwrap_or(0)
    }

    /// Returns the byte after the next; 0 at the end.
    pub(super) fn second(&self) -> u8 {
        self.rest().get(1).copied().unwrap_or(0)
    }

    pub(super) fn copy(&mut self, length: usize) -> Option<()> {
        let begin = self.at;
        self.skip(length)?;
        self.output.extend_from_slice(&self.input[begin..self.at]);
        Some(())
    }

    pub(super) fn skip(&mut self, length: usize) -> Option<()> {
        let end = self.at.checked_add(length)?;
        self.at = (end <= self.input.len()).then_some(end)?;
        Some(())
    }

    /// Adds text that is not in the input.
    pub(super) fn push(&mut self, texts: &[&[u8]]) {
        self.output
            .extend(texts.iter().flat_map(|text| text.iter()));
    }

    pub(super) fn copy_all(&mut self, expected: &[u8]) -> Option<()> {
        self.rest().starts_with(expected).then_some(())?;
        self.copy(expected.len())
    }

    /// Returns the number of digits after the next `skipped` bytes.
    pub(super) fn digits(&self, skipped: usize) -> usize {
        let rest = self.rest().get(skipped..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// Calls `item` until `E`, and copies the `E`.
    pub(super) fn until_end(&mut self, item: fn(&mut Self) -> Option<()>) -> Option<()> {
        while self.peek() != b'E' {
            item(self)?;
        }
        self.copy(1)
    }

    /// Copies the name and the parameters of a function, or the name of a variable.
    pub(super) fn encoding(&mut self, is_local: bool) -> Option<()> {
        match (self.peek(), self.second()) {
            (b'T', b'V' | b'T' | b'I' | b'S') => {
                self.copy(2)?;
                return self.whole_type();
            }
            (b'G', b'V') => {
                self.copy(2)?;
                return self.name();
            }
            (b'T', b'h') => {
                let sign = usize::from(self.rest().get(2) == Some(&b'n'));
                self.copy(2 + sign + self.digits(2 + sign))?;
                self.copy_all(b"_")?;
            }
            _ => {}
        }
        self.name()?;
        let has_parameters = |rewriter: &Self| !matches!(rewriter.peek(), 0 | b'E' | b'Q');
        match self.last {
            // `void` as the return type, which `cpp_demangle` does not print.
            LastPart::ConstructorTemplate if has_parameters(self) => self.push(&[b"v"]),
            LastPart::Template { end } if is_local && has_parameters(self) => {
                self.return_type(end)?;
            }
            _ => {}
        }
        while has_parameters(self) {
            self.whole_type()?;
        }
        if self.peek() != b'Q' {
            return Some(());
        }
        let begin = self.output.len();
        self.skip(1)?;
        self.hide(Self::expression)?;
        self.output.truncate(begin);
        self.has_no_references()
    }

    /// Moves the return type of a function into its template arguments, whose last byte is `end`.
    fn return_type(&mut self, end: usize) -> Option<()> {
        let begin = self.output.len();
        self.whole_type()?;
        let return_type = self.output.split_off(begin);
        let after = self.output.split_off(end);
        self.push(&[b"X", BEGIN, &return_type, END, b"E", &after, RETURN_TYPE]);
        Some(())
    }

    /// Returns `None` if the rest refers to types or scopes by number, so that nothing before it can be left out.
    pub(super) fn has_no_references(&self) -> Option<()> {
        (self.at >= self.references_end).then_some(())
    }

    pub(super) fn hide(&mut self, part: fn(&mut Self) -> Option<()>) -> Option<()> {
        let was_hidden = std::mem::replace(&mut self.is_hidden, true);
        let result = part(self);
        self.is_hidden = was_hidden;
        result
    }

    pub(super) fn name(&mut self) -> Option<()> {
        match (self.peek(), self.second()) {
            (b'N', _) => return self.nested_name(),
            (b'Z', _) => self.local_name()?,
            (b'S', b't') => {
                self.copy(2)?;
                self.unqualified_name()?;
            }
            (b'S', _) => self.substitution()?,
            _ => self.unqualified_name()?,
        }
        let has_args = self.peek() == b'I';
        self.template_args_if_any()?;
        let end = self.output.len() - 1;
        self.last = match has_args {
            true => LastPart::Template { end },
            false => LastPart::Other,
        };
        Some(())
    }

    pub(super) fn nested_name(&mut self) -> Option<()> {
        self.copy_all(b"N")?;
        while matches!(self.peek(), b'r' | b'V' | b'K' | b'R' | b'O' | b'H') {
            self.copy(1)?;
        }
        self.until_end(Self::nested_part)
    }

    fn nested_part(&mut self) -> Option<()> {
        let last = std::mem::replace(&mut self.last, LastPart::Other);
        match (self.peek(), self.second()) {
            (b'I', _) => {
                self.template_args()?;
                let end = self.output.len() - 1;
                self.last = match last {
                    LastPart::Constructor => LastPart::ConstructorTemplate,
                    LastPart::Conversion => LastPart::Other,
                    _ => LastPart::Template { end },
                };
                Some(())
            }
            (b'S', b't') => self.copy(2),
            (b'S', _) => self.substitution(),
            (b'T', _) => self.template_parameter(ANY_TYPE),
            (b'D', b't' | b'T') => self.decltype(),
            (b'M', _) => self.copy(1),
            _ => self.unqualified_name(),
        }
    }

    fn local_name(&mut self) -> Option<()> {
        self.nest(|rewriter| {
            rewriter.copy_all(b"Z")?;
            rewriter.encoding(true)?;
            rewriter.copy_all(b"E")?;
            match rewriter.peek() {
                b's' => rewriter.copy(1)?,
                b'd' => {
                    rewriter.copy(1 + rewriter.digits(1))?;
                    rewriter.copy_all(b"_")?;
                    rewriter.name()?;
                }
                _ => rewriter.name()?,
            }
            // The number of the entity in the function.
            match (rewriter.peek(), rewriter.second()) {
                (b'_', b'0'..=b'9') => rewriter.copy(2),
                (b'_', b'_') => rewriter.copy(3 + rewriter.digits(2)),
                _ => Some(()),
            }
        })
    }

    fn unqualified_name(&mut self) -> Option<()> {
        if self.peek() == b'F' {
            // A friend that is defined in a class. Compilers mark it only if it has a constraint.
            self.skip(1)?;
        }
        if self.peek() == b'L' {
            self.copy(1)?;
        }
        match (self.peek(), self.second()) {
            (b'0'..=b'9', _) => self.source_name()?,
            (b'U', b'l') => self.closure()?,
            (b'U', b't') => self.number_and_underscore(2)?,
            (b'C', b'1'..=b'9') => {
                self.copy(2)?;
                self.last = LastPart::Constructor;
            }
            (b'D', b'0'..=b'9') => self.copy(2)?,
            (b'C', b'I') => {
                self.copy(3)?;
                self.whole_type()?;
            }
            (b'D', b'C') => {
                self.copy(2)?;
                self.until_end(Self::source_name)?;
            }
            _ => self.operator_name()?,
        }
        while self.peek() == b'B' {
            self.copy(1)?;
            self.source_name()?;
        }
        Some(())
    }

    pub(super) fn source_name(&mut self) -> Option<()> {
        let digits = self.digits(0);
        let number = std::str::from_utf8(&self.rest()[..digits]).ok()?;
        let length: usize = number.parse().ok()?;
        self.copy(digits.checked_add(length)?)
    }

    pub(super) fn operator_name(&mut self) -> Option<()> {
        match (self.peek(), self.second()) {
            (b'c', b'v') => {
                self.copy(2)?;
                self.whole_type()?;
                self.last = LastPart::Conversion;
                Some(())
            }
            (b'l', b'i') | (b'v', b'0'..=b'9') => {
                self.copy(2)?;
                self.source_name()
            }
            (b'a'..=b'z', b'a'..=b'z' | b'A'..=b'Z') => self.copy(2),
            _ => None,
        }
    }

    fn closure(&mut self) -> Option<()> {
        self.copy(2)?;
        let begin = self.output.len();
        while self.is_declaration() {
            self.hide(Self::declaration)?;
        }
        // The parameters of the closure leave no place for the types of a declaration.
        (self.output.len() == begin).then_some(())?;
        let was_in_closure = std::mem::replace(&mut self.is_in_closure, true);
        let result = self.until_end(Self::whole_type);
        self.is_in_closure = was_in_closure;
        result?;
        self.number_and_underscore(0)
    }

    /// Copies some bytes, a number that may be absent, and an underscore.
    pub(super) fn number_and_underscore(&mut self, before: usize) -> Option<()> {
        self.copy(before + self.digits(before))?;
        self.copy_all(b"_")
    }

    /// Copies a reference to an earlier type or scope: `S_`, `S1A_`, `Sa`.
    pub(super) fn substitution(&mut self) -> Option<()> {
        if matches!(self.second(), b'a' | b'b' | b'd' | b'i' | b'o' | b's') {
            return self.copy(2);
        }
        let number = self.rest()[1..].iter();
        let number = number.take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        let length = 1 + number.count();
        self.copy(length)?;
        self.copy_all(b"_")
    }

    /// Copies `T_` or `T1_`. In hidden text, `TL0__` and `TL0_1_` refer to parameters of an inner template.
    pub(super) fn template_parameter(&mut self, replacement: &[u8]) -> Option<()> {
        let begin = self.output.len();
        self.copy_all(b"T")?;
        let is_inner = self.peek() == b'L';
        if is_inner {
            self.is_hidden.then_some(())?;
            self.number_and_underscore(1)?;
            self.output.truncate(begin + 1);
        }
        self.number_and_underscore(0)?;
        if self.replaces_parameters() && !is_inner {
            self.output.truncate(begin);
            self.push(&[replacement]);
        }
        Some(())
    }

    pub(super) fn replaces_parameters(&self) -> bool {
        self.is_hidden && self.parameters == Parameters::Replaced
    }

    /// Calls `part` one level deeper.
    pub(super) fn nest(&mut self, part: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        (self.depth < MAX_DEPTH).then_some(())?;
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        result
    }
}
