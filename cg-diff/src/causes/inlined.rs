//! Details of inlined functions: one for each function of a row. If a function is inlined in one run and was called in the
//! other, its detail has the code that came and the code or the calls that went.

use std::collections::{BTreeMap, BTreeSet};

use cg_stream::record::{CauseKind, InlinedIn};

use super::graph::add;
use super::items::ItemKind;
use super::nodes::Node;
use super::rows::{Attribution, Detail};

/// The maximum number of functions among which a host is searched for.
const MOST_FUNCTIONS: usize = 64;

/// A detail of a row, before those of inlined code are combined.
struct FunctionDetail {
    detail: Detail,
    /// The items that the detail combines, if the function is inlined.
    chains: Vec<(usize, Detail)>,
}

impl Attribution<'_> {
    /// Returns the details of a row, given the detail of each item.
    pub(super) fn with_inlining(&self, node: Node, items: Vec<(usize, Detail)>) -> Vec<Detail> {
        if items.iter().all(|(_, detail)| detail.inlined.is_none()) {
            return items.into_iter().map(|(_, detail)| detail).collect();
        }
        let mut details = combine(items);
        let partners = self.find_partners(&details);
        self.take_inner_chains(node, &mut details, &partners);
        let mut details: Vec<Option<Detail>> = (details.into_iter())
            .map(|function| Some(function.detail))
            .collect();
        for (at, other) in partners.into_iter().enumerate() {
            if let Some(other) = other.and_then(|other| details[other].take())
                && let Some(detail) = &mut details[at]
            {
                add(&mut detail.delta, &other.delta);
                detail.calls = other.calls;
                detail.is_about = other.is_about;
                detail.recorded = other.recorded;
            }
        }
        let details = details.into_iter().flatten();
        details
            .filter(|detail| !detail.moved.is_empty() || detail.delta.iter().any(|sum| *sum != 0))
            .collect()
    }

    /// Returns, for each inlined function that was called in the other run, the detail of these calls.
    fn find_partners(&self, details: &[FunctionDetail]) -> Vec<Option<usize>> {
        let code_of = |at: usize| self.code_of(details[at].detail.function?);
        let mut called: BTreeMap<usize, usize> = (0..details.len())
            .filter(|at| is_called_in_one_run(&details[*at].detail))
            .filter_map(|at| Some((code_of(at)?, at)))
            .collect();
        let partner = |at: usize| {
            let code = code_of(at)?;
            let other = *called.get(&code)?;
            can_be_inlining(&details[at].detail, &details[other].detail).then(|| {
                called.remove(&code);
                other
            })
        };
        (0..details.len()).map(partner).collect()
    }

    /// Moves the code that is inlined into a function with a partner into the detail of that function: the other run has it
    /// in the function that was called.
    fn take_inner_chains(
        &self,
        node: Node,
        details: &mut [FunctionDetail],
        partners: &[Option<usize>],
    ) {
        let with_partner = (0..details.len()).filter(|at| partners[*at].is_some());
        let with_partner: BTreeMap<usize, usize> = with_partner
            .filter_map(|at| Some((self.code_of(details[at].detail.function?)?, at)))
            .collect();
        if with_partner.is_empty() {
            return;
        }
        // The functions that each function is inlined into, by code.
        let mut outer: BTreeMap<usize, Vec<Node>> = BTreeMap::new();
        for item in self.items.of_node(node) {
            if let Some((function, into)) = self.inlined(item)
                && let Some(code) = self.code_of(function)
            {
                outer.entry(code).or_default().push(into);
            }
        }
        // A chain is known by its innermost two functions, so there can be several ways outwards.
        let find_host = |item: usize| {
            let (_, into) = self.inlined(item)?;
            let mut open = vec![into];
            let mut seen = BTreeSet::new();
            while let Some(function) = open.pop() {
                let code = self.code_of(function)?;
                if let Some(host) = with_partner.get(&code) {
                    return Some(*host);
                }
                if seen.insert(code) && seen.len() < MOST_FUNCTIONS {
                    open.extend(outer.get(&code).into_iter().flatten());
                }
            }
            None
        };
        for at in 0..details.len() {
            if partners[at].is_some() {
                continue;
            }
            let chains = std::mem::take(&mut details[at].chains);
            let (inner, others): (Vec<_>, Vec<_>) = (chains.into_iter())
                .map(|(item, detail)| (find_host(item), item, detail))
                .partition(|(host, ..)| host.is_some());
            if inner.is_empty() {
                continue;
            }
            details[at].detail.delta.fill(0);
            details[at].detail.inlined = None;
            for (_, _, detail) in others {
                add_chain(&mut details[at].detail, &detail);
            }
            for (host, _, detail) in inner {
                if let Some(host) = host {
                    add(&mut details[host].detail.delta, &detail.delta);
                }
            }
        }
    }

    /// Returns the function of an item and the function that it is inlined into.
    fn inlined(&self, item: usize) -> Option<(Node, Node)> {
        match self.items.all[item].kind {
            ItemKind::Part {
                function,
                inlined_into: Some(into),
            } => Some((function, into)),
            _ => None,
        }
    }

    fn code_of(&self, node: Node) -> Option<usize> {
        self.code.get(node).copied()
    }
}

/// Combines the details of each inlined function.
fn combine(items: Vec<(usize, Detail)>) -> Vec<FunctionDetail> {
    let mut details: Vec<FunctionDetail> = Vec::new();
    let mut known: BTreeMap<Option<Node>, usize> = BTreeMap::new();
    for (item, detail) in items {
        if detail.inlined.is_none() {
            details.push(FunctionDetail {
                detail,
                chains: Vec::new(),
            });
            continue;
        }
        let at = *known.entry(detail.function).or_insert(details.len());
        match details.get_mut(at) {
            Some(function) => add_chain(&mut function.detail, &detail),
            None => details.push(FunctionDetail {
                detail: detail.clone(),
                chains: Vec::new(),
            }),
        }
        details[at].chains.push((item, detail));
    }
    details
}

/// Adds the cost of another chain of an inlined function.
fn add_chain(sum: &mut Detail, chain: &Detail) {
    add(&mut sum.delta, &chain.delta);
    sum.inlined = match (sum.inlined, chain.inlined) {
        (Some(a), Some(b)) if a != b => Some(InlinedIn::Both),
        (known, other) => known.or(other),
    };
}

/// Returns true for a function that was contracted, and for calls that only one run has.
fn is_called_in_one_run(detail: &Detail) -> bool {
    match detail.kind {
        CauseKind::Gone | CauseKind::New => true,
        CauseKind::Calls => detail.calls.is_some_and(|calls| calls.contains(&0)),
        _ => false,
    }
}

/// Returns true if code that is inlined in one run only can be the code that was called in the other run. It is not if it
/// costs more than the calls can explain.
fn can_be_inlining(inlined: &Detail, called: &Detail) -> bool {
    let is_called_in = match (called.kind, called.calls) {
        (CauseKind::Gone, _) | (CauseKind::Calls, Some([_, 0])) => InlinedIn::Old,
        _ => InlinedIn::New,
    };
    let is_other_run = matches!(
        (inlined.inlined, is_called_in),
        (Some(InlinedIn::New), InlinedIn::Old) | (Some(InlinedIn::Old), InlinedIn::New)
    );
    let [inlined, called_delta] = [inlined.delta[0], called.delta[0]];
    let is_explained =
        called.kind != CauseKind::Calls || inlined.unsigned_abs() <= called_delta.unsigned_abs();
    is_other_run && is_explained && (inlined < 0) != (called_delta < 0)
}
