//! The records of a section, in the order of law 5: by cost, largest first, then by names as bytes.

use std::io;

use cg_debug_info::NodeId;
use cg_stream::intern::Id as _;
use cg_stream::record::Name;
use cg_stream::sorting::Order as _;
use cg_stream::writer::rendered::{
    RenderedCall, RenderedCounts, RenderedEvents, RenderedFn, RenderedFunction, RenderedLabels,
    RenderedLine, RenderedName, RenderedNames, RenderedStack,
};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::costs::ids::{FunctionId, StringId};
use crate::costs::inlines::Inlines;
use crate::costs::section::{FunctionKey, Section};
use crate::costs::tables::Signedness;
use crate::error::Error;
use crate::format::Out;

/// What is needed to write the records of a section.
pub(super) struct Records<'s> {
    section: &'s Section,
    inlines: Option<&'s Inlines>,
    labels: RenderedLabels,
    events: RenderedEvents,
    names: RenderedNames<StringId>,
    /// The event that ranks.
    ranking: usize,
    /// Chains of inlined functions, by object and innermost function.
    chains: HashMap<(StringId, NodeId), RenderedStack, FixedState>,
}

impl<'s> Records<'s> {
    pub(super) fn new(
        section: &'s Section,
        inlines: Option<&'s Inlines>,
        labels: RenderedLabels,
    ) -> Records<'s> {
        Records {
            section,
            inlines,
            labels,
            events: RenderedEvents::new(section.events()),
            names: RenderedNames::default(),
            ranking: section.ranking_event(),
            chains: HashMap::default(),
        }
    }

    pub(super) fn write_functions(&mut self, out: &mut Out) -> io::Result<()> {
        let section = self.section;
        let mut rows: Vec<(u64, FunctionId)> = section
            .present()
            .map(|(function, _)| (self.rank(section.cost(function)), function))
            .collect();
        rows.order_by(|(rank_a, a), (rank_b, b)| {
            let names = || section.by_function(section.key_of(*a), section.key_of(*b));
            rank_a.cmp(rank_b).then_with(names)
        });
        let cycles = section.cycle_numbers();
        for (_, function) in rows {
            let key = section.key_of(function);
            self.render_function(key);
            out.rendered(&RenderedFn {
                function: self.function(key),
                labels: self.labels,
                calls: (section.has_inclusive()).then(|| section.calls(function)),
                cost: self.counts(section.cost(function)),
                incl: (section.has_inclusive()).then(|| self.counts(section.inclusive(function))),
                cycle: cycles.get(&function).copied(),
            })?;
        }
        Ok(())
    }

    pub(super) fn write_lines(&mut self, out: &mut Out) -> Result<(), Error> {
        let section = self.section;
        let lines = section.lines();
        let (functions, order) = section.functions_by_name();
        let mut rows = Vec::with_capacity(lines.len());
        for (line, key) in lines.all() {
            self.render_function(section.key_of(key.function));
            self.render(key.file);
            let rank = self.rank_of(lines.own_count(line, self.ranking));
            rows.push((rank, order[key.function.index()], line));
            if let (Some(inlines), Some(address)) = (self.inlines, key.address) {
                let object = section.key_of(key.function).object;
                self.render_chain(object, inlines.innermost(object, address));
            }
        }
        rows.order_by(|(rank_a, function_a, a), (rank_b, function_b, b)| {
            (rank_a, function_a)
                .cmp(&(rank_b, function_b))
                .then_with(|| {
                    let function = functions[*function_a as usize];
                    let (a, b) = (lines.key(function, *a), lines.key(function, *b));
                    section
                        .by_string(a.file, b.file)
                        .then_with(|| (a.line, a.address).cmp(&(b.line, b.address)))
                })
        });
        let (mut own, mut inclusive) = (Vec::new(), Vec::new());
        for (_, function, line) in rows {
            let key = lines.key(functions[function as usize], line);
            let function = section.key_of(key.function);
            lines.own(line, &mut own);
            let has_inclusive = lines
                .inclusive(line, section.signedness(), &mut inclusive)
                .map_err(|no_room| Error::whole(no_room.to_string()))?;
            let record = RenderedLine {
                function: self.function(FunctionKey {
                    file: key.file,
                    ..function
                }),
                line: key.line,
                addr: key.address,
                inlined: self
                    .inlines
                    .and_then(|inlines| inlines.innermost(function.object, key.address?))
                    .and_then(|node| self.chains.get(&(function.object, node))),
                labels: self.labels,
                cost: self.counts(&own),
                incl: has_inclusive.then(|| self.counts(&inclusive)),
            };
            out.rendered(&record).map_err(Error::Output)?;
        }
        Ok(())
    }

    pub(super) fn write_arcs(&mut self, out: &mut Out) -> io::Result<()> {
        let section = self.section;
        let arcs = section.arcs();
        let (_, order) = section.functions_by_name();
        let mut rows = Vec::with_capacity(arcs.len());
        for (arc, key) in arcs.all() {
            self.render_function(section.key_of(key.caller));
            self.render_function(section.key_of(key.callee));
            self.render(key.site);
            let ends = [key.caller, key.callee].map(|function| order[function.index()]);
            rows.push((self.rank(arcs.inclusive(arc)), ends, arc));
            self.render_chain(section.key_of(key.caller).object, key.inlined);
        }
        rows.order_by(|(rank_a, ends_a, a), (rank_b, ends_b, b)| {
            (rank_a, ends_a).cmp(&(rank_b, ends_b)).then_with(|| {
                let (a, b) = (arcs.key(*a), arcs.key(*b));
                section
                    .by_string(a.site, b.site)
                    .then_with(|| (a.line, a.address).cmp(&(b.line, b.address)))
                    .then_with(|| a.inlined.cmp(&b.inlined))
            })
        });
        for (_, _, arc) in rows {
            let key = arcs.key(arc);
            out.rendered(&RenderedCall {
                function: self.function(section.key_of(key.caller)),
                site: self.name(key.site),
                line: key.line,
                addr: key.address,
                inlined: (key.inlined).and_then(|node| {
                    let object = section.key_of(key.caller).object;
                    self.chains.get(&(object, node))
                }),
                labels: self.labels,
                callee: self.function(section.key_of(key.callee)),
                calls: *arcs.facts(arc),
                incl: self.counts(arcs.inclusive(arc)),
            })?;
        }
        Ok(())
    }

    /// A count as a number that is the smaller the more it counts.
    fn rank(&self, cells: &[u64]) -> u64 {
        self.rank_of(cells.get(self.ranking).copied().unwrap_or(0))
    }

    fn rank_of(&self, cell: u64) -> u64 {
        match self.section.signedness() {
            Signedness::Unsigned => !cell,
            // The bit of the sign turned over, two's complement is in the order of its numbers.
            Signedness::Signed => !(cell ^ 1 << 63),
        }
    }

    /// Renders a name, unless it is not given or was rendered before.
    #[inline]
    fn render(&mut self, id: StringId) {
        if id != StringId::NOT_GIVEN {
            let strings = &self.section.strings;
            self.names.render(id, || Name::from_bytes(strings.get(id)));
        }
    }

    /// Renders a chain of inlined functions, unless that was done before.
    fn render_chain(&mut self, object: StringId, innermost: Option<NodeId>) {
        let section = self.section;
        if let (Some(inlines), Some(node)) = (self.inlines, innermost) {
            let render = || RenderedStack::new(&inlines.inlined(section, object, node));
            self.chains.entry((object, node)).or_insert_with(render);
        }
    }

    #[inline]
    fn render_function(&mut self, key: FunctionKey) {
        self.render(key.name);
        self.render(key.file);
        self.render(key.object);
    }

    /// A name that was rendered, unless it is not given.
    #[inline]
    fn name(&self, id: StringId) -> Option<RenderedName<'_>> {
        (id != StringId::NOT_GIVEN).then(|| self.names.get(id))
    }

    #[inline]
    fn function(&self, key: FunctionKey) -> RenderedFunction<'_> {
        RenderedFunction {
            name: self.name(key.name),
            file: self.name(key.file),
            obj: self.name(key.object),
        }
    }

    #[inline]
    fn counts<'c>(&'c self, cells: &'c [u64]) -> RenderedCounts<'c> {
        RenderedCounts {
            events: &self.events,
            cells,
            is_signed: self.section.signedness() == Signedness::Signed,
        }
    }
}
