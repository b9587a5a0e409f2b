//! The records of a section, in the order of law 5: by cost, largest first, then by names as bytes.

use std::rc::Rc;

use cg_collections::intern::Id as _;
use cg_collections::maps::Map;
use cg_collections::sorting::Order as _;
use cg_debug_info::ChainNodeId;
use cg_reader::{Error, Out};
use cg_stream::record::RecordType;
use cg_stream::rows::{AddressRef, CallRow, FnRow, FrameId, LineRow, StackRef};

use super::PartAndThread;
use super::tables::{SectionTables, function, name};
use crate::ids::{FunctionId, StringId};
use crate::inlines::{At, Inlines};
use crate::section::Section;
use crate::tables::{LineKey, Signedness};

/// Functions sorted by name, and the position of each function in this order.
type FunctionOrder = (Vec<FunctionId>, Vec<u32>);

/// The state for writing the records of a section.
pub(super) struct RecordWriting<'t, 's> {
    section: &'s Section,
    tables: &'t mut SectionTables<'s>,
    inlines: Option<&'s Inlines>,
    part: PartAndThread,
    /// The event that determines the order of records.
    ranking: usize,
    /// The functions sorted by name, and their positions in this order, once they are known.
    by_name: Option<Rc<FunctionOrder>>,
    /// Chains of inlined functions, by object and innermost function.
    chains: Map<(StringId, ChainNodeId), Vec<FrameId>>,
}

impl<'t, 's> RecordWriting<'t, 's> {
    pub(super) fn new(
        tables: &'t mut SectionTables<'s>,
        inlines: Option<&'s Inlines>,
        part: PartAndThread,
    ) -> RecordWriting<'t, 's> {
        RecordWriting {
            section: tables.section,
            ranking: tables.section.ranking_event(),
            tables,
            inlines,
            part,
            by_name: None,
            chains: Map::default(),
        }
    }

    pub(super) fn write_functions(&self, out: &mut Out) -> Result<(), Error> {
        let section = self.section;
        let mut rows: Vec<(u64, FunctionId)> = section
            .present()
            .map(|(function, _)| (self.rank(section.cost(function)), function))
            .collect();
        rows.order_by_number(
            |(rank, _)| u128::from(*rank),
            |(_, a), (_, b)| section.by_function(section.key_of(*a), section.key_of(*b)),
        );
        out.expect(RecordType::Fn, rows.len());
        let cycles = section.cycle_numbers();
        for (_, function) in rows {
            let names = self::function(section.key_of(function));
            let prints = section.prints.get(&function);
            let row = FnRow {
                name: names.name,
                file: names.file,
                obj: names.obj,
                part: self.part.part,
                thread: self.part.thread,
                calls: (section.has_calls()).then(|| section.calls(function)),
                cost: self.tables.cells(section.cost(function)),
                incl: (section.has_inclusive())
                    .then(|| self.tables.cells(section.inclusive(function))),
                cycle: cycles.get(&function).copied(),
                code: prints.and_then(|prints| prints.all.as_deref()),
                code_ran: prints.map(|prints| prints.ran.as_str()),
            };
            out.row(row, &*self.tables)?;
        }
        Ok(())
    }

    pub(super) fn write_lines(&mut self, out: &mut Out) -> Result<(), Error> {
        let section = self.section;
        let lines = section.lines();
        let by_name = self.by_name();
        let (functions, order) = &*by_name;
        let mut rows = Vec::with_capacity(lines.len());
        for (line, key) in lines.all() {
            let rank = self.rank_cell(lines.own_count(line, self.ranking));
            rows.push((rank, order[key.function.index()], line));
            let object = section.key_of(key.function).object;
            self.add_chain(object, self.innermost(key))?;
        }
        rows.order_by_number(
            |(rank, function, _)| u128::from(*rank) << 32 | u128::from(*function),
            |(_, function, a), (_, _, b)| {
                let function = functions[*function as usize];
                let (a, b) = (lines.key(function, *a), lines.key(function, *b));
                section
                    .by_string(a.file, b.file)
                    .then_with(|| (a.line, a.address).cmp(&(b.line, b.address)))
            },
        );
        let (mut own, mut inclusive) = (Vec::new(), Vec::new());
        for (_, function, line) in rows {
            let key = lines.key(functions[function as usize], line);
            let function = section.key_of(key.function);
            lines.own(line, &mut own);
            let has_inclusive = lines
                .inclusive(line, section.signedness(), &mut inclusive)
                .map_err(|no_room| Error::whole(no_room.to_string()))?;
            let innermost = self.innermost(key);
            let row = LineRow {
                name: name(function.name),
                file: name(key.file),
                obj: name(function.object),
                line: key.line,
                addr: key.address.map(AddressRef::Number),
                inlined: self.chain(function.object, innermost),
                part: self.part.part,
                thread: self.part.thread,
                cost: self.tables.cells(&own),
                incl: has_inclusive.then(|| self.tables.cells(&inclusive)),
            };
            out.row(row, &*self.tables)?;
        }
        Ok(())
    }

    /// Returns the innermost function of an instruction; `None` if it is not an inlined function.
    fn innermost(&self, key: LineKey<FunctionId>) -> Option<ChainNodeId> {
        let at = At {
            address: key.address,
            file: key.file,
            line: key.line,
        };
        (self.inlines)?.innermost(self.section, key.function, at)
    }

    pub(super) fn write_arcs(&mut self, out: &mut Out) -> Result<(), Error> {
        let section = self.section;
        let arcs = section.arcs();
        let by_name = self.by_name();
        let (_, order) = &*by_name;
        let mut rows = Vec::with_capacity(arcs.row_count());
        for (arc, key) in arcs.all() {
            let ends = [key.caller, key.callee].map(|function| order[function.index()]);
            rows.push((self.rank(arcs.inclusive(arc)), ends, arc));
            self.add_chain(section.key_of(key.caller).object, key.inlined)?;
        }
        let number = |rank: u64, ends: [u32; 2]| {
            let [caller, callee] = ends.map(u128::from);
            u128::from(rank) << 64 | caller << 32 | callee
        };
        rows.order_by_number(
            |(rank, ends, _)| number(*rank, *ends),
            |(_, _, a), (_, _, b)| {
                let (a, b) = (arcs.key(*a), arcs.key(*b));
                section
                    .by_string(a.site, b.site)
                    .then_with(|| (a.line, a.address).cmp(&(b.line, b.address)))
                    .then_with(|| a.inlined.cmp(&b.inlined))
            },
        );
        out.expect(RecordType::Call, rows.len());
        for (_, _, arc) in rows {
            let key = arcs.key(arc);
            let caller = section.key_of(key.caller);
            let row = CallRow {
                name: name(caller.name),
                file: name(caller.file),
                obj: name(caller.object),
                site: name(key.site),
                line: key.line,
                addr: key.address.map(AddressRef::Number),
                inlined: self.chain(caller.object, key.inlined),
                part: self.part.part,
                thread: self.part.thread,
                callee: function(section.key_of(key.callee)),
                calls: *arcs.facts(arc),
                incl: self.tables.cells(arcs.inclusive(arc)),
            };
            out.row(row, &*self.tables)?;
        }
        Ok(())
    }

    fn by_name(&mut self) -> Rc<FunctionOrder> {
        let section = self.section;
        let sorted = || Rc::new(section.functions_by_name());
        Rc::clone(self.by_name.get_or_insert_with(sorted))
    }

    /// Returns the sort key of a row. A larger count of the ranking event gives a smaller key.
    fn rank(&self, cells: &[u64]) -> u64 {
        self.rank_cell(cells.get(self.ranking).copied().unwrap_or(0))
    }

    fn rank_cell(&self, cell: u64) -> u64 {
        match self.section.signedness() {
            Signedness::Unsigned => !cell,
            // With the sign bit flipped, two's complement sorts like unsigned numbers.
            Signedness::Signed => !(cell ^ 1 << 63),
        }
    }

    /// Looks up the frames of a chain of inlined functions, unless they are already known.
    fn add_chain(&mut self, object: StringId, innermost: Option<ChainNodeId>) -> Result<(), Error> {
        if let (Some(inlines), Some(node)) = (self.inlines, innermost)
            && !self.chains.contains_key(&(object, node))
        {
            let mut frames = Vec::new();
            for frame in inlines.inlined(self.section, object, node) {
                frames.push(self.tables.frame_in(frame, StringId::NOT_GIVEN)?);
            }
            self.chains.insert((object, node), frames);
        }
        Ok(())
    }

    /// Returns the frames of a chain that was looked up.
    #[inline]
    fn chain(&self, object: StringId, innermost: Option<ChainNodeId>) -> StackRef<'_> {
        let chain = innermost.and_then(|node| self.chains.get(&(object, node)));
        chain.map_or_else(StackRef::default, |frames| StackRef::Ids(frames))
    }
}
