//! The grammar of expressions.

use super::rewriter::{ANY_VALUE, Rewriter};
use super::{BEGIN, MEMBER, MEMBER_END};

/// An operand of an operator in an expression.
#[derive(Clone, Copy)]
enum Operand {
    Expression,
    /// Expressions until `E`.
    Expressions,
    /// An expression, or an underscore and expressions until `E`.
    Converted,
    Type,
    /// The name of a member.
    Member,
}

fn operands(operator: [u8; 2]) -> Option<&'static [Operand]> {
    use Operand::{Converted, Expression, Expressions, Member, Type};
    Some(match &operator {
        b"pp" | b"mm" | b"ps" | b"ng" | b"ad" | b"de" | b"co" | b"nt" | b"te" | b"sz" | b"az"
        | b"nx" | b"tw" | b"dl" | b"da" | b"sZ" => &[Expression],
        b"pl" | b"mi" | b"ml" | b"dv" | b"rm" | b"an" | b"or" | b"eo" | b"aS" | b"pL" | b"mI"
        | b"mL" | b"dV" | b"rM" | b"aN" | b"oR" | b"eO" | b"ls" | b"rs" | b"lS" | b"rS" | b"eq"
        | b"ne" | b"lt" | b"gt" | b"le" | b"ge" | b"ss" | b"aa" | b"oo" | b"cm" | b"pm" | b"ix"
        | b"ds" => &[Expression, Expression],
        b"qu" => &[Expression, Expression, Expression],
        b"dt" | b"pt" => &[Expression, Member],
        b"cl" | b"il" => &[Expressions],
        b"tl" => &[Type, Expressions],
        b"ti" | b"st" | b"at" => &[Type],
        b"dc" | b"sc" | b"cc" | b"rc" => &[Type, Expression],
        b"cv" => &[Type, Converted],
        _ => return None,
    })
}

impl Rewriter<'_> {
    pub(super) fn expression(&mut self) -> Option<()> {
        self.nest(|rewriter| match (rewriter.peek(), rewriter.second()) {
            (b'L', _) => rewriter.primary(),
            (b'T', _) => {
                rewriter.template_parameter(ANY_VALUE)?;
                rewriter.template_args_if_any()
            }
            (b'f', b'p') | (b'f', b'L') if rewriter.is_function_parameter() => {
                rewriter.function_parameter()
            }
            (b'f', b'l' | b'r' | b'L' | b'R') => {
                let is_binary = rewriter.second().is_ascii_uppercase();
                rewriter.copy(4)?;
                rewriter.expression()?;
                match is_binary {
                    true => rewriter.expression(),
                    false => Some(()),
                }
            }
            (b'g', b's')
                if matches!(rewriter.rest(), [_, _, b'n' | b'd', b'w' | b'a' | b'l', ..]) =>
            {
                rewriter.copy(2)?;
                rewriter.expression()
            }
            (b'0'..=b'9', _) | (b's', b'r') | (b'g', b's') | (b'o', b'n') | (b'd', b'n') => {
                rewriter.unresolved_name()
            }
            (b'r', b'q' | b'Q') => rewriter.requirements(),
            (b'n', b'w' | b'a') => rewriter.new_expression(),
            // `cpp_demangle` expands packs also without this operator, which it prints as `...`.
            (b's', b'p') => {
                rewriter.skip(2)?;
                rewriter.expression()
            }
            (first, second) => rewriter.operation([first, second]),
        })
    }

    /// Copies an operator and its operands.
    fn operation(&mut self, operator: [u8; 2]) -> Option<()> {
        let begin = self.output.len();
        let is_prefix = matches!(&operator, b"pp" | b"mm") && self.rest().get(2) == Some(&b'_');
        let operands = operands(operator)?;
        self.copy(2 + usize::from(is_prefix))?;
        for operand in operands {
            match (operand, self.peek()) {
                (Operand::Converted, b'_') => {
                    self.copy(1)?;
                    self.until_end(Self::expression)?;
                }
                (Operand::Expression | Operand::Converted, _) => self.expression()?,
                (Operand::Expressions, _) => self.until_end(Self::expression)?,
                (Operand::Type, _) => self.whole_type()?,
                (Operand::Member, _) => self.unresolved_name()?,
            }
        }
        if self.is_hidden && &operator == b"sZ" {
            // The size of a pack, which is a parameter.
            self.output.truncate(begin);
            self.push(&[ANY_VALUE]);
        }
        Some(())
    }

    /// Copies `nw <expression>* _ <type>` and its initializer.
    fn new_expression(&mut self) -> Option<()> {
        self.copy(2)?;
        while self.peek() != b'_' {
            self.expression()?;
        }
        self.copy(1)?;
        self.whole_type()?;
        if self.rest().starts_with(b"pi") {
            self.copy(2)?;
        }
        self.until_end(Self::expression)
    }

    /// Copies a literal, or the name of a function or variable.
    pub(super) fn primary(&mut self) -> Option<()> {
        self.copy(1)?;
        if self.rest().starts_with(b"_Z") {
            self.copy(2)?;
            self.encoding(false)?;
        } else {
            self.whole_type()?;
            let value = self.rest().iter();
            let value = value.take_while(|byte| {
                byte.is_ascii_digit() || byte.is_ascii_lowercase() || **byte == b'_'
            });
            let length = value.count();
            self.copy(length)?;
        }
        self.copy_all(b"E")
    }

    fn is_function_parameter(&self) -> bool {
        self.second() == b'p' || self.digits(2) > 0
    }

    /// Copies `fp_`, `fp0_`, `fpT` or `fL0p_`. Replaces it in hidden text.
    fn function_parameter(&mut self) -> Option<()> {
        let begin = self.output.len();
        if self.second() == b'L' {
            self.copy(2 + self.digits(2))?;
            self.copy_all(b"p")?;
        } else {
            self.copy(2)?;
        }
        while matches!(self.peek(), b'r' | b'V' | b'K') {
            self.copy(1)?;
        }
        match self.peek() {
            b'T' => self.copy(1)?,
            _ => self.number_and_underscore(0)?,
        }
        if self.is_hidden {
            self.output.truncate(begin);
            self.push(&[ANY_VALUE]);
        }
        Some(())
    }

    /// Copies a name in an expression. Moves it if it is a member of a type, as g++ writes it.
    fn unresolved_name(&mut self) -> Option<()> {
        if self.rest().starts_with(b"gs") {
            self.copy(2)?;
        }
        if !self.rest().starts_with(b"sr") {
            return self.last_of_unresolved_name();
        }
        if let Some(b'0'..=b'9') = self.rest().get(2) {
            return self.scoped_name();
        }
        self.skip(2)?;
        self.push(&[BEGIN]);
        self.whole_type()?;
        self.push(&[MEMBER]);
        self.last_of_unresolved_name()?;
        self.push(&[MEMBER_END]);
        Some(())
    }

    /// Copies `sr3foo3barE5value`, the form of the ABI, or moves `sr3foo5value`, g++'s form.
    fn scoped_name(&mut self) -> Option<()> {
        let begin = self.output.len();
        self.copy(2)?;
        loop {
            let last = self.output.len();
            self.last_of_unresolved_name()?;
            match self.rest() {
                [b'E', b'0'..=b'9', ..] | [b'E', b'o' | b'd', b'n', ..] => {
                    self.copy(1)?;
                    return self.last_of_unresolved_name();
                }
                [b'0'..=b'9', ..] => {}
                _ => {
                    let name = self.output.split_off(last);
                    let scope = self.output.split_off(begin + 2);
                    self.output.truncate(begin);
                    self.push(&[BEGIN, &scope, MEMBER, &name, MEMBER_END]);
                    return Some(());
                }
            }
        }
    }

    fn last_of_unresolved_name(&mut self) -> Option<()> {
        match (self.peek(), self.second()) {
            (b'0'..=b'9', _) => self.source_name()?,
            (b'o', b'n') => {
                self.copy(2)?;
                self.operator_name()?;
            }
            (b'd', b'n') => {
                self.copy(2)?;
                return match self.peek() {
                    b'0'..=b'9' => self.last_of_unresolved_name(),
                    _ => self.whole_type(),
                };
            }
            _ => return None,
        }
        self.template_args_if_any()
    }

    /// Replaces a requires-expression by a call with the types and expressions as arguments. It is always hidden.
    fn requirements(&mut self) -> Option<()> {
        self.is_hidden.then_some(())?;
        let has_parameters = self.second() == b'Q';
        self.skip(2)?;
        self.push(&[b"cl3cgR"]);
        if has_parameters {
            while self.peek() != b'_' {
                self.push(&[b"st"]);
                self.whole_type()?;
            }
            self.skip(1)?;
        }
        self.until_end(|rewriter| {
            let requirement = rewriter.peek();
            rewriter.skip(1)?;
            match requirement {
                b'T' => {
                    rewriter.push(&[b"st"]);
                    rewriter.whole_type()
                }
                b'Q' => rewriter.expression(),
                b'X' => {
                    rewriter.expression()?;
                    if rewriter.peek() == b'N' {
                        rewriter.skip(1)?;
                    }
                    if rewriter.peek() != b'R' {
                        return Some(());
                    }
                    rewriter.skip(1)?;
                    rewriter.push(&[b"3cgXI"]);
                    rewriter.concept()?;
                    rewriter.push(&[b"E"]);
                    Some(())
                }
                _ => None,
            }
        })
    }
}
