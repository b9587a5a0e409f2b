//! The cost on paths that an estimate does not follow. It reaches the function that spent it, below the nearest caller on a
//! followed path.
//!
//! A unit can be entered below many followed stacks. Stacks with a small share are folded into the stacks of their callers,
//! so that few remain for each unit.

use std::ops::Range;
use std::rc::Rc;

use cg_collections::sorting::Order as _;

use super::apportion::part;
use super::expand::{PRUNED_BYTES, Path, RECORD_BYTES};
use super::units::{ContextGraph, ContextUnits};

/// The number of stacks that a unit passes on to its callees.
const MOST_STACKS: u128 = 16;

/// The number of waiting stacks of a unit after which the small ones are folded.
const MOST_WAITING: usize = 4096;

/// The fraction of the total below which the cost of a function gets no stack of its own, if another stack can have it.
const FINEST_ROW: u128 = 20_000;

/// Shares of a unit, each of which enters below a followed stack, or below no stack if that is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StackShares {
    stacks: Vec<Option<usize>>,
    /// The shares of the first stack by event, then those of the others.
    shares: Vec<u64>,
}

impl StackShares {
    /// Removes all stacks, but keeps the memory.
    fn clear(&mut self) {
        self.stacks.clear();
        self.shares.clear();
    }

    fn len(&self) -> usize {
        self.stacks.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Returns the places of a stack's shares.
    fn places(&self, position: usize) -> Range<usize> {
        let events = self.shares.len() / self.stacks.len().max(1);
        position * events..(position + 1) * events
    }

    fn share(&self, position: usize) -> &[u64] {
        &self.shares[self.places(position)]
    }

    /// Iterates over the stacks, each with its shares by event.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Option<usize>, &[u64])> {
        let stacks = self.stacks.iter().enumerate();
        stacks.map(|(position, stack)| (*stack, self.share(position)))
    }

    pub(super) fn push(&mut self, stack: Option<usize>, share: &[u64]) {
        self.stacks.push(stack);
        self.shares.extend_from_slice(share);
    }

    /// Adds the shares at a position to those at another one.
    fn add(&mut self, from: usize, to: usize) {
        for (from, to) in self.places(from).zip(self.places(to)) {
            self.shares[to] = self.shares[to].saturating_add(self.shares[from]);
        }
    }
}

/// Returns a share over all events, for comparisons with other shares of the same unit.
fn weight(share: &[u64]) -> u128 {
    share.iter().map(|share| u128::from(*share)).sum()
}

/// A path that was followed into a unit, but not to all of its members and callees.
pub(super) struct CutWay {
    pub(super) stack: Option<usize>,
    pub(super) share: Rc<[u64]>,
    /// The number of members that were reached.
    pub(super) members: usize,
    /// The number of leaving arcs that were followed.
    pub(super) arcs: usize,
}

/// The shares of all units that are not followed.
pub(super) struct Unfollowed {
    entering: Vec<StackShares>,
    cut: Vec<Vec<CutWay>>,
    folding: Folding,
    /// Lists that are no longer needed, whose memory serves for others.
    spare: Vec<StackShares>,
}

/// For each context, the stacks below which it spends cost that is not followed.
pub(super) struct UnfollowedStacks(Vec<StackShares>);

impl Unfollowed {
    pub(super) fn new(units: usize) -> Unfollowed {
        Unfollowed {
            entering: vec![StackShares::default(); units],
            cut: (0..units).map(|_| Vec::new()).collect(),
            folding: Folding::default(),
            spare: Vec::new(),
        }
    }

    /// Adds a share of a unit that is not followed at all.
    pub(super) fn enter(
        &mut self,
        unit: usize,
        stack: Option<usize>,
        share: &[u64],
        paths: &[Path],
    ) {
        let entering = &mut self.entering[unit];
        if weight(share) == 0 {
            return;
        }
        if entering.is_empty()
            && let Some(spare) = self.spare.pop()
        {
            *entering = spare;
        }
        entering.push(stack, share);
        if entering.len() > MOST_WAITING {
            self.folding.fold_small(entering, paths);
        }
    }

    /// Adds a share of a unit that is followed in part.
    pub(super) fn cut(&mut self, unit: usize, way: CutWay) {
        self.cut[unit].push(way);
    }

    /// Passes the shares on to callees, callers first.
    pub(super) fn spread(
        mut self,
        graph: &ContextGraph,
        units: &ContextUnits,
        paths: &[Path],
    ) -> UnfollowedStacks {
        let mut stacks = vec![StackShares::default(); graph.own.len()];
        let mut passed_on = Vec::new();
        for unit in units.callers_first(graph) {
            let mut entering = std::mem::take(&mut self.entering[unit]);
            self.folding.fold_small(&mut entering, paths);
            let mut cut = std::mem::take(&mut self.cut[unit]);
            let unit = &units.all[unit];
            cut.order_by_key(|way| (way.members, way.stack));
            let mut members = GrowingShares::new(self.copied(&entering), &cut);
            for (position, context) in unit.members.iter().enumerate() {
                members.advance(position, |way| way.members, &mut self.folding, paths);
                if graph.own[*context].iter().any(|count| *count > 0) {
                    stacks[*context] = members.shares.clone();
                }
            }
            self.recycle(members.shares);
            cut.order_by_key(|way| (way.arcs, way.stack));
            let mut arcs = GrowingShares::new(entering, &cut);
            for (position, arc) in unit.leaving.iter().enumerate() {
                let callee = units.unit_of[graph.arcs[*arc].callee];
                arcs.advance(position, |way| way.arcs, &mut self.folding, paths);
                for (stack, share) in arcs.shares.iter() {
                    passed_on.clear();
                    passed_on.extend(units.shares(graph, *arc, share));
                    self.enter(callee, stack, &passed_on, paths);
                }
            }
            self.recycle(arcs.shares);
        }
        UnfollowedStacks(stacks)
    }

    fn copied(&mut self, shares: &StackShares) -> StackShares {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.stacks.extend_from_slice(&shares.stacks);
        copy.shares.extend_from_slice(&shares.shares);
        copy
    }

    /// Keeps the memory of a list for another one.
    fn recycle(&mut self, mut shares: StackShares) {
        if shares.stacks.capacity() > 0 {
            shares.clear();
            self.spare.push(shares);
        }
    }
}

/// The shares at each position: those that enter, and those of the paths that were followed only to an earlier position.
struct GrowingShares<'c> {
    shares: StackShares,
    /// The remaining paths, sorted by position.
    cut: &'c [CutWay],
}

impl<'c> GrowingShares<'c> {
    fn new(entering: StackShares, cut: &'c [CutWay]) -> GrowingShares<'c> {
        GrowingShares {
            shares: entering,
            cut,
        }
    }

    /// Goes on to the next position.
    fn advance(
        &mut self,
        position: usize,
        position_of: impl Fn(&CutWay) -> usize,
        folding: &mut Folding,
        paths: &[Path],
    ) {
        let ended = self.cut.partition_point(|way| position_of(way) <= position);
        let (ended, rest) = self.cut.split_at(ended);
        self.cut = rest;
        for way in ended {
            self.shares.push(way.stack, &way.share);
        }
        if !ended.is_empty() {
            folding.fold_small(&mut self.shares, paths);
        }
    }
}

impl UnfollowedStacks {
    /// Adds a share of a context.
    pub(super) fn add(&mut self, context: usize, stack: Option<usize>, share: &[u64]) {
        self.0[context].push(stack, share);
    }

    /// Returns the minimum size of the records with these stacks.
    pub(super) fn least_bytes(&self, graph: &ContextGraph) -> usize {
        let stacks = self.0.iter().enumerate();
        let stacks = stacks.filter(|(_, shares)| !shares.is_empty());
        stacks
            .map(|(context, _)| RECORD_BYTES + leaf_bytes(graph, context))
            .sum()
    }

    /// Folds stacks until the records fit into this number of bytes, cheap stacks first and then deep ones. Each context
    /// keeps at least one stack.
    pub(super) fn fold_to_size(
        self,
        graph: &ContextGraph,
        paths: &[Path],
        room: usize,
    ) -> Vec<StackShares> {
        let own = |context: usize| u128::from(graph.own[context][graph.ranking]);
        let total: u128 = (0..graph.own.len()).map(own).sum();
        let (mut least, mut deepest) = (total / FINEST_ROW, usize::MAX);
        let UnfollowedStacks(mut stacks) = self;
        let mut folding = Folding::default();
        loop {
            let mut bytes = 0;
            for (context, shares) in stacks.iter_mut().enumerate() {
                let cost = |share: &[u64]| part(share[graph.ranking], own(context));
                folding.fold(shares, paths, deepest, |share| cost(share) >= least);
                let outer =
                    |stack: &Option<usize>| stack.map_or(RECORD_BYTES, |stack| paths[stack].bytes);
                let leaf = leaf_bytes(graph, context);
                let sizes = shares.stacks.iter().map(|stack| outer(stack) + leaf);
                bytes += sizes.sum::<usize>();
            }
            if bytes <= room || deepest == 0 {
                return stacks;
            }
            if least <= total {
                least = least.max(1) * 2;
            } else {
                deepest = deepest.min(super::expand::DEEPEST) / 2;
            }
        }
    }
}

/// Returns the size of a function's frame below `[pruned]`, and of its name in the record.
fn leaf_bytes(graph: &ContextGraph, context: usize) -> usize {
    PRUNED_BYTES + 2 * graph.bytes[context]
}

/// A stack at a depth, with the position of its sum. Deep stacks come first, and stacks of one depth in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    /// The depth below the deepest path, and the stack's number. A stack without frames has neither.
    place: u64,
    sum: u32,
}

impl Waiting {
    fn new(stack: Option<usize>, sum: u32, paths: &[Path]) -> Waiting {
        // A path has fewer frames, and there are fewer paths.
        let place = stack.map_or(u64::MAX, |stack| {
            let depth = u64::from(u32::MAX) - paths[stack].depth as u64;
            depth << 32 | stack as u64
        });
        Waiting { place, sum }
    }

    fn stack(self) -> Option<usize> {
        (self.place != u64::MAX).then_some((self.place & u64::from(u32::MAX)) as usize)
    }

    /// Returns the number of frames.
    fn depth(self) -> usize {
        (u64::from(u32::MAX) - (self.place >> 32)) as usize
    }
}

/// The memory for folding stacks, which is used again and again.
#[derive(Default)]
struct Folding {
    /// The sums of the stacks, by the order in which they came.
    sums: StackShares,
    waiting: Vec<Waiting>,
    /// The stacks of one depth.
    level: Vec<Waiting>,
    /// The callers of the stacks that were folded.
    outer: Vec<Waiting>,
}

impl Folding {
    /// Folds stacks with a small part of all shares.
    fn fold_small(&mut self, shares: &mut StackShares, paths: &[Path]) {
        let all: u128 = shares.iter().map(|(_, share)| weight(share)).sum();
        self.fold(shares, paths, usize::MAX, |share| {
            weight(share) * MOST_STACKS >= all
        });
    }

    /// Adds the shares of each stack that is not large, or deeper than `deepest`, to the stack of its caller. Begins with
    /// the deepest stacks. The last stack stays if it is not too deep. The result has the deepest stacks first.
    fn fold(
        &mut self,
        shares: &mut StackShares,
        paths: &[Path],
        deepest: usize,
        is_large: impl Fn(&[u64]) -> bool,
    ) {
        let Folding {
            sums,
            waiting,
            level,
            outer,
        } = self;
        waiting.clear();
        let stacks = shares.stacks.iter().zip(0..);
        waiting.extend(stacks.map(|(stack, sum)| Waiting::new(*stack, sum, paths)));
        let is_in_order = waiting.windows(2).all(|two| two[0].place < two[1].place);
        let stays = |(stack, share): (&Waiting, &[u64])| {
            stack.stack().is_none()
                || (stack.depth() <= deepest && (waiting.len() == 1 || is_large(share)))
        };
        let kept = (waiting.iter().zip(0..)).map(|(stack, at)| (stack, shares.share(at)));
        if is_in_order && kept.into_iter().all(stays) {
            return;
        }
        if !is_in_order {
            waiting.sort_unstable();
        }
        std::mem::swap(shares, sums);
        shares.clear();
        let mut waiting = waiting.iter().copied().peekable();
        level.clear();
        loop {
            let depth = match (level.first(), waiting.peek()) {
                (None, None) => return,
                (Some(next), _) | (None, Some(next)) => next.depth(),
            };
            let folded = level.len();
            while let Some(next) = waiting.next_if(|next| next.depth() == depth) {
                level.push(next);
            }
            if folded > 0 {
                level.sort_unstable();
            }
            let mut groups = level.chunk_by(|a, b| a.place == b.place).peekable();
            while let Some(group) = groups.next() {
                let Waiting { sum, .. } = group[0];
                for other in &group[1..] {
                    sums.add(other.sum as usize, sum as usize);
                }
                let share = sums.share(sum as usize);
                let is_last = groups.peek().is_none() && waiting.peek().is_none();
                let is_last = is_last && outer.is_empty() && shares.is_empty();
                match group[0].stack() {
                    Some(stack) if depth > deepest || !(is_last || is_large(share)) => {
                        outer.push(Waiting::new(paths[stack].outer, sum, paths));
                    }
                    stack => shares.push(stack, share),
                }
            }
            std::mem::swap(level, outer);
            outer.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::expand::PathFrame;
    use super::*;

    /// `main` calls `a` and `b`; `a` calls `c`, and `b` calls `d`.
    fn paths() -> Vec<Path> {
        let outer = [None, Some(0), Some(0), Some(1), Some(2)];
        let depth = [1, 2, 2, 3, 3];
        let paths = outer.into_iter().zip(depth).enumerate();
        let path = |(context, (outer, depth))| Path {
            outer,
            at: PathFrame::Context(context),
            depth,
            bytes: 0,
        };
        paths.map(path).collect()
    }

    /// Folds the shares of one event. Returns the remaining ones.
    fn folded(
        shares: &[(Option<usize>, u64)],
        deepest: usize,
        least: u64,
    ) -> Vec<(Option<usize>, u64)> {
        let mut all = StackShares::default();
        for (stack, share) in shares {
            all.push(*stack, &[*share]);
        }
        let is_large = |share: &[u64]| share[0] >= least;
        Folding::default().fold(&mut all, &paths(), deepest, is_large);
        all.iter().map(|(stack, share)| (stack, share[0])).collect()
    }

    #[test]
    fn small_shares_move_to_their_callers() {
        const ANY: usize = usize::MAX;
        let leaves = [(Some(3), 5), (Some(4), 6)];
        // All are large, but out of order, and two of them are equal.
        assert_eq!(folded(&leaves, ANY, 5), leaves);
        let unordered = [(Some(4), 4), (Some(0), 9), (Some(3), 5), (Some(4), 2)];
        let ordered = [(Some(3), 5), (Some(4), 6), (Some(0), 9)];
        assert_eq!(folded(&unordered, ANY, 5), ordered);
        // `c` moves to `a`. The sum is still small, so it moves further.
        let chain = [(Some(4), 6), (Some(3), 2), (Some(1), 1)];
        assert_eq!(folded(&chain, ANY, 6), [(Some(4), 6), (None, 3)]);
        // The shares are large together.
        assert_eq!(folded(&leaves, ANY, 11), [(Some(0), 11)]);
        // The last one stays where it is, unless it is too deep.
        assert_eq!(folded(&leaves, ANY, 99), [(Some(0), 11)]);
        assert_eq!(folded(&[(Some(3), 1)], ANY, 99), [(Some(3), 1)]);
        assert_eq!(folded(&[(Some(3), 9)], 1, 0), [(Some(0), 9)]);
        assert_eq!(folded(&leaves, 2, 0), [(Some(1), 5), (Some(2), 6)]);
        assert_eq!(folded(&leaves, 0, 99), [(None, 11)]);
        assert_eq!(folded(&[(None, 1)], 0, 99), [(None, 1)]);
    }
}
