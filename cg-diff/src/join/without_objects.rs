//! Joins functions if only some runs have objects: Cachegrind names no objects, Callgrind names all of them.

use cg_names::rules::MatchedRules;
use cg_profile::FunctionKey;

use super::functions::{Certainty, FunctionIndex};
use super::{Joiner, Sides};
use crate::key::normal::Level;

impl Joiner<'_> {
    /// Joins functions by name and file if some side has no objects at all. Such a side has one row for the functions of
    /// one name in all objects, so the functions of other sides are summed. The remaining functions are joined by name
    /// only, if each side has at most one. Callgrind and Cachegrind determine a function's file differently.
    pub(super) fn join_without_objects(&mut self) {
        let with_objects = self
            .functions
            .nodes()
            .filter(|node| self.functions.key(*node).obj.is_some())
            .fold(0 as Sides, |sides, node| {
                sides | 1 << self.functions.side(node)
            });
        if with_objects == 0 || with_objects == self.all_sides() {
            return;
        }
        for by_file in [true, false] {
            let name_and_file = |joiner: &mut Self, key: FunctionKey| {
                if joiner.names.is_nameless(key.name) {
                    return None;
                }
                let function = joiner.names.function(key, Level::Build);
                Some((function.name?, function.file.filter(|_| by_file)))
            };
            for bucket in self.open_by(name_and_file) {
                if by_file || self.are_disjoint(&bucket) {
                    self.unite_without_objects(&bucket, by_file);
                }
            }
        }
    }

    fn unite_without_objects(&mut self, classes: &[FunctionIndex], by_file: bool) {
        let mut matched = MatchedRules::OBJECT;
        if !by_file {
            matched.add(MatchedRules::INLINED_FILE);
        }
        for class in &classes[1..] {
            let name = self.functions.key(*class).name;
            // The numbers of closures may have changed.
            let certainty = match self.names.is_contested(name) {
                true => Certainty::Likeliest,
                false => Certainty::Certain,
            };
            self.functions.unite(classes[0], *class, matched, certainty);
        }
    }
}
