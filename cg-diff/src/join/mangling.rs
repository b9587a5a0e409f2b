//! Joins functions with legacy mangled names in one run and v0 names in another.

use cg_names::mangling::{RustPath, can_be_instance};
use cg_names::rules::MatchedRules;
use cg_profile::{FunctionKey, Symbol};

use super::Joiner;
use super::buckets::Buckets;
use super::functions::{Certainty, FunctionIndex};
use crate::key::normal::Level;

/// The maximum number of pairs in a bucket (names with the same ending in one file). Larger buckets are skipped, because
/// trying all pairs would take too long.
const MOST_PAIRS: usize = 1_000_000;

/// A class with its normalised name.
struct MangledFunction {
    class: FunctionIndex,
    name: Symbol,
}

impl Joiner<'_> {
    /// Joins each v0 name to the best matching legacy name. A legacy name represents all instances.
    pub(super) fn join_manglings(&mut self) {
        let open = self.open();
        let open_functions = self.normalised(&open);
        let is_v0 = |joiner: &Self, name: Symbol| can_be_instance(joiner.names.text(name));
        if !open_functions
            .iter()
            .any(|(_, function)| is_v0(self, function.name))
        {
            return;
        }
        let pairs = self.instances(&open_functions);
        let mut objects = std::collections::BTreeSet::new();
        for (pattern, instance) in pairs {
            let object = self.functions.key(pattern).obj;
            objects.insert(object.map(|object| self.names.object_name(object)));
            self.unite_instance(pattern, instance);
        }
        // The standard library is precompiled, so its names have the same mangling in both builds. One instance may have
        // the same name on both sides, while the program's own instance of the same function has two names.
        let mut candidates: Vec<FunctionIndex> = self.open();
        candidates.retain(|class| {
            let object = self.functions.key(*class).obj;
            let object = object.map(|object| self.names.object_name(object));
            objects.contains(&object)
        });
        if candidates.is_empty() {
            return;
        }
        let complete = self.functions.nodes().filter(|node| {
            let name = self.functions.key(*node).name;
            self.functions.class(*node) == *node
                && self.functions.sides_of(*node).count_ones() > 1
                && name.is_some_and(|name| is_v0(self, name))
        });
        let complete: Vec<FunctionIndex> = complete.collect();
        let functions = self.normalised(&[candidates, complete].concat());
        for (pattern, instance) in self.instances(&functions) {
            self.unite_instance(pattern, instance);
        }
    }

    fn unite_instance(&mut self, pattern: FunctionIndex, instance: FunctionIndex) {
        let by_mangling = MatchedRules::MANGLING;
        let both = [pattern, instance];
        self.unite_by_names(both, Level::Counter, by_mangling, Certainty::Certain);
    }

    fn normalised(&mut self, classes: &[FunctionIndex]) -> Vec<(FunctionKey, MangledFunction)> {
        let mut functions = Vec::new();
        for class in classes {
            let key = self
                .names
                .function(self.functions.key(*class), Level::Counter);
            if let Some(name) = key.name {
                functions.push((
                    key,
                    MangledFunction {
                        class: *class,
                        name,
                    },
                ));
            }
        }
        functions
    }

    /// Pairs each v0 function with the best matching legacy function that lacks one of its sides.
    fn instances(
        &self,
        functions: &[(FunctionKey, MangledFunction)],
    ) -> Vec<(FunctionIndex, FunctionIndex)> {
        let text = |position: usize| self.names.text(functions[position].1.name);
        let sides = |position: usize| self.functions.sides_of(functions[position].1.class);
        let paths: Vec<RustPath> = (0..functions.len())
            .map(|position| RustPath::new(text(position)))
            .collect();
        let mut buckets = Buckets::default();
        for (position, (key, _)) in functions.iter().enumerate() {
            buckets.add((key.file, key.obj, paths[position].ending()), position);
        }
        let mut pairs = Vec::new();
        for bucket in buckets.into_vec() {
            if bucket.len() * bucket.len() > MOST_PAIRS {
                continue;
            }
            for instance in bucket
                .iter()
                .filter(|instance| can_be_instance(text(**instance)))
            {
                let fits = bucket
                    .iter()
                    .filter(|pattern| sides(**pattern) & sides(*instance) != sides(*instance))
                    .filter_map(|pattern| {
                        Some((paths[*instance].matches(&paths[*pattern])?, *pattern))
                    })
                    .collect();
                if let Some(pattern) = best(fits) {
                    pairs.push((functions[pattern].1.class, functions[*instance].1.class));
                }
            }
        }
        pairs
    }
}

/// Returns the pattern that matches best; `None` if two match equally well.
fn best(mut fits: Vec<(usize, usize)>) -> Option<usize> {
    fits.sort_unstable();
    match fits[..] {
        [.., (second, _), (first, _)] if second == first => None,
        [.., (_, pattern)] => Some(pattern),
        [] => None,
    }
}
