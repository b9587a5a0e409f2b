//! What one part of a profile costs, by the functions as the file names them.

use super::functions::NodeId;
use crate::costs::section::{CostTable, Keys, Overflow, Signedness, StringId};

/// A line of a function, or an instruction of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeLine {
    pub(crate) node: NodeId,
    pub(crate) file: StringId,
    pub(crate) line: u64,
    pub(crate) address: Option<u64>,
}

/// An arc, from a line where lines are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeArc {
    pub(crate) caller: NodeId,
    pub(crate) callee: NodeId,
    /// The file of the call site.
    pub(crate) file: StringId,
    pub(crate) line: u64,
}

/// Which tables a part needs besides those of functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) lines: bool,
    pub(crate) addresses: bool,
    pub(crate) calls: bool,
}

/// The sums of a part.
pub(crate) struct Part {
    pub(crate) signedness: Signedness,
    /// Self cost by node.
    pub(crate) own: CostTable,
    /// Cost of the calls that come from other nodes, and of those that go to other nodes.
    pub(crate) incoming: CostTable,
    pub(crate) outgoing: CostTable,
    /// How many calls came from other nodes, and from the node itself.
    pub(crate) called: Vec<u64>,
    pub(crate) called_by_itself: Vec<u64>,
    /// The nodes that anything is known of, each once, in the order of the file.
    pub(crate) present: Vec<NodeId>,
    is_present: Vec<bool>,
    /// Arcs between nodes, kept only while cycles may have to be found.
    pub(crate) arcs: Option<Arcs<(NodeId, NodeId)>>,
    pub(crate) lines: Option<Lines>,
    pub(crate) calls: Option<Arcs<NodeArc>>,
}

/// Arcs with their cost and how many calls they stand for.
pub(crate) struct Arcs<K> {
    pub(crate) keys: Keys<K>,
    pub(crate) cost: CostTable,
    pub(crate) calls: Vec<u64>,
}

/// Lines with their self cost and that of the calls which leave from them.
pub(crate) struct Lines {
    pub(crate) keys: Keys<NodeLine>,
    pub(crate) own: CostTable,
    pub(crate) calls: CostTable,
    pub(crate) has_calls: Vec<bool>,
}

impl Part {
    pub(crate) fn new(events: usize, signedness: Signedness, wanted: Wanted) -> Part {
        Part {
            signedness,
            own: CostTable::new(events),
            incoming: CostTable::new(events),
            outgoing: CostTable::new(events),
            called: Vec::new(),
            called_by_itself: Vec::new(),
            present: Vec::new(),
            is_present: Vec::new(),
            arcs: Some(Arcs::new(events)),
            lines: (wanted.lines || wanted.addresses).then(|| Lines {
                keys: Keys::new(),
                own: CostTable::new(events),
                calls: CostTable::new(events),
                has_calls: Vec::new(),
            }),
            calls: wanted.calls.then(|| Arcs::new(events)),
        }
    }

    /// Makes room for a node.
    pub(crate) fn enter(&mut self, node: NodeId) {
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
    pub(crate) fn add_own(&mut self, node: NodeId, counts: &[u64]) -> Result<(), Overflow> {
        self.own.add(node.index(), counts, self.signedness)
    }

    /// Adds calls between two nodes that were entered.
    pub(crate) fn add_call(
        &mut self,
        caller: NodeId,
        callee: NodeId,
        calls: u64,
        counts: &[u64],
    ) -> Result<(), Overflow> {
        if let Some(arcs) = &mut self.arcs {
            arcs.add((caller, callee), calls, counts, self.signedness)?;
        }
        if caller == callee {
            return add(&mut self.called_by_itself[callee.index()], calls);
        }
        add(&mut self.called[callee.index()], calls)?;
        self.incoming
            .add_inclusive(callee.index(), counts, self.signedness)?;
        self.outgoing
            .add_inclusive(caller.index(), counts, self.signedness)
    }

    /// Whether all counts so far mean the same when they are read as signed.
    pub(crate) fn become_signed(&mut self) -> Result<(), Overflow> {
        let fits = [&self.own, &self.incoming, &self.outgoing]
            .iter()
            .all(|table| table.fits_signed());
        self.signedness = Signedness::Signed;
        if fits { Ok(()) } else { Err(Overflow) }
    }

    /// Forgets all counts, at a cost that grows with what the part had and not with what the file has.
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
        if let Some(lines) = &mut self.lines {
            lines.keys.clear();
            lines.own.clear();
            lines.calls.clear();
            lines.has_calls.clear();
        }
    }
}

impl<K: Copy + Eq + std::hash::Hash> Arcs<K> {
    pub(crate) fn new(events: usize) -> Arcs<K> {
        Arcs {
            keys: Keys::new(),
            cost: CostTable::new(events),
            calls: Vec::new(),
        }
    }

    pub(crate) fn add(
        &mut self,
        key: K,
        calls: u64,
        counts: &[u64],
        signedness: Signedness,
    ) -> Result<(), Overflow> {
        let row = self.keys.number(key);
        if row == self.calls.len() {
            self.calls.push(0);
            self.cost.grow_to(row + 1);
        }
        add(&mut self.calls[row], calls)?;
        self.cost.add_inclusive(row, counts, signedness)
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.cost.clear();
        self.calls.clear();
    }
}

impl Lines {
    fn row(&mut self, key: NodeLine) -> usize {
        let row = self.keys.number(key);
        if row == self.has_calls.len() {
            self.has_calls.push(false);
            self.own.grow_to(row + 1);
            self.calls.grow_to(row + 1);
        }
        row
    }

    pub(crate) fn add_own(
        &mut self,
        key: NodeLine,
        counts: &[u64],
        signedness: Signedness,
    ) -> Result<(), Overflow> {
        let row = self.row(key);
        self.own.add(row, counts, signedness)
    }

    pub(crate) fn add_calls(
        &mut self,
        key: NodeLine,
        counts: &[u64],
        signedness: Signedness,
    ) -> Result<(), Overflow> {
        let row = self.row(key);
        self.has_calls[row] = true;
        self.calls.add_inclusive(row, counts, signedness)
    }
}

fn add(sum: &mut u64, number: u64) -> Result<(), Overflow> {
    *sum = sum.checked_add(number).ok_or(Overflow)?;
    Ok(())
}
