//! The code of an object, split into spans. A span ends when the chain of inlined functions, the line or the symbols change.
//!
//! All cost lines in a span are treated alike, and a span mostly belongs to one function of the profile. Callgrind does not
//! write the blocks of a function in address order, so a lookup table replaces the search by address. For every few bytes of
//! code, the table has the span that contains their first byte.

use std::ops::RangeInclusive;

use cg_debug_info::{ChainNodeId, TableLineId};

use super::chain::ChainId;
use super::evidence::PlaceEvidence;
use super::trace::{At, Traced};
use crate::ids::{FunctionId, StringId};

/// All code of an object by address. The first span begins at 0.
pub(super) struct Spans {
    spans: Vec<CodeSpan>,
    /// The index of the span that was found last. The next line is mostly in the same span.
    last: usize,
    /// The start of the second span.
    begin: u64,
    /// The number of low address bits that the table ignores.
    shift: u32,
    /// For each piece of code from `begin` on, the index of the span in which the piece begins.
    table: Vec<u32>,
}

/// Code up to the next span.
pub(super) struct CodeSpan {
    begin: u64,
    pub(super) facts: CodeFacts,
    /// The owner of the last line in the span.
    pub(super) owner: Option<SpanOwner>,
    /// The owner's self cost that is not in its row yet, from lines that count only the first event.
    pub(super) own: u64,
}

/// The function and line whose cost a span collects, and the row that it is added to.
#[derive(Clone, Copy)]
pub(super) struct SpanOwner {
    function: FunctionId,
    is_first: bool,
    file: StringId,
    line: u64,
    /// The comparison of the line with the line of the span.
    pub(super) place: PlaceEvidence,
    pub(super) row: ChainId,
    /// True if the chain is known.
    pub(super) is_resolved: bool,
}

impl SpanOwner {
    /// Creates the owner of a line.
    pub(super) fn new(
        line: &Traced,
        place: PlaceEvidence,
        row: ChainId,
        is_resolved: bool,
    ) -> SpanOwner {
        SpanOwner {
            function: line.function,
            is_first: line.is_first,
            file: line.at.file,
            line: line.at.line,
            place,
            row,
            is_resolved,
        }
    }

    /// Returns true if a line has this owner.
    #[inline]
    pub(super) fn owns(&self, line: &Traced) -> bool {
        (self.function, self.is_first, self.file, self.line)
            == (line.function, line.is_first, line.at.file, line.at.line)
    }

    pub(super) fn function(&self) -> FunctionId {
        self.function
    }

    /// Creates a line of the owner's self cost, without an address.
    pub(super) fn own_cost<'c>(&self, counts: &'c [u64]) -> Traced<'c> {
        let at = At {
            address: None,
            file: self.file,
            line: self.line,
        };
        Traced::own(self.function, self.is_first, at, counts)
    }
}

/// The facts about the code at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CodeFacts {
    /// The innermost function.
    pub(super) node: Option<ChainNodeId>,
    /// The line in the line table.
    pub(super) line: Option<TableLineId>,
    /// The group of symbols that cover the address.
    pub(super) symbols: u32,
}

/// A single span without facts.
impl Default for Spans {
    fn default() -> Spans {
        Spans::new(std::iter::once((0, CodeFacts::default())))
    }
}

impl Spans {
    /// Creates spans from sorted addresses with their facts.
    pub(super) fn new(code: impl Iterator<Item = (u64, CodeFacts)>) -> Spans {
        let mut spans: Vec<CodeSpan> = Vec::new();
        for (address, facts) in code {
            match spans.last() {
                Some(last) if last.facts == facts => {}
                last => spans.push(CodeSpan {
                    begin: last.map_or(0, |_| address),
                    facts,
                    owner: None,
                    own: 0,
                }),
            }
        }
        if spans.is_empty() {
            return Spans::default();
        }
        let begin = spans.get(1).map_or(0, |span| span.begin);
        let length = spans.last().map_or(0, |span| span.begin) - begin;
        let mut shift = 5;
        while length >> shift > 8 * spans.len() as u64 {
            shift += 1;
        }
        let mut table = Vec::new();
        let mut position = 0;
        for piece in 0..=length >> shift {
            let address = begin + (piece << shift);
            while spans
                .get(position + 1)
                .is_some_and(|next| next.begin <= address)
            {
                position += 1;
            }
            table.push(u32::try_from(position).unwrap_or(u32::MAX));
        }
        Spans {
            spans,
            last: 0,
            begin,
            shift,
            table,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns the span at a position.
    #[inline]
    pub(super) fn at(&mut self, position: usize) -> &mut CodeSpan {
        &mut self.spans[position]
    }

    /// Returns the position of the span that contains an address.
    #[inline]
    pub(super) fn holding(&mut self, address: u64) -> usize {
        if self.begins_by(self.last, address) && !self.begins_by(self.last + 1, address) {
            return self.last;
        }
        self.last = self.search(address);
        self.last
    }

    /// Returns the first and the last address of the span at a position.
    #[inline]
    pub(super) fn bounds(&self, position: usize) -> RangeInclusive<u64> {
        let next = self.spans.get(position + 1);
        self.spans[position].begin..=next.map_or(u64::MAX, |next| next.begin - 1)
    }

    /// Returns true if the span at a position begins at or before the address.
    #[inline]
    fn begins_by(&self, position: usize, address: u64) -> bool {
        (self.spans.get(position)).is_some_and(|span| span.begin <= address)
    }

    fn search(&self, address: u64) -> usize {
        let Some(distance) = address.checked_sub(self.begin) else {
            return 0;
        };
        let piece = usize::try_from(distance >> self.shift).unwrap_or(usize::MAX);
        let first = |piece: usize| self.table.get(piece).map(|position| *position as usize);
        let last = self.spans.len() - 1;
        // All code after the end of the table is in the last span.
        let from = first(piece).unwrap_or(last);
        let to = first(piece.saturating_add(1)).unwrap_or(last);
        match to - from {
            0 => from,
            1 => from + usize::from(self.begins_by(to, address)),
            _ => from + self.spans[from + 1..=to].partition_point(|span| span.begin <= address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns facts that have only a group of symbols.
    fn facts(symbols: u32) -> CodeFacts {
        CodeFacts {
            symbols,
            ..CodeFacts::default()
        }
    }

    #[test]
    fn every_address_is_in_the_last_span_that_begins_before_it() {
        let far = [(1 << 40) + 5, (1 << 40) + 6, u64::MAX - 1, u64::MAX];
        for code in [
            vec![],
            vec![0x1000],
            (0..300).map(|number| 0x40_0000 + number * 7).collect(),
            [&(0..100).collect::<Vec<u64>>(), &far[..]].concat(),
            far.to_vec(),
        ] {
            let numbered = code.iter().zip(0..);
            let mut spans = Spans::new(numbered.map(|(address, number)| (*address, facts(number))));
            let around =
                |address: &u64| [-40, -1, 0, 1, 40].map(|by| address.saturating_add_signed(by));
            // Search forwards and backwards, around each address.
            for address in code.iter().chain(code.iter().rev()).flat_map(around) {
                let begun = code.partition_point(|begin| *begin <= address);
                assert_eq!(
                    spans.holding(address),
                    begun.saturating_sub(1),
                    "{address:#x}"
                );
            }
            for address in [0, u64::MAX] {
                let begun = code.partition_point(|begin| *begin <= address);
                assert_eq!(spans.holding(address), begun.saturating_sub(1));
            }
            assert_eq!(spans.len(), code.len().max(1));
        }
    }

    #[test]
    fn neighbours_with_the_same_facts_are_one_span() {
        let code = [(8, 1), (16, 1), (24, 2), (32, 1)];
        let mut spans = Spans::new(
            code.into_iter()
                .map(|(address, symbols)| (address, facts(symbols))),
        );
        let found = [0, 8, 20, 24, 31, 32, 99].map(|address| {
            let position = spans.holding(address);
            (position, spans.at(position).facts.symbols)
        });
        assert_eq!(
            found,
            [(0, 1), (0, 1), (0, 1), (1, 2), (1, 2), (2, 1), (2, 1)]
        );
    }
}
