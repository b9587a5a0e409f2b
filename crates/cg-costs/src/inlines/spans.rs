//! The code of an object, cut where its chain of inlined functions, its line or its symbols change.
//!
//! All cost lines in a span are treated alike, and a span is mostly code of one function of the profile. Callgrind
//! writes the blocks of a function in no address order, so a lookup table replaces the search by address: it says for
//! every few bytes of code in which span they begin.

use std::ops::RangeInclusive;

use cg_debug_info::{ChainNodeId, TableLineId};

use super::chain::ChainId;
use super::evidence::PlaceEvidence;
use super::trace::{At, Traced};
use crate::ids::{FunctionId, StringId};

/// All code of an object by address. The first span begins at 0.
pub(super) struct Spans {
    spans: Vec<CodeSpan>,
    /// Index of the span that was found last, where the next line mostly is too.
    last: usize,
    /// The start of the second span, and the number of low address bits that the table ignores.
    begin: u64,
    shift: u32,
    /// By piece of code from `begin` on: index of the span that the piece begins in.
    table: Vec<u32>,
}

/// Code up to the next span.
pub(super) struct CodeSpan {
    begin: u64,
    pub(super) facts: CodeFacts,
    /// What its last line was charged to.
    pub(super) owner: Option<SpanOwner>,
    /// Self cost of the owner that is not in its row yet, from lines that count only the first event.
    pub(super) own: u64,
}

/// The function and line whose cost a span collects, and the row that it is added to.
#[derive(Clone, Copy)]
pub(super) struct SpanOwner {
    function: FunctionId,
    is_first: bool,
    file: StringId,
    line: u64,
    /// Whether the line is that of the span.
    pub(super) place: PlaceEvidence,
    pub(super) row: ChainId,
    /// Whether the chain is known.
    pub(super) is_resolved: bool,
}

impl SpanOwner {
    /// Whom a line is charged to.
    pub(super) fn of(
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

    /// Whether a line is charged to the same.
    #[inline]
    pub(super) fn owns(&self, line: &Traced) -> bool {
        (self.function, self.is_first, self.file, self.line)
            == (line.function, line.is_first, line.at.file, line.at.line)
    }

    pub(super) fn function(&self) -> FunctionId {
        self.function
    }

    /// Self cost of it, at no address.
    pub(super) fn own_cost<'c>(&self, counts: &'c [u64]) -> Traced<'c> {
        let at = At {
            address: None,
            file: self.file,
            line: self.line,
        };
        Traced::own(self.function, self.is_first, at, counts)
    }
}

/// What is known of the code at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CodeFacts {
    /// The innermost function.
    pub(super) node: Option<ChainNodeId>,
    /// The line in the line table.
    pub(super) line: Option<TableLineId>,
    /// The group of symbols.
    pub(super) symbols: u32,
}

/// Code of which nothing is known.
impl Default for Spans {
    fn default() -> Spans {
        Spans::of(std::iter::once((0, CodeFacts::default())))
    }
}

impl Spans {
    /// Makes spans from sorted addresses and what is known of each.
    pub(super) fn of(code: impl Iterator<Item = (u64, CodeFacts)>) -> Spans {
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

    /// A span by its position.
    #[inline]
    pub(super) fn at(&mut self, position: usize) -> &mut CodeSpan {
        &mut self.spans[position]
    }

    /// The position of the span that holds an address.
    #[inline]
    pub(super) fn holding(&mut self, address: u64) -> usize {
        if self.begins_by(self.last, address) && !self.begins_by(self.last + 1, address) {
            return self.last;
        }
        self.last = self.search(address);
        self.last
    }

    /// The first and the last address of a span, by its position.
    #[inline]
    pub(super) fn bounds(&self, position: usize) -> RangeInclusive<u64> {
        let next = self.spans.get(position + 1);
        self.spans[position].begin..=next.map_or(u64::MAX, |next| next.begin - 1)
    }

    /// Whether the span at a position begins at the address or before it.
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
        // The code behind the table is all in the last span.
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

    /// Code with a group of symbols, of which nothing else is known.
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
            let mut spans = Spans::of(numbered.map(|(address, number)| (*address, facts(number))));
            let around =
                |address: &u64| [-40, -1, 0, 1, 40].map(|by| address.saturating_add_signed(by));
            // From every span to every other one.
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
    fn neighbours_of_which_the_same_is_known_are_one() {
        let code = [(8, 1), (16, 1), (24, 2), (32, 1)];
        let mut spans = Spans::of(
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
