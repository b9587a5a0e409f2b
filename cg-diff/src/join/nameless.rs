//! Functions without symbols, identified by address.
//!
//! Addresses in two builds are unrelated; equal addresses are coincidence. So functions are joined by address only if an
//! object is evidently the same build on both sides. Otherwise, all such functions of an object become one row. Its
//! figures are right, but it has no details.

use cg_names::rules::MatchedRules;
use cg_profile::Symbol;

use super::buckets::Buckets;
use super::facts::{NodeFacts, ratio};
use super::functions::{Certainty, FunctionIndex};
use super::{Joiner, Map};
use crate::key::normal::Level;

/// The minimum percentage of addresses that runs of one build share. They execute mostly the same functions.
const SHARED_PERCENT: usize = 75;

/// The minimum likeness of the costs at a shared address to count as the same function.
const SIMILAR_COST: f64 = 0.5;

impl Joiner<'_> {
    /// Joins the functions without symbols of each object.
    pub(super) fn join_nameless(&mut self) {
        let mut objects: Buckets<Option<Symbol>, FunctionIndex> = Buckets::default();
        for node in self.functions.nodes() {
            let key = self.functions.key(node);
            if self.names.is_nameless(key.name) && !self.is_unplaced(key) {
                objects.add(key.obj.map(|object| self.names.object_name(object)), node);
            }
        }
        let objects: Vec<Vec<FunctionIndex>> = objects
            .into_vec()
            .into_iter()
            .filter(|nodes: &Vec<FunctionIndex>| nodes.iter().any(|node| self.is_open(*node)))
            .collect();
        let classes: Vec<FunctionIndex> = objects
            .iter()
            .flatten()
            .map(|node| self.functions.class(*node))
            .collect();
        let facts = self.collect_facts(&classes);
        for nodes in objects {
            let mut sides: Vec<Vec<FunctionIndex>> = vec![Vec::new(); self.runs.sides.len()];
            for node in &nodes {
                sides[self.functions.side(*node)].push(*node);
            }
            sides.retain(|side| !side.is_empty());
            if sides.len() < 2 {
                continue;
            }
            let is_one_build = sides
                .windows(2)
                .all(|pair| self.are_of_one_build(&pair[0], &pair[1], &facts));
            self.unite_nameless(&nodes, is_one_build);
        }
    }

    /// Unites functions by address if the object is of one build. Unites all remaining functions in one row.
    fn unite_nameless(&mut self, nodes: &[FunctionIndex], is_one_build: bool) {
        if is_one_build {
            let mut by_address: Map<Option<Symbol>, FunctionIndex> = Map::default();
            for node in nodes {
                let name = self.functions.key(*node).name;
                let known = *by_address.entry(name).or_insert(*node);
                self.unite_by_names(
                    [known, *node],
                    Level::Exact,
                    MatchedRules::NONE,
                    Certainty::Certain,
                );
            }
        }
        let mut left_over: Vec<FunctionIndex> = nodes
            .iter()
            .map(|node| self.functions.class(*node))
            .filter(|class| !is_one_build || self.is_open(*class))
            .collect();
        left_over.sort_unstable();
        left_over.dedup();
        if !is_one_build || self.gains(&left_over) {
            for other in left_over.iter().skip(1) {
                let by_rules = self.names.name_rules(self.functions.key(left_over[0]).name);
                let both = [left_over[0], *other];
                self.unite_by_names(both, Level::Counter, by_rules, Certainty::Certain);
            }
        }
    }

    fn are_of_one_build(
        &self,
        a: &[FunctionIndex],
        b: &[FunctionIndex],
        facts: &Map<FunctionIndex, NodeFacts>,
    ) -> bool {
        let by_address: Map<Option<Symbol>, FunctionIndex> = a
            .iter()
            .map(|node| (self.functions.key(*node).name, *node))
            .collect();
        let shared: Vec<(FunctionIndex, FunctionIndex)> = b
            .iter()
            .filter_map(|node| Some((*by_address.get(&self.functions.key(*node).name)?, *node)))
            .collect();
        if shared.len() * 100 < a.len().min(b.len()) * SHARED_PERCENT {
            return false;
        }
        let is_alike = |pair: &&(FunctionIndex, FunctionIndex)| {
            let facts = |node: FunctionIndex| facts.get(&self.functions.class(node));
            match (facts(pair.0), facts(pair.1)) {
                (Some(a), Some(b)) => ratio(a.cost_per_call(), b.cost_per_call()) >= SIMILAR_COST,
                _ => true,
            }
        };
        shared.iter().filter(is_alike).count() * 2 >= shared.len()
    }
}
