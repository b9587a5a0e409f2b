//! The costs in one part of a profile, by function under the file's own names.

use std::hash::Hash;

use cg_collections::intern::Id as _;
use cg_costs::ids::{ArcId, FileFunctionId, StringId};
use cg_costs::tables::{
    Added, CostRows, CostTable, LineKey, LineTable, NoRoom, Signedness, add_calls,
};

/// A line of a function under the file's own name.
pub(crate) type NodeLine = LineKey<FileFunctionId>;

/// An arc from a line of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeArc {
    pub(crate) caller: FileFunctionId,
    pub(crate) callee: FileFunctionId,
    /// The file of the call site.
    pub(crate) file: StringId,
    pub(crate) line: u64,
    /// The call instruction, if addresses of calls are wanted.
    pub(crate) address: Option<u64>,
}

/// The tables that a part needs in addition to the tables of functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) lines: bool,
    pub(crate) addresses: bool,
    pub(crate) calls: bool,
    /// Addresses of calls.
    pub(crate) call_addresses: bool,
    /// Arcs between nodes, even if they are not needed to find cycles.
    pub(crate) arcs: bool,
}

/// The sums of a part.
pub(crate) struct PartSums {
    pub(crate) signedness: Signedness,
    /// Self cost by node.
    pub(crate) own: CostTable,
    /// The cost of calls from other nodes.
    pub(crate) incoming: CostTable,
    /// The cost of calls to other nodes.
    pub(crate) outgoing: CostTable,
    /// The number of calls from other nodes.
    pub(crate) called: Vec<u64>,
    /// The number of calls from the node itself.
    pub(crate) called_by_itself: Vec<u64>,
    /// The nodes with data, each once, in the order of the file.
    pub(crate) present: Vec<FileFunctionId>,
    is_present: Vec<bool>,
    /// Arcs between nodes, with their numbers of calls. Kept only while cycles may have to be found or stacks are wanted.
    pub(crate) arcs: Option<CostRows<ArcId, (FileFunctionId, FileFunctionId), u64>>,
    /// Lines, with their self cost and the cost of their calls.
    pub(crate) lines: Option<LineTable<FileFunctionId>>,
    /// Arcs from lines, with their numbers of calls.
    pub(crate) calls: Option<CostRows<ArcId, NodeArc, u64>>,
}

impl PartSums {
    pub(crate) fn new(events: usize, signedness: Signedness, wanted: Wanted) -> PartSums {
        PartSums {
            signedness,
            own: CostTable::new(events),
            incoming: CostTable::new(events),
            outgoing: CostTable::new(events),
            called: Vec::new(),
            called_by_itself: Vec::new(),
            present: Vec::new(),
            is_present: Vec::new(),
            arcs: Some(CostRows::for_arcs(events)),
            lines: (wanted.lines || wanted.addresses).then(|| LineTable::new(events)),
            calls: wanted.calls.then(|| CostRows::for_arcs(events)),
        }
    }

    /// Marks a node as present and gives it a row in each table.
    pub(crate) fn enter(&mut self, node: FileFunctionId) {
        let index = node.index();
        if self.is_present.len() <= index {
            let rows = index + 1;
            self.is_present.resize(rows, false);
            self.called.resize(rows, 0);
            self.called_by_itself.resize(rows, 0);
            self.own.grow_to(rows);
            self.incoming.grow_to(rows);
            self.outgoing.grow_to(rows);
        }
        if !self.is_present[index] {
            self.is_present[index] = true;
            self.present.push(node);
        }
    }

    /// Adds self cost to an entered node.
    #[inline]
    pub(crate) fn add_own(&mut self, node: FileFunctionId, counts: &[u64]) -> Added {
        self.own.add(node.index(), counts, self.signedness)
    }

    /// Adds self cost to a line, if lines are wanted.
    #[inline]
    pub(crate) fn add_line(&mut self, key: NodeLine, counts: &[u64]) -> Added {
        match &mut self.lines {
            Some(lines) => lines.add_own(key, counts, self.signedness),
            None => Ok(()),
        }
    }

    /// Adds calls between two entered nodes, from this line of the caller.
    pub(crate) fn add_call(
        &mut self,
        from: NodeLine,
        address: Option<u64>,
        callee: FileFunctionId,
        calls: u64,
        counts: &[u64],
    ) -> Added {
        let (caller, signedness) = (from.function, self.signedness);
        if let Some(arcs) = &mut self.arcs {
            add_arc(arcs, (caller, callee), calls, counts, signedness)?;
        }
        if let Some(arcs) = &mut self.calls {
            let key = NodeArc {
                caller,
                callee,
                file: from.file,
                line: from.line,
                address,
            };
            add_arc(arcs, key, calls, counts, signedness)?;
        }
        if caller == callee {
            return add_calls(&mut self.called_by_itself[callee.index()], calls);
        }
        if let Some(lines) = &mut self.lines {
            lines.add_calls(from, counts, signedness)?;
        }
        add_calls(&mut self.called[callee.index()], calls)?;
        self.incoming
            .add_inclusive(callee.index(), counts, signedness)?;
        self.outgoing
            .add_inclusive(caller.index(), counts, signedness)
    }

    /// Treats all counts as signed from now on. Returns an error if this changes an earlier count.
    pub(crate) fn switch_to_signed(&mut self) -> Added {
        let fits = [&self.own, &self.incoming, &self.outgoing]
            .iter()
            .all(|table| table.fits_signed());
        self.signedness = Signedness::Signed;
        if fits { Ok(()) } else { Err(NoRoom::Sum) }
    }

    /// Removes all counts, in time proportional to the size of the part, not of the file.
    pub(crate) fn clear(&mut self) {
        for node in self.present.drain(..) {
            let index = node.index();
            self.is_present[index] = false;
            self.called[index] = 0;
            self.called_by_itself[index] = 0;
            self.own.clear_row(index);
            self.incoming.clear_row(index);
            self.outgoing.clear_row(index);
        }
        if let Some(arcs) = &mut self.arcs {
            arcs.clear();
        }
        if let Some(calls) = &mut self.calls {
            calls.clear();
        }
        // Lines take most of the memory. They have already been added to the section.
        let events = self.own.event_count();
        if let Some(lines) = &mut self.lines {
            *lines = LineTable::new(events);
        }
    }
}

fn add_arc<K: Copy + Eq + Hash>(
    arcs: &mut CostRows<ArcId, K, u64>,
    key: K,
    calls: u64,
    counts: &[u64],
    signedness: Signedness,
) -> Added {
    let arc = arcs.row(key)?;
    add_calls(arcs.facts_mut(arc), calls)?;
    arcs.add_inclusive(arc, counts, signedness)
}
