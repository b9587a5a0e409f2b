//! A tree of stacks. Stacks share their outer frames.

use std::hash::{Hash, Hasher};

use cg_collections::intern::{Id, Keys, TooMany};
use cg_stream::record::{Count, add_counts};

cg_collections::ids! {
    /// A frame in the table of a format.
    pub(crate) struct WrittenFrameId;
    /// A stack with at least one frame.
    pub(crate) struct StackNodeId;
}

/// A stack: its innermost frame, and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StackPath {
    frame: WrittenFrameId,
    outer: Option<StackNodeId>,
}

impl Hash for StackPath {
    /// Hashes both ids as one word. The derived implementation hashes three, for each frame of each stack.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let outer = self.outer.map_or(0, |outer| outer.index() as u64 + 1);
        state.write_u64(outer << 32 | self.frame.index() as u64);
    }
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
        let mut counts = vec![0; self.nodes.len() * self.columns];
        for (node, counted) in self.counted.iter().enumerate() {
            if *counted != NONE {
                let own = &self.counts[*counted as usize * self.columns..][..self.columns];
                counts[node * self.columns..][..self.columns].copy_from_slice(own);
            }
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
        let all: Vec<StackNodeId> = self.all().collect();
        self.children_among(&all, rank)
    }

    /// Returns for each stack those of the `chosen` stacks that are one frame longer, sorted by the `rank` of their
    /// innermost frame. Ranks are less than the number of ranks.
    pub(crate) fn children_among(&self, chosen: &[StackNodeId], rank: &[u32]) -> InnerNeighbours {
        let rank_number = |node: StackNodeId| rank[self.frame(node).index()] as usize;
        let slot = |node: StackNodeId| self.outer(node).map_or(0, |outer| outer.index() + 1);
        let (by_rank, _) = sort_by_number(chosen, rank.len(), rank_number);
        let (order, starts) = sort_by_number(&by_rank, self.nodes.len() + 1, slot);
        InnerNeighbours { order, starts }
    }
}

/// Sorts stacks by a number below `numbers`, without comparisons: it counts each number and moves each stack once. Stacks
/// with equal numbers keep their order. Also returns the position of the first stack of each number, and of the end.
fn sort_by_number(
    stacks: &[StackNodeId],
    numbers: usize,
    number: impl Fn(StackNodeId) -> usize,
) -> (Vec<StackNodeId>, Vec<u32>) {
    let mut starts = vec![0_u32; numbers + 1];
    for stack in stacks {
        starts[number(*stack) + 1] += 1;
    }
    for position in 1..starts.len() {
        starts[position] += starts[position - 1];
    }
    let mut next = starts.clone();
    let mut sorted = stacks.to_vec();
    for stack in stacks {
        let place = &mut next[number(*stack)];
        sorted[*place as usize] = *stack;
        *place += 1;
    }
    (sorted, starts)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_sorted_by_the_rank_of_their_frame() {
        let frame = |number| WrittenFrameId::at(number).unwrap();
        let mut nodes = StackNodes::new(2);
        for (count, frames) in (1..).zip([&[2, 0][..], &[1, 0], &[3], &[1], &[0, 1, 0], &[0]]) {
            let frames: Vec<WrittenFrameId> = frames.iter().map(|number| frame(*number)).collect();
            let node = nodes.stack(&frames).unwrap().unwrap();
            nodes.add(node, &[count, 10 * count]);
        }
        let rank = [3, 2, 1, 0];
        let all: Vec<StackNodeId> = nodes.all().collect();
        let frames = |children: &InnerNeighbours, node| -> Vec<usize> {
            let children = children.get(node).iter();
            children.map(|node| nodes.frame(*node).index()).collect()
        };
        let children = nodes.children(&rank);
        assert_eq!(frames(&children, None), [3, 1, 0]);
        // The first stack is the frame 0, and the second stack is 0 with an inner frame 2.
        assert_eq!(frames(&children, Some(all[0])), [2, 1]);
        assert_eq!(frames(&children, Some(all[1])), [0; 0]);
        // Without one of the chosen stacks.
        let children = nodes.children_among(&all[..2], &rank);
        assert_eq!(frames(&children, None), [0]);
        assert_eq!(frames(&children, Some(all[0])), [2]);
        // The frame 0 begins with 6, and the inner stacks add 1, 2 and 5.
        assert_eq!(nodes.inclusive()[..4], [14, 140, 1, 10]);
    }
}
