//! The cost on paths that an estimate does not follow. It reaches the function that spent it, below the nearest caller on a
//! followed path.
//!
//! A unit can be entered below many followed stacks. Stacks with a small share are folded into the stacks of their callers,
//! so that few remain for each unit.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cg_collections::sorting::Order as _;

use super::apportion::part;
use super::expand::{PRUNED_BYTES, Path, RECORD_BYTES};
use super::units::{ContextGraph, ContextUnits};

/// The number of stacks that a unit passes on to its callees.
const MOST_STACKS: u128 = 32;

/// The number of waiting stacks of a unit after which the small ones are folded.
const MOST_WAITING: usize = 4096;

/// The fraction of the total below which the cost of a function gets no stack of its own, if another stack can have it.
const FINEST_ROW: u128 = 20_000;

/// The share of a unit that enters below a followed stack; below no stack if that is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StackShare {
    pub(super) stack: Option<usize>,
    /// By event.
    pub(super) share: Box<[u64]>,
}

impl StackShare {
    /// Returns the share over all events, for comparisons with other shares of the same unit.
    fn weight(&self) -> u128 {
        self.share.iter().map(|share| u128::from(*share)).sum()
    }
}

/// A path that was followed into a unit, but not to all of its members and callees.
pub(super) struct CutWay {
    pub(super) share: StackShare,
    /// The number of members that were reached.
    pub(super) members: usize,
    /// The number of leaving arcs that were followed.
    pub(super) arcs: usize,
}

/// The shares of all units that are not followed.
pub(super) struct Unfollowed {
    entering: Vec<Vec<StackShare>>,
    cut: Vec<Vec<CutWay>>,
}

/// For each context, the stacks below which it spends cost that is not followed.
pub(super) struct UnfollowedStacks(Vec<Vec<StackShare>>);

impl Unfollowed {
    pub(super) fn new(units: usize) -> Unfollowed {
        Unfollowed {
            entering: (0..units).map(|_| Vec::new()).collect(),
            cut: (0..units).map(|_| Vec::new()).collect(),
        }
    }

    /// Adds a share of a unit that is not followed at all.
    pub(super) fn enter(&mut self, unit: usize, share: StackShare, paths: &[Path]) {
        let entering = &mut self.entering[unit];
        if share.weight() > 0 {
            entering.push(share);
        }
        if entering.len() > MOST_WAITING {
            fold_small(entering, paths);
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
        let mut stacks = vec![Vec::new(); graph.own.len()];
        for unit in units.callers_first(graph) {
            let mut entering = std::mem::take(&mut self.entering[unit]);
            fold_small(&mut entering, paths);
            let mut cut = std::mem::take(&mut self.cut[unit]);
            let unit = &units.all[unit];
            cut.order_by_key(|way| (way.members, way.share.stack));
            let members = growing(entering.clone(), &cut, |way| way.members, paths);
            for (context, shares) in unit.members.iter().zip(members) {
                if graph.own[*context].iter().any(|count| *count > 0) {
                    stacks[*context] = shares;
                }
            }
            cut.order_by_key(|way| (way.arcs, way.share.stack));
            let arcs = growing(entering, &cut, |way| way.arcs, paths);
            for (arc, shares) in unit.leaving.iter().zip(arcs) {
                let callee = units.unit_of[graph.arcs[*arc].callee];
                for StackShare { stack, share } in shares {
                    let share = units.shares(graph, *arc, &share);
                    self.enter(callee, StackShare { stack, share }, paths);
                }
            }
        }
        UnfollowedStacks(stacks)
    }
}

/// Returns the shares at each position: those of `entering`, and those of the paths that were followed only to an earlier
/// position. `cut` is sorted by position.
fn growing<'c>(
    mut shares: Vec<StackShare>,
    cut: &'c [CutWay],
    position_of: impl Fn(&CutWay) -> usize + 'c,
    paths: &'c [Path],
) -> impl Iterator<Item = Vec<StackShare>> + 'c {
    let mut next = 0;
    (0..).map(move |position| {
        let first = next;
        while let Some(way) = cut.get(next)
            && position_of(way) <= position
        {
            shares.push(way.share.clone());
            next += 1;
        }
        if next > first {
            fold_small(&mut shares, paths);
        }
        shares.clone()
    })
}

impl UnfollowedStacks {
    /// Adds a share of a context.
    pub(super) fn add(&mut self, context: usize, stack: Option<usize>, share: Box<[u64]>) {
        self.0[context].push(StackShare { stack, share });
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
    ) -> Vec<Vec<StackShare>> {
        let own = |context: usize| u128::from(graph.own[context][graph.ranking]);
        let total: u128 = (0..graph.own.len()).map(own).sum();
        let (mut least, mut deepest) = (total / FINEST_ROW, usize::MAX);
        let UnfollowedStacks(mut stacks) = self;
        loop {
            let mut bytes = 0;
            for (context, shares) in stacks.iter_mut().enumerate() {
                let cost = |share: &StackShare| part(share.share[graph.ranking], own(context));
                fold(shares, paths, deepest, |share| cost(share) >= least);
                let outer = |share: &StackShare| {
                    share.stack.map_or(RECORD_BYTES, |stack| paths[stack].bytes)
                };
                let leaf = leaf_bytes(graph, context);
                bytes += shares
                    .iter()
                    .map(|share| outer(share) + leaf)
                    .sum::<usize>();
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

/// Folds stacks with a small part of all shares.
fn fold_small(shares: &mut Vec<StackShare>, paths: &[Path]) {
    let all: u128 = shares.iter().map(StackShare::weight).sum();
    fold(shares, paths, usize::MAX, |share| {
        share.weight() * MOST_STACKS >= all
    });
}

/// Shares by the depth of their stack and the stack, the deepest first.
type WaitingShares = BTreeMap<(Reverse<usize>, Option<usize>), Box<[u64]>>;

/// Adds the shares of each stack that is not large, or deeper than `deepest`, to the stack of its caller. Begins with the
/// deepest stacks. The last stack stays if it is not too deep.
fn fold(
    shares: &mut Vec<StackShare>,
    paths: &[Path],
    deepest: usize,
    is_large: impl Fn(&StackShare) -> bool,
) {
    let depth = |stack: Option<usize>| stack.map_or(0, |stack| paths[stack].depth);
    let mut waiting = WaitingShares::new();
    let add = |waiting: &mut WaitingShares, StackShare { stack, share }: StackShare| match waiting
        .entry((Reverse(depth(stack)), stack))
    {
        Entry::Vacant(place) => {
            place.insert(share);
        }
        Entry::Occupied(mut known) => {
            for (sum, share) in known.get_mut().iter_mut().zip(share) {
                *sum = sum.saturating_add(share);
            }
        }
    };
    for share in shares.drain(..) {
        add(&mut waiting, share);
    }
    while let Some(((Reverse(depth), stack), share)) = waiting.pop_first() {
        let share = StackShare { stack, share };
        let is_last = waiting.is_empty() && shares.is_empty();
        match stack {
            Some(stack) if depth > deepest || !(is_last || is_large(&share)) => {
                let outer = StackShare {
                    stack: paths[stack].outer,
                    ..share
                };
                add(&mut waiting, outer);
            }
            _ => shares.push(share),
        }
    }
}
