//! What one part of a profile costs, by the functions as the file names them.

use std::hash::Hash;

use cg_costs::ids::{ArcId, FileFunctionId, StringId};
use cg_costs::tables::{
    Added, CostRows, CostTable, LineKey, LineTable, NoRoom, Signedness, add_calls,
};
use cg_stream::intern::Id as _;

/// A line of a function as the file names it.
pub(crate) type NodeLine = LineKey<FileFunctionId>;

/// An arc, from a line where lines are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeArc {
    pub(crate) caller: FileFunctionId,
    pub(crate) callee: FileFunctionId,
    /// The file of the call site.
    pub(crate) file: StringId,
    pub(crate) line: u64,
    /// The call instruction, where addresses of calls are wanted.
    pub(crate) address: Option<u64>,
}

/// Which tables a part needs besides those of functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) lines: bool,
    pub(crate) addresses: bool,
    pub(crate) calls: bool,
    /// Addresses of calls.
    pub(crate) call_addresses: bool,
    /// Arcs between nodes, whether cycles have to be found or not.
    pub(crate) arcs: bool,
}

/// The sums of a part.
pub(crate) struct PartSums {
    pub(crate) signedness: Signedness,
    /// Self cost by node.
    pub(crate) own: CostTable,
    /// Cost of the calls that come from other nodes, and of those that go to other nodes.
    pub(crate) incoming: CostTable,
    pub(crate) outgoing: CostTable,
    /// How many calls came from other nodes, and from the node itself.
    pub(crate) called: Vec<u64>,
    pub(crate) called_by_itself: Vec<u64>,
    /// The nodes that have any data, each once, in the order of the file.
    pub(crate) present: Vec<FileFunctionId>,
    is_present: Vec<bool>,
    /// Arcs between nodes with how many calls they stand for, kept only while cycles may have to be found or stacks are wanted.
    pub(crate) arcs: Option<CostRows<ArcId, (FileFunctionId, FileFunctionId), u64>>,
    /// Lines with their self cost and that of the calls which leave from them.
    pub(crate) lines: Option<LineTable<FileFunctionId>>,
    /// Arcs from lines, with how many calls they stand for.
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
            arcs: Some(CostRows::of_arcs(events)),
            lines: (wanted.lines || wanted.addresses).then(|| LineTable::new(events)),
            calls: wanted.calls.then(|| CostRows::of_arcs(events)),
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

    /// Adds self cost to a node that was entered.
    #[inline]
    pub(crate) fn add_own(&mut self, node: FileFunctionId, counts: &[u64]) -> Added {
        self.own.add(node.index(), counts, self.signedness)
    }

    /// Adds self cost to a line, where lines are wanted.
    #[inline]
    pub(crate) fn add_line(&mut self, key: NodeLine, counts: &[u64]) -> Added {
        match &mut self.lines {
            Some(lines) => lines.add_own(key, counts, self.signedness),
            None => Ok(()),
        }
    }

    /// Adds calls between two nodes that were entered, from this line of the caller.
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

    /// Reads all counts as signed from here on; an error if that changes one of those so far.
    pub(crate) fn become_signed(&mut self) -> Added {
        let fits = [&self.own, &self.incoming, &self.outgoing]
            .iter()
            .all(|table| table.fits_signed());
        self.signedness = Signedness::Signed;
        if fits { Ok(()) } else { Err(NoRoom::Sum) }
    }

    /// Forgets all counts, in time proportional to the size of the part and not of the file.
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
        // The lines take the most memory, and the section has them by now.
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
