//! A tree of stacks, which share their outer frames.

use cg_stream::intern::{Id, Keys, TooMany};
use cg_stream::record::{Count, add_counts};

cg_stream::ids! {
    /// A frame of a format's own table.
    pub(crate) struct WrittenFrameId;
    /// A stack that has a frame at least.
    pub(crate) struct StackNodeId;
}

/// A stack: its innermost frame, and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StackPath {
    frame: WrittenFrameId,
    outer: Option<StackNodeId>,
}

/// Stands for a stack without counts.
const NONE: u32 = u32::MAX;

/// Every distinct stack, with counts. A stack has a greater id than its outer stacks.
pub(crate) struct StackNodes {
    nodes: Keys<StackNodeId, StackPath>,
    columns: usize,
    /// The counts of those stacks that have counts themselves: in a profile with deep stacks, few nodes have.
    counts: Vec<Count>,
    /// For each stack the position of its counts, as far as the last one that has any; [`NONE`] for the others.
    counted: Vec<u32>,
    /// The counts of a stack that has none.
    zero: Vec<Count>,
    /// The stack that was added last, outermost frame first.
    last: Vec<(WrittenFrameId, StackNodeId)>,
}

impl StackNodes {
    /// No stacks, of which each will have so many counts.
    pub(crate) fn new(columns: usize) -> StackNodes {
        StackNodes {
            nodes: Keys::default(),
            columns,
            counts: Vec::new(),
            counted: Vec::new(),
            zero: vec![0; columns],
            last: Vec::new(),
        }
    }

    /// The stack of these frames, innermost first; one at least.
    ///
    /// # Errors
    /// Where there are more stacks than ids.
    pub(crate) fn stack(
        &mut self,
        frames: &[WrittenFrameId],
    ) -> Result<Option<StackNodeId>, TooMany> {
        let outermost_first = || frames.iter().rev();
        let known = outermost_first()
            .zip(&self.last)
            .take_while(|(frame, (last, _))| *frame == last)
            .count();
        self.last.truncate(known);
        let mut outer = self.last.last().map(|(_, node)| *node);
        for frame in outermost_first().skip(known) {
            let node = self.nodes.intern(StackPath {
                frame: *frame,
                outer,
            })?;
            self.last.push((*frame, node));
            outer = Some(node);
        }
        Ok(outer)
    }

    /// Adds counts to a stack.
    pub(crate) fn add(&mut self, node: StackNodeId, counts: &[Count]) {
        if self.columns == 0 {
            return;
        }
        if self.counted.len() <= node.index() {
            self.counted.resize(node.index() + 1, NONE);
        }
        let counted = &mut self.counted[node.index()];
        if *counted == NONE {
            // There are no more of them than ids.
            *counted = (self.counts.len() / self.columns) as u32;
            self.counts.extend_from_slice(&self.zero);
        }
        let first = *counted as usize * self.columns;
        add_counts(&mut self.counts[first..], counts);
    }

    /// Frees what only adding stacks takes. No more are added from then on.
    pub(crate) fn close(&mut self) {
        self.nodes.close();
        self.counted.shrink_to_fit();
        self.counts.shrink_to_fit();
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All stacks, each behind those it begins with.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = StackNodeId> {
        (0..self.nodes.len()).filter_map(|position| StackNodeId::at(position).ok())
    }

    pub(crate) fn frame(&self, node: StackNodeId) -> WrittenFrameId {
        self.nodes.get(node).frame
    }

    pub(crate) fn outer(&self, node: StackNodeId) -> Option<StackNodeId> {
        self.nodes.get(node).outer
    }

    /// The counts of a stack itself.
    pub(crate) fn own(&self, node: StackNodeId) -> &[Count] {
        match self.counted.get(node.index()) {
            None | Some(&NONE) => &self.zero,
            Some(counted) => {
                let first = *counted as usize * self.columns;
                &self.counts[first..first + self.columns]
            }
        }
    }

    /// Inclusive counts: those of each stack and of all stacks that begin with it.
    pub(crate) fn inclusive(&self) -> Vec<Count> {
        let mut counts = Vec::with_capacity(self.nodes.len() * self.columns);
        for node in self.all() {
            counts.extend_from_slice(self.own(node));
        }
        for node in self.all().rev() {
            let Some(outer) = self.outer(node) else {
                continue;
            };
            for column in 0..self.columns {
                let inner = counts[node.index() * self.columns + column];
                counts[outer.index() * self.columns + column] += inner;
            }
        }
        counts
    }

    /// The frames of a stack, innermost first.
    pub(crate) fn frames(&self, node: StackNodeId) -> impl Iterator<Item = WrittenFrameId> {
        let mut rest = Some(node);
        std::iter::from_fn(move || {
            let node = self.nodes.get(rest?);
            rest = node.outer;
            Some(node.frame)
        })
    }

    /// For each stack, the stacks that are one frame longer, by the `rank` of their innermost frame. Stacks of one
    /// frame come first.
    pub(crate) fn children(&self, rank: &[u32]) -> InnerNeighbours {
        let mut order: Vec<StackNodeId> = self.all().collect();
        let slot = |node: StackNodeId| self.outer(node).map_or(0, |outer| outer.index() + 1);
        order.sort_unstable_by_key(|node| (slot(*node), rank[self.frame(*node).index()]));
        let mut starts = vec![0_u32; self.nodes.len() + 2];
        for node in &order {
            starts[slot(*node) + 1] += 1;
        }
        for slot in 1..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        InnerNeighbours { order, starts }
    }
}

/// The children of every stack, in order.
pub(crate) struct InnerNeighbours {
    order: Vec<StackNodeId>,
    /// Where each stack's children begin in `order`; entry 0 is for the stacks of one frame.
    starts: Vec<u32>,
}

impl InnerNeighbours {
    /// Stacks of one frame for `None`, else those one frame longer than `node`.
    pub(crate) fn of(&self, node: Option<StackNodeId>) -> &[StackNodeId] {
        let slot = node.map_or(0, |node| node.index() + 1);
        &self.order[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }
}
