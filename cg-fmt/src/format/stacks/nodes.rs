//! A tree of stacks. Stacks share their outer frames.

use cg_collections::intern::{Id, Keys, TooMany};
use cg_stream::record::{Count, add_counts};

cg_collections::ids! {
    /// A frame in the table of a format.
    pub(crate) struct WrittenFrameId;
    /// A stack with at least one frame.
    pub(crate) struct StackNodeId;
}

/// A stack: its innermost frame, and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StackPath {
    frame: WrittenFrameId,
    outer: Option<StackNodeId>,
}

/// The mark of a stack without counts.
const NONE: u32 = u32::MAX;

/// Every distinct stack, with counts. A stack has a greater id than its outer stacks.
pub(crate) struct StackNodes {
    nodes: Keys<StackNodeId, StackPath>,
    columns: usize,
    /// The counts of the stacks that have own counts. In a profile with deep stacks, few nodes have own counts.
    counts: Vec<Count>,
    /// For each stack the position of its counts, or [`NONE`]. Ends with the last stack that has counts.
    counted: Vec<u32>,
    /// The counts of a stack without own counts.
    zero: Vec<Count>,
    /// The last added stack, outermost frame first.
    last: Vec<(WrittenFrameId, StackNodeId)>,
}

impl StackNodes {
    /// Creates an empty tree whose stacks have this number of counts.
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

    /// Returns the stack of these frames, innermost first; `None` if there are no frames.
    ///
    /// # Errors
    /// Returns an error if there are more stacks than ids.
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
            // The number of stacks fits, because their ids do.
            *counted = (self.counts.len() / self.columns) as u32;
            self.counts.extend_from_slice(&self.zero);
        }
        let first = *counted as usize * self.columns;
        add_counts(&mut self.counts[first..], counts);
    }

    /// Frees the memory that only adding needs. No stacks may be added afterwards.
    pub(crate) fn close(&mut self) {
        self.nodes.close();
        self.counted.shrink_to_fit();
        self.counts.shrink_to_fit();
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Iterates over all stacks. Each stack follows its outer stacks.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = StackNodeId> {
        (0..self.nodes.len()).filter_map(|position| StackNodeId::at(position).ok())
    }

    pub(crate) fn frame(&self, node: StackNodeId) -> WrittenFrameId {
        self.nodes.get(node).frame
    }

    pub(crate) fn outer(&self, node: StackNodeId) -> Option<StackNodeId> {
        self.nodes.get(node).outer
    }

    /// Returns a stack's own counts.
    pub(crate) fn own(&self, node: StackNodeId) -> &[Count] {
        match self.counted.get(node.index()) {
            None | Some(&NONE) => &self.zero,
            Some(counted) => {
                let first = *counted as usize * self.columns;
                &self.counts[first..first + self.columns]
            }
        }
    }

    /// Returns the inclusive counts: the sums over each stack and all stacks that begin with it.
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

    /// Iterates over the frames of a stack, innermost first.
    pub(crate) fn frames(&self, node: StackNodeId) -> impl Iterator<Item = WrittenFrameId> {
        let mut rest = Some(node);
        std::iter::from_fn(move || {
            let node = self.nodes.get(rest?);
            rest = node.outer;
            Some(node.frame)
        })
    }

    /// Returns for each stack the stacks that are one frame longer, sorted by the `rank` of their innermost frame.
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
    /// The position of each stack's first child in `order`. Entry 0 is for the stacks with one frame.
    starts: Vec<u32>,
}

impl InnerNeighbours {
    /// Returns the stacks that are one frame longer than `node`. For `None`, returns the stacks with one frame.
    pub(crate) fn get(&self, node: Option<StackNodeId>) -> &[StackNodeId] {
        let slot = node.map_or(0, |node| node.index() + 1);
        &self.order[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }
}
